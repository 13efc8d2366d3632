"""Crossovers of compared levels: sentences and a table.

Invariant: restates `Crossover`; nothing is computed here.
"""

from headroom.analysis.results import (
    Crossover,
    CrossoverPoint,
    ExperimentResult,
    LevelsCompared,
)
from headroom.quantities import format_bounds, format_level
from headroom.report.findings.comparisons import label_level
from headroom.report.sentences.comparisons import comparison_label
from headroom.report.tables.tables import Cell, Head, Table
from headroom.report.words import first_few, join_words, label_metric, title_metric

_SENTENCES_AT_MOST = 4


def crossover_sentences(experiment: ExperimentResult) -> list[str]:
    """Return one sentence for each compared level, metric and other factor."""
    comparison = experiment.compared
    if comparison is None or not comparison.crossovers:
        return []
    sentences = [_sentence(crossover, comparison) for crossover in comparison.crossovers]
    return first_few(sentences, _SENTENCES_AT_MOST, "curves")


def _sentence(one: Crossover, found: LevelsCompared) -> str:
    who = comparison_label(one.level, found, where=one.where)
    return f"{who}: {label_metric(one.metric)} {crossover_words(one)}."


def crossover_words(one: Crossover) -> str:
    """Return from where on a level is better or worse.

    Examples
    --------
    >>> from headroom.analysis.results import CrossoverRange
    >>> one = Crossover(level="B", metric="write_s_mean", unit="s", better="low", factor="size",
    ...     where={}, state="crosses",
    ...     points=[CrossoverPoint(level=37.2, low=30.1, high=45.4, beyond="better")],
    ...     ranges=[CrossoverRange(low=4, high=30.1, verdict="worse"),
    ...             CrossoverRange(low=45.4, high=256, verdict="better")])
    >>> crossover_words(one)
    'better from size = 37 (30 to 45) up, worse below'
    """
    lowest, highest = _at(one.ranges[0].low), _at(one.ranges[-1].high)
    tried = f"at all levels of {one.factor} tried ({lowest} to {highest})"
    if one.state == "none":
        return f"{one.ranges[0].verdict} {tried}: no crossover"
    if not one.points:
        return f"{_pieces(one)}: no crossover shown"
    if len(one.points) == 1 and len(one.ranges) == 2:  # noqa: PLR2004 - one range on each side
        (point,) = one.points
        where = f"{one.factor} = {format_crossing(point)}"
        return f"{point.beyond} from {where} up, {one.ranges[0].verdict} below"
    crossings = join_words([format_crossing(point) for point in one.points])
    return f"{_pieces(one)}; crossovers at {one.factor} = {crossings}"


def _pieces(one: Crossover) -> str:
    return join_words(
        [
            f"{piece.verdict} from {one.factor} = {_at(piece.low)} to {_at(piece.high)}"
            for piece in one.ranges
        ]
    )


def format_crossing(point: CrossoverPoint) -> str:
    """Return where a ratio crosses one, with its interval.

    Examples
    --------
    >>> format_crossing(CrossoverPoint(level=None, low=8, high=16, beyond="better"))
    '8 to 16'
    """
    if point.level is None:
        return f"{_at(point.low)} to {_at(point.high)}"
    return format_bounds(point.level, point.low, point.high, "1")


def _at(level: float) -> str:
    """Return a level that was tried as it is, one between two of them in three digits."""
    return format_level(level if float(level).is_integer() else float(f"{level:.3g}"))


def crossovers_table(experiment: ExperimentResult, *, at_most: int) -> Table | None:
    """Return one row for each compared level, metric and other factor; None if there is none."""
    comparison = experiment.compared
    if comparison is None or not comparison.crossovers:
        return None
    heads = [
        Head(comparison.factor),
        Head("Metric"),
        Head("Over"),
        Head("Crossover", is_number=True),
    ]
    rows = [
        [
            Cell(label_level(crossover), is_head=True),
            Cell(title_metric(crossover.metric), crossover.metric),
            Cell(crossover.factor),
            Cell(
                ", ".join(format_crossing(p) for p in crossover.points)
                or {"none": "none"}.get(crossover.state, "undecided"),
                is_number=True,
            ),
            Cell(crossover_words(crossover)),
        ]
        for crossover in comparison.crossovers[:at_most]
    ]
    note = (
        "With 95% intervals, between levels that surely lie on both sides; a verdict here asks "
        "only which of both is better, not whether by more than the zone of the same."
    )
    return Table("From which level on it is better", [*heads, Head("In words")], rows, note)
