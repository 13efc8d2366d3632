"""One replication: services up, database filled, load and observers on, result converted."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Value
from headroom.recording.observers.group import Group
from headroom.recording.observers.observing import PROGRAM, Observing
from headroom.recording.observers.postgres import Connection, PostgresWatch
from headroom.recording.observers.table import ObserveTable
from headroom.recording.programs import LoadPrograms
from headroom.recording.services.keeper import Keeper, fill_words
from headroom.recording.services.limits import memory_kills
from headroom.recording.services.service import Service
from headroom.recording.services.table import FaultTable
from headroom.systems.catalogue.command import companion
from headroom.systems.catalogue.measured.certificates import CLIENT_SUBJECT
from headroom.systems.catalogue.measured.client import AmgaClient
from headroom.systems.catalogue.measured.conversion import completions, run_of
from headroom.systems.catalogue.measured.database import commit_count, make_database
from headroom.systems.catalogue.measured.direct import statements_of
from headroom.systems.catalogue.measured.faults import (
    Return,
    faults_of,
    hits_database,
    journaled,
    names_in,
    read_journal,
)
from headroom.systems.catalogue.measured.jobs import fill_job, load_jobs, probe_job
from headroom.systems.catalogue.measured.parameters import Served, groups_for, line_names
from headroom.systems.catalogue.measured.services import (
    DATABASE,
    HOST,
    LOAD,
    USER,
    entrance,
    service_tables,
)

_OPERATIONS = ("query", "insert")
_PROBE = "probe-"
_EXISTS = (0, 15, 16)
"""Replies to a command that makes a thing: done, or it exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """Measures one point.

    Parameters
    ----------
    certificates
        Folder that `make_certificates` filled.
    database
        Settings of PostgreSQL.
    known
        Entries that queries name.
    """

    keeper: Keeper
    certificates: Path
    database: Mapping[str, str]
    known: int
    observe: ObserveTable

    def start(self, config: Mapping[str, Value]) -> dict[str, str]:
        """Start the services that a point needs; return their placeholders."""
        tables = [*service_tables(config, certificates=self.certificates, database=self.database)]
        database, *_ = tables
        words = self.keeper.ensure([database], fill_words)
        if Served.of(config).database_memory_mb and "memory" not in self._service("db").groups:
            raise EnvironmentUnfitError(
                "this machine has no control group in which the database's memory can be limited",
                cure="run it where control groups can be made, or leave this experiment out",
            )
        with _connected(words) as connection:
            make_database(connection)
        return self.keeper.ensure(tables, fill_words)

    def database_folder(self) -> Path:
        """Return the folder of the database: another one has lost its entries."""
        return self._service("db").place.folder

    def fill(self, config: Mapping[str, Value], words: Mapping[str, str]) -> dict[str, list[str]]:
        """Make directory, user and known entries; return the SQL of each operation."""
        port = int(words["amga1.port"])
        with AmgaClient(HOST, port, login=USER) as client:
            client.command("createdir /bench", accepted=_EXISTS)
            client.command("addattr /bench guid varchar(36)", accepted=_EXISTS)
            client.command(f"user_subject_add {USER} '{CLIENT_SUBJECT}'", accepted=_EXISTS)
        address = f"{HOST}:{port}"
        _load([fill_job(config, address=address, known=self.known)])
        log = self._service("db").place.log
        with _connected(words) as connection:
            found = {}
            for operation in _OPERATIONS:
                operate = partial(_operate, address, operation)
                found[operation] = statements_of(connection, log, operate, new_prefix=_PROBE)
            commit_count(connection)
        with _connected(words, DATABASE) as connection:
            connection.rows("vacuum analyze")
        return found

    def run(
        self,
        config: Mapping[str, Value],
        words: Mapping[str, str],
        *,
        seed: int,
        seconds: float,
        statements: Mapping[str, list[str]],
        new_prefix: str,
    ) -> Run:
        """Put the load on, and return what was found."""
        enters = line_names(config) or [entrance(config)]
        jobs = [
            *load_jobs(
                config,
                seed=seed,
                addresses=[f"{HOST}:{words[f'{name}.port']}" for name in enters],
                certificates=self.certificates,
                statements=statements,
                known=self.known,
                seconds=seconds,
                new_prefix=new_prefix,
            )
        ]
        if faults := faults_of(config, seconds):
            return self._disturbed(config, words, jobs, faults, new_prefix)
        return self._undisturbed(config, words, jobs)

    def _undisturbed(
        self,
        config: Mapping[str, Value],
        words: Mapping[str, str],
        jobs: Sequence[Mapping[str, object]],
    ) -> Run:
        """Put the load on, and watch processes and commits."""
        limits = self._service("db").groups
        kills = memory_kills(limits)
        with _connected(words) as connection:
            before = commit_count(connection)
        with LoadPrograms([str(companion(LOAD)), "--wait", "-"], jobs) as programs:
            observer = self._observer(config, words, programs)
            with observer.during():
                begun_s = time.monotonic()
                result = programs.run()
                length_s = time.monotonic() - begun_s
        kills = memory_kills(limits) - kills
        committed = None
        if not kills:  # A database that loses a process ends or starts again without its counts.
            self.keeper.check()
            with _connected(words) as connection:
                committed = commit_count(connection) - before
        run = run_of(result, config, commit_count=committed, kill_count=kills)
        run = observer.added_to(run, throughput=completions(result) / length_s)
        groups, _ = groups_for(config)
        total_s = sum(run.values.get(f"{name}.cpu_s_per_op", 0.0) for name in groups)
        return replace(run, values={**run.values, "cpu_s_per_op": total_s})

    def _disturbed(
        self,
        config: Mapping[str, Value],
        words: Mapping[str, str],
        jobs: Sequence[Mapping[str, object]],
        faults: Mapping[str, FaultTable],
        new_prefix: str,
    ) -> Run:
        """Put the load on while faults come; the database may lose its counts by one."""
        with TemporaryDirectory() as name:
            jobs = [*journaled(jobs, Path(name), config)]
            with LoadPrograms([str(companion(LOAD)), "--wait", "-"], jobs) as programs:
                back = Return(int(words["db.port"]))
                watched = back.watched() if hits_database(config) else nullcontext()
                with self.keeper.faults(faults), watched:
                    result = programs.run()
            journal = read_journal(Path(name))
        self.keeper.check()
        run = run_of(result, config, commit_count=None)
        with _connected(words, DATABASE) as connection:
            found = journal.values(names_in(connection, new_prefix))
        if hits_database(config):
            recovery_s = None if back.time_s is None else journal.recovery_s(back.time_s)
            if recovery_s is None:
                raise EnvironmentUnfitError(
                    "no operation succeeded after the database had been killed",
                    cure="set longer `seconds`: its recovery may take longer than the load",
                )
            found["recovery_s"] = recovery_s
        return replace(run, values={**run.values, **found})

    def _observer(
        self, config: Mapping[str, Value], words: Mapping[str, str], programs: LoadPrograms
    ) -> Observing:
        names, limited = groups_for(config)
        services = {name: self._service(name.removeprefix("service.")) for name in names[1:]}
        limits = {
            name: services[name].table.limits.cpus or 1.0
            for name in limited
            if "cpu" in services[name].groups
        }
        return Observing(
            observe=self.observe,
            groups={
                PROGRAM: Group(programs.processes),
                **{name: service.group for name, service in services.items()},
            },
            servers={"service.db": PostgresWatch(HOST, int(words["db.port"]))},
            limits=limits,
        )

    def _service(self, name: str) -> Service:
        return next(one for one in self.keeper.services() if one.table.name == name)


def _load(jobs: list[dict[str, Any]]) -> dict[str, Any]:
    with LoadPrograms([str(companion(LOAD)), "--wait", "-"], jobs) as programs:
        return programs.run()


def _operate(address: str, operation: str, new_prefix: str) -> None:
    _load([probe_job(address=address, operation=operation, new_prefix=new_prefix)])


@contextmanager
def _connected(words: Mapping[str, str], database: str = "postgres") -> Iterator[Connection]:
    connection = Connection(HOST, int(words["db.port"]), database)
    try:
        yield connection
    finally:
        connection.close()
