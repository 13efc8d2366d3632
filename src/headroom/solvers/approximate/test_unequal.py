"""Servers of different speed: against states summed by hand, and against simulation."""

import pytest

from headroom.simulation import Model, constant, exponential, simulate
from headroom.solvers import solve
from headroom.solvers.evidence import unequal
from headroom.solvers.exact.formulas import mmc_wait_s


def test_two_unequal_servers_agree_with_the_states_summed_by_hand() -> None:
    """Oracle: rates 4 and 1, arrivals 3: shares of none, fast, slow, both, both and a queue.

    With a for arrivals, f and s for the speeds: p_slow = a p_none / (a + s) - ..., solved here
    from the four balance equations of Gumbel (1960).
    """
    a, f, s = 3.0, 4.0, 1.0
    slow = 1.0 / (a + s) * f  # of p_both: slow alone comes from both, and leaves by a or s
    none_and_fast = [[a, -f], [-a, a + f]]
    right = [s * slow, s]
    det = none_and_fast[0][0] * none_and_fast[1][1] - none_and_fast[0][1] * none_and_fast[1][0]
    none = (right[0] * none_and_fast[1][1] - none_and_fast[0][1] * right[1]) / det
    fast = (none_and_fast[0][0] * right[1] - right[0] * none_and_fast[1][0]) / det
    load = a / (f + s)
    full = 1.0 / (1.0 - load)
    total = none + fast + slow + full
    jobs = (fast + slow + 2.0 * full + load / (1.0 - load) ** 2) / total
    solution = solve(unequal([4.0, 1.0], rate=a))
    assert solution.is_exact
    assert solution.method == "M/M/c with servers of different speed"
    assert solution.response_s == pytest.approx(jobs / a, rel=1e-9)
    assert solution.stations[0].busy == pytest.approx((fast + slow + 2.0 * full) / total, rel=1e-9)


def test_speeds_that_hardly_differ_are_equal_servers() -> None:
    (station,) = solve(unequal([1.0, 1.0 + 1e-9, 1.0], rate=2.4)).stations
    assert station.wait_s == pytest.approx(mmc_wait_s(3, 2.4, 1.0), rel=1e-6)


def test_too_many_sets_of_busy_servers_are_no_exact_answer() -> None:
    solution = solve(unequal([1 + place / 16 for place in range(16)], rate=15.0))
    assert not solution.is_exact
    assert "servers of different speeds" in solution.reasons[0]


def test_one_user_finds_the_fastest_server_free() -> None:
    """Oracle: X = 1 / (think + service on the fastest)."""
    solution = solve(unequal([4.0, 1.0], users=1, think=1.0))
    assert solution.throughput_per_s == pytest.approx(1.0 / 1.25, rel=1e-9)
    assert not solution.is_exact
    assert "servers of different speeds" in solution.reasons[0]


@pytest.mark.parametrize(
    ("model", "tolerance"),
    [
        (unequal([8.0, 2.0, 1.0, 1.0], rate=10.8), 0.03),
        (unequal([8.0, 2.0, 1.0, 1.0], rate=7.2, law=constant(1)), 0.02),
        (unequal([4.0, 1.0], users=3, think=1.0), 0.01),
        (unequal([8.0, 2.0, 1.0, 1.0], users=40, think=1.0), 0.01),
        (unequal([8.0, 2.0, 1.0, 1.0], users=12, think=0.5, law=constant(1)), 0.04),
    ],
)
def test_unequal_servers_are_close_to_simulation(model: Model, tolerance: float) -> None:
    """One run of 200,000 completions."""
    solution = solve(model)
    run = simulate(model, seed=5, completions=200_000)
    count = run.classes.columns["completion_count"][-1].sum()
    response = run.classes.columns["response_s_sum"][-1].sum() / count
    assert solution.response_s == pytest.approx(float(response), rel=tolerance)
    busy = run.stations.columns["busy_s"][-1].sum() / run.snapshot_times_s[-1]
    assert solution.stations[0].busy == pytest.approx(float(busy), rel=0.02)


def test_unequal_servers_inside_a_pool_have_an_answer() -> None:
    model = Model("both", time_unit="s")
    program = model.program("job")
    with program.holding(model.pool("tokens", tokens=3)):
        program.use(model.station("cpu", servers=2, speeds=[3.0, 1.0]), exponential(1))
    model.open_class("jobs", program, interarrival=exponential(0.4))
    solution = solve(model)
    assert solution.stations[0].utilization < 1
    assert solution.pools[0].wait_s > 0
