"""What the measurement asks of the database itself: an exact count of its commits."""

import time

from headroom.errors import EnvironmentUnfitError
from headroom.recording.observers.postgres import Connection
from headroom.systems.catalogue.measured.services import DATABASE

_LIMIT_S = 10.0
_PAUSE_S = 0.01
_OTHERS = f"from pg_stat_activity where datname = '{DATABASE}' and backend_type = 'client backend'"


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
    while connection.rows(f"select pg_terminate_backend(pid) {_OTHERS}"):
        if time.monotonic() > limit_s:
            raise EnvironmentUnfitError(
                f"connections to the database do not end within {_LIMIT_S:g} s",
                cure="run the replication again",
            )
        time.sleep(_PAUSE_S)
    counted = f"select xact_commit from pg_stat_database where datname = '{DATABASE}'"
    return float(connection.rows(counted)[0][0])
