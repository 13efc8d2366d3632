"""Changed points share the seeds of their base and nothing else."""

from dataclasses import replace

from headroom.experiment.changes import parse_change
from headroom.experiment.plan import Point
from headroom.experiment.what_if import changed_point, changes_in, is_what_if, text_of

BASE = Point(experiment="load", key="k", levels={"users": 4}, config={"users": 4}, fingerprint="f")
MORE = (parse_change("station.cpu.servers=x2"),)


def test_a_changed_point_runs_with_the_seeds_of_its_base() -> None:
    changed = changed_point(BASE, MORE)
    seeds = [BASE.seed(7, number) for number in range(5)]
    assert [changed.seed(7, number) for number in range(5)] == seeds
    assert len(set(seeds)) == 5


def test_a_base_point_with_borrowed_seeds_lends_the_same_ones() -> None:
    """A point that shares its seeds with others already must pass those on, not its key."""
    base = replace(BASE, seed_key="shared")
    assert changed_point(base, MORE).seed(7, 0) == base.seed(7, 0)


def test_a_changed_point_never_takes_the_place_of_its_base() -> None:
    changed = changed_point(BASE, MORE)
    assert is_what_if(changed.experiment)
    assert not is_what_if(BASE.experiment)
    assert changed.key != BASE.key
    assert changed.fingerprint != BASE.fingerprint


def test_another_change_or_another_model_is_another_point() -> None:
    other = (parse_change("station.cpu.servers=x3"),)
    assert changed_point(BASE, other).key != changed_point(BASE, MORE).key
    edited = replace(BASE, fingerprint="g")
    assert changed_point(edited, MORE).fingerprint != changed_point(BASE, MORE).fingerprint
    assert changed_point(edited, MORE).key == changed_point(BASE, MORE).key


def test_changes_that_are_tried_together_are_read_back_together() -> None:
    both = (*MORE, parse_change("pool.a b.tokens=7"))
    assert changes_in(text_of(both)) == both
