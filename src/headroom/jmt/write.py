"""Write a `headroom.simulation.Model` as a JMT model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from headroom.jmt.laws_out import JmtLaw, Matrix
from headroom.jmt.net_out import OutNet, OutNode, Route, net_of
from headroom.output_file import write_output
from headroom.simulation import Model, Station
from headroom.simulation.language.model import SECONDS_PER_UNIT

Xml = ElementTree.Element
_SCHEMA = "xsi:noNamespaceSchemaLocation"
_STRATEGIES = "jmt.engine.NetStrategies."
_RANDOM = "jmt.engine.random."
_WIDTH, _HEIGHT, _MARGIN = 130, 90, 60
_PAINTS = ("#FF0000FF", "#FFFF0000", "#FF00AA00", "#FFAA00AA", "#FFFF8800", "#FF008888")

# Discipline -> the section that serves, and how a job is put into the queue.
_DISCIPLINES: Mapping[str, tuple[str, str]] = {
    "fcfs": ("Server", "TailStrategy"),
    "lcfs": ("Server", "HeadStrategy"),
    "random": ("Server", "RandStrategy"),
    "priority": ("Server", "TailStrategyPriority"),
    "lcfs_preempt": ("PreemptiveServer", "LCFSPRStrategy"),
    "priority_preempt": ("PreemptiveServer", "FCFSPRStrategyPriority"),
    "ps": ("PSServer", "TailStrategy"),
}
_ROUTINGS: Mapping[str, tuple[str, str]] = {
    "round_robin": ("RoundRobinStrategy", "Round Robin"),
    "shortest_queue": ("ShortestQueueLengthRoutingStrategy", "Join the Shortest Queue (JSQ)"),
    "two_choices": ("PowerOfKRoutingStrategy", "Power of k"),
    "disabled": ("DisabledRoutingStrategy", "Disabled"),
}


def write_jsimg(model: Model, path: str | Path) -> None:
    """Write a model as a file that JSIMgraph opens (.jsimg), with its nodes placed.

    Parameters
    ----------
    model
        The model; its times are written in seconds.
    path
        The file; an existing one is replaced.

    Raises
    ------
    SimulationError
        The model says something that JMT has no words for; the message names the line.

    Examples
    --------
    >>> import tempfile
    >>> from headroom.simulation import exponential
    >>> model = Model("queue", time_unit="ms")
    >>> visit = model.program("visit")
    >>> visit.use(model.station("server"), exponential(8))
    >>> model.open_class("customers", visit, interarrival=exponential(10))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_jsimg(model, Path(folder) / "queue.jsimg")
    ...     text = (Path(folder) / "queue.jsimg").read_text()
    >>> "<value>125.0</value>" in text
    True
    """
    write_output(path, jsimg_text(model))


def jsimg_text(model: Model) -> str:
    """Return a model as the text of a file of JMT: the same text for the same model."""
    model.to_data()
    net = net_of(model)
    archive = Xml("archive", {
        "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
        "name": model.name, "timestamp": "Thu Jan 01 00:00:00 UTC 1970", _SCHEMA: "Archive.xsd",
    })  # fmt: skip
    archive.append(_sim(model, net))
    archive.append(_layout(net))
    ElementTree.indent(archive, " ")
    body = ElementTree.tostring(archive, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n{body}\n'


def _sim(model: Model, net: OutNet) -> Xml:
    sim = Xml("sim", {
        "disableStatisticStop": "false", "logDecimalSeparator": ".", "logDelimiter": ",",
        "logPath": "", "logReplaceMode": "0", "maxSamples": "1000000", "name": model.name,
        "polling": "1.0", _SCHEMA: "SIMmodeldefinition.xsd",
    })  # fmt: skip
    if model.stop_time is not None:
        sim.set("maxSimulated", repr(model.stop_time * SECONDS_PER_UNIT[model.time_unit]))
    for class_ in net.classes:
        attributes = {"name": class_.name, "priority": str(class_.priority)}
        attributes["referenceSource"] = class_.reference
        attributes["type"] = "open" if class_.customers is None else "closed"
        if class_.customers is not None:
            attributes["customers"] = str(class_.customers)
        sim.append(Xml("userClass", attributes))
    names = [class_.name for class_ in net.classes]
    closed = {class_.name for class_ in net.classes if class_.customers is not None}
    sim.extend(_node(node, names, closed) for node in net.nodes.values())
    sim.extend(_measures(net))
    for node in net.nodes.values():
        sim.extend(Xml("connection", source=node.name, target=target) for target in node.targets)
    sim.extend(_region(model, net, pool, nodes) for pool, nodes in net.regions.items())
    if net.preloads:
        sim.append(_preload(net))
    return sim


def _node(node: OutNode, classes: Sequence[str], closed: set[str]) -> Xml:
    element = Xml("node", name=node.name)
    router = _router(node, classes)
    match node.kind:
        case "source":
            sections = [_section("RandomSource", _services(node, classes, closed))]
            sections += [_section("ServiceTunnel"), router]
        case "sink":
            sections = [_section("JobSink")]
        case "queue":
            sections = [_queue(node.station, classes), _server(node, classes), router]
        case "delay":
            sections = [_queue(None, classes), _section("Delay", _services(node, classes)), router]
        case "router":
            sections = [_queue(None, classes), _section("ServiceTunnel"), router]
        case "switch":
            sections = [_queue(None, classes), _switch(node, classes), router]
        case "fork":
            sections = [_queue(None, classes), _section("ServiceTunnel"), _fork(node, classes)]
        case "join":
            sections = [_join(node, classes), _section("ServiceTunnel"), router]
    element.extend(sections)
    return element


def _section(name: str, *parameters: Xml) -> Xml:
    element = Xml("section", className=name)
    element.extend(parameters)
    return element


def _value(tag: str, name: str, java_class: str, value: object) -> Xml:
    element = Xml(tag, classPath=java_class, name=name)
    ElementTree.SubElement(element, "value").text = str(value)
    return element


def _group(tag: str, name: str, java_class: str, *, is_array: bool = True) -> Xml:
    attributes = {"array": "true"} if is_array else {}
    return Xml(tag, {**attributes, "classPath": java_class, "name": name})


def _by_class(name: str, java_class: str, parts: Mapping[str, Xml]) -> Xml:
    element = _group("parameter", name, java_class)
    for class_name, part in parts.items():
        ElementTree.SubElement(element, "refClass").text = class_name
        element.append(part)
    return element


def _sub(java_class: str, name: str, *inner: Xml) -> Xml:
    element = Xml("subParameter", classPath=java_class, name=name)
    element.extend(inner)
    return element


def _queue(station: Station | None, classes: Sequence[str]) -> Xml:
    size, rule = -1, "drop"
    if station is not None and station.buffer is not None:
        size = station.servers + station.buffer
        rule = "drop" if station.rejects else "BAS blocking"
    elif station is not None and station.limit is not None:
        size, rule = station.limit, "waiting queue"
    put = "TailStrategy" if station is None else _DISCIPLINES[station.discipline][1]
    rules = {class_: _value("subParameter", "dropStrategy", "java.lang.String", rule)
             for class_ in classes}  # fmt: skip
    puts = {class_: _sub(f"{_STRATEGIES}QueuePutStrategies.{put}", put) for class_ in classes}
    return _section(
        "Queue",
        _value("parameter", "size", "java.lang.Integer", size),
        _by_class("dropStrategies", "java.lang.String", rules),
        _group("parameter", "FCFSstrategy", f"{_STRATEGIES}QueueGetStrategies.FCFSstrategy",
               is_array=False),
        _by_class("QueuePutStrategy", f"{_STRATEGIES}QueuePutStrategy", puts),
    )  # fmt: skip


def _server(node: OutNode, classes: Sequence[str]) -> Xml:
    station = node.station
    assert station is not None, "a queue is a station"  # noqa: S101 - made so
    section, put = _DISCIPLINES[station.discipline]
    visits = {class_: _value("subParameter", "numberOfVisits", "java.lang.Integer", 1)
              for class_ in classes}  # fmt: skip
    parameters = [
        _value("parameter", "maxJobs", "java.lang.Integer", station.servers),
        _by_class("numberOfVisits", "java.lang.Integer", visits),
        _services(node, classes),
    ]
    if section == "PreemptiveServer":
        strategies = {one: _sub(f"{_STRATEGIES}QueuePutStrategies.{put}", put) for one in classes}
        parameters.append(
            _by_class("PreemptiveStrategy", f"{_STRATEGIES}QueuePutStrategy", strategies)
        )
    if section == "PSServer":
        shares = {class_: _sub(f"{_STRATEGIES}PSStrategies.EPSStrategy", "EPSStrategy")
                  for class_ in classes}  # fmt: skip
        weights = {class_: _value("subParameter", "serviceWeight", "java.lang.Double", 1.0)
                   for class_ in classes}  # fmt: skip
        parameters.append(_by_class("PSStrategy", f"{_STRATEGIES}PSStrategy", shares))
        parameters.append(_by_class("serviceWeights", "java.lang.Double", weights))
    return _section(section, *parameters)


def _services(node: OutNode, classes: Sequence[str], null: set[str] | None = None) -> Xml:
    """Return the service or arrival strategies of a node; sources know none of closed classes."""
    timed = f"{_STRATEGIES}ServiceStrategies.ServiceTimeStrategy"
    parts = {}
    for name in classes:
        law = node.services.get(name)
        if law is not None:
            parts[name] = _sub(timed, "ServiceTimeStrategy", *_law(law))
        elif name in node.services:
            parts[name] = _strategy("ServiceStrategies", "ZeroServiceTimeStrategy")
        elif null is not None:
            parts[name] = _value("subParameter", "ServiceTimeStrategy", timed, "null")
        else:
            parts[name] = _strategy("ServiceStrategies", "DisabledServiceTimeStrategy")
    return _by_class("ServiceStrategy", f"{_STRATEGIES}ServiceStrategy", parts)


def _strategy(kind: str, name: str) -> Xml:
    return _sub(f"{_STRATEGIES}{kind}.{name}", name)


def _law(law: JmtLaw) -> tuple[Xml, Xml]:
    distribution = _sub(f"{_RANDOM}{law.java_class}", law.name)
    parameters = _sub(f"{_RANDOM}{law.parameter_class}", "distrPar")
    for name, value in law.parameters:
        if isinstance(value, list):
            parameters.append(_matrix(name, value))
        else:
            kind = "java.lang.Long" if isinstance(value, int) else "java.lang.Double"
            parameters.append(_value("subParameter", name, kind, repr(value)))
    return distribution, parameters


def _matrix(name: str, rows: Matrix) -> Xml:
    element = _group("subParameter", name, "java.lang.Object")
    for row in rows:
        vector = _group("subParameter", "vector", "java.lang.Object")
        vector.extend(_value("subParameter", "entry", "java.lang.Double", repr(one)) for one in row)
        element.append(vector)
    return element


def _router(node: OutNode, classes: Sequence[str]) -> Xml:
    parts = {class_: _routing(node.routes.get(class_)) for class_ in classes}
    return _section("Router", _by_class("RoutingStrategy", f"{_STRATEGIES}RoutingStrategy", parts))


def _routing(route: Route | None) -> Xml:
    policy = "disabled" if route is None else route.policy
    if route is not None and policy == "probability":
        return _probabilities(route)
    java_class, name = _ROUTINGS[policy]
    element = _sub(f"{_STRATEGIES}RoutingStrategies.{java_class}", name)
    if policy == "two_choices":
        element.append(_value("subParameter", "k", "java.lang.Integer", 2))
        element.append(_value("subParameter", "withMemory", "java.lang.Boolean", "false"))
    return element


def _probabilities(route: Route) -> Xml:
    entries = _group("subParameter", "EmpiricalEntryArray", f"{_RANDOM}EmpiricalEntry")
    for target, share in route.targets:
        entries.append(_entry("EmpiricalEntry", "stationName", target, share))
    strategy = f"{_STRATEGIES}RoutingStrategies.EmpiricalStrategy"
    return _sub(strategy, "Probabilities", entries)


def _entry(name: str, key: str, value: object, share: float) -> Xml:
    return _sub(
        f"{_RANDOM}EmpiricalEntry",
        name,
        _value("subParameter", key, "java.lang.String", value),
        _value("subParameter", "probability", "java.lang.Double", repr(share)),
    )


def _switch(node: OutNode, classes: Sequence[str]) -> Xml:
    rows = {}
    for name in classes:
        row = _group("subParameter", "row", "java.lang.Float")
        for other in classes:
            ElementTree.SubElement(row, "refClass").text = other
            share = 1.0 if node.switches.get(name, name) == other else 0.0
            row.append(_value("subParameter", "cell", "java.lang.Float", share))
        rows[name] = row
    return _section("ClassSwitch", _by_class("matrix", "java.lang.Object", rows))


def _fork(node: OutNode, classes: Sequence[str]) -> Xml:
    path = f"{_STRATEGIES}ForkStrategies.OutPath"
    strategies = {}
    for name in classes:
        entries = _group("subParameter", "EmpiricalEntryArray", path)
        for target in node.targets:
            count = _group("subParameter", "JobsPerLinkDis", f"{_RANDOM}EmpiricalEntry")
            count.append(_entry("EmpiricalEntry", "numbers", 1, 1.0))
            unit = _entry("outUnitProbability", "stationName", target, 1.0)
            entries.append(_sub(path, "OutPathEntry", unit, count))
        strategies[name] = _sub(
            f"{_STRATEGIES}ForkStrategies.ProbabilitiesFork", "Branch Probabilities", entries
        )
    return _section(
        "Fork",
        _value("parameter", "jobsPerLink", "java.lang.Integer", 1),
        _value("parameter", "block", "java.lang.Integer", -1),
        _value("parameter", "isSimplifiedFork", "java.lang.Boolean", "true"),
        _by_class("ForkStrategy", f"{_STRATEGIES}ForkStrategy", strategies),
    )


def _join(node: OutNode, classes: Sequence[str]) -> Xml:
    parts = {}
    for name in classes:
        quorum = node.quorums.get(name)
        required = _value("subParameter", "numRequired", "java.lang.Integer", quorum or -1)
        kind, title = ("PartialJoin", "Quorum") if quorum else ("NormalJoin", "Standard Join")
        parts[name] = _sub(f"{_STRATEGIES}JoinStrategies.{kind}", title, required)
    return _section("Join", _by_class("JoinStrategy", f"{_STRATEGIES}JoinStrategy", parts))


def _measures(net: OutNet) -> list[Xml]:
    """Return the measures for JMT: the times of each class, and each station."""
    measures = []
    for class_ in net.classes:
        measures += [_measure(kind, "", class_.name) for kind in ("System Response Time",
                                                            "System Throughput")]  # fmt: skip
    for node in net.nodes.values():
        if node.kind == "queue":
            kinds = ("Utilization", "Number of Customers", "Response Time")
            measures += [_measure(kind, node.name, "") for kind in kinds]
    return measures


def _measure(kind: str, node: str, class_name: str) -> Xml:
    name = "_".join(part for part in (node, class_name, kind) if part)
    return Xml("measure", {
        "alpha": "0.01", "name": name, "nodeType": "station" if node else "", "precision": "0.03",
        "referenceNode": node, "referenceUserClass": class_name, "type": kind, "verbose": "false",
    })  # fmt: skip


def _region(model: Model, net: OutNet, pool: str, nodes: Sequence[str]) -> Xml:
    region = Xml("blockingRegion", name=pool, type="default")
    region.extend(Xml("regionNode", nodeName=node) for node in nodes)
    region.append(Xml("globalConstraint", maxJobs=str(model.pools[pool].tokens)))
    region.append(Xml("globalMemoryConstraint", maxMemory="-1"))
    names = [class_.name for class_ in net.classes]
    region.extend(Xml("classConstraint", jobClass=name, maxJobsPerClass="-1") for name in names)
    region.extend(Xml("classMemoryConstraint", jobClass=name, maxMemoryPerClass="-1")
                  for name in names)  # fmt: skip
    region.extend(Xml("dropRules", jobClass=name, dropThisClass="false") for name in names)
    region.extend(Xml("classWeight", jobClass=name, weight="1") for name in names)
    region.extend(Xml("classSize", jobClass=name, size="1") for name in names)
    return region


def _preload(net: OutNet) -> Xml:
    preload = Xml("preload")
    stations: dict[str, Xml] = {}
    for node, name, jobs in net.preloads:
        if node not in stations:
            stations[node] = ElementTree.SubElement(preload, "stationPopulations", stationName=node)
        ElementTree.SubElement(stations[node], "classPopulation", refClass=name,
                               population=str(jobs))  # fmt: skip
    return preload


def _layout(net: OutNet) -> Xml:
    """Return where JSIMgraph draws the nodes: in columns by their distance from the start."""
    layout = Xml("jmodel", {_SCHEMA: "JModelGUI.xsd"})
    for number, one in enumerate(net.classes):
        layout.append(Xml("userClass", name=one.name, color=_PAINTS[number % len(_PAINTS)]))
    rows: dict[int, int] = {}
    for name, column in _columns(net).items():
        row = rows.get(column, 0)
        rows[column] = row + 1
        station = ElementTree.SubElement(layout, "station", name=name)
        ElementTree.SubElement(station, "position", {
            "rotate": "false", "x": f"{_MARGIN + _WIDTH * column:.1f}",
            "y": f"{_MARGIN + _HEIGHT * row:.1f}",
        })  # fmt: skip
    return layout


def _columns(net: OutNet) -> dict[str, int]:
    """Return node -> the number of steps to it from a source or from where jobs think."""
    columns: dict[str, int] = {}
    for first in net.nodes:
        if first in columns:
            continue
        columns[first] = 0
        waiting = [first]
        for name in waiting:
            for target in net.nodes[name].targets:
                if target not in columns:
                    columns[target] = columns[name] + 1
                    waiting.append(target)
    return columns
