"""The advice: refuse what cannot be, probe the machine, search, and explain the choice."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.systems.records.advisor.configurations import (
    Configuration,
    Space,
    fits,
    search_space,
    table_config,
)
from headroom.systems.records.advisor.machine import probed_machine, sweep_bytes
from headroom.systems.records.advisor.question import Question
from headroom.systems.records.advisor.reason import Reason, explain, fitted_machine
from headroom.systems.records.advisor.search import Choice, Say, Searcher
from headroom.systems.records.system import check_table

TIME_S = 90.0
QUICK_TIME_S = 15.0
_UNKNOWN_SWEEP_BYTES = float(64 << 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The answer of the advisor.

    Parameters
    ----------
    choice
        The result of the search.
    reason
        Why the choice takes its time; None if the probe failed.
    missing
        Missing results, each with its reason.
    """

    choice: Choice
    reason: Reason | None
    missing: tuple[str, ...] = ()


def advise(
    question: Question,
    *,
    time_s: float,
    seed: int,
    is_quick: bool = False,
    say: Say = lambda _what, _share: None,
) -> Advice:
    """Return the fastest configuration for a question, on the processor of this thread.

    Parameters
    ----------
    time_s
        Time (s) of the search; the probe and the reason take some seconds more.
    is_quick
        Whether a rougher answer will do.
    say
        Called with what is being done, and the share of the time that is over.

    Raises
    ------
    StudyError
        There is no such table.
    EnvironmentUnfitError
        This machine has not the memory for it.
    """
    space = checked_space(question)
    missing: list[str] = []
    machine: dict[str, Any] = {}
    try:
        machine = dict(probed_machine(is_quick=is_quick, say=say))
    except (HeadroomError, OSError) as error:
        missing.append(f"the reason: {getattr(error, 'message', error)}")
    searcher = Searcher(
        question=question, space=space, time_s=time_s, seed=seed, is_quick=is_quick, say=say,
        sweep_bytes=sweep_bytes(machine) if machine else _UNKNOWN_SWEEP_BYTES,
    )  # fmt: skip
    choice = searcher.search()
    reason = None
    if machine:
        say("the reason", 1.0)
        best = choice.best
        asked = msgspec.structs.replace(question, records=choice.final_records)
        fitted = fitted_machine(choice, machine, seed=seed)
        reason = explain(
            asked, best.configuration, fitted, batch=best.batch, ahead=best.ahead, seed=seed
        )
    return Advice(choice=choice, reason=reason, missing=tuple(missing))


def checked_space(question: Question) -> Space:
    """Return the levels to search, if there is a table and memory for it."""
    space = search_space(question)
    layout = next((one for one in space.layouts if fits(question, space.start(one))), None)
    start = space.start(layout or space.layouts[0])
    try:
        check_table(table_config(question, _largest(space, start)))
    except StudyError as error:
        raise StudyError(error.message, cure="change record_bytes or records") from error
    except EnvironmentUnfitError as error:
        raise EnvironmentUnfitError(
            error.message, cure="ask about fewer or smaller records, or a denser placement"
        ) from error
    return space


def _largest(space: Space, start: Configuration) -> Configuration:
    """Return the configuration that takes the most memory: half-full sorted nodes."""
    return replace(start, layout="sorted", node_bytes=max(space.nodes), pages="small")


@contextmanager
def on_cpu(cpu: int | None) -> Iterator[int]:
    """Run this thread on one processor: the named one, or the first that it may use."""
    allowed = os.sched_getaffinity(0)
    chosen = min(allowed) if cpu is None else cpu
    if chosen not in allowed:
        raise EnvironmentUnfitError(
            f"this process may not use processor {chosen}",
            cure=f"choose one of {', '.join(map(str, sorted(allowed)))}",
        )
    os.sched_setaffinity(0, {chosen})
    try:
        yield chosen
    finally:
        with suppress(OSError):
            os.sched_setaffinity(0, allowed)
