"""Every mistake in the model language is rejected with its line."""

import inspect
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from headroom.simulation import (
    Model,
    Program,
    SimulationError,
    constant,
    discrete,
    exponential,
    floor,
    minimum,
    uniform,
)
from headroom.simulation.checks.check import canonical_json

Write = Callable[[Model, Program], object]
MARK = "# wrong"
"""Is on the line that the message must name."""


def model_with(write: Write) -> Model:
    """Return a model with some parts, whose program is finished by `write`."""
    model = Model("wrong", time_unit="ms")
    model.station("cpu")
    model.station("disk", discipline="ps")
    model.station("small", buffer=1, when_full="reject")
    model.pool("memory", tokens=2)
    model.attribute("size")
    program = model.program("request")
    program.delay(1)
    write(model, program)
    if not model.classes:
        model.closed_class("users", program, population=1, think=constant(1))
    return model


def marked_line(write: Write) -> int:
    lines, first = inspect.getsourcelines(write)
    return next(first + index for index, line in enumerate(lines) if MARK in line)


def network_to_nowhere(_model: Model, program: Program) -> None:
    with program.network() as net, net.node("a", to="b"):  # wrong
        program.delay(1)


def network_without_way_out(_model: Model, program: Program) -> None:
    with program.network() as net:
        with net.node("a", to={"b": 0.5, net.leave: 0.5}):
            program.delay(1)
        with net.node("b", to="b"):  # wrong
            program.delay(1)


def node_never_reached(_model: Model, program: Program) -> None:
    with program.network() as net:
        with net.node("a", to=net.leave):
            program.delay(1)
        with net.node("b", to=net.leave):  # wrong
            program.delay(1)


def half_the_routes(_model: Model, program: Program) -> None:
    with program.network() as net, net.node("a", to={"a": 0.5}):  # wrong
        program.delay(1)


def conditions_without_otherwise(model: Model, program: Program) -> None:
    size = model.attributes["size"]
    with program.network() as net, net.node("a", to={"a": size > 1}):  # wrong
        program.delay(1)


def two_nodes_of_a_name(_model: Model, program: Program) -> None:
    with program.network() as net:
        with net.node("a", to=net.leave):
            program.delay(1)
        with net.node("a", to=net.leave):  # wrong
            program.delay(1)


def node_that_keeps(model: Model, program: Program) -> None:
    with program.network() as net, net.node("a", to=net.leave):  # wrong
        program.acquire(model.pools["memory"])


def step_beside_the_nodes(_model: Model, program: Program) -> None:
    with program.network():
        program.delay(1)  # wrong


def routes_that_are_none(_model: Model, program: Program) -> None:
    with program.network() as net, net.node("a", to=[]):  # wrong
        program.delay(1)


def queue_routes_without_queues(_model: Model, program: Program) -> None:
    net = program.network().__enter__()
    net.node("a", to=["a", net.leave], policy="shortest_queue").__enter__()  # wrong


def empty_network(_model: Model, program: Program) -> None:
    with program.network():  # wrong
        pass


def condition_as_if(model: Model, program: Program) -> None:
    if model.attributes["size"] > 3:  # wrong
        program.delay(1)


def chained_condition(model: Model, program: Program) -> None:
    with program.branch() as branch, branch.when(1 < model.attributes["size"] < 3):  # wrong
        program.delay(1)


def builtin_minimum(model: Model, program: Program) -> None:
    program.delay(min(model.attributes["size"], 3))  # type: ignore[arg-type]  # wrong


def condition_of_python(_model: Model, program: Program) -> None:
    with program.branch() as branch, branch.when(3):  # type: ignore[arg-type]  # wrong
        program.delay(1)


def rounded_in_python(model: Model, program: Program) -> None:
    with program.loop(int(model.attributes["size"])):  # wrong
        program.delay(1)


def nothing_to_compute(model: Model, _program: Program) -> None:
    model.attributes["size"] + math.nan  # wrong


def another_models_attribute(_model: Model, program: Program) -> None:
    program.delay(Model("other").attribute("size"))  # wrong


def two_models_in_one_expression(model: Model, _program: Program) -> None:
    model.attributes["size"] + Model("other").attribute("size")  # wrong


