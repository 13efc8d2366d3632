"""Claims about the errors of a prediction over all common points."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
import scipy

from headroom.analysis.claims.claim_evidence import Evidence
from headroom.analysis.claims.claims import check_claim
from headroom.analysis.claims.errors import rank_correlation
from headroom.analysis.claims.test_agreement import around, evidence
from headroom.analysis.evidence import ErrorMeasure, ErrorsEvidence, MissingEvidence
from headroom.analysis.results import ClaimResult, PredictedPair
from headroom.analysis.statistics.intervals import Sample
from headroom.experiment.study.study import Claim

MEASURED = {1.0: 1.0, 2.0: 2.0, 4.0: 3.0, 8.0: 2.5}


def check(predicted: Mapping[float, float], *, half: float = 0.001, **fields: Any) -> ClaimResult:
    sides = [
        evidence({load: around(value, half=half) for load, value in side.items()})
        for side in (predicted, MEASURED)
    ]
    table = {
        "kind": "errors", "name": "near", "text": "It is near.", "experiment": "model",
        "metric": "response_s_mean", "to_experiment": "device", **fields,
    }  # fmt: skip
    both = Evidence(points=sides[0].points, unit="s", to=sides[1])
    return check_claim(msgspec.convert(table, Claim), both)


def measures(row: ClaimResult) -> dict[str, ErrorMeasure]:
    assert isinstance(row.evidence, ErrorsEvidence)
    return {one.code: one for one in row.evidence.measures}


def test_each_stated_figure_is_checked() -> None:
    row = check(
        {1.0: 1.1, 2.0: 2.4, 4.0: 3.0, 8.0: 2.2},
        median_at_most=0.15, worst_at_most=0.25, rank_at_least=0.7, signs_at_least=0.9,
        reference={"load": 1.0},
    )  # fmt: skip
    found = measures(row)
    values = {code: one.value for code, one in found.items()}
    expected = {"median": 0.11, "worst": 0.2, "rank": 0.8, "signs": 1.0}
    assert values == pytest.approx(expected, rel=1e-3)
    assert row.verdict == "holds"
    assert msgspec.json.decode(msgspec.json.encode(row), type=ClaimResult) == row
    worse = check({1.0: 1.1, 2.0: 2.4, 4.0: 3.0, 8.0: 0.5}, worst_at_most=0.25, rank_at_least=-1.0)
    assert [one.verdict for one in measures(worse).values()] == ["differs", "holds"]
    assert worse.verdict == "differs"


def test_signs_of_differences_to_the_reference_count_points_that_move_the_wrong_way() -> None:
    row = check(
        {1.0: 1.0, 2.0: 2.0, 4.0: 3.0, 8.0: 0.5}, signs_at_least=0.9, reference={"load": 1.0}
    )
    (signs,) = measures(row).values()
    assert (signs.value, signs.low, signs.high) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert row.verdict == "differs"


def test_noise_leaves_ranks_and_signs_undecided() -> None:
    row = check(MEASURED, half=0.9, rank_at_least=0.9, signs_at_least=0.9, reference={"load": 1.0})
    assert row.verdict == "undecided"
    assert {one.verdict for one in measures(row).values()} == {"undecided"}


def test_a_point_without_results_leaves_the_claim_undecided() -> None:
    predicted = evidence({1.0: around(1.0), 2.0: None})
    claim = msgspec.convert(
        {
            "kind": "errors", "name": "near", "text": "", "experiment": "model", "metric": "m",
            "to_experiment": "device", "worst_at_most": 0.5,
        },
        Claim,
    )  # fmt: skip
    to = evidence({load: around(value) for load, value in MEASURED.items()})
    row = check_claim(claim, Evidence(points=predicted.points, to=to))
    assert row.verdict == "undecided"
    endless = evidence({1.0: Sample(values=np.array([np.inf]))})
    row = check_claim(claim, Evidence(points=endless.points, to=to))
    assert row.verdict == "undecided"
    assert isinstance(row.evidence, MissingEvidence)


def pair(predicted: float, measured: float) -> PredictedPair:
    return PredictedPair(
        levels={}, to_levels={}, predicted=predicted, predicted_low=predicted,
        predicted_high=predicted, measured=measured, measured_low=measured,
        measured_high=measured, ratio=None, low=None, high=None, verdict="holds",
    )  # fmt: skip


def test_the_rank_correlation_is_that_of_spearman() -> None:
    """Oracle: SciPy; exact values leave no doubt about ranks."""
    rng = np.random.default_rng(5)
    predicted, measured = rng.random((2, 9))
    found = rank_correlation([pair(*both) for both in zip(predicted, measured, strict=True)])
    expected = scipy.stats.spearmanr(predicted, measured).statistic
    assert (found.value, found.low, found.high) == pytest.approx((expected,) * 3)


def noisy_pairs(
    truth: Sequence[float], noise: float, rng: np.random.Generator
) -> list[PredictedPair]:
    """Return pairs whose two sides are the truth with noise, with intervals of 95%."""
    half = 1.96 * noise
    found = []
    for value in truth:
        one, other = value + noise * rng.standard_normal(2)
        exact = pair(one, other)
        found.append(
            msgspec.structs.replace(
                exact,
                predicted_low=one - half, predicted_high=one + half,
                measured_low=other - half, measured_high=other + half,
            )
        )  # fmt: skip
    return found


def test_many_points_tell_their_ranks_although_neighbours_overlap() -> None:
    pairs = noisy_pairs(range(100), 4.0, np.random.default_rng(1))
    found = rank_correlation(pairs)
    assert found.low is not None
    assert 0.9 < found.low < found.value < 1.0


@pytest.mark.deep
def test_the_interval_of_a_rank_correlation_covers_that_of_the_truth() -> None:
    """The sides have the same order except for noise: their true correlation is 1, or none."""
    rng = np.random.default_rng(2)
    same = [rank_correlation(noisy_pairs(range(20), 1.0, rng)) for _ in range(40)]
    assert np.mean([found.high == 1.0 for found in same]) > 0.9
    flat = [rank_correlation(noisy_pairs([0.0] * 20, 1.0, rng)) for _ in range(40)]
    assert np.mean([(found.low or 0.0) < 0.0 < (found.high or 0.0) for found in flat]) > 0.9


def ranks_covered(rng: np.random.Generator, *, count: int, noise: float) -> bool:
    """Return whether a claim's interval has the correlation of the values without noise."""
    truth = rng.standard_normal(count)
    other = 0.95 * truth + 0.31 * rng.standard_normal(count)
    expected = scipy.stats.spearmanr(truth, other).statistic
    sides = [
        evidence({
            float(place): Sample(values=rng.normal(value, noise * 10**0.5, 10))
            for place, value in enumerate(values)
        })
        for values in (truth, other)
    ]  # fmt: skip
    claim = {
        "kind": "errors", "name": "ranks", "text": "", "experiment": "model", "metric": "m",
        "to_experiment": "device", "rank_at_least": 0.9,
    }  # fmt: skip
    row = check_claim(msgspec.convert(claim, Claim), Evidence(points=sides[0].points, to=sides[1]))
    return row.low is not None and row.high is not None and row.low <= expected <= row.high


@pytest.mark.deep
def test_a_claim_about_ranks_moves_each_point_by_its_whole_error() -> None:
    """Cause: 95% intervals of points were read as wider ones, so ranks moved half of their error.

    Only 65% of these intervals then covered the truth.
    """
    rng = np.random.default_rng(4)
    covered = [ranks_covered(rng, count=100, noise=0.1) for _ in range(20)]
    assert np.mean(covered) > 0.85
