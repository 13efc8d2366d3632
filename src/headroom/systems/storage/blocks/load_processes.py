"""A load of requests by several processes, for targets that one driver cannot fill.

Each process is a new program that inherits the opened descriptors, has a share of the depth or of
the rate, and its own streams of requests. All begin at one moment, on processors of their own where
there are enough.

Invariant: no process outlives the run, however it ends.
"""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from typing import Any, BinaryIO

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.recording.merging import merged
from headroom.systems.storage.measure import run_job, source_seed

_GO = b"go\n"
_READY = b"ready\n"


def run_in_processes(job: dict[str, Any], count: int) -> dict[str, Any]:
    """Carry a job out in `count` processes; return one result, as `run_job` does.

    Raises
    ------
    StudyError
        The load cannot be shared out.
    EnvironmentUnfitError
        A process could not carry out its part, or ended without a result.
    """
    if count == 1:
        return run_job(job)
    parts = list(shares(job, count))
    cpus = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    with ExitStack() as stack:
        running = []
        for number, part in enumerate(parts):
            one = stack.enter_context(_start(part, number))
            stack.callback(one.kill)
            if len(cpus) >= count:
                os.sched_setaffinity(one.pid, {cpus[number]})
            running.append(one)
        for number, one in enumerate(running, start=1):
            _expect(one, number)
        for one in running:
            # Who has ended meanwhile is named when its result is read.
            with suppress(BrokenPipeError):
                os.write(_pipe(one.stdin).fileno(), _GO)
        return merged([_result(one, number) for number, one in enumerate(running, start=1)])


def shares(job: Mapping[str, Any], count: int) -> Iterator[dict[str, Any]]:
    """Yield the job of each process.

    Examples
    --------
    >>> job = {"seed": 1, "workload": {"kind": "micro", "depth": 5}, "stop": {"requests": 9},
    ...        "target": {"kind": "nothing"}}
    >>> [(one["workload"]["depth"], one["stop"]["requests"]) for one in shares(job, 2)]
    [(3, 5), (2, 4)]
    """
    workload = job["workload"]
    rate = workload.get("rate_per_s")
    problem = ""
    if workload["kind"] != "micro":
        problem = f"a load of the kind {workload['kind']!r} is one sequence of requests"
    elif job.get("verify") or job.get("sync"):
        problem = "verified or synced writes are known to one process"
    elif job["target"]["kind"] == "soft":
        problem = "a soft device lives in one process"
    elif workload.get("pattern") == "sequential":
        problem = "a sequential load is one sequence of requests"
    elif rate is None and workload["depth"] < count:
        problem = f"{workload['depth']} requests at once are fewer than the processes"
    if problem:
        raise StudyError(
            f"processes = {count}, but {problem}", cure="set processes = 1 for this experiment"
        )
    for number in range(count):
        own = dict(workload)
        if rate is None:
            own["depth"] = _share(workload["depth"], count, number)
        else:
            own["rate_per_s"] = rate / count
        stop = {
            name: _share(value, count, number) if name in {"requests", "bytes"} else value
            for name, value in job["stop"].items()
        }
        seed = job["seed"] if number == 0 else source_seed(seed=job["seed"], key=number)
        yield {**job, "workload": own, "stop": stop, "seed": seed}


def _share(total: int, count: int, number: int) -> int:
    return int(total) // count + (number < int(total) % count)


def _start(job: Mapping[str, Any], number: int) -> "subprocess.Popen[bytes]":
    """Start a process that waits for the word to begin."""
    one = subprocess.Popen(
        [sys.executable, "-m", __name__, str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=descriptors(job),
    )
    try:
        _pipe(one.stdin).write(json.dumps(job).encode() + b"\n")
        _pipe(one.stdin).flush()
    except BrokenPipeError as error:
        raise _lost(one, number + 1) from error
    return one


def descriptors(job: Any) -> list[int]:  # noqa: ANN401 - a job as data
    """Return the open descriptors that a job names."""
    if isinstance(job, Mapping):
        found = [value for name, value in job.items() if name == "fd" and isinstance(value, int)]
        nested = [one for value in job.values() for one in descriptors(value)]
        listed = [one for name, value in job.items() if name == "fds" for one in value]
        return [*found, *listed, *nested]
    if isinstance(job, list):
        return [one for value in job for one in descriptors(value)]
    return []


def _expect(one: "subprocess.Popen[bytes]", number: int) -> None:
    if _pipe(one.stdout).readline() != _READY:
        raise _lost(one, number)


def _result(one: "subprocess.Popen[bytes]", number: int) -> dict[str, Any]:
    try:
        found = pickle.load(_pipe(one.stdout))  # noqa: S301 - our own child wrote it
    except (EOFError, pickle.UnpicklingError) as error:
        raise _lost(one, number) from error
    if isinstance(found, EnvironmentUnfitError):
        raise EnvironmentUnfitError(f"load process {number}: {found.message}", cure=found.cure)
    return dict(found)


def _lost(one: "subprocess.Popen[bytes]", number: int) -> EnvironmentUnfitError:
    one.kill()
    said = _pipe(one.stderr).read().decode(errors="replace").strip().splitlines()
    return EnvironmentUnfitError(
        f"load process {number} ended with exit code {one.wait()}"
        + (f": {said[-1]}" if said else ""),
        cure="run the replication again; with processes = 1 the load runs in this process",
    )


def _pipe(file: Any) -> BinaryIO:  # noqa: ANN401 - a pipe that was asked for
    return file  # type: ignore[no-any-return]


def _main() -> None:
    """Carry out the job on standard input when told to; end with the parent."""
    _end_with(int(sys.argv[1]))
    job = json.loads(sys.stdin.buffer.readline())
    sys.stdout.buffer.write(_READY)
    sys.stdout.buffer.flush()
    if sys.stdin.buffer.readline() != _GO:
        return
    try:
        result: object = {**run_job(job), "interrupt": None}
    except EnvironmentUnfitError as error:
        result = error
    # With PYTHONUNBUFFERED the usual one writes only what the pipe takes at once.
    with open(sys.stdout.fileno(), "wb", closefd=False) as file:
        file.write(pickle.dumps(result))


def _end_with(parent: int) -> None:
    """Let the kernel kill this process when its parent ends."""
    import ctypes  # noqa: PLC0415 - in the child only
    import signal  # noqa: PLC0415

    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


if __name__ == "__main__":
    _main()
