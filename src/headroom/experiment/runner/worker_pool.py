"""Local worker processes for simulations: isolated, cheap to start, replaced when they die.

Invariant: every submitted task comes back exactly once. A worker answers its tasks in order, so
when it dies the first unanswered task is the one that ended it; that task comes back as failed, the
tasks behind it go to another worker. A worker that works on one task past its time limit is killed,
and its task fails too.

Inside `kept_workers`, a pool that closes leaves its workers to the next one. A command runs points,
then what-ifs, then the points that a limit adds, and starting a process takes longer than many
simulations.
"""

import math
import signal
import socket
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from multiprocessing.connection import Connection, wait
from time import perf_counter

import msgspec

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.runner.fork_server import Forked
from headroom.experiment.runner.tasks import Recipe, Result, Start, Task, utc_now
from headroom.experiment.runner.worker import READY

_MOST_TASKS = 256
_CLOSE_LIMIT_S = 5.0
_RESERVE: ContextVar[list["_Worker"] | None] = ContextVar("workers without a pool", default=None)


@contextmanager
def kept_workers() -> Iterator[None]:
    """Let the pools that close inside leave their idle workers to the pools that open later."""
    reserve: list[_Worker] = []
    token = _RESERVE.set(reserve)
    try:
        yield
    finally:
        _RESERVE.reset(token)
        _dismiss(reserve)


def _dismiss(workers: list["_Worker"]) -> None:
    for worker in workers:
        worker.dismiss()
    for worker in workers:
        worker.join()
    workers.clear()


