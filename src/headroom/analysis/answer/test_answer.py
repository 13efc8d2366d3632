"""The answer of a study is of the right kind and says no more than its intervals do."""

from collections.abc import Callable

import msgspec
import pytest

from headroom.analysis.answer.limits import busiest_of
from headroom.analysis.answer_evidence import (
    Answer,
    Changes,
    Comparison,
    Equal,
    Limit,
    Losses,
    Prediction,
    Reproduction,
    Saturated,
    Sweep,
    Target,
    TradeOff,
    Undecided,
)
from headroom.analysis.results import ExperimentResult, Resource, StudyResult
from headroom.experiment.study.asks import BestAsk
from tests.support.example_answers import (
    THROUGHPUT,
    WALL,
    answered,
    claim,
    crossing,
    disturbed,
    experiment,
    losing,
    measured,
    now,
    of_paper,
    plain,
    point,
    programs,
    purchases,
    saturated,
    sweep,
    what_if,
    with_claims,
    with_what_ifs,
)
from tests.support.example_comparisons import compared, predicting
from tests.support.example_results import estimate

replace = msgspec.structs.replace


def _failed() -> StudyResult:
    bad = replace(sweep().points[-1], estimates={}, done=0, failed=10, errors=["disk full"])
    return plain(replace(sweep(), points=[*sweep().points[:-1], bad]), failed=10)


def _unfinished() -> ExperimentResult:
    *first, last = sweep().points
    return replace(sweep(), points=[*first, replace(last, done=5)])


def _ramp(*, full: int) -> StudyResult:
    """Return a ramp of which the last `full` levels are saturated."""
    free = sweep(limits_from=None).points[: 5 - full]
    points = [*free, *(saturated({"users": 500 + step}) for step in range(full))]
    return plain(experiment(points))


def _limited(state: str) -> StudyResult:
    return plain(replace(sweep(), limits=[crossing(state)]))  # type: ignore[arg-type]


def _rows(verdict: str, ratio: float = 0.5) -> StudyResult:
    """Return programs that a study compares, with one row of a verdict."""
    found = compared(programs([0.1, 0.2], [3, 4])).compared
    assert found is not None
    row = replace(found.rows[0], verdict=verdict, ratio=ratio, low=ratio * 0.97, high=ratio * 1.04)
    return plain(replace(programs([0.1, 0.2], [3, 4]), compared=replace(found, rows=[row])))


KINDS: dict[str, tuple[Callable[[], StudyResult], str]] = {
    "runs are left": (lambda: plain(_unfinished(), is_complete=False), "incomplete"),
    "runs of another experiment are left": (
        lambda: plain(sweep(), replace(_unfinished(), name="other"), is_complete=False),
        "limit",
    ),
    "a point failed": (_failed, "incomplete"),
    "nothing was run": (plain, "incomplete"),
    "most runs were disturbed": (lambda: plain(disturbed(sweep(), runs=6)), "disturbed"),
    "half of the runs were disturbed": (lambda: plain(disturbed(sweep(), runs=5)), "limit"),
    "the end is saturated": (lambda: _ramp(full=2), "saturated"),
    "a limit breaks below saturation": (
        lambda: plain(replace(_ramp(full=2).experiments[0], limits=[crossing("breaks")])),
        "target",
    ),
    "a part limits": (lambda: plain(sweep()), "limit"),
    "nothing limits": (lambda: plain(sweep(limits_from=None, knee=False)), "no_limit"),
    "nothing limits, and work is lost": (
        lambda: plain(losing(sweep(limits_from=None, knee=False))),
        "losses",
    ),
    "a limit of the study breaks": (lambda: _limited("breaks"), "target"),
    "a limit of the study holds": (lambda: _limited("holds"), "target"),
    "a limit of the study is unclear": (lambda: _limited("unclear"), "undecided"),
    "a level is better": (lambda: _rows("better"), "comparison"),
    "levels are the same": (lambda: _rows("same", 1.0), "equal"),
    "levels are undecided": (lambda: _rows("undecided", 1.02), "undecided"),
    "two goals": (lambda: plain(programs([0.1, 0.3, 0.5], [3, 4, 5])), "trade_off"),
    "one program is best at both": (lambda: plain(programs([0.1, 0.3], [5, 3])), "comparison"),
    "no program is best": (
        lambda: plain(programs([0.1, 0.1005, 0.101, 0.1015], [3, 3, 3, 3])),
        "undecided",
    ),
    "claims of a paper": (lambda: of_paper(9, 1), "reproduction"),
    "claims of agreement": (
        lambda: with_claims(plain(sweep()), [predicting("near")]),
        "prediction",
    ),
    "a measured sweep": (lambda: plain(_lines()), "sweep"),
    "one point": (lambda: plain(measured([point({"lines": 1}, {WALL: 0.1})])), "value"),
}


