"""The model of the catalogue against operational laws, mean value analysis and the paper."""

import itertools

import pytest

from benches.known.formulas import mva
from headroom.errors import StudyError
from headroom.experiment.protocol.system import Value
from headroom.simulation import SimulationResult, simulate
from headroom.solvers import solve
from headroom.systems.catalogue.model import (
    DIRECT,
    LASTING,
    TCP,
    TLS,
    Catalogue,
    catalogue_model,
)
from headroom.systems.catalogue.paper import PAPER, PAPER_WAN

TOLERANCE = 0.03
"""Relative; the first quarter of the operations is discarded."""
TIMES: dict[str, Value] = {
    "tls_s": 0.004, "connect_s": 0.002, "service_s": 0.003, "database_s": 0.001, "rtt_s": 0.01,
}  # fmt: skip
PAIRS = {TLS: 7, TCP: 6, LASTING: 3, DIRECT: 4}
WORK_S = {TLS: 0.010, TCP: 0.006, LASTING: 0.004, DIRECT: 0.001}
"""Demands (s) of an operation with `TIMES`, by case."""
BALANCING = ("round_robin", "shortest_queue", "two_choices")


def run(completions: Value = 30_000, **config: Value) -> SimulationResult:
    model = catalogue_model(**config)
    return simulate(model, seed=5, completions=int(completions))


def throughput(completions: Value = 30_000, **config: Value) -> float:
    """Return the completions per second of the last three quarters of a run."""
    result = run(completions, **config)
    start = len(result.snapshot_times_s) // 4
    counts = result.classes.columns["completion_count"][:, 0]
    span_s = result.snapshot_times_s[-1] - result.snapshot_times_s[start]
    return float((counts[-1] - counts[start]) / span_s)


@pytest.mark.parametrize("case", PAIRS)
def test_one_client_waits_for_nobody(case: int) -> None:
    """Oracle: X = 1 / (demands + message pairs x RTT + pause + think time)."""
    config = {**TIMES, "case": case, "clients": 1, "pause_s": 0.02, "think_s": 0.01}
    expected = 1 / (WORK_S[case] + PAIRS[case] * 0.01 + 0.03)
    assert throughput(**config) == pytest.approx(expected, rel=TOLERANCE)
    limited = {**config, "workers": 1, "pool": 1, "switch_s": 1e-3}
    assert throughput(**limited) == pytest.approx(expected, rel=TOLERANCE)


@pytest.mark.parametrize("case", PAIRS)
def test_the_message_pairs_of_each_case_can_be_set(case: int) -> None:
    names = {TLS: "pairs_tls", TCP: "pairs_tcp", LASTING: "pairs_lasting", DIRECT: "pairs_direct"}
    config = {**TIMES, "case": case, "clients": 1, names[case]: 20}
    expected = 1 / (WORK_S[case] + 20 * 0.01)
    assert throughput(**config) == pytest.approx(expected, rel=TOLERANCE)


@pytest.mark.parametrize("clients", [2, 8, 30])
@pytest.mark.parametrize("case", PAIRS)
def test_single_processors_agree_with_mean_value_analysis(case: int, clients: int) -> None:
    """Oracle: demands of server and database, and the line as think time."""
    server_s = WORK_S[case] - 0.001
    expected, _ = mva([server_s, 0.001], 0.01 * PAIRS[case], clients)
    config = {**TIMES, "case": case, "clients": clients, "server_cpus": 1, "database_cpus": 1}
    assert throughput(**config) == pytest.approx(expected, rel=TOLERANCE)


@pytest.mark.parametrize("clients", [4, 20, 100])
def test_several_processors_agree_with_the_exact_solution(clients: int) -> None:
    config = {**TIMES, "clients": clients, "server_cpus": 4}
    solution = solve(catalogue_model(**config))
    assert solution.label.startswith("exact")
    assert throughput(**config) == pytest.approx(solution.throughput_per_s, rel=TOLERANCE)


@pytest.mark.parametrize(("workers", "servers"), [(1, 1), (8, 1), (4, 3)])
def test_few_workers_bound_the_throughput(workers: int, servers: int) -> None:
    """Oracle: X = servers x workers / hold, as the processors are nearly idle."""
    config = {**TIMES, "clients": 100, "pause_s": 1.0, "workers": workers, "servers": servers}
    expected = servers * workers / (WORK_S[TLS] + 0.07 + 1.0)
    assert throughput(6000, **config) == pytest.approx(expected, rel=TOLERANCE)


