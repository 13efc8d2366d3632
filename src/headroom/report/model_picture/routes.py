"""Build the routing graph of a model: each station and pool once, with edges between them.

A program is assembled from fragments, as an automaton is from a regular expression (McNaughton and
Yamada, 1960): each fragment has loose ends where jobs enter and leave it, and a bypass if it may be
empty. Each program is assembled once, no matter how often it is called, so the work is proportional
to the size of the model.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headroom.report.model_picture.changing import changes_by_part
from headroom.report.model_picture.graph import Edge, Graph, Node, RouteKind, merged
from headroom.report.model_picture.parts import (
    attempt_node,
    class_node,
    delay_node,
    mix_node,
    pool_node,
    shares_of,
    station_node,
    usage_of,
)
from headroom.report.model_picture.steps import Step, records, tree_of
from headroom.report.model_picture.words import chance_words, code_words, count_words, shortened

SINK = "sink"
_SURE = 1.0 - 1e-9
_LONGEST_CONDITION = 22
_SILENT = frozenset({"set", "prioritize", "release", "change", "?"})
_CHOICES = {
    "round_robin": "in turn",
    "shortest_queue": "if shortest",
    "sampled_queue": "if shorter",
    "hash": "by hash",
    "index": "by number",
}


@dataclass(frozen=True, slots=True)
class Way:
    """A loose end of a fragment: its node, and what is said about passing there."""

    node: str = ""
    chance: float = 1.0
    notes: tuple[str, ...] = ()
    kind: RouteKind = "route"

    def then(self, other: "Way", node: str) -> "Way":
        """Return the end at `node` of going this way and then the other."""
        kind = self.kind if self.kind != "route" else other.kind
        notes = tuple(dict.fromkeys([*self.notes, *other.notes]))
        return Way(node, self.chance * other.chance, notes, kind)

    def labels(self) -> tuple[str, ...]:
        """Return the label of a route of this kind."""
        chance = () if self.chance >= _SURE else (chance_words(self.chance),)
        return (*chance, *self.notes)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a program: where jobs enter and leave, the way past it, where they reply."""

    entries: tuple[Way, ...] = ()
    exits: tuple[Way, ...] = ()
    past: Way | None = None
    replies: tuple[Way, ...] = ()


_NOTHING = Fragment(past=Way())


def graph_of(model: Mapping[str, Any]) -> Graph:
    """Return the routing graph of a model's data."""
    writer = _Writer(model)
    for record in records(model.get("classes")):
        writer.add_class(record)
    for mix in records(model.get("mixes")):
        writer.add_mix(mix)
    writer.add_unused()
    drawn = [one for mix in records(model.get("mixes")) for one, _ in shares_of(mix)]
    classes = [str(one.get("name", "?")) for one in [*records(model.get("classes")), *drawn]]
    held = {pool: frozenset(keys) for pool, keys in writer.held.items() if pool in writer.nodes}
    return Graph(
        nodes=writer.ordered_nodes(), edges=writer.edges(classes), held=held, classes=classes
    )


@dataclass(slots=True)
class _Program:
    """A program while its graph is drawn: what it holds, touches and calls."""

    name: str
    held: list[str] = field(default_factory=list)
    touched: dict[str, None] = field(default_factory=dict)
    called: dict[str, None] = field(default_factory=dict)


