"""Claims about ranks that leave out what was not measured to differ."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from headroom.analysis.claims.claim_evidence import Evidence, MeasuredPoint
from headroom.analysis.claims.claims import check_claim
from headroom.analysis.evidence import ErrorsEvidence, WithinNoise
from headroom.analysis.results import ClaimResult
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.statistics.parts import Part
from headroom.experiment.study.study import Claim

SIZES = (1, 2, 4)
Times = Mapping[str, Sequence[float]]
"""Mode to the times at each size."""


def points(times: Times, *, noise: float, seed: int) -> list[MeasuredPoint]:
    rng = np.random.default_rng(seed)
    return [
        MeasuredPoint(
            {"mode": mode, "size": size},
            Sample(values=time * (1.0 + rng.normal(0.0, noise, 10)), centre="median"),
        )
        for mode, row in times.items()
        for size, time in zip(SIZES, row, strict=True)
    ]


def check(predicted: Times, measured: Times, **fields: Any) -> ClaimResult:
    table = {
        "kind": "errors", "name": "ranks", "text": "It ranks them.", "experiment": "model",
        "metric": "record_s", "to_experiment": "device", "rank_at_least": 0.9,
        "beyond_noise": True, "reference": {"size": 1}, **fields,
    }  # fmt: skip
    to = Evidence(points=points(measured, noise=0.02, seed=2))
    both = Evidence(points=points(predicted, noise=1e-4, seed=1), to=to)
    return check_claim(msgspec.convert(table, Claim), both)


def left_out(row: ClaimResult) -> WithinNoise:
    assert isinstance(row.evidence, ErrorsEvidence)
    assert row.evidence.within_noise is not None
    return row.evidence.within_noise


STEEP = {"steep": [1.0, 2.0, 4.0]}
FLAT = {"flat": [3.0, 3.0, 3.0]}


def test_groups_of_equal_values_are_left_out_and_counted() -> None:
    """The model orders the flat group by differences that no measurement shows."""
    predicted = STEEP | {"flat": [3.3, 3.0, 0.5]}
    row = check(predicted, STEEP | FLAT)
    assert row.value == pytest.approx(1.0)
    assert row.verdict == "holds"
    assert left_out(row) == WithinNoise(factors=["size"], groups=2, left_out=1, points=3)
    whole = check(predicted, STEEP | FLAT, beyond_noise=False)
    assert whole.verdict == "undecided"
    assert whole.value is not None
    assert whole.value < 0.9
    assert isinstance(whole.evidence, ErrorsEvidence)
    assert whole.evidence.within_noise is None


def test_a_wrong_order_of_what_differs_still_counts() -> None:
    row = check({"steep": [4.0, 2.0, 1.0]} | FLAT, STEEP | FLAT)
    assert row.value == pytest.approx(-1.0)
    assert row.verdict == "differs"


def test_without_a_difference_beyond_noise_the_claim_is_undecided() -> None:
    row = check(FLAT, FLAT)
    assert (row.verdict, row.value) == ("undecided", None)
    assert left_out(row).left_out == left_out(row).groups == 1


def test_a_single_replication_shows_no_noise_so_nothing_is_beyond_it() -> None:
    lone = [
        MeasuredPoint(point.levels, Sample(values=point.sample.values[:1]))
        for point in points(STEEP, noise=0.02, seed=1)
        if point.sample is not None
    ]
    claim = msgspec.convert(
        {
            "kind": "errors", "name": "ranks", "text": "", "experiment": "model", "metric": "m",
            "to_experiment": "device", "rank_at_least": 0.9, "beyond_noise": True,
            "reference": {"size": 1},
        },
        Claim,
    )  # fmt: skip
    row = check_claim(claim, Evidence(points=lone, to=Evidence(points=lone)))
    assert row.verdict == "undecided"


def test_a_derived_quantity_says_itself_what_it_compares() -> None:
    """Slowdowns against size 1: an error of that size moves the others together."""

    def against(times: Sequence[float], error: float) -> list[MeasuredPoint]:
        base = times[0]
        found = []
        for size, time in zip(SIZES, times, strict=True):
            own = {f"size {size}": Part(error / base, 9.0)} if size > 1 else {}
            common = {"size 1": Part(-time * error / base**2, 9.0)} if size > 1 else {}
            sample = Sample(
                values=np.array([time / base]), centre="pooled", pooled=time / base,
                parts=own | common,
            )  # fmt: skip
            found.append(MeasuredPoint({"size": size}, sample))
        return found

    claim = msgspec.convert(
        {
            "kind": "errors", "name": "ranks", "text": "", "experiment": "model", "metric": "m",
            "to_experiment": "device", "rank_at_least": 0.9, "beyond_noise": True,
        },
        Claim,
    )  # fmt: skip

    def counted(error: float) -> int:
        measured = Evidence(points=against([1.0, 1.1, 1.2], error), over=frozenset({"size"}))
        both = Evidence(points=against([1.0, 1.1, 1.2], 1e-6), to=measured)
        found = left_out(check_claim(claim, both))
        return found.groups - found.left_out

    assert counted(0.01) == 1
    assert counted(0.2) == 0
