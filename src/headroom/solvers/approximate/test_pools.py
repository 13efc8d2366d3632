"""Pools under every kind of load: against closed forms, against simulation, within the bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.simulation import Distribution, Model, constant, erlang, exponential, simulate
from headroom.solvers import Solution, SolverError, solve
from headroom.solvers.approximate.levels import Factor, Level, several_servers
from headroom.solvers.evidence import pool_models
from headroom.solvers.exact.formulas import mg1_wait_s, mmc_wait_s
from headroom.solvers.solve import estimate


def held(rate: float, tokens: int, *, service: float = 1.0, servers: int = 1) -> Model:
    """Return arrivals that hold a token while they use a station."""
    model = Model("held", time_unit="s")
    program = model.program("job")
    with program.holding(model.pool("tokens", tokens=tokens)):
        program.use(model.station("server", servers=servers), exponential(service))
    model.open_class("jobs", program, interarrival=exponential(1 / rate))
    return model


def delayed(rate: float, tokens: int, law: Distribution | None = None) -> Model:
    """Return arrivals that hold a token for some time and do nothing else."""
    model = Model("delayed", time_unit="s")
    program = model.program("job")
    with program.holding(model.pool("tokens", tokens=tokens)):
        program.delay(law or exponential(1))
    model.open_class("jobs", program, interarrival=exponential(1 / rate))
    return model


@pytest.mark.parametrize(("rate", "tokens"), [(0.8, 1), (1.6, 2), (3.6, 4), (15.2, 16)])
def test_tokens_that_are_held_for_a_time_are_servers(rate: float, tokens: int) -> None:
    """Oracle: Erlang's C."""
    (pool,) = solve(delayed(rate, tokens)).pools
    assert pool.wait_s == pytest.approx(mmc_wait_s(tokens, rate, 1.0), rel=1e-9)
    assert pool.utilization == pytest.approx(rate / tokens, rel=1e-9)
    assert pool.throughput_per_s == pytest.approx(rate)


@pytest.mark.parametrize(("law", "c2"), [(constant(1), 0.0), (erlang(1, 4), 0.25)])
def test_one_token_is_one_server_with_the_law_of_what_is_done(law: Distribution, c2: float) -> None:
    """Oracle: Pollaczek and Khinchine."""
    (pool,) = solve(delayed(0.8, 1, law)).pools
    assert pool.wait_s == pytest.approx(mg1_wait_s(0.8, 1.0, c2), rel=1e-9)


@pytest.mark.parametrize("tokens", [1, 2, 3, 10])
def test_tokens_around_one_station_do_not_change_the_response(tokens: int) -> None:
    """Oracle: with as many tokens as servers or more, who waits where makes no difference."""
    solution = solve(held(0.8, tokens))
    assert solution.response_s == pytest.approx(5.0, rel=1e-9)
    assert solution.stations[0].utilization == pytest.approx(0.8)


def test_what_comes_from_outside_must_fit_through_the_tokens() -> None:
    """Two tokens at a CPU and a disk let 2/3 through, not the 1 that the stations could do."""
    model = Model("narrow", time_unit="s")
    program = model.program("job")
    with program.holding(model.pool("tokens", tokens=2)):
        program.use(model.station("cpu"), exponential(1))
        program.use(model.station("disk"), exponential(1))
    model.open_class("jobs", program, interarrival=exponential(1 / 0.7))
    with pytest.raises(SolverError, match=r"lets 0\.6667 jobs/s through .* 0\.7 come"):
        solve(model)


def test_pools_in_a_circle_are_refused_with_a_cure() -> None:
    model = Model("circle", time_unit="s", may_deadlock=True)
    cpu = model.station("cpu")
    pools = [model.pool(name, tokens=1) for name in "ab"]
    for number, order in enumerate((pools, pools[::-1])):
        program = model.program(f"p{number}")
        with program.holding(order[0]), program.holding(order[1]):
            program.use(cpu, exponential(1))
        model.closed_class(f"c{number}", program, population=2, think=exponential(9))
    with pytest.raises(SolverError, match="cycle of orders") as caught:
        solve(model)
    assert "same order" in caught.value.cure


def test_levels_agree_with_arithmetic() -> None:
    """Oracle: three equal stations hold 1, 2, 3, 4 jobs with throughput 1/3, 1/2, 3/5, 2/3."""
    expected = [1 / 3, 1 / 2, 3 / 5, 2 / 3]
    equal = Level(4, 0.0, np.ones(3))
    assert equal.rates == pytest.approx(expected)
    as_factors = Level(4, 0.0, np.ones(1), [Factor(np.ones(1), 1.0)] * 2)
    assert as_factors.rates == pytest.approx(expected)
    shares = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    counts = np.arange(5)
    assert as_factors.factor_shares(0, shares) @ counts == pytest.approx(4 / 3)
    assert equal.single_jobs(shares) == pytest.approx([4 / 3] * 3)


def test_a_level_inside_a_level_is_the_level_without_a_limit() -> None:
    """Oracle: Chandy, Herzog and Woo; with more tokens than jobs nothing is approximated."""
    inner = Level(9, 0.5, np.array([0.3]), [several_servers(2, 0.9, 0.0)])
    outer = Level(9, 2.0, np.array([0.4]), [Factor(inner.rates, 1.0)])
    whole = Level(9, 2.5, np.array([0.4, 0.3]), [several_servers(2, 0.9, 0.0)])
    assert outer.rates == pytest.approx(whole.rates, rel=1e-12)


