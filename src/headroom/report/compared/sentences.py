"""Comparisons as sentences: the answer, the gate, the noise of the machine, cautions.

Invariant: restates `ComparisonResult`; no sentence says more than an interval or a verdict.
"""

import math
from collections import Counter
from collections.abc import Sequence

from headroom.analysis.answer_evidence import Record
from headroom.analysis.results import PointResult
from headroom.gate.result import Arm, ComparisonResult, Gate, Noise, Row, Sight, Suspicion
from headroom.gate.series import HistorySeries
from headroom.quantities import format_level, format_limit, format_plain, format_ratio
from headroom.report.first_screen.sentences.sentence import NO_BREAK
from headroom.report.first_screen.sentences.statements import statement_sentence
from headroom.report.notes.measuring import causes_of, disturbance_cautions
from headroom.report.titles import study_titles
from headroom.report.words import count_noun, join_words, label_metric

_PERCENT_FROM, _PERCENT_TO = 0.5, 2.0
"""Ratios in between are printed as a change in per cent, others as a multiple."""
_SHOWN = 4
_STOPPED = {
    "max_runs": "--max-runs ended the comparison before every interval was narrow enough",
    "max_time": "the time was up before every interval was narrow enough",
    "interrupted": "interrupted: these are the results so far",
}
DOUBTS = {
    "few_runs": "too few runs for an interval",
    "single_runs": "one run each",
    "not_positive": "zeros have no ratio",
    "missing": "no results on one side",
    "unbounded": "saturated",
}


def label_arm(result: ComparisonResult, name: str) -> str:
    """Return an arm in double quotes, as the user called it."""
    return f'"{next((arm.label for arm in result.arms if arm.name == name), name)}"'


def label_place(row: Row | Noise | Sight | HistorySeries) -> str:
    """Return the experiment and the levels of a row; empty for commands."""
    levels = [f"{name} = {format_level(level)}" for name, level in row.levels.items()]
    machine = row.machine if isinstance(row, HistorySeries) else ""
    return ", ".join(filter(None, [row.experiment, *levels, machine]))


def change_words(ratio: float, low: float | None, high: float | None) -> str:
    """Return a ratio as a change in per cent; as a multiple if it or its interval is large.

    Examples
    --------
    >>> from headroom.quantities import to_ascii
    >>> change_words(1.052, 1.031, 1.074), change_words(0.9, None, None)
    ('5.2% higher (3.1% to 7.4%)', '10% lower')
    >>> to_ascii(change_words(0.999, 0.99, 1.008)), to_ascii(change_words(3.04, 2.9, 3.2))
    ('0.1% lower (-0.8% to 1.0%)', '3.04x (2.90 to 3.20)')
    >>> change_words(1.0, 1.0, 1.0)
    'equal in every run'
    """
    if low == ratio == high == 1.0:
        return "equal in every run"
    ends = [end for end in (low, ratio, high) if end is not None]
    if not is_in_percent(ends):
        return format_ratio(ratio, low, high)
    sign = 1.0 if ratio >= 1.0 else -1.0
    word = "higher" if sign > 0.0 else "lower"
    reach = math.inf if low is None or high is None else (high - low) * 50.0
    decimals = 0 if reach >= 5.0 else 1 if reach >= 0.1 else 2  # noqa: PLR2004 - digits shown
    size = abs(ratio - 1.0) * 100.0
    if low is None or high is None:
        return f"{format_plain(size, decimals=decimals)}% {word}"
    bounds = sorted((sign * (low - 1.0) * 100.0, sign * (high - 1.0) * 100.0))
    shown = [f"{format_plain(bound, decimals=decimals)}%" for bound in bounds]
    return f"{format_plain(size, decimals=decimals)}% {word} ({shown[0]} to {shown[1]})"


def is_in_percent(ratios: Sequence[float]) -> bool:
    """Return whether ratios are printed as changes in per cent, not as multiples."""
    return _PERCENT_FROM < min(ratios) <= max(ratios) < _PERCENT_TO


def ratio_text(row: Row) -> str:
    """Return the ratio of a row with its interval."""
    return "" if row.ratio is None else format_ratio(row.ratio, row.low, row.high)


def row_words(row: Row) -> str:
    """Return the verdict on a row as a clause."""
    metric = label_metric(row.metric)
    if row.ratio is None:
        return f"{metric} {row.verdict} ({DOUBTS.get(row.doubt, 'zeros have no ratio')})"
    return f"{metric} {change_words(row.ratio, row.low, row.high)}, {verdict_word(row)}"


def verdict_word(row: Row) -> str:
    """Return the verdict: faster and slower for times, better and worse for the rest."""
    words = {"better": "faster", "worse": "slower"} if row.metric == "wall_s" else {}
    return words.get(row.verdict, row.verdict)


