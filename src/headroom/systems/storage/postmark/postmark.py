"""PostMark: a run as typed facts, its operations as arrays, and its report as text.

The report has the form of the original's verbose report, so that both can be compared side by side.
Values that the original does not report (the actual mix, times of single operations) follow below.

Invariant: rates are those of the original: files created and deleted and all data, divided by the
total time; operations in transactions, divided by the time of the transactions.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.systems.storage import measure

Reason: TypeAlias = Literal["no_space", "failed", "silent", "unwanted", "time", "out_of_files"]
KINDS = ("create", "read", "append", "delete", "nothing")
"""Kinds of operations, by the numbers that `operations` gives."""
PHASES = ("creation", "transactions", "deletion")
"""Phases of a run, by the numbers that `operations` gives."""
_UNITS = ((1 << 30, "gigabytes"), (1 << 20, "megabytes"), (1 << 10, "kilobytes"))
_CURES = {
    "no_space": "free some space, or use fewer or smaller files",
    "failed": "look at the system's log, for example with `dmesg`",
    "silent": "look at what it waits for (`dmesg`, a server that is gone) and mount it again; "
    "where it is only slow, raise `silence_s`",
    "unwanted": "start the run again",
    "time": "allow more seconds, or ask for fewer transactions",
    "out_of_files": "use more files, fewer transactions, or a larger create bias",
}


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """Operations that were done; the names are those of the original's report.

    `alone` is before or after the transactions, `mixed` in them. The two counts of full files are
    requested operations that did nothing.
    """

    created_alone_count: int
    created_mixed_count: int
    read_count: int
    appended_count: int
    deleted_alone_count: int
    deleted_mixed_count: int
    read_bytes: int
    written_bytes: int
    written_alone_bytes: int
    transaction_count: int
    sync_count: int
    full_append_count: int
    full_create_count: int

    @property
    def created_count(self) -> int:
        """Files created, alone and in transactions."""
        return self.created_alone_count + self.created_mixed_count

    @property
    def deleted_count(self) -> int:
        """Files deleted, alone and in transactions."""
        return self.deleted_alone_count + self.deleted_mixed_count


class PhaseTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Time (s) and processor time of the process (s, all threads) of each phase."""

    creation_s: float
    transactions_s: float
    deletion_s: float
    creation_processor_s: float
    transactions_processor_s: float
    deletion_processor_s: float

    @property
    def total_s(self) -> float:
        """Time (s) from the first creation to the last deletion."""
        return self.creation_s + self.transactions_s + self.deletion_s


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """Why a run ended before all was done, and at which operation of which phase."""

    reason: Reason
    errno: int | None
    operation: str | None
    phase: str | None
    words: str

    def error(self) -> HeadroomError:
        """Return the error that tells the user what happened and what to do.

        Examples
        --------
        >>> full = Stopped(reason="no_space", errno=28, operation="append", phase="transactions",
        ...                words="No space left on device (os error 28)")
        >>> print(full.error())
        PostMark ended early: append in transactions: No space left on device
          hint: free some space, or use fewer or smaller files
        """
        what = os.strerror(self.errno) if self.errno is not None else self.words
        place = f"{self.operation} in {self.phase}: " if self.operation else ""
        said = what or self.reason.replace("_", " ")
        return EnvironmentUnfitError(
            f"PostMark ended early: {place}{said}", cure=_CURES[self.reason]
        )


