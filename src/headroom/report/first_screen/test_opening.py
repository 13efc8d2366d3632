"""The figures of the first screen are those of the results, and of nothing else."""

from dataclasses import replace

import msgspec
import pytest

from headroom.analysis.answer.answer import with_answer
from headroom.analysis.answer_evidence import FigureChoice, Level, Mark
from headroom.analysis.results import (
    ExperimentResult,
    PointResult,
    PredictedPair,
    PrintedPoint,
    Resource,
    Saturation,
    SeriesLine,
    StudyResult,
    TimeSeries,
)
from headroom.report.charts.test_over_time import over_time_experiment
from headroom.report.figures.inputs import Bars, Curve, Rows, Squares, TradeOff
from headroom.report.first_screen.courses import busy_of, time_of
from headroom.report.first_screen.drafts import drafts_of, figure_of, pictures_of
from headroom.report.first_screen.evidence import telling_factors
from headroom.report.first_screen.opening import MOST_PANELS, _those_that_fit, opening_of
from headroom.report.first_screen.sentences.answer import words_of
from headroom.report.first_screen.table import decisive_table
from tests.support.example_answers import (
    RESPONSE,
    THROUGHPUT,
    experiment,
    plain,
    point,
    with_claims,
)
from tests.support.example_comparisons import predicting
from tests.support.example_results import (
    SHAPES,
    claims,
    estimate,
    measured_experiment,
    model_experiment,
    study,
)


def choice(experiment: ExperimentResult, kind: str, *metrics: str, **more: object) -> FigureChoice:
    made = {"kind": kind, "question": "answer", "experiment": experiment.name}
    return msgspec.convert({**made, "metrics": metrics, **more}, FigureChoice)


def curve(experiment: ExperimentResult, **more: object) -> Curve:
    chosen = choice(experiment, "curve", "throughput", factor="users", where={"servers": 2}, **more)
    found = figure_of(chosen, study(experiment))
    assert isinstance(found, Curve)
    return found


def test_a_curve_has_the_estimates_of_its_points_and_no_others() -> None:
    experiment = model_experiment()
    drawn = {(dot.x, dot.y, dot.low, dot.high) for dot in curve(experiment).lines[0].dots}
    there = [point for point in experiment.points if point.levels["servers"] == 2]
    assert drawn == {
        (float(point.levels["users"]), one.value, one.low, one.high)
        for point in there
        for one in [point.estimates["throughput"]]
    }


def test_curves_hold_the_factors_that_they_do_not_show_and_say_where() -> None:
    """Three factors: a line through points of several levels of the third would be a zigzag."""
    points = [
        point(
            {"users": users, "servers": servers, "cache": cache},
            {THROUGHPUT: cache * users, RESPONSE: 1.0 / (cache * (500 - users))},
        )
        for servers in (1, 2)
        for cache in (1, 9)
        for users in (100, 200, 400)
    ]
    result = with_answer(plain(experiment(points)))
    assert result.answer is not None
    asked = [one for one in (result.answer.figure, *result.answer.questions) if one is not None]
    curves = [found for one in asked if isinstance(found := figure_of(one, result), Curve)]
    assert len(curves) > 1
    for found in curves:
        for line in found.lines:
            assert [dot.x for dot in line.dots] == [100.0, 200.0, 400.0]
    opening = opening_of(result)
    captions = [one.draft.caption for one in (opening.lead, *opening.panels) if one is not None]
    assert any("At cache = 1." in caption for caption in captions)


def test_a_knee_becomes_a_band_and_the_ground_beyond_names_the_part() -> None:
    level = Level(factor="users", unit="1", value=110.0, low=100.0, high=121.0)
    mark = Mark(kind="knee", level=level, name="database")
    found = curve(model_experiment(), marks=[msgspec.to_builtins(mark)])
    assert [(one.at, one.low, one.high) for one in found.breaks] == [(110.0, 100.0, 121.0)]
    assert found.breaks[0].lines == ("knee: 110 users", "(100 to 121)")
    assert (found.limited_from, found.limited_by) == (110.0, "database limits")


