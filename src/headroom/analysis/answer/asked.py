"""What a study asks, answered: a statement of the kind that was asked, and its record.

A study that states nothing asks what its design suggests; the kind is then that of the statement.

Invariant: a record restates its statement; whoever prints an answer prints it from there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from headroom.analysis.answer.asks.cells import (
    cells_of,
    held,
    metric_asked,
    of_derived,
    restricted,
    telling,
)
from headroom.analysis.answer.asks.effects import effects_of
from headroom.analysis.answer.asks.enough import enough_of
from headroom.analysis.answer.asks.safe import safe_of
from headroom.analysis.answer.asks.scale import scale_of
from headroom.analysis.answer.claims import findings_of, prediction_of, reproduction_of
from headroom.analysis.answer.curves import best_of
from headroom.analysis.answer.limits import limit_of, saturated_of
from headroom.analysis.answer.numbers import has_results
from headroom.analysis.answer.question import without_results
from headroom.analysis.answer.targets import target_of
from headroom.analysis.answer_evidence import (
    Bounded,
    Comparison,
    Effects,
    Enough,
    Equal,
    Findings,
    Incomplete,
    Level,
    Limit,
    Losses,
    NoLimit,
    Prediction,
    Record,
    Reproduction,
    Safe,
    Saturated,
    Scale,
    SinglePoint,
    Statement,
    Sweep,
    Target,
    TradeOff,
    Undecided,
)
from headroom.analysis.results import ExperimentResult, StudyResult
from headroom.experiment.study.asks import (
    Ask,
    AskKind,
    BestAsk,
    DeadlineAsk,
    EffectAsk,
    EnoughAsk,
    LimitAsk,
    ReproduceAsk,
    SafeAsk,
    ScaleAsk,
    ValueAsk,
)

MAKESPAN = "makespan_s"
"""The time until all work is done."""
OF_CLAIMS = (Reproduction, Prediction, Findings)
"""Statements about all claims of a study, not about an experiment."""
_KINDS: dict[type, AskKind] = {
    Saturated: "capacity",
    Limit: "limit",
    NoLimit: "limit",
    Losses: "limit",
    Comparison: "effect",
    Equal: "effect",
    TradeOff: "best",
    Reproduction: "reproduce",
    Prediction: "reproduce",
    Findings: "reproduce",
    Sweep: "scale",
    SinglePoint: "value",
}
"""Of statements that the design suggests."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to one ask: what is said, of which experiment, by which rows."""

    ask: Ask
    statement: Statement
    experiment: ExperimentResult | None
    """The part that was asked; None for claims."""
    rows: list[str]

    def as_record(self) -> Record:
        """Return it as data, with the number, level and conditions that it states."""
        return record(
            self.statement,
            kind=self.ask.kind,
            question=self.ask.question,
            is_inferred=False,
            experiment=self.experiment,
            rows=self.rows,
        )


def answered(study: StudyResult, ask: Ask) -> Answered:
    """Return the answer to an ask, by the first experiment that has one."""
    if isinstance(ask, ReproduceAsk):
        of_claims = reproduction_of(study) or prediction_of(study) or findings_of(study)
        return Answered(ask, of_claims or _nothing(study), None, [])
    named = [one for one in study.experiments if ask.experiment in {"", one.name}]
    parts = [_about(restricted(one, ask.where), ask) for one in named]
    told = [part for part in parts if any(map(has_results, part.points))]
    for part in told:
        found = _statement(study, part, ask) or _alone(_saturated_at(part, ask), part, ask)
        if found is not None:
            statement, rows = found
            whole = study.experiment_named(part.name)
            keys = list(dict.fromkeys(rows)) or [one.key for one in part.points]
            is_all = whole is not None and len(keys) == len(whole.points)
            return Answered(ask, statement, part, [] if is_all else keys)
    if not parts:
        return Answered(ask, _nothing(study), None, [])
    part = (told or parts)[0]
    lacking = without_results(study, part)
    if any(map(has_results, part.points)):  # They have results, but not those that are asked for.
        metric = metric_asked(part, ask.metric)
        absent = next((one.absent[metric] for one in part.points if metric in one.absent), None)
        is_short = absent is not None and absent.code != "saturated"
        lacking = msgspec.structs.replace(
            lacking,
            code="withheld" if is_short else "left_out",
            reason="",
            warm_up=None,
            metric=metric if is_short else "",
            absent=absent if is_short else None,
        )
    return Answered(ask, lacking, part, [])


