"""Jobs of the load's processes; `service/src/load/job.rs` describes them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headroom.experiment.protocol.system import Value
from headroom.systems.catalogue.measured.certificates import SERVER_NAME
from headroom.systems.catalogue.measured.parameters import PROCESS, Served, is_direct
from headroom.systems.catalogue.measured.services import DATABASE, USER
from headroom.systems.catalogue.model import LASTING, TLS

KNOWN_PREFIX = "known-"
_FILL_CONNECTIONS = 8
_DRAIN_S = 10.0
_SLOWEST_PER_S = 100.0
"""Operations per second below which the last ones of many clients may be cut off."""
_PAUSES_AT_END = 2
"""Pauses that clients may still end; more may wait for a process than end in any useful time."""
_SEED_STEP = 1 << 32


def load_jobs(
    config: Mapping[str, Value],
    *,
    seed: int,
    addresses: Sequence[str],
    certificates: Path,
    statements: Mapping[str, list[str]],
    known: int,
    seconds: float,
    new_prefix: str,
) -> Iterator[dict[str, Any]]:
    """Yield the job of each process.

    Parameters
    ----------
    addresses
        Where clients connect, one process after the other.
    statements
        SQL of each operation, for clients of the database.
    known
        Entries that queries name.
    seconds
        Length (s) of the load.
    new_prefix
        Beginning of the names of inserted entries; no other run on the same database has it.
    """
    point = Served.of(config)
    first = 0
    for number, clients in enumerate(_shares(point.clients, point.processes)):
        yield {
            "seed": (seed + number * _SEED_STEP) % (1 << 63),
            "target": _target(config, addresses[number % len(addresses)], certificates, statements),
            "connections": "per_client" if point.case >= LASTING else "per_operation",
            "pause_s": point.pause_s,
            "form": point.form,
            "load": _arrivals(config, clients),
            "entries": {
                "insert_share": 1.0 if point.operation == "insert" else 0.0,
                "known": known,
                "known_prefix": KNOWN_PREFIX,
                "new_prefix": new_prefix,
                "first_client": first,
            },
            "stop": {"seconds": seconds},
            "opening_limit": max(clients, 128),
            "drain_s": _drain_s(config),
        }
        first += clients


def fill_job(config: Mapping[str, Value], *, address: str, known: int) -> dict[str, Any]:
    """Return the job that inserts all known entries."""
    point = Served.of(config)
    workers = point.workers if point.architecture == PROCESS else _FILL_CONNECTIONS
    return {
        "seed": 1,
        "target": {"kind": "amga", "address": address, "login": USER},
        "form": "single",
        "load": {"kind": "fill", "connections": min(_FILL_CONNECTIONS, workers)},
        "entries": {"known": known, "known_prefix": KNOWN_PREFIX},
    }


def probe_job(*, address: str, operation: str, new_prefix: str) -> dict[str, Any]:
    """Return the job of one operation of case 3, in the form of a transaction."""
    return {
        "seed": 1,
        "target": {"kind": "amga", "address": address, "login": USER},
        "load": {"kind": "closed", "clients": 1},
        "entries": {
            "insert_share": 1.0 if operation == "insert" else 0.0,
            "known": 1,
            "known_prefix": KNOWN_PREFIX,
            "new_prefix": new_prefix,
        },
        "stop": {"operations": 1},
    }


def _shares(clients: int, processes: int) -> list[int]:
    """Return the clients of each process; none is without.

    Examples
    --------
    >>> _shares(10, 4), _shares(2, 4)
    ([3, 3, 2, 2], [1, 1])
    """
    count = min(clients, processes)
    return [clients // count + (number < clients % count) for number in range(count)]


def _target(
    config: Mapping[str, Value],
    address: str,
    certificates: Path,
    statements: Mapping[str, list[str]],
) -> dict[str, Any]:
    point = Served.of(config)
    target: dict[str, Any] = {"kind": "amga", "address": address, "login": USER}
    if is_direct(config):
        user = {"user": "headroom", "database": DATABASE}
        target = {"kind": "postgres", "address": address, **user, **statements}
    if point.case == TLS:
        target["tls"] = {
            "ca": str(certificates / "ca.pem"),
            "name": SERVER_NAME,
            "certificate": str(certificates / "client.pem"),
            "key": str(certificates / "client.key"),
            "resumes": point.resumes,
        }
    return target


def _drain_s(config: Mapping[str, Value]) -> float:
    point = Served.of(config)
    if pause_s := point.pause_s:
        return _PAUSES_AT_END * pause_s
    return max(_DRAIN_S, point.clients / _SLOWEST_PER_S)


def _arrivals(config: Mapping[str, Value], clients: int) -> dict[str, Any]:
    point = Served.of(config)
    rate_per_s = point.rate_per_s * clients / point.clients
    if rate_per_s:
        return {"kind": "open", "rate_per_s": rate_per_s, "connections": clients}
    return {"kind": "closed", "clients": clients}
