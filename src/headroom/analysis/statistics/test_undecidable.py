"""Undecidable plans: reported before a run, with the number of runs that would suffice."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from headroom.analysis.statistics.extremes import extreme_interval
from headroom.analysis.statistics.intervals import median_interval
from headroom.analysis.statistics.signed_ranks import fewest_pairs
from headroom.analysis.statistics.undecidable import Undecidable, undecidable
from headroom.experiment.protocol.system import Column
from headroom.experiment.study.plan import Plan
from headroom.experiment.study.study import (
    Claim,
    Compare,
    FlatClaim,
    MonotoneClaim,
    OrderingClaim,
    RatioClaim,
    Replications,
    ValueClaim,
)
from tests.support.example_plan import WALL, ExampleStudy

ABOUT: dict[str, Any] = {"name": "it", "text": "It is so.", "experiment": "web", "metric": "wall_s"}


def planned(
    *claims: Claim,
    count: int = 6,
    column: Column = Column.MEASURE,
    metrics: Sequence[str] = (),
    levels: Sequence[int] = (1, 2),
    rule: Replications | None = None,
) -> Plan:
    """Return a plan of one experiment that compares its levels if `metrics` are named."""
    study = ExampleStudy(
        replications=rule or Replications(count=count), column=column, metrics=(WALL,),
        claims=claims, levels=levels,
    )  # fmt: skip
    plan = study.plan()
    if not metrics:
        return plan
    (one,) = plan.experiments
    compare = Compare(factor="users", base=1, metrics=list(metrics))
    spec = msgspec.structs.replace(one.spec, compare=compare)
    return replace(plan, experiments=(replace(one, spec=spec),))


def needs_of(plan: Plan) -> dict[str, int]:
    """Return the questions that can never be decided, with the replications that they need."""
    found = undecidable(plan).get("web")
    return {} if found is None else {one.question: one.needs for one in found.questions}


def test_five_measured_runs_have_no_interval_and_six_have() -> None:
    found = undecidable(planned(count=5))["web"]
    assert (found.planned, found.needs, found.key) == (5, 6, "replications.count")
    assert needs_of(planned(count=5)) == {"median": 6}
    assert needs_of(planned(count=6)) == {}
    assert needs_of(planned(count=1, column=Column.MODEL)) == {}


def test_a_comparison_of_ten_metrics_needs_nine_runs() -> None:
    """What was seen: six runs, ten metrics, and "run 9 or more" after the last of them."""
    found = undecidable(planned(count=6, metrics=[f"m{n}" for n in range(10)]))["web"]
    assert Undecidable(question="comparison", needs=9, metrics=10, base=1) in found.questions
    assert needs_of(planned(count=9, metrics=[f"m{n}" for n in range(10)])) == {}


def test_a_precision_that_the_maximum_never_reaches_is_named() -> None:
    rule = Replications(metric="wall_s", half_width=0.05, minimum=3, maximum=5)
    found = undecidable(planned(rule=rule))["web"]
    assert (found.planned, found.needs, found.key) == (5, 6, "replications.maximum")


@pytest.mark.parametrize(
    ("claim", "needs"),
    [
        (ValueClaim(**ABOUT, at_most=1.0), 6),
        (ValueClaim(**ABOUT, value=1.0, tolerance=0.1, statistic="minimum", extreme_of=20), 107),
        (RatioClaim(**ABOUT, to={"users": 1}, at_most=1.0), 6),
        (OrderingClaim(**ABOUT, factor="users", order=[1, 2, 3, 4, 5]), 8),
        (MonotoneClaim(**ABOUT, factor="users", direction="rises"), 8),
        (FlatClaim(**ABOUT, factor="users", tolerance=0.1), 9),
        (FlatClaim(**ABOUT, factor="users", tolerance=0.1, start=2.0, stop=3.0), 8),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_claim_of_several_comparisons_needs_more(claim: Claim, needs: int) -> None:
    levels = (1, 2, 3, 4, 5)
    assert needs_of(planned(claim, count=needs - 1, levels=levels))["claim"] == needs
    assert "claim" not in needs_of(planned(claim, count=needs, levels=levels))


def test_a_spread_needs_four_runs_of_a_model_too() -> None:
    claim = ValueClaim(**ABOUT, at_most=1.0, statistic="stdev")
    assert needs_of(planned(claim, count=3, column=Column.MODEL)) == {"claim": 4}
    assert needs_of(planned(claim, count=4, column=Column.MODEL)) == {}


@pytest.mark.parametrize("confidence", [0.95, 0.975, 0.99, 0.995])
def test_what_is_named_is_what_the_intervals_need(confidence: float) -> None:
    """One formula serves pairs and medians: the extremes must enclose the centre."""
    needs = fewest_pairs(confidence)
    assert median_interval(np.arange(float(needs)), confidence=confidence).low is not None
    assert median_interval(np.arange(needs - 1.0), confidence=confidence).low is None
    assert extreme_interval(np.arange(107.0), "minimum", of=20).low is not None
    assert extreme_interval(np.arange(106.0), "minimum", of=20).low is None
