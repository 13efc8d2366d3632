"""Jobs that could wait for each other indefinitely: found in the programs, before any run.

Sources: Coffman, Elphick and Shoshani (1971), *System deadlocks*: a deadlock requires a circular
wait, and acquiring tokens in the same order everywhere prevents one. Kundu and Akyildiz (1989),
*Deadlock free buffer allocation in closed queueing networks*: blocking stations cannot deadlock
while there are fewer jobs than places on each cycle of routes.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TypeAlias

from headroom.simulation.checks.holding import Moment, moments
from headroom.simulation.checks.parsed import Parsed, until_reply
from headroom.simulation.checks.structure import (
    Acquire,
    Body,
    Call,
    ForkBlock,
    Node,
    Reply,
    walk,
)
from headroom.simulation.errors import SimulationError
from headroom.simulation.language.classes import shared_populations

ALLOWED = "write Model(..., may_deadlock=True) to run it all the same"

Steps: TypeAlias = Mapping[str, Sequence[Moment]]
"""Program -> its steps with the holdings before each, those called first."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A job that holds `held` tokens of one pool waits for `wanted` of another, or of the same."""

    program: str
    held: int
    held_at: str
    wanted: int
    wanted_at: str


def check_token_cycles(parsed: Parsed) -> None:
    """Raise `SimulationError` if jobs that hold tokens could deadlock."""
    if parsed.model.may_deadlock or not parsed.model.pools:
        return
    steps = {name: moments(tree) for name, tree in parsed.trees.items()}
    edges = _edges(parsed, steps)
    jobs = _jobs_of_pools(parsed, steps, {p for pair in edges for p in pair})
    for (held, wanted), examples in edges.items():
        if held == wanted:
            _refuse_upgrade(held, examples, jobs[held], parsed.model.pools[held].tokens)
    scarce = {pool for pool in jobs if jobs[pool].demand > parsed.model.pools[pool].tokens}
    _refuse_opposite_orders({pair: ways[0] for pair, ways in edges.items()}, scarce)


def _edges(parsed: Parsed, steps: Steps) -> dict[tuple[str, str], list[Edge]]:
    """Return all pairs of pools of which one is held while the other is waited for."""
    edges: dict[tuple[str, str], list[Edge]] = defaultdict(list)
    awaited: dict[str, dict[str, Acquire]] = {}
    for name, tree in parsed.trees.items():
        awaited[name] = _wanted(until_reply(tree), awaited)
        for moment in steps[name]:
            if moment.is_bounded:
                continue
            for wanted in _wanted_by(moment.node, awaited).values():
                for pool, hold in moment.held.items():
                    edge = Edge(name, hold.tokens, hold.location, wanted.tokens, wanted.location)
                    edges[pool, wanted.pool].append(edge)
    return edges


def _wanted(body: Body, awaited: dict[str, dict[str, Acquire]]) -> dict[str, Acquire]:
    """Return the pools that `body` may wait for without end, with the largest request."""
    largest: dict[str, Acquire] = {}
    for moment in moments(body):
        if not moment.is_bounded:
            for pool, node in _wanted_by(moment.node, awaited).items():
                if pool not in largest or largest[pool].tokens < node.tokens:
                    largest[pool] = node
    return largest


def _wanted_by(node: Node, awaited: dict[str, dict[str, Acquire]]) -> dict[str, Acquire]:
    if isinstance(node, Acquire):
        return {node.pool: node}
    return awaited[node.program] if isinstance(node, Call) else {}


@dataclass(frozen=True, slots=True)
class _Jobs:
    """How many jobs may compete for a pool, and for how many tokens together."""

    count: float
    demand: float


