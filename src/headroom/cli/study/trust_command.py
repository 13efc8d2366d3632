"""`headroom trust`: agree to run the code of a study's folder, or take it back."""

from pathlib import Path
from typing import Annotated

import typer

from headroom.cli import session
from headroom.errors import StudyError
from headroom.experiment.study.file.study_file import load_study
from headroom.sessions.trust import code_of, forget, remember


def trust(
    folder: Annotated[Path, typer.Argument(help="Folder of the study.")] = Path(),
    *,
    is_for_good: Annotated[
        bool,
        typer.Option(
            "--always", help="Trust all studies in and below this folder, also after changes."
        ),
    ] = False,
    is_revoked: Annotated[
        bool, typer.Option("--revoke", help="Ask again from now on, also if trusted for good.")
    ] = False,
) -> None:
    """Agree to run the code of a study as it is now; `run` asks for that once."""
    if is_revoked and is_for_good:
        raise StudyError("--always contradicts --revoke", cure="leave one of the two out")
    if is_revoked:
        above = forget(folder)
        still = f"is still trusted, as part of {above}" if above else "is no longer trusted"
        session.note(f"{folder} {still}")
        return
    if is_for_good:
        if not folder.is_dir():
            raise StudyError(f"{folder} is not a folder", cure="name a folder with studies")
        remember(folder, None, for_good=True)
        session.note(f"studies in and below {folder.resolve()} are trusted, also after changes")
        return
    loaded = load_study(folder)
    code = code_of(loaded)
    if code is None:
        session.note(f"{loaded.folder} runs no code: it needs no trust")
        return
    remember(loaded.folder, code)
    session.note(f"trusted until it changes: {', '.join(code.names)}")
