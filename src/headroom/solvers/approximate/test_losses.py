"""Oracle: two stations that reject as one chain, and Erlang's formula for each in parallel."""

import numpy as np
import pytest

from headroom.simulation import Model, exponential
from headroom.solvers import solve


def erlang_b(servers: int, offered: float) -> float:
    """Return Erlang's loss by its sum."""
    terms = np.cumprod([1.0, *(offered / k for k in range(1, servers + 1))])
    return float(terms[-1] / terms.sum())


def test_branches_lose_as_erlang_says_and_the_response_is_that_of_those_who_pass() -> None:
    model = Model("branches", time_unit="s")
    program = model.program("call")
    with program.branch() as branch:
        for share, servers, service in ((0.25, 2, 1.0), (0.75, 3, 4.0)):
            station = model.station(f"lines{servers}", servers=servers, buffer=0,
                                    when_full="reject")  # fmt: skip
            with branch.case(share):
                program.use(station, exponential(service))
    model.open_class("calls", program, interarrival=exponential(0.5))
    passed = [0.5 * (1 - erlang_b(2, 0.5)), 1.5 * (1 - erlang_b(3, 6.0))]
    found = solve(model)
    assert found.throughput_per_s == pytest.approx(sum(passed), rel=1e-9)
    expected = (passed[0] * 1.0 + passed[1] * 4.0) / sum(passed)
    assert found.response_s == pytest.approx(expected, rel=1e-9)


def test_two_full_stations_in_a_row_are_near_their_chain() -> None:
    """States: jobs at each. Smoother arrivals behind the first lose less than Poisson ones."""
    rate, rooms = 1.2, (3, 2)
    size = (rooms[0] + 1, rooms[1] + 1)
    rates = np.zeros((size[0] * size[1],) * 2)

    def place(first: int, second: int) -> int:
        return first * size[1] + second

    for first in range(size[0]):
        for second in range(size[1]):
            here = place(first, second)
            if first < rooms[0]:
                rates[here, place(first + 1, second)] += rate
            if first:
                rates[here, place(first - 1, min(second + 1, rooms[1]))] += 1.0
            if second:
                rates[here, place(first, second - 1)] += 1.0
    balance = (rates - np.diag(rates.sum(axis=1))).T
    balance[0] = 1.0
    shares = np.linalg.solve(balance, np.eye(len(rates))[0]).reshape(size)
    through = float(shares[:, 1:].sum())
    model = Model("row", time_unit="s")
    program = model.program("call")
    for name, room in zip("ab", rooms, strict=True):
        station = model.station(name, buffer=room - 1, when_full="reject")
        program.use(station, exponential(1))
    model.open_class("calls", program, interarrival=exponential(1 / rate))
    found = solve(model)
    assert not found.is_exact
    assert found.throughput_per_s == pytest.approx(through, rel=0.06)
    assert found.throughput_per_s <= through
