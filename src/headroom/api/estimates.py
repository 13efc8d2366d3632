"""Estimates and points as Python values: numbers to compute with, which show their intervals."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

from headroom.analysis.results import (
    Bottleneck,
    ExperimentResult,
    PointResult,
    Saturation,
)
from headroom.analysis.results import Estimate as StoredEstimate
from headroom.errors import StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Value
from headroom.report.cards import estimate_card
from headroom.report.numbers import format_estimate
from headroom.report.sentences.runs import missing_words
from headroom.report.words import label_metric


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate(float):
    """A metric of one point: a number, in base units, with its 95% interval.

    It computes, sorts and compares as its value does, in NumPy too: ``e * 1000`` is a plain
    number, ``e > 0.01`` asks the value alone, ``e == f`` whether both values are the same, and
    equal estimates have the same hash, that of the value. Whether an interval is surely above or
    below something is asked by `surely_above` and `surely_below`.

    Parameters
    ----------
    metric, unit
        What it is.
    value
        Mean of simulated replications, median of measured ones.
    low, high
        Its 95% interval; None if there is none.
    count
        Replications that it comes from.
    data
        Everything in the results about it.

    Examples
    --------
    >>> import headroom as hr
    >>> found = hr.simulate("mm1", utilization=0.5, completions=2000, replications=5)
    >>> response = found["response_s_mean"]
    >>> 0.015 < response.low < response < response.high < 0.025
    True
    >>> response * 1000 == response.value * 1000, round(response, 2), response.surely_above(0.01)
    (True, 0.02, True)
    """

    metric: str
    unit: str
    value: float
    low: float | None
    high: float | None
    count: int
    data: StoredEstimate
    where: str = ""
    is_simulated: bool = True

    def __new__(cls, number: float = 0.0, /, **fields: Any) -> Self:  # noqa: ANN401 - of any field
        """Make the number; of a number alone a plain one, as `statistics.mean` does."""
        if not fields:
            return cast("Self", float(number))
        return super().__new__(cls, fields["value"])

    def __reduce__(self) -> tuple[Callable[[dict[str, Any]], "Estimate"], tuple[dict[str, Any]]]:
        return _of_fields, (vars(self),)

    def surely_above(self, other: float) -> bool:
        """Return whether the whole interval is above a number, or above the whole interval of one.

        Nothing is sure without an interval. Intervals of two estimates that overlap may belong to
        different means all the same: `hr.compare` pairs the runs, and so sees smaller differences.
        """
        bound = other.high if isinstance(other, Estimate) else other
        return self.low is not None and bound is not None and self.low > bound

    def surely_below(self, other: float) -> bool:
        """Return whether the whole interval is below a number, or below the whole interval of one.

        As `surely_above`.
        """
        bound = other.low if isinstance(other, Estimate) else other
        return self.high is not None and bound is not None and self.high < bound

    def __str__(self) -> str:
        return format_estimate(self.data)

    def __repr__(self) -> str:
        where = f", {self.where}" if self.where else ""
        return f"<{label_metric(self.metric)}{where}: {self}>"

    def _repr_html_(self) -> str:
        return estimate_card(self.data, where=self.where, is_simulated=self.is_simulated)


def _of_fields(fields: dict[str, Any]) -> Estimate:
    """Return an estimate again that was pickled or copied."""
    return Estimate(**fields)


@dataclass(frozen=True)
class Point:
    """One combination of levels with its estimates.

    Parameters
    ----------
    data
        Everything in the results about it.
    experiment
        The experiment that it belongs to.
    """

    data: PointResult
    experiment: ExperimentResult

    @property
    def levels(self) -> Mapping[str, Value]:
        """Level of each factor."""
        return self.data.levels

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that have an estimate."""
        return tuple(self.data.estimates)

    @property
    def bottleneck(self) -> Bottleneck | None:
        """The bottleneck, as far as it is known; see its attribute `limits`."""
        return self.data.bottleneck

    @property
    def saturation(self) -> Saturation | None:
        """The saturated part; None if the point is not saturated."""
        return self.data.saturation

    @cached_property
    def label(self) -> str:
        """The levels as text, such as ``users = 250``."""
        return ", ".join(f"{name} = {level}" for name, level in self.data.levels.items())

    def __repr__(self) -> str:
        responses = [name for name in self.experiment.responses if name in self]
        told = [f"{label_metric(name)} {self[name]}" for name in responses]
        states = [] if self.data.saturation is None else [f"{self.data.saturation.name} saturated"]
        return f"<{'; '.join([self.label or 'point', *told, *states])}>"

    def __contains__(self, metric: object) -> bool:
        return metric in self.data.estimates

    def __iter__(self) -> Iterator[Estimate]:
        return (self[metric] for metric in self.data.estimates)

    def __getitem__(self, metric: str) -> Estimate:
        """Return the estimate of a metric; raise with the reason if there is none."""
        found = self.data.estimates.get(metric)
        if found is None:
            raise self._missing(metric)
        return Estimate(
            metric=metric,
            unit=found.unit,
            value=found.value,
            low=found.low,
            high=found.high,
            count=found.count,
            data=found,
            where=self.label,
            is_simulated=self.experiment.column == "model",
        )

    def _missing(self, metric: str) -> StudyError:
        if self.data.saturation is not None and metric in self.experiment.responses:
            return StudyError(
                f"{metric} has no estimate at {self.label or 'this point'}: it is saturated, so "
                "the metric grows with the length of the run",
                cure="reduce the load, or read `saturation` and the throughput of the point",
            )
        if not self.data.estimates and (why := missing_words(self.data, metric)):
            cure = "give longer runs: `completions=`, or `time_s=` of what ends"
            if self.data.errors:
                cure = "see `data.errors`"
            return StudyError(f"no estimate at {self.label or 'this point'}: {why}", cure=cure)
        return StudyError(
            f"there is no estimate of {metric!r} at {self.label or 'this point'}",
            cure=suggestion(metric, self.metrics),
        )
