"""The stopping rule: checks at geometric steps, and one answer per list of replications."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.analysis.follow_up.stopping import IntervalRule, is_precise, looks
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column
from headroom.experiment.study.study import Replications
from tests.support.example_plan import WALL, ExampleStudy

OPEN_RULE = Replications(metric="throughput", half_width=0.1, minimum=5, maximum=30)


def needs_more(
    rule: Replications, values: Sequence[float], *, column: Column = Column.MODEL
) -> bool:
    experiment = ExampleStudy(replications=rule, column=column).plan().experiments[0]
    runs = [Run(values={"throughput": value}) for value in values]
    return IntervalRule().needs_more(experiment, experiment.points[0], runs)


def test_too_few_replications_always_need_more() -> None:
    assert all(needs_more(OPEN_RULE, [10.0] * count) for count in range(5))


def test_a_narrow_interval_is_enough() -> None:
    assert not needs_more(OPEN_RULE, [10.0, 10.01, 9.99, 10.0, 10.0])


def test_the_half_width_is_measured_against_g_over_1_plus_g() -> None:
    """Oracle: five values with a known Student-t half-width h, relative to the mean 10."""
    values = 10.0 + np.array([-1.0, -1.0, 0.0, 1.0, 1.0])
    relative = 2.776445 * np.std(values, ddof=1) / np.sqrt(5) / 10.0
    limit = relative / (1.0 - relative)
    for factor, expected in ((0.999, True), (1.001, False)):
        rule = Replications(metric="throughput", half_width=limit * factor, minimum=5, maximum=30)
        assert needs_more(rule, values.tolist()) is expected


def test_the_maximum_ends_it_however_wide_the_interval_is() -> None:
    values = np.random.default_rng(1).normal(10.0, 50.0, 30).tolist()
    assert needs_more(OPEN_RULE, values[:29])
    assert not needs_more(OPEN_RULE, values)


def test_the_rule_looks_next_at_a_step_above_the_count_and_never_stands_still() -> None:
    experiment = ExampleStudy(replications=OPEN_RULE).plan().experiments[0]
    ahead = list(looks(minimum=5, maximum=30))
    assert IntervalRule().next_look(experiment, 5) == ahead[1]
    assert IntervalRule().next_look(experiment, 30) == 31


def test_between_two_looks_the_rule_does_not_look() -> None:
    """Wide at 5; narrow at 6 and 7, which are no looks; 8 is the next."""
    values = [5.0, 15.0, 10.0, 10.0, 10.0] + [10.0] * 20
    narrow_at = [n for n in range(5, 26) if not needs_more(OPEN_RULE, values[:n])]
    assert narrow_at[0] in set(looks(minimum=5, maximum=30))
    assert narrow_at == list(range(narrow_at[0], 26))


@given(st.lists(st.floats(9.0, 11.0), min_size=5, max_size=30))
def test_once_satisfied_a_point_stays_satisfied_when_more_replications_arrive(
    values: list[float],
) -> None:
    """Workers in parallel overshoot; a resumed study must not ask for more than a whole one."""
    answers = [needs_more(OPEN_RULE, values[:n]) for n in range(1, len(values) + 1)]
    assert answers == sorted(answers, reverse=True)


@given(st.integers(2, 40), st.integers(0, 60))
def test_looks_grow_by_half_and_end_with_the_maximum(minimum: int, more: int) -> None:
    found = list(looks(minimum=minimum, maximum=minimum + more))
    assert found[0] == minimum
    assert found[-1] == minimum + more
    assert all(a < b for a, b in pairwise(found))
    assert all(b <= np.ceil(1.5 * a) for a, b in pairwise(found))


@given(st.lists(st.floats(9.0, 11.0), min_size=5, max_size=30))
def test_the_answer_changes_at_looks_only(values: list[float]) -> None:
    """The runner asks at looks only; asking in between must not have changed its mind."""
    experiment = ExampleStudy(replications=OPEN_RULE).plan().experiments[0]
    look = 5
    while look < len(values):
        following = IntervalRule().next_look(experiment, look)
        between = range(look, min(following, len(values) + 1))
        assert len({needs_more(OPEN_RULE, values[:n]) for n in between}) == 1
        look = following


def test_the_next_look_is_the_first_one_above_a_count() -> None:
    experiment = ExampleStudy(replications=OPEN_RULE).plan().experiments[0]
    found = [IntervalRule().next_look(experiment, count) for count in (0, 4, 5, 7, 8, 29, 30, 31)]
    assert found == [5, 5, 8, 8, 12, 30, 31, 32]


def test_a_fixed_number_of_replications_is_just_counted() -> None:
    rule = Replications(count=3)
    assert [needs_more(rule, [1.0] * count) for count in range(5)] == [True] * 3 + [False] * 2


def test_a_measured_metric_waits_for_an_interval_of_its_median() -> None:
    """Five equal values give no interval of a median; the next look is at eight."""
    wanted = [needs_more(OPEN_RULE, [10.0] * n, column=Column.MEASURE) for n in (5, 6, 7, 8)]
    assert wanted == [True, True, True, False]


@pytest.mark.parametrize("metric", ["latency", WALL.name])
def test_a_metric_that_no_run_gives_goes_on_to_the_maximum(metric: str) -> None:
    rule = Replications(metric=metric, half_width=0.1, minimum=2, maximum=4)
    assert [needs_more(rule, [1.0] * count) for count in (2, 3, 4)] == [True, True, False]


def test_replications_with_a_fault_do_not_make_a_point_precise() -> None:
    experiment = ExampleStudy(replications=OPEN_RULE).plan().experiments[0]
    runs = [Run(values={"throughput": 1.0}, faults=("overload",)) for _ in range(8)]
    assert not is_precise(experiment, runs)
