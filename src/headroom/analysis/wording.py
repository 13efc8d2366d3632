"""Numbers inside sentences: evidence, reasons and claims say them the same way.

Tables and figures format quantities themselves, from the numbers in the results; these helpers
are for sentences that the analysis writes.
"""

import math
from collections.abc import Mapping

from headroom.experiment.system import Value

_PREFIXES = {
    "s": ((1.0, ""), (1e-3, "m"), (1e-6, "\N{MICRO SIGN}"), (1e-9, "n")),
    "B": ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")),
}
_SMALLEST_PLAIN, _LARGEST_PLAIN = 1e-4, 1e9


def percent(share: float) -> str:
    """Return a share as a percentage with one decimal.

    Examples
    --------
    >>> percent(0.98712)
    '98.7 %'
    """
    return f"{_one_decimal(100.0 * share)} %"


def percent_with_interval(share: float, low: float | None, high: float | None) -> str:
    """Return a share with its interval.

    Examples
    --------
    >>> percent_with_interval(0.987, 0.981, 0.992), percent_with_interval(0.5, None, None)
    ('98.7 % (98.1 to 99.2)', '50.0 %')
    """
    if low is None or high is None:
        return percent(share)
    return f"{percent(share)} ({_one_decimal(100.0 * low)} to {_one_decimal(100.0 * high)})"


def count(number: float) -> str:
    """Return a mean number of jobs, with a decimal only where it matters.

    Examples
    --------
    >>> count(41.2), count(0.43)
    ('41', '0.4')
    """
    return f"{number:.0f}" if number >= 10.0 else f"{number:.1f}"  # noqa: PLR2004 - two digits


def quantity(value: float, unit: str, low: float | None = None, high: float | None = None) -> str:
    """Return a value with its interval; s and B take an SI prefix that suits the value.

    Examples
    --------
    >>> quantity(0.0123, "s", 0.0121, 0.0125), quantity(290_000.0, "B")
    ('12.3 ms (12.1 to 12.5)', '290 kB')
    >>> quantity(2.0, "1"), quantity(24_400.0, "1/s")
    ('2', '24,400 1/s')
    """
    scale, name = _scale(value, unit)
    if low is None or high is None:
        return f"{_plain(value / scale)}{name}"
    return f"{_plain(value / scale)}{name} ({_plain(low / scale)} to {_plain(high / scale)})"


def _scale(value: float, unit: str) -> tuple[float, str]:
    """Return the divisor and the unit with its prefix, a space in front."""
    if unit in {"", "1"}:
        return 1.0, ""
    for scale, prefix in _PREFIXES.get(unit, ()):
        if abs(value) >= scale:
            return scale, f" {prefix}{unit}"
    return 1.0, f" {unit}"


def _plain(number: float) -> str:
    """Return four significant digits without an exponent where that stays readable."""
    if not _SMALLEST_PLAIN <= abs(number) < _LARGEST_PLAIN:
        return f"{number:.4g}"
    digits = max(0, 3 - math.floor(math.log10(abs(number))))
    text = f"{float(f'{number:.4g}'):,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def place(levels: Mapping[str, Value]) -> str:
    """Return the levels of a point as words.

    Examples
    --------
    >>> place({"users": 60, "servers": 2})
    'users = 60, servers = 2'
    """
    return ", ".join(f"{name} = {value}" for name, value in levels.items()) or "the only point"


def _one_decimal(number: float) -> str:
    return f"{number:.1f}"
