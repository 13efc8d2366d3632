"""A server of the user: TLS, a password from a file, and what is refused without being touched."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.machine.openssl import NEW_KEY, openssl
from headroom.recording.observers.postgres import Connection
from headroom.recording.services.keeper import Keeper, fill_words
from headroom.recording.services.table import ServiceTable
from headroom.systems.transactions.measured.program import ask
from headroom.systems.transactions.system import TransactionsSetup
from tests.support.transactions_program import opened, point


def make_certificates(folder: Path) -> None:
    """Make an authority, another one, and the certificate of the server by the first."""
    for name in ("ca", "other"):
        files = ("-out", f"{name}.pem", "-keyout", f"{name}.key", "-subj", f"/CN={name}")
        openssl(folder, "req", "-x509", *NEW_KEY, *files, "-days", "2")
    request = ("-out", "server.csr", "-keyout", "server.key", "-subj", "/CN=db")
    openssl(folder, "req", *NEW_KEY, *request)
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n", encoding="utf-8")
    issuer = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2")
    openssl(folder, "x509", "-req", *issuer, "-in", "server.csr", "-out", "server.pem",
            "-extfile", "names")  # fmt: skip
    (folder / "server.key").chmod(0o600)


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """A server with a user who may make databases, one who may not, and a database of another."""

    port: int
    folder: Path

    def target(self, user: str = "loader", roots: str = "ca.pem") -> dict[str, Any]:
        """Return the server as the program wants it."""
        return {
            "url": f"postgres://{user}@127.0.0.1:{self.port}",
            "password_file": str(self.folder / "password"),
            "tls_roots": str(self.folder / roots),
        }


@pytest.fixture(scope="module")
def own(
    transactions_program: None,  # noqa: ARG001 - it skips
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Own]:
    folder = tmp_path_factory.mktemp("server")
    make_certificates(folder)
    (folder / "password").write_text("pass word\n", encoding="utf-8")
    keeper = Keeper()
    settings = {"ssl": "on", **{f"ssl_{kind}_file": f"{folder}/server.{end}"
                for kind, end in (("cert", "pem"), ("key", "key"))}}  # fmt: skip
    words = keeper.ensure([ServiceTable(name="db", kind="postgres", settings=settings)], fill_words)
    server = Own(port=int(words["db.port"]), folder=folder)
    connection = Connection("127.0.0.1", server.port)
    connection.rows("create role loader login createdb password 'pass word'")
    connection.rows("create role poor login password 'pass word'")
    connection.rows("create database headroom_stranger owner loader")
    connection.close()
    yield server
    keeper.close()


def test_a_study_runs_on_the_server_of_the_user_and_leaves_the_loaded_database(own: Own) -> None:
    setup = TransactionsSetup(seconds=1.0, warm_up_s=0.2, **own.target())
    with opened(setup) as system:
        config = point(system, product="postgres", workload="tpcb", terminals=2)
        system.check_point(config)
        run = system.run(config, seed=1)
    assert run.faults == ()
    assert run.values["broken_conditions"] == run.values["miscounted_rows"] == 0.0
    connection = Connection("127.0.0.1", own.port)
    names = {row[0] for row in connection.rows("select datname from pg_database")}
    connection.close()
    assert "headroom_tpcb_1_1" in names
    assert "headroom_run" not in names


@pytest.mark.parametrize(
    ("job", "user", "roots", "reason"),
    [
        ("check", "loader", "other.pem", "invalid peer certificate"),
        ("load", "poor", "ca.pem", "makes no database for this user"),
        ("drop", "loader", "ca.pem", "was not made by this program"),
        ("check", "loader", "absent.pem", "No such file"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(
    own: Own, job: str, user: str, roots: str, reason: str
) -> None:
    name = "headroom_poor" if job == "load" else "headroom_stranger"
    more = {"scale": 1} if job == "load" else {}
    with pytest.raises(EnvironmentUnfitError, match=reason) as refused:
        ask({"do": job, "target": own.target(user, roots), "database": name, **more})
    assert "pass word" not in str(refused.value)
