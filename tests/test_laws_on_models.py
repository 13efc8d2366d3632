"""Operational laws on simulated runs: no run is rejected for slow or rare events.

The tests also check theory of random closed networks: exact answers, bounds, and that slower
service never makes anything faster. The samples are the same in every run, so the intervals are
too.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from scipy import stats

from headroom.analysis.evidence import Fault
from headroom.analysis.run.operational_laws import check_laws
from headroom.analysis.run.test_operational_laws import laws_of
from headroom.analysis.run.windows import open_window
from headroom.experiment.protocol.run import Run
from headroom.simulation import Model, SimulationError, constant, exponential, pareto, simulate
from headroom.simulation.language.stations import Discipline
from headroom.simulation.runs.run import ready, run_ready
from headroom.solvers import solve
from headroom.systems.model.conversion import run_of
from tests.support.fake_models import laws, models


def with_responses_too_long(run: Run) -> Run:
    """Return the run with the responses at its stations miscounted by 1%."""
    tables = (
        replace(
            table,
            columns={**table.columns, "response_s_sum": 1.01 * table.columns["response_s_sum"]},
        )
        if table.kind == "station"
        else table
        for table in run.resources
    )
    return replace(run, resources=tuple(tables))


def with_a_slow_class() -> Model:
    """Ten users, and four jobs that last longer than most runs."""
    model = Model("slow class", time_unit="s")
    cpu = model.station("cpu")
    request = model.program("request")
    request.use(cpu, exponential(1))
    report = model.program("report")
    report.delay(exponential(5000))
    model.closed_class("users", request, population=10, think=exponential(1))
    model.closed_class("reports", report, population=4)
    return model


def with_a_rare_branch() -> Model:
    """Two jobs in a thousand go to a station that takes 900 s."""
    model = Model("rare branch", time_unit="s")
    cpu, archive = model.station("cpu"), model.station("archive", servers=50)
    request = model.program("request")
    request.use(cpu, exponential(0.5))
    with request.branch() as branch:
        with branch.case(0.002):
            request.use(archive, constant(900))
        with branch.otherwise():
            request.use(cpu, exponential(0.1))
    model.closed_class("users", request, population=10, think=exponential(1))
    return model


def with_a_heavy_tail() -> Model:
    """Service times whose variance does not exist."""
    model = Model("heavy tail", time_unit="s")
    request = model.program("request")
    request.use(model.station("cpu", servers=2), pareto(0.1, shape=1.2))
    model.closed_class("users", request, population=10, think=exponential(1))
    return model


@pytest.mark.parametrize("build", [with_a_slow_class, with_a_rare_branch, with_a_heavy_tail])
@pytest.mark.parametrize("completions", [3000, 20_000])
def test_no_run_is_refused_for_what_its_edges_cut(
    build: Callable[[], Model], completions: int
) -> None:
    for seed in range(10):
        run = run_of(simulate(build(), seed=seed, completions=completions))
        for share in (0.0, 0.3, 0.7):
            assert laws_of(run, share * run.snapshot_times_s[-1]).faults == (), (seed, share)
        faults = laws_of(with_responses_too_long(run)).faults
        assert Fault(code="little", kind="station", name="cpu") in faults


def test_the_gap_of_n_and_x_times_r_is_what_the_edges_account_for() -> None:
    """Four jobs that outlast the run are in N and not in X R."""
    report = laws_of(run_of(simulate(with_a_slow_class(), seed=1, completions=3000)))
    worst = report.worst()
    assert worst is not None
    assert (worst.kind, worst.name) == ("class", "reports")
    assert worst.gap > 0.1
    assert worst.gap == pytest.approx(worst.tolerance, rel=1e-9)
    assert worst.passed


@pytest.mark.deep
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(models(), st.integers(0, 2**64 - 1), st.floats(0, 0.9))
def test_no_run_of_a_random_model_breaks_a_law(model: Model, seed: int, share: float) -> None:
    try:
        run = run_of(run_ready(ready(model), seed=seed, time=300))
    except SimulationError as error:
        event(error.message.split("'")[0][:30])
        return
    window = open_window(run, cut_s=share * run.snapshot_times_s[-1])
    event("a window" if window else "nothing completed")
    if window is not None:
        assert check_laws(window).faults == ()


REPLICATIONS = 12
QUANTILE = float(stats.t.ppf(1 - 1e-6, REPLICATIONS - 1))
"""Two in a million intervals of this width miss their answer."""
WIDEST = 0.1
"""Share of an answer that its interval may be wide to either side: a wider one proves nothing."""


PRODUCT_FORM: tuple[Discipline, ...] = ("fcfs", "ps", "infinite", "lcfs_preempt")


@st.composite
def product_form_networks(draw: st.DrawFn) -> Model:
    """Return closed networks that BCMP's theorem covers: one or two classes, random routes."""
    model = Model("network", time_unit="s")
    means = {}
    for number in range(draw(st.integers(1, 3))):
        discipline = draw(st.sampled_from(PRODUCT_FORM))
        may_have_many = discipline in {"fcfs", "ps"}
        servers = draw(st.integers(1, 3)) if may_have_many else 1
        station = model.station(f"s{number}", servers=servers, discipline=discipline)
        means[station] = (draw(st.floats(0.1, 1.0)), discipline == "fcfs")
    for name in ("one", "two")[: draw(st.integers(1, 2))]:
        program = model.program(name)
        for station, (mean, is_same_for_all) in means.items():
            law = exponential(mean) if is_same_for_all else draw(laws(mean))
            with program.branch() as branch:
                with branch.case(draw(st.floats(0.3, 1.0))):
                    program.use(station, law)
                with branch.otherwise():
                    program.delay(draw(laws(0.5)))
        model.closed_class(name, program, population=draw(st.integers(1, 6)), think=draw(laws(0.7)))
    return model


