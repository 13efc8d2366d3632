"""Histories in the terminal and as a page: the changes first, then each series, drawn.

Invariant: restates `HistoryResult`.
"""

from collections.abc import Sequence

import msgspec
from rich.console import Console

from headroom.experiment.protocol.system import Value
from headroom.gate.changes import Change, Spread, pulses_of
from headroom.gate.series import HistoryResult, HistorySeries
from headroom.quantities import format_limit, format_quantity
from headroom.report.compared.figure import Figure, draw_lines
from headroom.report.compared.sentences import change_words, label_place
from headroom.report.layout import static_page
from headroom.report.tables.tables import rest_note
from headroom.report.terminal.columns import Column
from headroom.report.terminal.screen import Screen
from headroom.report.words import count_noun, join_words, label_metric, title_metric

_BARS = "▁▂▃▄▅▆▇█"
_COLUMNS_A_BAR = 5
"""Columns of the terminal for each bar of a course: names of metrics then fit into 80."""
_SENTENCES, _ROWS, _FIGURES = 8, 60, 24
_FACTS = 3


def change_sentences(result: HistoryResult) -> list[str]:
    """Return each step, pulse, change of spread and drift as a sentence, or that there is none."""
    found = [(pair, one) for one in result.series for pair in _abrupt(one)]
    found.sort(key=lambda pair: (not is_worse(pair[1], pair[0][0]), pair[0][0].p_value))
    said = [_change(series, *pair) for pair, series in found]
    said += [_moved(series) for series in result.series if _drift(series)]
    said += [_spread(series, series.spread) for series in result.series if series.spread]
    unclear = [_outside(series) for series in result.series if series.outside]
    quiet = [one for one in result.series if _is_quiet(one)]
    if not said and quiet:
        said = [_none(result, quiet)]
    said += unclear
    rest = len(said) - _SENTENCES
    return [*said[:_SENTENCES], *([f"{rest} more: see the table."] if rest > 0 else [])]


def _is_quiet(series: HistorySeries) -> bool:
    return not (series.changes or series.outside or series.spread)


def _abrupt(series: HistorySeries) -> list[tuple[Change, Change | None]]:
    """Return each step, and each beginning of a pulse with its end."""
    ends = {first.place: end for first, end in pulses_of(series.changes)}
    over = {end.place for end in ends.values()}
    return [
        (change, ends.get(change.place))
        for change in series.changes
        if change.is_step and change.place not in over
    ]


def _spread(series: HistorySeries, spread: Spread) -> str:
    """Return a change of the scatter."""
    before, after = (
        format_quantity(value, series.unit, metric=series.metric)
        for value in (spread.before, spread.after)
    )
    since = f"since {series.results[spread.place].date[:16]}"
    return (
        f"{_where(series)}{label_metric(series.metric)} scatters by {after} instead of {before} "
        f"around its level {since}, result {spread.place + 1} of {len(series.results)}."
    )


def _none(result: HistoryResult, quiet: Sequence[HistorySeries]) -> str:
    longest = max(len(series.results) for series in result.series)
    if longest < result.fewest:
        need = f"a change can be found from {result.fewest} results on"
        return f"Too few results to say: {count_noun(longest, 'result')}; {need}."
    rest = " of the others" if len(quiet) < len(result.series) else ""
    where = f"{count_noun(len(quiet), 'series', 'series')}{rest}"
    return f"No step, pulse, drift or change of spread found in {where}."


def _outside(series: HistorySeries) -> str:
    """Return which results lie outside the others: the last ones, else the farthest."""
    total = len(series.results)
    one = max(series.outside, key=lambda one: (one.first + one.count == total, one.distance))
    end = one.first + one.count
    which = f"result {end}" if one.count == 1 else f"results {one.first + 1} to {end}"
    value, usual = (
        format_quantity(value, series.unit, metric=series.metric)
        for value in (one.value, one.usual)
    )
    others = f", and so do {len(series.outside) - 1} more" if series.outside[1:] else ""
    yet = ": whether its level changed cannot be seen yet" if end == total else ""
    return (
        f"{_where(series)}{label_metric(series.metric)}: {which} of {total} "
        f"{'lies' if one.count == 1 else 'lie'} outside the rest ({value}, usually {usual})"
        f"{others}{yet}."
    )