def programs_of_two() -> ExperimentResult:
    levels = ({"program": "gzip"}, {"program": "xz"})
    return measured([point(one, {THROUGHPUT: n}) for n, one in enumerate(levels, start=5)])


def _lines() -> ExperimentResult:
    return measured([point({"lines": one}, {WALL: one / 1e6}) for one in (50_000, 400_000)])


@pytest.mark.parametrize("build", [sweep, programs_of_two, lambda: sweep(limits_from=None)])
def test_what_is_lost_is_told_once_beside_any_other_answer(
    build: Callable[[], ExperimentResult],
) -> None:
    """Cause: the verdict of a point knew what it lost, and the first screen dropped it."""
    answer = answered(plain(losing(build())))
    told = [one for one in (answer.statement, *answer.follows) if isinstance(one, Losses)]
    assert len(told) == 1
    assert [one.share for one in told[0].outcome.lost] == [0.3]
    assert (told[0].points, told[0].judged) == (1, len(build().points))


@pytest.mark.parametrize("name", KINDS)
def test_each_result_has_the_answer_that_fits(name: str) -> None:
    build, kind = KINDS[name]
    answer = answered(build())
    assert answer.kind == kind
    assert msgspec.json.decode(msgspec.json.encode(answer), type=Answer) == answer
    assert len(answer.follows) <= 2
    assert len(answer.questions) <= 8
    assert len(answer.cautions) <= 4


def limit_of(result: StudyResult) -> Limit:
    statement = answered(result).statement
    assert isinstance(statement, Limit)
    return statement


def test_a_knee_is_the_level_of_a_limit_only_where_the_limit_begins() -> None:
    found = limit_of(plain(sweep())).level
    assert found is not None
    assert (found.value, found.low, found.high) == (228.0, 224.0, 232.0)
    elsewhere = limit_of(plain(sweep(limits_from=400)))
    assert elsewhere.level is not None
    assert (elsewhere.level.value, elsewhere.level.low, elsewhere.last_free) == (400, None, 300)


def test_a_part_that_limits_everywhere_has_no_level_from_which_it_does() -> None:
    found = limit_of(plain(sweep(limits_from=100)))
    assert (found.level, found.points, found.judged) == (None, 5, 5)


@pytest.mark.parametrize(("ratio", "is_best"), [(1.28, True), (1.005, False), (0.9, False)])
def test_a_change_is_recommended_only_if_its_interval_is_above_one(
    ratio: float, *, is_best: bool
) -> None:
    found = limit_of(plain(with_what_ifs(sweep(), what_if(ratio))))
    assert (found.best is not None) == is_best
    gained = found.best.gain if found.best is not None else None
    assert gained is None or (gained.low or 0.0) > 1.0


def test_an_interval_within_two_percent_of_one_is_no_gain() -> None:
    study = plain(with_what_ifs(sweep(), what_if(1.01, spread=0.005)))
    (changes,) = answered(study).follows
    assert isinstance(changes, Changes)
    assert changes.best is None
    assert [one.is_no_gain for one in changes.no_gain] == [True]


def test_purchases_of_another_experiment_are_tried_against_its_own_values() -> None:
    """Oracle: 292 / 228 = 1.28 for the third server; both are surely better, the pool in vain."""
    study = plain(sweep(parameters=now()), purchases())
    (changes,) = answered(study).follows
    assert isinstance(changes, Changes)
    assert changes.best is not None
    assert changes.best.levels == {"buy": "server"}
    assert changes.best.gain is not None
    assert changes.best.gain.value == pytest.approx(292 / 228)
    assert changes.further is not None
    assert changes.further.levels == {"buy": "both"}
    assert [one.levels for one in changes.no_gain] == [{"buy": "connections"}]


def test_changes_are_compared_by_what_they_reach_where_the_value_before_is_noisy() -> None:
    """Gains of 1.1 to 1.5 and 1.2 to 1.6 overlap; 285 to 310 and 315 to 340 after them do not."""
    count, speed = what_if(1.3, spread=0.2), what_if(1.4, spread=0.2)
    count = replace(
        count, effects=[replace(one, after_low=285.0, after_high=310.0) for one in count.effects]
    )
    speed = replace(
        speed,
        applied=[replace(one, aspect="speed") for one in speed.applied],
        effects=[replace(one, after_low=315.0, after_high=340.0) for one in speed.effects],
    )
    best = limit_of(plain(with_what_ifs(sweep(), count, speed))).best
    assert best is not None
    assert [one.aspect for one in best.applied] == ["speed"]


