"""A known device is simulated, fitted from its sweep, and recovered."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.experiment.protocol.fit_method import (
    Counted,
    FitError,
    Found,
    Observed,
    SourcePoint,
    Target,
)
from headroom.experiment.protocol.system import Column, Value
from headroom.simulation import exponential, simulate
from headroom.simulation.language.model import Model
from headroom.systems.storage.fit.device import fitted_device
from headroom.systems.storage.fit.laws import quantile_of
from headroom.systems.storage.fit.method import DeviceFit, DeviceOptions
from headroom.systems.storage.fit.network import closed_throughputs
from headroom.systems.storage.fit.parameters import DEVICE
from tests.support.simulated_sweep import (
    counted,
    mean_s,
    sweep_of,
    swept,
    target,
    throughput_of,
)

TRUTH: Mapping[str, Value] = {
    "host_s": 4e-6, "units": 8,
    "read_s_p10": 80e-6, "read_s_p50": 95e-6, "read_s_p90": 160e-6,
    "read_s_per_byte": 4e-10, "read_shared_s": 8e-6, "read_shared_s_per_byte": 3e-10,
    "write_s_p10": 200e-6, "write_s_p50": 270e-6, "write_s_p90": 420e-6,
    "write_s_per_byte": 8e-10, "write_shared_s": 20e-6, "write_shared_s_per_byte": 9e-10,
    "read_wake_s": 60e-6, "read_wake_exponent": 0.5, "read_wake_cv": 0.3,
    "write_wake_s": 100e-6, "write_wake_exponent": 0.4, "write_wake_cv": 0.3,
}  # fmt: skip
OPTIONS = DeviceOptions()


@pytest.fixture(scope="module")
def sweep() -> list[SourcePoint]:
    return sweep_of(TRUTH)


@pytest.fixture(scope="module")
def fitted(sweep: list[SourcePoint]) -> Found:
    return DeviceFit().fit(sweep, target(), OPTIONS)


def values_of(fit: Found) -> dict[str, Value]:
    return {parameter.name: parameter.value for parameter in fit.parameters}


@pytest.mark.deep
def test_a_known_device_is_recognised_from_its_sweep(fitted: Found) -> None:
    """The parameters that a sweep determines well come back within a few per cent."""
    values = values_of(fitted)
    assert values["units"] == TRUTH["units"]
    assert values["host_s"] == TRUTH["host_s"]
    for name, truth in TRUTH.items():
        tolerance = 0.05 if "_s_p" in name and "byte" not in name else 0.15
        assert float(values[name]) == pytest.approx(float(truth), rel=tolerance), name
    assert max(abs(residual.relative or 0.0) for residual in fitted.residuals) < 0.06
    assert set(values) == {parameter.name for parameter in DEVICE if parameter.name != "flush_s"}
    assert [parameter.name for parameter in fitted.parameters if parameter.note] == [
        "read_batch_s",
        "write_batch_s",
    ]


def test_the_fitted_device_predicts_loads_that_no_sweep_has_seen(fitted: Found) -> None:
    """Mixed reads and writes at other sizes and depths, and an open load near saturation."""
    values = values_of(fitted)
    loads: tuple[dict[str, Value], ...] = (
        {"read_share": 0.7, "depth": 12, "block_bytes": 8192},
        {"read_share": 0.3, "depth": 48, "block_bytes": 32_768},
        {"load": "open", "rate": 15_000.0, "read_share": 0.4, "block_bytes": 8192},
    )
    for load in loads:
        truth, model = (
            simulate(fitted_device(**device, **load), seed=9, completions=20_000)
            for device in (TRUTH, values)
        )
        assert throughput_of(model) == pytest.approx(throughput_of(truth), rel=0.05)
        assert mean_s(model) == pytest.approx(mean_s(truth), rel=0.1)


STALLING: Mapping[str, Value] = {**TRUTH, "stalls_per_s": 4.0, "stall_s": 3e-3}


@pytest.fixture(scope="module")
def stalling() -> Found:
    return DeviceFit().fit(sweep_of(STALLING), target(), OPTIONS)


@pytest.mark.deep
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_the_ramp_of_a_device_with_stalls_is_foreseen_within_15_percent(
    share: float, stalling: Found
) -> None:
    """The aim of the method, on a truth that is known: mean, median and p90 of SPC-1-like loads."""
    values = values_of(stalling)
    load: dict[str, Value] = {"workload": "spc1_like", "bsus": 20, "load_share": share}
    seen, foreseen = (
        simulate(fitted_device(**device, **load), seed=5, completions=20_000)
        for device in (STALLING, values)
    )
    assert mean_s(foreseen) == pytest.approx(mean_s(seen), rel=0.15)
    for quantile in (0.5, 0.9):
        assert quantile_of(counted(foreseen), quantile) == pytest.approx(
            quantile_of(counted(seen), quantile), rel=0.15
        )


def test_stalls_that_a_closed_loop_hides_are_found_by_open_points(stalling: Found) -> None:
    """A loop at depth 1 meets each stall once; independent requests meet all of it."""
    values = values_of(stalling)
    lost_s = float(values["stalls_per_s"]) * float(values["stall_s"]) ** 2
    assert lost_s == pytest.approx(4.0 * 3e-3**2, rel=0.3)
    assert float(values["stall_s"]) == pytest.approx(3e-3, rel=0.3)
    assert float(values["read_s_p90"]) == pytest.approx(160e-6, rel=0.1)


def test_what_the_sweep_never_reaches_is_reported_and_not_run_to_a_bound() -> None:
    """Many units, nothing shared but bytes, and three depths: what a quick sweep sees of a disk."""
    truth = {**TRUTH, "units": 64, "read_shared_s": 0.0, "write_shared_s": 0.0}
    points = sweep_of(truth, depths=(1, 4, 16), sizes=(65_536,), deep=16)
    fit = DeviceFit().fit(points, target(), OPTIONS)
    by_name = {parameter.name: parameter for parameter in fit.parameters}
    for name in ("units", "read_shared_s", "write_shared_s"):
        assert "not determined" in by_name[name].note
        low, high = by_name[name].low, by_name[name].high
        assert low is not None
        assert high is not None
        assert low <= float(truth[name]) <= high
    assert by_name["read_shared_s"].value == 0.0
    assert any("not determined" in note and "units" in note for note in fit.notes)
    values = values_of(fit)
    load: dict[str, Value] = {"read_share": 0.5, "depth": 12, "block_bytes": 16_384}
    seen, foreseen = (
        simulate(fitted_device(**device, **load), seed=4, completions=10_000)
        for device in (truth, values)
    )
    assert throughput_of(foreseen) == pytest.approx(throughput_of(seen), rel=0.1)


@pytest.mark.deep
def test_without_lone_requests_waking_up_is_said_to_be_unknown(sweep: list[SourcePoint]) -> None:
    closed = [point for point in sweep if point.config["load"] == "closed"]
    fit = DeviceFit().fit(closed, target(), OPTIONS)
    assert values_of(fit)["read_wake_s"] == 0.0
    assert any("waking up takes is not known" in note for note in fit.notes)


@pytest.mark.deep
def test_one_bad_point_does_not_move_the_device(sweep: list[SourcePoint]) -> None:
    """A neighbour that takes two thirds of the device for one point out of many."""
    spoilt = list(sweep)
    spoilt[5] = slowed(spoilt[5], 3.0)
    values = values_of(DeviceFit().fit(spoilt, target(), OPTIONS))
    load: dict[str, Value] = {"read_share": 1.0, "depth": 32, "block_bytes": 4096}
    seen, foreseen = (
        simulate(fitted_device(**device, **load), seed=3, completions=20_000)
        for device in (TRUTH, values)
    )
    assert throughput_of(foreseen) == pytest.approx(throughput_of(seen), rel=0.1)


def slowed(point: SourcePoint, factor: float) -> SourcePoint:
    """Return a point whose requests all take that much longer."""
    bins = {
        name: Counted(low=of_kind.low * factor, high=of_kind.high * factor, counts=of_kind.counts)
        for name, of_kind in point.distributions.items()
    }
    throughput = Observed(value=point.observed["throughput"].value / factor)
    seen = {**point.observed, "throughput": throughput}
    return replace(point, distributions=bins, observed=seen)


@pytest.mark.deep
def test_replications_that_differ_by_ten_times_give_the_one_in_the_middle() -> None:
    """Fast replications have most of the requests of a loop; the median is printed."""
    tenfold = {f"read_s_p{p}": 10.0 * float(TRUTH[f"read_s_p{p}"]) for p in (10, 50, 90)}
    fast, usual = TRUTH, {**TRUTH, **tenfold}
    points = sweep_of(TRUTH)
    alone = next(
        point for point in points
        if point.levels.get("depth") == 1 and point.config["block_bytes"] == 4096
        and point.config["read_share"] == 1.0
    )  # fmt: skip
    quick, slow = (
        swept(device, read_share=1.0, depth=1, block_bytes=4096).distributions["service_s"]
        for device in (fast, usual)
    )
    # Nearly all requests that were merged are those of the fast replications.
    seen = {**alone.observed, "service_s_p50": Observed(value=quantile_of(slow, 0.5))}
    points[points.index(alone)] = replace(
        alone, observed=seen, distributions={"service_s": quick, "response_s": quick}
    )
    values = values_of(DeviceFit().fit(points, target(), OPTIONS))
    assert float(values["read_s_p50"]) == pytest.approx(10 * 95e-6, rel=0.1)


def test_an_interval_is_asked_for_again_with_what_was_found(
    sweep: list[SourcePoint], fitted: Found
) -> None:
    """A replicate of the jackknife is near, keeps whole numbers, and undetermined values."""
    start = target()
    near = Target(
        system=start.system, config={**start.config, **values_of(fitted)}, is_replicate=True
    )
    again = values_of(DeviceFit().fit(sweep, near, OPTIONS))
    for name, value in values_of(fitted).items():
        assert float(again[name]) == pytest.approx(float(value), rel=0.05, abs=1e-15), name


@pytest.mark.parametrize(
    ("kept", "message", "cure"),
    [
        (lambda p: p.levels["read_share"] == 1.0, "0 depths of writes", "read_share = 0"),
        (lambda p: p.config["depth"] in {1, 8}, "2 depths of reads", "factors.depth"),
        (lambda p: p.config["depth"] != 1, "1 among", "depth"),
        (lambda p: p.levels["block_bytes"] == 4096, "one size of reads", "factors.block_bytes"),
    ],
)
def test_a_sweep_that_does_not_determine_the_device_is_refused(
    sweep: list[SourcePoint], kept: object, message: str, cure: str
) -> None:
    with pytest.raises(FitError, match=message) as error:
        DeviceFit().fit([p for p in sweep if kept(p)], target(), OPTIONS)  # type: ignore[operator]
    assert cure in error.value.cure


@pytest.mark.deep
def test_reads_alone_and_flushes_are_fitted_where_they_are_asked_for(
    sweep: list[SourcePoint],
) -> None:
    reads = [point for point in sweep if point.levels["read_share"] == 1.0]
    fit = DeviceFit().fit(reads, target(), DeviceOptions(kinds=("read",)))
    assert not [
        parameter.name for parameter in fit.parameters if parameter.name.startswith("write")
    ]
    with pytest.raises(FitError, match="no point of the sweep flushes"):
        DeviceFit().fit(reads, target(), DeviceOptions(kinds=("read",), flush=True))
    flushing = SourcePoint(
        experiment="flush", column=Column.MEASURE, levels={},
        config={"workload": "micro", "read_share": 0.0, "sync": "fsync", "block_bytes": 4096},
        observed={
            "throughput": Observed(value=100.0),
            "class.sync.service_s_mean": Observed(value=3e-3),
        },
    )  # fmt: skip
    options = DeviceOptions(kinds=("read",), flush=True)
    assert values_of(DeviceFit().fit([*reads, flushing], target(), options))["flush_s"] == 3e-3


@given(
    first=st.floats(1e-5, 1e-2), second=st.floats(1e-5, 1e-2),
    servers=st.integers(1, 16), population=st.integers(1, 40),
)  # fmt: skip
def test_the_network_keeps_its_bounds(
    first: float, second: float, servers: int, population: int
) -> None:
    """Operational laws: X is at most N / (sum of demands) and at most what each station can do."""
    at = [population, population + 1]
    single_s, several_s = np.array([[first, first]]), np.array([second, second])
    throughput, more = closed_throughputs(single_s, several_s, servers, at)
    highest = min(population / (first + second), 1.0 / first, servers / second)
    assert 0.0 < throughput <= highest * (1.0 + 1e-9)
    assert more >= throughput * (1.0 - 1e-9)


@settings(max_examples=5, deadline=None)
@given(servers=st.integers(1, 6), population=st.integers(1, 12))
def test_the_network_is_what_the_kernel_simulates(servers: int, population: int) -> None:
    model = Model("network", time_unit="ms")
    program = model.program("walk")
    program.use(model.station("one"), exponential(1.0))
    program.use(model.station("many", servers=servers), exponential(3.0))
    model.closed_class("jobs", program, population=population)
    result = simulate(model, seed=1, completions=60_000)
    seen = 60_000 / float(result.snapshot_times_s[-1])
    (throughput,) = closed_throughputs(np.array([[1e-3]]), np.array([3e-3]), servers, [population])
    assert seen == pytest.approx(throughput, rel=0.03)


@pytest.mark.deep
def test_what_a_batch_takes_once_is_told_from_what_each_request_takes() -> None:
    """Cause: a disk that did more the more waited was mistaken for one with a fast shared part."""
    truth = {**TRUTH, "units": 64, "read_batch_s": 40e-6, "write_batch_s": 100e-6}
    values = values_of(DeviceFit().fit(sweep_of(truth), target(), OPTIONS))
    for name in ("read_batch_s", "write_batch_s", "read_shared_s", "write_shared_s"):
        assert float(values[name]) == pytest.approx(float(truth[name]), rel=0.3), name
    for rate in (10_000.0, 30_000.0):
        load: dict[str, Value] = {"load": "open", "rate": rate, "read_share": 0.7}
        there, here = (
            simulate(fitted_device(**device, **load), seed=3, completions=20_000)
            for device in (truth, values)
        )
        assert mean_s(here) == pytest.approx(mean_s(there), rel=0.15)
