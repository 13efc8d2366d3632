"""A model of a file with other numbers than its file states."""

from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.jmt import write_jsimg
from headroom.simulation import Model, erlang, exponential
from headroom.systems.model.model_file import model_file, parameters_of_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    model = Model("shop", time_unit="s")
    visit, order = model.program("visit"), model.program("order")
    till = model.station("till", servers=2)
    with visit.holding(model.pool("door", tokens=4)):
        visit.use(till, exponential(0.1))
    order.use(model.station("desk"), exponential(0.2))
    model.closed_class("users", visit, population=3, think=exponential(1.0))
    model.open_class("orders", order, interarrival=erlang(0.5, stages=4))
    file = tmp_path / "shop.jsimg"
    write_jsimg(model, file)
    return file


def test_what_the_file_states_can_be_varied_with_its_unit_and_default(path: Path) -> None:
    found = {one.name: one for one in parameters_of_file(model_file(path))}
    assert {name: (one.type, one.unit, one.default) for name, one in found.items()} == {
        "class.users.population": ("int", "1", 3),
        "class.orders.arrival_rate": ("float", "1/s", pytest.approx(2.0)),
        "station.till.servers": ("int", "1", 2),
        "station.desk.servers": ("int", "1", 1),
        "pool.door.tokens": ("int", "1", 4),
    }


def test_a_given_value_changes_its_part_alone_and_keeps_the_shape_of_arrivals(path: Path) -> None:
    function = model_file(path)
    changed = function(
        **{"class.users.population": 7, "class.orders.arrival_rate": 8.0, "pool.door.tokens": 5}
    )
    assert changed.classes["users"].population == 7
    assert changed.pools["door"].tokens == 5
    assert changed.stations["till"].servers == 2
    law = changed.classes["orders"].law
    assert law is not None
    assert (law.mean, law.c2) == pytest.approx((1 / 8.0, 0.25))
    assert function(**{"station.till.servers": 3}).stations["till"].servers == 3
    assert function().to_data() == function.model.to_data(), "as in the file"


def test_a_file_that_is_not_there_names_the_nearest(path: Path) -> None:
    with pytest.raises(StudyError, match=r"shap\.jsimg not found") as caught:
        model_file(path.with_name("shap.jsimg"))
    assert "shop.jsimg" in caught.value.cure


def test_pools_that_only_count_cannot_be_varied(tmp_path: Path) -> None:
    """Threads of an entry, made fewer, would limit it."""
    path = tmp_path / "shop.lqn"
    path.write_text(
        "P 2 p desk i p cpu f -1 T 2 t users r use -1 desk t web n look buy -1 cpu m 2 -1\n"
        "E 3 s use 1 -1 y use look 1 -1 y use buy 1 -1 s look 1 -1 s buy 1 -1 -1"
    )
    found = [one.name for one in parameters_of_file(model_file(path))]
    assert found == ["class.users.population", "station.cpu.servers", "pool.web.tokens"]
