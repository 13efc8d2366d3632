"""The services of a point: database, catalogue servers, balancer, delayed line."""

import resource
from collections.abc import Iterator, Mapping
from pathlib import Path

from headroom.experiment.protocol.system import Value
from headroom.recording.services.table import LimitsTable, ReadyTable, ServiceTable
from headroom.systems.catalogue.command import companion, program
from headroom.systems.catalogue.measured.parameters import (
    PROCESS,
    Served,
    has_balancer,
    is_direct,
    line_names,
    server_names,
)

LOAD, LINE = "headroom-catalogue-load", "headroom-catalogue-delay"
"""Programs beside that of the service."""
HOST = "127.0.0.1"
"""Where all services are."""
DATABASE = "catalogue"
"""Database of the service: its commits are counted apart from those of observers."""
USER = "root"
"""User of the load: the rights of others would add a look-up of groups."""
_MOST_CLIENTS = 200_000
_OTHER_FILES = 200
_SERVER = """\
[server]
listen = "127.0.0.1:{{{name}.port}}"
sessions = "no"
opening_timeout_s = 300
max_connections = {most}
max_connections_per_address = {most}
max_connections_per_person = {most}
processes = {processes}
processes_at_start = {at_start}

[database]
urls = ["postgres://headroom@127.0.0.1:{{db.port}}/{database}"]
max_connections = {pool}

[catalogue]
guest = "{user}"

[tls]
certificate = "{certificates}/server.pem"
key = "{certificates}/server.key"
client_cas = "{certificates}/ca.pem"
"""
_BALANCER = """\
global
  maxconn {most}
  nbthread 1
defaults
  mode tcp
  timeout connect 2s
  timeout client 600s
  timeout server 600s
  timeout check 2s
  retries 3
  option redispatch 1
frontend front
  bind 127.0.0.1:{{balancer.port}}
  default_backend servers
backend servers
  balance roundrobin
  option tcp-check
  tcp-check expect string Protocol
  default-server check inter 1s fastinter 200ms downinter 500ms fall 2 rise 2
"""
"""A server that refuses a connection costs another try, elsewhere and at once. A server that counts
as down keeps its sessions: one that drains lets transactions end."""


def service_tables(
    config: Mapping[str, Value], *, certificates: Path, database: Mapping[str, str]
) -> Iterator[ServiceTable]:
    """Yield the services of a point in the order of their start.

    Parameters
    ----------
    certificates
        Folder that `make_certificates` filled.
    database
        Settings of PostgreSQL.
    """
    settings = dict(database)
    if settings.get("ssl") == "on":
        settings |= {
            "ssl_cert_file": f"{certificates}/server.pem",
            "ssl_key_file": f"{certificates}/server.key",
            "ssl_ca_file": f"{certificates}/ca.pem",
        }
    memory_mb = Served.of(config).database_memory_mb or None
    limits = LimitsTable(memory_mb=memory_mb)
    yield ServiceTable(name="db", kind="postgres", settings=settings, limits=limits)
    for name in server_names(config):
        yield _server(name, config, certificates)
    if has_balancer(config):
        yield _balancer(config)
    for line in line_names(config):
        yield _line(line, config)


def _server(name: str, config: Mapping[str, Value], certificates: Path) -> ServiceTable:
    point = Served.of(config)
    settings = _SERVER.format(
        name=name,
        most=_MOST_CLIENTS,
        pool=point.pool,
        processes=point.workers if point.architecture == PROCESS else 0,
        at_start=_at_start(config),
        user=USER,
        database=DATABASE,
        certificates=certificates,
    )
    cpus = point.server_cpus
    return ServiceTable(
        name=name,
        argv=[str(program()), "serve", "--config", f"{{{name}.folder}}/catalogue.toml"],
        files={"catalogue.toml": settings},
        ready=ReadyTable(port="port"),
        limits=LimitsTable(cpus=cpus or None),
    )


def _at_start(config: Mapping[str, Value]) -> int:
    """Return how many processes a server begins with: those of all its clients if it may.

    Where memory is limited they come with the clients: it has to suffice for a start.
    """
    point = Served.of(config)
    if point.database_memory_mb:
        return 1
    clients = -(-point.clients // point.servers)
    return min(clients, point.workers)


def _balancer(config: Mapping[str, Value]) -> ServiceTable:
    servers = [f"  server {name} 127.0.0.1:{{{name}.port}}\n" for name in server_names(config)]
    return ServiceTable(
        name="balancer",
        kind="haproxy",
        files={"haproxy.cfg": _BALANCER.format(most=_most_balanced()) + "".join(servers)},
        ready=ReadyTable(port="port"),
    )


def _most_balanced() -> int:
    """Return the connections that a balancer can have: each takes two open files."""
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_CLIENTS if files == resource.RLIM_INFINITY else (files - _OTHER_FILES) // 2


def _line(name: str, config: Mapping[str, Value]) -> ServiceTable:
    point = Served.of(config)
    share = -(-point.clients // len(line_names(config)))
    argv = [
        str(companion(LINE)), "--listen", f"127.0.0.1:{{{name}.port}}",
        "--to", f"127.0.0.1:{{{entrance(config)}.port}}",
        "--one-way-ms", f"{500.0 * point.rtt_s:g}",
        "--connections", str(share + point.processes),
    ]  # fmt: skip
    return ServiceTable(name=name, argv=argv, ready=ReadyTable(port="port"))


def entrance(config: Mapping[str, Value]) -> str:
    """Return the service to which a client without delay connects."""
    if is_direct(config):
        return "db"
    return "balancer" if has_balancer(config) else "amga1"
