"""The factors of an experiment as a reader sees them: axes, curves and settings.

Invariant: every point is on exactly one curve over an axis.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headroom.analysis.answer_evidence import Level, Setting
from headroom.analysis.results import ExperimentResult, Factor, PointResult
from headroom.experiment.protocol.system import Value


def telling_factors(factors: Sequence[Factor]) -> list[Factor]:
    """Return the factors that distinguish the points.

    Of factors that move together the first is enough where it is a word with a level of its own
    for each row; the others are then its explanation.

    Examples
    --------
    >>> buy = Factor(name="buy", unit="", is_numeric=False, levels=["none", "disk"],
    ...     zipped_with=["disks"])
    >>> disks = Factor(name="disks", unit="1", is_numeric=True, levels=[1, 2],
    ...     zipped_with=["buy"])
    >>> [factor.name for factor in telling_factors([buy, disks])]
    ['buy']
    """
    explained: set[str] = set()
    for factor in factors:
        is_name = not factor.is_numeric and len(set(factor.levels)) == len(factor.levels)
        if is_name and factor.name not in explained:
            explained.update(factor.zipped_with)
    return [factor for factor in factors if factor.name not in explained]


def groups_of(factors: Iterable[Factor]) -> list[tuple[Factor, ...]]:
    """Return the factors in groups that move together, in the order of the study."""
    by_name = {factor.name: factor for factor in factors}
    groups: list[tuple[Factor, ...]] = []
    placed: set[str] = set()
    for factor in by_name.values():
        if factor.name not in placed:
            names = dict.fromkeys([factor.name, *factor.zipped_with])
            group = tuple(by_name[name] for name in names if name in by_name)
            groups.append(group)
            placed.update(member.name for member in group)
    return groups


def is_numeric_group(group: Sequence[Factor]) -> bool:
    """Return whether all factors of a group are numbers, and the first never repeats a level."""
    first = group[0].levels
    return all(factor.is_numeric for factor in group) and len(set(first)) == len(first)


def spans(group: Sequence[Factor]) -> bool:
    """Return whether a group has more than one level."""
    return len(set(zip(*(factor.levels for factor in group), strict=False))) > 1


def axis_of(experiment: ExperimentResult) -> Factor | None:
    """Return the factor of the limits, else the first numeric one with several levels.

    None if there is none.
    """
    numeric = [g for g in groups_of(experiment.factors) if is_numeric_group(g) and spans(g)]
    limited = {found.factor for found in experiment.limits}
    asked = (factor for group in numeric for factor in group if factor.name in limited)
    return next(asked, numeric[0][0] if numeric else None)


def has_words(experiment: ExperimentResult) -> bool:
    """Return whether a factor with several levels is not a number."""
    groups = groups_of(experiment.factors)
    return any(spans(group) and not is_numeric_group(group) for group in groups)


def setting_of(experiment: ExperimentResult, point: PointResult, *, but: str = "") -> Setting:
    """Return the levels that distinguish a point, without those of the factor `but`."""
    return _levels_of(point, _setting_names(experiment, but))


def _levels_of(point: PointResult, names: Sequence[str]) -> Setting:
    return {name: point.levels[name] for name in names if name in point.levels}


def _setting_names(experiment: ExperimentResult, but: str) -> list[str]:
    """Return the factors that distinguish points, without `but` and what moves with it."""
    moving = {but, *_partners(experiment, but)}
    telling = telling_factors(experiment.factors)
    return [one.name for one in telling if len(set(one.levels)) > 1 and one.name not in moving]


def _partners(experiment: ExperimentResult, name: str) -> list[str]:
    return next((list(f.zipped_with) for f in experiment.factors if f.name == name), [])


@dataclass(frozen=True, slots=True)
class Curve:
    """The points of an experiment over one numeric factor, lowest level first."""

    axis: Factor
    where: Setting
    points: tuple[PointResult, ...]

    def is_at(self, where: Mapping[str, Value]) -> bool:
        """Return whether the held levels are those of a setting, where curves differ in them."""
        return all(self.where.get(name, level) == level for name, level in where.items())

    def number(self, point: PointResult) -> float:
        """Return the level of a point on the axis."""
        return float(point.levels[self.axis.name])

    def level(self, point: PointResult) -> Level:
        """Return the level of a point, without an interval."""
        return Level(factor=self.axis.name, unit=self.axis.unit, value=point.levels[self.axis.name])


def curves_of(experiment: ExperimentResult, axis: Factor) -> list[Curve]:
    """Return the curves over a factor, in the order of the study."""
    names = _setting_names(experiment, axis.name)
    found: dict[tuple[object, ...], list[PointResult]] = {}
    for point in experiment.points:
        if axis.name in point.levels:
            where = tuple(point.levels.get(name) for name in names)
            found.setdefault(where, []).append(point)
    return [
        Curve(
            axis,
            _levels_of(points[0], names),
            tuple(sorted(points, key=lambda point: float(point.levels[axis.name]))),
        )
        for points in found.values()
    ]
