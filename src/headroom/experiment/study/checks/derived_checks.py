"""Check derived quantities of an experiment, before anything runs.

Invariant: a planned quantity is made of metrics and of quantities above it, so there are no cycles.
The quick variant may lack levels and factors; the result then says which points are missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast, get_args

from headroom.errors import HeadroomError
from headroom.experiment.protocol.derived import derived_function
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.study.checks.claim_checks import check_metric, unit_of
from headroom.experiment.study.file.study_file import KeyPath, LoadedStudy
from headroom.experiment.study.plan import (
    FactorSpec,
    Operation,
    PlannedDerived,
    PlannedExperiment,
)
from headroom.experiment.study.study import Derived, Where
from headroom.experiment.study.variants import Variant

_TO_A_POINT = ("ratio_to", "difference_to")
_REDUCING = ("sum_over", "mean_over", "geometric_mean_over", "maximum_over", "minimum_over")
_WITHOUT_UNIT = ("ratio_to", "share_over", "standardised_over")
_ONLY_WITH = {
    "inverse": ("ratio_to",),
    "to_experiment": _TO_A_POINT,
    "options": ("function",),
    "weights": ("sum_over", "mean_over", "geometric_mean_over"),
}


def check_derived(
    loaded: LoadedStudy,
    variant: Variant,
    experiment: PlannedExperiment,
    earlier: Sequence[PlannedExperiment],
    *,
    is_quick: bool,
) -> tuple[PlannedDerived, ...]:
    """Return the derived quantities of an experiment; raise `StudyError` for the first wrong one.

    Parameters
    ----------
    loaded, variant, experiment
        The study, and the experiment in one variant.
    earlier
        Experiments above it in the study file.
    is_quick
        Whether factors and levels may be absent on purpose.
    """
    known: dict[str, PlannedDerived] = {}
    metrics = _metric_names(experiment) if variant.spec.derived else frozenset()
    for number, spec in enumerate(variant.spec.derived):
        place = variant.key_path("derived", number)
        checks = _Checks(loaded, place, spec, experiment, metrics, known, earlier, is_quick)
        known[spec.name] = checks.planned()
    return tuple(known.values())


def _metric_names(experiment: PlannedExperiment) -> frozenset[str]:
    """Return the names of the metrics that any point has."""
    metrics = experiment.system.metrics
    return frozenset(one.name for point in experiment.points for one in metrics(point.config))


@dataclass(frozen=True, slots=True)
class _Checks:
    """The checks of one quantity."""

    loaded: LoadedStudy
    place: KeyPath
    spec: Derived
    experiment: PlannedExperiment
    metrics: frozenset[str]
    known: Mapping[str, PlannedDerived]
    earlier: Sequence[PlannedExperiment]
    is_quick: bool

    def planned(self) -> PlannedDerived:
        """Return the quantity."""
        self._check_name()
        unit, factors = self._source("of", self.spec.of)
        if self.spec.of in self.known and self.spec.statistic != "centre":
            raise self._error(
                "statistic", f"{self.spec.of!r} has no replications", "remove statistic"
            )
        operation = self._operation()
        by_name = {factor.name: factor for factor in factors}
        named = self._named(operation, by_name)
        partners = {other for name in named for other in by_name[name].zipped_with}
        over = frozenset(named) | partners
        self._check_weights(by_name, over)
        rest = tuple(one for one in factors if one.name not in over)
        to = self._to(operation, by_name)
        return PlannedDerived(
            spec=self.spec,
            operation=operation,
            unit=self._unit(operation, unit, by_name),
            factors=rest if operation in _REDUCING else factors,
            over=over,
            to=to,
        )

    def _check_name(self) -> None:
        if self.spec.name in self.metrics or self.spec.name in self.known:
            raise self._error(
                "name", f"there is already a quantity {self.spec.name!r}", "choose another name"
            )

    def _source(self, key: str, name: str) -> tuple[str, tuple[FactorSpec, ...]]:
        """Return unit and factors of a metric, or of a quantity above this one."""
        if name in self.known:
            return self.known[name].unit, self.known[name].factors
        below = [one.name for one in self.experiment.spec.derived if one.name == name]
        if below:
            is_own = name == self.spec.name
            what = "is made of itself" if is_own else f"is made of {name!r}, which is below it"
            raise self._error(key, f"{self.spec.name!r} {what}", "move it below its parts")
        system, points = self.experiment.system, self.experiment.points
        check_metric(self.loaded, (*self.place, key), name, system, points)
        return unit_of(name, self.experiment), self.experiment.factors

    def _operation(self) -> Operation:
        given = [name for name in get_args(Operation) if getattr(self.spec, name) not in ("", [])]
        given = [name for name in given if getattr(self.spec, name) is not None]
        if len(given) != 1:
            found = f"has {' and '.join(given)}" if given else "has no operation"
            raise self._error(
                "", f"{self.spec.name!r} {found}", f"give one of {', '.join(get_args(Operation))}"
            )
        for key, operations in _ONLY_WITH.items():
            if getattr(self.spec, key) and given[0] not in operations:
                raise self._error(
                    key, f"{key} has no meaning with {given[0]}", f"use {' or '.join(operations)}"
                )
        if self.spec.function:
            self._relocated("function", self.spec.function)
        return cast("Operation", given[0])

    def _relocated(self, key: str, function: str) -> None:
        try:
            derived_function(function)
        except HeadroomError as error:
            raise self.loaded.relocated((*self.place, key), error) from error

    def _named(self, operation: str, factors: Mapping[str, FactorSpec]) -> list[str]:
        """Return the factors that the operation names; the quick variant may lack some."""
        value = getattr(self.spec, operation)
        if operation in {"divided_by", "function"}:
            return []
        names = [value] if isinstance(value, str) else list(value)
        if self.spec.to_experiment:
            return []
        if not names:
            raise self._error(operation, "names no level", "name one, or give to_experiment")
        unknown = next((name for name in names if name not in factors), None)
        if unknown is not None and not self.is_quick:
            raise self._error(
                operation,
                f"{self.spec.of!r} has no factor {unknown!r}",
                suggestion(unknown, factors),
            )
        return [name for name in names if name in factors]

    def _check_weights(self, factors: Mapping[str, FactorSpec], over: frozenset[str]) -> None:
        """Refuse weights of unknown factors or levels, except in the quick variant."""
        if self.is_quick:
            return
        for name, weights in self.spec.weights.items():
            if name not in over:
                raise self._error(
                    "weights", f"{name!r} is not combined", suggestion(name, sorted(over))
                )
            levels = [str(level) for level in factors[name].levels]
            unknown = next((level for level in weights if level not in levels), None)
            if unknown is not None:
                raise self._error(
                    "weights",
                    f"factor {name!r} has no level {unknown!r}",
                    suggestion(unknown, levels),
                )

    def _to(self, operation: str, factors: Mapping[str, FactorSpec]) -> Where:
        if operation not in _TO_A_POINT:
            return {}
        where: Where = getattr(self.spec, operation)
        if self.spec.to_experiment:
            factors = self._factors_there()
        return {name: self._level(operation, name, factors.get(name), where) for name in where}

    def _factors_there(self) -> Mapping[str, FactorSpec]:
        """Return the factors of `of` in the other experiment."""
        names = {one.spec.name: one for one in self.earlier}
        other = names.get(self.spec.to_experiment)
        if other is None:
            if self.is_quick:
                return {}
            raise self._error(
                "to_experiment",
                f"unknown experiment {self.spec.to_experiment!r}: none above this one has the name",
                suggestion(self.spec.to_experiment, names),
            )
        if other.derived_named(self.spec.of) is None:
            place = (*self.place, "to_experiment")
            check_metric(self.loaded, place, self.spec.of, other.system, other.points)
        return {factor.name: factor for factor in other.seen_by(self.spec.of).factors}

    def _level(
        self, operation: str, name: str, factor: FactorSpec | None, where: Where
    ) -> str | int | float | bool:
        if factor is None or (self.is_quick and where[name] not in factor.levels):
            if self.is_quick:
                return where[name]
            raise self._error(operation, f"unknown factor {name!r}", "name a factor")
        if where[name] not in factor.levels:
            raise self._error(
                operation,
                f"factor {name!r} has no level {where[name]!r}",
                suggestion(str(where[name]), [str(level) for level in factor.levels]),
            )
        return factor.parameter.check(where[name])

    def _unit(self, operation: str, unit: str, factors: Mapping[str, FactorSpec]) -> str:
        divisor = "1"
        if operation == "divided_by":
            divisor = self._divisor_unit(factors)
        if self.spec.unit is not None:
            return self.spec.unit
        if operation in _WITHOUT_UNIT or divisor == unit:
            return "1"
        if divisor in {"", "1"}:
            return unit
        raise self._error(
            "divided_by", f"a quotient of {unit} and {divisor} needs a unit", "add unit = ..."
        )

    def _divisor_unit(self, factors: Mapping[str, FactorSpec]) -> str:
        name = self.spec.divided_by
        if name in factors:
            if not factors[name].is_numeric:
                raise self._error("divided_by", f"factor {name!r} is not numeric", "use a number")
            return factors[name].parameter.unit
        unit, theirs = self._source("divided_by", name)
        more = [one.name for one in theirs if one.name not in factors]
        if more:
            raise self._error(
                "divided_by",
                f"{name!r} has several values at a point: one for each level of {more[0]}",
                f"combine them over {more[0]} first",
            )
        return unit

    def _error(self, key: str, message: str, cure: str) -> HeadroomError:
        place = (*self.place, key) if key else self.place
        return self.loaded.error(place, message, cure=cure)
