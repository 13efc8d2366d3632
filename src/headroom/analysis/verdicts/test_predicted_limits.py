"""Limits of predicted points: the errors of the fit widen the break and undo sure verdicts."""

import math

import pytest
from msgspec.structs import replace

from headroom.analysis.evidence import CrossingEvidence
from headroom.analysis.results import Estimate, LimitCrossing
from headroom.analysis.verdicts.predicted_limits import counting_predictions

LIMIT = 60.0
BREAKS = LimitCrossing(
    metric="response_s_mean", unit="s", at_most=LIMIT, at_least=None, factor="load", where={},
    state="breaks", level=2.5, level_low=2.4, level_high=2.6, current=1.0, headroom=2.5,
    headroom_low=2.4, headroom_high=2.6, holds_at=2.0, breaks_at=3.0,
    evidence=CrossingEvidence(before=2.0, after=3.0), verdict="holds",
)  # fmt: skip
VALUES = {1.0: 20.0, 2.0: 40.0, 3.0: 80.0, 4.0: 160.0}


def within(factor: float) -> dict[float, Estimate]:
    """Return the estimates of a curve, each known within a factor either way."""
    return {
        level: Estimate(
            metric="response_s_mean", unit="s", better="low", count=5, value=value,
            low=value / factor, high=value * factor, method="prediction", centre="mean",
            mean=value, median=value, stdev=0.0, minimum=value, maximum=value,
        )
        for level, value in VALUES.items()
    }  # fmt: skip


def test_a_break_is_as_early_and_as_late_as_the_ends_of_the_prediction_intervals() -> None:
    predictions = counting_predictions(BREAKS, within(2.0))
    assert predictions.level == 2.5
    assert predictions.level_low == pytest.approx(1.5)  # where 2 x 30 is reached
    assert predictions.level_high == pytest.approx(3.5)  # where 120 / 2 is
    assert predictions.headroom_high == pytest.approx(3.5)
    assert (predictions.holds_at, predictions.breaks_at) == (1.0, 4.0)
    assert predictions.verdict == "holds"


def test_a_break_that_may_lie_beyond_the_levels_says_so() -> None:
    predictions = counting_predictions(BREAKS, within(3.0))
    assert predictions.level_low == 1.0
    assert predictions.level_high == 4.0
    assert predictions.evidence == CrossingEvidence(
        before=2.0, after=3.0, is_cut=True, kept_at=[1.0], undecided_at=[2.0, 3.0, 4.0]
    )
    assert predictions.breaks_at is None


def test_a_verdict_that_the_prediction_does_not_support_is_undecided() -> None:
    near = replace(BREAKS, current=2.0)
    assert counting_predictions(near, within(1.4)).verdict == "holds"
    predictions = counting_predictions(near, within(1.6))
    assert predictions.verdict == "undecided"
    assert predictions.evidence.undecided == "prediction"
    broken = replace(BREAKS, current=3.0, verdict="differs")
    assert counting_predictions(broken, within(1.2)).verdict == "differs"
    assert counting_predictions(broken, within(1.4)).verdict == "undecided"


@pytest.mark.parametrize(
    ("state", "factor", "expected"),
    [("holds", 1.1, "unclear"), ("broken", 4.0, "unclear"), ("unclear", 9.0, "unclear")],
)
def test_a_state_that_the_prediction_does_not_support_is_unclear(
    state: str, factor: float, expected: str
) -> None:
    one = replace(BREAKS, state=state, level=None, level_low=None, level_high=None, verdict=None)
    predictions = counting_predictions(one, within(factor))
    assert predictions.state == expected
    assert predictions.evidence.unclear == ("" if state == "unclear" else "prediction")


def test_an_open_end_breaks_the_limit_at_once_and_a_floor_is_the_other_way_round() -> None:
    curve = within(1.01)
    curve[2.0] = replace(curve[2.0], high=None)
    assert counting_predictions(BREAKS, curve).level_low == 1.0
    floor = replace(BREAKS, at_most=None, at_least=0.1, metric="throughput", verdict=None)
    rates = {
        level: replace(one, low=1.0 / (one.high or 1.0), high=1.0 / (one.low or math.inf))
        for level, one in within(1.0).items()
    }
    predictions = counting_predictions(replace(floor, at_least=1.0 / LIMIT), rates)
    assert predictions.level_low == 2.4
    assert predictions.level_high is not None
    assert 2.5 < predictions.level_high < 3.0


def test_without_estimates_nothing_changes() -> None:
    assert counting_predictions(BREAKS, {}) == BREAKS
