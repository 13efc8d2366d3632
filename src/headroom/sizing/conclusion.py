"""Turn a finished search into its result: the answer in sentences, and how sure it is.

Invariant: what the sentences say is in the fields of the result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from headroom.experiment.protocol.system import Value
from headroom.quantities import format_bounds, format_level, format_percent, format_quantity
from headroom.sizing.result import FORMAT, AxisUsed, Check, SizingResult, Trial
from headroom.sizing.size import Looked, Sizing, trial_of
from headroom.sizing.space import Place, Space
from headroom.sizing.targets import Target
from headroom.sizing.unreachable import unreachable
from headroom.version import version

_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The request, for the record."""

    subject: str
    fixed: Mapping[str, Value]
    as_declared: frozenset[str] = frozenset()
    """Those of them that have the value with which they are declared."""
    targets: Sequence[Target]
    seed: int
    error: float
    """Probability of a wrong verdict about one configuration."""
    command: str
    notes: Sequence[str] = ()
    """What must be known about the factors, in sentences."""


def conclude(question: Question, sizing: Sizing) -> SizingResult:
    """Return the result of a search that has run."""
    space, search = sizing.space, sizing.search
    trials = {
        looked.place: trial_of(space, looked, number)
        for number, looked in enumerate(sizing.trail, start=1)
    }
    trail = [trial_of(space, looked, n) for n, looked in enumerate(sizing.trail, start=1)]
    best = None if search.best is None else trials[search.best]
    undecided = _undecided(sizing, trials, best)
    simulated = {step.place for step in sizing.trail if step.how == "simulation"}
    confidence = max(0.0, 1.0 - question.error * len(search.supports(simulated.__contains__)))
    not_tried = int(search.open_places().sum())
    known = len(search.looked)
    result = SizingResult(
        format=FORMAT,
        subject=question.subject,
        fixed=dict(question.fixed),
        changed=[name for name in question.fixed if name not in question.as_declared],
        targets=list(question.targets),
        axes=[
            AxisUsed(
                name=axis.name,
                levels=list(axis.levels),
                weight=space.weights[axis.name],
                is_priced_by_value=axis.is_priced_by_value,
            )
            for axis in space.axes
        ],
        seed=question.seed,
        is_found=best is not None,
        best=best,
        equally_cheap=[trials[place] for place in search.equally_cheap()],
        undecided=undecided,
        nearest=None if best is not None else _nearest(space, sizing.trail),
        trail=trail,
        configurations=space.size,
        screened=known - len(simulated),
        inferred=space.size - known - not_tried,
        not_tried=not_tried,
        replications=sum(trial.replications for trial in trail),
        confidence=confidence,
        is_monotone=not sizing.contradictions,
        contradictions=sizing.contradictions,
        refuted=sizing.refuted,
        statement=[],
        command=question.command,
        headroom_version=version(),
    )
    causes = _causes(question, sizing) if best is None else []
    nearest = result.nearest if best is None and not causes else None
    limited = msgspec.structs.replace(result, limit=None if nearest is None else nearest.bottleneck)
    return _with_statement(limited, causes, question.notes)


def with_beyond(result: SizingResult, sizing: Sizing | None) -> SizingResult:
    """Return a result that tells what a search beyond the given factors found, if any did."""
    place = None if sizing is None else sizing.search.best
    if sizing is None or place is None:
        return result
    space, trail = sizing.space, sizing.trail
    at = max(n for n, one in enumerate(trail) if one.place == place and one.judgement is not None)
    found = trial_of(space, trail[at], at + 1)
    figures = "; ".join(f"{one.target.metric} {format_check(one)}" for one in found.checks)
    asked = {axis.name for axis in result.axes}
    added = ", ".join(axis.name for axis in space.axes if axis.name not in asked)
    open_ones = [space.text(one) for one, verdict in sizing.search.looked.items()
                 if verdict == "undecided" and space.cost(one) <= found.cost]  # fmt: skip
    text = f"Beyond them, {words_of(found.levels)} is the smallest found that is enough: {figures}"
    text += f" (what limits next was added: {added})" if added else ""
    text += f"; undecided, so perhaps too: {'; '.join(open_ones[:_NAMED])}" if open_ones else ""
    statement = [*result.statement[:1], f"{text}.", *result.statement[1:]]
    return msgspec.structs.replace(result, beyond=found, statement=statement)


def _causes(question: Question, sizing: Sizing) -> list[str]:
    """Return why no configuration can meet a target, as far as formulas know."""
    top = sizing.space.top
    found = unreachable(tuple(question.targets), sizing.forecast(top), sizing.space.text(top))
    return [f"{text}." for text in found]


def _undecided(sizing: Sizing, trials: Mapping[Place, Trial], best: Trial | None) -> list[Trial]:
    """Return what is no dearer than the answer and could not be told apart from a target."""
    return [
        trials[place]
        for place, verdict in sorted(sizing.search.looked.items())
        if verdict == "undecided" and (best is None or trials[place].cost <= best.cost)
    ]


