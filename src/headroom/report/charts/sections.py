"""Sections that layers add, as figures and as tables.

Invariant: a figure and its table have the same numbers; nothing is computed but scales.
"""

from collections.abc import Sequence

from headroom.analysis.results import ExperimentResult
from headroom.experiment.protocol.section import Matrix, Section, StackedBars, Timeline
from headroom.quantities import Scale, choose_scale, format_quantity
from headroom.report.charts.figure import Figure, Row, Spec
from headroom.report.tables.tables import Cell, Head, Table
from headroom.report.words import axis_title

_CELL_PX, _LANE_PX, _AXIS_PX, _LEGEND_PX = 34, 30, 70, 50
_CELLS_WITH_TEXT = 144
_TABLE_ROWS = 200
_QUIET_AXIS: Spec = {"grid": False, "ticks": False, "domain": False, "labelLimit": 220}


def section_figures(experiment: ExperimentResult) -> list[Figure]:
    """Return a figure for each section of an experiment."""
    return [
        _figure(f"{experiment.name}-section-{place}", experiment.name, section)
        for place, section in enumerate(experiment.sections)
    ]


def section_tables(experiment: ExperimentResult) -> list[Table]:
    """Return a table for each section of an experiment."""
    return [_table(section) for section in experiment.sections]


def sections_left_out(experiment: ExperimentResult) -> list[str]:
    """Return a sentence for each section that is not shown."""
    return [
        f"Section {one.title!r} of {experiment.system} is not shown: {one.problem}."
        if one.title
        else f"The sections of {experiment.system} are not shown: {one.problem}."
        for one in experiment.sections_left_out
    ]


def _figure(key: str, experiment: str, section: Section) -> Figure:
    if isinstance(section, Matrix):
        rows, spec = _matrix(section)
    elif isinstance(section, Timeline):
        rows, spec = _timeline(section)
    else:
        rows, spec = _bars(section)
    whole: Spec = {
        "description": section.title,
        "width": "container",
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"name": "rows"},
        **spec,
    }
    return Figure(
        key=key, title=section.title, caption=section.caption, spec=whole, rows=rows,
        experiment=experiment, is_wide=not isinstance(section, Matrix),
    )  # fmt: skip


def _scale(values: Sequence[Sequence[float | None]], unit: str, metric: str) -> Scale:
    known = [value for row in values for value in row if value is not None]
    return choose_scale(known, unit, metric=metric)


def _matrix(section: Matrix) -> tuple[list[Row], Spec]:
    scale = _scale(section.values, section.unit, section.metric)
    rows: list[Row] = [
        {
            "row": row, "column": column, "value": value * scale.factor,
            "shown": format_quantity(value, section.unit, metric=section.metric),
            "text": f"{value * scale.factor:.3g}",
        }
        for row, values in zip(section.rows, section.values, strict=True)
        for column, value in zip(section.columns, values, strict=True)
        if value is not None
    ]  # fmt: skip
    place = {
        "x": {"field": "column", "type": "nominal", "title": section.column_title or None,
              "sort": section.columns, "scale": {"domain": section.columns},
              "axis": {**_QUIET_AXIS, "labelAngle": 0}},
        "y": {"field": "row", "type": "nominal", "title": section.row_title or None,
              "sort": section.rows, "scale": {"domain": section.rows}, "axis": _QUIET_AXIS},
    }  # fmt: skip
    cells = {
        "mark": {"type": "rect", "style": "cell"},
        "encoding": {
            **place,
            "color": {
                "field": "value", "type": "quantitative",
                "title": axis_title(section.metric, scale),
                "scale": {"zero": False, "nice": False},
                "legend": {"gradientLength": 120, "tickCount": 3},
            },
            "tooltip": [_tip("row", section.row_title or "row"),
                        _tip("column", section.column_title or "column"), _tip("shown", "value")],
        },
    }  # fmt: skip
    layers = [cells]
    if rows and len(rows) <= _CELLS_WITH_TEXT:
        values = [row["value"] for row in rows]
        middle = (min(values) + max(values)) / 2.0
        sides: tuple[tuple[str, Spec], ...] = (
            (f"datum.value > {middle!r}", {"style": "inside-text"}),
            (f"datum.value <= {middle!r}", {}),
        )
        layers += [
            {
                "transform": [{"filter": test}],
                "mark": {"type": "text", "fontWeight": 600, **style},
                "encoding": {**place, "text": {"field": "text"}},
            }
            for test, style in sides
        ]
    height = _CELL_PX * len(section.rows) + _AXIS_PX + _LEGEND_PX
    return rows, {"height": height, "layer": layers}


