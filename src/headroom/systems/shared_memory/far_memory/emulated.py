"""The system `far_memory_emulated`: a program that runs here while its far accesses are delayed.

It checks the answer of `far_memory` by other means. The program runs on threads of this machine.
The hooks pass each access through the caches of the simulated machine, and the thread waits as long
as that machine would take.

Hooks slow a program down several times, so a run cannot be timed as a whole. Two metrics leave them
out:

- `run_s`: each thread has a clock of its own waits, read from the time stamp counter. A thread that
  waits for another one, at a barrier, a lock or a join, takes over that thread's clock if it is
  ahead. The last clock is the time of the run. Time in which the system ran something else does not
  count. On a busy machine threads merely take fewer lines from each other, because they rarely run
  at the same time.
- `elapsed_s`: the program runs once more with delays of zero, in which hooks and emulation do the
  same work. The difference of both runs on a clock of the system checks `run_s`. It needs
  processors that nothing else uses; `disturbed_share` reports whether it had them.

Delays are `dilation` times as long, and all times are divided by it: the work of the hooks is then
a small part of a run, so that threads meet in the order that the delays cause.

The emulation shares with the simulator the numbers of the machine file, the instructions of an
access, the rule that a processor announces its first write of a line, and frames of pages in the
order of their first use. It shares neither recording nor code:

| | emulation | simulator |
| --- | --- | --- |
| order of accesses and locks | of real threads | of the trace, threads in turn |
| coherence | words that threads compare and swap | messages of a protocol |
| network | a fixed time, spent in a real wait | stations with queues |

Both ignore the order by atomic operations.

Invariant: a run without delays does the same work as the one with delays.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Self

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.declared import Declared, FromDeclaration, declared_by
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value
from headroom.memory.here import allowed_cpus, processors_here
from headroom.systems.shared_memory.far_memory.emulation import (
    code_of_runtime,
    compiled,
    emulate,
    settings_of,
)
from headroom.systems.shared_memory.far_memory.recording import Program
from headroom.systems.shared_memory.far_memory.system import FarMemory, FarMemorySetup, ProgramSetup

PLACEMENTS = ("first_touch", "interleave")
"""Homes that are known when a page is first touched."""
MOST_NODES = 16
MOST_PROCESSORS = 32
MOST_POSTED = 1024
"""Limits of the runtime."""
DISTURBED_SHARE = 0.05
"""Share of a run that its threads waited for a processor from which on a remark says so."""
_KINDS = ("compute_s", "local_s", "hit_s", "remote_s")


class FarMemoryEmulatedSetup(ProgramSetup, frozen=True, kw_only=True):
    """`[experiment.system]` of a delayed program."""

    machine: Annotated[str, msgspec.Meta(min_length=1)] = "two_socket"
    """Machine file with coherent processor caches: `two_socket`, `cxl_pool`, or a path."""


class Delayed(Declared, frozen=True, kw_only=True):
    """How long a program is delayed."""

    dilation: Annotated[float, parameter(low=1.0, high=1000.0, source="declared")] = 4.0
    """Factor of all delays, by which the measured time is divided again"""


METRICS = (
    Metric(name="run_s", unit="s", better="low", description="Time of a run, by clocks of threads"),
    Metric(
        name="elapsed_s", unit="s", better="low",
        description="The same as the difference of a run with delays and one without",
    ),
    Metric(name="compute_s", unit="s", better="low", description="Mean delay by instructions"),
    Metric(name="local_s", unit="s", better="low", description="Mean delay by own memory"),
    Metric(name="hit_s", unit="s", better="low", description="Mean delay by the network cache"),
    Metric(name="remote_s", unit="s", better="low", description="Mean delay by other nodes"),
    Metric(
        name="waiting_s", unit="s", better="low",
        description="The rest of run_s: mean time at barriers and locks",
    ),
    Metric(name="misses", unit="1", better="low", description="Accesses that left their node"),
    Metric(name="evictions", unit="1", better="low", description="Lines given up for others"),
    Metric(name="accesses", unit="1", better="none", description="Accesses of the program"),
    Metric(name="threads", unit="1", better="none", description="Threads of the program"),
    Metric(
        name="hooks_s", unit="s", better="low",
        description="Time of the run without delays: program, hooks, and emulation",
    ),
    Metric(
        name="disturbed_share", unit="1", better="none",
        description="Share of a run in which a thread was ready and had no processor",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FarMemoryEmulated(FromDeclaration):
    """A program whose accesses of far memory are delayed on this machine."""

    name: ClassVar[str] = "far_memory_emulated"
    column: ClassVar[Column] = Column.MEASURE
    setup_type: ClassVar[type[msgspec.Struct]] = FarMemoryEmulatedSetup
    declared: ClassVar[type[Declared]] = Delayed

    simulated: FarMemory
    """The system that this one checks: program and machine."""

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:
        """Return the system for a validated `setup`; paths start at `base`."""
        given = msgspec.convert(msgspec.to_builtins(setup), FarMemorySetup)
        return cls(FarMemory.load(given, base=base))

    @property
    def program(self) -> Program:
        """The owner's program that runs on the emulated memory."""
        return self.simulated.program

    def parameters(self) -> tuple[Parameter, ...]:
        """Return those of `far_memory` but what cannot be known before a run, and `dilation`."""
        known = {one.name: one for one in self.simulated.parameters()}
        del known["moves_private"]
        known["placement"] = replace(
            known["placement"],
            choices=PLACEMENTS,
            description="Homes of pages: the first user, or pages in turn",
        )
        return (*known.values(), *declared_by(Delayed))

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:  # noqa: ARG002
        """Return the same metrics at each point."""
        return METRICS

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return the code of the runtime, the program, and the machine of the point."""
        return f"far_memory_emulated {code_of_runtime()} {self.program_and_machine(config)}"

    def program_and_machine(self, config: Mapping[str, Value]) -> str:
        """Return the program, and the machine of the point."""
        words = [self.simulated.digest(), self.program.flags, self.program.argv]
        return f"{words} {sorted(self.simulated.whole_machine(config).items())}"

    def found_at(self, config: Mapping[str, Value]) -> str:  # noqa: ARG002 - the protocol's
        """Return machine and processors: results of others are not reused."""
        return processors_here()

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse missing files, and machines that the runtime cannot emulate."""
        self.simulated.check_files(config)
        machine = self.simulated.whole_machine(config)
        for is_possible, reason, cure in _conditions(machine):
            if not is_possible:
                raise StudyError(reason, cure=cure)

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:  # noqa: ARG002 - measured
        """Run the program without delays and with them."""
        machine = self.simulated.whole_machine(config)
        settings = settings_of(machine)
        program = compiled(self.program, self.simulated.digest())
        dilation = Delayed.of(config).dilation
        plain = emulate(self.program, program, settings, dilation=0.0)
        threads = int(plain["threads"])
        check_threads(threads, processors_of(machine))
        _check_own_processors(threads)
        delayed = emulate(self.program, program, settings, dilation=dilation)
        run = _run_of(plain, delayed, machine, dilation=dilation)
        return replace(run, remarks=(*program.remarks, *run.remarks))


