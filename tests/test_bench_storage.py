"""The benchmark of the storage layer compares like with like, and names what it cannot compare."""

import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from benches import folders
from benches import storage as part
from benches.harness import Case, Row, measure_case, read_rows
from benches.peers import bare_io, fio
from headroom.systems.storage import measure

pytestmark = pytest.mark.deep

SMALL_BYTES = 1 << 20


@pytest.fixture(autouse=True)
def _without_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the bare loop to be there: building it takes minutes."""
    monkeypatch.setattr(bare_io, "missing", lambda: "")


def load(path: Path, **changes: object) -> fio.Load:
    """Return a small load on a new file at `path`."""
    path.write_bytes(b"x" * SMALL_BYTES)
    plain = fio.Load(
        path=path,
        size_bytes=SMALL_BYTES,
        interface="threads",
        kind="randread",
        depth=1,
        is_direct=False,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_rates_and_costs_come_from_the_same_runs() -> None:
    runs = iter(
        [
            fio.Cost(count=1e6, per_s=10.0, processor_s=3.0, program_s=1.0),
            fio.Cost(count=2e6, per_s=20.0, processor_s=8.0, program_s=4.0),
        ]
    )
    contender = part.Contender(lambda: next(runs))
    assert [contender.work(), contender.work()] == [3.0, 4.0]
    assert [contender.program(), contender.program()] == [1.0, 2.0]
    assert [contender.rate(), contender.rate()] == [10.0, 20.0]


@pytest.mark.parametrize(("metric", "distance"), [(part.PROGRAM, 1), (part.RATE, 2)])
def test_a_cost_case_is_followed_by_what_it_ran_for(metric: str, distance: int) -> None:
    """The other cases of a load need the result of the first, so they must come after it."""
    cases = part.cases()
    assert any(case.metric == metric for case in cases)
    for number, case in enumerate(cases):
        if case.metric == metric:
            before = cases[number - distance]
            assert (before.name, before.metric) == (case.name, part.COST)
            assert (before.repeats, before.unmeasured) == (case.repeats, case.unmeasured)
            assert (before.peers.keys(), before.cannot) == (case.peers.keys(), case.cannot)


def test_without_the_peers_the_rows_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(bare_io, "missing", lambda: "no compiler: apt install cargo")
    cases = part.cases()
    beside = [case for case in cases if case.metric in {part.COST, part.TRANSACTIONS}]
    silent = [case for case in beside if case.name != part.NOTHING]
    assert silent
    for case in silent:
        assert not case.peers
        assert all("apt install" in why for why in case.cannot.values())
        assert (bare_io.NAME in case.cannot) == (case.metric == part.COST)


@pytest.mark.parametrize("kind", ["randread", "randwrite"])
def test_a_load_is_carried_out_and_costs_what_the_engine_says(tmp_path: Path, kind: str) -> None:
    one = load(tmp_path / "f", kind=kind, interface="threads")
    cost = part.own(one, 0.05)
    assert cost.count > 0
    assert 0.0 <= cost.program_s <= cost.processor_s
    # The load lasts for as long as requested, or until its last request has ended.
    assert 0.0 < cost.per_s <= 1.01 * cost.count / 0.05
    is_changed = (tmp_path / "f").read_bytes() != b"x" * SMALL_BYTES
    assert is_changed == (kind == "randwrite")


@pytest.mark.skipif(bool(fio.missing()), reason="fio is not installed")
def test_fio_and_headroom_do_the_same_with_the_same_file(tmp_path: Path) -> None:
    one = load(tmp_path / "f", interface="psync", kind="randwrite")
    theirs = fio.run(one, 1.0)
    assert theirs.count > 0
    assert theirs.processor_s > 0
    assert (tmp_path / "f").stat().st_size == SMALL_BYTES
    assert (tmp_path / "f").read_bytes() != b"x" * SMALL_BYTES


def test_the_case_of_nothing_asks_for_what_the_engine_does() -> None:
    """Every request is in the histogram of its class: the cost holds the statistics."""
    job = measure.nothing_job(interface="io_uring", read_share=1.0, requests=10_000, depth=128)
    result = measure.run_job(job)
    assert result["classes"]["read"]["completion_count"] == 10_000


def test_verdicts_follow_from_the_ranges() -> None:
    rows = measure_case(
        Case(
            name=part.NOTHING,
            metric=part.COST,
            unit="s",
            measure="returned",
            better="low",
            headroom=lambda: 0.07,
            peers={part.TIMED_RING: lambda: 0.08, part.THREADS: lambda: 0.2},
            repeats=2,
        )
    )
    said = part.shown(rows)
    assert "1.14 (1.14 to 1.14)" in said
    assert "met" in said
    assert "missed" not in said


def test_the_floor_tells_how_much_cheaper_than_fio_a_tool_can_be() -> None:
    rows = measure_case(
        Case(
            name="disk, read, depth 1",
            metric=part.COST,
            unit="s",
            measure="returned",
            better="low",
            headroom=lambda: 8.0,
            peers={
                "fio psync": lambda: 9.0,
                "fio io_uring": lambda: 8.4,
                bare_io.NAME: lambda: 7.0,
            },
            repeats=2,
        )
    )
    said = part.shown([*rows, *rate_rows(rows)])
    (line,) = [
        splitline
        for splitline in said.splitlines()
        if splitline.startswith("  disk") and "0.875" in splitline
    ]
    assert line.split()[-1] == "1.20"


def rate_rows(costs: list[Row]) -> list[Row]:
    """Return the rows of the rates that belong to those of the costs."""
    return [replace(row, metric=part.RATE) for row in costs]


def test_the_stored_rows_hold_every_question() -> None:
    rows: list[Row] = read_rows(part.RESULTS)
    assert {row.metric for row in rows} == {
        part.COST,
        part.PROGRAM,
        part.RATE,
        part.TRANSACTIONS,
        part.DRAWN,
    }


def test_the_stored_table_is_printed_without_measuring(capsys: pytest.CaptureFixture[str]) -> None:
    assert part.main(["--table"]) == 0
    said = capsys.readouterr().out
    assert all(row.case.removeprefix("source: ") in said for row in read_rows(part.RESULTS))
    assert part.main([]) == 2


_HOLD = """
import signal, sys
from pathlib import Path
from benches.folders import new_folder

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may ignore them (nohup, &)
signal.signal(signal.SIGINT, signal.default_int_handler)
folder = new_folder(Path(sys.argv[1]))
(Path(folder.name) / "target").write_bytes(b"x")
print("there", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_leaves_no_folder_and_a_kill_none_after_the_next(
    tmp_path: Path, number: signal.Signals
) -> None:
    argv = [sys.executable, "-c", _HOLD, str(tmp_path)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "there\n"
        assert len(list(tmp_path.iterdir())) == 1
        with folders.new_folder(tmp_path):
            # A folder whose process lives is left alone.
            assert len(list(tmp_path.iterdir())) == 2
        for _ in range(20):  # Just before a read, Python notes a signal and reads on.
            child.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                child.wait(timeout=3)
                break
    assert bool(list(tmp_path.iterdir())) is (number == signal.SIGKILL)
    folders.new_folder(tmp_path).cleanup()
    assert list(tmp_path.iterdir()) == []
