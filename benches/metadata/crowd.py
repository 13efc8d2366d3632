"""Memory of a server whose clients are many: all are logged in, and each asks at least once."""

import resource
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import msgspec

from benches.metadata.site import KNOWN, Site, point
from headroom.recording.programs import LoadPrograms
from headroom.systems.catalogue.command import companion
from headroom.systems.catalogue.measured.conversion import completions
from headroom.systems.catalogue.measured.jobs import load_jobs
from headroom.systems.catalogue.measured.services import LOAD
from headroom.systems.catalogue.model import LASTING, TLS

SERVER = "crowd"
POOL = 32
THINK_S = (1.0, 9.0)
"""Time (s) between the answer to a client and its next question: from, to."""
_SECONDS = THINK_S[1] + 1.0
_PROCESSES = 2
_OTHER_FILES = 200
_LOOK_S = 0.2
_CONNECTED = f"select count(*) from pg_stat_activity where application_name = '{SERVER}'"  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """The most that was seen: resident memory (B) of the server, and connections to the database.

    Examples
    --------
    >>> Crowd(clients=1024, memory_bytes=1 << 20, connections=3).kib_each
    1.0
    """

    clients: int
    memory_bytes: float
    connections: float

    @property
    def kib_each(self) -> float:
        """All of the server's memory, divided by the clients (KiB)."""
        return self.memory_bytes / self.clients / 1024


def too_few_files(clients: int) -> str:
    """Return why a process cannot have so many connections, an empty text if it can."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = clients + _OTHER_FILES
    if most == resource.RLIM_INFINITY or most >= needed:
        return ""
    return f"the limit of open files is {most} (needed: ulimit -n {needed})"


def crowd(place: Site, clients: int, *, is_encrypted: bool) -> Crowd:
    """Connect clients to a new server; raise `RuntimeError` if one of them fails."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    table = place.server_table(SERVER, pool=POOL)
    place.ensure([msgspec.structs.replace(table, per="point")])
    jobs = _jobs(place, clients, is_encrypted=is_encrypted)
    try:
        with LoadPrograms([str(companion(LOAD)), "--wait", "-"], jobs) as programs:
            return _watched(place, programs, clients)
    finally:
        place.keeper.end_of_run()


def _jobs(place: Site, clients: int, *, is_encrypted: bool) -> list[dict[str, Any]]:
    case = TLS if is_encrypted else LASTING
    levels = point(case=case, form="single", clients=clients, processes=_PROCESSES)
    jobs = load_jobs(
        levels,
        seed=1,
        addresses=[place.address(SERVER)],
        certificates=place.certificates,
        statements={},
        known=KNOWN,
        seconds=_SECONDS,
        new_prefix="",
    )
    low, high = THINK_S
    think = {"kind": "uniform", "low": low, "high": high}
    return [
        {
            **job,
            "connections": "per_client",
            "load": {**job["load"], "think": think},
            "opening_limit": 128,
        }
        for job in jobs
    ]


def _watched(place: Site, programs: LoadPrograms, clients: int) -> Crowd:
    server, memory_bytes, connections = place.service(SERVER), 0.0, 0.0
    with ThreadPoolExecutor(1) as pool, place.connected() as connection:
        running = pool.submit(programs.run)
        while not wait([running], _LOOK_S).done:
            memory_bytes = max(memory_bytes, server.group.totals()["memory_bytes"])
            connections = max(connections, float(connection.rows(_CONNECTED)[0][0]))
        result = running.result()
    if completions(result) < clients or result["failures"] or result["problem"]:
        raise RuntimeError(f"the crowd failed: {result['problem']} {result['failures']}")
    return Crowd(clients=clients, memory_bytes=memory_bytes, connections=connections)
