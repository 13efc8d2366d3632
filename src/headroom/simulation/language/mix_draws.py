"""The class of the next cycle as computed by the job, for mixes whose classes a source determines.

Used for request streams that a mechanism generates: the stream, not a draw of the model, decides
whether the next request reads or writes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from headroom.simulation.errors import refused
from headroom.simulation.language.amounts import amount_data, check_expression
from headroom.simulation.language.expression import Attribute, Expression, Operand, as_expression


@dataclass(frozen=True, slots=True, eq=False)
class ComputedDraw:
    """How a job computes the class of its next walk; made by `computed_draw`."""

    index: Expression
    sets: tuple[tuple[str, Expression], ...]

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """Names of what the job sets before, in the order in which it is computed."""
        return tuple(dict.fromkeys(name for name, _ in self.sets))

    def check(self, name: str, model_id: int) -> None:
        """Refuse expressions over parts of another model than that of the mix `name`."""
        for operand in (self.index, *(value for _, value in self.sets)):
            check_expression(operand, f"what mix {name!r} computes", model_id)

    def to_data(self, name: str) -> dict[str, object]:
        """Return the draw of the mix `name` as the kernel reads it."""
        source = f"mix {name}"
        return {
            "draw": "computed",
            "sets": [
                {"attribute": to, "value": amount_data(value, f"{source} {to} #{place}")}
                for place, (to, value) in enumerate(self.sets)
            ],
            "index": amount_data(self.index, f"{source} class"),
        }


def computed_draw(
    index: Operand, *, sets: Mapping[Attribute, Operand] | None = None
) -> ComputedDraw:
    """Return how the jobs of a mix compute the class of their next walk, for `Model.closed_mix`.

    Before each walk, after its think time, a job computes `sets` in order, then `index`.

    Parameters
    ----------
    index
        Position of the class among the members of the mix, from 0; any other value ends the run
        with an error.
    sets
        Attributes that the job has from then on, and the value of each.

    Examples
    --------
    >>> from headroom.simulation import Model, computed_draw, simulate
    >>> model = Model("turns", time_unit="s")
    >>> turn = model.attribute("turn", initial=-1)
    >>> short, long = model.program("short"), model.program("long")
    >>> short.delay(1)
    >>> long.delay(3)
    >>> draw = computed_draw(turn, sets={turn: (turn + 1) % 2})
    >>> members = {"short": (short, 1), "long": (long, 1)}
    >>> model.closed_mix("turns", members, population=1, draw=draw)
    >>> float(simulate(model, seed=1, completions=5).snapshot_times_s[-1])
    9.0
    """
    given = dict(sets or {})
    for attribute in given:
        if not isinstance(attribute, Attribute):
            raise refused(
                f"a mix sets {attribute!r}, which is not an attribute",
                cure="pass the result of model.attribute()",
            )
    return ComputedDraw(
        index=as_expression(index),
        sets=tuple((target.name, as_expression(value)) for target, value in given.items()),
    )
