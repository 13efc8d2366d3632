"""Claims: each kind holds, differs and stays undecided; verdicts never flip past undecided."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.analysis.claims.claim_evidence import Evidence, MeasuredPoint, Region, decide
from headroom.analysis.claims.claims import check_claim
from headroom.analysis.evidence import (
    Allowed,
    CurveEvidence,
    FlatEvidence,
    IntervalEvidence,
    MissingEvidence,
    NoInterval,
    NoKnee,
    NoKneeEvidence,
    SignEvidence,
    ZeroEvidence,
)
from headroom.analysis.results import ClaimResult
from headroom.analysis.statistics.intervals import Centre, Interval, Sample
from headroom.experiment.protocol.system import Column, Value
from headroom.experiment.study.study import Claim


def spread(value: float, half: float, *, count: int = 8, centre: Centre = "mean") -> Sample:
    """Return a sample around `value` whose values differ by `half` at most."""
    return Sample(values=value + half * np.linspace(-1.0, 1.0, count), centre=centre)


def check(kind: str, evidence: Evidence, **fields: Any) -> ClaimResult:
    table = {
        "kind": kind, "name": "claim", "text": "It is so.", "experiment": "web",
        "metric": "throughput", **fields,
    }  # fmt: skip
    return check_claim(msgspec.convert(table, Claim), evidence)


def curve(
    samples: Mapping[Any, Sample | None] | Sequence[tuple[Value, Sample | None]],
    *,
    factor: str = "users",
    unit: str = "1/s",
) -> Evidence:
    pairs = samples.items() if isinstance(samples, Mapping) else samples
    points = [MeasuredPoint({factor: level}, sample) for level, sample in pairs]
    return Evidence(points=points, unit=unit, factor_units={factor: "1"})


@pytest.mark.parametrize(
    ("value", "verdict"), [(100.0, "holds"), (150.0, "differs"), (110.0, "undecided")]
)
def test_a_value_is_decided_by_its_whole_interval(value: float, verdict: str) -> None:
    evidence = curve({10: spread(value, 1.0)})
    row = check("value", evidence, where={"users": 10}, value=100.0, tolerance=0.1)
    assert row.verdict == verdict
    assert row.value == pytest.approx(value)
    assert row.unit == "1/s"


def test_an_absolute_tolerance_is_in_the_unit_of_the_metric() -> None:
    evidence = curve({10: spread(104.0, 1.0)})
    for margin, verdict in ((6.0, "holds"), (2.0, "differs")):
        row = check("value", evidence, where={"users": 10}, value=100.0, tolerance_absolute=margin)
        assert row.verdict == verdict


def test_an_extreme_is_that_of_as_many_replications_as_the_published_one() -> None:
    evidence = curve({10: Sample(values=np.arange(1.0, 201.0))})
    fields = {"where": {"users": 10}, "statistic": "minimum", "tolerance_absolute": 8.0}
    row = check("value", evidence, **fields, value=7.0, extreme_of=20)
    assert (row.verdict, row.value) == ("holds", 7.0)
    assert isinstance(row.evidence, IntervalEvidence)
    assert (row.statistic, row.evidence.extreme_of) == ("minimum", 20)
    assert check("value", evidence, **fields, value=60.0, extreme_of=20).verdict == "differs"
    few = curve({10: Sample(values=np.arange(1.0, 21.0))})
    assert check("value", few, **fields, value=1.0, extreme_of=20).verdict == "undecided"


def test_a_tolerance_around_a_negative_value_has_two_sides() -> None:
    evidence = curve({10: spread(-100.0, 0.5)})
    row = check("value", evidence, where={"users": 10}, value=-100.0, tolerance=0.02)
    assert row.verdict == "holds"


def test_one_replication_leaves_a_value_undecided_and_says_why() -> None:
    row = check("value", curve({10: spread(100.0, 0.0, count=1)}), value=100.0, tolerance=0.5)
    assert row.verdict == "undecided"
    assert isinstance(row.evidence, IntervalEvidence)
    assert row.evidence.reason == NoInterval(code="one_replication")


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"value": 2.0, "tolerance": 0.1}, "holds"),
        ({"value": 3.0, "tolerance": 0.1}, "differs"),
        ({"value": 2.0, "tolerance": 0.001}, "undecided"),
        ({"at_least": 1.5}, "holds"),
        ({"at_least": 2.5}, "differs"),
        ({"at_most": 2.5}, "holds"),
        ({"at_most": 1.5}, "differs"),
        ({"at_least": 1.5, "at_most": 2.0}, "undecided"),
    ],
)
def test_a_ratio_is_a_value_or_a_bound(fields: dict[str, float], verdict: str) -> None:
    evidence = curve({1: spread(10.0, 0.2), 2: spread(20.0, 0.4)})
    row = check("ratio", evidence, where={"users": 2}, to={"users": 1}, **fields)
    assert row.verdict == verdict
    assert row.value == pytest.approx(2.0)
    assert row.unit == "1"
    assert isinstance(row.evidence, IntervalEvidence)
    assert row.evidence.is_ratio


def test_a_ratio_to_nothing_is_decided_by_differences() -> None:
    evidence = curve({1: spread(0.0, 0.0), 2: spread(20.0, 0.4)})
    row = check("ratio", evidence, where={"users": 2}, to={"users": 1}, at_least=1.0)
    assert (row.verdict, row.value) == ("holds", None)
    assert row.evidence == SignEvidence(allowed=Allowed(low=1.0), place="inside")
    more = check("ratio", evidence, where={"users": 2}, to={"users": 1}, at_most=9.0)
    assert more.verdict == "differs"
    none = curve({1: spread(0.0, 0.0), 2: spread(0.0, 0.0)})
    both = check("ratio", none, where={"users": 2}, to={"users": 1}, at_most=1.0)
    assert (both.verdict, both.evidence) == ("holds", ZeroEvidence(allowed=Allowed(high=1.0)))
    twice = check("ratio", none, where={"users": 2}, to={"users": 1}, at_least=2.0)
    assert (twice.verdict, twice.evidence) == ("undecided", ZeroEvidence(allowed=Allowed(low=2.0)))


@pytest.mark.parametrize(
    ("values", "verdict"),
    [((1.0, 2.0, 3.0), "holds"), ((1.0, 3.0, 2.0), "differs"), ((1.0, 2.0, 2.0), "undecided")],
)
@pytest.mark.parametrize("centre", ["mean", "median"])
def test_an_ordering_holds_when_every_step_is_up(
    values: tuple[float, ...], verdict: str, centre: Centre
) -> None:
    names = ("xz", "gzip", "lz4")
    samples = {
        name: spread(v, 0.05, count=12, centre=centre)
        for name, v in zip(names, values, strict=True)
    }
    evidence = curve(samples, factor="tool")
    row = check("ordering", evidence, factor="tool", order=list(names))
    assert row.verdict == verdict
    found = row.evidence
    assert isinstance(found, CurveEvidence)
    assert found.comparisons == 2
    assert found.confidence == pytest.approx(0.975)
    assert (found.shape, found.factor, row.unit) == ("ordered", "tool", "1/s")
    assert [level.level for level in found.levels] == list(names)
    assert [level.value for level in found.levels] == pytest.approx(values)
    failed = None if found.decisive is None else (found.decisive.level, found.decisive.to_level)
    assert failed == (None if verdict == "holds" else ("gzip", "lz4"))


def test_equal_exact_values_are_not_strictly_ordered() -> None:
    evidence = curve({"a": spread(1.0, 0.0), "b": spread(1.0, 0.0)}, factor="tool")
    row = check("ordering", evidence, factor="tool", order=["a", "b"])
    assert row.verdict == "differs"


def test_medians_of_few_replications_leave_an_ordering_undecided() -> None:
    """Five values do not hold a median with 95%, however far apart two of them are."""
    samples = {name: spread(v, 0.01, count=5, centre="median") for name, v in
               (("a", 1.0), ("b", 9.0))}  # fmt: skip
    row = check("ordering", curve(samples, factor="tool"), factor="tool", order=["a", "b"])
    assert row.verdict == "undecided"
    assert isinstance(row.evidence, CurveEvidence)
    assert row.evidence.decisive is not None
    assert row.evidence.decisive.reason is not None
    assert row.evidence.decisive.reason.code == "few_for_median"


@pytest.mark.parametrize(
    ("direction", "values", "tolerance", "verdict"),
    [
        ("rises", (1.0, 2.0, 3.0), 0.0, "holds"),
        ("falls", (1.0, 2.0, 3.0), 0.0, "differs"),
        ("falls", (3.0, 2.0, 1.0), 0.0, "holds"),
        ("rises", (1.0, 3.0, 3.0), 0.0, "undecided"),
        ("rises", (1.0, 3.0, 3.0), 0.05, "holds"),
        ("falls", (3.0, 1.0, 1.0), 0.05, "holds"),
        ("rises", (1.0, 3.0, 2.0), 0.05, "differs"),
        ("rises", (-3.0, -2.0, -2.0), 0.05, "holds"),
        ("falls", (-1.0, -3.0, -3.0), 0.05, "holds"),
    ],
)
def test_a_monotone_claim_looks_at_every_step(
    direction: str, values: Sequence[float], tolerance: float, verdict: str
) -> None:
    """The levels come in any order; a plateau is settled only by a tolerance."""
    pairs = [(level, spread(v, 0.02)) for level, v in zip((10, 20, 30), values, strict=True)]
    row = check(
        "monotone", curve(pairs[::-1]), factor="users", direction=direction, tolerance=tolerance
    )
    assert row.verdict == verdict


@pytest.mark.parametrize(
    ("values", "tolerance", "verdict"),
    [
        ((10.0, 10.1, 9.9), 0.05, "holds"),
        ((10.0, 12.0, 8.0), 0.05, "differs"),
        ((10.0, 10.5, 9.5), 0.05, "undecided"),
        ((-10.0, -10.1, -9.9), 0.05, "holds"),
    ],
)
def test_a_flat_claim_compares_every_level_with_the_mean(
    values: Sequence[float], tolerance: float, verdict: str
) -> None:
    pairs = [(level, spread(v, 0.05)) for level, v in zip((10, 20, 30), values, strict=True)]
    row = check("flat", curve(pairs), factor="users", tolerance=tolerance)
    assert row.verdict == verdict
    evidence = row.evidence
    assert isinstance(evidence, FlatEvidence)
    assert evidence.comparisons == 6
    assert evidence.confidence == pytest.approx(1.0 - 0.05 / 6)
    assert evidence.mean == pytest.approx(sum(values) / 3)
    assert evidence.largest_distance == pytest.approx(max(abs(v - evidence.mean) for v in values))
    assert (evidence.decisive is None) == (verdict == "holds")


def test_a_flat_claim_may_look_at_a_part_of_the_levels() -> None:
    pairs = [(level, spread(v, 0.01)) for level, v in ((1, 50.0), (10, 10.0), (20, 10.0))]
    fields = {"factor": "users", "tolerance": 0.05}
    assert check("flat", curve(pairs), **fields).verdict == "differs"
    assert check("flat", curve(pairs), **fields, **{"from": 5}).verdict == "holds"
    row = check("flat", curve(pairs), **fields, **{"from": 15})
    assert row.evidence == MissingEvidence(code="few_levels_in_range", factor="users")


@pytest.mark.parametrize(
    ("level", "tolerance", "verdict"), [(5.0, 0.1, "holds"), (8.0, 0.1, "differs")]
)
def test_a_knee_is_compared_with_its_level(level: float, tolerance: float, verdict: str) -> None:
    pairs = [(n, spread(min(n, 5.0), 0.005)) for n in range(1, 11)]
    row = check("knee", curve(pairs), factor="users", level=level, tolerance=tolerance)
    assert row.verdict == verdict
    assert row.value == pytest.approx(5.0, abs=0.05)
    assert row.unit == "1"


def test_a_curve_without_a_knee_leaves_the_claim_undecided() -> None:
    pairs = [(n, spread(2.0 * n, 0.1)) for n in range(1, 11)]
    row = check("knee", curve(pairs), factor="users", level=5.0, tolerance=0.1)
    straight = NoKneeEvidence(reason=NoKnee(code="straight"))
    assert (row.verdict, row.evidence) == ("undecided", straight)


def test_a_claim_needs_only_the_levels_that_it_names() -> None:
    """Whatever happened at 9 users says nothing about the levels up to 3."""
    samples = {n: spread(2.0 + 0.001 * n, 0.0005) for n in range(1, 4)}
    evidence = curve({**samples, 9: None})
    flat = check("flat", evidence, factor="users", tolerance=0.1, to=3.0)
    ordered = check("ordering", evidence, factor="users", order=[1, 2, 3])
    rising = check("monotone", evidence, factor="users", direction="rises")
    assert (flat.verdict, ordered.verdict, rising.verdict) == ("holds", "holds", "undecided")
    assert rising.evidence == MissingEvidence(
        code="no_results", metric="throughput", levels={"users": 9}
    )


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("value", {"where": {"users": 3}, "value": 1.0, "tolerance": 0.1}),
        ("ratio", {"where": {"users": 1}, "to": {"users": 3}, "at_least": 1.0}),
        ("ordering", {"factor": "users", "order": [1, 3]}),
        ("flat", {"where": {"users": 3}, "factor": "users", "tolerance": 0.1}),
    ],
)
def test_levels_that_the_quick_variant_leaves_out_are_said_in_one_way(
    kind: str, fields: dict[str, Any]
) -> None:
    evidence = curve({1: spread(1.0, 0.1), 2: spread(2.0, 0.1)})
    row = check(kind, replace(evidence, is_quick=True), **fields)
    left_out = MissingEvidence(code="not_planned", levels={"users": 3}, is_quick=True)
    assert (row.verdict, row.evidence) == ("undecided", left_out)


def test_a_knee_says_which_levels_have_no_figures() -> None:
    pairs = [(n, None if n == 8 else spread(min(n, 5.0), 0.005)) for n in range(1, 11)]
    row = check("knee", curve(pairs), factor="users", level=5.0, tolerance=0.1)
    assert row.verdict == "holds"
    assert isinstance(row.evidence, IntervalEvidence)
    assert row.evidence.without == [8.0]


@pytest.mark.parametrize(
    ("evidence", "fields", "missing"),
    [
        (Evidence(points=[]), {}, MissingEvidence(code="not_run")),
        (
            curve({10: None}),
            {},
            MissingEvidence(code="no_results", metric="throughput", levels={"users": 10}),
        ),
        (
            curve({10: None}),
            {"where": {"users": 9}},
            MissingEvidence(code="not_planned", levels={"users": 9}),
        ),
        (curve({10: None, 20: None}), {}, MissingEvidence(code="several_points", count=2)),
    ],
)
def test_missing_data_leaves_a_claim_undecided_and_says_what_is_missing(
    evidence: Evidence, fields: dict[str, Any], missing: MissingEvidence
) -> None:
    row = check("value", evidence, value=1.0, tolerance=0.1, **fields)
    assert (row.verdict, row.evidence) == ("undecided", missing)
    assert (row.value, row.low, row.high) == (None, None, None)


def test_a_curve_over_one_factor_needs_the_others_held() -> None:
    points = [
        MeasuredPoint({"users": 1, "servers": servers}, spread(1.0, 0.1)) for servers in (1, 2)
    ]
    row = check("monotone", Evidence(points=points), factor="users", direction="rises")
    assert row.evidence == MissingEvidence(
        code="repeated_level", factor="users", levels={"users": 1}
    )


def test_words_have_no_slope() -> None:
    evidence = curve({"a": spread(1.0, 0.1), "b": spread(2.0, 0.1)}, factor="tool")
    row = check("monotone", evidence, factor="tool", direction="rises")
    assert row.evidence == MissingEvidence(code="not_a_number", factor="tool", levels={"tool": "a"})


@pytest.mark.parametrize(
    ("direction", "values", "size", "levels"),
    [
        ("rises", (1.0, 2.0, 4.0, 4.5, 6.0, 9.0), 0.5, (3, 4)),
        ("rises", (1.0, 2.0, 4.0, 3.5, 6.0, 9.0), -0.5, (3, 4)),
        ("falls", (9.0, 6.0, 3.5, 4.0, 2.0, 1.0), -0.5, (3, 4)),
    ],
)
def test_the_smallest_step_has_a_sign_that_tells_a_contradiction_from_a_small_step(
    direction: str, values: Sequence[float], size: float, levels: tuple[int, int]
) -> None:
    evidence = curve([(n, spread(value, 0.1)) for n, value in enumerate(values, 1)])
    found = check("monotone", evidence, factor="users", direction=direction).evidence
    assert isinstance(found, CurveEvidence)
    step = found.smallest_step
    assert step is not None
    assert (step.level, step.to_level) == levels
    assert step.value == pytest.approx(size)
    assert step.low is not None
    assert step.low < size


finite = st.floats(-1e3, 1e3, allow_nan=False)


@given(finite, st.floats(0.0, 1e3), finite, st.floats(0.0, 1e3), st.floats(0.0, 1.0))
def test_a_narrower_interval_inside_a_wider_one_never_flips_the_verdict(
    value: float, half: float, low: float, width: float, share: float
) -> None:
    """A decided claim stays decided; only undecided may turn into holds or differs."""

    def verdict(half_width: float) -> str:
        interval = Interval(
            value=value, low=value - half_width, high=value + half_width, method="student-t"
        )
        return decide(interval, Region(low, low + width))

    wide, narrow = verdict(half), verdict(share * half)
    assert wide in {narrow, "undecided"}


@given(finite, finite, st.floats(1e-6, 10.0), st.floats(0.0, 10.0))
def test_a_moving_interval_passes_undecided_between_holds_and_differs(
    start: float, step: float, half: float, width: float
) -> None:
    """In steps smaller than the interval no jump from holds to differs is possible."""
    places = start + np.cumsum(np.full(50, np.sign(step) * half / 2))
    region = Region(start - width, start + width)
    seen = [
        decide(Interval(value=x, low=x - half, high=x + half, method="student-t"), region)
        for x in places
    ]
    assert all({a, b} != {"holds", "differs"} for a, b in pairwise(seen))


@given(
    st.lists(st.floats(1.0, 100.0), min_size=2, max_size=6),
    st.floats(0.001, 50.0),
    st.floats(0.01, 1.0),
)
def test_less_noise_never_turns_a_decided_curve_into_its_opposite(
    values: list[float], half: float, share: float
) -> None:
    def verdicts(noise: float) -> list[str]:
        evidence = curve([(n, spread(v, noise)) for n, v in enumerate(values)])
        return [
            check("monotone", evidence, factor="users", direction="rises").verdict,
            check("flat", evidence, factor="users", tolerance=0.2).verdict,
            check("ordering", evidence, factor="users", order=list(range(len(values)))).verdict,
        ]

    for wide, narrow in zip(verdicts(half), verdicts(share * half), strict=True):
        assert wide in {narrow, "undecided"}


def test_a_true_ordering_is_contradicted_in_fewer_than_1_of_20_studies() -> None:
    """Family-wise: six equal steps of nearly nothing, 400 studies of pure noise."""
    random = np.random.default_rng(21)
    wrong = 0
    for _ in range(400):
        samples = [(n, Sample(values=random.normal(10.0, 1.0, 6))) for n in range(7)]
        row = check("monotone", curve(samples), factor="users", direction="rises")
        wrong += row.verdict == "differs"
    assert wrong <= 20


@pytest.mark.parametrize(
    ("kind", "fields", "values", "verdict"),
    [
        ("flat", {"tolerance": 0.2}, (-1.0, -1.06), "holds"),
        ("flat", {"tolerance": 0.2}, (-1.0, -2.0), "differs"),
        ("flat", {"tolerance": 0.2}, (1.0, 1.06), "holds"),
        ("flat", {"tolerance": 0.2}, (1.06, 1.0), "holds"),
        ("flat", {"tolerance": 0.2}, (1.0, 2.0), "differs"),
        ("flat", {"tolerance": 0.2}, (2.0, 1.0), "differs"),
        ("monotone", {"direction": "rises"}, (1.0, 2.0), "holds"),
        ("monotone", {"direction": "rises"}, (2.0, 1.0), "differs"),
        ("monotone", {"direction": "falls", "tolerance": 0.1}, (1.0, 1.05), "holds"),
        ("monotone", {"direction": "falls", "tolerance": 0.1}, (1.0, 1.2), "differs"),
        ("ordering", {"order": [1, 2]}, (1.0, 2.0), "holds"),
        ("ordering", {"order": [1, 2]}, (2.0, 1.0), "differs"),
    ],
)
def test_a_step_between_two_measured_levels_is_judged_by_their_ratio(
    kind: str, fields: dict[str, Any], values: tuple[float, float], verdict: str
) -> None:
    """Cause: a flat claim over two levels looked for its upper bound on the lower side."""
    samples = {
        level: spread(value, 0.01, centre="median")
        for level, value in zip((1, 2), values, strict=True)
    }
    evidence = replace(curve(samples), column=Column.MEASURE)
    assert check(kind, evidence, factor="users", **fields).verdict == verdict


@pytest.mark.parametrize(
    ("published", "value", "is_printed"),
    [
        ("204.1 TPS", 204.1, True),
        ("204.1", 204.1, True),
        ("about 200 TPS", 200.0, False),
        ("no bottleneck", 0.25, False),
        ("4 are enough", 1.1, False),
        ("", 204.1, False),
    ],
)
def test_a_number_is_printed_where_the_publication_begins_with_it(
    published: str, value: float, *, is_printed: bool
) -> None:
    evidence = curve({10: spread(200.0, 1.0), 20: spread(150.0, 1.0)})
    found = check(
        "value", evidence, published=published, value=value, where={"users": 10}, tolerance=0.05
    )
    assert (found.printed is not None) == is_printed
    if found.printed is not None:
        assert (found.printed.levels, found.printed.value) == ({"users": 10}, value)


def test_a_number_for_several_points_belongs_to_none() -> None:
    evidence = curve({10: spread(200.0, 1.0), 20: spread(150.0, 1.0)})
    found = check("value", evidence, published="200 TPS", value=200.0, where={}, tolerance=0.05)
    assert found.printed is None
