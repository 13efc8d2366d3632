"""Do the limits of an experiment name what exists? Checked before anything runs."""

from collections.abc import Sequence

from headroom.experiment.claim_checks import check_metric
from headroom.experiment.plan import FactorSpec, Point
from headroom.experiment.study import Limit
from headroom.experiment.study_file import LoadedStudy
from headroom.experiment.suggestions import suggestion
from headroom.experiment.system import System
from headroom.experiment.variants import Variant


def load_factor(limit: Limit, factors: Sequence[FactorSpec]) -> FactorSpec | None:
    """Return the factor that is the load of a limit, None where there is none of this name."""
    numeric = [factor for factor in factors if factor.is_numeric]
    if not limit.factor:
        return numeric[0] if numeric else None
    return next((factor for factor in numeric if factor.name == limit.factor), None)


def check_limits(
    loaded: LoadedStudy,
    variant: Variant,
    system: System,
    factors: Sequence[FactorSpec],
    points: Sequence[Point],
) -> None:
    """Raise `StudyError` for the first limit that names something unknown or says nothing."""
    for number, limit in enumerate(variant.spec.limits):
        place = variant.key_path("limit", number)
        check_metric(loaded, (*place, "metric"), limit.metric, system, points)
        if (limit.at_most is None) == (limit.at_least is None):
            raise loaded.error(
                place,
                "a limit needs at_most or at_least, and not both",
                cure="write at_most = 0.2, in the unit of the metric",
            )
        if load_factor(limit, factors) is None:
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
