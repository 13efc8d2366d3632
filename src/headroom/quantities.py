"""Quantities as text: SI prefixes, significant digits, intervals.

The one module that formats numbers for people, in tables, figures and sentences alike. Metrics
are stored in base units (s, B, 1/s, 1); only here do they become ``12.3 ms`` or ``204 /s``.

Invariant: a number with an interval is never printed with more digits than the half-width of
that interval supports.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headroom.units import is_choice

DIGITS_WITHOUT_INTERVAL = 3
DIGITS_AT_MOST = 4
MINUS = "\N{MINUS SIGN}"
_TIMES = "\N{MULTIPLICATION SIGN}"
_PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}
_SCALED_UNITS = {
    "s": (-12, 0),
    "s/B": (-12, 0),
    "B": (0, 15),
    "B/s": (0, 15),
    "1/s": (0, 12),
    "bit/s": (0, 15),
    "Hz": (0, 12),
    "W": (-6, 9),
    "J": (-9, 9),
}
"""Units that take prefixes, with the smallest and largest power of ten in use for them."""

_SHARES = (
    "utilization", "share", "blocked_ratio", "down_ratio", "reject_ratio", "lost_ratio",
    "abandon_ratio", "fail_ratio", "late_ratio",
)  # fmt: skip
"""Endings of metrics that are parts of a whole."""
_KIB = 1024
_BINARY = ("B", "KiB", "MiB", "GiB")
"""Sizes that a user sets, by powers of `_KIB`."""
_CLOCK_FROM_S = 7200.0
_MINUTES_FROM_S = 600.0
_ROUNDING = 1e-12
"""Relative room for the rounding of a quotient that is rounded up."""
_GROUPED_FROM = 10_000
_LARGEST_PLAIN_COUNT = 1_000_000
_LONG_LEVEL = 8
"""Characters from which on a level was computed, not chosen."""
_LARGEST_EXACT_INTEGER = 2**53
_TWO_DIGITS_BELOW = 1.95
"""A half-width that starts with 1 supports one digit more: 0.14 is far from 0.1."""

_ASCII = str.maketrans(
    {
        MINUS: "-",
        "µ": "u",
        "±": "+/-",
        "…": "...",
        "·": "-",
        "∞": "inf",
        _TIMES: "x",
        "\N{EN DASH}": "-",
    }
)


@dataclass(frozen=True, slots=True)
class Scale:
    """A unit with its prefix: multiply a base-unit value by `factor`, print `label` behind it.

    Examples
    --------
    >>> choose_scale([0.0123], "s")
    Scale(factor=1000.0, label='ms')
    """

    factor: float
    label: str

    @property
    def suffix(self) -> str:
        """The label as written after a number, with its space; empty for plain numbers."""
        return f" {self.label}" if self.label not in {"", "%"} else self.label


def is_share(metric: str) -> bool:
    """Return whether `metric` is printed in percent.

    Examples
    --------
    >>> is_share("station.database.utilization"), is_share("hit_share"), is_share("throughput")
    (True, True, False)
    """
    return metric.endswith(_SHARES) or "_share_within_" in metric


def choose_scale(values: Iterable[float], unit: str, *, metric: str = "") -> Scale:
    """Return one scale that suits all `values`, chosen from the largest.

    Parameters
    ----------
    values
        Values in the base unit; those that are not finite are ignored.
    unit
        Base unit. Units that take no prefix (``KiB``, ``ms``, a study's own words) stay unchanged.
    metric
        Name of the metric; a utilization is scaled to percent, a chosen size to KiB; a name that
        ends with the unit, such as ``rows_per_s``, says it already.

    Examples
    --------
    >>> choose_scale([1.2e6, 3.4e3], "B")
    Scale(factor=1e-06, label='MB')
    >>> choose_scale([204], "1/s"), choose_scale([64], "KiB"), choose_scale([8], "1")
    (Scale(factor=1.0, label='/s'), Scale(factor=1.0, label='KiB'), Scale(factor=1.0, label=''))
    >>> choose_scale([2.5e-10], "s/B")
    Scale(factor=1000000000000.0, label='ps/B')
    >>> choose_scale([4096, 65536], "B", metric="chosen_node_bytes")
    Scale(factor=0.0009765625, label='KiB')
    >>> choose_scale([0.97], "1", metric="station.cpu.utilization")
    Scale(factor=100.0, label='%')
    >>> choose_scale([26_000], "1/s", metric="rows_per_s")
    Scale(factor=0.001, label='k')
    """
    if unit == "1" and is_share(metric):
        return Scale(100.0, "%")
    if unit == "B" and is_choice(metric):
        return binary_scale(values)
    says_unit = unit.startswith("1/") and metric.endswith(f"_per_{unit[2:]}")
    if unit not in _SCALED_UNITS:
        return Scale(1.0, "" if unit == "1" or says_unit else unit)
    lowest, highest = _SCALED_UNITS[unit]
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    power = _power_of_thousand(largest) if largest > 0 else 0
    power = min(max(power, lowest), highest)
    base = "/s" if unit == "1/s" else unit
    return Scale(10.0**-power, f"{_PREFIXES[power]}{'' if says_unit else base}")


def binary_scale(values: Iterable[float]) -> Scale:
    """Return the largest unit of which all sizes are whole multiples."""
    sizes = [value for value in values if math.isfinite(value) and value]
    powers = range(1, len(_BINARY)) if sizes else ()
    fitting = [power for power in powers if not any(size % _KIB**power for size in sizes)]
    power = max(fitting, default=0)
    return Scale(float(_KIB) ** -power, _BINARY[power])


def _power_of_thousand(value: float) -> int:
    # 999.96 prints as 1000 with four digits, so the step up comes a little early.
    return 3 * math.floor(math.log10(value * 1.0005) / 3)


def decimals_for(value: float, *, half_width: float | None) -> int:
    """Return how many decimals of `value` its interval supports; negative means rounding to tens.

    Examples
    --------
    >>> decimals_for(12.3456, half_width=0.36), decimals_for(12.3456, half_width=0.14)
    (1, 2)
    >>> decimals_for(12.3456, half_width=None)
    1
    >>> decimals_for(1234.5, half_width=200.0)
    -2
    """
    leading = _place(value) if value else 0
    if half_width is None or not math.isfinite(half_width):
        return DIGITS_WITHOUT_INTERVAL - 1 - leading
    finest = DIGITS_AT_MOST - 1 - leading
    if half_width <= 0:
        return finest
    return max(min(_supported_decimals(half_width), finest), -leading)


def _supported_decimals(half_width: float) -> int:
    place = _place(half_width)
    starts_with_one = half_width / 10.0**place < _TWO_DIGITS_BELOW
    return -place + (1 if starts_with_one else 0)


def _place(value: float) -> int:
    return math.floor(math.log10(abs(value)))


def format_plain(value: float, *, decimals: int) -> str:
    """Return `value` with `decimals` decimals (rounded to tens where negative) and separators.

    Examples
    --------
    >>> format_plain(12345.678, decimals=1), format_plain(12345.678, decimals=-2)
    ('12,345.7', '12,300')
    >>> format_plain(-0.5, decimals=1) == MINUS + "0.5", format_plain(-0.01, decimals=1)
    (True, '0.0')
    """
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return f"{MINUS if value < 0 else ''}∞"
    rounded = round(value, decimals) + 0.0
    text = f"{abs(rounded):,.{max(decimals, 0)}f}"
    return f"{MINUS}{text}" if rounded < 0 else text


def format_quantity(
    value: float, unit: str, *, half_width: float | None = None, metric: str = ""
) -> str:
    """Return `value` with prefix, unit and the digits that `half_width` supports.

    Examples
    --------
    >>> format_quantity(0.012345, "s"), format_quantity(1.46e6, "B"), format_quantity(204, "1/s")
    ('12.3 ms', '1.46 MB', '204 /s')
    >>> format_quantity(0.012345, "s", half_width=0.002)
    '12 ms'
    >>> format_quantity(0.97312, "1", half_width=0.004, metric="station.cpu.utilization")
    '97.3%'
    >>> format_quantity(64, "KiB")
    '64.0 KiB'
    >>> format_quantity(12, "1")
    '12'
    """
    scale = choose_scale([value], unit, metric=metric)
    return f"{format_scaled(value, scale, half_width=half_width)}{scale.suffix}"


def format_scaled(value: float, scale: Scale, *, half_width: float | None = None) -> str:
    """Return `value` (base unit) in `scale`, without the unit.

    Examples
    --------
    >>> format_scaled(0.012345, Scale(1000.0, "ms"), half_width=0.0001)
    '12.35'
    >>> format_scaled(0.0, Scale(1.0, ""), half_width=0.0)
    '0'
    >>> format_scaled(64.0, Scale(1.0, ""), half_width=0.0)
    '64'
    """
    scaled = value * scale.factor
    if not math.isfinite(scaled):
        return format_plain(scaled, decimals=0)
    if scaled == 0.0 and not half_width:
        return "0"
    is_whole = scaled.is_integer() and abs(scaled) < _LARGEST_PLAIN_COUNT
    if not half_width and is_whole and _counts(scale):
        return format_plain(scaled, decimals=0)
    width = None if half_width is None else half_width * scale.factor
    return format_plain(scaled, decimals=decimals_for(scaled, half_width=width))


def _counts(scale: Scale) -> bool:
    """Return whether whole numbers are exact in a scale, and not rounded by a prefix."""
    if scale.label in _BINARY[1:]:
        return scale.factor < 1.0
    return scale.factor == 1.0 and scale.label in {"", "B", "/s"}


_LONG_UNITS = ((3600.0, "h"), (60.0, "min"))
"""Units in which whole numbers of at least two are stated."""


def format_given(value: float, unit: str, *, metric: str = "") -> str:
    """Return a number that was stated, without an interval: four digits, no trailing zeros.

    Examples
    --------
    >>> format_given(222.2, "1/s"), format_given(0.02, "s"), format_given(1.0, "1")
    ('222.2 /s', '20 ms', '1')
    >>> format_given(0.6409, "1", metric="cpu.utilization"), format_given(0.0, "B")
    ('64.09%', '0 B')
    >>> format_given(300.0, "s"), format_given(90.0, "s"), format_given(7200.0, "s")
    ('5 min', '90 s', '2 h')
    """
    if unit == "s":
        for size, label in _LONG_UNITS:
            if value >= 2.0 * size and value % size == 0.0 and math.isfinite(value):
                return f"{value / size:,.0f} {label}"
    scale = choose_scale([value], unit, metric=metric)
    scaled = value * scale.factor
    if not math.isfinite(scaled) or scaled == 0.0:
        return f"{format_scaled(scaled, Scale(1.0, ''))}{scale.suffix}"
    text = format_plain(scaled, decimals=DIGITS_AT_MOST - 1 - _place(scaled))
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{text}{scale.suffix}"


def format_percent(share: float) -> str:
    """Return a share as a percentage with one decimal.

    Examples
    --------
    >>> format_percent(0.98712)
    '98.7%'
    """
    return f"{format_plain(100.0 * share, decimals=1)}%"


def format_limit(share: float) -> str:
    """Return a share that is not exceeded: two digits in per cent, rounded up.

    Examples
    --------
    >>> format_limit(0.00081421), format_limit(0.335), format_limit(0.0)
    ('0.082%', '34%', '0%')
    """
    if share <= 0.0 or not math.isfinite(share):
        return f"{format_scaled(share, Scale(100.0, '%'))}%"
    step = 10.0 ** (_place(share) - 1)
    return format_given(math.ceil(share / step * (1.0 - _ROUNDING)) * step, "1", metric="share")


_WIDE = 4.0
"""Times that an interval spans from which each of its ends has digits of its own."""


def format_ratio(value: float, low: float | None, high: float | None) -> str:
    """Return how many times something is, with its interval.

    Examples
    --------
    >>> to_ascii(format_ratio(1.2861, 1.2832, 1.2898))
    '1.286x (1.283 to 1.290)'
    >>> to_ascii(format_ratio(512.3, 36.91, 702.4))
    '510x (37 to 700)'
    """
    if low is not None and high is not None and low > 0.0 and high > _WIDE * low:
        shown = [format_given(float(f"{one:.2g}"), "1") for one in (value, low, high)]
        number, interval = shown[0], f" ({shown[1]} to {shown[2]})"
    else:
        number, bracket, rest = format_bounds(value, low, high, "1").partition(" (")
        interval = f"{bracket}{rest}"
    return f"{number}{_TIMES}{interval}"


def half_width_of(low: float | None, high: float | None) -> float | None:
    """Return half the width of an interval, None if there is none.

    Examples
    --------
    >>> half_width_of(1.0, 4.0), half_width_of(None, None)
    (1.5, None)
    """
    return None if low is None or high is None else (high - low) / 2.0


def format_bounds(
    value: float,
    low: float | None,
    high: float | None,
    unit: str,
    *,
    metric: str = "",
    scale: Scale | None = None,
) -> str:
    """Return ``12.3 ms (12.0 to 12.7)``: centre and interval under one prefix.

    Without an interval the brackets are left out, not invented. With `scale`, that scale is
    used and no unit is printed, for columns whose head carries the unit.

    Examples
    --------
    >>> format_bounds(0.01234, 0.01198, 0.0127, "s")
    '12.3 ms (12.0 to 12.7)'
    >>> format_bounds(0.01234, None, None, "s")
    '12.3 ms'
    >>> format_bounds(0.01234, 0.01198, 0.0127, "s", scale=Scale(1000.0, "ms"))
    '12.3 (12.0 to 12.7)'
    >>> format_bounds(1.33e6, 1.33e6, 1.33e6, "B")
    '1.33 MB (same in every run)'
    >>> format_bounds(1.0, 1.0, 1.0, "1", metric="station.cpu.utilization")
    '100% (same in every run)'
    >>> format_bounds(0.000213, 0.000184, 0.0257, "s"), format_bounds(0.0, 0.0, 3e-9, "s")
    ('210 µs (180 to 26,000)', '0.0 ns (0.0 to 3.0)')
    """
    half_width = half_width_of(low, high)
    used = scale or choose_scale([value or high or 0.0], unit, metric=metric)
    suffix = "" if scale else used.suffix
    centre = f"{format_scaled(value, used, half_width=half_width)}{suffix}"
    if low is None or high is None or half_width is None:
        return centre
    if low == value == high:
        digits = centre.removesuffix(suffix)
        digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
        return f"{digits}{suffix} (same in every run)"
    if not (math.isfinite(low) and math.isfinite(high)):
        return f"{centre} (interval without end)"
    if _is_skewed_and_wide(value, low, high):
        shown = [_two_digits(one * used.factor) for one in (value, low, high)]
        return f"{shown[0]}{suffix} ({shown[1]} to {shown[2]})"
    decimals = decimals_for(value * used.factor, half_width=half_width * used.factor)
    bounds = (format_plain(bound * used.factor, decimals=decimals) for bound in (low, high))
    return f"{centre} ({' to '.join(bounds)})"


def _is_skewed_and_wide(value: float, low: float, high: float) -> bool:
    """Return whether the far end of an interval would take all digits from the near one."""
    return low > 0.0 and high > _WIDE * low and high - value > value - low


def _two_digits(value: float) -> str:
    return format_plain(value, decimals=1 - _place(value)) if value else "0"


def format_level(value: object) -> str:
    """Return a factor level or parameter value as it is read in a study file.

    Examples
    --------
    >>> format_level(16384), format_level(0.1), format_level("xz"), format_level(True)
    ('16384', '0.1', 'xz', 'true')
    >>> format_level(1e9), format_level(2.5e-7)
    ('1000000000', '2.5e-07')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value):
        return (
            str(int(value))
            if value.is_integer() and abs(value) < _LARGEST_EXACT_INTEGER
            else f"{value:.12g}"
        )
    return "" if value is None else str(value)