def test_a_saturated_point_is_an_arrow_and_no_value() -> None:
    experiment = model_experiment()
    points = [
        msgspec.structs.replace(
            point,
            estimates={},
            saturation=Saturation(
                kind="station", name="db", basis="formulas", load=1.25, unbounded=["throughput"]
            ),
        )
        if point.levels == {"users": 300, "servers": 2}
        else point
        for point in experiment.points
    ]
    found = curve(msgspec.structs.replace(experiment, points=points))
    assert [(one.x, one.text) for one in found.saturated] == [(300.0, "1.25")]
    assert 300.0 not in [dot.x for dot in found.lines[0].dots]
    assert found.x.high >= 300.0


def test_one_point_is_no_figure() -> None:
    for kind in ("curve", "bars", "runs", "trade_off"):
        experiment = model_experiment()
        alone = msgspec.structs.replace(experiment, points=experiment.points[:1])
        metrics = ("throughput", "response_s_p99")
        chosen = choice(alone, kind, *metrics, factor="users")
        assert figure_of(chosen, study(alone)) is None


def test_runs_are_strokes_and_the_best_setting_is_marked() -> None:
    experiment = measured_experiment()
    best = Mark(kind="best", setting={"codec": "zstd", "level": 1})
    chosen = choice(experiment, "runs", "wall_s", marks=[msgspec.to_builtins(best)])
    found = figure_of(chosen, study(experiment))
    assert isinstance(found, Rows)
    assert [row.label for row in found.rows if row.is_bold] == ["zstd 1"]
    samples = experiment.points[0].distributions[0].samples
    assert found.rows[0].runs == pytest.approx(samples)
    assert found.rows[0].text == "21 ms"


def test_nothing_on_the_frontier_is_beaten() -> None:
    """Oracle: whatever is on the frontier, no setting is smaller and faster."""
    experiment = measured_experiment()
    chosen = choice(experiment, "trade_off", "wall_s", "size_bytes")
    found = figure_of(chosen, study(experiment))
    assert isinstance(found, TradeOff)
    front = [found.settings[place].x for place in found.frontier]
    assert front
    for one in front:
        assert not any(s.x.x < one.x and s.x.y < one.y for s in found.settings)


def test_every_claim_is_a_square_with_its_verdict() -> None:
    result = study(model_experiment())
    found = figure_of(FigureChoice(kind="claims", question="answer", experiment=""), result)
    assert isinstance(found, Squares)
    verdicts = sorted(one.verdict for row in found.rows for one in row.squares)
    assert verdicts == sorted(claim.verdict for claim in result.claims)


def test_published_numbers_are_drawn_relative_to_what_was_published() -> None:
    printed = [
        msgspec.structs.replace(
            claims()[0],
            name=f"number {value}",
            value=value,
            low=value - 1.0,
            high=value + 1.0,
            printed=PrintedPoint({"users": value}, 100.0),
        )
        for value in (95.0, 110.0)
    ]
    result = msgspec.structs.replace(study(model_experiment()), claims=printed)
    found = figure_of(FigureChoice(kind="claims", question="printed", experiment=""), result)
    assert isinstance(found, Rows)
    assert [row.value for row in found.rows] == pytest.approx([-5.0, 10.0])


def test_bars_begin_at_zero() -> None:
    experiment = measured_experiment()
    found = figure_of(choice(experiment, "bars", "size_bytes"), study(experiment))
    assert isinstance(found, Bars)
    assert found.x.low == 0.0


