"""The answer of `headroom size` in the terminal: the sentences, then the trail.

Invariant: prints what `SizingResult` holds.
"""

from rich.console import Console

from headroom.quantities import format_level
from headroom.report.terminal import Column, Screen
from headroom.report.words import count_noun
from headroom.sizing.conclusion import cost_words, format_check
from headroom.sizing.result import SizingResult, Trial


def render_sizing(result: SizingResult, console: Console) -> None:
    """Print the answer of a search for the smallest configuration, and its trail."""
    screen = Screen(console)
    screen.line(f"The smallest {result.subject} that meets its targets", "bold")
    for target in result.targets:
        screen.item("Target", target.text)
    screen.item("Cost", cost_words(result))
    if result.fixed:
        screen.item("Fixed", ", ".join(f"{n} = {format_level(v)}" for n, v in result.fixed.items()))
    for number, sentence in enumerate(result.statement):
        screen.item("" if number else "Answer", sentence)
    screen.item("Effort", effort_words(result))
    _render_trail(result, screen)


def effort_words(result: SizingResult) -> str:
    """Return what the search took, in words."""
    simulated = len({str(one.levels) for one in result.trail if one.how == "simulation"})
    return (
        f"{simulated:,} of {count_noun(result.configurations, 'configuration')} simulated with "
        f"{count_noun(result.replications, 'replication')}, {result.screened:,} excluded by "
        f"formulas, {result.inferred:,} inferred; seed {result.seed}."
    )


def _render_trail(result: SizingResult, screen: Screen) -> None:
    shown = result.trail
    names = [axis.name for axis in result.axes]
    columns = [Column("#", [str(one.number) for one in shown], is_number=True)]
    columns += [
        Column(name, [format_level(one.levels[name]) for one in shown], is_number=True)
        for name in names
    ]
    columns.append(Column("cost", [format_level(one.cost) for one in shown], is_number=True))
    columns.append(Column("verdict", [one.verdict for one in shown]))
    columns += [
        Column(target.metric, [_figure(one, target.metric) for one in shown])
        for target in result.targets
    ]
    columns.append(Column("n", [str(one.replications or "-") for one in shown], is_number=True))
    columns.append(Column("looked at because", [_why(one) for one in shown]))
    screen.table(columns)


def _why(trial: Trial) -> str:
    return trial.note if trial.how != "simulation" else trial.why


def _figure(trial: Trial, metric: str) -> str:
    check = next((one for one in trial.checks if one.target.metric == metric), None)
    return format_check(check) if check else ""
