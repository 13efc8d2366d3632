"""What low load identifies, of servers whose truth is known by the formula of the repairman."""

import pytest

from headroom.analysis.fits.loads import repairman
from headroom.analysis.fits.low_load import LowPoint, check_hidden, first_limit
from headroom.analysis.fits.traces import Inside
from headroom.experiment.protocol.fit_method import FitError, Load

CLIENTS, WORK_S = 16, 0.8e-3
CPUS = 2


def point(
    share: float, *, servers: int = CPUS, hidden_s: float = 0.0, thread: float = 0.1,
    neighbours: float = 0.0,
) -> LowPoint:  # fmt: skip
    """Return a point at a share of what `servers` can do, with a time that takes no processor."""
    think_s = CLIENTS * WORK_S / servers / share
    rate = repairman(CLIENTS, think_s, WORK_S, servers)
    response_s = CLIENTS / rate - think_s
    return LowPoint(
        rate=rate,
        load=Load(clients=CLIENTS, think_s=think_s),
        inside=Inside(response_s=response_s + hidden_s, cpu_s=response_s),
        threads={"service.db": (thread * WORK_S, WORK_S), "program": (0.0, 0.05e-3)},
        neighbours=neighbours,
    )  # fmt: skip


def test_processors_are_the_first_limit_if_several_operations_ran_at_a_time() -> None:
    points = [point(share) for share in (0.1, 0.3, 0.45)]
    check_hidden(points)
    first = first_limit(points, demand_s=WORK_S, servers=CPUS, quota=None)
    assert (first.limit, first.servers, first.demand_s) == ("processors", 2, WORK_S)


def test_operations_one_at_a_time_are_not_predicted_from_all_processors() -> None:
    """A lock around the work: with one server the response times are just those observed."""
    points = [point(share, servers=1) for share in (0.1, 0.3, 0.45)]
    with pytest.raises(FitError, match="one at a time") as caught:
        first_limit(points, demand_s=WORK_S, servers=CPUS, quota=None)
    assert "burst" in str(caught.value.cure)


def test_a_thread_that_does_all_the_work_is_one_server() -> None:
    points = [point(share, servers=1, thread=1.0) for share in (0.1, 0.3, 0.45)]
    first = first_limit(points, demand_s=WORK_S, servers=CPUS, quota=None)
    assert (first.limit, first.servers) == ("thread", 1)
    assert first.demand_s == pytest.approx(WORK_S)


def test_half_a_processor_stays_half() -> None:
    points = [point(share) for share in (0.05, 0.1)]
    first = first_limit(points, demand_s=WORK_S, servers=CPUS, quota=("service.db", 0.5))
    assert first.limit == "quota"
    assert first.servers / first.demand_s == pytest.approx(0.5 / WORK_S)


def test_a_pool_of_connections_is_seen_in_the_response_time_and_refused() -> None:
    """A pool of 4 x 4 ms: 4.9 ms at low load, of which the processors explain 0.8."""
    with pytest.raises(FitError, match=r"0.004 s of the 0.0048\d s") as caught:
        check_hidden([point(share, hidden_s=4e-3) for share in (0.05, 0.1)])
    assert "extrapolate" in str(caught.value.cure)


def test_what_crowding_neighbours_will_leave_is_unknown() -> None:
    with pytest.raises(FitError, match="others take 50%"):
        first_limit([point(0.3, neighbours=0.5)], demand_s=WORK_S, servers=CPUS, quota=None)


def test_without_response_times_nothing_is_identified() -> None:
    lacking = LowPoint(rate=100.0, load=Load(clients=1, think_s=1.0), inside=None, threads={})
    check_hidden([lacking])
    with pytest.raises(FitError, match="without response times"):
        first_limit([lacking], demand_s=WORK_S, servers=CPUS, quota=None)
