"""Random programs for property tests: written with the builder, and repeated as an outline."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from headroom.simulation.language.model import Model
from headroom.simulation.language.program import Program
from headroom.simulation.laws.distribution import exponential

if TYPE_CHECKING:
    from headroom.simulation.language.blocks import Policy

Outline = list[Any]
"""The written blocks: the name of each step, and for each block its name and content."""


@dataclass(slots=True)
class Parts:
    """A model and the parts that its programs use."""

    model: Model
    program: Program


def empty_model(*, may_deadlock: bool = True) -> Parts:
    """Return a model with stations, pools and an attribute, and an empty program."""
    model = Model("random", time_unit="ms", may_deadlock=may_deadlock)
    model.station("s0", servers=2)
    model.station("s1", buffer=3, when_full="reject")
    model.station("s2", buffer=0)
    model.station("s3", buffer=1)
    model.pool("k0", tokens=9)
    model.pool("k1", tokens=9)
    model.pool("k2", tokens=2)
    model.attribute("x")
    return Parts(model, model.program("p"))


def outlines(depth: int = 3) -> st.SearchStrategy[Outline]:
    """Return a strategy of outlines: nested lists of kinds."""
    leaf = st.sampled_from(["use0", "use1", "use2", "use3", "delay", "set", "prioritize"])
    holds = ["hold0", "hold1", "hold2"]
    choices = ["branch", "when", "turn", "queue", "number"]
    block = st.sampled_from([*holds, *choices, "loop", "network", "fork", "attempt"])
    body: st.SearchStrategy[Outline] = st.lists(leaf, max_size=3)
    for _ in range(depth):
        inner = st.tuples(block, body, body)
        body = st.lists(st.one_of(leaf, inner), max_size=3)
    return body


def write(parts: Parts, outline: Outline) -> None:
    """Write an outline with the builder."""
    for item in outline:
        if isinstance(item, str):
            _write_leaf(parts, item)
        else:
            _write_block(parts, *item)


def _write_leaf(parts: Parts, kind: str) -> None:
    model, program = parts.model, parts.program
    match kind:
        case "use0" | "use1" | "use2" | "use3":
            program.use(model.stations[f"s{kind[-1]}"], exponential(1))
        case "delay":
            program.delay(model.attributes["x"] + 1)
        case "set":
            program.set(model.attributes["x"], exponential(2))
        case "prioritize":
            program.prioritize(-1)


def _write_block(parts: Parts, kind: str, one: Outline, two: Outline) -> None:
    program = parts.program
    match kind:
        case "hold0" | "hold1" | "hold2":
            with program.holding(parts.model.pools[f"k{kind[-1]}"]):
                write(parts, [*one, *two])
        case "loop":
            with program.loop(2):
                write(parts, [*one, *two])
        case "network":
            _write_network(parts, one, two)
        case "fork":
            with program.fork(quorum=1) as fork:
                for arm in (one, two):
                    with fork.arm():
                        write(parts, arm)
        case "attempt":
            with program.attempt(timeout=5, tries=2) as attempt:
                with attempt.work():
                    write(parts, one)
                with attempt.failed():
                    write(parts, two)
        case _:
            _write_branch(parts, kind, one, two)


def _write_network(parts: Parts, one: Outline, two: Outline) -> None:
    program = parts.program
    with program.network() as net:
        with net.node("one", to={"two": 0.5, net.leave: 0.5}):
            write(parts, one)
        with net.node("two", to=["one", net.leave]):
            write(parts, two)


def _write_branch(parts: Parts, kind: str, one: Outline, two: Outline) -> None:
    model, program = parts.model, parts.program
    if kind in {"branch", "when"}:
        with program.branch() as branch:
            first = (
                branch.case(0.25) if kind == "branch" else branch.when(model.attributes["x"] > 1)
            )
            with first:
                write(parts, one)
            with branch.otherwise():
                write(parts, two)
        return
    is_queue = kind == "queue"
    policies: dict[str, Policy] = {"queue": "shortest_queue", "number": "index"}
    policy = policies.get(kind, "round_robin")
    by = model.jobs(model.stations["s0"]) % 2 if kind == "number" else None
    with program.branch(policy, by=by) as branch:
        for name, body in (("s0", one), ("s1", two)):
            with branch.case(of=model.stations[name] if is_queue else None):
                write(parts, body)
