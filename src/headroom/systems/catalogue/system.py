"""The system `catalogue`: a real catalogue service under the load of many clients."""

import os
import platform
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar

import msgspec

from headroom.errors import StudyError
from headroom.experiment.machine.machine_watch import SERVICES_BUSY
from headroom.experiment.protocol.declared import Declared, FromDeclaration
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.section import Section, SectionPoint
from headroom.experiment.protocol.system import Column, Metric, Value
from headroom.experiment.study.seeds import digest
from headroom.recording.leftovers import POOL, OwnFolder, make_folder
from headroom.recording.observers.table import ObserveTable
from headroom.recording.services.keeper import Keeper, remove_leftovers, services_state
from headroom.recording.services.kinds import KINDS_VERSION
from headroom.systems.catalogue.command import companion, program
from headroom.systems.catalogue.measured.certificates import make_certificates
from headroom.systems.catalogue.measured.faults import (
    Faulted,
    check_fault,
    fault_metrics,
)
from headroom.systems.catalogue.measured.measuring import Measuring
from headroom.systems.catalogue.measured.overheads import overheads
from headroom.systems.catalogue.measured.parameters import (
    DATABASE_ALONE,
    PROCESS,
    is_direct,
    metrics_for,
)
from headroom.systems.catalogue.measured.services import LINE, LOAD
from headroom.systems.catalogue.model import LASTING, TLS

_VERSION = 2
"""Part of each fingerprint: raise it when a point is measured in another way."""


class CatalogueSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.system]` of a measured catalogue."""

    seconds: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 5.0
    """Length (s) of a replication's load."""
    known: Annotated[int, msgspec.Meta(ge=1, le=100_000_000)] = 10_000
    """Entries that queries know; they are inserted before the first replication."""
    database: dict[str, str] = {}
    """Settings of PostgreSQL, such as `max_connections`."""
    observe_s: Annotated[float, msgspec.Meta(ge=0.02, le=60)] = 0.5
    """Time (s) between two looks at the processes."""


@dataclass(slots=True)
class _Session:
    """What replications share: services, certificates, and the database that was filled."""

    keeper: Keeper = field(default_factory=Keeper)
    folder: OwnFolder | None = None
    filled: Path | None = None
    """Folder of the database that holds the entries."""
    statements: Mapping[str, list[str]] = field(default_factory=dict)
    runs: int = 0


@dataclass(frozen=True, slots=True)
class CatalogueSystem(FromDeclaration):
    """Clients, catalogue servers and PostgreSQL on this machine, all of them processes of a study.

    Examples
    --------
    >>> system = CatalogueSystem.load(CatalogueSetup(), base=Path())
    >>> [parameter.name for parameter in system.parameters()][:4]
    ['case', 'architecture', 'workers', 'operation']
    """

    name: ClassVar[str] = "catalogue"
    column: ClassVar[Column] = Column.MEASURE
    setup_type: ClassVar[type[msgspec.Struct]] = CatalogueSetup
    code_key: ClassVar[str] = ""
    declared: ClassVar[type[Declared]] = Faulted

    setup: CatalogueSetup
    session: _Session = field(default_factory=_Session, compare=False, repr=False)

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:
        """Return the metrics of clients, of the services and of the database."""
        return (*metrics_for(config), *fault_metrics(config))

    def sections(self, points: Sequence[SectionPoint]) -> Sequence[Section]:
        """Return what an operation costs over direct access, where all four cases were measured."""
        return overheads(points)

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return a hash of the set-up and of the point."""
        setup = msgspec.to_builtins(self.setup)
        return digest([_VERSION, KINDS_VERSION, setup, dict(config)], size_bytes=8)

    def found_at(self, config: Mapping[str, Value]) -> str:  # noqa: ARG002 - the protocol's
        """Return the machine and the programs: results of others are not reused."""
        programs = [_build_of(path) for path in _programs()]
        return " ".join([platform.node(), platform.machine(), str(os.cpu_count()), *programs])

    def open_session(self, say: Callable[[str], None]) -> tuple[str, ...]:  # noqa: ARG002
        """Begin a session; services that a killed run left behind are ended and reported."""
        return remove_leftovers()

    def close_session(self) -> tuple[str, ...]:
        """End all services."""
        self.session.keeper.close()
        folder, self.session.folder = self.session.folder, None
        if folder is not None:
            folder.remove()
        return ()

    def prepare(self) -> Mapping[str, float | str]:
        """Return which build of the service was measured."""
        return {"service build": program().parent.name}

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse a point whose parameters contradict each other."""
        _programs()
        point = Faulted.of(config)
        case, architecture, servers = point.case, point.architecture, point.servers
        if is_direct(config) and servers > 1:
            raise StudyError(
                f"case {case} has no catalogue between clients and database, but servers = "
                f"{servers}",
                cure="set servers = 1 for it",
            )
        if architecture == DATABASE_ALONE and case == LASTING:
            raise StudyError(
                "case 3 of the architecture `direct` is case 4", cure="leave case 3 out"
            )
        if (
            architecture == DATABASE_ALONE
            and case == TLS
            and self.setup.database.get("ssl") != "on"
        ):
            raise StudyError(
                "case 1 of the architecture `direct` needs a database with TLS",
                cure='set `ssl = "on"` in the table `database` of its system',
            )
        places = servers * point.workers
        if architecture == PROCESS and case == LASTING and point.clients > places:
            raise StudyError(
                f"{point.clients} clients keep their connections, but there are {places} "
                "processes, each for one client",
                cure="raise `workers`",
            )
        if point.resumes and case != TLS:
            raise StudyError(
                f"resumes = true, but case {case} has no TLS", cure="set resumes = false"
            )
        check_fault(config, self.setup.seconds)

    def check_files(self, config: Mapping[str, Value]) -> None:
        """Refuse a point whose programs are missing."""
        self.check_point(config)

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Run one replication; raise `HeadroomError` if the point cannot be run."""
        session = self.session
        session.runs += 1
        before_s = session.keeper.busy_s()
        measuring = Measuring(
            keeper=session.keeper,
            certificates=self._certificates(),
            database=self.setup.database,
            known=self.setup.known,
            observe=ObserveTable(interval_s=self.setup.observe_s),
        )
        words = measuring.start(config)
        filled = measuring.database_folder()
        if filled != session.filled:
            session.statements = measuring.fill(config, words)
            session.filled = filled
        run = measuring.run(
            config,
            words,
            seed=seed,
            seconds=self.setup.seconds,
            statements=session.statements,
            new_prefix=f"run{session.runs}-",
        )
        busy_s = session.keeper.busy_s_since(before_s)
        return replace(run, counters={**run.counters, SERVICES_BUSY: busy_s})

    def _certificates(self) -> Path:
        session = self.session
        if session.folder is None:
            parent = Path(tempfile.gettempdir())
            session.folder = make_folder(
                parent, state=services_state(), prefix="headroom-services-"
            )
            place = session.folder.path / POOL
            place.mkdir(exist_ok=True)
            make_certificates(place)
        return session.folder.path / POOL


def _programs() -> tuple[Path, ...]:
    """Return the programs of the service, the load and the line; raise if one is missing."""
    return (program(), companion(LOAD), companion(LINE))


def _build_of(path: Path) -> str:
    """Return the size and time of a program: to hash all of it would take longer than a run."""
    found = path.stat()
    return f"{path.name}:{found.st_size}:{found.st_mtime_ns}"
