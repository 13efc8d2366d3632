"""Which figures show an answer: the decisive one, and one for each further question.

Invariant: no figure has a single point, and no metric of a curve is constant over it.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from headroom.analysis.answer.asked import Answered
from headroom.analysis.answer.asks.cells import held, of_derived
from headroom.analysis.answer.changes import changes_among, values_at
from headroom.analysis.answer.claims import (
    factor_of_pairs,
    predictions_of,
    printed_numbers,
    reproduction_of,
)
from headroom.analysis.answer.curves import best_of
from headroom.analysis.answer.design import (
    axis_of,
    curves_of,
    groups_of,
    has_words,
    is_numeric_group,
    setting_of,
    spans,
    telling_factors,
)
from headroom.analysis.answer.limits import busiest_of
from headroom.analysis.answer.numbers import goals_of, main_metric
from headroom.analysis.answer.question import statement_of, sweep
from headroom.analysis.answer.targets import other_curves
from headroom.analysis.answer_evidence import (
    Bounded,
    Changes,
    Comparison,
    Effects,
    Enough,
    FigureChoice,
    FigureKind,
    Findings,
    Level,
    Limit,
    Mark,
    Prediction,
    QuestionCode,
    Reproduction,
    Safe,
    Saturated,
    Scale,
    Setting,
    SinglePoint,
    Statement,
    Sweep,
    Target,
    TradeOff,
    Undecided,
)
from headroom.analysis.results import ExperimentResult, Factor, PointResult, StudyResult

MAX_QUESTIONS = 8
_MAX_PARTS = 4
_MAX_METRICS = 2
"""Metrics that are asked about one by one, in addition to the decisive one."""
_MIN_POINTS = 2


def figure_of(experiment: ExperimentResult | None, statement: Statement) -> FigureChoice | None:
    """Return the decisive figure of a statement; None if nothing can be drawn."""
    if isinstance(statement, Reproduction | Findings):
        return FigureChoice(kind="claims", question="answer", experiment="", finding=statement)
    if isinstance(statement, Prediction):
        return FigureChoice(
            kind="errors",
            question="answer",
            experiment=statement.experiment,
            metrics=[statement.metric],
            finding=statement,
        )
    if experiment is None or len(_drawn(experiment)) < _MIN_POINTS:
        return None
    return _of_experiment(experiment, statement, "answer")


def questions_of(
    study: StudyResult,
    experiment: ExperimentResult | None,
    decisive: FigureChoice | None,
    changes: Changes | None = None,
    asked: Sequence[Answered] = (),
) -> list[FigureChoice]:
    """Return one figure for each further question, the most useful first.

    Parameters
    ----------
    study
        All experiments.
    experiment
        The one that the answer is about; None if that is the claims.
    decisive
        What is drawn already.
    changes
        What was tried, as the answer states it.
    asked
        Further answers to what the study asks, which come first.
    """
    stated = [figure for one in asked if (figure := _stated(one)) is not None]
    own = list(_own_questions(experiment, decisive, changes)) if experiment else []
    about_claims = list(_claim_questions(study, decisive))
    others = [
        figure
        for other in study.experiments
        if other is not experiment
        for figure in _other_question(study, experiment, other)
    ]
    drawn = [_drawn_key(one) for one in [decisive, *stated] if one]
    rest = [one for one in [*about_claims, *own, *others] if _drawn_key(one) not in drawn]
    return [*stated, *rest][:MAX_QUESTIONS]


def _stated(asked: Answered) -> FigureChoice | None:
    """Return the figure of a further answer, with its question."""
    found = figure_asked(asked, asked.statement)
    if found is None:
        return None
    if not asked.ask.question:
        return replace(found, question="experiment" if found.experiment else "printed")
    return replace(found, question="asked", text=asked.ask.question)


def figure_asked(asked: Answered, statement: Statement) -> FigureChoice | None:
    """Return the figure of a statement, of the part of the experiment that was asked about."""
    found = figure_of(asked.experiment, statement)
    if found is None or asked.experiment is None:
        return found
    return replace(found, part=held(asked.experiment, asked.ask))


def _drawn_key(figure: FigureChoice) -> tuple[object, ...]:
    return (figure.kind, figure.experiment, tuple(figure.metrics[:1]), figure.factor)


def _drawn(experiment: ExperimentResult) -> list[PointResult]:
    return [point for point in experiment.points if point.estimates or point.saturation]


def _of_experiment(
    experiment: ExperimentResult, statement: Statement, question: QuestionCode
) -> FigureChoice:
    """Return the figure of an experiment that fits its design, or of a derived quantity of it."""
    metrics = _metrics_of(statement) or [main_metric(experiment)]
    experiment = of_derived(experiment, metrics[0])
    axis = _axis_of(experiment, statement)
    if isinstance(statement, TradeOff) and len(metrics) > 1:
        return _settings_figure("trade_off", experiment, statement, question, metrics)
    is_of_settings = isinstance(
        statement, Comparison | TradeOff | Undecided | Effects | SinglePoint
    )
    is_curve = experiment.compared is not None and axis is not None
    if axis is None or (is_of_settings and has_words(experiment) and not is_curve):
        kind: FigureKind = "runs" if experiment.column == "measure" else "bars"
        return _settings_figure(kind, experiment, statement, question, metrics)
    meant = statement.where if isinstance(statement, Enough | Scale) else None  # Of several curves.
    series = _series_of(experiment, axis.name) if meant is None else ""
    numeric = [group for group in groups_of(experiment.factors) if spans(group)]
    is_grid = len(numeric) == 2 and all(map(is_numeric_group, numeric))  # noqa: PLR2004
    has_verdicts = any(point.bottleneck is not None for point in experiment.points)
    return FigureChoice(
        kind="cells" if is_grid and has_verdicts and meant is None else "curve",
        question=question,
        experiment=experiment.name,
        metrics=metrics[:1],
        factor=axis.name,
        series=series,
        where=_held(experiment, axis.name, series) if meant is None else meant,
        marks=[*_marks(statement), *(_breaks_beside(statement, experiment) if series else ())],
        finding=statement,
    )


def _breaks_beside(statement: Statement, experiment: ExperimentResult) -> Iterator[Mark]:
    """Yield where the other curves break their limits."""
    others = other_curves(experiment, statement)
    for other in others.of if others else []:
        level = _drawn_level(other) if isinstance(other, Target) else None
        if level is not None:
            yield Mark(kind="target", level=level, setting=other.where)


def _compared(statement: Statement) -> list[Setting]:
    """Return the two settings of an effect: no other one belongs to it."""
    if not isinstance(statement, Effects) or not statement.first:
        return []
    return [statement.first, statement.second]


def _settings_figure(
    kind: FigureKind,
    experiment: ExperimentResult,
    statement: Statement,
    question: QuestionCode,
    metrics: Sequence[str],
) -> FigureChoice:
    return FigureChoice(
        kind=kind,
        question=question,
        experiment=experiment.name,
        metrics=list(metrics),
        marks=list(_marks(statement)),
        only=_compared(statement),
        finding=statement,
    )


def _axis_of(experiment: ExperimentResult, statement: Statement) -> Factor | None:
    """Return the factor that a statement is about, else the axis of the experiment."""
    named = ""
    if isinstance(statement, Enough):
        named = statement.best.factor
    if isinstance(statement, Scale):
        named = statement.end.factor
    return next((one for one in experiment.factors if one.name == named), axis_of(experiment))


def _metrics_of(statement: Statement) -> list[str]:
    goals = [goal.metric for goal in statement.goals] if isinstance(statement, TradeOff) else []
    numbers = statement.values if isinstance(statement, SinglePoint) else []
    numbers = statement.counts if isinstance(statement, Safe) else numbers
    metric = getattr(statement, "metric", "") or next((one.metric for one in numbers), "")
    return [one for one in goals or [metric] if one]


def _series_of(experiment: ExperimentResult, axis: str) -> str:
    """Return the next factor with several levels after the axis; empty if there is none."""
    group = next((g for g in groups_of(experiment.factors) if axis in {f.name for f in g}), ())
    moving = {factor.name for factor in group}
    for factor in telling_factors(experiment.factors):
        if factor.name not in moving and len(set(factor.levels)) > 1:
            return factor.name
    return ""


def _held(experiment: ExperimentResult, axis: str, series: str) -> Setting:
    """Return the levels of the factors that a curve does not show, as at the first point."""
    setting = setting_of(experiment, experiment.points[0], but=axis)
    return {name: level for name, level in setting.items() if name != series}


def _marks(statement: Statement) -> Iterator[Mark]:
    match statement:
        case Limit(level=Level() as level):
            is_knee = level.low is not None
            yield Mark(kind="knee" if is_knee else "limit", level=level, name=statement.part.name)
            if statement.best is not None:
                best = statement.best
                after = Bounded(value=best.after, metric=best.metric, unit=best.unit)
                yield Mark(kind="change", value=after)
        case Saturated(level=Level() as level):
            yield Mark(kind="saturated", level=level, name=statement.part.name)
        case Target():
            bound = Bounded(value=statement.bound, metric=statement.metric, unit=statement.unit)
            yield Mark(kind="target", level=_drawn_level(statement), value=bound)
            if statement.current is not None:
                factor, unit = statement.level.factor, statement.level.unit
                today = Level(factor=factor, unit=unit, value=statement.current)
                yield Mark(kind="current", level=today)
        case Enough():
            yield Mark(kind="chosen", level=statement.least.level, value=statement.least.value)
        case _:
            yield from _marks_of_settings(statement)


def _marks_of_settings(statement: Statement) -> Iterator[Mark]:
    match statement:
        case TradeOff():
            for goal in statement.goals:
                yield Mark(kind="best", value=goal.value, setting=goal.settings[0])
            for beaten in statement.beaten:
                yield Mark(kind="beaten", setting=beaten.setting)
        case Comparison():
            yield Mark(kind="best", setting=statement.first)
            yield Mark(kind="base", setting=statement.second)
        case SinglePoint() if statement.where:
            yield Mark(kind="best", setting=statement.where)
        case _:
            return


def _drawn_level(target: Target) -> Level | None:
    """Return where a limit breaks; None if it breaks nowhere among the levels."""
    level = target.level
    if target.state != "breaks" or target.kept == "below":
        return level if target.state == "breaks" else None
    if target.kept == "between" or not target.beyond:
        return level
    return replace(level, low=target.beyond[0], high=float(level.value))


def _own_questions(
    experiment: ExperimentResult, decisive: FigureChoice | None, changes: Changes | None
) -> Iterator[FigureChoice]:
    """Yield the further questions about the experiment of the answer."""
    drawn = set(decisive.metrics) if decisive else set()
    axis = axis_of(experiment)
    if axis is not None and (decisive is None or decisive.factor):  # None: one point was asked for.
        yield from _further_curves(experiment, axis.name, drawn)
        yield from _parts_figure(experiment, axis.name, decisive.finding if decisive else None)
    else:
        yield from _further_settings(experiment, drawn)
    if changes is not None:
        tried = changes.best or next(iter(changes.no_gain), None)
        name = tried.experiment if tried else experiment.name
        yield FigureChoice(
            kind="changes",
            question="what_to_change",
            experiment=name,
            metrics=[tried.metric] if tried else [],
            where=changes.levels,
            finding=changes,
        )


def _further_curves(
    experiment: ExperimentResult, axis: str, drawn: set[str]
) -> Iterator[FigureChoice]:
    """Yield a curve for the first responses that are not drawn yet and not constant."""
    count = 0
    for metric, better in goals_of(experiment):
        if metric in drawn or count == _MAX_METRICS or better == "none" or "." in metric:
            continue
        finding = _sweep_of(experiment, metric)
        if finding is None:
            continue
        count += 1
        is_time = better == "low" and finding.unit == "s"
        companions = [other for other, _ in goals_of(experiment) if _stem(other) == _stem(metric)]
        drawn.update(companions)
        series = _series_of(experiment, axis)
        yield FigureChoice(
            kind="curve",
            question="waits" if is_time else "carries" if better == "high" else "how_much",
            experiment=experiment.name,
            metrics=companions[:3],
            factor=axis,
            series=series,
            where=_held(experiment, axis, series),
            finding=finding,
        )


def _stem(metric: str) -> str:
    """Return the quantity of a metric with its unit: ``response_s`` of ``response_s_p95``."""
    stem, _, qualifier = metric.rpartition("_")
    is_qualified = qualifier in {"mean", "median", "max"} or (
        qualifier[:1] == "p" and qualifier[1:].isdigit()
    )
    return stem if is_qualified else metric


def _sweep_of(experiment: ExperimentResult, metric: str) -> Sweep | None:
    """Return how a metric moves on the first curve; None if it does not, or hardly is there."""
    axis = axis_of(experiment)
    for curve in curves_of(experiment, axis) if axis else []:
        values = {p.estimates[metric].value for p in curve.points if metric in p.estimates}
        if len(values) > 1:
            return sweep(curve, metric)
    return None


def _parts_figure(
    experiment: ExperimentResult, axis: str, statement: Statement | None
) -> Iterator[FigureChoice]:
    """Yield the utilization of the busiest parts over a factor."""
    highest: dict[str, float] = {}
    for point in experiment.points:
        for resource in point.resources:
            metric = f"{resource.kind}.{resource.name}.utilization"
            if metric in point.estimates:
                value = point.estimates[metric].value
                highest[metric] = max(highest.get(metric, 0.0), value)
    if not highest:
        return
    metrics = sorted(highest, key=lambda name: highest[name], reverse=True)[:_MAX_PARTS]
    found = busiest_of(experiment, statement)
    yield FigureChoice(
        kind="curve",
        question="which_part",
        experiment=experiment.name,
        metrics=metrics,
        factor=axis,
        where=found.where if found else {},
        finding=found,
    )


def _further_settings(experiment: ExperimentResult, drawn: set[str]) -> Iterator[FigureChoice]:
    """Yield which setting is best for one metric after the other."""
    if len(_drawn(experiment)) < _MIN_POINTS:
        return
    kind: FigureKind = "runs" if experiment.column == "measure" else "bars"
    metrics = [name for name, better in goals_of(experiment) if better != "none"]
    ranked = sorted(metrics, key=lambda name: (name in drawn, metrics.index(name)))
    for metric in ranked[: _MAX_METRICS + 1]:
        finding = best_of(experiment, metric)
        if finding is not None:
            yield _settings_figure(kind, experiment, finding, "which_setting", [metric])


def _claim_questions(study: StudyResult, decisive: FigureChoice | None) -> Iterator[FigureChoice]:
    printed = printed_numbers(study.claims) if reproduction_of(study) else None
    if printed is not None and printed.count + printed.fitted > 1:
        yield FigureChoice(kind="claims", question="printed", experiment="", finding=printed)
    for claim in predictions_of(study):
        if len(claim.pairs) < _MIN_POINTS:
            continue
        chosen = FigureChoice(
            kind="errors",
            question="predicts",
            experiment=claim.experiment,
            metrics=[claim.metric],
        )
        if decisive is None or decisive.kind != "errors":
            yield chosen
        if factor := factor_of_pairs(claim):
            yield replace(chosen, kind="predicted", question="follows", factor=factor)
        return


def _other_question(
    study: StudyResult, answered: ExperimentResult | None, experiment: ExperimentResult
) -> Iterable[FigureChoice]:
    """Yield the figure of another experiment, unless its changes are drawn already."""
    if len(_drawn(experiment)) < _MIN_POINTS:
        return
    if answered is not None and answered.points:
        values = values_at(answered, answered.points[-1])
        axis = axis_of(answered)
        changes = changes_among(experiment, values, moved=axis.name if axis else "")
        if changes is not None and has_words(experiment):
            return
    statement = statement_of(study, experiment)
    if not isinstance(statement, SinglePoint):
        yield _of_experiment(experiment, statement, "experiment")
