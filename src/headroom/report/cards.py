"""Cards for notebooks: an estimate, a result, a model, each a small piece of HTML.

A card is at most 560 px wide, has no script and loads nothing, so it is complete wherever a
notebook is shown. Its colours follow the theme of the notebook where that tells it.

Invariant: restates results; every text passes `escape`.
"""

from collections import Counter
from html import escape

from headroom.analysis.results import (
    ClaimResult,
    Estimate,
    ExperimentResult,
    StudyResult,
    Verdict,
)
from headroom.quantities import format_level, format_quantity
from headroom.report.charts.sweep import scale_of
from headroom.report.dimensions import dimensions_of
from headroom.report.model_picture import draw_model
from headroom.report.numbers import format_estimate
from headroom.report.summary import Finding, describe_progress, find
from headroom.report.words import count_noun, label_metric, title_metric

WIDTH_PX = 560
_INK, _SOFT, _LINE = "var(--jp-ui-font-color1, CanvasText)", "#7d8791", "rgba(125,135,145,.45)"
_DATA, _BAND, _LIMIT = "#2f8fc4", "rgba(47,143,196,.28)", "#d55e00"
_GOOD, _BAD = "#00856a", "#c9342b"
_FRAME = (
    f"max-width:{WIDTH_PX}px;box-sizing:border-box;border:1px solid {_LINE};border-radius:8px;"
    f"padding:11px 14px 10px;font:14px/1.4 system-ui,sans-serif;color:{_INK};overflow-wrap:anywhere"
)
_NO_ANSWER = "No single factor decides this study: see the page."
_VERDICTS: dict[Verdict, tuple[str, str, str]] = {
    "holds": ("✓", "hold", _GOOD),
    "differs": ("✗", "differ", _BAD),
    "undecided": ("?", "undecided", _SOFT),
}
_ANSWERS = ("Limit", "Compare", "Saturated", "Worst", "Predicted", "Fitted", "Knee", "Best")
"""Topics whose first sentence may be the answer, the best first."""
_PLOT_W, _PLOT_H = 250, 92
_CURVE = 3
"""Levels that make a curve."""


def estimate_card(estimate: Estimate, *, where: str = "", is_simulated: bool = True) -> str:
    """Return an estimate as a card: the number, its interval drawn, the runs, the method.

    Parameters
    ----------
    estimate
        The estimate.
    where
        Levels of its point as text.
    is_simulated
        Whether a model gave it.
    """
    what = ", ".join(filter(None, [label_metric(estimate.metric), where]))
    head = _head(what, "simulated" if is_simulated else "measured")
    number = format_quantity(estimate.value, estimate.unit)
    big = f'<div style="font-size:23px;font-weight:700">{escape(number)}</div>'
    runs = count_noun(estimate.count, "run")
    if estimate.low is None or estimate.high is None:
        return _card(head, big, _note(f"no interval; {runs}"))
    words = f"95% confidence; {runs}; {estimate.method}"
    return _card(head, big, _interval(estimate), _note(words))


def result_card(result: StudyResult) -> str:
    """Return a result as a card: the answer, a small figure, chips of claims, cautions."""
    columns = sorted({experiment.column for experiment in result.experiments})
    tag = " and ".join({"measure": "measured", "model": "simulated"}[one] for one in columns)
    title = result.question or result.title
    findings = [found for experiment in result.experiments for found in find(experiment)]
    figure = next(filter(None, map(_figure, result.experiments)), "")
    side = f"<div>{_chips(result.claims)}{_note(_runs(result))}</div>"
    body = (
        f'<div style="display:flex;gap:16px;flex-wrap:wrap;align-items:center">{figure}{side}</div>'
    )
    only = [_responses(one) for one in result.experiments if len(one.points) == 1]
    points = sum(len(experiment.points) for experiment in result.experiments)
    extent = f"{count_noun(len(result.experiments), 'experiment')}, {count_noun(points, 'point')}"
    return _card(
        _head(title, tag),
        f'<p style="margin:3px 0"><b>{escape(answer(findings))}</b></p>',
        *only,
        body,
        *(_caution(found.text) for found in findings if found.topic == "Caution"),
        _note(f"{extent} · .summary() .to_frame() .chart() .page()"),
    )


def model_card(name: str, data: dict[str, object], bounds: list[str]) -> str:
    """Return a model as a card: its picture, and what it cannot exceed.

    Parameters
    ----------
    name, data
        The model as data, as `headroom.simulation.model_data` returns it.
    bounds
        Sentences on its bounds, the most important first.
    """
    picture = draw_model(data, key="card", is_file=True)
    scroll = f'<div style="overflow-x:auto;max-height:340px;margin:4px 0">{picture}</div>'
    first = [f'<p style="margin:3px 0"><b>{escape(bound)}</b></p>' for bound in bounds[:1]]
    return _card(_head(f"model {name}", ""), scroll, *first, *map(_note, bounds[1:]))


def text_card(title: str, sentences: list[str]) -> str:
    """Return sentences as a card, the first one bold."""
    first = [f'<p style="margin:3px 0"><b>{escape(one)}</b></p>' for one in sentences[:1]]
    return _card(_head(title, ""), *first, *map(_note, sentences[1:]))


def answer(findings: list[Finding]) -> str:
    """Return the sentence that answers a study best."""
    for topic in _ANSWERS:
        for found in findings:
            if found.topic == topic:
                return found.text
    return _NO_ANSWER


def _card(*parts: str) -> str:
    return f'<div class="headroom-card" style="{_FRAME}">{"".join(parts)}</div>'


