"""Transactions of a PostgreSQL server, and what its clients wait for, from its own views.

Every user sees the counters; only a member of `pg_monitor` sees the waits and statements of others.

Source: PostgreSQL documentation, chapter "The Cumulative Statistics System".
"""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from headroom.observe.rates.adapter import Adapter, AdapterError
from headroom.recording.observers.postgres import Login, PostgresWatch, ServerError

_INTERVAL_S = 0.5
_PORT = 5432
_COUNT = (
    "select sum(xact_commit + xact_rollback) from pg_stat_database "
    "where datname = current_database() or {everything}"
)
_STATEMENTS = (
    "select query from pg_stat_activity where state = 'active' and "
    "backend_type = 'client backend' and wait_event_type <> 'Client' and pid <> pg_backend_pid()"
)
_SHORT = 60
_SHOWN = 3
_VALUES = re.compile(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b")


@dataclass(slots=True)
class PostgresAdapter(Adapter):
    """Asks a server ``//USER:PASSWORD@HOST:PORT/DATABASE``; without a database all count.

    A host that starts with ``%2F`` is the folder of its socket; `PGUSER` and `PGPASSWORD` count
    where the URL has none.
    """

    _watch: PostgresWatch | None = field(default=None, init=False)
    _asked: int = field(default=0, init=False)
    _seen: Counter[str] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        self.shortest_s = 2.0

    def count(self) -> float:
        """Return the transactions, without those of this adapter."""
        if self._watch is None:
            self._watch = self._started()
        everything = "false" if self._database() else "true"
        rows = self._watch.rows(_COUNT.format(everything=everything))
        if not rows:
            raise self._error(self._watch.missing)
        self._seen.update(text for (text,) in self._watch.rows(_STATEMENTS) or [] if text)
        self._asked += 2
        return float(rows[0][0] or 0.0) - self._asked - len(self._watch.waits)

    def _started(self) -> PostgresWatch:
        place = urlsplit(self.place)
        login = Login(
            user=unquote(place.username or os.environ.get("PGUSER", "postgres")),
            password=unquote(place.password or os.environ.get("PGPASSWORD", "")),
            database=self._database() or "postgres",
        )
        host = unquote(place.hostname or "127.0.0.1")
        watch = PostgresWatch(host, place.port or _PORT, login=login, interval_s=_INTERVAL_S)
        try:
            watch.connect()
        except (OSError, ServerError) as error:
            raise self._error(str(error)) from error
        return watch.__enter__()

    def _database(self) -> str:
        return unquote(urlsplit(self.place).path.lstrip("/"))

    def _error(self, why: str) -> AdapterError:
        place = self.place.rpartition("@")[2].removeprefix("//")
        return AdapterError(
            f"PostgreSQL at {place} does not answer the observer: {why}",
            cure="write postgres://USER:PASSWORD@HOST:PORT/DATABASE; a member of pg_monitor sees "
            "waits too: GRANT pg_monitor TO user",
        )

    def waits(self) -> Mapping[str, float]:
        """Return the mean number of clients by what they wait for; `none`: they run."""
        if self._watch is None:
            return {}
        values = self._watch.values(skip_s=0.0, throughput=None)
        named = {name: value for name, value in values.items() if name.startswith("waits.")}
        return {
            name.removeprefix("waits.").removesuffix("_mean"): value
            for name, value in named.items()
            if value > 0.0
        }

    def statements(self) -> Sequence[str]:
        """Return the most frequent statements, without values and cut unless asked for in full."""
        found: Counter[str] = Counter()
        for text, times in self._seen.items():
            found[" ".join(text.split()) if self.full_statements else shortened(text)] += times
        return [text for text, _ in found.most_common(_SHOWN)]

    def close(self) -> None:
        """Close the connection."""
        if self._watch is not None:
            self._watch.__exit__(None, None, None)


def shortened(statement: str) -> str:
    """Return the beginning of a statement without its values.

    Examples
    --------
    >>> shortened("UPDATE accounts SET name = 'it''s me', x2 = 3.5 WHERE id = 12")
    'UPDATE accounts SET name = ?, x2 = ? WHERE id = ?'
    """
    text = _VALUES.sub("?", " ".join(statement.split()))
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"
