"""Percentiles and shares of waits and responses, against what theory says of them."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from benches.coverage import planned
from headroom.analysis.point import summarise
from headroom.analysis.run.distributions import kept_bins, statistic_of
from headroom.analysis.run.estimates import estimate_of
from headroom.analysis.run.windows import open_window
from headroom.experiment.protocol.asked_metrics import asked_metric
from headroom.experiment.study.windows import TimeWindows
from headroom.simulation import Model, constant, exponential, trace
from headroom.systems.model.asked import asked_metrics, waits_of
from headroom.systems.model.metrics import metrics_of
from headroom.systems.model.system import ModelSetup, ModelSystem

MEAN_S = 180.0
RATE = 240.0 / 3600.0
AGENTS = 15
CALLS = 400_000


def call_centre() -> Model:
    """Return M/M/15 at 12 Erlang."""
    model = Model("call centre", time_unit="s")
    call = model.program("call")
    call.use(model.station("agents", servers=AGENTS), exponential(MEAN_S))
    model.open_class("callers", call, interarrival=exponential(1.0 / RATE))
    return model


def value_of(model: Model, name: str, *, completions: int = CALLS, seed: int = 1) -> float:
    """Return one statistic of a whole run of a model."""
    system = ModelSystem(
        ModelSetup(model="one", completions=completions),
        lambda: model,
        (),
        windows=TimeWindows(metrics=(name,)),
    )
    window = open_window(system.run({}, seed=seed), cut_s=0.0)
    assert window is not None
    quantity, statistic = asked_metric(name) or ("", None)
    assert statistic is not None
    return statistic_of(kept_bins(window)[quantity], statistic)


def waiting_probability() -> float:
    """Return Erlang's C for the call centre."""
    load, blocked = RATE * MEAN_S, 1.0
    for servers in range(1, AGENTS + 1):
        blocked = load * blocked / (servers + load * blocked)
    return blocked / (1.0 - load / AGENTS * (1.0 - blocked))


@pytest.mark.parametrize("within_s", [0.0, 30.0, 120.0])
def test_the_share_that_waits_at_most_a_time_is_erlangs(within_s: float) -> None:
    """Oracle: P(W > t) = C(c, a) exp(-(c mu - lambda) t); 80.6% of the calls within 30 s."""
    pace = AGENTS / MEAN_S - RATE
    exact = 1.0 - waiting_probability() * math.exp(-pace * within_s)
    found = value_of(call_centre(), f"station.agents.wait_share_within_{within_s:g}s")
    assert found == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("percent", [80, 97.5])
def test_a_percentile_of_waits_is_erlangs(percent: float) -> None:
    """Oracle: the same formula, solved for t."""
    pace = AGENTS / MEAN_S - RATE
    exact = math.log(waiting_probability() / (1.0 - percent / 100.0)) / pace
    name = f"station.agents.wait_s_p{percent:g}".replace(".5", "_5")
    assert value_of(call_centre(), name) == pytest.approx(exact, rel=0.06)


def test_who_does_not_wait_has_waited_for_nothing_at_all() -> None:
    """Cause: a percentile was read inside the bin of zero, as a part of a tick."""
    assert value_of(call_centre(), "station.agents.wait_s_p50", completions=5000) == 0.0


def test_a_wait_for_tokens_is_that_of_the_queue_behind_them() -> None:
    """Oracle: tokens that are held for an exponential time are servers."""
    model = Model("tokens", time_unit="s")
    call = model.program("call")
    with call.holding(model.pool("agents", tokens=AGENTS)):
        call.delay(exponential(MEAN_S))
    model.open_class("callers", call, interarrival=exponential(1.0 / RATE))
    found = value_of(model, "pool.agents.wait_share_within_0s")
    assert found == pytest.approx(1.0 - waiting_probability(), abs=0.01)


