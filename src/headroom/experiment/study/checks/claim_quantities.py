"""Quantities of claims and limits as numbers: "200 ms" of a study file becomes 0.2.

Invariant: the resulting claims and limits have numbers in base units and no `within`.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from headroom.experiment.study.file.study_file import KeyPath, LoadedStudy
from headroom.experiment.study.study import (
    Claim,
    ErrorsClaim,
    Limit,
    MonotoneClaim,
    OrderingClaim,
    RatioClaim,
    ValueClaim,
)
from headroom.units import QuantityError, is_number, parse_quantity

_BOUNDS = (
    "value", "at_least", "at_most", "median_at_most", "worst_at_most", "signs_at_least"
)  # fmt: skip
MOST_ERROR = 10.0
"""Share of what was measured: a prediction that may be off by more foresees nothing."""
_Bounded = TypeVar("_Bounded", bound=Claim | Limit)


def with_numbers(loaded: LoadedStudy, place: KeyPath, claim: Claim, unit: str) -> Claim:
    """Return a claim whose quantities are numbers.

    Parameters
    ----------
    loaded, place
        The study and the place of the claim in it, for errors.
    claim
        The claim.
    unit
        Unit of its metric.

    Raises
    ------
    StudyError
        A text is not a quantity of this unit, or `within` has no meaning here.
    """
    if isinstance(claim, OrderingClaim | MonotoneClaim):
        return claim
    is_share = isinstance(claim, RatioClaim | ErrorsClaim)
    whole = bounds_as_numbers(loaded, place, claim, "1" if is_share else unit)
    if isinstance(whole, ErrorsClaim):
        for name in ("median_at_most", "worst_at_most"):
            bound = getattr(whole, name)
            if bound is not None:
                _check_share(loaded, (*place, name), f"{bound:g}", bound, most=MOST_ERROR)
    if isinstance(whole, ErrorsClaim) or not whole.within:
        return whole
    _check_only(loaded, place, whole)
    change = _tolerance(loaded, place, whole, unit)
    return msgspec.structs.replace(whole, within="", **change)


def bounds_as_numbers(loaded: LoadedStudy, place: KeyPath, item: _Bounded, unit: str) -> _Bounded:
    """Return a claim or a limit whose bounds are numbers in the base unit."""
    bounds = {name: getattr(item, name, None) for name in _BOUNDS}
    texts = {name: text for name, text in bounds.items() if isinstance(text, str)}
    numbers: dict[str, Any] = {
        name: _number(loaded, (*place, name), text, unit) for name, text in texts.items()
    }
    return msgspec.structs.replace(item, **numbers) if numbers else item


def _number(loaded: LoadedStudy, place: KeyPath, text: str, unit: str) -> float:
    if unit not in {"", "1"} and is_number(text):
        raise loaded.error(
            place,
            f'"{text}" has no unit',
            cure=f'write the unit, or {text.strip()} without quotes if that is in "{unit}"',
        )
    try:
        return parse_quantity(text, unit)
    except QuantityError as error:
        raise loaded.error(place, str(error), cure=error.hint) from error


def _check_only(loaded: LoadedStudy, place: KeyPath, claim: Claim) -> None:
    tolerances = ("tolerance", "tolerance_absolute")
    other = next((name for name in tolerances if getattr(claim, name, None) is not None), None)
    if other is not None:
        raise loaded.error(
            (*place, "within"), f"`within` and `{other}` mean the same", cure="keep one of the two"
        )
    if isinstance(claim, ValueClaim) and claim.value is None:
        raise loaded.error(
            (*place, "within"), "`within` needs a value", cure="add value, or use at_most"
        )


def _tolerance(loaded: LoadedStudy, place: KeyPath, claim: Claim, unit: str) -> Mapping[str, float]:
    """Return the tolerance of `within`: a share of the value, or absolute."""
    text, here = getattr(claim, "within", ""), (*place, "within")
    if text.rstrip().endswith("%"):
        share = _number(loaded, here, text, "1")
        _check_positive(loaded, here, text, share)
        _check_share(loaded, here, text, share, most=1.0)
        target = {"value": 1.0} if isinstance(claim, RatioClaim) and claim.value is None else {}
        return {"tolerance": share, **target}
    if not isinstance(claim, ValueClaim):
        raise loaded.error(here, f"`{text}` is not a share", cure='write a share such as "5%"')
    margin = _number(loaded, here, text, unit)
    _check_positive(loaded, here, text, margin)
    return {"tolerance_absolute": margin}


def _check_share(
    loaded: LoadedStudy, place: KeyPath, text: str, share: float, *, most: float
) -> None:
    """Refuse a distance so large that the claim could hardly differ."""
    if share >= most:
        raise loaded.error(
            place,
            f"a claim within `{text}` holds whatever comes",
            cure=f"give less than {most:.0%}",
        )


def _check_positive(loaded: LoadedStudy, place: KeyPath, text: str, number: float) -> None:
    if number < 0.0:
        raise loaded.error(
            place, f"`{text}` is below zero", cure="give a share or a distance of 0 or more"
        )
