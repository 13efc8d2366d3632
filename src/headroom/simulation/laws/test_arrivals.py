"""Arrival processes: rates, bursts and recordings match their description."""

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from headroom.simulation import (
    ArrivalProcess,
    SimulationError,
    bursty,
    changing_rate,
    exponential,
    mmpp,
    on_off,
    trace,
)

RATES = st.floats(0.05, 20)


@given(RATES, RATES, RATES, RATES)
def test_two_states_have_the_rate_and_dispersion_of_the_cookbook(
    first: float, second: float, out: float, back: float
) -> None:
    """Oracle: the closed forms for two states in Fischer & Meier-Hellstern (1993)."""
    process = mmpp(rates=[first, second], switch_rates=[[0, out], [back, 0]])
    mean = (first * back + second * out) / (out + back)
    spread = 2 * (first - second) ** 2 * out * back
    dispersion = 1 + spread / ((out + back) ** 2 * (first * back + second * out))
    assert process.mean_rate == pytest.approx(mean, rel=1e-9)
    assert process.dispersion == pytest.approx(dispersion, rel=1e-7)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_equal_rates_are_poisson_arrivals(count: int) -> None:
    switch_rates = np.ones((count, count)) - np.eye(count)
    process = mmpp(rates=[3.0] * count, switch_rates=switch_rates)
    assert process.mean_rate == pytest.approx(3)
    assert process.c2 == pytest.approx(1)
    assert process.dispersion == pytest.approx(1)


def test_drawn_gaps_have_the_promised_mean_and_c2() -> None:
    """Oracle: 5 standard errors for the mean count by its dispersion; c2 to 5%."""
    process = mmpp(rates=[30, 2, 0], switch_rates=[[0, 1, 1], [0.5, 0, 1], [0, 2, 0]])
    times = process.draw(400_000, seed=4)
    rate = len(times) / times[-1]
    assert process.dispersion is not None
    assert abs(rate / process.mean_rate - 1) < 5 * math.sqrt(process.dispersion / len(times))
    gaps = np.diff(times)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(process.c2, rel=0.05)


def test_a_generator_matrix_says_the_same_as_its_rates() -> None:
    plain = mmpp(rates=[5, 1], switch_rates=[[0, 2], [3, 0]])
    assert mmpp(rates=[5, 1], switch_rates=[[-2, 2], [3, -3]]) == plain


@given(RATES, st.floats(1.1, 20), st.floats(0.1, 50), st.floats(0.1, 50))
def test_bursts_meet_the_mean_rate(
    mean_rate: float, ratio: float, burst_mean: float, calm_mean: float
) -> None:
    most = (burst_mean + calm_mean) / burst_mean
    process = bursty(
        mean_rate=mean_rate,
        burst_rate=mean_rate * min(ratio, most),
        burst_mean=burst_mean,
        calm_mean=calm_mean,
    )
    assert process.mean_rate == pytest.approx(mean_rate, rel=1e-9)


@given(RATES, st.floats(1.01, 500), st.floats(0.01, 100))
def test_on_off_meets_rate_and_dispersion(rate: float, dispersion: float, burst: float) -> None:
    process = on_off(mean_rate=rate, dispersion=dispersion, burst_mean=burst)
    assert process.mean_rate == pytest.approx(rate, rel=1e-9)
    assert process.dispersion == pytest.approx(dispersion, rel=1e-6)


def expected_by_time(end: float) -> float:
    def rate(time: float) -> float:
        phase = time % 24
        return 1.0 if phase < 8 else 5.0 if phase < 18 else 2.0

    edges = [base + at for base in (0, 24, 48, 72) for at in (0, 8, 18) if base + at < end]
    areas = (
        integrate.quad(rate, low, high)[0]
        for low, high in zip(edges, [*edges[1:], end], strict=True)
    )
    return float(sum(areas))


def test_a_changing_rate_becomes_a_plain_poisson_process_on_its_own_clock() -> None:
    """Oracle: at the expected number of arrivals, gaps are exponential (KS at 0.1%)."""
    process = changing_rate(times=[0, 8, 18], rates=[1, 5, 2], period=24)
    times = process.draw(5000, seed=3)
    cycle, phase = np.divmod(times, 24)
    clock = cycle * 70 + np.interp(phase, [0, 8, 18, 24], [0, 8, 58, 70])
    assert clock[100] == pytest.approx(expected_by_time(times[100]))
    assert stats.kstest(np.diff(clock), stats.expon.cdf).pvalue > 0.001
    assert process.mean_rate == pytest.approx(70 / 24)


