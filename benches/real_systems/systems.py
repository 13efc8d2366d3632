"""The systems of the table: what they start, what is asked of them, and what limits them.

The limit follows from how each is built: a sleep under a mutex, four places, a quota of half a
processor, one thread that computes.
"""

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
SHORT = ("hog", "quota", "mutex", "pool", "fsync", "client", "two", "loop")
"""Kinds of `servers.py`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A server, or several, under closed clients.

    Parameters
    ----------
    limit
        What limits it by construction, in the words of the fit.
    service
        The service whose quota or thread that is.
    services
        Tables `experiment.system.service` of the study; `{programs}` is the folder of programs that
        were compiled.
    load
        Words of the load program before those that all share.
    request
        What a client sends.
    """

    limit: str
    services: str
    service: str = "server"
    product: str
    port: str = "server"
    protocol: str = "http"
    request: str = "/{key}"
    work_s: float = 0.0

    @property
    def names(self) -> list[str]:
        """Names of the services."""
        lines = (line.partition(" = ") for line in self.services.splitlines())
        return [value.strip('"') for key, _, value in lines if key == "name"]

    @property
    def verdict(self) -> str:
        """The observed resource that limits a burst; empty where nothing observed is full."""
        return {
            "processors": "machine.cpu",
            "quota": f"service.{self.service}.cpu",
            "thread": f"service.{self.service}.busiest_thread",
            "client": "program.busiest_thread",
        }.get(self.limit, "")


def _service(name: str, *lines: str) -> str:
    return "\n".join(["", "[[experiment.system.service]]", f'name = "{name}"', *lines, ""])


def _program(*words: str, name: str = "server", more: str = "") -> str:
    return _service(name, f"argv = {[*words]}".replace("'", '"'), more)


def _short(kind: str, limit: str, *, more: str = "") -> System:
    words = ("{python}", f"{HERE}/servers.py", kind, "{server.port}", ".")
    return System(
        limit=limit, product="a server of 20 lines", services=_program(*words, more=more),
        protocol="", work_s=1.2e-3 if kind == "client" else 0.0,
    )  # fmt: skip


_HALF = "limits = { cpus = 0.5 }"


def _postgres(limit: str, request: str, *, more: str = "") -> System:
    fill = '["{db.bin}/pgbench", "-i", "-q", "{db.url}"]'
    lines = ('kind = "postgres"', f"set_up = [{fill}]", 'settings = { fsync = "off" }', more)
    return System(
        limit=limit, product="PostgreSQL", service="db", services=_service("db", *lines), port="db",
        protocol="postgres", request=request,
    )  # fmt: skip


_FILL = (
    "CREATE DATABASE shop; CREATE TABLE shop.items (id INT PRIMARY KEY, text VARCHAR(80)) "
    "AS SELECT seq AS id, REPEAT('x', 80) AS text FROM mysql.seq_1_to_100000"
)


def _mariadb(limit: str, request: str) -> System:
    client = f'["mariadb", "-h", "127.0.0.1", "-P", "{{db.port}}", "-u", "root", "-e", "{_FILL}"]'
    services = _service("db", 'kind = "mariadb"', f"set_up = [{client}]")
    return System(
        limit=limit, product="MariaDB", service="db", services=services, port="db",
        protocol="mysql", request=request,
    )  # fmt: skip


_FILL_BITS = 'set_up = [["redis-cli", "-p", "{redis.port}", "SETBIT", "bits", "16000000", "1"]]'


def _redis(
    limit: str, request: str, *, more: str = "", worker: str = "", service: str = "redis"
) -> System:
    words = ("redis-server", "--port", "{redis.port}", "--save", "")
    services = _program(*words, name="redis", more=more) + worker
    product = "a queue worker behind redis" if worker else "redis"
    return System(
        limit=limit, product=product, service=service, services=services, port="redis",
        protocol="redis", request=request,
    )  # fmt: skip


def _workers(count: int, wait_s: float, work_s: float) -> str:
    program = ("{python}", f"{PROGRAMS}/worker.py", "{redis.port}")
    words = (*program, str(count), str(wait_s), str(work_s))
    return _program(*words, name="worker", more='ready = { argv = ["true"] }')


_NGINX = """\
user root;
daemon off;
pid {web.folder}/pid;
worker_processes WORKERS;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  default_type text/plain;
  gzip on; gzip_comp_level LEVEL; gzip_types text/plain;
  keepalive_requests 1000000;
  client_body_temp_path {web.folder}/body; proxy_temp_path {web.folder}/proxy;
  fastcgi_temp_path {web.folder}/fastcgi; uwsgi_temp_path {web.folder}/uwsgi;
  scgi_temp_path {web.folder}/scgi;
  server {{ listen 127.0.0.1:{web.port}; WHERE }}
}}
"""