def brief_levels(values: Sequence[object]) -> list[str]:
    """Return levels as text; computed ones with four digits, or more if others are that close.

    Examples
    --------
    >>> brief_levels([0.014479638009, 0.0188235294118, 0.05, "xz"])
    ['0.01448', '0.01882', '0.05', 'xz']
    >>> brief_levels([1.000001111, 1.000002222])
    ['1.000001', '1.000002']
    """
    exact = [format_level(value) for value in values]
    for digits in range(4, 13):
        brief = [
            min(format_level(float(f"{value:.{digits}g}")), text, key=len)
            if isinstance(value, float) and len(text) > _LONG_LEVEL
            else text
            for value, text in zip(values, exact, strict=True)
        ]
        if len(set(brief)) == len(set(exact)):
            return brief
    return exact


def format_levels(levels: Mapping[str, object]) -> str:
    """Return the levels of a point as text.

    Examples
    --------
    >>> format_levels({"users": 60.0, "codec": "xz"}), format_levels({})
    ('users = 60, codec = xz', 'the only point')
    """
    words = (f"{name} = {format_level(value)}" for name, value in levels.items())
    return ", ".join(words) or "the only point"


def format_with_unit(value: object, unit: str) -> str:
    """Return a parameter value with the unit that it was declared in, unscaled.

    Examples
    --------
    >>> format_with_unit(8.5, "ms"), format_with_unit(100, "1"), format_with_unit("xz", "")
    ('8.5 ms', '100', 'xz')
    >>> format_with_unit(2_000_000, "B"), format_with_unit(23, "1e3")
    ('2,000,000 B', '23 \u00d7 1e3')
    """
    is_long = isinstance(value, (int, float)) and abs(value) >= _GROUPED_FROM
    text = f"{value:,.12g}" if is_long else format_level(value)
    if unit in {"", "1"} or not text:
        return text
    return f"{text} \u00d7 {unit}" if unit[0].isdigit() else f"{text} {unit}"


