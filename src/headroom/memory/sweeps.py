"""Misses of caches of many sizes, from one pass over a stream."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headroom.errors import StudyError
from headroom.memory.native import sweep as _native
from headroom.memory.streams import Stream, given, refused

_FIELDS = ("line_bytes", "sets", "ways", "bytes", "read_misses", "write_misses")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Misses of a stream in caches with LRU.

    Parameters
    ----------
    caches
        Shape (n,). A structured array with a row for each cache: ``line_bytes`` (B), ``sets``,
        ``ways``, ``bytes`` (B, of all lines), ``read_misses`` and ``write_misses``; ascending by
        line, sets and ways.
    reads, writes
        Accesses of data; a modification is a read.
    """

    caches: npt.NDArray[np.void]
    reads: int
    writes: int

    @property
    def miss_ratio(self) -> npt.NDArray[np.float64]:
        """Misses of an access, shape (n,); 0 if there was no access."""
        misses = self.caches["read_misses"] + self.caches["write_misses"]
        return np.asarray(misses / max(self.reads + self.writes, 1), dtype=np.float64)


def sweep(
    stream: Stream,
    *,
    line_bytes: Sequence[int] = (64,),
    most_sets: int = 1024,
    most_ways: int = 16,
) -> Sweep:
    """Return the misses of all caches up to a size, from one pass over the data of a stream.

    The caches have LRU and bring written lines in. An access of several lines uses them in
    ascending order, and misses if one of them is missing. The counts are exact: those of `simulate`
    with one level, except if several lines of one access share a set.

    Parameters
    ----------
    stream
        A path, or the result of `pack`.
    line_bytes
        Bytes (B) of a line, powers of two.
    most_sets
        Caches have 1, 2, 4 ... sets up to this power of two. Time grows with its logarithm.
    most_ways
        Caches have 1, 2, 3 ... ways up to this number, 1 to 64. Time is that of 16, 32 or 64.
        `stack_distances` has fully associative caches with more lines.

    Raises
    ------
    StudyError
        There are no such caches, because a number is not a power of two or the largest cache has
        more than 2^24 lines; or no such file, or a line of it is wrong.

    Examples
    --------
    >>> from headroom.memory import pack, sweep
    >>> found = sweep(pack([0, 64, 128, 0, 64, 128]), most_sets=2, most_ways=2)
    >>> found.caches[["sets", "ways", "read_misses"]].tolist()
    [(1, 1, 6), (1, 2, 6), (2, 1, 5), (2, 2, 3)]
    >>> found.caches["bytes"][found.miss_ratio <= 0.5].tolist()
    [256]

    Source: Hill and Smith, IEEE Transactions on Computers 38 (1989).
    """
    if min(*line_bytes, most_sets, most_ways, 1) < 1:
        raise StudyError(
            f"lines of {list(line_bytes)} B in {most_sets} sets of {most_ways} ways",
            cure="all are at least 1",
        )
    try:
        raw = _native(
            line_bytes=list(line_bytes), most_sets=most_sets, most_ways=most_ways, **given(stream)
        )
    except (ValueError, OSError, OverflowError) as error:
        raise refused(error, stream) from error
    sets = 2 ** np.arange(most_sets.bit_length())
    axes = np.meshgrid(raw["line_bytes"], sets, np.arange(1, most_ways + 1), indexing="ij")
    lines, sets, ways = (axis.ravel() for axis in axes)
    columns = (lines, sets, ways, lines * sets * ways, raw["read_misses"], raw["write_misses"])
    caches = np.empty(len(lines), dtype=[(name, np.int64) for name in _FIELDS])
    for name, column in zip(_FIELDS, columns, strict=True):
        caches[name] = column
    return Sweep(caches=caches, reads=raw["reads"], writes=raw["writes"])
