"""The verdict of a point: its bottleneck, with or without a steady state.

If the load exceeds the capacity of a resource, there is no steady state, and no steady-state result
may be reported. The whole runs still show the bottleneck, and that is the answer that the reader
needs.

Invariant: a verdict from whole runs says so.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from statistics import fmean

import msgspec

from headroom.analysis.evidence import Limiting
from headroom.analysis.results import Bottleneck, WarmUpCut
from headroom.analysis.run.distributions import kept_bins
from headroom.analysis.run.estimates import estimates_of, resource_metrics, resources_of, samples_of
from headroom.analysis.run.operational_laws import check_laws
from headroom.analysis.run.own_processors import NOTABLE
from headroom.analysis.run.states import state_metrics
from headroom.analysis.run.summaries import run_values
from headroom.analysis.run.windows import Window, open_window
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.verdicts.bottleneck import (
    find_bottleneck,
    load_of,
    observed_parts,
    own_processors,
    parts_of,
)
from headroom.analysis.verdicts.culprits import Behind
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column

GROWTH = 1.5
"""A queue grows where it is so many times as long in the second half of a run as in the first;
a queue that grows steadily from nothing is three times as long."""


def bottleneck_of(
    windows: Sequence[Window],
    values: Sequence[Mapping[str, float]],
    samples: Mapping[str, Sample],
    useless: Collection[str] = (),
) -> Bottleneck | None:
    """Return the bottleneck of a point, None without runs or resources.

    Parameters
    ----------
    windows, values
        The kept parts of the sound runs and the metrics of each.
    samples
        The metrics over all of them.
    useless
        Stations that reject work and whose doubling was tried: it gives nothing.
    """
    if not windows:
        return None
    run = windows[0].run
    resources = resources_of(run)
    metrics = [*resource_metrics(resources), *state_metrics(samples)]
    parts = parts_of(resources, estimates_of(metrics, samples))
    observed = observed_parts(run.observed, samples)
    load = load_of(windows[0].table("class"), _means(values))
    behind = Behind(
        stations=run.holds,
        pools=run.nested,
        blockers=run.blockers,
        unawaited=run.unawaited,
    )
    if observed and not load.population:
        load = replace(load, is_observed=True, neighbours=_neighbours(run, samples))
    return find_bottleneck([*parts, *observed], behind, load, useless)


def _neighbours(run: Run, samples: Mapping[str, Sample]) -> float | None:
    """Return the share of the processors that others take, None if it is not notable."""
    found = own_processors(run.observed, samples)
    share = 0.0 if found is None else found.others / found.count
    return share if share >= NOTABLE else None


def limit_without_steady_state(runs: Sequence[Run], column: Column) -> Bottleneck | None:
    """Return the bottleneck of a point without a steady state, from its whole runs, or None."""
    opened = [open_window(run, cut_s=0.0) for run in runs if run.resources]
    windows = [window for window in opened if window and not check_laws(window).faults]
    values = [run_values(window, kept_bins(window)) for window in windows]
    verdict = bottleneck_of(windows, values, samples_of(values, {}, column))
    if verdict is None or not isinstance(verdict.evidence, Limiting):
        return None
    evidence = msgspec.structs.replace(verdict.evidence, is_steady=False)
    return msgspec.structs.replace(verdict, evidence=evidence)


def with_overload(cut: WarmUpCut, runs: Sequence[Run], verdict: Bottleneck | None) -> WarmUpCut:
    """Return the failed cut, with the resource for which the load may be more than it can serve.

    Without a verdict it is looked for at the stations whose servers are not known: no utilization
    tells that they are full, but a queue that grows all the time does.
    """
    names = _unknown_stations(runs) if verdict is None else [(verdict.kind, verdict.name)]
    growing = [(kind, name) for kind, name in names if all(_grows(run, kind, name) for run in runs)]
    if not growing or cut.evidence is None:
        return cut
    evidence = msgspec.structs.replace(cut.evidence, overloaded=growing[0])
    return msgspec.structs.replace(cut, evidence=evidence)


def _unknown_stations(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Return kind and name of the stations with an unlimited or unknown number of servers."""
    return [
        (table.kind, name)
        for run in runs[:1]
        for table in run.resources
        if table.kind == "station"
        for name, capacity in zip(table.names, table.capacity, strict=True)
        if not isfinite(capacity)
    ]


def _grows(run: Run, kind: str, name: str) -> bool:
    """Return whether the queue of a resource grows from half to half of `run`."""
    table = next((resource for resource in run.resources if resource.kind == kind), None)
    if table is None or name not in table.names:
        return False
    queue_s = table.columns["queue_s"][:, table.names.index(name)]
    end_s = run.snapshot_times_s[-1]
    middle = int(run.snapshot_times_s.searchsorted(end_s / 2))
    middle_s = run.snapshot_times_s[middle]
    if not 0.0 < middle_s < end_s:
        return False
    before = queue_s[middle] / middle_s
    after = (queue_s[-1] - queue_s[middle]) / (end_s - middle_s)
    return bool(after > GROWTH * before)


def _means(values: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each metric over the replications that gave it."""
    names = dict.fromkeys(name for value in values for name in value)
    return {name: fmean(value[name] for value in values if name in value) for name in names}