class _Writer:
    def __init__(self, model: Mapping[str, Any]) -> None:
        self.unit = str(model.get("time_unit", ""))
        self.stations = {
            str(record.get("name")): record for record in records(model.get("stations"))
        }
        self.pools = {str(record.get("name")): record for record in records(model.get("pools"))}
        self.programs = {
            str(record.get("name")): record for record in records(model.get("programs"))
        }
        self.changes = changes_by_part(model)
        self.breakdowns = {
            str(record.get("station")): record for record in records(model.get("breakdowns"))
        }
        self.usage = usage_of(self.programs, self.unit)
        self.nodes: dict[str, Node] = {}
        self.held: dict[str, set[str]] = {}
        self._drawn: list[tuple[str, Edge]] = []
        self._fragments: dict[str, tuple[Fragment, _Program]] = {}
        self._open: list[str] = []
        self._walkers: dict[str, dict[str, None]] = {}

    # Classes, and what no class reaches.

    def add_class(self, one: Mapping[str, Any]) -> None:
        """Draw a class: where its jobs come from, its program, and where they go."""
        node = class_node(one, self.unit)
        self.nodes[node.key] = node
        is_closed = one.get("kind") == "closed"
        home = node.key if is_closed else self._node(Node(key=SINK, kind="sink", note="jobs leave"))
        self._add_walk(one, Way(node.key), home)

    def add_mix(self, mix: Mapping[str, Any]) -> None:
        """Draw a mix: where its jobs are between walks, and a way into each class's program."""
        node = mix_node(mix, self.unit)
        self.nodes[node.key] = node
        for one, share in shares_of(mix):
            self._add_walk(one, Way(node.key, chance=share), node.key)

    def _add_walk(self, one: Mapping[str, Any], start: Way, home: str) -> None:
        """Draw the walk of a class from `start` through its program to the node `home`."""
        name, program = str(one.get("name", "?")), str(one.get("program", ""))
        fragment = self._program(program)[0]
        own = f"class {name}"
        self._walkers.setdefault(own, {})[name] = None
        for reached in self._reached(program):
            self._walkers.setdefault(reached, {})[name] = None
        self._connect(own, (start,), fragment.entries)
        self._connect(own, fragment.exits, (Way(home),))
        if fragment.past is not None:
            self._connect(own, (start.then(fragment.past, start.node),), (Way(home),))

    def add_unused(self) -> None:
        """Add the stations and pools that no class uses: a picture hides nothing."""
        for name in self.stations:
            self._station(name)
        for name in self.pools:
            self._pool(name)

    def ordered_nodes(self) -> dict[str, Node]:
        """Return the nodes, classes first, the sink last."""
        last = {SINK: self.nodes[SINK]} if SINK in self.nodes else {}
        classes = {key: node for key, node in self.nodes.items() if node.kind == "class"}
        rest = {k: n for k, n in self.nodes.items() if k not in classes and k not in last}
        return {**classes, **rest, **last}

    def edges(self, classes: Sequence[str]) -> list[Edge]:
        """Return the edges, each with the classes whose jobs take it."""
        found = []
        for walked, edge in self._drawn:
            walkers = self._walkers.get(walked, {})
            found.append(replace(edge, classes=tuple(c for c in classes if c in walkers)))
        return merged(found)

    def _reached(self, program: str) -> list[str]:
        """Return a program and all those that it calls or starts, directly or not."""
        found = {program: None}
        waiting = [program]
        while waiting:
            for name in self._program(waiting.pop())[1].called:
                if name not in found:
                    found[name] = None
                    waiting.append(name)
        return list(found)

    # Programs and their steps.

    def _program(self, name: str) -> tuple[Fragment, _Program]:
        if name not in self._fragments:
            program = _Program(name)
            self._open.append(name)
            steps = tree_of(self.programs.get(name, {}).get("steps"))
            self._fragments[name] = (self._sequence(program, steps), program)
            self._open.pop()
        return self._fragments[name]

    def _sequence(self, program: _Program, steps: Iterable[Step]) -> Fragment:
        whole = _NOTHING
        for step in steps:
            whole = self._joined(program, step, whole, self._step(program, step))
        return whole

    def _step(self, program: _Program, step: Step) -> Fragment:
        writers = {
            "use": self._use,
            "delay": self._delay,
            "acquire": self._acquire,
            "loop": self._loop,
            "branch": self._branch,
            "fork": self._fork,
            "network": self._network,
            "call": self._call,
            "start": self._start,
            "reply": self._reply,
            "attempt": self._attempt,
        }
        if step.op == "release":
            _drop(program.held, self._pool(str(step.data.get("pool"))))
        if step.op in _SILENT:
            return _NOTHING
        return writers.get(step.op, self._other)(program, step)

    def _use(self, program: _Program, step: Step) -> Fragment:
        return self._visit(program, self._station(str(step.data.get("station"))))

    def _delay(self, program: _Program, step: Step) -> Fragment:
        key = f"delay {program.name} {step.place}"
        return self._visit(program, self._node(delay_node(key, step.data.get("time"), self.unit)))

    def _acquire(self, program: _Program, step: Step) -> Fragment:
        key = self._pool(str(step.data.get("pool")))
        fragment = self._visit(program, key)
        program.held.append(key)
        self.held.setdefault(key, set())
        return fragment

    def _loop(self, program: _Program, step: Step) -> Fragment:
        body = self._sequence(program, step.inside)
        if not body.entries:
            return replace(body, past=body.past or Way())
        entries, exits = body.entries, body.exits
        if len(entries) > 1:
            entries = self._gathered(program, step, "in", into=entries)
        if len(exits) > 1:
            exits = self._collected(program, step, "out", exits)
        again = count_words(step.data.get("count"))
        back = [way.then(Way(notes=(again,)), way.node) for way in exits]
        self._connect(program.name, back, entries)
        return replace(body, entries=entries, exits=exits)

    def _branch(self, program: _Program, step: Step) -> Fragment:
        kind = _kind_of(step.data.get("choice"))
        before = list(program.held)
        arms = []
        for part in step.parts("case"):
            program.held = list(before)
            way = _case_way(part.data, kind)
            arms.append(_after(way, self._sequence(program, part.inside)))
        united = _beside(arms)
        if len(united.exits) > 1:
            united = replace(united, exits=self._collected(program, step, "out", united.exits))
        return united

    def _fork(self, program: _Program, step: Step) -> Fragment:
        arms = [self._sequence(program, part.inside) for part in step.parts("arm")]
        quorum = step.data.get("quorum")
        name = "join" if quorum is None else f"join {quorum} of {len(arms)}"
        rest = "; the rest is cancelled" if step.data.get("rest") == "cancel" else ""
        key = f"{program.name} {step.place}"
        fork = Node(key=f"fork {key}", kind="fork", name="fork", note=f"{len(arms)} arms at once")
        join = Node(key=f"join {key}", kind="join", name=name, note=f"waits for the arms{rest}")
        start, end = Way(self._node(fork)), Way(self._node(join))
        for arm in arms:
            self._connect(program.name, (start,), arm.entries)
            self._connect(program.name, arm.exits, (end,))
            if arm.past is not None:
                self._connect(program.name, (start,), (replace(arm.past, node=end.node),))
        self._touch(program, start.node)
        self._touch(program, end.node)
        return Fragment((start,), (end,), None, _united(arm.replies for arm in arms))

    def _network(self, program: _Program, step: Step) -> Fragment:
        parts = step.parts("node")
        inside = {str(part.data.get("name")): self._network_node(program, part) for part in parts}
        leaving: list[Way] = []
        for part in parts:
            exits = inside[str(part.data.get("name"))].exits
            kind = _kind_of(part.data.get("choice"))
            for target in records(part.data.get("to")):
                way = _case_way(target, kind)
                ends = [end.then(way, end.node) for end in exits]
                reached = inside.get(str(target.get("node")))
                if reached is None:
                    leaving += ends
                else:
                    self._connect(program.name, ends, reached.entries)
        first = next(iter(inside.values()), _NOTHING)
        replies = _united(fragment.replies for fragment in inside.values())
        return Fragment(first.entries, tuple(leaving), None if parts else Way(), replies)

    def _network_node(self, program: _Program, part: Step) -> Fragment:
        """Return a node of a network with one loose end on each side."""
        fragment = self._sequence(program, part.inside)
        entries, exits = fragment.entries, fragment.exits
        if fragment.past is not None:
            return self._around(program, part, fragment)
        if len(entries) > 1:
            entries = self._gathered(program, part, "in", into=entries)
        if len(exits) > 1:
            exits = self._collected(program, part, "out", exits)
        return replace(fragment, entries=entries, exits=exits)

    def _around(self, program: _Program, part: Step, fragment: Fragment) -> Fragment:
        """Return a fragment that may be empty between two junctions."""
        start = Way(self._junction(program, part, "in"))
        end = Way(self._junction(program, part, "out"))
        past = fragment.past or Way()
        self._connect(program.name, (start,), fragment.entries)
        self._connect(program.name, fragment.exits, (end,))
        self._connect(program.name, (start,), (replace(past, node=end.node),))
        return Fragment((start,), (end,), None, fragment.replies)

    def _call(self, program: _Program, step: Step) -> Fragment:
        name = str(step.data.get("program"))
        if name in self._open:
            return self._other(program, step)
        called = self._entered(program, name)
        note = Way(notes=(f"call {shortened(name, _LONGEST_CONDITION)}",))
        entries = tuple(note.then(way, way.node) for way in called.entries)
        return Fragment(entries, called.replies or called.exits, called.past)

    def _start(self, program: _Program, step: Step) -> Fragment:
        name = str(step.data.get("program"))
        if name in self._open:
            return self._other(program, step)
        held, program.held = program.held, []
        started = self._entered(program, name)
        program.held = held
        note = Way(notes=(f"start {shortened(name, _LONGEST_CONDITION)}",), kind="start")
        entries = tuple(note.then(way, way.node) for way in started.entries)
        if started.exits:
            sink = self._node(Node(key=SINK, kind="sink", note="jobs leave"))
            ends = [Way(way.node, way.chance, way.notes, "start") for way in started.exits]
            self._connect(name, ends, (Way(sink),))
        return Fragment(entries, (), Way())

    def _entered(self, program: _Program, name: str) -> Fragment:
        """Return the fragment of a program that another one enters, with all it holds."""
        fragment, inner = self._program(name)
        program.called[name] = None
        for key in inner.touched:
            self._touch(program, key)
        return fragment

    def _reply(self, program: _Program, step: Step) -> Fragment:
        key = f"reply {program.name} {step.place}"
        node = Node(key=key, kind="junction", name="reply", note="the caller continues from here")
        way = Way(self._node(node))
        self._touch(program, key)
        return Fragment((way,), (way,), None, (way,))

    def _attempt(self, program: _Program, step: Step) -> Fragment:
        key = f"attempt {program.name} {step.place}"
        here = self._visit(program, self._node(attempt_node(key, step.data, self.unit)))
        work = _beside([self._sequence(program, part.inside) for part in step.parts("work")])
        failed = _beside([self._sequence(program, part.inside) for part in step.parts("failed")])
        worked = self._joined(program, step, here, work)
        if step.data.get("loses"):  # Who fails goes nowhere.
            return Fragment(here.entries, worked.exits, None, work.replies)
        failing = Way(key, notes=("failed",), kind="failed")
        self._connect(program.name, (failing,), failed.entries)
        is_past = failed.past is not None or not failed.entries
        exits = (*worked.exits, *failed.exits, *([failing] if is_past else []))
        replies = _united([work.replies, failed.replies])
        return Fragment(here.entries, exits, None, replies)

    def _other(self, program: _Program, step: Step) -> Fragment:
        key = f"other {program.name} {step.place}"
        words = " ".join(str(step.data[n]) for n in ("program", "station", "name")
                         if n in step.data)  # fmt: skip
        name = f"{step.op} {words}".strip()
        node = Node(key=key, kind="other", name=shortened(name, 30), note=f"step {name}")
        return self._visit(program, self._node(node))

    # Nodes and edges.

    def _visit(self, program: _Program, key: str) -> Fragment:
        self._touch(program, key)
        return Fragment((Way(key),), (Way(key),))

    def _touch(self, program: _Program, key: str) -> None:
        program.touched[key] = None
        for pool in program.held:
            if pool != key:
                self.held.setdefault(pool, set()).add(key)

    def _node(self, node: Node) -> str:
        self.nodes.setdefault(node.key, node)
        return node.key

    def _station(self, name: str) -> str:
        data = self.stations.get(name, {"name": name})
        usage = self.usage.get(name, [])
        changes = self.changes.get(("station", name), [])
        return self._node(station_node(data, usage, self.breakdowns.get(name), self.unit, changes))

    def _pool(self, name: str) -> str:
        changes = self.changes.get(("pool", name), [])
        return self._node(pool_node(self.pools.get(name, {"name": name}), changes))

    def _junction(self, program: _Program, step: Step, side: str) -> str:
        key = self._node(Node(key=f"junction {program.name} {step.place} {side}", kind="junction"))
        self._touch(program, key)
        return key

    def _collected(
        self, program: _Program, step: Step, side: str, exits: Sequence[Way]
    ) -> tuple[Way, ...]:
        """Return one loose end behind several."""
        way = Way(self._junction(program, step, side))
        self._connect(program.name, exits, (way,))
        return (way,)

    def _gathered(
        self, program: _Program, step: Step, side: str, *, into: Sequence[Way]
    ) -> tuple[Way, ...]:
        """Return one loose end before several."""
        way = Way(self._junction(program, step, side))
        self._connect(program.name, (way,), into)
        return (way,)

    def _joined(self, program: _Program, step: Step, one: Fragment, other: Fragment) -> Fragment:
        """Return one fragment and then the other."""
        exits = one.exits
        if len(exits) > 1 and len(other.entries) > 1:
            exits = self._collected(program, step, "before", exits)
        self._connect(program.name, exits, other.entries)
        return _in_a_row(replace(one, exits=exits), other)

    def _connect(self, walked: str, exits: Iterable[Way], entries: Iterable[Way]) -> None:
        """Draw routes from each loose end to each other, walked by jobs of that program."""
        ends = tuple(entries)
        for left in exits:
            for right in ends:
                way = left.then(right, right.node)
                edge = Edge(source=left.node, target=right.node, labels=way.labels(), kind=way.kind)
                self._drawn.append((walked, edge))


