"""Prediction intervals: the possible error of a result with fitted parameters.

The interval of a predicted metric X is log X +- sqrt(run^2 + fit^2 + method^2). Each term is half a
95% interval of log X on its side:

- *run*: the scatter of the simulated replications,
- *fit*: the largest change of X among the parameters that the fitted points do not refute,
- *method*: the change of X if all fitted demands are wrong by the published error of the method,
  see `headroom.analysis.fits.demand_errors`; if a method publishes the errors of its own
  predictions, those errors.

The model itself gives these changes, by formulas where it has them. So a throughput past the knee
carries the whole error of the demand, and a throughput determined by think times carries little of
it.

Invariant: nothing here depends on what was measured at the predicted point.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from headroom.analysis.evidence import NoInterval
from headroom.analysis.fits.demand_errors import DemandGroup, Reach, group_of, reach_of
from headroom.analysis.fits.loads import load_of
from headroom.analysis.fits.model_answers import ModelAnswers, answer_source
from headroom.analysis.results import Estimate, LoadRange, Margin, PointResult, Prediction
from headroom.analysis.statistics.intervals import CONFIDENCE, Interval, t_quantile
from headroom.errors import HeadroomError
from headroom.experiment.protocol.fit_method import (
    ChoosesLoad,
    DemandEvidence,
    FitsDemands,
    FittedSet,
    HasPublishedErrors,
    Load,
    PlannedFit,
    PublishedError,
    ServiceEvidence,
)
from headroom.experiment.protocol.kept_code import CodeNotRunError
from headroom.experiment.protocol.system import Column, Parameter, Value
from headroom.experiment.study.plan import PlannedExperiment, Point

_UTILIZATION = re.compile(r"(station|pool)\.[^.]+\.utilization")
_TIMES = frozenset({"s", "ms", "us", "ns", "min", "h"})


@dataclass(frozen=True, slots=True)
class Sides:
    """Distances from a value to both ends of an interval, in logarithms; may be infinite."""

    below: float = 0.0
    above: float = 0.0

    def joined(self, other: "Sides") -> "Sides":
        """Return the sides of the sum of two independent errors."""
        return Sides(math.hypot(self.below, other.below), math.hypot(self.above, other.above))


def with_prediction(
    result: PointResult, experiment: PlannedExperiment, point: Point
) -> PointResult:
    """Return a point with the prediction intervals of its estimates, if parameters are fitted."""
    fit = experiment.fit
    is_predicted = experiment.system.column is Column.MODEL and result.estimates
    if fit is None or not fit.is_settled or not is_predicted or isinstance(fit.method, ChoosesLoad):
        return result
    fitted = next(
        one for one in fit.sets if all(point.config.get(k) == v for k, v in one.where.items())
    )
    if isinstance(fit.method, FitsDemands):
        return _with_demands(result, experiment, point, fit, fitted)
    if isinstance(fit.method, HasPublishedErrors) and fitted.origin == "measured":
        return _with_published(result, fit.method.published_errors)
    return msgspec.structs.replace(result, prediction=Prediction(kind="unknown"))


def margin_of(point: PointResult, metric: str) -> Margin | None:
    """Return how far a predicted metric may be off; None if it is no prediction."""
    estimate = point.estimates.get(metric)
    return None if estimate is None else estimate.margin


def _with_demands(
    result: PointResult,
    experiment: PlannedExperiment,
    point: Point,
    fit: PlannedFit,
    fitted: FittedSet,
) -> PointResult:
    source = answer_source(experiment.system, point.config, list(result.estimates)[:1])
    parameters = {use.name: use.parameter for use in experiment.parameters}
    margins = Margins.of(
        ModelAnswers(experiment.system, source), parameters, point.config, fitted, fit.evidence
    )
    estimates = {
        name: with_margin(
            estimate,
            fit=margins.fit.get(name, Sides()),
            method=margins.method.get(name, Sides()),
            degrees=margins.degrees,
        )
        if name in margins.best
        else _without_interval(estimate)
        for name, estimate in result.estimates.items()
    }
    return msgspec.structs.replace(
        result,
        estimates=estimates,
        prediction=_prediction(fitted, margins.reach, margins.load),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """Possible errors of the metrics of a predicted point, apart from the scatter of its runs.

    Parameters
    ----------
    best
        Metrics at the fitted parameters, as the model itself answers.
    fit, method
        Distances by what the points do not refute, and by the error of the method.
    load, reach
        Load of the point, and how far it is from the measured ones; None if nothing was measured.
    """

    best: Mapping[str, float]
    fit: Mapping[str, Sides]
    method: Mapping[str, Sides]
    load: Load
    reach: Reach | None

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the error of the method, 0 if there is none."""
        return 0.0 if self.reach is None else float(self.reach.error.degrees)

    @classmethod
    def of(
        cls,
        model: ModelAnswers,
        parameters: Mapping[str, Parameter],
        config: Mapping[str, Value],
        fitted: FittedSet,
        declared: DemandEvidence = "automatic",
    ) -> "Margins":
        """Return the margins of the point `config`, fitted values included."""
        answers = _Answers(model, config)
        load = _with_utilization(load_of(model.system, config), answers.best)
        is_measured = fitted.origin == "measured"
        group = _group_of(fitted)
        reach = reach_of(load, fitted.loads, declared, group) if is_measured else None
        by_fit = answers.spread(fitted.found.alternatives, only=fitted.values)
        wrong = _wrong_demands(fitted, parameters, _half_width(reach)) if reach else []
        by_method = answers.spread(wrong, only=fitted.values)
        if reach is not None and not wrong:
            direct = Sides(_half_width(reach), _half_width(reach))
            by_method = dict.fromkeys(answers.best, direct)
        return cls(best=answers.best, fit=by_fit, method=by_method, load=load, reach=reach)


