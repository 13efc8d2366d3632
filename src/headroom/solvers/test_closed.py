"""Closed networks: exact solvers against rational arithmetic, enumeration and each other."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, logsumexp

from headroom.solvers.approximate.approximate import linearizer, schweitzer
from headroom.solvers.approximate.levels import Level, several_servers
from headroom.solvers.bounds.bounds import asymptotic_throughput, balanced_throughput
from headroom.solvers.exact.closed import Closed, ClosedAnswer, closed
from headroom.solvers.exact.convolution import convolve
from headroom.solvers.exact.mva import mean_value_analysis

CPU_AND_DISKS = [Fraction(4)] + [Fraction(15, 16)] * 16


def central_server(jobs: int) -> Closed:
    """Return 4 CPUs of mean 4 and 16 disks of mean 15, uniformly chosen."""
    return closed([float(d) for d in CPU_AND_DISKS], jobs, servers=[4] + [1] * 16)


def rational(demands: list[Fraction], servers: list[int], jobs: int) -> list[Fraction]:
    """Return the normalising constants G(0..jobs) by Buzen's algorithm without rounding."""
    constants = [Fraction(n == 0) for n in range(jobs + 1)]
    for demand, count in zip(demands, servers, strict=True):
        factor = [Fraction(1)]
        for n in range(1, jobs + 1):
            factor.append(factor[-1] * demand / min(n, count))
        constants = [
            sum((factor[k] * constants[n - k] for k in range(n + 1)), Fraction(0))
            for n in range(jobs + 1)
        ]
    return constants


def throughput(answer: ClosedAnswer) -> float:
    return float(answer.throughput_per_s[0])


@pytest.mark.deep
@pytest.mark.parametrize("jobs", [1, 2, 16, 64, 128, 256])
def test_the_central_server_agrees_with_rational_arithmetic(jobs: int) -> None:
    constants = rational(CPU_AND_DISKS, [4] + [1] * 16, jobs)
    exact = float(constants[-2] / constants[-1])
    assert throughput(convolve(central_server(jobs))) == pytest.approx(exact, rel=1e-12)


def test_queues_of_the_central_server_agree_with_the_known_answers() -> None:
    answer = convolve(central_server(64))
    x = throughput(answer)
    assert x * 4 / 4 == pytest.approx(0.844677, abs=5e-7)
    assert x * 15 / 16 == pytest.approx(0.791884, abs=1e-6)
    assert answer.jobs[0, 0] == pytest.approx(6.541137, abs=5e-7)
    assert answer.jobs[1:, 0] == pytest.approx(3.591179, abs=5e-7)
    assert 64 / x == pytest.approx(75.7686, abs=5e-5)


@pytest.mark.parametrize("jobs", [200, 2000, 10_000])
def test_a_saturated_pair_of_stations_has_the_throughput_of_the_slow_one(jobs: int) -> None:
    """Recursions over marginal probabilities give a negative throughput at 200 jobs."""
    answer = convolve(closed([8.0, 0.1], jobs, servers=[4, 1]))
    assert throughput(answer) == pytest.approx(0.5, rel=1e-9)
    assert answer.jobs.sum() == pytest.approx(jobs, rel=1e-9)


@pytest.mark.parametrize("jobs", [1000, 10_000])
def test_ten_thousand_jobs_stay_inside_the_bounds(jobs: int) -> None:
    network = central_server(jobs)
    answer = convolve(network)
    low, high = asymptotic_throughput(
        network.demand_s[:, 0], network.servers, population=jobs, think_s=0.0
    )
    assert low <= throughput(answer) <= high * (1 + 1e-9)
    assert throughput(answer) == pytest.approx(1.0, rel=1e-9)
    assert answer.jobs.sum() == pytest.approx(jobs, rel=1e-9)