class WorkerPool:
    """Executor that runs tasks in up to `worker_count` processes of this machine.

    Parameters
    ----------
    recipes
        How to load the system of each experiment.
    worker_count
        Most worker processes, >= 1; they start when there is work for them.
    is_fresh
        Whether no process of another pool is used, nor left to one.
    """

    def __init__(
        self, recipes: Mapping[str, Recipe], *, worker_count: int, is_fresh: bool = False
    ) -> None:
        self._limits_s = {name: recipe.time_limit_s for name, recipe in recipes.items()}
        self._start = msgspec.msgpack.encode(Start(sys_path=sys.path, recipes=dict(recipes)))
        self._worker_count = worker_count
        self._is_fresh = is_fresh
        self._workers: list[_Worker] = []

    chunk_s = 0.5
    where = ""

    @property
    def worker_count(self) -> int:
        """Most worker processes."""
        return self._worker_count

    @property
    def capacity(self) -> int:
        """Idle workers, and workers that are not started yet."""
        return self._worker_count - sum(1 for worker in self._workers if worker.tasks)

    @property
    def most_tasks(self) -> int:
        """Chunks stay small enough to be spread over the workers; with a time limit, one task."""
        return 1 if any(self._limits_s.values()) else _MOST_TASKS

    def submit(self, chunk: Sequence[Task]) -> None:
        """Give a chunk to an idle worker, or start one."""
        idle = next((worker for worker in self._workers if not worker.tasks), None)
        if idle is None:
            idle = self._kept() or _Worker()
            idle.start(self._start, self._limits_s)
            self._workers.append(idle)
        idle.give(chunk)

    def _kept(self) -> "_Worker | None":
        """Return a worker left by an earlier pool, None if none still runs."""
        reserve = None if self._is_fresh else _RESERVE.get()
        while reserve:
            worker = reserve.pop()
            if worker.runs():
                return worker
            _dismiss([worker])
        return None

    def results(self) -> Sequence[Result]:
        """Wait for results; the task of a worker that died or was too slow is one of them."""
        results: Sequence[Result] = []
        while not results:
            results = self.results_within(None)
        return results

    def results_within(self, patience_s: float | None) -> Sequence[Result]:
        """Wait up to `patience_s` (s), None for as long as it takes; may return no results."""
        results: list[Result] = []
        busy = {worker.connection: worker for worker in self._workers if worker.tasks}
        left_s = self._patience_s()
        if patience_s is not None:
            left_s = patience_s if left_s is None else min(left_s, patience_s)
        for connection in wait(list(busy), timeout=left_s):
            results += self._collect(busy[connection])  # type: ignore[index]  # what was given comes back
        for worker in [late for late in self._workers if late.left_s() <= 0]:
            results += self._collect(worker)
        return results

    def _patience_s(self) -> float | None:
        """Return the time (s) until the first worker is past its limit, None if none has one."""
        left_s = min(worker.left_s() for worker in self._workers)
        return None if left_s == math.inf else max(left_s, 0.0)

    def _collect(self, worker: "_Worker") -> list[Result]:
        results = worker.collect()
        if worker.is_alive:
            return results
        self._workers.remove(worker)
        orphans = worker.tasks_after_death
        if orphans:
            self.submit(orphans)
        return results

    def cancel(self) -> None:
        """Kill all workers and their children."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    def close(self) -> None:
        """Leave the workers to the next pool, or let them end and kill those that do not."""
        reserve = None if self._is_fresh else _RESERVE.get()
        if reserve is not None:
            reserve += [worker for worker in self._workers if not worker.tasks]
            self._workers = [worker for worker in self._workers if worker.tasks]
        _dismiss(self._workers)


class _Worker:
    """One process, its connection, and the tasks that it has not answered yet."""

    def __init__(self) -> None:
        here, there = socket.socketpair()
        with there:
            self._process = Forked(there.fileno())
        self.connection: Connection[bytes, bytes] = Connection(here.detach())
        self.tasks: deque[Task] = deque()
        self.tasks_after_death: list[Task] = []
        self.is_alive = True
        self._limits_s: Mapping[str, float | None] = {}
        self._is_ready = False
        self._mark_time()

    def start(self, start: bytes, limits_s: Mapping[str, float | None]) -> None:
        """Let the process load another session's systems instead of the earlier ones."""
        self._limits_s = limits_s
        self._is_ready = False
        self._mark_time()
        self._send(start)

    def runs(self) -> bool:
        """Return whether the process has not ended."""
        return self._process.poll() is None

    def give(self, chunk: Sequence[Task]) -> None:
        self.tasks.extend(chunk)
        self._mark_time()
        self._send(msgspec.msgpack.encode(list(chunk)))

    def collect(self) -> list[Result]:
        """Return the results that have arrived; ends a process that is late, notices a dead one."""
        results = []
        try:
            while self.connection.poll():
                message = self.connection.recv_bytes()
                if self._is_ready:
                    results.append(msgspec.msgpack.decode(message, type=Result))
                    self.tasks.popleft()
                elif message == READY:
                    self._is_ready = True
                self._mark_time()
        except (EOFError, OSError):
            results.append(self._failure_of_death())
        else:
            if self.left_s() <= 0:
                results.append(self._failure_of_lateness())
        return results

    def left_s(self) -> float:
        """Return the time (s) that the task in work may still take; infinite without a limit."""
        limit_s = self._limits_s.get(self.tasks[0].experiment) if self.tasks else None
        if limit_s is None or not self._is_ready:
            return math.inf
        return limit_s - (perf_counter() - self._since)

    def kill(self) -> None:
        self._process.kill()
        self.dismiss()
        self._process.wait()

    def dismiss(self) -> None:
        self.connection.close()
        self._process.release()

    def join(self) -> None:
        try:
            self._process.wait(_CLOSE_LIMIT_S)
        except TimeoutError:
            self.kill()

    def _send(self, message: bytes) -> None:
        try:
            self.connection.send_bytes(message)
        except OSError:
            return  # dead already: `collect` finds the end of its connection

    def _mark_time(self) -> None:
        self._since = perf_counter()
        self._since_utc = utc_now()

    def _failure_of_lateness(self) -> Result:
        limit_s = self._limits_s[self.tasks[0].experiment]
        return self._failure(
            f"the simulation was ended at its time limit of {limit_s:g} s",
            cure="raise `time_limit_s`, simulate less, or look for an endless loop in the model",
        )

    def _failure_of_death(self) -> Result:
        self.kill()
        how = _how_it_ended(self._process.wait())
        if not self._is_ready:
            raise EnvironmentUnfitError(
                f"worker processes do not start: the first one {how}",
                cure="read its output above; check memory and process limits (ulimit -a)",
            )
        return self._failure(
            f"the worker process that ran this replication {how}",
            cure="look for a crash in native code, or for too little memory",
        )

    def _failure(self, message: str, *, cure: str) -> Result:
        """End the process; its current task has failed, those behind it are left over."""
        self.is_alive = False
        self.kill()
        culprit = self.tasks.popleft()
        self.tasks_after_death = list(self.tasks)
        self.tasks.clear()
        return Result(
            number=culprit.number,
            started_at=self._since_utc,
            wall_s=perf_counter() - self._since,
            error=f"{message}\n  hint: {cure}",
        )


def _how_it_ended(status: int) -> str:
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = "a signal"
    return f"was killed by {name} ({-status})"