def throughputs(model: Model, *, time_s: float = 6000.0) -> np.ndarray:
    """Return completions per second: a row per replication, a column per class."""
    rows = []
    for seed in range(REPLICATIONS):
        result = run_ready(ready(model), seed=seed, time=time_s)
        first = int(np.searchsorted(result.snapshot_times_s, 0.1 * time_s))
        counts = result.classes.columns["completion_count"]
        length_s = result.snapshot_times_s[-1] - result.snapshot_times_s[first]
        rows.append((counts[-1] - counts[first]) / length_s)
    return np.array(rows)


def spread(values: np.ndarray) -> np.ndarray:
    half: np.ndarray = QUANTILE * values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return half


@pytest.mark.deep
@settings(max_examples=40, derandomize=True, suppress_health_check=list(HealthCheck))
@given(product_form_networks())
def test_random_closed_networks_agree_with_the_solver_and_keep_its_bounds(model: Model) -> None:
    solution = solve(model)
    assert solution.is_exact, solution.reasons
    exact = np.array([class_.throughput_per_s for class_ in solution.classes])
    found = throughputs(model)
    if not (spread(found) < WIDEST * exact).all():
        found = throughputs(model, time_s=60_000.0)  # a slow class with long services
    half = spread(found)
    assert (np.abs(found.mean(axis=0) - exact) <= half).all()
    assert (half < WIDEST * exact).all()
    for place, bounds in enumerate(solution.bounds):
        assert bounds.throughput_per_s_low <= found[:, place].mean() + half[place]
        assert bounds.throughput_per_s_high >= found[:, place].mean() - half[place]


@pytest.mark.deep
@settings(max_examples=25, derandomize=True, suppress_health_check=list(HealthCheck))
@given(product_form_networks(), st.floats(1.0, 1.5), st.data())
def test_no_class_alone_gets_faster_by_a_slower_station(
    model: Model, factor: float, data: st.DataObject
) -> None:
    """One class in product form (Suri 1985); equal seeds, and the remaining chance."""
    if "two" in model.classes:
        del model.classes["two"], model.programs["two"]
    station = data.draw(st.sampled_from(sorted(model.stations)))
    gains = throughputs(model.with_speed(station, 1 / factor)) - throughputs(model)
    assert (gains.mean(axis=0) <= spread(gains)).all()
