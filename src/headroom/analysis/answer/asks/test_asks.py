"""What a study asks is answered by the rows that it names, in numbers that are computed by hand."""

import math

import msgspec
import pytest

from headroom.analysis.answer.asked import answered
from headroom.analysis.answer.asks.cells import restricted
from headroom.analysis.answer_evidence import (
    Effects,
    Enough,
    Incomplete,
    Limit,
    Reproduction,
    Safe,
    Saturated,
    Scale,
    SinglePoint,
    Target,
    TradeOff,
)
from headroom.analysis.evidence import Absent
from headroom.analysis.results import DerivedResult, DerivedValue, ExperimentResult, StudyResult
from headroom.experiment.study.asks import (
    Ask,
    BestAsk,
    CapacityAsk,
    DeadlineAsk,
    EffectAsk,
    EnoughAsk,
    LimitAsk,
    ReproduceAsk,
    SafeAsk,
    ScaleAsk,
    ValueAsk,
)
from tests.support.example_answers import (
    RESPONSE,
    THROUGHPUT,
    Metric,
    crossing,
    experiment,
    of_paper,
    plain,
    point,
    saturated,
    sweep,
)
from tests.support.example_answers import (
    answered as answer_of,
)
from tests.support.example_results import estimate

LOST: Metric = ("lost_count", "low", "1")
ERRORS: Metric = ("errors_s", "low", "s")
GIVEN = {1: 53.0, 2: 81.0, 3: 97.0, 4: 100.0, 6: 100.0}
"""Throughput by I/O nodes: 97% of the best with 3, 81% with 2."""


def nodes(values: dict[int, float] = GIVEN) -> StudyResult:
    points = [point({"io_nodes": n}, {THROUGHPUT: value}) for n, value in values.items()]
    return plain(experiment(points))


def told(study: StudyResult, ask: Ask) -> object:
    return answered(study, ask).statement


def test_enough_is_the_least_level_that_reaches_the_share_and_one_less_does_not() -> None:
    found = told(nodes(), EnoughAsk(share=0.95))
    assert isinstance(found, Enough)
    assert (found.least.level.value, found.best.value) == (3, 4)
    assert found.least.share.value == pytest.approx(0.97)
    assert found.less is not None
    assert found.less.level.value == 2
    assert found.less.share.value == pytest.approx(0.81)
    assert not found.is_open
    record = answered(nodes(), EnoughAsk(share=0.95)).as_record()
    assert (record.value, record.parameter, record.metric) == (3.0, "io_nodes", "throughput")
    most = told(nodes(), EnoughAsk(share=0.99))
    assert isinstance(most, Enough)
    assert most.least.level.value == 4


def test_enough_of_a_time_is_the_share_by_which_it_is_slower() -> None:
    times = {1: 0.4, 2: 0.2, 3: 0.105, 4: 0.1}
    points = [point({"cores": n}, {RESPONSE: value}) for n, value in times.items()]
    found = told(plain(experiment(points, metrics=(RESPONSE,))), EnoughAsk(share=0.95))
    assert isinstance(found, Enough)
    assert found.least.level.value == 3
    assert found.least.share.value == pytest.approx(0.1 / 0.105)


def test_what_still_grows_at_the_last_level_is_open() -> None:
    found = told(nodes({1: 10.0, 2: 20.0, 3: 30.0}), EnoughAsk())
    assert isinstance(found, Enough)
    assert found.is_open


def test_enough_with_limits_is_where_they_are_kept() -> None:
    study = plain(sweep(limits=[crossing("breaks")]))
    assert isinstance(told(study, EnoughAsk(factor="users")), Target)
    assert isinstance(told(study, CapacityAsk()), Target)


def test_a_limit_over_another_factor_or_metric_is_not_what_is_asked() -> None:
    """Cause: how many connections are enough was answered by the users up to a limit."""
    study = plain(sweep(limits=[crossing("breaks")]))
    found = answered(study, EnoughAsk(metric="throughput", share=0.99)).statement
    assert isinstance(found, Enough)
    assert found.least.level.value == 250


def test_a_deadline_is_about_all_work_and_not_about_any_metric() -> None:
    assert isinstance(told(plain(sweep()), DeadlineAsk()), Incomplete)
    makespan: Metric = ("makespan_s", "low", "s")
    points = [point({"workers": n}, {THROUGHPUT: 1.0, makespan: 60.0 / n}) for n in (1, 2)]
    found = told(plain(experiment(points)), DeadlineAsk(where={"workers": 2}))
    assert isinstance(found, SinglePoint)
    assert (found.values[0].value, found.where) == (30.0, {"workers": 2})