def answer_sentences(result: ComparisonResult) -> list[str]:
    """Return the answer: one sentence for each arm, or counts where there are many rows."""
    if result.kind == "commands":
        return [_of_arm(result, arm) for arm in result.arms[1:]]
    different = [row for row in result.rows if row.verdict not in {"same", "undecided"}]
    worst = sorted(different, key=lambda row: (row.verdict != "worse", row.adjusted or 0.0))
    names = [f"{label_place(row)}: {row_words(row)}." for row in worst[:_SHOWN]]
    if len(worst) > _SHOWN:
        names.append(f"{count_noun(len(worst) - _SHOWN, 'more difference')}: see the table.")
    if result.rows and all(row.doubt == "single_runs" for row in result.rows):
        names.append("Undecided: one run each. Run both again with replications.count = 6 or more.")
    return [_counts(result), *names]


def asked_sentences(result: ComparisonResult) -> list[str]:
    """Return what each question of saved results is answered with, in the base and now."""
    base, *others = result.arms
    told = [
        _asked(record, base, other, names=len(others) > 1)
        for other in others
        for record in base.records
    ]
    rest = [f"{count_noun(len(told) - _SHOWN, 'more answer')}: see --json."]
    return [*told[:_SHOWN], *(rest if len(told) > _SHOWN else [])]


def _asked(record: Record, base: Arm, other: Arm, *, names: bool) -> str:
    """Return the answer to a question in two results, once if it is the same."""
    now = next((one for one in other.records if _question(one) == _question(record)), None)
    whose = f' ("{other.label}")' if names else ""
    before = _answer(record, base)
    if now is None:
        return f"{before}{whose} Not asked any more."
    after = _answer(now, other)
    start = f"{record.question} " if record.question else ""
    if before == after:
        return f"{start}As before{whose}: {after}"
    return f"{start}Before: {before} Now{whose}: {after}"


def _question(record: Record) -> tuple[str, str, str, str, list[object]]:
    held = sorted(record.where.items())
    return record.ask, record.question, record.experiment, record.metric, [*held]


def _answer(record: Record, arm: Arm) -> str:
    with study_titles(arm.titles):
        return statement_sentence(record.statement).text.replace(NO_BREAK, " ")


def _counts(result: ComparisonResult) -> str:
    counts = Counter(row.verdict for row in result.rows)
    if not result.rows:
        return "Nothing can be compared."
    zone = format_limit(result.same_within)
    named: dict[str, str] = {"same": f"the same within {zone}"}
    parts = [f"{count} {named.get(verdict, verdict)}" for verdict, count in counts.items()]
    base, other = result.arms[0].label, result.arms[1].label
    return (
        f'"{other}" against "{base}", {count_noun(len(result.rows), "row")}: {join_words(parts)}.'
    )


def _of_arm(result: ComparisonResult, arm: Arm) -> str:
    rows = [row for row in result.rows if row.arm == arm.name]
    if not rows:
        return f'"{arm.label}" has no results.'
    clauses = "; ".join(row_words(row) for row in rows)
    return f"{label_arm(result, arm.name)} vs {label_arm(result, rows[0].base)}: {clauses}."


def gate_sentences(result: ComparisonResult) -> list[str]:
    """Return the decision of the gate and its basis; empty if there is no gate."""
    gate = result.gate
    if gate is None:
        return []
    found = [_gate_verdict(gate)]
    found += _sight_sentences(result, gate)
    found += [_suspicion(result, one) for one in gate.suspicions]
    if gate.not_repeated:
        found.append(
            f"Not measured again: {gate.not_repeated}. The figures come from different times, so a "
            "drift of the machine may look like a regression."
        )
    found += [f"No results: {name}." for name in gate.missing[:_SHOWN]]
    if len(gate.missing) > _SHOWN:
        found.append(f"{len(gate.missing) - _SHOWN} more have no results.")
    return [
        *found,
        f"{count_noun(gate.rows, 'row')} judged; the probability of a false alarm is at most "
        f"{format_limit(gate.level)} in all.",
    ]


def _sight_sentences(result: ComparisonResult, gate: Gate) -> list[str]:
    """Return what a gate that found nothing could have seen, and what would see more."""
    if gate.verdict == "passed":
        chosen = {repr((one.arm, one.experiment, one.levels, one.metric)): one
                  for one in gate.sights if one.is_blind}  # fmt: skip
        sharp = [one for one in gate.sights if not one.is_blind]
        worst = max(sharp, key=lambda one: one.detectable, default=None)
        found = [] if worst is None else [
            f"It would have been seen: {_seen(worst)} or more"
            f"{' in the widest row' if len(sharp) > 1 else ''} is found in 9 of 10 first looks."
        ]  # fmt: skip
        return found + [
            f"Not judged by {label_metric(one.metric)} alone, which shows {_size(one)} or more: "
            f"time that is waited, not computed, needs {_more(result, one)}."
            for one in list(chosen.values())[:_SHOWN]
        ]
    if gate.verdict != "blind":
        return []
    found = [
        f"{_of_sight(result, one)}: {_seen(one)} or more would have been seen; "
        f"{format_limit(gate.threshold)} needs {_more(result, one)}."
        for one in gate.blind[:_SHOWN]
    ]
    if rest := len(gate.blind) - len(found):
        found.append(f"{rest} more rows are blind: see --json.")
    found += [
        f"{label_metric(one.metric).capitalize()} sees {_size(one)} with the same runs: --metric "
        f"{one.metric}."
        for one in gate.elsewhere[:1]
    ]
    return [*found, "Or take longer programs, or a quieter machine."]