def test_jobs_from_elsewhere_at_several_servers_are_mm2() -> None:
    """Oracle: nobody of the level there, the others are M/M/2."""
    factor = several_servers(2, 1.0, 1.6)
    jobs = factor.foreign_jobs(np.ones(1))
    assert jobs == pytest.approx(1.6 + 1.6 * mmc_wait_s(2, 1.6, 1.0))
    shares = factor.inside(np.ones(1))
    assert shares == pytest.approx([1 / 9, 1.6 / 9, 1 - 2.6 / 9])


def test_thousands_of_users_before_a_pool_stay_within_the_bounds() -> None:
    """The database serves 250 a second; 4000 users with 1 s of thought ask for more."""
    model = Model("crowd", time_unit="ms")
    program = model.program("page")
    with program.holding(model.pool("connections", tokens=20)):
        program.use(model.station("database", servers=2), exponential(8))
    model.closed_class("users", program, population=4000, think=exponential(1000))
    solution = solve(model)
    assert solution.throughput_per_s == pytest.approx(250.0, rel=1e-6)
    assert solution.pools[0].utilization == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "model", "tolerance"),
    [(name, model, 0.45 if "and outside" in name else 0.17) for name, model in pool_models()],
    ids=[name for name, _ in pool_models()],
)
def test_pools_are_close_to_simulation(name: str, model: Model, tolerance: float) -> None:
    """One run of 200,000 completions; the tolerance is what the method is known to miss."""
    solution = estimate(model)
    assert not solution.is_exact, name
    assert solution.reasons
    run = simulate(model, seed=5, completions=200_000)
    columns, span = run.classes.columns, run.snapshot_times_s[-1]
    for place, one in enumerate(solution.classes):
        count = columns["completion_count"][-1, place]
        response = columns["response_s_sum"][-1, place] / count
        assert one.throughput_per_s == pytest.approx(count / span, rel=0.06)
        assert one.response_s == pytest.approx(response, rel=tolerance), one.name
    busy = dict(zip(run.stations.names, run.stations.columns["busy_s"][-1] / span, strict=True))
    for station in solution.stations:
        assert station.busy == pytest.approx(float(busy[station.name]), rel=0.06), station.name


def test_a_station_that_closed_classes_fill_inside_a_pool_does_not_hide_open_ones() -> None:
    """Cause: a wait of infinity at a station times no visits outside the pool."""
    model = Model("filled", time_unit="s")
    disk, cpu = model.station("disk"), model.station("cpu")
    tokens = model.pool("tokens", tokens=6)
    for name in ("busy", "rare"):
        program = model.program(name)
        program.use(cpu, exponential(0.1))
        with program.holding(tokens):
            program.use(disk, exponential(1))
    model.closed_class("busy", model.programs["busy"], population=15, think=exponential(2))
    model.open_class("rare", model.programs["rare"], interarrival=exponential(45))
    found = {class_.name: class_ for class_ in estimate(model).classes}
    assert 5 < found["rare"].response_s < 20
    assert found["busy"].throughput_per_s == pytest.approx(1 - 1 / 45, rel=1e-3)


@st.composite
def pooled_models(draw: st.DrawFn) -> Model:
    """Return one to three classes under one or two pools, one inside the other or not."""
    model = Model("pooled", time_unit="s")
    stations = [model.station(f"s{n}", servers=draw(st.integers(1, 3))) for n in range(3)]
    pools = [model.pool(f"p{n}", tokens=draw(st.integers(1, 6))) for n in range(2)]
    for number in range(draw(st.integers(1, 3))):
        program = model.program(f"program{number}")
        program.use(stations[0], exponential(draw(st.floats(0.1, 1.0))))
        with program.holding(pools[0]):
            program.use(stations[1], exponential(draw(st.floats(0.1, 1.0))))
            if draw(st.booleans()):
                with program.holding(pools[1]):
                    program.use(stations[draw(st.integers(1, 2))], exponential(0.5))
        if draw(st.booleans()):
            between = exponential(draw(st.floats(5.0, 60.0)))
            model.open_class(f"class{number}", program, interarrival=between)
        else:
            jobs = draw(st.integers(1, 12))
            model.closed_class(f"class{number}", program, population=jobs, think=exponential(2))
    return model


@settings(max_examples=60, deadline=None)
@given(pooled_models())
def test_answers_for_pools_obey_the_laws(model: Model) -> None:
    """Bounds, Little's law, and no more work than there are servers and tokens."""
    try:
        solution = estimate(model)
    except SolverError as error:
        assert "no steady state" in error.message  # noqa: PT017 - what else may be
        return
    _obeys(solution)


def _obeys(solution: Solution) -> None:
    slack = 1 + 1e-6
    for one, bounds in zip(solution.classes, solution.bounds, strict=True):
        assert one.throughput_per_s <= bounds.throughput_per_s_high * slack
        assert one.response_s >= bounds.response_s_low * (1 - 1e-4)  # what 1e-6 of X makes of it
    for station in solution.stations:
        assert 0 <= station.utilization <= slack
        product = station.throughput_per_s * station.response_s
        assert station.jobs == pytest.approx(product, rel=1e-8)
    for pool in solution.pools:
        assert 0 <= pool.utilization <= slack
        assert pool.wait_s >= 0
