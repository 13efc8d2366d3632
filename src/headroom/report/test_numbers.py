"""Estimates as text."""

from headroom.report.numbers import format_short
from tests.support.example_results import estimate


def test_a_short_estimate_never_understates_its_interval() -> None:
    """The side behind ± is rounded up: 0.0341 becomes 0.04 at two decimals, not 0.03."""
    assert format_short(estimate("wait", "s", 1.0, relative=0.0341)) == "1.00 ±0.04 s"
