"""Numbers and tables in the files of other tools."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from headroom.audit.result import Log, Result, Stated
from headroom.errors import HeadroomError
from headroom.experiment.protocol.run import FloatArray

UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
MIN_INTERVALS = 20
_FIRST_S = 631_152_000
"""1990: a smaller number is not the time of a benchmark."""


class UnreadableError(HeadroomError):
    """A file that is not what its format says (exit code 2)."""


class UnknownFormatError(UnreadableError):
    """A text in which no result of a known format was found."""


def exact(value: Any, *, scale: float = 1.0) -> Stated | None:  # noqa: ANN401 - of JSON
    """Return a number of a JSON document, exact but for its last bits; None if it is absent."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UnreadableError(
            f"{value!r} is not a number", cure="use the file as the tool wrote it"
        )
    return Stated(value * scale, abs(value) * scale * 1e-9)


def at(seconds: Any) -> str:  # noqa: ANN401 - of JSON
    """Return a moment in seconds since 1970 as ISO 8601 says it; empty if it is none of ours.

    Examples
    --------
    >>> at(1795578153), at(1), at(None)
    ('2026-11-25T03:42:33+00:00', '', '')
    """
    if not isinstance(seconds, int | float) or seconds < _FIRST_S:
        return ""
    return datetime.fromtimestamp(seconds, tz=UTC).isoformat()


def timed(text: str) -> Stated:
    """Return a printed time with its unit, such as wrk's.

    Examples
    --------
    >>> timed("2.07s")
    Stated(value=2.07, error=0.005)
    """
    match = re.fullmatch(r"([\d.]+)(ns|us|µs|ms|s|m|h)", text.strip())
    if match is None:
        raise UnreadableError(f"{text!r} is not a time", cure="use the file as the tool wrote it")
    return Stated.printed(match[1], scale=UNITS_S[match[2]])


def _moments(values: FloatArray, *, error: float) -> Mapping[str, Any]:
    """Return the distribution of single responses, each known within `error` (s)."""
    ordered = np.sort(values)
    shares = [share for share in (0.5, 0.9, 0.95, 0.99) if values.size * (1.0 - share) >= 5]  # noqa: PLR2004
    stated = {share: Stated(float(np.quantile(ordered, share)), error) for share in shares}
    return {
        "mean": Stated(float(ordered.mean()), error),
        "low": Stated(float(ordered[0]), error),
        "high": Stated(float(ordered[-1]), error),
        "percentiles": stated,
    }


def of_responses(
    ends_s: FloatArray,
    response_s: FloatArray,
    *,
    tick_s: float,
    is_coarse: bool = False,
    **more: Any,  # noqa: ANN401 - fields
) -> Result:
    """Return the result of single responses, in any order.

    Parameters
    ----------
    ends_s, response_s
        Ends (s, any origin) and response times (s), shape (n,).
    tick_s
        Resolution (s) of the response times.
    is_coarse
        True if ends are whole seconds, too coarse for a course.
    more
        Other fields of the result.
    """
    order = np.argsort(ends_s, kind="stable")
    start_s = float(np.min(ends_s - response_s))
    log = Log(ends_s=ends_s[order] - start_s, response_s=response_s[order])
    span_s = max(float(log.ends_s[-1]), 1e-9)
    return Result(
        count=ends_s.size, duration_s=Stated(span_s, tick_s + is_coarse),
        throughput=Stated(ends_s.size / span_s, 1.0 / span_s), log=None if is_coarse else log,
        rates=np.empty(0) if is_coarse else _rates(log), **_moments(response_s, error=tick_s),
        **more,
    )  # fmt: skip


def _rates(log: Log) -> FloatArray:
    """Return the throughput (1/s) of up to 60 equal intervals, none of fewer than 600 responses."""
    span_s = float(log.ends_s[-1] - log.ends_s[0])
    bins = min(log.ends_s.size // 30, 60)
    if bins < MIN_INTERVALS or span_s <= 0.0:
        return np.empty(0)
    counts, _ = np.histogram(log.ends_s, bins=bins)
    return counts / (span_s / bins)