def _size(sight: Sight) -> str:
    return format_limit(sight.detectable)


def _seen(sight: Sight) -> str:
    return f"{_size(sight)} of {label_metric(sight.metric)}"


def _of_sight(result: ComparisonResult, sight: Sight) -> str:
    return ", ".join(filter(None, [label_arm(result, sight.arm), label_place(sight)]))


def _more(result: ComparisonResult, sight: Sight) -> str:
    """Return how many blocks or runs would see the threshold."""
    if sight.needed is None:
        return "more runs"
    if result.kind == "results":
        return f"about {sight.needed:,} runs of each"
    return f"about {sight.needed:,} blocks (--runs {sight.needed})"


def _gate_verdict(gate: Gate) -> str:
    bound = format_limit(gate.threshold)
    count = sum(one.verdict == "regression" for one in gate.suspicions)
    regressions = count_noun(count, "regression")
    return {
        "regression": f"{regressions}: surely worse, possibly by {bound} or more.",
        "passed": f"No regression of {bound} or more was found.",
        "blind": f"Blind: a regression of {bound} could not have been seen.",
        "missing": "The gate cannot pass: results are missing.",
        "unconfirmed": "The gate cannot pass: a suspicion could not be measured again.",
    }[gate.verdict]


def _suspicion(result: ComparisonResult, one: Suspicion) -> str:
    row = one.again or one.first
    runs = f"{row.pairs} new blocks" if row.pairs else f"{row.count} new runs of each"
    who = ", ".join(filter(None, [label_arm(result, row.arm), label_place(row)]))
    if one.verdict == "regression":
        how = f"confirmed by {runs}" if one.again else "by one look only"
    else:
        how = {
            "cleared": f"suspected, and cleared by {runs}",
            "noise": f"suspected, but the base differs from itself as much in {runs}",
        }.get(one.verdict, "suspected, not confirmed")
    change = "" if row.ratio is None else f" {change_words(row.ratio, row.low, row.high)}"
    return f"{who}: {label_metric(row.metric)}{change}, {how}."


def noise_sentences(result: ComparisonResult) -> list[str]:
    """Return what the machine does by itself: the base against itself, or its sessions."""
    return [_noise(result, noise) for noise in result.noise[:_SHOWN]]


def _noise(result: ComparisonResult, noise: Noise) -> str:
    who = ", ".join(filter(None, [label_arm(result, result.arms[0].name), label_place(noise)]))
    found = []
    if noise.scatter is not None and noise.detectable is not None:
        found.append(
            f"one run scatters by {format_limit(noise.scatter)}: 9 of 10 "
            f"{'comparisons' if noise.sessions else 'first looks'} find "
            f"{format_limit(noise.detectable)}"
        )
    if noise.between is not None:
        found.append(
            f"{noise.sessions} sessions of the same code differ by up to "
            f"{format_limit(noise.between)}"
        )
    if noise.sessions:
        return f"{who}: {label_metric(noise.metric)}: {'; '.join(found) or 'too few runs to tell'}."
    itself = "no ratio" if noise.ratio is None else change_words(noise.ratio, noise.low, noise.high)
    said = "; ".join([itself, *found])
    return f"{who} against itself: {label_metric(noise.metric)} {said}."


def caution_sentences(result: ComparisonResult) -> list[str]:
    """Return the cautions: disturbances, early ends, forced comparisons."""
    found = [f"{_STOPPED[result.stopped]}."] if result.stopped in _STOPPED else []
    found += _needed_sentences(result)
    for arm in result.arms:
        point = PointResult(
            key="", levels={}, done=arm.done, failed=arm.failed, disturbances=arm.disturbances
        )
        said = disturbance_cautions(point)
        if said and result.kind != "commands":  # Replications of several points have equal numbers.
            said = [f"some replications disturbed: {causes_of([point])}."]
        found += [f'"{arm.label}": {one}' for one in said]
        if arm.failed:
            found.append(f'"{arm.label}": {count_noun(arm.failed, "run")} failed.')
    for noise in result.noise:
        if noise.low is not None and noise.high is not None and not noise.low <= 1 <= noise.high:
            found.append(
                f"The base differs from itself in {label_metric(noise.metric)}: the machine is "
                "disturbed, or this is the one case in 20."
            )
    if result.forced:
        found.append("These results are not comparable; --force compared them.")
    return [*found, *result.cautions, *_left_out(result.left_out)]


def _needed_sentences(result: ComparisonResult) -> list[str]:
    counts = [row.needed for row in result.rows if row.needed and row.needed > row.count]
    if not counts or result.kind == "results":
        return []
    rows = count_noun(len(counts), "undecided row")
    return [f"About {max(counts):,} blocks would decide {rows}."]


def _left_out(names: Sequence[str]) -> list[str]:
    rest = [f"{len(names) - _SHOWN} more are not compared."] if len(names) > _SHOWN else []
    return [*(f"Not compared: {name}." for name in names[:_SHOWN]), *rest]
