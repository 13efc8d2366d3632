"""A simulated measurement sweep of a device with known parameters, for tests.

Points are simulated with `fitted_device` itself and look like those of the system `storage`.
"""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import numpy as np

from headroom.experiment.protocol.fit_method import Counted, Observed, SourcePoint, Target
from headroom.experiment.protocol.system import Column, Value
from headroom.simulation import SimulationResult, simulate
from headroom.systems.storage.fit.device import fitted_device
from headroom.systems.storage.fit.laws import quantile_of

CLOSED_COMPLETIONS = 12_000
OPEN_COMPLETIONS = 3_000
DEPTHS = (1, 2, 4, 8, 16, 32, 64)
SIZES = (16_384, 65_536, 1 << 20)
RATES = (100.0, 300.0, 1000.0)
POISSON_RATE = 500.0


def target() -> Target:
    """Return a method's description of the experiment that it fits."""
    declared = fitted_device.parameters
    system = SimpleNamespace(parameters=lambda: declared)  # all that the method needs from it
    return Target(
        system=system,  # type: ignore[arg-type]
        config={parameter.name: parameter.default or 0 for parameter in declared},
    )


def swept(truth: Mapping[str, Value], *, seed: int = 7, **load: Value) -> SourcePoint:
    """Return the observations of a sweep of the true device at one point."""
    is_open = load.get("load") == "open"
    completions = OPEN_COMPLETIONS if is_open else CLOSED_COMPLETIONS
    result = simulate(fitted_device(**{**truth, **load}), seed=seed, completions=completions)
    times = counted(result)
    observed = {
        "throughput": Observed(value=throughput_of(result)),
        "cpu_s_per_request": Observed(value=float(truth["host_s"])),
        "response_s_p50": Observed(value=quantile_of(times, 0.5)),
    }
    config: dict[str, Value] = {
        "workload": "micro", "load": "closed", "streams": 1, "sync": "never",
        "block_bytes": 4096, "depth": 1, "law": "poisson", **load,
    }  # fmt: skip
    return SourcePoint(
        experiment="sweep",
        column=Column.MEASURE,
        levels=dict(load),
        config=config,
        observed=observed,
        distributions={"service_s": times, "response_s": times},
    )


def sweep_of(
    truth: Mapping[str, Value],
    *,
    depths: Sequence[int] = DEPTHS,
    sizes: Sequence[int] = SIZES,
    deep: int = 32,
    rates: Sequence[float] = RATES,
) -> list[SourcePoint]:
    """Return a sweep of depths, sizes and rates, reads and writes."""
    places = [(depth, 4096) for depth in depths]
    places += [(depth, size) for depth in (1, deep) for size in sizes]
    closed = [
        swept(truth, read_share=share, depth=depth, block_bytes=size)
        for share in (1.0, 0.0)
        for depth, size in places
    ]
    return closed + [
        swept(truth, read_share=share, load="open", law=law, rate=rate, block_bytes=4096)
        for share in (1.0, 0.0)
        for law, rate in [*(("constant", rate) for rate in rates), ("poisson", POISSON_RATE)]
        if rates
    ]


def counted(result: SimulationResult) -> Counted:
    """Return the times of all classes of a run together."""
    lows, highs, counts = [], [], []
    for histogram in result.histograms:
        lows.append(np.asarray(histogram.bin_low))
        highs.append(np.asarray(histogram.bin_high))
        counts.append(np.asarray(histogram.counts).sum(axis=0).astype(float))
    order = np.argsort(np.concatenate(lows), kind="stable")
    return Counted(
        low=np.concatenate(lows)[order],
        high=np.concatenate(highs)[order],
        counts=np.concatenate(counts)[order],
    )


def throughput_of(result: SimulationResult) -> float:
    """Return the completions of a run per second."""
    done = float(result.classes.columns["completion_count"][-1].sum())
    return done / float(result.snapshot_times_s[-1])


def mean_s(result: SimulationResult) -> float:
    """Return the mean response time (s) of a run."""
    table = result.classes.columns
    return float(table["response_s_sum"][-1].sum() / table["completion_count"][-1].sum())
