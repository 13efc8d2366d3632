"""Printed numbers with units, as tools that write for people print them."""

import re
from collections.abc import Iterable, Mapping

from headroom.audit.readers.fields import UNITS_S, UnreadableError
from headroom.audit.result import Stated

_PART = re.compile(r"([\d.]+)(ns|us|µs|μs|ms|s|m|h)")
_SUFFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6, "g": 1e9, "G": 1e9}


def go_time(text: str) -> Stated:
    """Return a time that a program in Go prints, in one unit or several.

    Examples
    --------
    >>> go_time("1m0.5s"), go_time("2s")
    (Stated(value=60.5, error=0.05), Stated(value=2.0, error=0.5))
    """
    parts = _PART.findall(text.replace("μ", "µ"))
    if not parts or "".join(number + unit for number, unit in parts) != text.replace("μ", "µ"):
        raise UnreadableError(f"{text!r} is not a time", cure="use the file as the tool wrote it")
    stated = [Stated.printed(number, scale=UNITS_S[unit]) for number, unit in parts]
    # Behind larger units the smallest one is exact to its digits; alone, whole numbers are rounded.
    return Stated(sum(one.value for one in stated), stated[-1].error)


def with_suffix(text: str) -> Stated:
    """Return a number that may have a suffix of thousands.

    Examples
    --------
    >>> with_suffix("14.7k")
    Stated(value=14700.0, error=50.0)
    """
    match = re.fullmatch(r"([\d.]+)([kKmMgG]?)", text)
    if match is None:
        raise UnreadableError(f"{text!r} is not a number", cure="use the file as the tool wrote it")
    return Stated.printed(match[1], scale=_SUFFIXES[match[2]])


def shares(rows: Iterable[tuple[str, Stated]]) -> Mapping[float, Stated]:
    """Return percentiles by share, those at 0 and 100% left out.

    Examples
    --------
    >>> shares([("99.9", Stated(2.0)), ("100", Stated(3.0))])
    {0.999: Stated(value=2.0, error=0.0)}
    """
    found = {round(float(percent) / 100.0, 12): time for percent, time in rows}
    return {share: time for share, time in found.items() if 0.0 < share < 1.0}


def ratio(count: float, time: Stated) -> Stated:
    """Return a rate that follows from a count and a time.

    Examples
    --------
    >>> ratio(100, Stated(10.0, 0.1)).value
    10.0
    """
    value = count / time.value
    return Stated(value, value * (time.error / time.value + 1e-9))
