"""The contenders of the simulation benchmark simulate what they should, in bounded memory."""

import math
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benches import simulation as part
from benches.harness import Row
from benches.peers import ciw_models, line_engine, own_models, rust_programs, simpy_models
from benches.peers.counting import for_each_visit
from benches.peers.workloads import (
    CENTRAL_SERVER,
    MANY_JOBS,
    MANY_STATIONS,
    MM1,
    WORKLOADS,
    PeerMissingError,
    Run,
    Workload,
    WrongAnswerError,
    verified,
)
from headroom.simulation import simulate
from headroom.simulation.language.stations import Discipline

pytestmark = pytest.mark.deep

ROOT = Path(__file__).resolve().parent.parent
LIMIT_BYTES = 50_000_000
BY_KEY = {workload.key: workload for workload in WORKLOADS}


@pytest.mark.parametrize("key", sorted(simpy_models.MODELS))
def test_simpy_gives_the_known_answer(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simpy_models, "VISITS", 10_000)
    assert verified(BY_KEY[key], "SimPy", simpy_models.MODELS[key])() == 10_000


@pytest.mark.parametrize("key", sorted(ciw_models.MODELS))
def test_ciw_gives_the_known_answer(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ciw_models, "DURATION", 3_000.0)
    visits = verified(BY_KEY[key], "Ciw", ciw_models.MODELS[key])()
    assert visits is not None
    assert visits > 2_000


@pytest.mark.parametrize("key", sorted(set(own_models.MODELS) - {"many-stations", "many-jobs"}))
def test_headroom_gives_the_known_answer(key: str) -> None:
    if key == "pipeline" and not own_models.CAN_BLOCK:
        pytest.skip("stations have no buffers yet")
    visits = verified(BY_KEY[key], "Headroom", own_models.MODELS[key]())()
    assert visits is not None
    assert visits > 1_000_000


def test_ten_thousand_stations_give_the_known_answer() -> None:
    model = own_models.many_stations()
    run = own_models.simulated(model, completions=1_000_000, answer=own_models.visits_per_s)
    assert verified(MANY_STATIONS, "Headroom", run)() == 1_000_000


@pytest.mark.parametrize("answer", [4.5, 5.5, math.nan, 0.0])
def test_an_answer_that_chance_does_not_explain_is_refused(answer: float) -> None:
    with pytest.raises(WrongAnswerError, match=r"somebody, M/M/1 .* known is 5"):
        verified(MM1, "somebody", lambda: Run(visits=1e6, answer=answer))()


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.key)
def test_a_longer_run_has_to_be_closer(workload: Workload) -> None:
    assert workload.tolerance(1e5) >= workload.tolerance(1e6) >= 0.01
    assert workload.tolerance(1e5) < 0.15


def test_every_python_peer_runs_or_says_why_not() -> None:
    keys = {workload.key for workload in WORKLOADS}
    assert set(simpy_models.MODELS) == keys
    assert set(ciw_models.MODELS) | set(ciw_models.CANNOT) == keys
    assert set(line_engine.MODELS) | set(line_engine.CANNOT) == keys
    assert set(rust_programs.NEXOSIM_VISITS) == keys
    assert set(rust_programs.LOOP_VISITS) == {*keys, MANY_JOBS.key} == set(own_models.MODELS)


def test_a_peer_that_is_missing_is_listed_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: str) -> str:
        raise PeerMissingError("there is no compiler")

    monkeypatch.setattr(line_engine, "name", missing)
    monkeypatch.setattr(rust_programs, "build", missing)
    central = next(case for case in part.cases() if case.name == CENTRAL_SERVER.title)
    assert set(central.peers) == {simpy_models.NAME, ciw_models.NAME}
    assert set(central.cannot.values()) == {"there is no compiler"}


@pytest.mark.parametrize("key", sorted(part.INSTRUCTIONS))
def test_a_kernel_that_takes_more_instructions_fails_the_benchmark(key: str) -> None:
    known = part.INSTRUCTIONS[key]
    part.check_instructions(key, known * 1.01)
    with pytest.raises(RuntimeError, match=r"instructions for each visit, known are"):
        part.check_instructions(key, known * 1.05)


@pytest.mark.parametrize("key", part.DISCIPLINES)
def test_the_models_of_all_disciplines_have_a_load_of_four_fifths(key: Discipline) -> None:
    """Whatever the order, as much work comes."""
    result = simulate(own_models.by_discipline(key), seed=1, completions=20_000)
    utilization = result.stations.columns["busy_s"][-1, 0] / result.counters["simulated_s"]
    assert utilization == pytest.approx(0.8, abs=0.04)


def test_instructions_of_a_program_are_those_of_its_longer_run() -> None:
    """A loop in awk stands for the program; one round more takes as much as the one before."""
    if shutil.which("valgrind") is None and shutil.which("perf") is None:
        pytest.skip("neither perf nor valgrind: install one of them (apt-get install valgrind)")

    def argv(length: int) -> list[str]:
        return ["awk", f"BEGIN {{ for (i = 0; i < {length}; i++) s += i; print {length} }}"]

    once, again = (for_each_visit(argv, (1_000, 9_000)) for _ in range(2))
    assert once.visits == 1
    assert once.instructions > 20
    assert once.instructions == pytest.approx(again.instructions, rel=0.01)
    assert once.mispredicted < once.instructions


def test_memory_stays_below_the_limit_and_does_not_grow_with_the_run() -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("only Linux says how much memory a process has had at most")
    short, long = (peak_bytes(customers) for customers in (100_000, 3_000_000))
    assert long < LIMIT_BYTES
    assert long - short < 1_000_000


def peak_bytes(customers: int) -> int:
    argv = [sys.executable, "-m", "benches.probes.resident_memory", str(customers), "mm1"]
    return int(subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def test_the_interpreter_is_free_while_a_simulation_runs() -> None:
    """With the interpreter's lock held, this thread would count a turn or two in the whole run."""
    turns = 0
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(simulate, own_models.mm1(), seed=1, completions=3_000_000)
        while not running.done():
            turns += 1
            time.sleep(0.001)
    assert running.result().counters["visits"] >= 3_000_000
    assert turns >= 10


def test_the_case_of_parallel_runs_does_the_same_work_on_both_sides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(part, "PARALLEL_CYCLES", 1_000)
    case = part.parallel_case()
    assert {case.headroom(), *(work() for work in case.peers.values())} == {case.headroom()}


def test_the_table_says_what_a_peer_cannot_do() -> None:
    able = Row(
        case="queue",
        metric=part.VISITS,
        unit="1/s",
        headroom=10e6,
        peer="fast",
        peer_value=20e6,
        ratio=0.5,
        ratio_range=(0.4, 0.6),
        headroom_range=(9e6, 11e6),
        peer_range=(19e6, 21e6),
        repeats=6,
        machine="m",
    )
    shown = part.speed_table([able])
    assert "fast" in shown
    assert "0.500 (0.400 to 0.600)" in shown


def test_the_stored_table_is_printed_without_measuring(capsys: pytest.CaptureFixture[str]) -> None:
    assert part.main(["--table"]) == 0
    said = capsys.readouterr().out
    assert all(workload.title in said for workload in (MM1, CENTRAL_SERVER))
    assert part.main([]) == 2
