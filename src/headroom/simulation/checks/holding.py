"""Resources that jobs hold at each step: read from the programs, for every possible path."""

from collections.abc import Mapping
from dataclasses import dataclass

from headroom.simulation.checks.parsed import Parsed, parse_model, until_reply
from headroom.simulation.checks.structure import (
    Acquire,
    AttemptBlock,
    Body,
    Call,
    Node,
    Release,
    Task,
    Use,
    parts,
    run_deep,
)
from headroom.simulation.language.model import Model


@dataclass(frozen=True, slots=True)
class Hold:
    """Tokens that are held, and the line on which the first of them was acquired."""

    tokens: int
    location: str


@dataclass(frozen=True, slots=True)
class Moment:
    """A step, the holdings when it is taken, and whether a time-out ends it.

    Held: by the job or, in the arm of a fork, by the parents that wait for it.
    """

    node: Node
    held: Mapping[str, Hold]
    is_bounded: bool


def moments(body: Body) -> list[Moment]:
    """Return each step of a balanced program with the holdings before it, in their order."""
    collected: list[Moment] = []
    run_deep(_sequence(body, {}, collected, is_bounded=False))
    return collected


def holds(model: Model) -> dict[str, tuple[str, ...]]:
    """Return for each pool the stations that jobs may use while they hold its tokens."""
    if not model.pools:
        return {}
    reached = _reached_while_held(parse_model(model), Use)
    return {
        pool: tuple(station for station in model.stations if station in stations)
        for pool, stations in reached.items()
    }


def nested(model: Model) -> dict[str, tuple[str, ...]]:
    """Return for each pool the other pools that jobs may acquire while they hold its tokens."""
    if not model.pools:
        return {}
    reached = _reached_while_held(parse_model(model), Acquire)
    return {
        pool: tuple(other for other in model.pools if other in inner and other != pool)
        for pool, inner in reached.items()
    }


def _sequence(
    body: Body, held: Mapping[str, Hold], collected: list[Moment], *, is_bounded: bool
) -> Task[Mapping[str, Hold]]:
    """Append the moments of `body`; return the holdings after it."""
    for node in body:
        collected.append(Moment(node, held, is_bounded))
        if isinstance(node, Acquire):
            before = held.get(node.pool, Hold(0, node.location))
            held = {**held, node.pool: Hold(before.tokens + node.tokens, before.location)}
        elif isinstance(node, Release):
            held = _released(held, node)
        elif parts(node):
            held = yield _block(node, held, collected, is_bounded=is_bounded)
    return held


def _block(
    node: Node, held: Mapping[str, Hold], collected: list[Moment], *, is_bounded: bool
) -> Task[Mapping[str, Hold]]:
    """Return the holdings after a block: the same after each of its bodies, so after the first."""
    is_timed = isinstance(node, AttemptBlock) and node.timeout is not None
    after = []
    for index, part in enumerate(parts(node)):
        bounded = is_bounded or (is_timed and index == 0)
        after.append((yield _sequence(part, held, collected, is_bounded=bounded)))
    return after[0] if after else held


def _released(held: Mapping[str, Hold], node: Release) -> Mapping[str, Hold]:
    rest = {pool: hold for pool, hold in held.items() if pool != node.pool}
    before = held.get(node.pool)
    if before is None or before.tokens <= node.tokens:
        return rest
    return {**rest, node.pool: Hold(before.tokens - node.tokens, before.location)}


def _reached_while_held(parsed: Parsed, kind: type[Use] | type[Acquire]) -> dict[str, set[str]]:
    """Return for each pool what steps of `kind` name while its tokens are held."""
    reached: dict[str, set[str]] = {pool: set() for pool in parsed.model.pools}
    awaited: dict[str, set[str]] = {}
    for name, tree in parsed.trees.items():
        awaited[name] = set()
        for moment in moments(until_reply(tree)):
            awaited[name] |= _names(moment.node, kind, awaited)
        for moment in moments(tree):
            names = _names(moment.node, kind, awaited)
            for pool in moment.held:
                reached[pool] |= names
    return reached


def _names(
    node: Node, kind: type[Use] | type[Acquire], awaited: Mapping[str, set[str]]
) -> set[str]:
    """Return the names in a step: a station, a pool, or those of the program that it calls."""
    if isinstance(node, Call):
        return awaited[node.program]
    if not isinstance(node, kind):
        return set()
    return {node.station if isinstance(node, Use) else node.pool}
