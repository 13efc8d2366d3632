"""Programs: the steps that a job walks through stations and pools, built line by line.

A program is kept as the flat list that the kernel reads: blocks open with their own step and
close with ``end``. Each step remembers the line on which the user wrote it, for messages; the
line is no part of the model's data.
"""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from headroom.simulation.distribution import Distribution, as_distribution
from headroom.simulation.errors import SimulationError, caller_location
from headroom.simulation.streams import stream_key

PROBABILITY_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Station:
    """Servers with one first-come-first-served queue; made by `Model.station`."""

    name: str
    servers: int
    model_id: int = field(repr=False)


@dataclass(frozen=True, slots=True)
class Pool:
    """Counted tokens, granted first come first served; made by `Model.pool`."""

    name: str
    tokens: int
    model_id: int = field(repr=False)


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what the kernel reads, where it was written, and its distribution if any."""

    data: dict[str, object]
    location: str
    law: Distribution | None = None

    @property
    def op(self) -> str:
        """Name of the step."""
        return str(self.data["op"])


class Program:
    """The steps of a job; made by `Model.program`.

    Examples
    --------
    >>> from headroom.simulation import Model, constant, exponential
    >>> model = Model("shop", time_unit="ms")
    >>> web = model.station("web", servers=4)
    >>> request = model.program("request")
    >>> request.use(web, exponential(5))
    >>> with request.loop(3):
    ...     request.delay(constant(1))
    >>> [step.op for step in request.steps]
    ['use', 'loop', 'delay', 'end']
    """

    def __init__(self, name: str, model_id: int) -> None:
        self.name = name
        self.model_id = model_id
        self.location = caller_location()
        self.steps: list[Step] = []
        self._open: list[str] = []
        self._counts: Counter[str] = Counter()

    def use(self, station: Station, service: Distribution | float) -> None:
        """Queue for a server of `station` and occupy it for a time drawn from `service`."""
        self._check_own(station, Station, "station")
        law = as_distribution(service)
        self._add(
            "use",
            law,
            station=station.name,
            service=law.to_data(),
            stream=self._stream(f"use {station.name}"),
        )

    def delay(self, time: Distribution | float) -> None:
        """Let a time drawn from `time` pass without occupying anything."""
        law = as_distribution(time)
        self._add("delay", law, time=law.to_data(), stream=self._stream("delay"))

    def acquire(self, pool: Pool, tokens: int = 1) -> None:
        """Wait for `tokens` (1 to the size of the pool) and hold them until released."""
        self._check_own(pool, Pool, "pool")
        if not isinstance(tokens, int) or not 1 <= tokens <= pool.tokens:
            raise self._error(
                f"acquires {tokens} tokens of pool {pool.name!r}, which has {pool.tokens}",
                cure=f"acquire 1 to {pool.tokens} tokens, or make the pool larger",
            )
        self._add("acquire", pool=pool.name, tokens=tokens)

    def release(self, pool: Pool, tokens: int = 1) -> None:
        """Give `tokens` back."""
        self._check_own(pool, Pool, "pool")
        if not isinstance(tokens, int) or tokens < 1:
            raise self._error(
                f"releases {tokens} tokens of pool {pool.name!r}", cure="release 1 or more tokens"
            )
        self._add("release", pool=pool.name, tokens=tokens)

    @contextmanager
    def holding(self, pool: Pool, tokens: int = 1) -> Iterator[None]:
        """Hold `tokens` of `pool` during the steps of the block."""
        self.acquire(pool, tokens)
        yield
        self.release(pool, tokens)

    @contextmanager
    def loop(self, count: int | Distribution) -> Iterator[None]:
        """Repeat the steps of the block `count` times; a distribution is drawn on entry."""
        law = as_distribution(count)
        if not law.is_whole:
            raise self._error(
                f"repeats a loop {law} times",
                cure="give an int, or a discrete distribution of ints",
            )
        self._add("loop", law, count=law.to_data(), stream=self._stream("loop"))
        with self._block("loop"):
            yield

    @contextmanager
    def branch(self) -> Iterator["Branch"]:
        """Take one of the cases of the block, by probability."""
        self._add("branch", stream=self._stream("branch"))
        branch = Branch(self)
        with self._block("branch"):
            yield branch
            branch.check()

    @contextmanager
    def fork(self) -> Iterator["Fork"]:
        """Run all arms of the block at the same time and wait for all of them."""
        self._add("fork")
        fork = Fork(self)
        with self._block("fork"):
            yield fork
            fork.check()

    def call(self, program: "Program") -> None:
        """Walk `program` as a subroutine; the job keeps what it holds."""
        self._check_own(program, Program, "program")
        self._add("call", program=program.name)

    @property
    def open_block(self) -> str:
        """Name of the innermost block that is still open, empty if none is."""
        return self._open[-1] if self._open else ""

    @contextmanager
    def _block(self, kind: str) -> Iterator[None]:
        """Close the block that was just opened when its steps are written."""
        self._open.append(kind)
        yield
        self._open.pop()
        self.steps.append(Step({"op": "end"}, caller_location()))

    @contextmanager
    def _part(self, kind: str, inside: str, **data: object) -> Iterator[None]:
        """Open a case or an arm directly inside its own kind of block."""
        if self.open_block != inside:
            raise self._error(
                f"opens a {kind} outside its {inside}",
                cure=f"open it inside the with-block of the {inside}, one after the other",
            )
        self.steps.append(Step({"op": kind, **data}, caller_location()))
        with self._block(kind):
            yield

    def _add(self, op: str, law: Distribution | None = None, **data: object) -> None:
        if self.open_block in {"branch", "fork"}:
            part = "case" if self.open_block == "branch" else "arm"
            raise self._error(
                f"has a step ({op}) in a {self.open_block} but in none of its {part}s",
                cure=f"move the step into a {part} or out of the {self.open_block}",
            )
        self.steps.append(Step({"op": op, **data}, caller_location(), law))

    def _stream(self, source: str) -> int:
        """Return the key of the next random stream of its kind in this program."""
        self._counts[source] += 1
        return stream_key(f"program {self.name}: {source} #{self._counts[source]}")

    def _check_own(self, part: object, kind: type, word: str) -> None:
        if not isinstance(part, kind):
            raise self._error(
                f"names {part!r} where a {word} is asked for", cure=f"pass what model.{word}() gave"
            )
        if getattr(part, "model_id", None) != self.model_id:
            name = getattr(part, "name", "")
            raise self._error(
                f"names the {word} {name!r} of another model",
                cure=f"make the {word} with model.{word}() of the same model",
            )

    def _error(self, what: str, *, cure: str) -> SimulationError:
        return SimulationError(f"{caller_location()}: program {self.name!r} {what}", cure=cure)


class Branch:
    """The cases of a branch; made by `Program.branch`."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._location = caller_location()
        self._probabilities: list[float] = []
        self._has_otherwise = False

    @contextmanager
    def case(self, probability: float) -> Iterator[None]:
        """Take the steps of the block with `probability` (0 to 1)."""
        if not isinstance(probability, (int, float)) or not 0 <= probability <= 1:
            raise SimulationError(
                f"{caller_location()}: a case has the probability {probability!r}",
                cure="give a probability from 0 to 1",
            )
        self._probabilities.append(float(probability))
        with self._program._part("case", "branch", probability=float(probability)):
            yield

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Take the steps of the block where no case was taken."""
        rest = 1 - math.fsum(self._probabilities)
        if self._has_otherwise or rest < -PROBABILITY_TOLERANCE:
            raise SimulationError(
                f"{caller_location()}: the branch has no probability left for otherwise",
                cure="write otherwise once, after cases whose probabilities sum to at most 1",
            )
        self._has_otherwise = True
        with self.case(max(rest, 0.0)):
            yield

    def check(self) -> None:
        """Refuse probabilities that do not sum to 1."""
        total = math.fsum(self._probabilities)
        if abs(total - 1) > PROBABILITY_TOLERANCE:
            raise SimulationError(
                f"{self._location}: the probabilities of the branch sum to {total:g}, not 1",
                cure="correct the probabilities, or add branch.otherwise() for the rest",
            )


class Fork:
    """The arms of a fork; made by `Program.fork`."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._location = caller_location()
        self._arm_count = 0

    @contextmanager
    def arm(self) -> Iterator[None]:
        """Run the steps of the block beside those of the other arms."""
        self._arm_count += 1
        with self._program._part("arm", "fork"):
            yield

    def check(self) -> None:
        """Refuse a fork without arms."""
        if self._arm_count == 0:
            raise SimulationError(
                f"{self._location}: the fork has no arm", cure="add `with fork.arm():` blocks"
            )
