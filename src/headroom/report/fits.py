"""What was fitted from other experiments: sentences, a table of values, a table of residuals.

Invariant: restates `FitResult`; the only arithmetic is counting and picking the middle or worst.
"""

from statistics import median

from headroom.analysis.results import (
    ExperimentResult,
    FitResidual,
    FitResult,
    FitSet,
    FittedValue,
)
from headroom.quantities import (
    MINUS,
    format_bounds,
    format_given,
    format_level,
    format_percent,
)
from headroom.report.tables import Cell, Head, Table
from headroom.report.words import join_words, title_metric

_SENTENCES_AT_MOST = 4
_VALUES_AT_MOST = 6


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
    """Return a relative error with its sign; nothing where there is none.

    Examples
    --------
    >>> format_error(0.0312), format_error(None)
    ('+3.1 %', '')
    """
    if relative is None:
        return ""
    sign = MINUS if relative < 0.0 else "+"
    return f"{sign}{format_percent(abs(relative))}"


def fit_sentences(experiment: ExperimentResult) -> list[str]:
    """Return what was fitted and how well, or why nothing was."""
    fit = experiment.fit
    if fit is None:
        return []
    if fit.state != "fitted":
        return [f"Not run: {fit.reason}{f'; {fit.cure}' if fit.cure else ''}."]
    sentences = [_sentence(fit, one) for one in fit.sets[:_SENTENCES_AT_MOST]]
    left = len(fit.sets) - len(sentences)
    return [*sentences, f"{left} more sets: see the table."] if left else sentences


def _sentence(fit: FitResult, one: FitSet) -> str:
    where = f" with {_levels(one)}" if one.where else ""
    shown = [f"{p.name} = {format_fitted(p)}" for p in one.parameters[:_VALUES_AT_MOST]]
    left = len(one.parameters) - len(shown)
    if left:
        shown.append(f"{left} more")
    words = f"From {join_words(fit.sources)}{where} by {fit.method}: {join_words(shown)}"
    errors = [abs(r.relative) for r in one.residuals if r.relative is not None]
    if not errors:
        return f"{words}."
    typical, worst = format_percent(median(errors)), format_percent(max(errors))
    return f"{words}. The fit is typically {typical} off what was observed, at worst {worst}."


def _levels(one: FitSet) -> str:
    return ", ".join(f"{name} = {format_level(level)}" for name, level in one.where.items())


def fitted_table(experiment: ExperimentResult) -> Table | None:
    """Return the fitted parameters with their intervals, None where nothing is fitted."""
    fit = experiment.fit
    if fit is None or not fit.sets:
        return None
    has_levels = any(one.where for one in fit.sets)
    heads = [Head("Points")] if has_levels else []
    heads += [Head("Parameter"), Head("Value, 95 % interval", is_number=True)]
    heads += [Head("Standard error", is_number=True), Head("Remark")]
    rows = [
        [
            *([Cell(_levels(one), is_head=True)] if has_levels else []),
            Cell(value.name, value.name, is_head=True),
            Cell(format_fitted(value), format_level(value.value), is_number=True),
            Cell(_error_of(value), is_number=True),
            Cell(value.note),
        ]
        for one in fit.sets
        for value in one.parameters
    ]
    caption = f"Fitted from {join_words(fit.sources)}, method {fit.method}"
    notes = list(dict.fromkeys(note for one in fit.sets for note in one.notes))
    return Table(caption, heads, rows, ". ".join(notes))


def _error_of(value: FittedValue) -> str:
    if value.standard_error is None:
        return ""
    return format_given(value.standard_error, value.unit, metric=value.name)


def residual_table(experiment: ExperimentResult, *, at_most: int) -> Table | None:
    """Return fitted against observed for every observation, None where there is none.

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
    heads += [Head("Observed, 95 % interval", is_number=True), Head("Fitted", is_number=True)]
    heads += [Head("Error", is_number=True)]
    rows = [_residual_row(residual) for _, residual in placed[:at_most]]
    left = len(placed) - len(rows)
    note = f"{left:,} more in results.json." if left else ""
    return Table("Fitted against observed", heads, rows, note)


def _residual_row(one: FitResidual) -> list[Cell]:
    levels = ", ".join(f"{name} = {format_level(level)}" for name, level in one.levels.items())
    observed = format_bounds(
        one.observed, one.observed_low, one.observed_high, one.unit, metric=one.metric
    )
    return [
        Cell(one.experiment, one.experiment, is_head=True),
        Cell(levels),
        Cell(title_metric(one.metric), one.metric),
        Cell(observed, repr(one.observed), is_number=True),
        Cell(
            format_given(one.fitted, one.unit, metric=one.metric), repr(one.fitted), is_number=True
        ),
        Cell(format_error(one.relative), repr(one.relative), is_number=True),
    ]