def _group_of(fitted: FittedSet) -> DemandGroup:
    found = fitted.found
    if not isinstance(found.evidence, ServiceEvidence):
        return ""
    # The first parameter of a method of demands is the demand.
    return group_of(found.evidence.limit, float(found.parameters[0].value))


def _with_utilization(load: Load, answers: Mapping[str, float]) -> Load:
    """Return a load with the utilization that was simulated, if formulas do not give it."""
    if load.utilization is not None:
        return load
    busy = [value for name, value in answers.items() if _UTILIZATION.fullmatch(name)]
    return replace(load, utilization=max(busy, default=None))


def _half_width(reach: Reach) -> float:
    """Return the distance that 95% of the published errors of a log demand stay below."""
    return t_quantile(degrees=reach.error.degrees) * reach.error.spread


@dataclass(frozen=True, slots=True)
class _Answers:
    """The predictions of the model near one point."""

    model: ModelAnswers
    config: Mapping[str, Value]

    @property
    def best(self) -> Mapping[str, float]:
        """Metrics at the fitted parameters."""
        return self._at({})

    def _at(self, values: Mapping[str, Value]) -> Mapping[str, float]:
        try:
            return self.model.values({**self.config, **values})
        except CodeNotRunError:
            raise  # Not an answer of the model: whoever looks shows the results of the run.
        except HeadroomError:
            return {}

    def spread(
        self, alternatives: Iterable[Mapping[str, Value]], *, only: Iterable[str]
    ) -> dict[str, Sides]:
        """Return how far each metric moves at most, without end if the model has no answer.

        Of the alternatives the parameters `only` count.
        """
        names = set(only)
        best = self.best
        sides: dict[str, Sides] = {}
        for values in alternatives:
            there = self._at({name: value for name, value in values.items() if name in names})
            for name, value in best.items():
                old = sides.get(name, Sides())
                moved = _moved(value, there.get(name), name)
                sides[name] = Sides(max(old.below, moved.below), max(old.above, moved.above))
        return sides


def _moved(value: float, there: float | None, name: str) -> Sides:
    if there is None or not math.isfinite(there):
        # No steady state: times and queues grow without bound, an arrival rate stays.
        return Sides() if name.endswith("throughput") else Sides(0.0, math.inf)
    if value <= 0.0 or there <= 0.0:
        return Sides() if value == there else Sides(math.inf, math.inf)
    distance = math.log(there / value)
    return Sides(max(-distance, 0.0), max(distance, 0.0))


def _wrong_demands(
    fitted: FittedSet, declared: Mapping[str, Parameter], distance: float
) -> list[dict[str, Value]]:
    """Return the parameters with all fitted demands too large and too small by `distance`."""
    signs = {
        parameter.name: 1.0 if parameter.unit in _TIMES else -1.0
        for parameter in fitted.found.parameters
        if parameter.unit in _TIMES or parameter.unit.startswith("1/")
    }
    return [
        {
            name: _scaled(declared[name], fitted.values[name], math.exp(way * sign * distance))
            for name, sign in signs.items()
        }
        for way in (-1.0, 1.0)
        if signs
    ]


def _scaled(parameter: Parameter, value: Value, factor: float) -> float:
    """Return a value times a factor, within the range that the system accepts."""
    scaled = float(value) * factor
    scaled = scaled if parameter.low is None else max(scaled, float(parameter.low))
    return scaled if parameter.high is None else min(scaled, float(parameter.high))


