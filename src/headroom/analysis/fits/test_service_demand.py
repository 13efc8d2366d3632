"""Demands of a server whose truth is known."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec
import numpy as np
import pytest

from headroom.analysis.fits.model_answers import ModelAnswers
from headroom.analysis.fits.service_demand import DemandOptions, ServiceDemand
from headroom.experiment.protocol.fit_method import (
    FitError,
    Found,
    Observed,
    ServiceEvidence,
    SourcePoint,
    Target,
)
from headroom.experiment.protocol.registry import find_system
from headroom.experiment.protocol.system import Column, Value

OPTIONS = DemandOptions(groups=["service.db", "program"])
WITH_LOCK = DemandOptions(groups=["service.db", "program"], lock="lock_s")


def point(
    rate: float,
    cpu_s: float,
    *,
    clients: int = 64,
    think_s: float = 0.0,
    more: Mapping[str, float] = MappingProxyType({}),
) -> SourcePoint:
    """Return a point whose processor time is shared one to three by program and server."""
    values = {
        "throughput": rate,
        "service.db.cpu_s_per_op": 0.75 * cpu_s,
        "program.cpu_s_per_op": 0.25 * cpu_s,
        **more,
    }
    return SourcePoint(
        experiment="server",
        column=Column.MEASURE,
        levels={"clients": clients},
        config={"clients": clients, "think_s": think_s},
        observed={name: Observed(value=value) for name, value in values.items()},
    )


def target(config: Mapping[str, Value], *, is_replicate: bool = False) -> Target:
    kind = find_system("model")
    system = kind.load(msgspec.convert({"model": "database"}, kind.setup_type), base=Path())
    defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
    return Target(system=system, config={**defaults, **config}, is_replicate=is_replicate)


def fit(points: list[SourcePoint], options: DemandOptions = OPTIONS, **config: Value) -> Found:
    return ServiceDemand().fit(points, target(config), options)


def values(found: Found) -> dict[str, Value]:
    return {one.name: one.value for one in found.parameters}


def background(found: Found) -> float | None:
    assert isinstance(found.evidence, ServiceEvidence)
    return found.evidence.background


def low_load(demand_s: float, background: float = 0.0, *, seed: int = 1) -> list[SourcePoint]:
    """Return points below the knee by the Utilization Law, with 0.5% of scatter."""
    random = np.random.default_rng(seed)
    return [
        point(rate, (demand_s + background / rate) * random.normal(1.0, 0.005), think_s=64 / rate)
        for rate in (2000.0, 3000.0, 5000.0, 8000.0)
    ]


def test_a_burst_gives_the_demand_whatever_its_processor_time_was_at_low_load() -> None:
    found = fit([*low_load(100e-6), point(40_000.0, 49e-6)], servers=2)
    assert values(found) == {"service_s": pytest.approx(2 / 40_000.0)}
    assert found.evidence == ServiceEvidence(basis="bursts", limit="processors", busy=0.98)
    assert [one.levels["clients"] for one in found.residuals] == [64]


def test_one_client_is_no_burst() -> None:
    found = fit([*low_load(100e-6), point(9000.0, 100e-6, clients=1)], servers=2)
    assert values(found)["service_s"] == pytest.approx(100e-6, rel=0.02)


def test_a_lock_limits_a_burst_that_leaves_processors_idle() -> None:
    found = fit([point(2000.0, 600e-6)], WITH_LOCK, servers=2)
    assert values(found) == {
        "service_s": pytest.approx(100e-6), "lock_s": pytest.approx(500e-6)
    }  # fmt: skip
    assert found.evidence == ServiceEvidence(basis="bursts", limit="lock", busy=0.6)


def test_without_a_lock_in_the_model_the_demand_stands_for_it_and_says_so() -> None:
    found = fit([point(2000.0, 600e-6)], servers=2)
    assert values(found)["service_s"] == pytest.approx(1e-3)
    assert found.evidence == ServiceEvidence(basis="bursts", limit="unknown", busy=0.6)


def test_what_limits_stays_the_same_for_the_intervals() -> None:
    """A replicate at the edge between both must not jump to the other one."""
    nearly_full = [point(2000.0, 860e-6)]
    locked = target({"servers": 2, "lock_s": 500e-6}, is_replicate=True)
    free = target({"servers": 2, "lock_s": 0.0}, is_replicate=True)
    assert values(ServiceDemand().fit(nearly_full, locked, WITH_LOCK))["lock_s"] == 500e-6
    assert values(ServiceDemand().fit(nearly_full, free, WITH_LOCK))["lock_s"] == 0.0


@pytest.mark.deep
def test_the_slope_at_low_load_leaves_background_out() -> None:
    errors = []
    for seed in range(200):
        found = fit(low_load(80e-6, 0.02, seed=seed))
        errors.append(float(values(found)["service_s"]) / 80e-6 - 1.0)
    assert abs(np.mean(errors)) < 0.002
    assert np.std(errors) < 0.02
    assert background(fit(low_load(80e-6, 0.02))) == pytest.approx(0.02, rel=0.5)


def test_background_is_never_negative() -> None:
    # Work in batches: busy processors rise faster than the throughput.
    points = [point(rate, d, think_s=1.0) for rate, d in ((2e3, 80e-6), (4e3, 85e-6), (8e3, 90e-6))]
    found = fit(points)
    assert background(found) == 0.0
    assert 80e-6 < float(values(found)["service_s"]) < 90e-6


def test_two_loads_do_not_tell_background() -> None:
    found = fit(low_load(80e-6)[:2])
    assert background(found) is None


def test_a_demand_that_changes_is_refused_unless_asked_for() -> None:
    changing = [
        point(rate, cpu_s, think_s=1.0)
        for rate, cpu_s in ((2e3, 66e-6), (1e4, 51e-6), (1.5e4, 43e-6))
    ]
    with pytest.raises(FitError, match="changes with the load") as caught:
        fit(changing)
    assert "burst" in str(caught.value.cure)
    wide = DemandOptions(groups=["service.db", "program"], extrapolate=True)
    assert 30e-6 < float(values(fit(changing, wide))["service_s"]) < 51e-6


def test_bursts_of_different_loads_are_refused() -> None:
    with pytest.raises(FitError, match="bursts differ") as caught:
        fit([point(4e4, 49e-6), point(2e4, 98e-6, clients=96)])
    assert "`by`" in str(caught.value.cure)


def test_processors_are_those_that_the_groups_may_use() -> None:
    options = DemandOptions(groups=["service.db", "program"], fit_servers=True)
    share = 0.75 * 98e-6 * 3.0e4 / 3
    full = point(3.0e4, 98e-6, more={"service.db.cpu.utilization": share})
    found = fit([full], options, servers=1)
    assert values(found)["servers"] == 3
    assert values(found)["service_s"] == pytest.approx(3 / 3.0e4)


def test_a_flush_is_what_was_observed() -> None:
    options = DemandOptions(
        groups=["program"], flush="flush_s", flush_metric="service.db.flush_s",
        lock="lock_s", lock_metric="service.db.hold_s",
    )  # fmt: skip
    seen = {"service.db.flush_s": 1e-3, "service.db.hold_s": 1.2e-3}
    points = [point(rate, 4e-4, think_s=1.0, more=seen) for rate in (100.0, 200.0, 300.0)]
    found = values(fit(points, options))
    assert found["flush_s"] == 1e-3
    assert found["lock_s"] == pytest.approx(0.2e-3)
    # A quarter of the processor time is that of the program; the lock takes more than all of it.
    assert found["service_s"] == 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (DemandOptions(groups=["service.web"]), "reports no service.web.cpu_s_per_op"),
        (DemandOptions(groups=["program"], throughput="tps"), "reports no tps"),
        (DemandOptions(groups=["program"], flush="flush_s"), "time of a flush"),
        (DemandOptions(groups=["program"], fit_servers=True), "reports no program.cpu.utilization"),
    ],
)
def test_what_is_missing_is_named(options: DemandOptions, message: str) -> None:
    with pytest.raises(FitError, match=message):
        fit([point(1e4, 5e-5)], options)


@pytest.mark.parametrize("lock_s", [0.0, 100e-6, 400e-6])
@pytest.mark.parametrize("flush_s", [0.0, 1e-3])
def test_a_burst_of_a_known_server_predicts_it_at_twice_its_knee(
    lock_s: float, flush_s: float
) -> None:
    """The truth is simulated, with a lock and flushes; the fit sees two metrics of it."""
    truth = {"clients": 64, "servers": 2, "service_s": 150e-6, "lock_s": lock_s, "flush_s": flush_s}
    full = answers(truth | {"think_s": 0.0})
    rate = full["throughput"]
    options = DemandOptions(
        groups=["service.db", "program"], lock="lock_s",
        flush="flush_s" if flush_s else "", flush_metric="flush",
    )  # fmt: skip
    burst = point(rate, 2 * full["station.cpu.utilization"] / rate, more={"flush": flush_s})
    found = values(fit([burst], options, servers=2))
    past = {"think_s": 32 / rate}  # half the clients would do
    expected = answers(truth | past)["throughput"]
    assert answers(truth | found | past)["throughput"] == pytest.approx(expected, rel=0.05)


def answers(config: Mapping[str, Value]) -> Mapping[str, float]:
    system = target(config).system
    return ModelAnswers(system, "simulation").values(target(config).config)
