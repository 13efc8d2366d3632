"""Files of strangers: each command reads them, or refuses them in one line, without a traceback."""

import csv
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import headroom as hr
from headroom.cli.app import app
from headroom.errors import ExitCode, HeadroomError
from headroom.jmt import jsimg_text
from headroom.systems.model import library
from headroom.test_input_file import odd_places

STUDY = """\
schema = 1
name = "queue"
title = "=1+1"
seed = 7
[[experiment]]
name = "queue"
system = { name = "model", model = "mm1", completions = 500 }
replications = { count = 3 }
"""
COMMANDS = {
    "result.json": ["audit {}", "import {} --to {}.study"],
    "results.json": ["show {}", "compare mine/results/results.json {}", "history {}"],
    "study.toml": ["run {}", "show {}", "export {}"],
    "reads.fio": ["init {}.study --from {}"],
    "queue.jsimg": ["solve {}"],
    "queue.jmva": ["solve {}"],
    "queue.lqn": ["solve {}"],
    "queue.lqnx": ["solve {}"],
    "report.html": ["load {}"],
}
"""Names of files, and the commands that are given them; to load is a function of Python."""
REFUSED = {ExitCode.USAGE, ExitCode.ENVIRONMENT}
pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Make a folder the present one that has a study that was run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADROOM_DEBUG", "0")  # as for a user
        patch.chdir(tmp_path_factory.mktemp("here"))
        Path("mine").mkdir()
        Path("mine/study.toml").write_text(STUDY)
        assert answer_of("run mine").exit_code == ExitCode.DONE
        yield


def answer_of(command: str) -> Result:
    """Return the answer of a command; a refusal is one line, with a hint."""
    answer = CliRunner().invoke(app, command.split())
    assert answer.exception is None or isinstance(answer.exception, SystemExit), command
    if answer.exit_code in REFUSED:
        assert answer.stderr.count("headroom: error: ") == answer.stderr.count("\n  hint: ") == 1
    return answer


def exit_codes(path: Path) -> list[int]:
    """Return the exit codes of all commands that take a file of this name."""
    codes = []
    for command in COMMANDS[path.name]:
        if command.startswith("load"):
            try:
                hr.load(path)
                codes.append(0)
            except HeadroomError as error:
                codes.append(error.exit_code)
        else:
            codes.append(answer_of(command.format(path, path)).exit_code)
        shutil.rmtree(f"{path}.study", ignore_errors=True)
    return codes


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_no_file_is_refused_by_each_command(name: str, tmp_path: Path) -> None:
    """Cause: `audit /dev/zero` grew to 7.6 GB, and a FIFO was waited for."""
    for place in odd_places(tmp_path).values():
        if place.exists():
            place.rename(tmp_path / name)
        assert set(exit_codes(tmp_path / name)) <= REFUSED
        if (tmp_path / name).exists():
            (tmp_path / name).rename(place)


def sample(name: str) -> bytes:
    """Return the content of a sound file of a name."""
    if name == "reads.fio":
        return b"[reads]\nrw=randread\nsize=1g\nruntime=10\ntime_based\n"
    if name == "queue.jsimg":
        return jsimg_text(library.mm1()).encode()
    if name in LAYERED:
        return LAYERED[name]
    sound = {
        "result.json": Path(__file__).parent / "data/audit/sound/fio.json",
        "study.toml": Path("mine/study.toml"),
    }
    return sound.get(name, Path("mine/results") / name).read_bytes()


