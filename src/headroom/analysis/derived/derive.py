"""Derived quantities: from the values of a metric at the points to a speed-up or a sum of norms.

Invariant: a term without a value is left out of what combines factors, and counted; what refers to
a point without a value has none, and says why.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from headroom.analysis.derived.quantity import Cell, Vector, combined
from headroom.analysis.evidence import NoValue, NoValueCode
from headroom.analysis.results import DerivedResult
from headroom.defects import fallback
from headroom.experiment.protocol.agreement import Partners
from headroom.experiment.protocol.derived import derived_function
from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.plan import PlannedDerived


def _quotient(values: FloatArray) -> FloatArray:
    return values[:1] / values[1:]


def _difference(values: FloatArray) -> FloatArray:
    return values[:1] - values[1:]


def _shares(values: FloatArray) -> FloatArray:
    shares: FloatArray = values / values.sum()
    return shares


def standardised(values: FloatArray) -> FloatArray:
    """Return the values less their mean, over their sample deviation; zeros if that is zero.

    Examples
    --------
    >>> standardised(np.array([1.0, 2.0, 3.0])).tolist()
    [-1.0, 0.0, 1.0]
    >>> standardised(np.array([2.0, 2.0])).tolist()
    [0.0, 0.0]
    """
    if values.size < 2:  # noqa: PLR2004 - a deviation needs two
        return np.full(values.size, np.nan)
    distances = values - values.mean()
    deviation = float(np.sqrt((distances @ distances) / (values.size - 1)))
    found: FloatArray = distances / deviation if deviation else np.zeros(values.size)
    return found


def _geometric_mean(values: FloatArray, weights: FloatArray) -> FloatArray:
    is_positive = bool((values > 0.0).all())
    found = np.exp(np.average(np.log(values), weights=weights)) if is_positive else np.nan
    return np.array([found])


_REDUCING: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "sum_over": lambda values, weights: np.array([values @ weights]),
    "mean_over": lambda values, weights: np.array([np.average(values, weights=weights)]),
    "geometric_mean_over": _geometric_mean,
    "maximum_over": lambda values, _: np.array([values.max()]),
    "minimum_over": lambda values, _: np.array([values.min()]),
}
_EACH: Mapping[str, Vector] = {"share_over": _shares, "standardised_over": standardised}
_NO_VALUE: Mapping[str, NoValueCode] = {
    "geometric_mean_over": "not_positive",
    "standardised_over": "few_levels",
    "function": "function",
}
"""Why a result is not a number; of other operations: the divisor is zero."""


def derive(planned: PlannedDerived, source: Sequence[Cell], other: Sequence[Cell]) -> list[Cell]:
    """Return the cells of a derived quantity.

    Parameters
    ----------
    planned
        The quantity.
    source
        Cells of what it is made of.
    other
        Cells of the divisor, or of the points that it refers to.
    """
    operation = planned.operation
    if operation in _REDUCING:
        return [_reduced(planned, group) for group in _groups(source, planned.over)]
    if operation in _EACH:
        groups = _groups(source, planned.over)
        return [cell for group in groups for cell in _of_each(planned, group, _EACH[operation])]
    if operation == "function":
        return _of_each(planned, source, _registered(planned, source))
    partners = Partners([cell.levels for cell in other], to=planned.to)
    return [_of_two(planned, cell, _partner(planned, cell, other, partners)) for cell in source]


def _groups(cells: Sequence[Cell], over: frozenset[str]) -> list[list[Cell]]:
    """Return the cells with equal levels of the factors that are not combined."""
    groups: dict[tuple[tuple[str, Value], ...], list[Cell]] = {}
    for cell in cells:
        kept = tuple((name, level) for name, level in cell.levels.items() if name not in over)
        groups.setdefault(kept, []).append(cell)
    return list(groups.values())


def _reduced(planned: PlannedDerived, group: Sequence[Cell]) -> Cell:
    levels = {name: one for name, one in group[0].levels.items() if name not in planned.over}
    known = [cell for cell in group if cell.is_known]
    missing = next((cell.missing for cell in group if cell.missing), None)
    if not known:
        return Cell(levels=levels, count=0, planned=len(group), missing=missing, is_known=False)
    weights = np.array([_weight(planned, cell.levels) for cell in known])
    function = _REDUCING[planned.operation]
    (found,) = combined(lambda values: function(values, weights), known)
    missing = missing or _no_value(planned, found, levels)
    return replace(found, levels=levels, count=len(known), planned=len(group), missing=missing)


def _weight(planned: PlannedDerived, levels: Mapping[str, Value]) -> float:
    """Return the product of the weights of these levels."""
    found = 1.0
    for name, weights in planned.spec.weights.items():
        found *= weights.get(str(levels.get(name)), 1.0)
    return found


def _of_each(planned: PlannedDerived, group: Sequence[Cell], function: Vector) -> list[Cell]:
    """Return one cell for each of the group; those without a value stay without one."""
    known = [cell for cell in group if cell.is_known]
    missing = next((cell.missing for cell in group if cell.missing), None)
    results = iter(combined(function, known) if known else [])
    cells = []
    for cell in group:
        if not cell.is_known:
            cells.append(replace(cell, is_unbounded=False))
            continue
        found = next(results)
        why = missing if found.is_known else _no_value(planned, found, cell.levels)
        is_unbounded = planned.operation == "function" and bool(np.isposinf(found.value))
        cells.append(replace(found, levels=cell.levels, count=len(known), planned=len(group),
                             missing=why, is_unbounded=is_unbounded))  # fmt: skip
    return cells


def _no_value(planned: PlannedDerived, found: Cell, levels: Mapping[str, Value]) -> NoValue | None:
    if found.is_known:
        return None
    code = _NO_VALUE.get(planned.operation, "zero_divisor")
    if planned.operation == "function" and np.isposinf(found.value):
        code = "saturated"
    return NoValue(code=code, quantity=planned.spec.of, levels=dict(levels))


def _registered(planned: PlannedDerived, cells: Sequence[Cell]) -> Vector:
    """Return a registered function; its failure is a value that is missing."""
    function = derived_function(planned.spec.function)
    levels = [dict(cell.levels) for cell in cells if cell.is_known]

    def called(values: FloatArray) -> FloatArray:
        found = function(values.tolist(), levels, planned.spec.options)
        return np.array([np.nan if one is None else one for one in found], dtype=np.float64)

    nothing = np.full(len(levels), np.nan)
    return lambda values: fallback(lambda: called(values), lambda _: nothing)


def _of_two(planned: PlannedDerived, cell: Cell, partner: Cell) -> Cell:
    if not cell.is_known or not partner.is_known:
        missing = cell.missing if not cell.is_known else partner.missing
        return Cell(levels=cell.levels, count=cell.is_known + partner.is_known, planned=2,
                    missing=missing, is_known=False)  # fmt: skip
    function = _difference if planned.operation == "difference_to" else _quotient
    if partner is cell:  # Its error cancels, whatever it is.
        (found,) = combined(lambda one: function(np.repeat(one, 2)), [cell])
    else:
        pair = [partner, cell] if planned.spec.inverse else [cell, partner]
        (found,) = combined(function, pair)
    missing = _no_value(planned, found, partner.levels)
    return replace(found, levels=cell.levels, count=2, planned=2, missing=missing)


def _partner(
    planned: PlannedDerived, cell: Cell, others: Sequence[Cell], partners: Partners
) -> Cell:
    """Return the cell that another one is compared with, one without a value if there is none."""
    if planned.spec.divided_by in cell.levels:
        value = float(cell.levels[planned.spec.divided_by])
        return Cell(levels=cell.levels, value=value, parts={})
    fixed = {name for name in planned.over if name not in planned.to}
    own = {name: level for name, level in cell.levels.items() if name not in fixed}
    places = partners.of(own)
    if len(places) == 1:
        return others[places[0]]
    levels = {**own, **planned.to}
    missing = NoValue(code="no_point", quantity=planned.spec.of, levels=levels)
    return Cell(levels=levels, missing=missing, is_known=False)


def derived_result(planned: PlannedDerived, cells: Sequence[Cell]) -> DerivedResult:
    """Return a derived quantity as results state it."""
    spec = planned.spec
    return DerivedResult(
        name=spec.name,
        of=spec.of,
        operation=planned.operation,
        unit=planned.unit,
        better=spec.better,
        factors=[factor.name for factor in planned.factors],
        over=sorted(planned.over),
        to=dict(planned.to),
        to_experiment=spec.to_experiment,
        is_inverse=spec.inverse,
        divisor=spec.divided_by,
        values=[cell.result() for cell in cells],
    )
