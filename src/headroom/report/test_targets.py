"""Limits are answered from the side at which they are kept, and changes are judged by them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from headroom.analysis.answer.answer import with_answer
from headroom.analysis.answer.numbers import gain, is_gain
from headroom.analysis.answer_evidence import (
    Bounded,
    Busiest,
    Changes,
    Comparison,
    Findings,
    Limit,
    PrintedNumbers,
    Saturated,
    Target,
)
from headroom.analysis.evidence import AppliedChange
from headroom.analysis.results import (
    Effect,
    ExperimentResult,
    LimitCrossing,
    PointResult,
    Resource,
    StudyResult,
    WhatIfResult,
)
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.verdicts.headroom_left import crossing_of
from headroom.experiment.study import study as studies
from headroom.report.figures import inputs
from headroom.report.figures.axes import linear_axis
from headroom.report.figures.curve import _ground_of
from headroom.report.figures.inputs import Curve, Dot, Line
from headroom.report.first_screen.courses import time_of
from headroom.report.first_screen.curves import curve_of
from headroom.report.first_screen.sentences.statements import statement_sentence
from headroom.report.first_screen.table import decisive_table
from tests.support.example_answers import (
    RESPONSE,
    THROUGHPUT,
    Metric,
    answered,
    claim,
    experiment,
    plain,
    point,
    programs,
    saturated,
    with_claims,
)

replace = msgspec.structs.replace


def says(result: StudyResult) -> str:
    return statement_sentence(answered(result).statement).text.replace("\N{NO-BREAK SPACE}", " ")


def _limit(
    factor: str, values: Mapping[Any, float], *, resource: bool, spread: float, **bound: float
) -> LimitCrossing:
    curve: dict[float, Sample | None] = {
        level: Sample(values=value * (1.0 + spread * np.array([-1.0, -0.3, 0.0, 0.5, 0.8])))
        for level, value in values.items()
    }
    metric = "response_s_mean" if "at_most" in bound else "throughput"
    limit = studies.Limit(metric=metric, **bound)  # type: ignore[arg-type]
    unit = "s" if "at_most" in bound else "1/s"
    return crossing_of(limit, factor, {}, curve, unit, is_resource=resource)


def over(
    factor: str, values: Mapping[Any, float], *, resource: bool = False, **bound: float
) -> ExperimentResult:
    """Return an experiment with a limit; servers grow with a factor that is a resource."""
    metric = RESPONSE if "at_most" in bound else THROUGHPUT
    points = [
        point(
            {factor: level},
            {metric: value},
            resources=[Resource(kind="station", name="desk", capacity=level if resource else 2.0)],
        )
        for level, value in values.items()
    ]
    limit = _limit(factor, values, resource=resource, spread=0.01, **bound)
    return experiment(points, metrics=(metric,), limits=[limit])


WAITS = {13: 130.0, 14: 48.0, 15: 19.0, 16: 9.3}


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (
            over("agents", {13: 30.0, 14: 19.0, 15: 9.0}, resource=True, at_most=30.0),
            "14 agents are enough: mean response time 19 s (at most 30 s); 13 is undecided.",
        ),
        (
            over("speed", {1.0: 0.3, 1.5: 0.2, 2.0: 0.1}, at_most=0.3),
            "Mean response time stays within 300 ms from speed 1.5 on; 1 is undecided.",
        ),
        (
            over("agents", WAITS, resource=True, at_most=30.0),
            "15 agents are enough: mean response time 19 s (at most 30 s); 14 are not.",
        ),
        (
            over("agents", WAITS, resource=True, at_most=200.0),
            "13 agents, the fewest tried, are enough: mean response time 130 s (at most 200 s).",
        ),
        (
            over("agents", WAITS, resource=True, at_most=5.0),
            "16 agents, the most tried, are not enough: mean response time 9.3 s (at most 5 s).",
        ),
        (
            over("agents", {1: 90.0, 2: 170.0, 3: 240.0}, resource=True, at_least=150.0),
            "2 agents are enough: throughput 170 /s (at least 150 /s); 1 is not.",
        ),
        (
            over("speed", {1.0: 0.3, 1.5: 0.2, 2.0: 0.1}, at_most=0.15),
            "Mean response time stays within 150 ms from speed 2 on, not at 1.5.",
        ),
        (
            over("batch", {1: 0.3, 2: 0.1, 4: 0.08, 8: 0.4}, at_most=0.15),
            "Mean response time stays within 150 ms only from batch 2 to 4, not at 1 and 8.",
        ),
        (
            over("rate", {10.0: 10.0, 20.0: 20.0, 30.0: 30.0}, at_least=15.0),
            "Throughput stays above 15 /s from rate 20 on, not at 10.",
        ),
        (
            over("rate", {1.0: 0.1, 2.0: 0.5, 3.0: 0.1}, at_most=0.3),
            "Mean response time passes 300 ms at rate 1.50 (1.49 to 1.84); kept again at rate 3.",
        ),
        (
            over("rate", {1.0: 0.1, 2.0: 0.2, 3.0: 0.3}, at_most=0.3),
            "Mean response time stays within 300 ms up to rate 2; 3 is undecided.",
        ),
    ],
)
def test_a_limit_is_answered_from_the_side_where_it_is_kept(
    result: ExperimentResult, text: str
) -> None:
    assert says(plain(result)) == text


def test_a_break_whose_place_is_not_sure_has_its_range() -> None:
    """Cause: "3 connections are enough: response time p95 591 ms (at most 30 ms)"."""
    known = over("agents", WAITS, resource=True, at_most=30.0)
    (limit,) = known.limits
    evidence = replace(
        limit.evidence, kept_at=[], broken_at=[], undecided_at=list(WAITS), before=14.0,
        after=15.0, is_jump=True,
    )  # fmt: skip
    unsure = replace(
        limit, level=None, level_low=13.0, level_high=16.0, holds_at=None, breaks_at=None,
        evidence=evidence,
    )  # fmt: skip
    assert says(plain(replace(known, limits=[unsure]))) == (
        "Between 13 and 16 agents are enough, most likely 15: mean response time 19 s (at most "
        "30 s)."
    )


def test_a_resource_of_whole_numbers_is_named_by_whole_numbers() -> None:
    """Cause: "between 4.90555429063 and 32 connections are enough"."""
    known = over("agents", WAITS, resource=True, at_most=30.0)
    (limit,) = known.limits
    unsure = replace(limit, level=14.2, level_low=12.9, level_high=16.0, holds_at=None)
    assert says(plain(replace(known, limits=[unsure]))).startswith(
        "Between 13 and 16 agents are enough, most likely 15: "
    )


def test_of_several_limits_the_one_that_needs_most_decides() -> None:
    """Cause: only the first limit of an experiment was answered."""
    first = over("agents", WAITS, resource=True, at_most=100.0)
    second = _limit("agents", WAITS, resource=True, spread=0.01, at_most=10.0)
    found = answered(plain(replace(first, limits=[*first.limits, second]))).statement
    assert isinstance(found, Target)
    assert (found.level.value, found.bound, found.beyond, found.limits) == (16.0, 10.0, [15.0], 2)


def test_limits_of_which_one_asks_for_more_and_one_for_less_have_a_window() -> None:
    more = over("agents", WAITS, resource=True, at_most=30.0)
    cost = {13: 50.0, 14: 60.0, 15: 70.0, 16: 80.0}
    less = _limit("agents", cost, resource=True, spread=0.001, at_most=75.0)
    assert says(plain(replace(more, limits=[*more.limits, less]))).startswith(
        "All limits are kept only at 15 agents alone, not at 14 and 16"
    )


def _curves(curves: Mapping[int, Mapping[float, float]], spread: float = 0.001) -> StudyResult:
    """Return a study with a limit of 60 ms over growth, on a curve for each number of servers."""
    points = [point({"servers": n, "growth": at}, {RESPONSE: value})
              for n, curve in curves.items() for at, value in curve.items()]  # fmt: skip
    limits = [
        replace(
            _limit("growth", curve, resource=False, spread=spread, at_most=0.06),
            where={"servers": n},
        )
        for n, curve in curves.items()
    ]
    return plain(experiment(points, metrics=(RESPONSE,), limits=limits))


def test_each_curve_has_its_answer_and_the_least_comes_first() -> None:
    """Cause: "for 1 to 5 servers?" was answered for one of them."""
    result = _curves({
        4: {1.0: 0.02, 2.0: 0.03, 3.0: 0.04},
        1: {1.0: 0.04, 2.0: 0.08, 3.0: 0.12},
        2: {1.0: 0.02, 2.0: 0.04, 3.0: 0.08},
        3: {1.0: 0.028, 2.0: 0.03, 3.0: 30.0},
        5: {1.0: 0.02, 2.0: 0.03, 3.0: 0.04},
    })  # fmt: skip
    assert says(result) == (
        "With 1 server, mean response time passes 60 ms at growth 1.50 (1.43 to 1.67), "
        "the least of 5."
    )
    found = answered(result)
    text = statement_sentence(found.follows[0]).text.replace("\N{NO-BREAK SPACE}", " ")
    assert text == (
        "The limit is kept up to growth 3 at least with 4 servers and 5 servers; up to growth "
        "2.60 (2.50 to 2.67) with 2 servers; up to growth 2, not 3 with 3 servers."
    )
    assert found.figure is not None
    curve = curve_of(found.figure, result.experiments[0])
    assert curve is not None
    assert [(one.at, one.lines) for one in curve.breaks] == [
        (pytest.approx(1.5), ("passes at 1.50 growth", "(1.43 to 1.67)")),
        (pytest.approx(2.6), ("passes at 2.60 growth", "with 2\N{NO-BREAK SPACE}servers")),
        (None, ("passes between growth 2 and 3", "with 3\N{NO-BREAK SPACE}servers")),
    ]
    assert len(curve.lines) == 5


def test_a_curve_that_is_undecided_or_never_keeps_the_limit_is_among_them() -> None:
    result = _curves({1: {1.0: 0.07, 2.0: 0.09}, 2: {1.0: 0.02, 2.0: 0.06}, 3: {1.0: 0.06}}, 0.02)
    first, *_ = answered(result).follows
    text = statement_sentence(first).text.replace("\N{NO-BREAK SPACE}", " ")
    assert text == (
        "The limit is kept up to growth 1 at least with 2 servers; perhaps with 3 servers."
    )


def _tried(
    name: str, ratio: float, interval: tuple[float, float], *, after: float, to: float
) -> WhatIfResult:
    effects = [
        Effect(metric="throughput", unit="1/s", better="high", before=10.0, after=10.0, ratio=1.0,
               low=0.999, high=1.001, pairs=5, variance_reduction=None),
        Effect(metric="response_s_mean", unit="s", better="low", before=after / ratio, after=after,
               ratio=ratio, low=interval[0], high=interval[1], pairs=5, variance_reduction=None,
               after_low=0.98 * after, after_high=1.02 * after),
    ]  # fmt: skip
    change = AppliedChange(kind="station", name=name, aspect="servers", before=20, after=to)
    return WhatIfResult(change=name, applied=[change], done=5, failed=0, effects=effects)


TRIED = (
    _tried("desks", 0.5, (0.4, 0.6), after=0.25, to=22),
    _tried("more", 0.25, (0.2, 0.3), after=0.12, to=40),
    _tried("most", 0.001, (-0.001, 0.003), after=0.0005, to=80),
    _tried("idle", 1.0, (0.99, 1.01), after=0.5, to=40),
)


def _with(
    points: Sequence[PointResult], at: int, tried: Sequence[WhatIfResult]
) -> list[PointResult]:
    return [replace(p, what_ifs=list(tried)) if n == at else p for n, p in enumerate(points)]


@pytest.mark.parametrize(("bound", "best", "also"), [(0.3, "desks", 2), (0.2, "more", 1)])
def test_the_smallest_change_that_meets_the_limit_wins(bound: float, best: str, also: int) -> None:
    """Cause: an open load cannot have more throughput, so that no change seemed to gain."""
    load = over("rate", {1.0: 0.1, 2.0: 0.5}, at_most=bound)
    load = replace(load, points=_with(load.points, 1, TRIED))
    (changes,) = answered(plain(load)).follows
    assert isinstance(changes, Changes)
    assert changes.best is not None
    assert (changes.best.applied[0].name, changes.best.metric) == (best, "response_s_mean")
    assert len(changes.also) == also
    assert [one.applied[0].name for one in changes.no_gain] == ["idle"]


def test_changes_are_not_weighed_where_the_limit_is_kept() -> None:
    load = over("rate", {1.0: 0.1, 2.0: 0.5}, at_most=0.3)
    load = replace(load, points=_with(load.points, 0, TRIED))
    assert answered(plain(load)).follows == []


def test_a_ratio_whose_interval_reaches_zero_is_a_gain_of_at_least_its_other_end() -> None:
    """Cause: 0.00003 (-0.00002 to 0.00009) became 10,994 to -42,264 times, and gained nothing."""
    found = gain(Bounded(value=0.00003, low=-0.00002, high=0.00009), "low")
    assert found.low == pytest.approx(1.0 / 0.00009)
    assert found.high is None
    assert is_gain(found)


def test_a_change_that_leaves_nothing_is_a_gain() -> None:
    """Cause: "so do 16 servers (0%)" stood above a bar that said that they gain nothing."""
    (_, some), (_, none) = (_tried("full", 0.5, (0.4, 0.6), after=0.05, to=to).effects
                            for to in (22, 80))  # fmt: skip
    none = replace(none, after=0.0, after_low=0.0, after_high=0.0, ratio=0.0, low=0.0, high=0.0)
    tried = [replace(TRIED[0], change=str(n), effects=[one]) for n, one in enumerate((some, none))]
    load = over("rate", {1.0: 0.01, 2.0: 0.1}, at_most=0.06)
    (changes,) = answered(plain(replace(load, points=_with(load.points, 1, tried)))).follows
    assert isinstance(changes, Changes)
    (cleared,) = [one for one in (changes.best, *changes.also) if one and one.after == 0.0]
    assert (cleared.is_gain, cleared.meets, cleared.gain) == (True, True, None)


def test_changes_are_told_where_nothing_limits() -> None:
    load = over("rate", {1.0: 0.1, 2.0: 0.5}, at_most=0.3)
    found = answered(plain(replace(load, limits=[], points=_with(load.points, 1, TRIED))))
    (changes,) = (one for one in found.follows if isinstance(one, Changes))
    assert changes.best is not None
    assert changes.best.applied[0].name == "most"


def test_a_ratio_without_an_upper_end_reads_well_in_every_sentence() -> None:
    ratio = Bounded(value=5.2, low=1.63, high=None)
    found = Comparison(first={"a": "x"}, second={"a": "y"}, metric="throughput", better="high",
                       ratio=ratio)  # fmt: skip
    text = statement_sentence(found).text.replace("\N{NO-BREAK SPACE}", " ")
    assert text == "x has at least 1.63 times the throughput of y."


def test_of_two_equal_bottlenecks_the_advice_is_to_change_both() -> None:
    def change(names: Sequence[str], ratio: float) -> WhatIfResult:
        applied = [
            AppliedChange(kind="station", name=n, aspect="servers", before=1, after=2)
            for n in names
        ]
        effect = Effect(metric="throughput", unit="1/s", better="high", before=10.0,
                        after=10.0 * ratio, ratio=ratio, low=ratio - 0.01, high=ratio + 0.01,
                        pairs=5, variance_reduction=None)  # fmt: skip
        return WhatIfResult(change="+".join(names), applied=applied, done=5, failed=0,
                            effects=[effect])  # fmt: skip

    tried = [change(["cpu"], 1.02), change(["disk"], 1.03), change(["cpu", "disk"], 1.8)]
    points = [point({"users": n}, {THROUGHPUT: 10.0}, limits="cpu", busy=0.95) for n in (20, 40)]
    result = plain(experiment(_with(points, 1, tried), metrics=(THROUGHPUT,)))
    (changes,) = answered(result).follows
    assert isinstance(changes, Changes)
    assert changes.best is not None
    assert {one.name for one in changes.best.applied} == {"cpu", "disk"}


def test_a_rule_stands_below_the_last_level_that_keeps_a_limit() -> None:
    for result, row in (
        (over("rate", {1.0: 0.1, 2.0: 0.2, 3.0: 0.5}, at_most=0.3), 2),
        (over("agents", WAITS, resource=True, at_most=30.0), 2),
        (over("rate", {1.0: 0.1, 2.0: 0.2}, at_most=0.9), None),
    ):
        table = decisive_table(with_answer(plain(result)), is_unicode=True)
        assert table is not None
        assert [at for at, _ in table.grid.rules] == ([] if row is None else [row])


def test_of_servers_saturation_ends_at_a_level() -> None:
    few = [replace(saturated({"pods": n}), resources=[]) for n in (1, 2)]
    result = plain(experiment([*few, *over("pods", {3: 0.2, 4: 0.1}, at_most=1.0).points]))
    found = answered(result).statement
    assert isinstance(found, Saturated)
    assert found.level is not None
    assert (found.level.value, found.is_up_to, found.last_steady) == (2, True, 3)


def test_a_setting_that_is_best_in_between_is_saturated_at_both_ends() -> None:
    full = [replace(saturated({"batch": n}), resources=[]) for n in (1, 2, 32)]
    steady = over("batch", {8: 0.2, 16: 0.1}, at_most=1.0).points
    result = plain(experiment([*full[:2], *steady, *full[2:]]))
    assert says(result).startswith("Saturated up to 2 and from batch 32 on: ")


@pytest.mark.parametrize(
    ("full", "ground"),
    [([3.0], (3.0, None)), ([1.0], (None, 1.0)), ([1.2], None), ([1.7], (1.7, 1.7)), ([], None)],
)
def test_the_ground_covers_saturated_levels_alone(
    full: list[float], ground: tuple[float | None, float | None] | None
) -> None:
    dots = tuple(Dot(x=x, y=1.0) for x in (1.2, 1.5, 2.0))
    line, axis = Line(label="", role="data", dots=dots), linear_axis([0.0, 3.0], "")
    curve = Curve(
        x=axis, y=axis, lines=(line,), saturated=tuple(inputs.Saturated(x=one) for one in full)
    )
    assert _ground_of(curve) == ground


def test_a_load_is_not_ranked_like_a_purchase() -> None:
    """Cause: the answer to "which design?" was the design at its lowest load."""
    times = {"old": 0.012, "new": 0.010}
    points = [
        point({"design": name, "growth": growth}, {THROUGHPUT: 100 * growth, RESPONSE: at * growth})
        for name, at in times.items()
        for growth in (1.0, 1.4)
    ]
    found = answered(plain(experiment(points, metrics=(RESPONSE,)))).statement
    assert isinstance(found, Comparison)
    assert (found.first, found.better_count) == ({"design": "new"}, 2)


def test_of_many_designs_the_one_that_is_ahead_of_all_is_named() -> None:
    """Also if the first ones do not differ from each other."""
    times = {"a": 0.012, "b": 0.012, "c": 0.010, "d": 0.011}
    points = [
        point({"design": name, "growth": growth}, {THROUGHPUT: 100 * growth, RESPONSE: at * growth})
        for name, at in times.items()
        for growth in (1.0, 1.4)
    ]
    found = answered(plain(experiment(points, metrics=(RESPONSE,)))).statement
    assert isinstance(found, Comparison)
    assert (found.first, found.second, found.is_next) == ({"design": "c"}, {"design": "d"}, True)
    without = [one for one in points if one.levels["design"] in {"a", "b"}]
    assert answered(plain(experiment(without, metrics=(RESPONSE,)))).kind == "undecided"


def test_the_card_of_parts_finds_the_curves_of_a_part_that_limits_everywhere() -> None:
    points = [
        point({"design": name, "users": n}, {THROUGHPUT: 10.0}, limits="cpu", busy=0.95)
        for name in ("old", "new")
        for n in (20, 40)
    ]
    found = answered(plain(experiment(points, metrics=(THROUGHPUT,)), question="How many users?"))
    assert isinstance(found.statement, Limit)
    assert (found.statement.where, found.statement.points) == ({}, 4)
    assert [one.finding is None for one in found.questions if one.question == "which_part"] == [
        False
    ]


def test_the_part_that_runs_out_first_is_that_of_the_busiest_level() -> None:
    """Cause: of servers the last level is the idlest."""
    points = [
        point({"pods": n}, {RESPONSE: 1.0 / n}, busy=0.8 / n,
              resources=[Resource(kind="station", name="database", capacity=n)])
        for n in (1, 2, 3)
    ]  # fmt: skip
    questions = answered(plain(experiment(points))).questions
    (found,) = [one.finding for one in questions if one.question == "which_part"]
    assert isinstance(found, Busiest)
    assert found.level is not None
    assert found.level.value == 1


def test_the_time_of_a_response_is_told_where_servers_are_fewest() -> None:
    """Cause: of 13 to 18 agents, 99% of a response was service, at 18."""
    points = []
    for agents, wait in ((13, 0.4), (18, 0.01)):
        shares = {"class.jobs.station.desk.wait_share": wait,
                  "class.jobs.station.desk.service_share": 1.0 - wait}  # fmt: skip
        shares["class.jobs.jobs_mean"] = 1.0
        metrics: dict[Metric, float] = {(n, "none", "1"): share for n, share in shares.items()}
        size = [Resource(kind="station", name="desk", capacity=agents)]
        points.append(point({"agents": agents}, {RESPONSE: 1.0, **metrics}, resources=size))
    found = time_of(experiment(points))
    assert found is not None
    assert found[1].replace("\N{NO-BREAK SPACE}", " ").endswith("at 13 agents")


def test_claims_answer_where_no_setting_is_best_and_fitted_numbers_are_not_met() -> None:
    tie = plain(programs([0.1, 0.1005, 0.101, 0.1015], [3, 3, 3, 3]))
    found = answered(with_claims(tie, [claim("lost", "holds"), claim("late", "differs")])).statement
    assert found == Findings(holds=1, differs=1, undecided=0, first="Claim lost")
    assert statement_sentence(PrintedNumbers(count=0, within=None, fitted=4)).text == (
        "The model was fitted to the 4 printed numbers."
    )