def test_think_time_holds_no_worker_but_a_pause_does() -> None:
    config = {**TIMES, "clients": 20, "workers": 2}
    assert throughput(4000, think_s=1.0, **config) > 5 * throughput(4000, pause_s=1.0, **config)


@pytest.mark.parametrize("transaction_pairs", [0, 1, 3])
def test_a_pool_is_held_for_the_round_trips_of_the_transaction(transaction_pairs: int) -> None:
    """Oracle: X = connections / (service + database + pairs x RTT), many workers waiting."""
    pooled = {"pool": 2, "transaction_pairs": transaction_pairs, "clients": 800, "server_cpus": 16}
    expected = 2 / (0.004 + transaction_pairs * 0.1)
    assert throughput(**{**TIMES, "rtt_s": 0.1, **pooled}) == pytest.approx(expected, rel=TOLERANCE)


def test_a_pool_that_never_runs_out_changes_nothing() -> None:
    config = {**TIMES, "clients": 20}
    expected = throughput(**config)
    assert throughput(**config, pool=20) == pytest.approx(expected, rel=TOLERANCE)


def test_the_database_is_shared_by_all_servers() -> None:
    """Oracle: X = processors of the database / demand, however many servers there are."""
    config = {**TIMES, "case": LASTING, "clients": 200, "servers": 8, "database_s": 0.004}
    assert throughput(**config) == pytest.approx(2 / 0.004, rel=TOLERANCE)


def test_direct_access_needs_no_server() -> None:
    names = run(100, **{**PAPER, "case": DIRECT}).stations.names
    assert names == ("database",)
    limited = {**TIMES, "case": DIRECT, "clients": 20}
    assert throughput(**limited, workers=1, pool=1) == throughput(**limited)


@pytest.mark.parametrize("balancing", BALANCING)
def test_the_balancer_spreads_evenly(balancing: str) -> None:
    config = {**TIMES, "servers": 4, "clients": 40, "balancing": balancing}
    stations = run(**config).stations
    rows = [index for index, name in enumerate(stations.names) if name.endswith("/cpu")]
    visits = stations.columns["completion_count"][-1, rows]
    assert len(rows) == 4
    assert visits == pytest.approx([visits.mean()] * 4, rel=0.03)


def test_the_fewest_connections_wait_less_than_turns() -> None:
    config = {**TIMES, "rtt_s": 0.0, "servers": 4, "clients": 9}
    turns = throughput(**config, balancing="round_robin")
    assert throughput(**config, balancing="shortest_queue") > 1.03 * turns


@pytest.mark.parametrize(("clients", "workers"), [(5, 0), (40, 40), (80, 20)])
def test_switches_cost_by_pairs_and_held_workers(clients: int, workers: int) -> None:
    """Oracle: saturated processors; all workers are held, so the demand is a constant."""
    instant = {**TIMES, "rtt_s": 0.0, "database_s": 1e-6}
    config = {**instant, "clients": clients, "workers": workers, "switch_s": 1e-4}
    beyond = (workers or clients) - 1
    found = throughput(**config, server_cpus=1)
    assert found == pytest.approx(1 / (0.009 + 7 * 1e-4 * beyond), rel=TOLERANCE)


def test_no_operation_is_lost_and_every_job_is_somewhere() -> None:
    """Laws of Little: workers held, and clients, are throughput times time."""
    config = {**TIMES, "clients": 60, "servers": 3, "workers": 8, "pool": 3, "switch_s": 1e-5}
    result = run(**config)
    elapsed_s = result.snapshot_times_s[-1]
    classes, pools = result.classes.columns, result.pools.columns
    arrived, done = classes["arrival_count"][-1, 0], classes["completion_count"][-1, 0]
    assert 0 <= arrived - done <= 60
    assert classes["lost_count"][-1, 0] == 0
    assert classes["jobs_s"][-1, 0] == pytest.approx(60 * elapsed_s, rel=1e-6)
    workers = [index for index, name in enumerate(result.pools.names) if "workers" in name]
    inside_s = (pools["held_s"] + pools["queue_s"])[-1, workers].sum()
    assert inside_s == pytest.approx(classes["jobs_s"][-1, 0], rel=1e-6)
    assert (result.pools.maxima["held"] <= result.pools.capacity).all()
    database = result.stations.names.index("database")
    assert done <= result.stations.columns["completion_count"][-1, database] <= done + 60