def _drift(series: HistorySeries) -> list[Change]:
    """Return the changes of level that are not abrupt."""
    return [change for change in series.changes if not change.is_step]


def _moved(series: HistorySeries) -> str:
    first, last = (_drift(series)[place] for place in (0, -1))
    before, after = (
        format_quantity(value, series.unit, metric=series.metric)
        for value in (first.before, last.after)
    )
    return (
        f"{_where(series)}{label_metric(series.metric)} moved from {before} to {after} over "
        f"{len(series.results)} results: a drift, or steps that cannot be distinguished from one."
    )


def _change(series: HistorySeries, change: Change, end: Change | None = None) -> str:
    moved = (
        f"{format_quantity(change.before, series.unit, metric=series.metric)} to "
        f"{format_quantity(change.after, series.unit, metric=series.metric)}"
        if change.ratio is None
        else change_words(change.ratio, change.low, change.high)
    )
    first = series.results[change.place]
    commit = f", commit {first.commit[:10]}" if first.commit else ""
    verdict = (
        "" if series.better == "none" else f" ({'worse' if is_worse(series, change) else 'better'})"
    )
    which = f"since {first.date[:16]}{commit}, result {change.place + 1} of {len(series.results)}"
    if end is not None:
        last = series.results[end.place - 1]
        which = (
            f"from {first.date[:16]}{commit} to {last.date[:16]}, a pulse of "
            f"{count_noun(end.place - change.place, 'result')}, "
            f"{change.place + 1} to {end.place} of {len(series.results)}"
        )
    return (
        f"{_where(series)}{label_metric(series.metric)} {moved} {which}{verdict}{_beside(change)}."
    )


def _beside(change: Change) -> str:
    """Return what else changed just there."""
    if not change.beside:
        return ""
    rest = len(change.beside) - _FACTS
    more = [f"{rest} more"] if rest > 0 else []
    return f"; exactly there: {join_words([*change.beside[:_FACTS], *more])}"


def is_worse(series: HistorySeries, change: Change) -> bool:
    """Return whether a change went in the wrong direction."""
    return series.better != "none" and (change.after > change.before) == (series.better == "low")


def _where(series: HistorySeries) -> str:
    place = label_place(series)
    return f"{place}: " if place else ""


def caution_sentences(result: HistoryResult) -> list[str]:
    """Return the other machines, and the changes that could not have been seen."""
    machines = [
        f"Results of {name} are lines of their own: {how}." for name, how in result.machines.items()
    ]
    return [*machines, *_unseen(result)]


def _unseen(result: HistoryResult) -> list[str]:
    """Return which changes the test cannot find, however large they are."""
    found = []
    needed = sorted({one.results_after for one in result.series if one.results_after is not None})
    if needed:
        few, many = (_span([one - less for one in needed]) for less in (1, 0))
        found.append(
            f"A change within the last {few} results could not have been seen: among so many "
            f"results it needs at least {many} after it."
        )
    short = [one for one in result.series if one.results_after is None and one.changes]
    if short:
        found.append(
            f"No change after the last one could have been seen in "
            f"{count_noun(len(short), 'series', 'series')}: too few results since."
        )
    return found


def _span(numbers: Sequence[int]) -> str:
    first, last = numbers[0], numbers[-1]
    return f"{first}" if first == last else f"{first} to {last}"


def level_sentence(result: HistoryResult) -> str:
    """Return the error rate."""
    series = count_noun(len(result.series), "series", "series")
    return (
        f"{series}; without a step, one is reported in at most about {format_limit(result.level)} "
        "of cases, up to 4 times as often if the level walks at random."
    )