@pytest.mark.parametrize("shape", SHAPES)
def test_a_first_screen_has_few_figures_each_with_its_finding(shape: str) -> None:
    opening = opening_of(SHAPES[shape])
    assert len(opening.panels) <= MOST_PANELS
    for panel in [*opening.panels, *([opening.lead] if opening.lead else [])]:
        assert 'aria-label="' in panel.drawing.svg
        assert 'aria-label=""' not in panel.drawing.svg
    keys = [panel.draft.key for panel in opening.panels]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("asked", "added", "shown"),
    [
        (9, 6, "q0 q1 q2 q3 s0 s1 s2 s3"),
        (9, 2, "q0 q1 q2 q3 q4 q5 s0 s1"),
        (3, 7, "q0 q1 q2 s0 s1 s2 s3 s4"),
        (9, 0, "q0 q1 q2 q3 q4 q5 q6 q7"),
    ],
)
def test_a_half_of_the_room_is_for_figures_that_systems_add(
    asked: int, added: int, shown: str
) -> None:
    result = SHAPES["everything"]
    draft = next(drafts_of(result, words_of(result), []))
    questions = [replace(draft, key=f"q{number}") for number in range(asked)]
    sections = [replace(draft, key=f"s{number}", is_section=True) for number in range(added)]
    found = [one.key for one in _those_that_fit([*questions, *sections])]
    assert found == shown.split()


def test_pictures_are_those_of_the_page_in_their_order() -> None:
    result = SHAPES["everything"]
    opening = opening_of(result)
    names = list(pictures_of(result))
    assert len(names) >= 1 + len(opening.panels)
    assert names[0] == "01-answer"
    assert names == sorted(names)
    assert pictures_of(SHAPES["empty"]) == {}


def test_results_without_an_answer_have_no_pictures() -> None:
    old: StudyResult = msgspec.structs.replace(with_answer(SHAPES["measured"]), answer=None)
    assert pictures_of(old) == {}


def test_the_parts_of_a_response_add_up_to_its_mean() -> None:
    """Oracle: the shares of the states of the only class, of the mean response time."""
    experiment = model_experiment()
    states = {"station.web.service_share": 0.2, "pool.connections.wait_share": 0.7}
    points = [
        msgspec.structs.replace(
            point,
            estimates={
                **point.estimates,
                **{
                    one.metric: one
                    for one in (
                        estimate("class.users.jobs_mean", "1", 3.0),
                        *(estimate(f"class.users.{name}", "1", x) for name, x in states.items()),
                    )
                },
            },
        )
        for point in experiment.points
        if point.levels["servers"] == 2
    ]
    factors = [
        experiment.factors[0],
        msgspec.structs.replace(experiment.factors[1], levels=[2]),
    ]
    alone = msgspec.structs.replace(experiment, points=points, factors=factors)
    found = time_of(alone)
    assert found is not None
    stacks, title = found
    mean = points[-1].estimates["response_s_mean"].value
    factor = sum(stacks.stacks[-1].parts) / mean
    assert stacks.stacks[-1].parts == pytest.approx(
        [0.2 * mean * factor, 0.7 * mean * factor, 0.1 * mean * factor]
    )
    assert title == "70% of a response is waiting for connections at 300\u00a0users"
    assert time_of(experiment) is None


def test_the_busiest_part_over_time_comes_first() -> None:
    experiment = over_time_experiment()
    busy: dict[str, list[float | None]] = {"web": [0.1, 0.3], "database": [0.8, 1.0]}
    lines = [
        SeriesLine(kind="station", name=name, metric="utilization", unit="1", values=values)
        for name, values in busy.items()
    ]
    series = TimeSeries(step_s=5.0, count=2, lines=lines)
    point = msgspec.structs.replace(experiment.points[-1], series=series)
    found = busy_of(msgspec.structs.replace(experiment, points=[point]))
    assert found is not None
    assert [(row.label, row.shares) for row in found[0].rows] == [
        ("database", (0.8, 1.0)),
        ("web", (0.1, 0.3)),
    ]
    assert found[1].startswith("The database: 90% busy on average")
    assert found[0].x.high >= 10.0


