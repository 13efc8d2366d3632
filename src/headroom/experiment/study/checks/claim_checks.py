"""Check that claims and responses refer to existing names, before anything runs.

The analysis decides whether a claim *holds*; here it only has to be decidable.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import get_args

from headroom.errors import HeadroomError
from headroom.experiment.protocol.agreement import Partners
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import System, Value
from headroom.experiment.study.checks.claim_quantities import with_numbers
from headroom.experiment.study.checks.metric_names import metric_suggestion
from headroom.experiment.study.file.study_file import KeyPath, LoadedStudy
from headroom.experiment.study.plan import FactorSpec, PlannedExperiment, Point
from headroom.experiment.study.study import (
    AgreementClaim,
    Claim,
    CrossoverClaim,
    ErrorsClaim,
    Extreme,
    FlatClaim,
    KneeClaim,
    MonotoneClaim,
    OrderingClaim,
    Quantity,
    RatioClaim,
    ValueClaim,
    Where,
    in_base_units,
)


def check_claims(loaded: LoadedStudy, experiments: Mapping[str, PlannedExperiment]) -> list[Claim]:
    """Return the claims with numbers for quantities; raise for the first that is wrong.

    Parameters
    ----------
    loaded
        The study.
    experiments
        Planned experiments of the full variant, by name.

    Raises
    ------
    StudyError
        A claim names something unknown, or has a quantity that its metric does not have.
    """
    checked = []
    for index, claim in enumerate(loaded.study.claims):
        place = ("claim", index)
        experiment = experiments.get(claim.experiment)
        if experiment is None:
            raise loaded.error(
                (*place, "experiment"),
                f"unknown experiment {claim.experiment!r}",
                cure=suggestion(claim.experiment, experiments),
            )
        check_quantity(loaded, (*place, "metric"), claim.metric, experiment)
        _check_statistic(loaded, place, claim, experiment)
        experiment = experiment.seen_by(claim.metric)
        unit = _claimed_unit(claim, experiment)
        checked.append(with_numbers(loaded, place, claim, unit))
        _check_claim(loaded, place, checked[-1], experiment)
        if isinstance(claim, AgreementClaim | ErrorsClaim):
            _check_agreement(loaded, place, claim, experiments)
    return checked


def _claimed_unit(claim: Claim, experiment: PlannedExperiment) -> str:
    """Return the unit of a claim's quantities: that of its metric, or of the factor of a knee."""
    if isinstance(claim, KneeClaim):
        return next((f.parameter.unit for f in experiment.factors if f.name == claim.factor), "1")
    return unit_of(claim.metric, experiment)


def unit_of(name: str, experiment: PlannedExperiment) -> str:
    """Return the unit of a derived quantity, or of a metric that some point reports."""
    derived = experiment.derived_named(name)
    if derived is not None:
        return derived.unit
    return next(
        entry.unit
        for point in experiment.points
        for entry in experiment.system.metrics(point.config)
        if entry.name == name
    )


def check_quantity(
    loaded: LoadedStudy, place: KeyPath, name: str, experiment: PlannedExperiment
) -> None:
    """Raise `StudyError` unless a metric, or a derived quantity of the study, has this name."""
    if experiment.derived_named(name) is None:
        check_metric(loaded, place, name, experiment.system, experiment.points)


def _check_statistic(
    loaded: LoadedStudy, place: KeyPath, claim: Claim, experiment: PlannedExperiment
) -> None:
    is_derived = experiment.derived_named(claim.metric) is not None
    if is_derived and getattr(claim, "statistic", "centre") != "centre":
        raise loaded.error(
            (*place, "statistic"),
            f"{claim.metric!r} is derived: it has no replications",
            cure="set the statistic of [[experiment.derived]] instead",
        )


def check_metric(
    loaded: LoadedStudy, place: KeyPath, metric: str, system: System, points: Sequence[Point]
) -> None:
    """Raise `StudyError` unless a run of some point reports the metric."""
    known: dict[str, None] = {}
    for point in points:
        try:
            names = {entry.name: None for entry in system.metrics(point.config)}
        except HeadroomError as error:
            raise loaded.relocated(place, error) from error
        if metric in names:
            return
        known |= names
    raise loaded.error(
        place, f"the system reports no metric {metric!r}", cure=metric_suggestion(metric, known)
    )


