"""One figure of the page: its specification, caption and the rows it draws."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from headroom.analysis.results import Estimate
from headroom.quantities import Scale
from headroom.report.numbers import format_estimate
from headroom.report.words import count_noun

Row: TypeAlias = dict[str, Any]
Spec: TypeAlias = dict[str, Any]

MARKS_AT_MOST = 5_000
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
        Data of the figure; None where the page takes the rows from the results of the
        selected point, by `detail`.
    detail
        Which rows of the selected point to draw: ``stations``, ``histogram``, ``cumulative``,
        ``warm_up`` or ``samples``; empty for figures with their own `rows`.
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
        """Return what the script of the page needs."""
        return {
            "key": self.key,
            "spec": self.spec,
            "rows": self.rows,
            "detail": self.detail,
            "experiment": self.experiment,
            "holds": self.holds,
        }


def estimate_row(estimate: Estimate, scale: Scale) -> Row:
    """Return the columns that every mark of an estimate carries, scaled to the axis."""
    return {
        "value": estimate.value * scale.factor,
        "low": None if estimate.low is None else estimate.low * scale.factor,
        "high": None if estimate.high is None else estimate.high * scale.factor,
        "n": estimate.count,
        "shown": format_estimate(estimate),
        "note": estimate.note,
    }


def thin(rows: Sequence[Row], *, at_most: int = MARKS_AT_MOST) -> tuple[list[Row], str]:
    """Return at most about `at_most` rows, evenly taken, and a sentence where some are missing.

    Examples
    --------
    >>> thin([{"x": 1}, {"x": 2}])
    ([{'x': 1}, {'x': 2}], '')
    >>> rows, note = thin([{"x": i} for i in range(10)], at_most=5)
    >>> [row["x"] for row in rows], note
    ([0, 2, 4, 6, 8, 9], 'Drawn: 6 of 10 points; the table and the data hold all.')
    """
    if len(rows) <= at_most:
        return list(rows), ""
    step = -(-len(rows) // at_most)
    kept = list(rows[::step])
    if rows[-1] is not kept[-1]:
        kept.append(rows[-1])
    return kept, (
        f"Drawn: {len(kept):,} of {count_noun(len(rows), 'point')}; "
        "the table and the data hold all."
    )


def describe_interval(estimates: Sequence[Estimate]) -> str:
    """Return what the marks and bands mean, in one sentence.

    Examples
    --------
    >>> describe_interval([])
    'No point has a result.'
    """
    if not estimates:
        return "No point has a result."
    counts = sorted({estimate.count for estimate in estimates})
    spread = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    centre = estimates[0].centre.replace("pooled", "pooled value").capitalize()
    methods = {estimate.method for estimate in estimates} - {"none"}
    if not methods:
        return f"{centre} of n = {spread}; too few replications for an interval."
    method = " / ".join(sorted(methods)).replace("student-t", "Student t")
    return f"{centre} and 95 % interval ({method}), n = {spread} per point."