def test_the_last_point_that_recorded_a_change_is_shown_over_its_whole_time() -> None:
    def at(users: int, *values: float | None) -> PointResult:
        line = SeriesLine(
            kind="station", name=f"s{users}", metric="utilization", unit="1", values=list(values)
        )
        series = TimeSeries(step_s=2.0, count=len(values), lines=[line]) if values else None
        return msgspec.structs.replace(whole.points[0], levels={"users": users}, series=series)

    whole = over_time_experiment()
    points = [at(1, 0.1, 0.2), at(2, 0.3, None, 0.5), at(3, 0.9, 0.9), at(4)]
    found = busy_of(msgspec.structs.replace(whole, points=points))
    assert found is not None
    assert [(row.label, row.shares) for row in found[0].rows] == [("s2", (0.3, None, 0.5))]
    assert 6.0 <= found[0].x.high < 7.0
    assert "40% busy on average" in found[1]
    assert busy_of(msgspec.structs.replace(whole, points=points[2:])) is None


def test_programs_that_are_not_part_of_a_study_are_the_rest_of_the_machine() -> None:
    """Oracle: 90% of 4 processors, less a service with 1 of 2, and a program with 25% of 4."""

    def line(name: str, *values: float | None) -> SeriesLine:
        return SeriesLine(
            kind="station", name=name, metric="utilization", unit="1", values=list(values)
        )

    experiment = measured_experiment()
    lines = [line("machine.cpu", 0.9, 0.5), line("service.db.cpu", 0.5, 0.4),
             line("program.cpu", 0.25, 0.4)]  # fmt: skip
    resources = [Resource(kind="station", name="machine.cpu", capacity=4.0),
                 Resource(kind="station", name="service.db.cpu", capacity=2.0)]  # fmt: skip
    series = TimeSeries(step_s=1.0, count=2, lines=lines)
    last = msgspec.structs.replace(experiment.points[-1], series=series, resources=resources)
    found = busy_of(msgspec.structs.replace(experiment, points=[last]))
    assert found is not None
    assert [row.label for row in found[0].rows] == ["machine", "db", "program", "others"]
    assert found[0].rows[-1].shares == pytest.approx((0.4, 0.0))
    assert found[0].rows[-1].role == "context"


def test_predictions_are_a_curve_beside_what_was_measured_and_where_they_were_fitted() -> None:
    result = with_answer(with_claims(plain(model_experiment()), [predicting("near")]))
    assert result.answer is not None
    chosen = next(one for one in result.answer.questions if one.kind == "predicted")
    found = figure_of(chosen, result)
    assert isinstance(found, Curve)
    measured, predicted = found.lines
    assert (measured.label, predicted.label, predicted.is_dashed) == ("measured", "predicted", True)
    ratios = [p.y / m.y for m, p in zip(measured.dots, predicted.dots, strict=True)]
    assert ratios == pytest.approx([1.05, 1.5, 1.14])


def test_page_and_terminal_show_the_claim_that_the_answer_is_about() -> None:
    """Another claim predicts the other way round: the page drew whichever came first."""
    near = predicting("near")
    back = {"name": "back", "experiment": "device", "to_experiment": "model", "verdict": "holds"}
    other = msgspec.structs.replace(near, pairs=near.pairs[:1], **back)
    result = with_answer(with_claims(plain(model_experiment()), [other, near]))
    assert result.answer is not None
    assert result.answer.figure is not None
    found = figure_of(result.answer.figure, result)
    table = decisive_table(result, is_unicode=True)
    assert isinstance(found, Rows)
    assert table is not None
    assert len(found.rows) == table.grid.count == len(near.pairs)


def test_zipped_factors_are_not_told_for_a_point_that_others_tell_apart() -> None:
    def pair(nodes: int, program: str, work: float) -> PredictedPair:
        return PredictedPair(
            levels={"work": work, "nodes": nodes, "program": program, "line": 64},
            to_levels={"program": program, "nodes": nodes}, predicted=1.0, predicted_low=1.0,
            predicted_high=1.0, measured=1.0, measured_low=1.0, measured_high=1.0, ratio=1.0,
            low=1.0, high=1.0, verdict="holds",
        )  # fmt: skip

    pairs = [pair(n, program, work) for n in (2, 4) for program, work in (("lu", 3), ("fft", 9))]
    assert telling_factors(pairs) == ["nodes", "program"]
    assert telling_factors(pairs[:2]) == ["program"]