def minimum_of_one(model: Model, _program: Program) -> None:
    minimum(model.attributes["size"])  # wrong


def no_time_at_all(model: Model, program: Program) -> None:
    program.use(model.stations["cpu"], math.nan)  # wrong


def negative_time(_model: Model, program: Program) -> None:
    program.delay(-1)  # wrong


def time_that_is_a_word(_model: Model, program: Program) -> None:
    program.delay("1 ms")  # type: ignore[arg-type]  # wrong


def case_after_otherwise(_model: Model, program: Program) -> None:
    with program.branch() as branch:
        with branch.otherwise():
            program.delay(1)
        with branch.case(0.0):  # wrong
            program.delay(1)


def two_ways_to_choose(model: Model, program: Program) -> None:
    with program.branch() as branch:
        with branch.case(0.5):
            program.delay(1)
        with branch.when(model.attributes["size"] > 1):  # wrong
            program.delay(1)


def probability_in_turn(_model: Model, program: Program) -> None:
    with program.branch("round_robin") as branch, branch.case(0.5):  # wrong
        program.delay(1)


def shortest_of_nothing(_model: Model, program: Program) -> None:
    with program.branch("shortest_queue") as branch, branch.case():  # wrong
        program.delay(1)


def otherwise_in_turn(_model: Model, program: Program) -> None:
    with program.branch("round_robin") as branch, branch.otherwise():  # wrong
        program.delay(1)


def hash_of_nothing(_model: Model, program: Program) -> None:
    with program.branch("hash") as branch, branch.case():  # wrong
        program.delay(1)


def hash_of_a_draw(_model: Model, program: Program) -> None:
    with program.branch("hash", by=uniform(0, 9)) as branch, branch.case():  # wrong
        program.delay(1)


def number_of_nothing(_model: Model, program: Program) -> None:
    with program.branch("index") as branch, branch.case():  # wrong
        program.delay(1)


def number_by_chance(_model: Model, program: Program) -> None:
    with program.branch("index", by=uniform(0, 2)) as branch, branch.case():  # wrong
        program.delay(1)


def probability_by_number(model: Model, program: Program) -> None:
    size = model.attributes["size"]
    with program.branch("index", by=size) as branch, branch.case(0.5):  # wrong
        program.delay(1)


def empty_mix(model: Model, _program: Program) -> None:
    model.closed_mix("all", {}, population=1)  # wrong


def mix_without_weights(model: Model, program: Program) -> None:
    model.closed_mix("all", {"users": program}, population=1)  # type: ignore[dict-item]  # wrong


def mix_of_nobody(model: Model, program: Program) -> None:
    model.closed_mix("all", {"users": (program, 1)}, population=0)  # wrong


def half_a_weight(model: Model, program: Program) -> None:
    model.closed_mix("all", {"users": (program, 0.5)}, population=1)  # type: ignore[dict-item]  # wrong


def weight_of_nothing(model: Model, program: Program) -> None:
    model.closed_mix("all", {"users": (program, 0)}, population=1)  # wrong


def unknown_draw(model: Model, program: Program) -> None:
    model.closed_mix("all", {"users": (program, 1)}, population=1, draw="dice")  # type: ignore[arg-type]  # wrong


def priority_of_nobody(model: Model, program: Program) -> None:
    members = {"users": (program, 1)}
    model.closed_mix("all", members, population=1, priorities={"guests": 1})  # wrong


def large_deck(model: Model, program: Program) -> None:
    model.closed_mix("all", {"users": (program, 100_001)}, population=1, draw="deck")  # wrong


def mix_twice(model: Model, program: Program) -> None:
    model.closed_mix("all", {"users": (program, 1)}, population=1)
    model.closed_mix("all", {"guests": (program, 1)}, population=1)  # wrong


def class_of_two_mixes(model: Model, program: Program) -> None:
    model.closed_mix("all", {"users": (program, 1)}, population=1)
    model.closed_mix("more", {"users": (program, 1)}, population=1)  # wrong


def mix_of_another(model: Model, _program: Program) -> None:
    other = Model("other").program("walk")
    model.closed_mix("all", {"users": (other, 1)}, population=1)  # wrong


