"""What became of the work of a point: nothing is said where nothing was lost."""

import pytest

from headroom.analysis.evidence import Outcome
from headroom.analysis.verdicts.outcomes import outcomes_of
from tests.support.example_results import estimate


def told(classes: tuple[str, ...] = ("web",), **values: float) -> list[Outcome]:
    found = {name.replace("__", "."): value for name, value in values.items()}
    estimates = {name: estimate(name, "1", one, better="none") for name, one in found.items()}
    return outcomes_of(estimates, classes)


def test_each_cause_has_its_share_and_the_sum_is_not_one_of_them() -> None:
    (found,) = told(
        offered=100.0, throughput=71.0, goodput=70.0, lost_ratio=0.29, reject_ratio=0.2,
        abandon_ratio=0.0, fail_ratio=0.09, late_ratio=0.01,
    )  # fmt: skip
    ends = [(one.cause, one.share) for one in found.lost]
    assert ends == [("rejected", 0.2), ("failed", 0.09), ("late", 0.01)]
    assert (found.offered, found.goodput, found.is_late) == (100.0, 70.0, True)


def test_runs_that_did_not_record_why_still_say_how_much() -> None:
    (found,) = told(throughput=70.0, lost_ratio=0.3)
    assert [one.cause for one in found.lost] == ["lost"]
    assert found.offered == pytest.approx(100.0)


def test_of_several_classes_those_that_lose_are_told_apart() -> None:
    values = {"class__b__throughput": 1.0, "class__b__fail_ratio": 0.5, "class__a__throughput": 2.0}
    found = told(("a", "b"), throughput=3.0, fail_ratio=0.25, **values)
    assert [one.name for one in found] == ["", "b"]


def test_failures_that_were_only_counted_are_told_with_their_number() -> None:
    (found,) = told(throughput=70.0, error_count=3.0)
    assert (found.lost, found.count, found.goodput) == ([], 3.0, 70.0)


def test_nothing_is_said_where_nothing_was_lost_or_nothing_was_done() -> None:
    assert told(throughput=70.0, lost_ratio=0.0, error_count=0.0) == []
    assert told(lost_ratio=0.5) == []
