"""An event trace as a file in Chrome's trace format, for ui.perfetto.dev and chrome://tracing.

There is one process per station with a thread per server in use, one process per pool, and one for
all jobs. Each stay of a job in the system is a slice; nested slices show what the job waits for and
where it is served. Counters show the numbers of waiting and served jobs.

Source: Google, *Trace Event Format* (document of the Chromium project).

Invariants: events are written in the order of time; every slice that begins ends, at the latest
with the trace; slices of one thread do not overlap, because a job takes the lowest free lane.
"""

import heapq
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from headroom.output_file import output_file
from headroom.simulation.language.model import Model
from headroom.simulation.runs.event_trace import EventTrace
from headroom.simulation.runs.run import ready, run_ready

Event: TypeAlias = dict[str, Any]

_JOBS = 1
_FIRST_STATION = 10
_MICROSECONDS = 1e6


class Kind(IntEnum):
    """The kind of a line of the trace; see `EventTrace.kind`."""

    ENTERS = 0
    LEAVES = 1
    QUEUES = 2
    BEGINS = 3
    ENDS = 4
    INTERRUPTED = 5
    BLOCKED = 6
    UNBLOCKED = 7
    ASKS = 8
    GRANTED = 9
    RELEASES = 10
    LOST = 11
    FAILED = 12


_PAUSES = {
    Kind.QUEUES: ("waits", False),
    Kind.INTERRUPTED: ("waits", False),
    Kind.BLOCKED: ("blocked", False),
    Kind.ASKS: ("waits", True),
}
"""The activity of a job after such a line, and whether at a pool."""
_STOPS = frozenset({Kind.ENDS, Kind.UNBLOCKED, Kind.FAILED})
_LEAVINGS = frozenset({Kind.LEAVES, Kind.LOST})


def trace_model(model: Model, path: Path, *, seed: int, event_count: int) -> int:
    """Run a model once and write its first events; return how many there are in the file."""
    trace = run_ready(ready(model), seed=seed, trace=event_count).trace
    if trace is None:
        raise AssertionError(f"asked for {event_count} events, the kernel gave no trace")
    write_trace(path, trace, model.to_data())
    return int(trace.time_s.size)


def write_trace(path: Path, trace: EventTrace, model: Mapping[str, Any]) -> None:
    """Write a trace to `path`.

    Parameters
    ----------
    path
        File to write, replaced if it exists.
    trace
        The events.
    model
        The model as data, for the names of its stations, pools and classes.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> trace = EventTrace(time_s=np.array([0.0, 1.0]), kind=np.array([0, 1], dtype=np.uint8),
    ...     job=np.zeros(2, dtype=np.uint32), klass=np.zeros(2, dtype=np.uint32),
    ...     resource=np.zeros(2, dtype=np.uint32), is_truncated=False)
    >>> model = {"name": "m", "classes": [{"name": "users"}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_trace(Path(folder, "t.json"), trace, model)
    ...     text = Path(folder, "t.json").read_text()
    >>> [(one["ph"], one["ts"]) for one in json.loads(text)["traceEvents"] if "ts" in one]
    [('b', 0.0), ('e', 1000000.0)]
    """
    with output_file(path) as file:
        _write(file, trace, model)


def _write(file: TextIO, trace: EventTrace, model: Mapping[str, Any]) -> None:
    facts = {"model": model.get("name", ""), "is_truncated": bool(trace.is_truncated)}
    file.write(f'{{"displayTimeUnit":"ns","otherData":{json.dumps(facts)},"traceEvents":[\n')
    separator = ""
    for event in trace_events(trace, model):
        file.write(separator + json.dumps(event, separators=(",", ":")))
        separator = ",\n"
    file.write("\n]}\n")


