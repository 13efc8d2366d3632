"""The kernel against closed forms: every answer lies in a 99.9 % interval over 30 replications.

Each model runs 30 replications with fixed seeds, a fifth of each cut off as warm-up. The Student-t
interval must hold the exact answer and must be narrow (the stated share of the answer), so a test
fails both where the kernel is biased and where it is noisy. With about 40 answers one suite in 25
would raise a false alarm; the seeds are fixed, so this one does not.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from headroom.simulation import (
    Distribution,
    Model,
    SimulationResult,
    constant,
    discrete,
    erlang,
    exponential,
    hyperexponential,
    simulate,
)

REPLICATIONS = 30
WARM_UP_SHARE = 0.2
Column = tuple[str, str]


@dataclass(frozen=True)
class Window:
    """Differences of cumulative statistics after the warm-up."""

    result: SimulationResult

    @property
    def first(self) -> int:
        """Index of the first snapshot after the warm-up."""
        end_s = self.result.snapshot_times_s[-1]
        return int(np.searchsorted(self.result.snapshot_times_s, WARM_UP_SHARE * end_s))

    @property
    def length_s(self) -> float:
        """Length (s) of the window."""
        times = self.result.snapshot_times_s
        return float(times[-1] - times[self.first])

    def station(self, column: str, index: int = 0) -> float:
        """Return the growth of a station column."""
        values = self.result.stations.columns[column][:, index]
        return float(values[-1] - values[self.first])

    def jobs(self, column: str) -> float:
        """Return the growth of a class column, all classes together."""
        values = self.result.classes.columns[column].sum(axis=1)
        return float(values[-1] - values[self.first])

    @property
    def throughput(self) -> float:
        """Completions per second."""
        return self.jobs("completion_count") / self.length_s

    @property
    def response_s(self) -> float:
        """Mean response time (s)."""
        return self.jobs("response_s_sum") / self.jobs("completion_count")

    @property
    def wait_s(self) -> float:
        """Mean wait (s) at the first station."""
        return self.station("wait_s_sum") / self.station("completion_count")


Statistic = Callable[[Window], float]


def assert_holds(
    model: Model, answers: dict[str, tuple[Statistic, float]], *, completions: int, width: float
) -> None:
    """Assert that the 99.9 % interval of each statistic holds its answer and is narrow."""
    windows = [
        Window(simulate(model, seed=seed, completions=completions)) for seed in range(REPLICATIONS)
    ]
    for name, (statistic, answer) in answers.items():
        values = np.array([statistic(window) for window in windows])
        half = stats.t.ppf(0.9995, REPLICATIONS - 1) * stats.sem(values)
        assert abs(values.mean() - answer) <= half, (name, values.mean(), answer, half)
        assert half <= width * answer, (name, half, answer)


def open_queue(service: Distribution, *, arrivals_per_s: float, servers: int = 1) -> Model:
    model = Model("queue", time_unit="s")
    program = model.program("visit")
    program.use(model.station("server", servers=servers), service)
    model.open_class("customers", program, interarrival=exponential(1 / arrivals_per_s))
    return model


def test_mm1_agrees_with_the_closed_form() -> None:
    """M/M/1 at rho 0.8: W = 5, Wq = 4, L = 4, U = 0.8."""
    assert_holds(
        open_queue(exponential(1), arrivals_per_s=0.8),
        {
            "W": (lambda w: w.response_s, 5.0),
            "Wq": (lambda w: w.wait_s, 4.0),
            "L": (lambda w: w.station("jobs_s") / w.length_s, 4.0),
            "Lq": (lambda w: w.station("queue_s") / w.length_s, 3.2),
            "U": (lambda w: w.station("busy_s") / w.length_s, 0.8),
            "X": (lambda w: w.throughput, 0.8),
        },
        completions=200_000,
        width=0.03,
    )


def quantile(result: SimulationResult, share: float) -> float:
    """Return the quantile of the response time, interpolated in its bin."""
    histogram = result.histograms[0]
    counts = histogram.counts[3:].sum(axis=0)
    edges = np.append(histogram.bin_low, histogram.bin_high[-1])
    return float(np.interp(share * counts.sum(), np.append(0, counts.cumsum()), edges))


def test_mm1_percentiles_agree_with_the_closed_form() -> None:
    """M/M/1 at rho 0.8: W is exponential with mean 5, so p95 = 14.9787 and p99 = 23.0259."""
    assert_holds(
        open_queue(exponential(1), arrivals_per_s=0.8),
        {
            "p50": (lambda w: quantile(w.result, 0.50), 3.4657),
            "p95": (lambda w: quantile(w.result, 0.95), 14.9787),
            "p99": (lambda w: quantile(w.result, 0.99), 23.0259),
        },
        completions=100_000,
        width=0.05,
    )


@pytest.mark.parametrize(
    ("servers", "load", "wait_s"), [(2, 0.8, 1.777778), (4, 0.9, 1.969383), (8, 0.7, 0.112751)]
)
def test_mmc_waits_agree_with_erlang_c(servers: int, load: float, wait_s: float) -> None:
    """M/M/c: Wq = C / (c mu (1 - rho))."""
    model = open_queue(exponential(1), arrivals_per_s=servers * load, servers=servers)
    assert_holds(model, {"Wq": (lambda w: w.wait_s, wait_s)}, completions=250_000, width=0.05)


@pytest.mark.parametrize(
    ("service", "wait_s"),
    [(constant(1), 2.0), (erlang(1, stages=2), 3.0), (hyperexponential(1, c2=4), 10.0)],
    ids=["M/D/1", "M/E2/1", "M/H2/1"],
)
def test_mg1_waits_agree_with_pollaczek_and_khinchine(service: Distribution, wait_s: float) -> None:
    """M/G/1 at rho 0.8: Wq = rho (1 + c2) / (2 (1 - rho))."""
    model = open_queue(service, arrivals_per_s=0.8)
    assert_holds(model, {"Wq": (lambda w: w.wait_s, wait_s)}, completions=250_000, width=0.06)


@pytest.mark.parametrize(
    ("population", "servers", "think_s", "throughput", "response_s"),
    [
        (10, 1, 9, 0.832037, 3.018700),
        (20, 1, 10, 0.998131, 10.037451),
        (20, 2, 10, 1.654791, 2.086122),
        (64, 4, 15, 3.700119, 2.296743),
    ],
)
def test_the_machine_repairman_agrees_with_the_exact_solution(
    population: int, servers: int, think_s: float, throughput: float, response_s: float
) -> None:
    model = Model("repairman", time_unit="s")
    program = model.program("repair")
    program.use(model.station("crew", servers=servers), exponential(1))
    model.closed_class("machines", program, population=population, think=exponential(think_s))
    assert_holds(
        model,
        {
            "X": (lambda w: w.throughput, throughput),
            "R": (lambda w: w.response_s, response_s),
        },
        completions=100_000,
        width=0.02,
    )


def central_server(population: int) -> Model:
    model = Model("central server", time_unit="s")
    cpu = model.station("cpu", servers=4)
    disks = [model.station(f"disk {number}") for number in range(16)]
    cycle = model.program("cycle")
    cycle.use(cpu, exponential(4))
    with cycle.branch() as branch:
        for disk in disks:
            with branch.case(1 / 16):
                cycle.use(disk, exponential(15))
    model.closed_class("jobs", cycle, population=population)
    return model


def test_the_central_server_of_8_jobs_agrees_with_the_exact_solution() -> None:
    answers = {"X": (lambda w: w.throughput, 0.326861)}
    assert_holds(central_server(8), answers, completions=50_000, width=0.01)


def test_the_central_server_of_64_jobs_agrees_with_the_exact_solution() -> None:
    """Buzen's convolution in exact arithmetic."""
    assert_holds(
        central_server(64),
        {
            "X": (lambda w: w.throughput, 0.844677),
            "cycle": (lambda w: w.response_s, 75.7686),
            "U cpu": (lambda w: w.station("busy_s") / w.length_s / 4, 0.844677),
            "U disk": (lambda w: w.station("busy_s", 5) / w.length_s, 0.791884),
            "Q cpu": (lambda w: w.station("jobs_s") / w.length_s, 6.541137),
            "Q disk": (lambda w: w.station("jobs_s", 5) / w.length_s, 3.591179),
        },
        completions=100_000,
        width=0.07,
    )