def unknown_policy(_model: Model, program: Program) -> None:
    with program.branch("best") as branch, branch.case():  # type: ignore[arg-type]  # wrong
        program.delay(1)


def round_without_cases(_model: Model, program: Program) -> None:
    with program.branch("round_robin"):  # wrong
        pass


def one_of_none(_model: Model, program: Program) -> None:
    program.use_one_of([], 1)  # wrong


def too_large_a_quorum(_model: Model, program: Program) -> None:
    with program.fork(quorum=2) as fork, fork.arm():  # wrong
        program.delay(1)


def quorum_of_none(_model: Model, program: Program) -> None:
    with program.fork(quorum=0) as fork, fork.arm():  # wrong
        program.delay(1)


def cancel_nobody(_model: Model, program: Program) -> None:
    with program.fork(cancel=True) as fork, fork.arm():  # wrong
        program.delay(1)


def attempt_without_work(_model: Model, program: Program) -> None:
    with program.attempt(timeout=1):  # wrong
        pass


def failure_before_work(_model: Model, program: Program) -> None:
    with program.attempt(timeout=1) as attempt, attempt.failed():  # wrong
        program.delay(1)


def work_twice(_model: Model, program: Program) -> None:
    with program.attempt(timeout=1) as attempt:
        with attempt.work():
            program.delay(1)
        with attempt.work():  # wrong
            program.delay(1)


def no_tries(_model: Model, program: Program) -> None:
    with program.attempt(timeout=1, tries=0) as attempt, attempt.work():  # wrong
        program.delay(1)


def pause_after_the_last_try(_model: Model, program: Program) -> None:
    with program.attempt(timeout=1, pause=1) as attempt, attempt.work():  # wrong
        program.delay(1)


def attempt_that_cannot_fail(model: Model, program: Program) -> None:
    with program.attempt() as attempt, attempt.work():  # wrong
        program.use(model.stations["cpu"], 1)


def attempt_that_keeps(model: Model, program: Program) -> None:
    with program.attempt(timeout=1) as attempt:  # wrong
        with attempt.work():
            program.acquire(model.pools["memory"])
        with attempt.failed():
            program.delay(1)
    program.release(model.pools["memory"])


def attempt_that_gives_away(model: Model, program: Program) -> None:
    memory = model.pools["memory"]
    program.acquire(memory)
    with program.attempt(timeout=1) as attempt, attempt.work():
        program.release(memory)  # wrong
        program.acquire(memory)
    program.release(memory)


def reply_to_nobody(_model: Model, program: Program) -> None:
    program.reply()  # wrong


def called(model: Model, program: Program) -> Program:
    other = model.program("other")
    program.call(other)
    return other


def reply_twice(model: Model, program: Program) -> None:
    other = called(model, program)
    with other.branch() as branch:
        with branch.case(0.5):
            other.reply()
        with branch.otherwise():
            other.delay(1)
    other.reply()  # wrong


def reply_in_a_loop(model: Model, program: Program) -> None:
    other = called(model, program)
    with other.loop(2):
        other.reply()  # wrong


def reply_in_an_arm(model: Model, program: Program) -> None:
    other = called(model, program)
    with other.fork() as fork, fork.arm():
        other.reply()  # wrong


def program_that_nobody_walks(model: Model, _program: Program) -> None:
    model.program("idle").delay(1)  # wrong


def start_something_else(_model: Model, program: Program) -> None:
    program.start("other")  # type: ignore[arg-type]  # wrong


def set_a_station(model: Model, program: Program) -> None:
    program.set(model.stations["cpu"], 1)  # type: ignore[arg-type]  # wrong


def set_to_infinity(model: Model, program: Program) -> None:
    program.set(model.attributes["size"], math.inf)  # wrong


def unknown_discipline(model: Model, _program: Program) -> None:
    model.station("new", discipline="sjf")  # type: ignore[arg-type]  # wrong


def speeds_for_others(model: Model, _program: Program) -> None:
    model.station("new", servers=2, speeds=[1, 2, 3])  # wrong


def backward_speed(model: Model, _program: Program) -> None:
    model.station("new", speeds=[-1])  # wrong


