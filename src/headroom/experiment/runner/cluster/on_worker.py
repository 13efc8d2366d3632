"""What runs in a Dask worker: chunks of tasks, in a process of Headroom's own.

Each thread of a Dask worker keeps one process of `WorkerPool` for the parcel that it works on. So a
simulation that crashes, or exceeds its time limit, fails as it does locally, and the Dask worker
stays. Chunks are run in order and may be run again elsewhere: a task has no effect but its result.
Results travel as messages while their chunk runs, so that a death costs what nobody has reported.

Invariant: the process ends with its Dask worker, and soon after the driver no longer wants its
chunk.
"""

import platform
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from time import monotonic

import msgspec

from headroom.experiment.machine.program_identity import code_digests
from headroom.experiment.runner.cluster.parcel import unpack
from headroom.experiment.runner.tasks import Result, Task
from headroom.experiment.runner.worker_pool import WorkerPool
from headroom.simulation.runs.kernel_version import KERNEL_VERSION
from headroom.version import version

TOPIC = "headroom-results"
"""Dask's topic of all results: the scheduler remembers the last thousand messages of each topic."""
_LOOK_S = 1.0
"""Longest time (s) between two looks whether a chunk is still wanted."""
_MOST_MESSAGE_BYTES = 1 << 16
"""Larger results are no message: they wait for the end of their chunk."""


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """The identity of the installed program: equal code gives equal results."""

    version: str
    kernel: str
    core: str
    digests: dict[str, str]
    python: str = ""
    """Version of Python, where functions travel: only that version can run their code."""

    def difference(self, other: "Code") -> str:
        """Return how another program differs from this one, empty if it does not.

        Examples
        --------
        >>> here = Code(version="1.0", kernel="3", core="1.0", digests={"headroom": "a"})
        >>> here.difference(msgspec.structs.replace(here, version="2.0"))
        'Headroom 2.0, here 1.0'
        >>> here.difference(msgspec.structs.replace(here, digests={"headroom": "b"}))
        'another code of headroom'
        >>> here = msgspec.structs.replace(here, python="3.11.7")
        >>> here.difference(msgspec.structs.replace(here, python="3.12.1"))
        'Python 3.12.1, here 3.11.7, and functions travel between equal versions only'
        """
        names = {"version": "Headroom", "kernel": "simulation kernel", "core": "compiled core"}
        for field, name in names.items():
            there, here = getattr(other, field), getattr(self, field)
            if there != here:
                return f"{name} {there}, here {here}"
        # Bytecode is that of 3.12, not of 3.12.1.
        if self.python and self.python.rpartition(".")[0] != other.python.rpartition(".")[0]:
            versions = f"Python {other.python or 'unknown'}, here {self.python}"
            return f"{versions}, and functions travel between equal versions only"
        packages = sorted({*self.digests, *other.digests})
        differing = [n for n in packages if self.digests.get(n) != other.digests.get(n)]
        return f"another code of {', '.join(differing)}" if differing else ""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk on its way to a worker.

    Parameters
    ----------
    session
        Names the driver's session.
    code
        The driver's program.
    parcel
        Digest of the parcel that the tasks need.
    tasks
        The tasks, in order.
    report_s
        Time (s) between two messages with results.
    content
        The parcel itself, if the worker lacked it.
    """

    session: str
    code: Code
    parcel: str
    tasks: list[Task]
    report_s: float = 0.0
    content: bytes | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker returns for a chunk: results without a message, or why there are none."""

    worker: str
    results: list[Result] = msgspec.field(default_factory=list)
    lacks_parcel: bool = False
    refusal: str = ""
    """How the worker's program differs from the driver's."""


@cache
def code_here() -> Code:
    """Return the identity of this process's program."""
    core = import_module("headroom._core")
    return Code(
        version=version(),
        kernel=KERNEL_VERSION,
        core=core.__version__,
        digests=code_digests(),
        python=platform.python_version(),
    )


