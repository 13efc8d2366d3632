"""Wording of what fits and runs leave to be said: a few snapshots of each family."""

import pytest

from headroom.analysis.results import FitSet, FittedValue, LoadRange, Prediction
from headroom.experiment.protocol.fit_method import (
    LeastSquaresEvidence,
    ParameterEvidence,
    ShareEvidence,
)
from headroom.report.sentences.fits import (
    fit_notes,
    fitted_remark,
    prediction_errors,
    prediction_place,
    prediction_step,
)


def test_predictions() -> None:
    burst = Prediction(kind="burst", factor=1.9, predicted=LoadRange(clients=(96, 96)))
    assert prediction_place(burst) == "from a burst with other clients or at another utilization"
    assert prediction_errors(burst) == (
        "Demands fitted to such measurements were off by a factor of up to 1.90 in 95% of cases, "
        "and the intervals count that"
    )
    assert prediction_step(burst) == "repeat the burst with 96 clients"
    known = Prediction(kind="published", metrics=["throughput", "response_s_mean"])
    assert (prediction_place(known), prediction_step(known)) == ("", "")
    assert prediction_errors(known).startswith(
        "The intervals of throughput, response_s_mean count the published errors of this method"
    )


@pytest.mark.parametrize(
    ("evidence", "remark"),
    [
        (
            ParameterEvidence(code="open_below"),
            "a bound; not determined by these points below 12.3 ms: its profile stays flat to the "
            "end of the range",
        ),
        (
            ParameterEvidence(code="few_replications", count=1),
            "a bound; 1 replication of a point give no interval: run 2 or more",
        ),
        (
            ParameterEvidence(code="unstable", message="2 points are too few"),
            "a bound; no interval: without some replications, 2 points are too few",
        ),
    ],
    ids=lambda value: value.code if isinstance(value, ParameterEvidence) else "",
)
def test_fitted_values(evidence: ParameterEvidence, remark: str) -> None:
    value = FittedValue(
        name="service_s", value=0.0123, unit="s", note="a bound", evidence=[evidence]
    )
    assert fitted_remark(value) == remark


def test_fits() -> None:
    squares = LeastSquaresEvidence(observations=12, error=0.0345, answers="simulation")
    one = FitSet(where={}, parameters=[], evidence=squares, left_out={"sweep": 1, "low": 2})
    assert list(fit_notes(one)) == [
        "12 observations, root mean square of the relative errors 3.45%; predicted by short "
        "simulations",
        "1 point of sweep without results left out",
        "2 points of low without results left out",
    ]
    share = ShareEvidence(share=0.7, metric="throughput", points=3)
    load = FitSet(where={}, parameters=[], evidence=share, taken={"rate": 20.0})
    assert list(fit_notes(load)) == [
        "70% of the largest throughput of 3 points",
        "the load is that of the other experiment: rate = 20",
    ]
