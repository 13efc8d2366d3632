"""Sizes in studies: a number of bytes, or text such as `1 GiB`."""

import re
from typing import TypeAlias

from headroom.errors import StudyError

Bytes: TypeAlias = int | str
"""A number of bytes, or text such as `1 GiB`."""
_UNITS = {
    "": 1, "B": 1,
    "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip


def parse_bytes(size: Bytes, *, least: int = 1) -> int:
    """Return a number of bytes, `least` or more, or raise `StudyError`.

    Examples
    --------
    >>> parse_bytes("1 GiB"), parse_bytes("2.5 kB"), parse_bytes(4096)
    (1073741824, 2500, 4096)
    """
    if isinstance(size, int):
        number = float(size)
    else:
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", size)
        if match is None or match[2] not in _UNITS:
            raise StudyError(
                f"{size!r} is not a size", cure='write a number of bytes, or text such as "1 GiB"'
            )
        number = float(match[1]) * _UNITS[match[2]]
    if number < least or number != int(number):
        raise StudyError(f"{size!r} is not a whole number of bytes", cure=f"give {least} or more")
    return int(number)
