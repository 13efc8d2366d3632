"""From a study file to points: factors, levels, keys, and every check before anything runs.

Invariant: a `Plan` can be run as it stands: its system accepts each level, each required parameter
has a value, and claims refer to existing names. Points are in the order of the file; the runner
shuffles them.
"""

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import msgspec

from headroom.errors import HeadroomError
from headroom.experiment.protocol import registry
from headroom.experiment.protocol.fit_method import PlannedFit
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import (
    DeclaresInStudy,
    Parameter,
    Replays,
    System,
    Value,
)
from headroom.experiment.study.checks.ask_checks import check_asks
from headroom.experiment.study.checks.claim_checks import check_claims, check_metric, check_patterns
from headroom.experiment.study.checks.compare_checks import check_compare
from headroom.experiment.study.checks.derived_checks import check_derived
from headroom.experiment.study.checks.host_checks import checked_hosts
from headroom.experiment.study.checks.left_out import check_without, is_kept
from headroom.experiment.study.checks.limit_checks import check_limits
from headroom.experiment.study.checks.point_checks import check_points
from headroom.experiment.study.checks.what_if_checks import check_what_if
from headroom.experiment.study.checks.window_checks import checked_windows
from headroom.experiment.study.file.short_keys import ENDS
from headroom.experiment.study.file.study_file import KeyPath, LoadedStudy
from headroom.experiment.study.file.type_errors import find_type_error
from headroom.experiment.study.fit_plan import (
    check_fits,
    fingerprint_of,
    fitted_use,
    not_settled,
    planned_fit,
)
from headroom.experiment.study.levels import checked_level, expand_levels
from headroom.experiment.study.plan import FactorSpec, ParameterUse, Plan, PlannedExperiment, Point
from headroom.experiment.study.seeds import point_key
from headroom.experiment.study.shared_seeds import with_shared_seeds
from headroom.experiment.study.study import Levels, Quick, Replications, Sourced
from headroom.experiment.study.variants import Variant, full_variant, quick_variant

__all__ = ["FactorSpec", "ParameterUse", "Plan", "PlannedExperiment", "Point", "make_plan"]

MOST_POINTS = 1_000_000


def make_plan(loaded: LoadedStudy, *, quick: bool, seed: int | None = None) -> Plan:
    """Return the plan of a study, checked from end to end.

    Claims are checked against the full study even if the quick variant is planned: a level that the
    quick variant leaves out makes a claim undecided, not wrong.

    Parameters
    ----------
    loaded
        The study.
    quick
        Plan the quick variant.
    seed
        Another study seed than the file's.

    Raises
    ------
    StudyError
        A name, level, range or set-up is wrong; the message names file, line and key.
    """
    study = loaded.study
    _check_names(loaded)
    full = [_draft(loaded, full_variant(*item)) for item in enumerate(study.experiments)]
    short = _quick_drafts(loaded, full, is_needed=quick)
    whole = _all_planned(loaded, full, is_to_run=not quick, is_quick=False)
    check_fits(
        loaded, [(draft.variant, experiment) for draft, experiment in zip(full, whole, strict=True)]
    )
    whole = with_shared_seeds(
        loaded, [(draft.variant, experiment) for draft, experiment in zip(full, whole, strict=True)]
    )
    check_asks(loaded, {experiment.spec.name: experiment for experiment in whole})
    claims = check_claims(loaded, {experiment.spec.name: experiment for experiment in whole})
    chosen = whole
    if quick:
        chosen = _all_planned(loaded, short, is_to_run=True, is_quick=True)
        check_fits(
            loaded,
            [(draft.variant, experiment) for draft, experiment in zip(short, chosen, strict=True)],
        )
        chosen = with_shared_seeds(
            loaded,
            [(draft.variant, experiment) for draft, experiment in zip(short, chosen, strict=True)],
        )
    return Plan(
        study=msgspec.structs.replace(study, claims=claims),
        folder=loaded.folder,
        is_quick=quick,
        seed=study.seed if seed is None else seed,
        experiments=tuple(chosen),
        settings=loaded.settings,
        command=loaded.command,
        full_planned=_replications(whole, first=True),
        full_most=_replications(whole, first=False),
    )


