"""The executor on Dask: chunks go out as tasks, their rows come back once each.

A worker that dies loses its chunks to others, by Dask. A chunk that outlived its worker too often
is sent again task by task, and a single task that does so has failed.

Invariant: every submitted task comes back exactly once, or the session ends with an error.
"""

from collections.abc import Sequence
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING

import msgspec
from distributed import CancelledError, KilledWorker
from distributed.core import CommClosedError

from headroom.errors import EnvironmentUnfitError, HeadroomError
from headroom.experiment.runner.cluster.connection import Cluster, lost, no_workers, refused
from headroom.experiment.runner.cluster.on_worker import Answer, Order, code_here, run_chunk
from headroom.experiment.runner.cluster.parcel import Parcel
from headroom.experiment.runner.tasks import Result, Task, utc_now

if TYPE_CHECKING:
    from distributed import Future

_MOST_TASKS = 4096
_CHUNKS_EACH = 2
"""Chunks of a worker: one runs, one waits there, so that no worker idles for a message."""
_LEAST_CHUNK_S, _MOST_CHUNK_S, _CHUNK_S_PER_WORKER = 1.0, 5.0, 0.02
"""Chunks of many workers are longer: the driver and the scheduler spend some ms on each."""
_TICK_S = 1.0
_RUNS_AGAIN = ("pending", "lost")
"""States of a chunk that had ended and whose result died with its worker."""
_FETCH_S = 5.0
"""Time (s) for fetching a result; Dask would wait until a lost one is there again."""


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
        self._open: dict[str, tuple[Future, list[Task]]] = {}
        self._ended: SimpleQueue[Future] = SimpleQueue()
        self._count = 0
        self._alone_since: float | None = None

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
        return _CHUNKS_EACH * self.worker_count - len(self._open)

    @property
    def most_tasks(self) -> int:
        """Many: chunks are limited by their time; with a time limit, one task."""
        return 1 if self._has_time_limits else _MOST_TASKS

    def submit(self, chunk: Sequence[Task]) -> None:
        """Send a chunk; some worker runs it."""
        self._send(list(chunk))

    def results(self) -> Sequence[Result]:
        """Wait for results of some chunks.

        Raises
        ------
        EnvironmentUnfitError
            The scheduler is lost, no worker is left, or one has another program.
        """
        while True:
            futures = self._next_ended()
            results = self._collect(futures) if futures else []
            if results:
                return results
            if not futures:
                self._check()

    def cancel(self) -> None:
        """Stop everything at once: workers end what they run."""
        futures = [future for future, _ in self._open.values()]
        self._open.clear()
        try:
            self._client.cancel(futures, force=True)
        except (OSError, TimeoutError, CommClosedError, CancelledError):
            return  # a lost scheduler has no tasks

    def close(self) -> None:
        """There is nothing to end: every chunk has come back."""

    def _send(self, tasks: list[Task], *, with_parcel: bool = False) -> None:
        """Send tasks to any worker, with the parcel if one lacked it.

        They are not bound to that worker: Dask would not move them if it died.
        """
        order = Order(
            session=self._cluster.session,
            code=code_here(),
            parcel=self._parcel.digest,
            tasks=tasks,
            content=self._parcel.encoded if with_parcel else None,
        )
        key = f"headroom_chunk-{self._cluster.session}-{self._parcel.digest}-{self._count}"
        self._count += 1
        encoded = msgspec.msgpack.encode(order)
        future = self._client.submit(run_chunk, encoded, key=key, pure=False)
        self._open[key] = (future, tasks)
        future.add_done_callback(self._ended.put)

    def _next_ended(self) -> list["Future"]:
        """Wait a moment for a chunk to end; returns all that have."""
        futures = []
        try:
            futures.append(self._ended.get(timeout=_TICK_S))
            while True:
                futures.append(self._ended.get_nowait())
        except Empty:
            return [future for future in futures if future.key in self._open]

    def _collect(self, futures: Sequence["Future"]) -> list[Result]:
        """Return the results of chunks that ended, and let Dask forget them."""
        results: list[Result] = []
        arrived = []
        for future in futures:
            if future.status == "finished":
                arrived.append(future)
            elif future.status in _RUNS_AGAIN:
                future.add_done_callback(self._ended.put)
            else:
                results += self._failed(future)
        for future, content in zip(arrived, self._fetched(arrived), strict=True):
            if content is None:
                future.add_done_callback(self._ended.put)
                continue
            _, tasks = self._open.pop(future.key)
            results += self._answered(msgspec.msgpack.decode(content, type=Answer), tasks)
            future.release()
        return results

    def _fetched(self, futures: Sequence["Future"]) -> list[bytes | None]:
        """Return what chunks returned, None for one whose worker has died since: it runs again."""
        contents: list[bytes | None] = []
        for future in futures:
            try:
                contents.append(future.result(timeout=_FETCH_S))
            except (TimeoutError, OSError, KilledWorker, CancelledError):
                contents.append(None)  # its state says which: `_collect` looks at it again
        return contents

    def _answered(self, answer: Answer, tasks: list[Task]) -> list[Result]:
        if answer.refusal:
            raise refused(f"{answer.worker}: {answer.refusal}")
        if answer.lacks_parcel:
            self._send(tasks, with_parcel=True)
        return answer.results

    def _failed(self, future: "Future") -> list[Result]:
        """Return the results of a chunk that Dask gave up: none if its tasks are tried alone."""
        if future.status != "error":
            raise lost(self._cluster)
        error = future.exception()
        _, tasks = self._open.pop(future.key)
        if not isinstance(error, KilledWorker):
            raise _unfit(error)
        if len(tasks) > 1:
            for task in tasks:
                self._send([task])
            return []
        return [_killed(tasks[0], error.allowed_failures + 1)]

    def _check(self) -> None:
        """Raise an error if the cluster cannot finish what it has."""
        if self._client.status != "running":
            raise lost(self._cluster)
        if not self._cluster.is_empty:
            self._alone_since = None
            return
        if self._alone_since is None:
            self._alone_since = monotonic()
            self._cluster.say(f"all workers of {self.where} are gone; waiting for others")
        elif monotonic() - self._alone_since > self._cluster.wait_s:
            raise no_workers(self._cluster)


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
