"""Read the XML format of layered queueing networks (.lqnx), as lqns and lqsim have it.

Invariant: an element or attribute that changes the answers is read or refused; what only asks the
solver for results, or holds them, is skipped.
"""

from collections.abc import Collection, Iterator

from headroom.jmt.xml_tree import Element
from headroom.lqn.document import (
    Activity,
    Call,
    Document,
    Entry,
    Precedence,
    Processor,
    Task,
    count,
    number,
)

PROCESSORS = {
    "fcfs": "fcfs", "ps": "ps", "inf": "infinite", "rand": "random", "hol": "priority",
    "pp": "priority_preempt", "pri": "priority_preempt",
}  # fmt: skip
"""How a processor schedules in a file -> as a discipline of a station."""

_RESULTS = {"service-time-distribution", "service-time-distribution-2", "queue-length-distribution"}
_OF_SOLVERS = {"solver-params", "pragma", "run-control", "plot-control"}
_FORKS = {"post": "one", "post-AND": "and", "post-OR": "or", "post-LOOP": "loop"}
_JOINS = {"pre": "one", "pre-AND": "and", "pre-OR": "or"}


def document_of(root: Element) -> Document:
    """Return what the root element of a file says about the network."""
    if root.tag != "lqn-model":
        raise root.place.error(
            f"the file holds <{root.tag}>, not a layered queueing network",
            cure="give a file whose first element is <lqn-model>",
        )
    document = Document(root.attributes.get("name") or "lqn", root.place)
    for child in _children(
        root, {"processor", "solver-params", "pragma", "run-control", "plot-control"}
    ):
        if child.tag == "processor":
            _add_processor(document, child)
    return document


def _children(element: Element, known: Collection[str]) -> Iterator[Element]:
    """Yield the elements inside that are not results; refuse those that are not `known`."""
    for child in element.children:
        if child.tag.startswith("result-") or child.tag in _RESULTS:
            continue
        if child.tag not in known:
            raise child.place.error(
                f"<{child.tag}> has no counterpart", cure="remove it, or write it in other terms"
            )
        yield child


def _check_attributes(element: Element, known: Collection[str], **harmless: str) -> None:
    """Refuse attributes that are not `known`, unless they have their `harmless` value."""
    for name, value in element.attributes.items():
        plain = harmless.get(name.replace("-", "_"))
        if name in known or name.startswith("xmlns") or value == plain:
            continue
        raise element.place.error(
            f"<{element.tag} {name}={value!r}> has no counterpart",
            cure=f"leave {name} out" if plain is None else f"write {name}={plain!r}",
        )


def _add_processor(document: Document, element: Element) -> None:
    name = element.attribute("name")
    known = {"name", "scheduling", "multiplicity", "speed-factor", "quantum"}
    scheduling = element.attributes.get("scheduling", "fcfs")
    if scheduling not in PROCESSORS:
        raise element.place.error(
            f"processor {name!r} schedules by {scheduling!r}, which has no counterpart",
            cure=f"choose one of {', '.join(PROCESSORS)}",
        )
    _check_attributes(element, known, replication="1")
    if name in document.processors:
        raise element.place.error(f"there are two processors {name!r}", cure="rename one")
    copies = _copies(element, f"the multiplicity of processor {name!r}")
    if scheduling == "inf":
        copies = None
    speed = number(element.attributes.get("speed-factor", "1"), "speed-factor", element.place)
    if speed == 0:
        raise element.place.error(f"processor {name!r} has no speed", cure="give one above 0")
    discipline = "infinite" if copies is None else PROCESSORS[scheduling]
    document.processors[name] = Processor(name, discipline, copies, speed, element.place)
    for child in _children(element, {"task"}):
        _add_task(document, name, child)


def _is_zero(text: str) -> bool:
    return text.strip("0.") == ""


def _copies(element: Element, what: str) -> int | None:
    text = element.attributes.get("multiplicity", "1")
    return None if text in {"@infinity", "inf"} else count(text, what, element.place)


def _add_task(document: Document, processor: str, element: Element) -> None:
    name = element.attribute("name")
    _check_attributes(
        element,
        {"name", "scheduling", "multiplicity", "think-time", "priority", "activity-graph"},
        replication="1", queue_length="0",
    )  # fmt: skip
    scheduling = element.attributes.get("scheduling", "fcfs")
    if scheduling not in {"ref", "fcfs", "inf"}:
        raise element.place.error(
            f"task {name!r} schedules by {scheduling!r}, which has no counterpart",
            cure="choose one of ref, fcfs, inf",
        )
    if name in document.tasks:
        raise element.place.error(f"there are two tasks {name!r}", cure="rename one")
    task = Task(
        name,
        processor,
        element.place,
        is_reference=scheduling == "ref",
        copies=None if scheduling == "inf" else _copies(element, f"the multiplicity of {name!r}"),
        think=number(element.attributes.get("think-time", "0"), "think-time", element.place),
        priority=count(element.attributes.get("priority", "0"), "priority", element.place, least=0),
    )
    taken = {*document.entries}
    document.tasks[name] = task
    for child in _children(element, {"entry", "task-activities"}):
        if child.tag == "entry":
            entry = _entry_of(child)
            if entry.name in taken:
                raise child.place.error(f"there are two entries {entry.name!r}", cure="rename one")
            taken.add(entry.name)
            task.entries[entry.name] = entry
    for child in element.all("task-activities"):
        _add_activities(task, child)


