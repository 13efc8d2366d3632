"""Distributions of HdrHistogram: `.hgrm` files, and what other tools print of them."""

import re
from collections.abc import Sequence

from headroom.audit.readers.format import Format
from headroom.audit.result import Result, Stated

_ROW = re.compile(
    r"^\s*([\d.]+)\s+([01]\.\d+)\s+(\d+)(?:\s+(?:[\d.]+|inf|Infinity))?\s*$", re.MULTILINE
)
_MEAN = re.compile(r"#\[Mean\s*=\s*([\d.]+), StdDeviation\s*=\s*([\d.]+)\]")
_MAX = re.compile(r"#\[Max\s*=\s*([\d.]+), Total count\s*=\s*(\d+)\]")
_BIN = 2e-3
"""Relative width of a bin with three digits."""
_SHOWN = (0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999)
_MS = 1e-3


def is_histogram(text: str) -> bool:
    """Return whether a text is a distribution of HdrHistogram."""
    return bool(_MEAN.search(text) and _MAX.search(text) and _ROW.search(text))


def read_histogram(text: str, source: str) -> Sequence[Result]:
    """Return the distribution: percentiles without the time or the rate of the run.

    The file does not say its unit: milliseconds are taken, which is what most programs write. No
    check of one distribution depends on it.
    """
    mean, high = _MEAN.search(text), _MAX.search(text)
    if mean is None or high is None:
        return []
    rows = [(float(value), float(share)) for value, share, _ in _ROW.findall(text)]
    percentiles = {}
    for share in _SHOWN:
        above = [value for value, found in rows if found >= share]
        below = [value for value, found in rows if found <= share]
        if above and below:
            low_s, high_s = below[-1] * _MS, above[0] * _MS * (1.0 + _BIN)
            percentiles[share] = Stated((low_s + high_s) / 2.0, (high_s - low_s) / 2.0)
    return [
        Result(
            tool="hdrhistogram", source=source, name=source, count=int(high[2]), failed=None,
            mean=_wide(mean[1]), stdev=_wide(mean[2]), high=_wide(high[1]),
            low=Stated(rows[0][0] * _MS / 2, rows[0][0] * _MS / 2 * (1 + _BIN)),
            percentiles=percentiles, settings={"unit": "ms, assumed"},
        )
    ]  # fmt: skip


def _wide(text: str) -> Stated:
    one = Stated.printed(text, scale=_MS)
    return Stated(one.value, one.error + _BIN * one.value)


FORMAT = Format(
    kind="text",
    expected='lines "#[Mean = ..., StdDeviation = ...]" and "#[Max = ...]"',
    fits=is_histogram,
    read=read_histogram,
    is_general=True,
)
