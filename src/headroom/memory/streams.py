"""Streams of accesses for the compiled simulator: a file, or arrays packed into bytes."""

import os
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headroom.errors import StudyError

Stream: TypeAlias = bytes | str | os.PathLike[str]
"""A path (lackey, din or packed), or packed accesses."""
KINDS = {"read": 0, "write": 1, "modify": 2, "fetch": 3}
MAGIC = b"HRMEM1\n\0"
"""First bytes of a file with packed accesses."""
_ADDRESS_BITS = 56
_MOST_BYTES = 64


def pack(addresses: npt.ArrayLike, *, kinds: npt.ArrayLike = 0, sizes: npt.ArrayLike = 8) -> bytes:
    """Return accesses in 8 bytes each, for `simulate` and `stack_distances`.

    Parameters
    ----------
    addresses
        Shape (n,). First bytes, 0 to 2^56 - 1.
    kinds
        Shape (n,) or one number: 0 read, 1 write, 2 modify, 3 fetch (`KINDS`).
    sizes
        Shape (n,) or one number. Bytes (B), 1 to 64.

    Raises
    ------
    StudyError
        A number is outside its range.

    Examples
    --------
    >>> len(pack([0, 64, 128], kinds=[0, 1, 0]))
    24
    """
    address = np.asarray(addresses)
    kind, size = np.asarray(kinds), np.asarray(sizes)
    for name, values, low, high in (
        ("address", address, 0, 2**_ADDRESS_BITS - 1), ("kind", kind, 0, 3),
        ("size", size, 1, _MOST_BYTES),
    ):  # fmt: skip
        if values.size and (values.min() < low or values.max() > high):
            raise StudyError(
                f"the {name} of an access is outside {low} to {high}",
                cure="split larger accesses, and leave out the upper bits of addresses",
            )
    word = address.astype(np.uint64)
    word = word | (size.astype(np.uint64) - np.uint64(1)) << np.uint64(_ADDRESS_BITS)
    word = word | kind.astype(np.uint64) << np.uint64(_ADDRESS_BITS + 6)
    return bytes(word.astype("<u8").tobytes())


def given(stream: Stream) -> dict[str, Any]:
    """Return a stream as the compiled functions take it."""
    if isinstance(stream, bytes):
        return {"packed": stream.removeprefix(MAGIC)}
    return {"path": str(Path(stream))}


def refused(error: Exception, stream: Stream) -> StudyError:
    """Return an error of the compiled part as an error of the user's input."""
    place = "" if isinstance(stream, bytes) else f"{stream}: "
    return StudyError(
        f"{place}{error}",
        cure="streams come from `valgrind --tool=lackey --trace-mem=yes`, in din format, or from "
        "headroom.memory.pack; caches are whole sets, as 32KiB:8:64",
    )
