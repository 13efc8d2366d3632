"""The builder as a whole: copies for what-if questions, nested names, holdings."""

from typing import Any

import pytest

from headroom.simulation import Model, Program, SimulationError, exponential
from headroom.simulation.checks.check import canonical_json
from headroom.simulation.checks.holding import holds, nested


def shop() -> Model:
    """Return a model with a web tier, a database and a pool between them."""
    model = Model("shop", time_unit="ms")
    web, database = model.station("web", servers=2), model.station("database")
    pool = model.pool("connections", tokens=3)
    program = model.program("request")
    program.use(web, exponential(2))
    with program.holding(pool, 2):
        program.use(database, exponential(1))
    model.closed_class("users", program, population=5, think=exponential(9))
    return model


def test_a_copy_is_equal_and_changes_alone() -> None:
    model = shop()
    before = canonical_json(model)
    twin = model.copy()
    assert canonical_json(twin) == before
    twin.programs["request"].use(twin.station("cache"), 1)
    twin.open_class("guests", twin.programs["request"], interarrival=exponential(99))
    twin.stop(completions=5)
    assert canonical_json(model) == before
    assert canonical_json(twin) != before


def test_parts_of_the_original_fit_into_a_copy() -> None:
    model = shop()
    twin = model.copy()
    twin.programs["request"].use(model.stations["web"], 1)
    assert canonical_json(twin) != canonical_json(model)


def test_what_if_changes_one_number_and_no_stream() -> None:
    model = shop()
    before: Any = model.to_data()
    changed = {
        "servers": model.with_servers("web", 4),
        "tokens": model.with_tokens("connections", 6),
        "speed": model.with_speed("database", 2),
    }
    assert model.to_data() == before
    for name, twin in changed.items():
        after: Any = twin.to_data()
        different = [key for key in after if after[key] != before[key]]
        assert different == ["pools" if name == "tokens" else "stations"]
    assert changed["servers"].stations["web"].servers == 4
    assert changed["tokens"].pools["connections"].tokens == 6
    assert changed["speed"].stations["database"].speeds == (2.0,)


def test_servers_of_different_speed_are_multiplied_in_order() -> None:
    model = shop()
    model.station("mixed", servers=2, speeds=[1, 3])
    assert model.with_servers("mixed", 5).stations["mixed"].speeds == (1.0, 3.0, 1.0, 3.0, 1.0)
    assert model.with_speed("mixed", 0.5).stations["mixed"].speeds == (0.5, 1.5)


def test_what_if_with_fewer_tokens_than_a_job_asks_for_is_refused() -> None:
    with pytest.raises(SimulationError, match="would hold 2 tokens of pool 'connections'"):
        canonical_json(shop().with_tokens("connections", 1))


@pytest.mark.parametrize("factor", [0, -1, float("nan"), True])
def test_an_impossible_speed_is_refused(factor: float) -> None:
    with pytest.raises(SimulationError, match="times as fast"):
        shop().with_speed("web", factor)


def test_what_if_names_parts_that_are_there() -> None:
    with pytest.raises(SimulationError, match="no station is named 'wbe'") as caught:
        shop().with_servers("wbe", 2)
    assert "'web', 'database'" in caught.value.cure


def test_infinite_servers_cannot_be_counted() -> None:
    model = shop()
    model.station("cloud", discipline="infinite")
    with pytest.raises(SimulationError, match="infinitely many"):
        model.with_servers("cloud", 2)


def node(model: Model, name: str) -> Program:
    """Return the program of a node, made of the same parts each time."""
    with model.inside(name):
        cpu = model.station("cpu")
        with model.inside("storage"):
            disk = model.station("disk")
        program = model.program("serve")
        program.use(cpu, 1)
        program.use(disk, 2)
    return program


def test_names_inside_others_make_hierarchies_of_plain_functions() -> None:
    model = Model("cluster")
    request = model.program("request")
    for number in (1, 2):
        request.call(node(model, f"node {number}"))
    model.closed_class("users", request, population=1)
    assert list(model.stations) == [
        "node 1/cpu",
        "node 1/storage/disk",
        "node 2/cpu",
        "node 2/storage/disk",
    ]
    assert list(model.programs) == ["request", "node 1/serve", "node 2/serve"]
    assert canonical_json(model)


def test_a_name_inside_another_may_stand_once() -> None:
    model = Model("cluster")
    node(model, "node 1")
    with pytest.raises(SimulationError, match="has a station named 'node 1/cpu' already"):
        node(model, "node 1")


def test_an_error_inside_a_prefix_ends_the_prefix() -> None:
    model = Model("cluster")
    with pytest.raises(SimulationError), model.inside("node"):
        model.station("")
    assert model.station("cpu").name == "cpu"


def test_holds_and_nested_know_the_whole_language() -> None:
    """Everything that may happen under a pool counts; what a reply or a start lets go does not."""
    model = Model("holdings")
    names = ("work", "failed", "node", "case", "arm", "second", "aside", "before")
    station = {name: model.station(name, servers=9) for name in names}
    outer, inner = model.pool("outer", tokens=9), model.pool("inner", tokens=9)
    other, aside, program = model.program("other"), model.program("aside"), model.program("p")
    with other.holding(inner):
        other.delay(1)
    other.reply()
    other.use(station["second"], 1)
    aside.use(station["aside"], 1)
    program.use(station["before"], 1)
    with program.holding(outer):
        with program.attempt(timeout=5) as attempt:
            with attempt.work():
                program.use(station["work"], 1)
            with attempt.failed():
                program.use(station["failed"], 1)
        with program.network() as net, net.node("n", to=net.leave):
            program.use(station["node"], 1)
        with program.branch("round_robin") as branch, branch.case():
            program.use(station["case"], 1)
        with program.fork(quorum=1) as fork, fork.arm():
            program.use(station["arm"], 1)
        program.call(other)
        program.start(aside)
    model.closed_class("users", program, population=1)
    assert holds(model) == {"outer": ("work", "failed", "node", "case", "arm"), "inner": ()}
    assert nested(model) == {"outer": ("inner",), "inner": ()}


def test_a_trace_that_sets_an_unknown_attribute_is_refused() -> None:
    class Trace:
        mean_rate = 1.0
        attribute_names = ("weight",)

        def to_data(self) -> dict[str, object]:
            return {"kind": "trace", "times": [0.0]}

    model = shop()
    process: Any = Trace()
    model.open_class("replay", model.programs["request"], interarrival=process)
    with pytest.raises(SimulationError, match="set the attribute 'weight'") as caught:
        canonical_json(model)
    assert "test_model.py:" in caught.value.message