def check_patterns(
    loaded: LoadedStudy,
    place: KeyPath,
    patterns: Sequence[str],
    system: System,
    points: Sequence[Point],
) -> None:
    """Raise `StudyError` for the first pattern that no metric of any point fits."""
    missing = dict(enumerate(patterns))
    names: dict[str, None] = {}
    for point in points:
        if not missing:
            return
        names |= {metric.name: None for metric in system.metrics(point.config)}
        missing = {
            number: pattern
            for number, pattern in missing.items()
            if not any(fnmatchcase(name, pattern.removeprefix("!")) for name in names)
        }
    for number, pattern in missing.items():
        raise loaded.error(
            (*place, number),
            f"no metric of the system fits {pattern!r}",
            cure=metric_suggestion(pattern, names),
        )


def _check_claim(
    loaded: LoadedStudy, place: KeyPath, claim: Claim, experiment: PlannedExperiment
) -> None:
    selected = _check_where(loaded, (*place, "where"), claim.where, experiment)
    match claim:
        case ValueClaim():
            _check_one_point(loaded, (*place, "where"), selected)
            _check_value(loaded, place, claim)
            _check_extreme(loaded, place, claim)
        case RatioClaim():
            _check_one_point(loaded, (*place, "where"), selected)
            to = _check_where(loaded, (*place, "to"), claim.to, experiment)
            _check_one_point(loaded, (*place, "to"), to)
            _check_two_points(loaded, (*place, "to"), selected[0], to[0])
            _check_bounds(loaded, place, claim)
        case OrderingClaim():
            _check_order(loaded, place, claim, experiment)
        case FlatClaim():
            _check_tolerance(loaded, place, claim.tolerance)
            _numeric_factor(loaded, place, claim.factor, experiment)
            _check_stretch(loaded, place, claim)
        case KneeClaim():
            _check_tolerance(loaded, place, claim.tolerance)
            _numeric_factor(loaded, place, claim.factor, experiment)
        case CrossoverClaim():
            _check_tolerance(loaded, place, claim.tolerance)
            _numeric_factor(loaded, place, claim.factor, experiment)
            to = _check_where(loaded, (*place, "to"), claim.to, experiment)
            _check_crossover(loaded, place, claim, (selected, to))
        case MonotoneClaim():
            _numeric_factor(loaded, place, claim.factor, experiment)
        case AgreementClaim():
            _check_tolerance(loaded, place, claim.tolerance)
        case ErrorsClaim():
            _check_errors(loaded, place, claim)
            _check_where(loaded, (*place, "reference"), claim.reference, experiment)


def _check_errors(loaded: LoadedStudy, place: KeyPath, claim: ErrorsClaim) -> None:
    bounds = ("median_at_most", "worst_at_most", "rank_at_least", "signs_at_least")
    if all(getattr(claim, name) is None for name in bounds):
        raise loaded.error(
            place, "the claim states no bound", cure=f"give one or more of {', '.join(bounds)}"
        )
    if claim.signs_at_least is not None and not claim.reference:
        raise loaded.error(place, "signs_at_least needs a reference", cure="give reference too")
    if claim.reference and claim.signs_at_least is None and not claim.beyond_noise:
        raise loaded.error(
            (*place, "reference"),
            "reference has no meaning without signs_at_least or beyond_noise",
            cure="give one of them, or remove it",
        )
    if claim.beyond_noise and claim.rank_at_least is None:
        raise loaded.error(
            (*place, "beyond_noise"), "beyond_noise is about ranks", cure="give rank_at_least too"
        )


def _check_crossover(
    loaded: LoadedStudy,
    place: KeyPath,
    claim: CrossoverClaim,
    curves: tuple[Sequence[Point], Sequence[Point]],
) -> None:
    """Raise `StudyError` unless `where` and `to` select two curves over the same levels."""
    for name, points in zip(("where", "to"), curves, strict=True):
        levels = [point.levels[claim.factor] for point in points]
        if len(set(levels)) < len(levels):
            raise loaded.error(
                (*place, name),
                f"several points have the same {claim.factor}",
                cure="name a level of every other factor",
            )
    both = [{point.levels[claim.factor] for point in points} for points in curves]
    if len(both[0] & both[1]) < 2:  # noqa: PLR2004 - no crossover between fewer
        raise loaded.error(
            (*place, "to"),
            f"`where` and `to` share fewer than two levels of {claim.factor}",
            cure=f"leave {claim.factor} out of both",
        )


def _check_where(
    loaded: LoadedStudy, place: KeyPath, where: Where, experiment: PlannedExperiment
) -> list[Point]:
    """Return the points of a selection; raise if there are none."""
    wanted = {
        name: _level(
            loaded, (*place, name), level, _factor(loaded, (*place, name), name, experiment)
        )
        for name, level in where.items()
    }
    points = [
        point
        for point in experiment.points
        if all(point.levels[name] == level for name, level in wanted.items())
    ]
    if not points:
        raise loaded.error(
            place, "no point has these levels together", cure="name levels of one zipped step"
        )
    return points


