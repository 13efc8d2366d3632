"""One walk of a class through its program: visits, service times, and routes.

The walk pushes a unit of flow through the tree of a program. Flow remembers the last station that
it left, so visits, service times and the routes between stations come out of one pass. Features
outside product form (forks, tokens, time-outs, choices by state) are walked as well as possible,
and each is noted as a reason with its line.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headroom.simulation import Distribution
from headroom.simulation.checks.structure import (
    Acquire,
    Assign,
    AttemptBlock,
    Body,
    BranchBlock,
    Call,
    Choice,
    Delay,
    ForkBlock,
    LoopBlock,
    NetworkBlock,
    NetworkNode,
    Node,
    Prioritize,
    Release,
    Reply,
    StartJob,
    Task,
    Use,
    each,
    parts,
    run_deep,
)
from headroom.simulation.checks.traffic import chosen_shares, passages
from headroom.simulation.language.amounts import Amount
from headroom.simulation.language.expression import Expression
from headroom.solvers.exact.finite import Known, Law, Way, mixed_law, moments
from headroom.solvers.moments import Moments, moments_of
from headroom.solvers.reasons import Reason

_WAYS = {
    "round_robin": ("turns", "in turn"),
    "hash": ("state route", "by a hash of the job"),
    "index": ("state route", "by a number that the job carries"),
    "shortest_queue": ("queue route", "by the state of the system"),
    "sampled_queue": ("queue route", "by the state of the system"),
}
"""Kind of a choice -> its reason, and the words for it."""
OUTSIDE = ""
"""Where flow comes from before the first station and goes to after the last."""
ROUNDS = 200
"""Rounds until the routes of a network of nodes, or what jobs carry in a loop, have settled."""
UNCHANGED = 1e-3
"""Relative change of a mean below which a loop is taken to continue alike."""
SETTLED = 1e-12

Flow = dict[str, float]


@dataclass(slots=True)
class Visit:
    """Flow that a step sends to a station, and what it asks for."""

    station: str
    mass: float
    service: Moments
    location: str
    patience: Moments | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """Jobs that join the shortest of `sample` of these stations; 0 where they take turns."""

    stations: tuple[str, ...]
    sample: int
    mass: float
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


def add_join(joins: list[Join], join: Join) -> None:
    """Add a join; one that is like an earlier one, only walked another time, is counted to it."""
    look = _look(join)
    for place, other in enumerate(joins):
        if other.location == join.location and _look(other) == look:
            arms = [_sum(*pair) for pair in zip(other.arms, join.arms, strict=True)]
            joins[place] = replace(other, mass=other.mass + join.mass, arms=arms)
            return
    joins.append(join)


def _look(join: Join) -> tuple[object, ...]:
    """Return the effect of one passage of a join, to nine digits."""
    return join.quorum, tuple(_arm_look(arm, join.mass) for arm in join.arms)


def _arm_look(arm: Section, mass: float) -> tuple[object, ...]:
    tables = [
        tuple((name, f"{value / mass:.9g}") for name, value in sorted(table.items()))
        for table in (arm.visits, arm.work, arm.grants)
    ]
    inside = tuple((f"{join.mass / mass:.9g}", _look(join)) for join in arm.joins)
    return (*tables, f"{arm.delay / mass:.9g}", inside)


def _sum(one: Section, other: Section) -> Section:
    found = Section(dict(one.visits), dict(one.work), one.delay + other.delay, list(one.joins),
                    dict(one.grants))  # fmt: skip
    for own, its in ((found.visits, other.visits), (found.work, other.work),
                     (found.grants, other.grants)):  # fmt: skip
        for name, value in its.items():
            _add(own, name, value)
    for join in other.joins:
        add_join(found.joins, join)
    return found


Path = tuple[str, ...]
"""The pools whose tokens a job holds, the last acquired last."""
BESIDE: Path = ("",)
"""Start of the paths of work that no job waits for; no pool has an empty name."""


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
        Moments of each attribute of a job.
    known
        Laws of those that take few values.
    """

    programs: Mapping[str, Body]
    attributes: dict[str, Moments]
    known: Known = field(default_factory=lambda: Known({}))
    uses: list[Visit] = field(default_factory=list)
    spreads: list[Spread] = field(default_factory=list)
    flows: dict[tuple[str, str], float] = field(default_factory=dict)
    whole: Section = field(default_factory=Section)
    holds: dict[str, Hold] = field(default_factory=dict)
    parts: dict[Path, Part] = field(default_factory=dict)
    reasons: dict[Reason, None] = field(default_factory=dict)
    unknown: str = ""
    """Why not even a mean is known, empty if all are."""
    _section: Section = field(default_factory=Section)
    _held: dict[str, int] = field(default_factory=dict)
    _under: Path = ()
    """Where the holds of this program start: BESIDE, or what its callers hold."""
    _is_rehearsal: bool = False

    def run(self, program: str) -> None:
        """Walk `program` once, from outside to outside."""
        self._section = self.whole
        left = run_deep(self._sequence(self.programs[program], {OUTSIDE: 1.0}))
        for origin, mass in left.items():
            self._route(origin, OUTSIDE, mass)

    def _sequence(self, body: Body, flow: Flow) -> Task[Flow]:
        for place, node in enumerate(body):
            if isinstance(node, Reply):
                self._note(node, "reply", "a call continues after its reply (second phase)")
                yield self._beside(node, [body[place + 1 :]], flow, quorum=0)
                return flow
            if parts(node) or isinstance(node, (Call, StartJob)):
                flow = yield self._block(node, flow)
            else:
                flow = self._leaf(node, flow)
        return flow

    def _block(self, node: Node, flow: Flow) -> Task[Flow]:
        result: Flow = flow
        match node:
            case LoopBlock():
                result = yield self._loop(node, flow)
            case BranchBlock():
                result = yield self._branch(node, flow)
            case NetworkBlock():
                result = yield self._network(node, flow)
            case ForkBlock():
                yield self._fork(node, flow)
            case AttemptBlock():
                what = "an attempt may time out or be rejected and tried again; here it never fails"
                self._note(node, "attempt", what)
                result = yield self._sequence(node.work, flow)
            case Call():
                result = yield self._call(node, flow)
            case StartJob():
                self._note(node, "start", f"starts {node.program!r} without waiting for it")
                yield self._beside(node, [self.programs[node.program]], flow, quorum=0)
        return result

    def _leaf(self, node: Node, flow: Flow) -> Flow:
        match node:
            case Use():
                return self._use(node, flow)
            case Delay():
                self._delay(node, _mass(flow))
            case Acquire():
                self._acquire(node, _mass(flow))
            case Release():
                self._release(node)
            case Assign():
                self._assign(node)
            case Prioritize():
                self._note(node, "own priority", "a job changes its priority on the way")
        return flow

    def _assign(self, node: Assign) -> None:
        law = self.known.law(node.value)
        self.known.laws.pop(node.attribute, None)
        if law:
            self.known.laws[node.attribute] = law
        found = moments(law) if law else moments_of(node.value, self.attributes)
        self.attributes = {**self.attributes, node.attribute: found}

    def _call(self, node: Call, flow: Flow) -> Task[Flow]:
        under, held = self._under, self._held
        self._under, self._held = (*under, *held), {}
        left: Flow = yield self._sequence(self.programs[node.program], flow)
        self._under, self._held = under, held
        return left

    def _use(self, node: Use, flow: Flow) -> Flow:
        station, mass = node.station, _mass(flow)
        service = self._moments(node, node.service)
        if not self._is_rehearsal and mass > 0:
            patience = None if node.patience is None else moments_of(node.patience, {})
            self.uses.append(Visit(station, mass, service, node.location, patience))
            _add(self._section.visits, station, mass)
            _add(self._section.work, station, mass * service.mean)
            _add(self._part.visits, station, mass)
            _add(self._part.work, station, mass * service.mean)
            self._part.variance += mass * service.c2 * service.mean**2
            for origin, part in flow.items():
                self._route(origin, station, part)
        if node.reserve:
            what = "service starts only once the next station has a place (blocking)"
            self._note(node, "blocking", what)
        return {station: mass}

    def _delay(self, node: Delay, mass: float) -> None:
        found = self._moments(node, node.time)
        if not self._is_rehearsal:
            self._section.delay += mass * found.mean
            self._part.delay += mass * found.mean
            self._part.variance += mass * found.c2 * found.mean**2

    @property
    def _part(self) -> Part:
        return self.parts.setdefault((*self._under, *self._held), Part())

    def _moments(self, node: Node, amount: Amount) -> Moments:
        found = moments_of(amount, self.attributes)
        if math.isnan(found.mean) and (law := self.known.law(amount)):
            found = moments(law)
        if math.isnan(found.mean):
            self.unknown = self.unknown or (
                f"{node.location}: the mean of what the step {_word(node)} draws cannot be computed"
            )
        elif isinstance(amount, Expression):
            if amount.calls():
                self._note(node, "mechanism", "a time is what a mechanism returns")
            else:
                self._note(node, "attribute", "a time depends on an attribute of the job")
        return found

    def _acquire(self, node: Acquire, mass: float) -> None:
        pool = node.pool
        hold = self.holds.setdefault(pool, Hold(location=node.location))
        before = self._held.get(pool, 0)
        hold.most_tokens = max(hold.most_tokens, before + node.tokens)
        if not self._is_rehearsal and mass > 0:
            hold.tokens += mass * node.tokens
            if not before:
                hold.grants += mass
                _add(self._section.grants, pool, mass)
                _add(self._part.grants, pool, mass)
        self._held[pool] = before + node.tokens

    def _release(self, node: Release) -> None:
        pool = node.pool
        self._held[pool] = self._held.get(pool, 0) - node.tokens
        if self._held[pool] <= 0:
            if list(self._held)[-1] != pool:
                what = f"pool {pool!r} is given back before one acquired after it"
                self._note(node, "crossed pools", what)
            del self._held[pool]

    def _loop(self, node: LoopBlock, flow: Flow) -> Task[Flow]:
        """Walk a first round, others while they change what the job carries, and the rest as one.

        Rounds are distinguished where their number is fixed.
        """
        rounds = self._moments(node, node.count).mean
        if not rounds > 0:
            return flow
        entered = min(_share_entered(node.count), rounds)
        before = self.attributes
        last: Flow = yield self._sequence(node.body, _scaled(flow, entered))
        skipped = _scaled(flow, 1.0 - entered)
        more, walked = rounds - entered, 1
        is_fixed = isinstance(node.count, Distribution) and node.count.c2 == 0
        while is_fixed and more > 1 and walked < ROUNDS and _differs(before, self.attributes):
            before = self.attributes
            last = yield self._sequence(node.body, last)
            more, walked = more - 1, walked + 1
        if more <= 0:
            return _merged(last, skipped)
        last = yield self._sequence(node.body, _scaled(last, more / entered))
        return _merged(_scaled(last, entered / more), skipped)

    def _branch(self, node: BranchBlock, flow: Flow) -> Task[Flow]:
        left: Flow = {}
        self._spread(node, _mass(flow))
        before, ends = self._state(), []
        for case, way in zip(node.cases, self._ways(node), strict=True):
            if way.share > 0:
                self._set_state(before, way.laws)
                found: Flow = yield self._sequence(case.body, _scaled(flow, way.share))
                left = _merged(left, found)
                ends.append((way.share, self._state()))
        self._set_state(_mixed_state(ends))
        return left

    def _spread(self, node: BranchBlock, mass: float) -> None:
        """Note that flow joins the shortest of some stations, where the choice is no more."""
        bodies = [case.body for case in node.cases]
        names = tuple(
            body[0].station for body in bodies if len(body) == 1 and isinstance(body[0], Use)
        )
        is_plain = len(set(names)) == len(bodies) and not self._is_rehearsal
        # The kernel draws two where it draws any; who takes turns looks at none.
        samples = {"shortest_queue": len(names), "sampled_queue": 2, "round_robin": 0}
        sample = samples.get(node.kind)
        if sample is not None and is_plain:
            self.spreads.append(Spread(names, min(sample, len(names)), mass, node.location))

    def _ways(self, node: BranchBlock) -> Sequence[Way]:
        """Return how often each case is taken: as often as the values that decide, if known."""
        ways = None
        if node.kind == "index" and node.by is not None:
            ways = self.known.by_number(node.by, len(node.cases))
        elif node.kind == "condition":
            ways = self.known.by_conditions([case.chosen.condition for case in node.cases])
        if ways is not None:
            what = "a route is chosen by what the job carries; here by chance"
            self._note(node, "carried route", what)
            return ways
        shares = self._shares(node, node.kind, [case.chosen for case in node.cases])
        return [Way(share, {}) for share in shares]

    def _state(self) -> "_State":
        return dict(self.attributes), dict(self.known.laws)

    def _set_state(self, state: "_State", learned: Mapping[str, Law] | None = None) -> None:
        """Go on with what is known about attributes, and with what was learned next to it."""
        self.attributes, self.known.laws = dict(state[0]), dict(state[1])
        for name, law in (learned or {}).items():
            self.known.laws[name] = law
            self.attributes[name] = moments(law)

    def _shares(
        self, node: Node | NetworkNode, kind: str, choices: Sequence[Choice]
    ) -> list[float]:
        """Return how often each way is taken; evenly where the state decides."""
        if kind != "probability":
            what, how = _WAYS.get(kind, ("state route", "by the state of the system"))
            text = f"a route is chosen {how}; the cases are taken as equally likely"
            self._note(node, what, text)
        return chosen_shares(kind, choices)

    def _network(self, node: NetworkBlock, flow: Flow) -> Task[Flow]:
        index = {one.name: place for place, one in enumerate(node.nodes)}
        ways: dict[int, list[tuple[int, float]]] = {}
        leaving = []
        for place, one in enumerate(node.nodes):
            shares = self._shares(one, one.kind, [route.chosen for route in one.routes])
            found = list(zip(one.routes, shares, strict=True))
            ways[place] = [(index[r.node], s) for r, s in found if r.node is not None and s > 0]
            leaving.append(math.fsum(share for route, share in found if route.node is None))
        visits = [_mass(flow) * count for count in passages(ways)]
        inflows: list[Flow] = [dict(flow) if place == 0 else {} for place in ways]
        was_rehearsal, self._is_rehearsal = self._is_rehearsal, True
        for _ in range(ROUNDS):
            outflows: list[Flow] = yield self._pass(node, inflows, visits)
            following = _following(flow, ways, outflows)
            change = _distance(inflows, following)
            inflows = following
            if change < SETTLED * max(_mass(flow), 1.0):
                break
        self._is_rehearsal = was_rehearsal
        outflows = yield self._pass(node, inflows, visits)
        left: Flow = {}
        for outflow, share in zip(outflows, leaving, strict=True):
            left = _merged(left, _scaled(outflow, share))
        return left

    def _pass(
        self, node: NetworkBlock, inflows: Sequence[Flow], visits: Sequence[float]
    ) -> Task[list[Flow]]:
        return each(
            self._sequence(
                one.body, _scaled(inflow, visit / mass if (mass := _mass(inflow)) else 0)
            )
            for one, inflow, visit in zip(node.nodes, inflows, visits, strict=True)
        )

    def _fork(self, node: ForkBlock, flow: Flow) -> Task[None]:
        arms = [arm.body for arm in node.arms]
        quorum = node.quorum or len(arms)
        self._note(node, "fork", "a fork runs several things for one job at the same time")
        if node.cancels and quorum < len(arms):
            what = "arms that are not waited for are cancelled; here they run to the end"
            self._note(node, "cancelled arms", what)
        yield self._beside(node, arms, flow, quorum=quorum)

    def _beside(self, node: Node, arms: Sequence[Body], flow: Flow, *, quorum: int) -> Task[None]:
        """Walk `arms` next to each other, each as a section of its own.

        What follows a reply keeps what its own program holds, not what its callers do.
        """
        outer, under, held = self._section, self._under, self._held
        start = (*under, *held) if quorum else BESIDE
        before, sections = self._state(), []
        for arm in arms:
            self._set_state(before)
            self._section, self._under, self._held = Section(), start, {}
            if isinstance(node, Reply):
                self._held = dict(held)
            left: Flow = yield self._sequence(arm, dict(flow))
            for origin, mass in left.items():
                self._route(origin, OUTSIDE, mass)
            sections.append(self._section)
        self._set_state(before)
        self._section, self._under, self._held = outer, under, held
        if not self._is_rehearsal:
            add_join(outer.joins, Join(_mass(flow), sections, quorum, node.location))

    def _route(self, origin: str, target: str, mass: float) -> None:
        if not self._is_rehearsal and mass > 0:
            key = (origin, target)
            self.flows[key] = self.flows.get(key, 0.0) + mass

    def _note(self, node: Node | NetworkNode, kind: str, what: str) -> None:
        self.reasons[Reason(kind, f"{node.location}: {what}")] = None