def _nginx(limit: str, *, workers: int, where: str, behind: str = "") -> System:
    """Return a server of this folder's files, or a proxy of another service."""
    text = _NGINX.replace("WORKERS", str(workers)).replace("WHERE", where).replace("LEVEL", "6")
    lines = ('kind = "nginx"', f"files = {{ \"nginx.conf\" = '''\n{text}''' }}")
    return System(
        limit=limit, product="nginx", service="server" if behind else "web", port="web",
        services=behind + _service("web", *lines), request="/" if behind else "/load.rs",
    )  # fmt: skip


_STATIC = f"location / {{{{ root {PROGRAMS}; }}}}"
_PROXY = "location / {{ proxy_http_version 1.1; proxy_pass http://127.0.0.1:{server.port}; }}"
_LOOP = _program("{python}", f"{PROGRAMS}/web.py", "loop", "{server.port}", ".")


def _go(mode: str) -> str:
    return _program("{programs}/web", mode, "{server.port}")


def _java(mode: str) -> str:
    java = ("java", "-Dsun.net.httpserver.nodelay=true", "-cp", "{programs}", "Web")
    return _program(*java, mode, "{server.port}")


_HAPROXY_FILE = """
global
  maxconn 1000
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout queue 60s
listen front
  bind 127.0.0.1:{proxy.port}
  server back 127.0.0.1:{server.port} maxconn 4
"""
_HAPROXY = _service(
    "proxy", 'kind = "haproxy"', f"files = {{ \"haproxy.cfg\" = '''{_HAPROXY_FILE}''' }}"
)

SYSTEMS = {
    "hog": _short("hog", "processors"),
    "quota": _short("quota", "quota", more=_HALF),
    "mutex": _short("mutex", "lock"),
    "pool": _short("pool", "pool"),
    "fsync": _short("fsync", "disk"),
    "client": _short("client", "client"),
    "two": _short("two", "thread"),
    "loop": _short("loop", "thread"),
    "postgres-select": _postgres(
        "processors", "SELECT abalance FROM pgbench_accounts WHERE aid = {key}"
    ),
    "postgres-sum": _postgres(
        "processors",
        "SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN {key} AND {key} + 5000",
    ),
    "postgres-hot": _postgres(
        "lock",
        "BEGIN; UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1; "
        "SELECT pg_sleep(0.002); COMMIT",
    ),
    "postgres-quota": _postgres(
        "quota",
        "SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN {key} AND {key} + 5000",
        more=_HALF,
    ),
    "mariadb-select": _mariadb("processors", "SELECT text FROM shop.items WHERE id = {key}"),
    "mariadb-lock": _mariadb(
        "lock", "SELECT GET_LOCK('report', 10), SLEEP(0.002), RELEASE_LOCK('report')"
    ),
    "redis-count": _redis("thread", "BITCOUNT bits", more=_FILL_BITS),
    "queue-waiting": _redis(
        "pool", "RPUSH jobs {client};BLPOP reply:{client} 10", worker=_workers(3, 3e-3, 0.0),
        service="worker",
    ),
    "queue-working": _redis(
        "thread", "RPUSH jobs {client};BLPOP reply:{client} 10", worker=_workers(1, 0.0, 1e-3),
        service="worker",
    ),
    "nginx-gzip": _nginx("thread", workers=1, where=_STATIC),
    "nginx-gzip-2": _nginx("processors", workers=2, where=_STATIC),
    "nginx-proxy": _nginx("thread", workers=2, where=_PROXY, behind=_LOOP),
    "haproxy-four": System(
        limit="pool", product="HAProxy", service="proxy", services=_go("sleep") + _HAPROXY,
        port="proxy",
    ),
    "go-work": System(limit="processors", product="a Go service", services=_go("work")),
    "go-lock": System(limit="lock", product="a Go service", services=_go("lock")),
    "java-work": System(limit="processors", product="a JVM service", services=_java("work")),
    "java-pool": System(limit="pool", product="a JVM service", services=_java("pool")),
    "python-loop": System(limit="thread", product="a Python service", services=_LOOP),
    "sqlite": System(
        limit="disk", product="SQLite behind HTTP",
        services=_program("{python}", f"{PROGRAMS}/web.py", "sqlite", "{server.port}", "."),
    ),
}  # fmt: skip

MANY = (
    "hog", "mutex", "postgres-select", "postgres-hot", "mariadb-select", "nginx-gzip-2", "go-work",
)  # fmt: skip
"""Systems that are also tried with three times the clients."""
CASES = (
    *(f"{name}-16-{state}" for name in SYSTEMS for state in ("quiet", "busy")),
    *(f"{name}-48-quiet" for name in MANY),
)
"""Names of all cases."""
