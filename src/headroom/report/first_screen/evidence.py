"""Figures of claims: a square each, published and predicted numbers against results."""

from collections.abc import Iterator, Sequence

from headroom.analysis.answer_evidence import FigureChoice
from headroom.analysis.results import (
    ClaimResult,
    ExperimentResult,
    PredictedPair,
    StudyResult,
)
from headroom.quantities import Scale, choose_scale, format_levels
from headroom.report.dimensions import is_log_like
from headroom.report.figures.axes import level_axis, linear_axis
from headroom.report.figures.inputs import (
    Curve,
    Dot,
    Line,
    Row,
    Rows,
    Square,
    SquareRow,
    Squares,
)
from headroom.report.first_screen.scales import digits, factor_title, scaled, value_axis
from headroom.report.first_screen.settings import MOST_ROWS
from headroom.report.sentences.claims import claim_figure
from headroom.report.sentences.numbers import capital
from headroom.report.words import axis_title

_NOTES = 3
MOST_BESIDE = 3
"""Exceptions that are listed next to the figure; more of them become a table below it."""
_WIDEST = 200.0
"""Error (percent) at which an axis of errors ends."""


def squares_of(result: StudyResult) -> Squares | None:
    """Return a square for each claim, by the experiment that it is about."""
    if len(result.claims) < 2:  # noqa: PLR2004
        return None
    exceptions = len(result.answer.claims.exceptions) if result.answer else 0
    return Squares(
        rows=tuple(
            _square_row(title, claims, has_notes=exceptions <= MOST_BESIDE)
            for title, claims in claim_groups(result)
        )
    )


def claim_groups(result: StudyResult) -> list[tuple[str, list[ClaimResult]]]:
    """Return the claims about each experiment, with its title."""
    titles = {one.name: one.title or one.name for one in result.experiments}
    groups: dict[str, list[ClaimResult]] = {}
    for claim in result.claims:
        groups.setdefault(claim.experiment, []).append(claim)
    return [(titles.get(name, name), claims) for name, claims in groups.items()]


def _square_row(title: str, claims: Sequence[ClaimResult], *, has_notes: bool) -> SquareRow:
    """Return the claims of an experiment; what is before a colon in its title goes below."""
    before, _, after = title.partition(": ")
    return SquareRow(
        label=capital(after or before or "the study"),
        detail=before if after else "",
        squares=tuple(
            Square(verdict=one.verdict, hint=f"{one.text}: {claim_figure(one)}") for one in claims
        ),
        notes=tuple(_notes(claims)) if has_notes else (),
    )


def _notes(claims: Sequence[ClaimResult]) -> Iterator[tuple[str, str]]:
    """Yield a note for each claim that differs, and for the first ones that are undecided."""
    differing = [("differs", claim.text) for claim in claims if claim.verdict == "differs"]
    yield from differing[:_NOTES]
    if len(differing) > _NOTES:
        yield "differs", f"and {len(differing) - _NOTES} more"


def printed_of(result: StudyResult) -> Rows | None:
    """Return the distance of each result from its published number, in percent."""
    found = [
        claim
        for claim in result.claims
        if claim.printed is not None and claim.printed.value and claim.value is not None
    ][:MOST_ROWS]
    rows = tuple(_printed_row(claim) for claim in found if claim.printed is not None)
    return _errors(rows, None, "difference from what was published") if len(rows) > 1 else None


def _printed_row(claim: ClaimResult) -> Row:
    printed = claim.printed.value if claim.printed is not None else 1.0
    scale = choose_scale([printed], claim.unit, metric=claim.metric)
    value, low, high = (_percent(one, printed) for one in (claim.value, claim.low, claim.high))
    ours = digits(claim.value or 0.0, scale)
    levels = claim.printed.levels if claim.printed is not None else {}
    return Row(
        label=format_levels(levels) or claim.text,
        value=value,
        low=low,
        high=high,
        text=f"{ours} for {digits(printed, scale)}{scale.suffix}",
        role="differs" if claim.verdict == "differs" else "data",
    )


def _percent(value: float | None, base: float) -> float | None:
    return None if value is None else 100.0 * (value / base - 1.0)


def claim_of(choice: FigureChoice, result: StudyResult) -> ClaimResult | None:
    """Return the claim whose predictions a figure shows, on a page and in a terminal."""
    told = (one for one in result.claims if one.pairs and one.experiment == choice.experiment)
    return next((one for one in told if [one.metric] == choice.metrics), None)


def errors_of(choice: FigureChoice, result: StudyResult) -> Rows | None:
    """Return predicted over measured at each point of a claim, less one, in percent."""
    claim = claim_of(choice, result)
    if claim is None:
        return None
    pairs = [pair for pair in claim.pairs if pair.ratio is not None][:MOST_ROWS]
    names = _names(pairs)
    rows = tuple(_pair_row(pair, name, claim) for pair, name in zip(pairs, names, strict=True))
    band = None if claim.tolerance is None else 100.0 * claim.tolerance
    return _errors(rows, band, "predicted over measured, less 100%") if rows else None