def outlined(loaded: LoadedStudy, *, quick: bool, seed: int | None = None) -> Plan:
    """Return the points of a study without a check that needs its models; it cannot be run."""
    _check_names(loaded)
    drafts = [_draft(loaded, full_variant(*item)) for item in enumerate(loaded.study.experiments)]
    if quick:
        drafts = _quick_drafts(loaded, drafts, is_needed=True)
    experiments = tuple(
        PlannedExperiment(
            spec=draft.variant.spec,
            system=draft.system,
            setup=draft.setup,
            base=loaded.folder,
            factors=draft.factors,
            points=_points(loaded, draft, is_to_run=False),
            parameters=draft.uses,
            fit=draft.fit,
        )
        for draft in drafts
    )
    return Plan(
        study=loaded.study,
        folder=loaded.folder,
        is_quick=quick,
        seed=loaded.study.seed if seed is None else seed,
        experiments=experiments,
        settings=loaded.settings,
    )


def _replications(experiments: Iterable[PlannedExperiment], *, first: bool) -> int:
    return sum(one.replications_at(p, first=first) for one in experiments for p in one.points)


def _quick_drafts(
    loaded: LoadedStudy, full: Sequence["_Draft"], *, is_needed: bool
) -> list["_Draft"]:
    """Return the quick variants; their mistakes are found even if another variant is planned."""
    kept = [draft for draft in full if not draft.variant.spec.quick.skip]
    if not kept and is_needed:
        raise loaded.error(
            ("experiment",), "the quick variant skips every experiment", cure="keep at least one"
        )
    return [
        _draft(loaded, quick_variant(draft.variant.index, draft.variant.spec), like=draft)
        for draft in kept
        if is_needed or draft.variant.spec.quick != Quick()
    ]


