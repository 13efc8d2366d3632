"""The fit method `share-of-maximum`: set a load to a share of the maximum observed.

A parameter of the load, such as the rate of an open load, is set to a share of the largest value
that a metric reached at any point of the sources: for example 70% of the maximum throughput,
whatever the capacity of this machine.

Invariant: the same points give the same load.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import msgspec

from headroom.experiment.protocol.fit_method import (
    FitError,
    FittedParameter,
    Found,
    ShareEvidence,
    SourcePoint,
    Target,
    options_as,
)


class ShareOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.fit.options]` of the method `share-of-maximum`."""

    parameter: str
    """Parameter that is set."""
    share: Annotated[float, msgspec.Meta(gt=0)]
    """Share of the maximum: 0.7 is 70% of it."""
    metric: str = "throughput"
    """Metric whose largest value counts, over all points of the sources."""
    per: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    """What one unit of the parameter stands for, in the unit of the metric."""


class ShareOfMaximum:
    """A parameter is a share of the maximum of a metric.

    Examples
    --------
    >>> ShareOfMaximum().parameter_names(ShareOptions(parameter="rate", share=0.7))
    ('rate',)
    """

    name: ClassVar[str] = "share-of-maximum"
    options_type: ClassVar[type[msgspec.Struct]] = ShareOptions
    chooses_load: ClassVar[bool] = True

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:
        """Return the parameter that is set."""
        return (options_as(ShareOptions, options).parameter,)

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the load.

        Raises
        ------
        FitError
            No point reports the metric, or the share of it is less than one whole number.
        """
        wanted = options_as(ShareOptions, options)
        seen = [
            point.observed[wanted.metric].value
            for point in points
            if wanted.metric in point.observed
        ]
        if not seen or max(seen) <= 0.0:
            raise FitError(
                f"no point of the sources has a {wanted.metric} above 0",
                cure="name a metric that they report as `metric`",
            )
        declared = target.parameters[wanted.parameter]
        value: float | int = wanted.share * max(seen) / wanted.per
        if declared.type == "int":
            value = int(target.config[wanted.parameter]) if target.is_replicate else int(value)
            if value < 1:
                raise FitError(
                    f"{wanted.share:g} of the largest {wanted.metric} is less than one "
                    f"{wanted.parameter}",
                    cure="ask for a larger share",
                )
        parameter = FittedParameter(name=wanted.parameter, value=value, unit=declared.unit)
        evidence = ShareEvidence(share=wanted.share, metric=wanted.metric, points=len(seen))
        return Found(parameters=(parameter,), evidence=evidence)