def _timeline(section: Timeline) -> tuple[list[Row], Spec]:
    scale = choose_scale([span.end_s for span in section.spans], "s")
    rows: list[Row] = [
        {
            "lane": span.lane, "state": span.state, "from": span.start_s * scale.factor,
            "to": span.end_s * scale.factor,
            "shown": format_quantity(span.end_s - span.start_s, "s"),
        }
        for span in section.spans
    ]  # fmt: skip
    lanes = list(dict.fromkeys(span.lane for span in section.spans))
    states = section.ordered_states()
    encoding = {
        "y": {"field": "lane", "type": "nominal", "title": None, "sort": lanes,
              "axis": _QUIET_AXIS},
        "x": {"field": "from", "type": "quantitative", "title": f"time ({scale.label})",
              "scale": {"zero": True, "nice": False}},
        "x2": {"field": "to"},
        "color": {"field": "state", "type": "nominal", "title": None,
                  "sort": states, "scale": {"domain": states},
                  "legend": {"columns": 4}},
        "tooltip": [_tip("lane", "lane"), _tip("state", "state"), _tip("shown", "for")],
    }  # fmt: skip
    mark = {"type": "bar", "height": {"band": 0.66}, "opacity": 0.9}
    height = _LANE_PX * len(lanes) + _AXIS_PX
    return rows, {"height": height, "mark": mark, "encoding": encoding}


def _bars(section: StackedBars) -> tuple[list[Row], Spec]:
    scale = _scale([[sum(row)] for row in section.values], section.unit, section.metric)
    rows: list[Row] = [
        {
            "bar": bar, "part": part, "value": value * scale.factor, "order": place,
            "shown": format_quantity(value, section.unit, metric=section.metric),
        }
        for bar, values in zip(section.bars, section.values, strict=True)
        for place, (part, value) in enumerate(zip(section.parts, values, strict=True))
    ]  # fmt: skip
    encoding = {
        "y": {"field": "bar", "type": "nominal", "title": section.bar_title or None,
              "sort": section.bars, "axis": _QUIET_AXIS},
        "x": {"field": "value", "type": "quantitative", "stack": "zero",
              "title": axis_title(section.metric, scale)},
        "color": {"field": "part", "type": "nominal", "title": None, "sort": section.parts,
                  "legend": {"columns": 4}},
        "order": {"field": "order", "type": "quantitative"},
        "tooltip": [_tip("bar", section.bar_title or "bar"), _tip("part", "part"),
                    _tip("shown", "value")],
    }  # fmt: skip
    mark = {"type": "bar", "height": {"band": 0.66}, "opacity": 0.9}
    height = _LANE_PX * len(section.bars) + _AXIS_PX
    return rows, {"height": height, "mark": mark, "encoding": encoding}


def _tip(field: str, title: str) -> Spec:
    return {"field": field, "type": "nominal", "title": title}


def _table(section: Section) -> Table:
    if isinstance(section, Timeline):
        heads = ["Lane", "State", "From", "To"]
        texts = [
            [span.lane, span.state, format_quantity(span.start_s, "s"),
             format_quantity(span.end_s, "s")]
            for span in section.spans
        ]  # fmt: skip
        words = 2
    else:
        rows: list[tuple[str, Sequence[float | None]]]
        if isinstance(section, Matrix):
            heads = [section.row_title or "Row", *section.columns]
            rows = list(zip(section.rows, section.values, strict=True))
        else:
            heads = [section.bar_title or "Bar", *section.parts]
            rows = list(zip(section.bars, section.values, strict=True))
        unit, metric = section.unit, section.metric
        texts = [
            [label, *("" if one is None else format_quantity(one, unit, metric=metric)
                      for one in values)]
            for label, values in rows
        ]  # fmt: skip
        words = 1
    left_out = len(texts) - _TABLE_ROWS
    return Table(
        caption=section.title,
        heads=[Head(head, is_number=place >= words) for place, head in enumerate(heads)],
        rows=[
            [Cell(text, text, is_number=place >= words) for place, text in enumerate(row)]
            for row in texts[:_TABLE_ROWS]
        ],
        note=f"{left_out} more rows are in results.json." if left_out > 0 else "",
        is_sortable=False,
    )