def limit_without_sharing(model: Model, _program: Program) -> None:
    model.station("new", limit=3)  # wrong


def idle_servers(model: Model, _program: Program) -> None:
    model.station("new", discipline="ps", servers=4, limit=3)  # wrong


def counted_infinity(model: Model, _program: Program) -> None:
    model.station("new", discipline="infinite", servers=2)  # wrong


def never_full(model: Model, _program: Program) -> None:
    model.station("new", when_full="reject")  # wrong


def negative_buffer(model: Model, _program: Program) -> None:
    model.station("new", buffer=-1)  # wrong


def batches_shared(model: Model, _program: Program) -> None:
    model.station("new", discipline="ps", batch=4)  # wrong


def batch_backwards(model: Model, _program: Program) -> None:
    model.station("new", batch=(4, 2))  # wrong


def batch_without_room(model: Model, _program: Program) -> None:
    model.station("new", batch=(0, 2))  # wrong


def breakdown_twice(model: Model, _program: Program) -> None:
    model.breakdowns(model.stations["cpu"], time_to_failure=9, repair=1)
    model.breakdowns(model.stations["cpu"], time_to_failure=9, repair=1)  # wrong


def breakdown_of_another(model: Model, _program: Program) -> None:
    model.breakdowns(Model("other").station("cpu"), time_to_failure=9, repair=1)  # wrong


def always_broken(model: Model, _program: Program) -> None:
    model.breakdowns(model.stations["cpu"], time_to_failure=0, repair=1)  # wrong


def repair_by_a_job(model: Model, _program: Program) -> None:
    size = model.attributes["size"]
    model.breakdowns(model.stations["cpu"], time_to_failure=9, repair=size)  # type: ignore[arg-type]  # wrong


def unknown_order(model: Model, _program: Program) -> None:
    model.pool("new", tokens=1, order="lifo")  # type: ignore[arg-type]  # wrong


def initial_nothing(model: Model, _program: Program) -> None:
    model.attribute("new", initial=math.nan)  # wrong


def jobs_of_a_name(model: Model, _program: Program) -> None:
    model.jobs("cpu")  # type: ignore[arg-type]  # wrong


def free_of_another(model: Model, _program: Program) -> None:
    model.free(Model("other").pool("memory", tokens=1))  # wrong


def nameless_inside(model: Model, _program: Program) -> None:
    with model.inside(""):  # wrong
        pass


def half_a_priority(model: Model, program: Program) -> None:
    model.closed_class("users", program, population=1, priority=0.5)  # type: ignore[arg-type]  # wrong


def too_many_placed(model: Model, program: Program) -> None:
    program.use(model.stations["cpu"], 1)
    model.closed_class("users", program, population=1, placed={model.stations["cpu"]: 2})  # wrong


def placed_elsewhere(model: Model, program: Program) -> None:
    model.closed_class("users", program, population=1, placed={model.stations["cpu"]: 1})  # wrong


def unknown_start(model: Model, program: Program) -> None:
    model.closed_class("users", program, population=1, start="asleep")  # type: ignore[arg-type]  # wrong


def half_a_batch(model: Model, program: Program) -> None:
    model.open_class("users", program, interarrival=9, batch=exponential(2))  # wrong


def empty_batches(model: Model, program: Program) -> None:
    model.open_class("users", program, interarrival=9, batch=discrete([0], weights=[1]))  # wrong


def fewer_than_none(model: Model, program: Program) -> None:
    model.open_class("users", program, interarrival=9, initial=-1)  # wrong


def no_interarrival(model: Model, program: Program) -> None:
    model.open_class("users", program, interarrival=0)  # wrong


def computed_interarrival(model: Model, program: Program) -> None:
    model.open_class("users", program, interarrival=model.now)  # type: ignore[arg-type]  # wrong


def coarse_expression(model: Model, program: Program) -> None:
    program.use(model.stations["cpu"], floor(1) * 1e-9 * exponential(1))  # wrong


def reserve_for_a_pause(model: Model, program: Program) -> None:
    program.use(model.stations["cpu"], 1, reserve=True)  # wrong
    program.delay(1)
    program.use(model.station("narrow", buffer=1), 1)


