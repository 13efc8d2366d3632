"""Many noisy levels: the curve decides where it breaks a limit, no single level does."""

import numpy as np
import pytest

from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.verdicts.headroom_left import Crossing, limit_crossing

TRUTH = 200.0 / 3.0


def found(seed: int, *, levels: int, noise: float) -> Crossing:
    """Return where M/M/1 of 10 ms, R = S / (1 - U), passes 30 ms: at 66.7/s."""
    random = np.random.default_rng(seed)
    curve: dict[float, Sample | None] = {
        float(rate): Sample(values=0.01 / (1.0 - rate / 100.0)
                            * (1.0 + noise * random.normal(size=5)))
        for rate in np.linspace(0.1, 99.9, levels)
    }  # fmt: skip
    return limit_crossing(curve, at_most=0.03)


def test_of_999_noisy_levels_the_curve_tells_the_break_and_not_the_first_that_exceeds() -> None:
    """Cause: 59/s for 66.7/s, as one of 999 levels exceeds the limit by chance far below it."""
    crossings = [found(seed, levels=999, noise=0.12) for seed in range(8)]
    levels = [one.level for one in crossings]
    assert levels == pytest.approx([TRUTH] * 8, rel=0.01)
    held = [(one.low or 0.0) <= TRUTH <= (one.high or 0.0) for one in crossings]
    assert sum(held) >= 7
    for one in crossings:
        assert (one.high or 99.0) - (one.low or 0.0) < 3.0
        assert max(one.evidence.kept_at) < min(one.evidence.broken_at)
        assert one.holds_at == pytest.approx(one.low or 0.0, abs=0.1)
        assert one.breaks_at == pytest.approx(one.high or 0.0, abs=0.1)


def test_clear_levels_are_not_taken_together() -> None:
    crossing = found(1, levels=999, noise=1e-6)
    assert crossing.level == pytest.approx(TRUTH, rel=1e-5)
    assert crossing.evidence.before == pytest.approx(TRUTH, abs=0.1)


def test_a_limit_that_many_levels_break_and_keep_again_is_told_at_its_first_break() -> None:
    random = np.random.default_rng(3)
    curve: dict[float, Sample | None] = {
        float(n): Sample(values=(2.0 if 30 <= n < 45 else 0.5) + 0.3 * random.normal(size=5))
        for n in range(90)
    }
    crossing = limit_crossing(curve, at_most=1.0, is_more_better=False)
    assert crossing.state == "breaks"
    assert crossing.level == pytest.approx(29.5, abs=1.5)
    assert max(crossing.evidence.kept_at) > 45.0
