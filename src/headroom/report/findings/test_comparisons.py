"""Comparisons, statistics of the replications and predictions, as the report presents them."""

import io
import re

import msgspec
import pytest
from rich.console import Console

from headroom.analysis.evidence import Absent, RunOrder
from headroom.report.charts.forest import forest_panels
from headroom.report.charts.predictions import prediction_panels
from headroom.report.figures.draw import PANEL_PX, draw
from headroom.report.figures.inputs import Figure, Rows, TradeOff
from headroom.report.findings.comparisons import (
    comparison_sentences,
    comparisons_table,
    design_cautions,
)
from headroom.report.findings.predictions import predictions_table, render_predictions
from headroom.report.fold.terminal import render_study
from headroom.report.page import render_page
from headroom.report.sentences.comparisons import comparison_sentence, order_sentences
from headroom.report.summary import find
from headroom.report.tables.replication_table import replication_table
from headroom.report.terminal.screen import Screen
from tests.support.example_comparisons import compared, predicting
from tests.support.example_results import SHAPES, measured_experiment, model_experiment


def test_a_sentence_names_every_metric_with_verdict_and_ratio() -> None:
    experiment = compared(measured_experiment())
    assert experiment.compared is not None
    comparison = experiment.compared
    assert comparison_sentences(experiment) == [comparison_sentence(comparison, comparison.rows)]


def test_the_table_has_a_row_for_each_metric_and_says_what_better_means() -> None:
    table = comparisons_table(compared(measured_experiment()), at_most=100)
    assert table is not None
    assert len(table.rows) == 6
    verdicts = [cell.mark for row in table.rows for cell in row if cell.mark]
    assert verdicts == ["better", "worse", "same", "undecided", "larger", "undecided"]
    assert "Each interval is at 99%" in table.note
    assert "The same is within 5% (`same_within` of the study, 5% by default)" in table.note
    short = comparisons_table(compared(measured_experiment()), at_most=2)
    assert short is not None
    assert "The first 2 of 6 rows" in short.note


def test_runs_that_were_not_interleaved_are_a_caution() -> None:
    experiment = compared(measured_experiment())
    assert not design_cautions(experiment)
    assert experiment.compared is not None
    apart = RunOrder(code="apart", intact=0, blocks=12)
    later = msgspec.structs.replace(experiment.compared, order=apart)
    cautioned = msgspec.structs.replace(experiment, compared=later)
    cautions = [found.text for found in find(cautioned) if found.topic == "Caution"]
    assert order_sentences(apart) in cautions


@pytest.mark.parametrize(("sizes", "holds"), [(1, 0), (4, 0), (6, 5)])
def test_the_figure_shows_all_metrics_until_there_are_too_many(sizes: int, holds: int) -> None:
    (panel,) = forest_panels(compared(measured_experiment(), sizes=sizes), marks=5000)
    assert sum(len(rows_of(figure).rows) for figure in panel.pictures.values()) == 5 * sizes
    assert len(panel.pictures) == max(1, holds)
    assert "1 rows without a ratio" in panel.caption


def rows_of(figure: Figure) -> Rows:
    assert isinstance(figure, Rows)
    return figure


def test_the_axis_of_the_figure_holds_every_interval_and_the_zone() -> None:
    (panel,) = forest_panels(compared(measured_experiment()), marks=5000)
    (figure,) = map(rows_of, panel.pictures.values())
    assert figure.x.is_log
    assert figure.band is not None
    ends = [end for row in figure.rows for end in (row.low, row.high) if end is not None]
    assert figure.x.low < min([*ends, figure.band[0]])
    assert figure.x.high > max([*ends, figure.band[1]])


def test_predictions_share_a_figure_where_they_share_a_unit() -> None:
    claims = [predicting("one"), predicting("two", spread=9.0), predicting("rate", unit="1/s")]
    panels = prediction_panels(claims)
    assert [[own for _, own in panel.pictures] for panel in panels] == [["one", "two"], [""]]
    table = predictions_table(claims)
    assert table is not None
    assert [row[-1].text for row in table.rows[:3]] == ["holds", "differs", "undecided"]
    for figure in (one for panel in panels for one in panel.pictures.values()):
        assert isinstance(figure, TradeOff)
        assert (figure.x.low, figure.x.high) == (figure.y.low, figure.y.high)


