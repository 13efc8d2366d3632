"""Check that the limits of an experiment refer to existing names, before anything runs."""

from collections.abc import Sequence

from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.study.checks.claim_checks import check_quantity, unit_of
from headroom.experiment.study.checks.claim_quantities import bounds_as_numbers
from headroom.experiment.study.file.study_file import KeyPath, LoadedStudy
from headroom.experiment.study.plan import FactorSpec, PlannedExperiment
from headroom.experiment.study.study import Limit
from headroom.experiment.study.variants import Variant


def load_factor(limit: Limit, factors: Sequence[FactorSpec]) -> FactorSpec | None:
    """Return the factor that is the load of a limit, None if none has this name."""
    numeric = [factor for factor in factors if factor.is_numeric]
    if not limit.factor:
        return numeric[0] if numeric else None
    return next((factor for factor in numeric if factor.name == limit.factor), None)


def check_limits(
    loaded: LoadedStudy, variant: Variant, experiment: PlannedExperiment
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
        checked.append(bounds_as_numbers(loaded, place, limit, unit))
    return checked


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