class PostmarkResult(msgspec.Struct, frozen=True, kw_only=True):
    """One run: its facts, and its times as arrays.

    Attributes
    ----------
    stopped
        Why it ended early, None if all was done; work before that point is counted.
    left_count
        Maximum number of files that could not be deleted after a run that ended early.
    stuck_count
        Threads that were abandoned, in a call that did not return.
    read_call_bytes, write_call_bytes
        Most bytes (B) that one system call moved.
    tables
        Results of the engine: ``histograms``, ``series``, ``snapshots``.
    """

    counters: Counters
    times: PhaseTimes
    stopped: Stopped | None
    left_count: int
    stuck_count: int = 0
    threads: int
    read_call_bytes: int
    write_call_bytes: int
    tables: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the run is not valid: the reason for its early end, and its remains."""
        stopped = () if self.stopped is None else (self.stopped.error().message,)
        if not self.stuck_count:
            return stopped
        threads = "1 thread is" if self.stuck_count == 1 else f"{self.stuck_count} threads are"
        left = f"{threads} left in a call that did not return"
        return (*stopped, f"{left}, and up to {self.left_count} files stay until a later run")

    @property
    def achieved_read_share(self) -> float | None:
        """Share of reads among reads and appends, None if there was neither."""
        return _share(self.counters.read_count, self.counters.appended_count)

    @property
    def achieved_create_share(self) -> float | None:
        """Share of creates among creates and deletes of transactions."""
        return _share(self.counters.created_mixed_count, self.counters.deleted_mixed_count)


def carry_out(
    job: Mapping[str, Any], *, progress: Callable[[float], object] | None = None
) -> PostmarkResult:
    """Run PostMark once.

    Parameters
    ----------
    job
        ``seed``; ``target``: ``{"kind": "folder", "fd": descriptor}`` of an empty folder that was
        made for the run, or ``{"kind": "nothing"}``, which measures the tool; ``workload``:
        parameters of the benchmark; and, if requested, ``threads``, ``access`` (``"buffered"`` or
        ``"raw"``), ``buffer_bytes``, ``sync`` (``{"every": 1, "kind": "fsync"}``), ``data``,
        ``stop``, ``silence_s`` (end the run after so long without an answer), ``drain_s``.
    progress
        Called a few times per second with the share (0..1) that is done.

    Returns
    -------
    PostmarkResult
        The completed work. A device that is full, fails or does not answer ends the run early: see
        `PostmarkResult.stopped`.

    Raises
    ------
    StudyError
        The job is wrong.
    EnvironmentUnfitError
        The folder cannot be used.
    KeyboardInterrupt
        On Ctrl-C, after the files were deleted, as far as the file system answers.

    Examples
    --------
    >>> workload = {"files": 20, "transactions": 100, "read_bias": 3.5}
    >>> job = {"seed": 1, "target": {"kind": "nothing"}, "workload": workload}
    >>> done = carry_out(job)
    >>> done.counters.transaction_count, done.counters.created_count == done.counters.deleted_count
    (100, True)
    """
    with _reported():
        result = measure.run_postmark(job, progress=progress)
    if result["interrupt"] is not None:
        raise result["interrupt"]
    facts = msgspec.json.decode(result["facts"], type=PostmarkResult)
    tables = {name: result[name] for name in ("histograms", "series", "snapshots")}
    return msgspec.structs.replace(facts, tables=tables)


def operations(
    job: Mapping[str, Any], *, count: int, thread: int = 0
) -> dict[str, npt.NDArray[np.int64]]:
    """Return the first operations of one thread, without carrying any out.

    Parameters
    ----------
    job
        As for `carry_out`; the target does not matter.
    count
        Operations at most.
    thread
        Whose operations, 0 up to the threads of the job.

    Returns
    -------
    dict
        Columns ``kind`` (see `KINDS`), ``phase`` (see `PHASES`), ``file``, ``slot`` (place of the
        file, given again after a delete), ``subdirectory``, ``offset`` (B), ``bytes`` (B),
        ``ends_transaction`` (0 or 1).

    Raises
    ------
    StudyError
        The job is wrong.

    Examples
    --------
    >>> workload = {"files": 2, "transactions": 0, "size_low_bytes": 9, "size_high_bytes": 9}
    >>> job = {"seed": 1, "target": {"kind": "nothing"}, "workload": workload}
    >>> walk = operations(job, count=10)
    >>> [KINDS[kind] for kind in walk["kind"]], walk["bytes"].tolist()
    (['create', 'create', 'delete', 'delete'], [9, 9, 9, 9])
    """
    with _reported():
        return measure.postmark_operations(job, count=count, thread=thread)


def report(result: PostmarkResult, *, workload: Mapping[str, Any]) -> str:
    """Return the report of a run in the form of the original's verbose report.

    Parameters
    ----------
    result
        The run.
    workload
        Its requested parameters: the requested mix is reported next to the achieved one.

    Examples
    --------
    >>> counters = Counters(created_alone_count=500, created_mixed_count=250, read_count=171,
    ...     appended_count=325, deleted_alone_count=500, deleted_mixed_count=250,
    ...     read_bytes=1 << 20, written_bytes=3 << 20, written_alone_bytes=1 << 20,
    ...     transaction_count=500, sync_count=0, full_append_count=4, full_create_count=0)
    >>> times = PhaseTimes(creation_s=0.5, transactions_s=1.0, deletion_s=0.5,
    ...     creation_processor_s=0.1, transactions_processor_s=0.2, deletion_processor_s=0.1)
    >>> done = PostmarkResult(counters=counters, times=times, stopped=None, left_count=0, threads=1,
    ...     read_call_bytes=4096, write_call_bytes=4096)
    >>> print(report(done, workload={"read_bias": 3.5}).expandtabs(4))
    Time:
        2.000000 seconds total
        1.000000 seconds of transactions (500 per second)
    <BLANKLINE>
    Files:
        750 created (375 per second)
            Creation alone: 500 files (1000 per second)
            Mixed with transactions: 250 files (250 per second)
        171 read (171 per second)
        325 appended (325 per second)
        750 deleted (375 per second)
            Deletion alone: 500 files (1000 per second)
            Mixed with transactions: 250 files (250 per second)
    <BLANKLINE>
    Data:
        1.00 megabytes read (512.00 kilobytes per second)
        3.00 megabytes written (1.50 megabytes per second)
    <BLANKLINE>
    Mix:
        34.48% read of read and append (asked: 35.00%)
        50.00% create of create and delete (asked: 50.00%)
        4 appends met a full file, 0 creates a full pool
    """
    lines = [*_time_lines(result), *_file_lines(result), *_data_lines(result)]
    lines += [*_mix_lines(result, workload), *_response_lines(result)]
    if result.faults:
        lines += ["", *result.faults]
    return "\n".join(lines)


class _reported:  # noqa: N801 - reads as a word of the with statement
    """Turn what the core raises into errors of Headroom."""

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise the error that a person can act on."""
        if isinstance(error, ValueError):
            raise StudyError(f"PostMark: {error}", cure="correct the parameter") from error
        if isinstance(error, OSError):
            raise EnvironmentUnfitError(
                f"PostMark cannot use its folder: {error.strerror}",
                cure="check that the folder exists and may be written to",
            ) from error


