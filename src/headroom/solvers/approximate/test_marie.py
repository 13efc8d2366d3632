"""Oracle: closed chains written out state by state, and convolution where all is exponential."""

import numpy as np
import pytest

from headroom.simulation import Distribution, Model, constant, erlang, exponential, hyperexponential
from headroom.solvers import solve
from headroom.solvers.approximate.marie import marie
from headroom.solvers.exact.closed import Closed
from headroom.solvers.exact.convolution import convolve
from headroom.solvers.exact.phases import phase_type


def part(demands: list[float], servers: list[float], think_s: float, jobs: int) -> Closed:
    return Closed(
        demand_s=np.array(demands)[:, None],
        servers=np.array(servers),
        think_s=np.array([think_s]),
        population=np.array([jobs]),
        open_load=np.zeros(len(demands)),
    )


@pytest.mark.parametrize("jobs", [1, 7, 300])
def test_without_other_laws_it_is_the_product_form(jobs: int) -> None:
    given = part([1.0, 0.5, 2.0], [1, 1, 3], 30.0, jobs)
    found, known = marie(given, [None] * 3), convolve(given)
    assert found is not None
    assert found.throughput_per_s == pytest.approx(known.throughput_per_s, rel=1e-9)
    assert found.jobs == pytest.approx(known.jobs, rel=1e-7)


def users_of(law: Distribution, jobs: int, think: float, servers: int = 1) -> Model:
    model = Model("users", time_unit="s")
    program = model.program("visit")
    program.use(model.station("cpu", servers=servers), law)
    model.closed_class("users", program, population=jobs, think=exponential(think))
    return model


def test_one_station_of_phases_among_thinking_users_is_its_chain() -> None:
    """Erlang of two stages: states are idle, or the jobs there with the stage of the first."""
    jobs, think = 6, 4.0
    size = 1 + 2 * jobs
    rates = np.zeros((size, size))

    def place(present: int, stage: int) -> int:
        return 0 if present == 0 else 2 * present - 1 + stage

    for present in range(jobs + 1):
        for stage in range(2 if present else 1):
            here = place(present, stage)
            if present < jobs:
                rates[here, place(present + 1, stage)] = (jobs - present) / think
            if present:
                rates[here, place(present - stage, 1 - stage)] += 2.0
    balance = (rates - np.diag(rates.sum(axis=1))).T
    balance[0] = 1.0
    shares = np.linalg.solve(balance, np.eye(size)[0])
    found = solve(users_of(erlang(1, 2), jobs, think))
    assert found.method == "Marie's method"
    assert found.throughput_per_s == pytest.approx(1 - shares[0], rel=1e-9)
    assert found.response_s == pytest.approx(jobs / (1 - shares[0]) - think, rel=1e-8)


def test_two_servers_and_one_job_wait_for_nobody() -> None:
    found = solve(users_of(hyperexponential(1, c2=9), 2, 5.0, servers=2))
    assert found.response_s == pytest.approx(1.0, rel=1e-9)


def test_the_bound_of_a_constant_service_is_kept_by_two_stations() -> None:
    """Two constants of one length in a ring: each job in turn, as many as there are stations."""
    model = Model("ring", time_unit="s")
    program = model.program("round")
    for name in ("a", "b"):
        program.use(model.station(name), constant(1))
    model.closed_class("jobs", program, population=8)
    assert 0.9 < solve(model).throughput_per_s <= 1.0


def test_a_station_that_holds_all_jobs_completes_by_its_mean_service() -> None:
    """Nothing else takes time: c of n jobs are served at any moment, whatever the law."""
    for jobs, servers in ((1, 1), (5, 1), (5, 2), (2, 3)):
        found = marie(part([0.5], [servers], 0.0, jobs), [phase_type(erlang(0.5, 4))])
        assert found is not None
        assert found.throughput_per_s[0] == pytest.approx(min(jobs, servers) / 0.5)


@pytest.mark.parametrize("think", [1e-6, 1e-4, 1e-3])
def test_arrivals_that_are_far_faster_than_a_constant_service_leave_it_full(think: float) -> None:
    """The difference of rates of such unlike size has no correct digit: it is never formed."""
    found = solve(users_of(constant(0.00422), 16, think, servers=4))
    assert found.throughput_per_s == pytest.approx(4 / 0.00422, rel=1e-6)
