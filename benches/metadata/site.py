"""The services of the catalogue's benchmark: PostgreSQL with TLS, catalogue servers, PgBouncer.

PostgreSQL is the system's, as that of the Python package knows no TLS. It lets plain clients of the
loopback in, and clients by TLS that show a certificate.
"""

import atexit
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import gettempdir

import msgspec

from benches.folders import new_folder
from headroom.experiment.protocol.system import Value
from headroom.recording.observers.postgres import Connection
from headroom.recording.observers.table import ObserveTable
from headroom.recording.services.keeper import Keeper, fill_words, remove_leftovers
from headroom.recording.services.kinds import as_other_user
from headroom.recording.services.service import Service
from headroom.recording.services.table import ReadyTable, ServiceTable
from headroom.systems.catalogue.measured.certificates import CLIENT_SUBJECT, make_certificates
from headroom.systems.catalogue.measured.measuring import Measuring
from headroom.systems.catalogue.measured.parameters import Served
from headroom.systems.catalogue.measured.services import DATABASE, HOST, service_tables

SERVER = "amga1"
BOUNCER = "bouncer"
POOL = 16
KNOWN = 10_000
_SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "autovacuum": "off",
}
_START = (
    'bin=$1; data=$2; shift 2; "$bin/initdb" -D "$data" -U headroom --auth=trust --no-sync '
    '--encoding=UTF8 --locale=C && exec "$bin/postgres" -D "$data" "$@"'
)
_ADMITTED = f"""\
hostssl all all {HOST}/32 cert map=clients
hostnossl all all {HOST}/32 trust
"""
_BOUNCER = f"""\
[databases]
{DATABASE} = host={HOST} port={{db.port}} dbname={DATABASE} user=headroom
[pgbouncer]
listen_addr = {HOST}
listen_port = {{bouncer.port}}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {POOL}
max_client_conn = 1000
log_connections = 0
log_disconnections = 0
"""


@cache
def programs() -> Path | None:
    """Return the folder of a PostgreSQL of the system that knows TLS; None without one."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("postgres"):
        places.append(Path(found).resolve().parent)
    return next((place for place in places if _knows_tls(place / "postgres")), None)


def _knows_tls(server: Path) -> bool:
    if not server.is_file():
        return False
    said = subprocess.run(
        [server, "--describe-config"], capture_output=True, text=True, check=False
    )
    ciphers = next((line for line in said.stdout.splitlines() if "ssl_ciphers\t" in line), "")
    return "none" not in ciphers.split("\t")


def no_tls() -> str:
    """Return why no client can connect to PostgreSQL by TLS, an empty text if it can."""
    return "" if programs() else "no PostgreSQL with TLS (Debian: apt install postgresql)"


def bouncer() -> str | None:
    """Return the program of PgBouncer."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def no_bouncer() -> str:
    """Return why PgBouncer cannot be measured, an empty text if it can."""
    return "" if bouncer() else "PgBouncer is not installed (Debian: apt install pgbouncer)"


def point(**levels: Value) -> dict[str, Value]:
    """Return a point of the system `catalogue`: its defaults, and `levels`."""
    defaults = msgspec.to_builtins(Served())
    return {**defaults, "pool": POOL, **levels}


