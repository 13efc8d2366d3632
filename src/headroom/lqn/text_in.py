"""Read the text format of layered queueing networks (.lqn), as lqns and lqsim have it.

Sections: G (of the solver, skipped), P processors, T tasks, E entries, A activities of a task.
Invariant: a line that changes the answers is read or refused with its number.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from headroom.jmt.place import Place
from headroom.lqn.document import (
    Activity,
    Call,
    Document,
    Entry,
    Fork,
    Join,
    Precedence,
    Processor,
    Task,
    count,
    number,
)
from headroom.lqn.words import END, Words

_PROCESSORS = {"f": "fcfs", "s": "ps", "i": "infinite", "r": "random", "h": "priority",
               "p": "priority_preempt"}  # fmt: skip
_TASKS = {"r", "n", "f", "i"}
_Setter: TypeAlias = Callable[[Activity, float, Place], None]
_VARIABLE = "write values as numbers: only `$name = NUMBER` before G is read of SPEX"


def document_of(text: str, file: str) -> Document:
    """Return what the text of a file says about the network."""
    words = Words(text, file)
    document = Document(Path(file).stem, words.place)
    while words.next.startswith("$"):
        place, name = words.place, words.take("a variable")
        words.expect("=", _VARIABLE)
        value = words.value("a number")
        words.variables[name] = f"{number(value, f'variable {name}', place)!r}"
    sections: Mapping[str, Callable[[], None]] = {
        "G": lambda: _general(words),
        "P": lambda: _section(words, {"p": lambda: _processor(words, document)}),
        "T": lambda: _section(words, {"t": lambda: _task(words, document)}),
        "E": lambda: _entries(words, document),
        "A": lambda: _activities(words, document),
    }
    while words.next:
        place, letter = words.place, words.take("a section")
        if letter not in sections:
            raise place.error(
                f"section {letter!r} has no counterpart",
                cure="remove it: G, P, T, E and A are read; groups (U), reports (R) and "
                "convergence (C) are not",
            )
        sections[letter]()
    return document


def _general(words: Words) -> None:
    words.until_end("the end of section G", words.take)


def _section(words: Words, lines: Mapping[str, Callable[[], None]]) -> None:
    """Read a count and lines that begin with a letter, up to the end of the list."""
    words.take("a number of lines")
    while words.next != END:
        place, letter = words.place, words.take("a line")
        if letter not in lines:
            raise place.error(
                f"a line begins with {letter!r}, which has no counterpart here",
                cure=f"begin it with {', '.join(lines)}, or remove it",
            )
        lines[letter]()
    words.take(END)


def _processor(words: Words, document: Document) -> None:
    place, name = words.place, words.take("the name of a processor")
    flag = words.take("its scheduling")
    if flag not in _PROCESSORS:
        raise place.error(
            f"processor {name!r} schedules by {flag!r}, which has no counterpart",
            cure=f"choose one of {', '.join(_PROCESSORS)}",
        )
    if words.next.replace(".", "").isdigit():
        words.take("a quantum")  # equal shares at any time, as lqns has it
    options = _options(words, {"m", "i", "r", "R"})
    _refuse_replicas(options, place)
    copies = _copies(options, place)
    if flag == "i":
        copies = None
    speed = number(options.get("R", "1"), "the speed", place)
    if speed == 0 or name in document.processors:
        what = f"there are two processors {name!r}" if speed else f"processor {name!r} has no speed"
        raise place.error(what, cure="give each its own name, and a speed above 0")
    discipline = "infinite" if copies is None else _PROCESSORS[flag]
    document.processors[name] = Processor(name, discipline, copies, speed, place)


def _options(words: Words, known: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    while words.next in known:
        letter = words.take("an option")
        found[letter] = "" if letter == "i" else words.value(f"the value of {letter}")
    return found


def _copies(options: Mapping[str, str], place: Place) -> int | None:
    return None if "i" in options else count(options.get("m", "1"), "the number of copies", place)


def _refuse_replicas(options: Mapping[str, str], place: Place) -> None:
    if options.get("r", "1") != "1":
        raise place.error(
            f"{options['r']} replicas have no counterpart", cure="write each replica by itself"
        )


def _task(words: Words, document: Document) -> None:
    place, name = words.place, words.take("the name of a task")
    flag = words.take("its kind")
    if flag not in _TASKS:
        raise place.error(
            f"task {name!r} schedules by {flag!r}, which has no counterpart",
            cure="choose one of r (reference), n or f (first come, first served), i (no limit)",
        )
    entries = words.until_end("an entry", words.take)
    if words.next == "q":
        raise place.error(f"task {name!r} has a limited queue", cure="leave q out")
    processor, priority = words.take("a processor"), 0
    if words.next.isdigit() or words.next.startswith("$"):
        priority = count(words.value("a priority"), "the priority", place, least=0)
    options = _options(words, {"z", "m", "i", "r"})
    _refuse_replicas(options, place)
    if name in document.tasks or set(entries) & document.entries.keys():
        raise place.error(
            f"task {name!r} or one of its entries is defined twice", cure="rename one"
        )
    document.tasks[name] = Task(
        name,
        processor,
        place,
        is_reference=flag == "r",
        copies=None if flag == "i" else _copies(options, place),
        think=number(options.get("z", "0"), "the think time", place),
        priority=priority,
        entries={one: Entry(one, place) for one in entries},
    )


def _entries(words: Words, document: Document) -> None:
    lines = _EntryLines(words, document)
    _section(
        words,
        {
            "s": lambda: lines.values(_set_demand),
            "c": lambda: lines.values(_set_c2),
            "Z": lambda: lines.values(_set_think),
            "f": lambda: lines.values(_set_order),
            "y": lambda: lines.calls(is_synchronous=True),
            "z": lambda: lines.calls(is_synchronous=False),
            "A": lines.start,
            "a": lines.arrivals,
            "F": lines.forward,
            "M": lambda: _general(words),  # a limit whose excess is a result
            "H": lambda: _histogram(words, 2),
        },
    )


class _EntryLines:
    """The lines of section E: each begins with the name of an entry."""

    def __init__(self, words: Words, document: Document) -> None:
        self._words = words
        self._entries = document.entries

    def values(self, set_value: _Setter) -> None:
        """Read a value for each phase."""
        one, place = self._entry(), self._words.place
        for index, text in enumerate(self._words.until_end("a value", self._words.value)):
            value = number(text, "a value", place)
            if value or index + 1 in one.phases or index == 0:
                set_value(_phase(one, index, place), value, place)

    def calls(self, *, is_synchronous: bool) -> None:
        """Read the mean number of calls of each phase."""
        one, target, place = self._entry(), self._words.take("an entry"), self._words.place
        for index, text in enumerate(self._words.until_end("a number", self._words.value)):
            mean = number(text, "the mean number of calls", place)
            if mean:
                call = Call(target, mean, is_synchronous, place)
                _phase(one, index, place).calls.append(call)

    def start(self) -> None:
        """Read the activity that an entry starts with."""
        one = self._entry()
        one.start = self._words.take("an activity")

    def arrivals(self) -> None:
        """Read the rate of open arrivals."""
        one, place = self._entry(), self._words.place
        one.arrival_rate = number(self._words.value("a rate"), "the rate of arrivals", place)

    def forward(self) -> None:
        """Read who answers in place of an entry, and how often."""
        one, target, place = self._entry(), self._words.take("an entry"), self._words.place
        share = number(self._words.value("a probability"), "a probability", place, most=1.0)
        self._words.expect(END, "end the line with -1")
        one.forwards.append((target, share, place))

    def _entry(self) -> Entry:
        place, name = self._words.place, self._words.take("an entry")
        if name not in self._entries:
            raise place.error(f"no task has the entry {name!r}", cure="list it in section T")
        return self._entries[name][1]


def _phase(one: Entry, index: int, place: Place) -> Activity:
    return one.phases.setdefault(index + 1, Activity(f"{one.name} phase {index + 1}", place))


def _set_demand(activity: Activity, value: float, _place: Place) -> None:
    activity.demand = value


def _set_c2(activity: Activity, value: float, _place: Place) -> None:
    activity.c2 = value


def _set_think(activity: Activity, value: float, _place: Place) -> None:
    activity.think = value


def _set_order(activity: Activity, value: float, place: Place) -> None:
    if value not in {0.0, 1.0}:
        raise place.error(f"phase type {value:g}", cure="write 0 (stochastic) or 1 (deterministic)")
    activity.is_deterministic = value == 1.0


def _histogram(words: Words, names: int) -> None:
    """Skip a histogram, which only asks for a result."""
    for _ in range(names + 4):
        words.take("a histogram")
    if words.next in {"log", "linear", "sqrt"}:
        words.take("its bins")


def _activities(words: Words, document: Document) -> None:
    place, name = words.place, words.take("a task")
    if name not in document.tasks:
        raise place.error(f"there is no task {name!r}", cure="define it in section T")
    task = document.tasks[name]
    setters: Mapping[str, _Setter] = {
        "s": _set_demand, "c": _set_c2, "Z": _set_think, "f": _set_order,
        "M": lambda _activity, _value, _place: None,
    }  # fmt: skip
    while words.next not in {END, ":"}:
        place, letter = words.place, words.take("an activity")
        if letter == "H":
            _histogram(words, 1)
            continue
        if letter not in {*setters, "y", "z"}:
            raise place.error(
                f"a line begins with {letter!r}, which has no counterpart here",
                cure=f"begin it with {', '.join(setters)}, y or z, or remove it",
            )
        label = words.take("an activity")
        activity = task.activities.setdefault(label, Activity(label, place))
        if letter in setters:
            setters[letter](activity, number(words.value("a value"), "a value", place), place)
        else:
            target = words.take("an entry")
            mean = number(words.value("a number of calls"), "the mean number of calls", place)
            activity.calls.append(Call(target, mean, letter == "y", place))
    if words.skip(":"):
        while words.next != END:
            _precedence(words, task)
            if not words.skip(";"):
                break
    words.expect(END, "end the activities with -1, and separate precedences by ;")


def _precedence(words: Words, task: Task) -> None:
    place, before, join = words.place, [_replying(words, task)], "one"
    while words.next in {"&", "+"}:
        join = _same(join, {"&": "and", "+": "or"}[words.take("& or +")], place)
        before.append(_replying(words, task))
    quorum = None
    if join == "and" and words.skip("("):
        quorum = count(words.value("a quorum"), "the quorum", place)
        words.expect(")", "close the quorum")
    kind: Join = "and" if join == "and" else "or" if join == "or" else "one"
    if not words.skip("->"):
        task.precedences.append(Precedence(tuple(before), kind, (), "end", place, quorum=quorum))
        return
    after, weights, fork, end = _following(words, place)
    task.precedences.append(
        Precedence(tuple(before), kind, tuple(after), fork, place, tuple(weights), quorum, end)
    )


def _replying(words: Words, task: Task) -> str:
    name = words.take("an activity")
    if words.skip("["):
        while not words.skip("]"):
            task.replies.setdefault(name, []).append(words.take("an entry"))
            words.skip(",")
    return name


def _same(before: str, now: str, place: Place) -> str:
    if before not in {"one", now}:
        raise place.error("a list mixes & and +", cure="write two precedences")
    return now


def _following(words: Words, place: Place) -> tuple[list[str], list[float], Fork, str]:
    """Return the activities behind an arrow, their weights, how they fork, what ends a loop."""
    names, weights = [], []
    kind: str = "one"
    while True:
        if words.skip("("):
            weights.append(number(words.value("a probability"), "a probability", place))
            words.expect(")", "close the probability")
            kind = _same(kind, "or", place)
        first = words.value("an activity")
        if words.skip("*"):
            weights.append(number(first, "a number of passes", place))
            kind = _same(kind, "loop", place)
            first = words.take("an activity")
        names.append(first)
        if words.next not in {"&", "+", ","}:
            break
        kind = _same(kind, {"&": "and", "+": "or", ",": "loop"}[words.take("a sign")], place)
    if kind == "loop" and len(names) == len(weights) + 1:
        return names[:-1], weights, "loop", names[-1]
    if kind in {"or", "loop"} and len(names) != len(weights):
        raise place.error(
            f"{len(names)} activities have {len(weights)} probabilities or numbers of passes",
            cure="write (0.3)a + (0.7)b, or 2.5 * a, b",
        )
    fork: Fork = {"and": "and", "or": "or", "loop": "loop"}.get(kind, "one")  # type: ignore[assignment]
    return names, weights, fork, ""