LAYERED = {
    "queue.lqn": b"P 1 p cpu f -1 T 1 t jobs n run -1 cpu -1 E 1 a run 0.5 s run 1 -1 -1",
    "queue.lqnx": b"""<lqn-model><processor name="cpu"><task name="jobs">
<entry name="run" type="PH1PH2" open-arrival-rate="0.5"><entry-phase-activities>
<activity name="run_1" phase="1" host-demand-mean="1"/>
</entry-phase-activities></entry></task></processor></lqn-model>""",
    "queue.jmva": b"""<model><parameters><classes><openclass name="jobs" rate="0.5"/></classes>
<stations><listation name="cpu"><servicetimes><servicetime customerclass="jobs">1</servicetime>
</servicetimes></listation></stations></parameters></model>""",
}
"""Models of other tools, small ones: an M/M/1 queue."""
NESTED = b"[" * 400 + b"]" * 400
NASTY: dict[str, Callable[[bytes], bytes]] = {
    "brackets": lambda _: b"[" * 200_000,
    "objects": lambda _: b'{"a":' * 200_000,
    "elements": lambda _: b"<a>" * 200_000,
    "nested facts": lambda whole: whole.replace(b"{", b'{"a":%s,' % NESTED, 1),
    "huge integer": lambda whole: whole.replace(b"7", b"7" * 20_000) + b"\nseed = " + b"9" * 20_000,
    "not UTF-8": lambda whole: whole[: len(whole) // 2] + b"\xff\xfe" + whole[len(whole) // 2 :],
    "NUL": lambda whole: whole.replace(b"e", b"\0"),
    "keys twice": lambda whole: whole.replace(b'{"', b'{"format":4,"format":[],"', 1) + whole,
    "nothing": lambda _: b"",
}


@pytest.mark.parametrize("nasty", NASTY)
@pytest.mark.parametrize("name", COMMANDS)
def test_nasty_content_is_refused(name: str, nasty: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(NASTY[nasty](sample(name)))
    is_known = name in {"reads.fio", "queue.jsimg", "report.html", *LAYERED}  # without such content
    # A text may hold two results, of which the first has keys that no reader knows.
    is_known |= (name, nasty) == ("result.json", "keys twice")
    assert set(exit_codes(path)) <= REFUSED | ({ExitCode.DONE} if is_known else set())


_PUT = st.binary(max_size=9) | st.sampled_from(
    [b"[" * 300, b"\0", b"\xff", b'"', b"}", b"1e999", b"-1", b"null", b"7" * 5000]
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(COMMANDS)), st.floats(0, 1), st.integers(0, 40), _PUT)
def test_a_file_damaged_anywhere_ends_in_no_traceback(
    name: str, place: float, length: int, put: bytes
) -> None:
    whole = sample(name)
    start = int(place * len(whole))
    Path("theirs").mkdir(exist_ok=True)
    Path("theirs", name).write_bytes(whole[:start] + put + whole[start + length :])
    exit_codes(Path("theirs", name))


@pytest.mark.parametrize("name", ["journal.sqlite", "journal.sqlite-wal", "results.json"])
def test_what_is_no_file_among_the_results_is_not_waited_for(name: str, tmp_path: Path) -> None:
    for number, (_, place) in enumerate(sorted(odd_places(tmp_path).items())):
        study = Path(shutil.copytree("mine", tmp_path / f"study-{number}"))
        (study / "results" / name).unlink(missing_ok=True)
        if place.exists():
            place.rename(study / "results" / name)
        for command in ("show", "status", "export", "report", "history"):
            answer_of(f"{command} {study}")


@pytest.mark.parametrize("column", ["wall_s = wall_s + 1", "levels = '{'", "run = x'00'"])
def test_each_command_says_that_a_row_is_damaged(column: str, tmp_path: Path) -> None:
    """Cause: `run` said nothing of a row whose head could not be decoded."""
    study = shutil.copytree("mine", tmp_path / "study")
    connection = sqlite3.connect(study / "results/journal.sqlite")
    connection.execute(f"UPDATE replication SET {column} WHERE replication = 1")  # noqa: S608 - ours
    connection.commit()
    connection.close()
    for command in ("show", "status", "export"):
        assert "1 damaged row" in answer_of(f"{command} {study}").stderr, command
    said = answer_of(f"run {study}").stderr
    assert "1 damaged row" in said or "1 replication unreadable" in said
    rows = csv.DictReader(answer_of(f"export {study} --what replications").stdout.splitlines())
    assert sorted({row["replication"] for row in rows}) == ["0", "1", "2"]


def test_no_cell_of_an_export_is_a_formula() -> None:
    """Fault: a title, or a level of a stranger, that a spreadsheet would compute."""
    assert answer_of("export mine").exit_code == ExitCode.DONE
    rows = list(csv.reader(answer_of("export mine").stdout.splitlines()))
    assert rows[1:]
    assert not [cell for row in rows for cell in row if cell[:1] in {"=", "@", "\t", "\r"}]
