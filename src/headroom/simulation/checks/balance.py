"""Resources on every path: each path releases all that it acquired, and replies at most once."""

from collections.abc import Mapping
from typing import NoReturn

from headroom.simulation.checks.parsed import Parsed
from headroom.simulation.checks.structure import (
    Acquire,
    AttemptBlock,
    Body,
    BranchBlock,
    ForkBlock,
    LoopBlock,
    NetworkBlock,
    Node,
    Release,
    Reply,
    Task,
    parts,
    run_deep,
    walk,
)
from headroom.simulation.errors import SimulationError
from headroom.simulation.language.stations import Pool

Held = dict[str, int]


def check_balance(parsed: Parsed) -> None:
    """Raise `SimulationError` if the paths of a program disagree on what they hold."""
    for name, tree in parsed.trees.items():
        balance = _Balance(name, parsed.model.pools)
        held = run_deep(balance.sequence(tree, {}, {}))
        if held:
            last = parsed.model.programs[name].steps[-1]
            balance.fail(last.location, f"ends while it holds {_amounts(held)}")


def check_replies(parsed: Parsed) -> None:
    """Raise `SimulationError` if a program answers twice, or if no caller waits."""
    called = parsed.called()
    for name, tree in parsed.trees.items():
        reply = next((node for node in walk(tree) if isinstance(node, Reply)), None)
        if reply is None:
            continue
        if name not in called:
            raise SimulationError(
                f"{reply.location}: program {name!r} replies, but no program calls it",
                cure="call it with program.call(), or leave the reply out",
            )
        run_deep(_replies(name, tree, has_replied=False))


def _replies(name: str, body: Body, *, has_replied: bool) -> Task[bool]:
    """Return whether some path through `body` has replied."""
    for node in body:
        if isinstance(node, Reply):
            if has_replied:
                raise SimulationError(
                    f"{node.location}: program {name!r} replies a second time on some path",
                    cure="reply once; the steps after the reply run in parallel with the caller",
                )
            has_replied = True
        elif isinstance(node, BranchBlock):
            before = has_replied
            for case in node.cases:
                answers: bool = yield _replies(name, case.body, has_replied=before)
                has_replied = has_replied or answers
        elif parts(node):
            _refuse_reply_inside(name, node)
    return has_replied


def _refuse_reply_inside(name: str, block: Node) -> None:
    for node in walk((block,)):
        if isinstance(node, Reply):
            kind = type(block).__name__.removesuffix("Block").lower()
            raise SimulationError(
                f"{node.location}: program {name!r} replies inside a block ({kind})",
                cure="reply outside loops, networks, forks and attempts",
            )


class _Balance:
    """Follows the holdings through one program."""

    def __init__(self, program: str, pools: Mapping[str, Pool]) -> None:
        self._program = program
        self._pools = pools

    def fail(self, location: str, what: str) -> NoReturn:
        raise SimulationError(
            f"{location}: program {self._program!r} {what}",
            cure="release on every path what was acquired on it; `with program.holding(pool):` "
            "does so by itself",
        )

    def sequence(self, body: Body, before: Held, kept: Held) -> Task[Held]:
        """Return the holdings after `body`; `kept` may not be released in it."""
        held = before
        for node in body:
            match node:
                case Acquire():
                    held = self._acquired(node, held)
                case Release():
                    held = self._released(node, held, kept)
                case LoopBlock():
                    after = yield self.sequence(node.body, held, kept)
                    self._neutral(node.location, after, held, "a round of its loop")
                case NetworkBlock():
                    for inner in node.nodes:
                        after = yield self.sequence(inner.body, held, kept)
                        self._neutral(inner.location, after, held, f"node {inner.name!r}")
                case BranchBlock():
                    held = yield self._branch(node, held, kept)
                case ForkBlock():
                    yield self._fork(node)
                case AttemptBlock():
                    held = yield self._attempt(node, held, kept)
        return held

    def _acquired(self, node: Acquire, held: Held) -> Held:
        total = held.get(node.pool, 0) + node.tokens
        tokens = self._pools[node.pool].tokens
        if total > tokens:
            raise SimulationError(
                f"{node.location}: program {self._program!r} would hold {total} tokens of pool "
                f"{node.pool!r}, which has {tokens}: it would wait for itself",
                cure="release before acquiring again, or make the pool larger",
            )
        return held | {node.pool: total}

    def _released(self, node: Release, held: Held, kept: Held) -> Held:
        total = held.get(node.pool, 0) - node.tokens
        what = f"releases {node.tokens} token(s) of pool {node.pool!r}"
        if total < 0:
            self.fail(node.location, f"{what} where it holds {held.get(node.pool, 0)}")
        if total < kept.get(node.pool, 0):
            self.fail(
                node.location,
                f"{what} inside an attempt, but acquired them before it: a try that fails later "
                "could not take them back",
            )
        rest = {pool: tokens for pool, tokens in held.items() if pool != node.pool}
        return rest | {node.pool: total} if total else rest

    def _neutral(self, location: str, after: Held, before: Held, what: str) -> None:
        if after != before:
            self.fail(
                location, f"holds {_amounts(after)} after {what} and {_amounts(before)} before it"
            )

    def _branch(self, node: BranchBlock, held: Held, kept: Held) -> Task[Held]:
        first: Held | None = None
        for case in node.cases:
            after = yield self.sequence(case.body, held, kept)
            if first is None:
                first = after
            elif after != first:
                self.fail(
                    case.location,
                    f"holds {_amounts(after)} after one case of a branch and {_amounts(first)} "
                    "after another",
                )
        return held if first is None else first

    def _fork(self, node: ForkBlock) -> Task[None]:
        for arm in node.arms:
            after = yield self.sequence(arm.body, {}, {})
            if after:
                self.fail(arm.location, f"ends an arm while the arm holds {_amounts(after)}")

    def _attempt(self, node: AttemptBlock, held: Held, kept: Held) -> Task[Held]:
        after: Held = yield self.sequence(node.work, held, held)
        if node.failed is None:  # Who fails goes no further.
            return after
        failed: Held = yield self.sequence(node.failed, held, kept)
        if failed != after:
            self.fail(
                node.location,
                f"holds {_amounts(after)} after an attempt that succeeds and {_amounts(failed)} "
                "after one that fails (which gives back what its work acquired)",
            )
        return after


def _amounts(held: Held) -> str:
    if not held:
        return "nothing"
    return " and ".join(f"{tokens} of pool {pool!r}" for pool, tokens in sorted(held.items()))
