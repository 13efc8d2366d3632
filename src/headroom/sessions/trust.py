"""Which folders of studies may run code on this machine: those that the user has agreed to.

A study can be code without looking like it: a model file, a command in `study.toml`. So the first
run of a folder asks. What is agreed to is the path with the content of its code; a change asks
again, except below folders that are trusted for good.

Invariant: whether a folder has code is decided from its texts; nothing of it is run for that.
"""

import hashlib
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.registry import find_system
from headroom.experiment.study.file.shipped import FOLDER
from headroom.experiment.study.file.short_keys import FILE_SUFFIXES
from headroom.experiment.study.file.study_file import LoadedStudy, load_study
from headroom.experiment.study.paths import RESULTS_FOLDER

Answer: TypeAlias = Literal["yes", "always", "no"]

_CODE = re.compile(
    r".*\.(py|pyx|so|sh|bash|zsh|c|cc|cpp|cxx|h|hpp|rs|go|js|mjs|ts|pl|rb|lua|r|jl|java|jar|php|"
    r"ps1|bat|sql|awk|mk)|[Mm]akefile|CMakeLists\.txt",
    re.IGNORECASE,
)
_MOST_FILES = 10_000
_LEFT_OUT = {RESULTS_FOLDER, "__pycache__", "node_modules"}


@dataclass(frozen=True, slots=True)
class Code:
    """Code that a run of a study would start: a word for each piece, and a hash of all of it."""

    names: tuple[str, ...]
    digest: str


class Trusted(msgspec.Struct, frozen=True):
    """The user's file: folders trusted for good, and the hash of the code of others."""

    always: tuple[str, ...] = ()
    content: dict[str, str] = {}


ask: list[Callable[[Path, Code], Answer]] = []
"""Asks the user on a terminal; the command line puts it here, because nothing below it prints."""