def _jobs_of_pools(parsed: Parsed, steps: Steps, pools: set[str]) -> dict[str, _Jobs]:
    """Return the jobs that compete for each pool: one look at each program for all of them."""
    touched = {name: _touched(tree) for name, tree in parsed.trees.items()}
    peaks = _peaks(steps)
    jobs = dict.fromkeys(sorted(pools), _Jobs(0.0, 0.0))
    for population, classes in shared_populations(parsed.model.classes.values()):
        programs = frozenset().union(*(parsed.reached_from(class_.program) for class_ in classes))
        is_endless = not population or may_multiply(parsed, programs)
        for pool in pools & frozenset().union(*(touched[program] for program in programs)):
            so_far = jobs[pool]
            most = max(peaks[a_class.program].get(pool, 0) for a_class in classes)
            jobs[pool] = (
                _Jobs(math.inf, math.inf)
                if is_endless
                else _Jobs(so_far.count + population, so_far.demand + population * most)
            )
    return jobs


def _touched(tree: Body) -> frozenset[str]:
    """Return the pools that a program acquires tokens of."""
    return frozenset(node.pool for node in walk(tree) if isinstance(node, Acquire))


def may_multiply(parsed: Parsed, programs: frozenset[str]) -> bool:
    """Return whether one job may become several, each holding tokens."""
    nodes = [node for name in programs for node in walk(parsed.trees[name])]
    is_forked = any(isinstance(node, (ForkBlock, Reply)) for node in nodes)
    return is_forked or bool(programs & parsed.started())


def _peaks(steps: Steps) -> dict[str, dict[str, int]]:
    """Return for each program and pool the most tokens that one walk holds at a time."""
    peaks: dict[str, dict[str, int]] = {}
    for name, own_moments in steps.items():
        most = peaks[name] = dict[str, int]()
        for moment in own_moments:
            for pool, level in _levels(moment, peaks).items():
                most[pool] = max(level, most.get(pool, 0))
    return peaks


def _levels(moment: Moment, peaks: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Return the maximum tokens of each pool held while a step is taken."""
    levels = {pool: hold.tokens for pool, hold in moment.held.items()}
    node = moment.node
    more: Mapping[str, int] = {}
    if isinstance(node, Acquire):
        more = {node.pool: node.tokens}
    elif isinstance(node, Call):
        more = peaks[node.program]
    for pool, tokens in more.items():
        levels[pool] = levels.get(pool, 0) + tokens
    return levels


def _refuse_upgrade(pool: str, examples: list[Edge], jobs: _Jobs, tokens: int) -> None:
    """Refuse jobs that hold some tokens of a pool and wait for more when none are left.

    With one way to hold and want, as many jobs as fit hold their first part. With several ways,
    any number of tokens may be held.
    """
    ways = {(edge.held, edge.wanted) for edge in examples}
    largest = max(held for held, _ in ways)
    for edge in examples:
        if len(ways) == 1:
            taken = edge.held * min(jobs.count, tokens // edge.held)
        else:
            taken = min(jobs.count * largest, tokens)
        if tokens - taken < edge.wanted:
            raise SimulationError(
                f"{edge.wanted_at}: program {edge.program!r} waits for {edge.wanted} token(s) of "
                f"pool {pool!r} while it holds {edge.held} of it (acquired at {edge.held_at}): "
                f"jobs that hold the {tokens} token(s) among them would wait for each other",
                cure=f"acquire all tokens at once, or release before acquiring again; {ALLOWED}",
            )


def _refuse_opposite_orders(edges: dict[tuple[str, str], Edge], scarce: set[str]) -> None:
    """Refuse pools that are acquired in a circle of orders."""
    graph: dict[str, list[str]] = {pool: [] for pool in sorted(scarce)}
    for held, wanted in edges:
        if held != wanted and {held, wanted} <= scarce:
            graph[held].append(wanted)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        pairs = list(pairwise(circle))
        in_circle = [edges[pair] for pair in pairs]
        ways = "; ".join(
            f"{edge.wanted_at}: program {edge.program!r} waits for pool {wanted!r} while it holds "
            f"pool {held!r} (acquired at {edge.held_at})"
            for (held, wanted), edge in zip(pairs, in_circle, strict=True)
        )
        raise SimulationError(
            f"{ways}: jobs could wait for each other indefinitely",
            cure=f"acquire the pools in the same order everywhere; {ALLOWED}",
        ) from error
