"""Crossovers: coverage, false alarms, and undecidable cases."""

import math

import numpy as np
import pytest

from headroom.analysis.claims.claim_evidence import Evidence, MeasuredPoint
from headroom.analysis.claims.claims import check_claim
from headroom.analysis.evidence import ComparisonEvidence, RunOrder
from headroom.analysis.results import Crossover, LevelComparison, LevelsCompared
from headroom.analysis.statistics.crossover import Crossings, RatioAt, crossings_of
from headroom.analysis.statistics.intervals import Sample, t_quantile
from headroom.analysis.verdicts.level_crossovers import crossovers_of
from headroom.experiment.protocol.system import Column, Parameter
from headroom.experiment.study.plan import FactorSpec
from headroom.experiment.study.study import CrossoverClaim

RUNS = 8


def simulated(truth: dict[float, float], seed: int, *, spread: float = 0.2) -> Crossings:
    """Return the crossings of eight log ratios at each level, normal around the `truth`."""
    random = np.random.default_rng(seed)
    curve = []
    for level, mean in truth.items():
        values = random.normal(mean, spread, RUNS)
        half = t_quantile(degrees=RUNS - 1) * float(np.std(values, ddof=1)) / math.sqrt(RUNS)
        low, value, high = np.exp(np.mean(values) + half * np.array([-1.0, 0.0, 1.0])).tolist()
        curve.append(RatioAt(level=level, ratio=value, low=low, high=high))
    return crossings_of(curve)


@pytest.mark.parametrize("levels", [(4, 16, 64, 256), (10, 20, 30, 40, 50, 60)])
def test_the_interval_of_a_crossover_holds_the_truth(levels: tuple[float, ...]) -> None:
    """At 95% fewer than 50 of 60 have a chance of 1e-4."""
    truth = {float(level): 0.8 * math.log(level / 25.0) for level in levels}
    found = [simulated(truth, seed).crossings for seed in range(60)]
    held = [len(one) == 1 and one[0].low <= 25.0 <= one[0].high for one in found]
    assert sum(held) >= 50


def test_equal_things_rarely_cross() -> None:
    """A crossover needs two levels that err to different sides at the same time."""
    truth = dict.fromkeys(map(float, range(1, 9)), 0.0)
    assert sum(bool(simulated(truth, seed).crossings) for seed in range(80)) <= 2


def test_one_that_is_always_better_has_no_crossover() -> None:
    result = simulated({1.0: -1.0, 2.0: -1.5, 4.0: -2.0}, 1)
    assert result.crossings == ()
    assert [stretch.side for stretch in result.stretches] == [-1]


def test_a_ratio_may_cross_twice() -> None:
    result = simulated({1.0: -2.0, 2.0: 2.0, 3.0: 2.0, 4.0: -2.0}, 2)
    assert [crossing.side for crossing in result.crossings] == [1, -1]
    assert [stretch.side for stretch in result.stretches] == [-1, 1, -1]


def test_a_level_without_an_interval_decides_nothing() -> None:
    sure = RatioAt(level=1.0, ratio=0.5, low=0.4, high=0.6)
    crossings = crossings_of([sure, RatioAt(level=2.0, ratio=1.0, low=None, high=None)])
    assert crossings.crossings == ()
    assert {stretch.side for stretch in crossings.stretches} <= {-1, 0}


def test_between_a_ratio_and_a_saturated_level_only_the_levels_are_known() -> None:
    below = RatioAt(level=10.0, ratio=0.5, low=0.4, high=0.6)
    full = RatioAt(level=20.0, ratio=math.inf, low=None, high=None)
    (found,) = crossings_of([below, full]).crossings
    assert (found.level, found.low, found.high, found.side) == (None, 10.0, 20.0, 1)


def row(size: float, ratio: float) -> LevelComparison:
    return LevelComparison(
        level="B", where={"size": size}, metric="write_s_mean", unit="s", better="low",
        verdict="undecided", evidence=ComparisonEvidence(code="open"), ratio=ratio,
        low=0.9 * ratio, high=1.1 * ratio,
    )  # fmt: skip


def compared(*ratios: float) -> Crossover:
    rows = [row(4.0 * 4**place, ratio) for place, ratio in enumerate(ratios)]
    factor = FactorSpec(
        name="size",
        parameter=Parameter(name="size", type="float", unit="B", source="test"),
        levels=tuple(one.where["size"] for one in rows),
    )
    (found,) = crossovers_of(
        LevelsCompared(
            factor="mode",
            base="A",
            same_within=0.05,
            confidence=0.95,
            rows=rows,
            order=RunOrder(code="simulated"),
        ),
        [factor],
    )
    return found


def test_a_comparison_says_from_which_size_on_a_level_is_better() -> None:
    comparison = compared(2.0, 1.5, 0.7, 0.4)
    (point,) = comparison.points
    assert comparison.state == "crosses"
    assert point.beyond == "better"
    assert 16.0 < point.low < point.high < 64.0
    assert [one.verdict for one in comparison.ranges] == ["worse", "better"]


def test_a_comparison_without_a_crossover_says_so() -> None:
    assert compared(0.5, 0.6).state == "none"
    assert compared(1.0, 1.01).state == "undecided"


@pytest.mark.parametrize(
    ("level", "verdict"), [(30.0, "holds"), (90.0, "differs"), (36.0, "undecided")]
)
def test_a_claim_about_a_crossover_is_decided_by_its_interval(level: float, verdict: str) -> None:
    noise = 1.0 + 0.01 * np.array([-1.0, -0.4, 0.1, 0.5, 0.8])
    points = [
        MeasuredPoint({"disk": disk, "size": size}, Sample(values=base * noise))
        for size, ours, theirs in ((10.0, 2.0, 1.0), (20.0, 1.5, 1.0), (40.0, 0.75, 1.0))
        for disk, base in (("new", ours), ("old", theirs))
    ]
    claim = CrossoverClaim(
        name="c", text="", experiment="e", metric="m", where={"disk": "new"}, to={"disk": "old"},
        factor="size", level=level, tolerance=0.15,
    )  # fmt: skip
    assert check_claim(claim, Evidence(points=points, column=Column.MODEL)).verdict == verdict