def _head(title: str, tag: str) -> str:
    mark = (
        f'<span style="border:1px solid {_LINE};border-radius:9px;padding:0 8px;'
        f'white-space:nowrap">{escape(tag)}</span>'
        if tag
        else ""
    )
    return (
        f'<div style="display:flex;gap:8px;align-items:flex-start;justify-content:space-between;'
        f'font-size:13px;color:{_SOFT}"><span>{escape(title)}</span>{mark}</div>'
    )


def _note(text: str) -> str:
    return f'<p style="margin:3px 0;font-size:13px;color:{_SOFT}">{escape(text)}</p>'


def _caution(text: str) -> str:
    return f'<p style="margin:3px 0;font-size:13px;color:{_LIMIT}">! {escape(text)}</p>'


def _responses(experiment: ExperimentResult) -> str:
    """Return the responses of the only point."""
    estimates = experiment.points[0].estimates
    told = [
        f"{label_metric(name)} {format_estimate(estimates[name])}"
        for name in experiment.responses
        if name in estimates
    ]
    return f'<p style="margin:3px 0">{escape("; ".join(told))}</p>' if told else ""


def _chips(claims: list[ClaimResult]) -> str:
    counts = Counter(claim.verdict for claim in claims)
    chips = [
        f'<span style="border:1px solid {color};color:{color};border-radius:9px;padding:0 8px;'
        f'margin-right:6px;font-size:13px">{sign} {counts[verdict]} {word}</span>'
        for verdict, (sign, word, color) in _VERDICTS.items()
        if counts[verdict]
    ]
    return f"<div>{''.join(chips)}</div>" if chips else ""


def _runs(result: StudyResult) -> str:
    words = describe_progress(result)
    return f"{words}: quick variant" if result.is_quick else words


def _interval(estimate: Estimate) -> str:
    """Return the interval, drawn on a line that is twice as long."""
    low, high = float(estimate.low or 0.0), float(estimate.high or 0.0)
    span = (high - low) or abs(estimate.value) or 1.0
    left = (low + high) / 2 - span

    def x(value: float) -> float:
        return 4 + (value - left) / (2 * span) * 242

    ends = [_text(x(end), 31, format_quantity(end, estimate.unit), "middle") for end in (low, high)]
    return _svg(
        250,
        34,
        format_estimate(estimate),
        _line(4, 10, 246, 10, _LINE),
        f'<rect x="{x(low):.1f}" y="5" width="{max(x(high) - x(low), 1):.1f}" height="10" '
        f'fill="{_BAND}"/>',
        f'<circle cx="{x(estimate.value):.1f}" cy="10" r="4" fill="{_DATA}"/>',
        *(ends if high > low else ends[:1]),
    )


def _figure(experiment: ExperimentResult) -> str:
    """Return the first response over the first numeric factor with its knee; empty without."""
    numeric = (one for one in dimensions_of(experiment) if one.is_numeric)
    axis = next((one for one in numeric if len(one.labels) >= _CURVE), None)
    if axis is None or not experiment.responses:
        return ""
    metric = experiment.responses[0]
    others = {name: level for name, level in experiment.points[0].levels.items()
              if name not in {factor.name for factor in axis.factors}}  # fmt: skip
    shown = [
        (axis.number_of(point), point.estimates[metric])
        for point in experiment.points
        if metric in point.estimates
        and all(point.levels.get(name) == level for name, level in others.items())
    ]
    pairs = [(level, estimate) for level, estimate in sorted(shown, key=lambda pair: pair[0])]
    if len(pairs) < _CURVE:
        return ""
    return _drawn(experiment, metric, axis.name, pairs)


def _drawn(
    experiment: ExperimentResult, metric: str, axis: str, pairs: list[tuple[float, Estimate]]
) -> str:
    levels = [level for level, _ in pairs]
    top = max(estimate.value for _, estimate in pairs) or 1.0
    width = (levels[-1] - levels[0]) or 1.0

    def x(level: float) -> float:
        return 8 + (level - levels[0]) / width * (_PLOT_W - 16)

    def y(value: float) -> float:
        return 74 - max(value, 0.0) / top * 56

    knee = next((one.level for one in experiment.knees if one.found and one.metric == metric), None)
    marked = knee is not None and levels[0] <= knee <= levels[-1]
    path = "L".join(f"{x(level):.1f} {y(estimate.value):.1f}" for level, estimate in pairs)
    scale = scale_of([estimate for _, estimate in pairs])
    unit = f" {scale.label}" if scale.label not in {"", "1"} else ""
    last = format_level(float(f"{pairs[-1][1].value * scale.factor:.3g}"))
    title = f"{title_metric(metric)} over {axis}"
    parts = [
        _line(4, 74, _PLOT_W - 4, 74, _SOFT),
        f'<path d="M{path}" fill="none" stroke="{_DATA}" stroke-width="2"/>',
        _text(4, 88, format_level(levels[0]), "start"),
        _text(_PLOT_W - 4, 88, f"{format_level(levels[-1])} {axis}", "end"),
        _text(_PLOT_W - 4, 12, f"{title_metric(metric)} {last}{unit}", "end"),
    ]
    if marked and knee is not None:
        parts.insert(0, _line(x(knee), 16, x(knee), 74, _LIMIT))
        side = "end" if x(knee) > _PLOT_W / 2 else "start"
        shift = -4 if side == "end" else 4
        parts.append(_text(x(knee) + shift, 70, f"knee {knee:.3g}", side))
    return _svg(_PLOT_W, _PLOT_H, title, *parts)


def _svg(width: int, height: int, label: str, *parts: str) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'style="max-width:100%;font:11px system-ui,sans-serif" aria-label="{escape(label)}">'
        f"{''.join(parts)}</svg>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_SOFT}">{escape(text)}</text>'
    )
