"""A small fit method for the tests of the engine: a mean, whose interval is known.

It is not registered; tests substitute it for the registered ones.
"""

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from typing import ClassVar

import msgspec
import numpy as np

from headroom.experiment.protocol.fit_method import (
    GROUP,
    FitError,
    FittedParameter,
    Found,
    Residual,
    SourcePoint,
    Target,
)


class FakeOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the fake method."""

    parameter: str = "rate"
    metric: str = "response_s_mean"
    factor: float = 1.0
    diverges: bool = False
    fewest: int = 1


class MeanFit:
    """Fits one parameter: `factor` times the mean of a metric over all points."""

    name: ClassVar[str] = "mean"
    options_type: ClassVar[type[msgspec.Struct]] = FakeOptions

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:
        """Return the one parameter."""
        assert isinstance(options, FakeOptions)
        return (options.parameter,)

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the mean, or refuse too few points."""
        assert isinstance(options, FakeOptions)
        if len(points) < options.fewest:
            raise FitError(
                f"{len(points)} points are too few", cure=f"run {options.fewest} or more"
            )
        values = [point.observed[options.metric] for point in points]
        mean = options.factor * float(np.mean([value.value for value in values]))
        mean = np.inf if options.diverges else mean
        unit = target.parameters[options.parameter].unit
        return Found(
            parameters=(FittedParameter(name=options.parameter, value=mean, unit=unit),),
            residuals=tuple(
                Residual(
                    experiment=point.experiment,
                    levels=point.levels,
                    metric=options.metric,
                    unit="s",
                    observed=one.value,
                    low=one.low,
                    high=one.high,
                    fitted=mean,
                )
                for point, one in zip(points, values, strict=True)
            ),
            notes=("a mean",),
        )


def fake_methods() -> dict[str, EntryPoint]:
    """Return the fake method as if it were registered; replaces `fit_method.registered`."""
    value = f"{MeanFit.__module__}:{MeanFit.__qualname__}"
    return {MeanFit.name: EntryPoint(name=MeanFit.name, value=value, group=GROUP)}