def test_what_is_left_open_is_not_decided() -> None:
    open_ = answered(nodes({1: 10.0, 2: 20.0, 3: 30.0}), EnoughAsk()).as_record()
    assert not open_.is_decided
    points = [
        point({"case": case}, {THROUGHPUT: value}, relative=0.2)
        for case, value in {"a": 1.0, "b": 1.05}.items()
    ]
    ask = EffectAsk(of={"case": "a"}, to={"case": "b"})
    assert not answered(plain(experiment(points)), ask).as_record().is_decided


def grid() -> ExperimentResult:
    points = [
        point({"case": case, "clients": clients}, {THROUGHPUT: value})
        for (case, clients), value in {
            ("tls", 8): 40.0,
            ("plain", 8): 100.0,
            ("tls", 64): 50.0,
            ("plain", 64): 50.5,
        }.items()
    ]
    return experiment(points)


def test_an_effect_is_the_ratio_at_each_combination_of_the_other_levels() -> None:
    ask = EffectAsk(of={"case": "tls"}, to={"case": "plain"})
    found = told(plain(grid()), ask)
    assert isinstance(found, Effects)
    assert [one.where for one in found.effects] == [{"clients": 8}, {"clients": 64}]
    assert [one.ratio.value for one in found.effects] == [
        pytest.approx(0.4),
        pytest.approx(0.990099),
    ]
    assert [one.verdict for one in found.effects] == ["worse", "same"]
    assert found.effects[0].first is not None
    assert found.effects[0].first.value == 40.0


def test_where_one_of_both_has_no_value_the_effect_is_missing_and_named() -> None:
    whole = grid()
    *known, last = whole.points
    without = msgspec.structs.replace(last, estimates={})
    study = plain(msgspec.structs.replace(whole, points=[*known, without]))
    found = told(study, EffectAsk(of={"case": "tls"}, to={"case": "plain"}))
    assert isinstance(found, Effects)
    assert [one.where for one in found.effects] == [{"clients": 8}]
    assert found.missing == [{"clients": 64}]


def test_a_place_that_was_not_run_is_the_nearest_one_and_named() -> None:
    part = restricted(grid(), {"clients": 100})
    assert {one.levels["clients"] for one in part.points} == {64}
    found = answered(plain(grid()), ValueAsk(where={"clients": 100, "case": "tls"})).as_record()
    assert (found.value, found.where) == (50.0, {"clients": 64, "case": "tls"})


def test_a_derived_ratio_is_an_effect_and_can_be_chosen_from() -> None:
    values = [
        DerivedValue(levels={"program": name}, value=value, low=value - 0.1, high=value + 0.1)
        for name, value in {"lu": 2.0, "ocean": 0.8, "fft": 1.02}.items()
    ]
    gain = DerivedResult(
        name="gain", of="throughput", operation="ratio_to", unit="1", better="high",
        factors=["program"], values=values,
    )  # fmt: skip
    points = [point({"program": one}, {THROUGHPUT: 1.0}) for one in ("lu", "ocean", "fft")]
    study = plain(experiment(points, derived=[gain]))
    found = told(study, EffectAsk(metric="gain"))
    assert isinstance(found, Effects)
    assert [one.verdict for one in found.effects] == ["better", "worse", "undecided"]
    best = answered(study, BestAsk(metric="gain")).as_record()
    assert best.ask == "best"
    assert best.value == pytest.approx(2.0 / 1.02)


def test_settings_that_tie_by_a_derived_quantity_have_its_values() -> None:
    """Cause: they were looked for among the points, which have more factors."""
    values = [
        DerivedValue(levels={"node": node}, value=value, low=0.5, high=1.5)
        for node, value in {64: 1.0, 4096: 1.1}.items()
    ]
    slow = DerivedResult(
        name="slow", of="throughput", operation="mean_over", unit="1", better="low",
        factors=["node"], values=values,
    )  # fmt: skip
    points = [
        point({"node": node, "mode": mode}, {THROUGHPUT: 1.0})
        for node in (64, 4096) for mode in ("read", "write")
    ]  # fmt: skip
    study = plain(experiment(points, derived=[slow]))
    answer = answer_of(msgspec.structs.replace(study, asks=[BestAsk(metric="slow")]))
    (goal,) = answer.statement.goals  # type: ignore[union-attr]
    assert goal.settings == [{"node": 64}, {"node": 4096}]
    assert answer.follows[0].values[0][0].value == 1.0  # type: ignore[union-attr, index]


