"""The values of a program's with-blocks: the parts of a branch, a fork, an attempt."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from headroom.simulation.errors import SimulationError, caller_location, refused
from headroom.simulation.language.amounts import as_amount, as_condition
from headroom.simulation.language.arguments import choose, is_number, is_whole
from headroom.simulation.language.expression import Expression, Operand, as_expression
from headroom.simulation.language.stations import Pool, Station
from headroom.simulation.language.with_block import block

if TYPE_CHECKING:
    from headroom.simulation.language.program import Program

Policy: TypeAlias = Literal[
    "probability", "round_robin", "shortest_queue", "two_choices", "hash", "index"
]
BY_VALUE = frozenset({"hash", "index"})
"""Policies that use the value of an expression."""

PROBABILITY_TOLERANCE = 1e-9
SAMPLE = 2
"""Queues that the policy "two_choices" compares."""


class Branch:
    """The cases of a branch; made by `Program.branch`."""

    def __init__(self, program: "Program", policy: Policy, by: Operand | None) -> None:
        choose("a branch", "policy", policy, get_args(Policy))
        self.source = program._source("branch")
        self._program = program
        self._location = caller_location()
        self._policy: str = policy
        self._by = chosen_by(program, policy, by)
        self._probabilities: list[float] = []
        self._case_count = 0
        self._has_otherwise = False

    @block
    def case(
        self, probability: float | None = None, *, of: Station | Pool | None = None
    ) -> Iterator[None]:
        """Take the steps of the block if the branch's policy chooses them.

        Parameters
        ----------
        probability
            0 to 1; only for the policy ``"probability"``.
        of
            Station or pool whose jobs are counted by ``"shortest_queue"`` and ``"two_choices"``.
        """
        self._refuse_mix("probability" if self._policy == "probability" else self._policy)
        self._refuse_late()
        data = self._case_data(probability, of)
        self._case_count += 1
        with self._program._part("case", "branch", **data):
            yield

    @contextmanager
    def _equal_case(self, station: Station, case_count: int) -> Iterator[None]:
        """Take the steps of the block for one of `case_count` stations of equal right."""
        probability = 1 / case_count if self._policy == "probability" else None
        of = station if self._policy in {"shortest_queue", "two_choices"} else None
        with self.case(probability, of=of):
            yield

    @block
    def when(self, condition: Expression) -> Iterator[None]:
        """Take the steps of the block if `condition` is the first that is true (not 0).

        Examples
        --------
        >>> from headroom.simulation import Model
        >>> model = Model("files", time_unit="ms")
        >>> tape, size = model.station("tape"), model.attribute("size")
        >>> read = model.program("read")
        >>> with read.branch() as branch, branch.when(size > 1000):
        ...     read.use(tape, size * 0.01)
        >>> [step.op for step in read.steps]
        ['branch', 'case', 'use', 'end', 'case', 'end', 'end']
        """
        self._refuse_late()
        if self._policy == "probability" and self._case_count == 0:
            self._policy = "condition"
        self._refuse_mix("condition")
        word = f"the condition of a case of program {self._program.name!r}"
        code = as_condition(condition, word, self._program.model_id).to_code(self._case_source())
        self._case_count += 1
        with self._program._part("case", "branch", condition=code):
            yield

    @block
    def otherwise(self) -> Iterator[None]:
        """Take the steps of the block if no case was taken."""
        if self._policy not in {"probability", "condition"}:
            raise self._program._error(
                f"has an otherwise in a branch by {self._policy}, which always takes a case",
                cure="write one more branch.case() instead",
            )
        rest = 1 - math.fsum(self._probabilities)
        if self._has_otherwise or (self._policy == "probability" and rest < -PROBABILITY_TOLERANCE):
            raise refused(
                "the branch has no probability left for otherwise",
                cure="write otherwise once, after cases whose probabilities sum to at most 1",
            )
        self._has_otherwise = True
        data: dict[str, object] = {}
        if self._policy == "probability":
            self._probabilities.append(max(rest, 0.0))
            data = {"probability": max(rest, 0.0)}
        self._case_count += 1
        with self._program._part("case", "branch", **data):
            yield

    def _choice(self) -> dict[str, object]:
        """Return how the kernel chooses, after checking the cases; conditions get a last case."""
        if self._policy == "probability":
            self._check_probabilities()
            return {}
        if self._case_count == 0:
            raise SimulationError(
                f"{self._location}: the branch has no case",
                cure="add `with branch.case():` blocks",
            )
        if self._policy == "condition" and not self._has_otherwise:
            with self.otherwise():
                pass
        return {"choice": choice_data(self._policy, self._by, self._case_count)}

    def _case_data(self, probability: float | None, of: Station | Pool | None) -> dict[str, object]:
        """Return a case as the kernel reads it, after refusing what the policy does not use."""
        is_by_queue = self._policy in {"shortest_queue", "two_choices"}
        if is_by_queue != (of is not None):
            raise self._program._error(
                f"has a case {'without' if is_by_queue else 'with'} a queue in a branch by "
                f"{self._policy}",
                cure="write branch.case(of=station) in branches by shortest_queue and two_choices, "
                "and there only",
            )
        if self._policy != "probability" and probability is not None:
            raise self._program._error(
                f"gives a case a probability in a branch by {self._policy}",
                cure="leave the probability out",
            )
        if of is not None:
            return {"of": queue_data(self._program, of)}
        if self._policy != "probability":
            return {}
        if not is_number(probability) or not 0 <= probability <= 1:  # type: ignore[operator]
            raise refused(
                f"a case has the probability {probability!r}",
                cure="give a probability from 0 to 1, or write branch.when(condition)",
            )
        self._probabilities.append(float(probability))  # type: ignore[arg-type]
        return {"probability": self._probabilities[-1]}

    def _refuse_mix(self, kind: str) -> None:
        if kind != self._policy:
            raise self._program._error(
                f"has a case by {kind} in a branch by {self._policy}",
                cure="choose all cases of a branch in the same way; put one branch into a case of "
                "another to mix them",
            )

    def _refuse_late(self) -> None:
        if self._has_otherwise:
            raise self._program._error(
                "has a case after otherwise, which is never taken",
                cure="write otherwise last",
            )

    def _check_probabilities(self) -> None:
        total = math.fsum(self._probabilities)
        if abs(total - 1) > PROBABILITY_TOLERANCE:
            raise SimulationError(
                f"{self._location}: the probabilities of the branch sum to {total:g}, not 1",
                cure="correct the probabilities, or add branch.otherwise() for the rest",
            )

    def _case_source(self) -> str:
        return f"{self.source}, case {self._case_count + 1}"


class Fork:
    """The arms of a fork; made by `Program.fork`."""

    def __init__(self, program: "Program", quorum: int | None) -> None:
        if quorum is not None and (not is_whole(quorum) or quorum < 1):
            raise program._error(
                f"waits for {quorum!r} arms of a fork", cure="give an int of 1 or more"
            )
        self._program = program
        self._location = caller_location()
        self._quorum = quorum
        self._arm_count = 0

    @block
    def arm(self) -> Iterator[None]:
        """Run the steps of the block in parallel with the other arms."""
        self._arm_count += 1
        with self._program._part("arm", "fork"):
            yield

    def _check(self) -> None:
        """Refuse a fork without arms, or with fewer than it waits for."""
        if self._arm_count == 0:
            raise SimulationError(
                f"{self._location}: the fork has no arm", cure="add `with fork.arm():` blocks"
            )
        if self._quorum is not None and self._quorum > self._arm_count:
            raise SimulationError(
                f"{self._location}: the fork waits for {self._quorum} arms and has "
                f"{self._arm_count}",
                cure="add arms, or lower the quorum",
            )


class Attempt:
    """The work of an attempt, and the steps after its failure; made by `Program.attempt`.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential
    >>> model = Model("shop", time_unit="ms")
    >>> database, request = model.station("database"), model.program("request")
    >>> with request.attempt(timeout=50, tries=3, pause=exponential(10)) as attempt:
    ...     with attempt.work():
    ...         request.use(database, exponential(8))
    ...     with attempt.failed():
    ...         request.delay(1)
    >>> [step.op for step in request.steps]
    ['attempt', 'work', 'use', 'end', 'failed', 'delay', 'end', 'end']
    """

    def __init__(self, program: "Program") -> None:
        self._program = program
        self._location = caller_location()
        self._parts: list[str] = []

    @block
    def work(self) -> Iterator[None]:
        """Try the steps of the block."""
        if self._parts:
            raise self._program._error(
                f"writes the work of an attempt after its {self._parts[-1]}",
                cure="write `with attempt.work():` once, then `with attempt.failed():`",
            )
        self._parts.append("work")
        with self._program._part("work", "attempt"):
            yield

    @block
    def failed(self) -> Iterator[None]:
        """Take the steps of the block if all tries failed; the job then goes on and completes."""
        if self._parts != ["work"]:
            raise self._program._error(
                "writes what follows a failed attempt in the wrong place",
                cure="write `with attempt.failed():` once, after `with attempt.work():`",
            )
        self._parts.append("failed")
        with self._program._part("failed", "attempt"):
            yield

    def _loses(self) -> bool:
        """Return whether jobs fail with the last try; refuse an attempt that tries nothing."""
        if not self._parts:
            raise SimulationError(
                f"{self._location}: the attempt has no work",
                cure="add a `with attempt.work():` block",
            )
        return "failed" not in self._parts


def choice_data(policy: str, by: Expression | None, case_count: int) -> dict[str, object]:
    """Return how the kernel chooses among `case_count` cases."""
    if policy == "two_choices":
        return {"kind": "sampled_queue", "sample": min(SAMPLE, case_count)}
    if by is not None:
        return {"kind": policy, "by": by.to_code(policy)}
    return {"kind": policy}


def queue_data(program: "Program", of: Station | Pool) -> dict[str, str]:
    """Return the station or pool whose jobs a choice counts."""
    kind, word = (Pool, "pool") if isinstance(of, Pool) else (Station, "station")
    program._check_own(of, kind, word)
    return {word: of.name}


def chosen_by(program: "Program", policy: str, by: Operand | None) -> Expression | None:
    """Return the value by which a choice is made; most policies have no such thing."""
    if (policy in BY_VALUE) != (by is not None):
        raise program._error(
            f"chooses by {policy} {'without' if by is None else 'with'} an expression to look at",
            cure='give by=, an expression, with "hash" and "index" and with nothing else',
        )
    if by is None:
        return None
    amount = as_amount(by, "what a case is chosen by", program.model_id)
    expression = as_expression(amount)
    if next(expression.laws(), None) is not None:
        raise program._error(
            f"chooses by the draw {expression}",
            cure="set an attribute to the draw and choose by the attribute, or by probability",
        )
    return expression
