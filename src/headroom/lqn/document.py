"""The contents of a layered queueing network in its own terms: processors, tasks, entries.

Both formats, XML and text, become this. Invariant: all names that it uses are defined in it, and
what it cannot hold was refused with its line.

Source of the terms: Franks, Al-Omari, Woodside, Das & Derisavi (2009), IEEE Transactions on
Software Engineering 35(2), 148-161.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from headroom.jmt.place import Place

Join: TypeAlias = Literal["one", "and", "or"]
Fork: TypeAlias = Literal["one", "and", "or", "loop", "end"]

SAME = 1e-6
"""Difference from 1 up to which probabilities add up to 1: files round them."""


@dataclass(frozen=True, slots=True)
class Processor:
    """A processor: `copies` is None for a delay, `speed` divides demands."""

    name: str
    discipline: str
    copies: int | None
    speed: float
    place: Place


@dataclass(frozen=True, slots=True)
class Call:
    """Calls of an entry: how many on average, and whether the caller waits for the reply."""

    entry: str
    mean: float
    is_synchronous: bool
    place: Place


@dataclass(slots=True)
class Activity:
    """A phase of an entry or an activity of a task: demand at the processor, and calls."""

    name: str
    place: Place
    demand: float = 0.0
    c2: float = 1.0
    think: float = 0.0
    is_deterministic: bool = False
    calls: list[Call] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Precedence:
    """What follows what among activities; weights are probabilities or mean numbers of passes."""

    before: tuple[str, ...]
    join: Join
    after: tuple[str, ...]
    fork: Fork
    place: Place
    weights: tuple[float, ...] = ()
    quorum: int | None = None
    end: str = ""


@dataclass(slots=True)
class Entry:
    """A service of a task: phases, or the activity that it starts with."""

    name: str
    place: Place
    phases: dict[int, Activity] = field(default_factory=dict)
    start: str = ""
    arrival_rate: float = 0.0
    forwards: list[tuple[str, float, Place]] = field(default_factory=list)


@dataclass(slots=True)
class Task:
    """A task; `copies` is None for one without a limit."""

    name: str
    processor: str
    place: Place
    is_reference: bool = False
    copies: int | None = 1
    think: float = 0.0
    priority: int = 0
    entries: dict[str, Entry] = field(default_factory=dict)
    activities: dict[str, Activity] = field(default_factory=dict)
    precedences: list[Precedence] = field(default_factory=list)
    replies: dict[str, list[str]] = field(default_factory=dict)
    """Activity -> the entries that it replies to."""


@dataclass(slots=True)
class Document:
    """All that a file says about the network."""

    name: str
    place: Place
    processors: dict[str, Processor] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)

    @property
    def entries(self) -> Mapping[str, tuple[Task, Entry]]:
        """Return entry -> its task and the entry itself."""
        return {
            name: (task, entry) for task in self.tasks.values()
            for name, entry in task.entries.items()
        }  # fmt: skip

    def all_activities(self) -> Iterable[Activity]:
        """Return the phases and activities of all tasks."""
        for task in self.tasks.values():
            yield from task.activities.values()
            for entry in task.entries.values():
                yield from entry.phases.values()


def number(text: str, what: str, place: Place, *, most: float = math.inf) -> float:
    """Return a number of 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (0 <= value <= most and math.isfinite(value)):
        cure = f"give a number from 0 to {most:g}" if most < math.inf else "give a number >= 0"
        raise place.error(f"{what} is {text!r}", cure=cure)
    return value


def count(text: str, what: str, place: Place, *, least: int = 1) -> int:
    """Return a whole number of `least` or more."""
    value = number(text, what, place)
    if value != int(value) or value < least:
        raise place.error(f"{what} is {text!r}", cure=f"give a whole number of {least} or more")
    return int(value)


