"""Figures of settings: bars, runs with their centre, trade-offs, what-if changes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from headroom.analysis.answer.design import telling_factors
from headroom.analysis.answer_evidence import Changes, FigureChoice, TriedChange
from headroom.analysis.results import Estimate, ExperimentResult, PointResult
from headroom.experiment.protocol.system import Value
from headroom.quantities import Scale, choose_scale
from headroom.report.figures.inputs import Bar, Bars, Row, Rows, TradeOff
from headroom.report.first_screen.scales import (
    digits,
    is_at,
    point_axis,
    scale_of,
    scaled,
    setting_at,
    short,
    times,
    title_of,
    value_axis,
    where_of,
)
from headroom.report.first_screen.sentences.names import applied_words, setting_words
from headroom.report.titles import level_title
from headroom.report.words import axis_title, label_levels

Pair: TypeAlias = tuple[PointResult, Estimate, Estimate]
"""A point with its estimates across and up."""
MOST_ROWS = 14
_MOST_RUNS = 40


def name_of(point: PointResult, experiment: ExperimentResult) -> str:
    """Return the levels that distinguish a point, as one short name."""
    names = [
        factor.name
        for factor in telling_factors(experiment.factors)
        if len(set(factor.levels)) > 1 and factor.name in point.levels
    ]
    levels = [level_title(name, point.levels[name]) or point.levels[name] for name in names]
    return label_levels(levels) if names else "the only point"


def _found(
    choice: FigureChoice, experiment: ExperimentResult, metric: str
) -> list[tuple[PointResult, Estimate]]:
    found = [
        (point, point.estimates[metric])
        for point in experiment.points
        if metric in point.estimates and is_at(point, where_of(choice, experiment))
        if not choice.only or any(is_at(point, setting) for setting in choice.only)
    ]
    return found[:MOST_ROWS]


def _marked(choice: FigureChoice, kind: str) -> list[Mapping[str, Value]]:
    return [mark.setting for mark in choice.marks if mark.kind == kind and mark.setting]


def _is_marked(point: PointResult, settings: Iterable[Mapping[str, Value]]) -> bool:
    return any(is_at(point, setting) for setting in settings)


def bars_of(choice: FigureChoice, experiment: ExperimentResult) -> Bars | None:
    """Return a bar for each setting; None if fewer than two have results."""
    found = _found(choice, experiment, choice.metrics[0])
    if len(found) < 2:  # noqa: PLR2004
        return None
    scale = scale_of([estimate for _, estimate in found])
    best = _marked(choice, "best")
    values = [end for _, one in found for end in (one.value, one.high or one.value)]
    bars = tuple(
        Bar(
            label=name_of(point, experiment),
            value=estimate.value * scale.factor,
            low=scaled(estimate.low, scale),
            high=scaled(estimate.high, scale),
            text=digits(estimate.value, scale),
            role="better" if _is_marked(point, best) else "data",
            end=point.limiter,
        )
        for point, estimate in found
    )
    axis = value_axis([v * scale.factor for v in values], title_of(choice.metrics, scale), scale)
    return Bars(x=axis, bars=bars, end_title="limits" if any(bar.end for bar in bars) else "")


def rows_of(choice: FigureChoice, experiment: ExperimentResult) -> Rows | None:
    """Return a row of runs for each setting; None if fewer than two have results."""
    metric = choice.metrics[0]
    found = _found(choice, experiment, metric)
    if len(found) < 2:  # noqa: PLR2004
        return None
    scale = scale_of([estimate for _, estimate in found])
    best = _marked(choice, "best")
    rows = tuple(
        Row(
            label=name_of(point, experiment),
            value=estimate.value * scale.factor,
            low=scaled(estimate.low, scale),
            high=scaled(estimate.high, scale),
            runs=tuple(run * scale.factor for run in _runs_of(point, estimate)),
            text=short(estimate),
            role="better" if _is_marked(point, best) else "data",
            is_bold=_is_marked(point, best),
        )
        for point, estimate in found
    )
    ends = [end for row in rows for end in (row.value, row.low, row.high, *row.runs)]
    known = [end for end in ends if end is not None]
    return Rows(x=point_axis(known, title_of([metric], scale), scale), rows=rows)


def _runs_of(point: PointResult, estimate: Estimate) -> Sequence[float]:
    """Return the single runs of a point where its results hold them."""
    samples = next((d.samples for d in point.distributions if d.metric == estimate.metric), [])
    return samples[:_MOST_RUNS]


def frontier(found: Sequence[Pair]) -> set[str]:
    """Return the keys of the points that no other point beats in both metrics.

    Empty if a metric has no direction; ties beat nobody.
    """
    if not found or "none" in {found[0][1].better, found[0][2].better}:
        return set()
    costs = {point.key: (_cost(x), _cost(y)) for point, x, y in found}
    unbeaten: set[tuple[float, float]] = set()
    least_up = math.inf
    for across, up in sorted(set(costs.values())):
        if up < least_up:  # All that come before cost no more across.
            unbeaten.add((across, up))
            least_up = up
    return {key for key, cost in costs.items() if cost in unbeaten}


def _cost(estimate: Estimate) -> float:
    return -estimate.value if estimate.better == "high" else estimate.value


def trade_off_of(choice: FigureChoice, experiment: ExperimentResult) -> TradeOff | None:
    """Return the settings by two goals, with the frontier that no setting beats."""
    across, up = choice.metrics[:2]
    pairs = [
        (point, point.estimates[across], point.estimates[up])
        for point in experiment.points
        if across in point.estimates and up in point.estimates
    ][: 2 * MOST_ROWS]
    if len(pairs) < 2:  # noqa: PLR2004
        return None
    scales = scale_of([x for _, x, _ in pairs]), scale_of([y for _, _, y in pairs])
    unbeaten = frontier(pairs)
    best, beaten = _marked(choice, "best"), _marked(choice, "beaten")
    settings = tuple(
        replace(
            setting_at(x, y, scales),
            name=name_of(point, experiment),
            detail=_detail(point, choice, experiment, (x, y)),
            role="better" if _is_marked(point, best) else "data",
            is_beaten=_is_marked(point, beaten) and not _is_marked(point, best),
        )
        for point, x, y in pairs
    )
    on_front = [place for place, (point, _, _) in enumerate(pairs) if point.key in unbeaten]
    return TradeOff(
        x=point_axis([one.x.x for one in settings], axis_title(across, scales[0]), scales[0]),
        y=point_axis([one.x.y for one in settings], axis_title(up, scales[1]), scales[1]),
        settings=settings,
        frontier=tuple(sorted(on_front, key=lambda place: settings[place].x.x)),
        better=_better_words(pairs[0][1], pairs[0][2]),
    )


def _detail(
    point: PointResult,
    choice: FigureChoice,
    experiment: ExperimentResult,
    values: tuple[Estimate, Estimate],
) -> tuple[str, ...]:
    """Return the value for which a setting is best, or by what it is beaten."""
    goals = getattr(choice.finding, "goals", [])
    won = [
        short(value)
        for goal, value in zip(goals, values, strict=False)
        if any(is_at(point, setting) for setting in goal.settings)
    ]
    if won:
        return (", ".join(won),)
    beaten = next(
        (b for b in getattr(choice.finding, "beaten", []) if is_at(point, b.setting)), None
    )
    if beaten is None:
        return ()
    by = next((p for p in experiment.points if is_at(p, beaten.by)), None)
    return (f"beaten by {name_of(by, experiment)}",) if by is not None else ()


def _better_words(across: Estimate, up: Estimate) -> str:
    if "none" in {across.better, up.better}:
        return ""
    sides = (
        "up" if up.better == "high" else "down",
        "right" if across.better == "high" else "left",
    )
    return f"better: {sides[0]} and to the {sides[1]}"


def changes_of(choice: FigureChoice) -> Bars | None:
    """Return a bar for each change that was tried, with the part that limits then."""
    finding = choice.finding
    if not isinstance(finding, Changes):
        return None
    best = [one for one in (finding.best, finding.further) if one is not None]
    tried = [*finding.also, *best][-MOST_ROWS:]
    rows = [*finding.no_gain[: MOST_ROWS - len(tried)], *tried]
    if not rows:
        return None
    last = rows[-1]
    before = last.before
    known = [] if before is None else [before]
    scale = choose_scale([*known, *(one.after for one in rows)], last.unit, metric=last.metric)
    today = [
        Bar(label="as it is", value=one * scale.factor, text=digits(one, scale), role="context")
        for one in known
    ]
    bars = (*today, *(_changed(one, scale) for one in rows))
    axis = value_axis([bar.value for bar in bars], axis_title(last.metric, scale), scale)
    return Bars(
        x=axis,
        bars=bars,
        today=None if before is None else before * scale.factor,
        title=f"at {setting_words(finding.levels)}" if finding.levels else "",
        end_title="next bottleneck" if any(bar.end for bar in bars) else "",
    )


def _gained(change: TriedChange) -> str:
    if not change.is_gain:
        return "no gain"
    return times(change.gain.value) if change.gain else "" if change.after else "none left"


def _changed(change: TriedChange, scale: Scale) -> Bar:
    return Bar(
        label=applied_words(change.applied),
        value=change.after * scale.factor,
        text=_gained(change),
        role="better" if change.is_gain else "context",
        end=change.then.name if change.then is not None else "",
    )
