"""A gate as Markdown, for the summary of a CI job and the comment on a change.

The answer comes first, then the rows with their intervals, what the runner's own noise is, what
would have been seen, and what was not judged.

Invariant: prints what `ComparisonResult` holds; names of benchmarks cannot become markup.
"""

from collections.abc import Sequence

from headroom.gate.result import ComparisonResult, Gate, Noise, Row, Sight
from headroom.quantities import format_limit
from headroom.report.compared.sentences import (
    answer_sentences,
    caution_sentences,
    change_words,
    gate_sentences,
    label_place,
    verdict_word,
)
from headroom.report.compared.terminal import runs_sentence, value_text
from headroom.report.words import title_metric

ROWS_SHOWN = 20
"""Rows before the rest is folded."""
ROWS_AT_MOST = 300
_REASONS = 12
_HEADS = {"passed": "Passed", "regression": "Failed", "blind": "Blind"}


def gate_markdown(result: ComparisonResult, *, title: str, notes: Sequence[str] = ()) -> str:
    """Return a gate as Markdown.

    Parameters
    ----------
    result
        What a gate found.
    title
        Names the gate among others of the same change.
    notes
        Sentences about the job: what it compared, what it took.
    """
    gate = result.gate
    if gate is None:
        return f"### {_plain(title)}: no answer\n\nThe gate was interrupted.\n"
    decision, *reasons = gate_sentences(result)
    parts = [
        f"### {_plain(title)}: {_HEADS.get(gate.verdict, 'No answer')}",
        f"**{_plain(decision)}**",
        _bullets(_first(reasons)),
        _tables(result, gate),
        "**Noise of this runner** (the base against itself, in the same blocks): "
        + _noise(result.noise),
        "**Not judged**: " + _not_judged(result, gate),
        _folded("How it was measured", _bullets([
            *notes, runs_sentence(result), *answer_sentences(result), *caution_sentences(result),
        ])),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _tables(result: ComparisonResult, gate: Gate) -> str:
    """Return the rows, suspicions first, then by how much slower they are."""
    suspected = {_key(one.first): one for one in gate.suspicions}

    def order(row: Row) -> tuple[bool, float]:
        worse = row.ratio or 1.0
        return _key(row) not in suspected, -(1.0 / worse if row.better == "high" else worse)

    rows = sorted(result.rows, key=order)[:ROWS_AT_MOST]
    sights = {_key(one): one for one in gate.sights}
    noise = {_key(one)[1:]: one for one in result.noise}
    lines = [_line(row, sights.get(_key(row)), noise.get(_key(row)[1:])) for row in rows]
    head = (
        "| Row | Base | Head | Change, 95% interval | Verdict | Smallest change seen | "
        "Base against itself |\n| --- | ---: | ---: | --- | --- | ---: | --- |"
    )
    shown = "\n".join([head, *lines[:ROWS_SHOWN]])
    rest = lines[ROWS_SHOWN:]
    if not rest:
        return shown
    left = len(result.rows) - ROWS_AT_MOST
    more = f"\n\n{left} more rows are in the JSON document." if left > 0 else ""
    folded = _folded(f"{len(rest)} more rows", "\n".join([head, *rest]) + more)
    return f"{shown}\n\n{folded}"


def _line(row: Row, sight: Sight | None, noise: Noise | None) -> str:
    change = "" if row.ratio is None else change_words(row.ratio, row.low, row.high)
    itself = (
        "" if noise is None or noise.ratio is None
        else change_words(noise.ratio, noise.low, noise.high)
    )  # fmt: skip
    place = label_place(row)
    cells = [
        f"{_code(place)} {title_metric(row.metric).lower()}".strip() if place
        else title_metric(row.metric),
        value_text(row, row.base_value),
        value_text(row, row.value),
        change,
        verdict_word(row),
        "" if sight is None else format_limit(sight.detectable),
        itself,
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _noise(noise: Sequence[Noise]) -> str:
    scatters = sorted(one.scatter for one in noise if one.scatter is not None)
    if not scatters:
        return "unknown."
    middle = format_limit(scatters[len(scatters) // 2])
    away = [one for one in noise if one.low and one.high and not one.low <= 1.0 <= one.high]
    said = f"one run scatters by {middle} in the middle row, {format_limit(scatters[-1])} at most; "
    return said + (
        f"{len(away)} of {len(noise)} rows differ from themselves at 95%, 1 in 20 is expected."
    )


def _not_judged(result: ComparisonResult, gate: Gate) -> str:
    found = [f"{label_place(one)} {title_metric(one.metric).lower()}".strip() for one in gate.blind]
    parts = []
    if found:
        names = ", ".join(map(_code, found[:ROWS_SHOWN]))
        rest = f" and {len(found) - ROWS_SHOWN} more" if len(found) > ROWS_SHOWN else ""
        parts.append(f"{names}{rest}: their noise hides {format_limit(gate.threshold)}.")
    parts += [f"{_code(name)}: no results." for name in gate.missing[:ROWS_SHOWN]]
    parts += [f"{_code(name)}." for name in result.left_out[:ROWS_SHOWN]]
    return " ".join(parts) or "nothing."


def _key(one: Row | Sight | Noise) -> tuple[str, ...]:
    arm = "" if isinstance(one, Noise) else one.arm
    return arm, one.experiment, repr(sorted(one.levels.items())), one.metric


def _bullets(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {_plain(one)}" for one in sentences)


def _first(reasons: Sequence[str]) -> list[str]:
    """Return the first reasons of a gate, and its last sentence: how sure it is."""
    rest = len(reasons) - 1 - _REASONS
    return [*reasons[:-1][:_REASONS], *([f"{rest} more."] if rest > 0 else []), *reasons[-1:]]


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>" if text else ""


def _code(text: str) -> str:
    """Return a text in which a table, a mention or a tag is only text.

    Examples
    --------
    >>> _code("sum|`10`")
    '`sum¦10`'
    """
    kept = text.replace("`", "").replace("|", "¦").replace("\n", " ")
    return f"`{kept}`"


def _plain(text: str) -> str:
    r"""Return a sentence that holds names of a suite without markup.

    Examples
    --------
    >>> _plain("<b> @all a_b")
    '&lt;b&gt; &#64;all a\\_b'
    """
    for sign, word in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("@", "&#64;")):
        text = text.replace(sign, word)
    for sign in "\\`*_[]|":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())
