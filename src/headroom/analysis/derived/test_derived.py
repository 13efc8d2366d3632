"""Derived quantities: against formulas, with points missing, and how often intervals cover."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from headroom.analysis.derived.derive import derive, derived_result
from headroom.analysis.derived.quantity import Cell, measured_cell
from headroom.analysis.results import DerivedValue
from headroom.analysis.statistics.intervals import Centre, Sample, contrast, ratio
from headroom.experiment.protocol import plug_ins
from headroom.experiment.study.plan import Operation, PlannedDerived
from headroom.experiment.study.study import Derived, Statistic

SIZES, TABLES = (64, 128, 256), (500, 5000)
Values = Mapping[tuple[int, int], Sequence[float]]


def cells(values: Values, centre: Centre = "mean") -> list[Cell]:
    """Return the cells of a size by table design; no replications are a failed point."""
    return [
        measured_cell(
            {"size": size, "table": table},
            Sample(values=np.array(found), centre=centre) if len(found) else None,
            name=f"{size} {table}",
            quantity="run_s",
            statistic="centre",
        )
        for (size, table), found in values.items()
    ]


def planned(operation: Operation, over: Sequence[str] = (), **keys: Any) -> PlannedDerived:
    """Return the plan of one quantity."""
    value = keys.pop(operation, list(over))
    table = {"name": "q", "of": "run_s", operation: value, **keys}
    spec = msgspec.convert(table, Derived)
    to = value if operation in {"ratio_to", "difference_to"} else {}
    return PlannedDerived(
        spec=spec, operation=operation, unit="1", factors=(), over=frozenset(over or to), to=to
    )


def values(plan: PlannedDerived, found: Sequence[Cell]) -> list[DerivedValue]:
    return derived_result(plan, derive(plan, found, found)).values


def noisy(law: Callable[[], float], times: int) -> Values:
    return {
        (size, table): [(1.0 + place) * law() for _ in range(times)]
        for table in TABLES
        for place, size in enumerate(SIZES)
    }


def exact(*, times: int = 3) -> Values:
    """Return replications that do not vary, so that formulas hold to the last digit."""
    return noisy(lambda: 2.0, times)


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (planned("ratio_to", ratio_to={"size": 64}), [1, 2, 3] * 2),
        (planned("ratio_to", ratio_to={"size": 256}, inverse=True), [3, 1.5, 1] * 2),
        (planned("difference_to", difference_to={"size": 64}), [0, 2, 4] * 2),
        (planned("divided_by", divided_by="size"), [2 / 64, 4 / 128, 6 / 256] * 2),
        (planned("share_over", ["size"]), [1 / 6, 2 / 6, 3 / 6] * 2),
        (planned("standardised_over", ["size"]), [-1, 0, 1] * 2),
        (planned("sum_over", ["table"]), [4, 8, 12]),
        (planned("mean_over", ["size"]), [4, 4]),
        (planned("geometric_mean_over", ["size"]), [48 ** (1 / 3)] * 2),
        (planned("maximum_over", ["size", "table"]), [6]),
        (planned("minimum_over", ["size"]), [2, 2]),
    ],
    ids=lambda one: one.operation if isinstance(one, PlannedDerived) else "",
)
def test_an_operation_gives_its_formula(plan: PlannedDerived, expected: list[float]) -> None:
    found = values(plan, cells(exact()))
    assert [one.value for one in found] == pytest.approx(expected)
    assert all(one.low == one.value == one.high for one in found)


def test_norm_sums_of_a_full_grid_add_up_to_zero() -> None:
    """Oracle: norms are centred, so their sums over all tables are centred too."""
    rng = np.random.default_rng(1)
    norms = derive(planned("standardised_over", ["size"]), cells(noisy(rng.random, 5)), [])
    sums = values(planned("sum_over", ["table"]), norms)
    assert sum(one.value or 0.0 for one in sums) == pytest.approx(0.0, abs=1e-12)
    assert [one.levels for one in sums] == [{"size": size} for size in SIZES]


def test_levels_that_do_not_differ_have_norm_zero() -> None:
    same = {(size, 500): [2.0, 2.0] for size in SIZES}
    found = values(planned("standardised_over", ["size"]), cells(same))
    assert [one.value for one in found] == [0.0, 0.0, 0.0]


def test_a_missing_point_is_counted_or_takes_what_refers_to_it_with_it() -> None:
    holed = cells({**exact(), (64, 500): ()})
    summed = values(planned("sum_over", ["size"]), holed)
    assert [(one.value, one.count, one.planned) for one in summed] == [(10, 2, 3), (12, 3, 3)]
    assert summed[0].missing is not None
    assert summed[0].missing.levels == {"size": 64, "table": 500}
    ratios = values(planned("ratio_to", ratio_to={"size": 64}), holed)
    assert [one.value for one in ratios] == [None, None, None, 1, 2, 3]
    assert {one.missing.code for one in ratios if one.missing} == {"no_results"}
    unplanned = values(planned("ratio_to", ratio_to={"size": 32}), holed)
    assert {one.missing.code for one in unplanned[1:] if one.missing} == {"no_point"}


def test_a_saturated_point_and_a_zero_divisor_say_so() -> None:
    found = cells({(64, 500): [0.0, 0.0], (128, 500): [np.inf, np.inf]})
    codes = [one.missing and one.missing.code
             for one in values(planned("ratio_to", ratio_to={"size": 64}), found)]  # fmt: skip
    assert codes == ["zero_divisor", "saturated"]


def test_one_replication_gives_a_value_without_an_interval() -> None:
    (found, *_) = values(planned("sum_over", ["size"]), cells(exact(times=1)))
    assert (found.value, found.low) == (12, None)
    assert found.reason is not None
    assert found.reason.code == "one_replication"


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("sum_over", 1 + 2 + 4 * 3),
        ("mean_over", (1 + 2 + 4 * 3) / 6),
        ("geometric_mean_over", (1 * 2 * 3**4) ** (1 / 6)),
    ],
)
def test_a_weight_counts_a_level_several_times(operation: Operation, expected: float) -> None:
    """Oracle: the same as to enter the level so often."""
    raw = {(64, 500): [1.0, 1.0], (128, 500): [2.0, 2.0], (256, 500): [3.0, 3.0]}
    plan = planned(operation, ["size"], weights={"size": {"256": 4}})
    (found,) = values(plan, cells(raw))
    assert found.value == pytest.approx(expected)


def test_a_registered_function_gets_the_known_points(monkeypatch: pytest.MonkeyPatch) -> None:
    def scaled(values: list[float], levels: list[dict[str, int]], options: Any) -> list[float]:
        return [options["by"] * one / at["size"] for one, at in zip(values, levels, strict=True)]

    monkeypatch.setattr(plug_ins, "find", lambda *_, **__: scaled)
    plan = planned("function", function="scaled", options={"by": 64.0})
    found = values(plan, cells({**exact(), (64, 500): ()}))
    assert [one.value for one in found][:3] == [None, 2.0, 1.5]


def test_quantities_with_a_common_part_are_compared_without_it() -> None:
    """Property: a common divisor cancels in a ratio of ratios, and in a difference to itself."""
    rng = np.random.default_rng(2)
    base = rng.normal(1, 0.2, 5).tolist()
    found = cells({(64, 500): base, (128, 500): [2.0] * 5, (256, 500): [3.0] * 5})
    plan = planned("ratio_to", ratio_to={"size": 64})
    _, one, other = (cell.sample() for cell in derive(plan, found, found))
    assert one is not None
    assert other is not None
    between = ratio(other, one)
    assert (between.low, between.high) == pytest.approx((1.5, 1.5))
    nothing = contrast([one, one], [1.0, -1.0])
    assert (nothing.low, nothing.high) == (0.0, 0.0)
    assert one.interval().method == "jackknife"


def test_the_error_of_a_sum_is_that_of_the_delete_one_jackknife() -> None:
    """Oracle: leave out each replication of each point in turn."""
    rng = np.random.default_rng(3)
    raw = {(size, 500): rng.random(6).tolist() for size in SIZES}
    variance = 0.0
    for own in raw.values():
        left = [np.mean(np.delete(own, place)) for place in range(6)]
        variance += 5 / 6 * float(((left - np.mean(left)) ** 2).sum())
    (cell,) = derive(planned("sum_over", ["size"]), cells(raw), [])
    sample = cell.sample()
    assert sample is not None
    assert sample.standard_error == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize("centre", ["mean", "median"])
@pytest.mark.parametrize("law", ["normal", "lognormal"])
def test_intervals_of_ratios_and_norm_sums_cover(law: str, centre: Centre) -> None:
    """The true values lie in nominal 95% intervals, with 400 trials of 8 replications each."""
    rng, trials = np.random.default_rng(4), 400
    draw = {"normal": lambda: rng.normal(1, 0.1), "lognormal": lambda: rng.lognormal(0, 0.3)}[law]
    ratio_plan = planned("ratio_to", ratio_to={"size": 64})
    norm_plan, sum_plan = planned("standardised_over", ["size"]), planned("sum_over", ["table"])
    hits = np.zeros(2)
    for _ in range(trials):
        found = cells(noisy(draw, 8), centre)
        sums = values(sum_plan, derive(norm_plan, found, []))
        for place, (one, true) in enumerate([(values(ratio_plan, found)[2], 3.0), (sums[1], 0.0)]):
            assert one.low is not None
            assert one.high is not None
            hits[place] += one.low <= true <= one.high
    assert hits.min() / trials >= (0.93 if law == "normal" else 0.91)  # skewness costs 2%


def test_a_function_without_bound_is_saturated_and_breaks_every_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def endless(values: Sequence[float], *_: object) -> list[float]:
        return [float("inf") if value > 2.0 else value for value in values]

    monkeypatch.setattr(plug_ins, "find", lambda *_, **__: endless)
    plan = planned("function", function="endless")
    *_, known, _, saturated = derive(plan, cells(exact()), [])
    assert known.result().value == 2.0
    assert saturated.missing is not None
    assert saturated.missing.code == "saturated"
    assert saturated.result().value is None
    sample = saturated.sample()
    assert sample is not None
    assert sample.is_unbounded
    for pair in ([saturated], [known]), ([known], [saturated]):
        (one,) = derive(planned("ratio_to", ratio_to=pair[1][0].levels), *pair)
        assert one.missing is not None
        assert one.missing.code == "saturated"
        assert one.sample() is None, "a ratio may be anything"


@pytest.mark.parametrize(("centre", "statistic"), [("mean", "centre"), ("median", "mean")])
def test_points_that_replay_the_same_recordings_are_compared_recording_by_recording(
    centre: Centre, statistic: Statistic
) -> None:
    """So are means of measured runs by their block, whose common drift then cancels.

    Recordings differ by half, the ratio by a hundredth; its interval is that of the ratios.
    """
    first, ratios = np.array([1.0, 1.5, 1.2]), np.array([0.95, 0.96, 0.94])
    sides = [
        measured_cell(
            {"size": size, "table": 1}, Sample(values=found, centre=centre),
            name=str(size), quantity="run_s", statistic=statistic, together="of the program",
        )
        for size, found in ((64, first), (128, first * ratios))
    ]  # fmt: skip
    _, found = values(planned("ratio_to", ratio_to={"size": 64}), sides)
    expected = Sample(values=ratios).interval()
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.005)
    own = sides[0].sample()
    assert own is not None
    assert own.interval().low == pytest.approx(Sample(values=first).interval().low)