def test_without_a_period_the_last_rate_holds_and_zero_ends_the_arrivals() -> None:
    process = changing_rate(times=[0, 10], rates=[20, 0])
    times = process.draw(10_000)
    assert abs(len(times) - 200) < 5 * math.sqrt(200)
    assert times.max() <= 10
    assert process.mean_rate == 0
    assert changing_rate(times=[0, 10], rates=[20, 3]).mean_rate == 3


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=50))
def test_a_trace_comes_back(times: list[int]) -> None:
    times.sort()
    process = trace(np.array(times), attributes={"size": times, "kind": [1] * len(times)})
    assert process.draw(100).tolist() == times[:100]
    assert process.attribute_names == ("kind", "size")
    assert process.to_data()["attributes"] == {"kind": [1.0] * len(times), "size": times}


def test_a_trace_knows_its_rate_and_variation() -> None:
    gaps = exponential(2).draw(50_000, seed=8)
    process = trace(np.cumsum(gaps))
    assert process.mean_rate == pytest.approx(0.5, rel=0.02)
    assert process.c2 == pytest.approx(1, rel=0.05)


PROCESSES = [
    mmpp(rates=[20, 1], switch_rates=[[0, 0.5], [0.125, 0]]),
    changing_rate(times=[0, 8], rates=[1, 5], period=24),
    trace([0, 1, 1, 4], attributes={"size": [1, 2, 3, 4]}),
]


@pytest.mark.parametrize("process", PROCESSES, ids=str)
def test_a_process_is_frozen_data_and_repeats(process: ArrivalProcess) -> None:
    assert json.loads(json.dumps(process.to_data()))["kind"] == process.kind
    assert hash(process) == hash(process)
    assert process.draw(100, seed=3).tolist() == process.draw(100, seed=3).tolist()
    assert np.all(np.diff(process.draw(100)) >= 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mmpp(rates=[], switch_rates=[]), "no rates"),
        (lambda: mmpp(rates=[1, 2], switch_rates=[[0, 1]]), "1 rows for 2 rates"),
        (lambda: mmpp(rates=[1, -2], switch_rates=[[0, 1], [1, 0]]), "-2.0 in rates"),
        (lambda: mmpp(rates=[1, 2], switch_rates=[[5, 1], [1, 0]]), "switch_rates="),
        (lambda: mmpp(rates=[0, 0], switch_rates=[[0, 1], [1, 0]]), "nothing ever arrives"),
        (lambda: mmpp(rates=[1, 2], switch_rates=[[0, 1], [0, 0]]), "from state 1 to state 0"),
        (
            lambda: bursty(mean_rate=1, burst_rate=50, burst_mean=1, calm_mean=1),
            "cannot meet mean_rate=1",
        ),
        (
            lambda: bursty(mean_rate=5, burst_rate=2, burst_mean=1, calm_mean=1),
            "cannot meet mean_rate=5",
        ),
        (lambda: on_off(mean_rate=1, dispersion=1, burst_mean=1), "dispersion=1"),
        (lambda: on_off(mean_rate=0, dispersion=2, burst_mean=1), "mean_rate=0"),
        (lambda: changing_rate(times=[0, 1], rates=[1]), "2 times and 1 rates"),
        (lambda: changing_rate(times=[1], rates=[1]), "times="),
        (lambda: changing_rate(times=[0, 2, 2], rates=[1, 1, 1]), "times="),
        (lambda: changing_rate(times=[0, 2], rates=[1, 1], period=2), "period=2"),
        (lambda: changing_rate(times=[0], rates=[0]), "nothing ever arrives"),
        (lambda: trace([]), "no times"),
        (lambda: trace([1, math.nan]), "nan in times"),
        (lambda: trace([2, 1]), "comes after"),
        (lambda: trace([-1, 1]), "-1.0 in times"),
        (lambda: trace([1, 2], attributes={"size": [1]}), "1 values of 'size'"),
        (lambda: trace("ab"), "must be numbers"),  # type: ignore[arg-type]  # on purpose
    ],
)
def test_what_makes_no_process_is_refused_with_a_cure(
    make: Callable[[], ArrivalProcess], message: str
) -> None:
    with pytest.raises(SimulationError) as caught:
        make()
    assert message in caught.value.message
    assert caught.value.cure.startswith(("give", "choose", "sort"))