def _about(part: ExperimentResult, ask: Ask) -> ExperimentResult:
    """Return a part with those of its limits that are asked about: by metric and by factor."""
    factor = getattr(ask, "factor", "")
    kept = [
        one
        for one in part.limits
        if ask.metric in {"", one.metric} and factor in {"", one.factor}
        if not isinstance(ask, DeadlineAsk) or ask.metric or one.metric == MAKESPAN
    ]
    return part if kept == part.limits else msgspec.structs.replace(part, limits=kept)


def _saturated_at(part: ExperimentResult, ask: Ask) -> Saturated | None:
    """Return that a part is saturated where it is asked about, so that it has no value there."""
    ends = [one for one in (ask.of, ask.to) if one] if isinstance(ask, EffectAsk) else [{}]
    for end in ends:
        found = saturated_of(restricted(part, end))
        if found is not None:
            return msgspec.structs.replace(found, where=end | found.where)
    return None


def _nothing(study: StudyResult) -> Incomplete:
    return Incomplete(
        code="no_results",
        done=study.done,
        failed=study.failed,
        planned=study.planned,
        points=0,
        points_without=0,
    )


def _statement(
    study: StudyResult, part: ExperimentResult, ask: Ask
) -> tuple[Statement, list[str]] | None:
    if isinstance(ask, EnoughAsk | DeadlineAsk) and part.limits:
        return _alone(target_of(part), part, ask)
    builder = _BUILDERS.get(type(ask))
    if builder is not None:
        return builder(part, ask)
    if isinstance(ask, BestAsk):
        return _alone(best_of(of_derived(part, ask.metric), ask.metric), part, ask)
    if isinstance(ask, LimitAsk):
        limit = saturated_of(part) if _is_full(part) else limit_of(study, part)
        return _alone(limit, part, ask)
    found = target_of(part) or saturated_of(part) or limit_of(study, part)
    return _alone(found, part, ask)


def _is_full(part: ExperimentResult) -> bool:
    """Return whether no point has a steady state, so that no other verdict says what limits."""
    return all(one.saturation is not None for one in part.points if has_results(one))


def _alone(
    statement: Statement | None, part: ExperimentResult, ask: Ask
) -> tuple[Statement, list[str]] | None:
    """Return a statement about all of a part, with the levels that make it one."""
    if statement is None:
        return None
    if hasattr(statement, "where"):
        where = {**held(part, ask), **statement.where}
        statement = msgspec.structs.replace(statement, where=where)
    return statement, []


def _value(
    part: ExperimentResult, ask: ValueAsk | DeadlineAsk
) -> tuple[SinglePoint, list[str]] | None:
    """Return the metrics at the point that is asked for, the last of several, or an extreme."""
    default = MAKESPAN if isinstance(ask, DeadlineAsk) else ""
    cells = cells_of(part, metric_asked(part, ask.metric or default))
    if not cells:
        return None
    chosen = cells[-1]
    extreme = ask.extreme if isinstance(ask, ValueAsk) and len(cells) > 1 else ""
    if extreme:
        pick = max if extreme == "highest" else min
        chosen = pick(cells, key=lambda cell: cell.value.value)
    further = [
        one.value
        for name in (ask.also if isinstance(ask, ValueAsk) else [])
        for one in cells_of(part, name)
        if one.levels == chosen.levels
    ]
    statement = SinglePoint(
        values=[chosen.value, *further],
        where=held(part, ask) | telling(part, chosen.levels),
        extreme=extreme,
        points=len(cells),
        subject=getattr(ask, "subject", ""),
    )
    return statement, [key for cell in cells for key in cell.keys]


