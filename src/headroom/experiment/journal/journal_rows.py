"""Journal rows as data, and their columns: writing and validated reading.

Invariant: a row that does not come back exactly in the declared types is unreadable as a whole;
no damaged value reaches a runner or an analysis.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from headroom.experiment.journal.run_codec import UnreadableRunError, decode_run
from headroom.experiment.protocol.artefact import Artefact
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Value

State: TypeAlias = Literal["done", "failed"]

HEAD_COLUMNS = (
    "experiment",
    "point_key",
    "fingerprint",
    "levels",
    "replication",
    "seed",
    "state",
    "started_at",
    "wall_s",
    "error",
    "environment",
    "position",
)
"""Columns of a row without its run, in the order of `head_values`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationRow:
    """One finished replication, as stored.

    Parameters
    ----------
    experiment, point_key
        The point.
    fingerprint
        Hash of everything that the run depended on, see `Point`.
    levels
        Levels of the point's factors.
    replication, seed
        Number of the replication, from 0, and its seed.
    state
        ``"done"`` or ``"failed"``.
    started_at
        Start, UTC, ISO 8601.
    wall_s
        Wall time (s) of the run as the engine saw it.
    error
        Why it failed; empty when done.
    run
        What the system returned; None when failed, or when only heads were read.
    artefacts
        Small files that it left, failed or not.
    environment
        Number of the environment in `Journal.environments`, 0 for none.
    position
        Place in the randomised order of its session, from 0.
    is_readable
        False if only the head of a stored row can be read: its run is damaged.
    """

    experiment: str
    point_key: str
    fingerprint: str
    levels: Mapping[str, Value]
    replication: int
    seed: int
    state: State
    started_at: str
    wall_s: float
    error: str = ""
    run: Run | None = None
    artefacts: tuple[Artefact, ...] = ()
    environment: int = 0
    position: int = 0
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row as it lies in the file: its number, its run encoded, and its head."""

    number: int
    encoded: bytes | None
    values: tuple[Any, ...]
    checksum: int | None = None
    """That of the head; None in rows of earlier versions."""


Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
_Head: TypeAlias = tuple[str, str, str, str, Number, Number, State, str, float, str, Number, Number]


def head_values(row: ReplicationRow) -> tuple[Any, ...]:
    """Return a row without its run as values of `HEAD_COLUMNS`."""
    levels = msgspec.json.encode(row.levels, order="deterministic").decode()
    return (
        row.experiment,
        row.point_key,
        row.fingerprint,
        levels,
        row.replication,
        row.seed,
        row.state,
        row.started_at,
        float(row.wall_s),
        row.error,
        row.environment,
        row.position,
    )


def checksum_of(values: Sequence[Any]) -> int:
    """Return the checksum of the values of a head; a run has its own."""
    return zlib.crc32(msgspec.msgpack.encode(tuple(values)))


def head_of(values: Sequence[Any], checksum: int | None = None) -> ReplicationRow | None:
    """Return the row that `head_values` wrote, None if the values are damaged.

    Examples
    --------
    >>> row = ReplicationRow(experiment="web", point_key="k", fingerprint="f", levels={},
    ...     replication=0, seed=7, state="done", started_at="", wall_s=0.1)
    >>> head_of(head_values(row)) == row
    True
    >>> head_of((None, *head_values(row)[1:])) is None
    True
    """
    if checksum not in {None, checksum_of(values)}:
        return None
    try:
        checked = msgspec.convert(tuple(values), _Head)
        fields: dict[str, Any] = dict(zip(HEAD_COLUMNS, checked, strict=True))
        fields["levels"] = msgspec.json.decode(checked[3], type=dict[str, Value])
    except (msgspec.DecodeError, UnicodeError):  # a ValidationError is a DecodeError
        return None
    return ReplicationRow(**fields)


def run_of(encoded: bytes | None) -> Run | None:
    """Return a stored run.

    Raises
    ------
    UnreadableRunError
        The run is damaged.
    """
    if encoded is None:
        return None
    if not isinstance(encoded, bytes):
        raise UnreadableRunError(f"a run is no {type(encoded).__name__}")
    return decode_run(encoded)


def is_readable(encoded: bytes | None) -> bool:
    """Return whether a stored run can be read."""
    try:
        run_of(encoded)
    except UnreadableRunError:
        return False
    return True


def facts_of(text: Any) -> dict[str, Any] | None:  # noqa: ANN401 - whatever a damaged file holds
    """Return the facts of a stored environment, None if they are damaged."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, TypeError, UnicodeError):
        return None