def reserve_where_there_is_room(model: Model, program: Program) -> None:
    program.use(model.stations["cpu"], 1, reserve=True)  # wrong
    program.use(model.stations["disk"], 1)


def reserve_before_a_choice(model: Model, program: Program) -> None:
    narrow = model.station("narrow", buffer=1)
    program.use(model.stations["cpu"], 1, reserve=True)  # wrong
    with program.branch("round_robin") as branch, branch.case():
        program.use(narrow, 1)


CASES: dict[Write, str] = {
    network_to_nowhere: "node 'a' leads to 'b', which is not a node of its network",
    network_without_way_out: "never leaves its network from node 'b'",
    node_never_reached: "never comes to node 'b': no route leads to it from the first, 'a'",
    half_the_routes: "gives the routes of node 'a' probabilities that sum to 0.5, not 1",
    conditions_without_otherwise: "says not where to go if none is true",
    two_nodes_of_a_name: "has a node named 'a', which is empty or already used",
    node_that_keeps: "holds 1 of pool 'memory' after node 'a' and nothing before it",
    step_beside_the_nodes: "has a step (delay) in a network but in none of its nodes",
    routes_that_are_none: "gives node 'a' the routes []",
    queue_routes_without_queues: "by queues, but gives None for one",
    empty_network: "the network has no node",
    condition_as_if: "(size > 3) has no truth value in Python",
    chained_condition: "has no truth value in Python",
    builtin_minimum: "has no truth value in Python",
    condition_of_python: "is 3, which no job computes",
    rounded_in_python: "size is used as a number in Python",
    nothing_to_compute: "an expression cannot compute with nan",
    another_models_attribute: "refers to another model",
    two_models_in_one_expression: "an expression mixes two models",
    minimum_of_one: "minimum() has one operand",
    no_time_at_all: "the service time at station 'cpu' is nan",
    negative_time: "the time of a delay is -1",
    time_that_is_a_word: "the time of a delay is '1 ms'",
    case_after_otherwise: "has a case after otherwise, which is never taken",
    two_ways_to_choose: "has a case by condition in a branch by probability",
    probability_in_turn: "gives a case a probability in a branch by round_robin",
    shortest_of_nothing: "has a case without a queue in a branch by shortest_queue",
    otherwise_in_turn: "has an otherwise in a branch by round_robin",
    hash_of_nothing: "chooses by hash without an expression to look at",
    hash_of_a_draw: "chooses by the draw uniform(low=0.0, high=9.0)",
    number_of_nothing: "chooses by index without an expression to look at",
    number_by_chance: "chooses by the draw uniform(low=0.0, high=2.0)",
    probability_by_number: "gives a case a probability in a branch by index",
    empty_mix: "mix 'all' has the classes {}",
    mix_without_weights: "class 'users' of mix 'all' is ",
    mix_of_nobody: "mix 'all' has 0 jobs (population)",
    half_a_weight: "class 'users' of mix 'all' has 0.5 weight",
    weight_of_nothing: "class 'users' of mix 'all' has 0 weight",
    unknown_draw: "mix 'all' has the draw 'dice', which is not known",
    priority_of_nobody: "mix 'all' gives a priority to 'guests', which is not one of its classes",
    large_deck: "the deck of mix 'all' has more than 100000 cards",
    mix_twice: "'all'",
    class_of_two_mixes: "'users'",
    mix_of_another: "class 'users' does not walk a program of this model",
    unknown_policy: "has the policy 'best', which is not known",
    round_without_cases: "the branch has no case",
    one_of_none: "uses one of []",
    too_large_a_quorum: "the fork waits for 2 arms and has 1",
    quorum_of_none: "waits for 0 arms of a fork",
    cancel_nobody: "cancels the rest of a fork that waits for all of its arms",
    attempt_without_work: "the attempt has no work",
    failure_before_work: "writes what follows a failed attempt in the wrong place",
    work_twice: "writes the work of an attempt after its work",
    no_tries: "tries its work 0 times",
    pause_after_the_last_try: "pauses between tries, but has one try",
    attempt_that_cannot_fail: "makes an attempt that cannot fail",
    attempt_that_keeps: "holds 1 of pool 'memory' after an attempt that succeeds and nothing",
    attempt_that_gives_away: "inside an attempt, but acquired them before it",
    reply_to_nobody: "replies, but no program calls it",
    reply_twice: "replies a second time on some path",
    reply_in_a_loop: "replies inside a block (loop)",
    reply_in_an_arm: "replies inside a block (fork)",
    program_that_nobody_walks: "program 'idle' is never run",
    start_something_else: "names 'other', but needs a program",
    set_a_station: "but needs an attribute",
    set_to_infinity: "the value of attribute 'size' is inf",
    unknown_discipline: "has the discipline 'sjf', which is not known",
    speeds_for_others: "has 2 server(s) and 3 speed(s)",
    backward_speed: "has the speeds [-1]",
    limit_without_sharing: "but its discipline is fcfs",
    idle_servers: "lets 3 job(s) share 4 servers",
    counted_infinity: "has infinitely many servers",
    never_full: "can never be full",
    negative_buffer: "has -1 waiting places",
    batches_shared: "takes jobs in batches, but its discipline is ps",
    batch_backwards: "has 2 jobs in a batch",
    batch_without_room: "has 0 jobs in a batch",
    breakdown_twice: "station 'cpu' breaks down already",
    breakdown_of_another: "station 'cpu' is not in this model",
    always_broken: "station 'cpu' would fail again at once",
    repair_by_a_job: "is the expression size, but no job computes it",
    unknown_order: "has the order 'lifo', which is not known",
    initial_nothing: "attribute 'new' starts as nan",
    jobs_of_a_name: "jobs are counted at 'cpu', which is not a station of this model",
    free_of_another: "which is not a pool of this model",
    nameless_inside: "names are put inside ''",
    half_a_priority: "class 'users' has the priority 0.5",
    too_many_placed: "places 2 jobs at stations, but has 1",
    placed_elsewhere: "places jobs at station 'cpu', which program 'request' never uses",
    unknown_start: "has the start 'asleep', which is not known",
    half_a_batch: "arrives in batches of exponential(mean=2.0)",
    empty_batches: "arrives in batches of discrete",
    fewer_than_none: "has -1 jobs at time 0",
    no_interarrival: "class 'users' has no time between arrivals",
    computed_interarrival: "is the expression now, but no job computes it",
    reserve_for_a_pause: "reserves a place before its service at station 'cpu', but uses no",
    reserve_where_there_is_room: "reserves a place before its service at station 'cpu'",
    reserve_before_a_choice: "reserves a place before its service at station 'cpu'",
    coarse_expression: "its draws would be distorted",
}