def predicted_of(choice: FigureChoice, result: StudyResult) -> Curve | None:
    """Return predicted and measured values over a factor, and where the model was fitted."""
    claim = claim_of(choice, result)
    pairs = sorted(claim.pairs if claim else [], key=lambda pair: pair.levels[choice.factor])
    if claim is None or len(pairs) < 2:  # noqa: PLR2004
        return None
    values = [value for pair in pairs for value in (pair.measured, pair.predicted)]
    scale = choose_scale(values, claim.pair_unit, metric=claim.metric)
    at = [float(pair.levels[choice.factor]) for pair in pairs]
    experiment = result.experiment_named(choice.experiment)
    fitted = _fitted_range(experiment, choice.factor)
    title = factor_title(experiment, choice.factor) if experiment else choice.factor
    is_inside = fitted is None or fitted[0] <= at[0] <= at[-1] <= fitted[1]
    reach = at if is_inside else [*at, *(fitted or ())]
    return Curve(
        x=level_axis(reach, title, is_log=is_log_like(reach)),
        y=value_axis([v * scale.factor for v in values], axis_title(claim.metric, scale), scale),
        lines=(
            Line(label="measured", role="data", dots=_side(pairs, at, "measured", scale)),
            Line(
                label="predicted", role="published", is_dashed=True,
                dots=_side(pairs, at, "predicted", scale),
            ),
        ),
        fitted=fitted,
    )  # fmt: skip


def _side(
    pairs: Sequence[PredictedPair], at: Sequence[float], side: str, scale: Scale
) -> tuple[Dot, ...]:
    """Return the predicted or the measured values of pairs with their intervals."""
    ends = [(getattr(pair, f"{side}_low"), getattr(pair, f"{side}_high")) for pair in pairs]
    bounds = [[scaled(end, scale) for end in pair] for pair in ends]
    return tuple(
        Dot(x=x, y=getattr(pair, side) * scale.factor, low=low, high=high)
        for x, pair, (low, high) in zip(at, pairs, bounds, strict=True)
    )


def _fitted_range(experiment: ExperimentResult | None, factor: str) -> tuple[float, float] | None:
    """Return the lowest and highest level of a factor to which a model was fitted."""
    sets = experiment.fit.sets if experiment is not None and experiment.fit is not None else []
    levels = [one.levels.get(factor) for found in sets for one in found.residuals]
    known = [float(level) for level in levels if isinstance(level, int | float)]
    return (min(known), max(known)) if known and min(known) < max(known) else None


def _names(pairs: Sequence[PredictedPair]) -> list[str]:
    """Return the levels that tell the points of a claim apart, as few as possible."""
    if len(pairs) == 1:
        return [format_levels(pairs[0].levels)]
    keys = telling_factors(pairs) if pairs else []
    return [format_levels({key: pair.levels[key] for key in keys}) for pair in pairs]


def telling_factors(pairs: Sequence[PredictedPair]) -> list[str]:
    """Return factors whose levels tell pairs apart; zipped ones follow from others.

    Factors that both experiments know come first.
    """
    first = pairs[0]
    kept: list[str] = []
    count = 1
    for key in sorted(first.levels, key=lambda name: name not in first.to_levels):
        told = len({tuple(str(pair.levels.get(one)) for one in [*kept, key]) for pair in pairs})
        if told > count:
            kept.append(key)
            count = told
    return [key for key in first.levels if key in kept]


def _pair_row(pair: PredictedPair, name: str, claim: ClaimResult) -> Row:
    scale = choose_scale([pair.measured], claim.pair_unit, metric=claim.metric)
    value, low, high = (_percent(one, 1.0) for one in (pair.ratio, pair.low, pair.high))
    words = f"{digits(pair.predicted, scale)} for {digits(pair.measured, scale)}{scale.suffix}"
    return Row(
        label=name,
        value=value,
        low=low,
        high=high,
        text=words,
        role="limit" if pair.verdict == "differs" else "data",
    )


def _errors(rows: tuple[Row, ...], band: float | None, title: str) -> Rows:
    """Return rows of errors; intervals beyond twice the largest error are cut at the edge."""
    values = [abs(row.value) for row in rows if row.value is not None]
    reach = min(2.0 * max([*values, band or 0.0, 1.0]), _WIDEST)
    ends = [
        end
        for row in rows
        for end in (row.value, row.low, row.high)
        if end is not None and abs(end) <= reach
    ]
    axis = linear_axis([*ends, -(band or 0.0), band or 0.0], title, suffix="%")
    return Rows(
        x=axis,
        rows=rows,
        band=(-band, band) if band else None,
        band_text=f"within {band:.3g}%" if band else "",
        centre=0.0,
        end_title="predicted for measured" if band else "result for published",
    )
