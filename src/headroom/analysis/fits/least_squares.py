"""The fit method `least-squares`: fit any model to any metrics that it predicts.

The model of the fitted experiment predicts each metric at each point of the sources, and the method
minimises the sum of squared relative errors. Predictions come from formulas where available (the
system's `forecast`), otherwise from short simulations with fixed seeds, so that the sum is a
sufficiently smooth function of the parameters. Positive numbers are searched on a logarithmic
scale; whole numbers are tried one after the other.

Invariant: deterministic; the model stands where the source stood: each parameter that the source
has too, under the same name or by `map`, takes the source's value.
What the observations do not determine is refused or has a wide interval, see
`headroom.analysis.fits.identification`.
"""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import msgspec
import numpy as np

from headroom.analysis.fits.identification import identify
from headroom.analysis.fits.model_answers import ModelAnswers, answer_source
from headroom.analysis.fits.sum_of_squares import Observation, Problem, Scale, Solution
from headroom.errors import StudyError
from headroom.experiment.protocol.fit_method import (
    FitError,
    FittedParameter,
    Found,
    LeastSquaresEvidence,
    Residual,
    SourcePoint,
    Target,
    options_as,
)
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Value

MOST_COMBINATIONS = 64
"""Combinations of whole numbers that are tried at most."""


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.fit.options]` of the method `least-squares`."""

    parameters: dict[str, Annotated[list[float], msgspec.Meta(min_length=2, max_length=2)]]
    """Parameters to fit, each with the smallest and largest value to look at."""
    metrics: Annotated[list[str], msgspec.Meta(min_length=1)]
    """Metrics to fit: those that the sources report and the model predicts."""
    map: dict[str, str] = {}
    """Parameter of the model to that of the source, where their names differ."""
    answers: Literal["automatic", "formulas", "simulation"] = "automatic"
    """The source of predictions: formulas, simulation, or formulas where they know all metrics."""


class LeastSquares:
    """Makes the sum of squared relative errors of a model's metrics small."""

    name: ClassVar[str] = "least-squares"
    options_type: ClassVar[type[msgspec.Struct]] = Options

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:
        """Return the names under `parameters`; refuse a range that is empty."""
        found = options_as(Options, options)
        for name, (low, high) in found.parameters.items():
            if not low < high:
                raise StudyError(
                    f"the range of {name!r} is empty: {low:g} to {high:g}",
                    cure=f"write {name} = [SMALLEST, LARGEST]",
                )
        return tuple(found.parameters)

    def model_config(
        self, point: SourcePoint, target: Target, options: msgspec.Struct
    ) -> Mapping[str, Value]:
        """Return the model's parameters as the source point had them, without the fitted ones."""
        wanted = options_as(Options, options)
        return config_of(point, target, fitted=wanted.parameters, names=wanted.map)

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the parameters with the smallest sum of squared relative errors."""
        wanted = options_as(Options, options)
        observations = _observations(points, target, wanted)
        if len(observations) < len(wanted.parameters):
            raise FitError(
                f"{len(observations)} observations do not determine "
                f"{len(wanted.parameters)} parameters",
                cure="run more levels, name more metrics, or fit fewer parameters",
            )
        source = answer_source(
            target.system, observations[0].config, wanted.metrics, wanted.answers
        )
        model = ModelAnswers(target.system, source)
        solutions = sorted(
            _solutions(observations, model, target, wanted), key=lambda one: one.squares
        )
        best = solutions[0]
        if not math.isfinite(best.squares):
            raise FitError(
                f"the model predicts none of {', '.join(wanted.metrics)} in the ranges given",
                cure="give other ranges, or metrics that the model has",
            )
        if target.is_replicate:
            return Found(parameters=tuple(_plain(best.values, target)))
        identified = identify(solutions, parameters=len(wanted.parameters))
        return Found(
            parameters=tuple(
                identified.described(one) for one in _plain(identified.values, target)
            ),
            residuals=tuple(_residuals(observations, model, identified.values, target)),
            evidence=LeastSquaresEvidence(
                observations=len(observations),
                error=math.sqrt(identified.squares / len(observations)),
                answers=model.source,
            ),
            candidates=identified.candidates,
            profiles=identified.profiles,
            alternatives=identified.alternatives,
        )


def _plain(values: Mapping[str, Value], target: Target) -> Iterator[FittedParameter]:
    declared = target.parameters
    for name, value in values.items():
        yield FittedParameter(name=name, value=value, unit=declared[name].unit)


def _observations(
    points: Sequence[SourcePoint], target: Target, options: Options
) -> list[Observation]:
    observations = []
    for point in points:
        config = config_of(point, target, fitted=options.parameters, names=options.map)
        observations += [
            Observation(
                point=point, config=config, metric=metric, value=point.observed[metric].value
            )
            for metric in options.metrics
            if metric in point.observed and point.observed[metric].value > 0.0
        ]
    if not observations:
        raise FitError(
            f"the sources report none of {', '.join(options.metrics)}",
            cure="name metrics that both the sources and the model have",
        )
    return observations


def config_of(
    point: SourcePoint, target: Target, *, fitted: Collection[str], names: Mapping[str, str]
) -> dict[str, Value]:
    """Return the model's parameters as the source had them; the `fitted` ones come later.

    Parameters
    ----------
    names
        Parameter of the model to that of the source, where their names differ.

    Raises
    ------
    StudyError
        A name is unknown, or a factor of the experiment is nothing that the source has.
    """
    _check_names(names, point, target)
    config = dict(target.config)
    for name, parameter in target.parameters.items():
        source = names.get(name, name)
        if name not in fitted and source in point.config:
            config[name] = parameter.check(point.config[source])
    if missing := [name for name in target.parameters if name not in {*config, *fitted}]:
        raise StudyError(
            f"the source has no {missing[0]!r}, which is a factor here",
            cure=f'write map = {{ {missing[0]} = "ITS NAME IN THE SOURCE" }}, or fix it here',
        )
    return config


def _check_names(names: Mapping[str, str], point: SourcePoint, target: Target) -> None:
    for name, source in names.items():
        if name not in target.parameters:
            raise StudyError(
                f"map: the model has no parameter {name!r}",
                cure='write map = { NAME_IN_THE_MODEL = "NAME_IN_THE_SOURCE" }',
            )
        if source not in point.config:
            raise StudyError(
                f"map: the source has no parameter {source!r}",
                cure=suggestion(source, point.config),
            )


def _solutions(
    observations: Sequence[Observation], model: ModelAnswers, target: Target, options: Options
) -> Iterator[Solution]:
    """Yield the best fit for each combination of whole numbers."""
    declared = target.parameters
    ranges = {name: (low, high) for name, (low, high) in options.parameters.items()}
    whole = {name: ends for name, ends in ranges.items() if declared[name].type == "int"}
    scales = [
        Scale(name, ends, declared[name]) for name, ends in ranges.items() if name not in whole
    ]
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
        yield _solved(Problem(observations, model, settled, scales), target)


def _whole(target: Target, name: str) -> int:
    return int(target.config[name])


def _solved(problem: Problem, target: Target) -> Solution:
    scales = problem.scales
    starts = [scale.place(float(target.config.get(scale.name, 0.0))) for scale in scales]
    middle = [(scale.low + scale.high) / 2.0 for scale in scales]
    tries = (starts,) if target.is_replicate or not scales else (starts, middle)
    found = [problem.solved(np.array(start, dtype=float)) for start in tries]
    squares, place = min(found, key=lambda one: one[0])
    return Solution(squares, place, problem)


def _residuals(
    observations: Sequence[Observation],
    model: ModelAnswers,
    values: Mapping[str, Value],
    target: Target,
) -> Iterator[Residual]:
    for observation in observations:
        config = {**observation.config, **values}
        fitted = model.values(config).get(observation.metric)
        if fitted is None:
            continue
        known = observation.point.observed[observation.metric]
        units = {metric.name: metric.unit for metric in target.system.metrics(config)}
        yield Residual(
            experiment=observation.point.experiment,
            levels=dict(observation.point.levels),
            metric=observation.metric,
            unit=units.get(observation.metric, ""),
            observed=known.value,
            low=known.low,
            high=known.high,
            fitted=fitted,
        )
