"""The fit method `least-squares`: any model, fitted to any metrics that it predicts.

The model of the fitted experiment is asked for each metric at each point of the sources, and the
sum of squared relative errors is made small. Formulas answer where they can (the system's
`forecast`), else short simulations with fixed seeds, so that the sum is a smooth enough function
of the parameters. Positive numbers are searched on a logarithmic scale; whole numbers are tried
one after the other.

Invariant: deterministic; the model stands where the source stood: each parameter that the source
has too, under the same name or by `map`, takes the source's value.

Source: Branch, Coleman and Li, *A Subspace, Interior, and Conjugate Gradient Method*, SIAM
Journal on Scientific Computing 21 (1999): the trust region of SciPy's `least_squares`.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import msgspec
import numpy as np
import scipy

from headroom.analysis.distributions import kept_bins
from headroom.analysis.summaries import run_values
from headroom.analysis.warm_up import choose_cut
from headroom.analysis.windows import open_window
from headroom.errors import HeadroomError, StudyError
from headroom.experiment.fit_method import (
    FitError,
    FittedParameter,
    Found,
    Residual,
    SourcePoint,
    Target,
)
from headroom.experiment.run import FloatArray
from headroom.experiment.study import WarmUp
from headroom.experiment.system import Forecasts, Parameter, Value

MOST_COMBINATIONS = 64
"""Combinations of whole numbers that are tried at most."""
_STEP = {"formulas": 1e-6, "simulation": 0.02}
"""Relative step of the derivatives: larger than the noise of what answers."""
_SIMULATIONS = 3
"""Simulations of each point, with the same seeds for all parameters."""


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.fit.options]` of the method `least-squares`."""

    parameters: dict[str, Annotated[list[float], msgspec.Meta(min_length=2, max_length=2)]]
    """Parameters to fit, each with the smallest and largest value to look at."""
    metrics: Annotated[list[str], msgspec.Meta(min_length=1)]
    """Metrics to fit: those that the sources report and the model predicts."""
    map: dict[str, str] = {}
    """Parameter of the model to that of the source, where their names differ."""
    answers: Literal["automatic", "formulas", "simulation"] = "automatic"
    """What predicts: formulas, simulation, or formulas where they know all metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Observation:
    """One number to be met."""

    point: SourcePoint
    config: Mapping[str, Value]
    metric: str
    value: float


@dataclass(slots=True)
class _Model:
    """Predictions of the target at given parameters, each computed once."""

    target: Target
    metrics: Sequence[str]
    answers: str
    known: dict[tuple[object, ...], Mapping[str, float]] = field(default_factory=dict)

    def values(self, config: Mapping[str, Value]) -> Mapping[str, float]:
        """Return the metrics at one config."""
        key = tuple(sorted(config.items()))
        if key not in self.known:
            self.known[key] = self._computed(config)
        return self.known[key]

    def _computed(self, config: Mapping[str, Value]) -> Mapping[str, float]:
        system = self.target.system
        if self.answers == "simulation":
            return self._simulated(config)
        if not isinstance(system, Forecasts):
            return {}
        return system.forecast(config, ()).values

    def _simulated(self, config: Mapping[str, Value]) -> Mapping[str, float]:
        runs = [self.target.system.run(config, seed=seed) for seed in range(_SIMULATIONS)]
        cut = choose_cut(WarmUp(), runs)
        if cut is not None and not cut.is_steady:
            return {}
        windows = [open_window(run, cut_s=cut.cut_s if cut else 0.0) for run in runs]
        found = [run_values(window, kept_bins(window)) for window in windows if window]
        return {
            metric: float(np.mean([one[metric] for one in found]))
            for metric in self.metrics
            if found and all(metric in one for one in found)
        }


class LeastSquares:
    """Makes the sum of squared relative errors of a model's metrics small."""

    name: ClassVar[str] = "least-squares"
    options_type: ClassVar[type[msgspec.Struct]] = Options

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:
        """Return the parameters that the options name."""
        found = _typed(options)
        for name, (low, high) in found.parameters.items():
            if not low < high:
                raise StudyError(
                    f"the range of {name!r} is empty: {low:g} to {high:g}",
                    cure=f"write {name} = [SMALLEST, LARGEST]",
                )
        return tuple(found.parameters)

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the parameters with the smallest sum of squared relative errors."""
        wanted = _typed(options)
        observations = _observations(points, target, wanted)
        if len(observations) < len(wanted.parameters):
            raise FitError(
                f"{len(observations)} observations do not determine "
                f"{len(wanted.parameters)} parameters",
                cure="run more levels, name more metrics, or fit fewer parameters",
            )
        model = _Model(target, wanted.metrics, _answers(observations, target, wanted))
        best = min(_solutions(observations, model, target, wanted), key=lambda one: one[0])
        error, values = best
        if not math.isfinite(error):
            raise FitError(
                f"the model predicts none of {', '.join(wanted.metrics)} in the ranges given",
                cure="give other ranges, or metrics that the model has",
            )
        declared = target.parameters
        return Found(
            parameters=tuple(
                FittedParameter(name=name, value=value, unit=declared[name].unit)
                for name, value in values.items()
            ),
            residuals=tuple(_residuals(observations, model, values, target)),
            notes=tuple(_notes(observations, error, model, values, wanted)),
        )


def _typed(options: msgspec.Struct) -> Options:
    if not isinstance(options, Options):
        raise TypeError(f"Options are needed, not {type(options).__name__}")
    return options


def _observations(
    points: Sequence[SourcePoint], target: Target, options: Options
) -> list[_Observation]:
    found = []
    for point in points:
        config = _config_of(point, target, options)
        found += [
            _Observation(
                point=point, config=config, metric=metric, value=point.observed[metric].value
            )
            for metric in options.metrics
            if metric in point.observed and point.observed[metric].value > 0.0
        ]
    if not found:
        raise FitError(
            f"the sources report none of {', '.join(options.metrics)}",
            cure="name metrics that both the sources and the model have",
        )
    return found


def _config_of(point: SourcePoint, target: Target, options: Options) -> dict[str, Value]:
    """Return the model's parameters as the source had them; the fitted ones come later."""
    config = dict(target.config)
    for name, parameter in target.parameters.items():
        source = options.map.get(name, name)
        if name not in options.parameters and source in point.config:
            config[name] = parameter.check(point.config[source])
    return config