def check(document: Document) -> None:
    """Refuse a network that names what it does not define, or contradicts itself."""
    if not document.tasks:
        raise document.place.error("the file defines no task", cure="define a reference task")
    entries = document.entries
    for task in document.tasks.values():
        if task.processor not in document.processors:
            raise task.place.error(
                f"task {task.name!r} runs on processor {task.processor!r}, which is not defined",
                cure=_choose(document.processors),
            )
        _check_task(task)
        for entry in task.entries.values():
            _check_entry(task, entry, entries)
        for activity in task.activities.values():
            _check_calls(activity.calls, entries)
        _check_graph(task)


def _check_task(task: Task) -> None:
    if not task.entries:
        raise task.place.error(f"task {task.name!r} has no entry", cure="give it an entry")
    if not task.is_reference:
        if task.think:
            raise task.place.error(
                f"task {task.name!r} thinks, but is no reference task",
                cure="give the think time to an activity, or make it a reference task",
            )
        return
    if len(task.entries) > 1 or task.copies is None:
        what = "infinitely many copies" if task.copies is None else f"{len(task.entries)} entries"
        raise task.place.error(
            f"reference task {task.name!r} has {what}",
            cure="give it one entry and a whole number of copies",
        )
    for entry in task.entries.values():
        if entry.arrival_rate or entry.forwards:
            raise entry.place.error(
                f"entry {entry.name!r} of a reference task has open arrivals or forwards",
                cure="leave them out: nothing calls a reference task",
            )


def _check_entry(task: Task, entry: Entry, entries: Mapping[str, tuple[Task, Entry]]) -> None:
    if entry.start and entry.start not in task.activities:
        raise entry.place.error(
            f"entry {entry.name!r} starts with activity {entry.start!r}, which is not defined",
            cure=_choose(task.activities),
        )
    if not entry.start and not entry.phases:
        raise entry.place.error(
            f"entry {entry.name!r} does nothing", cure="give it a phase, or an activity to start"
        )
    for phase in entry.phases.values():
        _check_calls(phase.calls, entries)
    for target, _, place in entry.forwards:
        _check_calls([Call(target, 1.0, True, place)], entries)  # noqa: FBT003 - a field
    share = math.fsum(probability for _, probability, _ in entry.forwards)
    if share > 1 + SAME:
        raise entry.place.error(
            f"entry {entry.name!r} forwards with probabilities that add up to {share:g}",
            cure="let them add up to 1 or less",
        )


def _check_calls(calls: Iterable[Call], entries: Mapping[str, tuple[Task, Entry]]) -> None:
    for call in calls:
        if call.entry not in entries:
            raise call.place.error(
                f"a call goes to entry {call.entry!r}, which is not defined", cure=_choose(entries)
            )
        if entries[call.entry][0].is_reference:
            raise call.place.error(
                f"a call goes to entry {call.entry!r} of a reference task",
                cure="call an entry of another task",
            )


def _check_graph(task: Task) -> None:
    leaving: set[str] = set()
    for one in task.precedences:
        for name in (*one.before, *one.after, *filter(None, [one.end])):
            if name not in task.activities:
                raise one.place.error(
                    f"task {task.name!r} has no activity {name!r}", cure=_choose(task.activities)
                )
        twice = leaving & set(one.before) if one.fork != "end" else set()
        if twice:
            raise one.place.error(
                f"activity {min(twice)!r} is followed by two things",
                cure="fork after it, by & (all of them) or + (one of them)",
            )
        leaving |= set(one.before) if one.fork != "end" else set()
        if one.fork == "or" and abs(math.fsum(one.weights) - 1) > SAME:
            raise one.place.error(
                f"probabilities of a choice add up to {math.fsum(one.weights):g}",
                cure="let them add up to 1",
            )
        if one.quorum is not None and not 1 <= one.quorum <= len(one.before):
            raise one.place.error(
                f"a join waits for {one.quorum} of {len(one.before)} activities",
                cure=f"wait for 1 to {len(one.before)}",
            )
    for activity, replied in task.replies.items():
        for name in replied:
            if name not in task.entries or activity not in task.activities:
                raise task.place.error(
                    f"activity {activity!r} replies to {name!r}, which task {task.name!r} has not",
                    cure=_choose(task.entries),
                )


def _choose(names: Iterable[str]) -> str:
    return f"name one of {', '.join(map(repr, names)) or 'none: define one'}"