def _nearest(space: Space, trail: Sequence[Looked]) -> Trial | None:
    """Return the configuration, simulated if any is, whose worst target is missed by the least."""
    known = [step for step in trail if any_value(step.checks)]
    settled = [step for step in known if step.judgement is not None] or known
    if not settled:
        return None
    nearest = min(settled, key=lambda one: (worst_shortfall(one.checks), one.place))
    return trial_of(space, nearest, trail.index(nearest) + 1)


def any_value(checks: Sequence[Check]) -> bool:
    """Return whether every check has a figure."""
    return bool(checks) and all(check.value is not None for check in checks)


def worst_shortfall(checks: Sequence[Check]) -> float:
    """Return by how much of its bound the worst target is missed."""
    return max(check.target.shortfall(check.value) for check in checks if check.value is not None)


def _with_statement(
    result: SizingResult, causes: Sequence[str], notes: Sequence[str]
) -> SizingResult:
    sentences = _found(result) if result.best else _nothing_found(result, causes)
    sentences += [*notes, *_caveats(result)]
    return msgspec.structs.replace(result, statement=sentences)


def words_of(levels: Mapping[str, Value]) -> str:
    """Return the levels of a configuration as text."""
    return ", ".join(f"{name} = {format_level(level)}" for name, level in levels.items())


def format_check(check: Check) -> str:
    """Return the figure of a target with its interval."""
    if check.value is None:
        return "no figure"
    target = check.target
    return format_bounds(check.value, check.low, check.high, target.unit, metric=target.metric)


def _found(result: SizingResult) -> list[str]:
    best = result.best
    if best is None:
        return []
    figures = "; ".join(f"{check.target.metric} {format_check(check)}" for check in best.checks)
    shown = "is shown to meet" if result.undecided else "meets"
    first = f"{words_of(best.levels)} is the smallest that {shown} every target: {figures}."
    sentences = [first, *_second_choices(result)]
    sure = f"with at least {format_percent(result.confidence)} confidence"
    if all(best.levels[axis.name] == axis.levels[0] for axis in result.axes):
        sentences.append(f"No cheaper one was given; the verdict holds {sure}.")
    elif result.not_tried == 0:
        cheaper = "Every other cheaper" if result.undecided else "Every cheaper"
        sentences.append(
            f"{cheaper} configuration fails; the verdicts behind that hold together {sure}"
            f"{_given_monotone(result)}."
        )
    return sentences


def _given_monotone(result: SizingResult) -> str:
    return ", given that more is never worse" if result.inferred and result.is_monotone else ""


def _second_choices(result: SizingResult) -> list[str]:
    sentences = []
    if result.equally_cheap:
        names = "; ".join(words_of(one.levels) for one in result.equally_cheap[:_NAMED])
        sentences.append(f"As cheap and also enough: {names}.")
    if result.undecided:
        names = "; ".join(
            f"{words_of(one.levels)} ({', '.join(map(format_check, one.checks))})"
            for one in result.undecided[:_NAMED]
        )
        sentences.append(f"Undecided, so perhaps also enough: {names}.")
    return sentences


def _nothing_found(result: SizingResult, causes: Sequence[str]) -> list[str]:
    nearest = result.nearest
    if nearest is None:
        is_full = all(step.how == "overload" for step in result.trail)
        why = "every configuration is saturated" if is_full else "no configuration has results"
        return [f"No answer: {why}.", *causes]
    what = "No configuration is shown to meet" if result.undecided else "No configuration meets"
    sentences = [f"{what} every target over the given factors.", *causes]
    figures = "; ".join(
        f"{check.target.text} missed with {format_check(check)}"
        for check in nearest.checks
        if check.value is not None and not check.target.is_met_by(check.value)
    )
    sentences.append(
        f"Nearest comes {words_of(nearest.levels)}: {figures or 'all met in the mean'}."
    )
    return [*sentences, *_second_choices(result)]


def _caveats(result: SizingResult) -> list[str]:
    sentences = []
    if not result.is_monotone:
        shown = "; ".join(result.contradictions[:_NAMED])
        sentences.append(
            f"More is not always better here ({shown}), so nothing was inferred from one "
            "configuration to another."
        )
    if result.refuted:
        sentences.append(
            f"A formula was wrong here ({result.refuted}), so no bound excluded anything any more."
        )
    simulated = [step for step in result.trail if step.how == "simulation"]
    is_short = all(step.fault is not None and step.verdict == "undecided" for step in simulated)
    if result.not_tried and (result.best or result.nearest or is_short):
        sentences.append(
            f"{result.not_tried:,} configurations that cost no more were not tried: allow "
            f"{'longer runs with --completions' if is_short else 'more with --most'}."
        )
    return sentences


def cost_words(axes: Sequence[AxisUsed]) -> str:
    """Return how the cost of a configuration is counted.

    Examples
    --------
    >>> axes = [AxisUsed(name="servers", levels=[1, 2], weight=3.0, is_priced_by_value=True),
    ...         AxisUsed(name="disk", levels=["hdd", "ssd"], weight=1.0, is_priced_by_value=False)]
    >>> cost_words(axes)
    '3 x servers + place of disk'
    """
    return " + ".join(
        f"{'' if axis.weight == 1.0 else format_quantity(axis.weight, '1') + ' x '}"
        f"{'' if axis.is_priced_by_value else 'place of '}{axis.name}"
        for axis in axes
    )
