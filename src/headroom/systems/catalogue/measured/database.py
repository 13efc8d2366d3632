"""What the measurement asks of the database itself: an exact count of its commits."""

import time

from headroom.errors import EnvironmentUnfitError
from headroom.recording.observers.postgres import Connection
from headroom.systems.catalogue.measured.services import DATABASE

_EXISTS = f"select 1 from pg_database where datname = '{DATABASE}'"  # noqa: S608 - a constant
_LIMIT_S = 10.0
_PAUSE_S = 0.01
_END_OTHERS = (
    "select pg_terminate_backend(pid) from pg_stat_activity "  # noqa: S608 - a constant
    f"where datname = '{DATABASE}' and backend_type = 'client backend'"
)
_COUNTED = f"select xact_commit from pg_stat_database where datname = '{DATABASE}'"  # noqa: S608


def commit_count(connection: Connection) -> float:
    """Return the transactions that were committed in the catalogue's database.

    A backend reports its counts at most once a second, and when it ends. So the connections of the
    catalogue's pool are ended first; the pool opens others when it needs them.

    Raises
    ------
    EnvironmentUnfitError
        A backend does not end.
    """
    limit_s = time.monotonic() + _LIMIT_S
    while connection.rows(_END_OTHERS):
        if time.monotonic() > limit_s:
            raise EnvironmentUnfitError(
                f"connections to the database do not end within {_LIMIT_S:g} s",
                cure="run the replication again",
            )
        time.sleep(_PAUSE_S)
    return float(connection.rows(_COUNTED)[0][0])


def make_database(connection: Connection) -> None:
    """Make the catalogue's database, unless it exists."""
    if not connection.rows(_EXISTS):
        connection.rows(f"create database {DATABASE}")
