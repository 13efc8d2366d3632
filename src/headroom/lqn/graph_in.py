"""Write the activities of a task as steps of a program.

An or-join is written as the rest of each branch, so any graph of choices has steps. Invariant: a
fork of all branches, and a loop, are closed blocks: each branch ends at the same join.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headroom.jmt.place import standing_at
from headroom.lqn.document import Activity, Entry, Precedence, Task
from headroom.simulation import Program, geometric

DEEPEST = 150
"""Activities in a row, or forks in each other: beyond it a cycle is likelier."""
MOST_ACTIVITIES = 2000
"""Activities that an entry writes, with those after an or-join once for each branch."""

End = tuple[Precedence | None, str]
"""The join that a branch comes to, None at an end, and its last activity."""


class Graph:
    """The graph of a task on its way into the program of one entry."""

    def __init__(
        self, task: Task, entry: Entry, program: Program, write: Callable[[Activity], None],
        reply: Callable[[], None] | None,
    ) -> None:  # fmt: skip
        self._task = task
        self._entry = entry
        self._program = program
        self._write = write
        self._answer = reply
        self._followers = {
            name: one for one in task.precedences if one.fork != "end" or one.join == "and"
            for name in one.before
        }  # fmt: skip
        self._depth = self._count = self._blocks = 0

    def write(self) -> None:
        """Write all that the entry does."""
        ends: list[End] = []
        self._chain(self._entry.start, ends)
        self._refuse_joins(ends, "without a fork before it")

    def _chain(self, name: str, ends: list[End]) -> None:
        """Write an activity and what follows it; note where that ends."""
        activity = self._task.activities[name]
        self._depth += 1
        self._count += 1
        if self._depth > DEEPEST or self._count > MOST_ACTIVITIES:
            raise activity.place.error(
                f"activities go on for more than {DEEPEST} in a row, or {MOST_ACTIVITIES} in all",
                cure="remove the cycle, or write a loop as one",
            )
        self._write(activity)
        then = self._followers.get(name)
        if self._entry.name in self._task.replies.get(name, ()):
            self._reply(activity, is_last=then is None)
        if then is None or then.join == "and":
            ends.append((then, name))
        else:
            self._fork(then, name, ends)
        self._depth -= 1

    def _reply(self, activity: Activity, *, is_last: bool) -> None:
        if self._blocks:
            raise activity.place.error(
                f"activity {activity.name!r} replies inside a fork or a loop, which has no "
                "counterpart",
                cure="reply before the fork, or after the join",
            )
        if self._answer is not None and not is_last:
            with standing_at(activity.place, self._program):
                self._answer()

    def _fork(self, one: Precedence, name: str, ends: list[End]) -> None:
        """Write what follows a precedence; `name` is the activity before it."""
        match one.fork:
            case "end":
                ends.append((None, name))
            case "one":
                self._chain(one.after[0], ends)
            case "or":
                self._choice(one, ends)
            case "loop":
                self._loop(one)
                if one.end:
                    self._chain(one.end, ends)
                else:
                    ends.append((None, name))
            case "and":
                join = self._all(one)
                if join is None:
                    ends.append((None, name))
                else:
                    self._fork(join, name, ends)

    def _choice(self, one: Precedence, ends: list[End]) -> None:
        total = sum(one.weights)
        with standing_at(one.place, self._program), self._program.branch() as branch:
            for name, weight in zip(one.after, one.weights, strict=True):
                if weight > 0:
                    with branch.case(weight / total):
                        self._chain(name, ends)

    def _loop(self, one: Precedence) -> None:
        passes = sum(one.weights)
        ends: list[End] = []
        if passes == 0:
            return
        with (
            self._block(one) as program,
            program.loop(geometric(passes, low=0)),
            program.branch() as branch,
        ):
            for name, weight in zip(one.after, one.weights, strict=True):
                if weight > 0:
                    with branch.case(weight / passes):
                        self._chain(name, ends)
        self._refuse_joins(ends, "from inside a loop")

    def _all(self, one: Precedence) -> Precedence | None:
        """Write the branches of a fork; return the join that they meet at, None without one."""
        join = self._join_of(one.after[0])
        ends: list[End] = []
        quorum = None if join is None or join.quorum == len(one.after) else join.quorum
        with self._block(one) as program, program.fork(quorum=quorum) as fork:
            for name in one.after:
                with fork.arm():
                    self._chain(name, ends)
        met = {id(found) for found, _ in ends}
        if met != {id(join)} or (join is not None and {name for _, name in ends} != {*join.before}):
            raise one.place.error(
                "the branches of a fork do not meet, all of them, at one join of their own",
                cure="join all branches of each fork, the inner ones first",
            )
        return join

    def _join_of(self, name: str) -> Precedence | None:
        """Return the join that follows an activity at the same depth of forks."""
        for _ in range(DEEPEST):
            then = self._followers.get(name)
            if then is None or then.join == "and":
                return then
            while then is not None and then.fork == "and":
                then = self._join_of(then.after[0])
            if then is None or then.fork == "end" or (then.fork == "loop" and not then.end):
                return None
            name = then.end if then.fork == "loop" else then.after[0]
        return None

    @contextmanager
    def _block(self, one: Precedence) -> Iterator[Program]:
        self._blocks += 1
        with standing_at(one.place, self._program):
            yield self._program
        self._blocks -= 1

    def _refuse_joins(self, ends: list[End], where: str) -> None:
        for join, name in ends:
            if join is not None:
                raise join.place.error(
                    f"activity {name!r} comes to a join of all branches {where}",
                    cure="join the branches of a fork, and let loops end by themselves",
                )
