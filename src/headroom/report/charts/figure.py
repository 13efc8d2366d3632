"""One figure of the page: its specification, caption and the rows it draws."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from headroom.analysis.pictures import evenly
from headroom.analysis.results import Estimate
from headroom.quantities import Scale
from headroom.report.extent import fair_shares
from headroom.report.numbers import format_estimate
from headroom.report.sentences.intervals import no_interval_words
from headroom.report.words import count_noun

Row: TypeAlias = dict[str, Any]
Spec: TypeAlias = dict[str, Any]
Item = TypeVar("Item")

_CENTRES = {"pooled": "pooled value", "choice": "most frequent choice"}
_ENDS = 2
HEIGHT_PX = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure as the page draws it.

    Parameters
    ----------
    key
        Unique name in the page; also the anchor of the figure.
    title, caption
        Words above and below the figure; the caption says what mark, band and n mean.
    spec
        Vega-Lite specification without data and without scheme colours.
    rows
        Data of the figure; None if the page takes the rows from the results of the
        selected point, by `detail`.
    detail
        Which rows of the selected point to draw: ``utilization``, ``queue``, ``states``,
        ``histogram``, ``cumulative``, ``warm_up``, ``series``, ``latency``, ``course_response``,
        ``course_utilization`` or ``samples``; empty for figures with their own `rows`.
    direction
        ``lower is better`` or the like, behind the title.
    holds
        Choices for the factors that are on no axis; each row carries its choice as ``hold``.
    """

    key: str
    title: str
    caption: str
    direction: str = ""
    spec: Spec
    rows: list[Row] | None = None
    detail: str = ""
    experiment: str = ""
    holds: list[str] = field(default_factory=list)
    hold_title: str = ""
    is_wide: bool = False

    def to_data(self) -> dict[str, Any]:
        """Return the data for the script of the page."""
        return {
            "key": self.key,
            "spec": self.spec,
            "rows": self.rows,
            "detail": self.detail,
            "experiment": self.experiment,
            "holds": self.holds,
        }


def estimate_row(estimate: Estimate, scale: Scale) -> Row:
    """Return the columns that every mark of an estimate carries, scaled to the axis.

    ``from`` and ``to`` are what a band or a whisker spans: the interval, or the bare value where
    there is none, because a chart cannot take the extent of nothing.
    """
    return {
        "value": estimate.value * scale.factor,
        "low": None if estimate.low is None else estimate.low * scale.factor,
        "high": None if estimate.high is None else estimate.high * scale.factor,
        "from": (estimate.value if estimate.low is None else estimate.low) * scale.factor,
        "to": (estimate.value if estimate.high is None else estimate.high) * scale.factor,
        "n": estimate.count,
        "shown": format_estimate(estimate),
        "note": no_interval_words(estimate.reason),
    }


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


def describe_interval(estimates: Sequence[Estimate]) -> str:
    """Return the meaning of the marks and bands, in one sentence.

    Examples
    --------
    >>> describe_interval([])
    'No point has a result.'
    """
    if not estimates:
        return "No point has a result."
    counts = sorted({estimate.count for estimate in estimates})
    spread = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    centre = _CENTRES.get(estimates[0].centre, estimates[0].centre).capitalize()
    if estimates[0].centre == "choice":
        return f"{centre} of n = {spread}."
    methods = {estimate.method for estimate in estimates} - {"none"}
    if not methods:
        return f"{centre} of n = {spread}; too few replications for an interval."
    method = " / ".join(sorted(methods)).replace("student-t", "Student t")
    return f"{centre} and 95% interval ({method}), n = {spread} per point."
