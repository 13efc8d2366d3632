"""Nodes, classes and routes of JMT, built from the flows of a model.

In JMT only its node and its class distinguish a job. If a program visits a station in several ways
(with different service times, or different routes onwards), the second visit gets its own class,
and class switches lead into it and out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from headroom.jmt.flow import Hop, Site, flow_of, groups, hops, sites_of
from headroom.jmt.laws_out import JmtLaw, jmt_arrivals, jmt_law
from headroom.simulation import Model, SimulationError, Station
from headroom.simulation.checks.controllers import changes_of
from headroom.simulation.checks.parsed import parse_model
from headroom.simulation.language.classes import JobClass
from headroom.simulation.language.model import SECONDS_PER_UNIT
from headroom.simulation.language.stations import BY_POSITION

NodeKind: TypeAlias = Literal[
    "source", "sink", "queue", "delay", "router", "fork", "join", "switch"
]


@dataclass(frozen=True, slots=True)
class OutClass:
    """A class of JMT; `customers` is None for an open one."""

    name: str
    customers: int | None
    priority: int
    reference: str


@dataclass(frozen=True, slots=True)
class Route:
    """Where jobs of a class go from a node."""

    policy: str
    targets: tuple[tuple[str, float], ...]


@dataclass(slots=True)
class OutNode:
    """A node of JMT; services, routes and switches by class. A service of None takes no time."""

    name: str
    kind: NodeKind
    station: Station | None = None
    services: dict[str, JmtLaw | None] = field(default_factory=dict)
    routes: dict[str, Route] = field(default_factory=dict)
    switches: dict[str, str] = field(default_factory=dict)
    quorums: dict[str, int] = field(default_factory=dict)
    targets: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class OutNet:
    """A model as JMT sees it."""

    classes: list[OutClass] = field(default_factory=list)
    nodes: dict[str, OutNode] = field(default_factory=dict)
    regions: dict[str, list[str]] = field(default_factory=dict)
    """Pool -> its nodes."""
    preloads: list[tuple[str, str, int]] = field(default_factory=list)
    """Node, class, jobs."""


def net_of(model: Model) -> OutNet:
    """Return a model as JMT sees it, or refuse it with the line of what JMT cannot say."""
    _refuse_model(model)
    return _Builder(model).net


class _Builder:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.net = OutNet()
        self._taken = set(model.stations)
        self._factor = SECONDS_PER_UNIT[model.time_unit]
        kinds = {class_.population is None for class_ in model.classes.values()}
        self._source = self._node("Source", "source") if True in kinds else None
        self._think = self._node("Think", "delay") if False in kinds else None
        for station in model.stations.values():
            kind: NodeKind = "delay" if station.discipline == "infinite" else "queue"
            self.net.nodes[station.name] = OutNode(station.name, kind, station)
        self._sink = self._node("Sink", "sink") if True in kinds else None
        self._held: dict[str, set[str]] = {}
        for class_ in model.classes.values():
            _ClassBuilder(self, class_).build()
        self._drop_unused_stations()
        self._regions()

    def _node(self, name: str, kind: NodeKind) -> OutNode:
        """Return a new node with a name that no other has."""
        unique, number = name, 1
        while unique in self._taken:
            number += 1
            unique = f"{name} {number}"
        self._taken.add(unique)
        self.net.nodes[unique] = OutNode(unique, kind)
        return self.net.nodes[unique]

    def held_at(self, node: OutNode, pool: str) -> None:
        """Note that jobs hold a token of `pool` at a node, or none."""
        self._held.setdefault(node.name, set()).add(pool)

    def _drop_unused_stations(self) -> None:
        for name in [name for name, node in self.net.nodes.items()
                     if node.station is not None and not node.routes]:  # fmt: skip
            del self.net.nodes[name]

    def _regions(self) -> None:
        for name, held in self._held.items():
            if len(held) > 1:
                raise SimulationError(
                    f"{self._location(name)}: jobs come to {name!r} holding "
                    f"{', '.join(repr(one) if one else 'no pool' for one in sorted(held))}; "
                    "a region of JMT holds a station or does not",
                    cure="hold the same pool whenever the station is used",
                )
            (pool,) = held
            if pool:
                self.net.regions.setdefault(pool, []).append(name)
        if self.net.regions and any(station.blocks for station in self.model.stations.values()):
            raise SimulationError(
                f"model {self.model.name!r} has pools and stations that block; who holds what "
                "while it is blocked differs in JMT",
                cure="use one of the two",
            )
        priorities = {class_.priority for class_ in self.model.classes.values()}
        for pool in self.net.regions:
            if self.model.pools[pool].order == "fcfs" and len(priorities) > 1:
                raise SimulationError(
                    f"{self.model.pools[pool].location}: regions of JMT let jobs in by priority, "
                    f"the pool {pool!r} first come first served",
                    cure='give the pool the order "priority", or all classes one priority',
                )

    def _location(self, node: str) -> str:
        station = self.net.nodes[node].station
        return self.model.name if station is None else station.location


class _ClassBuilder:
    """The nodes, classes and routes of one class of the model."""

    def __init__(self, builder: _Builder, job: JobClass) -> None:
        self._builder = builder
        self._job = job
        self._net = builder.net
        self._place: dict[int, tuple[OutNode, str]] = {}
        """Group -> its node and the class of JMT that jobs have there."""
        self._joins: dict[Site, OutNode] = {}

    def build(self) -> None:
        model, job = self._builder.model, self._job
        start = flow_of(model, job.program)
        sites = sites_of(start)
        self._refuse_idle_pools(sites)
        staying = [
            site
            for site in sites
            if site.kind in {"use", "delay", "fork"}
            or (site.kind == "choice" and site.policy != "probability")
        ]
        if not staying:
            raise SimulationError(
                f"{job.location}: class {job.name!r} walks a program that does nothing",
                cure="let the program use a station",
            )
        self._groups = groups(staying)
        first: dict[int, Site] = {}
        for site in staying:
            first.setdefault(self._groups[site], site)
        self._arrange(first)
        home = self._home()
        self._route((home, job.name), hops([(start, 1.0)]), "probability", None)
        for number, site in first.items():
            self._fill(number, site)
        self._preload(first)

    def _refuse_idle_pools(self, sites: Sequence[Site]) -> None:
        held = {site.held for site in sites if site.kind in {"use", "delay"}}
        for site in sites:
            if site.kind == "acquire" and site.name not in held:
                raise SimulationError(
                    f"{site.location}: a token of {site.name!r} is held at no station, so that no "
                    "region of JMT stands for the pool",
                    cure="use a station while holding it, or leave it out",
                )

    def _arrange(self, first: dict[int, Site]) -> None:
        """Give each group its node and its class; inside forks classes are not switched."""
        job, used = self._job, dict[str, int]()
        inside_first = sorted(first.items(), key=lambda item: item[1].inside is None)
        most = 0
        for number, site in inside_first:
            node = self._node_of(site)
            variant = used.get(node.name, 0)
            used[node.name] = variant + 1
            if variant and site.inside is not None:
                raise SimulationError(
                    f"{site.location}: jobs come to {node.name!r} in several ways, one of them in "
                    "a fork, where JMT switches no classes",
                    cure="give the arm a station of its own",
                )
            most = max(most, variant)
            self._place[number] = (node, _variant(job.name, variant))
            if site.kind != "fork":
                self._builder.held_at(node, site.held)
        for variant in range(most + 1):
            self._add_class(variant)

    def _add_class(self, variant: int) -> None:
        job, name = self._job, _variant(self._job.name, variant)
        if any(class_.name == name for class_ in self._net.classes) or (
            variant and name in self._builder.model.classes
        ):
            raise SimulationError(
                f"{job.location}: the name {name!r} is needed for a class of JMT",
                cure="rename the class",
            )
        customers = job.population if variant == 0 or job.population is None else 0
        reference = (
            self._home().name if variant == 0 or job.population is not None else "ClassSwitch"
        )
        self._net.classes.append(OutClass(name, customers, job.priority, reference))

    def _node_of(self, site: Site) -> OutNode:
        match site.kind:
            case "use":
                return self._net.nodes[site.name]
            case "delay":
                return self._builder._node("Delay", "delay")
            case "fork":
                self._joins[site] = self._builder._node("Join", "join")
                return self._builder._node("Fork", "fork")
        return self._builder._node("Router", "router")

    def _home(self) -> OutNode:
        """Return the source or the think station, after giving it the law of the class."""
        builder, job = self._builder, self._job
        home = builder._source if job.population is None else builder._think
        assert home is not None, "made for the kinds of classes that are there"  # noqa: S101
        if job.process is not None:
            home.services[job.name] = jmt_arrivals(job.process, builder._factor, job.location)
        elif job.law is not None and job.law.mean > 0:
            home.services[job.name] = jmt_law(job.law, builder._factor, job.location)
        else:
            home.services[job.name] = None
        return home

    def _fill(self, number: int, site: Site) -> None:
        """Give the node of a group its service and its routes for the class."""
        node, name = self._place[number]
        if site.kind in {"use", "delay"} and site.law is not None:
            speed = 1.0 if node.station is None else node.station.fastest
            is_zero = site.law.mean == 0
            law = None if is_zero else jmt_law(
                site.law, self._builder._factor / speed, site.location
            )  # fmt: skip
            node.services[name] = law
        if site.kind == "fork":
            self._fork(node, name, site)
            node, name = self._joins[site], self._job.name
        if site.kind == "choice":
            self._choice(node, name, site)
        else:
            self._route((node, name), hops(site.targets), "probability", site)

    def _choice(self, node: OutNode, name: str, site: Site) -> None:
        found: list[Hop] = []
        for target in site.targets:
            ways = hops([(target[0], 1.0)])
            is_plain = len(ways) == 1 and ways[0].target not in [one.target for one in found]
            if not is_plain:
                raise SimulationError(
                    f"{site.location}: a case of a choice by {site.policy} begins with chance, or "
                    "as another",
                    cure="begin each case with a station of its own",
                )
            found += [Hop(ways[0].target, target[1], ways[0].is_touched)]
        self._route((node, name), found, site.policy, site)

    def _route(
        self, start: tuple[OutNode, str], ways: Sequence[Hop], policy: str, site: Site | None
    ) -> None:
        """Route a class from a node, where jobs are as at `site`."""
        node, name = start
        held = "" if site is None else site.held
        inside = None if site is None else site.inside
        targets: dict[str, float] = {}
        for hop in ways:
            if hop.is_touched and hop.target is not None and held == hop.target.held != "":
                raise SimulationError(
                    f"{hop.target.location}: jobs give a token of {held!r} back and take one at "
                    "once; in a region of JMT they keep it",
                    cure="hold the pool across both stations",
                )
            target, is_switched = self._target(name, hop.target, inside)
            if is_switched and policy in {"shortest_queue", "two_choices"}:
                raise SimulationError(
                    f"{hop.target.location if hop.target else ''}: JMT compares the queues of "
                    "stations, and here a class switch stands before one",
                    cure="use the station in one way only",
                )
            targets[target] = targets.get(target, 0.0) + hop.share
        node.routes[name] = Route(policy, tuple(targets.items()))
        node.targets |= dict.fromkeys(targets)

    def _target(self, name: str, site: Site | None, inside: Site | None) -> tuple[str, bool]:
        """Return the node to go to, and whether it is a class switch before the real one."""
        job = self._job.name
        if site is None:
            if inside is not None:
                return self._joins[inside].name, False
            sink = self._builder._sink
            if self._job.population is None and sink is not None:
                return sink.name, False
            return self._switched(name, job, self._home())
        node, wanted = self._place[self._groups[site]]
        return self._switched(name, wanted, node)

    def _switched(self, name: str, wanted: str, node: OutNode) -> tuple[str, bool]:
        if name == wanted:
            return node.name, False
        title = f"{node.name} as {wanted}"
        found = self._net.nodes.get(title)
        if found is None:
            found = self._builder._node(title, "switch")
            found.routes[wanted] = Route("probability", ((node.name, 1.0),))
            found.targets[node.name] = None
        if found.kind != "switch":
            raise SimulationError(
                f"the name {title!r} is needed for a class switch", cure="rename the station"
            )
        found.switches[name] = wanted
        return found.name, True

    def _fork(self, node: OutNode, name: str, site: Site) -> None:
        stations = self._builder.model.stations
        inside = [
            group.name for group in self._groups if group.inside is not None and group.kind == "use"
        ]
        if any(stations[one].rejects for one in inside):
            raise SimulationError(
                f"{site.location}: a full station loses jobs inside a fork; in JMT their join "
                "never completes",
                cure='use when_full="block"',
            )
        if site.held:
            raise SimulationError(
                f"{site.location}: a job forks while it holds a token of {site.held!r}; in a "
                "region of JMT each arm would hold one",
                cure="acquire the pool in the arms, or outside the fork and its join",
            )
        for arm in site.arms:
            ways = hops([(arm, 1.0)])
            target = self._target(name, ways[0].target, site)[0]
            if len(ways) > 1 or target in node.targets:
                router = self._builder._node("Router", "router")
                in_arm = Site("choice", site.location, inside=site)
                self._route((router, name), ways, "probability", in_arm)
                target = router.name
            node.targets[target] = None
        if site.quorum is not None:
            self._joins[site].quorums[self._job.name] = site.quorum

    def _preload(self, first: dict[int, Site]) -> None:
        """Say where jobs are at time 0: JMT makes closed jobs only where a file says so."""
        if self._job.population is not None:
            rest = self._job.population - sum(jobs for _, jobs in self._job.placed)
            if rest:
                self._net.preloads.append((self._home().name, self._job.name, rest))
        for station, jobs in self._job.placed:
            ways = [number for number, site in first.items() if site.name == station]
            if len(ways) != 1:
                raise SimulationError(
                    f"{self._job.location}: jobs of class {self._job.name!r} are placed at "
                    f"{station!r}, which they use in {len(ways)} ways",
                    cure="place jobs at a station that is used in one way",
                )
            node, name = self._place[ways[0]]
            if name != self._job.name:
                raise SimulationError(
                    f"{self._job.location}: jobs of class {self._job.name!r} are placed at "
                    f"{station!r}, where JMT gives them another class",
                    cure="let them start elsewhere",
                )
            self._net.preloads.append((node.name, name, jobs))


def _variant(name: str, number: int) -> str:
    return name if number == 0 else f"{name} ({number + 1})"


def _refuse_model(model: Model) -> None:
    """Refuse what no file of JMT says, whatever the programs do."""
    for station in model.stations.values():
        _refuse_station(model, station)
    for change in changes_of(parse_model(model)):
        raise SimulationError(
            f"{change.text}, which the JMT format cannot express", cure="keep them unchanged"
        )
    for breakdown in model.breakdowns_of.values():
        raise SimulationError(f"{breakdown.location}: JMT has no breakdowns", cure="leave them out")
    if not model.classes:
        raise SimulationError(f"model {model.name!r} has no classes", cure="add some")
    for mix in model.mixes.values():
        raise SimulationError(
            f"{mix.location}: the jobs of mix {mix.name!r} change their class, which the JMT "
            "format cannot express",
            cure="make one class of them, whose program branches by the same shares",
        )
    for job in model.classes.values():
        if job.batch is not None or job.initial:
            raise SimulationError(
                f"{job.location}: JMT has no batches of arrivals and no open jobs at time 0",
                cure="let jobs arrive one by one, from an empty start",
            )
        if job.start == "ready" and job.law is not None and job.law.mean > 0:
            raise SimulationError(
                f"{job.location}: jobs of JMT that think at all begin with thinking",
                cure='leave start="ready" out',
            )


def _refuse_station(model: Model, station: Station) -> None:
    where = f"{station.location}: station {station.name!r}"
    if station.discipline in BY_POSITION:
        raise SimulationError(
            f"{where} serves by the position of jobs ({station.discipline}), which JMT does not "
            "know",
            cure="choose another discipline, or keep this model in Headroom",
        )
    if station.batch is not None:
        raise SimulationError(f"{where} serves batches, JMT single jobs", cure="leave batch out")
    if station.speeds is not None and len(set(station.speeds)) > 1:
        raise SimulationError(
            f"{where} has servers of different speed, which the JMT format cannot express",
            cure="make a station of each speed",
        )
    if station.limit is not None and station.buffer is not None:
        raise SimulationError(
            f"{where} limits who shares its servers and who waits; JMT has room for one number",
            cure="leave limit or buffer out",
        )
    closed = [class_.name for class_ in model.classes.values() if class_.population is not None]
    if station.rejects and closed:
        raise SimulationError(
            f"{where} rejects jobs; in JMT those of the closed class {closed[0]!r} never come back",
            cure='use when_full="block", or open classes alone',
        )
