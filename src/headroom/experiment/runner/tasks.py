"""Work as plain data: the messages to and from a worker process.

Everything is MessagePack on the wire; nothing is pickled, so a worker needs only the class of the
system and the set-up from the study file.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from traceback import extract_tb
from typing import Any

import msgspec

from headroom.errors import HeadroomError, StudyError
from headroom.experiment.journal.run_codec import encode_run
from headroom.experiment.machine.calibration import Calibrated, calibrated
from headroom.experiment.machine.machine_watch import watched
from headroom.experiment.protocol.artefact import Artefact, within_limits
from headroom.experiment.protocol.changes import parse_change
from headroom.experiment.protocol.own_process import OwnProcess
from headroom.experiment.protocol.registry import class_at, class_path
from headroom.experiment.protocol.roles import with_hosts
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Modelled, Replays, SeesInputs, System, Value
from headroom.experiment.runner.own_process import confine, cpu_counters
from headroom.experiment.runner.what_ran import Ran, look
from headroom.experiment.study.windows import TimeWindows, with_windows


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """How to load a system again in another process, and how long one replication may take."""

    system: str
    setup: Any
    base: str
    time_limit_s: float | None = None
    windows: TimeWindows | None = None
    hosts: dict[str, str] = {}
    """Role to host, if its roles are on several."""


_CALIBRATE_EVERY_S = 0.5
"""Time (s) between two calibrations of a process that runs many short points."""


class Start(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The first message to a worker, and the message that switches it to another session."""

    sys_path: list[str]
    recipes: dict[str, Recipe]


class Visit(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The first message to a process that measures for a driver on another machine."""

    sys_path: list[str]
    recipes: dict[str, Recipe]
    configs: dict[str, dict[str, dict[str, Value]]]
    folder: str
    own: str = ""
    """Host of the process, if the experiment's roles are on several."""
    addresses: dict[str, str] = {}
    """Host to network address of all of them."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One replication to run; `number` identifies it within a session."""

    number: int
    experiment: str
    config: dict[str, Value]
    seed: int
    replication: int = 0
    changes: list[str] = []
    keeps_samples: bool = True
    """Whether the run keeps its samples over time and its artefacts: one replication of a point is
    enough."""
    seen: str | None = None
    """What an earlier run was seen to depend on, empty to observe this one; None to leave that."""
    process: OwnProcess | None = None
    """The process that it needs, None for that of the executor."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a task: an encoded run, or the reason why there is none."""

    number: int
    started_at: str
    wall_s: float
    error: str = ""
    run: bytes | None = None
    event_count: int = 0
    """Simulated events, if the system counts them."""
    ran: Ran | None = None
    """The identity of what ran; None if nothing ran."""
    calibration_s: dict[str, list[float]] = {}
    """Times (s) of known work before and after the run, if it had a process of its own."""


def recipe_of(
    system: System,
    setup: msgspec.Struct,
    base: Path,
    windows: TimeWindows | None = None,
    hosts: Mapping[str, str] | None = None,
) -> Recipe:
    """Return how another process can load the same system.

    A set-up with a field `time_limit_s` limits each replication to so much wall time (s).
    """
    return Recipe(
        system=class_path(type(system)),
        setup=msgspec.to_builtins(setup),
        base=str(base.resolve()),
        time_limit_s=getattr(setup, "time_limit_s", None),
        windows=windows,
        hosts=dict(hosts or {}),
    )


def load_system(recipe: Recipe) -> System:
    """Return the system that a recipe describes."""
    kind = class_at(recipe.system)
    setup = msgspec.convert(recipe.setup, kind.setup_type)
    system = kind.load(setup, base=Path(recipe.base))
    return with_hosts(with_windows(system, recipe.windows), recipe.hosts)


def utc_now() -> str:
    """Return the time in UTC, ISO 8601 with microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def run_task(system: System, task: Task) -> Result:
    """Run one replication; every error of the system becomes part of the result."""
    if task.seen is not None and isinstance(system, SeesInputs):
        system.expect(task.config, task.seen)
    before = look(system, task.config) if system.column is Column.MEASURE else None
    started_at = utc_now()
    start = perf_counter()
    error, encoded, events, around = "", None, 0, Calibrated()
    try:
        if task.process is None:
            run = _watched_run(system, task)
        else:
            confine(task.process)
            reuse_s = _CALIBRATE_EVERY_S if task.process.per == "group" else 0.0
            with calibrated(reuse_s=reuse_s) as around:
                run = _watched_run(system, task)
            counters = {**run.counters, **around.counters, **cpu_counters()}
            run = replace(run, counters=counters)
        started_at = run.recorded_at or started_at
        events = int(run.counters.get("events", 0))
        kept = within_limits(run.artefacts) if task.keeps_samples else ()
        samples = run.samples if task.keeps_samples else None
        encoded = encode_run(replace(run, samples=samples, artefacts=kept))
    except HeadroomError as known:
        error = str(known)
        if left := [one for one in known.artefacts if isinstance(one, Artefact)]:
            encoded = encode_run(Run(artefacts=within_limits(left)))
    except (Exception, SystemExit) as unknown:
        error = describe_exception(unknown)
    wall_s = perf_counter() - start
    return Result(
        number=task.number,
        started_at=started_at,
        wall_s=wall_s,
        error=error,
        run=encoded,
        event_count=events,
        ran=look(system, task.config, before=before),
        calibration_s=around.times_s(),
    )


def _watched_run(system: System, task: Task) -> Run:
    """Return a run; a measured one includes the machine's other activity."""
    if system.column is not Column.MEASURE or isinstance(system, Replays):
        return _run_of(system, task)
    with watched() as machine:
        run = _run_of(system, task)
    return replace(run, counters={**run.counters, **machine.counters})


def _run_of(system: System, task: Task) -> Run:
    if isinstance(system, Replays):
        return system.replay(task.config, replication=task.replication)
    if not task.changes:
        return system.run(task.config, seed=task.seed)
    if not isinstance(system, Modelled):
        raise StudyError(
            f"the system {system.name!r} cannot change its resources",
            cure="vary a parameter of it instead",
        )
    changes = [parse_change(text) for text in task.changes]
    return system.run_model(task.config, seed=task.seed, changes=changes)


def describe_exception(error: BaseException) -> str:
    """Return an unexpected error in one line, with the place where it was raised."""
    frames = extract_tb(error.__traceback__)
    place = f" (in {frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    text = str(error).strip() or "no message"
    return f"{type(error).__name__}: {text}{place}"


class SystemCache:
    """Systems loaded on first use, one per experiment."""

    def __init__(self, recipes: Mapping[str, Recipe]) -> None:
        self._recipes = recipes
        self._systems: dict[str, System] = {}

    def run(self, task: Task) -> Result:
        """Run a task with the system of its experiment."""
        try:
            system = self._system(task.experiment)
        except (Exception, SystemExit) as error:
            known = isinstance(error, HeadroomError)
            reason = str(error) if known else describe_exception(error)
            return Result(number=task.number, started_at=utc_now(), wall_s=0.0, error=reason)
        return run_task(system, task)

    def _system(self, experiment: str) -> System:
        if experiment not in self._systems:
            self._systems[experiment] = load_system(self._recipes[experiment])
        return self._systems[experiment]