def test_the_band_is_where_predicted_is_within_the_tolerance_of_measured() -> None:
    """Oracle: at the right edge the band is as high as x / 1.25 and x / 0.75 say."""
    (panel,) = prediction_panels([predicting("one", tolerance=0.25)])
    (figure,) = panel.pictures.values()
    assert isinstance(figure, TradeOff)
    assert figure.tolerance == 0.25
    svg = draw(figure, PANEL_PX, "x").svg
    band = re.search(r'd="(M[^"]*)Z" class="g-better"', svg)
    diagonal = re.search(r'd="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)" class="s-published', svg)
    assert band is not None
    assert diagonal is not None
    x0, y0, x1, y1 = map(float, diagonal.groups())
    corners = re.findall(r"[ML]([\d.]+) ([\d.]+)", band[1])
    x, y = map(float, corners[len(corners) // 4])
    assert (y0 - y) / (x - x0) * (x1 - x0) / (y0 - y1) == pytest.approx(1 / 1.25, rel=0.02)


def test_the_statistics_are_those_of_the_estimates() -> None:
    experiment = model_experiment()
    table = replication_table(experiment, at_most=3)
    assert table is not None
    assert len(table.rows) == 3
    assert "The first 3 of" in table.note
    first = experiment.points[0].estimates[experiment.responses[0]]
    sorts = [cell.sort for cell in table.rows[0]]
    assert repr(first.stdev) in sorts
    assert repr(first.maximum) in sorts


def test_page_and_terminal_tell_comparisons_and_predictions() -> None:
    result = SHAPES["compared"]
    page = render_page(result)
    for words in ('id="predictions"', "Target against disk", "Statistics of the replications"):
        assert words in page
    stream = io.StringIO()
    render_study(result, Console(file=stream, width=100))
    for words in ("Ratio to disk", "Predicted against measured", "worse"):
        assert words in stream.getvalue()


ABSENT = Absent(code="few_observations", percent=99.9, needed=10_000, beyond=10, found=500)


def test_a_point_tells_how_its_replications_scatter_and_what_its_runs_are_too_short_for() -> None:
    experiment = measured_experiment()
    point = msgspec.structs.replace(experiment.points[0], absent={"response_s_p99_9": ABSENT})
    changed = msgspec.structs.replace(experiment, points=[point, *experiment.points[1:]])
    result = msgspec.structs.replace(SHAPES["measured"], experiments=[changed])
    stream = io.StringIO()
    render_study(result, Console(file=stream, width=100), point=point.key)
    assert "Statistics of the replications" in stream.getvalue()
    assert "p99.9 needs 10,000 observations" in stream.getvalue()


def test_a_blank_column_says_why() -> None:
    experiment = measured_experiment()
    metric, *_ = experiment.responses
    points = [
        msgspec.structs.replace(
            point,
            estimates={key: one for key, one in point.estimates.items() if key != metric},
            absent={metric: msgspec.structs.replace(ABSENT, percent=99.0, needed=1_000)},
        )
        for point in experiment.points
    ]
    changed = msgspec.structs.replace(experiment, points=points)
    stream = io.StringIO()
    result = msgspec.structs.replace(SHAPES["measured"], experiments=[changed])
    render_study(result, Console(file=stream, width=80))
    assert f"at {len(points)} points: p99 needs 1,000 observations" in stream.getvalue()


@pytest.mark.parametrize("width", [80, 100])
def test_a_verdict_is_whole_and_the_metric_names_the_claim_where_it_can(width: int) -> None:
    stream = io.StringIO()
    render_predictions([predicting("one-of-the-claims-with-a-long-name")], _screen(stream, width))
    assert "undecided" in stream.getvalue()
    assert "one-of-the" not in stream.getvalue()
    stream = io.StringIO()
    render_predictions([predicting("first"), predicting("second")], _screen(stream, width))
    assert "second" in stream.getvalue()


def _screen(stream: io.StringIO, width: int) -> Screen:
    return Screen(Console(file=stream, width=width))
