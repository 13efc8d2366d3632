"""The tree parsed from a program matches the source, no matter how it was nested."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.simulation import Model, constant, exponential
from headroom.simulation.checks.check import canonical_json
from headroom.simulation.checks.structure import (
    AttemptBlock,
    Body,
    BranchBlock,
    Call,
    ForkBlock,
    LoopBlock,
    NetworkBlock,
    Node,
    Reply,
    StartJob,
    Use,
    parse,
    parts,
    walk,
)
from headroom.simulation.checks.visits import expected_visits
from headroom.simulation.errors import SimulationError
from tests.support.fake_programs import Outline, empty_model, outlines, write

OPS = {
    "Use": "use",
    "Delay": "delay",
    "Assign": "set",
    "Prioritize": "prioritize",
    "Acquire": "acquire",
    "Release": "release",
}


def steps_of(body: Body) -> list[str]:
    """Return the flat list of step names that a tree represents."""
    names: list[str] = []
    for node in body:
        names += block_steps(node) if parts(node) else [OPS[type(node).__name__]]
    return names


def block_steps(node: Node) -> list[str]:
    match node:
        case LoopBlock():
            return ["loop", *steps_of(node.body), "end"]
        case BranchBlock():
            return ["branch", *wrapped("case", node), "end"]
        case ForkBlock():
            return ["fork", *wrapped("arm", node), "end"]
        case NetworkBlock():
            return ["network", *wrapped("node", node), "end"]
        case AttemptBlock():
            work = ["work", *steps_of(node.work), "end"]
            return ["attempt", *work, "failed", *steps_of(node.failed or ()), "end", "end"]
    raise AssertionError(node)


def wrapped(name: str, node: Node) -> list[str]:
    return [step for part in parts(node) for step in (name, *steps_of(part), "end")]


@given(outlines())
def test_a_tree_flattens_to_the_list_that_it_was_read_from(outline: Outline) -> None:
    built = empty_model()
    write(built, outline)
    tree = parse(built.program)
    assert steps_of(tree) == [step.op for step in built.program.steps]


def asks_for_too_much(model: Model) -> bool:
    """Return whether a program of `model` would hold more tokens than a pool has."""
    try:
        canonical_json(model)
    except SimulationError as error:
        return "it would wait for itself" in error.message
    return False


@given(outlines(), st.sampled_from(["open", "closed"]))
def test_a_random_model_is_data_with_one_end_for_each_block(outline: Outline, kind: str) -> None:
    """A random program passes all checks, unless it needs more than there is."""
    built = empty_model()
    built.program.use(built.model.stations["s0"], 1)
    write(built, outline)
    if kind == "open":
        built.model.open_class("c", built.program, interarrival=exponential(1))
    else:
        built.model.closed_class("c", built.program, population=3)
    if asks_for_too_much(built.model):
        return
    first = canonical_json(built.model)
    visits = expected_visits(built.model)
    assert visits.counts["c"]["s0"] >= 1
    assert all(value >= 0 for value in visits.demands["c"].values())
    assert all(value >= 0 for value in visits.pool_times["c"].values())
    assert canonical_json(built.model) == first == canonical_json(built.model.copy())
    data: Any = built.model.to_data()
    ops = [step["op"] for step in data["programs"][0]["steps"]]
    opening = {"loop", "branch", "case", "network", "node", "fork", "arm"} | {
        "attempt",
        "work",
        "failed",
    }
    assert ops.count("end") == sum(op in opening for op in ops)


def test_nodes_know_what_was_written_and_where() -> None:
    model = Model("nodes", time_unit="ms")
    cpu = model.station("cpu")
    other = model.program("other")
    other.reply()
    program = model.program("p")
    program.use(cpu, exponential(5), reserve=True)
    program.call(other)
    program.start(other)
    with program.attempt(timeout=constant(9), tries=2, pause=1) as attempt, attempt.work():
        program.use(cpu, 1)
    use, call, start, block = parse(program)
    assert isinstance(use, Use)
    assert use.reserve
    assert use.service == exponential(5)
    assert "test_structure.py:" in use.location
    assert isinstance(call, Call)
    assert isinstance(start, StartJob)
    assert call.program == start.program == "other"
    assert isinstance(block, AttemptBlock)
    assert (block.timeout, block.tries, block.pause) == (constant(9), 2, constant(1))
    assert block.failed is None
    assert [type(node) for node in walk(parse(other))] == [Reply]


@pytest.mark.deep
@pytest.mark.parametrize("depth", [1, 5000])
def test_a_tree_may_be_deeper_than_the_stack(depth: int) -> None:
    model = Model("deep")
    program = model.program("p")
    blocks = [program.loop(1) for _ in range(depth)]
    for block in blocks:
        block.__enter__()
    program.use(model.station("cpu"), 1)
    for block in reversed(blocks):
        block.__exit__(None, None, None)
    model.closed_class("c", program, population=1)
    assert sum(1 for _ in walk(parse(program))) == depth + 1
    assert expected_visits(model).counts["c"] == {"cpu": 1.0}
    assert canonical_json(model)