def _factor(
    loaded: LoadedStudy, place: KeyPath, name: str, experiment: PlannedExperiment
) -> FactorSpec:
    factors = {factor.name: factor for factor in experiment.factors}
    if name not in factors:
        raise loaded.error(
            place,
            f"experiment {experiment.spec.name!r} has no factor {name!r}",
            cure=suggestion(name, factors),
        )
    return factors[name]


def _level(loaded: LoadedStudy, place: KeyPath, level: Value, factor: FactorSpec) -> Value:
    try:
        value = factor.parameter.check(level)
    except HeadroomError as error:
        raise loaded.relocated(place, error) from error
    if value not in factor.levels:
        raise loaded.error(
            place,
            f"factor {factor.name!r} has no level {level!r}",
            cure=suggestion(str(level), [str(known) for known in factor.levels]),
        )
    return value


def _check_one_point(loaded: LoadedStudy, place: KeyPath, points: Sequence[Point]) -> None:
    if len(points) == 1:
        return
    open_names = [
        name for name in points[0].levels if len({point.levels[name] for point in points}) > 1
    ]
    raise loaded.error(
        place,
        f"{len(points)} points have these levels, but the claim is about one",
        cure=f"also name a level of {', '.join(open_names)}",
    )


def _check_tolerance(loaded: LoadedStudy, place: KeyPath, tolerance: float | None) -> None:
    if tolerance is None:
        raise loaded.error(
            place,
            "`within` or `tolerance` is missing",
            cure='add within = "5%", or tolerance = 0.05',
        )


def _check_value(loaded: LoadedStudy, place: KeyPath, claim: ValueClaim) -> None:
    bounds = (claim.at_least, claim.at_most)
    tolerances = (claim.tolerance, claim.tolerance_absolute)
    if claim.value is None and all(bound is None for bound in bounds):
        raise loaded.error(
            place, "a value claim needs a number", cure='give at_most = "200 ms", at_least or value'
        )
    if claim.value is not None and any(bound is not None for bound in bounds):
        raise loaded.error(
            place,
            "value and bounds cannot be combined in one claim",
            cure="keep value, or at_least and at_most",
        )
    if sum(tolerance is not None for tolerance in tolerances) != (claim.value is not None):
        raise loaded.error(
            place,
            "a value needs one tolerance, and bounds need none",
            cure='give within = "5%", tolerance (relative) or tolerance_absolute',
        )
    _check_in_order(loaded, place, *bounds)


def _check_in_order(
    loaded: LoadedStudy, place: KeyPath, at_least: Quantity | None, at_most: Quantity | None
) -> None:
    low, high = in_base_units(at_least), in_base_units(at_most)
    if low is not None and high is not None and low > high:
        raise loaded.error(
            (*place, "at_least"),
            f"at_least {low:g} is above at_most {high:g}: no value is both",
            cure="make at_most at least as large as at_least, or keep one of them",
        )


def _check_extreme(loaded: LoadedStudy, place: KeyPath, claim: ValueClaim) -> None:
    """Raise unless a claim about an extreme gives a count, and no other claim does."""
    if (claim.statistic in get_args(Extreme)) == (claim.extreme_of is not None):
        return
    if claim.extreme_of is None:
        raise loaded.error(
            (*place, "statistic"),
            f"the statistic {claim.statistic!r} needs extreme_of",
            cure="set extreme_of to the number of runs behind the published value",
        )
    raise loaded.error(
        (*place, "extreme_of"),
        f"extreme_of has no meaning with the statistic {claim.statistic!r}",
        cure='remove it, or set statistic to "minimum" or "maximum"',
    )