@pytest.mark.parametrize(("jobs", "stations", "x"), [(4, 3, 2 / 3), (10, 5, 5 / 7), (64, 17, 0.8)])
def test_balanced_networks_agree_with_their_formula(jobs: int, stations: int, x: float) -> None:
    """Oracle: X = N / (D (N + M - 1))."""
    network = closed([1.0] * stations, jobs)
    for solver in (convolve, mean_value_analysis):
        assert throughput(solver(network)) == pytest.approx(x, rel=1e-12)


def test_two_classes_agree_with_the_known_answers() -> None:
    network = closed([[0.4, 0.1], [0.2, 0.5]], [3, 2], think_s=[1, 2])
    for solver in (convolve, mean_value_analysis):
        answer = solver(network)
        assert answer.throughput_per_s == pytest.approx([1.463418, 0.653214], abs=5e-7)
        assert answer.jobs.sum(axis=1) == pytest.approx([1.122926, 1.107228], abs=5e-7)


def enumerated(network: Closed) -> ClosedAnswer:
    """Return the solution by summing the product form over every state: slow and plain."""
    weights: dict[tuple[int, ...], float] = {}
    jobs = np.zeros_like(network.demand_s)
    open_jobs = np.zeros(len(network.demand_s))
    population = tuple(int(n) for n in network.population)
    fewer = [tuple(n - (r == s) for s, n in enumerate(population)) for r in range(len(population))]
    for total in {population, *fewer}:
        weights[total] = 0.0
        for state in _states(network, total):
            weight = _weight(network, state, total)
            weights[total] += weight
            if total == population:
                jobs += weight * np.array(state)
                open_jobs += weight * _open_given(network, state)
    constant = weights[population]
    return ClosedAnswer(
        throughput_per_s=np.array([weights[less] / constant for less in fewer]),
        jobs=jobs / constant,
        open_jobs=open_jobs / constant,
    )


def _states(network: Closed, total: tuple[int, ...]) -> list[tuple[tuple[int, ...], ...]]:
    """Return every way to spread `total` over the stations, who is missing being at think."""
    one = list(itertools.product(*(range(n + 1) for n in total)))
    every = itertools.product(one, repeat=len(network.demand_s))
    return [
        s
        for s in every
        if all(sum(c) <= n for c, n in zip(zip(*s, strict=True), total, strict=True))
    ]


def _weight(network: Closed, state: tuple[tuple[int, ...], ...], total: tuple[int, ...]) -> float:
    weight = 1.0
    for r, jobs in enumerate(total):
        thinking = jobs - sum(present[r] for present in state)
        weight *= float(network.think_s[r]) ** thinking / math.factorial(thinking)
    for k, present in enumerate(state):
        factor = math.factorial(sum(present)) * _series(network, k, sum(present), 0)
        for r, n in enumerate(present):
            factor *= float(network.demand_s[k, r]) ** n / math.factorial(n)
        weight *= factor
    return weight


def _series(network: Closed, k: int, present: int, power: int) -> float:
    """Return the sum over open jobs m of m^power C(n + m, m) a^m / (min(1,c) .. min(n+m,c))."""
    servers, load = int(network.servers[k]), float(network.open_load[k])
    total, term = 0.0, 1.0
    for n in range(1, present + 1):
        term /= min(n, servers)
    for m in range(400 if load > 0 else 1):
        total += term * float(m) ** power
        term *= load * (present + m + 1) / ((m + 1) * min(present + m + 1, servers))
    return total


def _open_given(network: Closed, state: tuple[tuple[int, ...], ...]) -> np.ndarray:
    return np.array(
        [
            _series(network, k, sum(present), 1) / _series(network, k, sum(present), 0)
            for k, present in enumerate(state)
        ]
    )


