"""Read a JMT model into a `headroom.simulation.Model`."""

from collections.abc import Callable, Mapping
from pathlib import Path

from headroom.jmt.document import Document, UserClass, document_of, whole_attribute
from headroom.jmt.laws_in import arrival_law, arrivals_in_units, in_units, service_law
from headroom.jmt.place import put, standing_at
from headroom.jmt.regions_in import add_pools, regions_of, room_of
from headroom.jmt.stations_in import add_station, drops
from headroom.jmt.walk_in import Exits, Graph, Spot, Target, Walk
from headroom.jmt.xml_tree import Element, parse_file
from headroom.simulation import (
    ArrivalProcess,
    Distribution,
    Model,
    Network,
    Program,
    Station,
)
from headroom.simulation.language.model import DEFAULT_COMPLETIONS, SECONDS_PER_UNIT, TimeUnit
from headroom.simulation.language.network import LEAVE, Weight

_UNITS: tuple[TimeUnit, ...] = ("s", "ms", "us", "ns", "ps")
SMALL_MEAN = 1e-4
"""A unit is too large for times shorter than this part of it: clocks count in steps of 1e-9."""

# References that JMT gives open classes which no source makes: other classes turn into them.
_MADE_INSIDE = frozenset({"ClassSwitch", "Fork", "Scaler", "Transition", "StatelessSource"})


def read_jsimg(path: str | Path) -> Model:
    """Return the model of a file of JSIMgraph or JSIMwiz (.jsimg, .jsimw, .jsim).

    Parameters
    ----------
    path
        The file. Its times, which have no unit in JMT, are taken as seconds; the model counts in
        a smaller unit where they are short.

    Raises
    ------
    SimulationError
        The file is no such file, or says something that has no counterpart; the message names
        the line.

    Notes
    -----
    Bertoli, Casale & Serazzi (2009), JMT: performance engineering tools, ACM SIGMETRICS
    Performance Evaluation Review 36(4). See docs/guides/bring-your-model.md for what
    is read, written and refused.

    Examples
    --------
    >>> import tempfile
    >>> from headroom.jmt import write_jsimg
    >>> from headroom.simulation import expected_visits, exponential
    >>> model = Model("shop", time_unit="s")
    >>> request = model.program("request")
    >>> request.use(model.station("web", servers=2), exponential(0.005))
    >>> model.closed_class("users", request, population=10, think=exponential(0.1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_jsimg(model, Path(folder) / "shop.jsimg")
    ...     twin = read_jsimg(Path(folder) / "shop.jsimg")
    >>> expected_visits(twin).demands
    {'users': {'web': 0.005}}
    """
    return model_of(parse_file(Path(path)))


def model_of(root: Element) -> Model:
    """Return the model of the root element of a file."""
    document = document_of(root)
    model = _Reading(document, "s").model
    unit = unit_for(model)
    return model if unit == "s" else _Reading(document, unit).model


def unit_for(model: Model) -> TimeUnit:
    """Return the largest unit in which no mean time of a model of seconds is tiny."""
    laws = [class_.law for class_ in model.classes.values()]
    for program in model.programs.values():
        laws += [law for step in program.steps for law in step.amounts.values()
                 if isinstance(law, Distribution)]  # fmt: skip
    shortest = min((law.mean for law in laws if law is not None and law.mean > 0), default=1.0)
    for unit in _UNITS:
        if shortest >= SMALL_MEAN * SECONDS_PER_UNIT[unit]:
            return unit
    return _UNITS[-1]


