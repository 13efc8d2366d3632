"""Transactions of a PostgreSQL server, and what its clients wait for, from its own views.

`psql` asks, so that passwords, certificates and services work as its users know them. Every user
sees the counters; only a member of `pg_monitor` sees the waits and statements of others.

Source: PostgreSQL documentation, "The Cumulative Statistics System"; `psql`.
"""

import os
import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from urllib.parse import unquote, urlsplit

from headroom.observe.rates.adapter import Adapter, AdapterError
from headroom.recording.observers.postgres import SELECT_WAITS, WAITS

_ASK = ("psql", "--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--no-password")
_COUNT = "select sum(xact_commit + xact_rollback) from pg_stat_database"
_STATEMENTS = (
    "select translate(query, E'\\n', ' ') from pg_stat_activity where state = 'active' and "
    "pid <> pg_backend_pid() and backend_type = 'client backend' and wait_event_type <> 'Client'"
)
_END = "no more rows"
_SHORT = 60
_SHOWN = 3
_VALUES = re.compile(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b")


class PostgresAdapter(Adapter):
    """Asks a server ``//USER:PASSWORD@HOST:PORT/DATABASE``; the transactions of all count."""

    shortest_s = 2.0

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self._psql: subprocess.Popen[str] | None = None
        self._asked = self._looks = 0
        self._waits: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()

    def count(self) -> float:
        """Return the transactions, without those of this adapter."""
        rows = self._rows(_COUNT)
        for kind, _, clients in (row.partition("|") for row in self._rows(SELECT_WAITS)):
            self._waits[WAITS.get(kind, "other")] += int(clients)
        self._seen.update(filter(None, self._rows(_STATEMENTS)))
        self._looks += 1
        return float(rows[0]) - self._asked

    def _rows(self, query: str) -> list[str]:
        """Return the lines of an answer."""
        rows: list[str] = []
        with suppress(OSError):
            psql = self._psql = self._psql or self._started()
            if psql.stdin and psql.stdout:
                psql.stdin.write(f"{query};\n\\echo {_END}\n")
                psql.stdin.flush()
                for line in map(str.rstrip, psql.stdout):
                    if line == _END and not any(row.startswith("ERROR") for row in rows):
                        self._asked += 1
                        return rows
                    if line == _END:
                        break
                    rows.append(line)
        self.close()
        place = self.place.rpartition("@")[2].lstrip("/")
        raise AdapterError(
            f"PostgreSQL at {place} does not answer: {' '.join(rows[:1]) or 'there is no `psql`'}",
            cure="write postgres://USER:PASSWORD@HOST:PORT/DATABASE; a member of pg_monitor sees "
            "waits too: GRANT pg_monitor TO user",
        )

    def _started(self) -> "subprocess.Popen[str]":
        url = urlsplit(self.place)
        # All users of a machine can see the arguments of a program.
        secret = {"PGPASSWORD": unquote(url.password)} if url.password else {}
        user = f"{url.username}@" if url.username else ""
        place = f"{user}{url.netloc.rpartition('@')[2]}{url.path or '/postgres'}"
        return subprocess.Popen(
            [*_ASK, f"postgresql://{place}"], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PGCONNECT_TIMEOUT": "2", **os.environ, **secret},
        )  # fmt: skip

    def waits(self) -> Mapping[str, float]:
        """Return the mean number of clients by what they wait for; `none`: they run."""
        return {name: clients / self._looks for name, clients in self._waits.items()}

    def statements(self) -> Sequence[str]:
        """Return the most frequent statements, without values and cut unless asked for in full."""
        found: Counter[str] = Counter()
        for text, times in self._seen.items():
            found[text if self.full_statements else shortened(text)] += times
        return [text for text, _ in found.most_common(_SHOWN)]

    def close(self) -> None:
        """End psql."""
        if self._psql is not None:
            with suppress(OSError):
                self._psql.communicate()
            self._psql = None


def shortened(statement: str) -> str:
    """Return the beginning of a statement without its values.

    Examples
    --------
    >>> shortened("UPDATE accounts SET name = 'it''s me', x2 = 3.5 WHERE id = 12")
    'UPDATE accounts SET name = ?, x2 = ? WHERE id = ?'
    """
    text = _VALUES.sub("?", " ".join(statement.split()))
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"