def _entry_of(element: Element) -> Entry:
    name = element.attribute("name")
    _check_attributes(element, {"name", "type", "open-arrival-rate"}, priority="0")
    rate = number(element.attributes.get("open-arrival-rate", "0"), "the rate", element.place)
    entry = Entry(name, element.place, arrival_rate=rate)
    for child in _children(element, {"entry-phase-activities", "forwarding"}):
        if child.tag == "forwarding":
            _check_attributes(child, {"dest", "prob"})
            share = number(child.attribute("prob"), "prob", child.place, most=1.0)
            entry.forwards.append((child.attribute("dest"), share, child.place))
            continue
        for one in _children(child, {"activity"}):
            phase = count(one.attribute("phase"), "phase", one.place)
            if phase in entry.phases:
                raise one.place.error(
                    f"entry {name!r} has two phases {phase}", cure="number them 1, 2, 3"
                )
            entry.phases[phase] = _activity_of(one, {"phase"})
    return entry


def _activity_of(element: Element, more: Collection[str]) -> Activity:
    _check_attributes(
        element,
        {"name", "host-demand-mean", "host-demand-cvsq", "think-time", "call-order", *more,
         "max-service-time"},  # a limit whose excess is a result
    )  # fmt: skip
    place, given = element.place, element.attributes
    order = given.get("call-order", "STOCHASTIC")
    if order not in {"STOCHASTIC", "DETERMINISTIC"}:
        raise place.error(
            f"call-order {order!r} has no counterpart", cure="choose STOCHASTIC or DETERMINISTIC"
        )
    activity = Activity(
        element.attribute("name"),
        place,
        demand=number(given.get("host-demand-mean", "0"), "host-demand-mean", place),
        c2=number(given.get("host-demand-cvsq", "1"), "host-demand-cvsq", place),
        think=number(given.get("think-time", "0"), "think-time", place),
        is_deterministic=order == "DETERMINISTIC",
    )
    for child in _children(element, {"synch-call", "asynch-call"}):
        _check_attributes(child, {"dest", "calls-mean"}, fan_in="1", fan_out="1")
        mean = number(child.attribute("calls-mean"), "calls-mean", child.place)
        is_synchronous = child.tag == "synch-call"
        activity.calls.append(Call(child.attribute("dest"), mean, is_synchronous, child.place))
    return activity


def _add_activities(task: Task, element: Element) -> None:
    for child in _children(element, {"activity", "precedence", "reply-entry"}):
        if child.tag == "activity":
            activity = _activity_of(child, {"bound-to-entry"})
            if activity.name in task.activities:
                raise child.place.error(
                    f"there are two activities {activity.name!r}", cure="rename one"
                )
            task.activities[activity.name] = activity
            if "bound-to-entry" in child.attributes:
                _bind(task, child.attribute("bound-to-entry"), activity)
        elif child.tag == "precedence":
            task.precedences.append(_precedence_of(child))
        else:
            for reply in _children(child, {"reply-activity"}):
                replies = task.replies.setdefault(reply.attribute("name"), [])
                replies.append(child.attribute("name"))


def _bind(task: Task, entry: str, activity: Activity) -> None:
    if entry not in task.entries or task.entries[entry].start:
        why = "starts with two activities" if entry in task.entries else "is not one of the task"
        raise activity.place.error(
            f"entry {entry!r} {why}", cure="bind one activity to each entry of the task"
        )
    task.entries[entry].start = activity.name


def _precedence_of(element: Element) -> Precedence:
    parts = list(_children(element, {*_JOINS, *_FORKS}))
    join = next((one for one in parts if one.tag in _JOINS), None)
    fork = next((one for one in parts if one.tag in _FORKS), None)
    if join is None or len(parts) != 1 + (fork is not None):
        raise element.place.error(
            "a precedence has not one list before and at most one after",
            cure="write one <pre...> and one <post...>",
        )
    quorum = join.attributes.get("quorum", "0")
    before = tuple(one.attribute("name") for one in _children(join, {"activity"}))
    after = () if fork is None else tuple(_children(fork, {"activity"}))
    weight = {"post-OR": "prob", "post-LOOP": "count"}.get("" if fork is None else fork.tag, "")
    return Precedence(
        before,
        _JOINS[join.tag],  # type: ignore[arg-type]
        tuple(one.attribute("name") for one in after),
        "end" if fork is None else _FORKS[fork.tag],  # type: ignore[arg-type]
        element.place,
        weights=tuple(number(one.attribute(weight), weight, one.place) for one in after)
        if weight else (),
        quorum=None if _is_zero(quorum) else count(quorum, "the quorum", join.place),
        end="" if fork is None else fork.attributes.get("end", ""),
    )  # fmt: skip
