"""Routes of jobs between stations: read from the programs, for every possible path."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from headroom.simulation.checks.parsed import Parsed
from headroom.simulation.checks.structure import (
    AttemptBlock,
    Body,
    BranchBlock,
    Call,
    Delay,
    ForkBlock,
    LoopBlock,
    NetworkBlock,
    Node,
    Task,
    Use,
    each,
    run_deep,
)
from headroom.simulation.language.amounts import Amount
from headroom.simulation.laws.distribution import Distribution


@dataclass(frozen=True, slots=True)
class _Way:
    """How a part of a program begins and ends: stations and lines, as in Glushkov's automaton."""

    first: tuple[tuple[str, str], ...] = ()
    """Stations that may be used first, with the line of the use."""
    last: tuple[str, ...] = ()
    """Stations that a job may still occupy at the end."""
    is_passed: bool = True
    """Whether a job may come through and still occupy the station that it came from."""


T = TypeVar("T")

_NOWHERE = _Way(is_passed=False)


def direct_routes(parsed: Parsed) -> dict[tuple[str, str], str]:
    """Return each pair of stations that a job may use one after the other, and a line of it.

    A job gives its server free before delays and forks, so that only without them a full station
    holds up the server before it. Tokens that are granted at once take no time, so that the server
    is kept through an acquisition.
    """
    routes = _Routes()
    for name, tree in parsed.trees.items():
        routes.programs[name] = run_deep(routes.sequence(tree))
    return routes.found


class _Routes:
    """Collects routes while it walks through the programs, those called first."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], str] = {}
        self.programs: dict[str, _Way] = {}
        self._linked: set[tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = set()

    def sequence(self, body: Body) -> Task[_Way]:
        """Return how a list of steps begins and ends."""
        way = _Way()
        for node in body:
            following = yield self._way(node)
            way = self._joined(way, following)
        return way

    def _way(self, node: Node) -> Task[_Way]:  # noqa: PLR0911 - a case for each kind of node
        match node:
            case Use():
                return _Way(((node.station, node.location),), (node.station,), is_passed=False)
            case Delay():
                return _NOWHERE
            case Call():
                return self.programs[node.program]
            case LoopBlock():
                body = yield self.sequence(node.body)
                self._link(body.last, body.first)
                is_passed = body.is_passed or _may_be_zero(node.count)
                return _Way(body.first, body.last, is_passed=is_passed)
            case BranchBlock():
                ways: list[_Way] = yield each(self.sequence(case.body) for case in node.cases)
                return _either(ways)
            case NetworkBlock():
                network: _Way = yield self._network(node)
                return network
            case ForkBlock():
                for arm in node.arms:
                    yield self.sequence(arm.body)
                return _NOWHERE
            case AttemptBlock():
                attempt: _Way = yield self._attempt(node)
                return attempt
        return _Way()

    def _attempt(self, node: AttemptBlock) -> Task[_Way]:
        work: _Way = yield self.sequence(node.work)
        if node.failed is None:
            return work
        failed = yield self.sequence(node.failed)
        free = _Way(failed.first, failed.last, is_passed=_NOWHERE.is_passed)
        return _either([work, free])

    def _network(self, node: NetworkBlock) -> Task[_Way]:
        ways: dict[str, _Way] = {}
        for inner in node.nodes:
            ways[inner.name] = yield self.sequence(inner.body)
        targets = {place.name: [route.node for route in place.routes] for place in node.nodes}
        for name, way in ways.items():
            for follower in _followers(name, targets, ways):
                if follower is not None:
                    self._link(way.last, ways[follower].first)
        entry = node.nodes[0].name
        begins = [entry, *(_followers(entry, targets, ways) if ways[entry].is_passed else ())]
        ends = [name for name in ways if None in _followers(name, targets, ways)]
        return _Way(
            first=_unique(pair for name in begins if name is not None for pair in ways[name].first),
            last=_unique(station for name in ends for station in ways[name].last),
            is_passed=None in begins,
        )

    def _joined(self, way: _Way, following: _Way) -> _Way:
        self._link(way.last, following.first)
        first = (*way.first, *following.first) if way.is_passed else way.first
        last = (*way.last, *following.last) if following.is_passed else following.last
        is_passed = way.is_passed and following.is_passed
        return _Way(_unique(first), _unique(last), is_passed=is_passed)

    def _link(self, last: tuple[str, ...], first: tuple[tuple[str, str], ...]) -> None:
        """Note the routes between two parts of programs; the same parts often follow each other."""
        if (last, first) in self._linked:
            return
        self._linked.add((last, first))
        for origin in last:
            for station, location in first:
                self.found.setdefault((origin, station), location)


def _followers(
    name: str, targets: dict[str, list[str | None]], ways: dict[str, _Way]
) -> list[str | None]:
    """Return the nodes that may follow, also through nodes that use nothing; None is out."""
    followers: list[str | None] = []
    waiting = list(targets[name])
    while waiting:
        target = waiting.pop(0)
        if target in followers:
            continue
        followers.append(target)
        if target is not None and ways[target].is_passed:
            waiting += targets[target]
    return followers


def _either(ways: list[_Way]) -> _Way:
    return _Way(
        _unique(pair for way in ways for pair in way.first),
        _unique(station for way in ways for station in way.last),
        is_passed=any(way.is_passed for way in ways),
    )


def _unique(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))


def _may_be_zero(count: Amount) -> bool:
    """Return whether a loop may have no round."""
    if not isinstance(count, Distribution):
        return True
    parameters = dict(count.parameters)
    values = parameters.get("values", parameters.get("value", 0.0))
    return 0 in values if isinstance(values, tuple) else values == 0
