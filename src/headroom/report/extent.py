"""How much of a study one page holds, so that pages of any study can be mailed and opened.

A page that would be larger than `PAGE_BYTES` all the same is written with smaller budgets; that of
a study of twenty experiments may stay a little above it.

Up to `WHOLE_UP_TO` points (and `ESTIMATES_WHOLE_UP_TO` estimates) a page holds everything. Beyond
that, figures, tables and the points with details share fixed budgets. The page states what it omits
and where to find it: in results.json and in `headroom export`.

Invariant: the size of a page does not grow with the number of points beyond `WHOLE_UP_TO`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from headroom.analysis.results import ExperimentResult, StudyResult
from headroom.report.dimensions import dimensions_of

WHOLE_UP_TO = 200
"""Points of a study whose page holds all there is."""
ESTIMATES_WHOLE_UP_TO = 8_000
"""Figures of all its points together, next to that: models of many parts have a thousand each."""
MARKS_AT_MOST = 5_000
"""Marks of one figure, also in a page that holds all."""
PAGE_BYTES = 1_000_000
"""Size above which a page is written with smaller budgets."""
PAGE_BYTES_AT_MOST = 1_200_000
"""Size of a page with the smallest budgets."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a page may hold: all points, or a share of the budgets of a large study.

    `details` is the number of points that can be looked at closely, `choices` the metrics that one
    of their figures offers; None: all.
    """

    share: float | None
    details: int = 0
    choices: int | None = None


WHOLE_BUDGETS = tuple(Budget(None, details) for details in (100, 40, 20, 12, 7))
"""Of a study whose page holds all points; tried in turn."""
BUDGETS = (*(Budget(share) for share in (1.0, 0.5, 0.25, 0.1)), Budget(0.1, choices=20))
"""Of a large study; tried in turn."""
_ROWS_IN_ALL = 200
_MARKS_IN_ALL = 1_200
_DETAILS_IN_ALL = 50
_SERIES_IN_ALL = 10
_TRADE_OFFS = 2
_CLASS_ROWS = 200
_ARTEFACT_BYTES_IN_ALL = 512 * 1024
_PICTURES = 4
"""Experiments whose models are drawn, on a page that does not hold all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The part of one experiment that a page holds.

    Parameters
    ----------
    rows
        Points in the table, of which each also gives its seeds and messages.
    resource_rows
        Rows of the table of stations and pools.
    statistic_rows
        Rows of the tables that have one for each point and response.
    marks
        Marks per figure.
    details
        Points that can be chosen and looked at.
    choices
        Metrics that a figure of one point offers; None: all.
    series
        Those of them that also show their course over time.
    class_rows
        Rows of each table by class.
    artefact_bytes
        Size of the files left by replications that are shown; the others are exported.
    has_picture
        Whether the page shows the picture of the model.
    """

    rows: int
    resource_rows: int
    statistic_rows: int
    marks: int
    details: int
    choices: int | None
    series: int
    class_rows: int
    artefact_bytes: int
    has_picture: bool = True


def is_whole(result: StudyResult) -> bool:
    """Return whether a page holds everything of the study."""
    points = [point for experiment in result.experiments for point in experiment.points]
    figures = sum(len(point.estimates) for point in points)
    return len(points) <= WHOLE_UP_TO and figures <= ESTIMATES_WHOLE_UP_TO


def whole_extent(experiment: ExperimentResult, details: int, artefact_bytes: int) -> Extent:
    """Return the extent that leaves nothing out but details of points and files left by runs."""
    count = len(experiment.points)
    rows = sum(len(point.resources) for point in experiment.points)
    return Extent(
        rows=count,
        resource_rows=rows,
        statistic_rows=count * max(1, len(experiment.responses)),
        marks=MARKS_AT_MOST,
        details=details,
        choices=None,
        series=details,
        class_rows=max(rows, _CLASS_ROWS),
        artefact_bytes=artefact_bytes,
    )


def extents_of(result: StudyResult, budget: Budget) -> list[Extent]:
    """Return the extent of each experiment."""
    sizes = [len(experiment.points) for experiment in result.experiments]
    share = budget.share
    left = [_artefact_bytes(experiment) for experiment in result.experiments]
    if share is None:
        details = fair_shares(sizes, budget.details)
        of_all = budget.details / WHOLE_BUDGETS[0].details
        artefacts = fair_shares(left, int(of_all * _ARTEFACT_BYTES_IN_ALL))
        return [
            whole_extent(experiment, max(1, count), artefact_bytes)
            for experiment, count, artefact_bytes in zip(
                result.experiments, details, artefacts, strict=True
            )
        ]
    figures = [_figure_count(experiment) for experiment in result.experiments]
    rows = fair_shares(sizes, max(len(sizes), int(share * _ROWS_IN_ALL)))
    details = fair_shares(sizes, max(len(sizes), int(share * _DETAILS_IN_ALL)))
    series = fair_shares(sizes, int(share * _SERIES_IN_ALL))
    drawn = [size * n for size, n in zip(sizes, figures, strict=True)]
    marks = fair_shares(drawn, int(share * _MARKS_IN_ALL))
    artefacts = fair_shares(left, int(share * _ARTEFACT_BYTES_IN_ALL))
    return [
        Extent(
            rows=rows[place],
            resource_rows=rows[place],
            statistic_rows=rows[place],
            marks=-(-marks[place] // n),
            details=details[place],
            choices=budget.choices,
            series=series[place],
            class_rows=max(rows[place], int(share * _CLASS_ROWS)),
            artefact_bytes=artefacts[place],
            has_picture=place < share * _PICTURES,
        )
        for place, n in enumerate(figures)
    ]


def _artefact_bytes(experiment: ExperimentResult) -> int:
    return sum(len(one.artefact.content) for point in experiment.points for one in point.artefacts)


def _figure_count(experiment: ExperimentResult) -> int:
    axes = max(1, sum(dimension.is_numeric for dimension in dimensions_of(experiment)))
    trade_offs = _TRADE_OFFS if experiment.column == "measure" else 0
    return max(1, len(experiment.responses)) * axes + trade_offs + (axes > 1)


def fair_shares(sizes: Sequence[int], budget: int) -> list[int]:
    """Return how much of `budget` each of several parts gets: the small ones whole first.

    Examples
    --------
    >>> fair_shares([10_000, 20, 500], 300), fair_shares([5, 6], 300)
    ([140, 20, 140], [5, 6])
    """
    shares = [0] * len(sizes)
    left = budget
    for served, place in enumerate(sorted(range(len(sizes)), key=lambda place: sizes[place])):
        shares[place] = min(sizes[place], left // (len(sizes) - served))
        left -= shares[place]
    return shares
