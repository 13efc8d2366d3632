"""The structure of a program: its flat list of steps parsed into a tree of typed nodes.

All code that examines a model without running it (checks, solvers, pictures) starts here:

>>> from headroom.simulation import Model, exponential
>>> model = Model("shop", time_unit="ms")
>>> cpu, request = model.station("cpu"), model.program("request")
>>> with request.loop(3):
...     request.use(cpu, exponential(5))
>>> (loop,) = parse(request)
>>> loop.count.mean, loop.body[0].station
(3.0, 'cpu')

`walk` yields all nodes, outer before inner. Functions that treat each kind of node differently and
need the results of inner nodes are written as generators that yield their inner calls, and
`run_deep` runs them: programs may be nested deeper than Python's own stack.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

from headroom.simulation.language.amounts import Amount
from headroom.simulation.language.program import Program
from headroom.simulation.language.step import Step

Body: TypeAlias = tuple["Node", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """Queue for a server of `station` and occupy it for `service`."""

    location: str
    station: str
    service: Amount
    reserve: bool
    patience: Amount | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Delay:
    """Let `time` pass."""

    location: str
    time: Amount


@dataclass(frozen=True, slots=True, eq=False)
class Acquire:
    """Wait for `tokens` of `pool`."""

    location: str
    pool: str
    tokens: int
    patience: Amount | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Give `tokens` of `pool` back."""

    location: str
    pool: str
    tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class Assign:
    """Give `attribute` a new value (the step ``set``)."""

    location: str
    attribute: str
    value: Amount


