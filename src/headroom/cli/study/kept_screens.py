"""Cache of the output of `headroom show`, valid while its inputs are unchanged.

Planning and reading a study of many points takes a while. The output for a study of simulations
depends only on files, the environment and the program. So the text can be cached with the names and
times of all files that were opened while the study was planned.

Invariant: a text comes back only where planning the study again would open the same files,
unchanged, in the same environment, for the same journal and the same terminal.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from headroom.analysis.kept_answers import read_sealed, write_sealed
from headroom.experiment.machine.program_identity import (
    PACKAGE,
    Stamp,
    digest_of,
    journal_stamp,
    program_identity,
    settled_stamp,
    stamp_of,
)
from headroom.experiment.study.paths import (
    JOURNAL_NAME,
    KEPT_SCREENS_NAME,
    STUDY_NAME,
    results_folder,
)

_MAGIC = b"headroom screens 1\n"
_MOST_SCREENS = 8
"""Texts that are kept: of other points, limits and widths."""
_MOST_FILES = 5_000
_PASSING = {"_", "OLDPWD", "PWD", "SHLVL", "COLUMNS", "LINES"}
"""Variables that change from call to call; their values are obtained in another way."""
_LEAVES_NO_TRACE = (
    *("subprocess.", "socket.", "sqlite3.", "urllib."),
    *("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty"),
)
"""Audit events of what may read anything: a study that does it is planned each time."""


@dataclass(slots=True)
class Watch:
    """Files that were opened and folders that were listed; `is_blind` where others may count."""

    paths: set[str] = field(default_factory=set)
    is_blind: bool = False

    def stamps(self) -> dict[str, Stamp | None] | None:
        """Return what changes with each of them; None where that cannot be told."""
        if self.is_blind or len(self.paths) > _MOST_FILES:
            return None
        found: dict[str, Stamp | None] = {}
        for path in sorted(self.paths):
            found[path] = settled_stamp(Path(path))
            if found[path] is None and stamp_of(Path(path)) is not None:
                return None  # It changed just now.
        return found


_watches: list[Watch] = []


@contextmanager
def watched() -> Iterator[Watch]:
    """Note what is opened meanwhile, by this program and by the models of a study."""
    if not _hook_state:
        sys.addaudithook(_note)
        _hook_state.append(True)
    watch = Watch()
    _watches.append(watch)
    try:
        yield watch
    finally:
        _watches.remove(watch)


_hook_state: list[bool] = []
"""Whether the hook is there: it can never be taken away again."""


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watches:
        return
    if event in {"open", "os.listdir", "os.scandir"}:
        try:
            _note_path(arguments[0], _watches[-1])
        except (OSError, ValueError):  # An exception would keep the file from being opened.
            _watches[-1].is_blind = True
    elif event.startswith(_LEAVES_NO_TRACE) and not _is_journal(event, arguments):
        _watches[-1].is_blind = True


def _is_journal(event: str, arguments: tuple[Any, ...]) -> bool:
    """Return whether the journal is opened, whose changes are known by its own stamp."""
    if event == "sqlite3.connect/handle":
        return True  # `sqlite3.connect` came before.
    return event == "sqlite3.connect" and JOURNAL_NAME in str(arguments[0])


def _note_path(path: object, watch: Watch) -> None:
    if not isinstance(path, str | bytes | os.PathLike):
        return  # A descriptor: what it belongs to was opened before.
    name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - links stay as they are
    if name.startswith(f"{PACKAGE}{os.sep}"):
        return
    watch.paths.add(name)
    if name.endswith(".pyc"):  # Compiled from a file that was looked at and not opened.
        watch.paths.add(source_from_cache(name))


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """A text with the files and the journal that it depends on."""

    files: dict[str, Stamp | None]
    journal: Stamp
    text: str


_DECODER = msgspec.msgpack.Decoder(dict[bytes, _Kept])


def words_of_show(
    seed: int | None,
    settings: Sequence[str] | None,
    *,
    point: str | None = None,
    limits: Sequence[str] | None = None,
    load: str = "",
    current: float | None = None,
    shows_all: bool = False,
) -> list[Any]:
    """Return the options of `headroom show` but for those that `KeptScreens.of` knows itself."""
    return [seed, list(settings or ()), point, limits or [], load, current, shows_all]


@dataclass(frozen=True, slots=True)
class KeptScreens:
    """The texts that were shown of one study.

    Parameters
    ----------
    folder
        Folder of the study: a file that comes or goes there is noticed too.
    results
        Folder of its results.
    key
        Of the question, the terminal, the program and the environment.
    """

    folder: Path
    results: Path
    key: bytes

    @classmethod
    def of(
        cls, study: Path, words: Sequence[Any], console: Console, *, quick: bool = False
    ) -> "KeptScreens":
        """Return what was shown of a study, for the words of a command on a terminal.

        Parameters
        ----------
        study
            Its folder or file, as it was named.
        words
            See `words_of_show`.
        console
            The terminal.
        quick
            Whether its quick variant is meant.
        """
        file = study / STUDY_NAME if study.is_dir() else study
        terminal = [console.width, console.color_system, console.is_terminal, console.encoding]
        own = {name: text for name, text in os.environ.items() if name not in _PASSING}
        here = [str(Path.cwd()), str(file)]
        content = [program_identity(), here, list(words), terminal, own]
        return cls(file.parent, results_folder(file.parent, quick), digest_of(content))

    def get(self) -> str | None:
        """Return the text, None where it has to be made anew."""
        kept = self._read().get(self.key)
        if kept is None or journal_stamp(self.results / JOURNAL_NAME) != kept.journal:
            return None
        if any(stamp_of(Path(path)) != stamp for path, stamp in kept.files.items()):
            return None
        return kept.text

    def put(self, text: str, watch: Watch, journal: Stamp | None) -> None:
        """Keep a text that was made of a journal with this stamp, as it was before."""
        watch.paths.add(str(self.folder.absolute()))
        files = watch.stamps()
        if (
            files is None
            or journal is None
            or journal_stamp(self.results / JOURNAL_NAME) != journal
        ):
            return
        others = {key: kept for key, kept in self._read().items() if key != self.key}
        latest = list(others.items())[-(_MOST_SCREENS - 1) :]
        content = {**dict(latest), self.key: _Kept(files, journal, text)}
        write_sealed(self.results / KEPT_SCREENS_NAME, _MAGIC, msgspec.msgpack.encode(content))

    def _read(self) -> dict[bytes, _Kept]:
        content = read_sealed(self.results / KEPT_SCREENS_NAME, _MAGIC)
        if content is None:
            return {}
        try:
            return _DECODER.decode(content)
        except (msgspec.MsgspecError, RecursionError):
            return {}
