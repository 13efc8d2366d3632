"""The stopping rule of what-ifs: how often it is wrong although it looks again and again."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from headroom.analysis.follow_up.decided import EARLY_CONFIDENCE, FEWEST, MOST, DecidedRule
from headroom.analysis.results import Effect
from headroom.analysis.statistics.comparison import paired_ratio
from headroom.experiment.protocol.run import FloatArray

SERIES = 1000


def effects(_experiment: object, _point: object, pairs: Sequence[Any]) -> list[Effect]:
    """Return the effect over pairs of values before and after a change."""
    old, new = np.array(pairs).T
    found = paired_ratio(new, old, confidence=EARLY_CONFIDENCE).interval
    return [Effect(metric="throughput", unit="1/s", better="high", before=1.0, after=1.0, pairs=5,
                   ratio=found.value, low=found.low, high=found.high,
                   variance_reduction=None)]  # fmt: skip


def stopped(ratio: float, noise: float) -> list[FloatArray]:
    """Return the pairs of each series at which the rule ended, for a known ratio."""
    generator = np.random.default_rng(20260730)
    rule: Any = DecidedRule(effects, MOST)
    ended = []
    for _ in range(SERIES):
        old = 1.0 + 0.05 * generator.standard_normal(MOST)
        new = ratio * old * (1.0 + noise * generator.standard_normal(MOST))
        pairs = np.column_stack([old, new])
        count = FEWEST
        while rule.needs_more(None, None, pairs[:count]):
            count = rule.next_look(None, count)
        ended.append(pairs[:count])
    return ended


@pytest.mark.parametrize(("ratio", "noise"), [(1.0, 0.01), (1.0, 0.04), (1.07, 0.04), (0.8, 0.2)])
def test_repeated_looks_hardly_add_to_the_error_of_one(ratio: float, noise: float) -> None:
    """Each of 6 early looks may err by 0.1%: of 1,000 series 6 on average, and 14 at 3 sigma.

    The printed interval, at the pairs where the rule ended, misses in at most 5% + 2.5%: 75 of
    1,000 and 3 sigma are 100.
    """
    ended = stopped(ratio, noise)
    early = [pairs for pairs in ended if len(pairs) < MOST]
    wrong = missed = 0
    for pairs in ended:
        old, new = pairs.T
        printed = paired_ratio(new, old).interval
        missed += not (printed.low or 0.0) <= ratio <= (printed.high or 0.0)
    for pairs in early:
        (found,) = effects(None, None, [*pairs])
        low, high = found.low or 0.0, found.high or 0.0
        wrong += (low > 1.0) != (ratio > 1.0) if low > 1.0 or high < 1.0 else abs(ratio - 1) > 0.05
    assert len(early) > SERIES / 2
    assert wrong <= 14
    assert missed <= 100


def test_pairs_that_decide_nothing_are_added_up_to_the_most() -> None:
    ended = stopped(1.0, 0.5)
    assert sum(len(pairs) == MOST for pairs in ended) > 0.98 * SERIES
