"""Scatter of the replications of each point: the statistics that device tests report.

The table gives mean, standard deviation, median, smallest, largest and mean deviation over
replications, for each response. Its form is that of table 1 of Kang and Cheong, *Performance
Testing Environment for Distributed Storage Systems*.

Invariant: restates `Estimate`; nothing is computed here.
"""

from collections.abc import Sequence

from headroom.analysis.results import Estimate, ExperimentResult, PointResult
from headroom.quantities import Scale, choose_scale, format_scaled
from headroom.report.tables.tables import (
    Cell,
    Head,
    Table,
    factor_heads,
    level_cells,
    number_cell,
    rest_note,
)
from headroom.report.terminal.columns import Column
from headroom.report.terminal.screen import Screen
from headroom.report.words import title_metric

_FEWEST = 2
"""Replications that a spread needs."""
_COLUMNS = (
    ("Mean", "mean"),
    ("Std dev", "stdev"),
    ("Median", "median"),
    ("Min", "minimum"),
    ("Max", "maximum"),
    ("Mean dev", "mean_deviation"),
)
_HINTS = {
    "stdev": "standard deviation over replications",
    "mean_deviation": "mean distance of the replications from their mean",
}


def replication_table(experiment: ExperimentResult, *, at_most: int) -> Table | None:
    """Return one row for each point and response that ran twice or more; None if there is none."""
    found = [
        (point, estimate)
        for point in experiment.points
        for metric in experiment.responses
        if (estimate := point.estimates.get(metric)) and estimate.count >= _FEWEST
    ]
    if not found:
        return None
    heads = [*factor_heads(experiment), Head("Metric"), Head("n", is_number=True)]
    heads += [Head(title, is_number=True, hint=_HINTS.get(name, "")) for title, name in _COLUMNS]
    rows = [_row(experiment, point, estimate) for point, estimate in found[:at_most]]
    note = " ".join(
        filter(
            None,
            [
                "Over the replications of a point, one value each; in results.json and by "
                "headroom export for every metric.",
                rest_note(len(rows), len(found), "rows"),
            ],
        )
    )
    return Table("Statistics of the replications", heads, rows, note)


def _row(experiment: ExperimentResult, point: PointResult, estimate: Estimate) -> list[Cell]:
    scale = _scale(estimate)
    return [
        *level_cells(experiment, point),
        Cell(title_metric(estimate.metric), estimate.metric, remark=scale.label),
        Cell(str(estimate.count), str(estimate.count), is_number=True),
        *(
            number_cell(format_statistic(estimate, name, scale), getattr(estimate, name))
            for _, name in _COLUMNS
        ),
    ]


def _scale(estimate: Estimate) -> Scale:
    sizes = [abs(estimate.minimum), abs(estimate.mean), abs(estimate.maximum)]
    return choose_scale([max(sizes)], estimate.unit, metric=estimate.metric)


def format_statistic(estimate: Estimate, name: str, scale: Scale) -> str:
    """Return one statistic of an estimate in a scale, nothing where it is not known."""
    value: float | None = getattr(estimate, name)
    return "" if value is None else format_scaled(value, scale)


def render_replications(estimates: Sequence[Estimate], screen: Screen) -> None:
    """Print the statistics of the replications of one point, nothing where it ran once."""
    found = [estimate for estimate in estimates if estimate.count >= _FEWEST]
    if not found:
        return
    screen.line("Statistics of the replications", "bold")
    scales = [_scale(estimate) for estimate in found]
    names = [
        f"{estimate.metric} ({scale.label})" if scale.label else estimate.metric
        for estimate, scale in zip(found, scales, strict=True)
    ]
    screen.table(
        [
            Column("Metric", names),
            *(
                Column(
                    title,
                    [
                        format_statistic(estimate, name, scale)
                        for estimate, scale in zip(found, scales, strict=True)
                    ],
                    is_number=True,
                )
                for title, name in _COLUMNS
            ),
        ]
    )
