"""Bars of states: parts add up, the largest keep their names, no bar without data."""

import pytest

from headroom.analysis.results import PointResult
from headroom.report.charts.states import (
    STATES_AT_MOST,
    class_names,
    shares_of,
    state_rows,
    states_figure,
)
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
        for name in class_names(point):
            parts = [row["share"] for row in state_rows(point) if row["class"] == name]
            assert sum(parts) == pytest.approx(100.0)


def test_the_largest_parts_keep_their_names_and_the_rest_is_one() -> None:
    shares = {f"s{number}": 0.02 * number for number in range(1, 9)}
    rows = state_rows(point_with(**shares))
    assert len(rows) == STATES_AT_MOST
    assert [row["state"] for row in rows] == [f"wait at s{n}" for n in range(3, 9)] + ["other"]
    assert rows[-1]["share"] == pytest.approx(100.0 * (1.0 - 0.02 * sum(range(3, 9))))


def test_states_are_told_in_words() -> None:
    first = classes_experiment().points[0]
    assert list(shares_of(first, "batch")) == [
        "service at web", "wait at web", "wait at database", "service at database",
        "blocked at database", "wait for connections", "delays",
    ]  # fmt: skip


def test_points_that_tell_no_states_have_neither_figure_nor_table() -> None:
    for experiment in (model_experiment(), measured_experiment()):
        assert states_figure(experiment) is None
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