@pytest.mark.parametrize(
    ("users", "throughput", "response_s"),
    [
        (1, 0.892857, 0.120000),
        (2, 1.778625, 0.124464),
        (5, 4.386651, 0.139822),
        (10, 8.516911, 0.174135),
        (20, 15.359464, 0.302129),
        (50, 19.986431, 1.501697),
    ],
)
def test_the_interactive_system_agrees_with_mean_value_analysis(
    users: int, throughput: float, response_s: float
) -> None:
    model = Model("interactive", time_unit="ms")
    interaction = model.program("interaction")
    for name, demand_ms in (("cpu", 50), ("disk", 30), ("network", 40)):
        interaction.use(model.station(name), exponential(demand_ms))
    model.closed_class("users", interaction, population=users, think=exponential(1000))
    assert_holds(
        model,
        {
            "X": (lambda w: w.throughput, throughput),
            "R": (lambda w: w.response_s, response_s),
        },
        completions=40_000,
        width=0.02,
    )


@pytest.mark.parametrize(
    ("threads", "throughput", "response_s"),
    [
        (1, 0.990643, 5.094453),
        (2, 1.249365, 3.004066),
        (4, 1.353620, 2.387597),
        (10, 1.364236, 2.330108),
    ],
)
def test_a_thread_pool_around_two_stations_agrees_with_its_markov_chain(
    threads: int, throughput: float, response_s: float
) -> None:
    """Nested resources: ten clients think 5 s; a thread is held during CPU and disk (0.5 s)."""
    model = Model("threads", time_unit="s")
    pool = model.pool("threads", tokens=threads)
    cpu, disk = model.station("cpu"), model.station("disk")
    request = model.program("request")
    with request.holding(pool):
        request.use(cpu, exponential(0.5))
        request.use(disk, exponential(0.5))
    model.closed_class("clients", request, population=10, think=exponential(5))
    assert_holds(
        model,
        {
            "X": (lambda w: w.throughput, throughput),
            "R": (lambda w: w.response_s, response_s),
        },
        completions=50_000,
        width=0.01,
    )


