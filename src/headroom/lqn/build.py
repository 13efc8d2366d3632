"""Turn a layered queueing network, of which all runs, into a `headroom.simulation.Model`.

Processors become stations, tasks pools of threads, entries programs, reference tasks closed
classes. A thread is held from the start of an entry to the end of its last phase; the reply after
the first phase lets the caller continue. A demand is divided into slices between the calls, as
lqsim does it.
"""

from itertools import pairwise

from headroom.jmt.place import put, standing_at
from headroom.lqn.document import SAME, Activity, Call, Document, Entry, Task
from headroom.lqn.graph_in import Graph
from headroom.simulation import (
    Distribution,
    Model,
    Pool,
    Program,
    constant,
    erlang,
    exponential,
    gamma,
    geometric,
    hyperexponential,
)
from headroom.simulation.language.model import SECONDS_PER_UNIT, TimeUnit
from headroom.simulation.language.stations import COUNTING

SMALL_MEAN = 1e-4
"""A unit is too large for times shorter than this part of it: clocks count in steps of 1e-9."""
LONG_MEAN = 1e5
"""A unit is too small for times longer than this: clocks count up to 1.8e10."""
_UNITS: tuple[TimeUnit, ...] = ("s", "ms", "us", "ns", "ps")
_PRIORITIES = {"priority", "priority_preempt"}


def model_of(document: Document) -> Model:
    """Return the model of a checked network without idle entries; its times are seconds."""
    return _Building(document).model


class _Building:
    def __init__(self, document: Document) -> None:
        self.document = document
        unit = _unit_for(document)
        self._units = 1 / SECONDS_PER_UNIT[unit]
        self.model = Model(document.name, time_unit=unit)
        used = [one.discipline for one in document.processors.values()]
        self._has_priorities = bool(_PRIORITIES & set(used))
        self._waited_for = _called(document)
        self._next_to_run = _next_to_run(document)
        self._add_stations()
        self._programs: dict[str, Program] = {
            name: self.model.program(name) for name in document.entries
        }
        self._callable: dict[str, Program] = {}
        for name, (_, entry) in document.entries.items():
            self._callable[name] = self._with_forwards(entry)
        for task in document.tasks.values():
            self._add_task(task)

    def _add_stations(self) -> None:
        busy = {
            task.processor for task in self.document.tasks.values()
            if any(one.demand > 0 for one in _activities(task))
        }  # fmt: skip
        for name, one in self.document.processors.items():
            if name in busy:
                with standing_at(one.place):
                    self.model.station(
                        name,
                        servers=one.copies or 1,
                        discipline=one.discipline,  # type: ignore[arg-type]
                    )
                put(self.model, "stations", name, one.place)

    def _with_forwards(self, entry: Entry) -> Program:
        """Return what a caller of an entry calls: also the entries that answer in its place."""
        if not entry.forwards:
            return self._programs[entry.name]
        program = self.model.program(f"{entry.name}, forwarded")
        program.location = str(entry.place)
        return program

    def _add_task(self, task: Task) -> None:
        pool = None if task.is_reference else self._pool(task, task.copies)
        for entry in task.entries.values():
            self._add_entry(task, entry, pool)
        if task.is_reference:
            (entry,) = task.entries.values()
            with standing_at(task.place):
                self.model.closed_class(
                    task.name,
                    self._programs[entry.name],
                    population=task.copies or 1,
                    think=exponential(task.think * self._units) if task.think else None,
                    priority=task.priority,
                    start="thinking" if task.think else "ready",
                )
            put(self.model, "classes", task.name, task.place)

    def _add_entry(self, task: Task, entry: Entry, pool: Pool | None) -> None:
        program = self._programs[entry.name]
        program.location = str(entry.place)
        pools = [] if pool is None else [pool]
        if pool is not None and len(task.entries) > 1:
            pools.append(self._pool(entry, None))
        with standing_at(entry.place, program):
            for one in pools:
                program.acquire(one)
            if self._has_priorities and not task.is_reference:
                program.prioritize(task.priority)
        self._body(task, entry, program)
        with standing_at(entry.place, program):
            for one in reversed(pools):
                program.release(one)
        if entry.forwards:
            self._forward(entry)
        if entry.arrival_rate:
            with standing_at(entry.place):
                self.model.open_class(
                    entry.name,
                    self._callable[entry.name],
                    interarrival=exponential(self._units / entry.arrival_rate),
                    priority=task.priority,
                )
            put(self.model, "classes", entry.name, entry.place)

    def _pool(self, one: Task | Entry, tokens: int | None) -> Pool:
        """Return the threads of a task; those of an entry, or of a task without limit, count."""
        name = one.name
        while name in self.model.pools or (isinstance(one, Entry) and name in self.document.tasks):
            name += " (entry)"
        with standing_at(one.place):
            pool = self.model.pool(name, tokens=tokens or COUNTING)
        put(self.model, "pools", name, one.place)
        return pool

    def _body(self, task: Task, entry: Entry, program: Program) -> None:
        replies = entry.name in self._waited_for
        if entry.start:
            if replies and not any(entry.name in names for names in task.replies.values()):
                raise entry.place.error(
                    f"entry {entry.name!r} is called, but none of its activities replies to it",
                    cure="let one activity reply, or call it without waiting",
                )

            def write(activity: Activity) -> None:
                self._activity(task, activity, program)

            def reply() -> None:
                self._reply(task, entry, program)

            Graph(task, entry, program, write, reply if replies else None).write()
            return
        phases = sorted(entry.phases)
        for phase in phases:
            if replies and phase > 1 and phase == min(one for one in phases if one > 1):
                with standing_at(entry.phases[phase].place, program):
                    self._reply(task, entry, program)
            self._activity(task, entry.phases[phase], program)

    def _reply(self, task: Task, entry: Entry, program: Program) -> None:
        """Let the caller continue.

        It wants a processor now, or the entry that answers in its place does; if it is that of the
        second phase, chance says who comes first.
        """
        program.reply()
        if task.processor in self._next_to_run[entry.name]:
            with program.branch() as branch:
                with branch.case(0.5):
                    program.delay(constant(0.0))
                with branch.otherwise():
                    pass

    def _forward(self, entry: Entry) -> None:
        program = self._callable[entry.name]
        with standing_at(entry.place, program):
            program.call(self._programs[entry.name])
            with program.branch() as branch:
                share = 1.0
                for target, probability, place in entry.forwards:
                    if probability > 0:
                        share -= probability
                        with branch.case(min(probability, 1.0)), standing_at(place, program):
                            program.call(self._callable[target])
                if share > SAME:
                    with branch.otherwise():
                        pass

    def _activity(self, task: Task, activity: Activity, program: Program) -> None:
        """Write a phase or an activity: slices of its demand, and a call between two of them."""
        calls = [one for one in activity.calls if one.mean > 0]
        total = sum(one.mean for one in calls)
        with standing_at(activity.place, program):
            if activity.think:
                program.delay(exponential(activity.think * self._units))
            law = self._slice(task, activity, total)
            self._use(task, program, law)
            if activity.is_deterministic:
                for call in calls:
                    for _ in range(_whole(call)):
                        self._call(task, program, call)
                        self._use(task, program, law)
            elif calls:
                with program.loop(geometric(total, low=0)):
                    self._one_of(task, program, calls, total)
                    self._use(task, program, law)

    def _one_of(self, task: Task, program: Program, calls: list[Call], total: float) -> None:
        if len(calls) == 1:
            self._call(task, program, calls[0])
            return
        with program.branch() as branch:
            for call in calls:
                with branch.case(call.mean / total):
                    self._call(task, program, call)

    def _call(self, task: Task, program: Program, call: Call) -> None:
        with standing_at(call.place, program):
            target = self._callable[call.entry]
            if not call.is_synchronous:
                program.start(target)
                return
            program.call(target)
            if self._has_priorities:  # the called task gave the job its own
                program.prioritize(task.priority)

    def _use(self, task: Task, program: Program, law: Distribution | None) -> None:
        if law is not None:
            program.use(self.model.stations[task.processor], law)

    def _slice(self, task: Task, activity: Activity, calls: float) -> Distribution | None:
        """Return the law of the demand between two calls; None if there is none."""
        speed = self.document.processors[task.processor].speed
        mean = activity.demand * self._units / speed / (calls + 1)
        if mean == 0:
            return None
        return _law(mean, activity.c2)


