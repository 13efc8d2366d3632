"""The system `shared_threads`: a program that shares memory, run on the threads of this machine.

Its times begin once all threads have prepared the data. A run whose result deviates too much from a
check by other means has a fault.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.declared import Declared, FromDeclaration, declared_by
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.own_process import OwnProcess
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value
from headroom.memory.here import COUNTERS, allowed_cpus, processors_here
from headroom.systems.shared_memory import native
from headroom.systems.shared_memory.program_parameters import (
    program_json,
    program_parameters,
    used,
)

MOST_THREADS = 256
"""Most threads of the compiled programs."""
_PERMISSION = "oversubscribe"
"""The parameter that no run depends on: it only permits some."""


class ThreadsSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.system]` of programs on threads."""

    rounds: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 3
    """Rounds of a replication that are timed one by one; their median counts."""
    round_s: Annotated[float, msgspec.Meta(gt=0, le=60)] = 0.005
    """Time (s) of a round, at least: shorter runs are repeated."""
    warm_runs: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 1
    """Runs before, which are not timed."""


class Threads(Declared, frozen=True, kw_only=True):
    """On what a program runs."""

    threads: Annotated[int, parameter(low=1, high=MOST_THREADS, source="declared")] = 1
    """Threads of the program"""
    copies: Annotated[int, parameter(low=1, high=MOST_THREADS, source="declared")] = 1
    """Copies of the program at once that share no data; the first is measured"""
    oversubscribe: Annotated[bool, parameter(source="declared")] = False
    """Whether there may be more threads than processors"""


_METRICS = (
    Metric(name="run_s", unit="s", better="low", description="Time of a run, without its start-up"),
    Metric(name="phase_s", unit="s", better="low", description="Time of a phase: run_s by phases"),
    Metric(name="phases", unit="1", description="Phases between barriers"),
    Metric(name="busy_s", unit="s", better="low", description="Mean time of a thread in phases"),
    Metric(
        name="imbalance", unit="1", better="low",
        description="Time in phases of the busiest thread, by the mean of all",
    ),
    Metric(
        name="waiting_share", unit="1", better="low",
        description="Share of a run that a thread waits for others, on average",
    ),
    Metric(
        name="processor_share", unit="1", better="high",
        description="Share of a run that a thread has a processor, at work or spinning",
    ),
    *(
        Metric(name=name, unit="1", better="low", description=f"{text}, of all threads")
        for name, text in COUNTERS.items()
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SharedThreads(FromDeclaration):
    """A program on the threads of this machine.

    Examples
    --------
    >>> system = SharedThreads(ThreadsSetup())
    >>> config = {one.name: one.default for one in system.parameters()} | {"program": "fft"}
    >>> system.run(config, seed=1).values["run_s"] > 0.0
    True
    """

    name: ClassVar[str] = "shared_threads"
    column: ClassVar[Column] = Column.MEASURE
    setup_type: ClassVar[type[msgspec.Struct]] = ThreadsSetup
    code_key: ClassVar[str] = ""
    declared: ClassVar[type[Declared]] = Threads

    setup: ThreadsSetup

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the program, its sizes, and its threads."""
        return (*program_parameters(), *declared_by(Threads))

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:  # noqa: ARG002
        """Return the same metrics at each point."""
        return _METRICS

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return the parameters that the point uses, and the compiled code that runs it."""
        setup = msgspec.to_builtins(self.setup)
        point = {name: value for name, value in used(config).items() if name != _PERMISSION}
        return f"shared_threads 1 {native.PROGRAMS_CODE} {setup} {sorted(point.items())}"

    def found_at(self, config: Mapping[str, Value]) -> str:  # noqa: ARG002 - the protocol's
        """Return machine and processors: results of others are not reused."""
        return processors_here()

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse threads without a processor, and sizes that the threads cannot divide."""
        if not sys.platform.startswith("linux"):
            raise EnvironmentUnfitError(
                "programs run on threads on Linux alone",
                cure="use a Linux machine, or a model of one",
            )
        on, usable = Threads.of(config), len(allowed_cpus())
        if on.threads * on.copies > usable and not on.oversubscribe:
            given = f"threads = {on.threads}" + (
                f" in copies = {on.copies}" if on.copies > 1 else ""
            )
            raise StudyError(
                f"{given}, but this process may use {usable} processor{'s' if usable > 1 else ''}",
                cure=f"give {usable} or fewer, or set {_PERMISSION} = true to let threads share "
                "processors",
            )
        try:
            native.program_memory(program_json(config), threads=on.threads)
        except ValueError as error:
            raise _refusal(error) from error

    def own_process(self, config: Mapping[str, Value]) -> OwnProcess:  # noqa: ARG002
        """Return a process for each replication: other pages, and other places of threads."""
        return OwnProcess(per="replication")

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Run one replication."""
        on = Threads.of(config)
        try:
            found = native.run_program(
                program_json(config), threads=on.threads, copies=on.copies, seed=seed % 2**64,
                warm_runs=self.setup.warm_runs, rounds=self.setup.rounds,
                round_s=self.setup.round_s,
            )  # fmt: skip
        except ValueError as error:
            raise _refusal(error) from error
        return _run_of(str(config["program"]), found)


def _refusal(error: ValueError) -> StudyError:
    return StudyError(str(error), cure="change sizes or threads, or leave the point out")


def _run_of(program: str, found: Mapping[str, Any]) -> Run:
    """Return the medians of the rounds; a wrong result is a fault."""
    rounds = [_round_values(one, int(found["phases"])) for one in found["rounds"]]
    counted = set.intersection(*(set(one) for one in rounds))
    values = {name: float(np.median([one[name] for one in rounds])) for name in sorted(counted)}
    wrong = found["fault"]
    return Run(
        values=values,
        counters={"runs": float(sum(one["runs"] for one in found["rounds"]))},
        faults=() if wrong is None else (f"the result of {program} is wrong: {wrong}",),
    )


def _round_values(found: Mapping[str, Any], phases: int) -> dict[str, float]:
    run_s, busy = float(found["wall_s"]), np.array(found["busy_s"])
    busy_s = float(busy.mean())
    return {
        "run_s": run_s,
        "phase_s": run_s / phases,
        "phases": float(phases),
        "busy_s": busy_s,
        "imbalance": float(busy.max()) / busy_s,
        "waiting_share": 1.0 - busy_s / run_s,
        "processor_share": float(np.mean(found["cpu_s"])) / run_s,
        **found["counters"],
    }
