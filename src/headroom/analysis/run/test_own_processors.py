"""Whose the processors are, from sums that are known."""

import pytest

from headroom.analysis.run.own_processors import Processors


@pytest.mark.parametrize(
    ("own", "crowd", "limits"),
    [
        (1.9, 0.0, True),  # it fills the machine itself
        (0.9, 14.0, True),  # it competes with neighbours
        (0.9, 0.2, False),  # one thread of it always works
        (0.04, 0.0, False),  # it sleeps, neighbours fill the machine
        (0.9, None, True),  # nothing is known of its waiting
        (0.04, None, False),
    ],
)
def test_a_full_machine_limits_what_competes_for_it(
    own: float, crowd: float | None, *, limits: bool
) -> None:
    found = Processors(count=2.0, busy=2.0, own=own, crowd=crowd)
    assert found.limit_own is limits
    assert found.others == pytest.approx(2.0 - own)
    assert found.available == pytest.approx(own)


def test_a_machine_with_free_processors_limits_nothing() -> None:
    assert not Processors(count=2.0, busy=1.8, own=1.8, crowd=9.0).limit_own


def test_a_group_with_a_quota_counts_its_share_of_that() -> None:
    """Known sum: half of a quota of 0.5, a tenth of two processors; 1.2 are busy."""
    values = {
        "machine.cpu.utilization": 0.6,
        "service.db.cpu.utilization": 0.5,
        "service.db.cpu.crowd_mean": 1.5,
        "program.cpu.utilization": 0.1,
        "program.cpu.crowd_mean": 0.25,
    }
    found = Processors.of(values, 2.0, {"service.db": 0.5})
    assert found is not None
    assert (found.own, found.others, found.crowd) == pytest.approx((0.45, 0.75, 1.75))