def processors_of(machine: Mapping[str, Value]) -> int:
    """Return the processors of all nodes."""
    return int(machine["nodes"]) * int(machine["cpus"])


def _conditions(machine: Mapping[str, Value]) -> tuple[tuple[bool, str, str], ...]:
    """Return the conditions of the runtime: whether the machine meets it, reason and hint."""
    others = "use two_socket or cxl_pool, or ask `far_memory`, which simulates all machines"
    few = f"use at most {MOST_NODES} nodes and {MOST_PROCESSORS} processors, or `far_memory`"
    is_small = int(machine["nodes"]) <= MOST_NODES and processors_of(machine) <= MOST_PROCESSORS
    return (
        (
            machine["keeps"] == "coherent" and not machine["on_card"],
            "far memory is emulated for processors whose caches hardware keeps coherent alone",
            others,
        ),
        (
            machine["protocol"] != "sci",
            'protocol = "sci" is not emulated: its lists are sequences of messages',
            'use protocol = "directory"',
        ),
        (
            machine["line_bytes"] == machine["cpu_line_bytes"],
            f"line_bytes = {machine['line_bytes']} and cpu_line_bytes = "
            f"{machine['cpu_line_bytes']}: the emulation has lines of one size",
            "give both the same value",
        ),
        (
            int(machine["l2_bytes"]) > 0 or int(machine["l3_bytes"]) == 0,
            "the third level takes what leaves the second, and there is none",
            "give l2_bytes a size, or use l3_bytes = 0",
        ),
        (
            int(machine["nodes"]) > 1,
            "on a machine of one node no memory is far",
            "use nodes = 2 or more",
        ),
        (
            _has_whole_sets(machine),
            "the sizes of the caches are not whole sets of lines with a power of two of bytes",
            "give multiples of ways times line_bytes",
        ),
        (is_small, f"{processors_of(machine)} processors on {machine['nodes']} nodes", few),
        (
            int(machine["posted_writes"]) <= MOST_POSTED,
            f"posted_writes = {machine['posted_writes']}",
            f"give at most {MOST_POSTED}",
        ),
        (
            sys.platform.startswith("linux"),
            "programs are delayed on Linux alone",
            "use a Linux machine, or `far_memory`",
        ),
    )


