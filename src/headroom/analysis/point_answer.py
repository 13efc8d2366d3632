"""The analysis of one point, and the key under which it is cached.

Invariant: two questions with equal keys have the same answer, to the last byte. The key covers the
program, the files of the study, the experiment but for what is known to concern other points,
the point, and the content of its rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from headroom.analysis.claims.law import with_law
from headroom.analysis.follow_up.stopping import planned_replications
from headroom.analysis.point import analyse_point
from headroom.analysis.solver_answers import with_solver_answer
from headroom.analysis.verdicts.level_comparison import ComparedPoint
from headroom.experiment.journal.journal import ReplicationRow
from headroom.experiment.machine.program_identity import digest_of
from headroom.experiment.protocol.registry import class_path
from headroom.experiment.study.plan import PlannedExperiment, Point

_OF_OTHER_POINTS = ("title", "factors", "zipped", "fixed", "quick", "fit", "derived")
"""Keys of an experiment that say which points there are; a point knows what it has of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointQuestion:
    """The question about a point.

    Parameters
    ----------
    experiment, point
        The point.
    needed
        Metrics that claims, knees and comparisons need.
    has_runs, is_pictured, has_series, is_solved
        Whether the answer keeps what each replication found, pictures, a time series, and what
        formulas say.
    """

    experiment: PlannedExperiment
    point: Point
    needed: frozenset[str]
    has_runs: bool
    is_pictured: bool
    has_series: bool
    is_solved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PointAnswer:
    """The answer: the point, the replications it needs in all, and when the newest began."""

    compared: ComparedPoint
    planned: int
    newest: str


def answer_of(question: PointQuestion, rows: Sequence[ReplicationRow]) -> PointAnswer:
    """Analyse one point.

    Parameters
    ----------
    question
        What is asked.
    rows
        The replications of the point that count, done and failed, in order.
    """
    experiment, point = question.experiment, question.point
    planned, precision = planned_replications(experiment, point, rows)
    found = analyse_point(
        experiment,
        point,
        rows,
        planned=planned,
        precision=precision,
        needed=question.needed,
        is_pictured=question.is_pictured,
        has_series=question.has_series,
    )
    result = found.result
    if question.is_solved:
        result = with_solver_answer(result, experiment, point)
    result = with_law(result, experiment, point)
    runs = found.runs if question.has_runs else ()
    found = replace(found, result=result, runs=runs)
    newest = max((row.started_at for row in rows), default="")
    return PointAnswer(compared=found, planned=planned, newest=newest)


def experiment_identity(experiment: PlannedExperiment, program: bytes) -> bytes:
    """Return the common part of the keys of all points of an experiment.

    Parameters
    ----------
    experiment
        The experiment.
    program
        Identity of the program and of the study's files.
    """
    spec = msgspec.to_builtins(experiment.spec)
    told = {name: value for name, value in spec.items() if name not in _OF_OTHER_POINTS}
    setup = msgspec.to_builtins(experiment.setup)
    system = experiment.system
    metrics = system.metrics(experiment.points[0].config)
    return digest_of([program, told, setup, class_path(type(system)), system.column.value, metrics])


def key_of(question: PointQuestion, experiment: bytes, rows: bytes) -> bytes:
    """Return the key of a question.

    Parameters
    ----------
    question
        What is asked.
    experiment
        See `experiment_identity`.
    rows
        See `headroom.experiment.runner.selection.Selection.identity`.
    """
    point = question.point
    return digest_of(
        [
            experiment,
            rows,
            [point.key, list(point.levels.items()), list(point.config.items())],
            [point.fingerprint, point.seed_key, [change.text for change in point.changes]],
            sorted(question.needed),
            [question.has_runs, question.is_pictured, question.has_series, question.is_solved],
            point.key in question.experiment.added,
        ]
    )


def encode_answer(answer: PointAnswer) -> bytes:
    """Return an answer as bytes; `decode_answer` reads them."""
    return _ENCODER.encode(answer)


def decode_answer(encoded: bytes) -> PointAnswer:
    """Return the answer that `encode_answer` wrote.

    Raises
    ------
    msgspec.MsgspecError
        The bytes are of something else.
    """
    return _DECODER.decode(encoded)


def _plain(value: object) -> Any:  # noqa: ANN401 - whatever msgspec writes
    if isinstance(value, np.ndarray):
        return [value.dtype.str, list(value.shape), value.tobytes()]
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"no way to store a {type(value).__name__}")


def _array(kind: type, plain: Iterable[Any]) -> Any:  # noqa: ANN401 - as above
    del kind  # Arrays alone need help.
    dtype, shape, content = plain
    return np.frombuffer(content, dtype=dtype).reshape(shape)


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_plain)
_DECODER = msgspec.msgpack.Decoder(PointAnswer, dec_hook=_array)