@dataclass(frozen=True, slots=True, eq=False)
class Prioritize:
    """Give the job another priority."""

    location: str
    value: Amount


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """Change ``servers`` or ``speed`` of the station `name`, or ``tokens`` of the pool `name`."""

    location: str
    kind: str
    name: str
    value: Amount


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Walk `program` and wait until it ends or replies."""

    location: str
    program: str


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """Let the caller continue."""

    location: str


@dataclass(frozen=True, slots=True, eq=False)
class StartJob:
    """Start a job that walks `program`, and continue (the step ``start``)."""

    location: str
    program: str


@dataclass(frozen=True, slots=True, eq=False)
class LoopBlock:
    """Repeat `body` `count` times."""

    location: str
    count: Amount
    body: Body


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One case of a branch, or one route of a network's node.

    `probability` is None if the case is chosen in another way; `condition` is the kernel's postfix
    code, None for otherwise; `of` is ("station" or "pool", name) if queues are compared.
    """

    probability: float | None
    condition: Sequence[object] | None
    of: tuple[str, str] | None


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One case of a branch."""

    location: str
    chosen: Choice
    body: Body


@dataclass(frozen=True, slots=True, eq=False)
class BranchBlock:
    """Take one of `cases`; `kind` is the kernel's name of the rule of choice.

    `by` is the kernel's postfix code of the factor, None if there is none.
    """

    location: str
    kind: str
    cases: tuple[Case, ...]
    by: Sequence[object] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """A route to `node`, None for out of the network."""

    node: str | None
    chosen: Choice


@dataclass(frozen=True, slots=True, eq=False)
class NetworkNode:
    """A node of a network: steps, then one of `routes`."""

    location: str
    name: str
    kind: str
    routes: tuple[Route, ...]
    body: Body


@dataclass(frozen=True, slots=True, eq=False)
class NetworkBlock:
    """Walk from node to node; the first is where jobs enter."""

    location: str
    nodes: tuple[NetworkNode, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """One arm of a fork."""

    location: str
    body: Body


@dataclass(frozen=True, slots=True, eq=False)
class ForkBlock:
    """Run `arms` side by side, wait for `quorum` of them; `cancels` decides about the others."""

    location: str
    quorum: int | None
    cancels: bool
    arms: tuple[Arm, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AttemptBlock:
    """Try `work` up to `tries` times; then `failed`, None if the job fails with the last try."""

    location: str
    timeout: Amount | None
    tries: int
    pause: Amount | None
    work: Body
    failed: Body | None


Leaf: TypeAlias = (
    Use | Delay | Acquire | Release | Assign | Prioritize | Change | Call | Reply | StartJob
)
Block: TypeAlias = LoopBlock | BranchBlock | NetworkBlock | ForkBlock | AttemptBlock
Node: TypeAlias = Leaf | Block

_BLOCKS = frozenset({"loop", "branch", "case", "network", "node", "fork", "arm"}) | {
    "attempt",
    "work",
    "failed",
}


def parse(program: Program) -> Body:
    """Return the steps of `program` as a tree; the program must be complete (no open block)."""
    return parse_steps(program.steps)


def parse_steps(steps: Sequence[Step]) -> Body:
    """Return a flat list of steps as a tree."""
    stack: list[tuple[Step | None, list[Any]]] = [(None, [])]
    for step in steps:
        if step.op in _BLOCKS:
            stack.append((step, []))
        elif step.op == "end":
            opened, inside = stack.pop()
            stack[-1][1].append(_block(cast("Step", opened), inside))
        else:
            stack[-1][1].append(_leaf(step))
    assert len(stack) == 1, "a program with an open block was parsed"  # noqa: S101 - a bug of ours
    return tuple(stack[0][1])


def parts(node: Node) -> tuple[Body, ...]:
    """Return the bodies inside a node, in order; none for a simple step."""
    match node:
        case LoopBlock():
            return (node.body,)
        case BranchBlock():
            return tuple(case.body for case in node.cases)
        case NetworkBlock():
            return tuple(inner.body for inner in node.nodes)
        case ForkBlock():
            return tuple(arm.body for arm in node.arms)
        case AttemptBlock():
            return (node.work,) if node.failed is None else (node.work, node.failed)
    return ()


def walk(body: Body) -> Iterator[Node]:
    """Yield every node of a tree, in the order of the program, outer before inner.

    Examples
    --------
    >>> from headroom.simulation import Model
    >>> program = Model("pause").program("job")
    >>> with program.loop(2):
    ...     program.delay(1)
    >>> [type(node).__name__ for node in walk(parse(program))]
    ['LoopBlock', 'Delay']
    """
    waiting = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        for part in reversed(parts(node)):
            waiting.extend(reversed(part))


T = TypeVar("T")
Task: TypeAlias = Generator["Task[Any]", Any, T]
"""A function that yields its inner calls and is sent their results."""


def run_deep(task: Task[T]) -> T:
    """Run a recursive function written as a generator, to any depth.

    Examples
    --------
    >>> def depth(levels):
    ...     return 0 if levels == 0 else 1 + (yield depth(levels - 1))
    >>> run_deep(depth(100_000))
    100000
    """
    stack: list[Task[Any]] = [task]
    result: Any = None
    while stack:
        try:
            stack.append(stack[-1].send(result))
            result = None
        except StopIteration as done:
            stack.pop()
            result = done.value
    return cast("T", result)


def each(tasks: Iterable[Task[T]]) -> Task[list[T]]:
    """Run several recursive functions one after the other; return what each gave."""
    results: list[T] = []
    for task in tasks:
        result: T = yield task
        results.append(result)
    return results


def _leaf(step: Step) -> Node:  # noqa: C901, PLR0911 - a line for each kind of step
    data, at = step.data, step.location
    match step.op:
        case "use":
            is_reserved = bool(data.get("reserve"))
            patience = step.amounts.get("patience")
            return Use(at, str(data["station"]), step.amounts["service"], is_reserved, patience)
        case "delay":
            return Delay(at, step.amounts["time"])
        case "acquire":
            tokens = int(str(data["tokens"]))
            return Acquire(at, str(data["pool"]), tokens, step.amounts.get("patience"))
        case "release":
            return Release(at, str(data["pool"]), int(str(data["tokens"])))
        case "set":
            return Assign(at, str(data["attribute"]), step.amounts["value"])
        case "change":
            ((kind, name),) = cast("dict[str, str]", data["of"]).items()
            return Change(at, kind, name, step.amounts["value"])
        case "prioritize":
            return Prioritize(at, step.amounts["value"])
        case "call":
            return Call(at, str(data["program"]))
        case "start":
            return StartJob(at, str(data["program"]))
        case "reply":
            return Reply(at)
    raise AssertionError(step.op)


def _block(step: Step, inside: list[Any]) -> Any:  # noqa: ANN401, PLR0911 - any kind of node or part
    data, at, body = step.data, step.location, tuple(inside)
    match step.op:
        case "loop":
            return LoopBlock(at, step.amounts["count"], body)
        case "case":
            return Case(at, _choice(data), body)
        case "branch":
            choice = cast("dict[str, Any]", data.get("choice", {}))
            return BranchBlock(at, _kind(data), body, choice.get("by"))
        case "node":
            routes = cast("list[dict[str, Any]]", data["to"])
            ways = tuple(Route(route["node"], _choice(route)) for route in routes)
            return NetworkNode(at, str(data["name"]), _kind(data), ways, body)
        case "network":
            return NetworkBlock(at, body)
        case "arm":
            return Arm(at, body)
        case "fork":
            quorum = cast("int | None", data.get("quorum"))
            return ForkBlock(at, quorum, data.get("rest") == "cancel", body)
        case "attempt":
            amounts, tries = step.amounts, int(str(data["tries"]))
            work, *failed = inside
            after = failed[0] if failed else None
            return AttemptBlock(
                at, amounts.get("timeout"), tries, amounts.get("pause"), work, after
            )
    return body


def _kind(data: dict[str, object]) -> str:
    choice = cast("dict[str, str]", data.get("choice", {}))
    return choice.get("kind", "probability")


def _choice(data: dict[str, Any]) -> Choice:
    of = data.get("of")
    return Choice(
        probability=data.get("probability"),
        condition=data.get("condition"),
        of=None if of is None else next(iter(of.items())),
    )
