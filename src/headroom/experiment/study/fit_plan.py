"""The fit of an experiment before and after its sources have run: checks, then values.

A fit is checked together with the study file, long before there is anything to fit: method,
options, sources, levels. The experiment is planned with provisional values, so that its metrics,
claims and limits can be checked too. Its points can run only after `with_values` has replaced these
values.

Invariant: the fingerprint of a fitted point covers the fitted values, so new values mean new runs,
and equal ones reuse the stored rows.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from headroom.errors import HeadroomError, StudyError
from headroom.experiment.protocol.fit_method import (
    Candidate,
    ChoosesLoad,
    FittedSet,
    PlannedFit,
    Profile,
    find_method,
)
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Parameter, System, Value
from headroom.experiment.study.checks.claim_checks import check_metric
from headroom.experiment.study.file.study_file import LoadedStudy
from headroom.experiment.study.file.type_errors import find_type_error
from headroom.experiment.study.plan import ParameterUse, PlannedExperiment, Point
from headroom.experiment.study.seeds import digest
from headroom.experiment.study.study import Fit
from headroom.experiment.study.variants import Variant

UNSETTLED = "fit-not-settled"
"""Fingerprint of points whose fitted parameters are not known: no stored row has it."""


def planned_fit(
    loaded: LoadedStudy, variant: Variant, declared: Mapping[str, Parameter]
) -> PlannedFit | None:
    """Return the fit of an experiment as far as it can be checked alone, None if it has none.

    Raises
    ------
    StudyError
        The method, its options, or a parameter that it fits is unknown, or set elsewhere too.
    """
    spec = variant.spec.fit
    if spec is None:
        return None
    try:
        method = find_method(spec.method)
    except HeadroomError as error:
        raise loaded.relocated(variant.key_path("fit", "method"), error) from error
    options = _options(loaded, variant, spec, method.options_type)
    try:
        names = method.parameter_names(options)
    except HeadroomError as error:
        raise loaded.relocated(variant.key_path("fit", "options"), error) from error
    taken = _load_names(loaded, variant, spec)
    fit = PlannedFit(
        sources=tuple(_sources(spec)),
        where=dict(spec.where),
        by=tuple(spec.by),
        method=method,
        options=options,
        names=(*names, *(name for name in taken if name not in names)),
        evidence=spec.evidence,
        load_of=spec.load_of,
        load_names=taken,
    )
    _check_parameters(loaded, variant, fit, declared)
    return replace(fit, reason=_waits_for(fit.needed))


def _load_names(loaded: LoadedStudy, variant: Variant, spec: Fit) -> tuple[str, ...]:
    """Return the parameters that the load of another experiment was chosen by."""
    if not spec.load_of:
        return ()
    place = variant.key_path("fit", "load_of")
    chosen = {
        experiment.name: experiment.fit
        for experiment in loaded.study.experiments[: variant.index]
        if experiment.fit is not None
        and isinstance(find_method(experiment.fit.method), ChoosesLoad)
    }
    other = chosen.get(spec.load_of)
    if other is None:
        raise loaded.error(
            place,
            f"experiment {spec.load_of!r} has no fitted load",
            cure=suggestion(spec.load_of, chosen),
        )
    method = find_method(other.method)
    return method.parameter_names(msgspec.convert(other.options, method.options_type))


def _sources(spec: Fit) -> list[str]:
    return [spec.sources] if isinstance(spec.sources, str) else list(dict.fromkeys(spec.sources))


def _waits_for(sources: Sequence[str]) -> str:
    return f"waits for experiment{'s' * (len(sources) > 1)} {', '.join(sources)}"


def _options(
    loaded: LoadedStudy, variant: Variant, spec: Fit, kind: type[msgspec.Struct]
) -> msgspec.Struct:
    place = ("experiment", "fit", "options")
    problem = find_type_error(spec.options, kind, at=place)
    if problem is not None:
        where = variant.key_path("fit", "options", *problem.key_path[len(place) :])
        raise loaded.error(where, problem.message, cure=problem.cure)
    options: msgspec.Struct = msgspec.convert(spec.options, kind)
    return options


def _check_parameters(
    loaded: LoadedStudy, variant: Variant, fit: PlannedFit, declared: Mapping[str, Parameter]
) -> None:
    spec = variant.spec
    varied = {*spec.factors, *(name for step in spec.zipped for name in step)}
    for name in fit.names:
        if name not in declared:
            raise loaded.error(
                variant.key_path("fit"),
                f"method {fit.method.name!r} fits {name!r}, which the system does not declare",
                cure=suggestion(name, declared),
            )
        for table, names in (("fixed", set(spec.fixed)), ("factors", varied)):
            if name in names:
                raise loaded.error(
                    variant.key_path(table, name),
                    f"{name!r} is fitted and in the table {table} at the same time",
                    cure="remove it from one of the two",
                )
    for name in spec.fit.start if spec.fit else ():
        if name not in fit.names:
            raise loaded.error(
                variant.key_path("fit", "start", name),
                f"{name!r} has a start value, but is not fitted",
                cure=suggestion(name, fit.names),
            )


def fitted_use(loaded: LoadedStudy, variant: Variant, parameter: Parameter) -> Value:
    """Return the provisional value of a fitted parameter: its start value, or its default."""
    start = variant.spec.fit.start if variant.spec.fit else {}
    value = start.get(parameter.name, parameter.default)
    place = variant.key_path("fit", "start", parameter.name)
    if value is None:
        raise loaded.error(
            variant.key_path("fit"),
            f"the fitted parameter {parameter.name!r} has no default to check the experiment with",
            cure=f"add start = {{ {parameter.name} = ... }}, a likely value",
        )
    try:
        return parameter.check(value)
    except HeadroomError as error:
        raise loaded.relocated(place, error) from error


def check_fits(
    loaded: LoadedStudy, experiments: Sequence[tuple[Variant, PlannedExperiment]]
) -> None:
    """Raise `StudyError` for the first fit whose sources or levels do not exist.

    Parameters
    ----------
    loaded
        The study.
    experiments
        The experiments that are planned together, in the order of the file.
    """
    above: dict[str, PlannedExperiment] = {}
    for variant, experiment in experiments:
        if experiment.fit is not None:
            _check_sources(loaded, variant, experiment.fit, above)
            _check_levels(loaded, variant, experiment, above)
            _check_metrics(loaded, variant, experiment, experiment.fit, above)
        above[experiment.spec.name] = experiment


def _check_metrics(
    loaded: LoadedStudy,
    variant: Variant,
    experiment: PlannedExperiment,
    fit: PlannedFit,
    above: Mapping[str, PlannedExperiment],
) -> None:
    """Refuse metrics to fit that the model, or all of its sources, do not report."""
    for number, metric in enumerate(getattr(fit.options, "metrics", ())):
        place = variant.key_path("fit", "options", "metrics", number)
        check_metric(loaded, place, metric, experiment.system, experiment.points)
        sources = [above[name] for name in fit.sources]
        if not any(_reports(one, metric) for one in sources):
            check_metric(loaded, place, metric, sources[0].system, sources[0].points)


def _reports(experiment: PlannedExperiment, metric: str) -> bool:
    known = (experiment.system.metrics(point.config) for point in experiment.points)
    return any(metric in {one.name for one in metrics} for metrics in known)


def _check_sources(
    loaded: LoadedStudy, variant: Variant, fit: PlannedFit, above: Mapping[str, PlannedExperiment]
) -> None:
    place = variant.key_path("fit", "from")
    if not fit.sources:
        raise loaded.error(place, "names no experiment", cure='write from = "NAME"')
    known = [spec.name for spec in loaded.study.experiments]
    for name in fit.needed:
        if name in above:
            continue
        if name == fit.load_of:
            place = variant.key_path("fit", "load_of")
        if name not in known:
            raise loaded.error(place, f"unknown experiment {name!r}", cure=suggestion(name, known))
        if known.index(name) < variant.index:
            raise loaded.error(
                place,
                f"the quick variant skips experiment {name!r}, which this one is fitted from",
                cure="skip this one too: quick.skip = true",
            )
        raise loaded.error(
            place,
            f"experiment {name!r} must be above this one",
            cure="move this experiment below the ones that it is fitted from",
        )


def _check_levels(
    loaded: LoadedStudy,
    variant: Variant,
    experiment: PlannedExperiment,
    above: Mapping[str, PlannedExperiment],
) -> None:
    fit = experiment.fit
    if fit is None:
        return
    sources = [above[name] for name in fit.sources]
    for name in fit.where:
        _check_known(loaded, variant.key_path("fit", "where", name), name, sources)
    factors = [factor.name for factor in experiment.factors]
    for number, name in enumerate(fit.by):
        place = variant.key_path("fit", "by", number)
        _check_known(loaded, place, name, sources)
        if name not in factors:
            raise loaded.error(
                place,
                f"{name!r} is not a factor of this experiment",
                cure=suggestion(name, factors)
                if factors
                else "use where, which selects points of the sources",
            )
    for where in levels_of(experiment):
        for source in sources:
            if not selected(source, {**fit.where, **where}):
                wanted = ", ".join(f"{k} = {v!r}" for k, v in {**fit.where, **where}.items())
                raise loaded.error(
                    variant.key_path("fit"),
                    f"experiment {source.spec.name!r} has no point with {wanted}",
                    cure="name levels that it has",
                )


def _check_known(
    loaded: LoadedStudy,
    place: tuple[str | int, ...],
    name: str,
    sources: Sequence[PlannedExperiment],
) -> None:
    """Refuse a name that is a parameter of none of the sources."""
    known = [use.name for source in sources for use in source.parameters]
    if name not in known:
        names = " and ".join(repr(source.spec.name) for source in sources)
        verb = "has" if len(sources) == 1 else "have"
        raise loaded.error(
            place,
            f"experiment{'s' if len(sources) > 1 else ''} {names} {verb} no parameter {name!r}",
            cure=suggestion(name, known),
        )


def levels_of(experiment: PlannedExperiment) -> list[dict[str, Value]]:
    """Return the levels that get a fit of their own, in the order of the points."""
    by = experiment.fit.by if experiment.fit else ()
    levels: dict[tuple[Value, ...], dict[str, Value]] = {}
    for point in experiment.points:
        where = {name: point.config[name] for name in by}
        levels.setdefault(tuple(where.values()), where)
    return list(levels.values())


def selected(source: PlannedExperiment, where: Mapping[str, Value]) -> list[Point]:
    """Return the points of a source whose levels and fixed values are those of `where`.

    A source that has no such parameter is taken whole: a probe of memory serves the runs of every
    program.
    """
    return [point for point in source.points if _matches(point.config, where)]


def _matches(config: Mapping[str, Value], where: Mapping[str, Value]) -> bool:
    return all(config[name] == level for name, level in where.items() if name in config)


def unsettled(points: Iterable[Point]) -> tuple[Point, ...]:
    """Return points whose fitted values are not known yet."""
    return tuple(replace(point, fingerprint=UNSETTLED) for point in points)


def not_settled(
    experiment: PlannedExperiment,
    reason: str,
    *,
    cure: str = "",
    is_refused: bool = False,
    candidates: tuple[Candidate, ...] = (),
    profiles: tuple[Profile, ...] = (),
) -> PlannedExperiment:
    """Return the experiment with the reason why it cannot run yet, or not at all."""
    if experiment.fit is None:
        raise ValueError(f"experiment {experiment.spec.name} is not fitted from anything")
    fit = replace(
        experiment.fit,
        sets=(),
        reason=reason,
        cure=cure,
        is_refused=is_refused,
        candidates=candidates,
        profiles=profiles,
    )
    uses = tuple(
        replace(use, value=None) if use.origin == "fitted" else use for use in experiment.parameters
    )
    return replace(experiment, fit=fit, points=unsettled(experiment.points), parameters=uses)


def with_values(experiment: PlannedExperiment, sets: Sequence[FittedSet]) -> PlannedExperiment:
    """Return the experiment with its fitted values: it can be run now.

    Parameters
    ----------
    experiment
        The experiment, fitted before or not.
    sets
        One set for each of `levels_of`.

    Raises
    ------
    StudyError
        A fitted value is none that the system accepts.
    """
    if experiment.fit is None:
        raise ValueError(f"experiment {experiment.spec.name} is not fitted from anything")
    declared = {use.name: use.parameter for use in experiment.parameters}
    points = []
    for point in experiment.points:
        fitted = next(candidate for candidate in sets if _matches(point.config, candidate.where))
        values = {name: declared[name].check(value) for name, value in fitted.values.items()}
        missing = set(experiment.fit.names) - set(values)
        if missing:
            raise StudyError(
                f"method {experiment.fit.method.name!r} gave no value of {sorted(missing)[0]!r}",
                cure="let the method return every parameter that it names",
            )
        config = {**point.config, **values}
        content = experiment.system.fingerprint(config)
        fingerprint = fingerprint_of(experiment.system, config, content)
        points.append(replace(point, config=config, fingerprint=fingerprint, content=content))
    fit = replace(
        experiment.fit,
        sets=tuple(sets),
        reason="",
        cure="",
        is_refused=False,
        candidates=(),
        profiles=(),
    )
    uses = tuple(_with_fitted_value(use, sets) for use in experiment.parameters)
    return replace(experiment, fit=fit, points=tuple(points), parameters=uses)


def _with_fitted_value(use: ParameterUse, sets: Sequence[FittedSet]) -> ParameterUse:
    if use.origin != "fitted":
        return use
    values = [fitted.values[use.name] for fitted in sets]
    is_one = all(value == values[0] for value in values)
    return replace(use, value=values[0] if is_one else None)


def fingerprint_of(system: System, config: Mapping[str, Value], content: str) -> str:
    """Return the fingerprint of a point: a hash of system, set-up and config.

    `content` is the system's own description at `config`.
    """
    return digest([system.name, config, content])


def stages(plan_experiments: Sequence[PlannedExperiment]) -> Iterator[list[str]]:
    """Yield names of experiments that may run together, sources before their fits.

    Sources that are not among the experiments count as run.
    """
    waiting = list(plan_experiments)
    while waiting:
        names = {experiment.spec.name for experiment in waiting}
        now = [experiment for experiment in waiting if not names & set(experiment.sources)]
        yield [experiment.spec.name for experiment in now]
        waiting = [experiment for experiment in waiting if experiment not in now]
