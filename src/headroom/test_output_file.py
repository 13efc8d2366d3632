"""Files that a user names: written whole or in place, or refused with everything as it was."""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.errors import HeadroomError
from headroom.experiment.study import paths
from headroom.output_file import check_output, output_file, write_output

WRITTEN, IN_PLACE, REFUSED = "written", "in place", "refused"


def text_file(name: str, content: str = "precious") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_text(content, encoding="utf-8")
        return folder / name

    return make


def fifo(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def folder_itself(folder: Path) -> Path:
    (folder / "results").mkdir()
    return folder / "results"


def socket(folder: Path) -> Path:
    os.mknod(folder / "socket", stat.S_IFSOCK | 0o600)
    return folder / "socket"


@cache
def terminal() -> tuple[int, int]:
    """Return a device that no mistake can replace, unlike /dev/null."""
    return os.openpty()


def loop(folder: Path) -> Path:
    (folder / "loop").symlink_to("loop")
    return folder / "loop"


KINDS: Mapping[str, tuple[Callable[[Path], Path], str]] = {
    "new": (lambda folder: folder / "new.html", WRITTEN),
    "earlier page": (text_file("page.html"), WRITTEN),
    "rows": (text_file("rows.csv"), WRITTEN),
    "pipe": (fifo, IN_PLACE),
    "terminal": (lambda _: Path(os.ttyname(terminal()[1])), IN_PLACE),
    "folder": (folder_itself, REFUSED),
    "socket": (socket, REFUSED),
    "loop": (loop, REFUSED),
    "no folder": (lambda folder: folder / "missing" / "page.html", REFUSED),
    "below a file": (lambda folder: text_file("file")(folder) / "page.html", REFUSED),
    "study": (text_file("study.toml"), REFUSED),
    "model": (text_file("model.py"), REFUSED),
    "machine": (text_file("machine.toml"), REFUSED),
    "no journal yet": (lambda folder: folder / "journal.sqlite", REFUSED),
    "log of a journal": (text_file("journal.sqlite-wal"), REFUSED),
    "renamed journal": (text_file("old", "SQLite format 3\0..."), REFUSED),
    "results": (text_file("kept.json", '{"format":4,"name":"s"}'), REFUSED),
    "recorded runs": (text_file("runs.json", '{\n "format": 1, "metrics": []}'), REFUSED),
    "input of the study": (text_file("arrivals.csv"), REFUSED),
    "page of the study": (text_file("README.md"), REFUSED),
}


def state_of(folder: Path) -> dict[str, tuple[str, int, object]]:
    """Return type, mode and content of everything below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        how = path.lstat()
        content: object = how.st_ino
        if path.is_symlink():
            content = path.readlink()
        elif path.is_file():
            content = path.read_text("utf-8")
        found[path.name] = (stat.filemode(how.st_mode)[0], stat.S_IMODE(how.st_mode), content)
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
        if kind != "study":
            text_file("study.toml", 'file = "arrivals.csv"')(study)
        path = target = make(study)
        if target.is_file():
            target.chmod(mode)
        for number in range(links):
            link = Path(name) / f"link-{number}.html"
            link.symlink_to(path)
            path = link
        before = state_of(Path(name))
        reader = os.open(target, os.O_RDONLY | os.O_NONBLOCK) if kind == "pipe" else None
        if meant == REFUSED:
            with pytest.raises(HeadroomError) as refused:
                write_halves(path, is_broken=is_broken)
            assert refused.value.cure
        else:
            with suppress(ZeroDivisionError):
                write_halves(path, is_broken=is_broken)
        after = state_of(Path(name))
        if meant == WRITTEN and not is_broken:
            expected = mode if target.name in before else 0o666 & ~umask()
            before[target.name] = ("-", expected, "half and half")
        assert after == before
        if reader is not None:
            assert os.read(reader, 100) == (b"half" if is_broken else b"half and half")
            os.close(reader)


def write_halves(path: Path, *, is_broken: bool) -> None:
    with output_file(path) as stream:
        stream.write("half")
        stream.write(interrupted() if is_broken else " and half")


def interrupted() -> str:
    raise ZeroDivisionError


def umask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found


def test_an_output_to_the_own_output_goes_where_the_shell_sends_it(tmp_path: Path) -> None:
    """`-o /dev/stdout >> rows.csv` appends: the file behind it is not replaced."""
    rows = tmp_path / "rows.csv"
    rows.write_text("before\n", encoding="utf-8")
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
    page = text_file("page.html")(tmp_path)
    page.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda *_: False)  # Root may write everything.
    with pytest.raises(HeadroomError, match="write-protected"):
        write_output(page, "new")
    assert page.read_text("utf-8") == "precious"


def test_what_an_output_is_made_from_is_not_replaced(tmp_path: Path) -> None:
    model = text_file("shop.jsimg")(tmp_path)
    with pytest.raises(HeadroomError, match="made from"):
        check_output(tmp_path / "." / "shop.jsimg", reads=model)


def test_all_files_that_headroom_keeps_beside_a_journal_are_known(tmp_path: Path) -> None:
    names = {name for key, name in vars(paths).items() if key.endswith("_NAME")}
    for name in names - {paths.PAGE_NAME}:
        with suppress(HeadroomError):
            check_output(tmp_path / name)
            pytest.fail(f"{name} could be replaced")
