"""What became of the work: exact shares of what is rejected, abandoned, failed and late.

The oracles: Erlang (1917), Palm (1957) for impatience, and the geometric distribution of tries. The
first screen of a study says each of them, whatever else it answers.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headroom as hr
from headroom.analysis.results import StudyResult
from headroom.report.first_screen.sentences.answer import answer_words
from headroom.simulation import Model, SimulationError, exponential, simulate
from headroom.systems.model.source import with_late

COLUMNS = ("reject_count", "abandon_count", "fail_count", "late_count")


def queue(
    *,
    rate: float,
    servers: int = 1,
    buffer: int | None = None,
    patience: float | None = None,
    late_after: float | None = None,
) -> Model:
    """Return M/M/c with service of mean 1: with little room, little patience, or a limit."""
    model = Model("queue", time_unit="s")
    desk = model.station(
        "desk",
        servers=servers,
        buffer=buffer,
        when_full="reject" if buffer is not None else None,
    )
    visit = model.program("visit")
    visit.use(desk, exponential(1), patience=exponential(patience) if patience else patience)
    model.open_class("guests", visit, interarrival=exponential(1 / rate))
    if late_after is not None:
        model.late_after("guests", late_after)
    return model


def retried(*, tries: int, timeout: float, handled: bool = False) -> Model:
    """Return services of mean 5 that are ended after a time-out, without any queue."""
    model = Model("retried", time_unit="ms")
    call = model.program("call")
    with call.attempt(timeout=timeout, tries=tries) as attempt:
        with attempt.work():
            call.use(model.station("api", discipline="infinite"), exponential(5))
        if handled:
            with attempt.failed():
                pass
    model.open_class("calls", call, interarrival=exponential(10))
    return model


def birth_death(
    rate: float, death: Callable[[int], float], places: int = 200
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return how long each number is present, with Poisson arrivals."""
    terms = np.cumprod([1.0, *(rate / death(n) for n in range(1, places + 1))])
    return np.asarray(terms / terms.sum())


def abandoned(*, rate: float, servers: int, patience: float) -> float:
    """Return the share that leaves M/M/c+M: by Little's law, the mean queue over its patience."""
    shares = birth_death(rate, lambda n: min(n, servers) + max(n - servers, 0) / patience)
    waiting = sum(max(n - servers, 0) * share for n, share in enumerate(shares))
    return float(waiting / patience / rate)


def lost_room(*, rate: float, servers: int, places: int) -> float:
    """Return the share that finds no room, as arrivals see time averages."""
    return float(birth_death(rate, lambda n: float(min(n, servers)), places)[-1])


EXACT = [
    (queue(rate=3, servers=4, buffer=0), "reject_count", lost_room(rate=3, servers=4, places=4)),
    (queue(rate=20, buffer=1), "reject_count", lost_room(rate=20, servers=1, places=2)),
    (
        queue(rate=10, servers=4, patience=1),
        "abandon_count",
        abandoned(rate=10, servers=4, patience=1),
    ),
    (queue(rate=100, patience=0), "abandon_count", lost_room(rate=100, servers=1, places=1)),
    (retried(tries=2, timeout=3), "fail_count", math.exp(-0.6) ** 2),
    (retried(tries=1, timeout=0.01), "fail_count", math.exp(-0.002)),
    (queue(rate=0.2, late_after=1), "late_count", math.exp(-0.8)),
]


@pytest.mark.parametrize(("model", "column", "share"), EXACT)
def test_each_loss_has_its_exact_share_and_no_other_cause(
    model: Model, column: str, share: float
) -> None:
    """Cause: exhausted tries went on as successes, and causes were not told apart."""
    completions = 40_000 if share < 0.9 else 400
    counts = simulate(model, seed=5, completions=completions).classes.columns
    found = {name: counts[name][-1, 0] for name in COLUMNS}
    ended = counts["completion_count"][-1, 0] + counts["lost_count"][-1, 0]
    # Waits are correlated: five standard errors of as many independent jobs are room enough.
    room = 5 * math.sqrt(share * (1 - share) / ended)
    assert found[column] / ended == pytest.approx(share, abs=room)
    assert sum(found.values()) == found[column]