def _law(mean: float, c2: float) -> Distribution:
    """Return a law of a mean and a squared coefficient of variation, as lqsim chooses it."""
    if c2 == 0:
        return constant(mean)
    if c2 == 1:
        return exponential(mean)
    if c2 > 1:
        return hyperexponential(mean, c2)
    stages = round(1 / c2)
    return erlang(mean, stages) if abs(stages * c2 - 1) < SAME else gamma(mean, c2)


def _whole(call: Call) -> int:
    if call.mean != round(call.mean) or call.mean > 1000:  # noqa: PLR2004 - more than anybody means
        raise call.place.error(
            f"a deterministic phase calls {call.entry!r} {call.mean:g} times",
            cure="give a whole number up to 1000, or make the phase stochastic",
        )
    return round(call.mean)


def _activities(task: Task) -> list[Activity]:
    phases = [one for entry in task.entries.values() for one in entry.phases.values()]
    return [*task.activities.values(), *phases]


def _called(document: Document) -> set[str]:
    """Return the entries that some caller waits for, those among them that answer for others."""
    found = {
        call.entry for one in document.all_activities() for call in one.calls
        if call.is_synchronous and call.mean > 0
    }  # fmt: skip
    # A wrapper calls the entry and those that it forwards to, whoever calls the wrapper.
    for name, (_, entry) in document.entries.items():
        if entry.forwards:
            found |= {name, *(target for target, share, _ in entry.forwards if share > 0)}
    return found


def _next_to_run(document: Document) -> dict[str, set[str]]:
    """Return entry -> the processors of those that its reply lets run."""
    entries = document.entries
    found: dict[str, set[str]] = {
        name: {entries[target][0].processor for target, _, _ in entry.forwards}
        for name, (_, entry) in entries.items()
    }
    for task in document.tasks.values():
        for one in _activities(task):
            for call in one.calls:
                if call.is_synchronous:
                    found[call.entry].add(task.processor)
    return found


def _unit_for(document: Document) -> TimeUnit:
    """Return the largest unit in which no mean time is tiny, or the last one for the longest."""
    times = [task.think for task in document.tasks.values()]
    for task in document.tasks.values():
        speed = document.processors[task.processor].speed
        for one in _activities(task):
            calls = sum(call.mean for call in one.calls)
            times += [one.think, one.demand / speed / (calls + 1)]
        times += [1 / entry.arrival_rate for entry in task.entries.values() if entry.arrival_rate]
    shortest = min((time for time in times if time > 0), default=1.0)
    longest = max(times, default=1.0)
    for unit, smaller in pairwise(_UNITS):
        is_long = longest > LONG_MEAN * SECONDS_PER_UNIT[smaller]
        if is_long or shortest >= SMALL_MEAN * SECONDS_PER_UNIT[unit]:
            return unit
    return _UNITS[-1]