@pytest.mark.parametrize(
    ("case", "servers", "workers", "pool"),
    [*itertools.product((TLS, LASTING), (1, 3), (0, 4, 30), (0, 2)), (DIRECT, 1, 0, 0)],
)
def test_the_stated_bound_holds(case: int, servers: int, workers: int, pool: int) -> None:
    config = {**TIMES, "case": case, "servers": servers, "workers": workers, "pool": pool}
    model = catalogue_model(**config, clients=50, switch_s=1e-7)
    if case == DIRECT:
        assert model.counted is None  # formulas fit: nobody switches
        return
    assert model.counted is not None
    highest = 1e3 * model.counted.highest_throughput
    found = throughput(**config, clients=50, switch_s=1e-7)
    assert 0.6 * highest < found <= (1 + TOLERANCE) * highest


def test_the_paper_overheads_of_the_four_cases() -> None:
    """Section II.1: 350, 270 and 80% of direct access, 8 times in all; within 5%."""
    found = {case: throughput(**{**PAPER, "case": case}) for case in PAIRS}
    times = {case: found[DIRECT] / found[case] for case in PAIRS}
    assert times[TLS] == pytest.approx(8.0, rel=0.05)
    assert times[TLS] - times[TCP] == pytest.approx(3.5, rel=0.05)
    assert times[TCP] - times[LASTING] == pytest.approx(2.7, rel=0.05)
    assert times[LASTING] - 1 == pytest.approx(0.8, rel=0.1)


def test_the_paper_server_is_full_with_eight_threads() -> None:
    """Section II.1: one client node with 8 threads keeps the server's processors busy."""
    result = run(**{**PAPER, "clients": 8})
    cpu = result.stations.names.index("server")
    busy_s = result.stations.columns["busy_s"][-1, cpu]
    assert busy_s / (2 * result.snapshot_times_s[-1]) > 0.97
    # Section II.3: "some 200" operations per second.
    assert throughput(**{**PAPER, "clients": 8}) == pytest.approx(210, rel=0.05)


def test_the_paper_throughput_grows_with_the_servers() -> None:
    """Section II.2: proportional to 1 to 4 servers; within 5%."""
    found = [throughput(**{**PAPER, "clients": 64, "servers": count}) for count in (1, 2, 3, 4)]
    assert [one / found[0] for one in found] == pytest.approx([1, 2, 3, 4], rel=0.05)


@pytest.mark.parametrize(("workers", "expected"), [(16, 8.0), (384, 170.0), (512, 160.0)])
def test_the_paper_throughput_in_the_wan(workers: int, expected: float) -> None:
    """Section II.3 and figure 4; within 3%."""
    completions = 100 * workers
    found = throughput(completions, **{**PAPER_WAN, "workers": workers})
    assert found == pytest.approx(expected, rel=0.03)


def test_only_switches_explain_the_decline_in_the_wan() -> None:
    free = {**PAPER_WAN, "switch_s": 0.0}
    few = throughput(40_000, **{**free, "workers": 384})
    assert throughput(40_000, **free) > 1.05 * few


def test_the_sleep_of_the_emulation_is_the_line_of_300_ms() -> None:
    """The paper replaced 7 round trips (2.1 s) by 2 s; 16 processes then do 5% less."""
    line = {**PAPER_WAN, "pause_s": 0.0, "rtt_s": 0.3, "workers": 16}
    assert throughput(3000, **line) == pytest.approx(16 / (2.1 + 0.0105), rel=TOLERANCE)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"case": 5}, "'case' is 5, which is not one of its choices"),
        ({"clients": 0}, "'clients' is 0, below its lowest value 1"),
        ({"rtt_s": -0.1}, "'rtt_s' is -0.1, below its lowest value 0"),
        ({"database_s": 0.0}, "'database_s' is 0, below its lowest value 1e-08"),
        ({"servers": 2000}, "'servers' is 2000, above its highest value 1000"),
        ({"pool": 1.5}, "'pool' is 1.5, but its type is int"),
        ({"balancing": "best"}, "'balancing' is 'best', which is not one of its choices"),
        ({"transaction_pairs": 4, "case": 3}, "a transaction has 4 message pairs, .* only 3"),
    ],
)
def test_a_value_out_of_range_is_refused(config: dict[str, Value], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        catalogue_model(**config)


@pytest.mark.parametrize("given", [PAPER, PAPER_WAN])
def test_the_paper_states_every_parameter(given: dict[str, Value]) -> None:
    assert set(given) == set(Catalogue.__struct_fields__)
