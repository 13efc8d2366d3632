"""The model of the catalogue on one machine, with a log, quotas and several databases."""

import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Value
from headroom.simulation import simulate
from headroom.solvers import solve
from headroom.systems.catalogue.model import DIRECT, LASTING, TCP, TLS, catalogue_model

TOLERANCE = 0.03
TIMES: dict[str, Value] = {
    "client_s": 0.001, "client_connect_s": 0.0005, "client_tls_s": 0.002, "tls_s": 0.004,
    "connect_s": 0.002, "service_s": 0.003, "database_s": 0.001, "login_s": 0.0007,
    "direct_s": 0.0002, "insert_s": 0.0011, "rtt_s": 0.0,
}  # fmt: skip
WORK_S = {TLS: 0.0142, TCP: 0.0075, LASTING: 0.005, DIRECT: 0.0022}
"""Processor time (s) of a query with `TIMES`, by case."""
SHARED: dict[str, Value] = {**TIMES, "server_cpus": 0, "machine_cpus": 2, "machine_share": 0.6}


def throughput(completions: Value = 20_000, **config: Value) -> float:
    """Return the completions per second of the last three quarters of a run."""
    result = simulate(catalogue_model(**config), seed=7, completions=int(completions))
    start = len(result.snapshot_times_s) // 4
    counts = result.classes.columns["completion_count"][:, 0]
    span_s = result.snapshot_times_s[-1] - result.snapshot_times_s[start]
    return float((counts[-1] - counts[start]) / span_s)


@pytest.mark.parametrize("operation", ["query", "insert"])
@pytest.mark.parametrize("case", WORK_S)
def test_one_client_has_a_processor_as_far_as_others_leave_it(case: int, operation: str) -> None:
    """Oracle: X = share / work; an insertion needs more work and a flush of the log."""
    config: dict[str, Value] = {
        **SHARED,
        "case": case,
        "operation": operation,
        "clients": 1,
        "log_s": 0.004,
    }
    is_insertion = operation == "insert"
    response_s = (WORK_S[case] + is_insertion * 0.0011) / 0.6 + is_insertion * 0.004
    assert throughput(**config) == pytest.approx(1 / response_s, rel=TOLERANCE)


@pytest.mark.parametrize("case", WORK_S)
def test_all_processes_share_the_machine(case: int) -> None:
    """Oracle: X = processors x share / work, whoever works."""
    config: dict[str, Value] = {**SHARED, "case": case, "clients": 40}
    expected = 2 * 0.6 / WORK_S[case]
    assert throughput(**config) == pytest.approx(expected, rel=TOLERANCE)
    solution = solve(catalogue_model(**config))
    assert solution.throughput_per_s == pytest.approx(expected, rel=0.001)


def test_clients_with_machines_of_their_own_only_take_time() -> None:
    config: dict[str, Value] = {
        **TIMES,
        "case": LASTING,
        "clients": 1,
        "line_s": 1.0,
        "rtt_s": 0.01,
    }
    assert throughput(**config) == pytest.approx(1 / (0.005 + 0.03), rel=TOLERANCE)
    many: dict[str, Value] = {**config, "clients": 400, "database_cpus": 8}
    assert throughput(**many) == pytest.approx(2 / 0.003, rel=TOLERANCE)


def test_a_line_costs_the_machine_its_proxy() -> None:
    config: dict[str, Value] = {
        **SHARED,
        "case": LASTING,
        "clients": 200,
        "rtt_s": 0.01,
        "line_s": 0.005,
    }
    assert throughput(**config) == pytest.approx(2 * 0.6 / 0.010, rel=TOLERANCE)


@pytest.mark.parametrize("servers", [1, 2, 3])
def test_servers_with_a_quota_complete_what_it_allows(servers: int) -> None:
    """Oracle: X = servers x quota / processor time of a server."""
    config: dict[str, Value] = {**SHARED, "machine_share": 1.0, "server_cpus": 0.1, "clients": 30}
    found = throughput(10_000, **config, servers=servers)
    assert found == pytest.approx(servers * 0.1 / 0.009, rel=TOLERANCE)


def test_quotas_leave_the_others_less() -> None:
    """Oracle: clients and database have what two servers with 0.9 processors leave of 2."""
    config: dict[str, Value] = {
        **SHARED,
        "machine_share": 1.0,
        "server_cpus": 0.9,
        "servers": 2,
        "clients": 60,
    }
    others_s = WORK_S[LASTING] - 0.003
    found = throughput(**config, case=LASTING)
    assert found == pytest.approx(0.2 / others_s, rel=TOLERANCE)


def test_a_flush_of_the_log_takes_all_insertions_that_wait() -> None:
    """Without other work half of the clients are in a flush while the others wait for the next."""
    config: dict[str, Value] = {
        **SHARED, "case": DIRECT, "operation": "insert", "client_s": 1e-7, "direct_s": 0.0,
        "insert_s": 0.0, "database_s": 1e-7, "log_s": 0.01,
    }  # fmt: skip
    alone = throughput(2000, **config, clients=1)
    assert alone == pytest.approx(1 / 0.01, rel=TOLERANCE)
    many = throughput(**config, clients=100)
    assert many > 40 * alone
    assert many <= 100 / 0.01


@pytest.mark.parametrize("databases", [1, 2, 4])
def test_databases_divide_the_work(databases: int) -> None:
    """Oracle: X = databases x processors / demand; directories are spread evenly."""
    config: dict[str, Value] = {
        **TIMES,
        "case": LASTING,
        "clients": 300,
        "servers": 12,
        "database_cpus": 1,
    }
    found = throughput(40_000, **config, databases=databases)
    assert found == pytest.approx(databases / 0.001, rel=TOLERANCE)


def test_a_server_has_a_pool_for_each_database() -> None:
    """Oracle: X = servers x databases x pool / time that a connection is held."""
    config: dict[str, Value] = {
        **TIMES,
        "case": LASTING,
        "clients": 500,
        "rtt_s": 0.1,
        "server_cpus": 64,
    }
    found = throughput(**config, pool=3, servers=2, databases=2)
    assert found == pytest.approx(2 * 2 * 3 / 0.104, rel=2 * TOLERANCE)


@pytest.mark.parametrize("server_cpus", [0, 0.1])
@pytest.mark.parametrize("case", [TLS, LASTING])
def test_the_stated_bound_holds_on_one_machine(case: int, server_cpus: float) -> None:
    config: dict[str, Value] = {
        **SHARED,
        "case": case,
        "server_cpus": server_cpus,
        "clients": 40,
        "switch_s": 1e-8,
    }
    model = catalogue_model(**config)
    assert model.counted is not None
    highest = 1e3 * model.counted.highest_throughput
    assert 0.9 * highest < throughput(**config) <= (1 + TOLERANCE) * highest


def test_a_server_without_processors_is_refused() -> None:
    with pytest.raises(StudyError, match="common machine, but there is none") as caught:
        catalogue_model(server_cpus=0)
    assert "machine_cpus" in caught.value.cure


def test_a_million_clients_are_simulated() -> None:
    """Oracle: far from saturation, X = clients / (think time + response time)."""
    config: dict[str, Value] = {
        "clients": 1_000_000,
        "think_s": 60.0,
        "rtt_s": 0.05,
        "servers": 16,
        "databases": 3,
    }
    found = throughput(60_000, **config)
    assert found == pytest.approx(1e6 / (60.0 + 0.35), rel=TOLERANCE)
