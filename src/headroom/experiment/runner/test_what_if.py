"""Changed points share the seeds of their base and nothing else."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.changes import changes_in, parse_change, text_of
from headroom.experiment.protocol.system import Parameter, Value
from headroom.experiment.runner.what_if import changed_point, is_what_if
from headroom.experiment.study.changed_parameters import with_parameters
from headroom.experiment.study.plan import Point
from tests.support.fake_systems import FakeModel, FakeSetup

if TYPE_CHECKING:
    from collections.abc import Mapping

BASE = Point(experiment="load", key="k", levels={"users": 4}, config={"users": 4}, fingerprint="f")
MORE = (parse_change("station.cpu.servers=x2"),)
SYSTEM = FakeModel(FakeSetup(), Path())


def test_a_changed_point_runs_with_the_seeds_of_its_base() -> None:
    changed = changed_point(BASE, MORE, SYSTEM)
    seeds = [BASE.seed(7, number) for number in range(5)]
    assert [changed.seed(7, number) for number in range(5)] == seeds
    assert len(set(seeds)) == 5


def test_a_base_point_with_borrowed_seeds_lends_the_same_ones() -> None:
    """A point that shares its seeds with others already must pass those on, not its key."""
    base = replace(BASE, seed_key="shared")
    assert changed_point(base, MORE, SYSTEM).seed(7, 0) == base.seed(7, 0)


def test_a_changed_point_never_takes_the_place_of_its_base() -> None:
    changed = changed_point(BASE, MORE, SYSTEM)
    assert is_what_if(changed.experiment)
    assert not is_what_if(BASE.experiment)
    assert changed.key != BASE.key
    assert changed.fingerprint != BASE.fingerprint


def test_another_change_or_another_model_is_another_point() -> None:
    other = (parse_change("station.cpu.servers=x3"),)
    assert changed_point(BASE, other, SYSTEM).key != changed_point(BASE, MORE, SYSTEM).key
    edited = replace(BASE, fingerprint="g")
    assert (
        changed_point(edited, MORE, SYSTEM).fingerprint
        != changed_point(BASE, MORE, SYSTEM).fingerprint
    )
    assert changed_point(edited, MORE, SYSTEM).key == changed_point(BASE, MORE, SYSTEM).key


def test_changes_that_are_tried_together_are_read_back_together() -> None:
    both = (*MORE, parse_change("pool.a b.tokens=7"))
    assert changes_in(text_of(both)) == both


def test_a_changed_parameter_is_configured_and_belongs_to_the_fingerprint() -> None:
    """Its seeds stay those of the point, and an edit that touches the new value alone counts."""
    name, value = next(
        (parameter.name, parameter)
        for parameter in SYSTEM.parameters()
        if parameter.type == "float"
    )
    base = replace(
        BASE, config={parameter.name: parameter.default or 0 for parameter in SYSTEM.parameters()}
    )
    changes = changes_in(f"{name}=x2; station.cpu.servers=x2")
    changed = changed_point(base, changes, SYSTEM)
    assert changed.config == {**base.config, name: float(value.default or 0) * 2}
    assert [change.text for change in changed.changes] == ["station.cpu.servers=x2"]
    assert changed.seed(7, 3) == base.seed(7, 3)
    other = replace(base, fingerprint="of another model")
    assert changed_point(other, changes, SYSTEM).fingerprint == changed.fingerprint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rat=3", "has no parameter 'rat'"),
        ("users=2.5", "its type is int"),
        ("users=0", "below its lowest value 1"),
        ("codec=x2", "not a number to multiply"),
        ("users=10", "changes nothing"),
        ("users=x0", "not a number above 0"),
    ],
)
def test_a_parameter_that_cannot_be_changed_so_is_refused(text: str, message: str) -> None:
    config: Mapping[str, Value] = {"users": 10, "codec": "zstd", "rate": 2.0}
    declared = (
        Parameter(name="users", type="int", unit="1", source="assumed", low=1),
        Parameter(name="codec", type="str", unit="", source="assumed"),
        Parameter(name="rate", type="float", unit="1/s", source="assumed"),
    )
    with pytest.raises(StudyError, match=message):
        with_parameters(config, changes_in(text), declared)


def test_text_stays_text_where_a_parameter_takes_text() -> None:
    codec = Parameter(name="codec", type="str", unit="", source="assumed")
    changed = with_parameters({"codec": "zstd"}, changes_in("codec=7"), [codec])
    assert changed == {"codec": "7"}