def _share(part: int, other: int) -> float | None:
    return part / (part + other) if part + other else None


def _rate(count: float, seconds: float) -> float:
    return count / seconds if seconds > 0.0 else 0.0


def _time_lines(result: PostmarkResult) -> Iterator[str]:
    times = result.times
    done = _rate(result.counters.transaction_count, times.transactions_s)
    yield "Time:"
    yield f"\t{times.total_s:.6f} seconds total"
    yield f"\t{times.transactions_s:.6f} seconds of transactions ({done:.0f} per second)"
    yield ""


def _file_lines(result: PostmarkResult) -> Iterator[str]:
    counters, times = result.counters, result.times
    mixed_s = times.transactions_s

    def line(count: int, word: str, seconds: float) -> str:
        return f"{count} {word} ({_rate(count, seconds):.0f} per second)"

    yield "Files:"
    yield "\t" + line(counters.created_count, "created", times.total_s)
    yield "\t\tCreation alone: " + line(counters.created_alone_count, "files", times.creation_s)
    yield "\t\tMixed with transactions: " + line(counters.created_mixed_count, "files", mixed_s)
    yield "\t" + line(counters.read_count, "read", mixed_s)
    yield "\t" + line(counters.appended_count, "appended", mixed_s)
    yield "\t" + line(counters.deleted_count, "deleted", times.total_s)
    yield "\t\tDeletion alone: " + line(counters.deleted_alone_count, "files", times.deletion_s)
    yield "\t\tMixed with transactions: " + line(counters.deleted_mixed_count, "files", mixed_s)
    yield ""


def _data_lines(result: PostmarkResult) -> Iterator[str]:
    counters, total_s = result.counters, result.times.total_s
    yield "Data:"
    for count, word in ((counters.read_bytes, "read"), (counters.written_bytes, "written")):
        yield f"\t{_data(count)} {word} ({_data(_rate(count, total_s))} per second)"


def _data(count: float) -> str:
    """Return an amount of data as the original writes it: units of 1024."""
    for size, unit in _UNITS:
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count:.0f} bytes"


def _mix_lines(result: PostmarkResult, workload: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield "Mix:"
    for achieved, asked, words in (
        (result.achieved_read_share, workload.get("read_bias", 5), "read of read and append"),
        (
            result.achieved_create_share,
            workload.get("create_bias", 5),
            "create of create and delete",
        ),
    ):
        if achieved is not None:
            yield f"\t{100 * achieved:.2f}% {words} (asked: {10 * asked:.2f}%)"
    counters = result.counters
    yield (
        f"\t{counters.full_append_count} appends met a full file, "
        f"{counters.full_create_count} creates a full pool"
    )


def _response_lines(result: PostmarkResult) -> Iterator[str]:
    """Yield the times of each kind; a percentile is the upper bound of its bin."""
    tables: Mapping[str, Any] = result.tables.get("histograms", {}).get("response_s", {})
    if not tables:
        return
    yield ""
    yield "Response time (microseconds):"
    for name, table in tables.items():
        counts = table["counts"].sum(axis=0)
        below = np.cumsum(counts)
        p50, p99 = (
            1e6 * float(table["bin_high"][np.searchsorted(below, share * below[-1])])
            for share in (0.5, 0.99)
        )
        most = 1e6 * float(table["bin_high"][-1])
        yield f"\t{name}: {below[-1]} times, p50 {p50:.1f}, p99 {p99:.1f}, max {most:.1f}"
