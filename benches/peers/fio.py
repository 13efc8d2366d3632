"""fio, tuned, as the peer of the storage engine.

Everything that makes fio cheap is enabled: registered files and buffers, plain calls instead of
vectors, batched submissions and completions, one thread instead of a process, no map of touched
blocks, the cheapest address generator, and its own clock based on the processor's counter. It keeps
only the histogram of its completion latency: no slat, no total latency, no bandwidth over time.

Processor time is that of its whole process tree, minus that of a run of a single request with the
same options, which measures starting and ending the program.
"""

import json
import resource
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.errors import EnvironmentUnfitError

PROGRAM = "fio"
_LEAN = (
    "--name=peer", "--thread", "--time_based", "--norandommap", "--randrepeat=0",
    "--random_generator=tausworthe64", "--invalidate=0", "--allow_file_create=0", "--gtod_reduce=0",
    "--disable_slat=1", "--disable_lat=1", "--disable_bw_measurement=1", "--clocksource=cpu",
    "--eta=never", "--output-format=json",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A load on one file: closed, random, blocks of 4 KiB.

    Parameters
    ----------
    path, size_bytes
        The file and how much of it is used, from its beginning (B).
    interface
        ``"io_uring"`` or ``"psync"``.
    kind
        ``"randread"`` or ``"randwrite"``.
    depth
        Requests outstanding at once, >= 1.
    is_direct
        Whether the cache of the system is passed by (O_DIRECT).
    """

    path: Path
    size_bytes: int
    interface: str
    kind: str
    depth: int
    is_direct: bool


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a run: requests, requests per second, processor seconds.

    Examples
    --------
    >>> cost = Cost(count=2e6, per_s=1e6, processor_s=3.0, program_s=1.0)
    >>> cost.per_million_s, cost.program_per_million_s
    (1.5, 0.5)
    """

    count: float
    per_s: float
    processor_s: float
    program_s: float
    """Processor time of the program itself, outside of the kernel."""

    @property
    def per_million_s(self) -> float:
        """Processor seconds per million requests."""
        return self.processor_s / self.count * 1e6

    @property
    def program_per_million_s(self) -> float:
        """Processor seconds outside of the kernel per million requests."""
        return self.program_s / self.count * 1e6


def name() -> str:
    """Return fio with its version, ``"fio"`` alone if it is missing."""
    if missing():
        return PROGRAM
    return subprocess.run(
        [PROGRAM, "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()


def missing() -> str:
    """Return why fio cannot be used, an empty text if it can."""
    return "" if shutil.which(PROGRAM) else "fio is not installed (Debian: apt install fio)"


def options(load: Load, seconds: float) -> list[str]:
    """Return the command line of `load` for `seconds`.

    Examples
    --------
    >>> load = Load(path=Path("f"), size_bytes=4096, interface="io_uring", kind="randread", depth=8,
    ...             is_direct=True)
    >>> [one for one in options(load, 2.0) if "batch" in one]
    ['--iodepth_batch_submit=8', '--iodepth_batch_complete_min=1', '--iodepth_batch_complete_max=8']
    """
    ring = [
        "--fixedbufs=1",
        "--registerfiles=1",
        "--nonvectored=1",
        f"--iodepth_batch_submit={load.depth}",
        "--iodepth_batch_complete_min=1",
        f"--iodepth_batch_complete_max={load.depth}",
    ]
    return [
        PROGRAM,
        *_LEAN,
        f"--filename={load.path}",
        f"--size={load.size_bytes}",
        f"--ioengine={load.interface}",
        f"--rw={load.kind}",
        "--bs=4096",
        f"--iodepth={load.depth}",
        f"--direct={int(load.is_direct)}",
        f"--runtime={round(seconds * 1000)}ms",
        *(ring if load.interface == "io_uring" else []),
    ]


def run(load: Load, seconds: float) -> Cost:
    """Run `load` for `seconds`; its processor time is without start and end of the program."""
    report, all_s, all_program_s = _reported(options(load, seconds))
    # A run bounded by time starts again after its last request, until the time is over.
    once = [option for option in options(load, seconds) if option != "--time_based"]
    _, start_s, start_program_s = _reported([*once, "--number_ios=1"])
    totals = report["jobs"][0]["read" if load.kind == "randread" else "write"]
    return Cost(
        count=totals["total_ios"],
        per_s=totals["iops"],
        processor_s=max(all_s - start_s, 0.0),
        program_s=max(all_program_s - start_program_s, 0.0),
    )


def _reported(command: list[str]) -> tuple[dict[str, Any], float, float]:
    """Return the report, the processor time of the process tree, and that outside of the kernel."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0 or "{" not in done.stdout:
        said = (done.stderr or done.stdout).strip()
        raise EnvironmentUnfitError(
            f"fio ended with {done.returncode}: {said}", cure="run its command line by hand"
        )
    program_s = after.ru_utime - before.ru_utime
    kernel_s = after.ru_stime - before.ru_stime
    report = json.loads(done.stdout[done.stdout.index("{") :])
    return report, program_s + kernel_s, program_s
