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
    assert not Processors(count=2.0, busy=1.8, own=own, crowd=9.0).limit_own, "some are free"