@st.composite
def small_networks(draw: st.DrawFn) -> Closed:
    classes = draw(st.integers(1, 2))
    stations = draw(st.integers(1, 3))
    demand = st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0])
    demands = draw(
        st.lists(
            st.lists(demand, min_size=classes, max_size=classes),
            min_size=stations,
            max_size=stations,
        )
    )
    servers = draw(st.lists(st.integers(1, 4), min_size=stations, max_size=stations))
    taken = draw(st.lists(st.sampled_from([0.0, 0.3, 0.6]), min_size=stations, max_size=stations))
    return closed(
        demands,
        draw(st.lists(st.integers(1, 3), min_size=classes, max_size=classes)),
        servers=servers,
        think_s=draw(
            st.lists(st.sampled_from([0.2, 1.0, 5.0]), min_size=classes, max_size=classes)
        ),
        open_load=[share * count for share, count in zip(taken, servers, strict=True)],
    )


@pytest.mark.deep
@settings(max_examples=60, deadline=None)
@given(small_networks())
def test_convolution_agrees_with_the_sum_over_all_states(network: Closed) -> None:
    """Several classes, several servers, open classes: all of it at once."""
    expected, found = enumerated(network), convolve(network)
    assert found.throughput_per_s == pytest.approx(expected.throughput_per_s, rel=1e-9)
    assert found.jobs == pytest.approx(expected.jobs, rel=1e-8, abs=1e-12)
    assert found.open_jobs == pytest.approx(expected.open_jobs, rel=1e-8, abs=1e-12)


@st.composite
def networks(draw: st.DrawFn, *, most_servers: int = 1) -> Closed:
    classes = draw(st.integers(1, 3))
    stations = draw(st.integers(1, 5))
    times = st.floats(0.01, 10.0)
    demands = [[draw(times) for _ in range(classes)] for _ in range(stations)]
    return closed(
        demands,
        [draw(st.integers(1, 12)) for _ in range(classes)],
        servers=[draw(st.integers(1, most_servers)) for _ in range(stations)],
        think_s=[draw(st.sampled_from([0.0, 1.0, 20.0])) for _ in range(classes)],
    )


@settings(max_examples=40, deadline=None)
@given(networks())
def test_mean_value_analysis_agrees_with_convolution(network: Closed) -> None:
    expected, found = mean_value_analysis(network), convolve(network)
    assert found.throughput_per_s == pytest.approx(expected.throughput_per_s, rel=1e-9)
    assert found.jobs == pytest.approx(expected.jobs, rel=1e-8)


@pytest.mark.deep
@settings(max_examples=40, deadline=None)
@given(networks(most_servers=5))
def test_nobody_is_lost(network: Closed) -> None:
    """Jobs at stations and at think are the population, class by class (Little's law)."""
    for solver in (convolve, linearizer, schweitzer):
        answer = solver(network)
        present = answer.jobs.sum(axis=0) + answer.throughput_per_s * network.think_s
        assert present == pytest.approx(network.population, rel=1e-6)


@pytest.mark.deep
@settings(max_examples=40, deadline=None)
@given(networks(most_servers=4))
def test_no_station_does_more_than_it_can(network: Closed) -> None:
    for solver in (convolve, linearizer, schweitzer):
        busy = network.demand_s @ solver(network).throughput_per_s
        assert (busy <= network.servers * (1 + 1e-6)).all()


def random_network(rng: np.random.Generator, most_servers: int) -> Closed:
    classes, stations = rng.integers(1, 4), rng.integers(1, 6)
    return closed(
        rng.uniform(0.01, 10, (stations, classes)),
        rng.integers(1, 13, classes),
        servers=rng.integers(1, most_servers + 1, stations),
        think_s=rng.choice([0, 1, 20], classes),
    )


