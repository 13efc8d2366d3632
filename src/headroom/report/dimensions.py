"""The factors of an experiment as axes of a chart.

Zipped factors move together and are one dimension. A dimension with a single level spans nothing
and is left out.

Invariant: every point has exactly one place on every dimension.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headroom.analysis.answer.design import groups_of, is_numeric_group, telling_factors
from headroom.analysis.results import ExperimentResult, Factor, PointResult
from headroom.report.words import label_factor, label_levels

_LOG_SPAN = 20.0
"""A factor or metric whose largest level is this many times its smallest gets a log axis."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One axis of the design: a factor, or several that move together."""

    factors: tuple[Factor, ...]
    is_numeric: bool

    @property
    def name(self) -> str:
        """The names of the factors."""
        return " / ".join(factor.name for factor in self.factors)

    @property
    def title(self) -> str:
        """The names of the factors with their units, for an axis."""
        return " / ".join(label_factor(factor) for factor in self.factors)

    @property
    def labels(self) -> list[str]:
        """The levels in the order of the study file, as labels, each once."""
        rows = zip(*(factor.levels for factor in self.factors), strict=False)
        return list(dict.fromkeys(label_levels(row) for row in rows))

    def label_of(self, point: PointResult) -> str:
        """Return the level of `point` as a label."""
        return label_levels([point.levels.get(factor.name) for factor in self.factors])

    def number_of(self, point: PointResult) -> float:
        """Return the numeric level of `point`, of the first factor where several move."""
        return float(point.levels[self.factors[0].name])


def dimensions_of(experiment: ExperimentResult) -> list[Dimension]:
    """Return the dimensions that span more than one level, in the order of the study file.

    Examples
    --------
    >>> users = Factor(name="users", unit="1", is_numeric=True, levels=[1, 2])
    >>> fixed = Factor(name="servers", unit="1", is_numeric=True, levels=[4])
    >>> experiment = ExperimentResult(name="e", title="", system="model", column="model",
    ...     factors=[users, fixed], responses=[], points=[])
    >>> [dimension.name for dimension in dimensions_of(experiment)]
    ['users']
    """
    groups = groups_of(experiment.factors)
    dimensions = [Dimension(tuple(telling_factors(g)), is_numeric_group(g)) for g in groups]
    return [dimension for dimension in dimensions if len(dimension.labels) > 1]


def hold_label(point: PointResult, held: Sequence[Dimension]) -> str:
    """Return the choice of the held factors that `point` belongs to."""
    return ", ".join(f"{dimension.name} = {dimension.label_of(point)}" for dimension in held)


def is_log_like(values: Iterable[float]) -> bool:
    """Return whether `values` span so much that only a log axis shows them.

    Examples
    --------
    >>> is_log_like([1, 10, 100]), is_log_like([10, 20, 30]), is_log_like([0, 1, 100])
    (True, False, False)
    """
    levels = list(values)
    return bool(levels) and min(levels) > 0 and max(levels) / min(levels) >= _LOG_SPAN
