"""A short simulation in place of an estimate: bounded by events, so the same on every machine.

A few runs with seeds 1, 2, ... are cut at a quarter of their time. Values are their means with the
interval of Student's t over the runs, of percentiles the median with the range of the runs.
"""

import numpy as np

from headroom.analysis.run.distributions import Bins, percentiles
from headroom.analysis.run.meanless import has_no_mean
from headroom.analysis.run.summaries import POOL_RATIOS, STATION_RATIOS, quotients
from headroom.analysis.statistics.intervals import mean_interval
from headroom.experiment.protocol.run import FloatArray, Run
from headroom.report.terminal.solved import SIMULATED_RUNS, Simulated
from headroom.simulation import Model, Pool, SimulationResult, Station
from headroom.simulation.checks.existence import endless, meanless_rows
from headroom.simulation.language.stations import COUNTING
from headroom.simulation.runs.run import ReadyModel, ready, run_ready

EVENTS = 6_000_000
"""Events of all runs together: a few seconds."""
PILOT = 100
"""Completions from which the events of one are known."""
_PERCENTS = (50, 95)
LEAST, MOST = 100, 100_000
"""Completions of a run."""


def short_run(model: Model) -> tuple[dict[str, Simulated], int]:
    """Return throughputs and response times of a model, and the completions of a run.

    Examples
    --------
    >>> from headroom.systems.model import library
    >>> found, completions = short_run(library.mm1(utilization=0.5))
    >>> completions, sorted(name for name in found if "." not in name)
    (100000, ['response_s_mean', 'response_s_p50', 'response_s_p95', 'throughput'])
    >>> round(found["station.server.utilization"].value, 2)
    0.5
    >>> found["throughput"].low < 50.0 < found["throughput"].high
    True
    """
    once = ready(model)
    pilot = run_ready(once, seed=1, completions=PILOT)
    each = pilot.counters["events"] / PILOT
    completions = int(min(max(EVENTS / SIMULATED_RUNS / max(each, 1.0), LEAST), MOST))
    values = [_values(once, seed, completions) for seed in range(1, SIMULATED_RUNS + 1)]
    rows = Run(meanless=meanless_rows(model, endless(model)))
    return {
        name: _together(name, np.array([one.get(name, np.nan) for one in values]))
        for name in values[0]
        if not has_no_mean(name, rows) and all(name in one for one in values)
    }, completions


def _together(name: str, values: FloatArray) -> Simulated:
    if name.rpartition(".")[2].startswith("response_s_p"):
        low, middle, high = map(float, np.quantile(values, [0.0, 0.5, 1.0]))
        return Simulated(value=middle, low=low, high=high)  # of 8 runs, at 99%
    one = mean_interval(values)
    low, high = (one.value if bound is None else bound for bound in (one.low, one.high))
    return Simulated(value=one.value, low=low, high=high)


def _values(once: ReadyModel, seed: int, completions: int) -> dict[str, float]:
    result = run_ready(once, seed=seed, completions=completions)
    times, classes = result.snapshot_times_s, result.classes
    start = int(np.searchsorted(times, times[-1] / 4.0))
    length_s = float(times[-1] - times[start])
    done, spent = (
        np.asarray(classes.columns[name][-1] - classes.columns[name][start], dtype=np.float64)
        for name in ("completion_count", "response_s_sum")
    )
    found = _rates("", float(done.sum()), float(spent.sum()), length_s)
    for place, name in enumerate(classes.names if len(classes.names) > 1 else ()):
        found |= _rates(f"class.{name}.", float(done[place]), float(spent[place]), length_s)
    for one in result.histograms:
        owner = f"class.{one.name}." if len(classes.names) > 1 else ""
        counts = one.counts[one.segment_end_times_s > times[start]].sum(axis=0)
        bins = Bins(one.bin_low, one.bin_high, np.asarray(counts, dtype=np.float64))
        shown = percentiles(bins, _PERCENTS) if bins.total else []
        found |= {f"{owner}response_s_p{p}": v for p, v in zip(_PERCENTS, shown, strict=False)}
    return found | (_resources(result, start, length_s) if _is_steady(once.model) else {})


def _is_steady(model: Model) -> bool:
    """Return whether stations and pools keep their capacity."""
    parts: list[Station | Pool] = [*model.stations.values(), *model.pools.values()]
    return not (model.controllers or model.breakdowns_of or any(one.schedules for one in parts))


def _resources(result: SimulationResult, start: int, length_s: float) -> dict[str, float]:
    """Return utilizations, rates and times of stations and pools; a token serves while it is held.

    Where jobs leave a line, times are left out.
    """
    found: dict[str, float] = {}
    pools = POOL_RATIOS | {"service_s_mean": ("held_s", "grant_count")}
    tables = (("station", result.stations, STATION_RATIOS), ("pool", result.pools, pools))
    for kind, table, ratios in tables:
        gained = {name: np.asarray(column[-1] - column[start], dtype=np.float64)
                  for name, column in table.columns.items()}  # fmt: skip
        if not table.names or gained["abandon_count"].any():
            continue
        capacity = np.asarray(table.capacity, dtype=np.float64)
        capacity = np.where(capacity < COUNTING, capacity, np.inf)
        for metric, column in quotients(
            ratios, gained, capacity=capacity, length_s=length_s
        ).items():
            found |= {f"{kind}.{name}.{metric}": float(value)
                      for name, value in zip(table.names, column, strict=True)
                      if np.isfinite(value)}  # fmt: skip
    return found


def _rates(owner: str, done: float, spent_s: float, length_s: float) -> dict[str, float]:
    found = {f"{owner}throughput": done / length_s}
    return found | ({f"{owner}response_s_mean": spent_s / done} if done else {})
