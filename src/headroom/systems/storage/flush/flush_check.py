r"""Check that a target keeps its promises: write with flushes, cut its power, and compare.

::

    python -m headroom.systems.storage.flush.flush_check write /dev/sdb --log /mnt/other/sdb.log
    # ... kill this command, or cut the power of the device; then
    python -m headroom.systems.storage.flush.flush_check check /dev/sdb --log /mnt/other/sdb.log \
        --after power-cut

If the whole machine loses power, another machine keeps the log: ``--log -`` writes it to the
standard output, for ``... | ssh other 'cat > sdb.log'``.

After the death of the writing process, every acknowledged write must be present (``--after kill``).
After a loss of power, every write must be present that was acknowledged before the begin of a flush
that was also acknowledged (``--after power-cut``). Writes that began later may also be present,
wholly or in part.

Exit codes: 0 the promise was kept; 3 it was not; 2 and 5 as those of `headroom`.

Invariant: an entry of the log is on its device (or handed to its pipe) before the request that it
announces begins.
"""

import argparse
import math
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from headroom.errors import EnvironmentUnfitError, ExitCode, HeadroomError, StudyError
from headroom.systems.storage.blocks.conversion import failures_in_words
from headroom.systems.storage.flush.flush_target import (
    check_may_write,
    opened_for_reading,
    opened_for_writing,
)
from headroom.systems.storage.measure import check_job, new_run, run_until_stopped
from headroom.systems.storage.targets.safety import OVERWRITE
from headroom.systems.storage.verify.verification import (
    check_log_place,
    findings_in_words,
    open_log,
)
from headroom.systems.storage.workloads.sizes import parse_bytes

