"""The fitted device sees the requests of a measurement, and takes the time its parameters imply."""

import json

import numpy as np
import pytest

from headroom.experiment.protocol.system import Value
from headroom.simulation import simulate
from headroom.systems.storage import native
from headroom.systems.storage.blocks.job import REQUESTS, stream_seed
from headroom.systems.storage.devices.models.load import SPC1_STREAMS
from headroom.systems.storage.fit.device import fitted_device
from tests.support.simulated_sweep import mean_s

SIZE = 96 << 20
SAME: dict[str, Value] = {
    f"{kind}_s_p{percent}": 80e-6 for kind in ("read", "write") for percent in (10, 50, 90)
}


def test_requests_arrive_when_those_of_a_measurement_with_the_seed_are_due() -> None:
    """Oracle: the source that the engine draws from."""
    load: dict[str, Value] = {"workload": "spc1_like", "bsus": 4, "target_bytes": SIZE}
    model = fitted_device(**load)
    result = simulate(model, seed=11, completions=500, trace=20_000)
    trace = result.trace
    assert trace is not None
    workload = {"kind": "spc1_like", "bsus": 4, "load_share": 1.0, "variant": "published"}
    asked = native.requests(
        workload=json.dumps(workload).encode(),
        target_bytes=SIZE,
        seed=stream_seed(11, REQUESTS),
        count=400,
    )
    arrived = trace.time_s[trace.kind == 0][:400]
    due = np.sort(asked["due_s"])
    assert arrived == pytest.approx(due, abs=2e-9)
    classes = trace.klass[trace.kind == 0][:400]
    order = np.argsort(asked["due_s"], kind="stable")
    assert classes.tolist() == asked["stream"][order].tolist()
    assert len(SPC1_STREAMS) == 8


def test_another_seed_is_another_stream() -> None:
    load: dict[str, Value] = {"workload": "spc1_like", "bsus": 4, "target_bytes": SIZE}
    ends = [
        simulate(fitted_device(**load), seed=seed, completions=100).snapshot_times_s[-1]
        for seed in (1, 1, 2)
    ]
    assert ends[0] == ends[1] != ends[2]


def test_bytes_beyond_the_base_take_their_time_at_units_and_beyond() -> None:
    load: dict[str, Value] = {"block_bytes": 65_536, "read_s_per_byte": 1e-9}
    shared = {"read_shared_s": 5e-6, "read_shared_s_per_byte": 5e-10}
    result = simulate(fitted_device(**SAME, **load, **shared), seed=1, completions=500)
    assert mean_s(result) == pytest.approx(80e-6 + (65_536 - 4096) * 1.5e-9, rel=1e-6)


@pytest.mark.parametrize(("rate", "idle_s"), [(1000.0, 1e-3), (100.0, 10e-3), (10.0, 20e-3)])
def test_waking_up_grows_with_the_idle_time_up_to_its_bound(rate: float, idle_s: float) -> None:
    """Oracle: 50 us after an idle millisecond, by the square root, up to 20 ms."""
    wake: dict[str, Value] = {"read_wake_s": 50e-6, "read_wake_cv": 0.0, "idle_most_s": 20e-3}
    load: dict[str, Value] = {"load": "open", "law": "constant", "rate": rate}
    result = simulate(fitted_device(**SAME, **wake, **load), seed=1, completions=2000)
    response_s = mean_s(result)
    slept_s = min(1.0 / rate - response_s, 20e-3)
    assert response_s == pytest.approx(80e-6 + 50e-6 * (slept_s / 1e-3) ** 0.5, rel=0.01)
    assert slept_s <= idle_s


def test_who_arrives_by_chance_meets_stalls_in_proportion_to_their_squares() -> None:
    """Oracle: vacations without memory take rate x mean^2 off each of many lone requests."""
    stalls: dict[str, Value] = {"stalls_per_s": 5.0, "stall_s": 4e-3}
    load: dict[str, Value] = {"load": "open", "rate": 100.0}
    result = simulate(fitted_device(**SAME, **stalls, **load), seed=2, completions=60_000)
    share = 5.0 * 4e-3 / (1.0 + 5.0 * 4e-3)
    assert mean_s(result) - 80e-6 == pytest.approx(share * 4e-3, rel=0.1)


def test_every_nth_write_owes_a_flush() -> None:
    flushes: dict[str, Value] = {"sync": "fsync", "sync_every": 4, "flush_s": 1e-3}
    result = simulate(fitted_device(**SAME, **flushes, read_share=0.0), seed=3, completions=20_000)
    assert mean_s(result) == pytest.approx((4 * 80e-6 + 1e-3 + 5e-6) / 5.0, rel=0.03)
