"""Streams of accesses for the compiled simulator: a file, or arrays packed into bytes."""

import os
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headroom.errors import StudyError
from headroom.memory.native import by_thread as _native

Stream: TypeAlias = bytes | str | os.PathLike[str]
"""A path (lackey, din, drmemtrace's view, memtrace or packed), or packed accesses."""
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


def by_thread(path: str | os.PathLike[str]) -> dict[str, bytes]:
    r"""Return the accesses of each thread of a file, packed.

    Parameters
    ----------
    path
        A file in any format. Only drmemtrace's view names threads: all accesses of the others are
        those of a thread without a name. Accesses of more than 64 bytes are split.

    Returns
    -------
    dict
        Names, as ``W0.T7042``, in the order of their first accesses, with streams for `simulate`,
        `stack_distances` and `sweep`.

    Raises
    ------
    StudyError
        There is no such file, or a line of it is wrong.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> lines = [f"1 1: {thread} read 8 byte(s) @ 0x40 by PC 0x10" for thread in (7, 8, 7)]
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "view"
    ...     _ = file.write_text("\n".join(lines))
    ...     {name: len(packed) // 8 for name, packed in by_thread(file).items()}
    {'7': 2, '8': 1}
    """
    try:
        return _native(path=str(Path(path)))
    except (ValueError, OSError) as error:
        raise refused(error, str(path)) from error


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
        cure="streams come from `valgrind --tool=lackey --trace-mem=yes`, from DynamoRIO (`drrun "
        "-t drmemtrace -tool view`, or its memtrace samples), in din format, or from "
        "headroom.memory.pack; caches are whole sets, as 32KiB:8:64",
    )
