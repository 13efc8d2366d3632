"""What limits a system, in the terminal: the sentence, what it is worth, and the table of parts."""

from rich.console import Console

from headroom.gate.causes import CauseResult, Share
from headroom.quantities import format_percent
from headroom.report.compared.sentences import ratio_text
from headroom.report.terminal.columns import Column
from headroom.report.terminal.screen import Screen
from headroom.report.words import count_noun, join_words, title_metric

FASTER = 0.1
"""Share by which a part is made faster in the prediction."""
_BAR = 20
_MOST = 0.35
"""Share beyond which parts are slowed too much for a slope."""


def render_causes(result: CauseResult, console: Console) -> None:
    """Print what limits a system."""
    screen = Screen(console)
    screen.item("Limit", limit_sentence(result), "bold")
    for head, sentence in (
        ("Gain", gain_sentence(result)),
        ("Rest", rest_sentence(result)),
        ("Runs", runs_sentence(result)),
    ):
        if sentence:
            screen.item(head, sentence)
    for note in result.notes:
        screen.item("Note", note)
    _table(result.shares, screen)


def limit_sentence(result: CauseResult) -> str:
    """Return the answer.

    Examples
    --------
    >>> from headroom.experiment.protocol.system import Metric
    >>> rate = Metric(name="rate", unit="1/s", better="high", description="")
    >>> share = Share(part="db", by=0.1, rows=[], share=0.95, low=0.8, high=1.1)
    >>> limit_sentence(CauseResult(study="shop", experiment="load", levels={"users": 40},
    ...     metric=rate, base=100.0, verdict="part", named=["db"], shares=[share], stopped="sure"))
    '"db" limits at users = 40: a tenth less of it costs 9.5% (8.1 to 11) of the rate.'
    """
    where = _where(result)
    if result.verdict == "part":
        share = next(one for one in result.shares if one.part == result.named[0])
        what = "by what it waits for, not by what it computes, " if result.by_waiting else ""
        return (
            f'"{share.part}" limits {what}{where}: a tenth less of it costs {_cost(share)} of the '
            f"{_rate(result)}."
        )
    if result.verdict == "shared":
        parts = join_words([f'"{name}"' for name in result.named])
        shared = f"; {parts} share them" if parts else ""
        return f"The processors of the machine limit {where}, others' work included{shared}."
    if result.verdict == "load":
        return (
            f"The load limits {where}: the system carries all that is offered, and nothing "
            "in it limits."
        )
    if result.verdict == "nothing":
        return (
            f"Nothing that was slowed limits {where}: what does is outside of it (pauses of the "
            "load, a pool, a network, a device)."
        )
    return f"What limits {where} is undecided: no part stands out yet."


def gain_sentence(result: CauseResult) -> str:
    """Return what a faster part would give, as a prediction from the slope."""
    if result.verdict not in {"part", "shared"}:
        return ""
    gains = []
    for name in result.named:
        gain = next(one for one in result.shares if one.part == name).gain(FASTER)
        if gain is not None:
            value, low, high = (100.0 * one for one in gain)
            gains.append(f'"{name}" {FASTER:.0%} faster: {value:+.0f}% ({low:.0f} to {high:.0f})')
    return f"{'; '.join(gains)} of the {_rate(result)}, as the slope predicts." if gains else ""


def rest_sentence(result: CauseResult) -> str:
    """Return what would decide, or what is known of the rest."""
    if result.verdict == "undecided":
        by = max((one.by for one in result.shares), default=0.0)
        more = "" if by > _MOST else f"slow more (--by {2.0 * round(by, 1):.0%}), "
        return (
            f"{count_noun(result.blocks, 'block')} were not enough; measure more (--runs "
            f"{2 * max(result.blocks, 8)}), {more}or measure on a quieter machine."
        )
    if result.verdict == "nothing":
        return "Slow what the study sets, such as a pool: --less PARAMETER; or raise the load."
    if result.verdict == "load":
        return "Take a point with more load: --point."
    others = [one for one in result.shares if one.part not in result.named and one.high is not None]
    if not others:
        return ""
    most = max(one.high or 0.0 for one in others)
    return f"No other part that was slowed has more than {max(most, 0.0):.0%} of the limit."


def runs_sentence(result: CauseResult) -> str:
    """Return how much was run."""
    busy = ""
    if result.machine is not None:
        busy = f" The machine's processors were {format_percent(result.machine)} busy."
    return (
        f"{count_noun(result.blocks, 'block')} of one undisturbed run and one of each part, in "
        f"random order; intervals at 95%.{busy}"
    )


def _table(shares: list[Share], screen: Screen) -> None:
    if not shares:
        return
    ranked = sorted(shares, key=lambda one: -(one.share if one.share is not None else -1.0))
    columns = [
        Column("Slowed", [one.part for one in ranked]),
        Column("by", [format_percent(one.by) for one in ranked], is_number=True),
    ]
    for number, row in enumerate(ranked[0].rows):
        columns.append(
            Column(title_metric(row.metric), [ratio_text(one.rows[number]) for one in ranked])
        )
    columns.append(Column("Share of the limit", [_share(one) for one in ranked]))
    columns.append(Column("", [_bar(one) for one in ranked]))
    screen.table(columns)


def _share(one: Share) -> str:
    if one.share is None or one.low is None or one.high is None:
        return "not known"
    return f"{one.share:.2f} ({one.low:.2f} to {one.high:.2f})"


def _bar(one: Share) -> str:
    return "█" * round(_BAR * min(max(one.share or 0.0, 0.0), 1.0))


def _cost(share: Share) -> str:
    """Return what a part that is a tenth slower costs."""
    if share.share is None or share.low is None or share.high is None:
        return "an unknown part"
    cost, low, high = (100.0 * (1.0 - 0.9**one) for one in (share.share, share.low, share.high))
    return f"{cost:.2g}% ({low:.2g} to {high:.2g})"


def _where(result: CauseResult) -> str:
    levels = [f"{name} = {level}" for name, level in result.levels.items()]
    return f"at {join_words(levels)}" if levels else "here"


def _rate(result: CauseResult) -> str:
    return "speed" if result.metric.unit == "s" else title_metric(result.metric.name).lower()
