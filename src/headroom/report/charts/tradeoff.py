"""Two metrics of one experiment against each other: cost against benefit."""

from collections.abc import Sequence
from dataclasses import replace

from headroom.analysis.results import Estimate, ExperimentResult
from headroom.quantities import Scale, format_level
from headroom.report.charts.panel import Panel, drawn_words, panel_key, thin
from headroom.report.charts.sweep import series_role
from headroom.report.extent import fair_shares
from headroom.report.figures.inputs import Key, Setting, TradeOff
from headroom.report.first_screen.scales import point_axis, scale_of, setting_at
from headroom.report.first_screen.settings import Pair, frontier
from headroom.report.numbers import format_estimate
from headroom.report.sentences.intervals import describe_interval
from headroom.report.words import (
    axis_title,
    join_words,
    label_levels,
    label_metric,
    title_metric,
)

_FIGURES_AT_MOST = 2
_LABELS_AT_MOST = 30
_POINTS_IN_A_PANEL = 6
_SERIES_AT_MOST = 7


def tradeoff_panels(experiment: ExperimentResult, *, marks: int) -> list[Panel]:
    """Return scatters of the first response against the next ones, for measured experiments.

    Parameters
    ----------
    marks
        Marks per figure at most; what no other point beats is drawn first.
    """
    if experiment.column != "measure" or not experiment.responses:
        return []
    first, *others = experiment.responses
    found = [(other, _pairs(experiment, first, other)) for other in others[:_FIGURES_AT_MOST]]
    return [_panel(experiment, first, up, pairs, marks) for up, pairs in found if len(pairs) > 1]


def _pairs(experiment: ExperimentResult, across: str, up: str) -> list[Pair]:
    return [
        (point, point.estimates[across], point.estimates[up])
        for point in experiment.points
        if across in point.estimates and up in point.estimates
    ]


def _panel(
    experiment: ExperimentResult, across: str, up: str, found: Sequence[Pair], marks: int
) -> Panel:
    best = frontier(found)
    series = _series_of(experiment)
    drawn = _drawn(found, best, series, marks)
    shown = [pair for pair in found if pair[0].key in drawn]
    x_estimates, y_estimates = [x for _, x, _ in found], [y for _, _, y in found]
    words = [
        describe_interval(x_estimates),
        "Filled: no other point is better in both; hollow: some point is." if best else "",
        _names_words(experiment, len(shown)),
        f"Colours: {series[0]}." if series else "",
        drawn_words(len(shown), len(found)),
    ]
    return Panel(
        key=panel_key(experiment.name, "trade", across, up),
        title=f"{title_metric(up)} against {label_metric(across)}",
        caption=" ".join(filter(None, words)),
        direction=_directions(x_estimates, y_estimates),
        pictures={("", ""): _figure(shown, best, series)},
        is_wide=len(shown) > _POINTS_IN_A_PANEL,
    )


def _figure(shown: Sequence[Pair], best: set[str], series: Sequence[str]) -> TradeOff:
    xs, ys = [x for _, x, _ in shown], [y for _, _, y in shown]
    scales = scale_of(xs), scale_of(ys)
    titles = axis_title(xs[0].metric, scales[0]), axis_title(ys[0].metric, scales[1])
    names = list(series[1:])
    key: Key = tuple((name, series_role(place), False) for place, name in enumerate(names))
    has_names = len(shown) <= _LABELS_AT_MOST
    settings = tuple(
        _setting(pair, scales, series, is_beaten=bool(best) and pair[0].key not in best,
                 has_name=has_names)
        for pair in shown
    )  # fmt: skip
    ends = [
        [end * scale.factor for one in found for end in (one.value, one.low, one.high) if end]
        for found, scale in ((xs, scales[0]), (ys, scales[1]))
    ]
    return TradeOff(
        x=point_axis(ends[0], titles[0], scales[0]),
        y=point_axis(ends[1], titles[1], scales[1]),
        settings=settings,
        key=key,
        is_joined=bool(names),
    )


def _setting(
    pair: Pair,
    scales: tuple[Scale, Scale],
    series: Sequence[str],
    *,
    is_beaten: bool,
    has_name: bool,
) -> Setting:
    point, x, y = pair
    name = label_levels(list(point.levels.values()))
    place = series.index(format_level(point.levels.get(series[0])), 1) - 1 if series else None
    hint = "\n".join(
        [
            name,
            f"{title_metric(x.metric)}: {format_estimate(x)}",
            f"{title_metric(y.metric)}: {format_estimate(y)}",
            f"n = {x.count}",
        ]
    )
    return replace(
        setting_at(x, y, scales, hint),
        name=name if has_name else "",
        role=series_role(place or 0),
        is_beaten=is_beaten,
        series=place,
    )


def _drawn(found: Sequence[Pair], best: set[str], series: Sequence[str], marks: int) -> set[str]:
    """Return the keys of the points to draw: unbeaten ones first, of the rest an even choice."""
    shares = fair_shares([len(best), len(found) - len(best)], marks)
    return {
        point.key
        for is_best, share in zip((True, False), shares, strict=True)
        for point, _, _ in thin(
            [pair for pair in found if (pair[0].key in best) == is_best],
            at_most=share,
            curve_of=lambda pair: pair[0].levels.get(series[0]) if series else None,
        )
    }


def _directions(across: Sequence[Estimate], up: Sequence[Estimate]) -> str:
    if not across or "none" in {across[0].better, up[0].better}:
        return ""
    sides = (
        "right" if across[0].better == "high" else "left",
        "top" if up[0].better == "high" else "bottom",
    )
    return f"{sides[1]} {sides[0]} is better"


def _series_of(experiment: ExperimentResult) -> list[str]:
    first = next((f for f in experiment.factors if not f.is_numeric), None)
    if first is None or not 1 < len(set(map(format_level, first.levels))) <= _SERIES_AT_MOST:
        return []
    return [first.name, *dict.fromkeys(format_level(level) for level in first.levels)]


def _names_words(experiment: ExperimentResult, count: int) -> str:
    """Return the meaning of the numbers next to the points if there are several factors."""
    names = [factor.name for factor in experiment.factors]
    if count > _LABELS_AT_MOST or len(names) < 2:  # noqa: PLR2004 - one name is the series or axis
        return ""
    return f"Beside the points, where there is room: {join_words(names)}."