@dataclass(slots=True)
class Site:
    """Running services, and what their clients need.

    Attributes
    ----------
    statements
        SQL of each operation, as the catalogue sends it inside a transaction.
    """

    keeper: Keeper
    certificates: Path
    words: dict[str, str] = field(default_factory=dict)
    statements: dict[str, list[str]] = field(default_factory=dict)
    runs: int = 0

    def start(self) -> None:
        """Start the services, make the catalogue's directory, and fill it."""
        self.make_database(DATABASE)
        self.ensure([self.server_table()])
        if bouncer():
            self.ensure([_bouncer_table()])
        measuring = Measuring(
            keeper=self.keeper,
            certificates=self.certificates,
            database={},
            known=KNOWN,
            observe=ObserveTable(),
        )
        self.statements = measuring.fill(point(), self.words)

    def server_table(
        self, name: str = SERVER, *, database: str = DATABASE, pool: int = POOL
    ) -> ServiceTable:
        """Return a catalogue server at a database, whose connections bear its name."""
        tables = service_tables(point(pool=pool), certificates=self.certificates, database={})
        (table,) = [one for one in tables if one.name == SERVER]

        def renamed(text: str) -> str:
            text = text.replace(f"{{{SERVER}.", f"{{{name}.")
            return text.replace(f'/{DATABASE}"', f'/{database}?application_name={name}"')

        return msgspec.structs.replace(
            table,
            name=name,
            argv=[renamed(word) for word in table.argv],
            files={file: renamed(text) for file, text in table.files.items()},
        )

    def ensure(self, tables: list[ServiceTable]) -> None:
        """Start the database and `tables`, where they do not run yet."""
        self.words |= self.keeper.ensure([_database_table(self.certificates), *tables], fill_words)

    def make_database(self, name: str) -> None:
        """Make a database, which must not exist."""
        self.ensure([])
        with self.connected() as connection:
            connection.rows(f"create database {name}")

    def address(self, name: str) -> str:
        """Return where a service listens."""
        return f"{HOST}:{self.words[f'{name}.port']}"

    def service(self, name: str) -> Service:
        """Return a running service."""
        return next(one for one in self.keeper.services() if one.table.name == name)

    def cpu_s(self, name: str) -> float:
        """Return the processor time (s) of a service since its start."""
        return self.service(name).group.totals()["cpu_s"]

    def new_prefix(self) -> str:
        """Return the beginning of the names of entries that no other run inserts."""
        self.runs += 1
        return f"run{self.runs}-"

    @contextmanager
    def connected(self, database: str = "postgres") -> Iterator[Connection]:
        """Yield a connection to a database."""
        connection = Connection(HOST, int(self.words["db.port"]), database)
        try:
            yield connection
        finally:
            connection.close()


@cache
def site() -> Site:
    """Return the services, started by the first call; they end with this process."""
    remove_leftovers()
    folder = new_folder(Path(gettempdir()))
    atexit.register(folder.cleanup)
    make_certificates(Path(folder.name))
    found = Site(keeper=Keeper(), certificates=Path(folder.name))
    atexit.register(found.keeper.close)
    found.start()
    return found


def _database_table(certificates: Path) -> ServiceTable:
    place = programs()
    if place is None:
        return ServiceTable(name="db", kind="postgres", settings=_SETTINGS)
    settings = {
        **_SETTINGS,
        "port": "{db.port}",
        "hba_file": "{db.folder}/hba.conf",
        "ident_file": "{db.folder}/ident.conf",
        "ssl": "on",
        "ssl_min_protocol_version": "TLSv1.3",
        "ssl_cert_file": f"{certificates}/server.pem",
        "ssl_key_file": f"{certificates}/server.key",
        "ssl_ca_file": f"{certificates}/ca.pem",
    }
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    start = ["sh", "-c", _START, "sh", str(place), "{db.folder}/data"]
    client = CLIENT_SUBJECT.removeprefix("/CN=")
    return ServiceTable(
        name="db",
        argv=[*as_other_user(), *start, *options],
        files={"hba.conf": _ADMITTED, "ident.conf": f"clients {client} headroom\n"},
        ready=ReadyTable(argv=[f"{place}/pg_isready", "-q", "-h", HOST, "-p", "{db.port}"]),
        stop="INT",
    )


def _bouncer_table() -> ServiceTable:
    return ServiceTable(
        name=BOUNCER,
        argv=[*as_other_user(), str(bouncer()), "{bouncer.folder}/pgbouncer.ini"],
        files={"pgbouncer.ini": _BOUNCER},
        ready=ReadyTable(port="port"),
        stop="INT",
    )
