"""Far memory emulated by delay: the numbers that the runtime takes, and its runs.

The runtime of the hooks delays each access by fixed times. They follow from the machine file: an
access of another node is a message there and one back, through stations that are idle.
"""

import json
import os
import subprocess
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from subprocess import CompletedProcess

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Value
from headroom.systems.shared_memory.far_memory.recording import Program, check_exit, check_openmp
from headroom.systems.shared_memory.hook.build import RUNTIME, NotHookedError, compile_hooked
from headroom.systems.shared_memory.hook.record import record

SETTINGS = (
    "nodes", "cpus", "is_interleaved", "line_bytes", "l1_sets", "l1_ways", "l2_sets", "l2_ways",
    "l3_sets", "l3_ways", "cache_sets", "cache_ways", "posted_writes", "compute_ns", "near_ns",
    "last_ns", "local_read_ns", "local_write_ns", "hit_read_ns", "hit_write_ns", "far_ns",
    "posted_ns", "barrier_ns", "lock_ns", "dilation", "is_virtual",
)  # fmt: skip
"""Numbers of the runtime in the order of `hook/runtime/emulation.h`."""
_SETTINGS_VARIABLE = "HEADROOM_FAR"
_REPORT_VARIABLE = "HEADROOM_FAR_REPORT"
_HEADER_BYTES = 24
"""A packet without data and the echo that answers it."""
_DATA_UNIT_BYTES = 64
"""Data of which the memory of the card transfers one in `memory_s`."""


def far_s(machine: Mapping[str, Value]) -> float:
    """Return the time (s) from a processor to the home of a line and back while all is idle.

    Parameters
    ----------
    machine
        All numbers of the machine; with `protocol = "uncached"` the answer is a word.

    Examples
    --------
    >>> from headroom.systems.shared_memory.simulated.machine_file import machine_path, read_machine
    >>> pool = {one.name: one.default for one in read_machine(machine_path("cxl_pool"))}
    >>> round(far_s({**pool, "nodes": 2}) * 1e9)
    255
    """
    has_data = machine["protocol"] != "uncached"
    data = float(machine["line_bytes"]) if has_data else 0.0

    def of(name: str) -> float:
        return float(machine[name])

    # Controllers and buses are at both ends; a ring takes all hops there and back.
    wire = (2.0 * _HEADER_BYTES + data) * (
        1.0 / of("link_bytes_per_s") + 2.0 / of("bus_bytes_per_s")
    )
    memory = 2.0 * of("memory_s") * data / _DATA_UNIT_BYTES
    ends = of("request_s") + of("reply_s") + 4.0 * (of("controller_s") + of("crossing_s"))
    return ends + memory + wire + of("nodes") * of("hop_s")


def settings_of(machine: Mapping[str, Value]) -> dict[str, float]:
    """Return the numbers of the runtime for a machine with its placement, but `dilation`.

    Parameters
    ----------
    machine
        All numbers of the machine and of the point.
    """
    line = float(machine["line_bytes"])
    has_cache = machine["protocol"] != "uncached"

    def sets(level: str) -> float:
        return float(machine[f"{level}_bytes"]) // (line * float(machine[f"{level}_ways"]))

    same = (
        "nodes", "cpus", "line_bytes", "l1_ways", "l2_ways", "l3_ways", "cache_ways",
        "posted_writes",
    )  # fmt: skip
    times = (
        "near", "last", "local_read", "local_write", "hit_read", "hit_write", "barrier", "lock"
    )  # fmt: skip
    instruction_s = float(machine["instruction_s"])
    return {
        **{name: float(machine[name]) for name in same},
        **{f"{name}_ns": float(machine[f"{name}_s"]) * 1e9 for name in times},
        "is_interleaved": float(machine["placement"] == "interleave"),
        "l1_sets": sets("l1"),
        "l2_sets": sets("l2"),
        "l3_sets": sets("l3"),
        "cache_sets": sets("cache") if has_cache else 0.0,
        "compute_ns": instruction_s * float(machine["instructions_per_access"]) * 1e9,
        "posted_ns": float(machine["posted_write_s"]) * 1e9,
        "far_ns": far_s(machine) * 1e9,
    }


@cache
def code_of_runtime() -> str:
    """Return a hash of the runtime of the hooks."""
    content = sha256()
    for path in sorted(RUNTIME.iterdir()):
        content.update(path.read_bytes())
    return content.hexdigest()[:16]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Compiled:
    """A program with hooks: a file, or one that has no name any more and goes with its process."""

    path: Path
    descriptor: int | None = None
    remarks: tuple[str, ...] = ()
    """Which part of the run has no hooks."""

    def run(self, program: Program, environment: Mapping[str, str]) -> CompletedProcess[str]:
        """Run it to its end."""
        is_open = self.descriptor is not None
        return subprocess.run(
            [str(self.path), *program.argv],
            executable=f"/proc/self/fd/{self.descriptor}" if is_open else None,
            pass_fds=() if self.descriptor is None else (self.descriptor,),
            cwd=program.folder, env=environment, check=False,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        )  # fmt: skip


@lru_cache(maxsize=2)
def compiled(program: Program, digest: str) -> Compiled:  # noqa: ARG001 - a key
    """Return a program with hooks, which has run once; `digest` is the hash of its files.

    Raises
    ------
    HeadroomError
        It cannot be compiled.
    """
    if program.program is not None:
        return Compiled(program.program, remarks=_seen(program, program.program))
    with tempfile.TemporaryDirectory(prefix="headroom-far-") as folder:
        path = Path(folder, "program")
        compile_hooked(program.sources, output=path, flags=program.flags)
        remarks = _seen(program, path)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    made = Compiled(path, descriptor, remarks)
    weakref.finalize(made, os.close, descriptor)
    return made


def _seen(program: Program, path: Path) -> tuple[str, ...]:
    """Run a program without delays; return which part of the run has no hooks."""
    check_openmp(path)
    try:
        return record([path, *program.argv], folder=program.folder).accesses.remarks()
    except StudyError:  # the run with delays says why
        return ()


def emulate(
    program: Program,
    made: Compiled,
    settings: Mapping[str, float],
    *,
    dilation: float,
    is_virtual: bool = False,
) -> dict[str, float]:
    """Run a program with its delays once; return the totals of the runtime.

    Parameters
    ----------
    program
        Its arguments and its folder.
    made
        The program with hooks.
    settings
        As of `settings_of`.
    dilation
        Factor of all delays; 0 for a run without any.
    is_virtual
        Whether the clocks of threads advance without waits.

    Raises
    ------
    StudyError
        The program does not start, has no hooks, or fails.
    """
    numbers = {**settings, "dilation": dilation, "is_virtual": float(is_virtual)}
    with tempfile.TemporaryDirectory(prefix="headroom-far-") as name:
        report = Path(name, "report")
        environment = {
            **os.environ,
            _SETTINGS_VARIABLE: " ".join(repr(float(numbers[one])) for one in SETTINGS),
            _REPORT_VARIABLE: str(report),
        }
        try:
            done = made.run(program, environment)
        except OSError as error:
            raise StudyError(
                f"{made.path.name} does not start: {error.strerror}",
                cure="give the path of a program that compile_hooked built",
            ) from error
        check_exit(made.path, done.returncode, done.stderr)
        text = report.read_text(encoding="ascii") if report.exists() else ""
    if not text:
        raise NotHookedError(
            f"{made.path.name} was not delayed",
            cure="link it with the runtime of the hooks, and let it end by itself",
        )
    found: dict[str, float] = json.loads(text)
    return found
