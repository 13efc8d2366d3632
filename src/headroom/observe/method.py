"""The fit method `observed.demand`: the processor time of an operation from bands of natural load.

The target is the model `observed_server`: its `processors` and `rate` are what was observed, and
the demand is that with which it is full at the load that `headroom.observe.regression` finds.

Invariant: the ends of the interval are the ends of the answer, all errors counted.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import msgspec

from headroom.experiment.protocol.fit_method import (
    FitError,
    FittedParameter,
    Found,
    Residual,
    ServiceEvidence,
    SourcePoint,
    Target,
    options_as,
)
from headroom.observe.regression import Reach, reach

DEMAND = "service_s"


class ObservedOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.fit.options]` of the method `observed.demand`."""

    busy: str = "busy_processors"
    """Metric with the busy processors of all that share `processors`."""
    throughput: str = "throughput"
    """Metric of the operations in a second."""
    room_error: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Standard deviation of the logarithm of `processors`: neighbours come and go."""


class ObservedDemand:
    """The demand by a line through bands of natural load.

    Examples
    --------
    >>> ObservedDemand().parameter_names(ObservedOptions())
    ('service_s',)
    """

    name: ClassVar[str] = "observed.demand"
    options_type: ClassVar[type[msgspec.Struct]] = ObservedOptions
    bounds_predictions: ClassVar[str] = "headroom.observe.regression"

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:
        """Return the demand."""
        options_as(ObservedOptions, options)
        return (DEMAND,)

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the demand.

        Raises
        ------
        FitError
            The rates are too much alike, or leave no room.
        """
        wanted = options_as(ObservedOptions, options)
        room, now = float(target.config["processors"]), float(target.config["rate"])
        seen = sorted(
            (
                (p.observed[wanted.throughput].value, p.observed[wanted.busy].value, p)
                for p in points
                if {wanted.throughput, wanted.busy} <= p.observed.keys()
            ),
            key=lambda one: one[:2],
        )
        rates, busy = [one[0] for one in seen], [one[1] for one in seen]
        found = reach(rates, busy, room=room, room_error=wanted.room_error, now=now)
        if found is None:
            raise FitError(
                "the observed loads are too few or too much alike to tell the demand",
                cure="observe longer, while the load changes by a quarter or more",
            )
        return Found(
            parameters=(_demand(found, room / now),),
            residuals=tuple(
                Residual(
                    experiment=point.experiment, levels=dict(point.levels),
                    metric="busy processors", unit="1", observed=u,
                    fitted=found.line.background + found.line.demand_s * x,
                )
                for x, u, point in seen
            ),
            evidence=ServiceEvidence(basis="low_load", background=found.line.background),
            alternatives=tuple({DEMAND: room / now / times} for times in (found.low, found.high)),
        )  # fmt: skip


def _demand(found: Reach, full_s: float) -> FittedParameter:
    """Return the demand with which the room is full at the load found; `full_s` is that at 1."""
    return FittedParameter(
        name=DEMAND, value=full_s / found.times, unit="s", low=full_s / found.high,
        high=full_s / found.low,
    )  # fmt: skip