COMMAND = "python -m headroom.systems.storage.flush.flush_check"
PROMISES = {"kill": "acknowledged", "power-cut": "flushed"}
"""Event -> the promise that the core demands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The load of writes.

    Parameters
    ----------
    cell_bytes
        Bytes judged together: the sector or the block of the target.
    block_bytes
        Size of a write, a multiple of it.
    depth
        Writes in flight at once.
    flush_every
        Writes between two flushes.
    seconds
        Time (s) after which it ends; None: when it is stopped or cut.
    interface
        ``"io_uring"`` or ``"threads"``.
    seed
        Of the places.
    """

    cell_bytes: int = 4096
    block_bytes: int = 16384
    depth: int = 8
    flush_every: int = 64
    seconds: float | None = None
    interface: str = "threads"
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse contradictory values."""
        if self.block_bytes % self.cell_bytes:
            raise StudyError(
                f"a write of {self.block_bytes} bytes is not a multiple of {self.cell_bytes} bytes",
                cure="choose --block-bytes as a multiple of --cell-bytes",
            )
        if self.cell_bytes not in {1 << power for power in range(6, 21)}:
            raise StudyError(
                f"--cell-bytes is {self.cell_bytes}, which is not a valid size of a cell",
                cure="choose a power of two, 64 B to 1 MiB: the sector or the block of the target",
            )

    def job(self, target: Mapping[str, Any], log: int) -> dict[str, Any]:
        """Return the job of the engine.

        Examples
        --------
        >>> job = Load(flush_every=8).job({"kind": "files"}, log=3)
        >>> job["sync"], job["workload"]["align_bytes"]
        ({'every': 8, 'kind': 'fdatasync'}, 4096)
        """
        return {
            "seed": self.seed,
            "target": dict(target),
            "interface": self.interface,
            "workload": {"kind": "micro", "read_share": 0.0, "depth": self.depth,
                         "block_bytes": self.block_bytes, "align_bytes": self.cell_bytes},
            "stop": {} if self.seconds is None else {"seconds": self.seconds},
            "sync": {"every": self.flush_every, "kind": "fdatasync"},
            "verify": {"run": new_run(), "cell_bytes": self.cell_bytes, "log_fd": log,
                       "reads_back": False},
        }  # fmt: skip


def write(
    target: Path,
    log: str,
    load: Load,
    *,
    size_bytes: int | None = None,
    typed: Sequence[str] = (),
    is_same_device_fine: bool = False,
) -> dict[str, Any]:
    """Write to a target with flushes until stopped or its power is cut; return how it ended.

    Parameters
    ----------
    target
        A block device, a file, or the name of a file to make.
    log
        New file for the log, or ``-`` for the standard output.
    load
        The writes.
    size_bytes
        Size of a new file; of an existing target, bytes that are used.
    typed
        Confirmations of the user.
    is_same_device_fine
        Whether the log may be on the device of the target: fine after a kill, but not after a loss
        of power.

    Raises
    ------
    HeadroomError
        Target or log are refused, or not one write was acknowledged.
    """
    check_may_write(target, typed, command=f"{COMMAND} write")
    if log != "-" and not is_same_device_fine:
        check_log_place(Path(log).absolute(), target if target.exists() else target.parent)
    command = f"{COMMAND} write"
    with (
        _opened_log(log) as descriptor,
        opened_for_writing(target, typed, size_bytes=size_bytes, command=command) as table,
    ):
        result = run_until_stopped(load.job(table, descriptor))
    done = {name: class_["completion_count"] for name, class_ in result["classes"].items()}
    if not done.get("write"):
        reasons = "; ".join([result["problem"] or "", *failures_in_words(result)]).strip("; ")
        raise EnvironmentUnfitError(
            f"{target} acknowledged no write{f': {reasons}' if reasons else ''}",
            cure="check the target with `dmesg`",
        )
    return {
        "target": str(target),
        "written_count": done["write"],
        "flushed_count": done.get("sync", 0),
        "failed": failures_in_words(result),
        "problem": result["problem"],
        "load_s": result["load_s"],
    }


@contextmanager
def _opened_log(log: str) -> Iterator[int]:
    """Open the log; one in which nothing was written is removed again."""
    if log == "-":
        if sys.stdout.isatty():
            raise StudyError(
                "the log is binary, and stdout is a terminal",
                cure="send it to a file or to another machine: ... | ssh other 'cat > flush.log'",
            )
        yield sys.stdout.fileno()
        return
    path = Path(log)
    with open_log(path) as file:
        try:
            yield file.fileno()
        finally:
            if os.fstat(file.fileno()).st_size == 0:
                path.unlink()


def check(target: Path, log: Path, *, after: str) -> dict[str, Any]:
    """Compare a target with its log; return verdict, counts and the first wrong cells.

    Parameters
    ----------
    target
        The written target.
    log
        The log of the writer.
    after
        ``"kill"`` or ``"power-cut"``.

    Raises
    ------
    HeadroomError
        One of them cannot be read, or nothing was promised, so that there is nothing to check.
    """
    promise = PROMISES[after]
    try:
        descriptor = os.open(log, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise EnvironmentUnfitError(
            f"the log {log} cannot be read: {error.strerror}", cure="name the log of the writer"
        ) from error
    try:
        with opened_for_reading(target) as table:
            result = check_job({"target": table, "log_fd": descriptor, "promise": promise})
    finally:
        os.close(descriptor)
    if not result["demanded_count"]:
        raise EnvironmentUnfitError(
            f"the log {log} promises nothing: {result['written_count']} writes and "
            f"{result['flushed_count']} flushes were acknowledged, and no write before a flush",
            cure="let the writer run for longer, or flush more often (--flush-every)",
        )
    is_kept = not any(result["counts"].values()) and not result["unreadable_count"]
    return {"verdict": "kept" if is_kept else "broken", "promise": promise, **result}


def told(result: Mapping[str, Any]) -> str:
    """Return the result of a check as text."""
    return "\n".join(_sentences(result))


def _sentences(result: Mapping[str, Any]) -> Iterator[str]:
    what = {
        "acknowledged": "every acknowledged write",
        "flushed": "every write that an acknowledged flush covers",
    }[result["promise"]]
    if result["verdict"] == "kept":
        yield f"kept: {what} is there"
    else:
        yield f"BROKEN: {what} had to be there"
    yield (
        f"log: {result['written_count']} writes and {result['flushed_count']} flushes acknowledged"
    )
    wrong = sum(result["counts"].values())
    yield (
        f"cells: {result['demanded_count']} demanded, {wrong} wrong, "
        f"{result['unreadable_count']} unreadable"
    )
    if result["newer_count"]:
        yield f"{result['newer_count']} cells are newer than the end of the log, which is allowed"
    yield from findings_in_words(result)


def _write_command(given: argparse.Namespace) -> int:
    load = Load(
        cell_bytes=parse_bytes(given.cell_bytes),
        block_bytes=parse_bytes(given.block_bytes),
        depth=given.depth,
        flush_every=given.flush_every,
        seconds=given.seconds,
        interface=given.interface,
        seed=given.seed,
    )
    result = write(
        given.target,
        given.log,
        load,
        size_bytes=None if given.bytes is None else parse_bytes(given.bytes),
        typed=given.overwrite,
        is_same_device_fine=given.same_device,
    )
    # The standard output may be the log.
    if given.json:
        print(msgspec.json.encode(result).decode(), file=sys.stderr)  # noqa: T201 - it is a command
        return ExitCode.DONE
    count, flushes = result["written_count"], result["flushed_count"]
    said = [f"{count} writes and {flushes} flushes acknowledged in {result['load_s']:.1f} s"]
    said += [*([result["problem"]] if result["problem"] else []), *result["failed"]]
    said.append(f"next: {COMMAND} check {given.target} --log LOG --after kill|power-cut")
    print("\n".join(said), file=sys.stderr)  # noqa: T201 - as above
    return ExitCode.DONE


def _check_command(given: argparse.Namespace) -> int:
    result = check(given.target, given.log, after=given.after)
    text = msgspec.json.encode(result).decode() if given.json else told(result)
    print(text)  # noqa: T201 - it is a command
    return ExitCode.DONE if result["verdict"] == "kept" else ExitCode.CLAIMS_DIFFER


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _time(text: str) -> float:
    seconds = float(text)
    if not 0.0 < seconds < math.inf:
        raise ValueError(text)
    return seconds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=COMMAND, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    writer = commands.add_parser("write", help="write with flushes until stopped or cut")
    writer.set_defaults(call=_write_command)
    writer.add_argument("target", type=Path, help="block device, or file, made if not there")
    writer.add_argument("--log", required=True, help="new file on another device, or `-`")
    writer.add_argument("--bytes", help="size of a file that is made; bytes of a target to use")
    writer.add_argument("--cell-bytes", default="4 KiB", help="judged together (default 4 KiB)")
    writer.add_argument("--block-bytes", default="16 KiB", help="of a write (default 16 KiB)")
    writer.add_argument("--depth", type=_count, default=8, help="writes at once (default 8)")
    writer.add_argument(
        "--flush-every", type=_count, default=64, metavar="N", help="writes (default 64)"
    )
    writer.add_argument("--seconds", type=_time, help="stop by itself (default: never)")
    writer.add_argument("--interface", choices=("io_uring", "threads"), default="threads")
    writer.add_argument("--seed", type=int, default=1, help="of the places (default 1)")
    writer.add_argument(
        "--same-device",
        action="store_true",
        help="let the log lie on the device of the target: fine for a kill, not for a power cut",
    )
    writer.add_argument(
        OVERWRITE,
        action="append",
        default=[],
        metavar="WORDS",
        help="path and size of a target that was there before",
    )
    checker = commands.add_parser("check", help="compare the target with the log")
    checker.set_defaults(call=_check_command)
    checker.add_argument("target", type=Path)
    checker.add_argument("--log", required=True, type=Path, help="log of the writer")
    checker.add_argument("--after", required=True, choices=tuple(PROMISES), help="what happened")
    for command in (writer, checker):
        command.add_argument("--json", action="store_true", help="the result as JSON")
    return parser


def _stop(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    given = _parser().parse_args(words)
    signal.signal(signal.SIGTERM, _stop)
    try:
        return int(given.call(given))
    except HeadroomError as error:
        print(error, file=sys.stderr)  # noqa: T201 - it is a command
        return int(error.exit_code)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