def trust_file() -> Path:
    """Return where the user's agreement is remembered."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if Path(base).is_absolute() else Path.home() / ".config"
    return folder / "headroom" / "trust.json"


def check_trust(loaded: LoadedStudy, *, is_trusted: bool = False) -> None:
    """Return if the user agreed to run the code of a study, or agrees now; else raise.

    Parameters
    ----------
    loaded
        The study.
    is_trusted
        Whether the user agreed with this call.

    Raises
    ------
    StudyError
        The user did not agree, or there is no terminal to ask at.
    """
    code = code_of(loaded)
    if code is None or _is_known(loaded.folder, code):
        return
    answer: Answer = "yes" if is_trusted else (ask[0](loaded.folder, code) if ask else "no")
    if answer == "no":
        named = shlex.quote(str(loaded.folder))
        raise StudyError(
            f"{loaded.folder} would run code that you have not agreed to: {_listed(code.names)}",
            cure=f"look at it, then: headroom trust {named} (or run it with --trust); after each "
            f"change again, or for good: headroom trust --always {named}",
        )
    remember(loaded.folder, code, for_good=answer == "always")


def trusted_study(study: Path, settings: Sequence[str] = ()) -> LoadedStudy:
    """Read a study whose code is about to run, and check that the user agrees to it."""
    loaded = load_study(study, settings)
    check_trust(loaded)
    return loaded


def remember(folder: Path, code: Code | None, *, for_good: bool = False) -> None:
    """Remember that the user trusts the code of a folder, or all that is ever below it."""
    known, place = _read(), str(folder.resolve())
    if for_good:
        known = msgspec.structs.replace(known, always=tuple({*known.always, place}))
    elif code is not None:
        known = msgspec.structs.replace(known, content={**known.content, place: code.digest})
    _write(known)


def forget(folder: Path) -> str:
    """Forget what was agreed about a folder; return the folder above that it still is below."""
    known, place = _read(), str(folder.resolve())
    always = tuple(one for one in known.always if one != place)
    content = {path: digest for path, digest in known.content.items() if path != place}
    _write(Trusted(always=always, content=content))
    return next((one for one in always if folder.resolve().is_relative_to(one)), "")


def code_of(loaded: LoadedStudy) -> Code | None:
    """Return the code that a run of a study would start; None if it is data alone."""
    names, pieces = dict[str, None](), list[Any]()
    for table in _systems(loaded):
        code = _code_in(table)
        if code is not None:
            names |= dict.fromkeys(map(_printable, _names(code)))
            pieces.append(code)
    if not pieces:
        return None
    files = {**_named_files(loaded.folder, pieces), **_code_files(loaded.folder)}
    digest = hashlib.sha256(msgspec.json.encode([pieces, sorted(files.items())]))
    return Code(tuple(names), digest.hexdigest())


def _systems(loaded: LoadedStudy) -> Iterator[dict[str, Any]]:
    for experiment in loaded.study.experiments:
        yield experiment.system
        if experiment.quick.system:
            yield {**experiment.system, **experiment.quick.system}


def _code_in(table: Mapping[str, Any]) -> object:
    """Return the part of a table `system` that says which code runs; None for data alone."""
    name = table.get("name")
    if not isinstance(name, str):
        return None  # Refused when it is planned.
    try:
        key = getattr(find_system(name), "code_key", None)
    except StudyError:
        return None  # The same, with its line.
    if key is None:
        return dict(table)
    file = table.get(key)
    is_data = not file or Path(str(file)).suffix.lower() in FILE_SUFFIXES
    return None if is_data else {key: file}


def _names(code: Any) -> Iterator[str]:  # noqa: ANN401 - a part of a table
    """Yield what a user recognises: the words of commands, or the model file."""
    commands = [one for one in _lists(code) if one and all(isinstance(word, str) for word in one)]
    if commands:
        yield from map(shlex.join, commands)
    else:
        yield next(iter(_texts({key: one for key, one in code.items() if key != "name"})), "")


def _printable(text: str) -> str:
    """Return a text that cannot hide what it says from a terminal."""
    return "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in text)


def _lists(value: Any) -> Iterator[list[Any]]:  # noqa: ANN401 - any part of a table
    if isinstance(value, dict):
        for inner in value.values():
            yield from _lists(inner)
    elif isinstance(value, list):
        yield value
        for inner in value:
            yield from _lists(inner)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _named_files(folder: Path, pieces: list[Any]) -> dict[str, str]:
    """Return the hash of each file that a table names, and of the modules next to one in Python."""
    found: dict[str, str] = {}
    for text in _texts(pieces):
        for word in {text, *text.split()}:
            path = folder / word
            if not os.path.isfile(path):  # noqa: PTH113 - a word may be too long for a path
                continue
            if not Path(word).is_absolute():
                found[word] = _hash(path)
            if path.suffix == ".py":
                found |= {str(one): _hash(one) for one in path.parent.glob("*.py")}
    return found


def _code_files(folder: Path) -> dict[str, str]:
    """Return the hash of each file of a folder that could be code, by its name or its mode."""
    found: dict[str, str] = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if one not in _LEFT_OUT and not one.startswith(".")]
        for name in files:
            path = Path(place, name)
            if path.is_file() and (_CODE.fullmatch(name) or os.access(path, os.X_OK)):
                found[path.relative_to(folder).as_posix()] = _hash(path)
        if len(found) > _MOST_FILES:
            raise StudyError(
                f"{folder} holds more than {_MOST_FILES} files of code",
                cure="give the study a folder of its own",
            )
    return found


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_known(folder: Path, code: Code) -> bool:
    place = folder.resolve()
    if os.environ.get("CI") == "true" or place.is_relative_to(FOLDER.resolve()):
        return True
    known = _read()
    is_below = any(place.is_relative_to(one) for one in known.always)
    return is_below or known.content.get(str(place)) == code.digest


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""  # noqa: PLR2004 - a line
    return ", ".join(names[:3]) + more


def _read() -> Trusted:
    path = trust_file()
    try:
        status = path.stat()
        if status.st_uid != os.getuid() or status.st_mode & 0o022:
            raise StudyError(
                f"{path} can be written by others, so it does not count",
                cure=f"look at it, then: chmod 600 {shlex.quote(str(path))}",
            )
        return msgspec.json.decode(path.read_bytes(), type=Trusted)
    except FileNotFoundError:
        return Trusted()
    except (OSError, msgspec.MsgspecError) as error:
        raise StudyError(f"{path} cannot be read: {error}", cure="remove it") from error


def _write(known: Trusted) -> None:
    path = trust_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".trust-{os.getpid()}")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123 - its mode
        file.write(msgspec.json.encode(known, order="sorted"))
    draft.replace(path)