_State = tuple[dict[str, Moments], dict[str, Law]]
"""What is known about the attributes of a job: moments, and laws of those with few values."""


def _mixed_state(ends: Sequence[tuple[float, _State]]) -> _State:
    """Return what is known where several ways meet, each with its share."""
    first = ends[0][1]
    if len(ends) == 1:
        return first
    total = math.fsum(share for share, _ in ends)
    found = dict(first[0])
    laws = dict(first[1])
    for name, alone in first[0].items():
        parts = [(share / total, state[0].get(name, alone)) for share, state in ends]
        if any(one != alone for _, one in parts):
            found[name] = _mixture(parts)
            laws.pop(name, None)
            law = mixed_law((share / total, state[1].get(name)) for share, state in ends)
            if law:
                laws[name] = law
        elif any(state[1].get(name) != first[1].get(name) for _, state in ends):
            law = mixed_law((share / total, state[1].get(name)) for share, state in ends)
            laws.pop(name, None)
            if law:
                laws[name] = law
    return found, laws


def _differs(before: Mapping[str, Moments], after: Mapping[str, Moments]) -> bool:
    """Return whether a round of a loop has changed what a job carries."""
    return any(
        abs(one.mean - after[name].mean) > UNCHANGED * abs(one.mean) for name, one in before.items()
    )


