"""Functions of several points: the best of two sorts of nodes, and the mix that decides it."""

import pytest

from headroom.systems.records.derived import best_from, turning_mix

SIZES = (64, 4096, 8192)


def at(mode: str, size: int) -> dict[str, str | int]:
    return {"w": size, "mode": mode}


MIX = {"factor": "w", "of": "mode", "reads": ["look"], "writes": ["write", "save"]}


def test_each_group_of_other_levels_has_its_own_best() -> None:
    levels = [{"w": size, "mode": mode} for mode in ("scan", "look") for size in SIZES]
    found = best_from([3.0, 1.0, 2.0, 1.0, 5.0, 4.0], levels, {"factor": "w", "at": 4096})
    assert found == [-2.0] * 3 + [3.0] * 3


def test_without_levels_on_one_side_there_is_no_best() -> None:
    assert best_from([3.0], [{"w": 64}], {"factor": "w", "at": 4096}) == [None]


@pytest.mark.parametrize("reads", [9.0, 11.0])
def test_the_mix_is_where_the_cheapest_node_changes(reads: float) -> None:
    """Oracle: the total cost on either side of the mix, here 10 reads for each write."""
    look, write, save = (3.0, 2.0, 2.5), (60.0, 65.0, 90.0), (40.0, 45.0, 50.0)
    levels = [{"w": size, "mode": mode} for mode in ("look", "write", "save") for size in SIZES]
    (mix,) = set(turning_mix([*look, *write, *save], levels, MIX))
    assert mix == 10.0
    costs = [reads * one + two + three for one, two, three in zip(look, write, save, strict=True)]
    assert costs.index(min(costs)) == (1 if reads > mix else 0)


def test_a_node_that_is_best_for_both_needs_no_reads() -> None:
    levels = [{"w": size, "mode": mode} for mode in ("look", "write") for size in SIZES[:2]]
    assert turning_mix([1.0, 2.0, 10.0, 20.0], levels, MIX) == [0.0] * 4


def test_a_size_without_writes_has_no_mix() -> None:
    levels = [at("look", 64), at("write", 4096)]
    assert turning_mix([1.0, 2.0], levels, MIX) == [None, None]