def test_the_oracles_have_their_closed_forms() -> None:
    """Erlang B from its terms; M/M/4+M with equal means is M/M/inf, so Poisson of mean 10."""
    assert lost_room(rate=3, servers=4, places=4) == pytest.approx(27 / 131)
    idle = sum((4 - n) * math.exp(-10) * 10**n / math.factorial(n) for n in range(4))
    assert abandoned(rate=10, servers=4, patience=1) == pytest.approx((10 - 4 + idle) / 10)


def test_what_a_failed_block_handles_is_completed() -> None:
    counts = simulate(retried(tries=2, timeout=3, handled=True), seed=5).classes.columns
    assert counts["lost_count"][-1, 0] == 0
    assert counts["failed_try_count"][-1, 0] > 0


def test_tries_that_are_exhausted_fail_the_attempt_around_them() -> None:
    """The inner attempt never succeeds: each outer try makes two inner ones, then one apology."""
    model = Model("nested", time_unit="ms")
    call, seats = model.program("call"), model.pool("seats", tokens=1)
    with call.attempt(tries=3) as outer:
        with outer.work(), call.attempt(timeout=1, tries=2) as inner, inner.work():
            call.acquire(seats)
            call.delay(2)
            call.release(seats)
        with outer.failed():
            call.delay(0.5)
    model.open_class("calls", call, interarrival=100)
    result = simulate(model, seed=1, completions=50)
    counts = result.classes.columns
    assert counts["lost_count"][-1, 0] == 0
    assert counts["failed_try_count"][-1, 0] == 50 * (3 * 2 + 3)
    assert counts["response_s_sum"][-1, 0] == pytest.approx(50 * 6.5e-3)
    assert result.pools.columns["held_s"][-1, 0] == pytest.approx(50 * 6e-3)


def test_a_closed_job_that_fails_thinks_and_comes_again() -> None:
    model = Model("users", time_unit="s")
    call = model.program("call")
    with call.attempt(timeout=1) as attempt, attempt.work():
        call.delay(exponential(1))
    model.closed_class("users", call, population=3, think=exponential(1))
    counts = simulate(model, seed=2, completions=20_000).classes.columns
    lost, done = counts["fail_count"][-1, 0], counts["completion_count"][-1, 0]
    assert lost / (lost + done) == pytest.approx(math.exp(-1), abs=0.01)
    assert counts["arrival_count"][-1, 0] - lost - done <= 3


def test_a_model_that_loses_all_jobs_is_refused_before_it_has_run_for_long() -> None:
    """A million jobs that fail after 2 x 3 ms each are less than three hours of simulated time."""
    model = Model("hopeless", time_unit="ms")
    call = model.program("call")
    with call.attempt(timeout=3, tries=2) as attempt, attempt.work():
        call.use(model.station("api"), 5)
    model.open_class("calls", call, interarrival=10)
    with pytest.raises(SimulationError, match=r"no job was completed in the last \d+") as why:
        simulate(model, seed=1)
    assert "if all are lost, give them more room, patience or tries" in why.value.cure


def screen(
    folder: Path, model: Callable[..., Model], *, parts: str = "none", completions: int = 5_000
) -> tuple[str, StudyResult]:
    """Return the first screen of an experiment, and its result."""
    rest: dict[str, Any] = {"what_if": {"parts": parts}}
    experiment = hr.Experiment("load", model, replications=3, completions=completions, **rest)
    result = hr.run(hr.Study("load", [experiment], folder=folder)).data
    words = answer_words(result)
    return " ".join([words.answer.text, *(one.text for one in words.follows)]), result


def tried() -> Model:
    return retried(tries=2, timeout=3)


def crowded() -> Model:
    return queue(rate=20, buffer=1)


def impatient() -> Model:
    return queue(rate=10, servers=4, patience=1)


def hopeless() -> Model:
    return queue(rate=100, patience=0)


def late() -> Model:
    return queue(rate=0.5, late_after=2)


SAID = [
    (tried, "jobs/s offered, ", "are completed (30% fail after their last try)"),
    (crowded, "jobs/s offered, ", "are completed (95% are rejected)"),
    (impatient, "jobs/s offered, ", "are completed (60% leave out of patience)"),
    (hopeless, "jobs/s offered, ", "leave out of patience)"),
    (late, "jobs/s offered, ", "are completed in time (37% are late)"),
]


