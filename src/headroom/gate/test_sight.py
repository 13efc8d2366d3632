"""What a gate can see: the stated slowdown is found by nine of ten first looks."""

import msgspec
import numpy as np
import pytest

from headroom.gate.judging import row_of_pairs
from headroom.gate.result import Noise, Row
from headroom.gate.sight import expectation, expected, sights_of
from headroom.gate.threshold import FIRST_LEVEL, is_slower

ROW = Row(arm="B", base="A", metric="wall_s", unit="s", better="low")


def test_nine_of_ten_looks_find_the_slowdown_that_the_last_look_could_see() -> None:
    """Oracle: slowdowns as large as stated for rows without one are drawn and looked at."""
    random = np.random.default_rng(7)

    def row(slow: float) -> Row:
        runs = np.exp(0.05 * random.normal(size=(25, 2)))
        return row_of_pairs((1.0 + slow) * runs[:, 0], runs[:, 1], like=ROW)

    seen = float(np.median([sights_of([row(0.0)], [], 0.01)[0].detectable for _ in range(100)]))
    found = sum(is_slower(row(seen), FIRST_LEVEL, 0.01) for _ in range(400))
    assert 0.85 <= found / 400 <= 0.96


@pytest.mark.parametrize("blocks", [25, 100])
def test_the_pilot_foresees_what_the_scatter_lets_a_look_see(blocks: int) -> None:
    noise = Noise(metric="wall_s", ratio=1, low=1, high=1, scatter=0.05, detectable=None)
    (one,) = expected([noise], [blocks])
    # 2.93 standard errors of a difference of two, at the efficiency 0.955 of signed ranks.
    assert one.detectable == pytest.approx(
        np.expm1(2.9265 * 0.05 * (2 / blocks / 0.955) ** 0.5), rel=1e-3
    )
    assert "wall_s" in expectation([one], [blocks], str)
    assert expected([msgspec.structs.replace(noise, scatter=None)], [blocks]) == []
