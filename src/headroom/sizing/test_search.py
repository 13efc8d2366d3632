"""The search against brute force: on monotone and other spaces, with and without forecasts."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.sizing.search import Search, Verdict
from headroom.sizing.space import Axis, Place, Space


def space_of(shape: tuple[int, ...], weights: tuple[float, ...] | None = None) -> Space:
    names = "abc"[: len(shape)]
    axes = tuple(Axis(n, tuple(range(1, c + 1))) for n, c in zip(names, shape, strict=True))
    return Space(axes, dict(zip(names, weights or (1.0,) * len(shape), strict=True)))


def run(search: Search, meets: Callable[[Place], bool]) -> None:
    """Search to the end; stop inferring at the first contradiction, as the real search does."""
    while (place := search.next()) is not None:
        assert place not in search.looked, "a configuration is looked at once"
        search.record(place, "meets" if meets(place) else "fails")
        if search.is_trusted and search.contradictions():
            search.distrust()


def places(space: Space) -> list[Place]:
    return list(itertools.product(*(range(count) for count in space.shape)))


def cheapest(space: Space, meets: Callable[[Place], bool]) -> Place | None:
    found = [place for place in places(space) if meets(place)]
    return min(found, key=lambda place: (space.cost(place), place), default=None)


SPACES = st.builds(
    lambda shape, weights: space_of(shape, weights[: len(shape)]),
    st.lists(st.integers(1, 7), min_size=1, max_size=3).map(tuple),
    st.tuples(*[st.sampled_from([0.5, 1.0, 2.0, 3.0])] * 3),
)


@settings(max_examples=200)
@given(space=SPACES, numbers=st.data())
def test_the_cheapest_is_found_in_every_monotone_space(
    space: Space, numbers: st.DataObject
) -> None:
    """Property: brute force over the whole space finds no other."""
    weights = [numbers.draw(st.floats(0.0, 3.0)) for _ in space.shape]
    bound = numbers.draw(st.floats(0.0, 20.0))

    def meets(place: Place) -> bool:
        return sum(w * (n + 1) for w, n in zip(weights, place, strict=True)) >= bound

    search = Search(space)
    run(search, meets)
    assert search.best == cheapest(space, meets)
    assert search.is_trusted


@settings(max_examples=100)
@given(space=SPACES, numbers=st.data())
def test_wrong_forecasts_never_change_the_answer(space: Space, numbers: st.DataObject) -> None:
    bound = numbers.draw(st.integers(0, 20))

    def meets(place: Place) -> bool:
        return sum(place) >= bound

    search = Search(space)
    for place in numbers.draw(st.lists(st.sampled_from(places(space)), max_size=5)):
        search.expect(place, meets=numbers.draw(st.booleans()))
    run(search, meets)
    assert search.best == cheapest(space, meets)


@settings(max_examples=200)
@given(space=SPACES, seed=st.integers(0, 10_000))
def test_what_is_answered_was_looked_at_and_so_were_its_neighbours_below(
    space: Space, seed: int
) -> None:
    """Property: even if more is worse, the answer meets the targets and no neighbour below."""
    table = np.random.default_rng(seed).random(space.shape) < 0.5

    def meets(place: Place) -> bool:
        return bool(table[place])

    search = Search(space)
    run(search, meets)
    if search.best is None:
        return
    assert meets(search.best)
    assert all(search.looked[place] == "fails" for place in space.below(search.best))


def test_once_more_was_seen_to_be_worse_everything_cheaper_is_looked_at() -> None:
    """Threads that thrash: 3 to 6 of 12 meet the targets, more fail again."""
    space = space_of((12,))
    search = Search(space)
    run(search, lambda place: 3 <= place[0] + 1 <= 6)
    if search.best is not None:
        assert search.best == (2,)


def test_a_contradiction_at_a_neighbour_ends_the_inference() -> None:
    """(1, 1) fails and so excludes (0, 1) and (1, 0); the check of a neighbour finds it wrong."""
    space = space_of((2, 2))
    search = Search(space)
    search.expect(space.top, meets=False)
    run(search, lambda place: place != (1, 1))
    assert not search.is_trusted
    assert search.best == (0, 0)


def test_bisection_needs_few_looks_and_a_forecast_fewer() -> None:
    space = space_of((1024,))
    search = Search(space)
    run(search, lambda place: place[0] >= 700)
    assert search.best == (700,)
    assert len(search.looked) <= 11
    guided = Search(space)
    guided.expect((700,), meets=True)
    guided.expect((699,), meets=False)
    run(guided, lambda place: place[0] >= 700)
    assert sorted(guided.looked) == [(699,), (700,)]


def test_equally_cheap_configurations_are_all_named() -> None:
    space = space_of((5, 5))
    search = Search(space)
    run(search, lambda place: sum(place) >= 4)
    assert search.best == (0, 4)
    assert search.equally_cheap() == [(1, 3), (2, 2), (3, 1), (4, 0)]


def test_nothing_meets_is_known_after_the_top_and_its_neighbours() -> None:
    space = space_of((64, 16))
    search = Search(space)
    search.expect(space.top, meets=False)
    run(search, lambda _: False)
    assert search.best is None
    assert set(search.looked) == {space.top, *space.below(space.top)}


def test_a_wrong_forecast_costs_a_look_and_not_a_walk() -> None:
    """The forecast says 100 of 1024, the truth is 700: bisection takes over."""
    search = Search(space_of((1024,)))
    search.expect((100,), meets=True)
    search.expect((99,), meets=False)
    run(search, lambda place: place[0] >= 700)
    assert search.best == (700,)
    assert len(search.looked) <= 13


def test_an_undecided_configuration_is_no_answer() -> None:
    space = space_of((4,))
    search = Search(space)
    verdicts: dict[int, Verdict] = {0: "fails", 1: "undecided", 2: "meets", 3: "meets"}
    while (place := search.next()) is not None:
        search.record(place, verdicts[place[0]])
    assert search.best == (2,)


@pytest.mark.parametrize(("bound", "count"), [(1, 1), (5, 2)])
def test_the_answer_rests_on_itself_and_on_what_excludes_the_cheaper(
    bound: int, count: int
) -> None:
    space = space_of((8,))
    search = Search(space)
    run(search, lambda place: place[0] + 1 >= bound)
    assert len(search.supports(lambda _: True)) == count


def test_what_a_formula_excludes_costs_no_confidence() -> None:
    space = space_of((8,))
    search = Search(space)
    run(search, lambda place: place[0] >= 5)
    assert search.supports(lambda place: place == (5,)) == [(5,)]


def test_a_large_space_without_any_forecast_needs_few_looks() -> None:
    """12,288 configurations of processors, disks and jobs: bounds of a closed system."""
    axes = (
        Axis("cpus", tuple(range(1, 65))),
        Axis("disks", tuple(range(1, 65))),
        Axis("jobs", (32, 64, 128)),
    )
    space = Space(axes, {"cpus": 1.0, "disks": 1.0, "jobs": 1.0})

    def meets(place: Place) -> bool:
        cpus, disks, jobs = (axis.levels[n] for axis, n in zip(axes, place, strict=True))
        return min(float(cpus) * 50.0, float(disks) * 10.0, float(jobs) / 0.12) >= 99.0

    search = Search(space)
    run(search, meets)
    assert space.levels(search.best or space.top) == {"cpus": 2, "disks": 10, "jobs": 32}
    assert len(search.looked) <= 25


def test_a_verdict_that_is_taken_back_takes_its_inferences_with_it() -> None:
    search = Search(space_of((8,)))
    search.record((5,), "fails")
    search.record((2,), "fails")
    search.forget([(5,)])
    assert search.open_places().tolist() == [False] * 3 + [True] * 5