@pytest.mark.parametrize(("model", "offered", "fate"), SAID)
def test_the_first_screen_says_what_became_of_the_work(
    model: Callable[[], Model], offered: str, fate: str, tmp_path: Path
) -> None:
    """Cause: "No limit found, throughput 100/s" was said where 30% of the jobs were lost."""
    said, result = screen(tmp_path, model)
    assert offered in said
    assert fate in said, said
    assert "No limit found" not in said
    outcome = result.experiments[0].points[0].outcomes[0]
    ends = sum(one.share for one in outcome.lost)
    assert outcome.goodput / outcome.offered == pytest.approx(1 - ends, rel=0.01)


def broken() -> Model:
    """Return a server that is up for a third of the time and works for half of that."""
    model = Model("broken", time_unit="ms")
    disk, read = model.station("disk"), model.program("read")
    model.breakdowns(disk, time_to_failure=exponential(10), repair=exponential(20))
    read.use(disk, exponential(1))
    model.open_class("reads", read, interarrival=exponential(6))
    return model


def test_the_utilization_is_that_of_the_time_up_and_downtime_is_named(tmp_path: Path) -> None:
    """Cause: "No limit found: 18% busy" was said of what is down for most of the time.

    It is up for 10 of 30 ms, and 1/6 of all time is half of that.
    """
    said, result = screen(tmp_path, broken, parts="limits", completions=40_000)
    (point,) = result.experiments[0].points
    assert point.estimates["station.disk.utilization"].value == pytest.approx(0.5, rel=0.05)
    assert point.estimates["station.disk.down_ratio"].value == pytest.approx(2 / 3, rel=0.05)
    assert hr.solve(broken)["station.disk.utilization"] == pytest.approx(0.5)
    assert "No part is full, but the disk is down 6" in said
    assert "holds 100% of the response time" in said
    assert "A repair of the disk in half the time brings mean response time to" in said


def test_a_shorter_repair_has_its_exact_downtime() -> None:
    """Repairs of 5 ms after 10 ms: down for a third of the time, with the draws of before."""
    result = simulate(broken().with_repair("disk", 0.25), seed=1)
    down_s = result.stations.columns["down_s"][-1, 0]
    assert down_s / result.snapshot_times_s[-1] == pytest.approx(1 / 3, rel=0.05)


def test_a_system_that_loses_nothing_says_nothing_of_losses(tmp_path: Path) -> None:
    said, result = screen(tmp_path, lambda: queue(rate=0.5, late_after=1e6))
    assert "offered" not in said
    assert result.experiments[0].points[0].outcomes == []


@pytest.mark.parametrize("late_after", ['"1 s"', '{ jobs = "1000 ms" }', "1"])
def test_a_study_states_when_jobs_are_late(late_after: str, tmp_path: Path) -> None:
    """M/M/1 of rate 0.2 and service of mean 1: its response is longer than 1 for exp(-0.8)."""
    (tmp_path / "study.toml").write_text(f"""
schema = 1
name = "late"
title = "late"
seed = 4
[[experiment]]
name = "load"
responses = ["throughput", "goodput", "late_ratio"]
replications = {{ count = 6 }}
factors = {{ utilization = [0.2] }}
fixed = {{ service_s = {{ value = 1, source = "made up" }} }}
[experiment.system]
name = "model"
model = "mm1"
completions = 8000
late_after = {late_after}
""")
    point = hr.run(tmp_path)["load"].at()
    late, good = point["late_ratio"], point["goodput"]
    assert late.low is not None
    assert late.high is not None
    assert late.low <= math.exp(-0.8) <= late.high
    assert good.value == pytest.approx(0.2 * (1 - math.exp(-0.8)), rel=0.05)


def test_a_class_that_is_not_there_cannot_be_late() -> None:
    with pytest.raises(hr.HeadroomError, match="late_after: the model has no class 'guest'"):
        with_late(queue(rate=0.5), {"guest": 1.0})
    kept = queue(rate=0.5)
    assert with_late(kept, "2 s").late_limits == {"guests": 2.0}
    assert kept.late_limits == {}
