"""Numbers in sentences: shares, ratios, quantities and levels, with their intervals."""

from collections.abc import Sequence

from headroom.quantities import (
    format_bounds,
    format_given,
    format_level,
    format_percent,
    format_plain,
    format_quantity,
    half_width_of,
)

_TIMES = "\N{MULTIPLICATION SIGN}"
_WHOLE_FROM = 10.0
LISTED = 4
"""Items of a list that are named; the rest is counted."""


def whole_percent(share: float) -> str:
    """Return a share in whole percent.

    Examples
    --------
    >>> whole_percent(0.234)
    '23%'
    """
    return f"{format_plain(100.0 * share, decimals=0)}%"


def brief_percent(share: float) -> str:
    """Return a share in percent without an idle decimal.

    Examples
    --------
    >>> brief_percent(0.99962), brief_percent(0.987)
    ('100%', '98.7%')
    """
    return format_percent(share).replace(".0%", "%")


def percent_bounds(value: float, low: float | None, high: float | None) -> str:
    """Return a share in percent; with its interval unless that rounds away.

    Examples
    --------
    >>> percent_bounds(0.987, 0.985, 0.989), percent_bounds(0.9999, 0.9998, 1.0)
    ('98.7% (98.5 to 98.9)', '100%')
    """
    if low is None or high is None or format_percent(low) == format_percent(high):
        return brief_percent(value)
    return format_bounds(value, low, high, "1", metric="utilization")


def percent_range(low: float, high: float) -> str:
    """Return a range of shares in percent.

    Examples
    --------
    >>> percent_range(0.991, 1.0), percent_range(1.0, 1.0)
    ('99.1% to 100%', '100%')
    """
    first, last = brief_percent(low), brief_percent(high)
    return last if first == last else f"{first} to {last}"


def count_jobs(number: float) -> str:
    """Return a mean number of jobs, with a decimal only if it matters.

    Examples
    --------
    >>> count_jobs(41.2), count_jobs(2.04), count_jobs(2.0)
    ('41', '2.0', '2.0')
    """
    return format_plain(number, decimals=0 if number >= _WHOLE_FROM else 1)


def given_times(value: float) -> str:
    """Return a ratio that a person stated.

    Examples
    --------
    >>> given_times(1.05) == "1.05\u00d7"
    True
    """
    return f"{format_given(value, '1')}{_TIMES}"


def short(
    value: float, low: float | None, high: float | None, unit: str, *, metric: str = ""
) -> str:
    """Return a quantity in the digits that its interval supports.

    Examples
    --------
    >>> short(0.2, 0.19, 0.21, "s")
    '200 ms'
    """
    half_width = half_width_of(low, high)
    return format_quantity(value, unit, half_width=half_width, metric=metric)


def list_levels(levels: Sequence[object]) -> str:
    """Return levels as a list, the first ones only if there are many.

    Examples
    --------
    >>> list_levels([1.0, 2.5]), list_levels([1, 2, 3, 4, 5, 6])
    ('1 and 2.5', '1, 2, 3, 4 and 2 more')
    """
    return list_words([format_level(level) for level in levels])


def list_words(words: Sequence[str], *, most: int = LISTED) -> str:
    """Return a list with its final *and*, the first items only if there are many.

    Examples
    --------
    >>> list_words(["a", "b", "c"])
    'a, b and c'
    """
    shown = [*words[:most]]
    if len(words) > most:
        shown.append(f"{len(words) - most} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def capital(text: str) -> str:
    """Return `text` with a capital first letter, unless it starts with a name in quotes.

    Examples
    --------
    >>> capital("throughput"), capital('"cpu" is')
    ('Throughput', '"cpu" is')
    """
    return text[:1].upper() + text[1:]
