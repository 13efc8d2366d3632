"""Agreement claims: which points are compared, and when they agree."""

from collections.abc import Mapping
from statistics import median
from typing import Any

import msgspec
import numpy as np
import pytest

from headroom.analysis.claims.claim_evidence import Evidence, MeasuredPoint
from headroom.analysis.claims.claims import check_claim
from headroom.analysis.evidence import AgreementEvidence, MissingEvidence, UnboundedPair
from headroom.analysis.results import ClaimResult
from headroom.analysis.statistics.intervals import Centre, Sample
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.study import Claim


def around(value: float, *, half: float = 0.01, centre: Centre = "mean") -> Sample:
    return Sample(values=value * (1.0 + half * np.linspace(-1.0, 1.0, 12)), centre=centre)


def evidence(samples: Mapping[float, Sample | None], **other: Value) -> Evidence:
    points = [MeasuredPoint({"load": load, **other}, one) for load, one in samples.items()]
    return Evidence(points=points, unit="s")


def check(predicted: Evidence, measured: Evidence, **fields: Any) -> ClaimResult:
    table = {
        "kind": "agreement", "name": "near", "text": "It is near.", "experiment": "model",
        "metric": "response_s_mean", "to_experiment": "device", "tolerance": 0.15, **fields,
    }  # fmt: skip
    both = Evidence(points=predicted.points, unit="s", to=measured)
    return check_claim(msgspec.convert(table, Claim), both)


def agreement(row: ClaimResult) -> AgreementEvidence:
    assert isinstance(row.evidence, AgreementEvidence)
    return row.evidence


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(1.05, "holds"), (0.9, "holds"), (1.3, "differs"), (1.15, "undecided")]
)
def test_one_point_agrees_where_its_whole_interval_does(ratio: float, verdict: str) -> None:
    measured = evidence({0.5: around(2.0, half=0.02, centre="median")})
    row = check(evidence({0.5: around(2.0 * ratio)}), measured)
    assert row.verdict == verdict
    assert row.value == pytest.approx(ratio)
    assert [pair.measured for pair in row.pairs] == [2.0]
    assert (row.unit, row.pair_unit, row.to_metric) == ("1", "s", "response_s_mean")


@pytest.mark.parametrize("noisy", ["predicted", "measured"])
def test_the_uncertainty_of_either_side_keeps_a_claim_undecided(noisy: str) -> None:
    halves = {"predicted": 0.01, "measured": 0.01, noisy: 0.4}
    row = check(
        evidence({0.5: around(2.0, half=halves["predicted"])}),
        evidence({0.5: around(2.0, half=halves["measured"])}),
    )
    assert row.verdict == "undecided"


def test_one_point_of_a_ramp_that_differs_makes_the_whole_claim_differ() -> None:
    predicted = evidence({load: around(load) for load in (0.1, 0.5, 0.9)})
    measured = evidence({0.1: around(0.1), 0.5: around(0.51), 0.9: around(1.5), 0.95: around(9.0)})
    row = check(predicted, measured)
    assert row.verdict == "differs"
    found = agreement(row)
    assert found.count == 3
    assert found.confidence == pytest.approx(1.0 - 0.05 / 3)
    assert (found.worst, found.decisive) == (2, 2)
    assert [pair.levels["load"] for pair in row.pairs] == [0.1, 0.5, 0.9]


def test_levels_in_to_choose_among_the_points_of_the_other_experiment() -> None:
    measured = Evidence(
        points=[
            *evidence({0.5: around(1.0)}, target="ram").points,
            *evidence({0.5: around(3.0)}, target="disk").points,
        ]
    )
    predicted = evidence({0.5: around(3.0)})
    assert check(predicted, measured, to={"target": "disk"}).verdict == "holds"
    assert check(predicted, measured, to={"target": "ram"}).verdict == "differs"
    unclear = check(predicted, measured)
    assert unclear.verdict == "undecided"
    assert unclear.evidence == MissingEvidence(
        code="several_partners", levels={"load": 0.5}, experiment="device", count=2
    )


