"""Cache of the last analysed result of a whole study, valid while nothing has changed.

Reading it takes only the time to read the file, whereas the cached answers of the points
(`headroom.analysis.kept_answers`) still need every row. Both files can be deleted at any time.

Invariant: a result comes back only for the very plan, program, files and journal that it was made
of. The journal is known by size, inode and times, which no program can write it without changing.
"""

import gc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from headroom.analysis.kept_answers import read_sealed, write_sealed
from headroom.analysis.results import StudyResult
from headroom.experiment.journal.journal import Journal
from headroom.experiment.machine.program_identity import Stamp, digest_of
from headroom.experiment.protocol.registry import class_path
from headroom.experiment.runner.selection import Selection
from headroom.experiment.study.plan import Plan, PlannedExperiment
from headroom.input_file import unpack

_MAGIC = b"headroom result 1\n"
_KEY_BYTES = 16
_LEVEL = 1


def result_key(
    plan: Plan, journal: Journal, *, identity: bytes, stamp: Stamp, command: str
) -> bytes:
    """Return the key of a cached result.

    Parameters
    ----------
    plan, journal
        The study as planned, and its rows.
    identity
        Of the program and of the files that the study read.
    stamp
        Of the journal, see `headroom.experiment.machine.program_identity.journal_stamp`.
    command
        The command that repeats the study, which the result names.
    """
    experiments = [_described(experiment) for experiment in plan.experiments]
    of_study = [msgspec.to_builtins(plan.study), plan.folder.name, plan.seed, plan.is_quick]
    selection = Selection(plan, journal)
    criteria = [selection.criteria(experiment).described() for experiment in plan.experiments]
    return digest_of([identity, stamp, command, of_study, plan.settings, experiments, criteria])


def _described(experiment: PlannedExperiment) -> list[Any]:
    setup = msgspec.to_builtins(experiment.setup)
    fit = experiment.fit and [experiment.fit.method.name, experiment.fit.reason]
    points = [
        (
            point.key,
            list(point.levels.items()),
            list(point.config.items()),
            point.fingerprint,
            point.seed_key,
            [change.text for change in point.changes],
        )
        for point in experiment.points
    ]
    return [
        msgspec.to_builtins(experiment.spec),
        class_path(type(experiment.system)),
        setup,
        experiment.factors,
        experiment.parameters,
        fit,
        points,
    ]


@dataclass(frozen=True, slots=True)
class KeptResult:
    """The file that holds the last result."""

    path: Path

    def get(self, key: bytes) -> StudyResult | None:
        """Return the result of this key, None if another one or none is kept."""
        content = read_sealed(self.path, _MAGIC)
        if content is None or content[:_KEY_BYTES] != key:
            return None
        with _without_collection():
            try:
                return _DECODER.decode(unpack(content[_KEY_BYTES:]))
            except (msgspec.MsgspecError, zlib.error, RecursionError):
                return None

    def put(self, key: bytes, result: StudyResult) -> None:
        """Keep a result instead of the last one."""
        content = zlib.compress(msgspec.msgpack.encode(result), _LEVEL)
        write_sealed(self.path, _MAGIC, key + content)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Make many objects without looking for cycles among them again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


_DECODER = msgspec.msgpack.Decoder(StudyResult)
