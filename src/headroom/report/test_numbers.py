"""Estimates as text."""

import msgspec

from headroom.report.numbers import format_estimate, format_short
from headroom.report.sentences.intervals import describe_interval
from tests.support.example_results import estimate


def test_a_short_estimate_never_understates_its_interval() -> None:
    """The side behind ± is rounded up: 0.0341 becomes 0.04 at two decimals, not 0.03."""
    assert format_short(estimate("wait", "s", 1.0, relative=0.0341)) == "1.00 ±0.04 s"


def test_settings_that_were_chosen_are_printed_as_a_user_sets_them() -> None:
    """Cause: a node of 4 KiB was 4.096 kB, and a batch of 64 was 64.00."""
    node, batch = (
        msgspec.structs.replace(estimate(name, unit, value, relative=None), centre="choice")
        for name, unit, value in (("chosen_node_bytes", "B", 4096), ("chosen_batch", "1", 64))
    )
    assert (format_estimate(node), format_estimate(batch)) == ("4 KiB", "64")
    assert format_estimate(msgspec.structs.replace(node, value=1100.0)) == "1,100 B"
    assert describe_interval([node]) == "Most frequent choice of n = 10."
