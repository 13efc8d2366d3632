"""A panel of the page: its pictures, caption and choices, and what all panels say alike."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from headroom.analysis.pictures import evenly
from headroom.analysis.results import Estimate, PointResult
from headroom.quantities import Scale, format_levels
from headroom.report.extent import fair_shares
from headroom.report.figures.inputs import Dot, Figure
from headroom.report.first_screen.scales import scaled
from headroom.report.numbers import format_estimate
from headroom.report.sentences.intervals import no_interval_words
from headroom.report.words import count_noun

Choice: TypeAlias = tuple[str, str]
"""Key of a point, empty if a figure shows all; and what a reader chooses in the panel itself."""
Item = TypeVar("Item")

_ENDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A panel as the page lays it out.

    Parameters
    ----------
    key
        Unique name in the page; also the anchor of the panel.
    title, caption
        Words above and below; the caption says what mark, interval and n mean.
    pictures
        Figures by choice; the first is shown before anything is chosen.
    direction
        ``lower is better`` or the like, behind the title.
    choice
        What is chosen in the panel: the factors that are on no axis, a metric.
    """

    key: str
    title: str
    caption: str
    pictures: Mapping[Choice, Figure]
    direction: str = ""
    choice: str = ""
    is_wide: bool = False


def panel_key(*parts: str) -> str:
    """Return the key of a panel, which can be an anchor.

    Examples
    --------
    >>> panel_key("load", "station.cpu.utilization", "users / rate")
    'load-station-cpu-utilization-users-rate'
    """
    return "-".join(parts).replace(" / ", "-").replace(".", "-")


def dot_of(x: float, estimate: Estimate, scale: Scale, hint: str) -> Dot:
    """Return the mark of an estimate, in the unit of its axis."""
    low, high = scaled(estimate.low, scale), scaled(estimate.high, scale)
    return Dot(x=x, y=estimate.value * scale.factor, low=low, high=high, hint=hint)


def hint_of(point: PointResult, estimate: Estimate) -> str:
    """Return levels, value with interval, and count, a line each."""
    reason = no_interval_words(estimate.reason)
    lines = [format_levels(point.levels), format_estimate(estimate), f"n = {estimate.count}"]
    return "\n".join(filter(None, [*lines, reason]))


def thin(
    items: Sequence[Item], *, at_most: int, curve_of: Callable[[Item], Hashable]
) -> list[Item]:
    """Return at most `at_most` items, evenly of each curve.

    The ends of a curve stay. Where there are too many curves for that, items are taken evenly
    from all.

    Parameters
    ----------
    items
        What would be drawn, in order.
    at_most
        How many may be drawn.
    curve_of
        The curve that an item belongs to.

    Examples
    --------
    >>> thin(range(20), at_most=6, curve_of=lambda number: number % 2)
    [0, 1, 8, 9, 18, 19]
    """
    if len(items) <= at_most:
        return list(items)
    curves: dict[Hashable, list[int]] = {}
    for place, item in enumerate(items):
        curves.setdefault(curve_of(item), []).append(place)
    if len(curves) * _ENDS <= at_most:
        shares = fair_shares([len(places) for places in curves.values()], at_most)
        kept = sorted(
            places[taken]
            for places, share in zip(curves.values(), shares, strict=True)
            for taken in evenly(len(places), share)
        )
    else:
        kept = evenly(len(items), at_most)
    return [items[place] for place in kept]


def drawn_words(drawn: int, total: int) -> str:
    """Return how many points a figure leaves out; nothing where it draws all.

    Examples
    --------
    >>> drawn_words(6, 20), drawn_words(6, 6)
    ('Drawn: 6 of 20 points; results.json holds all.', '')
    """
    if drawn == total:
        return ""
    return f"Drawn: {drawn:,} of {count_noun(total, 'point')}; results.json holds all."