def test_a_power_is_that_of_the_values_and_proportion_ends_where_it_does() -> None:
    values = {n: 3.0 * n**1.5 for n in (1, 2, 4, 8)}
    points = [point({"lines": n}, {RESPONSE: value}) for n, value in values.items()]
    found = told(plain(experiment(points, metrics=(RESPONSE,))), ScaleAsk())
    assert isinstance(found, Scale)
    assert [found.power.value, found.ratio.value] == pytest.approx([1.5, 8**1.5])
    assert found.proportional_to is None
    flat = nodes({1: 10.0, 2: 19.5, 4: 39.0, 8: 41.0})
    bent = told(flat, ScaleAsk())
    assert isinstance(bent, Scale)
    assert bent.proportional_to is not None
    assert bent.proportional_to.value == 4


def lossy(*, lost: float) -> StudyResult:
    points = [
        point({"fault": fault}, {LOST: 0.0, ERRORS: seconds}, done=9)
        for fault, seconds in {"killed": 0.07, "stopped": 0.0, "database": 14.0}.items()
    ]
    count = msgspec.structs.replace(
        estimate("lost_count", "1", 0.0, better="low"), count=9, mean=lost / 9, maximum=lost
    )
    points[0] = msgspec.structs.replace(
        points[0], estimates={**points[0].estimates, "lost_count": count}
    )
    return plain(experiment(points, metrics=(LOST,)))


def test_zero_of_27_excludes_only_so_much() -> None:
    found = told(lossy(lost=0.0), SafeAsk(metric="lost_count", seconds="errors_s", by="fault"))
    assert isinstance(found, Safe)
    assert (found.tries, found.bad) == (27, [])
    assert found.excluded == pytest.approx(1.0 - 0.05 ** (1.0 / 27.0))
    assert [one.seconds.value for one in found.outages] == pytest.approx([0.077, 0.0, 15.4])


def test_one_run_that_lost_is_not_hidden_by_a_median_of_zero() -> None:
    found = told(lossy(lost=1.0), SafeAsk(metric="lost_count"))
    assert isinstance(found, Safe)
    assert found.counts[0].value == pytest.approx(1.0)
    assert found.excluded is None
    assert found.bad == [{"fault": "killed"}]


def test_a_value_is_that_of_its_place_or_the_extreme_of_all() -> None:
    found = told(plain(grid()), ValueAsk(extreme="highest"))
    assert isinstance(found, SinglePoint)
    assert (found.values[0].value, found.points) == (100.0, 4)
    assert found.where == {"case": "plain", "clients": 8}


def test_a_purchase_of_two_things_is_compared_by_its_name() -> None:
    """The numbers that a name stands for move with it."""
    rows = {"none": (1, 2, 10.0), "both": (2, 3, 16.0)}
    points = [
        point({"buy": name, "disks": disks, "cores": cores}, {THROUGHPUT: value})
        for name, (disks, cores, value) in rows.items()
    ]
    names = ["buy", "disks", "cores"]
    zipped = {one: [other for other in names if other != one] for one in names}
    study = plain(experiment(points, metrics=(THROUGHPUT,), zipped=zipped))
    found = told(study, EffectAsk(of={"buy": "both"}, to={"buy": "none"}))
    assert isinstance(found, Effects)
    assert [one.ratio.value for one in found.effects] == [pytest.approx(1.6)]


@pytest.mark.parametrize(
    "ask",
    [
        BestAsk(metric="throughput", where={"clients": 8}),
        LimitAsk(where={"clients": 8}),
        SafeAsk(metric="throughput", where={"clients": 8}),
        ValueAsk(where={"clients": 8}, extreme="lowest"),
        EffectAsk(of={"case": "tls"}, to={"case": "plain"}, where={"clients": 8}),
    ],
)
def test_an_answer_about_a_part_says_of_which(ask: Ask) -> None:
    assert answered(plain(grid()), ask).as_record().where["clients"] == 8


@pytest.mark.parametrize(
    "ask",
    [
        ValueAsk(where={"users": 400}),
        EffectAsk(metric="response_s_mean", of={"users": 400}, to={"users": 100}),
    ],
)
def test_what_is_asked_of_a_saturated_point_is_that_it_is_saturated(ask: Ask) -> None:
    *first, last = sweep().points
    found = told(
        plain(msgspec.structs.replace(sweep(), points=[*first, saturated(last.levels)])), ask
    )
    assert isinstance(found, Saturated)
    assert (found.part.name, found.where, found.judged) == ("database", {"users": 400}, 1)


