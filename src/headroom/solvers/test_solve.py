"""Whole models: the extracted network, the chosen method, and agreement with simulation."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.simulation import (
    Distribution,
    Model,
    SimulationError,
    constant,
    discrete,
    erlang,
    exponential,
    geometric,
    hyperexponential,
    simulate,
)
from headroom.solvers import SolverError, network_of, solve
from headroom.solvers.evidence import central_server, classes, fork, interactive, pool


def open_queue(
    service: Distribution | float, *, load: float = 0.8, servers: int = 1, between: float = 1.0
) -> Model:
    """Return one station with Poisson arrivals."""
    model = Model("queue", time_unit="s")
    program = model.program("visit")
    program.use(model.station("server", servers=servers), service)
    model.open_class("customers", program, interarrival=exponential(between / (load * servers)))
    return model


def closed_model(build: Callable[[Model], None], *, jobs: int = 5, think: float = 1.0) -> Model:
    model = Model("closed", time_unit="s")
    build(model)
    program = next(iter(model.programs.values()))
    model.closed_class("users", program, population=jobs, think=exponential(think))
    return model


@pytest.mark.parametrize("mean", [0.3, 0.5, 1.5])
def test_a_geometric_loop_from_zero_has_its_mean_number_of_rounds(mean: float) -> None:
    """A mean below 1 was counted as one round."""
    model = Model("calls", time_unit="s")
    program = model.program("call")
    program.use(model.station("client", discipline="infinite"), exponential(1))
    with program.loop(geometric(mean, low=0)):
        program.use(model.station("server"), exponential(1))
    model.closed_class("one", program, population=1, start="ready")
    assert solve(model).classes[0].response_s == pytest.approx(1 + mean)


def test_a_loop_a_branch_and_a_call_give_the_visits_that_arithmetic_says() -> None:
    model = Model("visits", time_unit="ms")
    cpu, disk, tape = (model.station(name) for name in ("cpu", "disk", "tape"))
    lookup = model.program("lookup")
    lookup.use(disk, exponential(4))
    request = model.program("request")
    with request.loop(discrete([0, 2, 4], weights=[1, 1, 2])):
        request.use(cpu, exponential(2))
        with request.branch() as branch:
            with branch.case(0.25):
                request.use(tape, exponential(100))
            with branch.otherwise():
                request.call(lookup)
    request.delay(constant(7))
    model.closed_class("users", request, population=3)
    network = network_of(model)
    assert network.visits[:, 0] == pytest.approx([2.5, 0.75 * 2.5, 0.25 * 2.5])
    assert network.demand_s[:, 0] == pytest.approx([0.005, 0.0075, 0.0625])
    assert network.classes[0].delay_s == pytest.approx(0.007)


def test_routes_between_stations_add_up() -> None:
    """What goes into a station comes out of it."""
    flows = network_of(looped()).classes[0].flows
    for name in ("cpu", "disk1", "disk2"):
        into = sum(mass for (_, target), mass in flows.items() if target == name)
        out = sum(mass for (origin, _), mass in flows.items() if origin == name)
        assert into == pytest.approx(out)
    assert flows["cpu", "disk2"] == pytest.approx(2.5)


def looped() -> Model:
    """Return a program of ten rounds, each at the CPU and then at one of two disks."""
    model = Model("looped", time_unit="s")
    cpu, *disks = (model.station(name) for name in ("cpu", "disk1", "disk2"))
    program = model.program("job")
    with program.loop(10):
        program.use(cpu, exponential(1))
        with program.branch() as branch:
            for disk, share in zip(disks, (0.75, 0.25), strict=True):
                with branch.case(share):
                    program.use(disk, exponential(1))
    model.closed_class("jobs", program, population=3)
    return model


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (open_queue(exponential(1)), "M/M/c"),
        (open_queue(exponential(1), servers=4), "M/M/c"),
        (central_server(64), "convolution"),
        (interactive(20), "convolution"),
        (open_queue(constant(1)), "Pollaczek and Khinchine"),
        (open_queue(hyperexponential(1, c2=4)), "Pollaczek and Khinchine"),
    ],
)
def test_textbook_models_are_solved_exactly(model: Model, method: str) -> None:
    solution = solve(model)
    assert solution.is_exact
    assert solution.reasons == ()
    assert solution.method == method


def test_percentiles_of_mm1_are_those_of_the_formula() -> None:
    metrics = solve(open_queue(exponential(1))).metrics()
    assert metrics["response_s_p95"] == pytest.approx(14.9787, abs=1e-4)
    assert metrics["response_s_p99"] == pytest.approx(23.0259, abs=1e-4)
    assert metrics["station.server.wait_s_p95"] == pytest.approx(5 * np.log(0.8 / 0.05))


@pytest.mark.parametrize(("servers", "users"), [(1, 20), (3, 40), (4, 3)])
def test_percentiles_of_the_repairman_agree_with_simulation(servers: int, users: int) -> None:
    """Tolerance: 2% of a run of 300,000 responses."""
    model = Model("repairman", time_unit="s")
    program = model.program("request")
    program.use(model.station("server", servers=servers), exponential(1))
    model.closed_class("users", program, population=users, think=exponential(9))
    run = simulate(model, seed=3, completions=300_000)
    (histogram,) = run.histograms
    counts = histogram.counts.sum(axis=0).cumsum()
    for percent, value in solve(model).classes[0].response_s_at.items():
        place = int(np.searchsorted(counts, counts[-1] * percent / 100))
        middle = (histogram.bin_low[place] + histogram.bin_high[place]) / 2
        assert value == pytest.approx(middle, rel=0.02), percent


@pytest.mark.parametrize(
    ("tokens", "x", "r"),
    [(1, 0.990643, 5.094453), (2, 1.249365, 3.004066), (4, 1.353620, 2.387597)],
)
def test_a_held_pool_is_close_to_the_known_answers(tokens: int, x: float, r: float) -> None:
    """The flow-equivalent server is an approximation: 1.5% in throughput, 4% in response."""
    solution = solve(pool(tokens, exponential(0.5)))
    assert not solution.is_exact
    assert "tokens of pool 'threads'" in solution.reasons[0]
    assert solution.throughput_per_s == pytest.approx(x, rel=0.015)
    assert solution.response_s == pytest.approx(r, rel=0.04)


def test_a_pool_that_cannot_run_out_is_no_reason() -> None:
    """Known answer: ten clients, ten threads."""
    solution = solve(pool(10, exponential(0.5)))
    assert solution.is_exact
    assert solution.throughput_per_s == pytest.approx(1.364236, abs=5e-7)
    assert solution.response_s == pytest.approx(2.330108, abs=5e-7)


@pytest.mark.parametrize(("arms", "load", "r"), [(2, 0.5, 2.875), (2, 0.8, 7.0), (4, 0.5, 3.7898)])
def test_a_fork_over_equal_queues_agrees_with_the_known_answers(
    arms: int, load: float, r: float
) -> None:
    solution = solve(fork(arms, load))
    assert solution.response_s == pytest.approx(r, abs=1e-4)
    assert solution.is_exact == (arms == 2)
    assert solution.method == ("Flatto and Hahn" if arms == 2 else "Nelson and Tantawi")


def fork_join_users(model: Model) -> None:
    left, right = model.station("left"), model.station("right")
    program = model.program("job")
    with program.fork() as fork:
        with fork.arm():
            program.use(left, exponential(1))
        with fork.arm():
            program.use(right, exponential(2))


def variable_closed() -> Model:
    def build(model: Model) -> None:
        program = model.program("job")
        program.use(model.station("cpu"), hyperexponential(1, c2=4))
        program.use(model.station("disk", servers=3), erlang(2, 4))

    return closed_model(build, jobs=12, think=3)


def tandem() -> Model:
    model = Model("tandem", time_unit="s")
    program = model.program("job")
    for name, law in (("one", erlang(0.7, 4)), ("two", hyperexponential(0.6, c2=3))):
        program.use(model.station(name), law)
    model.open_class("jobs", program, interarrival=erlang(1, 2))
    return model


@pytest.mark.parametrize(
    ("model", "tolerance"),
    [
        (closed_model(fork_join_users), 0.05),
        (classes(), 0.03),
        (variable_closed(), 0.06),
        (tandem(), 0.20),
        (pool(3, exponential(0.5)), 0.02),
    ],
    ids=["fork", "unequal classes", "variable service", "tandem", "pool"],
)
def test_approximations_are_labelled_and_close_to_simulation(
    model: Model, tolerance: float
) -> None:
    """One run of 200,000 completions; the tolerance is what the method is known to miss."""
    solution = solve(model)
    assert not solution.is_exact
    assert solution.reasons
    run = simulate(model, seed=5, completions=200_000)
    columns, span = run.classes.columns, run.snapshot_times_s[-1]
    for place, one in enumerate(solution.classes):
        count = columns["completion_count"][-1, place]
        response = columns["response_s_sum"][-1, place] / count
        assert one.throughput_per_s == pytest.approx(count / span, rel=min(tolerance, 0.05))
        assert one.response_s == pytest.approx(response, rel=tolerance), one.name


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (
            lambda: closed_model(lambda m: m.program("job").use(m.station("cpu"), constant(1))),
            "service at 'cpu' (fcfs) is not exponential",
        ),
        (classes, "mean service times at 'cpu' (fcfs) differ by class or visit"),
        (lambda: closed_model(fork_join_users), "a fork runs several things for one job"),
        (lambda: pool(2, exponential(0.5)), "jobs hold and wait for tokens of pool 'threads'"),
        (tandem, "class 'jobs': times between arrivals are erlang, not exponential"),
    ],
)
def test_every_reason_against_product_form_names_its_place(
    build: Callable[[], Model], reason: str
) -> None:
    reasons = solve(build()).reasons
    assert any(reason in one for one in reasons), reasons
    if "class" not in reason:
        assert any(
            re.search(r"\b(test_solve|evidence)\.py:\d+: ", one) for one in reasons if reason in one
        )


def test_an_exact_queue_at_the_end_of_a_product_form_route_stays_exact() -> None:
    """Burke: what leaves M/M/c is Poisson; what leaves M/D/1 is not."""
    for order, is_exact in (((exponential(0.5), constant(0.6)), True),
                            ((constant(0.6), exponential(0.5)), False)):  # fmt: skip
        model = Model("line", time_unit="s")
        program = model.program("job")
        for place, law in enumerate(order):
            program.use(model.station(f"queue{place}"), law)
        model.open_class("jobs", program, interarrival=exponential(1))
        assert solve(model).is_exact == is_exact


def test_overload_has_no_steady_state() -> None:
    with pytest.raises(SolverError, match=r"'server' \(1.2 for each server\)"):
        solve(open_queue(exponential(1.2), load=1.0))


def test_a_model_that_contradicts_itself_is_refused_as_the_simulator_does() -> None:
    with pytest.raises(SimulationError, match="no class"):
        solve(Model("empty"))


def test_mixed_networks_give_open_classes_what_is_theirs() -> None:
    """Oracle: an open class alone is M/M/1; next to closed jobs it waits longer."""
    model = Model("mixed", time_unit="s")
    cpu = model.station("cpu")
    for name in ("batch", "online"):
        model.program(name).use(cpu, exponential(1))
    model.open_class("online", model.programs["online"], interarrival=exponential(2))
    model.closed_class("batch", model.programs["batch"], population=1, think=exponential(1e6))
    found = {class_.name: class_ for class_ in solve(model).classes}
    assert found["online"].throughput_per_s == pytest.approx(0.5)
    assert found["online"].response_s == pytest.approx(2.0, rel=1e-4)


@st.composite
def product_form_models(draw: st.DrawFn) -> Model:
    model = Model("random", time_unit="s")
    stations = [
        model.station(f"s{n}", servers=draw(st.integers(1, 3)))
        for n in range(draw(st.integers(1, 3)))
    ]
    means = [draw(st.floats(0.1, 2.0)) for _ in stations]
    for number in range(draw(st.integers(1, 2))):
        program = model.program(f"p{number}")
        for station, mean in zip(stations, means, strict=True):
            with program.loop(draw(st.integers(1, 3))):
                program.use(station, exponential(mean))
        model.closed_class(
            f"c{number}", program, population=draw(st.integers(1, 8)), think=exponential(1)
        )
    return model


@settings(max_examples=20, deadline=None)
@given(product_form_models())
def test_product_form_models_are_exact_and_obey_the_laws(model: Model) -> None:
    solution = solve(model)
    assert solution.is_exact
    jobs = sum(one.jobs for one in solution.stations)
    assert jobs == pytest.approx(sum(class_.jobs for class_ in solution.classes), rel=1e-8)
    for station in solution.stations:
        assert 0 < station.utilization <= 1 + 1e-12
        assert station.jobs == pytest.approx(
            station.throughput_per_s * station.response_s, rel=1e-8
        )
    for one, bounds in zip(solution.classes, solution.bounds, strict=True):
        assert bounds.throughput_per_s_low <= one.throughput_per_s * (1 + 1e-9)
        assert one.throughput_per_s <= bounds.throughput_per_s_high * (1 + 1e-9)


@settings(max_examples=5, deadline=None)
@given(product_form_models())
def test_simulation_agrees_with_the_exact_solution(model: Model) -> None:
    run = simulate(model, seed=1, completions=60_000)
    span = run.snapshot_times_s[-1]
    for place, one in enumerate(solve(model).classes):
        simulated = run.classes.columns["completion_count"][-1, place] / span
        assert one.throughput_per_s == pytest.approx(simulated, rel=0.05)


def test_what_is_too_costly_to_solve_exactly_is_approximated_with_the_cost_stated() -> None:
    model = Model("large", time_unit="s")
    cpu = model.station("cpu")
    for number in range(6):
        program = model.program(f"p{number}")
        program.use(cpu, exponential(1))
        model.closed_class(f"c{number}", program, population=50, think=exponential(10 + number))
    solution = solve(model)
    assert not solution.is_exact
    assert "populations" in solution.reasons[0]
    assert solution.throughput_per_s == pytest.approx(1.0, rel=1e-3)
