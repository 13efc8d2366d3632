"""Run, simulate, load and compare: each returns results that a program computes with."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, overload
from weakref import finalize

from headroom.api.arguments import Levels, is_one, told_apart
from headroom.api.compared import CHOICE, OneOf
from headroom.api.results import Result, Sweep, View
from headroom.api.saved import Compared, compare_saved
from headroom.api.study import Experiment, ModelLike, Study, model_table, plain
from headroom.api.voice import ProgramVoice
from headroom.errors import HINT, EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.asked_metrics import asked_in
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.plan import Plan
from headroom.experiment.study.study import SAME_WITHIN
from headroom.gate.question import Question
from headroom.sessions.overwrite import confirm, needed
from headroom.sessions.running import How, Running, opened, run_in, run_to_page
from headroom.sessions.study_session import (
    analysed,
    identity_of,
    journal_of,
    open_plan,
    planned,
)
from headroom.simulation import Model

_RESUME = "call it again to resume"


@told_apart
def run(
    study: Study | str | Path,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    processes: int | None = None,
    seed: int | None = None,
    settings: Sequence[str] = (),
    on: str = "",
    fresh: bool = False,
    what_if: bool = True,
    stop_on_failure: bool = False,
    overwrite: Sequence[str] = (),
    progress: bool = True,
) -> Result:
    """Run a study, or resume it, and return its results; as `headroom run`.

    Parameters
    ----------
    study
        A study, or the path of a study's folder or file.
    quick
        Run the smaller variant that the study defines.
    only
        Experiments to run; the result has all.
    processes
        Simulations in parallel; None: one for each processor.
    seed
        Another study seed.
    settings
        Keys of the study to set, such as ``"experiment.replications.count=3"``.
    on
        Dask cluster that simulates: ``"tls://HOST:PORT"`` or ``"local-cluster"``; empty: processes
        of this machine.
    fresh
        Measure again what was measured before.
    what_if
        Try the what-ifs that the study asks for.
    stop_on_failure
        Start nothing more after a replication has failed.
    overwrite
        Words that allow this run to destroy what is on a target.
    progress
        Show progress on stderr, in a terminal or notebook.

    Raises
    ------
    HeadroomError
        The study is wrong, or this machine cannot run it.
    KeyboardInterrupt
        The user stopped it; finished replications are kept, and another call resumes.

    Examples
    --------
    >>> import tempfile, headroom as hr
    >>> load = hr.Experiment(
    ...     "load", "mm1", factors={"utilization": [0.5, 0.9]}, replications=3, completions=1000
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = hr.run(hr.Study("queue", [load], folder=folder))
    >>> result["load"].at(utilization=0.5)["throughput"].count
    3
    """
    asked = Running(
        quick=quick,
        only=only,
        processes=processes,
        seed=seed,
        settings=settings,
        on=on,
        fresh=fresh,
        what_if=what_if,
        stop_on_failure=stop_on_failure,
        overwrite=overwrite,
    )
    if isinstance(study, Study):
        plan = planned(study.loaded(settings), quick=quick, seed=asked.seed)
    else:
        plan = open_plan(Path(study), quick=quick, seed=asked.seed, settings=settings)
    chosen = asked.chosen(plan)
    _confirm(chosen, overwrite)
    identity = identity_of(plan)
    voice = ProgramVoice(shows_progress=progress)
    how = How(asked=asked, voice=voice, resume=_RESUME)
    finished = run_to_page(plan, chosen, how, identity=identity)
    if finished.outcome.interrupted:
        raise KeyboardInterrupt(f"{finished.outcome.remaining} replications are left; {_RESUME}")
    return Result(finished.result, notes=voice.notes, plan=plan, report=finished.page)


def _confirm(plan: Plan, typed: Sequence[str]) -> None:
    missing = [one.words for one in needed(plan) if one.words not in typed]
    if missing:
        raise EnvironmentUnfitError(
            f"this run would overwrite {', '.join(missing)}",
            cure=f"to allow it, pass overwrite={missing!r}",
        )
    confirm(plan, typed)


@told_apart
def simulate(
    model: ModelLike,
    *,
    replications: int | None = None,
    until: float | None = None,
    metric: str = "response_s_mean",
    completions: int | None = None,
    time_s: float | None = None,
    seed: int = 1,
    warm_up: Mapping[str, Any] | None = None,
    processes: int | None = None,
    on: str = "",
    progress: bool = True,
    parameters: Mapping[str, Levels] | None = None,
    **arguments: Levels,
) -> Sweep:
    """Simulate a model and return estimates with 95% intervals.

    Parameters
    ----------
    model
        A model, a function that returns one, or a name such as ``"mm1"`` or ``"shop.py:build"``.
    replications
        Runs of each point with their own seeds; 10, or at most 100 with `until`.
    until
        Run until the interval of `metric` is within this share of its centre: 0.02 is ±2%.
    metric
        Metric that `until` is about. It may be a percentile or a share of waits, which no result
        has by itself: ``"station.desk.wait_s_p80"``.
    completions, time_s
        End of a run: completions, or simulated time (s), instead of the model's own rule.
    seed
        All seeds derive from it: the same seed gives the same bits.
    warm_up
        How the warm-up is cut, as in a study: ``{"method": "none"}``; by default it is found.
    processes
        Simulations in parallel; None: one for each processor.
    on
        Dask cluster that simulates, as of `run`.
    progress
        Show progress on stderr, in a terminal or notebook.
    parameters
        Arguments of the model function whose names `simulate` has too, such as ``{"seed": 5}``.
    arguments
        Its other arguments. A list makes a point for each of its values.

    Raises
    ------
    HeadroomError
        The model is wrong, or every run failed.

    Examples
    --------
    >>> import headroom as hr
    >>> found = hr.simulate("mm1", utilization=[0.5, 0.8], completions=5000, replications=5)
    >>> found.at(utilization=0.5)["response_s_mean"].unit
    's'
    """
    if replications is not None and (replications < 1 or replications != int(replications)):
        raise StudyError(
            f"replications={replications!r} is not a number of runs", cure="give 1 or more"
        )
    given = {**(parameters or {}), **arguments}
    count: int | dict[str, Any] = replications or 10
    if until is not None:
        count = {"metric": metric, "half_width": until, "maximum": max(replications or 100, 5)}
    experiment = Experiment(
        "simulation",
        system=model_table(model, here=Path.cwd()),
        replications=count,
        completions=completions,
        time_s=time_s,
        what_if={"parts": "none"},
        warm_up=warm_up or {},
        responses=list(asked_in(metric)),
        **_split(given),
    )
    name = name_of(model)
    words = [*(f"{key}={value!r}" for key, value in arguments.items()), f"seed={seed}"]
    words += [f"parameters={dict(parameters)!r}"] if parameters else []
    command = f"hr.simulate({name}, {', '.join(words)})"
    how = _how(progress, processes, on)
    return _swept([experiment], how, title=name, seed=seed, command=command)


@overload
def compare(
    *models: Result,
    names: Sequence[str] = (),
    metrics: Sequence[str] = (),
    same_within: float = SAME_WITHIN,
    force: bool = False,
    fail_on_regression: float | None = None,
    measure_again: bool = True,
    build: Sequence[str] = (),
    progress: bool = True,
) -> Compared: ...


@overload
def compare(
    *models: ModelLike,
    names: Sequence[str] = (),
    metrics: Sequence[str] = (),
    same_within: float = SAME_WITHIN,
    force: bool = False,
    replications: int = 10,
    completions: int | None = None,
    time_s: float | None = None,
    seed: int = 1,
    processes: int | None = None,
    progress: bool = True,
    fail_on_regression: None = None,
    measure_again: bool = True,
    build: Sequence[str] = (),
    parameters: Mapping[str, Levels] | None = None,
    **arguments: Levels,
) -> Sweep: ...


@told_apart
def compare(
    *models: ModelLike | Result,
    names: Sequence[str] = (),
    metrics: Sequence[str] = (),
    same_within: float = SAME_WITHIN,
    force: bool = False,
    replications: int = 10,
    completions: int | None = None,
    time_s: float | None = None,
    seed: int = 1,
    processes: int | None = None,
    progress: bool = True,
    fail_on_regression: float | None = None,
    measure_again: bool = True,
    build: Sequence[str] = (),
    parameters: Mapping[str, Levels] | None = None,
    **arguments: Levels,
) -> Sweep | Compared:
    """Compare models, or saved results, with the first one: which is better, by how much, how sure.

    Parameters
    ----------
    models
        Two or more models, which are simulated; or results of `run` or `load`, which are not.
    names
        A name for each; by default those of the functions or models.
    metrics
        Metrics to compare; empty: the first three of the model, or the responses of the results.
    same_within
        Difference that does not matter: with 0.05, models are the same if the whole interval of
        their ratio is between 1 / 1.05 and 1.05.
    force
        Of results: compare what is not comparable, such as other machines, and record it.
    fail_on_regression
        Of results: slowdown (share) that counts as a regression: 0.03 is 3%. The answer's `gate`
        has the verdict; suspicions are measured again at both commits, as by the command.
    measure_again, build
        Of a gate: False to decide by the results alone; commands that build each commit.
    replications, completions, time_s, seed, processes, progress, parameters
        Of models: as of `simulate`.
    arguments
        Arguments that all models take.

    Raises
    ------
    HeadroomError
        There are fewer than two models, or they do not take the same parameters.

    Examples
    --------
    >>> import headroom as hr
    >>> found = hr.compare("mm1", "mmc", completions=2000, replications=5, utilization=0.5)
    >>> sorted({row["model"] for row in found.to_rows("comparisons")})
    ['mmc']
    """
    saved = [model for model in models if isinstance(model, View)]
    chosen = [model for model in models if not isinstance(model, View)]
    if saved and chosen:
        raise StudyError(
            "saved results cannot be compared with models",
            cure="pass results of hr.run or hr.load alone, or models alone",
        )
    if saved:
        question = Question(
            names=names,
            metrics=metrics,
            same_within=same_within,
            force=force,
            fail_on_regression=fail_on_regression,
            measure_again=measure_again,
            build=build,
        )
        return compare_saved(saved, question, progress=progress)
    if fail_on_regression is not None:
        raise StudyError(
            "`fail_on_regression` needs saved results: the same model gives the same results",
            cure="pass results of hr.run or hr.load",
        )
    labels = list(names) or [name_of(model) for model in chosen]
    if len(chosen) < 2 or len(set(labels)) != len(chosen):  # noqa: PLR2004 - a pair
        raise StudyError(
            f"a comparison needs two models with different names, but these are: {labels}",
            cure='name them: hr.compare(one, two, names=["one queue", "two queues"])',
        )
    tables = {
        label: model_table(model, here=Path.cwd())
        for label, model in zip(labels, chosen, strict=True)
    }
    given = {**(parameters or {}), **arguments}
    if CHOICE in given:
        raise StudyError(
            f"a comparison has a factor {CHOICE!r}, so a parameter cannot have this name",
            cure=f"rename the parameter {CHOICE!r} of the models",
        )
    one_of = OneOf(tables, tuple(given))
    split = _split(given)
    split["factors"] = {CHOICE: labels, **split["factors"]}
    experiment = Experiment(
        "comparison",
        system=model_table(one_of),
        replications=replications,
        completions=completions,
        time_s=time_s,
        what_if={"parts": "none"},
        responses=list(metrics),
        compare={"factor": "model", "base": labels[0], "same_within": same_within},
        **split,
    )
    title = " and ".join(labels)
    command = f"hr.compare({', '.join(labels)}, seed={seed})"
    how = _how(progress, processes)
    return _swept([experiment], how, title=title, seed=seed, command=command)


def _split(parameters: Mapping[str, Levels]) -> dict[str, Any]:
    """Return values as `fixed`, and several values of one parameter as `factors`."""
    tables: dict[str, Any] = {"fixed": {}, "factors": {}}
    for name, value in parameters.items():
        levels = as_levels(value)
        if is_one(value):
            tables["fixed"][name] = levels[0]
        else:
            tables["factors"][name] = list(levels)
    return tables


def as_levels(value: Levels) -> tuple[Value, ...]:
    """Return one or several values as levels.

    Examples
    --------
    >>> as_levels("ssd"), as_levels(range(3))
    (('ssd',), (0, 1, 2))
    """
    found = plain([value] if is_one(value) else list(value))  # type: ignore[arg-type] # so it is
    return tuple(found)


def _how(shows_progress: bool, processes: int | None, on: str = "") -> How:  # noqa: FBT001 - an option of its callers
    voice = ProgramVoice(shows_progress=shows_progress)
    return How(asked=Running(processes=processes, on=on), voice=voice, resume=_RESUME)


def _swept(
    experiments: Sequence[Experiment], how: How, *, title: str, seed: int, command: str
) -> Sweep:
    """Run experiments in a folder that goes away with their sweep."""
    folder = mkdtemp(prefix="headroom-")
    with ExitStack() as stack:
        stack.callback(rmtree, folder, ignore_errors=True)
        study = Study(experiments[0].name, experiments, title=title, seed=seed, folder=folder)
        plan = planned(study.loaded(command=command), quick=False)
        journal_of(plan).parent.mkdir(parents=True, exist_ok=True)
        with opened(plan, how) as (journal, connected):
            outcome = run_in(journal, plan, plan, connected)
            if outcome.interrupted:
                raise KeyboardInterrupt
            result = analysed(plan, journal, jobs=how.asked.jobs)
        errors = [error for point in result.experiments[0].points for error in point.errors]
        if not result.done and errors:
            said, _, cure = errors[0].partition(HINT)
            raise StudyError(f"every replication failed: {said}", cure=cure or "correct the model")
        sweep = Sweep(result, plan=plan)
        finalize(sweep, stack.pop_all().close)
    return sweep


def name_of(model: object) -> str:
    """Return the name of a model or study for titles and messages."""
    if isinstance(model, Path):
        return model.resolve().name
    if isinstance(model, Study):
        return model.name
    if isinstance(model, str):
        return model
    return model.name if isinstance(model, Model) else str(getattr(model, "__name__", "model"))