class _Reading:
    """One file on its way into a model: walks are found, then stations are made, then programs."""

    def __init__(self, document: Document, unit: TimeUnit) -> None:
        self.document = document
        self.model = Model(document.name, time_unit=unit)
        self._units = 1 / SECONDS_PER_UNIT[unit]
        self.regions = regions_of(document)
        jobs = [class_ for class_ in document.classes.values() if _has_jobs(class_)]
        if not jobs:
            raise next(iter(document.classes.values())).place.error(
                "no class has jobs", cure="give a closed class customers, or an open one a source"
            )
        self.walks = [Walk(document, self.regions, job) for job in jobs]
        self._round_robins: set[Spot] = set()
        self._add_stations()
        add_pools(self.model, document, self.regions)
        for walk in self.walks:
            self._add_class(walk)
        if document.longest_s is not None:
            time = document.longest_s * self._units
            self.model.stop(completions=DEFAULT_COMPLETIONS, time=time)

    def _add_stations(self) -> None:
        visited: dict[str, list[str]] = {}
        for walk in self.walks:
            arms = walk.in_arms()
            for name, classes in walk.nodes().items():
                known = visited.setdefault(name, [])
                known += [class_ for class_ in classes if class_ not in known]
                self._refuse_lost(walk, name, is_in_arm=name in arms)
        for name, node in self.document.nodes.items():
            if name in visited and node.kind in {"queue", "delay"}:
                room = room_of(self.regions.get(name))
                add_station(self.model, node, visited[name], room)

    def _refuse_lost(self, walk: Walk, name: str, *, is_in_arm: bool) -> None:
        """Refuse full stations that lose jobs which JMT loses permanently."""
        node, region = self.document.nodes[name], self.regions.get(name)
        may_drop = any(drops(node, one, self.document) for one in walk.nodes()[name])
        if not may_drop and (region is None or not region.is_dropping):
            return
        if walk.job.customers is not None or is_in_arm:
            whose = "between a fork and its join" if is_in_arm else f"of class {walk.job.name!r}"
            raise node.place.error(
                f"node {name!r} drops jobs {whose}, which then never come back",
                cure="choose BAS blocking or waiting queue, or give it infinite room",
            )

    def _add_class(self, walk: Walk) -> None:
        job = walk.job
        program = self.model.program(job.name)
        program.location = str(job.place)
        with standing_at(job.place, program):
            self._write(walk, walk.graph, program)
        law = walk.home.of_class("ServiceStrategy", job.name)
        with standing_at(job.place):
            if job.customers is None:
                if law is None or not law.children:
                    raise job.place.error(
                        f"source {walk.home.name!r} makes no jobs of class {job.name!r}",
                        cure="give the class an interarrival time distribution",
                    )
                self.model.open_class(
                    job.name, program, interarrival=self._arrivals(law, job), priority=job.priority
                )
            else:
                self._add_closed(walk, program)
        put(self.model, "classes", job.name, job.place)

    def _arrivals(self, strategy: Element, job: UserClass) -> Distribution | ArrivalProcess:
        found = arrival_law(strategy, f"the time between arrivals of class {job.name!r}")
        if isinstance(found, ArrivalProcess):
            return found if self._units == 1 else arrivals_in_units(found, self._units)
        return in_units(found, self._units)

    def _add_closed(self, walk: Walk, program: Program) -> None:
        job, think = walk.job, None
        if walk.thinks:
            drawn = self._law(walk.home.name, job.name)
            think = drawn if drawn.mean > 0 else None
        self.model.closed_class(
            job.name,
            program,
            population=job.customers or 0,
            think=think,
            priority=job.priority,
            start="ready" if think is None else "thinking",
            placed=self._placed(walk),
        )

    def _placed(self, walk: Walk) -> Mapping[Station, int]:
        found: dict[Station, int] = {}
        for element in self.document.preloads:
            node = element.attribute("stationName")
            for child in element.all("classPopulation"):
                name, jobs = child.attribute("refClass"), whole_attribute(child, "population")
                if name != walk.job.name or jobs == 0 or (walk.thinks and node == walk.home.name):
                    continue
                if node not in self.model.stations or name not in walk.nodes().get(node, []):
                    raise child.place.error(
                        f"{jobs} job(s) of class {name!r} start at {node!r}, which they do not use",
                        cure="let them start at a queue on their way",
                    )
                found[self.model.stations[node]] = jobs
        return found

    def _write(self, walk: Walk, graph: Graph, program: Program) -> None:
        """Write the steps of a graph: one after the other if there is no choice."""
        line = _line(graph)
        if line is not None:
            for spot in line:
                self._steps(walk, spot, program)
            return
        names = _names(graph, walk.job)
        with program.network() as network:
            for spot, exits in graph.exits.items():
                routes = self._routes(walk, spot, exits, names, network)
                with (
                    standing_at(exits.place, program),
                    network.node(names[spot], to=routes, policy=exits.policy),
                ):
                    self._steps(walk, spot, program)

    def _routes(
        self,
        walk: Walk,
        spot: Spot,
        exits: Exits,
        names: Mapping[Spot, str],
        network: Network,
    ) -> dict[str, Weight]:
        def name(target: Target) -> str:
            return network.leave if target is None else names[target]

        match exits.policy:
            case "shortest_queue" | "two_choices":
                weigh: Callable[[Target, float], Weight] = self._queue_of(walk, exits)
            case "round_robin":
                self._refuse_shared_turn(spot, exits)
                weigh = _nothing
            case _:
                weigh = _share
        return {name(target): weigh(target, share) for target, share in exits.targets}

    def _queue_of(self, walk: Walk, exits: Exits) -> Callable[[Target, float], Weight]:
        """Return what gives the station of a target; JMT counts jobs, Headroom jobs a server."""
        nodes = [None if spot is None else walk.node(spot) for spot, _ in exits.targets]
        stations = [
            self.model.stations[node.name] for node in nodes if node and node.kind == "queue"
        ]
        if len(stations) < len(nodes) or len({station.servers for station in stations}) > 1:
            raise exits.place.error(
                "queues are compared that are not queues or have different numbers of servers",
                cure="join the shortest queue among queues with equal servers, or choose another "
                "routing strategy",
            )
        by_spot = {spot: one for (spot, _), one in zip(exits.targets, stations, strict=True)}
        return lambda target, _share: by_spot[target]

    def _refuse_shared_turn(self, spot: Spot, exits: Exits) -> None:
        if spot in self._round_robins:
            raise exits.place.error(
                f"jobs that started in different classes take turns at {spot.node!r} in class "
                f"{spot.class_name!r}",
                cure="route by probabilities where classes are switched",
            )
        self._round_robins.add(spot)

    def _steps(self, walk: Walk, spot: Spot, program: Program) -> None:
        node = walk.node(spot)
        with standing_at(node.place, program):
            if spot.phase == "way":
                if spot.leaves:
                    program.release(self.model.pools[spot.leaves])
                if spot.enters:
                    program.acquire(self.model.pools[spot.enters])
            elif spot.phase == "out":
                self._change_priority(spot, program)
            elif spot.phase == "at" and node.kind in {"queue", "delay"}:
                program.use(self.model.stations[node.name], self._law(node.name, spot.class_name))
            elif spot.phase == "at" and node.kind == "fork":
                self._fork(walk, spot, program)

    def _law(self, node: str, class_name: str) -> Distribution:
        strategy = self.document.nodes[node].of_class("ServiceStrategy", class_name)
        what = f"the service time of class {class_name!r} at node {node!r}"
        if strategy is None:
            raise self.document.nodes[node].place.error(
                f"{what} is not given", cure="give the class a service time distribution"
            )
        return in_units(service_law(strategy, what), self._units)

    def _change_priority(self, spot: Spot, program: Program) -> None:
        priorities = {class_.priority for class_ in self.document.classes.values()}
        if len(priorities) > 1:
            program.prioritize(self.document.classes[spot.class_name].priority)

    def _fork(self, walk: Walk, spot: Spot, program: Program) -> None:
        forked = walk.forked(spot)
        with program.fork(quorum=forked.quorum) as fork:
            for graph in forked.arms:
                with fork.arm():
                    self._write(walk, graph, program)


