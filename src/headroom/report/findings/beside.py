"""Simulation next to theory: tables, a sentence, and whether an interval contains a value.

Invariant: restates `SolverAnswer` and `Estimate`; the only arithmetic is their difference.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headroom.analysis.results import Estimate, ExperimentResult, PointResult
from headroom.quantities import format_given, format_plain, is_share
from headroom.report.tables.tables import (
    Cell,
    Head,
    Table,
    estimate_cell,
    factor_heads,
    level_cells,
    number_cell,
)
from headroom.report.words import count_noun, label_metric, label_point, title_metric

_REASONS_AT_MOST = 3
_NUMBERS_OF_JOBS = ("queue_len_mean", "jobs_mean")
_NOTHING = 1e-3
"""Share of the yardstick below which a difference near zero is none: a queue that no run saw."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One metric of one point, simulated and by formula (base units)."""

    point: PointResult
    estimate: Estimate
    theory: float

    @property
    def yardstick(self) -> float:
        """What a difference is compared with: the theoretical value, unless it may be nothing.

        Shares are compared with their whole, numbers of jobs with one job, a wait with the
        response time that it is a part of.
        """
        size, metric = abs(self.theory), self.estimate.metric
        if is_share(metric) or metric.endswith(_NUMBERS_OF_JOBS):
            return max(size, 1.0)
        if metric.endswith("wait_s_mean") and self.point.solver is not None:
            return max(size, self.point.solver.values.get("response_s_mean", 0.0))
        return size

    @property
    def difference(self) -> float:
        """Simulated less theoretical value, over the yardstick."""
        yardstick = self.yardstick
        return (self.estimate.value - self.theory) / yardstick if yardstick else 0.0

    @property
    def is_inside(self) -> bool | None:
        """Whether the interval holds the theoretical value, None without an interval."""
        low, high = self.estimate.low, self.estimate.high
        if low is None or high is None:
            return None
        is_near_zero = self.yardstick > abs(self.theory)
        slack = _NOTHING * self.yardstick if is_near_zero else 0.0
        return low - slack <= self.theory <= high + slack

    @property
    def words(self) -> str:
        """``inside``, ``outside``, or nothing."""
        return {True: "inside", False: "outside", None: ""}[self.is_inside]

    @property
    def theory_text(self) -> str:
        """The theoretical value with its unit."""
        return format_given(self.theory, self.estimate.unit, metric=self.estimate.metric)

    @property
    def difference_text(self) -> str:
        """The difference in per cent, with its sign."""
        text = format_plain(100.0 * self.difference, decimals=1)
        return f"{'+' if self.difference > 0 and text != '0.0' else ''}{text}%"


def pairs_of(point: PointResult, metrics: Sequence[str] | None = None) -> list[Pair]:
    """Return the metrics of a point known both ways, of `metrics` or of all.

    Parameters
    ----------
    point
        A point with or without an answer of the solvers.
    metrics
        Metrics to keep, in their order; None for all.
    """
    if point.solver is None:
        return []
    wanted = list(point.estimates) if metrics is None else metrics
    return [
        Pair(point, point.estimates[metric].of_runs(), point.solver.values[metric])
        for metric in wanted
        if metric in point.estimates and metric in point.solver.values
    ]


def theory_table(experiment: ExperimentResult, *, at_most: int) -> Table | None:
    """Return the responses of all points, simulated and by formula; None if there is none."""
    pairs = [pair for point in experiment.points for pair in pairs_of(point, experiment.responses)]
    if not pairs:
        return None
    inside = Head("Interval", hint="whether the interval holds the theoretical value")
    heads = [*pair_heads(experiment, "theory"), inside]
    rows = [_row(experiment, pair) for pair in pairs[:at_most]]
    return Table("Simulation and theory", heads, rows, " ".join(_notes(experiment)))


def _row(experiment: ExperimentResult, pair: Pair) -> list[Cell]:
    inside = Cell(pair.words, pair.words, mark="warn" if pair.is_inside is False else "")
    return [*pair_cells(experiment, pair), inside]


def pair_heads(experiment: ExperimentResult, other: str) -> list[Head]:
    """Return the heads of a table of metrics by simulation and by another way."""
    return [
        *factor_heads(experiment),
        Head("Metric"),
        Head("Simulated", is_number=True, hint="with its 95% interval"),
        Head(other.capitalize(), is_number=True),
        Head("Difference", is_number=True, hint=f"simulated less {other}, over {other}"),
    ]


def pair_cells(experiment: ExperimentResult, pair: Pair) -> list[Cell]:
    """Return the cells of a pair under `pair_heads`."""
    metric = pair.estimate.metric
    return [
        *level_cells(experiment, pair.point),
        Cell(title_metric(metric), metric),
        estimate_cell(pair.estimate),
        number_cell(pair.theory_text, pair.theory),
        number_cell(pair.difference_text, pair.difference),
    ]


def _notes(experiment: ExperimentResult) -> Iterator[str]:
    """Yield the methods, and the reasons where an answer is an approximation."""
    answers = [point.solver for point in experiment.points if point.solver is not None]
    methods = list(dict.fromkeys(answer.method for answer in answers if answer.method))
    yield f"Theory: {'; '.join(methods)}."
    reasons = list(dict.fromkeys(reason for answer in answers for reason in answer.reasons))
    if reasons:
        more = len(reasons) - _REASONS_AT_MOST
        rest = f"; and {count_noun(more, 'more reason')}" if more > 0 else ""
        is_told = any(answer.values and not answer.refused for answer in answers)
        word = "Approximate" if is_told else "No estimate"
        yield f"{word} because: {'; '.join(reasons[:_REASONS_AT_MOST])}{rest}."
    else:
        yield "About one interval in twenty misses an exact value by chance."


def theory_sentences(experiment: ExperimentResult) -> list[str]:
    """Return in one sentence how simulation and theory agree; nothing if none speaks."""
    answers = [point.solver for point in experiment.points if point.solver is not None]
    pairs = [pair for point in experiment.points for pair in pairs_of(point, experiment.responses)]
    judged = [pair for pair in pairs if pair.is_inside is not None]
    if not judged:
        return []
    inside = sum(pair.is_inside is True for pair in judged)
    kinds = {answer.is_exact or bool(answer.refused) for answer in answers if answer.values}
    words = {True: "exact", False: "an approximation"}
    kind = words[next(iter(kinds))] if len(kinds) == 1 else "exact at some points"
    text = f"{inside:,} of {count_noun(len(judged), 'interval')} hold what theory says ({kind})"
    worst = max(judged, key=lambda pair: abs(pair.difference))
    at = label_point(worst.point, experiment.factors)
    where = f" at {at}" if len(experiment.points) > 1 else ""
    return [
        f"{text}; the largest difference is {worst.difference_text} "
        f"({label_metric(worst.estimate.metric)}{where})."
    ]


def theory_words(experiment: ExperimentResult, metric: str) -> str:
    """Return the meaning of the dashed line of a figure, empty if there is none."""
    methods = dict.fromkeys(
        point.solver.method
        for point in experiment.points
        if point.solver is not None and metric in point.solver.values
    )
    return f"Dashed: theory, {'; '.join(methods)}." if methods else ""
