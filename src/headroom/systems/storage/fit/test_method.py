"""A device that is known is simulated, fitted from its sweep, and recognised."""

import math
from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.experiment.fit_method import Counted, FitError, Found, Observed, SourcePoint, Target
from headroom.experiment.system import Column, Value
from headroom.simulation import exponential, simulate
from headroom.simulation.model import Model
from headroom.systems.storage.fit.device import fitted_device
from headroom.systems.storage.fit.method import DeviceFit, DeviceOptions
from headroom.systems.storage.fit.network import closed_throughput
from headroom.systems.storage.fit.parameters import DEVICE
from headroom.systems.storage.fit.spc1_streams import (
    MIXED_BYTES,
    MIXED_WEIGHTS,
    SPC1_STREAMS,
)

TRUTH: Mapping[str, Value] = {
    "host_s": 4e-6,
    "units": 8,
    "read_unit_s": 90e-6,
    "read_unit_s_per_byte": 4e-10,
    "read_shared_s": 8e-6,
    "read_shared_s_per_byte": 3e-10,
    "read_cv": 0.4,
    "write_unit_s": 250e-6,
    "write_unit_s_per_byte": 8e-10,
    "write_shared_s": 20e-6,
    "write_shared_s_per_byte": 9e-10,
    "write_cv": 0.8,
}
DEPTHS = (1, 2, 4, 8, 16, 32, 64)
SIZES = (16_384, 65_536, 1 << 20)
OPTIONS = DeviceOptions()


def target() -> Target:
    declared = fitted_device.parameters
    system = SimpleNamespace(parameters=lambda: declared)  # all that the method asks of it
    return Target(
        system=system,  # type: ignore[arg-type]
        config={one.name: one.default or 0 for one in declared},
    )


def swept(
    truth: Mapping[str, Value], *, read_share: float, depth: int, size: int, seed: int = 7
) -> SourcePoint:
    """Return what a sweep would see of the true device at one point."""
    load: dict[str, Value] = {"block_bytes": size, "read_share": read_share, "depth": depth}
    result = simulate(fitted_device(**truth, **load), seed=seed, completions=40_000)
    (histogram,) = result.histograms
    span_s = float(result.snapshot_times_s[-1])
    counts = np.asarray(histogram.counts).sum(axis=0)
    return SourcePoint(
        experiment="sweep",
        column=Column.MEASURE,
        levels={"depth": depth, "read_share": read_share, "block_bytes": size},
        config={"workload": "micro", "load": "closed", "streams": 1, "sync": "never", **load},
        observed={
            "throughput": Observed(value=float(counts.sum()) / span_s),
            "cpu_s_per_request": Observed(value=float(truth["host_s"])),
        },
        distributions={
            "service_s": Counted(
                low=np.asarray(histogram.bin_low),
                high=np.asarray(histogram.bin_high),
                counts=counts.astype(float),
            )
        },
    )


def sweep_of(truth: Mapping[str, Value]) -> list[SourcePoint]:
    places = [(depth, 4096) for depth in DEPTHS]
    places += [(depth, size) for depth in (1, 32) for size in SIZES]
    return [
        swept(truth, read_share=share, depth=depth, size=size)
        for share in (1.0, 0.0)
        for depth, size in places
    ]


@pytest.fixture(scope="module")
def sweep() -> list[SourcePoint]:
    return sweep_of(TRUTH)


@pytest.fixture(scope="module")
def fitted(sweep: list[SourcePoint]) -> Found:
    return DeviceFit().fit(sweep, target(), OPTIONS)


def throughput_of(parameters: Mapping[str, Value], **load: Value) -> float:
    result = simulate(fitted_device(**parameters, **load), seed=3, completions=20_000)
    done = float(result.classes.columns["completion_count"][-1].sum())
    return done / float(result.snapshot_times_s[-1])


def test_a_known_device_is_recognised_from_its_sweep(fitted: Found) -> None:
    """The figures that a sweep determines well come back within a few per cent."""
    values = {one.name: one.value for one in fitted.parameters}
    assert values["units"] == TRUTH["units"]
    assert values["host_s"] == TRUTH["host_s"]
    for kind, tolerance in (("read", 0.05), ("write", 0.05)):
        unit_s = float(TRUTH[f"{kind}_unit_s"])
        assert float(values[f"{kind}_unit_s"]) == pytest.approx(unit_s, rel=tolerance)
        assert float(values[f"{kind}_cv"]) == pytest.approx(float(TRUTH[f"{kind}_cv"]), rel=0.15)
        for name in ("unit_s_per_byte", "shared_s_per_byte"):
            truth = float(TRUTH[f"{kind}_{name}"])
            assert float(values[f"{kind}_{name}"]) == pytest.approx(truth, rel=0.15)
    assert max(abs(one.relative or 0.0) for one in fitted.residuals) < 0.05
    assert {one.name for one in fitted.parameters} == {
        one.name for one in DEVICE if one.name != "flush_s"
    }