def trace_events(trace: EventTrace, model: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the events of the file: names first, then events in the order of time."""
    writer = _Writer(
        stations=_names(model, "stations"),
        pools=_names(model, "pools"),
        classes=_names(model, "classes"),
    )
    yield from writer.names()
    columns = (trace.time_s, trace.kind, trace.job, trace.klass, trace.resource)
    for time_s, kind, job, klass, resource in zip(*(c.tolist() for c in columns), strict=True):
        yield from writer.move(time_s * _MICROSECONDS)
        yield from writer.step(Kind(kind), job, klass, resource)
    yield from writer.finish()


def _names(model: Mapping[str, Any], kind: str) -> list[str]:
    return [str(part["name"]) for part in model.get(kind, [])]


@dataclass(slots=True)
class _Job:
    """A stay of a job in the system: its current activity, and the lane that serves it."""

    number: int
    klass: int
    doing: str = ""
    place: int = 0
    lane: int = -1
    held: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Lanes:
    """The threads of a station: a job takes the lowest that is free."""

    free: list[int] = field(default_factory=list)
    count: int = 0

    def take(self) -> tuple[int, bool]:
        """Return a lane, and whether it is new."""
        if self.free:
            return heapq.heappop(self.free), False
        self.count += 1
        return self.count - 1, True

    def give_back(self, lane: int) -> None:
        """Return a lane to the free ones."""
        heapq.heappush(self.free, lane)


@dataclass(slots=True)
class _Writer:
    stations: list[str]
    pools: list[str]
    classes: list[str]
    now: float = 0.0
    jobs: dict[int, _Job] = field(default_factory=dict)
    seen: int = 0
    lanes: dict[int, _Lanes] = field(default_factory=dict)
    counts: dict[int, dict[str, int]] = field(default_factory=dict)
    changed: dict[int, None] = field(default_factory=dict)

    def names(self) -> Iterator[Event]:
        """Yield the names of the processes, in the order in which they are shown."""
        processes = {
            _JOBS: "jobs",
            **{self._station(place): f"station {name}" for place, name in enumerate(self.stations)},
            **{self._pool(place): f"pool {name}" for place, name in enumerate(self.pools)},
        }
        for process, name in processes.items():
            yield _fact("process_name", process, name=name)
            yield _fact("process_sort_index", process, sort_index=process)

    def move(self, now: float) -> Iterator[Event]:
        """Move on to a time (us); counters are written once for all that happens at one time."""
        if now > self.now:
            yield from self._counters()
            self.now = now

    def step(self, kind: Kind, slot: int, klass: int, resource: int) -> Iterator[Event]:
        """Yield the events that one line of the trace shows."""
        if kind is Kind.ENTERS and slot in self.jobs:
            yield from self._leave(slot)
        if slot not in self.jobs:
            yield self._enter(slot, klass)
        job = self.jobs[slot]
        if kind in _PAUSES:
            what, is_pool = _PAUSES[kind]
            place = self._pool(resource) if is_pool else self._station(resource)
            yield from self._does(job, what, place)
        elif kind in _STOPS:
            yield from self._stops(job)
            if kind is Kind.FAILED:
                yield self._slice("n", job, "try failed")
        elif kind is Kind.BEGINS:
            yield from self._serve(job, resource)
        elif kind is Kind.GRANTED:
            yield from self._hold(job, self._pool(resource))
        elif kind is Kind.RELEASES:
            self._let_go(job, self._pool(resource))
        elif kind in _LEAVINGS:
            yield from self._leave(slot)

    def finish(self) -> Iterator[Event]:
        """End all activities still in progress."""
        for slot in list(self.jobs):
            yield from self._leave(slot)
        yield from self._counters()

    def _station(self, place: int) -> int:
        return _FIRST_STATION + place

    def _pool(self, place: int) -> int:
        return _FIRST_STATION + len(self.stations) + place

    def _name(self, process: int) -> str:
        return [*self.stations, *self.pools][process - _FIRST_STATION]

    def _enter(self, slot: int, klass: int) -> Event:
        self.seen += 1
        self.jobs[slot] = _Job(self.seen, klass)
        return self._slice("b", self.jobs[slot], self.classes[klass])

    def _leave(self, slot: int) -> Iterator[Event]:
        job = self.jobs.pop(slot)
        yield from self._stops(job)
        for process in list(job.held):
            self._let_go(job, process)
        yield self._slice("e", job, self.classes[job.klass])

    def _does(self, job: _Job, what: str, process: int) -> Iterator[Event]:
        """End what a job does and begin something else."""
        yield from self._stops(job)
        job.doing, job.place = what, process
        self._count(process, what, +1)
        yield self._slice("b", job, self._doing(job))

    def _doing(self, job: _Job) -> str:
        words = {"waits": "waits for {}", "blocked": "blocked by {}", "served": "at {}"}
        return words[job.doing].format(self._name(job.place))

    def _stops(self, job: _Job) -> Iterator[Event]:
        if not job.doing:
            return
        if job.lane >= 0:
            yield self._service("E", job)
            self.lanes[job.place].give_back(job.lane)
            job.lane = -1
        yield self._slice("e", job, self._doing(job))
        self._count(job.place, job.doing, -1)
        job.doing = ""

    def _serve(self, job: _Job, station: int) -> Iterator[Event]:
        process = self._station(station)
        yield from self._does(job, "served", process)
        job.lane, is_new = self.lanes.setdefault(process, _Lanes()).take()
        if is_new:
            yield _fact("thread_name", process, job.lane + 1, name=f"server {job.lane + 1}")
        yield self._service("B", job)

    def _hold(self, job: _Job, process: int) -> Iterator[Event]:
        if job.doing and job.place == process:
            yield from self._stops(job)
        job.held.append(process)
        self._count(process, "holds", +1)

    def _let_go(self, job: _Job, process: int) -> None:
        if process in job.held:
            job.held.remove(process)
            self._count(process, "holds", -1)

    def _count(self, process: int, what: str, by: int) -> None:
        counts = self.counts.setdefault(process, {})
        counts[what] = counts.get(what, 0) + by
        self.changed[process] = None

    def _counters(self) -> Iterator[Event]:
        for process in self.changed:
            yield {"ph": "C", "ts": self.now, "pid": process, "name": "jobs",
                   "args": dict(self.counts[process])}  # fmt: skip
        self.changed.clear()

    def _slice(self, phase: str, job: _Job, name: str) -> Event:
        return {"ph": phase, "ts": self.now, "pid": _JOBS, "tid": 1, "cat": "job",
                "id2": {"local": str(job.number)}, "name": name}  # fmt: skip

    def _service(self, phase: str, job: _Job) -> Event:
        event: Event = {"ph": phase, "ts": self.now, "pid": job.place, "tid": job.lane + 1}
        if phase == "B":
            event |= {"name": self.classes[job.klass], "args": {"job": job.number}}
        return event


def _fact(what: str, process: int, thread: int = 0, **arguments: object) -> Event:
    return {"ph": "M", "pid": process, "tid": thread, "name": what, "args": arguments}
