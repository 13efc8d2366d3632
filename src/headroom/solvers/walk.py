"""One walk of a class through its program: how often, how long, from where to where.

The walk pushes a unit of flow through the tree of a program. Flow remembers the station that it
left last, so that visits, service times and the routes between stations come out of one pass.
What a product form does not know (forks, tokens, time-outs, choices by state) is walked as well
as it can be and noted as a reason, each with its line.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headroom.solvers.moments import Moments, moments_of
from headroom.solvers.tree import Data, Node

OUTSIDE = ""
"""Where flow comes from before the first station and goes to after the last."""
ROUNDS = 200
"""Rounds until the routes of a network of nodes have settled."""
SETTLED = 1e-12

Flow = dict[str, float]


@dataclass(slots=True)
class Use:
    """Flow that a step sends to a station, and what it asks for."""

    station: str
    mass: float
    service: Moments
    location: str


@dataclass(slots=True)
class Section:
    """What runs one after the other: visits, work, delay, forks inside, tokens asked of pools."""

    visits: dict[str, float] = field(default_factory=dict)
    work: dict[str, float] = field(default_factory=dict)
    delay: float = 0.0
    joins: list["Join"] = field(default_factory=list)
    grants: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Join:
    """Arms that run at the same time; `quorum` of them are waited for, 0 for none.

    `mass` is how often a walk comes here; the arms hold totals over all those times.
    """

    mass: float
    arms: list[Section]
    quorum: int
    location: str


Path = tuple[str, ...]
"""The pools whose tokens a job holds, the last acquired last."""
BESIDE: Path = ("",)
"""Start of the paths of work that nobody waits for; no pool has an empty name."""


@dataclass(slots=True)
class Hold:
    """How a walk holds tokens of a pool: how often, how many at most, since which line."""

    grants: float = 0.0
    tokens: float = 0.0
    """Tokens of all grants together."""
    most_tokens: int = 0
    location: str = ""


@dataclass(slots=True)
class Part:
    """What a walk does while it holds the tokens of one path: as of a section, forks laid flat."""

    visits: dict[str, float] = field(default_factory=dict)
    work: dict[str, float] = field(default_factory=dict)
    delay: float = 0.0
    variance: float = 0.0
    """Variance of its services and delays together, as if each were drawn for itself."""
    grants: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Walk:
    """The walk of one class.

    Parameters
    ----------
    programs
        Tree of each program.
    attributes
        What is known of each attribute of a job.
    """

    programs: Mapping[str, Sequence[Node]]
    attributes: dict[str, Moments]
    uses: list[Use] = field(default_factory=list)
    flows: dict[tuple[str, str], float] = field(default_factory=dict)
    whole: Section = field(default_factory=Section)
    holds: dict[str, Hold] = field(default_factory=dict)
    parts: dict[Path, Part] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    unknown: str = ""
    """Why not even a mean is known, empty where all are."""
    _section: Section = field(default_factory=Section)
    _held: dict[str, int] = field(default_factory=dict)
    _under: Path = ()
    """Where the holds of this program start: BESIDE, or what its callers hold."""
    _is_rehearsal: bool = False

    def run(self, program: str) -> None:
        """Walk `program` once, from outside to outside."""
        self._section = self.whole
        left = self._program(program, {OUTSIDE: 1.0})
        for origin, mass in left.items():
            self._route(origin, OUTSIDE, mass)

    def _program(self, name: str, flow: Flow) -> Flow:
        return self._sequence(self.programs[name], flow)

    def _sequence(self, nodes: Sequence[Node], flow: Flow) -> Flow:
        for place, node in enumerate(nodes):
            if node.op == "reply":
                self._beside(node, [nodes[place + 1 :]], flow, quorum=0, is_reply=True)
                self._note(node, "a call goes on working after its reply (second phase)")
                return flow
            flow = self._step(node, flow)
        return flow

    def _step(self, node: Node, flow: Flow) -> Flow:
        handle = _HANDLERS.get(node.op)
        if handle is None:
            self._note(node, f"the step {node.op!r} is not known to the solvers")
            return flow
        return handle(self, node, flow)

    def _call(self, node: Node, flow: Flow) -> Flow:
        under, held = self._under, self._held
        self._under, self._held = (*under, *held), {}
        flow = self._program(str(node.data["program"]), flow)
        self._under, self._held = under, held
        return flow

    def _start(self, node: Node, flow: Flow) -> Flow:
        program = self.programs[str(node.data["program"])]
        self._beside(node, [program], flow, quorum=0)
        self._note(node, f"starts {node.data['program']!r} without waiting for it")
        return flow

    def _change_priority(self, node: Node, flow: Flow) -> Flow:
        self._note(node, "a job changes its priority on the way")
        return flow

    def _use(self, node: Node, flow: Flow) -> Flow:
        station, mass = str(node.data["station"]), _mass(flow)
        service = self._moments(node, node.data["service"])
        if not self._is_rehearsal and mass > 0:
            self.uses.append(Use(station, mass, service, node.location))
            _add(self._section.visits, station, mass)
            _add(self._section.work, station, mass * service.mean)
            _add(self._part.visits, station, mass)
            _add(self._part.work, station, mass * service.mean)
            self._part.variance += mass * service.c2 * service.mean**2
            for origin, part in flow.items():
                self._route(origin, station, part)
        if node.data.get("reserve"):
            self._note(node, "service starts only once the next station has a place (blocking)")
        return {station: mass}

    def _delay(self, node: Node, flow: Flow) -> Flow:
        found, mass = self._moments(node, node.data["time"]), _mass(flow)
        if not self._is_rehearsal:
            self._section.delay += mass * found.mean
            self._part.delay += mass * found.mean
            self._part.variance += mass * found.c2 * found.mean**2
        return flow

    @property
    def _part(self) -> Part:
        return self.parts.setdefault((*self._under, *self._held), Part())

    def _moments(self, node: Node, amount: Data) -> Moments:
        found = moments_of(amount, self.attributes)
        if math.isnan(found.mean):
            self.unknown = self.unknown or (
                f"{node.location}: the mean of what the step {node.op!r} draws cannot be computed"
            )
        elif amount.get("kind") == "expression" and amount["code"]:
            self._note(node, "a time depends on an attribute of the job")
        return found

    def _acquire(self, node: Node, flow: Flow) -> Flow:
        pool, tokens, mass = str(node.data["pool"]), int(node.data["tokens"]), _mass(flow)
        hold = self.holds.setdefault(pool, Hold(location=node.location))
        before = self._held.get(pool, 0)
        hold.most_tokens = max(hold.most_tokens, before + tokens)
        if not self._is_rehearsal and mass > 0:
            hold.tokens += mass * tokens
            if not before:
                hold.grants += mass
                _add(self._section.grants, pool, mass)
                _add(self._part.grants, pool, mass)
        self._held[pool] = before + tokens
        return flow

    def _release(self, node: Node, flow: Flow) -> Flow:
        pool = str(node.data["pool"])
        self._held[pool] = self._held.get(pool, 0) - int(node.data["tokens"])
        if self._held[pool] <= 0:
            if list(self._held)[-1] != pool:
                self._note(node, f"pool {pool!r} is given back before one acquired after it")
            del self._held[pool]
        return flow

    def _loop(self, node: Node, flow: Flow) -> Flow:
        count = node.data["count"]
        rounds = self._moments(node, count).mean
        if not rounds > 0:
            return flow
        entered = _share_entered(count)
        first = self._sequence(node.inside, _scaled(flow, entered))
        skipped = _scaled(flow, 1.0 - entered)
        more = rounds - entered
        if more <= 0:
            return _merged(first, skipped)
        last = self._sequence(node.inside, _scaled(first, more / entered))
        return _merged(_scaled(last, entered / more), skipped)

    def _branch(self, node: Node, flow: Flow) -> Flow:
        left: Flow = {}
        shares = self._shares(node, node.inside)
        for case, share in zip(node.inside, shares, strict=True):
            if share > 0:
                left = _merged(left, self._sequence(case.inside, _scaled(flow, share)))
        return left

    def _shares(self, node: Node, cases: Sequence[Node]) -> list[float]:
        """Return how often each case is taken; evenly where its state decides."""
        return self._case_shares(node, [case.data for case in cases])

    def _case_shares(self, node: Node, cases: Sequence[Data]) -> list[float]:
        kind = (node.data.get("choice") or {"kind": "probability"})["kind"]
        if kind == "probability":
            return [float(case["probability"]) for case in cases]
        words = {"round_robin": "in turn", "hash": "by a hash of the job"}
        how = words.get(kind, "by the state of the system")
        self._note(node, f"a route is chosen {how}; the cases are taken as equally likely")
        return [1.0 / len(cases)] * len(cases)

    def _network(self, node: Node, flow: Flow) -> Flow:
        names = [str(one.data["name"]) for one in node.inside]
        routes = [self._routes(one) for one in node.inside]
        visits = _node_visits(names, routes, _mass(flow))
        inflows: list[Flow] = [dict(flow) if place == 0 else {} for place in range(len(names))]
        was_rehearsal, self._is_rehearsal = self._is_rehearsal, True
        for _ in range(ROUNDS):
            outflows = self._pass(node, inflows, visits)
            following = _following(flow, names, routes, outflows)
            change = _distance(inflows, following)
            inflows = following
            if change < SETTLED * max(_mass(flow), 1.0):
                break
        self._is_rehearsal = was_rehearsal
        outflows = self._pass(node, inflows, visits)
        left: Flow = {}
        for outflow, ways in zip(outflows, routes, strict=True):
            left = _merged(left, _scaled(outflow, ways.get(None, 0.0)))
        return left

    def _pass(self, node: Node, inflows: Sequence[Flow], visits: Sequence[float]) -> list[Flow]:
        return [
            self._sequence(
                one.inside, _scaled(inflow, visit / mass if (mass := _mass(inflow)) else 0)
            )
            for one, inflow, visit in zip(node.inside, inflows, visits, strict=True)
        ]

    def _routes(self, node: Node) -> dict[str | None, float]:
        ways = node.data["to"]
        found: dict[str | None, float] = {}
        for way, share in zip(ways, self._case_shares(node, ways), strict=True):
            found[way["node"]] = found.get(way["node"], 0.0) + share
        return found

    def _fork(self, node: Node, flow: Flow) -> Flow:
        arms = [arm.inside for arm in node.inside]
        quorum = int(node.data.get("quorum") or len(arms))
        self._beside(node, arms, flow, quorum=quorum)
        self._note(node, "a fork runs several things for one job at the same time")
        if node.data.get("rest") == "cancel" and quorum < len(arms):
            self._note(node, "arms that are not waited for are cancelled; here they run to the end")
        return flow

    def _beside(
        self,
        node: Node,
        arms: Sequence[Sequence[Node]],
        flow: Flow,
        *,
        quorum: int,
        is_reply: bool = False,
    ) -> None:
        """Walk `arms` beside each other, each as a section of its own.

        What follows a reply keeps what its own program holds, not what its callers do.
        """
        outer, under, held = self._section, self._under, self._held
        start = (*under, *held) if quorum else BESIDE
        sections = []
        for arm in arms:
            self._section, self._under, self._held = Section(), start, {}
            if is_reply:
                self._held = dict(held)
            for origin, mass in self._sequence(arm, dict(flow)).items():
                self._route(origin, OUTSIDE, mass)
            sections.append(self._section)
        self._section, self._under, self._held = outer, under, held
        if not self._is_rehearsal:
            outer.joins.append(Join(_mass(flow), sections, quorum, node.location))

    def _attempt(self, node: Node, flow: Flow) -> Flow:
        if node.data.get("timeout") is not None or int(node.data.get("tries", 1)) > 1:
            self._note(node, "an attempt may time out and be tried again; here it never fails")
        for part in node.inside:
            if part.op == "work":
                flow = self._sequence(part.inside, flow)
        return flow

    def _set(self, node: Node, flow: Flow) -> Flow:
        self.attributes[str(node.data["attribute"])] = moments_of(
            node.data["value"], self.attributes
        )
        return flow

    def _route(self, origin: str, target: str, mass: float) -> None:
        if not self._is_rehearsal and mass > 0:
            key = (origin, target)
            self.flows[key] = self.flows.get(key, 0.0) + mass

    def _note(self, node: Node, what: str) -> None:
        self.reasons.setdefault(f"{node.location}: {what}", node.op)


_HANDLERS: Mapping[str, Callable[[Walk, Node, Flow], Flow]] = {
    "use": Walk._use,
    "delay": Walk._delay,
    "acquire": Walk._acquire,
    "release": Walk._release,
    "loop": Walk._loop,
    "branch": Walk._branch,
    "network": Walk._network,
    "fork": Walk._fork,
    "call": Walk._call,
    "start": Walk._start,
    "attempt": Walk._attempt,
    "set": Walk._set,
    "prioritize": Walk._change_priority,
}


def _share_entered(count: Data) -> float:
    """Return the probability that a loop is entered at all."""
    values = count.get("values")
    if values is None:
        return 1.0
    weights = count.get("weights") or [1.0] * len(values)
    entered = sum(w for value, w in zip(values, weights, strict=True) if value > 0)
    return float(entered / sum(weights))


def _node_visits(
    names: Sequence[str], routes: Sequence[Mapping[str | None, float]], mass: float
) -> list[float]:
    """Return the visits of each node of a network that is entered at the first."""
    matrix = np.eye(len(names))
    for i, ways in enumerate(routes):
        for j, name in enumerate(names):
            matrix[j, i] -= ways.get(name, 0.0)
    entries = np.zeros(len(names))
    entries[0] = mass
    return [float(visit) for visit in np.linalg.solve(matrix, entries)]


def _following(
    flow: Flow,
    names: Sequence[str],
    routes: Sequence[Mapping[str | None, float]],
    outflows: Sequence[Flow],
) -> list[Flow]:
    found: list[Flow] = [dict(flow) if place == 0 else {} for place in range(len(names))]
    for outflow, ways in zip(outflows, routes, strict=True):
        for place, name in enumerate(names):
            share = ways.get(name, 0.0)
            if share > 0:
                found[place] = _merged(found[place], _scaled(outflow, share))
    return found


def _distance(before: Sequence[Flow], after: Sequence[Flow]) -> float:
    return max(
        (
            abs(old.get(name, 0.0) - new.get(name, 0.0))
            for old, new in zip(before, after, strict=True)
            for name in {**old, **new}
        ),
        default=0.0,
    )


def _mass(flow: Flow) -> float:
    return math.fsum(flow.values())


def _scaled(flow: Flow, factor: float) -> Flow:
    return {name: mass * factor for name, mass in flow.items() if mass * factor > 0}


def _merged(left: Flow, right: Flow) -> Flow:
    result = dict(left)
    for name, mass in right.items():
        result[name] = result.get(name, 0.0) + mass
    return result


def _add(totals: dict[str, float], name: str, amount: float) -> None:
    totals[name] = totals.get(name, 0.0) + amount
