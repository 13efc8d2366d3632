"""The system `transactions`: TPC-C or TPC-B on a real database."""

import os
import platform
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar

import msgspec

from headroom.errors import StudyError
from headroom.experiment.machine.machine_watch import SERVICES_BUSY
from headroom.experiment.protocol.declared import Declared, FromDeclaration
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Value
from headroom.experiment.study.seeds import digest
from headroom.recording.leftovers import POOL, OwnFolder, make_folder
from headroom.recording.observers.table import ObserveTable
from headroom.recording.services.keeper import Keeper, remove_leftovers, services_state
from headroom.recording.services.kinds import KINDS_VERSION
from headroom.systems.transactions.measured.databases import Databases, Server, check_space
from headroom.systems.transactions.measured.measuring import Measuring
from headroom.systems.transactions.measured.parameters import Asked, metrics_for
from headroom.systems.transactions.measured.program import program

_VERSION = 1
"""Part of each fingerprint: raise it when a point is measured in another way."""
_SCHEMES = {"postgres": "postgres", "postgresql": "postgres", "mysql": "mariadb"}


class TransactionsSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.system]` of measured transactions."""

    seconds: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 10.0
    """Length (s) of a replication's load."""
    warm_up_s: Annotated[float, msgspec.Meta(ge=0, le=86_400)] = 2.0
    """Time (s) at the beginning that NOPM leaves out; at most half of the load."""
    rows_seed: Annotated[int, msgspec.Meta(ge=0)] = 1
    """Seed of the rows that are loaded."""
    checks: bool = True
    """Whether the consistency conditions are checked after each run, which takes seconds for each
    warehouse."""
    settings: dict[str, str] = {}
    """Settings of a server that is started here."""
    url: str = ""
    """The user's own server, `postgres://user@host:port` or `mysql://user@host:port`, where
    databases of names with `headroom_` are made; by default one is started here."""
    password_file: str = ""
    """File with the password of its user."""
    tls_roots: str = ""
    """PEM file with the authorities of its certificate; the connection is encrypted then."""
    observe_s: Annotated[float, msgspec.Meta(ge=0.02, le=60)] = 0.5
    """Time (s) between two looks at the processes."""


@dataclass(slots=True)
class _Session:
    """What replications share: a server of each product, and the databases that were loaded.

    All servers live as long as the session: points of several products alternate, and a server
    that is started again has to load again.
    """

    folder: OwnFolder | None = None
    databases: dict[str, Databases] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TransactionsSystem(FromDeclaration):
    """Terminals and a database on this machine, or a server of the user.

    Examples
    --------
    >>> system = TransactionsSystem.load(TransactionsSetup(), base=Path())
    >>> [parameter.name for parameter in system.parameters()][:4]
    ['product', 'workload', 'warehouses', 'terminals']
    """

    name: ClassVar[str] = "transactions"
    column: ClassVar[Column] = Column.MEASURE
    setup_type: ClassVar[type[msgspec.Struct]] = TransactionsSetup
    code_key: ClassVar[str] = ""
    declared: ClassVar[type[Declared]] = Asked

    setup: TransactionsSetup
    session: _Session = field(default_factory=_Session, compare=False, repr=False)

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:
        """Return the metrics of terminals, of the database and of the driver."""
        return tuple(metrics_for(config, has_service=not self.setup.url))

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return a hash of the set-up and of the point."""
        setup = msgspec.to_builtins(self.setup)
        return digest([_VERSION, KINDS_VERSION, setup, dict(config)], size_bytes=8)

    def found_at(self, config: Mapping[str, Value]) -> str:  # noqa: ARG002 - the protocol's
        """Return the machine and the program: results of others are not reused."""
        found = program().stat()
        built = f"{found.st_size}:{found.st_mtime_ns}"
        return " ".join([platform.node(), platform.machine(), str(os.cpu_count()), built])

    def open_session(self, say: Callable[[str], None]) -> tuple[str, ...]:  # noqa: ARG002
        """Begin a session; servers that a killed run left behind are ended and reported."""
        return remove_leftovers()

    def close_session(self) -> tuple[str, ...]:
        """End the server; loaded databases of a user's own server stay, the last copy goes."""
        for databases in self.session.databases.values():
            if databases.server is not None:
                databases.drop(databases.server.target())
            databases.keeper.close()
        self.session.databases.clear()
        folder, self.session.folder = self.session.folder, None
        if folder is not None:
            folder.remove()
        return ()

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse a point whose parameters contradict each other."""
        point = Asked.of(config)
        if self.setup.url:
            scheme = self.setup.url.partition(":")[0]
            if _SCHEMES.get(scheme) != point.product:
                raise StudyError(
                    f"`url` is a server of {scheme!r}, but product = {point.product!r}",
                    cure="set `product` to what the server is, or leave `url` out",
                )
            if point.server_cpus:
                raise StudyError(
                    "the processors of a server that was not started here cannot be limited",
                    cure="set server_cpus = 0, or leave `url` out",
                )
        if point.product == "sqlite" and point.server_cpus:
            raise StudyError(
                "SQLite runs in the driver's process, whose processors are not limited",
                cure="set server_cpus = 0",
            )
        if point.product == "sqlite" and point.processes > 1:
            raise StudyError(
                "SQLite runs in the driver's process, and there is one", cure="set processes = 1"
            )
        if point.pipelines and (point.form == "function" or point.product != "postgres"):
            raise StudyError(
                "pipelines = true needs single statements and PostgreSQL",
                cure='set form = "statement" and product = "postgres", or pipelines = false',
            )
        thinks = point.workload == "tpcc" and point.waits and not point.rate_per_s
        if thinks and self.setup.seconds < _SHORTEST_S:
            raise StudyError(
                f"a terminal that keys in and thinks asks once in 21 s, but the load lasts "
                f"{self.setup.seconds:g} s",
                cure=f"set seconds = {_SHORTEST_S:g} or more, or waits = false",
            )
        program()

    def check_files(self, config: Mapping[str, Value]) -> None:
        """Refuse a point whose program is missing, or whose database finds no room."""
        self.check_point(config)
        if not self.setup.url:
            check_space(Path(tempfile.gettempdir()), Asked.of(config))

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Run one replication; raise `HeadroomError` if the point cannot be run."""
        databases = self._databases(Asked.of(config).product)
        keeper = databases.keeper
        measuring = Measuring(
            databases=databases,
            observe=ObserveTable(interval_s=self.setup.observe_s),
            seconds=self.setup.seconds,
            warm_up_s=self.setup.warm_up_s,
            checks=self.setup.checks,
        )
        before_s = keeper.busy_s()
        run = measuring.run(config, seed=seed)
        busy_s = keeper.busy_s_since(before_s)
        return replace(run, counters={**run.counters, SERVICES_BUSY: busy_s})

    def _databases(self, product: str) -> Databases:
        session = self.session
        if product not in session.databases:
            setup = self.setup
            own = Server(
                url=setup.url, password_file=setup.password_file, tls_roots=setup.tls_roots
            )
            session.folder = session.folder or make_folder(
                Path(tempfile.gettempdir()), state=services_state(), prefix="headroom-services-"
            )
            session.databases[product] = Databases(
                keeper=Keeper(),
                folder=session.folder.path / POOL,
                server=own if setup.url else None,
                settings=setup.settings,
                seed=setup.rows_seed,
            )
        return session.databases[product]


_SHORTEST_S = 30.0
