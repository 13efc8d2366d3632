"""An advice for the terminal, in 80 columns, and for programs."""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from rich.console import Console

from headroom.analysis.statistics.intervals import Interval
from headroom.quantities import format_quantity
from headroom.report.terminal.columns import Column
from headroom.report.terminal.screen import Screen
from headroom.systems.records.advisor.advice import Advice
from headroom.systems.records.advisor.configurations import chosen, size_text
from headroom.systems.records.advisor.question import Question, mix_text
from headroom.systems.records.advisor.reason import CAUSES
from headroom.systems.records.advisor.search import ALIKE, NEAR, Choice, Compared

FAR_OFF = 1.5
"""Ratio of modelled and measured time from which the reason is only a hint."""


def answer_text(choice: Choice) -> str:
    """Return the choice as a sentence: what, how fast, and against the paper's node."""
    best = choice.best
    name = chosen(best.configuration, best.batch, best.ahead, choice.question.shares)
    text = f"{name[:1].upper()}{name[1:]}: {format_quantity(best.operation_s, 's')} an operation"
    if choice.paper is None or choice.paper.configuration == best.configuration:
        return f"{text}."
    node = size_text(choice.paper.configuration.node_bytes)
    alone = ", asked one by one" if "lookup" in choice.question.shares else ""
    ratio = choice.paper.ratio
    is_faster = ratio.low is not None and ratio.low > 1.0
    gain = f"{ratio_text(ratio)} faster than" if is_faster else "not surely faster than"
    return f"{text}, {gain} the paper's array of {node} nodes{alone}."


def ratio_text(ratio: Interval) -> str:
    """Return a ratio with its interval.

    Examples
    --------
    >>> ratio_text(Interval(value=2.114, low=2.05, high=2.2, method="signed ranks"))
    '2.11x (2.05 to 2.20)'
    """
    text = f"{ratio.value:.2f}x"
    if ratio.low is None or ratio.high is None:
        return text
    return f"{text} ({ratio.low:.2f} to {ratio.high:.2f})"


def margin_text(choice: Choice) -> str:
    """Return as a sentence how sure the choice is."""
    alike = [one for one in choice.others if one.verdict == "alike"]
    undecided = [one for one in choice.others if one.verdict == "undecided"]
    slower = [one for one in choice.others if one.verdict == "slower"]
    margin = f"{ALIKE:.0%}"
    if undecided:
        count = 1 + len(undecided) + len(alike)
        widest = max(one.ratio.high or np.inf for one in undecided) - 1.0
        bound = f" by {widest:.0%} at most" if np.isfinite(widest) else ""
        return (
            f"Undecided: {count} configurations may differ{bound}; more time (--time) may decide."
        )
    if alike:
        return f"Undecided: these {1 + len(alike)} configurations are within {margin}; take any."
    if slower:
        return f"The next best takes {ratio_text(slower[0].ratio)} as long."
    return f"No other configuration came within {NEAR:.0%} in the search."


def reason_text(advice: Advice) -> str:
    """Return as a sentence what the time is spent on; empty if the probe failed."""
    reason = advice.reason
    if reason is None:
        return ""
    first, second = sorted(reason.shares, key=reason.shares.__getitem__, reverse=True)[:2]
    measured_s = advice.choice.best.operation_s
    off = max(reason.operation_s / measured_s, measured_s / reason.operation_s)
    caution = "" if off < FAR_OFF else " The model is that far off: take it as a hint."
    return (
        f"{reason.shares[first]:.0%} of the time goes to {CAUSES[first]}, "
        f"{reason.shares[second]:.0%} to {CAUSES[second]}; "
        f"{reason.lines:.2g} lines of memory and {reason.tlb_misses:.2g} TLB misses for each "
        f"operation; a model predicts {format_quantity(reason.operation_s, 's')}, measured "
        f"{format_quantity(measured_s, 's')}.{caution}"
    )


def notes_of(advice: Advice) -> Iterator[str]:
    """Yield the limits of the answer."""
    choice = advice.choice
    asked = choice.question.records
    if choice.final_records < asked:
        yield (
            f"finalists have {choice.final_records:,} of {asked:,} records, as many as the time "
            "allows"
        )
    yield from (f"left out: {reason}" for reason in choice.space.left_out)
    if choice.refused:
        more = f", and {len(choice.refused) - 1} more" if choice.refused[1:] else ""
        yield f"left out: {choice.refused[0]}{more}"
    yield from (f"missing: {reason}" for reason in advice.missing)


