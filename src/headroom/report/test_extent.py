"""Properties of budgets, of evenly spaced selections, and of thinned curves."""

import math

from hypothesis import given
from hypothesis import strategies as st

from headroom.analysis.pictures import evenly
from headroom.analysis.results import Estimate, PointResult
from headroom.report.charts.panel import Panel, drawn_words, thin
from headroom.report.extent import fair_shares
from headroom.report.first_screen.settings import frontier
from headroom.report.fold.panels import fewer
from tests.support.example_results import estimate

SIZES = st.lists(st.integers(0, 20_000), min_size=1, max_size=8)
COSTS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=40)


@given(sizes=SIZES, budget=st.integers(0, 5_000))
def test_a_budget_is_spent_where_it_is_needed_and_never_exceeded(
    sizes: list[int], budget: int
) -> None:
    shares = fair_shares(sizes, budget)
    assert sum(shares) <= budget
    assert all(share <= size for share, size in zip(shares, sizes, strict=True))
    assert sum(shares) > min(budget, sum(sizes)) - len(sizes)


@given(sizes=SIZES, budget=st.integers(0, 5_000))
def test_a_part_is_cut_only_where_it_is_among_the_largest_shares(
    sizes: list[int], budget: int
) -> None:
    shares = fair_shares(sizes, budget)
    cut = [share for share, size in zip(shares, sizes, strict=True) if share < size]
    assert all(share >= max(shares) - 1 for share in cut)


@given(count=st.integers(0, 30_000), at_most=st.integers(1, 600))
def test_an_even_choice_keeps_both_ends_and_no_place_twice(count: int, at_most: int) -> None:
    places = evenly(count, at_most)
    assert len(places) == len(set(places)) == min(count, at_most)
    assert places == sorted(places)
    assert not count or places[0] == 0
    assert at_most == 1 or not count or places[-1] == count - 1


@given(curves=st.integers(1, 40), levels=st.integers(1, 60), at_most=st.integers(2, 500))
def test_every_curve_keeps_its_ends_as_long_as_that_fits(
    curves: int, levels: int, at_most: int
) -> None:
    """Oracle: a grid in the order of a study; taking each k-th point would lose whole curves."""
    grid = [(level, curve) for level in range(levels) for curve in range(curves)]
    kept = thin(grid, at_most=at_most, curve_of=lambda item: item[1])
    assert len(kept) <= at_most
    assert kept == sorted(kept)
    assert bool(drawn_words(len(kept), len(grid))) == (len(kept) < len(grid))
    if 2 * curves <= at_most:
        ends = {(level, curve) for curve in range(curves) for level in (0, levels - 1)}
        assert ends <= set(kept)


def _priced(costs: list[tuple[int, int]]) -> list[tuple[PointResult, Estimate, Estimate]]:
    return [
        (
            PointResult(key=str(place), levels={}, done=1, failed=0),
            estimate("wall_s", "s", float(x)),
            estimate("size_bytes", "B", float(y)),
        )
        for place, (x, y) in enumerate(costs)
    ]


@given(COSTS)
def test_the_frontier_is_what_no_other_point_beats(costs: list[tuple[int, int]]) -> None:
    """Oracle: every pair compared."""
    unbeaten = {
        str(place)
        for place, (x, y) in enumerate(costs)
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in costs)
    }
    assert frontier(_priced(costs)) == unbeaten


def test_the_frontier_of_many_points_is_found_in_one_pass() -> None:
    """Ten thousand points on a hyperbola: all unbeaten; comparing pairs would take minutes."""
    costs = [(place, math.ceil(1e9 / place)) for place in range(1, 10_001)]
    assert len(frontier(_priced(costs))) == 10_000


def test_a_figure_with_fewer_choices_offers_the_same_ones_for_each_point() -> None:
    pictures = {(point, metric): f"{point} {metric}" for point in "ab" for metric in "xyz"}
    panel = Panel(key="k", title="", caption="", pictures=pictures)  # type: ignore[arg-type] # no figures
    assert list(fewer(panel, 2).pictures) == [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    assert list(fewer(panel, None).pictures) == list(pictures)