def _has_whole_sets(machine: Mapping[str, Value]) -> bool:
    line = int(machine["line_bytes"])
    levels = ("l1", "l2", "cache")
    return line & (line - 1) == 0 and not any(
        int(machine[f"{level}_bytes"]) % (line * int(machine[f"{level}_ways"])) for level in levels
    )


def check_threads(threads: int, processors: int) -> None:
    """Refuse more threads than the machine has processors: two on one would take turns."""
    if threads > processors:
        raise StudyError(
            f"the program has {threads} threads, and the machine {processors} "
            f"processor{'s' if processors > 1 else ''}",
            cure="use more nodes, or fewer threads",
        )


def _check_own_processors(threads: int) -> None:
    """Refuse more threads than this process has processors."""
    usable = len(allowed_cpus())
    if threads > usable:
        raise StudyError(
            f"the program has {threads} threads, but this process may use {usable} "
            f"processor{'s' if usable > 1 else ''}",
            cure=f"use at most {usable} threads",
        )


def spent_of(
    totals: Mapping[str, float], machine: Mapping[str, Value], *, dilation: float = 1.0
) -> dict[str, float]:
    """Return the time of a run, undilated, its parts, and its counts."""
    run_s = totals["run_s"] / dilation
    spent = {name: totals[name] / processors_of(machine) for name in _KINDS}
    counts = {name: totals[name] for name in ("misses", "evictions", "accesses", "threads")}
    return {"run_s": run_s, **spent, "waiting_s": run_s - sum(spent.values()), **counts}


def _run_of(
    plain: Mapping[str, float],
    delayed: Mapping[str, float],
    machine: Mapping[str, Value],
    *,
    dilation: float,
) -> Run:
    """Return the times of a run with delays, undilated."""
    both = plain["elapsed_s"] + delayed["elapsed_s"]
    disturbed = (plain["run_delay_s"] + delayed["run_delay_s"]) / (delayed["threads"] * both)
    remark = (
        "other programs kept threads from their processors: elapsed_s is uncertain, and threads "
        "took fewer lines from each other"
    )
    return Run(
        values={
            **spent_of(delayed, machine, dilation=dilation),
            "elapsed_s": (delayed["elapsed_s"] - plain["elapsed_s"]) / dilation,
            "hooks_s": plain["elapsed_s"],
            "disturbed_share": disturbed,
        },
        counters={name: delayed[name] for name in ("waited_s", "preempted_s")},
        remarks=(remark,) if disturbed > DISTURBED_SHARE else (),
    )
