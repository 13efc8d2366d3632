"""The programs of a model as a graph: sites where jobs are, and transitions between them.

JMT has no programs. A program becomes the sites of its stations, delays, choices and forks, with
the probabilities between them; identical sites are merged. Loops with a fixed count are unrolled,
and geometric loops lead back with a probability.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from headroom.simulation import Distribution, Model, SimulationError
from headroom.simulation.checks.structure import (
    Acquire,
    Body,
    BranchBlock,
    Call,
    Delay,
    ForkBlock,
    LoopBlock,
    NetworkBlock,
    Node,
    Release,
    Use,
    parse,
)

MOST_SITES = 5_000
DEEPEST = 60
_POLICIES = {"round_robin": "round_robin", "shortest_queue": "shortest_queue",
             "sampled_queue": "two_choices"}  # fmt: skip

Kind: TypeAlias = Literal["use", "delay", "choice", "fork", "acquire", "release"]


@dataclass(eq=False, slots=True)
class Site:
    """A place in the flow of a class.

    `law` is the service or delay; `policy` how a choice is made; `targets` what follows, None
    being the end of the program or of an arm; `held` the pool that jobs hold here.
    """

    kind: Kind
    location: str
    name: str = ""
    law: Distribution | None = None
    policy: str = "probability"
    targets: list[tuple["Site | None", float]] = field(default_factory=list)
    arms: "list[Site | None]" = field(default_factory=list)
    quorum: int | None = None
    inside: "Site | None" = None
    held: str = ""


def flow_of(model: Model, program: str) -> "Site | None":
    """Return where a walk of `program` begins; None if it does nothing.

    Raises
    ------
    SimulationError
        A step has no counterpart in JMT; the message names its line.
    """
    compiler = _Compiler(model)
    start = compiler.compiled(parse(model.programs[program]), None, 0)
    _hold(start)
    return start


def sites_of(start: "Site | None") -> list[Site]:
    """Return all sites reached from a start, arms of forks included, in order of discovery."""
    found: dict[Site, None] = {}
    waiting = [] if start is None else [start]
    for site in waiting:
        if site not in found:
            found[site] = None
            waiting += [one for one, _ in site.targets if one is not None]
            waiting += [arm for arm in site.arms if arm is not None]
    return list(found)


class _Compiler:
    def __init__(self, model: Model) -> None:
        self._model = model
        self._count = 0
        self._fork: Site | None = None

    def compiled(self, body: Body, then: Site | None, depth: int) -> Site | None:
        """Return the first site of `body`, after which `then` follows."""
        if depth > DEEPEST:
            raise SimulationError(
                f"{body[0].location if body else ''}: blocks are nested deeper than {DEEPEST}",
                cure="nest fewer blocks",
            )
        for node in reversed(body):
            then = self._node(node, then, depth)
        return then

    def _site(self, kind: Kind, node: Node, then: Site | None, name: str = "") -> Site:
        self._count += 1
        if self._count > MOST_SITES:
            raise SimulationError(
                f"{node.location}: the programs have more than {MOST_SITES:,} steps unrolled",
                cure="make the number of times of loops geometric, or smaller",
            )
        return Site(kind, node.location, name, targets=[(then, 1.0)], inside=self._fork)

    def _node(self, node: Node, then: Site | None, depth: int) -> Site | None:  # noqa: PLR0911 - a line for each kind of step
        match node:
            case Use():
                return self._use(node, then)
            case Delay():
                site = self._site("delay", node, then)
                site.law = _as_law(node.time, node.location)
                return site
            case Acquire() | Release():
                return self._pool(node, then)
            case LoopBlock():
                return self._loop(node, then, depth)
            case BranchBlock():
                return self._branch(node, then, depth)
            case NetworkBlock():
                return self._network(node, then, depth)
            case ForkBlock():
                return self._forked(node, then, depth)
            case Call():
                return self.compiled(parse(self._model.programs[node.program]), then, depth + 1)
        raise _unknown(node)

    def _use(self, node: Use, then: Site | None) -> Site:
        _refuse_patience(node)
        if node.reserve:
            raise SimulationError(
                f"{node.location}: JMT has no blocking before service",
                cure="leave reserve out (blocking after service)",
            )
        site = self._site("use", node, then, node.station)
        site.law = _as_law(node.service, node.location)
        return site

    def _pool(self, node: Acquire | Release, then: Site | None) -> Site:
        if isinstance(node, Acquire):
            _refuse_patience(node)
        if node.tokens != 1:
            raise SimulationError(
                f"{node.location}: JMT has no requests for {node.tokens} tokens at once",
                cure="use pools by one token",
            )
        kind: Kind = "acquire" if isinstance(node, Acquire) else "release"
        return self._site(kind, node, then, node.pool)

    def _loop(self, node: LoopBlock, then: Site | None, depth: int) -> Site | None:
        law = _as_law(node.count, node.location)
        parameters = dict(law.parameters)
        if law.kind == "constant" and law.mean <= MOST_SITES:
            for _ in range(int(law.mean)):
                then = self.compiled(node.body, then, depth + 1)
            return then
        if law.kind != "geometric" or parameters["low"] not in {0, 1}:
            raise SimulationError(
                f"{node.location}: JMT has no loop of {law} times",
                cure="give a number of times, or a geometric law from 0 or 1 on",
            )
        # The mean counts the passes: after each, another follows with probability `again`.
        again = (law.mean - 1) / law.mean if parameters["low"] == 1 else law.mean / (law.mean + 1)
        turn = self._site("choice", node, then)
        first = self.compiled(node.body, turn, depth + 1)
        turn.targets = [(first, again), (then, 1 - again)]
        return first if parameters["low"] == 1 else turn

    def _branch(self, node: BranchBlock, then: Site | None, depth: int) -> Site:
        site = self._choice(node, node.kind, then)
        shares = self._shares(node, node.kind, [case.chosen.probability for case in node.cases])
        firsts = [self.compiled(case.body, then, depth + 1) for case in node.cases]
        self._check_queues(node, node.kind, [case.chosen.of for case in node.cases], firsts)
        site.targets = list(zip(firsts, shares, strict=True))
        return site

    def _network(self, node: NetworkBlock, then: Site | None, depth: int) -> Site:
        turns = {one.name: self._choice(one, one.kind, then) for one in node.nodes}
        entries = {one.name: self._site("choice", node, None) for one in node.nodes}
        for one in node.nodes:
            first = self.compiled(one.body, turns[one.name], depth + 1)
            entries[one.name].targets = [(first, 1.0)]
        for one in node.nodes:
            shares = self._shares(node, one.kind, [way.chosen.probability for way in one.routes])
            targets = [then if way.node is None else entries[way.node] for way in one.routes]
            behind = [None if way.node is None else entries[way.node].targets[0][0]
                      for way in one.routes]  # fmt: skip
            self._check_queues(node, one.kind, [way.chosen.of for way in one.routes], behind)
            turns[one.name].targets = list(zip(targets, shares, strict=True))
        return entries[node.nodes[0].name]

    def _choice(self, node: object, kind: str, then: Site | None) -> Site:
        location = str(getattr(node, "location", ""))
        if kind not in {"probability", *_POLICIES}:
            raise SimulationError(
                f"{location}: JMT has no choice by {kind}",
                cure="choose by probability, round robin, shortest queue or two choices",
            )
        site = Site("choice", location, targets=[(then, 1.0)], inside=self._fork)
        site.policy = _POLICIES.get(kind, "probability")
        return site

    def _shares(self, node: Node, kind: str, given: Sequence[float | None]) -> list[float]:
        if kind != "probability":
            return [1 / len(given)] * len(given)
        assert all(share is not None for share in given), node.location  # noqa: S101 - the builder's
        return [share or 0.0 for share in given]

    def _check_queues(
        self,
        node: Node,
        kind: str,
        queues: Sequence[tuple[str, str] | None],
        firsts: Sequence[Site | None],
    ) -> None:
        """JMT compares the jobs at the stations that follow, not those of other stations."""
        if kind not in {"shortest_queue", "sampled_queue"}:
            return
        servers = set()
        for queue, first in zip(queues, firsts, strict=True):
            is_next = first is not None and first.kind == "use" and queue == ("station", first.name)
            if not is_next or first is None:
                raise SimulationError(
                    f"{node.location}: JMT compares the queues of the stations that come next, "
                    "and these are others",
                    cure="let each case begin with the station whose queue is compared",
                )
            servers.add(self._model.stations[first.name].servers)
        if len(servers) > 1:
            raise SimulationError(
                f"{node.location}: JMT compares numbers of jobs, not of jobs a server",
                cure="compare stations with equal numbers of servers",
            )

    def _forked(self, node: ForkBlock, then: Site | None, depth: int) -> Site:
        if node.cancels:
            raise SimulationError(
                f"{node.location}: JMT does not cancel the rest of a fork",
                cure="leave cancel out",
            )
        site = self._site("fork", node, then)
        site.quorum = node.quorum
        outer, self._fork = self._fork, site
        site.arms = [self.compiled(arm.body, None, depth + 1) for arm in node.arms]
        self._fork = outer
        return site


_WORDS = {
    "Assign": "attributes of jobs",
    "Prioritize": "priorities that change",
    "Reply": "replies before the end",
    "StartJob": "programs that are started in parallel",
    "AttemptBlock": "attempts, times out or retries",
}


def _refuse_patience(node: Use | Acquire) -> None:
    """Refuse a step whose jobs may leave the queue."""
    if node.patience is not None:
        raise SimulationError(
            f"{node.location}: jobs lose patience and leave the queue, which the JMT format cannot "
            "express",
            cure="leave patience out",
        )


def _unknown(node: Node) -> SimulationError:
    return SimulationError(
        f"{node.location}: JMT has no {_WORDS.get(type(node).__name__, 'such step')}",
        cure="keep this model in Headroom, or leave the step out",
    )


def _as_law(amount: object, location: str) -> Distribution:
    if not isinstance(amount, Distribution):
        raise SimulationError(
            f"{location}: JMT computes no expressions ({amount})", cure="give a distribution"
        )
    return amount


def _hold(start: Site | None) -> None:
    """Note at each site which pool its jobs hold; refuse more than one, or one and none."""
    held: dict[Site, str] = {}
    waiting: list[tuple[Site, str]] = [] if start is None else [(start, "")]
    while waiting:
        site, pool = waiting.pop()
        if site in held:
            if held[site] != pool:
                raise SimulationError(
                    f"{site.location}: jobs come here with a token of {held[site] or pool!r} and "
                    "without one",
                    cure="acquire and release around the same stations on every way",
                )
            continue
        held[site] = site.held = pool
        after = _after(site, pool)
        waiting += [(one, after) for one, _ in site.targets if one is not None]
        waiting += [(arm, pool) for arm in site.arms if arm is not None]


def _after(site: Site, pool: str) -> str:
    if site.kind == "release":
        return ""
    if site.kind != "acquire":
        return pool
    if pool:
        raise SimulationError(
            f"{site.location}: jobs hold a token of {pool!r} and acquire one of {site.name!r}; "
            "regions of JMT do not overlap",
            cure="hold one pool at a time",
        )
    return site.name


@dataclass(frozen=True, slots=True)
class Hop:
    """A way to a site where jobs stay, and whether tokens change hands on it."""

    target: Site | None
    share: float
    is_touched: bool


def hops(targets: Sequence[tuple[Site | None, float]]) -> list[Hop]:
    """Return where targets lead when choices by probability and pools are passed through."""
    found: dict[tuple[Site | None, bool], float] = {}
    for hop in _passed([(target, share, False) for target, share in targets]):
        key = (hop.target, hop.is_touched)
        found[key] = found.get(key, 0.0) + hop.share
    return [Hop(target, share, touched) for (target, touched), share in found.items() if share > 0]


def _passed(start: list[tuple[Site | None, float, bool]]) -> Iterator[Hop]:
    waiting = [(*one, 0) for one in reversed(start)]
    while waiting:
        site, share, touched, length = waiting.pop()
        is_pool = site is not None and site.kind in {"acquire", "release"}
        is_chance = site is not None and site.kind == "choice" and site.policy == "probability"
        if site is None or not (is_pool or is_chance):
            yield Hop(site, share, touched)
            continue
        if length > MOST_SITES or len(waiting) > MOST_SITES:
            raise SimulationError(
                f"{site.location}: a loop passes no station and no delay",
                cure="let something happen in the loop",
            )
        for target, part in reversed(site.targets):
            if part > 0:
                waiting.append((target, share * part, touched or is_pool, length + 1))


def groups(sites: Sequence[Site]) -> Mapping[Site, int]:
    """Return site -> the number of its group: sites of one group do and lead to the same.

    Groups are refined until each leads to the same groups with the same probabilities (the
    coarsest lumping; Kemeny & Snell 1960, Finite Markov Chains).
    """
    numbers: dict[Site, int] = dict.fromkeys(sites, 0)
    count = 0
    while True:
        seen: dict[object, int] = {}
        refined = {site: seen.setdefault(_signature(site, numbers), len(seen)) for site in sites}
        if len(seen) == count:
            return refined
        numbers, count = refined, len(seen)


def _signature(site: Site, numbers: Mapping[Site, int]) -> object:
    def number(target: Site | None) -> int:
        return -1 if target is None else numbers[target]

    leads: dict[tuple[int, bool], float] = {}
    for hop in hops(site.targets):
        key = (number(hop.target), hop.is_touched)
        leads[key] = leads.get(key, 0.0) + hop.share
    ordered = tuple(sorted((*key, round(share, 12)) for key, share in leads.items()))
    inside = None if site.inside is None else id(site.inside)
    is_own = site.kind == "fork" or site.policy != "probability"
    own = id(site) if is_own else None
    return (numbers[site], site.kind, site.name, site.law, site.held, inside, own, ordered)