def test_purchases_of_another_load_are_not_changes_of_this_one() -> None:
    other = purchases()
    fixed = [replace(use, value=100) for use in other.parameters]
    study = plain(sweep(parameters=now()), replace(other, parameters=fixed))
    assert answered(study).follows == []


def test_the_size_of_a_part_as_factor_is_the_advice_itself() -> None:
    """Cause: "give it 4 servers" stood above a figure of how many connections are enough."""
    points = [
        replace(one, levels={"database_cores": number})
        for number, one in enumerate(with_what_ifs(sweep(), what_if(1.28)).points, start=1)
    ]
    assert limit_of(plain(experiment(points))).best is None


def test_settings_are_compared_at_equal_loads_whether_that_is_asked_or_not() -> None:
    """Clients who read or write: both level off, reading ten times as high."""
    points = [
        point(
            {"script": script, "clients": clients},
            {THROUGHPUT: rate * min(clients, 4)},
            limits="cpu" if clients > 4 else "",
        )
        for script, rate in (("read", 100.0), ("write", 10.0))
        for clients in (1, 4, 16)
    ]
    study = plain(experiment(points, metrics=(THROUGHPUT,)))
    for asks in ([], [BestAsk()], [BestAsk(metric="throughput")]):
        best = answered(replace(study, asks=asks)).statement
        assert isinstance(best, Comparison)
        assert (best.first, best.better_count, best.worse_count) == ({"script": "read"}, 3, 0)
        assert best.ratio.value == pytest.approx(10.0)


def test_cautions_count_what_a_quick_run_leaves_out_and_numbers_without_a_source() -> None:
    bare = [replace(use, source="") for use in now()]
    study = plain(sweep(parameters=bare), is_quick=True, done=95, full_planned=300)
    found = {one.code: (one.count, one.total, one.name) for one in answered(study).cautions}
    assert found["quick"] == (95, 300, "")
    assert found["assumed"] == (2, 2, "unsourced")


def test_saturation_names_the_last_steady_level_and_the_part() -> None:
    found = answered(_ramp(full=2)).statement
    assert isinstance(found, Saturated)
    assert found.level is not None
    assert (found.level.value, found.last_steady, found.part.name) == (500, 250.0, "database")


def test_a_target_says_how_many_times_the_current_load_it_is() -> None:
    found = answered(_limited("breaks")).statement
    assert isinstance(found, Target)
    assert found.level.low is not None
    assert found.headroom is not None
    assert found.level.low <= float(found.level.value) <= (found.level.high or 0.0)
    assert found.headroom.value == pytest.approx(264 / 200)


@pytest.mark.parametrize(
    ("counts", "printed", "state"),
    [
        ((9, 1, 0), False, "stands"),
        ((9, 1, 0), True, "partly"),
        ((8, 1, 1), False, "partly"),
        ((4, 6, 0), False, "falls"),
    ],
)
def test_a_study_stands_by_nine_tenths_and_its_printed_numbers(
    counts: tuple[int, int, int], state: str, *, printed: bool
) -> None:
    found = answered(of_paper(*counts, printed=printed)).statement
    assert isinstance(found, Reproduction)
    assert found.state == state


def test_claims_of_theory_do_not_make_a_reproduction() -> None:
    study = with_claims(plain(sweep()), [claim("bound", "holds", source="asymptotic bound")])
    assert answered(study).kind == "limit"


def test_a_trade_off_names_ties_and_what_is_beaten_on_both_counts() -> None:
    found = answered(plain(programs([0.1, 0.5, 0.3], [3, 4, 5]))).statement
    assert isinstance(found, TradeOff)
    assert [goal.settings for goal in found.goals] == [
        [{"program": "gzip"}], [{"program": "bzip2"}],
    ]  # fmt: skip
    assert [(one.setting, one.by) for one in found.beaten] == [
        ({"program": "xz"}, {"program": "bzip2"})
    ]
    tied = answered(plain(programs([0.1, 0.1005, 0.3], [3, 4, 5]))).statement
    assert isinstance(tied, TradeOff)
    assert tied.goals[0].settings == [{"program": "gzip"}, {"program": "xz"}]


