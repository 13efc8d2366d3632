"""Axes, costs and neighbours of a space of configurations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.errors import StudyError
from headroom.sizing.space import Axis, Space, parse_axis, parse_costs


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("servers", "cannot be read"),
        ("servers=", "cannot be read"),
        ("=1..4", "cannot be read"),
        ("servers=4..1", "is empty"),
        ("servers=1,1", "a level twice"),
        ("servers=1..3,2", "a level twice"),
        ("servers=1..9999999", "configurations"),
    ],
)
def test_a_wrong_axis_is_refused_with_a_cure(text: str, why: str) -> None:
    with pytest.raises(StudyError, match=why) as caught:
        parse_axis(text)
    assert caught.value.cure


@pytest.mark.parametrize("text", ["disks=2", "servers=0", "servers=-1", "servers=cheap", "servers"])
def test_a_wrong_cost_is_refused_with_a_cure(text: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_costs([text], [parse_axis("servers=1..4")])
    assert caught.value.cure


def test_words_and_falling_numbers_cost_their_place() -> None:
    assert Axis("disk", ("hdd", "ssd")).prices() == [1.0, 2.0]
    assert Axis("service_ms", (8, 4, 2)).prices() == [1.0, 2.0, 3.0]
    assert Axis("cores", (4, 8, 16)).prices() == [4.0, 8.0, 16.0]


def test_too_many_configurations_are_refused_before_any_of_them_is_made() -> None:
    axes = tuple(parse_axis(f"{name}=1..1000") for name in "abc")
    with pytest.raises(StudyError, match="1,000,000,000 configurations"):
        Space(axes, dict.fromkeys("abc", 1.0))


@given(
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    weights=st.lists(st.floats(0.1, 9.0), min_size=3, max_size=3),
)
def test_the_cost_grows_along_every_axis(counts: list[int], weights: list[float]) -> None:
    names = "abc"[: len(counts)]
    axes = tuple(Axis(n, tuple(range(c))) for n, c in zip(names, counts, strict=True))
    space = Space(axes, dict(zip(names, weights, strict=False)))
    assert space.costs.shape == tuple(counts)
    for axis in range(len(counts)):
        assert np.all(np.diff(space.costs, axis=axis) > 0)
    for below in space.below(space.top):
        assert space.cost(below) < space.cost(space.top)
