"""The answer of `headroom size` in the terminal: the sentences, then the search trail.

Invariant: prints what `SizingResult` holds.
"""

from rich.console import Console

from headroom.quantities import format_level
from headroom.report.numbers import format_plus_minus
from headroom.report.sentences.bottleneck import bottleneck_text
from headroom.report.sentences.runs import fault_words
from headroom.report.terminal.columns import Column
from headroom.report.terminal.screen import Screen
from headroom.report.words import count_noun, settings_words, title_metric
from headroom.sizing.conclusion import cost_words, words_of
from headroom.sizing.result import SizingResult, Trial


def render_sizing(result: SizingResult, console: Console) -> None:
    """Print the answer of a search for the smallest configuration, and its trail."""
    screen = Screen(console)
    screen.line(f"The smallest {result.subject} that meets its targets", "bold")
    for target in result.targets:
        screen.item("Target", target.text)
    screen.item("Cost", cost_words(result.axes))
    if result.fixed:
        screen.item("Fixed", fixed_words(result))
    for number, sentence in enumerate(answer_sentences(result)):
        screen.item("" if number else "Answer", sentence)
    screen.item("Effort", effort_words(result))
    _render_trail(result, screen)


def answer_sentences(result: SizingResult) -> list[str]:
    """Return the answer, and the bottleneck of the nearest configuration if there is no answer."""
    if result.limit is None:
        return [*result.statement, *_without_results(result)]
    return [*result.statement, f"Nearest configuration: {bottleneck_text(result.limit)}"]


def _without_results(result: SizingResult) -> list[str]:
    """Return why not a single configuration has figures; nothing if one has."""
    if result.best is not None or result.nearest is not None:
        return []
    reasons = [f"{words_of(step.levels)}: {words}." for step in result.trail
               if (words := _note_of(step))]  # fmt: skip
    return reasons[:1]


def _note_of(step: Trial) -> str:
    return step.note or ("" if step.fault is None else fault_words(step.fault))


def fixed_words(result: SizingResult) -> str:
    """Return the parameters that are not varied; of many, those that were changed."""
    return settings_words(result.fixed, result.changed)


def effort_words(result: SizingResult) -> str:
    """Return the cost of the search, as text."""
    simulated = len({str(step.levels) for step in result.trail if step.how == "simulation"})
    return (
        f"{simulated:,} of {count_noun(result.configurations, 'configuration')} simulated with "
        f"{count_noun(result.replications, 'replication')}, {result.screened:,} excluded by "
        f"formulas, {result.inferred:,} inferred; seed {result.seed}."
    )


def _render_trail(result: SizingResult, screen: Screen) -> None:
    shown = result.trail
    columns = [Column("#", [str(one.number) for one in shown], is_number=True)]
    columns += [
        Column(axis.name, [format_level(one.levels[axis.name]) for one in shown], is_number=True)
        for axis in result.axes
    ]
    columns.append(Column("Cost", [format_level(one.cost) for one in shown], is_number=True))
    columns.append(Column("Verdict", [one.verdict for one in shown]))
    columns += [
        Column(
            title_metric(target.metric),
            [figure_of(one, target.metric) for one in shown],
            is_number=True,
        )
        for target in result.targets
    ]
    columns.append(Column("n", [_effort(one) for one in shown]))
    screen.table(columns)
    for place, (why, numbers) in enumerate(reasons_of(result).items()):
        screen.item("" if place else "Why", f"# {numbers}: {why}")


def _effort(trial: Trial) -> str:
    return str(trial.replications) if trial.how == "simulation" else trial.how


def reasons_of(result: SizingResult) -> dict[str, str]:
    """Return why places were looked at or excluded, with their numbers in the trail."""
    numbers: dict[str, list[int]] = {}
    for step in result.trail:
        why = (
            step.why
            if step.how == "simulation"
            else "a formula excluded it"
            if step.how == "formula"
            else "overload"
        )
        note = _note_of(step)
        numbers.setdefault(f"{why}; {note}" if note else why, []).append(step.number)
    return {why: ", ".join(map(str, found)) for why, found in numbers.items()}


def figure_of(trial: Trial, metric: str) -> str:
    """Return the figure of a metric at a configuration, with its interval."""
    check = next((one for one in trial.checks if one.target.metric == metric), None)
    if check is None or check.value is None:
        return ""
    bounds = (check.low, check.high)
    return format_plus_minus(check.value, bounds, check.target.unit, metric=metric)
