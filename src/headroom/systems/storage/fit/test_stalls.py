"""Stalls that occur by the clock, and stalls that grow with the processor use of the load."""

from collections.abc import Mapping
from statistics import median

import pytest

from headroom.experiment.protocol.fit_method import Found
from headroom.experiment.protocol.system import Value
from headroom.simulation import SimulationResult, simulate
from headroom.systems.storage.devices.models.load import REQUESTS_PER_BSU
from headroom.systems.storage.fit.device import US_PER_S, fitted_device
from headroom.systems.storage.fit.laws import quantile_of
from headroom.systems.storage.fit.method import DeviceFit, DeviceOptions
from headroom.systems.storage.fit.stalls import Stalls
from headroom.systems.storage.fit.test_method import values_of
from tests.support.simulated_sweep import (
    counted,
    mean_s,
    sweep_of,
    target,
    throughput_of,
)

FAST: Mapping[str, Value] = {
    "host_s": 8e-6, "units": 8,
    "read_s_p10": 23e-6, "read_s_p50": 25e-6, "read_s_p90": 33e-6,
    "read_s_per_byte": 1e-10, "read_shared_s": 3e-6, "read_shared_s_per_byte": 3e-11,
    "write_s_p10": 27e-6, "write_s_p50": 30e-6, "write_s_p90": 39e-6,
    "write_s_per_byte": 2e-10, "write_shared_s": 4e-6, "write_shared_s_per_byte": 5e-11,
    "read_wake_s": 30e-6, "read_wake_exponent": 0.3, "read_wake_cv": 0.3,
    "write_wake_s": 30e-6, "write_wake_exponent": 0.3, "write_wake_cv": 0.3,
}  # fmt: skip
"""A device so fast that the processor works for a third of the time of one request."""
CROWDED: Mapping[str, Value] = {
    **FAST, "stalls_per_s": 2.0, "stall_s": 2e-3,
    "busy_stalls_per_s": 60.0, "busy_stall_s": 2e-3, "busy_use": 0.3,
}  # fmt: skip
"""The same on a machine whose processors are in demand."""


def fitted_to(truth: Mapping[str, Value]) -> Found:
    return DeviceFit().fit(sweep_of(truth), target(), DeviceOptions())


@pytest.fixture(scope="module")
def crowded() -> Found:
    return fitted_to(CROWDED)


def answered(device: Mapping[str, Value], **load: Value) -> SimulationResult:
    config = {**device, "workload": "spc1_like", **load}
    return simulate(fitted_device(**config), seed=5, completions=30_000)


def carried_at_most(device: Mapping[str, Value]) -> float:
    """Return the throughput (1/s) of a device that is offered several times its capacity."""
    model = fitted_device(**{**device, "workload": "spc1_like", "bsus": 8_000})
    return throughput_of(simulate(model, seed=5, time=0.3 * US_PER_S))


@pytest.mark.deep
def test_shares_of_what_is_carried_at_most_are_foreseen_within_15_percent(crowded: Found) -> None:
    """The aim of the method, on a truth that is known: errors at 30 to 80%, in the median."""
    values = values_of(crowded)
    most, foreseen = (carried_at_most(device) for device in (CROWDED, values))
    assert foreseen == pytest.approx(most, rel=0.15)
    errors: dict[str, list[float]] = {"mean": [], "p50": [], "p95": []}
    for share in (0.3, 0.6, 0.8):
        load = {"bsus": int(most / REQUESTS_PER_BSU), "load_share": share}
        there, here = (answered(device, **load) for device in (CROWDED, values))
        errors["mean"].append(mean_s(here) / mean_s(there) - 1.0)
        for name, quantile in (("p50", 0.5), ("p95", 0.95)):
            times = quantile_of(counted(here), quantile) / quantile_of(counted(there), quantile)
            errors[name].append(times - 1.0)
    assert {name: median(map(abs, seen)) < 0.15 for name, seen in errors.items()} == dict.fromkeys(
        errors, True
    ), errors


def test_what_loops_lose_beyond_lone_requests_is_lost_by_who_computes(crowded: Found) -> None:
    """Oracle: 60 stalls of 2 ms in a second take 12 parts of 112 of a loop that never rests."""
    values = values_of(crowded)
    share = float(values["busy_stalls_per_s"]) * float(values["busy_stall_s"])
    assert share == pytest.approx(60.0 * 2e-3, rel=0.3)
    assert float(values["busy_stall_s"]) == pytest.approx(2e-3, rel=0.3)
    assert any(note.startswith("threads that compute all the time") for note in crowded.notes)


@pytest.mark.deep
def test_nothing_is_said_of_who_computes_where_loops_lose_no_more_than_others() -> None:
    fit = fitted_to({**FAST, "stalls_per_s": 20.0, "stall_s": 2e-3})
    assert values_of(fit)["busy_stalls_per_s"] == 0.0


def test_the_load_meets_what_comes_with_its_use_of_the_processor() -> None:
    """Oracle: the mean that stalls add for an arrival by chance, at full and at little use."""
    always: dict[str, Value] = {**FAST, "stalls_per_s": 60.0, "stall_s": 2e-3}
    busy: dict[str, Value] = {**FAST, "busy_stalls_per_s": 60.0, "busy_stall_s": 2e-3}
    for use, rate in ((0.3, 40_000.0), (3.0, 4_000.0)):  # full from 0.3 on; a tenth of 0.32
        load: dict[str, Value] = {"workload": "micro", "load": "open", "rate": rate}
        with_use = mean_s(answered({**busy, "busy_use": min(use, 1.0)}, **load))
        least, most = (mean_s(answered(device, **load)) for device in (FAST, always))
        part = min(8e-6 * rate / min(use, 1.0), 1.0)
        assert least < with_use <= most * 1.1
        assert (with_use - least) / (most - least) == pytest.approx(part, abs=0.15)


def test_the_share_grows_with_the_use_up_to_that_of_the_loops() -> None:
    stalls = Stalls(per_s=50.0, mean_s=1e-3, busy_per_s=200.0, busy_s=1e-3, busy_use=0.5)
    assert stalls.share == pytest.approx(0.05 / 1.05)
    assert stalls.share_at(0.25) == pytest.approx(0.15 / 1.15)
    assert stalls.share_at(0.5) == stalls.share_at(1.0) == pytest.approx(0.2)
