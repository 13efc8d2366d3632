"""State shares on simulated models: the states of a class are exhaustive.

The oracle is the definition: a job in the system is in one state at any time, so the shares of a
class sum to 1, whatever the model does.
"""

from collections.abc import Callable

import pytest

from headroom.analysis.run.distributions import kept_occupancies
from headroom.analysis.run.states import state_values
from headroom.analysis.run.windows import Window, open_window
from headroom.simulation import Model, exponential, simulate
from headroom.systems.model.conversion import run_of
from headroom.systems.model.metrics import metrics_of


def two_classes() -> Model:
    """Return a model that puts its jobs into every state but a fork's."""
    model = Model("shop", time_unit="ms")
    web, disk = model.station("web", servers=2), model.station("disk")
    locks = model.pool("locks", tokens=2)
    page, batch = model.program("page"), model.program("batch")
    page.use(web, exponential(3))
    with page.holding(locks):
        page.delay(exponential(2))
        page.use(disk, exponential(4))
    batch.use(disk, exponential(9))
    batch.use(web, exponential(1))
    model.closed_class("users", page, population=12, think=exponential(40))
    model.open_class("jobs", batch, interarrival=exponential(60))
    return model


def forked() -> Model:
    model = Model("forked", time_unit="ms")
    left, right = model.station("left"), model.station("right")
    both = model.program("both")
    with both.fork() as fork:
        with fork.arm():
            both.use(left, exponential(3))
        with fork.arm():
            both.use(right, exponential(5))
    model.open_class("pairs", both, interarrival=exponential(9))
    return model


def kept(model: Model) -> Window:
    run = run_of(simulate(model, seed=3, completions=20_000))
    window = open_window(run, cut_s=float(run.snapshot_times_s[10]))
    assert window is not None
    return window


def test_the_states_of_each_class_are_all_of_its_time() -> None:
    values = state_values(kept(two_classes()))
    for name in ("users", "jobs"):
        shares = {metric: value for metric, value in values.items()
                  if metric.startswith(f"class.{name}.") and metric.endswith("_share")}  # fmt: skip
        assert sum(shares.values()) == pytest.approx(1.0, rel=1e-4)
        assert min(shares.values()) >= 0.0
    assert values["class.jobs.pool.locks.wait_share"] == 0.0
    assert values["class.users.pool.locks.wait_share"] > 0.1


def test_classes_add_up_to_their_station() -> None:
    window = kept(two_classes())
    values = state_values(window)
    stations = window.table("station")
    assert stations is not None
    gained = window.increments(stations)
    for place, name in enumerate(stations.names):
        parts = [values[f"station.{name}.class.{one}.throughput"] for one in ("users", "jobs")]
        assert sum(parts) == pytest.approx(gained["completion_count"][place] / window.length_s)


def test_jobs_that_wait_for_the_other_arm_are_joining() -> None:
    values = state_values(kept(forked()))
    assert values["class.pairs.join_share"] > 0.0


def caller() -> Model:
    """Return a model that calls, starts, tries again after a pause, and blocks."""
    model = Model("caller", time_unit="ms")
    web, disk = model.station("web", servers=2), model.station("disk", buffer=1)
    net = model.station("net", discipline="infinite")
    unused = model.station("unused")
    read, log, page = model.program("read"), model.program("log"), model.program("page")
    read.use(disk, exponential(3))
    read.reply()
    read.use(net, exponential(1))
    log.use(net, exponential(2))
    page.use(web, exponential(2))
    page.call(read)
    page.start(log)
    with page.attempt(timeout=exponential(2), tries=3, pause=exponential(1)) as attempt:
        with attempt.work():
            page.use(web, exponential(1))
        with attempt.failed():
            page.delay(0.1)
    model.open_class("pages", page, interarrival=exponential(9))
    other = model.program("other")
    other.use(unused, exponential(1))
    model.closed_class("others", other, population=1, think=exponential(20))
    return model


@pytest.mark.parametrize("build", [two_classes, forked, caller])
def test_the_shares_that_a_model_declares_are_those_that_its_runs_have(
    build: Callable[[], Model],
) -> None:
    """States that take time are declared, so a claim can name them; runs give all declared ones."""
    model = build()
    values = state_values(kept(model))
    declared = {metric.name for metric in metrics_of(model) if metric.name.endswith("_share")}
    spent = {name for name, value in values.items() if name.endswith("_share") and value > 0.0}
    assert spent <= declared <= set(values)


def test_a_class_declares_no_share_of_where_it_never_comes() -> None:
    declared = {metric.name for metric in metrics_of(caller())}
    assert "class.others.station.unused.wait_share" in declared
    assert "class.pages.station.disk.blocked_share" in declared
    assert "class.pages.station.net.wait_share" not in declared
    assert "class.pages.station.unused.wait_share" not in declared
    assert "class.others.station.web.service_share" not in declared
    assert "class.others.join_share" not in declared


def test_shares_of_more_pairs_than_the_analysis_tells_are_not_declared() -> None:
    model = Model("long", time_unit="ms")
    program = model.program("walk")
    for place in range(401):
        program.use(model.station(f"s{place}"), exponential(1))
    model.open_class("jobs", program, interarrival=exponential(9))
    assert not [metric for metric in metrics_of(model) if metric.name.endswith("_share")]


def test_the_number_present_has_the_mean_that_its_times_tell() -> None:
    window = kept(two_classes())
    stations = window.table("station")
    assert stations is not None
    jobs = window.increments(stations)["jobs_s"] / window.length_s
    for place, name in enumerate(stations.names):
        bins = kept_occupancies(window)[f"station.{name}.jobs"]
        # The histogram is kept by segments, the table by snapshots: their windows differ a little.
        assert float((bins.low * bins.counts).sum()) == pytest.approx(jobs[place], rel=0.05)
