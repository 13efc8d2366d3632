"""Parameters fitted from other experiments: sentences, a table of values, a table of residuals.

Invariant: restates `FitResult`; the only arithmetic is counting and picking the middle or worst.
"""

from collections.abc import Sequence
from statistics import median

from headroom.analysis.results import (
    ExperimentResult,
    FitCandidate,
    FitResidual,
    FitResult,
    FitSet,
    FittedValue,
    LoadRange,
    Prediction,
)
from headroom.quantities import (
    MINUS,
    format_bounds,
    format_given,
    format_level,
    format_levels,
    format_percent,
)
from headroom.report.sentences.fits import (
    closest_words,
    fit_notes,
    fitted_remark,
    limit_words,
    prediction_errors,
    prediction_place,
    prediction_step,
)
from headroom.report.tables.tables import Cell, Head, Table, number_cell
from headroom.report.words import first_few, join_words, title_metric

_SENTENCES_AT_MOST = 4
_VALUES_AT_MOST = 6
_CANDIDATES_AT_MOST = 8


def format_fitted(one: FittedValue) -> str:
    """Return a fitted value with its interval.

    Examples
    --------
    >>> service = FittedValue(name="service_s", value=0.0123, unit="s", low=0.0121, high=0.0125)
    >>> format_fitted(service)
    '12.3 ms (12.1 to 12.5)'
    >>> format_fitted(FittedValue(name="law", value="lognormal", unit=""))
    'lognormal'
    """
    if isinstance(one.value, (bool, str)):
        return format_level(one.value)
    if one.low is None or one.high is None or one.low == one.high:
        return format_given(float(one.value), one.unit, metric=one.name)
    return format_bounds(float(one.value), one.low, one.high, one.unit, metric=one.name)


def format_error(relative: float | None) -> str:
    """Return a relative error with its sign; nothing if there is none.

    Examples
    --------
    >>> format_error(0.0312), format_error(None)
    ('+3.1%', '')
    """
    if relative is None:
        return ""
    sign = MINUS if relative < 0.0 else "+"
    return f"{sign}{format_percent(abs(relative))}"


def fit_sentences(experiment: ExperimentResult) -> list[str]:
    """Return the fitted parameters and the quality of the fit, or the reason why there is none."""
    fit = experiment.fit
    if fit is None:
        return []
    if fit.state != "fitted":
        refused = f"Not run: {fit.reason}{f'; {fit.cure}' if fit.cure else ''}."
        return [refused, *_tried(fit.candidates)]
    return first_few([_sentence(fit, one) for one in fit.sets], _SENTENCES_AT_MOST, "sets")


def _sentence(fit: FitResult, one: FitSet) -> str:
    where = f" with {format_levels(one.where)}" if one.where else ""
    shown = [f"{p.name} = {format_fitted(p)}" for p in one.parameters[:_VALUES_AT_MOST]]
    left = len(one.parameters) - len(shown)
    if left:
        shown.append(f"{left} more")
    words = f"From {join_words(fit.sources)}{where} by {fit.method}: {join_words(shown)}"
    vague = [
        f"{p.name} is {remark}"
        for p in one.parameters
        if not p.is_determined and (remark := fitted_remark(p))
    ]
    words = ". ".join(filter(None, [words, *vague[:_VALUES_AT_MOST], limit_words(one)]))
    errors = [abs(r.relative) for r in one.residuals if r.relative is not None]
    if not errors:
        return f"{words}."
    typical, worst = format_percent(median(errors)), format_percent(max(errors))
    closest = f" {found}." if (found := closest_words(one)) else ""
    return (
        f"{words}. The fit is typically {typical} off what was observed, at worst {worst}.{closest}"
    )


def _tried(candidates: Sequence[FitCandidate]) -> list[str]:
    """Return the errors of the candidates in one sentence, those that are refuted marked."""
    if not candidates:
        return []
    names = _varied(candidates)
    ordered = sorted(candidates, key=lambda one: [str(one.values[name]).zfill(9) for name in names])
    shown = [
        f"{_candidate_label(one, names)}: {_error_text(one)}" + " (refuted)" * one.is_refuted
        for one in ordered[:_CANDIDATES_AT_MOST]
    ]
    left = len(candidates) - len(shown)
    more = f", {left} more" if left else ""
    return [f"Root mean square error by {' and '.join(names)}: {', '.join(shown)}{more}."]


def _varied(candidates: Sequence[FitCandidate]) -> list[str]:
    """Return the whole numbers that were tried one after the other."""
    return [
        name
        for name, value in candidates[0].values.items()
        if isinstance(value, int) and not isinstance(value, bool)
    ]


def _candidate_label(one: FitCandidate, names: Sequence[str]) -> str:
    return " x ".join(format_level(one.values[name]) for name in names)


def _error_text(one: FitCandidate) -> str:
    return "no answer" if one.error is None else format_percent(one.error)


def candidates_table(experiment: ExperimentResult) -> Table | None:
    """Return the whole numbers that were tried with their errors, None if there is none."""
    fit = experiment.fit
    groups = [fit.candidates, *(one.candidates for one in fit.sets)] if fit else []
    found = [one for group in groups if len(group) > 1 for one in group]
    if not found:
        return None
    names = list(found[0].values)
    heads = [Head(name, is_number=True) for name in names]
    heads += [Head("Root mean square error", is_number=True), Head("Verdict")]
    rows = [
        [
            *(
                number_cell(
                    format_given(float(one.values[name]), _unit_of(experiment, name), metric=name),
                    float(one.values[name]),
                )
                for name in names
            ),
            number_cell(_error_text(one), one.error),
            Cell("refuted" if one.is_refuted else "possible"),
        ]
        for one in found
    ]
    return Table("Whole numbers tried, all other parameters fitted again", heads, rows)