def _check_names(loaded: LoadedStudy) -> None:
    if not loaded.study.experiments:
        raise loaded.error((), "the study has no experiments", cure="add a table [[experiment]]")
    tables = (("experiment", loaded.study.experiments), ("claim", loaded.study.claims))
    for table, items in tables:
        seen: set[str] = set()
        for index, item in enumerate(items):
            if item.name in seen:
                raise loaded.error(
                    (table, index, "name"),
                    f"the name {item.name!r} is used twice",
                    cure=f"give each {table} a unique name",
                )
            seen.add(item.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """An experiment in one variant, checked as far as possible without its points."""

    variant: Variant
    system: System
    setup: msgspec.Struct
    factors: tuple[FactorSpec, ...]
    uses: tuple[ParameterUse, ...]
    fit: PlannedFit | None


def _draft(loaded: LoadedStudy, variant: Variant, *, like: _Draft | None = None) -> _Draft:
    """Check a variant; if its set-up is that of `like`, the system is loaded only once."""
    if like is not None and like.variant.spec.system == variant.spec.system:
        system, setup = like.system, like.setup
    else:
        system, setup = _load_system(loaded, variant)
    with _at(loaded, variant.key_path("system")):
        declared = {parameter.name: parameter for parameter in system.parameters()}
    for table in ("fixed", "factors"):
        for name in getattr(variant.spec, table):
            _check_declared(loaded, variant.key_path(table, name), name, system, declared)
    for number, step in enumerate(variant.spec.zipped):
        for name in step:
            place = variant.key_path("zipped", number, name)
            _check_declared(loaded, place, name, system, declared)
    factors = _factors(loaded, variant, declared)
    fit = planned_fit(loaded, variant, declared)
    uses = _parameter_uses(loaded, variant, declared, factors, fit)
    _check_replications(loaded, variant)
    _check_warm_up(loaded, variant)
    variant, system = checked_hosts(loaded, variant, system)
    system = checked_windows(loaded, variant, system)
    return _Draft(variant=variant, system=system, setup=setup, factors=factors, uses=uses, fit=fit)


def _all_planned(
    loaded: LoadedStudy, drafts: Sequence[_Draft], *, is_to_run: bool, is_quick: bool
) -> list[PlannedExperiment]:
    """Return the experiments; derived quantities of each may refer to those above it."""
    planned: list[PlannedExperiment] = []
    for draft in drafts:
        one = _planned(loaded, draft, planned, is_to_run=is_to_run, is_quick=is_quick)
        planned.append(one)
    return planned


def _planned(
    loaded: LoadedStudy,
    draft: _Draft,
    earlier: Sequence[PlannedExperiment],
    *,
    is_to_run: bool,
    is_quick: bool,
) -> PlannedExperiment:
    """Return an experiment with its points; they have fingerprints only if it will run."""
    variant, system = draft.variant, draft.system
    check_without(loaded, variant, draft.factors, is_quick=is_quick)
    points = _points(loaded, draft, is_to_run=is_to_run)
    if is_to_run:
        # Fitted numbers may differ between levels that the model itself does not tell apart, and
        # the quick variant may leave out the levels at which a factor matters.
        groups = _groups(draft.factors) if draft.fit is None and not is_quick else []
        check_points(loaded, variant, system, points, groups)
    for number, metric in enumerate(variant.spec.responses):
        place = variant.key_path("responses", number)
        check_metric(loaded, place, metric, system, points)
    if variant.spec.replications.metric is not None:
        place = variant.key_path("replications", "metric")
        check_metric(loaded, place, variant.spec.replications.metric, system, points)
    check_what_if(loaded, variant, system, points)
    check_patterns(loaded, variant.key_path("metrics"), variant.spec.metrics, system, points)
    compare = check_compare(loaded, variant, system, draft.factors, points, is_quick=is_quick)
    planned = PlannedExperiment(
        spec=msgspec.structs.replace(variant.spec, compare=compare),
        system=system,
        setup=draft.setup,
        base=loaded.folder,
        factors=draft.factors,
        points=points,
        parameters=draft.uses,
        fit=draft.fit,
    )
    derived = check_derived(loaded, variant, planned, earlier, is_quick=is_quick)
    planned = replace(planned, derived=derived)
    limits = check_limits(loaded, variant, planned, is_quick=is_quick)
    planned = replace(planned, spec=msgspec.structs.replace(planned.spec, limits=limits))
    return planned if draft.fit is None else not_settled(planned, draft.fit.reason)


@contextmanager
def _at(loaded: LoadedStudy, key_path: KeyPath) -> Iterator[None]:
    """Put file, line and key in front of an error that knows neither."""
    try:
        yield
    except HeadroomError as error:
        raise loaded.relocated(key_path, error) from error


def _load_system(loaded: LoadedStudy, variant: Variant) -> tuple[System, msgspec.Struct]:
    table = dict(variant.spec.system)
    name = table.pop("name", None)
    for key in ("model", *ENDS):
        if variant.spec.system and getattr(variant.spec, key) is not None:
            raise loaded.error(
                variant.key_path(key),
                f"{key!r} is given here and in the table `system`",
                cure="remove one of the two",
            )
    if not isinstance(name, str):
        raise loaded.error(
            variant.key_path("system"),
            "the system has no name",
            cure='add name = ..., or for a simulation model = "model.py:build" instead of the '
            f"table; {suggestion('', registry.system_names())}",
        )
    with _at(loaded, variant.key_path("system", "name")):
        kind = registry.find_system(name)
    table_name = ("experiment", "system")
    problem = find_type_error(table, kind.setup_type, at=table_name)
    if problem is not None:
        place = variant.key_path("system", *problem.key_path[len(table_name) :])
        raise loaded.error(place, problem.message, cure=problem.cure)
    setup: msgspec.Struct = msgspec.convert(table, kind.setup_type)
    try:
        return kind.load(setup, base=loaded.folder), setup
    except HeadroomError as error:
        at = variant.key_path("system", *_key_meant(table, error.message))
        raise loaded.relocated(at, error) from error


def _key_meant(table: Mapping[str, object], message: str) -> list[str]:
    """Return the key of a system that its error is about; none if the message names none.

    A message names a key as it is written, or else the value that it has.
    """
    words = set(re.findall(r"\w+", message))
    named = [key for key in table if key in words]
    valued = [key for key, own in table.items() if isinstance(own, str) and own and own in message]
    return [*named, *valued][:1]


def _factors(
    loaded: LoadedStudy, variant: Variant, declared: Mapping[str, Parameter]
) -> tuple[FactorSpec, ...]:
    factors = []
    for name, levels in variant.spec.factors.items():
        place = variant.key_path("factors", name)
        parameter = declared[name]
        with _at_level(loaded, place, levels, parameter):
            factors.append(
                FactorSpec(name=name, parameter=parameter, levels=expand_levels(levels, parameter))
            )
    for number, table in enumerate(variant.spec.zipped):
        factors += _zipped_factors(loaded, variant, number, table, declared)
    _check_used_once(loaded, variant, factors)
    return tuple(factors)


@contextmanager
def _at_level(
    loaded: LoadedStudy, place: KeyPath, levels: Levels, parameter: Parameter
) -> Iterator[None]:
    """Name the line of the very level that is wrong, if levels are listed."""
    try:
        yield
    except HeadroomError as error:
        wrong = (
            next(
                (number for number, level in enumerate(levels) if not _fits(level, parameter)), None
            )
            if isinstance(levels, list)
            else None
        )
        where = place if wrong is None else (*place, wrong)
        raise loaded.relocated(where, error) from error


def _fits(level: Value, parameter: Parameter) -> bool:
    try:
        parameter.check(level)
    except HeadroomError:
        return False
    return True


def _zipped_factors(
    loaded: LoadedStudy,
    variant: Variant,
    number: int,
    table: Mapping[str, list[Value]],
    declared: Mapping[str, Parameter],
) -> list[FactorSpec]:
    place = variant.key_path("zipped", number)
    lengths = {name: len(levels) for name, levels in table.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        shown = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise loaded.error(
            place,
            f"zipped factors need lists of equal length, but {shown or 'there are none'}",
            cure="give each factor one level per step",
        )
    factors = []
    for name, levels in table.items():
        parameter = declared[name]
        others = tuple(other for other in table if other != name)
        with _at_level(loaded, (*place, name), levels, parameter):
            checked = tuple(checked_level(level, parameter) for level in levels)
        factors.append(
            FactorSpec(name=name, parameter=parameter, levels=checked, zipped_with=others)
        )
    return factors


def _check_declared(
    loaded: LoadedStudy,
    place: KeyPath,
    name: str,
    system: System,
    declared: Mapping[str, Parameter],
) -> None:
    if name in declared:
        return
    cure = suggestion(name, declared)
    if isinstance(system, DeclaresInStudy):
        cure = f"{system.how_to_declare(name)}, or {cure}"
    raise loaded.error(place, f"the system has no parameter {name!r}", cure=cure)


def _check_used_once(loaded: LoadedStudy, variant: Variant, factors: list[FactorSpec]) -> None:
    seen: set[str] = set()
    for factor in factors:
        place = variant.key_path("factors", factor.name)
        if factor.name in seen:
            raise loaded.error(
                place, f"{factor.name!r} is a factor twice", cure="keep one of the two"
            )
        if factor.name in variant.spec.fixed:
            raise loaded.error(
                place,
                f"{factor.name!r} is a factor and fixed at the same time",
                cure="remove it from one of the two tables",
            )
        seen.add(factor.name)


def _parameter_uses(
    loaded: LoadedStudy,
    variant: Variant,
    declared: Mapping[str, Parameter],
    factors: Sequence[FactorSpec],
    fit: PlannedFit | None,
) -> tuple[ParameterUse, ...]:
    varied = {factor.name for factor in factors}
    return tuple(
        ParameterUse(
            parameter=parameter,
            value=fitted_use(loaded, variant, parameter),
            origin="fitted",
            source=fit.source_of(parameter.name),
        )
        if fit is not None and parameter.name in fit.names
        else _parameter_use(loaded, variant, parameter, is_factor=parameter.name in varied)
        for parameter in declared.values()
    )


def _parameter_use(
    loaded: LoadedStudy, variant: Variant, parameter: Parameter, *, is_factor: bool
) -> ParameterUse:
    if is_factor:
        return ParameterUse(
            parameter=parameter, value=None, origin="factor", source="levels of the study"
        )
    if parameter.name in variant.spec.fixed:
        given = variant.spec.fixed[parameter.name]
        with _at(loaded, variant.key_path("fixed", parameter.name)):
            value = checked_level(given.value if isinstance(given, Sourced) else given, parameter)
        source = given.source if isinstance(given, Sourced) else "study file"
        return ParameterUse(parameter=parameter, value=value, origin="fixed", source=source)
    if parameter.default is None:
        unit = f", unit {parameter.unit}" if parameter.unit else ""
        raise loaded.error(
            variant.key_path(),
            f"the parameter {parameter.name!r} ({parameter.type}{unit}) has no value",
            cure=f"add {parameter.name} = ... to [experiment.fixed], or make it a factor",
        )
    return ParameterUse(
        parameter=parameter,
        value=parameter.default,
        origin="default",
        source=parameter.source,
    )


def _points(loaded: LoadedStudy, draft: _Draft, *, is_to_run: bool) -> tuple[Point, ...]:
    groups = _groups(draft.factors)
    count = math.prod(len(group) for group in groups)
    if count > MOST_POINTS:
        raise loaded.error(
            draft.variant.key_path("factors"),
            f"the factors make {count} points, more than {MOST_POINTS}",
            cure="use fewer levels, or several experiments",
        )
    settled = {use.name: use.value for use in draft.uses if use.value is not None}
    keeps = is_kept(draft.variant.spec.without)
    points = []
    for combination in itertools.product(*groups):
        levels = {name: level for step in combination for name, level in step.items()}
        if not keeps(levels):
            continue
        config = {**settled, **levels}
        with _at(loaded, draft.variant.key_path()):
            content = draft.system.fingerprint(config) if is_to_run else ""
        points.append(
            Point(
                experiment=draft.variant.spec.name,
                key=point_key(draft.variant.spec.name, levels),
                levels=levels,
                config=config,
                fingerprint=fingerprint_of(draft.system, config, content) if is_to_run else "",
                content=content,
                recorded=draft.system.recorded(config)
                if isinstance(draft.system, Replays)
                else None,
            )
        )
    if not points:
        place = draft.variant.key_path("without")
        raise loaded.error(place, "every point is left out", cure="remove a table of `without`")
    return tuple(points)


def _groups(factors: Sequence[FactorSpec]) -> list[list[dict[str, Value]]]:
    """Return per group of factors its steps: one factor, or those zipped together."""
    by_name = {factor.name: factor for factor in factors}
    groups = []
    for factor in factors:
        together = [factor, *(by_name[name] for name in factor.zipped_with)]
        if factor.name != min(together, key=factors.index).name:
            continue
        names = [member.name for member in together]
        steps = zip(*(member.levels for member in together), strict=True)
        groups.append([dict(zip(names, step, strict=True)) for step in steps])
    return groups


def _check_replications(loaded: LoadedStudy, variant: Variant) -> None:
    problem = _replications_problem(variant.spec.replications)
    if problem is not None:
        message, cure = problem
        raise loaded.error(variant.key_path("replications"), message, cure=cure)


def _replications_problem(plan: Replications) -> tuple[str, str] | None:
    if (plan.count is None) == (plan.metric is None):
        return "needs either count, or metric with half_width", "give one of the two"
    if plan.metric is not None and plan.half_width is None:
        return "metric is given without half_width", "add half_width = 0.05 for 5%"
    if plan.count is not None and plan.half_width is not None:
        return "half_width is given with a fixed count", "remove count, or half_width"
    if plan.count is None and plan.minimum > plan.maximum:
        return (
            f"minimum {plan.minimum} is above maximum {plan.maximum}",
            "make maximum at least as large as minimum",
        )
    return None


def _check_warm_up(loaded: LoadedStudy, variant: Variant) -> None:
    warm_up = variant.spec.warm_up
    if (warm_up.method == "fixed") == (warm_up.seconds is None):
        fixed = warm_up.method == "fixed"
        raise loaded.error(
            variant.key_path("warm_up"),
            "method fixed needs seconds" if fixed else "seconds is only for method fixed",
            cure="add seconds = ..." if fixed else 'remove seconds, or write method = "fixed"',
        )
