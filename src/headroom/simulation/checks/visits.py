"""Visit counts and demands of jobs at stations, computed without running the model.

Probabilities, drawn counts and round robin give exact means; the routes of a network are solved as
traffic equations. Outcomes that only a run can show (conditions, hashed choices, time-outs,
rejection) are counted at their lower bound; a choice by queue length counts each case equally.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headroom.simulation.checks.controllers import changes_of
from headroom.simulation.checks.parsed import Parsed, parse_model, until_reply
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
    Release,
    Reply,
    StartJob,
    Task,
    Use,
    each,
    run_deep,
    walk,
)
from headroom.simulation.checks.traffic import chosen_shares, passages
from headroom.simulation.errors import SimulationError
from headroom.simulation.language.amounts import Amount, Known, known_of, mean_of
from headroom.simulation.language.model import Model
from headroom.simulation.language.stations import Station
from headroom.simulation.laws.distribution import Distribution

Attributes = Mapping[str, Known]
_BY_QUEUE = frozenset({"shortest_queue", "sampled_queue"})
_UNKNOWN = frozenset({"condition", "hash", "index"})
TOGETHER = ""
"""Name of stations that are counted as one; no station has an empty name."""


@dataclass(frozen=True, slots=True)
class Visits:
    """Mean demands of one job of each class, until it and all that it started have ended.

    Parameters
    ----------
    counts
        Class -> station -> mean number of visits.
    demands
        Class -> station -> mean service time (time unit of the model), before the speeds of the
        servers.
    pool_times
        Class -> pool -> mean tokens x time held (time unit), without waiting.
    is_exact
        Class -> whether no value is only a lower bound.
    groups
        Sets of stations among which jobs choose by the length of queues.
    times
        Class -> minimum mean time (time unit) of one walk, without waiting and parallel work.
    may_be_lost
        Class -> whether a station may reject its jobs permanently.
    """

    counts: Mapping[str, Mapping[str, float]]
    demands: Mapping[str, Mapping[str, float]]
    pool_times: Mapping[str, Mapping[str, float]]
    is_exact: Mapping[str, bool]
    groups: tuple[frozenset[str], ...]
    times: Mapping[str, float]
    may_be_lost: Mapping[str, bool]


@dataclass(slots=True)
class _Tally:
    """The minimum demand of one passage through some steps."""

    counts: dict[str, float] = field(default_factory=dict)
    demands: dict[str, float] = field(default_factory=dict)
    pool_times: dict[str, float] = field(default_factory=dict)
    starts: dict[str, float] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    sure: dict[str, float] = field(default_factory=dict)
    """Demands at stations that may reject, of those walks that come to their end."""
    time: float = 0.0
    may_fail: bool = False
    is_exact: bool = True

    def sums(self) -> tuple[dict[str, float], ...]:
        return (self.counts, self.demands, self.pool_times, self.starts)

    def add(self, other: "_Tally", factor: float = 1.0) -> None:
        """Add `factor` passages of `other`; the caller handles the holdings."""
        self.may_fail |= other.may_fail
        self.is_exact &= other.is_exact
        if factor <= 0:
            return
        self.time += factor * other.time
        for own, its in zip(self.sums(), other.sums(), strict=True):
            for name, value in its.items():
                own[name] = own.get(name, 0.0) + factor * value


def expected_visits(model: Model) -> Visits:
    """Return how often jobs visit stations, and their demand there.

    Raises
    ------
    SimulationError
        If programs start each other so that jobs multiply without end.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential
    >>> model = Model("shop", time_unit="ms")
    >>> cpu, request = model.station("cpu"), model.program("request")
    >>> with request.loop(3):
    ...     request.use(cpu, exponential(5))
    >>> model.closed_class("users", request, population=2)
    >>> expected_visits(model).demands["users"]
    {'cpu': 15.0}
    """
    return _visits(_Counter(parse_model(model)))


def least_visits(model: Model, together: frozenset[str] = frozenset()) -> Visits:
    """Return the minimum waits of a walk, whatever the state of the system decides.

    If jobs choose by the length of queues, or take turns with other classes, the common part of all
    ways counts; at a station that rejects, the work of the jobs admitted; at one that serves
    batches, the shortest service of any step, because the draw of one job serves the whole batch.
    Work that the job does not wait for (started, after a reply, in a fork with a quorum) may pile
    up without holding it up, and does not count.

    Parameters
    ----------
    model
        The model.
    together
        Stations to be counted as one, under the name `TOGETHER`.

    Raises
    ------
    SimulationError
        If programs start each other so that jobs multiply without end.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential
    >>> model = Model("farm", time_unit="ms")
    >>> servers = [model.station("a"), model.station("b")]
    >>> request = model.program("request")
    >>> request.use_one_of(servers, exponential(5), policy="shortest_queue")
    >>> model.closed_class("users", request, population=2)
    >>> least_visits(model).demands["users"]
    {}
    >>> least_visits(model, frozenset({"a", "b"})).demands["users"][TOGETHER]
    5.0
    """
    parsed = parse_model(model)
    unknown = _UNKNOWN | _BY_QUEUE
    if len(model.classes) > 1:
        unknown |= {"round_robin"}
    batched = {
        name: _shortest(parsed, name) for name, station in model.stations.items() if station.batch
    }
    return _visits(_Counter(parsed, unknown, together, _Least(batched)))


def _visits(counter: "_Counter") -> Visits:
    parsed = counter.parsed
    for name, tree in parsed.trees.items():
        counter.programs[name] = run_deep(counter.sequence(tree, counter.constants))
    walks = _walks(parsed, counter.programs)
    totals, own = {}, {}
    for class_ in parsed.model.classes.values():
        own[class_.name] = counter.programs[class_.program]
        total = _Tally()
        for name, count in walks[class_.program].items():
            if name == class_.program or not counter.counts_least:
                total.add(counter.programs[name], count)
        for station, demand in own[class_.name].sure.items():
            total.demands[station] = total.demands.get(station, 0.0) + demand
        totals[class_.name] = total
        total.is_exact &= not counter.counts_least or not own[class_.name].starts
    return Visits(
        counts={name: total.counts for name, total in totals.items()},
        demands={name: total.demands for name, total in totals.items()},
        pool_times={name: total.pool_times for name, total in totals.items()},
        is_exact={name: total.is_exact for name, total in totals.items()},
        groups=tuple(dict.fromkeys(counter.groups)),
        times={name: tally.time for name, tally in own.items()},
        may_be_lost={name: tally.may_fail for name, tally in own.items()},
    )


def _shortest(parsed: Parsed, station: str) -> float:
    """Return the least mean service (time unit) of any step at a station, 0 if unknown."""
    services = [
        node.service
        for tree in parsed.trees.values()
        for node in walk(tree)
        if isinstance(node, Use) and node.station == station
    ]
    return min(
        (service.mean if isinstance(service, Distribution) else 0.0 for service in services),
        default=0.0,
    )


@dataclass(frozen=True, slots=True)
class _Least:
    """Counting rule if only certain visits may count."""

    batched: Mapping[str, float]
    """Station that serves batches -> least mean service of one."""


class _Counter:
    """Counts through the programs, those called first."""

    def __init__(
        self,
        parsed: Parsed,
        unknown: frozenset[str] = _UNKNOWN,
        together: frozenset[str] = frozenset(),
        least: _Least | None = None,
    ) -> None:
        self.parsed = parsed
        self._unknown = unknown
        self._together = together
        self._least = least
        self._model = parsed.model
        self._paced = {
            change.name
            for change in changes_of(parsed)
            if change.kind == "speed" and not change.is_scheduled
        }
        self.programs: dict[str, _Tally] = {}
        self.groups: list[frozenset[str]] = []
        self.constants = _constants(parsed)
        self._assigned_by: dict[str, set[str]] = {}
        for name, tree in parsed.trees.items():
            self._assigned_by[name] = self._assigned(tree)

    @property
    def counts_least(self) -> bool:
        """Whether no more is counted than is sure, and waited for."""
        return self._least is not None

    def sequence(self, body: Body, known: Attributes) -> Task[_Tally]:
        """Return the tally of a list of steps."""
        total = _Tally()
        is_alive = True
        known = dict(known)
        for node in body:
            tally = yield self._node(node, known)
            if is_alive:
                for station, demand in tally.sure.items():
                    total.sure[station] = total.sure.get(station, 0.0) + demand
                for pool, tokens in total.held.items():
                    held = total.pool_times.get(pool, 0.0)
                    total.pool_times[pool] = held + tokens * tally.time
                total.add(tally)
            for pool, tokens in tally.held.items():
                total.held[pool] = total.held.get(pool, 0) + tokens
            is_alive = is_alive and not tally.may_fail
            self._learn(node, known)
        total.is_exact &= is_alive or not body
        return total

    def _learn(self, node: Node, known: dict[str, Known]) -> None:
        """Update the known attributes after a step."""
        value = known_of(node.value, known) if isinstance(node, Assign) else None
        for name in self._assigned((node,)):
            known.pop(name, None)
        if isinstance(node, Assign) and value is not None:
            known[node.attribute] = value

    def _assigned(self, body: Body) -> set[str]:
        """Return the attributes that some step of `body`, or a callee, may change."""
        if not self._model.attributes:
            return set()
        attributes: set[str] = set()
        for node in walk(body):
            if isinstance(node, Assign):
                attributes.add(node.attribute)
            elif isinstance(node, Call):
                attributes |= self._assigned_by[node.program]
        return attributes

    def _node(self, node: Node, known: Attributes) -> Task[_Tally]:
        result: _Tally
        match node:
            case LoopBlock():
                result = yield self._loop(node, known)
            case BranchBlock():
                result = yield self._branch(node, known)
            case NetworkBlock():
                result = yield self._network(node, known)
            case ForkBlock():
                result = yield self._fork(node, known)
            case AttemptBlock():
                result = yield self._attempt(node, known)
            case _:
                result = self._leaf(node, known)
        return result

    def _leaf(self, node: Node, known: Attributes) -> _Tally:
        """Return the tally of a simple step."""
        match node:
            case Use():
                return self._use(node, known)
            case Call():
                return self._call(node)
            case Delay():
                mean = mean_of(node.time, known)
                return _Tally(time=max(mean or 0.0, 0.0), is_exact=mean is not None)
            case Acquire() | Release():
                may_fail = isinstance(node, Acquire) and node.patience is not None
                tokens = node.tokens if isinstance(node, Acquire) else -node.tokens
                return _Tally(held={node.pool: tokens}, may_fail=may_fail)
            case StartJob():
                return _Tally(starts={node.program: 1.0})
        return _Tally()

    def _use(self, node: Use, known: Attributes) -> _Tally:
        station = self._model.stations[node.station]
        mean = mean_of(node.service, known)
        least = max(mean or 0.0, 0.0)
        if self._least is not None and node.station in self._least.batched:
            least = min(least, self._least.batched[node.station])
        demands = {TOGETHER if node.station in self._together else node.station: least}
        may_fail = station.rejects or node.patience is not None
        is_sure = self._least is not None and may_fail
        return _Tally(
            counts={node.station: 1.0},
            demands={} if is_sure else demands,
            sure=demands if is_sure else {},
            time=0.0 if may_fail else least / self._fastest(station),
            may_fail=may_fail,
            is_exact=mean is not None,
        )

    def _fastest(self, station: Station) -> float:
        """Return the speed of the fastest server; infinite if a program changes it."""
        return math.inf if station.name in self._paced else station.fastest

    def _call(self, node: Call) -> _Tally:
        """Return the demand of a call; the caller waits only until the reply."""
        called = self.programs[node.program]
        tree = self.parsed.trees[node.program]
        awaited = until_reply(tree)
        if self.counts_least and awaited is not tree:
            return self._until_reply(awaited)
        tally = _Tally()
        tally.add(called)
        tally.sure = dict(called.sure)
        if any(isinstance(inner, Reply) for inner in walk(awaited)):
            tally.time = 0.0
        elif awaited is not tree:
            tally.time = run_deep(self.sequence(awaited, self.constants)).time
        return tally

    def _until_reply(self, awaited: Body) -> _Tally:
        """Return the waits of a caller; nothing if a reply may come on the way."""
        if any(isinstance(inner, Reply) for inner in walk(awaited)):
            return _Tally(is_exact=False)
        tally = run_deep(self.sequence(awaited, self.constants))
        tally.is_exact = False
        return tally

    def _loop(self, node: LoopBlock, known: Attributes) -> Task[_Tally]:
        inside = self._inside(known, node.body, is_chosen=not isinstance(node.count, Distribution))
        body = yield self.sequence(node.body, inside)
        mean = mean_of(node.count, known)
        factor = max(mean or 0.0, 0.0)
        if body.may_fail:
            is_sure = isinstance(node.count, Distribution) and node.count.c2 == 0
            factor = 1.0 if is_sure and factor >= 1 else 0.0
        tally = _Tally(is_exact=_is_exact_count(node.count, mean))
        tally.add(body, factor)
        return tally

    def _branch(self, node: BranchBlock, known: Attributes) -> Task[_Tally]:
        is_unknown = node.kind in self._unknown
        bodies = tuple(inner for case in node.cases for inner in case.body)
        inside = self._inside(known, bodies, is_chosen=True) if is_unknown else known
        tallies: list[_Tally] = yield each(self.sequence(c.body, inside) for c in node.cases)
        if is_unknown:
            tally = _least(tallies)
        else:
            shares = self._shares(node.kind, [case.chosen for case in node.cases])
            tally = _Tally(is_exact=node.kind not in _BY_QUEUE or len(tallies) == 1)
            for part, share in zip(tallies, shares, strict=True):
                tally.add(part, share)
        tally.held = dict(tallies[0].held) if tallies else {}
        return tally

    def _shares(self, kind: str, choices: list[Choice]) -> list[float]:
        """Return how often each of several ways is taken; by queue length, equally often."""
        if kind in _BY_QUEUE:
            queues = [choice.of for choice in choices if choice.of is not None]
            self.groups.append(frozenset(name for word, name in queues if word == "station"))
        return chosen_shares(kind, choices)

    def _network(self, node: NetworkBlock, known: Attributes) -> Task[_Tally]:
        bodies = tuple(step for inner in node.nodes for step in inner.body)
        is_chosen = any(inner.kind in self._unknown for inner in node.nodes)
        inside = self._inside(known, bodies, is_chosen=is_chosen)
        tallies: list[_Tally] = yield each(self.sequence(n.body, inside) for n in node.nodes)
        is_by_queue = any(inner.kind in _BY_QUEUE for inner in node.nodes)
        tally = _Tally(is_exact=not is_chosen and not is_by_queue)
        if any(part.may_fail for part in tallies):
            tally.add(tallies[0])
            tally.may_fail = True
            return tally
        for part, count in zip(tallies, self._traffic(node.nodes), strict=True):
            tally.add(part, count)
        return tally

    def _traffic(self, nodes: tuple[NetworkNode, ...]) -> list[float]:
        """Return how often each node is visited: v = e + v P, for the nodes that are reached."""
        index = {node.name: number for number, node in enumerate(nodes)}
        ways: dict[int, list[tuple[int, float]]] = {}
        for number, node in enumerate(nodes):
            is_known = node.kind not in self._unknown
            shares = self._shares(node.kind, [r.chosen for r in node.routes]) if is_known else []
            ways[number] = [
                (index[route.node], share)
                for route, share in zip(node.routes, shares, strict=False)
                if route.node is not None and share > 0
            ]
        return passages(ways)

    def _fork(self, node: ForkBlock, known: Attributes) -> Task[_Tally]:
        tally = _Tally()
        arms: list[_Tally] = []
        for arm in node.arms:
            part = yield self.sequence(arm.body, known)
            arms.append(part)
        waits_for_all = node.quorum is None or node.quorum == len(node.arms)
        may_stop = node.cancels
        if self.counts_least:
            may_stop = not waits_for_all or any(arm.may_fail for arm in arms)
        for part in arms:
            tally.add(part, 0.0 if may_stop else 1.0)
        if waits_for_all and not (self.counts_least and may_stop):
            tally.time = max(part.time for part in arms)
        tally.is_exact &= not may_stop
        return tally

    def _attempt(self, node: AttemptBlock, known: Attributes) -> Task[_Tally]:
        work: _Tally = yield self.sequence(
            node.work, self._inside(known, node.work, is_chosen=False)
        )
        if node.timeout is None and not work.may_fail:
            return work
        tally = _Tally(is_exact=False)
        if node.timeout is None:
            tally.add(work)
        failed = yield self.sequence(node.failed or (), {})
        tally.may_fail = node.failed is None or failed.may_fail
        tally.is_exact = False
        tally.held = dict(work.held)
        return tally

    def _inside(self, known: Attributes, body: Body, *, is_chosen: bool) -> dict[str, Known]:
        """Return the attributes that stay known inside a block that repeats or is conditional."""
        changed = self._assigned(body)
        return {
            name: value
            for name, value in known.items()
            if name not in changed and (value.is_constant or not is_chosen)
        }


def _is_exact_count(count: Amount, mean: float | None) -> bool:
    return mean is not None and (isinstance(count, Distribution) or mean == int(mean))


def _least(tallies: list[_Tally]) -> _Tally:
    """Return the demand common to all of several ways."""
    result = _Tally(
        time=min((tally.time for tally in tallies), default=0.0),
        may_fail=any(tally.may_fail for tally in tallies),
        is_exact=len(tallies) == 1 and tallies[0].is_exact,
    )
    for index, own in enumerate(result.sums()):
        maps = [tally.sums()[index] for tally in tallies]
        for name in maps[0] if maps else ():
            least = min(tally.get(name, 0.0) for tally in maps)
            if least > 0:
                own[name] = least
    return result


def _constants(parsed: Parsed) -> dict[str, Known]:
    """Return the attributes that never change."""
    trees = parsed.trees.values()
    changed = {n.attribute for tree in trees for n in walk(tree) if isinstance(n, Assign)}
    for class_ in parsed.model.classes.values():
        changed |= set(getattr(class_.process, "attribute_names", ()))
    for mix in parsed.model.mixes.values():
        changed |= set(mix.attribute_names)
    return {
        name: Known(attribute.initial, is_constant=True)
        for name, attribute in parsed.model.attributes.items()
        if name not in changed
    }


def _walks(parsed: Parsed, tallies: Mapping[str, _Tally]) -> dict[str, dict[str, float]]:
    """Return for each program how often a walk of it leads to a walk of each, by starts."""
    names = list(parsed.trees)
    starts: Any = np.zeros((len(names), len(names)))
    for row, name in enumerate(names):
        for other, count in tallies[name].starts.items():
            starts[row, names.index(other)] = count
    if not starts.any():
        return {name: {name: 1.0} for name in names}
    if max(abs(np.linalg.eigvals(starts))) >= 1:
        raise SimulationError(
            f"{_first_start(parsed.trees.values())}: programs start each other so that each job "
            "leads to one or more others of its kind: jobs multiply without end",
            cure="start fewer jobs: inside a branch, or not in a cycle",
        )
    solved = np.linalg.inv(np.eye(len(names)) - starts)
    return {
        name: {other: float(solved[row, column]) for column, other in enumerate(names)}
        for row, name in enumerate(names)
    }


def _first_start(trees: Iterable[Body]) -> str:
    nodes = (node for tree in trees for node in walk(tree))
    return next(node.location for node in nodes if isinstance(node, StartJob))