def dask_setup(_worker: object) -> None:
    """Ignore Ctrl-C, which is for the driver; Dask calls it in workers of the driver's machine."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def describe_code() -> bytes:
    """Return `code_here` encoded; a driver asks every worker."""
    return msgspec.msgpack.encode(code_here())


def run_chunk(order: bytes) -> bytes:
    """Run the chunk of an `Order`; returns an `Answer`, empty if nobody wants it any more."""
    chunk = msgspec.msgpack.decode(order, type=Order)
    return msgspec.msgpack.encode(answer(chunk, current_task()))


def answer(chunk: Order, here: "Here") -> Answer:
    """Run a chunk, or say what hinders it: other code, or a parcel that is not here."""
    if refusal := chunk.code.difference(code_here()):
        return Answer(worker=here.address, refusal=refusal)
    stage = _stage(chunk, here.scratch)
    if stage is None:
        return Answer(worker=here.address, lacks_parcel=True)
    return Answer(worker=here.address, results=stage.run(chunk, here))


def forget(session: str) -> None:
    """End the idle processes of a session, and remove its files."""
    with _LOCK:
        stages = [(key, stage) for key, stage in _STAGES.items() if stage.session == session]
        ended = [_STAGES.pop(key) for key, stage in stages if not stage.is_busy]
    for stage in ended:
        stage.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """The Dask worker that runs a chunk.

    Parameters
    ----------
    address
        Its address.
    scratch
        Its own folder, which Dask removes after it, however it ends.
    is_wanted
        Returns whether the driver still wants the chunk.
    report
        Sends encoded results to the driver.
    """

    address: str
    scratch: Path
    is_wanted: Callable[[], bool]
    report: Callable[[bytes], None]


def current_task() -> Here:
    """Return where this thread runs its Dask task."""
    from distributed import get_worker  # noqa: PLC0415 - only there inside a Dask worker
    from distributed.worker import WORKER_ANY_RUNNING  # noqa: PLC0415 - as above

    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        state = worker.state.tasks.get(key)
        is_open = worker.status in WORKER_ANY_RUNNING  # without its scheduler it closes
        return is_open and state is not None and state.state != "cancelled"

    return Here(
        address=str(worker.address),
        scratch=Path(worker.local_directory),
        is_wanted=is_wanted,
        report=lambda encoded: worker.log_event(TOPIC, {"key": key, "results": encoded}),
    )


class _Stage:
    """An unpacked parcel and the process that runs its tasks."""

    def __init__(self, order: Order, content: bytes, scratch: Path) -> None:
        self.session = order.session
        self.digest = order.parcel
        self.is_busy = True
        self._folder = Path(tempfile.mkdtemp(prefix="headroom-", dir=scratch))
        recipes = unpack(content, self._folder)
        self._pool = WorkerPool(recipes, worker_count=1, is_fresh=True)

    def run(self, chunk: Order, here: Here) -> list[Result]:
        """Run a chunk; returns the results that were not reported, none if it is not wanted."""
        try:
            return self._run(chunk, here)
        finally:
            self.is_busy = False

    def _run(self, chunk: Order, here: Here) -> list[Result]:
        kept: list[Result] = []
        fresh: list[Result] = []
        left, reported_at = len(chunk.tasks), monotonic()
        self._pool.submit(chunk.tasks)
        while left:
            arrived = self._pool.results_within(min(_LOOK_S, chunk.report_s))
            if not here.is_wanted():
                self._pool.cancel()
                return []
            left -= len(arrived)
            fresh += arrived
            if fresh and (not left or monotonic() - reported_at >= chunk.report_s):
                kept += _reported(fresh, here)
                fresh, reported_at = [], monotonic()
        return kept

    def close(self) -> None:
        """End the process and remove the files."""
        self._pool.cancel()
        shutil.rmtree(self._folder, ignore_errors=True)


def _reported(results: list[Result], here: Here) -> list[Result]:
    """Send results to the driver; returns those that are too large for that."""
    sizes = [len(result.run or b"") for result in results]
    small = [one for one, size in zip(results, sizes, strict=True) if size < _MOST_MESSAGE_BYTES]
    if small:
        here.report(msgspec.msgpack.encode(small))
    return [one for one, size in zip(results, sizes, strict=True) if size >= _MOST_MESSAGE_BYTES]


_LOCK = threading.Lock()
_STAGES: dict[int, _Stage] = {}
"""The stage of each thread; a thread has one at a time."""


def _stage(chunk: Order, scratch: Path) -> _Stage | None:
    """Return the stage of a chunk in this thread, made busy; None if its parcel is not there."""
    thread = threading.get_ident()
    with _LOCK:
        stage = _STAGES.get(thread)
        if stage is not None and stage.digest == chunk.parcel:
            stage.session = chunk.session
            stage.is_busy = True
            return stage
        if chunk.content is None:
            return None
        _STAGES.pop(thread, None)
    if stage is not None:
        stage.close()
    fresh = _Stage(chunk, chunk.content, scratch)
    with _LOCK:
        _STAGES[thread] = fresh
    return fresh
