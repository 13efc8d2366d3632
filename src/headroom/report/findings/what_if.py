"""Effects of changes of stations and pools, as sentences and tables.

Invariant: restates `WhatIfResult`; nothing is computed here.
"""

from collections.abc import Iterator, Sequence

from rich.console import Console

from headroom.analysis.results import (
    Effect,
    ExperimentResult,
    PointResult,
    WhatIfResult,
)
from headroom.quantities import format_bounds, format_given, format_ratio
from headroom.report.notes.remarks import cautions_of
from headroom.report.notes.saturation import saturation_words
from headroom.report.numbers import format_estimate
from headroom.report.sentences.bottleneck import bottleneck_text
from headroom.report.sentences.numbers import capital
from headroom.report.sentences.what_if import (
    changes_words,
    effects_clause,
    next_bottleneck,
    no_effect_words,
)
from headroom.report.tables.tables import Cell, Head, Table
from headroom.report.terminal.columns import Column
from headroom.report.terminal.screen import Screen
from headroom.report.words import count_noun, join_words, label_metric, label_point, title_metric

_MOST_SAVED = 1000.0
"""Variance reduction beyond which the exact number says nothing more."""
_METRICS_SHOWN = 3
_METRICS_IN_TERMINAL = 2
_SENTENCES_AT_MOST = 4


def format_effect(effect: Effect) -> str:
    """Return how many times the value before the value after is, with its interval.

    Examples
    --------
    >>> effect = Effect(metric="throughput", unit="1/s", better="high", before=222.0, after=284.9,
    ...     ratio=1.2835, low=1.2771, high=1.2912, pairs=5, variance_reduction=1.3)
    >>> format_effect(effect).replace("\u00d7", "x")
    '1.284x (1.277 to 1.291)'

    If the runs do not bound the ratio, what the change leads to is known all the same:

    >>> from msgspec.structs import replace
    >>> format_effect(replace(effect, low=None, high=None, after_low=280.1, after_high=289.7))
    'to 285 /s (280 to 290)'
    """
    if effect.low is None or effect.high is None:
        ends = (effect.after_low, effect.after_high)
        return f"to {format_bounds(effect.after, *ends, effect.unit, metric=effect.metric)}"
    if effect.low <= 0.0 < effect.high:
        return f"at most {format_ratio(effect.high, None, None)}"
    return format_ratio(effect.ratio, effect.low, effect.high)


def format_saving(effect: Effect) -> str:
    """Return how many times more replications would be needed without pairing by seeds.

    Examples
    --------
    >>> effect = Effect(metric="throughput", unit="1/s", better="high", before=1.0, after=1.0,
    ...     ratio=1.0, low=1.0, high=1.0, pairs=5, variance_reduction=None)
    >>> format_saving(effect)
    'over 1,000 times'
    >>> from msgspec.structs import replace
    >>> format_saving(replace(effect, variance_reduction=4.4, variance_reduction_low=0.46,
    ...     variance_reduction_high=42.2))
    '4.4 times (0.46 to 42)'
    """
    variance_reduction = effect.variance_reduction
    if variance_reduction is None or variance_reduction > _MOST_SAVED:
        return f"over {_MOST_SAVED:,.0f} times"
    found = f"{_two_digits(variance_reduction)} times"
    low, high = effect.variance_reduction_low, effect.variance_reduction_high
    if low is None or high is None:
        return found
    return f"{found} ({_two_digits(low)} to {_two_digits(high)})"


def _two_digits(value: float) -> str:
    return format_given(float(f"{value:.2g}"), "1")


def what_if_sentences(experiment: ExperimentResult) -> list[str]:
    """Return the effects of doubling at the most loaded point with what-if runs, best first."""
    found = _last_tried(experiment)
    if found is None:
        return []
    point, tried = found
    told = [(one, _telling(one)) for one in tried if _telling(one)]
    where = f"At {label_point(point, experiment.factors)}, " if len(experiment.points) > 1 else ""
    sentences = [
        " ".join(filter(None, [f"{capital(f'{where}{changes_words(one)}')}: {words}.", _then(one)]))
        for one, words in told[:_SENTENCES_AT_MOST]
    ]
    if point.what_ifs_left_out:
        rest = count_noun(point.what_ifs_left_out, "more used-up resource")
        sentences.append(
            f"{rest} not doubled there: the bottleneck and the busiest come first "
            "(`what_if.changes` in the study)."
        )
    if experiment.what_if_replications:
        runs = count_noun(experiment.what_if_replications, "extra replication")
        sentences.append(f"What-if runs: {runs}.")
    return sentences


def _last_tried(experiment: ExperimentResult) -> tuple[PointResult, list[WhatIfResult]] | None:
    tried = [(point, point.what_ifs) for point in experiment.points if point.what_ifs]
    return tried[-1] if tried else None


def _telling(found: WhatIfResult) -> str:
    effects = [effect for effect in found.effects if effect.better != "none"][:2]
    if not effects:
        return no_effect_words(found)
    steady = steadiness(found)
    return f"{effects_clause(effects)}{f'; {steady}' if steady else ''}"


