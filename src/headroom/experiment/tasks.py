"""Work as plain data: what goes to a worker process and what comes back.

Everything is MessagePack on the wire; nothing is pickled, so a worker needs no more than the
class of the system and the set-up that the study file gave.
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
from headroom.experiment.changes import parse_change
from headroom.experiment.registry import class_at, class_path
from headroom.experiment.run import Run
from headroom.experiment.run_codec import encode_run
from headroom.experiment.system import Changeable, System, Value


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """How to load a system again in another process, and how long one replication may take."""

    system: str
    setup: Any
    base: str
    time_limit_s: float | None = None


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """The first message to a worker."""

    sys_path: list[str]
    recipes: dict[str, Recipe]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One replication to run; `number` identifies it within a session."""

    number: int
    experiment: str
    config: dict[str, Value]
    seed: int
    changes: list[str] = []
    keeps_samples: bool = True
    """Whether the run keeps how it went over time: one replication of a point is enough."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a task: an encoded run, or the reason why there is none."""

    number: int
    started_at: str
    wall_s: float
    error: str = ""
    run: bytes | None = None
    event_count: int = 0
    """Simulated events, where the system counts them."""


def recipe_of(system: System, setup: msgspec.Struct, base: Path) -> Recipe:
    """Return how another process can load the same system.

    A set-up with a field `time_limit_s` limits each replication to so much wall time (s).
    """
    return Recipe(
        system=class_path(type(system)),
        setup=msgspec.to_builtins(setup),
        base=str(base.resolve()),
        time_limit_s=getattr(setup, "time_limit_s", None),
    )


def load_system(recipe: Recipe) -> System:
    """Return the system that a recipe describes."""
    kind = class_at(recipe.system)
    setup = msgspec.convert(recipe.setup, kind.setup_type)
    return kind.load(setup, base=Path(recipe.base))


def utc_now() -> str:
    """Return the time in UTC, ISO 8601 with microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def run_task(system: System, task: Task) -> Result:
    """Run one replication; every error of the system becomes part of the result."""
    started_at = utc_now()
    start = perf_counter()
    error, encoded, events = "", None, 0
    try:
        run = _run_of(system, task)
        events = int(run.counters.get("events", 0))
        encoded = encode_run(run if task.keeps_samples else replace(run, samples=None))
    except HeadroomError as known:
        error = str(known)
    except (Exception, SystemExit) as unknown:
        error = describe_exception(unknown)
    return Result(
        number=task.number,
        started_at=started_at,
        wall_s=perf_counter() - start,
        error=error,
        run=encoded,
        event_count=events,
    )


def _run_of(system: System, task: Task) -> Run:
    if not task.changes:
        return system.run(task.config, seed=task.seed)
    if not isinstance(system, Changeable):
        raise StudyError(
            f"the system {system.name!r} cannot change its resources",
            cure="vary a parameter of it instead",
        )
    changes = [parse_change(text) for text in task.changes]
    return system.run_changed(task.config, changes, seed=task.seed)


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
