"""What is checked in a model before it runs, and what is known of it without running it.

The builder refuses single wrong steps as they are written; this module looks at whole programs:
what is held on every path, who calls whom, which load is offered. Messages name the line on which
the step was written.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, NoReturn

from headroom.simulation.errors import SimulationError
from headroom.simulation.program import Program, Step

if TYPE_CHECKING:
    from headroom.simulation.model import Model

SHORTEST_MEAN = 1e-6
"""Shortest mean (time units) of a random time: a thousand ticks, so that rounding to whole ticks
shifts no mean by more than 0.05 %."""


def check_model(model: "Model") -> None:
    """Raise `SimulationError` where `model` cannot be run."""
    if not model.classes:
        raise SimulationError(
            f"model {model.name!r} has no class, so no job ever enters it",
            cure="add one with model.closed_class() or model.open_class()",
        )
    for program in model.programs.values():
        if not program.steps:
            raise SimulationError(
                f"{program.location}: program {program.name!r} has no steps",
                cure="write its steps, or remove it",
            )
        check_balance(program, model)
    call_order(model)
    _refuse_coarse_times(model)


def _refuse_coarse_times(model: "Model") -> None:
    """Raise `SimulationError` where the clock is too coarse for a mean time of `model`."""
    laws = [
        (step.location, step.law)
        for program in model.programs.values()
        for step in program.steps
        if step.law is not None and step.op in {"use", "delay"}
    ]
    laws += [(one.location, one.law) for one in model.classes.values() if one.law is not None]
    for location, law in laws:
        if law.c2 > 0 and 0 < law.mean < SHORTEST_MEAN:
            raise SimulationError(
                f"{location}: {law} has a mean of {law.mean:.3g} {model.time_unit}, and the clock "
                f"counts in steps of 1e-9 {model.time_unit}: its draws would be distorted",
                cure=f"choose a smaller time_unit, so that the mean is {SHORTEST_MEAN:g} or more",
            )


def refuse_overload(model: "Model") -> None:
    """Raise `SimulationError` where open classes ask for more than a station can do."""
    for name, load in loads(model).items():
        if load >= 1:
            raise SimulationError(
                f"model {model.name!r}: open classes offer a load of {load:.3g} to each server of "
                f"station {name!r}, so its queue grows for ever",
                cure="lower the arrivals, add servers, or stop the run by time to watch it grow",
            )


@dataclass(slots=True)
class _Block:
    """An open block during the walk."""

    opened: Step
    held: dict[str, int]
    held_after: dict[str, int] | None = None
    weight: float = 1.0


@dataclass(slots=True)
class _Walk:
    """Walks the steps of a program, keeping what is held and how often a step is taken."""

    program: Program
    held: dict[str, int] = field(default_factory=dict)
    blocks: list[_Block] = field(default_factory=list)
    weight: float = 1.0

    def steps(self) -> Iterator[Step]:
        """Yield each step that does something, the state being that before it."""
        for step in self.program.steps:
            if step.op == "end":
                self._close(step)
            elif step.op in {"loop", "branch", "fork", "case", "arm"}:
                self._open(step)
            else:
                yield step
                self._count(step)
        if self.program.open_block:
            self.fail(self.program.steps[-1], f"leaves its {self.program.open_block} open")
        if self.held:
            self.fail(self.program.steps[-1], f"ends while it holds {_amounts(self.held)}")

    def held_by_anyone(self) -> set[str]:
        """Return the pools held here, by the job or by the parents that wait for its arm."""
        outer = {pool for block in self.blocks if block.opened.op == "arm" for pool in block.held}
        return outer | set(self.held)

    def fail(self, step: Step, what: str) -> NoReturn:
        """Raise an error at `step`."""
        raise SimulationError(
            f"{step.location}: program {self.program.name!r} {what}",
            cure="release on every path what was acquired on it; `with program.holding(pool):` "
            "does so by itself",
        )

    def _open(self, step: Step) -> None:
        self.blocks.append(_Block(step, dict(self.held), weight=self.weight))
        if step.op == "loop" and step.law is not None:
            self.weight *= step.law.mean
        elif step.op == "case":
            self.weight *= float(str(step.data["probability"]))
        elif step.op == "arm":
            self.held = {}

    def _close(self, end: Step) -> None:
        block = self.blocks.pop()
        self.weight = block.weight
        match block.opened.op:
            case "loop" if self.held != block.held:
                self.fail(
                    block.opened,
                    f"holds {_amounts(self.held)} after a round of its loop "
                    f"and {_amounts(block.held)} before it",
                )
            case "case":
                self._close_case(block, self.blocks[-1])
            case "branch":
                self.held = block.held_after if block.held_after is not None else block.held
            case "arm":
                if self.held:
                    self.fail(end, f"ends an arm while the arm holds {_amounts(self.held)}")
                self.held = block.held

    def _close_case(self, case: _Block, branch: _Block) -> None:
        if branch.held_after is None:
            branch.held_after = self.held
        elif branch.held_after != self.held:
            self.fail(
                case.opened,
                f"holds {_amounts(self.held)} after one case of a branch and "
                f"{_amounts(branch.held_after)} after another",
            )
        self.held = dict(branch.held)

    def _count(self, step: Step) -> None:
        pool, tokens = str(step.data.get("pool")), step.data.get("tokens")
        if not isinstance(tokens, int):
            return
        total = self.held.get(pool, 0) + (tokens if step.op == "acquire" else -tokens)
        if total < 0:
            self.fail(
                step,
                f"releases {tokens} token(s) of pool {pool!r} where it holds "
                f"{self.held.get(pool, 0)}",
            )
        self.held[pool] = total
        if total == 0:
            del self.held[pool]


def check_balance(program: Program, model: "Model") -> None:
    """Raise `SimulationError` where the paths of `program` disagree on what they hold."""
    walk = _Walk(program)
    for step in walk.steps():
        if step.op == "acquire":
            pool = model.pools[str(step.data["pool"])]
            total = walk.held.get(pool.name, 0) + int(str(step.data["tokens"]))
            if total > pool.tokens:
                raise SimulationError(
                    f"{step.location}: program {program.name!r} would hold {total} tokens of pool "
                    f"{pool.name!r}, which has {pool.tokens}: it would wait for itself",
                    cure="release before acquiring again, or make the pool larger",
                )


def call_order(model: "Model") -> list[str]:
    """Return the programs, the called before the callers; refuse programs that call themselves."""
    calls = {
        program.name: {str(step.data["program"]) for step in program.steps if step.op == "call"}
        for program in model.programs.values()
    }
    try:
        return list(TopologicalSorter(calls).static_order())
    except CycleError as error:
        names = list(reversed(error.args[1]))
        step = next(
            step for step in model.programs[names[0]].steps if step.data.get("program") == names[1]
        )
        raise SimulationError(
            f"{step.location}: programs call themselves: {' -> '.join(names)}",
            cure="use a loop, or break the circle of calls",
        ) from error


def holds(model: "Model") -> dict[str, tuple[str, ...]]:
    """Return for each pool the stations that jobs use while they hold its tokens."""
    reached = _reached_while_held(model, "use", "station")
    return {
        pool: tuple(station for station in model.stations if station in stations)
        for pool, stations in reached.items()
    }


def nested(model: "Model") -> dict[str, tuple[str, ...]]:
    """Return for each pool the other pools that jobs acquire while they hold its tokens."""
    reached = _reached_while_held(model, "acquire", "pool")
    return {
        pool: tuple(other for other in model.pools if other in inner and other != pool)
        for pool, inner in reached.items()
    }


def _reached_while_held(model: "Model", op: str, kind: str) -> dict[str, set[str]]:
    """Return for each pool what steps of the kind `op` name while its tokens are held."""
    named: dict[str, set[str]] = {}
    reached: dict[str, set[str]] = {pool: set() for pool in model.pools}
    for name in call_order(model):
        named[name] = set()
        walk = _Walk(model.programs[name])
        for step in walk.steps():
            here = {str(step.data[kind])} if step.op == op else set()
            if step.op == "call":
                here = named[str(step.data["program"])]
            named[name] |= here
            for pool in walk.held_by_anyone():
                reached[pool] |= here
    return reached


def loads(model: "Model") -> dict[str, float]:
    """Return the load that open classes offer to each station, per server."""
    demands = _demands(model)
    load = dict.fromkeys(model.stations, 0.0)
    for job_class in model.classes.values():
        if job_class.population is None and job_class.law is not None:
            for station, demand in demands[job_class.program].items():
                load[station] += demand / job_class.law.mean / model.stations[station].servers
    return load


def _demands(model: "Model") -> dict[str, dict[str, float]]:
    """Return the mean service time that one walk of each program takes at each station."""
    demands: dict[str, dict[str, float]] = {}
    for name in call_order(model):
        own: dict[str, float] = {}
        walk = _Walk(model.programs[name])
        for step in walk.steps():
            asked: dict[str, float] = {}
            if step.op == "use" and step.law is not None:
                asked = {str(step.data["station"]): step.law.mean}
            elif step.op == "call":
                asked = demands[str(step.data["program"])]
            for station, demand in asked.items():
                if walk.weight > 0:
                    own[station] = own.get(station, 0.0) + walk.weight * demand
        demands[name] = own
    return demands


def _amounts(held: dict[str, int]) -> str:
    if not held:
        return "nothing"
    return " and ".join(f"{tokens} of pool {pool!r}" for pool, tokens in sorted(held.items()))