def with_margin(estimate: Estimate, *, fit: Sides, method: Sides, degrees: float) -> Estimate:
    """Return an estimate with its prediction interval.

    Examples
    --------
    >>> rate = Estimate(metric="throughput", unit="1/s", better="high", count=5, value=100.0,
    ...     low=97.0, high=103.0, method="student-t", centre="mean", mean=100.0, median=100.0,
    ...     stdev=2.4, minimum=97.0, maximum=103.0)
    >>> wide = with_margin(rate, fit=Sides(), method=Sides(math.log(2), math.log(2)), degrees=19)
    >>> round(wide.low), round(wide.high), wide.method
    (50, 200, 'prediction')
    """
    margin = Margin(
        run_low=estimate.low,
        run_high=estimate.high,
        fit_below=_finite(fit.below) or 0.0,
        fit_above=_finite(fit.above),
        method_below=_finite(method.below) or 0.0,
        method_above=_finite(method.above),
        degrees=degrees,
    )
    run = Interval(value=estimate.value, low=estimate.low, high=estimate.high, method="none")
    interval = widened(run, margin)
    is_full_at_1 = estimate.metric.endswith("utilization") and interval.high is not None
    return msgspec.structs.replace(
        estimate,
        low=interval.low,
        high=min(interval.high or 0.0, 1.0) if is_full_at_1 else interval.high,
        method="prediction" if interval.low is not None else "none",
        reason=interval.reason or estimate.reason,
        margin=margin,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def widened(interval: Interval, margin: Margin, *, confidence: float = CONFIDENCE) -> Interval:
    """Return an interval with the errors of a prediction added to both sides.

    Parameters
    ----------
    interval
        Of the metric, or of a ratio with the metric above the line; counts its scatter.
    margin
        The other errors, at 95%.
    confidence
        Of the interval; the margin is stretched to it.
    """
    if margin.fit_above is None or margin.method_above is None:
        return _open(interval, NoInterval(code="no_upper_end"))
    added = Sides(margin.fit_below, margin.fit_above).joined(
        Sides(margin.method_below, margin.method_above)
    )
    if added == Sides():
        return interval
    if interval.low is None or interval.high is None or interval.value <= 0.0:
        return _open(interval, interval.reason)
    degrees = margin.degrees or math.inf
    stretch = _quantile(degrees, confidence) / _quantile(degrees, CONFIDENCE)
    run = Sides(
        _log_distance(interval.low, interval.value), _log_distance(interval.value, interval.high)
    )
    whole = run.joined(Sides(stretch * added.below, stretch * added.above))
    return Interval(
        value=interval.value,
        low=interval.value * math.exp(-whole.below),
        high=interval.value * math.exp(whole.above),
        method="none",
        reason=interval.reason,
    )


def _quantile(degrees: float, confidence: float) -> float:
    return t_quantile(degrees=min(degrees, 1e6), confidence=confidence)


def _log_distance(low: float, high: float) -> float:
    return math.log(high / low) if low > 0.0 else math.inf


def _open(interval: Interval, reason: NoInterval | None) -> Interval:
    return Interval(value=interval.value, low=None, high=None, method="none", reason=reason)


def _without_interval(estimate: Estimate) -> Estimate:
    """Return an estimate of which the model does not say how it depends on the demands."""
    reason = NoInterval(code="no_formula")
    return msgspec.structs.replace(estimate, low=None, high=None, method="none", reason=reason)


def _with_published(result: PointResult, errors: Sequence[PublishedError]) -> PointResult:
    estimates = {}
    used = []
    for name, estimate in result.estimates.items():
        error = next((one for one in errors if name.endswith(one.metric)), None)
        if error is None:
            estimates[name] = estimate
            continue
        used.append(error)
        distance = t_quantile(degrees=error.count - 1) * error.log_error
        sides = Sides(distance, distance)
        estimates[name] = with_margin(
            estimate, fit=Sides(), method=sides, degrees=error.count - 1.0
        )
    prediction = Prediction(
        kind="published" if used else "unknown",
        metrics=list(dict.fromkeys(one.metric for one in used)),
        source="; ".join(dict.fromkeys(one.source for one in used)),
    )
    return msgspec.structs.replace(result, estimates=estimates, prediction=prediction)


def _prediction(fitted: FittedSet, reach: Reach | None, load: Load) -> Prediction:
    measured, predicted = _range_of(fitted.loads), _range_of([load])
    if reach is None:
        return Prediction(
            kind="chained" if fitted.origin == "predicted" else "simulated",
            measured=measured,
            predicted=predicted,
        )
    return Prediction(
        kind=reach.kind,
        measured=measured,
        predicted=predicted,
        factor=math.exp(_half_width(reach)),
        source=reach.error.source,
    )


def _range_of(loads: Sequence[Load]) -> LoadRange:
    clients = [load.clients for load in loads if load.clients is not None]
    think = [load.think_s for load in loads if load.think_s is not None]
    busy = [load.utilization for load in loads if load.utilization is not None]
    return LoadRange(
        clients=(min(clients), max(clients)) if clients else None,
        think_s=(min(think), max(think)) if think else None,
        utilization=(min(busy), max(busy)) if busy else None,
        servers=list(loads[0].servers) if loads else [],
    )
