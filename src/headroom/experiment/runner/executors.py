"""Executors run tasks: the interface between the runner and processes, clusters, or this process.

An executor takes chunks of tasks and returns one result per task, in any order. It never touches
the journal, and a task that kills its worker comes back as a failed result.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from headroom.experiment.protocol.streams import prints_to_stderr
from headroom.experiment.protocol.system import System
from headroom.experiment.runner.tasks import Recipe, Result, Task, run_task
from headroom.experiment.study.plan import PlannedExperiment

if TYPE_CHECKING:
    from headroom.experiment.runner.hosts import Host


class Executor(Protocol):
    """The interface that the runner needs to have tasks run somewhere."""

    @property
    def capacity(self) -> int:
        """Chunks that can be submitted now; at least 1 while nothing runs."""
        ...

    @property
    def worker_count(self) -> int:
        """Tasks that run at the same time, >= 1."""
        ...

    @property
    def chunk_s(self) -> float:
        """Time (s) that a chunk should take: long compared with handing it over."""
        ...

    @property
    def where(self) -> str:
        """Name of the cluster, empty for this machine."""
        ...

    @property
    def most_tasks(self) -> int:
        """Most tasks that one chunk may hold."""
        ...

    def submit(self, chunk: Sequence[Task]) -> None:
        """Start a chunk; its tasks run in the given order."""
        ...

    def results(self) -> Sequence[Result]:
        """Wait for at least one result and return all that are ready.

        Only called while tasks are running.
        """
        ...

    def cancel(self) -> None:
        """Stop everything at once; running tasks give no results."""
        ...

    def close(self) -> None:
        """End in good order after the last result."""
        ...


class Place(Protocol):
    """Where simulations run instead of in processes of this machine; serves several plans.

    It also leads to the machines on which experiments with a `host` are measured.
    """

    @property
    def worker_count(self) -> int:
        """Simulations that run at the same time, >= 1; may take a while at first."""
        ...

    def executor(
        self, experiments: Iterable[PlannedExperiment], recipes: Mapping[str, Recipe]
    ) -> Executor:
        """Return an executor for those of the `experiments` that have a recipe."""
        ...

    def hosts(
        self, experiments: Mapping[str, Sequence[PlannedExperiment]], folder: Path
    ) -> "Mapping[str, Host]":
        """Return the machines, by `Experiment.site`, on which experiments of a study run."""
        ...

    def close(self) -> None:
        """Leave no process of the place running here; its next use opens it again."""
        ...


class InlineExecutor:
    """Runs tasks one at a time in this process: for measurements, which need an idle host.

    Parameters
    ----------
    systems
        Loaded system of each experiment.
    """

    def __init__(self, systems: Mapping[str, System]) -> None:
        self._systems = systems
        self._waiting: deque[Task] = deque()

    @property
    def capacity(self) -> int:
        """One chunk, when nothing waits."""
        return 0 if self._waiting else 1

    worker_count = 1
    chunk_s = 0.0
    where = ""

    @property
    def most_tasks(self) -> int:
        """One task: after each, its row is stored and a stop is possible."""
        return 1

    def submit(self, chunk: Sequence[Task]) -> None:
        """Take a chunk; it runs when its result is requested."""
        self._waiting.extend(chunk)

    def results(self) -> Sequence[Result]:
        """Run the next task and return its result."""
        task = self._waiting.popleft()
        with prints_to_stderr():
            return [run_task(self._systems[task.experiment], task)]

    def cancel(self) -> None:
        """Drop what waits."""
        self._waiting.clear()

    def close(self) -> None:
        """There is nothing to end."""
