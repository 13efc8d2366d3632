"""Where a limit breaks: against laws with a known crossing, and undecidable cases."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.analysis.evidence import CrossingEvidence
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.verdicts.headroom_left import (
    Crossing,
    crossing_of,
    limit_crossing,
    verdict_at,
)
from headroom.experiment.study.study import Limit


def sample(value: float, spread: float = 0.001) -> Sample:
    return Sample(values=value * (1.0 + spread * np.array([-1.0, -0.3, 0.0, 0.5, 0.8])))


def sloped(levels: list[float]) -> dict[float, Sample | None]:
    return {level: sample(level) for level in levels}


def test_the_interval_is_as_wide_as_the_noise_of_both_levels_makes_the_reciprocal() -> None:
    """Oracle: the ends of 20,000 lines of reciprocals between redrawn means of both levels."""
    random = np.random.default_rng(7)
    before, after = random.normal(0.020, 0.0005, 60), random.normal(0.100, 0.0001, 60)
    limit = 0.05
    found = limit_crossing({0.5: Sample(values=before), 0.9: Sample(values=after)}, at_most=limit)
    drawn = [1.0 / random.choice(values, (20_000, 60)).mean(axis=1) for values in (before, after)]
    levels = 0.5 + 0.4 * (drawn[0] - 1.0 / limit) / (drawn[0] - drawn[1])
    assert found.high is not None
    half = found.high - np.median(levels)
    assert half == pytest.approx(np.quantile(levels, 0.975) - np.median(levels), rel=0.12)


@pytest.mark.parametrize("users", [120, 190, 260])
def test_the_interval_holds_the_users_at_which_a_saturated_system_breaks_its_limit(
    users: int,
) -> None:
    """Oracle: behind a saturated station R = N D - Z, a straight line in N."""
    curve: dict[float, Sample | None] = {
        float(n): sample(n * 0.01 - 0.5, 0.01) for n in range(100, 301, 50)
    }
    crossing = limit_crossing(curve, at_most=users * 0.01 - 0.5)
    assert crossing.level == pytest.approx(users, rel=0.02)
    assert crossing.low is not None
    assert crossing.high is not None
    assert crossing.low <= users <= crossing.high


def test_a_throughput_that_must_be_reached_breaks_where_it_falls_below() -> None:
    curve: dict[float, Sample | None] = {
        level: sample(100.0 - level) for level in (10.0, 30.0, 50.0)
    }
    assert limit_crossing(curve, at_least=60.0).level == pytest.approx(40.0, rel=0.01)


def test_an_interval_that_the_levels_cut_off_says_so() -> None:
    """At 2.9 the limit may as well be kept at 3, the last level: the truth may lie beyond."""
    wide: dict[float, Sample | None] = {
        1.0: sample(1.0), 2.0: sample(2.0), 3.0: sample(3.0, 0.3)
    }  # fmt: skip
    crossing = limit_crossing(wide, at_most=2.9)
    assert crossing.high == 3.0
    assert crossing.evidence.is_cut
    assert not limit_crossing(sloped([1.0, 2.0, 3.0]), at_most=2.5).evidence.is_cut
    assert (crossing.evidence.before, crossing.evidence.after) == (2.0, 3.0)


def test_a_limit_that_no_level_breaks_says_up_to_where() -> None:
    crossing = limit_crossing(sloped([1.0, 2.0, 3.0]), at_most=10.0)
    evidence = CrossingEvidence(at=3.0, kept_at=[1.0, 2.0, 3.0])
    assert crossing == Crossing(state="holds", evidence=evidence)


def test_a_limit_that_the_lowest_level_breaks_says_so() -> None:
    crossing = limit_crossing(sloped([5.0, 6.0]), at_most=1.0)
    evidence = CrossingEvidence(at=5.0, broken_at=[5.0, 6.0])
    assert crossing == Crossing(state="broken", evidence=evidence)


def test_a_limit_inside_the_interval_of_the_lowest_level_stays_unclear() -> None:
    curve: dict[float, Sample | None] = {n: sample(n, 0.2) for n in (1.0, 2.0, 3.0)}
    lowest = curve[1.0]
    assert lowest is not None
    crossing = limit_crossing(curve, at_most=lowest.value - 1e-3)
    assert crossing.state == "unclear"
    assert (crossing.evidence.unclear, crossing.evidence.at) == ("near_limit", 1.0)


def test_a_limit_inside_the_interval_of_the_highest_level_holds_up_to_the_one_below() -> None:
    curve: dict[float, Sample | None] = {n: sample(n, 0.2) for n in (1.0, 2.0, 3.0)}
    highest = curve[3.0]
    assert highest is not None
    crossing = limit_crossing(curve, at_most=highest.value + 1e-3)
    assert (crossing.state, crossing.evidence.at) == ("holds", 2.0)
    assert crossing.evidence.undecided_at == [3.0]


def test_levels_without_figures_are_named() -> None:
    curve = {**sloped([1.0, 2.0]), 3.0: None}
    assert limit_crossing(curve, at_most=9.0).evidence.without == [3.0]


def test_a_limit_that_is_kept_again_is_not_hidden() -> None:
    curve: dict[float, Sample | None] = {
        1.0: sample(1.0), 2.0: sample(5.0), 3.0: sample(1.0)
    }  # fmt: skip
    crossing = limit_crossing(curve, at_most=3.0)
    assert crossing.level is not None
    assert 1.0 < crossing.level < 2.0
    found = crossing_of(Limit(metric="m", at_most=3.0), "load", {}, curve, "s")
    assert found.is_kept_again


def test_the_headroom_is_counted_from_the_load_of_today() -> None:
    limit = Limit(metric="response_s_p95", at_most=15.0, current=5.0)
    crossing = crossing_of(limit, "users", {}, sloped([10.0, 20.0]), "s")
    assert crossing.headroom == pytest.approx(3.0, rel=0.01)
    assert crossing.headroom_low is not None
    assert crossing.headroom_high is not None
    assert crossing.headroom_low <= 3.0 <= crossing.headroom_high


@pytest.mark.deep
@given(
    rises=st.lists(st.floats(0.01, 5.0), min_size=2, max_size=8),
    share=st.floats(0.01, 0.99),
    spread=st.floats(0.0, 0.05),
)
def test_a_crossing_lies_between_its_levels_and_inside_its_interval(
    rises: list[float], share: float, spread: float
) -> None:
    """Property: for every rising curve and every limit strictly between its ends."""
    values = np.cumsum(rises)
    curve: dict[float, Sample | None] = {
        float(n): sample(float(value), spread) for n, value in enumerate(values)
    }
    centres = [one.value for one in curve.values() if one]
    limit = centres[0] + share * (centres[-1] - centres[0])
    crossing = limit_crossing(curve, at_most=limit)
    if crossing.state != "breaks":
        assert crossing.state in {"unclear", "holds", "broken"}
        return
    assert crossing.low is not None
    assert crossing.high is not None
    level = crossing.low if crossing.level is None else crossing.level
    assert 0.0 <= crossing.low <= level <= crossing.high <= len(rises) - 1


def test_a_floor_that_only_a_higher_load_reaches_says_from_where_on() -> None:
    crossing = limit_crossing(sloped([5.0, 6.0, 9.0]), at_least=5.5)
    assert (crossing.state, crossing.kept, crossing.holds_at) == ("breaks", "above", 6.0)
    assert crossing.level == pytest.approx(5.5, rel=0.01)


def test_of_servers_the_lowest_number_that_keeps_a_limit_is_found() -> None:
    """Waits fall with more agents: 15 keep 30 s, 14 do not."""
    waits = {13: 130.0, 14: 48.0, 15: 19.0, 16: 9.3, 17: 4.8}
    curve: dict[float, Sample | None] = {float(n): sample(w, 0.01) for n, w in waits.items()}
    limit = Limit(metric="wait_s_mean", at_most=30.0, current=16.0)
    found = crossing_of(limit, "agents", {}, curve, "s", is_resource=True)
    assert (found.state, found.kept, found.holds_at, found.breaks_at) == (
        "breaks", "above", 15.0, 14.0,
    )  # fmt: skip
    assert found.headroom is None
    assert found.verdict == "holds"


def test_a_metric_that_is_best_in_the_middle_has_a_window_of_levels() -> None:
    values = {1: 9.0, 2: 5.0, 4: 3.0, 8: 4.0, 16: 8.0}
    curve: dict[float, Sample | None] = {float(n): sample(v, 0.01) for n, v in values.items()}
    found = limit_crossing(curve, at_most=6.0)
    assert (found.state, found.kept, found.low, found.high) == ("breaks", "between", 2.0, 8.0)


_LEVEL = (
    st.tuples(st.floats(1e-9, 20.0) | st.just(0.0) | st.just(math.inf), st.floats(0.0, 2.0))
    | st.none()
)
"""Value and spread of a level; infinite where it is saturated."""


@given(curve=st.lists(_LEVEL, min_size=1, max_size=8), limit=st.floats(0.5, 19.5))
def test_every_curve_has_an_answer_and_a_level_is_on_one_side_only(
    curve: list[tuple[float, float] | None], limit: float
) -> None:
    """Property: also of curves that are saturated, not monotone, or lack levels, it ends."""
    samples: dict[float, Sample | None] = {
        float(n): None if one is None else sample(one[0], 0.0 if one[0] == math.inf else one[1])
        for n, one in enumerate(curve)
    }
    for bound in ({"at_most": limit}, {"at_least": limit}):
        for is_more_better in (None, True, False):
            found = limit_crossing(samples, is_more_better=is_more_better, **bound)
            known = found.evidence
            sides = [*known.kept_at, *known.broken_at, *known.undecided_at, *known.without]
            assert sorted(sides) == sorted(samples)
            assert found.holds_at is None or found.holds_at in known.kept_at
            assert found.breaks_at is None or found.breaks_at in known.broken_at
            if found.level is not None and found.low is not None and found.high is not None:
                assert found.low <= found.level <= found.high


def test_levels_without_intervals_give_a_crossing_without_one() -> None:
    """Five medians have no 95% interval, so the level must not look as if it had one."""
    curve: dict[float, Sample | None] = {
        level: Sample(values=level + np.linspace(-0.1, 0.1, 5), centre="median")
        for level in (1.0, 2.0)
    }
    crossing = limit_crossing(curve, at_most=1.5)
    assert crossing.level == pytest.approx(1.5)
    assert crossing.low is None
    assert crossing.evidence.lacks_interval


def test_measured_medians_with_intervals_give_one() -> None:
    curve: dict[float, Sample | None] = {
        level: Sample(values=level + np.linspace(-0.1, 0.1, 9), centre="median")
        for level in (1.0, 2.0)
    }
    crossing = limit_crossing(curve, at_most=1.5)
    assert crossing.low is not None
    assert crossing.high is not None
    assert crossing.low <= 1.5 <= crossing.high


@pytest.mark.parametrize(
    ("level", "verdict", "undecided"),
    [
        (10.0, "holds", ""), (14.0, "holds", ""), (19.0, "differs", ""), (20.0, "differs", ""),
        (16.0, "undecided", "includes_limit"), (5.0, "undecided", "no_level_near"),
        (25.0, "undecided", "next_to_saturated"), (30.0, "differs", ""),
        (31.0, "undecided", "no_level_near"),
    ],
)  # fmt: skip
def test_a_limit_is_judged_at_the_current_load(level: float, verdict: str, undecided: str) -> None:
    curve = sloped([10.0, 20.0]) | {30.0: Sample(values=np.array([np.inf, np.inf]))}
    assert verdict_at(level, curve, at_most=16.0) == (verdict, undecided)


def test_a_floor_is_judged_at_the_current_load_and_one_run_decides_nothing() -> None:
    assert verdict_at(12.0, sloped([10.0, 20.0]), at_least=11.0)[0] == "holds"
    assert verdict_at(12.0, sloped([10.0, 20.0]), at_least=14.0)[0] == "differs"
    one: dict[float, Sample | None] = {10.0: Sample(values=np.array([10.0])), 20.0: None}
    assert verdict_at(10.0, one, at_most=16.0) == (
        "undecided", "few_replications",
    )  # fmt: skip
    limit = Limit(metric="response_s", at_most=16.0, current=14.0)
    assert crossing_of(limit, "load", {}, sloped([10.0, 20.0]), "s").verdict == "holds"
    question = Limit(metric="response_s", at_most=16.0)
    assert crossing_of(question, "load", {}, sloped([10.0, 20.0]), "s").verdict is None