def test_parts_that_are_as_full_limit_together_also_at_a_saturated_level() -> None:
    *first, last = sweep().points
    full = saturated(last.levels)
    assert full.saturation is not None
    ties = msgspec.structs.replace(full.saturation, ties=[("station", "disk")])
    points = [*first, msgspec.structs.replace(full, saturation=ties)]
    found = told(plain(msgspec.structs.replace(sweep(), points=points)), LimitAsk())
    assert isinstance(found, Limit)
    assert [one.name for one in (found.part, *found.ties)] == ["database", "disk"]


def test_a_load_is_no_choice_where_its_value_is_asked() -> None:
    study = msgspec.structs.replace(plain(sweep()), asks=[ValueAsk(where={"users": 200})])
    answer = answer_of(study)
    assert [one.kind for one in answer.questions if one.kind != "curve"] == []
    assert {one.factor for one in answer.questions} == {"users"}


def test_what_no_point_has_is_no_answer_and_not_a_guess() -> None:
    found = told(nodes(), EffectAsk(of={"case": 1}, to={"case": 2}))
    assert isinstance(found, Incomplete)
    assert found.code == "left_out"


def test_each_ask_has_a_record_and_the_claims_come_last() -> None:
    study = of_paper(holds=9, differs=1)
    study = msgspec.structs.replace(
        study, asks=[LimitAsk(question="What limits?"), ValueAsk(extreme="highest"), ReproduceAsk()]
    )
    answer = answer_of(study)
    assert [one.ask for one in answer.records] == ["limit", "value", "reproduce"]
    assert answer.statement == answer.records[0].statement
    assert not any(one.is_inferred for one in answer.records)
    assert isinstance(answer.follows[-1], Reproduction)


def test_what_a_part_of_a_study_lacks_is_not_asked_there() -> None:
    asks = [ValueAsk(experiment="elsewhere"), ReproduceAsk(), LimitAsk()]
    (record,) = answer_of(msgspec.structs.replace(plain(sweep()), asks=asks)).records
    assert (record.ask, record.is_inferred) == ("limit", False)


def test_what_is_not_asked_is_inferred_and_says_so() -> None:
    (record,) = answer_of(plain(sweep())).records
    assert (record.ask, record.is_inferred, record.parameter) == ("limit", True, "users")
    assert record.value == 228.0
    assert math.isclose(record.low or 0.0, 224.0)


def test_a_percentile_that_needs_longer_runs_says_which() -> None:
    absent = Absent(code="few_bursts", percent=99.9, needed=20.0, found=4.0)
    short = [msgspec.structs.replace(one, absent={"response_s_p99_9": absent})
             for one in sweep().points]  # fmt: skip
    study = plain(msgspec.structs.replace(sweep(), points=short))
    found = told(study, ValueAsk(metric="response_s_p99_9"))
    assert isinstance(found, Incomplete)
    assert (found.code, found.metric, found.absent) == ("withheld", "response_s_p99_9", absent)
    other = told(study, ValueAsk(metric="response_s_p99"))
    assert isinstance(other, Incomplete)
    assert other.code == "left_out"


def test_the_only_setting_with_a_steady_state_is_the_best() -> None:
    """Cause: "saturated at 1 of 2 points" answered which of the two to choose."""
    old = point({"design": "old"}, {RESPONSE: 0.069})
    full = saturated({"design": "new"})
    study = plain(experiment([old, full], metrics=(RESPONSE,)))
    found = told(study, BestAsk(metric=RESPONSE[0]))
    assert isinstance(found, TradeOff)
    (goal,) = found.goals
    assert (goal.settings, goal.saturated) == ([{"design": "old"}], [{"design": "new"}])


def test_proportion_is_said_of_values_whose_whole_intervals_are_near_it() -> None:
    """Cause: 2.06 times (1.93 to 2.22) at 1.9 times the load was "in proportion"; exactly 2.2."""
    ends: dict[float, float | None] = {0.01: 4, 0.08: None}
    for relative, end in ends.items():
        points = [point({"lines": n}, {RESPONSE: 3.0 * n}, relative=relative) for n in (1, 2, 4)]
        found = told(plain(experiment(points, metrics=(RESPONSE,))), ScaleAsk())
        assert isinstance(found, Scale)
        to = found.proportional_to
        assert (to.value if to else None) == end


def test_two_asks_with_one_answer_are_answered_by_one_sentence() -> None:
    asks = [ValueAsk(where={"users": 500}), LimitAsk(where={"users": 500})]
    points = [*sweep().points[:2], saturated({"users": 500})]
    answer = answer_of(msgspec.structs.replace(plain(experiment(points)), asks=asks))
    assert isinstance(answer.statement, Saturated)
    assert len(answer.records) == 2
    assert answer.statement not in answer.follows
