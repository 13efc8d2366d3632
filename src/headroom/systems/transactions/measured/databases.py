"""Loaded databases, and a copy of one for each run.

Invariant: a run never sees what another has left: it gets a copy of a database that is as it was
loaded, which the program checks.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.protocol.system import Value
from headroom.recording.services.keeper import Keeper, fill_words
from headroom.recording.services.service import Service
from headroom.recording.services.table import LimitsTable, ServiceTable
from headroom.systems.transactions.measured.parameters import Asked
from headroom.systems.transactions.measured.program import ask

HOST = "127.0.0.1"
_SERVICE = "db"
_OWN_SETTINGS = {"mariadb": {"local_infile": "on"}, "postgres": {"track_wal_io_timing": "on"}}
_COPY = "headroom_run"
_BYTES = {"tpcc": 120e6, "tpcb": 20e6}
"""Most bytes of a warehouse or branch, indexes included, as seen in PostgreSQL and MariaDB."""
_LOG_BYTES = 1e9
"""Most bytes that a server which is started here keeps of its log."""
UNLIMITED = 10.0 * (os.cpu_count() or 1)
"""Limit of a server's processors that holds nothing back, and that a run lowers to its own: points
with different quotas share a server and its loaded databases."""


def check_space(folder: Path, point: Asked) -> None:
    """Refuse a point whose database, its copy for a run and the server's log find no room."""
    log_bytes = 0.0 if point.product == "sqlite" else _LOG_BYTES
    needed_bytes = 2 * point.warehouses * _BYTES[point.workload] + log_bytes
    free_bytes = shutil.disk_usage(folder).free
    if needed_bytes > free_bytes:
        raise EnvironmentUnfitError(
            f"a database of size {point.warehouses:,} and its copy for a run take up to "
            f"{needed_bytes / 1e9:.3g} GB, but {folder} has {free_bytes / 1e9:.3g} GB left",
            cure="make it smaller (`warehouses`), or set TMPDIR to a folder with more room",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server of the user, which is not started here.

    Parameters
    ----------
    url
        `postgres://user@host:port` or `mysql://user@host:port`.
    password_file, tls_roots
        Files with the password, and with the authorities of the server's certificate.
    """

    url: str
    password_file: str = ""
    tls_roots: str = ""

    def target(self) -> dict[str, Any]:
        """Return it as the program wants it."""
        target = {"url": self.url}
        if self.password_file:
            target["password_file"] = self.password_file
        if self.tls_roots:
            target["tls_roots"] = self.tls_roots
        return target


@dataclass(slots=True, kw_only=True)
class Databases:
    """Loads and copies databases for the runs of a session.

    Parameters
    ----------
    keeper
        Of the servers that are started here.
    folder
        Of databases that are files.
    server
        The user's own; None: one is started where the product needs one.
    settings
        Of a server that is started here.
    seed
        Of the rows.
    """

    keeper: Keeper
    folder: Path
    server: Server | None
    settings: Mapping[str, str]
    seed: int
    _loaded: set[tuple[str, str]] = field(default_factory=set)

    def copy_for(self, config: Mapping[str, Value]) -> tuple[dict[str, Any], str]:
        """Return target and name of a fresh copy of the database of a point."""
        point = Asked.of(config)
        target = self._target(point)
        name = f"headroom_{point.workload}_{point.warehouses}_{self.seed}"
        if (place := self._place(target), name) not in self._loaded:
            job = {
                "do": "load",
                "target": target,
                "database": name,
                "workload": point.workload,
                "scale": point.warehouses,
                "seed": self.seed,
            }
            ask(job)
            broken = self.broken_conditions(target, name)
            if broken:
                raise EnvironmentUnfitError(
                    f"the database {name} is inconsistent right after loading: "
                    + "; ".join(broken),
                    cure="report it with the version of the server",
                )
            self._loaded.add((place, name))
        ask({"do": "copy", "target": target, "from": name, "to": _COPY})
        return target, _COPY

    def broken_conditions(self, target: Mapping[str, Any], name: str) -> dict[str, int]:
        """Return the conditions of the standard that a database breaks, with how often."""
        found = ask({"do": "check", "target": target, "database": name})["conditions"]
        return {
            f"condition {one['number']} ({one['condition']})": one["broken"]
            for one in found
            if one["broken"]
        }

    def rows(self, target: Mapping[str, Any], name: str) -> dict[str, tuple[int, int, int]]:
        """Return table -> rows that the database says it inserted, updated and deleted."""
        found = ask({"do": "rows", "target": target, "database": name})["rows"]
        return {one["table"]: (one["inserted"], one["updated"], one["deleted"]) for one in found}

    def drop(self, target: Mapping[str, Any]) -> None:
        """Drop the copy of the last run."""
        ask({"do": "drop", "target": target, "database": _COPY})

    def service(self) -> Service | None:
        """Return the server that was started here, if one was."""
        return next(iter(self.keeper.services()), None)

    def _target(self, point: Asked) -> dict[str, Any]:
        if self.server is not None:
            return self.server.target()
        if point.product == "sqlite":
            return {"url": f"sqlite:{self.folder}"}
        words = self.keeper.ensure([self._table(point)], fill_words)
        scheme, user = (
            ("postgres", "headroom") if point.product == "postgres" else ("mysql", "root")
        )
        return {"url": f"{scheme}://{user}@{HOST}:{words[f'{_SERVICE}.port']}"}

    def _table(self, point: Asked) -> ServiceTable:
        return ServiceTable(
            name=_SERVICE,
            kind=point.product,
            settings={**_OWN_SETTINGS.get(point.product, {}), **self.settings},
            limits=LimitsTable(cpus=UNLIMITED),
        )

    def _place(self, target: Mapping[str, Any]) -> str:
        """Return what the database lives in: a server that starts anew has lost it."""
        url = str(target["url"])
        service = self.service()
        if self.server is not None or service is None or url.startswith("sqlite:"):
            return url
        return str(service.place.folder)