def _in_a_row(one: Fragment, other: Fragment) -> Fragment:
    entries, exits, past = one.entries, other.exits, None
    if one.past is not None:
        entries += tuple(one.past.then(way, way.node) for way in other.entries)
    if other.past is not None:
        exits = tuple(way.then(other.past, way.node) for way in one.exits) + exits
    if one.past is not None and other.past is not None:
        past = one.past.then(other.past, "")
    return Fragment(entries, exits, past, one.replies + other.replies)


def _after(way: Way, fragment: Fragment) -> Fragment:
    """Return a fragment that is entered only on a certain way."""
    return Fragment(
        tuple(way.then(entry, entry.node) for entry in fragment.entries),
        fragment.exits,
        None if fragment.past is None else way.then(fragment.past, ""),
        fragment.replies,
    )


def _beside(fragments: Sequence[Fragment]) -> Fragment:
    """Return fragments of which a job takes one; nothing at all if there is none."""
    past = [fragment.past for fragment in fragments if fragment.past is not None]
    notes = tuple(dict.fromkeys(note for way in past for note in way.notes))
    whole = Way("", min(sum(way.chance for way in past), 1.0), notes) if past else None
    return Fragment(
        _united(fragment.entries for fragment in fragments),
        _united(fragment.exits for fragment in fragments),
        whole if fragments else Way(),
        _united(fragment.replies for fragment in fragments),
    )


def _united(ways: Iterable[Sequence[Way]]) -> tuple[Way, ...]:
    return tuple(dict.fromkeys(way for some in ways for way in some))


def _case_way(data: Mapping[str, Any], kind: str) -> Way:
    """Return the label of one case of a choice."""
    chance = data.get("probability")
    if isinstance(chance, (int, float)) and not isinstance(chance, bool):
        return Way(chance=float(chance))
    if "condition" in data:
        return Way(notes=(shortened(f"if {code_words(data['condition'])}", _LONGEST_CONDITION),))
    words = "otherwise" if kind == "condition" else _CHOICES.get(kind, kind.replace("_", " "))
    return Way(notes=(words,))


def _kind_of(choice: object) -> str:
    return str(choice.get("kind", "?")) if isinstance(choice, Mapping) else "probability"


def _drop(held: list[str], pool: str) -> None:
    if pool in held:
        held.remove(pool)
