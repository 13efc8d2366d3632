"""Bottleneck of a terminating run: over the whole run, and in its worst stretch.

The mean over a day hides its peak. If a resource was saturated for a while, the verdict describes
that stretch and adds the verdict over the whole run.

Invariant: a verdict on a stretch names it.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from headroom.analysis.evidence import Limiting, SaturatedSpan, WorstSpan
from headroom.analysis.results import Bottleneck
from headroom.analysis.run.time_windows import over_replications, part_of, values_of_parts
from headroom.analysis.run.windows import Window
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.verdicts.busy_stretch import Stretch, busy_stretches, queue_peak
from headroom.analysis.verdicts.limits import bottleneck_of
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column

WHOLE = 0.95
"""Share of the run from which a stretch is the run itself."""


def limit_of_terminating(
    windows: Sequence[Window],
    values: Sequence[Mapping[str, float]],
    samples: Mapping[str, Sample],
    column: Column,
    useless: Collection[str] = (),
) -> Bottleneck | None:
    """Return the bottleneck of terminating runs.

    Parameters
    ----------
    windows, values, samples
        The whole runs, the metrics of each, and over all of them.
    column
        Whether means or medians speak for the point.
    useless
        Stations that reject work and whose doubling was tried: it gives nothing.
    """
    whole = bottleneck_of(windows, values, samples, useless)
    runs = [window.run for window in windows]
    stretches = busy_stretches(runs)
    if whole is None or not stretches or _is_whole(stretches[0], windows):
        return whole
    worst = stretches[0]
    verdict = _verdict_on(runs, worst, column, useless)
    if verdict is None or not isinstance(verdict.evidence, Limiting):
        return whole
    evidence = replace(verdict.evidence, worst=_worst_span(windows, stretches, verdict, samples))
    return replace(verdict, evidence=evidence, from_s=worst.from_s, to_s=worst.to_s)


def _worst_span(
    windows: Sequence[Window],
    stretches: Sequence[Stretch],
    verdict: Bottleneck,
    samples: Mapping[str, Sample],
) -> WorstSpan:
    worst = stretches[0]
    whole = samples.get(f"{verdict.kind}.{verdict.name}.utilization")
    return WorstSpan(
        from_s=worst.from_s,
        to_s=worst.to_s,
        kind=worst.kind,
        name=worst.name,
        longest_queue=queue_peak([window.run for window in windows], worst),
        is_last=worst.to_s >= min(window.end_s for window in windows),
        others=[
            SaturatedSpan(name=stretch.name, from_s=stretch.from_s, to_s=stretch.to_s)
            for stretch in stretches[1:]
            if stretch.from_s >= worst.to_s or stretch.to_s <= worst.from_s
        ],
        whole_utilization=None if whole is None else whole.value,
    )


def _is_whole(stretch: Stretch, windows: Sequence[Window]) -> bool:
    shortest_s = min(window.length_s for window in windows)
    return stretch.to_s - stretch.from_s >= WHOLE * shortest_s


def _verdict_on(
    runs: Sequence[Run], stretch: Stretch, column: Column, useless: Collection[str]
) -> Bottleneck | None:
    found = [part_of(run, from_s=stretch.from_s, to_s=stretch.to_s) for run in runs]
    parts = [part for part in found if part is not None]
    values = values_of_parts(parts)
    return bottleneck_of(parts, values, over_replications(values, column), useless)
