"""Faults under load: which signal goes where, and what clients were told meanwhile.

A journal of the load names each operation with its outcome; the database names the entries that are
there. Nothing is inferred from counts.
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from headroom.errors import StudyError
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.system import Metric, Value
from headroom.recording.observers.postgres import Connection, ServerError
from headroom.recording.services.table import FaultTable
from headroom.systems.catalogue.measured.parameters import Served, server_names
from headroom.systems.catalogue.measured.services import HOST

NONE = "none"
_FAULTS = (NONE, "server_killed", "server_stopped", "servers_reload", "database_killed")
AFTER = 0.25
"""Share of the load's length after which the fault comes."""
_NS_PER_S = 1e9
_LOOK_S = 0.02
_SAMPLE_S = 0.1


class Faulted(Served, frozen=True, kw_only=True):
    """A measurement during which something may fail."""

    fault: Annotated[str, parameter(choices=_FAULTS, source="assumed")] = NONE
    """What happens after a quarter of the load: SIGKILL or SIGTERM to the last server, SIGHUP to
    all of them, or SIGKILL to all processes of the database"""
    down_s: Annotated[float, parameter(unit="s", low=0.0, high=3600.0, source="assumed")] = 1.0
    """Time after which what has ended is started again"""
    reopens: Annotated[bool, parameter(source="assumed")] = False
    """Whether clients begin an operation again, once, if their connection was closed before its
    first reply"""


_METRICS = (
    Metric(name="errors_s", unit="s", better="low",
           description="Time from the first to the last error that a client saw"),
    Metric(name="gap_s", unit="s", better="low",
           description="Longest time without a successful operation"),
    Metric(name="recovery_s", unit="s", better="low",
           description="Time from a killed database's return to the next successful operation"),
    Metric(name="lost_count", unit="1", better="low",
           description="Insertions that were acknowledged, but are not in the database"),
    Metric(name="undone_count", unit="1", better="low",
           description="Insertions that were refused, but are in the database"),
    Metric(name="unknown_count", unit="1", better="low",
           description="Insertions whose outcome no client knows"),
    Metric(name="unknown_kept_count", unit="1",
           description="Those of them that are in the database"),
)  # fmt: skip


def fault_metrics(config: Mapping[str, Value]) -> Sequence[Metric]:
    """Return the metrics of a run with a fault; none without."""
    if Faulted.of(config).fault == NONE:
        return ()
    return [one for one in _METRICS if one.name != "recovery_s" or hits_database(config)]


def hits_database(config: Mapping[str, Value]) -> bool:
    """Return whether the fault ends the database."""
    return Faulted.of(config).fault == "database_killed"


def faults_of(config: Mapping[str, Value], seconds: float) -> dict[str, FaultTable]:
    """Return the faults of a load of some length (s), by the service that they hit.

    Examples
    --------
    >>> config = {"fault": "server_stopped", "servers": 4, "down_s": 1.0}
    >>> [(name, fault.signal) for name, fault in faults_of(config, 8.0).items()]
    [('amga4', 'TERM')]
    """
    point = Faulted.of(config)
    after_s = AFTER * seconds
    ended = partial(FaultTable, after_s=after_s, starts_again_after_s=point.down_s)
    *_, last = names = server_names(config)
    match point.fault:
        case "server_killed":
            return {last: ended(signal="KILL")}
        case "server_stopped":
            return {last: ended(signal="TERM", to="first")}
        case "servers_reload":
            return {name: FaultTable(signal="HUP", after_s=after_s) for name in names}
        case "database_killed":
            return {"db": ended(signal="KILL")}
    return {}


