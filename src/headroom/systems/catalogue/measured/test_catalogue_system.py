"""The measured catalogue against counts that do not come from it, with real servers."""

from collections.abc import Iterator

import pytest

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Value
from headroom.systems.catalogue.system import CatalogueSetup, CatalogueSystem
from tests.support.catalogue_programs import opened, point

SETUP = CatalogueSetup(seconds=0.6, known=200, database={"autovacuum": "off"})


@pytest.fixture(scope="module")
def system(catalogue_programs: None) -> Iterator[CatalogueSystem]:  # noqa: ARG001 - it skips
    with opened(SETUP) as one:
        yield one


def measured(system: CatalogueSystem, **levels: Value) -> Run:
    config = point(system, **levels)
    system.check_point(config)
    run = system.run(config, seed=3)
    assert run.faults == ()
    declared = {metric.name for metric in system.metrics(config)}
    assert set(run.values) <= declared
    return run


@pytest.mark.deep
@pytest.mark.parametrize("operation", ["insert", "query"])
@pytest.mark.parametrize(("case", "pairs"), [(1, 7), (2, 6), (3, 3), (4, 4)])
def test_pairs_connections_and_commits_are_those_of_the_case(
    system: CatalogueSystem, case: int, pairs: int, operation: str
) -> None:
    run = measured(system, case=case, operation=operation, clients=4)
    values = run.values
    assert values["message_pairs_per_op"] == pairs
    assert values["connections_per_op"] == (1.0 if case <= 2 else 0.0)
    assert values["error_count"] == 0.0
    # The last operation of a client may end after the count. A new connection of the catalogue sets
    # itself up in two transactions, and looks the certificate up in one; a login by a known
    # certificate asks nothing.
    (histogram,) = run.histograms
    operations = int(histogram.counts.sum())
    further = round(values["commits_per_op"] * operations) - operations
    assert 0 <= further <= 4 * (1 if case == 4 else 4)


@pytest.mark.deep
def test_the_processes_of_all_services_are_observed(system: CatalogueSystem) -> None:
    values = measured(system, servers=2, server_cpus=1.0, clients=4).values
    for name in ("program", "service.db", "service.amga1", "service.amga2", "service.balancer"):
        assert values[f"{name}.cpu_s_per_op"] > 0.0


@pytest.mark.parametrize(("case", "pairs"), [(1, 7), (2, 6), (3, 3)])
def test_processes_answer_as_a_pool_does(system: CatalogueSystem, case: int, pairs: int) -> None:
    values = measured(system, case=case, architecture="process", workers=3, clients=3).values
    assert values["message_pairs_per_op"] == pairs
    assert values["error_count"] == 0.0
    assert values["service.amga1.switches_per_op"] > 0.0


@pytest.mark.deep
def test_a_process_is_held_during_the_pause(system: CatalogueSystem) -> None:
    run = measured(system, architecture="process", workers=2, clients=6, pause_s=0.1)
    assert run.counters["connection_count"] <= 2 * (0.6 / 0.1 + 2) + 6


def test_new_connections_to_the_database_itself(system: CatalogueSystem) -> None:
    values = measured(system, case=2, architecture="direct", clients=2).values
    assert values["connections_per_op"] == 1.0
    assert values["message_pairs_per_op"] == 6.0


@pytest.mark.deep
def test_a_limit_of_memory_ends_processes_of_the_database(system: CatalogueSystem) -> None:
    levels: dict[str, Value] = {"architecture": "process", "workers": 60, "clients": 60}
    try:
        run = measured(system, case=2, database_memory_mb=70.0, **levels)
    except EnvironmentUnfitError as error:
        if "control group" in error.message:
            pytest.skip(error.message)
        raise
    assert run.values["database_kills"] > 0.0
    assert any("limit of memory" in remark for remark in run.remarks)


@pytest.mark.deep
def test_a_delayed_line_delays_every_pair(system: CatalogueSystem) -> None:
    run = measured(system, case=2, clients=4, rtt_s=0.04)
    (histogram,) = run.histograms
    assert histogram.totals is not None
    assert histogram.totals.minima.min() >= 6 * 0.04


def test_an_open_load_has_its_rate(system: CatalogueSystem) -> None:
    run = measured(system, case=3, rate_per_s=50.0, clients=4)
    (histogram,) = run.histograms
    assert 0.6 * 50.0 * 0.5 <= histogram.counts.sum() <= 0.6 * 50.0 * 1.5
    assert run.offered == {}


@pytest.mark.deep
def test_an_open_load_above_the_capacity_tells_what_was_offered(system: CatalogueSystem) -> None:
    run = measured(system, case=3, rate_per_s=50_000.0, clients=4)
    assert run.offered["throughput"] > 2.0 * run.values["throughput"] > 0.0


@pytest.mark.deep
def test_tickets_shorten_handshakes(system: CatalogueSystem) -> None:
    run = measured(system, case=1, resumes=True, clients=2)
    assert run.counters["resumed_handshake_count"] > run.counters["full_handshake_count"]


@pytest.mark.parametrize(
    ("levels", "reason"),
    [
        ({"case": 4, "servers": 2}, "case 4"),
        ({"case": 3, "resumes": True}, "TLS"),
        ({"case": 3, "architecture": "direct"}, "is case 4"),
        ({"case": 1, "architecture": "direct"}, "needs a database with TLS"),
        ({"case": 3, "architecture": "process", "workers": 2, "clients": 3}, "2 processes"),
    ],
)
def test_contradictions_are_refused(
    system: CatalogueSystem, levels: dict[str, Value], reason: str
) -> None:
    with pytest.raises(StudyError, match=reason):
        system.check_point(point(system, **levels))
