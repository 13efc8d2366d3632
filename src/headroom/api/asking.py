"""Questions about a model or a study: theory, what-ifs, sizes, fits."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import msgspec

from headroom.analysis.fits.fit_result import fit_result
from headroom.analysis.fits.fits import with_fits
from headroom.api.answers import Fitted, Sized, Solved, WhatIfs, texts_of
from headroom.api.arguments import Levels, loaded_system, told_apart
from headroom.api.running import as_levels, name_of
from headroom.api.study import Experiment, ModelLike, Study, model_table
from headroom.api.voice import ProgramVoice
from headroom.errors import StudyError
from headroom.experiment.protocol.options import Ending
from headroom.experiment.protocol.system import System, Value
from headroom.experiment.study.file.study_file import study_of
from headroom.experiment.study.paths import JOURNAL_NAME
from headroom.experiment.study.plan import Plan
from headroom.report.words import settings_words
from headroom.sessions.sizing import Wanted, size_subject
from headroom.sessions.solving import solve_model, solve_plan
from headroom.sessions.study_session import analysed, existing_journal, journal_of, planned
from headroom.sessions.subjects import (
    checked_settings,
    end_of,
    is_study,
    study_subject,
    with_config,
)
from headroom.sessions.trust import trusted_study
from headroom.sessions.trying import InterruptedTrialError, Trying, try_changes
from headroom.sizing.evaluate import InterruptedSearchError, Subject
from headroom.sizing.space import Axis

Asked: TypeAlias = ModelLike | Study | Path
"""A model, or a study by itself or by its folder or file."""


@told_apart
def solve(
    subject: Asked,
    *,
    quick: bool = False,
    parameters: Mapping[str, Levels] | None = None,
    **arguments: Levels,
) -> Solved:
    """Return the results of theory for a model or the points of a study, without a run.

    Where an estimate for a model could be far off, its points have those of a short simulation,
    which `to_rows` gives too.

    Parameters
    ----------
    subject
        The model or study.
    quick
        Of a study: its quick variant.
    parameters
        Arguments of the model function whose names `solve` has too, such as ``{"quick": 2}``; or
        stations and pools: ``{"station.cpu.servers": [1, 2, 4]}``.
    arguments
        Its other arguments; a list makes a point for each of its values.

    Examples
    --------
    >>> import headroom as hr
    >>> found = hr.solve("mm1", utilization=0.5, service_s=0.01)
    >>> found["response_s_mean"], found.is_exact
    (0.02, True)
    """
    given = {**(parameters or {}), **arguments}
    axes = [Axis(name, as_levels(value)) for name, value in given.items()]
    plan = _plan_of_study(subject, quick=quick)
    if plan is not None:
        return Solved(tuple(solve_plan(plan, axes)))
    system, _ = _system(subject)
    asked = repr(subject) if isinstance(subject, str) else name_of(subject)
    return Solved(tuple(solve_model(name_of(subject), system, axes, asked=asked)))


@told_apart
def what_if(
    subject: Asked,
    changes: str | Sequence[str] = (),
    *,
    point: Mapping[str, Value] | str | None = None,
    replications: int | None = None,
    completions: int | None = None,
    time_s: float | None = None,
    quick: bool = False,
    seed: int | None = None,
    processes: int | None = None,
    progress: bool = True,
    parameters: Mapping[str, Value] | None = None,
    **arguments: Value,
) -> WhatIfs:
    """Try changes of stations, pools and parameters, paired with the system by their seeds.

    Parameters
    ----------
    subject
        A model, or a study, whose journal keeps the runs.
    changes
        As ``"station.cpu.servers=8"`` or ``"pool.connections.tokens=x2"``, each tried by itself;
        none: everything doubled.
    point
        Of a study: levels or key of the point; None: the last one that something limits.
    replications
        Pairs, >= 2; None: until the effects are decided, at most those of the point (60 if it has
        more), of a model 10.
    completions, time_s
        Of a model: completions of a run, or its simulated time (s).
    quick
        Of a study: its quick variant.
    seed, processes, progress, parameters
        As of `simulate`.
    arguments
        Of a model: arguments of its function.

    Raises
    ------
    KeyboardInterrupt
        The user stopped it.

    Examples
    --------
    >>> import headroom as hr
    >>> found = hr.what_if("interactive", "station.server.servers=x2", completions=2000)
    >>> found["station.server.servers=x2"]["throughput"].pairs
    5
    """
    given = {**(parameters or {}), **arguments}
    asked = Trying(
        point=point if isinstance(point, str | None) else _levels_text(point),
        changes=texts_of(changes),
        completions=completions,
        time_s=time_s,
        replications=replications,
        quick=quick,
        seed=seed,
        processes=processes,
    )
    plan = _plan_of_study(subject, quick=quick, seed=asked.seed)
    where = ""
    with TemporaryDirectory(prefix="headroom-", ignore_cleanup_errors=True) as folder:
        place = Path(folder) / JOURNAL_NAME
        if plan is None:
            chosen = _subject(subject, asked, given, varied=())
            plan = replace(asked.one_point(chosen), folder=Path(folder), command="hr.what_if(...)")
            where = settings_words(chosen.config, list(given))
        else:
            _refuse_parameters(given)
            place = journal_of(plan)
        try:
            tried = try_changes(plan, place, asked, voice=ProgramVoice(shows_progress=progress))
        except InterruptedTrialError as error:
            raise KeyboardInterrupt from error
    experiment = msgspec.structs.replace(tried.experiment, points=[tried.point])
    result = msgspec.structs.replace(tried.result, experiments=[experiment])
    return WhatIfs(result, where, tried.at_most)


@told_apart
def size(
    subject: Asked,
    *,
    target: str | Sequence[str] = (),
    over: Mapping[str, Sequence[Value]],
    cost: Mapping[str, float] | None = None,
    experiment: str = "",
    completions: int | None = None,
    time_s: float | None = None,
    confidence: float = 0.95,
    replications: int = 60,
    most: int = 100,
    seed: int = 1,
    processes: int | None = None,
    folder: str | Path | None = None,
    progress: bool = True,
    parameters: Mapping[str, Value] | None = None,
    **arguments: Value,
) -> Sized:
    """Find the smallest configuration that meets every target.

    Parameters
    ----------
    subject
        A model, or a study with a simulated experiment.
    target
        As ``"response_s_p95<=200ms"``; all of several must be met. None: 99% of the throughput that
        the largest configuration reaches.
    over
        Factors with their levels, the cheapest first; also ``"station.cpu.servers"``.
    cost
        Cost of one unit of a factor; 1 each.
    experiment
        Of a study: the experiment, if it has several.
    completions, time_s
        Completions of a run, or its simulated time (s).
    confidence
        Confidence level of the whole answer.
    replications, most
        Maximum replications per configuration, and number of simulated configurations.
    seed, processes, progress, parameters
        As of `simulate`.
    folder
        Folder of stored runs, for later searches; None keeps none.
    arguments
        Arguments of the model function that do not vary.

    Raises
    ------
    KeyboardInterrupt
        The user stopped it.

    Examples
    --------
    >>> import headroom as hr
    >>> goal = "station.server.utilization<=60%"
    >>> found = hr.size("interactive", target=goal, over={"servers": range(1, 5)}, users=40)
    >>> found.is_found
    True
    """
    if not over:
        raise StudyError("over={} leaves nothing to choose", cure='write over={"servers": [1, 2]}')
    wanted = Wanted(
        target=texts_of(target),
        over=[Axis(name, tuple(levels)) for name, levels in over.items()],
        cost=[f"{name}={weight!r}" for name, weight in (cost or {}).items()],
        experiment=experiment,
        completions=completions,
        time_s=time_s,
        confidence=confidence,
        replications=replications,
        most=most,
        seed=seed,
        processes=processes,
    )
    given = {**(parameters or {}), **arguments}
    plan = _plan_of_study(subject)
    if plan is None:
        chosen = _subject(subject, wanted, given, varied=list(over))
    else:
        base = study_subject(plan, experiment, completions, list(over), time_s)
        settings = checked_settings(given, base.system.parameters())
        chosen = with_config(base, settings, list(over))
    with _kept_or_temporary(folder) as place:
        try:
            found = size_subject(
                chosen,
                wanted,
                place / JOURNAL_NAME,
                name=name_of(subject),
                command=f"hr.size({name_of(subject)}, target={target!r}, over=..., seed={seed})",
                voice=ProgramVoice(shows_progress=progress),
            )
        except InterruptedSearchError as error:
            raise KeyboardInterrupt from error
    return Sized(found)


@told_apart
def fit(
    study: Study | str | Path,
    model: ModelLike,
    *,
    experiment: str | Sequence[str],
    method: str = "least-squares",
    where: Mapping[str, Value] | None = None,
    options: Mapping[str, Any] | None = None,
    quick: bool = False,
    completions: int | None = None,
    parameters: Mapping[str, Value] | None = None,
    **arguments: Value,
) -> Fitted:
    """Fit parameters of a model to results of a study that was run.

    Parameters
    ----------
    study
        The study, or its folder; its journal has the results.
    model
        The model.
    experiment
        Experiment, or experiments, whose results are fitted.
    method
        A registered method: ``"least-squares"``, ``"service.demand"`` ...
    where
        Levels of the source to fit; factors that are left out match every level.
    options
        Options of the method, such as
        ``{"parameters": {"service_s": [0.001, 0.1]}, "metrics": ["throughput"]}``.
    quick
        Fit the results of the quick variant.
    completions
        Completions of a run, for methods that simulate.
    parameters
        As of `simulate`.
    arguments
        Arguments of the model function that are not fitted.

    Raises
    ------
    StudyError
        The source is not complete, or cannot be fitted; with the reason.
    """
    sources = [experiment] if isinstance(experiment, str) else list(experiment)
    plan = _with_fit(
        study,
        Experiment(
            "fitted",
            system=model_table(model, here=Path.cwd()),
            fixed={**(parameters or {}), **arguments},
            completions=completions,
            replications=2,
            fit={
                "from": sources,
                "method": method,
                "where": dict(where or {}),
                "options": dict(options or {}),
            },
        ),
        quick=quick,
    )
    with existing_journal(plan, lambda _: None) as journal:
        settled = with_fits(plan, journal)
        fitted = settled.named("fitted")
        found = fit_result(fitted)
        if fitted.fit is None or found is None or found.state != "fitted":
            reason = "" if fitted.fit is None else fitted.fit.reason
            cure = "" if fitted.fit is None else fitted.fit.cure
            raise StudyError(
                f"the parameters cannot be fitted: {reason}", cure=cure or "run the study first"
            )
        result = analysed(settled, journal)  # whole: the analysis fits again, from its sources
    return Fitted(found, next(one for one in result.experiments if one.name == fitted.spec.name))


def _with_fit(study: Study | str | Path, added: Experiment, *, quick: bool) -> Plan:
    """Return the plan of a study with one more experiment, which is fitted and never run."""
    loaded = study.loaded() if isinstance(study, Study) else trusted_study(Path(study))
    content = {**_tables(loaded.study), "claim": []}
    content["experiment"] = [*content["experiment"], added.content()]
    return planned(study_of(content, folder=loaded.folder, command="hr.fit(...)"), quick=quick)


def _tables(study: msgspec.Struct) -> dict[str, Any]:
    tables: dict[str, Any] = _without_none(msgspec.to_builtins(study))
    return tables


def _without_none(value: Any) -> Any:  # noqa: ANN401 - any table
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value] if isinstance(value, list) else value


def _plan_of_study(subject: Asked, *, quick: bool = False, seed: int | None = None) -> Plan | None:
    """Return the plan if the subject is a study, None if it is a model."""
    if isinstance(subject, Study):
        return planned(subject.loaded(), quick=quick, seed=seed)
    if isinstance(subject, Path) or (isinstance(subject, str) and is_study(subject)):
        return planned(trusted_study(Path(subject)), quick=quick, seed=seed)
    return None


def _system(model: Asked) -> tuple[System, msgspec.Struct]:
    if isinstance(model, Study | Path):
        raise TypeError("a model is needed, not a study")
    return loaded_system(model_table(model, here=Path.cwd()), {})


def _subject(
    model: Asked,
    asked: Ending,
    parameters: Mapping[str, Value],
    *,
    varied: Sequence[str],
) -> Subject:
    if isinstance(model, Study | Path):
        raise TypeError("a model is needed, not a study")
    end = end_of(asked.completions, asked.time_s)
    system, setup = loaded_system(model_table(model, here=Path.cwd()), end)
    subject = Subject(name=name_of(model), system=system, setup=setup, base=Path.cwd(), config={})
    return with_config(subject, checked_settings(parameters, system.parameters()), varied)


def _refuse_parameters(parameters: Mapping[str, Value]) -> None:
    if parameters:
        raise StudyError(
            f"{next(iter(parameters))!r} is a parameter of a model, but a study is given",
            cure='name it in a change: hr.what_if(study, "hit_ratio=0.9")',
        )


def _levels_text(levels: Mapping[str, Value]) -> str:
    return ",".join(f"{name}={level}" for name, level in levels.items())


@contextmanager
def _kept_or_temporary(folder: str | Path | None) -> Iterator[Path]:
    if folder is not None:
        yield Path(folder)
        return
    with TemporaryDirectory(prefix="headroom-", ignore_cleanup_errors=True) as name:
        yield Path(name)
