"""Full stations that could block each other indefinitely.

Source: Kundu and Akyildiz (1989), *Deadlock free buffer allocation in closed queueing networks*:
there is no deadlock while there are fewer jobs than places on each cycle of routes.
"""

import heapq
import math

from headroom.simulation.checks.deadlocks import ALLOWED, may_multiply
from headroom.simulation.checks.parsed import Parsed, parse_model
from headroom.simulation.checks.routes import direct_routes
from headroom.simulation.checks.structure import Use, walk
from headroom.simulation.errors import SimulationError
from headroom.simulation.language.classes import shared_populations
from headroom.simulation.language.model import Model


def check_blocking_cycles(parsed: Parsed) -> None:
    """Raise `SimulationError` if a circle of blocking stations may fill up."""
    model = parsed.model
    blocking = {name: None for name, station in model.stations.items() if station.blocks}
    if model.may_deadlock or not blocking:
        return
    routes = {
        pair: line
        for pair, line in direct_routes(parsed).items()
        if pair[0] in blocking and pair[1] in blocking
    }
    places = {name: model.stations[name].capacity for name in blocking}
    following = _on_circles(list(blocking), routes)
    most = _jobs_at(parsed, set(following))
    for name in following:
        circle = _smallest_circle(name, following, places, most)
        room = sum(places[station] for station in circle)
        if circle and room <= _jobs_at(parsed, set(circle)):
            _refuse(circle, routes, room)


def blockers(model: Model) -> dict[str, tuple[str, ...]]:
    """Return for each station those further on whose full places may hold up its servers.

    Parameters
    ----------
    model
        Any model.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential
    >>> model = Model("line", time_unit="s")
    >>> mill, press = model.station("mill"), model.station("press", buffer=2)
    >>> part = model.program("part")
    >>> part.use(mill, exponential(1))
    >>> part.use(press, exponential(1))
    >>> model.open_class("parts", part, interarrival=exponential(3))
    >>> blockers(model)
    {'mill': ('press',)}
    """
    if not any(station.blocks for station in model.stations.values()):
        return {}
    places = {name: index for index, name in enumerate(model.stations)}
    followers: dict[str, list[str]] = {}
    for origin, target in direct_routes(parse_model(model)):
        if model.stations[target].blocks:
            followers.setdefault(origin, []).append(target)
    return {
        name: tuple(sorted(followers[name], key=places.__getitem__))
        for name in places
        if name in followers
    }


def _refuse(circle: list[str], routes: dict[tuple[str, str], str], room: float) -> None:
    pairs = list(zip(circle, [*circle[1:], circle[0]], strict=True))
    ways = "; ".join(f"{routes[pair]}: station {pair[0]!r} to {pair[1]!r}" for pair in pairs)
    raise SimulationError(
        f"{ways}: these stations have {room:g} place(s) in all; when they are full, each waits "
        "indefinitely for the next",
        cure="give one of them more places (buffer=), reject instead of blocking, or keep fewer "
        f"jobs than places; {ALLOWED}",
    )


def _jobs_at(parsed: Parsed, stations: set[str]) -> float:
    """Return how many jobs may be at `stations` together."""
    jobs = 0.0
    for population, classes in shared_populations(parsed.model.classes.values()):
        programs = frozenset().union(*(parsed.reached_from(class_.program) for class_ in classes))
        nodes = (node for name in programs for node in walk(parsed.trees[name]))
        if any(isinstance(node, Use) and node.station in stations for node in nodes):
            if not population or may_multiply(parsed, programs):
                return math.inf
            jobs += population
    return jobs


def _on_circles(stations: list[str], routes: dict[tuple[str, str], str]) -> dict[str, list[str]]:
    """Return the stations that may be on a circle, each with those that follow it directly.

    Stations that nothing leads to, or that lead to nothing, are left out until none is left.
    """
    following: dict[str, list[str]] = {name: [] for name in stations}
    preceding: dict[str, list[str]] = {name: [] for name in stations}
    for origin, target in routes:
        following[origin].append(target)
        preceding[target].append(origin)
    gone: set[str] = set()
    for neighbours, others in ((preceding, following), (following, preceding)):
        count = {
            name: sum(neighbour not in gone for neighbour in neighbours[name]) for name in stations
        }
        waiting = [name for name in stations if count[name] == 0 and name not in gone]
        while waiting:
            name = waiting.pop()
            gone.add(name)
            for beside in others[name]:
                count[beside] -= 1
                if count[beside] == 0 and beside not in gone:
                    waiting.append(beside)
    return {
        name: [station for station in following[name] if station not in gone]
        for name in stations
        if name not in gone
    }


def _smallest_circle(
    start: str, following: dict[str, list[str]], places: dict[str, float], most: float
) -> list[str]:
    """Return the circle through `start` with the fewest places, if these are at most `most`.

    Dijkstra's shortest path, the places of a station being the length of a step from it.
    """
    waiting = [(places[start], start, "")]
    before: dict[str, str] = {}
    while waiting:
        room, name, origin = heapq.heappop(waiting)
        if name in before or room > most:
            continue
        before[name] = origin
        for target in following[name]:
            if target == start:
                return _path(name, before)
            heapq.heappush(waiting, (room + places[target], target, name))
    return []


def _path(last: str, before: dict[str, str]) -> list[str]:
    path = [last]
    while before[path[-1]]:
        path.append(before[path[-1]])
    return path[::-1]