def steadiness(found: WhatIfResult) -> str:
    """Return whether a change brings a steady state to a saturated point, or saturates one.

    Examples
    --------
    >>> from headroom.analysis.results import Saturation
    >>> full = Saturation(kind="station", name="cpu", basis="formulas", load=1.2)
    >>> steadiness(WhatIfResult(change="", done=5, failed=0, saturation=full))
    'saturated then: station "cpu" is offered 1.20 times its capacity'
    """
    if found.saturation is not None:
        return f"saturated then: {saturation_words(found.saturation)}"
    if not found.reached:
        return ""
    reached = [f"{label_metric(one.metric)} {format_estimate(one)}" for one in found.reached]
    return f"steady then, with {join_words(reached)}"


def _then(found: WhatIfResult) -> str:
    return next_bottleneck(found.bottleneck) if found.effects else ""


def what_if_table(experiment: ExperimentResult, *, at_most: int) -> Table | None:
    """Return one row for each change at each point, None if nothing was tried."""
    placed = [(point, found) for point in experiment.points for found in point.what_ifs]
    if not placed:
        return None
    metrics = _metrics(experiment)
    rows = [
        [
            Cell(label_point(point, experiment.factors), is_head=True),
            Cell(
                changes_words(found),
                found.change,
                remark=no_effect_words(found) or steadiness(found),
            ),
            *(_cell(found, metric) for metric in metrics),
            Cell(_limit_then(found)),
            Cell(str(found.done), str(found.done), is_number=True),
        ]
        for point, found in placed[:at_most]
    ]
    heads = [Head("Point"), Head("Change")]
    heads += [
        Head(title_metric(metric), "times", is_number=True, hint=metric) for metric in metrics
    ]
    heads += [Head("Limits then"), Head("n", is_number=True, hint="pairs of replications")]
    note = (
        "Each change ran with the seeds of its point. The ratio after / before has its 95% "
        "interval over the pairs; in small print, how many times more replications it would take "
        "without pairs (below 1: pairing did not help). "
        + ("" if len(rows) == len(placed) else f"The first {len(rows)} of {len(placed)} rows.")
    )
    return Table("Effect of each change", heads, rows, note.strip())


def _metrics(experiment: ExperimentResult) -> list[str]:
    """Return the first metrics with a direction that some change has an effect on."""
    return list(
        dict.fromkeys(
            effect.metric
            for point in experiment.points
            for found in point.what_ifs
            for effect in found.effects
            if effect.better != "none"
        )
    )[:_METRICS_SHOWN]


def _cell(found: WhatIfResult, metric: str) -> Cell:
    effect = next((one for one in found.effects if one.metric == metric), None)
    if effect is None:
        return Cell("", "", is_number=True)
    remark = f"pairing saves {format_saving(effect)}"
    return Cell(format_effect(effect), repr(effect.ratio), is_number=True, remark=remark)


def _limit_then(found: WhatIfResult) -> str:
    if found.bottleneck is None:
        return ""
    return found.bottleneck.name if found.bottleneck.limits else "nothing"


def render_what_ifs(
    experiment: ExperimentResult,
    point: PointResult,
    console: Console,
    *,
    where: str = "",
    at_most: int | None = None,
) -> None:
    """Print the effects of changes at one point, which `where` names, of `at_most` pairs each."""
    screen = Screen(console)
    screen.line(experiment.title or experiment.name, "bold")
    screen.line(where or label_point(point, experiment.factors), "bold")
    if point.bottleneck is not None:
        screen.item("Now", bottleneck_text(point.bottleneck, point.estimates))
    for caution in cautions_of(point):
        screen.item("Caution", caution, "yellow")
    render_what_if_table(point, screen)
    if at_most is not None:
        screen.item("Pairs", _pairs_words([one.done for one in point.what_ifs], at_most))


def _pairs_words(done: Sequence[int], at_most: int) -> str:
    """Return how many pairs were run, and why no more.

    Examples
    --------
    >>> _pairs_words([5, 12], 60)
    '5 to 12 of at most 60: until the effects of a change are decided; -n runs more.'
    """
    low, high = min(done, default=0), max(done, default=0)
    counts = f"{low}" if low == high else f"{low} to {high}"
    return (
        f"{counts} of at most {at_most}: until the effects of a change are decided; -n runs more."
    )


def render_what_if_table(point: PointResult, screen: Screen) -> None:
    """Print the changes at a point as a table, and why some have no effects."""
    if point.what_ifs:
        screen.table([*_columns(point)])
    for found in point.what_ifs:
        if words := no_effect_words(found) or steadiness(found):
            screen.item("What if", f"{changes_words(found)}: {words}")


def _columns(point: PointResult) -> Iterator[Column]:
    what_ifs = point.what_ifs
    yield Column("What if", [changes_words(one) for one in what_ifs])
    metrics = dict.fromkeys(
        effect.metric for one in what_ifs for effect in one.effects if effect.better != "none"
    )
    most = _METRICS_IN_TERMINAL + ("lost_ratio" in metrics)
    for metric in list(metrics)[:most]:
        effects = [next((e for e in one.effects if e.metric == metric), None) for one in what_ifs]
        yield Column(title_metric(metric), [format_effect(e) if e else "" for e in effects])
    savings = [format_saving(one.effects[0]) if one.effects else "" for one in what_ifs]
    yield Column("Pairing saves", savings, is_number=True)
    yield Column("Limits then", [_limit_then(one) for one in what_ifs])