@pytest.mark.deep
@pytest.mark.parametrize(
    ("most_servers", "typical", "rare"), [(1, 0.003, 0.015), (4, 0.005, 0.03), (8, 0.006, 0.06)]
)
def test_linearizer_is_close_to_exact(most_servers: int, typical: float, rare: float) -> None:
    """Published: below 2% on single servers; Erlang's C for several servers adds a little."""
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(80):
        network = random_network(rng, most_servers)
        exact, found = convolve(network), linearizer(network)
        errors.append(np.abs(found.throughput_per_s / exact.throughput_per_s - 1).max())
    assert np.median(errors) <= typical
    assert np.quantile(errors, 0.95) <= rare


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.01, 10.0), min_size=1, max_size=6),
    st.integers(1, 60),
    st.sampled_from([0.0, 0.5, 30.0]),
)
def test_bounds_hold_the_exact_throughput(demands: list[float], jobs: int, think: float) -> None:
    network = closed(demands, jobs, think_s=think)
    found = throughput(convolve(network))
    for low, high in (
        asymptotic_throughput(
            np.array(demands), np.ones(len(demands)), population=jobs, think_s=think
        ),
        balanced_throughput(np.array(demands), population=jobs, think_s=think),
    ):
        assert low * (1 - 1e-9) <= found <= high * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(networks(most_servers=4))
def test_levels_agree_with_convolution_at_every_population(network: Closed) -> None:
    """Two ways to the same answer: tilted probabilities and logarithms."""
    if len(network.population) > 1:
        return
    is_single = network.servers == 1
    several = [
        several_servers(servers, demand, taken)
        for servers, (demand,), taken in zip(
            network.servers, network.demand_s, network.open_load, strict=True
        )
        if servers > 1 and demand > 0
    ]
    single = (network.demand_s[:, 0] / (1 - network.open_load))[is_single]
    think, jobs = float(network.think_s[0]), int(network.population[0])
    level = Level(jobs, think, single[single > 0], several)
    assert (np.diff(level.rates) >= -1e-9 * level.rates[1:]).all()
    for count in {1, jobs}:
        solution = convolve(replace(network, population=np.array([count])))
        assert level.rates[count - 1] == pytest.approx(throughput(solution))


def test_a_million_users_at_one_server_are_no_trouble() -> None:
    answer = convolve(closed([1.0], 1_000_000, think_s=1_000_000.0))
    assert throughput(answer) == pytest.approx(1.0, rel=2e-3)
    assert throughput(answer) < 1.0


def test_many_servers_do_not_overflow() -> None:
    """The series of a station with c servers grows like e^c: past 700 no float holds it.

    Oracle: the normalising constants as sums of exponentials of logarithms.
    """
    jobs, servers, think = 3000, 2000, 0.5
    at_work = np.append(0.0, np.cumsum(-np.log(np.minimum(np.arange(1, jobs + 1), servers))))
    at_think = np.arange(jobs + 1) * np.log(think) - gammaln(np.arange(jobs + 1) + 1)
    logs = [logsumexp(at_work[: n + 1] + at_think[n::-1]) for n in (jobs - 1, jobs)]
    answer = convolve(closed([1.0], jobs, servers=[servers], think_s=think))
    assert throughput(answer) == pytest.approx(np.exp(logs[0] - logs[1]), rel=1e-10)


def test_one_class_of_a_thousand_stations_agrees_with_its_formula() -> None:
    answer = convolve(closed([1.0] * 1000, 50))
    assert throughput(answer) == pytest.approx(50 / 1049, rel=1e-10)


@pytest.mark.parametrize(("stations", "jobs"), [(500, 5_000), (1_000, 100), (40, 200_000)])
def test_a_large_balanced_ring_has_its_closed_form_answer(stations: int, jobs: int) -> None:
    """Oracle: X = N / (D (N + M - 1)). Factors without their norm left the range of a float."""
    answer = convolve(closed([0.01] * stations, jobs))
    assert answer.throughput_per_s[0] == pytest.approx(
        jobs / (jobs + stations - 1) / 0.01, rel=1e-12
    )
    assert answer.jobs.sum() == pytest.approx(jobs, rel=1e-10)


def test_a_large_unbalanced_network_agrees_with_mean_value_analysis() -> None:
    """The recursion of mean value analysis has no constant that could leave the range."""
    demands = np.random.default_rng(1).uniform(0.001, 0.01, 400)
    network = closed(list(demands), 3_000, think_s=0.5)
    assert convolve(network).throughput_per_s[0] == pytest.approx(
        mean_value_analysis(network).throughput_per_s[0], rel=1e-9
    )