def check_fault(config: Mapping[str, Value], seconds: float) -> None:
    """Refuse a fault that is not over, or not begun, when the load ends."""
    point = Faulted.of(config)
    if point.fault == NONE:
        return
    if point.operation != "insert":
        raise StudyError(
            f"fault = {point.fault!r}, but operation = {point.operation!r}: only "
            "insertions can be lost",
            cure='set operation = "insert"',
        )
    down_s = 0.0 if point.fault == "servers_reload" else point.down_s
    if AFTER * seconds + down_s >= seconds:
        raise StudyError(
            f"down_s = {down_s:g} s lasts beyond the end of a load of {seconds:g} s",
            cure="set a longer `seconds`, or a shorter `down_s`",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """What clients were told: names by outcome, and the times (s) of successes and errors."""

    kept: frozenset[str]
    refused: frozenset[str]
    unknown: frozenset[str]
    good_s: list[float]
    error_s: list[float]

    def values(self, there: frozenset[str]) -> dict[str, float]:
        """Return the metrics, given the names that are in the database.

        The longest time without a success may be at the beginning or at the end.

        Examples
        --------
        >>> journal = Journal.of(["+ 1000000000 a", "? 2000000000 b", "+ 4500000000 c"])
        >>> values = journal.values(frozenset({"a", "b"}))
        >>> values["lost_count"], values["unknown_kept_count"], values["gap_s"]
        (1.0, 1.0, 3.5)
        """
        errors, ends = sorted(self.error_s), sorted(self.good_s + self.error_s)
        good = [ends[0], *sorted(self.good_s), ends[-1]]
        return {
            "errors_s": errors[-1] - errors[0] if errors else 0.0,
            "gap_s": max(b - a for a, b in pairwise(good)),
            "lost_count": float(len(self.kept - there)),
            "undone_count": float(len(self.refused & there)),
            "unknown_count": float(len(self.unknown)),
            "unknown_kept_count": float(len(self.unknown & there)),
        }

    def recovery_s(self, back_s: float) -> float | None:
        """Return the time (s) from `back_s` to the next success; None if none came."""
        return min((one - back_s for one in self.good_s if one >= back_s), default=None)

    @classmethod
    def of(cls, lines: Sequence[str]) -> "Journal":
        """Return the journal of all lines; `service/src/load/journal.rs` describes them."""
        parts = [line.split() for line in lines]

        def names(sign: str) -> frozenset[str]:
            return frozenset(name for found, _, name in parts if found == sign)

        times_s = [(sign, int(time_ns) / _NS_PER_S) for sign, time_ns, _ in parts]
        return cls(
            kept=names("+"),
            refused=names("-"),
            unknown=names("?"),
            good_s=[time_s for sign, time_s in times_s if sign == "+"],
            error_s=[time_s for sign, time_s in times_s if sign != "+"],
        )


@dataclass(slots=True)
class Return:
    """Watches a database: when it answers again, after it did not.

    Attributes
    ----------
    time_s
        Time (s) since 1970 of its first answer; None if it was never away, or is away still.
    """

    port: int
    time_s: float | None = None
    _is_over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch it during a block."""
        thread = threading.Thread(target=self._watch)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def _watch(self) -> None:
        was_away = False
        while not self._is_over.wait(_LOOK_S):
            try:
                Connection(HOST, self.port).close()
            except (OSError, ServerError):
                was_away = True
            else:
                if was_away:
                    self.time_s = time.time()
                    return


def read_journal(folder: Path) -> Journal:
    """Return the journal of all processes of a load."""
    files = sorted(folder.iterdir())
    return Journal.of([line for file in files for line in file.read_text("ascii").splitlines()])


def journaled(
    jobs: Sequence[Mapping[str, object]], folder: Path, config: Mapping[str, Value]
) -> Iterator[dict[str, object]]:
    """Yield jobs that keep journals, show throughput over time, and outlast a row of failures."""
    for number, job in enumerate(jobs):
        own = {"journal": str(folder / str(number)), "reopens": Faulted.of(config).reopens}
        yield {**job, **own, "failure_limit": 1_000_000_000, "sample_every_s": _SAMPLE_S}


def names_in(connection: Connection, prefix: str) -> frozenset[str]:
    """Return the names of entries with a prefix, as the database has them."""
    found = connection.rows(
        f"select name from entry where name like '{prefix}%' "  # noqa: S608 - our own prefix
        f"union select name from wide where name like '{prefix}%'"
    )
    return frozenset(name for (name,) in found)
