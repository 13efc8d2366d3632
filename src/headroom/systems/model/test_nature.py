"""Classification of runs whose arrivals, servers, speeds or tokens change at known times."""

import math
from typing import Literal

import msgspec
import pytest

from headroom.simulation import (
    Distribution,
    Model,
    Schedule,
    changing_rate,
    exponential,
    schedule,
    trace,
)
from headroom.systems.model.nature import (
    is_before_last_change,
    periodic_note,
    unsettled_remark,
    why_terminating,
)
from headroom.systems.model.system import ModelSetup, ModelSystem

JOBS = 10
DAY = [(0, 2), (4000, 1), (6000, 2)]
RATES = [(0, 1.0), (4000, 2.0), (6000, 1.0)]


def with_arrivals(period: float | None) -> Model:
    times, rates = zip(*RATES, strict=True)
    model = Model("arrivals", time_unit="s")
    program = model.program("visit")
    program.use(model.station("cpu", servers=2), exponential(0.1))
    model.open_class(
        "users", program, interarrival=changing_rate(times=times, rates=rates, period=period)
    )
    return model


def with_capacity(kind: str, changes: Schedule, *, time_unit: Literal["s", "h"] = "s") -> Model:
    model = Model(kind, time_unit=time_unit)
    program = model.program("visit")
    cpu = model.station(
        "cpu",
        servers=changes if kind == "servers" else 2,
        speeds=changes if kind == "speed" else None,
    )
    if kind == "tokens":
        with program.holding(model.pool("seats", tokens=changes)):
            program.use(cpu, exponential(0.1))
    else:
        program.use(cpu, exponential(0.1))
    model.open_class("users", program, interarrival=exponential(1.0))
    return model


KINDS = ("arrival rate", "servers", "speed", "tokens")


def changing(kind: str, period: float | None) -> Model:
    """Return a model of which `kind` changes over a day."""
    if kind == "arrival rate":
        return with_arrivals(period)
    return with_capacity(kind, schedule(DAY, period=period))


@pytest.mark.parametrize("kind", KINDS)
def test_what_changes_before_the_end_of_a_run_gives_it_a_natural_end(kind: str) -> None:
    ends = changing(kind, None)
    assert kind in why_terminating(ends, 20_000.0)
    assert "up to the end of the run" in why_terminating(ends, 20_000.0)
    assert why_terminating(ends, 4000.0) == ""
    assert why_terminating(ends, None) == ""
    assert periodic_note(ends, 20_000.0) == ""


@pytest.mark.parametrize("kind", KINDS)
def test_what_repeats_has_a_steady_state_from_ten_periods_on_and_a_note_says_so(kind: str) -> None:
    repeats = changing(kind, 10_000.0)
    assert why_terminating(repeats, 99_000.0)
    assert periodic_note(repeats, 99_000.0) == ""
    assert why_terminating(repeats, 100_000.0) == ""
    note = periodic_note(repeats, 100_000.0)
    assert kind in note
    assert "means over 10 periods" in note


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_ends_by_completions_while_something_changes_has_a_remark(kind: str) -> None:
    assert "ends by completions" in unsettled_remark(changing(kind, None), 5000.0)
    assert unsettled_remark(changing(kind, None), 3000.0) == ""
    assert "before: let it end" in unsettled_remark(
        changing(kind, None), 3000.0, "the rate changes"
    )
    assert unsettled_remark(changing(kind, 10_000.0), 100_000.0) == ""


def test_the_mean_in_the_long_run_holds_from_the_last_change_or_the_first_period_on() -> None:
    ends, repeats = changing("servers", None), changing("servers", 10_000.0)
    assert is_before_last_change(ends, 6000.0)
    assert not is_before_last_change(ends, 6001.0)
    assert is_before_last_change(repeats, 9999.0)
    assert not is_before_last_change(repeats, 10_001.0)


def test_times_of_a_schedule_are_in_the_unit_of_the_model() -> None:
    hours = with_capacity("servers", schedule([(0, 2), (8, 1)]), time_unit="h")
    assert why_terminating(hours, 8 * 3600.0) == ""
    assert why_terminating(hours, 9 * 3600.0).endswith("at 9:00 h")


def batch(service: Distribution | float, *, workers: int) -> Model:
    """Return `JOBS` jobs that are there at the start, and their workers."""
    model = Model("batch", time_unit="s")
    job = model.program("job")
    job.use(model.station("workers", servers=workers), service)
    model.open_class("jobs", job, interarrival=trace([0]), batch=JOBS)
    return model


def makespans(model: Model, *, runs: int, **setup: float) -> list[float]:
    """Return the makespan (s) of some runs, each of which is analysed whole."""
    system = ModelSystem(
        msgspec.convert({"model": "batch", **setup}, ModelSetup), lambda: model, ()
    )
    found = [system.run({}, seed=seed) for seed in range(runs)]
    assert all("all 10 jobs" in run.ends_because for run in found)
    return [run.values["makespan_s"] for run in found]


@pytest.mark.parametrize("workers", [1, 3, 4, 10, 20])
def test_the_makespan_of_equal_jobs_is_that_of_the_rounds(workers: int) -> None:
    """Oracle: ceil(N / M) rounds."""
    expected = math.ceil(JOBS / workers) * 600.0
    assert makespans(batch(600, workers=workers), runs=1) == [expected]


@pytest.mark.parametrize("workers", [1, 4, 10])
def test_the_makespan_of_exponential_jobs_is_a_harmonic_sum(workers: int) -> None:
    """Oracle: with k jobs left, min(k, M) of them are served: the sum of 1 / min(k, M) services."""
    shares = [1.0 / min(left, workers) for left in range(1, JOBS + 1)]
    found = makespans(batch(exponential(600), workers=workers), runs=400)
    deviation = 600.0 * math.sqrt(sum(share**2 for share in shares) / len(found))
    assert abs(sum(found) / len(found) - 600.0 * sum(shares)) < 3.0 * deviation


def test_a_run_that_may_end_before_its_work_has_no_makespan() -> None:
    """It would be that of the fast runs alone."""
    model = batch(600, workers=4)
    for setup, has_one in (({}, True), ({"completions": 10}, True), ({"completions": 9}, False),
                           ({"time_s": 7200.0}, False)):  # fmt: skip
        system = ModelSystem(ModelSetup(model="batch", **setup), lambda: model, ())
        assert has_one == any(one.name == "makespan_s" for one in system.metrics({})), setup
        assert has_one == ("makespan_s" in system.run({}, seed=1).values), setup