def _check_agreement(
    loaded: LoadedStudy,
    place: KeyPath,
    claim: AgreementClaim | ErrorsClaim,
    experiments: Mapping[str, PlannedExperiment],
) -> None:
    """Raise unless each point meets at most one of the other experiment, and one does."""
    other = experiments.get(claim.to_experiment)
    is_same_metric = (claim.to_metric or claim.metric) == claim.metric
    if other is None or (claim.to_experiment == claim.experiment and is_same_metric):
        raise loaded.error(
            (*place, "to_experiment"),
            f"there is no other experiment {claim.to_experiment!r}",
            cure=suggestion(claim.to_experiment, set(experiments) - {claim.experiment}),
        )
    metric = claim.to_metric or claim.metric
    metric_place = (*place, "to_metric" if claim.to_metric else "metric")
    check_quantity(loaded, metric_place, metric, other)
    other = other.seen_by(metric)
    _check_units(loaded, metric_place, (claim.metric, experiments[claim.experiment]),
                 (metric, other))  # fmt: skip
    _check_where(loaded, (*place, "to"), claim.to, other)
    if isinstance(claim, ErrorsClaim):
        _check_groups(loaded, place, claim, other)
    candidates = [point.levels for point in other.points]
    own = experiments[claim.experiment].seen_by(claim.metric)
    predicted = _check_where(loaded, (*place, "where"), claim.where, own)
    partners = Partners(candidates, to=claim.to)
    matches = [partners.of(point.levels) for point in predicted]
    if not any(matches):
        raise loaded.error(
            place,
            f"no point of {claim.to_experiment!r} has the levels of one of {claim.experiment!r}",
            cure="vary both over the same levels, or name the levels of the other one in `to`",
        )
    several = next((places for places in matches if len(places) > 1), None)
    if several is not None:
        levels = [candidates[number] for number in several]
        names = [name for name in levels[0] if len({level[name] for level in levels}) > 1]
        raise loaded.error(
            place,
            f"several points of {claim.to_experiment!r} match",
            cure=f"name a level of {', '.join(names)} in `to`",
        )


def _check_groups(
    loaded: LoadedStudy, place: KeyPath, claim: ErrorsClaim, other: PlannedExperiment
) -> None:
    """Raise if a claim leaves open which points may differ by noise alone."""
    if not claim.beyond_noise or claim.reference:
        return
    metric = claim.to_metric or claim.metric
    derived = other.derived_named(metric)
    if derived is None or not derived.over & {factor.name for factor in other.factors}:
        raise loaded.error(
            (*place, "beyond_noise"),
            f"{metric!r} does not say over which factor its values may differ",
            cure="name a level of that factor in reference",
        )


def _check_units(
    loaded: LoadedStudy,
    place: KeyPath,
    this: tuple[str, PlannedExperiment],
    other: tuple[str, PlannedExperiment],
) -> None:
    first, second = (unit_of(metric, experiment) for metric, experiment in (this, other))
    if first != second:
        raise loaded.error(
            place,
            f"{this[0]} is in {first or 'no unit'} and {other[0]} in {second or 'no unit'}",
            cure="compare metrics of one unit",
        )


def _check_bounds(loaded: LoadedStudy, place: KeyPath, claim: RatioClaim) -> None:
    bounds = (claim.value, claim.at_least, claim.at_most)
    if all(bound is None for bound in bounds):
        raise loaded.error(
            place,
            "a ratio needs a value or a bound",
            cure="give value with tolerance, at_least or at_most",
        )
    if (claim.value is None) != (claim.tolerance is None):
        raise loaded.error(
            place,
            "value and tolerance must be given together",
            cure="give both, or at_least and at_most",
        )
    _check_in_order(loaded, place, claim.at_least, claim.at_most)


def _check_two_points(loaded: LoadedStudy, place: KeyPath, this: Point, other: Point) -> None:
    if this.key == other.key:
        raise loaded.error(
            place,
            "`where` and `to` are the same point, so the ratio is always 1",
            cure="name another level in `to`",
        )


def _check_order(
    loaded: LoadedStudy, place: KeyPath, claim: OrderingClaim, experiment: PlannedExperiment
) -> None:
    factor = _factor(loaded, (*place, "factor"), claim.factor, experiment)
    seen: list[Value] = []
    for number, level in enumerate(claim.order):
        value = _level(loaded, (*place, "order", number), level, factor)
        if value in seen:
            raise loaded.error(
                (*place, "order", number),
                f"the level {level!r} is listed twice, but the levels of an ordering must differ",
                cure="name each level once",
            )
        seen.append(value)
    if len(claim.order) < 2:  # noqa: PLR2004 - an order needs two
        raise loaded.error(
            (*place, "order"), "an ordering needs two levels", cure="name at least two levels"
        )


def _check_stretch(loaded: LoadedStudy, place: KeyPath, claim: FlatClaim) -> None:
    if claim.start is not None and claim.stop is not None and claim.start >= claim.stop:
        raise loaded.error(
            (*place, "from"),
            f"`from` is {claim.start:g}, but must be below `to`, {claim.stop:g}",
            cure="make `to` larger than `from`",
        )


def _numeric_factor(
    loaded: LoadedStudy, place: KeyPath, name: str, experiment: PlannedExperiment
) -> None:
    factor = _factor(loaded, (*place, "factor"), name, experiment)
    if not factor.is_numeric:
        raise loaded.error(
            (*place, "factor"),
            f"factor {name!r} is {factor.parameter.type}, but the claim needs numbers",
            cure="use a claim of kind ordering",
        )
