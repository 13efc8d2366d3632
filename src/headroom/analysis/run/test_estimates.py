"""Intervals stay within the possible range of their metric."""

import numpy as np
import pytest

from headroom.analysis.run.estimates import estimate_of
from headroom.analysis.statistics.intervals import Sample
from headroom.experiment.protocol.system import Metric


def test_no_share_of_anything_is_below_zero() -> None:
    """Cause: Student's interval of a rare loss reached below zero, where no share can be."""
    sample = Sample(values=np.array([0.0, 0.0, 0.01]))
    estimate = estimate_of(Metric(name="class.a.lost_ratio", unit="1"), sample)
    assert estimate.low == 0.0
    assert estimate.high is not None
    assert estimate.high > estimate.value
    other = estimate_of(Metric(name="balance_mean", unit="1"), sample)
    assert other.low is not None
    assert other.low < 0.0


@pytest.mark.parametrize(
    "name", ["throughput", "class.read.response_s_mean", "station.a.jobs_mean"]
)
def test_rates_times_and_numbers_of_jobs_are_never_below_zero(name: str) -> None:
    """Cause: axes of charts went below zero, because the interval of a rare thing did."""
    sample = Sample(values=np.array([0.0, 0.0, 0.01]))
    assert estimate_of(Metric(name=name, unit="1"), sample).low == 0.0