def _unit_of(experiment: ExperimentResult, name: str) -> str:
    return next((used.unit for used in experiment.parameters if used.name == name), "")


def prediction_sentences(experiment: ExperimentResult) -> list[str]:
    """Return the errors that intervals of predictions include, once for each kind of evidence."""
    groups: dict[tuple[str, str], list[Prediction]] = {}
    for point in experiment.points:
        if (found := point.prediction) is not None:
            groups.setdefault((found.kind, prediction_errors(found)), []).append(found)
    total = len(experiment.points)
    sentences = [_prediction_sentence(group, total) for group in groups.values()]
    left_out = _left_out(experiment) if groups else ""
    return [*sentences, left_out] if left_out else sentences


def _left_out(experiment: ExperimentResult) -> str:
    """Return which findings count no error of the fit, where there are any."""
    named = [
        name
        for name, is_there in (
            ("knees", any(knee.found for knee in experiment.knees)),
            ("what-ifs", any(point.what_ifs for point in experiment.points)),
        )
        if is_there
    ]
    if not named:
        return ""
    return f"The intervals of {join_words(named)} count the scatter of the simulated runs alone."


def _prediction_sentence(group: Sequence[Prediction], total: int) -> str:
    first = group[0]
    count = "The only point is" if total == 1 else f"All {total} points are"
    if len(group) < total:
        verb = "is" if len(group) == 1 else "are"
        count = f"{len(group)} of {total} points {verb}"
    reach = _reach([one.predicted for one in group if one.predicted], first.measured)
    place, step = prediction_place(first), prediction_step(first)
    where = f"{count} {place}{reach}. " if place else ""
    following = f" To narrow them, {step}." if step else ""
    return f"{where}{prediction_errors(first)}.{following}"


def _reach(predicted: Sequence[LoadRange], measured: LoadRange | None) -> str:
    """Return predicted loads next to the measured ones."""
    if measured is None or not predicted:
        return ""
    sides = []
    busy = [one.utilization for one in predicted if one.utilization]
    if busy and measured.utilization:
        near = (min(low for low, _ in busy), max(high for _, high in busy))
        sides.append(f"utilization {_shares(near)}, measured {_shares(measured.utilization)}")
    clients = [one.clients for one in predicted if one.clients]
    if clients and measured.clients:
        there = (min(low for low, _ in clients), max(high for _, high in clients))
        sides.append(f"clients {_span(there)}, measured {_span(measured.clients)}")
    others = [one.servers for one in predicted if one.servers != measured.servers]
    if others:
        sides.append(f"servers {others[0]}, measured {measured.servers}")
    return f" ({'; '.join(sides)})" if sides else ""


def _span(ends: tuple[int, int]) -> str:
    low, high = (f"{end:,}" for end in ends)
    return low if low == high else f"{low} to {high}"


def _shares(ends: tuple[float, float]) -> str:
    low, high = (f"{100.0 * end:.0f}" for end in ends)
    return f"{low}%" if low == high else f"{low} to {high}%"


def fitted_table(experiment: ExperimentResult) -> Table | None:
    """Return the fitted parameters with their intervals, None if nothing is fitted."""
    fit = experiment.fit
    if fit is None or not fit.sets:
        return None
    has_levels = any(one.where for one in fit.sets)
    heads = [Head("Points")] if has_levels else []
    heads += [Head("Parameter"), Head("Value, 95% interval", is_number=True)]
    heads += [Head("Standard error", is_number=True), Head("Remark")]
    rows = [
        [
            *([Cell(_where(one), is_head=True)] if has_levels else []),
            Cell(value.name, value.name, is_head=True),
            Cell(format_fitted(value), format_level(value.value), is_number=True),
            Cell(_error_of(value), is_number=True),
            Cell(fitted_remark(value)),
        ]
        for one in fit.sets
        for value in one.parameters
    ]
    caption = f"Fitted from {join_words(fit.sources)}, method {fit.method}"
    notes = list(dict.fromkeys(note for one in fit.sets for note in fit_notes(one)))
    return Table(caption, heads, rows, ". ".join(notes))


def _where(one: FitSet) -> str:
    return format_levels(one.where) if one.where else ""


def _error_of(value: FittedValue) -> str:
    if value.standard_error is None:
        return ""
    return format_given(value.standard_error, value.unit, metric=value.name)


def residual_table(experiment: ExperimentResult, *, at_most: int) -> Table | None:
    """Return fitted against observed for every observation, None if there is none.

    Parameters
    ----------
    at_most
        Rows at most; a note says how many more there are.
    """
    fit = experiment.fit
    placed = [(one, residual) for one in (fit.sets if fit else ()) for residual in one.residuals]
    if not placed:
        return None
    heads = [Head("Experiment"), Head("Point"), Head("Metric")]
    heads += [Head("Observed, 95% interval", is_number=True), Head("Fitted", is_number=True)]
    heads += [Head("Error", is_number=True)]
    rows = [_residual_row(residual) for _, residual in placed[:at_most]]
    left = len(placed) - len(rows)
    note = f"{left:,} more in results.json." if left else ""
    return Table("Fitted against observed", heads, rows, note)


def _residual_row(one: FitResidual) -> list[Cell]:
    observed = format_bounds(
        one.observed, one.observed_low, one.observed_high, one.unit, metric=one.metric
    )
    return [
        Cell(one.experiment, one.experiment, is_head=True),
        Cell(format_levels(one.levels) if one.levels else ""),
        Cell(title_metric(one.metric), one.metric),
        Cell(observed, repr(one.observed), is_number=True),
        number_cell(format_given(one.fitted, one.unit, metric=one.metric), one.fitted),
        number_cell(format_error(one.relative), one.relative),
    ]