def show(advice: Advice, cpu: int, console: Console) -> None:
    """Print an advice."""
    choice, screen = advice.choice, Screen(console)
    question = choice.question
    plural = "s" if question.records > 1 else ""
    table = f"{question.records:,} record{plural} of {question.record_bytes:,} B"
    screen.line(f"{mix_text(question.shares)}; {table}")
    screen.line()
    screen.line(answer_text(choice), style="bold")
    screen.line(margin_text(choice))
    if text := reason_text(advice):
        screen.line(text)
    screen.table(list(_columns(choice)))
    if question.shares.keys() & {"lookup"} and (alone := alone_s(choice)):
        screen.line(f"One look-up at a time: {format_quantity(alone, 's')} an operation.")
    possible = len(choice.space.all(question))
    screen.line(
        f"Timed {len(choice.seen)} of {possible} configurations, the finalists in "
        f"{choice.rounds} rounds, in {choice.taken_s:.0f} s on processor {cpu}."
    )
    for note in notes_of(advice):
        screen.line(f"{note[:1].upper()}{note[1:]}.")


def alone_s(choice: Choice) -> float | None:
    """Return the time (s) of an operation with the choice if look-ups come one at a time."""
    known = [one.alone_s for one in choice.best.timings if one.alone_s is not None]
    return float(np.median(known)) if known else None


def _columns(choice: Choice) -> Iterator[Column]:
    rows = [choice.best, *choice.others]
    verdicts = ["choice", *(one.verdict for one in choice.others)]
    if choice.paper is not None:
        rows.append(choice.paper)
        verdicts.append("paper's")
    settings = [one.configuration for one in rows]
    yield Column("Layout", [one.layout for one in settings])
    sizes = [f"{size_text(one.node_bytes)}/{size_text(one.index_bytes)}" for one in settings]
    yield Column("Node/index", sizes, is_number=True)
    yield Column("Pages", ["thp" if one.pages == "transparent" else one.pages for one in settings])
    if "lookup" in choice.question.shares:
        yield Column("Batch", [str(one.batch) for one in rows], is_number=True)
    yield Column("Time", [format_quantity(one.operation_s, "s") for one in rows], is_number=True)
    yield Column("Ratio", ["1", *(_short(one.ratio) for one in rows[1:])], is_number=True)
    yield Column("Verdict", verdicts)


def _short(ratio: Interval) -> str:
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.2f}"
    return f"{ratio.value:.2f} ({ratio.low:.2f}-{ratio.high:.2f})"


def advice_data(advice: Advice, cpu: int) -> dict[str, Any]:
    """Return an advice for programs; times in seconds, sizes in bytes."""
    choice = advice.choice
    return {
        "question": _question_data(choice.question),
        "answer": answer_text(choice),
        "margin": margin_text(choice),
        "decided": choice.is_clear,
        "choice": _compared_data(choice.best),
        "alone_s": alone_s(choice),
        "others": [_compared_data(one) for one in choice.others],
        "paper": None if choice.paper is None else _compared_data(choice.paper),
        "reason": advice.reason,
        "seen": [
            {**one.to_data(), "operation_s": timing.operation_s}
            for one, timing in sorted(choice.seen.items(), key=lambda pair: pair[1].operation_s)
        ],
        "sweep_records": choice.sweep_records,
        "final_records": choice.final_records,
        "rounds": choice.rounds,
        "taken_s": choice.taken_s,
        "cpu": cpu,
        "notes": list(notes_of(advice)),
    }


def _question_data(question: Question) -> dict[str, Any]:
    return {**msgspec.to_builtins(question), "mix": question.shares}


def _compared_data(one: Compared) -> dict[str, Any]:
    each = {
        name: float(np.median([at.each_s[name] for at in one.timings]))
        for name in one.timings[0].each_s
    }
    return {
        **one.configuration.to_data(), "batch": one.batch, "ahead": one.ahead,
        "operation_s": one.operation_s, "each_s": each, "verdict": one.verdict,
        "ratio": one.ratio.value, "ratio_low": one.ratio.low, "ratio_high": one.ratio.high,
        "rounds_s": [timing.operation_s for timing in one.timings],
    }  # fmt: skip