def test_the_waits_of_a_visit_that_is_interrupted_are_added() -> None:
    """Oracle: urgent jobs of 1 s at 0, 10, 20 … s interrupt normal ones of 10.5 s from 0, 20 … s.

    A normal job waits for the urgent one that came with it, and for the one that interrupts it.
    """
    model = Model("priorities", time_unit="s")
    cpu = model.station("cpu", discipline="priority_preempt")
    for name, work_s, every_s, priority in (("urgent", 1, 10, 2), ("normal", 10.5, 20, 1)):
        program = model.program(name)
        program.use(cpu, constant(work_s))
        model.open_class(name, program, interarrival=constant(every_s), priority=priority)
    for name, exact in (("normal", 2.0), ("urgent", 0.0)):
        found = value_of(model, f"station.cpu.class.{name}.wait_s_p50", completions=300)
        assert found == pytest.approx(exact, rel=0.01)


def test_only_the_waits_that_are_named_are_kept_and_declared() -> None:
    model = call_centre()
    assert waits_of(model, ["response_s_p80", "throughput"]) == ()
    declared = [one.name for one in asked_metrics(model, ["station.*.wait_s_p80"])]
    endings = ("lag_s_max", *(f"wait_s_{end}" for end in ("p50", "p95", "p99", "p99_9", "p80")))
    assert declared == [f"station.agents.{ending}" for ending in endings]
    (response,) = asked_metrics(model, ["response_s_p95", "response_share_within_5min"])
    assert (response.unit, response.better) == ("1", "high")
    assert response.name not in {one.name for one in metrics_of(model)}
    assert list(asked_metrics(model, ["station.desk.wait_s_p80"])) == []


def test_who_asks_for_waits_asks_for_other_runs() -> None:
    """Rows without waits are not reused for a study that needs them; others stay as they were."""
    system = ModelSystem.load(ModelSetup(model="mm1"), base=Path())
    config = {one.name: one.default for one in system.parameters() if one.default is not None}
    prints = [
        system.with_windows(TimeWindows(metrics=names)).fingerprint(config)
        for names in ((), ("response_s_p80",), ("station.server.wait_s_p80",))
    ]
    assert prints[0] == prints[1] == system.fingerprint(config)
    assert prints[2] != prints[0]


@pytest.mark.parametrize("patience_s", [None, 40.0])
def test_the_lag_of_a_consumer_is_the_age_of_the_oldest_message(patience_s: float | None) -> None:
    """Oracle: messages at 0, 1, 2 … s of 2 s each: the n-th begins at 2 n, n seconds late.

    At 100 s the 51st is about to begin, the oldest is 50 s old, and 50 are behind it. With patience
    nobody is older than that.
    """
    model = Model("consumer", time_unit="s")
    message = model.program("message")
    message.use(model.station("consumer"), constant(2), patience=patience_s)
    model.open_class("messages", message, interarrival=trace(list(range(1000))))
    system = ModelSystem(
        ModelSetup(model="one", time_s=100.0),
        lambda: model,
        (),
        windows=TimeWindows(metrics=("station.consumer.lag_s_max",)),
    )
    (stations,) = (one for one in system.run({}, seed=1).resources if one.kind == "station")
    assert stations.maxima["lag_s"] == pytest.approx([patience_s or 50.0], abs=1.0)


def test_a_share_of_nearly_all_says_what_may_have_been_missed() -> None:
    """Cause: batches that saw no call of more than 10 min gave an interval of 100% to 100%.

    Oracle: Erlang's share, all but 1 call in 70,000, which runs of 5,000 calls mostly do not show.
    """
    name = "station.agents.wait_share_within_600s"
    model = call_centre()
    setup = ModelSetup(model="one", completions=5000)
    system = ModelSystem(setup, lambda: model, (), windows=TimeWindows(metrics=(name,)))
    pace = AGENTS / MEAN_S - RATE
    exact = 1.0 - waiting_probability() * math.exp(-pace * 600.0)
    for first in range(0, 50, 5):
        runs = [system.run({}, seed=seed) for seed in range(first, first + 5)]
        sample = summarise(replace(planned(), system=system), runs).samples[name]
        *_, metric = asked_metrics(model, [name])
        found = estimate_of(metric, sample)
        assert found.low is not None
        assert found.high is not None
        assert 0.95 < found.low < exact < found.high <= 1.0