def format_time_span(from_s: float, to_s: float) -> str:
    """Return a stretch of a run's time in the unit that suits its end.

    From two hours on, times are hours and minutes since the start of the run.

    Examples
    --------
    >>> format_time_span(38_400, 48_000)
    'from 10:40 h to 13:20 h (2.67 h)'
    >>> format_time_span(300, 1200), format_time_span(0, 12.5)
    ('from 5 min to 20 min (15 min)', 'from 0 s to 12.5 s (12.5 s)')
    """
    if to_s >= _CLOCK_FROM_S:
        return f"from {_clock(from_s)} h to {_clock(to_s)} h ({(to_s - from_s) / 3600.0:.3g} h)"
    unit_s, label = (60.0, "min") if to_s >= _MINUTES_FROM_S else (1.0, "s")
    start, end, length = (f"{one / unit_s:.3g} {label}" for one in (from_s, to_s, to_s - from_s))
    return f"from {start} to {end} ({length})"


def format_moment(time_s: float) -> str:
    """Return a time since the start of a run, as `format_time_span` writes it.

    Examples
    --------
    >>> format_moment(86_400), format_moment(1200), format_moment(12.5)
    ('24:00 h', '20 min', '12.5 s')
    """
    if time_s >= _CLOCK_FROM_S:
        return f"{_clock(time_s)} h"
    unit_s, label = (60.0, "min") if time_s >= _MINUTES_FROM_S else (1.0, "s")
    return f"{time_s / unit_s:.3g} {label}"


def _clock(time_s: float) -> str:
    minutes = round(time_s / 60.0)
    return f"{minutes // 60}:{minutes % 60:02d}"


def to_ascii(text: str) -> str:
    """Return `text` with signs that only Unicode has written out, for plain terminals.

    Examples
    --------
    >>> to_ascii("12.3 ±0.4 µs")
    '12.3 +/-0.4 us'
    """
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")
