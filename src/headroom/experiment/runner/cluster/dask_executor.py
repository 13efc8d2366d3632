"""The executor on Dask: chunks go out as tasks, their rows come back once each.

Results arrive while their chunk runs. A worker that dies loses its chunks to others: Dask moves a
chunk without results, of the others what is left is sent again. A chunk that outlived its worker
too often is sent again task by task, and a single task that does so has failed.

Invariant: every submitted task comes back exactly once, or the session ends with an error.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec
from distributed import CancelledError, KilledWorker
from distributed.core import CommClosedError

from headroom.errors import EnvironmentUnfitError, HeadroomError
from headroom.experiment.runner.cluster.connection import Cluster, lost, no_workers
from headroom.experiment.runner.cluster.on_worker import TOPIC, Answer, Order, run_chunk
from headroom.experiment.runner.cluster.parcel import Parcel
from headroom.experiment.runner.tasks import Result, Task, utc_now

if TYPE_CHECKING:
    from distributed import Future

_MOST_TASKS = 4096
_CHUNKS_EACH = 2
"""Chunks of a worker: one runs, one waits there, so that no worker idles for a message."""
_LEAST_CHUNK_S, _MOST_CHUNK_S, _CHUNK_S_PER_WORKER = 1.0, 5.0, 0.02
"""Chunks of many workers are longer: the driver and the scheduler spend some ms on each."""
_REPORTS = 10
"""Messages with results that a chunk sends at most."""
_OF_WORKERS = "all"
"""Dask's topic that says which workers have left, and with which tasks."""
_MOST_DEATHS = 2
_TICK_S = 1.0
_RUNS_AGAIN = ("pending", "lost")
"""States of a chunk that had ended and whose result died with its worker."""
_FETCH_S = 5.0
"""Time (s) for fetching a result; Dask would wait until a lost one is there again."""


@dataclass(slots=True)
class _Chunk:
    """Tasks on their way to any of some workers; `deaths` counts the workers that they outlived."""

    future: "Future"
    tasks: list[Task]
    wanted: list[str]
    deaths: int


