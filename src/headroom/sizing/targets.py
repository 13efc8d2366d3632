"""Targets as users write them: ``throughput>=100/s``, ``response_s_p95<=200ms``.

Invariant: a bound is kept in the base unit of its metric.
"""

import re
from collections.abc import Iterable

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Direction, Metric
from headroom.experiment.study.checks.metric_names import metric_suggestion
from headroom.quantities import format_given
from headroom.units import UNITS

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_FORM = re.compile(rf"^\s*(\S+?)\s*(>=|<=)\s*({_NUMBER})\s*(\D.*|1/s)?$")
_UNITS_NAMED = 6
"""Units that a message names: the customary ones stand first."""
_CURE = 'write METRIC>=NUMBER or METRIC<=NUMBER with a unit: "throughput>=100/s", ' \
    '"response_s_p95<=200ms"'  # fmt: skip


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One bound of one metric.

    Parameters
    ----------
    metric, unit
        The metric and its base unit.
    bound
        What it must reach or keep, in the base unit.
    is_floor
        True where the metric must be at least `bound`, False where at most.
    """

    metric: str
    unit: str
    bound: float
    is_floor: bool

    @property
    def text(self) -> str:
        """The target as text.

        Examples
        --------
        >>> Target(metric="response_s_p95", unit="s", bound=0.2, is_floor=False).text
        'response_s_p95 <= 200 ms'
        """
        sign = ">=" if self.is_floor else "<="
        return f"{self.metric} {sign} {format_given(self.bound, self.unit, metric=self.metric)}"

    def is_met_by(self, value: float) -> bool:
        """Return whether `value` meets the target."""
        return value >= self.bound if self.is_floor else value <= self.bound

    def shortfall(self, value: float) -> float:
        """Return by how much of the bound `value` misses it; 0 or less where it is met.

        Examples
        --------
        >>> target = Target(metric="throughput", unit="1/s", bound=100.0, is_floor=True)
        >>> target.shortfall(80.0)
        0.2
        """
        gap = self.bound - value if self.is_floor else value - self.bound
        return gap / abs(self.bound) if self.bound else gap


def parse_target(text: str, metrics: Iterable[Metric]) -> Target:
    """Return the target that `text` states about one of `metrics`.

    Raises
    ------
    StudyError
        The text is not of the form, or the metric or the unit is unknown.

    Examples
    --------
    >>> parse_target("response_s_p95<=200ms", [Metric(name="response_s_p95", unit="s")]).bound
    0.2
    >>> parse_target("station.cpu.utilization <= 80%",
    ...              [Metric(name="station.cpu.utilization", unit="1")]).bound
    0.8
    """
    match = _FORM.match(text)
    if match is None:
        raise StudyError(f"the target {text!r} cannot be read", cure=_CURE)
    name, sign, number, suffix = match.groups()
    known = {metric.name: metric for metric in metrics}
    metric = known.get(name)
    if metric is None:
        raise StudyError(
            f"the target {text!r}: the model reports no metric {name!r}",
            cure=metric_suggestion(name, known),
        )
    is_floor = sign == ">="
    _refuse_wrong_way(text, metric.better, is_floor=is_floor)
    return Target(
        metric=name,
        unit=metric.unit,
        bound=float(number) * _factor(text, metric, (suffix or "").strip()),
        is_floor=is_floor,
    )


def _refuse_wrong_way(text: str, better: Direction, *, is_floor: bool) -> None:
    """Refuse a target that the worst system meets best: certainly a slip of the sign."""
    if (better == "low" and is_floor) or (better == "high" and not is_floor):
        raise StudyError(
            f"the target {text!r} asks for the wrong direction: "
            f"{'lower' if better == 'low' else 'higher'} is better",
            cure=f"write {'<=' if is_floor else '>='}",
        )


def _factor(text: str, metric: Metric, suffix: str) -> float:
    if not suffix:
        return 1.0
    units = UNITS.get(metric.unit, {metric.unit: 1.0})
    if suffix not in units:
        named = ", ".join(list(units)[:_UNITS_NAMED])
        raise StudyError(
            f"the target {text!r}: {metric.name} cannot be given in {suffix!r}",
            cure=f"write one of {named}, or no unit for {metric.unit!r}",
        )
    return units[suffix]
