"""Check that the comparison of an experiment refers to existing names, before anything runs.

Invariant: a comparison of the full variant has a base and at least one other level. The quick
variant may leave levels out; the report then says what is missing.
"""

from collections.abc import Sequence

from headroom.errors import HeadroomError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import System, Value
from headroom.experiment.study.checks.claim_checks import check_metric
from headroom.experiment.study.file.study_file import KeyPath, LoadedStudy
from headroom.experiment.study.plan import FactorSpec, Point
from headroom.experiment.study.study import Compare
from headroom.experiment.study.variants import Variant


def check_compare(
    loaded: LoadedStudy,
    variant: Variant,
    system: System,
    factors: Sequence[FactorSpec],
    points: Sequence[Point],
    *,
    is_quick: bool,
) -> Compare | None:
    """Return the comparison with its base in the factor's type, None if nothing is compared.

    Raises
    ------
    StudyError
        Factor, base or metric are unknown, or there is nothing to compare with.
    """
    compare = variant.spec.compare
    if compare is None:
        return None
    place = variant.key_path("compare")
    factor = next((candidate for candidate in factors if candidate.name == compare.factor), None)
    if factor is None:
        if is_quick:
            return None
        raise loaded.error(
            (*place, "factor"),
            f"experiment {variant.spec.name!r} has no factor {compare.factor!r}",
            cure=suggestion(compare.factor, [candidate.name for candidate in factors]),
        )
    base = _base(loaded, (*place, "base"), compare, factor, is_quick=is_quick)
    for number, metric in enumerate(compare.metrics):
        check_metric(loaded, (*place, "metrics", number), metric, system, points)
    return Compare(
        factor=compare.factor,
        base=base,
        same_within=compare.same_within,
        metrics=compare.metrics,
    )


def _base(
    loaded: LoadedStudy, place: KeyPath, compare: Compare, factor: FactorSpec, *, is_quick: bool
) -> Value:
    try:
        base = factor.parameter.check(compare.base)
    except HeadroomError as error:
        raise loaded.relocated(place, error) from error
    if is_quick:
        return base
    if base not in factor.levels:
        raise loaded.error(
            place,
            f"factor {factor.name!r} has no level {compare.base!r}",
            cure=suggestion(str(compare.base), [str(level) for level in factor.levels]),
        )
    if len(set(factor.levels)) < 2:  # noqa: PLR2004 - one of them is the base
        raise loaded.error(
            place,
            f"factor {factor.name!r} has only one level: nothing to compare it with",
            cure="add another level",
        )
    return base
