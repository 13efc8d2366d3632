"""Numbers inside sentences: evidence, reasons and claims say them the same way.

Tables and figures format quantities themselves, from the numbers in the results; these helpers
are for sentences that the analysis writes.
"""

from collections.abc import Mapping

from headroom.experiment.system import Value


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
    """Return a value in its base unit with its interval.

    Examples
    --------
    >>> quantity(0.0123, "s", 0.0121, 0.0125)
    '0.0123 s (0.0121 to 0.0125)'
    >>> quantity(2.0, "1")
    '2'
    """
    name = "" if unit in {"", "1"} else f" {unit}"
    if low is None or high is None:
        return f"{value:.4g}{name}"
    return f"{value:.4g}{name} ({low:.4g} to {high:.4g})"


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
