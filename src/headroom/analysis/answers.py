"""Answers of all points of an experiment: read from the cache or computed in several processes.

Invariant: how an answer was come by does not show in it. Whatever goes wrong in another process
is done again in this one, where it fails as it would have failed alone.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from headroom.analysis.kept_answers import KeptAnswers
from headroom.analysis.point_answer import (
    PointAnswer,
    PointQuestion,
    answer_of,
    decode_answer,
    encode_answer,
    experiment_identity,
    key_of,
)
from headroom.defects import defects_met
from headroom.experiment.journal.journal import Journal
from headroom.experiment.runner.selection import Selection
from headroom.experiment.study.plan import Plan

FEWEST_SHARED = 200
"""Points that must be missing before processes are started for them."""
_CHUNK = 50
"""Points that a process takes at once."""
_PARENT_ASKED_S = 0.2
"""Time (s) after which a process asks again whether its parent is still there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Where answers are kept, and under whose name.

    Parameters
    ----------
    kept
        Answers of earlier analyses; they take in those of this one.
    identity
        Of the program and of the files that the study reads.
    jobs
        Processes that may analyse points at a time, >= 1.
    """

    kept: KeptAnswers
    identity: bytes
    jobs: int = 1


def answers(
    questions: Sequence[PointQuestion],
    plan: Plan,
    journal: Journal,
    selection: Selection,
    memory: Memory | None,
) -> Iterator[PointAnswer]:
    """Yield the answers to questions about the points of one experiment, in their order.

    Parameters
    ----------
    questions
        What is asked.
    plan, journal, selection
        Where the rows are.
    memory
        What may be remembered; None finds every answer here and now.
    """
    if memory is None or not questions:
        for question in questions:
            yield _found(question, selection)
        return
    keys = _keys(questions, journal, selection, memory)
    missing = [place for place, key in enumerate(keys) if key not in memory.kept]
    jobs = min(memory.jobs, len(missing) // (FEWEST_SHARED // 2))
    shared = _shared(questions, missing, plan, journal, jobs) if jobs > 1 else {}
    for place, (question, key) in enumerate(zip(questions, keys, strict=True)):
        encoded = memory.kept.get(key)
        if encoded is None:
            before = _flaws(journal)
            encoded = shared.pop(place, None) or encode_answer(_found(question, selection))
            if _flaws(journal) == before:
                memory.kept.put(key, encoded)
        yield decode_answer(encoded)


def _flaws(journal: Journal) -> tuple[int, int]:
    """Return what changes with an answer that is not to be kept: damaged rows, and defects."""
    return journal.unreadable_count, defects_met()


def _found(question: PointQuestion, selection: Selection) -> PointAnswer:
    return answer_of(question, selection.rows(question.experiment, question.point))


def _keys(
    questions: Sequence[PointQuestion], journal: Journal, selection: Selection, memory: Memory
) -> list[bytes]:
    experiment = experiment_identity(questions[0].experiment, memory.identity)
    return [
        key_of(
            question,
            experiment,
            selection.identity(
                journal.stored(question.point.experiment, question.point.key),
                question.experiment,
                question.point,
            ),
        )
        for question in questions
    ]


def _shared(
    questions: Sequence[PointQuestion],
    missing: Sequence[int],
    plan: Plan,
    journal: Journal,
    jobs: int,
) -> dict[int, bytes]:
    """Return the encoded answers to the questions at the places `missing`, as far as it goes.

    The processes are forked, so that they know plan and systems without being told. Points with
    damaged rows are left to the caller, who counts those.
    """
    import multiprocessing  # noqa: PLC0415 - few analyses are that large
    from concurrent.futures import Future, ProcessPoolExecutor  # noqa: PLC0415
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415

    chunks = [missing[start : start + _CHUNK] for start in range(0, len(missing), _CHUNK)]
    found: dict[int, bytes] = {}
    pool = ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("fork"),
        initializer=_begin,
        initargs=(questions, plan, journal.path, os.getpid()),
    )
    try:
        futures: list[Future[dict[int, bytes]]] = [pool.submit(_chunk, chunk) for chunk in chunks]
        for future in futures:
            found.update(future.result())
    except (BrokenProcessPool, OSError):
        return found
    finally:
        pool.shutdown(cancel_futures=True)
    return found


_helper: list[tuple[Sequence[PointQuestion], Journal, Selection]] = []
"""The state of a forked process: its own connection to the journal."""


def _begin(questions: Sequence[PointQuestion], plan: Plan, journal: Path, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent stops its helpers itself.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    own = Journal.open(journal, create=False)
    _helper[:] = [(questions, own, Selection(plan, own))]


def _end_with(parent: int) -> None:
    """End this process at once when the one that forked it off is gone."""
    while os.getppid() == parent:
        time.sleep(_PARENT_ASKED_S)
    os._exit(1)


def _chunk(places: Sequence[int]) -> dict[int, bytes]:
    """Return the answers at some places; what fails is left out, the parent finds out why."""
    ((questions, journal, selection),) = _helper
    found = {}
    for place in places:
        before = _flaws(journal)
        with suppress(Exception):
            encoded = encode_answer(_found(questions[place], selection))
            if _flaws(journal) == before:
                found[place] = encoded
    return found
