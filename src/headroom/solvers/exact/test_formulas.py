"""Closed forms against published values and against each other."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.solvers.exact.formulas import (
    erlang_b,
    erlang_c,
    fork_join_response_s,
    ggc_wait_s,
    mg1_wait_s,
    mmc_response_quantile_s,
    mmc_response_share_above,
    mmc_wait_quantile_s,
    mmc_wait_s,
    priority_waits_s,
)

servers_of = st.integers(1, 40)
loads = st.floats(0.01, 0.98)


def test_erlang_b_of_many_servers_neither_overflows_nor_hides_a_small_loss() -> None:
    """Oracle: the sum of a^k / k! in logarithms."""
    servers, offered = 5000, 4800.0
    logs = [k * math.log(offered) - math.lgamma(k + 1) for k in range(servers + 1)]
    top = max(logs)
    expected = math.exp(logs[-1] - top) / math.fsum(math.exp(value - top) for value in logs)
    assert erlang_b(servers, offered) == pytest.approx(expected, rel=1e-10)
    assert erlang_b(5, 0.0) == 0.0


@pytest.mark.parametrize(
    ("arms", "load", "response"),
    [(2, 0.5, 2.875), (2, 0.8, 7.0), (4, 0.5, 3.7898), (4, 0.8, 8.9303), (1, 0.5, 2.0)],
)
def test_fork_and_join_agree_with_the_known_answers(
    arms: int, load: float, response: float
) -> None:
    assert fork_join_response_s(arms, load, 1.0) == pytest.approx(response, abs=1e-4)


@given(servers_of, loads)
def test_erlang_c_lies_between_erlang_b_and_one(servers: int, load: float) -> None:
    offered = servers * load
    assert erlang_b(servers, offered) <= erlang_c(servers, offered) <= 1.0


@given(servers_of, loads, st.floats(0.0, 20.0))
def test_a_response_is_longer_than_its_wait(servers: int, load: float, time_s: float) -> None:
    rate = servers * load
    response = mmc_response_share_above(servers, rate, 1.0, time_s)
    wait = erlang_c(servers, rate) * math.exp(-(servers - rate) * time_s)
    assert wait <= response * (1 + 1e-9) + 1e-12
    assert 0.0 <= response <= 1.0 + 1e-12


@pytest.mark.deep
@given(servers_of, loads)
def test_the_mean_response_is_the_area_under_its_tail(servers: int, load: float) -> None:
    """Oracle: E[T] is the integral of P(T > t), here by the trapezoidal rule."""
    rate = servers * load
    mean = mmc_wait_s(servers, rate, 1.0) + 1.0
    step = mean / 50
    tail = [mmc_response_share_above(servers, rate, 1.0, step * n) for n in range(4000)]
    assert step * (math.fsum(tail) - tail[0] / 2) == pytest.approx(mean, rel=2e-3)


@given(servers_of, loads, st.floats(0.5, 0.999))
def test_quantiles_turn_the_distributions_around(servers: int, load: float, share: float) -> None:
    rate = servers * load
    response = mmc_response_quantile_s(servers, rate, 1.0, share)
    assert mmc_response_share_above(servers, rate, 1.0, response) == pytest.approx(1 - share)
    wait = mmc_wait_quantile_s(servers, rate, 1.0, share)
    above = erlang_c(servers, rate) * math.exp(-(servers - rate) * wait)
    assert above == pytest.approx(1 - share) if wait > 0 else above <= 1 - share + 1e-12


@given(loads, st.floats(0.0, 20.0))
def test_allen_and_cunneen_is_exact_for_mg1_and_mmc(load: float, c2: float) -> None:
    found = ggc_wait_s(1, load, 1.0, arrival_c2=1.0, service_c2=c2)
    assert found == pytest.approx(mg1_wait_s(load, 1.0, c2))
    many = ggc_wait_s(7, 7 * load, 1.0, arrival_c2=1.0, service_c2=1.0)
    assert many == pytest.approx(mmc_wait_s(7, 7 * load, 1.0))


@given(st.lists(st.floats(0.01, 0.3), min_size=1, max_size=3), st.floats(0.0, 9.0))
def test_priorities_keep_the_work_that_waits(rates: list[float], c2: float) -> None:
    """Oracle: Kleinrock's conservation law, sum of rho_i W_i = rho W of one class."""
    if sum(rates) >= 0.98:
        return
    waits = priority_waits_s(rates, [1.0] * len(rates), [c2] * len(rates), is_preemptive=False)
    together = mg1_wait_s(sum(rates), 1.0, c2) * sum(rates)
    assert math.fsum(r * w for r, w in zip(rates, waits, strict=True)) == pytest.approx(together)


def test_a_queue_that_cannot_keep_up_waits_for_ever() -> None:
    assert mmc_wait_s(2, 2.0, 1.0) == math.inf
    assert mg1_wait_s(1.0, 1.0, 1.0) == math.inf
    assert fork_join_response_s(3, 1.0, 1.0) == math.inf
    assert priority_waits_s([0.5, 0.6], [1, 1], [1, 1], is_preemptive=False)[1] == math.inf
