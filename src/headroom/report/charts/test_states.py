"""Bars of states: parts add up, the largest keep their names, no bar without data."""

import pytest

from headroom.analysis.results import PointResult
from headroom.report.charts.states import STATES_AT_MOST, states_of, states_panel
from headroom.report.states import shares_of
from headroom.report.tables.state_tables import class_tables
from tests.support.example_results import (
    classes_experiment,
    estimate,
    measured_experiment,
    model_experiment,
)


def point_with(**shares: float) -> PointResult:
    """Return a point of one class whose jobs wait at stations of these names."""
    found = [estimate("class.users.jobs_mean", "1", 3.0)]
    found += [estimate(f"class.users.station.{name}.wait_share", "1", share)
              for name, share in shares.items()]  # fmt: skip
    return PointResult(
        key="k", levels={}, done=1, failed=0, estimates={one.metric: one for one in found}
    )


def test_the_parts_of_each_bar_are_the_whole() -> None:
    for point in classes_experiment().points:
        figure = states_of(point)
        assert figure is not None
        for stack in figure.stacks:
            assert sum(stack.parts) == pytest.approx(100.0)


def test_the_largest_parts_keep_their_names_and_the_rest_is_one() -> None:
    shares = {f"s{number}": 0.02 * number for number in range(1, 9)}
    figure = states_of(point_with(**shares))
    assert figure is not None
    assert len(figure.parts) == STATES_AT_MOST
    assert [name for name, _, _ in figure.parts] == [
        *(f"wait at s{n}" for n in range(3, 9)), "other",
    ]  # fmt: skip
    assert figure.stacks[0].parts[-1] == pytest.approx(100.0 * (1.0 - 0.02 * sum(range(3, 9))))


def test_states_are_told_in_words() -> None:
    first = classes_experiment().points[0]
    assert list(shares_of(first, "batch")) == [
        "service at web", "wait at web", "wait at database", "service at database",
        "blocked at database", "wait for connections", "delays",
    ]  # fmt: skip


def test_points_that_tell_no_states_have_neither_figure_nor_table() -> None:
    for experiment in (model_experiment(), measured_experiment()):
        assert states_panel(experiment, experiment.points).pictures == {}
        assert class_tables(experiment, at_most=100) == []


def test_tables_tell_classes_states_and_visits_and_say_what_they_leave_out() -> None:
    experiment = classes_experiment()
    whole = {table.caption: table for table in class_tables(experiment, at_most=1000)}
    assert {caption: len(table.rows) for caption, table in whole.items()} == {
        "Classes": 6,
        "Time by state": 42,
        "Classes at each part": 12,
    }
    lost = next(i for i, head in enumerate(whole["Classes"].heads) if head.text == "Lost")
    assert whole["Classes"].rows[0][lost].text == "0.200%"
    assert whole["Time by state"].note == ""
    short = {table.caption: table for table in class_tables(experiment, at_most=5)}
    assert short["Time by state"].note.startswith("5 of 42 rows")
    assert len(short["Time by state"].rows) == 5