@pytest.mark.parametrize(("load", "response_s"), [(0.5, 2.875), (0.8, 7.0)])
def test_a_fork_of_two_agrees_with_nelson_and_tantawi(load: float, response_s: float) -> None:
    """Nelson & Tantawi (1988): R = (12 - rho) / 8 / (mu - lambda), exact for two arms."""
    model = Model("fork", time_unit="s")
    program = model.program("visit")
    with program.fork() as fork:
        for name in ("left", "right"):
            with fork.arm():
                program.use(model.station(name), exponential(1))
    model.open_class("customers", program, interarrival=exponential(1 / load))
    answers = {"R": (lambda w: w.response_s, response_s)}
    assert_holds(model, answers, completions=200_000, width=0.04)


def test_a_tandem_of_two_stations_and_a_call_agrees_with_jacksons_theorem() -> None:
    """Two M/M/1 stations in series at rho 0.5: W = 2 + 2; the second is reached by a call."""
    model = Model("tandem", time_unit="s")
    inner = model.program("inner")
    inner.use(model.station("second"), exponential(1))
    outer = model.program("outer")
    outer.use(model.station("first"), exponential(1))
    outer.call(inner)
    model.open_class("customers", outer, interarrival=exponential(2))
    assert_holds(model, {"W": (lambda w: w.response_s, 4.0)}, completions=200_000, width=0.02)


def test_two_open_classes_share_a_station_as_one_stream() -> None:
    """Two Poisson classes of 0.4/s each with the same service are one M/M/1 at rho 0.8."""
    model = Model("mix", time_unit="s")
    server = model.station("server")
    for name in ("red", "blue"):
        program = model.program(name)
        program.use(server, exponential(1))
        model.open_class(name, program, interarrival=exponential(2.5))
    answers = {"W": (lambda w: w.response_s, 5.0), "Wq": (lambda w: w.wait_s, 4.0)}
    assert_holds(model, answers, completions=200_000, width=0.04)


def test_a_loop_with_a_drawn_count_adds_up() -> None:
    """1 or 3 rounds, equally likely, of a constant 2 ms: a mean of 4 ms, none of it waiting."""
    model = Model("loop", time_unit="ms")
    program = model.program("rounds")
    with program.loop(discrete([1, 3], weights=[1, 1])):
        program.delay(constant(2))
    model.closed_class("jobs", program, population=3)
    answers = {"R": (lambda w: w.response_s, 0.004)}
    assert_holds(model, answers, completions=10_000, width=0.01)
