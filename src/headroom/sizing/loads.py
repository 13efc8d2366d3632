"""Factors that are a load, read from the model: with them arrivals or jobs of a class grow.

Where servers grow too, each size is asked about another load, and the answer says so. Where they
do not, more is no cure for a response time, and the question is refused.

Invariant: what only throughput is asked of is never refused, since more load may raise it.
"""

import math
from collections.abc import Mapping, Sequence

from headroom.errors import HeadroomError, StudyError
from headroom.experiment.protocol.system import Modelled
from headroom.quantities import format_level
from headroom.simulation import Model
from headroom.simulation.language.model import SECONDS_PER_UNIT
from headroom.sizing.evaluate import Subject
from headroom.sizing.size import configuration_at
from headroom.sizing.space import Place, Space
from headroom.sizing.targets import Target

_ROUNDING = 1e-9


def said_of_loads(subject: Subject, space: Space, targets: Sequence[Target]) -> list[str]:
    """Return which factors raise the load along with what serves it, in sentences.

    Parameters
    ----------
    subject, space, targets
        What is sized, over what, for what.

    Raises
    ------
    StudyError
        A factor raises the load alone, and a target suffers from it.
    """
    least = _model(subject, space, tuple(0 for _ in space.axes))
    said = []
    for number, axis in enumerate(space.axes):
        top = tuple(len(axis.levels) - 1 if number == one else 0 for one in range(len(space.axes)))
        most = _model(subject, space, top)
        grown = "" if least is None or most is None else _grown(least, most)
        if least is None or most is None or not grown:
            continue
        ends = f"{axis.name} = {format_level(axis.levels[0])} to {format_level(axis.levels[-1])}"
        if _capacity(most) > _capacity(least):
            said.append(
                f"{axis.name} is a load as well: {grown} from {ends}. For the load of one of them: "
                f"--set {axis.name}=VALUE --over {_servers(least, most)}."
            )
        elif suffering := [target.metric for target in targets if not target.is_floor]:
            raise StudyError(
                f"{axis.name} is a load here: {grown} from {ends}, and more of it is no cure for "
                f"{suffering[0]}",
                cure=f"hold it with --set {axis.name}=VALUE and vary what serves it; or ask for "
                "throughput alone, and the least that reaches it is found; how much is carried "
                "answers headroom run, with the target as [[experiment.limit]]",
            )
    return said


def _model(subject: Subject, space: Space, place: Place) -> Model | None:
    one = configuration_at(subject, space, place)
    if not isinstance(subject.system, Modelled):
        return None
    try:
        return subject.system.model(one.config, one.changes)
    except HeadroomError:
        return None


def _grown(least: Model, most: Model) -> str:
    """Return which class has more arrivals or jobs in the second model; empty if none has."""
    before, after = _loads(least), _loads(most)
    for (name, unit), value in after.items():
        old = before.get((name, unit), math.nan)
        if value > old * (1.0 + _ROUNDING):
            what = "arrivals" if unit == "1/s" else "jobs"
            return f"{what} of class {name} grow {format_level(float(f'{value / old:.3g}'))} times"
    return ""


def _loads(model: Model) -> Mapping[tuple[str, str], float]:
    per_s = 1.0 / SECONDS_PER_UNIT[model.time_unit]
    return {
        (name, "1/s" if one.population is None else "1"): float(one.population or 0)
        or one.arrival_rate * per_s
        for name, one in model.classes.items()
    }


def _capacity(model: Model) -> int:
    return sum(station.servers for station in model.stations.values())


def _servers(least: Model, most: Model) -> str:
    """Return the factor that varies the servers alone."""
    for name, station in least.stations.items():
        last = most.stations[name].servers if name in most.stations else 0
        if last > station.servers:
            return f"station.{name}.servers={station.servers}..{last}"
    return "station.NAME.servers=..."
