"""Sizes in studies: a number of bytes, or text such as `1 GiB`."""

from typing import TypeAlias

from headroom.errors import StudyError
from headroom.units import QuantityError, parse_quantity

Bytes: TypeAlias = int | str
"""A number of bytes, or text such as `1 GiB`."""


def parse_bytes(size: Bytes, *, least: int = 1) -> int:
    """Return a number of bytes, `least` or more, or raise `StudyError`.

    Examples
    --------
    >>> parse_bytes("1 GiB"), parse_bytes("2.5 kB"), parse_bytes(4096)
    (1073741824, 2500, 4096)
    """
    try:
        number = parse_quantity(str(size), "B")
    except QuantityError as error:
        raise StudyError(
            f"{size!r} is not a size", cure='write a number of bytes, or text such as "1 GiB"'
        ) from error
    if number < least or number != int(number):
        raise StudyError(f"{size!r} is not a whole number of bytes", cure=f"give {least} or more")
    return int(number)