@pytest.mark.parametrize(("write", "words"), CASES.items(), ids=[write.__name__ for write in CASES])
def test_a_mistake_is_refused_with_its_line_and_a_cure(write: Write, words: str) -> None:
    with pytest.raises(SimulationError) as caught:
        canonical_json(model_with(write))
    assert words in caught.value.message
    assert caught.value.cure
    assert f"{Path(__file__).name}:{marked_line(write)}: " in caught.value.message


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_a_case_may_have_a_computed_probability_of_nothing_or_all(probability: float) -> None:
    def write(_model: Model, program: Program) -> None:
        with program.branch() as branch:
            with branch.case(probability):
                program.delay(1)
            with branch.otherwise():
                program.delay(2)
        with program.network() as net:
            with net.node("a", to={"b": probability, net.leave: 1 - probability}):
                program.delay(1)
            with net.node("b", to=net.leave):
                program.delay(1)

    assert canonical_json(model_with(write))


def test_a_place_may_be_reserved_out_of_a_case() -> None:
    def write(model: Model, program: Program) -> None:
        narrow, pool = model.station("narrow", buffer=1), model.pools["memory"]
        with program.branch() as branch:
            with branch.case(0.5):
                program.acquire(pool)
                program.use(model.stations["cpu"], 1, reserve=True)
                program.release(pool)
            with branch.otherwise():
                pass
        program.use(narrow, 1)

    assert canonical_json(model_with(write))


def test_a_loop_may_have_a_computed_count_of_zero() -> None:
    def write(_model: Model, program: Program) -> None:
        with program.loop(0):
            program.delay(1)

    assert canonical_json(model_with(write))