def _mixture(parts: Sequence[tuple[float, Moments]]) -> Moments:
    mean = math.fsum(share * one.mean for share, one in parts)
    second = math.fsum(share * one.second for share, one in parts)
    return Moments(mean, max(second / mean**2 - 1.0, 0.0) if mean else 0.0)


def _word(node: Node) -> str:
    return repr(type(node).__name__.removesuffix("Block").lower())


def _share_entered(count: Amount) -> float:
    """Return the probability that a loop is entered at all."""
    parameters = dict(count.parameters) if isinstance(count, Distribution) else {}
    values: Any = parameters.get("values")
    if isinstance(count, Distribution) and count.kind == "geometric" and not parameters["low"]:
        return count.mean / (1.0 + count.mean)
    if values is None:
        return 1.0
    weights: Any = parameters.get("weights") or [1.0] * len(values)
    entered = sum(w for value, w in zip(values, weights, strict=True) if value > 0)
    return float(entered / sum(weights))


def _following(
    flow: Flow, ways: Mapping[int, Sequence[tuple[int, float]]], outflows: Sequence[Flow]
) -> list[Flow]:
    found: list[Flow] = [dict(flow) if place == 0 else {} for place in ways]
    for place, outflow in enumerate(outflows):
        for target, share in ways[place]:
            found[target] = _merged(found[target], _scaled(outflow, share))
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