class DaskExecutor:
    """Executor that runs tasks on the workers of a cluster.

    Parameters
    ----------
    cluster
        The cluster.
    parcel
        What workers need to run the tasks.
    has_time_limits
        Whether a task may be ended at a time limit.
    """

    def __init__(self, cluster: Cluster, parcel: Parcel, *, has_time_limits: bool) -> None:
        self._cluster = cluster
        self._client = cluster.client
        self._parcel = parcel
        self._has_time_limits = has_time_limits
        self._open: dict[str, _Chunk] = {}
        self._unanswered: set[int] = set()
        self._arrived: SimpleQueue[Future | Mapping[str, Any]] = SimpleQueue()
        self._prefix = f"headroom_chunk-{uuid4().hex}"
        self._count = 0
        self._alone_since: float | None = None
        for topic in (TOPIC, _OF_WORKERS):
            self._client.subscribe_topic(topic, lambda event: self._arrived.put(event[1]))

    @property
    def where(self) -> str:
        """Name of the cluster."""
        return self._cluster.name

    @property
    def worker_count(self) -> int:
        """Simulations that run at the same time."""
        return self._cluster.worker_count

    @property
    def chunk_s(self) -> float:
        """Time (s) that a chunk should take: 1 to 5 s."""
        wanted_s = _CHUNK_S_PER_WORKER * self.worker_count
        return min(max(wanted_s, _LEAST_CHUNK_S), _MOST_CHUNK_S)

    @property
    def capacity(self) -> int:
        """Chunks that workers can take now, those that wait there included."""
        free = _CHUNKS_EACH * self.worker_count - len(self._open)
        # Results come before their chunk has ended: a session without a running task would end.
        return free if self._unanswered else max(free, 1)

    @property
    def most_tasks(self) -> int:
        """Many: chunks are limited by their time; with a time limit, one task."""
        return 1 if self._has_time_limits else _MOST_TASKS

    def submit(self, chunk: Sequence[Task]) -> None:
        """Send a chunk; some worker runs it."""
        self._unanswered |= {task.number for task in chunk}
        self._send(list(chunk))

    def results(self) -> Sequence[Result]:
        """Wait for results of some chunks.

        Raises
        ------
        EnvironmentUnfitError
            The scheduler is lost, no worker is left, or one has another program.
        """
        while True:
            arrived = self._next_arrived()
            results = [result for one in arrived for result in self._taken(one)]
            if results:
                return results
            if not arrived:
                self._check()

    def cancel(self) -> None:
        """Stop everything at once: workers end what they run."""
        futures = [chunk.future for chunk in self._open.values()]
        self._open.clear()
        try:
            self._unsubscribe()
            self._client.cancel(futures, force=True)
        except (OSError, TimeoutError, CommClosedError, CancelledError):
            return  # a lost scheduler has no tasks

    def close(self) -> None:
        """Wait for the ends of chunks whose results are there: until then workers are busy."""
        self._unsubscribe()
        with suppress(OSError, TimeoutError, CommClosedError, CancelledError):
            for chunk in self._open.values():
                chunk.future.exception(timeout=_FETCH_S)
        self._open.clear()

    def _unsubscribe(self) -> None:
        for topic in (TOPIC, _OF_WORKERS):
            self._client.unsubscribe_topic(topic)

    def _send(self, tasks: list[Task], *, deaths: int = 0, with_parcel: bool = False) -> None:
        """Send tasks to any worker that simulates, with the parcel if one lacked it.

        They are not bound to a worker: Dask would not move them if it died. If some workers
        announce hosts, the others are a wish, which Dask drops unless all workers have died. Those
        with another program get none.
        """
        wanted = self._cluster.simulating
        order = Order(
            session=self._cluster.session,
            code=self._cluster.code,
            parcel=self._parcel.digest,
            tasks=tasks,
            report_s=self.chunk_s / _REPORTS,
            content=self._parcel.encoded if with_parcel else None,
        )
        key = f"{self._prefix}-{self._count}"
        self._count += 1
        encoded = msgspec.msgpack.encode(order)
        future = self._client.submit(
            run_chunk,
            encoded,
            key=key,
            workers=wanted or None,
            allow_other_workers=bool(wanted) and not self._cluster.left_out,
            pure=False,
        )
        self._open[key] = _Chunk(future, tasks, wanted, deaths)
        future.add_done_callback(self._arrived.put)

    def _next_arrived(self) -> list["Future | Mapping[str, Any]"]:
        """Wait a moment for a chunk to end or a message; returns all that have come."""
        arrived: list[Future | Mapping[str, Any]] = []
        try:
            arrived.append(self._arrived.get(timeout=_TICK_S))
            while True:
                arrived.append(self._arrived.get_nowait())
        except Empty:
            return arrived

    def _taken(self, arrived: "Future | Mapping[str, Any]") -> list[Result]:
        """Return the new results of what has arrived."""
        if not isinstance(arrived, Mapping):
            return self._new(self._ended(arrived)) if arrived.key in self._open else []
        if str(arrived.get("key", "")).startswith(self._prefix):
            return self._new(msgspec.msgpack.decode(arrived["results"], type=list[Result]))
        if arrived.get("action") == "remove-worker" and not arrived["expected"]:
            for key in arrived["processing-tasks"] & self._open.keys():
                self._resume(key)
        return []

    def _new(self, results: Sequence[Result]) -> list[Result]:
        """Return the results of tasks without one: a chunk that was moved may answer twice."""
        new = {one.number: one for one in results if one.number in self._unanswered}
        self._unanswered -= new.keys()
        return list(new.values())

    def _left(self, chunk: _Chunk) -> list[Task]:
        return [task for task in chunk.tasks if task.number in self._unanswered]

    def _resume(self, key: str) -> None:
        """Send what is left of a chunk whose worker died, if that is not all of it."""
        chunk = self._open[key]
        left = self._left(chunk)
        if len(left) < len(chunk.tasks):
            self._drop(key)
            self._send_again(left, deaths=chunk.deaths + 1)

    def _send_again(self, tasks: list[Task], *, deaths: int) -> None:
        size = 1 if deaths > _MOST_DEATHS else max(len(tasks), 1)
        for start in range(0, len(tasks), size):
            self._send(tasks[start : start + size], deaths=deaths)

    def _drop(self, key: str) -> _Chunk:
        """Let Dask forget a chunk."""
        chunk = self._open.pop(key)
        chunk.future.release()
        return chunk

    def _ended(self, future: "Future") -> list[Result]:
        """Return the results of a chunk that ended without a message."""
        if future.status in _RUNS_AGAIN:
            future.add_done_callback(self._arrived.put)
            return []
        if future.status != "finished":
            return self._failed(future)
        if not self._left(self._open[future.key]):
            self._drop(future.key)
            return []
        try:
            content = future.result(timeout=_FETCH_S)
        except (TimeoutError, OSError, KilledWorker, CancelledError):
            future.add_done_callback(self._arrived.put)  # its worker has died since
            return []
        return self._answered(msgspec.msgpack.decode(content, type=Answer), self._drop(future.key))

    def _answered(self, answer: Answer, chunk: _Chunk) -> list[Result]:
        if answer.refusal:
            self._cluster.leave_out(answer.worker, answer.refusal)
            self._send_again(self._left(chunk), deaths=chunk.deaths)
            return []
        known = {result.number for result in answer.results}
        left = [task for task in self._left(chunk) if task.number not in known]
        if left:
            self._send(left, deaths=chunk.deaths, with_parcel=answer.lacks_parcel)
        return answer.results

    def _failed(self, future: "Future") -> list[Result]:
        """Return the results of a chunk that Dask gave up: none if its tasks are tried alone."""
        if future.status != "error":
            raise lost(self._cluster)
        error = future.exception()
        chunk = self._drop(future.key)
        if not isinstance(error, KilledWorker):
            if not self._cluster.check_workers():
                raise _unfit(error)
            self._send_again(self._left(chunk), deaths=chunk.deaths)
            return []
        if len(chunk.tasks) > 1:
            self._send_again(self._left(chunk), deaths=_MOST_DEATHS + 1)
            return []
        return [_killed(chunk.tasks[0], error.allowed_failures + 1)]

    def _check(self) -> None:
        """Raise an error if the cluster cannot finish what it has."""
        if self._client.status != "running":
            raise lost(self._cluster)
        if not self._cluster.is_empty:
            self._alone_since = None
            self._send_stranded()
            return
        if self._alone_since is None:
            self._alone_since = monotonic()
            self._cluster.say(f"all workers of {self.where} are gone; waiting for others")
        elif monotonic() - self._alone_since > self._cluster.wait_s:
            raise no_workers(self._cluster)

    def _send_stranded(self) -> None:
        """Send chunks again of which no wanted worker is left, as Dask may keep them for ever."""
        there = self._cluster.simulating
        for key, chunk in list(self._open.items()):
            if chunk.wanted and there and set(there).isdisjoint(chunk.wanted):
                self._drop(key)
                self._send_again(self._left(chunk), deaths=chunk.deaths)


def _killed(task: Task, count: int) -> Result:
    """Return the result of a task that ended with its worker again and again."""
    return Result(
        number=task.number,
        started_at=utc_now(),
        wall_s=0.0,
        error=f"{count} workers of the cluster died while they ran this replication\n"
        "  hint: look for too little memory, or a crash in native code; run it without --on",
    )


def _unfit(error: object) -> HeadroomError:
    return EnvironmentUnfitError(
        f"a worker could not run a chunk: {type(error).__name__}: {error}",
        cure="read the worker's output; all machines need the same Headroom and Dask",
    )
