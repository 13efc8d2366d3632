"""A short simulation in place of an estimate: bounded by events, so the same on every machine.

A few runs with seeds 1, 2, ... are cut at a quarter of their time; values are their means, with the
interval of Student's t over the runs.
"""

import numpy as np

from headroom.analysis.run.meanless import has_no_mean
from headroom.analysis.statistics.intervals import mean_interval
from headroom.experiment.protocol.run import FloatArray, Run
from headroom.report.terminal.solved import SIMULATED_RUNS, Simulated
from headroom.simulation import Model, SimulationResult
from headroom.simulation.checks.existence import endless, meanless_rows
from headroom.simulation.runs.run import ReadyModel, ready, run_ready

EVENTS = 6_000_000
"""Events of all runs together: a few seconds."""
PILOT = 100
"""Completions from which the events of one are known."""
LEAST, MOST = 100, 100_000
"""Completions of a run."""


def short_run(model: Model) -> tuple[dict[str, Simulated], int]:
    """Return throughputs and mean response times of a model, and the completions of a run.

    Examples
    --------
    >>> from headroom.systems.model import library
    >>> found, completions = short_run(library.mm1(utilization=0.5))
    >>> completions, sorted(found)
    (100000, ['response_s_mean', 'throughput'])
    >>> found["throughput"].low < 50.0 < found["throughput"].high
    True
    """
    once = ready(model)
    pilot = run_ready(once, seed=1, completions=PILOT)
    each = pilot.counters["events"] / PILOT
    completions = int(min(max(EVENTS / SIMULATED_RUNS / max(each, 1.0), LEAST), MOST))
    values = [_values(once, seed, completions) for seed in range(1, SIMULATED_RUNS + 1)]
    rows = Run(meanless=meanless_rows(model, endless(model)))
    found = {}
    for name in values[0]:
        samples = np.array([one[name] for one in values])
        if not has_no_mean(name, rows) and np.isfinite(samples).all():
            one = mean_interval(samples)
            low, high = (one.value if bound is None else bound for bound in (one.low, one.high))
            found[name] = Simulated(value=one.value, low=low, high=high)
    return found, completions


def _values(once: ReadyModel, seed: int, completions: int) -> dict[str, float]:
    result = run_ready(once, seed=seed, completions=completions)
    times = result.snapshot_times_s
    start = int(np.searchsorted(times, times[-1] / 4.0))
    length = float(times[-1] - times[start])
    done, spent = (_kept(result, name, start) for name in ("completion_count", "response_s_sum"))
    names = result.classes.names
    found = {
        "throughput": float(done.sum()) / length,
        "response_s_mean": float(spent.sum() / done.sum()),
    }
    for place, name in enumerate(names if len(names) > 1 else ()):
        found[f"class.{name}.throughput"] = float(done[place]) / length
        if done[place] > 0:
            found[f"class.{name}.response_s_mean"] = float(spent[place] / done[place])
    return found


def _kept(result: SimulationResult, name: str, start: int) -> FloatArray:
    column = result.classes.columns[name]
    kept: FloatArray = np.asarray(column[-1] - column[start], dtype=np.float64)
    return kept
