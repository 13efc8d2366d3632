"""Arrivals computed by a source of the model: when the next job arrives, and its attributes.

Used for request streams that a mechanism generates, and for any process that no distribution and no
recording describes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from headroom.simulation.errors import refused
from headroom.simulation.language.amounts import amount_data, check_expression
from headroom.simulation.language.arguments import is_number
from headroom.simulation.language.expression import Attribute, Expression, Operand, as_expression


@dataclass(frozen=True, slots=True, eq=False)
class ComputedArrivals:
    """Arrivals that a source computes; made by `computed_arrivals`.

    Its jobs inherit the attributes of the source.
    """

    wait: Expression
    sets: tuple[tuple[str, Expression], ...]
    goes_on: Expression | None
    mean_rate: float
    source: str = "arrivals"
    kind: str = "computed"
    parameters: tuple[tuple[str, object], ...] = ()

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """Names of what each job carries, in the order in which it is computed."""
        return tuple(dict.fromkeys(name for name, _ in self.sets))

    def check(self, name: str, model_id: int) -> None:
        """Refuse expressions over parts of another model than that of the class `name`."""
        parts = [self.wait, *(value for _, value in self.sets)]
        for operand in parts if self.goes_on is None else [*parts, self.goes_on]:
            check_expression(operand, f"what the arrivals of class {name!r} compute", model_id)

    def to_data(self) -> dict[str, object]:
        """Return the arrivals as the kernel reads them."""
        data: dict[str, object] = {
            "kind": self.kind,
            "wait": amount_data(self.wait, f"{self.source} wait"),
        }
        if self.sets:
            data["sets"] = [
                {"attribute": name, "value": amount_data(value, f"{self.source} {name} #{place}")}
                for place, (name, value) in enumerate(self.sets)
            ]
        if self.goes_on is not None:
            data["goes_on"] = amount_data(self.goes_on, f"{self.source} goes on")
        return data

    def __str__(self) -> str:
        return f"computed arrivals (after {self.wait})"


def computed_arrivals(
    wait: Operand,
    *,
    sets: Mapping[Attribute, Operand] | None = None,
    goes_on: Expression | None = None,
    mean_rate: float | None = None,
) -> ComputedArrivals:
    """Return arrivals that a source computes one after the other, for `Model.open_class`.

    For each arrival the source computes `sets` in order, then `goes_on`, then `wait`; after that
    time the job arrives with these attributes, whatever the system does, and the source computes
    the next one.

    Parameters
    ----------
    wait
        Time from then until the arrival (>= 0).
    sets
        Attributes that the arriving job carries, and the value of each.
    goes_on
        The arrivals end when this is 0; None is never.
    mean_rate
        Arrivals per time unit in the long run, for analyses without a run. None: unknown.

    Examples
    --------
    >>> from headroom.simulation import Model, simulate
    >>> from headroom.simulation import computed_arrivals
    >>> model = Model("countdown", time_unit="s")
    >>> left = model.attribute("left", initial=4)
    >>> job = model.program("job")
    >>> job.use(model.station("server"), 0.5)
    >>> arrivals = computed_arrivals(left, sets={left: left - 1}, goes_on=left > 0)
    >>> model.open_class("jobs", job, interarrival=arrivals)
    >>> result = simulate(model, seed=1, time=100, trace=100)
    >>> result.trace.time_s[result.trace.kind == 0].tolist()
    [3.0, 5.0, 6.0]
    """
    given = dict(sets or {})
    for attribute in given:
        if not isinstance(attribute, Attribute):
            raise refused(
                f"arrivals set {attribute!r}, which is not an attribute",
                cure="pass the result of model.attribute()",
            )
    if mean_rate is not None and (not is_number(mean_rate) or mean_rate <= 0):
        raise refused(f"the mean rate of arrivals is {mean_rate!r}", cure="give a number above 0")
    return ComputedArrivals(
        wait=as_expression(wait),
        sets=tuple((target.name, as_expression(value)) for target, value in given.items()),
        goes_on=None if goes_on is None else as_expression(goes_on),
        mean_rate=math.nan if mean_rate is None else float(mean_rate),
    )