def _answers(observations: Sequence[_Observation], target: Target, options: Options) -> str:
    if options.answers != "automatic":
        return options.answers
    if not isinstance(target.system, Forecasts):
        return "simulation"
    first = target.system.forecast(observations[0].config, ()).values
    return "formulas" if all(name in first for name in options.metrics) else "simulation"


def _solutions(
    observations: Sequence[_Observation], model: _Model, target: Target, options: Options
) -> Iterator[tuple[float, dict[str, Value]]]:
    """Yield the best values for each combination of whole numbers, with their error."""
    declared = target.parameters
    ranges = {name: (low, high) for name, (low, high) in options.parameters.items()}
    whole = {name: ends for name, ends in ranges.items() if declared[name].type == "int"}
    free = {name: ends for name, ends in ranges.items() if name not in whole}
    candidates = [range(math.ceil(low), math.floor(high) + 1) for low, high in whole.values()]
    if target.is_replicate:
        candidates = [range(here, here + 1) for name in whole for here in [_whole(target, name)]]
    if math.prod(map(len, candidates)) > MOST_COMBINATIONS:
        raise FitError(
            f"the ranges of {', '.join(whole)} hold more than {MOST_COMBINATIONS} combinations",
            cure="give narrower ranges of the whole numbers",
        )
    for combination in itertools.product(*candidates):
        settled: dict[str, Value] = dict(zip(whole, combination, strict=True))
        yield _solved(observations, model, settled, free, target)


def _whole(target: Target, name: str) -> int:
    return int(target.config[name])