def test_a_comparison_counts_the_level_from_its_better_side() -> None:
    found = answered(_rows("better", 0.5)).statement
    assert isinstance(found, Comparison)
    assert (found.first, found.second) == ({"target": "ram"}, {"target": "disk"})
    assert found.ratio.low is not None
    assert 1.0 < found.ratio.low < found.ratio.value == pytest.approx(2.0)
    worse = answered(_rows("worse", 2.0)).statement
    assert isinstance(worse, Comparison)
    assert worse.first == {"target": "disk"}
    assert worse.ratio.value == pytest.approx(2.0)
    same = answered(_rows("same", 1.0)).statement
    assert isinstance(same, Equal)
    assert same.same_within == 0.05


def test_an_undecided_comparison_says_how_many_runs_would_decide() -> None:
    """Oracle: the interval reaches 0.0408 beyond 1.02, the zone ends 0.03 beyond it."""
    found = answered(_rows("undecided", 1.02)).statement
    assert isinstance(found, Undecided)
    assert found.count == 12
    assert found.more == round(12 * (0.0408 / 0.03) ** 2 - 12)


def test_a_prediction_is_that_of_the_worst_claim() -> None:
    claims = [predicting("near"), replace(predicting("held"), verdict="holds")]
    found = answered(with_claims(plain(sweep()), claims)).statement
    assert isinstance(found, Prediction)
    assert (found.verdict, found.claims, found.held) == ("differs", 2, 1)
    assert found.worst == pytest.approx(0.5)


def test_a_disturbed_study_still_says_what_was_measured() -> None:
    answer = answered(plain(disturbed(_lines(), runs=9)))
    (found,) = answer.follows
    assert isinstance(found, Sweep)
    assert answer.cautions[0].code == "disturbed"
    assert answer.figure is not None


def test_an_answer_is_that_of_the_first_experiment_that_has_one() -> None:
    """A sweep without a verdict comes first; the one with a bottleneck is asked about."""
    study = plain(replace(_lines(), name="first"), sweep())
    answer = answered(study)
    assert (answer.kind, answer.experiment) == ("limit", "load")
    assert "first" in {figure.experiment for figure in answer.questions}


def test_no_figure_has_one_point_or_a_metric_that_the_experiment_lacks() -> None:
    single = measured([point({"lines": 1}, {WALL: 0.1})], name="one")
    answer = answered(plain(sweep(), single))
    figures = [answer.figure, *answer.questions]
    assert all(figure and figure.experiment != "one" for figure in figures)
    known = set(sweep().points[0].estimates)
    assert all(set(figure.metrics) <= known for figure in figures if figure)


def test_changes_that_lower_a_number_are_not_said_to_be_in_vain() -> None:
    fewer = purchases()
    rows = [
        replace(one, levels={**one.levels, "connections": 10}) if number == 1 else one
        for number, one in enumerate(fewer.points)
    ]
    study = plain(sweep(parameters=now()), replace(fewer, points=rows))
    (changes,) = answered(study).follows
    assert isinstance(changes, Changes)
    assert changes.no_gain == []
    assert THROUGHPUT[0] == (changes.best and changes.best.metric)


def test_the_busiest_part_is_named_with_those_that_are_offered_as_much() -> None:
    """Behind a full station another one that is offered the same is a little less busy."""
    full = saturated({"users": 500})
    assert full.saturation is not None
    tied = replace(full.saturation, ties=[("station", "web")])
    shares = {"database": 1.0, "web": 0.96}
    used = {
        (name := f"station.{part}.utilization"): estimate(name, "1", share, better="none")
        for part, share in shares.items()
    }
    parts = [Resource(kind="station", name=part, capacity=1) for part in shares]
    last = replace(full, saturation=tied, resources=parts, estimates=used)
    points = [*sweep().points[:2], last]
    found = busiest_of(experiment(points), None)
    assert found is not None
    assert [one.name for one in found.ties] == ["web"]


@pytest.mark.parametrize(("high", "names"), [(0.945, ["web"]), (0.928, [])])
def test_a_part_is_as_busy_if_their_intervals_overlap(high: float, names: list[str]) -> None:
    """Cause: two of three equal parts limited together, and one was named as the busiest."""
    used = {
        (name := f"station.{part}.utilization"): replace(
            estimate(name, "1", share, better="none"), low=low, high=high
        )
        for part, share, low, high in [("database", 0.94, 0.93, 0.95), ("web", 0.92, 0.91, high)]
    }
    parts = [Resource(kind="station", name=part, capacity=1) for part in ("database", "web")]
    first = sweep().points[0]
    last = replace(first, levels={"users": 500}, resources=parts, estimates=used)
    found = busiest_of(experiment([first, last]), None)
    assert found is not None
    assert [one.name for one in found.ties] == names
