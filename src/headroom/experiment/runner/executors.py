"""Executors run tasks: the interface between the runner and processes, clusters, or this process.

An executor takes chunks of tasks and returns one result per task, in any order. It never touches
the journal, and a task that kills its worker comes back as a failed result.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Protocol

from headroom.experiment.protocol.streams import prints_to_stderr
from headroom.experiment.protocol.system import System
from headroom.experiment.runner.tasks import Result, Task, run_task


class Executor(Protocol):
    """The interface that the runner needs to have tasks run somewhere."""

    @property
    def capacity(self) -> int:
        """Chunks that can be submitted now and would start at once."""
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
