"""Tables of a point over time: the data of the figures, for readers without scripts.

Invariant: each number is one of the results; rows are left out evenly, and the note says so.
"""

from headroom.analysis.pictures import evenly, first_point
from headroom.analysis.results import ExperimentResult, IntervalLine, SeriesLine, TimeSeries
from headroom.quantities import Scale, choose_scale, format_bounds, format_moment, format_scaled
from headroom.report.tables.tables import Cell, Head, Table
from headroom.report.words import label_metric, label_point

ROWS_AT_MOST = 50
COLUMNS_AT_MOST = 8


def course_table(experiment: ExperimentResult) -> Table | None:
    """Return the table of the point that is looked at first, None if no point has one."""
    drawn = [point for point in experiment.points if point.over_time]
    point = first_point(drawn) or next(iter(drawn), None)
    if point is None or point.over_time is None:
        return None
    course = point.over_time
    lines = course.lines[:COLUMNS_AT_MOST]
    scales = [line_scale(line) for line in lines]
    shown = evenly(len(course.ends_s), ROWS_AT_MOST)
    heads = [Head("Until", is_number=True)]
    heads += [
        Head(label_metric(line.metric), scale.label, is_number=True, hint=line.metric)
        for line, scale in zip(lines, scales, strict=True)
    ]
    rows = [
        [
            Cell(format_moment(course.ends_s[place]), is_number=True, is_head=True),
            *(_cell(line, place, scale) for line, scale in zip(lines, scales, strict=True)),
        ]
        for place in shown
    ]
    label = label_point(point, experiment.factors)
    caption = f"Over time, {label}: means over the replications, with 95% intervals"
    note = (
        f"{len(shown)} of {len(course.ends_s)} intervals, evenly spread."
        if len(shown) < len(course.ends_s)
        else ""
    )
    return Table(caption, heads, rows, note, is_sortable=False)


def line_scale(line: IntervalLine | SeriesLine) -> Scale:
    """Return the scale in which all values of a line are shown."""
    known = [value for value in line.values if value is not None]
    return choose_scale(known, line.unit, metric=line.metric)


def _cell(line: IntervalLine, place: int, scale: Scale) -> Cell:
    value = line.values[place]
    if value is None:
        return Cell("", is_number=True)
    text = format_bounds(value, line.low[place], line.high[place], line.unit, scale=scale)
    return Cell(text, is_number=True)


def series_table(experiment: ExperimentResult) -> Table | None:
    """Return the series of the point that is looked at first, None if it has none."""
    told = [point for point in experiment.points if point.series]
    point = first_point(told) or next(iter(told), None)
    if point is None or point.series is None:
        return None
    series = point.series
    scales = [line_scale(line) for line in series.lines]
    shown = evenly(series.count, ROWS_AT_MOST)
    time = choose_scale([series.step_s * series.count], "s")
    heads = [Head("Until", time.label, is_number=True)]
    heads += [_head(line, scale) for line, scale in zip(series.lines, scales, strict=True)]
    rows = [_row(series, place, time, scales) for place in shown]
    label = label_point(point, experiment.factors)
    caption = f"The first replication over time, {label}: means over the interval before"
    return Table(caption, heads, rows, _note(len(shown), series), is_sortable=False)


def _head(line: SeriesLine, scale: Scale) -> Head:
    full = f"{line.kind}.{line.name}.{line.metric}"
    return Head(label_metric(full), scale.label, is_number=True, hint=full)


def _row(series: TimeSeries, place: int, time: Scale, scales: list[Scale]) -> list[Cell]:
    end = series.step_s * (place + 1) * time.factor
    cells = [Cell(f"{end:.6g}", repr(end), is_number=True, is_head=True)]
    for line, scale in zip(series.lines, scales, strict=True):
        value = line.values[place]
        text = "" if value is None else format_scaled(value, Scale(scale.factor, ""))
        cells.append(Cell(text, is_number=True))
    return cells


def _note(shown: int, series: TimeSeries) -> str:
    parts = []
    if shown < series.count:
        parts.append(f"{shown} of {series.count} intervals, evenly spread.")
    if series.parts_left_out:
        parts.append(f"{series.parts_left_out:,} less busy parts are left out.")
    if parts:
        parts.append("headroom export --what series writes all values as CSV.")
    return " ".join(parts)
