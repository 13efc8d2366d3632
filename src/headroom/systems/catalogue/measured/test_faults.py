"""Faults under load, with four servers behind HAProxy and a database that can be killed.

Shared machines are noisy, so that no test asserts an absolute time; the log says what was measured.
The database flushes nothing: what it has written survives the end of its processes, and its
recovery is short.
"""

import logging
from collections.abc import Iterator

import pytest

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Value
from headroom.systems.catalogue.measured.faults import Journal
from headroom.systems.catalogue.system import CatalogueSetup, CatalogueSystem
from tests.support.catalogue_programs import opened, point

SETUP = CatalogueSetup(seconds=4.0, known=100, database={"autovacuum": "off", "fsync": "off"})
LEVELS: dict[str, Value] = {
    "case": 3, "operation": "insert", "servers": 4, "clients": 16, "rate_per_s": 100.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def system(catalogue_programs: None) -> Iterator[CatalogueSystem]:  # noqa: ARG001 - it skips
    with opened(SETUP) as one:
        yield one


def disturbed(system: CatalogueSystem, **levels: Value) -> Run:
    """Return a run in which nothing was lost, and print what clients saw."""
    config = point(system, **LEVELS | levels)
    system.check_point(config)
    try:
        run = system.run(config, seed=3)
    except EnvironmentUnfitError as error:
        if "is not installed" not in error.message:
            raise
        pytest.skip(f"{error.message}: {error.cure}")
    assert run.faults == ()
    assert set(run.values) <= {metric.name for metric in system.metrics(config)}
    assert run.values["lost_count"] == 0.0
    assert run.values["undone_count"] == 0.0
    seen = {"error_count", "errors_s", "gap_s", "unknown_count", "unknown_kept_count", "recovery_s"}
    found = {name: round(value, 3) for name, value in run.values.items() if name in seen}
    logging.getLogger(__name__).info("%s: %s %s", levels, found, run.remarks)
    return run


def test_a_killed_server_breaks_its_own_connections_alone(system: CatalogueSystem) -> None:
    """A fourth of the clients are on it, and each sees at most the end of its connection.

    Of 16 clients that share two processors with others, none may have a request there just then.
    """
    counts: list[float] = []
    while len(counts) < 4 and not any(counts):
        run = disturbed(system, fault="server_killed")
        counts.append(run.values["error_count"])
    assert 1.0 <= counts[-1] <= 16 / 4


def test_a_killed_server_shows_only_in_transactions_if_clients_reopen(
    system: CatalogueSystem,
) -> None:
    run = disturbed(system, fault="server_killed", reopens=True)
    assert run.values["error_count"] == run.values["unknown_count"]


def test_clients_that_reopen_see_no_end_of_a_server(system: CatalogueSystem) -> None:
    run = disturbed(system, fault="server_stopped", reopens=True)
    assert run.values["error_count"] == 0.0


@pytest.mark.deep
def test_certificates_are_read_again_without_an_error(system: CatalogueSystem) -> None:
    run = disturbed(system, fault="servers_reload", case=1, clients=4, rate_per_s=40.0)
    assert run.values["error_count"] == 0.0


@pytest.mark.deep
def test_a_killed_database_loses_nothing_and_clients_go_on(system: CatalogueSystem) -> None:
    run = disturbed(system, fault="database_killed")
    assert run.values["error_count"] > 0.0
    assert run.values["gap_s"] >= 0.9, "the database was away for less than `down_s`"
    assert run.values["recovery_s"] >= 0.0


def test_a_checker_finds_what_was_lost_or_came_back() -> None:
    journal = Journal.of(["+ 1 a", "+ 2 b", "- 3 c", "? 4 d", "? 5 e"])
    values = journal.values(frozenset({"a", "c", "d"}))
    assert values["lost_count"] == 1.0
    assert values["undone_count"] == 1.0
    assert (values["unknown_count"], values["unknown_kept_count"]) == (2.0, 1.0)
    assert values["errors_s"] == pytest.approx(2e-9)


@pytest.mark.parametrize(
    ("levels", "reason"),
    [
        ({"fault": "server_killed", "operation": "query"}, "only insertions can be lost"),
        ({"fault": "database_killed", "down_s": 3.0}, "beyond the end of a load of 4 s"),
    ],
)
def test_faults_that_cannot_be_judged_are_refused(
    system: CatalogueSystem, levels: dict[str, Value], reason: str
) -> None:
    with pytest.raises(StudyError, match=reason):
        system.check_point(point(system, **LEVELS | levels))