def test_the_fitted_device_predicts_loads_that_no_sweep_has_seen(fitted: Found) -> None:
    """Mixed reads and writes at other sizes and depths, and an open load near saturation."""
    values = {one.name: one.value for one in fitted.parameters}
    loads: tuple[dict[str, Value], ...] = (
        {"read_share": 0.7, "depth": 12, "block_bytes": 8192},
        {"read_share": 0.3, "depth": 48, "block_bytes": 32_768},
    )
    for load in loads:
        assert throughput_of(values, **load) == pytest.approx(
            throughput_of(TRUTH, **load), rel=0.05
        )
    full = throughput_of(TRUTH, read_share=0.4, depth=64, block_bytes=8192)
    load = {"load": "open", "rate": 0.8 * full, "read_share": 0.4, "block_bytes": 8192}
    means = [
        _mean_response_s(simulate(fitted_device(**device, **load), seed=9, completions=60_000))
        for device in (TRUTH, values)
    ]
    assert means[1] == pytest.approx(means[0], rel=0.1)


def _mean_response_s(result: object) -> float:
    table = result.classes  # type: ignore[attr-defined]
    done = table.columns["completion_count"][-1].sum()
    return float(table.columns["response_s_sum"][-1].sum() / done)


def test_one_bad_point_does_not_move_the_device(sweep: list[SourcePoint]) -> None:
    """A neighbour that takes two thirds of the device for one point out of 26."""
    spoilt = list(sweep)
    one = spoilt[5]
    seen = dict(one.observed)
    seen["throughput"] = Observed(value=one.observed["throughput"].value / 3.0)
    spoilt[5] = SourcePoint(
        experiment=one.experiment, column=one.column, levels=one.levels, config=one.config,
        observed=seen, distributions=one.distributions,
    )  # fmt: skip
    values = {one.name: one.value for one in DeviceFit().fit(spoilt, target(), OPTIONS).parameters}
    load: dict[str, Value] = {"read_share": 1.0, "depth": 32, "block_bytes": 4096}
    assert throughput_of(values, **load) == pytest.approx(throughput_of(TRUTH, **load), rel=0.1)


def test_stalls_are_told_from_the_scatter_of_services() -> None:
    truth = {**TRUTH, "stall_share": 0.01, "stall_s": 20e-3}
    points = sweep_of(truth)
    values = {one.name: one.value for one in DeviceFit().fit(points, target(), OPTIONS).parameters}
    assert float(values["stall_share"]) == pytest.approx(0.01, rel=0.2)
    assert float(values["stall_s"]) == pytest.approx(20e-3, rel=0.2)
    assert float(values["read_cv"]) == pytest.approx(0.4, rel=0.25)


@pytest.mark.parametrize(
    ("kept", "message", "cure"),
    [
        (lambda p: p.levels["read_share"] == 1.0, "0 depths of writes", "read_share = 0"),
        (lambda p: p.levels["depth"] in {1, 8}, "2 depths of reads", "factors.depth"),
        (lambda p: p.levels["depth"] != 1, "1 among", "depth"),
        (lambda p: p.levels["block_bytes"] == 4096, "one size of reads", "factors.block_bytes"),
    ],
)
def test_a_sweep_that_does_not_determine_the_device_is_refused(
    sweep: list[SourcePoint], kept: object, message: str, cure: str
) -> None:
    with pytest.raises(FitError, match=message) as error:
        DeviceFit().fit([p for p in sweep if kept(p)], target(), OPTIONS)  # type: ignore[operator]
    assert cure in error.value.cure


def test_reads_alone_and_flushes_are_fitted_where_they_are_asked_for(
    sweep: list[SourcePoint],
) -> None:
    reads = [point for point in sweep if point.levels["read_share"] == 1.0]
    found = DeviceFit().fit(reads, target(), DeviceOptions(kinds=("read",)))
    assert not [one.name for one in found.parameters if one.name.startswith("write")]
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
    found = DeviceFit().fit(
        [*reads, flushing], target(), DeviceOptions(kinds=("read",), flush=True)
    )
    assert {one.name: one.value for one in found.parameters}["flush_s"] == 3e-3


@given(
    first=st.floats(1e-5, 1e-2), second=st.floats(1e-5, 1e-2),
    servers=st.integers(1, 16), population=st.integers(1, 40),
)  # fmt: skip
def test_the_network_keeps_its_bounds(
    first: float, second: float, servers: int, population: int
) -> None:
    """Operational laws: X is at most N / (sum of demands) and at most what each station can do."""
    found = closed_throughput([(first, 1), (second, servers)], population)
    highest = min(population / (first + second), 1.0 / first, servers / second)
    assert 0.0 < found <= highest * (1.0 + 1e-9)
    more = closed_throughput([(first, 1), (second, servers)], population + 1)
    assert more >= found * (1.0 - 1e-9)


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
    assert seen == pytest.approx(
        closed_throughput([(1e-3, 1), (3e-3, servers)], population), rel=0.03
    )


def test_the_streams_have_the_published_shares() -> None:
    """Check figures of the published mix: mean size 14.4 KiB where mixed, 39.4 % reads in all."""
    assert math.isclose(sum(one.intensity for one in SPC1_STREAMS), 1.0)
    mean = sum(size * weight for size, weight in zip(MIXED_BYTES, MIXED_WEIGHTS, strict=True))
    assert mean / 1024 == pytest.approx(14.4)
    reads = sum(one.intensity * one.read_share for one in SPC1_STREAMS)
    assert reads == pytest.approx(0.394, abs=0.0005)
    sizes = sum(one.intensity * (mean if one.has_mixed_sizes else 4096) for one in SPC1_STREAMS)
    assert sizes / 1024 == pytest.approx(8.0, abs=0.05)