def test_points_without_figures_or_without_a_partner_are_told() -> None:
    row = check(evidence({0.5: None}), evidence({0.5: around(1.0)}))
    missing = MissingEvidence(code="no_results", metric="response_s_mean", levels={"load": 0.5})
    assert (row.verdict, row.evidence) == ("undecided", missing)
    some = check(
        evidence({0.1: around(1.0), 0.5: around(1.0)}), evidence({0.1: around(1.0), 0.5: None})
    )
    assert some.verdict == "undecided"
    assert (agreement(some).missing, agreement(some).decisive) == (missing, None)
    assert some.pairs[0].verdict == "holds"
    assert [pair.levels["load"] for pair in some.pairs] == [0.1]
    wrong = check(
        evidence({0.1: around(9.0), 0.5: around(1.0)}), evidence({0.1: around(1.0), 0.5: None})
    )
    assert wrong.verdict == "differs"
    apart = check(evidence({0.5: around(1.0)}), evidence({0.7: around(1.0)}))
    assert apart.evidence == MissingEvidence(code="no_common_point")


def test_how_runs_scatter_can_be_predicted_too() -> None:
    predicted, measured = around(5.0, half=0.1), around(5.0, half=0.11)
    row = check(
        evidence({0.5: predicted}), evidence({0.5: measured}), statistic="stdev", tolerance=0.9
    )
    assert row.value == pytest.approx(1.0 / 1.1, rel=1e-3)
    assert row.statistic == "stdev"


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((1.02, 0.95, 4.5), "holds"),
        ((1.02, 1.8, 4.5), "differs"),
        ((1.02, 1.15, 4.5), "undecided"),
        ((1.02, 0.73, 1.01, 1.9), "undecided"),
    ],
)
def test_the_median_of_the_errors_may_be_claimed(ratios: tuple[float, ...], verdict: str) -> None:
    """Oracle: with an odd number of points it is the error of the one in the middle."""
    loads = [0.1 * (number + 1) for number in range(len(ratios))]
    predicted = dict(zip(loads, map(around, ratios), strict=True))
    measured = {load: around(1.0) for load in loads}
    row = check(evidence(predicted), evidence(measured), points="median", tolerance=0.15)
    assert row.verdict == verdict
    found = agreement(row)
    assert found.is_median
    assert found.median is not None
    assert found.median == pytest.approx(median(abs(ratio - 1.0) for ratio in ratios), abs=1e-6)
    assert found.median_low is not None
    assert found.median_high is not None
    assert found.median_low < found.median < found.median_high


@pytest.mark.parametrize(("predicted", "measured"), [(9.0, 2.0), (2.0, 7.6)])
def test_the_decisive_pair_of_a_prediction_that_is_far_off_says_by_which_factor(
    predicted: float, measured: float
) -> None:
    row = check(evidence({0.5: around(predicted)}), evidence({0.5: around(measured)}))
    assert row.verdict == "differs"
    assert agreement(row).decisive == 0
    assert row.pairs[0].ratio == pytest.approx(predicted / measured)


def test_a_median_over_a_point_without_figures_is_undecided() -> None:
    predicted = evidence({0.1: around(1.0), 0.5: around(1.0), 0.9: None})
    measured = evidence({0.1: around(1.0), 0.5: around(1.0), 0.9: around(1.0)})
    row = check(predicted, measured, points="median")
    assert row.verdict == "undecided"
    assert agreement(row).missing == MissingEvidence(
        code="no_results", metric="response_s_mean", levels={"load": 0.9}
    )


ENDLESS = Sample(values=np.full(12, np.inf), centre="mean")


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [((1.0, 1.05), "holds"), ((1.0, 1.4), "differs"), ((1.5, 2.0), "differs")],
)
def test_a_point_that_only_the_prediction_calls_saturated_is_one_error_of_a_median(
    ratios: tuple[float, float], verdict: str
) -> None:
    loads = (0.3, 0.6)
    predicted: dict[float, Sample | None] = {
        load: around(ratio) for load, ratio in zip(loads, ratios, strict=True)
    }
    measured = {load: around(1.0) for load in (*loads, 0.95)}
    row = check(evidence(predicted | {0.95: ENDLESS}), evidence(measured), points="median")
    assert row.verdict == verdict
    assert len(row.pairs) == 2
    assert agreement(row).unbounded == [UnboundedPair(levels={"load": 0.95}, side="predicted")]


def test_a_median_of_points_that_are_all_saturated_on_one_side_differs() -> None:
    row = check(evidence({0.9: ENDLESS}), evidence({0.9: around(1.0)}), points="median")
    assert row.verdict == "differs"
    assert not row.pairs
    assert agreement(row).unbounded == [UnboundedPair(levels={"load": 0.9}, side="predicted")]