def _solved(
    observations: Sequence[_Observation],
    model: _Model,
    settled: Mapping[str, Value],
    free: Mapping[str, tuple[float, float]],
    target: Target,
) -> tuple[float, dict[str, Value]]:
    def errors(values: Mapping[str, Value]) -> FloatArray:
        return np.array([_relative_error(one, model, values) for one in observations])

    if not free:
        values = dict(settled)
        return _mean_square(errors(values)), values
    scales = [_Scale(name, ends, target.parameters[name]) for name, ends in free.items()]

    def values_at(place: FloatArray) -> dict[str, Value]:
        found = {scale.name: scale.value(x) for scale, x in zip(scales, place, strict=True)}
        return {**settled, **found}

    starts = [scale.place(float(target.config.get(scale.name, 0.0))) for scale in scales]
    middle = [(scale.low + scale.high) / 2.0 for scale in scales]
    best: tuple[float, dict[str, Value]] = (math.inf, values_at(np.array(starts)))
    for start in (starts,) if target.is_replicate else (starts, middle):
        found = scipy.optimize.least_squares(
            lambda place: errors(values_at(place)),
            np.array(start),
            bounds=([scale.low for scale in scales], [scale.high for scale in scales]),
            diff_step=_STEP[model.answers],
            x_scale=[scale.high - scale.low for scale in scales],
        )
        values = values_at(found.x)
        best = min(best, (_mean_square(errors(values)), values), key=lambda one: one[0])
    return best


class _Scale:
    """A free parameter on the scale that it is searched on."""

    def __init__(self, name: str, ends: tuple[float, float], parameter: Parameter) -> None:
        low, high = ends
        low = low if parameter.low is None else max(low, parameter.low)
        high = high if parameter.high is None else min(high, parameter.high)
        if not low < high:
            raise FitError(
                f"no value of {name!r} lies both in its range and in {ends[0]:g} to {ends[1]:g}",
                cure=f"give a range within {parameter.low} to {parameter.high}",
            )
        self.name = name
        self._is_log = low > 0.0
        self.low = self._there(low)
        self.high = self._there(high)

    def place(self, value: float) -> float:
        """Return where a value lies, within the ends."""
        lowest = math.exp(self.low) if self._is_log else self.low
        inner = 1e-3 * (self.high - self.low)
        place = self._there(max(value, lowest))
        return min(max(place, self.low + inner), self.high - inner)

    def value(self, place: float) -> float:
        """Return the value at a place."""
        return math.exp(place) if self._is_log else float(place)

    def _there(self, value: float) -> float:
        return math.log(value) if self._is_log else value


_FAR = 10.0
"""Relative error where the model has no answer, such as at an overload: worse than any."""


def _relative_error(one: _Observation, model: _Model, values: Mapping[str, Value]) -> float:
    try:
        found = model.values({**one.config, **values}).get(one.metric)
    except HeadroomError:
        found = None
    if found is None or not math.isfinite(found):
        return _FAR
    return min((found - one.value) / one.value, _FAR)


def _mean_square(errors: FloatArray) -> float:
    return math.inf if bool(np.all(errors >= _FAR)) else float(np.mean(errors**2))


def _residuals(
    observations: Sequence[_Observation],
    model: _Model,
    values: Mapping[str, Value],
    target: Target,
) -> Iterator[Residual]:
    for one in observations:
        config = {**one.config, **values}
        fitted = model.values(config).get(one.metric)
        if fitted is None:
            continue
        known = one.point.observed[one.metric]
        units = {metric.name: metric.unit for metric in target.system.metrics(config)}
        yield Residual(
            experiment=one.point.experiment,
            levels=dict(one.point.levels),
            metric=one.metric,
            unit=units.get(one.metric, ""),
            observed=known.value,
            low=known.low,
            high=known.high,
            fitted=fitted,
        )


def _notes(
    observations: Sequence[_Observation],
    error: float,
    model: _Model,
    values: Mapping[str, Value],
    options: Options,
) -> Iterator[str]:
    who = "formulas" if model.answers == "formulas" else "short simulations"
    yield (
        f"{len(observations)} observations, root mean square of the relative errors "
        f"{100.0 * math.sqrt(error):.3g} %; predicted by {who}"
    )
    for name, (low, high) in options.parameters.items():
        value = float(values[name])
        ends = [end for end in (low, high) if math.isclose(value, end, rel_tol=1e-3)]
        if ends:
            yield f"{name} stands at the end {ends[0]:g} of its range: the best may lie beyond"
