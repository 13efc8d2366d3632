"""Targets below the minimum time of a job: no number of servers reaches them.

Invariant: said only of the configuration with the most of everything, and only where the least
time of a job is sure.
"""

import re
from collections.abc import Iterator

from headroom.forecasts import Forecast, Limits
from headroom.quantities import format_quantity
from headroom.sizing.targets import Target

_RESPONSE = re.compile(r"(?:class\.(?P<name>.+)\.)?response_s_(?P<of>mean|p\d+)")
_PARTS_SHOWN = 3


def unreachable(targets: tuple[Target, ...], forecast: Forecast, place: str) -> Iterator[str]:
    """Yield a sentence for each target below the pure service time.

    Parameters
    ----------
    targets
        What was requested.
    forecast
        What formulas say about the configuration with the most of everything.
    place
        That configuration as text.
    """
    for target in targets:
        match = _RESPONSE.fullmatch(target.metric)
        if match is None or target.is_floor:
            continue
        limits = _least(
            [limit for limit in forecast.limits if match["name"] in {None, limit.class_name}]
        )
        if limits is None or limits.alone_s <= target.bound:
            continue
        end = (
            "so that no number of servers meets this target"
            if match["of"] == "mean"
            else "so that more servers will hardly meet this target"
        )
        yield (
            f"{target.text} is below the pure service time: even at {place} a job that never "
            f"waits takes {format_quantity(limits.alone_s, 's')} on average"
            f"{_made_of(limits)}, {end}; make the service faster"
        )


def _least(limits: list[Limits]) -> Limits | None:
    return min(limits, key=lambda one: one.alone_s, default=None)


def _made_of(limits: Limits) -> str:
    """Return at which stations the time is spent."""
    shown = limits.alone_parts[:_PARTS_SHOWN]
    if not shown:
        return ""
    more = len(limits.alone_parts) - len(shown)
    words = [f"{name} {format_quantity(time_s, 's')}" for name, time_s in shown]
    return f" ({', '.join(words)}{f' and {more} more' if more else ''})"
