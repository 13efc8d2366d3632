"""Files of strangers: each command reads them, or refuses them in one line, without a traceback."""

import base64
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import headroom as hr
from headroom.cli.app import app
from headroom.errors import ExitCode, HeadroomError
from headroom.jmt import jsimg_text
from headroom.systems.model.library import mm1
from headroom.test_input_file import odd_places

DATA = Path(__file__).parent / "data"
STUDY = """\
schema = 1
name = "queue"
title = "A queue"
seed = 7
[[experiment]]
name = "queue"
system = { name = "model", model = "mm1", completions = 500 }
replications = { count = 2 }
"""
JOBS = "[reads]\nrw=randread\nsize=1g\nruntime=10\ntime_based\n"
COMMANDS = {
    "result.json": ["audit {}", "import {} --to {}.study"],
    "results.json": ["show {}", "compare mine/results/results.json {}", "history {}"],
    "study.toml": ["run {}", "show {}", "export {}"],
    "reads.fio": ["init {}.study --from {}"],
    "queue.jsimg": ["solve {}"],
    "report.html": ["load {}"],
}
"""Names of files, and the commands that are given them."""
BESIDE = ("journal.sqlite", "results.json", "report.html")
"""Files of a study's results."""


pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the present folder, with a study that was run."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("here")
        patch.chdir(folder)
        Path("mine").mkdir()
        Path("mine/study.toml").write_text(STUDY)
        assert answer_of("run mine") == ExitCode.DONE
        yield folder


def answer_of(command: str) -> int:
    """Return the exit code of a command; whatever is refused is said in one line, with a hint."""
    first, path = command.split()[:2]
    if first == "load":
        return answer_of_load(Path(path))
    answer = CliRunner().invoke(app, command.split())
    shutil.rmtree(f"{path}.study", ignore_errors=True)
    assert answer.exception is None or isinstance(answer.exception, SystemExit), command
    if answer.exit_code in {ExitCode.USAGE, ExitCode.ENVIRONMENT}:
        assert answer.stderr.count("headroom: error: ") == answer.stderr.count("\n  hint: ") == 1
    return answer.exit_code


def answer_of_load(path: Path) -> int:
    refused = None
    try:
        hr.load(path)
    except HeadroomError as error:
        refused = error
    assert refused is None or "\n" not in refused.message
    return refused.exit_code if refused else ExitCode.DONE


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_no_file_is_refused_by_each_command(name: str, tmp_path: Path) -> None:
    """Cause: `audit /dev/zero` grew to 7.6 GB, and a FIFO was waited for."""
    for what, place in odd_places(tmp_path).items():
        path = place.with_suffix(Path(name).suffix)
        if what != "no such file" and path != place:
            place.rename(path)
        for command in COMMANDS[name]:
            asked = command.format(path, path)
            assert answer_of(asked) in {ExitCode.USAGE, ExitCode.ENVIRONMENT}, asked


def _page(content: bytes) -> bytes:
    packed = base64.b64encode(zlib.compress(content))
    return b'<script type="application/json" id="results" data-packed="gzip">%s</script>' % packed


NASTY: dict[str, Callable[[bytes], bytes]] = {
    "brackets": lambda _: b"[" * 200_000,
    "objects": lambda _: b'{"a":' * 200_000,
    "elements": lambda _: b"<a>" * 200_000,
    "nested facts": lambda whole: whole.replace(
        b'{"', b'{"a":' + b"[" * 400 + b"]" * 400 + b',"', 1
    ),
    "nested page": lambda _: _page(b"[" * 200_000),
    "huge integer": lambda whole: whole.replace(b"7", b"7" * 20_000) + b"\nseed = " + b"9" * 20_000,
    "not UTF-8": lambda whole: whole[: len(whole) // 2] + b"\xff\xfe" + whole[len(whole) // 2 :],
    "NUL": lambda whole: whole.replace(b"e", b"\0"),
    "keys twice": lambda whole: whole.replace(b'{"', b'{"format":4,"format":[],"', 1) + whole,
    "nothing": lambda _: b"",
}


def sample(name: str) -> bytes:
    """Return the content of a sound file of a name, here."""
    if name == "reads.fio":
        return JOBS.encode()
    if name == "queue.jsimg":
        return jsimg_text(mm1()).encode()
    sound = {"result.json": DATA / "audit/sound/fio.json", "study.toml": Path("mine/study.toml")}
    return sound.get(name, Path("mine/results") / name).read_bytes()


@pytest.mark.parametrize("nasty", NASTY)
@pytest.mark.parametrize("name", COMMANDS)
def test_nasty_content_ends_in_no_traceback(name: str, nasty: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(NASTY[nasty](sample(name)))
    for command in COMMANDS[name]:
        answer_of(command.format(path, path))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), name=st.sampled_from(sorted(COMMANDS)))
def test_a_file_damaged_anywhere_ends_in_no_traceback(
    data: st.DataObject, name: str, here: Path
) -> None:
    whole = sample(name)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(whole)))
        end = start + data.draw(st.integers(0, 40))
        put = data.draw(
            st.sampled_from(
                [b"", b"[" * 300, b"\0", b"\xff", b'"', b"}", b"1e999", b"-1", b"null", b"7" * 5000]
            )
            | st.binary(max_size=9)
        )
        whole = whole[:start] + put + whole[end:]
    path = here / name
    path.write_bytes(whole)
    for command in COMMANDS[name]:
        answer_of(command.format(path, path))


@pytest.mark.parametrize(
    "what", ["a FIFO", "a device", "a folder", "a socket", "10,000,000,000 bytes"]
)
@pytest.mark.parametrize("name", BESIDE)
def test_what_is_no_file_among_the_results_is_refused_or_passed_over(
    name: str, what: str, tmp_path: Path
) -> None:
    study = tmp_path / "theirs"
    shutil.copytree("mine", study)
    (study / "results" / name).unlink()
    odd_places(tmp_path)[what].rename(study / "results" / name)
    for command in ("show", "status", "export", "report", "history"):
        answer_of(f"{command} {study}")
