"""Files that a user names: written whole or in place, or refused with everything as it was."""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.errors import HeadroomError
from headroom.experiment.study import paths
from headroom.output_file import check_output, output_file, write_output

WRITTEN, IN_PLACE, REFUSED = "written", "in place", "refused"


def text(name: str, content: str = "precious") -> Callable[[Path], Path]:
    return partial(made, name, lambda path: path.write_text(content, encoding="utf-8"))


def made(name: str, make: Callable[[Path], object], folder: Path) -> Path:
    make(folder / name)
    return folder / name


@cache
def terminal() -> tuple[int, int]:
    """Return a device that no mistake can replace, unlike /dev/null."""
    return os.openpty()


KINDS: Mapping[str, tuple[Callable[[Path], Path], str]] = {
    "new": (lambda folder: folder / "new.html", WRITTEN),
    "earlier page": (text("page.html"), WRITTEN),
    "rows": (text("rows.csv"), WRITTEN),
    "pipe": (partial(made, "pipe", os.mkfifo), IN_PLACE),
    "terminal": (lambda _: Path(os.ttyname(terminal()[1])), IN_PLACE),
    "folder": (partial(made, "results", Path.mkdir), REFUSED),
    "socket": (partial(made, "socket", lambda at: os.mknod(at, stat.S_IFSOCK | 0o600)), REFUSED),
    "loop": (partial(made, "loop", lambda at: at.symlink_to("loop")), REFUSED),
    "no folder": (lambda folder: folder / "missing" / "page.html", REFUSED),
    "below a file": (lambda folder: text("file")(folder) / "page.html", REFUSED),
    "study": (text("study.toml"), REFUSED),
    "model": (text("model.py"), REFUSED),
    "machine": (text("machine.toml"), REFUSED),
    "no journal yet": (lambda folder: folder / "journal.sqlite", REFUSED),
    "log of a journal": (text("journal.sqlite-wal"), REFUSED),
    "renamed journal": (text("old", "SQLite format 3\0..."), REFUSED),
    "results": (text("kept.json", '{"format":4,"name":"s"}'), REFUSED),
    "recorded runs": (text("runs.json", '{\n "format": 1, "metrics": []}'), REFUSED),
    "input of the study": (text("arrivals.csv"), REFUSED),
    "text on the study": (text("README.md"), REFUSED),
}


def state_of(folder: Path) -> dict[str, tuple[int, object]]:
    """Return type, mode and content of everything below a folder."""
    found = {}
    for path in folder.rglob("*"):
        inside: object = path.readlink() if path.is_symlink() else None
        if inside is None and path.is_file():
            inside = path.read_text("utf-8")
        found[path.name] = (path.lstat().st_mode, inside)
    return found


@settings(max_examples=200, deadline=None)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    links=st.integers(0, 3),
    mode=st.sampled_from([0o600, 0o640, 0o644, 0o755]),
    is_broken=st.booleans(),
)
def test_a_target_is_written_whole_or_in_place_or_everything_stays(
    kind: str, links: int, mode: int, *, is_broken: bool
) -> None:
    make, meant = KINDS[kind]
    with tempfile.TemporaryDirectory() as name:
        study = Path(name) / "study"
        study.mkdir()
        text("study.toml", 'file = "arrivals.csv"')(study)
        path = target = make(study)
        if target.is_file():
            target.chmod(mode)
        for number in range(links):
            link = Path(name) / f"link-{number}.html"
            link.symlink_to(path)
            path = link
        before = state_of(Path(name))
        reader = os.open(target, os.O_RDONLY | os.O_NONBLOCK) if kind == "pipe" else None
        with pytest.raises(HeadroomError) if meant == REFUSED else suppress(ZeroDivisionError):
            write_halves(path, is_broken=is_broken)
        if meant == WRITTEN and not is_broken:
            kept = before[target.name][0] if target.name in before else stat.S_IFREG | new_mode()
            before[target.name] = (kept, "half and half")
        assert state_of(Path(name)) == before
        if reader is not None:
            assert os.read(reader, 100) == (b"half" if is_broken else b"half and half")
            os.close(reader)


def write_halves(path: Path, *, is_broken: bool) -> None:
    with output_file(path) as stream:
        stream.write("half")
        stream.write(interrupted() if is_broken else " and half")


def interrupted() -> str:
    raise ZeroDivisionError


def new_mode() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def test_an_output_to_the_own_output_goes_where_the_shell_sends_it(tmp_path: Path) -> None:
    """`-o /dev/stdout >> rows.csv` appends: the file behind it is not replaced."""
    rows = text("rows.csv", "before\n")(tmp_path)
    for name in ("/dev/stdout", "/dev/fd/1", str(rows)):
        code = (
            "from headroom.output_file import write_output; print('first'); "
            f"write_output({name!r}, 'rows\\n'); print('last')"
        )
        with rows.open("a", encoding="utf-8") as stream:
            subprocess.run([sys.executable, "-c", code], stdout=stream, check=True)
    assert rows.read_text("utf-8") == "before\n" + 3 * "first\nrows\nlast\n"


def test_a_write_protected_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rename needs no right to write the file itself."""
    page = text("page.html")(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)  # Root may write everything.
    with pytest.raises(HeadroomError, match="write-protected"):
        write_output(page, "new")
    assert page.read_text("utf-8") == "precious"


def test_all_that_headroom_keeps_is_known_and_so_is_what_an_output_is_made_from(
    tmp_path: Path,
) -> None:
    names = {name for key, name in vars(paths).items() if key.endswith("_NAME")}
    for name in names - {paths.PAGE_NAME}:
        with pytest.raises(HeadroomError, match="of a study or of its results"):
            check_output(tmp_path / name)
    with pytest.raises(HeadroomError, match="made from"):
        check_output(tmp_path / "." / "q.jsimg", reads=text("q.jsimg")(tmp_path))
