"""Full stations that could hold each other up for ever.

Source: Kundu and Akyildiz (1989), *Deadlock free buffer allocation in closed queueing networks*:
there is no deadlock while the jobs are fewer than the places of each circle of routes.
"""

import heapq
import math

from headroom.simulation.deadlocks import ALLOWED, may_multiply
from headroom.simulation.errors import SimulationError
from headroom.simulation.parsed import Parsed
from headroom.simulation.routes import direct_routes
from headroom.simulation.structure import Use, walk


def check_blocking_cycles(parsed: Parsed) -> None:
    """Raise `SimulationError` where a circle of blocking stations may fill up."""
    model = parsed.model
    blocking = [name for name, station in model.stations.items() if station.blocks]
    if model.may_deadlock or not blocking:
        return
    routes = {
        pair: line
        for pair, line in direct_routes(parsed).items()
        if all(model.stations[name].blocks for name in pair)
    }
    places = {name: model.stations[name].capacity for name in blocking}
    for name in blocking:
        circle = _smallest_circle(name, routes, places)
        room = sum(places[one] for one in circle)
        if circle and room <= _jobs_at(parsed, set(circle)):
            _refuse(circle, routes, room)


def _refuse(circle: list[str], routes: dict[tuple[str, str], str], room: float) -> None:
    pairs = list(zip(circle, [*circle[1:], circle[0]], strict=True))
    ways = "; ".join(f"{routes[pair]}: station {pair[0]!r} to {pair[1]!r}" for pair in pairs)
    raise SimulationError(
        f"{ways}: these stations have {room:g} place(s) in all; when they are full, each waits "
        "for the next for ever",
        cure="give one of them more places (buffer=), reject instead of blocking, or keep fewer "
        f"jobs than places; {ALLOWED}",
    )


def _jobs_at(parsed: Parsed, stations: set[str]) -> float:
    """Return how many jobs may be at `stations` together."""
    jobs = 0.0
    for one in parsed.model.classes.values():
        programs = parsed.reached_from(one.program)
        nodes = (node for name in programs for node in walk(parsed.trees[name]))
        if any(isinstance(node, Use) and node.station in stations for node in nodes):
            if one.population is None or may_multiply(parsed, programs):
                return math.inf
            jobs += one.population
    return jobs


def _smallest_circle(
    start: str, routes: dict[tuple[str, str], str], places: dict[str, float]
) -> list[str]:
    """Return the circle through `start` with the fewest places, empty where there is none."""
    following: dict[str, list[str]] = {name: [] for name in places}
    for origin, target in routes:
        following[origin].append(target)
    waiting: list[tuple[float, tuple[str, ...]]] = [(places[start], (start,))]
    seen: set[str] = set()
    while waiting:
        room, path = heapq.heappop(waiting)
        for target in following[path[-1]]:
            if target == start:
                return list(path)
            if target not in seen:
                heapq.heappush(waiting, (room + places[target], (*path, target)))
        seen.add(path[-1])
    return []