_BUILDERS: dict[type, Callable[[ExperimentResult, Any], tuple[Statement, list[str]] | None]] = {
    EnoughAsk: enough_of,
    EffectAsk: effects_of,
    ScaleAsk: scale_of,
    SafeAsk: safe_of,
    ValueAsk: _value,
    DeadlineAsk: _value,
}
"""Of the kinds that no verdict answers."""


def inferred(statement: Statement, experiment: ExperimentResult | None) -> Record:
    """Return the record of a statement that the design of a study suggests."""
    return record(
        statement,
        kind=kind_of(statement),
        question="",
        is_inferred=True,
        experiment=experiment,
        rows=[],
    )


def kind_of(statement: Statement) -> AskKind:
    """Return the kind of question that a statement answers."""
    if isinstance(statement, Target):
        if statement.kept == "between":
            return "window"
        return "enough" if statement.is_resource else "capacity"
    if isinstance(statement, Undecided):
        codes: dict[str, AskKind] = {"target": "capacity", "comparison": "effect"}
        return codes.get(statement.code, "best")
    return _KINDS.get(type(statement), "value")


def record(
    statement: Statement,
    *,
    kind: AskKind,
    question: str,
    is_inferred: bool,
    experiment: ExperimentResult | None,
    rows: list[str],
) -> Record:
    """Return a statement as a record: its number, unit, level and conditions beside it."""
    found = _number(statement)
    level = _level(statement)
    of_claims = isinstance(statement, OF_CLAIMS)
    return Record(
        ask=kind,
        question=question,
        is_inferred=is_inferred,
        experiment="" if of_claims or experiment is None else experiment.name,
        statement=statement,
        metric=getattr(statement, "metric", "") or (found.metric if found else ""),
        value=found.value if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        unit=found.unit if found else "1",
        parameter=level.factor if level else "",
        level=level.value if level else None,
        where=getattr(statement, "where", {}),
        is_decided=_is_decided(statement),
        rows=rows,
    )


def _is_decided(statement: Statement) -> bool:
    """Return whether a statement has an answer: not where more may give more, or all is open."""
    if isinstance(statement, Enough):
        return not statement.is_open
    if isinstance(statement, Effects):
        return any(one.verdict != "undecided" for one in statement.effects)
    return not isinstance(statement, Undecided | Incomplete)


def _level(statement: Statement) -> Level | None:
    if isinstance(statement, Enough):
        return statement.least.level
    if isinstance(statement, Scale):
        return statement.end
    return getattr(statement, "level", None) or getattr(statement, "beyond", None)


def _number(statement: Statement) -> Bounded | None:
    """Return the number that a statement is about; None if it is no number."""
    level = getattr(statement, "level", None)
    if isinstance(statement, Target | Saturated | Limit) and isinstance(level, Level):
        return None if isinstance(level.value, bool | str) else _of_level(level)
    take = _NUMBERS.get(type(statement))
    return None if take is None else take(statement)


def _of_level(level: Level) -> Bounded:
    return Bounded(
        value=float(level.value),
        low=level.low,
        high=level.high,
        metric=level.factor,
        unit=level.unit,
    )


_NUMBERS: dict[type, Callable[[Any], Bounded | None]] = {
    Comparison: lambda one: one.ratio,
    Equal: lambda one: one.ratio,
    Sweep: lambda one: one.ratio,
    TradeOff: lambda one: one.goals[0].value,
    Effects: lambda one: one.effects[0].ratio,
    Enough: lambda one: _of_level(one.least.level),
    Scale: lambda one: one.power,
    Safe: lambda one: one.counts[0],
    Losses: lambda one: Bounded(value=one.outcome.goodput, metric="goodput", unit="1/s"),
    SinglePoint: lambda one: next(iter(one.values), None),
    Reproduction: lambda one: Bounded(value=one.holds),
    Findings: lambda one: Bounded(value=one.holds),
    Prediction: lambda one: one.median,
}
