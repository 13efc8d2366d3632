"""Models without a formula: impatient jobs, and capacities that change during a run.

An answer that ignored these features would describe another system, so there is none. Bounds still
hold: they count only what is certain.
"""

from headroom.simulation import Model
from headroom.simulation.checks.controllers import changes_of
from headroom.simulation.checks.parsed import parse_model
from headroom.simulation.checks.structure import Acquire, Use, walk
from headroom.solvers.errors import SolverError


def refuse_unsteady(model: Model, *, knows_patience: bool = False) -> None:
    """Raise `SolverError` where jobs of `model` lose patience, or its capacities change.

    `knows_patience` is true where a theorem is about its patience.
    """
    parsed = parse_model(model)
    for change in changes_of(parsed):
        raise SolverError(
            f"{change.text}, and the solvers know only constant capacities",
            cure="simulate it",
        )
    for tree in () if knows_patience else parsed.trees.values():
        for node in walk(tree):
            if isinstance(node, (Use, Acquire)) and node.patience is not None:
                place = (
                    f"station {node.station!r}" if isinstance(node, Use) else f"pool {node.pool!r}"
                )
                raise SolverError(
                    f"{node.location}: jobs lose patience at {place} and leave its queue, "
                    "which the solvers do not know",
                    cure="simulate it",
                )