def render_history(result: HistoryResult, console: Console) -> None:
    """Print a history."""
    screen = Screen(console)
    parts = {
        "Changes": change_sentences(result),
        "Caution": caution_sentences(result),
        "Rate": [level_sentence(result)],
    }
    for head, sentences in parts.items():
        for number, sentence in enumerate(sentences):
            screen.item("" if number else head, sentence)
    shown = result.series[:_ROWS]
    most = console.width // _COLUMNS_A_BAR
    same = set.intersection(*({*series.levels.items()} for series in result.series))
    is_unicode = console.encoding.lower().startswith("utf")
    screen.table(
        [
            Column("Point", [_place(series, same) for series in shown]),
            Column("Metric", [title_metric(series.metric) for series in shown]),
            *([Column("Course", [bars(series, most) for series in shown])] if is_unicode else []),
            Column("First", [_value(series, 0) for series in shown], is_number=True),
            Column("Last", [_value(series, -1) for series in shown], is_number=True),
            Column("Changes", [_count(series) for series in shown]),
            Column("n", [str(len(series.results)) for series in shown], is_number=True),
        ]
    )
    if rest := rest_note(len(shown), len(result.series), "series"):
        screen.line(rest, "dim")


def _place(series: HistorySeries, same: set[tuple[str, Value]]) -> str:
    """Return the levels of a series that another one does not have."""
    levels = {name: level for name, level in series.levels.items() if (name, level) not in same}
    return label_place(msgspec.structs.replace(series, levels=levels)) or "all"


def _count(series: HistorySeries) -> str:
    pulses = sum(end is not None for _, end in _abrupt(series))
    steps = len(_abrupt(series)) - pulses
    return ", ".join(filter(None, [count_noun(steps, "step") if steps else "",
        count_noun(pulses, "pulse") if pulses else "",
        "drift" if _drift(series) else "",
        "spread" if series.spread else "",
        "unclear" if series.outside else ""])) or "none found"  # fmt: skip


def _value(series: HistorySeries, place: int) -> str:
    return format_quantity(series.results[place].value, series.unit, metric=series.metric)


def bars(series: HistorySeries, most: int) -> str:
    """Return the course of a series as so many bars from its smallest to its largest value."""
    values = [found.value for found in series.results]
    count = min(len(values), most)
    means = [
        sum(part) / len(part)
        for n in range(count)
        if (part := values[n * len(values) // count : (n + 1) * len(values) // count])
    ]
    low, gap = min(means), (max(means) - min(means)) or 1.0
    return "".join(_BARS[round((mean - low) / gap * (len(_BARS) - 1))] for mean in means)


def render_history_page(result: HistoryResult) -> str:
    """Return the HTML of a history: what changed on top, then a figure of each metric."""
    drawn = sorted(result.series, key=lambda series: not (series.changes or series.spread))[
        :_FIGURES
    ]
    return static_page(
        "static.html",
        title=f"{result.title}: history",
        answer=change_sentences(result),
        runs=level_sentence(result),
        cautions=caution_sentences(result),
        figures=[_figure(series) for series in drawn],
        tables=[],
        records=[],
        command=result.command,
        version=result.headroom_version,
    )


def _figure(series: HistorySeries) -> Figure:
    values = [found.value for found in series.results]
    marks = {} if series.spread is None else {series.spread.place: "spread at"}
    for change, end in _abrupt(series):
        marks[change.place] = "step at" if end is None else "pulse from"
        marks |= {} if end is None else {end.place: "level again at"}
    dates = [series.results[place].date[:10] for place in (0, -1)]
    label = f"{len(values)} results, {dates[0]} to {dates[1]}"
    said = [_change(series, *pair) for pair in _abrupt(series)]
    said += [_moved(series)] if _drift(series) else []
    said += [_spread(series, series.spread)] if series.spread else []
    said += [_outside(series)] if series.outside else []
    return Figure(
        f"{_where(series)}{label_metric(series.metric)}",
        draw_lines({label: values}, series.unit, series.metric, title="result", marks=marks),
        " ".join(said) or "Nothing found.",
    )
