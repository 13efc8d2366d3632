"""Measurements one at a time: in this process, or each in a separate one, bound and calibrated.

A replication in a separate process is repeated if the machine was slower around it than before
(`DISTURBED`), as long as the budget lasts. The repeated one counts, whatever it says; its
calibration stays among its counters for the analysis.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from headroom.experiment.machine.calibration import DISTURBED, KINDS
from headroom.experiment.protocol.own_process import NeedsOwnProcess, OwnProcess
from headroom.experiment.protocol.streams import prints_to_stderr
from headroom.experiment.protocol.system import System
from headroom.experiment.runner.executors import InlineExecutor
from headroom.experiment.runner.tasks import Recipe, Result, Task, run_task
from headroom.experiment.runner.worker_pool import WorkerPool

_BUDGET = 0.2
"""Share of the time of undisturbed replications that repetitions may take."""
_FREE_S = 10.0
"""Time (s) that repetitions may take in any case."""


class MeasureExecutor(InlineExecutor):
    """Runs the replications of measured systems, each where its system needs it.

    Parameters
    ----------
    systems
        Loaded system of each experiment.
    recipes
        How another process can load it.
    say
        Called with a sentence for the user.
    """

    def __init__(
        self,
        systems: Mapping[str, System],
        recipes: Mapping[str, Recipe],
        say: Callable[[str], None],
    ) -> None:
        super().__init__(systems)
        self._recipes = recipes
        self._say = say
        self._pool: WorkerPool | None = None
        self._owner: tuple[str, object] | None = None
        self._fastest_s: dict[tuple[tuple[int, ...], str], float] = {}
        self._counted_s = 0.0
        self._repeated_s = 0.0

    def results(self) -> Sequence[Result]:
        """Run the next task and return its result."""
        task = self._waiting.popleft()
        system = self._systems[task.experiment]
        process = system.own_process(task.config) if isinstance(system, NeedsOwnProcess) else None
        if process is None:
            with prints_to_stderr():
                return [run_task(system, task)]
        return [self._until_calm(task, process)]

    def _until_calm(self, task: Task, process: OwnProcess) -> Result:
        while True:
            result = self._alone(task, process)
            slowdown = self._slowdown(result, process)
            if slowdown < DISTURBED or not self._may_repeat(result):
                self._counted_s += result.wall_s
                return result
            self._repeated_s += result.wall_s
            self._say(
                f"{task.experiment}: the machine was {slowdown:.0%} slower around a replication, "
                "which is repeated"
            )

    def _may_repeat(self, result: Result) -> bool:
        spent_s = self._repeated_s + result.wall_s
        return spent_s <= max(_BUDGET * self._counted_s, _FREE_S)

    def _slowdown(self, result: Result, process: OwnProcess) -> float:
        """Return by how much (share) known work took longer than ever before; learn its times."""
        slowdown = 0.0
        for kind in KINDS:
            times_s = result.calibration_s.get(kind)
            if times_s:
                key = (process.cpus, kind)
                self._fastest_s[key] = min(self._fastest_s.get(key, times_s[0]), *times_s)
                slowdown = max(slowdown, max(times_s) / self._fastest_s[key] - 1.0)
        return slowdown

    def _alone(self, task: Task, process: OwnProcess) -> Result:
        owner = _owner(task, process)
        if self._pool is None or owner is None or owner != self._owner:
            self._end_process()
            recipe = self._recipes[task.experiment]
            self._pool = WorkerPool({task.experiment: recipe}, worker_count=1, is_fresh=True)
            self._owner = owner
        self._pool.submit([msgspec.structs.replace(task, process=process)])
        results: Sequence[Result] = []
        while not results:
            results = self._pool.results()
        return results[0]

    def _end_process(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def cancel(self) -> None:
        """Drop what waits, and kill the process of the running task."""
        super().cancel()
        if self._pool is not None:
            self._pool.cancel()

    def close(self) -> None:
        """End the last process."""
        self._end_process()


def _owner(task: Task, process: OwnProcess) -> tuple[str, object] | None:
    """Return whose process it is: successive tasks of one owner share it; None for nobody's."""
    if process.per == "point":
        return task.experiment, task.config
    if process.per == "group":
        return task.experiment, (process.group, task.replication)
    return None