def _has_jobs(one: UserClass) -> bool:
    if one.customers is not None:
        return one.customers > 0
    return one.reference not in _MADE_INSIDE


def _line(graph: Graph) -> list[Spot] | None:
    """Return the spots of a graph in order where each leads to one other and none comes twice."""
    found: list[Spot] = []
    here = graph.start
    while here is not None:
        if here in found or len(graph.exits[here].targets) != 1:
            return None
        found.append(here)
        here = graph.exits[here].targets[0][0]
    return found


def _names(graph: Graph, job: UserClass) -> dict[Spot, str]:
    """Return a name for each spot, its own within the graph."""
    names: dict[Spot, str] = {}
    taken: set[str] = {LEAVE}
    for spot in graph.exits:
        name = spot.node
        match spot.phase:
            case "start":
                name = f"leave {spot.node}"
            case "way":
                name = f"out of {spot.leaves}" if not spot.enters else f"into {spot.enters}"
                name = f"{name} ({spot.node})"
            case "out":
                name = f"{spot.node} to {spot.class_name}"
            case _ if spot.class_name != job.name:
                name = f"{spot.node} as {spot.class_name}"
        while name in taken:
            name += "'"
        taken.add(name)
        names[spot] = name
    return names


def _nothing(_target: Target, _share: float) -> Weight:
    return None


def _share(_target: Target, share: float) -> Weight:
    return share
