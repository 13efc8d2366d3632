"""Check that the limits of an experiment refer to existing names, before anything runs."""

from collections.abc import Sequence

from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.study.checks.claim_checks import check_quantity, unit_of
from headroom.experiment.study.checks.claim_quantities import bounds_as_numbers
from headroom.experiment.study.file.study_file import KeyPath, LoadedStudy
from headroom.experiment.study.plan import FactorSpec, PlannedExperiment
from headroom.experiment.study.study import Limit, in_base_units
from headroom.experiment.study.variants import Variant
from headroom.quantities import is_share


def load_factor(limit: Limit, factors: Sequence[FactorSpec]) -> FactorSpec | None:
    """Return the factor that is the load of a limit, None if none has this name."""
    numeric = [factor for factor in factors if factor.is_numeric]
    if not limit.factor:
        return numeric[0] if numeric else None
    return next((factor for factor in numeric if factor.name == limit.factor), None)


def check_limits(
    loaded: LoadedStudy, variant: Variant, experiment: PlannedExperiment, *, is_quick: bool
) -> list[Limit]:
    """Return the limits with numbers for quantities; raise `StudyError` for the first wrong one."""
    checked = []
    for number, limit in enumerate(variant.spec.limits):
        place = variant.key_path("limit", number)
        check_quantity(loaded, (*place, "metric"), limit.metric, experiment)
        factors = experiment.seen_by(limit.metric).factors
        if (limit.at_most is None) == (limit.at_least is None):
            raise loaded.error(
                place,
                "a limit needs at_most or at_least, and not both",
                cure='write at_most = "200 ms", or a number in the base unit of the metric',
            )
        factor = load_factor(limit, factors)
        if limit.refinement.points and factor is not None:
            if experiment.derived_named(limit.metric):
                message = f"no level is added for the derived quantity {limit.metric!r}"
                raise loaded.error((*place, "refine"), message, cure="remove refine")
            _check_refine(loaded, variant, (*place, "refine"), factor)
        if factor is None:
            known = [factor.name for factor in factors if factor.is_numeric]
            raise loaded.error(
                (*place, "factor") if limit.factor else place,
                f"there is no numeric factor {limit.factor!r}"
                if limit.factor
                else "the experiment has no numeric factor that could be the load",
                cure=suggestion(limit.factor, known)
                if known
                else "vary the load: add a factor with several levels",
            )
        unit = unit_of(limit.metric, experiment)
        whole = bounds_as_numbers(loaded, place, limit, unit)
        if not experiment.derived_named(limit.metric):
            _check_binds(loaded, place, whole, unit)
        if not is_quick:  # Which may leave the level of today out.
            _check_current(loaded, place, whole, factor)
        checked.append(whole)
    return checked


def never_binds(metric: str, unit: str, *, at_most: float | None, at_least: float | None) -> str:
    """Return why a limit is always kept, or never; empty if it depends on what happens.

    Examples
    --------
    >>> never_binds("station.desk.utilization", "1", at_most=80.0, at_least=None)
    'a share is never above 1'
    >>> never_binds("response_s_mean", "s", at_most=-0.2, at_least=None)
    'a time is never below 0'
    >>> never_binds("lost_count", "1", at_most=0.0, at_least=None)
    ''
    """
    share = is_share(metric)
    if share and max(at_most or 0.0, at_least or 0.0) > 1.0:
        return "a share is never above 1"
    kind = "share" if share else {"s": "time", "1/s": "rate", "B": "size"}.get(unit, "")
    if kind and (at_most is not None and at_most < 0.0):
        return f"a {kind} is never below 0"
    return f"a {kind} is never below 0" if kind and at_least is not None and at_least <= 0 else ""


def _check_binds(loaded: LoadedStudy, place: KeyPath, limit: Limit, unit: str) -> None:
    at_most, at_least = in_base_units(limit.at_most), in_base_units(limit.at_least)
    why = never_binds(limit.metric, unit, at_most=at_most, at_least=at_least)
    if why:
        key, bound = ("at_least", at_least) if at_most is None else ("at_most", at_most)
        raise loaded.error(
            (*place, key),
            f"{bound:g} decides nothing about {limit.metric!r}: {why}",
            cure='write a share as "80%" or 0.8' if "share" in why else "correct the bound",
        )


def _check_current(loaded: LoadedStudy, place: KeyPath, limit: Limit, factor: FactorSpec) -> None:
    top = max(map(float, factor.levels))
    if limit.current is not None and limit.current > top:
        raise loaded.error(
            (*place, "current"),
            f"{limit.current:g} is beyond the levels of {factor.name!r}, which end at {top:g}: "
            "nothing would be known of it",
            cure="add a level there, or correct `current`",
        )


def _check_refine(
    loaded: LoadedStudy, variant: Variant, place: KeyPath, factor: FactorSpec
) -> None:
    """Raise `StudyError` if no levels can be added between those of the load."""
    problem = _why_not_refined(variant, factor)
    if problem is not None:
        message, cure = problem
        raise loaded.error(place, message, cure=cure)


def _why_not_refined(variant: Variant, factor: FactorSpec) -> tuple[str, str] | None:
    name = factor.name
    if factor.zipped_with:
        others = ", ".join(factor.zipped_with)
        return (
            f"no level of {name!r} can be added: it moves together with {others}",
            "list the levels by hand, or make the load a factor of its own",
        )
    if factor.parameter.choices:
        return (
            f"no level of {name!r} can be added: only its choices are allowed",
            "remove refine",
        )
    if variant.spec.fit is not None and name in variant.spec.fit.by:
        return (
            f"no level of {name!r} can be added: the experiment is fitted by its levels",
            "remove refine, or the factor from fit.by",
        )
    return None
