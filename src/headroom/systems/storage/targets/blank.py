"""Blank regions: a device answers reads of unwritten blocks without accessing its medium.

The kernel does not know which blocks of a drive are mapped, so a sample is read: random data, and
data of an earlier user of the drive, are not zeros.
"""

import mmap
import os
import random
from contextlib import closing

PLACE_BYTES = 4096
PLACES = 64
WORTH_A_WORD = 0.1
"""Share of blank places from which it is reported."""


def blank_places(descriptor: int, size_bytes: int) -> tuple[int, int]:
    """Return how many of some random places hold nothing but zeros, and how many were read.

    Parameters
    ----------
    descriptor
        Open for reading; direct access is allowed.
    size_bytes
        Size to read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     _ = file.write(bytes(8192) + b"x" * 8192)
    ...     file.flush()
    ...     blank, read = blank_places(file.fileno(), 16384)
    >>> 0 < blank < read
    True
    """
    places = size_bytes // PLACE_BYTES
    if places == 0:
        return 0, 0
    # The same places each time, so that a second run of a study gives the same result.
    chosen = random.Random(size_bytes).choices(range(places), k=PLACES)  # noqa: S311 - no secret
    with closing(mmap.mmap(-1, PLACE_BYTES)) as page:
        return sum(_is_blank(descriptor, place * PLACE_BYTES, page) for place in chosen), PLACES


def _is_blank(descriptor: int, offset: int, page: mmap.mmap) -> bool:
    """Return whether a place holds zeros; a page of memory is aligned as direct access requires."""
    try:
        got = os.preadv(descriptor, [page], offset)
    except OSError:
        return False  # the load will meet the error and report it
    return got == PLACE_BYTES and not any(page[:])


def blank_words(path: str, blank: int, read: int) -> str:
    """Return a remark if many places are blank, else nothing.

    Examples
    --------
    >>> blank_words("/dev/sdb", 2, 64)
    ''
    """
    if read == 0 or blank < WORTH_A_WORD * read:
        return ""
    return (
        f"{blank} of {read} places of {path} that were tried hold nothing but zeros: a drive "
        "answers reads of what was never written without its medium, which flatters it; write it "
        "whole first, or let Headroom lay out files"
    )
