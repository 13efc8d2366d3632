"""The whole model language: every step, discipline and arrival process can be solved."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from headroom.simulation import (
    Model,
    Program,
    changing_rate,
    constant,
    exponential,
    mmpp,
    trace,
)
from headroom.solvers import Solution, SolverError, network_of, solve
from headroom.solvers.solve import estimate, solve_network

Steps = Callable[[Model, Program], None]


def document(steps: Steps, **cpu: Any) -> Model:
    """Return a model with a station "cpu" and a program "main" of these steps."""
    model = Model("document", time_unit="s")
    model.station("cpu", **cpu)
    steps(model, model.program("main"))
    return model


def use(mean: float = 1.0) -> Steps:
    return lambda model, main: main.use(model.stations["cpu"], exponential(mean))


def with_users(model: Model, population: int = 4) -> Model:
    model.closed_class("users", model.programs["main"], population=population, think=exponential(3))
    return model


def with_arrivals(model: Model, mean: float = 2.0, name: str = "jobs", **more: Any) -> Model:
    between = exponential(mean)
    model.open_class(name, model.programs["main"], **{"interarrival": between, **more})
    return model


def solved(steps: Steps, **cpu: Any) -> Solution:
    return solve(with_users(document(steps, **cpu)))


@pytest.mark.parametrize("discipline", ["fcfs", "lcfs", "random", "ps", "lcfs_preempt"])
def test_disciplines_of_product_form_have_one_answer(discipline: str) -> None:
    """Exponential services of one mean: who is served first does not change the means."""
    solution = solve(with_arrivals(document(use(0.5), discipline=discipline)))
    assert solution.is_exact
    assert solution.response_s == pytest.approx(0.5 / (1 - 0.25))


def test_unlimited_servers_take_any_law_and_have_no_utilization() -> None:
    model = document(
        lambda model, main: main.use(model.stations["cpu"], constant(5)), discipline="infinite"
    )
    solution = solve(with_arrivals(model, 0.1))
    assert solution.is_exact
    assert solution.response_s == pytest.approx(5.0)
    assert solution.stations[0].jobs == pytest.approx(50.0)
    assert "station.cpu.utilization" not in solution.metrics()


@pytest.mark.parametrize(
    ("discipline", "responses"),
    [("priority", (2.333333, 7.666667)), ("priority_preempt", (1.666667, 8.333333))],
)
def test_priorities_agree_with_the_known_answers(
    discipline: str, responses: tuple[float, float]
) -> None:
    """Larger numbers go first; the known waits plus the own service."""
    model = with_arrivals(document(use(), discipline=discipline), 2.5, "urgent", priority=1)
    solution = solve(with_arrivals(model, 2.5, "patient"))
    assert solution.is_exact
    assert [class_.response_s for class_ in solution.classes] == pytest.approx(responses, abs=1e-6)


@pytest.mark.parametrize(
    ("places", "lost", "response"), [(5, 0.088819, 2.563065), (10, 0.023493, 3.797098)]
)
def test_a_buffer_that_turns_away_agrees_with_the_known_answers(
    places: int, lost: float, response: float
) -> None:
    model = document(use(), buffer=places - 1, when_full="reject")
    solution = solve(with_arrivals(model, 1.25))
    assert solution.is_exact
    assert solution.method == "M/M/1/K, level by level"
    assert solution.throughput_per_s == pytest.approx(0.8 * (1 - lost), abs=1e-6)
    assert solution.response_s == pytest.approx(response, abs=1e-6)


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ({"buffer": 1}, "held up (blocking)"),
        ({"buffer": 1, "when_full": "reject"}, "turned away"),
        ({"limit": 2, "discipline": "ps"}, "at most 2 jobs share"),
        ({"servers": 2, "speeds": [1.0, 2.0]}, "servers of different speeds"),
        ({"batch": (1, 4)}, "serves several jobs at once"),
    ],
)
def test_what_a_station_limits_is_a_reason_unless_it_cannot_happen(
    extra: dict[str, Any], reason: str
) -> None:
    solution = solved(use(), **extra)
    assert not solution.is_exact
    assert any(reason in one for one in solution.reasons), solution.reasons
    roomy = {name: {"buffer": 9, "limit": 9, "speeds": None, "batch": None}.get(name, value)
             for name, value in extra.items()}  # fmt: skip
    assert solved(use(), **roomy).is_exact


def test_breakdowns_are_a_reason() -> None:
    model = with_users(document(use()))
    cpu = model.stations["cpu"]
    model.breakdowns(cpu, time_to_failure=exponential(9), repair=exponential(1))
    assert any("break down" in reason for reason in solve(model).reasons)


def two_nodes(model: Model, main: Program) -> None:
    disk = model.station("disk")
    with main.network() as net:
        with net.node("a", to={"b": 0.8, net.leave: 0.2}):
            main.use(model.stations["cpu"], exponential(0.1))
        with net.node("b", to={"a": 1.0}):
            main.use(disk, exponential(0.2))


def test_a_network_of_nodes_is_its_traffic_equations() -> None:
    """Oracle: cpu goes on to the disk with 0.8 and leaves with 0.2, so V = 5 and 4."""
    network = network_of(with_users(document(two_nodes)))
    assert network.visits[:, 0] == pytest.approx([5.0, 4.0])
    flows = network.classes[0].flows
    assert flows["cpu", "disk"] == pytest.approx(4.0)
    assert flows["disk", "cpu"] == pytest.approx(4.0)
    assert flows["", "cpu"] == pytest.approx(1.0)
    assert solve_network(network).is_exact


def test_a_time_that_scales_with_an_attribute_has_its_moments() -> None:
    """Exponential sizes times a number are exponential; the reason stays, as sizes persist."""

    def steps(model: Model, main: Program) -> None:
        size = model.attribute("size")
        main.set(size, exponential(4))
        main.use(model.stations["cpu"], size * 0.1)

    solution = solve(with_arrivals(document(steps)))
    assert solution.stations[0].utilization == pytest.approx(0.2)
    assert solution.stations[0].wait_s == pytest.approx(0.4 * 0.2 / 0.8)
    assert "depends on an attribute" in solution.reasons[0]


def test_what_a_trace_says_of_its_jobs_is_known() -> None:
    """Cause: attributes of a trace were taken at their initial value."""

    def steps(model: Model, main: Program) -> None:
        main.use(model.stations["cpu"], model.attribute("size"))

    sizes = trace([1.0, 2.0, 6.0, 8.0], attributes={"size": [0.1, 0.3, 0.2, 0.2]})
    solution = solve(with_arrivals(document(steps), interarrival=sizes))
    assert solution.stations[0].utilization == pytest.approx(0.1)


def test_a_time_without_a_mean_is_refused_with_its_line() -> None:
    def steps(model: Model, main: Program) -> None:
        cpu = model.stations["cpu"]
        main.use(cpu, model.jobs(cpu) + 1)

    with pytest.raises(SolverError, match=r"test_model_format\.py:\d+: the mean"):
        solved(steps)


def impatient(model: Model, main: Program) -> None:
    with main.attempt(timeout=exponential(1), tries=3) as attempt:
        with attempt.work():
            main.use(model.stations["cpu"], exponential(1))
        with attempt.failed():
            main.use(model.stations["cpu"], exponential(9))


def shortest(model: Model, main: Program) -> None:
    cpu, other = model.stations["cpu"], model.station("other")
    main.use_one_of([cpu, other], exponential(1), policy="shortest_queue")


def reserving(model: Model, main: Program) -> None:
    main.use(model.stations["cpu"], exponential(1), reserve=True)
    main.use(model.station("next", buffer=9), exponential(1))


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (lambda model, main: (main.prioritize(1), use()(model, main)), "changes its priority"),
        (reserving, "(blocking)"),
        (impatient, "may time out"),
        (shortest, "by the state of the system"),
    ],
)
def test_steps_outside_product_form_are_reasons_with_their_line(steps: Steps, reason: str) -> None:
    solution = solved(steps)
    assert not solution.is_exact
    assert any(reason in one and "test_model_format.py:" in one for one in solution.reasons)
    assert solution.refused
    assert np.isnan(solution.throughput_per_s)


@pytest.mark.deep
def test_blocks_nested_deeper_than_the_stack_of_python_have_an_answer() -> None:
    def steps(model: Model, main: Program) -> None:
        with ExitStack() as stack:
            for _ in range(3000):
                stack.enter_context(main.loop(1))
            main.use(model.stations["cpu"], exponential(1))

    assert solved(steps).is_exact


def test_work_after_a_reply_loads_the_server_but_not_the_caller() -> None:
    """Second phase: one request keeps the server busy for 3, but answers after 1."""

    def steps(model: Model, main: Program) -> None:
        server = model.program("server")
        server.use(model.stations["cpu"], exponential(0.1))
        server.reply()
        server.use(model.stations["cpu"], exponential(0.2))
        main.call(server)

    solution = estimate(with_arrivals(document(steps), 10.0))
    assert solution.stations[0].utilization == pytest.approx(0.03)
    assert solution.response_s == pytest.approx(0.1, rel=0.1)
    assert any("second phase" in reason for reason in solution.reasons)


def test_a_quorum_waits_for_the_first_of_its_arms() -> None:
    def steps(model: Model, main: Program) -> None:
        disk = model.station("disk")
        with main.fork(quorum=1, cancel=True) as fork:
            for station in (model.stations["cpu"], disk):
                with fork.arm():
                    main.use(station, exponential(1e-3))

    solution = estimate(with_arrivals(document(steps), 1000.0))
    assert solution.response_s == pytest.approx(0.5e-3, rel=1e-3)


@pytest.mark.parametrize(
    ("process", "rate"),
    [
        (mmpp(rates=[1.0, 0.0], switch_rates=[[0, 1.0], [1.0, 0]]), 0.5),
        (changing_rate(times=[0.0, 6.0], rates=[0.2, 0.8], period=8.0), 0.35),
        (trace([1.0, 2.0, 6.0, 8.0]), 0.5),
    ],
)
def test_other_arrivals_have_their_rate_and_a_reason(process: Any, rate: float) -> None:
    solution = solve(with_arrivals(document(use(0.5)), interarrival=process))
    assert solution.throughput_per_s == pytest.approx(rate)
    assert solution.is_exact == (getattr(process, "kind", "") == "mmpp")


def test_bursty_arrivals_wait_longer_than_poisson_ones() -> None:
    """An interrupted Poisson process is hyperexponential: c2 = 1 + 2 rate off / (on + off)^2."""
    process = mmpp(rates=[1.0, 0.0], switch_rates=[[0, 1.0], [1.0, 0]])
    network = network_of(with_arrivals(document(use()), interarrival=process))
    assert network.classes[0].arrivals.c2 == pytest.approx(1 + 2 * 1.0 * 1.0 / 4.0)


def test_batches_of_arrivals_multiply_the_rate() -> None:
    solution = solve(with_arrivals(document(use(0.1)), batch=constant(3)))
    assert solution.throughput_per_s == pytest.approx(1.5)
    # Load 0.15: M/M/1 waits 0.15 x 0.1 / 0.85, and one of its batch is before it on average.
    assert solution.response_s == pytest.approx(0.1 + 0.15 * 0.1 / 0.85 + 0.1 / 0.85)
