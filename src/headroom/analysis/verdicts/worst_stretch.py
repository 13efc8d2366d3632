"""What limits a terminating run: over the whole of it, and in the stretch that was worst.

The mean over a day hides its peak. Where some resource was saturated for a while, the verdict is
that of this while; what the whole run says is added to it.

Invariant: a verdict on a stretch names it, in words and in seconds.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from headroom.analysis.results import Bottleneck
from headroom.analysis.run.time_windows import over_replications, part_of, values_of_parts
from headroom.analysis.run.windows import Window
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.verdicts.busy_stretch import Stretch, busy_stretches, queue_peak
from headroom.analysis.verdicts.limits import bottleneck_of
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column
from headroom.quantities import format_percent, format_plain, format_time_span

WHOLE = 0.95
"""Share of the run from which a stretch is the run itself."""
OTHERS_SHOWN = 2
_DECIMALS_BELOW = 10.0


def limit_of_terminating(
    windows: Sequence[Window],
    values: Sequence[Mapping[str, float]],
    samples: Mapping[str, Sample],
    column: Column,
    useless: Collection[str] = (),
) -> Bottleneck | None:
    """Return what limits terminating runs.

    Parameters
    ----------
    windows, values, samples
        The whole runs, the metrics of each, and over all of them.
    column
        Whether means or medians speak for the point.
    useless
        Stations that turn work away and whose doubling was tried: it gives nothing.
    """
    whole = bottleneck_of(windows, values, samples, useless)
    runs = [window.run for window in windows]
    stretches = busy_stretches(runs)
    if whole is None or not stretches or _is_whole(stretches[0], windows):
        return whole
    worst = stretches[0]
    verdict = _verdict_on(runs, worst, column, useless)
    if verdict is None or not verdict.limits:
        return whole
    return replace(
        verdict,
        evidence="; ".join([
            f"saturated {format_time_span(worst.from_s, worst.to_s)}: {verdict.evidence}",
            *_growth(runs, worst, windows),
            *_others(stretches, verdict),
            _on_the_whole(verdict, samples),
        ]),
        from_s=worst.from_s,
        to_s=worst.to_s,
    )  # fmt: skip


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


def _growth(runs: Sequence[Run], stretch: Stretch, windows: Sequence[Window]) -> list[str]:
    peak = queue_peak(runs, stretch)
    if peak < 1.0:
        return []
    name = stretch.name if stretch.kind == "station" else f"pool {stretch.name}"
    length = format_plain(peak, decimals=1 if peak < _DECIMALS_BELOW else 0)
    is_last = stretch.to_s >= min(window.end_s for window in windows)
    end = ", and it was not cleared when the run ended" if is_last else ""
    return [f"the queue of {name} grew to {length}{end}"]


def _others(stretches: Sequence[Stretch], verdict: Bottleneck) -> list[str]:
    """Name what else was saturated at other times."""
    worst = stretches[0]
    apart = [one for one in stretches[1:] if one.from_s >= worst.to_s or one.to_s <= worst.from_s]
    shown = [
        f"{one.name} {format_time_span(one.from_s, one.to_s)}"
        if one.name != verdict.name
        else f"again {format_time_span(one.from_s, one.to_s)}"
        for one in apart[:OTHERS_SHOWN]
    ]
    more = len(apart) - len(shown)
    tail = [f"{more} more"] if more else []
    return [f"also saturated: {', '.join([*shown, *tail])}"] if shown else []


def _on_the_whole(verdict: Bottleneck, samples: Mapping[str, Sample]) -> str:
    sample = samples.get(f"{verdict.kind}.{verdict.name}.utilization")
    verb = "busy" if verdict.kind == "station" else "held"
    if sample is None:
        return "the rest of the run is not saturated"
    return f"over the whole run it is {verb} {format_percent(sample.value)}"
