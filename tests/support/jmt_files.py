"""Small files in JMT's format for tests, built from a short description of each node.

The files have JMT's own layout, and the code is independent of the writer's.
"""

import itertools
from collections.abc import Mapping, Sequence

NET = "jmt.engine.NetStrategies"


def parameter(name: str, value: object, kind: str = "java.lang.Integer") -> str:
    return f'<parameter classPath="{kind}" name="{name}"><value>{value}</value></parameter>'


def by_class(name: str, path: str, parts: Mapping[str, str]) -> str:
    """Return a parameter with a part for each class."""
    inside = "".join(f"<refClass>{one}</refClass>\n{part}" for one, part in parts.items())
    return f'<parameter array="true" classPath="{path}" name="{name}">\n{inside}</parameter>\n'


def sub(path: str, inside: str = "", name: str = "x", *, value: object = None) -> str:
    """Return a sub-parameter."""
    content = inside if value is None else f"<value>{value}</value>"
    return f'<subParameter classPath="{path}" name="{name}">{content}</subParameter>\n'


def law(kind: str, par: str = "", **values: object) -> str:
    """Return a service time strategy of a distribution and its parameters."""
    inner = "".join(
        sub("java.lang.Double", name=name.rstrip("_"), value=value)
        for name, value in values.items()
    )
    pair = par or f"{kind}Par"
    inside = sub(f"jmt.engine.random.{kind}", name=kind) + sub(
        f"jmt.engine.random.{pair}", inner, "distrPar"
    )
    return sub(f"{NET}.ServiceStrategies.ServiceTimeStrategy", inside)


def exponential(rate: float) -> str:
    """Return an exponential service time strategy."""
    return law("Exponential", lambda_=rate)


def services(**laws: str) -> str:
    """Return the service strategies of classes."""
    return by_class("ServiceStrategy", f"{NET}.ServiceStrategy", laws)


def strategy(name: str, inside: str = "") -> str:
    """Return a routing strategy by its name."""
    return sub(f"{NET}.RoutingStrategies.{name}", inside)


def probabilities(**shares: float) -> str:
    """Return routing by probabilities."""
    entries = "".join(
        sub(
            "jmt.engine.random.EmpiricalEntry",
            sub("java.lang.String", name="stationName", value=station.replace("_", " "))
            + sub("java.lang.Double", name="probability", value=share),
        )
        for station, share in shares.items()
    )
    return strategy("EmpiricalStrategy", sub("jmt.engine.random.EmpiricalEntry", entries))


def section(name: str, inside: str = "") -> str:
    return f'<section className="{name}">\n{inside}</section>\n'


def router(**routes: str) -> str:
    """Return a router section; a class without a strategy is routed at random."""
    return section("Router", by_class("RoutingStrategy", f"{NET}.RoutingStrategy", routes))


def node(name: str, *sections: str) -> str:
    return f'<node name="{name}">\n{"".join(sections)}</node>\n'


def waiting(
    classes: Sequence[str], size: int = -1, rule: str = "drop", put: str = "TailStrategy"
) -> str:
    """Return a queue section."""
    rules = {class_: sub("java.lang.String", name="dropStrategy", value=rule) for class_ in classes}
    puts = {class_: sub(f"{NET}.QueuePutStrategies.{put}") for class_ in classes}
    return section(
        "Queue",
        parameter("size", size)
        + by_class("dropStrategies", "java.lang.String", rules)
        + f'<parameter classPath="{NET}.QueueGetStrategies.FCFSstrategy" name="FCFSstrategy"/>'
        + by_class("QueuePutStrategy", f"{NET}.QueuePutStrategy", puts),
    )


def queue(
    name: str,
    laws: Mapping[str, str],
    *,
    servers: int = 1,
    size: int = -1,
    rule: str = "drop",
    put: str = "TailStrategy",
    server: str = "Server",
    extra: str = "",
    **routes: str,
) -> str:
    return node(
        name,
        waiting(list(laws), size, rule, put),
        section(server, parameter("maxJobs", servers) + services(**laws) + extra),
        router(**routes),
    )


def shared(name: str, laws: Mapping[str, str], kind: str = "EPSStrategy", **more: str) -> str:
    """Return a queue that shares its server."""
    shares = {one: sub(f"{NET}.PSStrategies.{kind}") for one in laws}
    extra = by_class("PSStrategy", f"{NET}.PSStrategy", shares)
    return queue(name, laws, server="PSServer", extra=extra, **more)  # type: ignore[arg-type]


def delay(name: str, laws: Mapping[str, str], **routes: str) -> str:
    return node(name, waiting(list(laws)), section("Delay", services(**laws)), router(**routes))


def source(name: str, laws: Mapping[str, str], **routes: str) -> str:
    made = section("RandomSource", services(**laws))
    return node(name, made, section("ServiceTunnel"), router(**routes))


def passing(name: str, classes: Sequence[str], **routes: str) -> str:
    """Return a router."""
    return node(name, waiting(classes), section("ServiceTunnel"), router(**routes))


def sink(name: str = "Sink") -> str:
    return node(name, section("JobSink"))


def fork(name: str, classes: Sequence[str], per_link: int = 1, block: int = -1) -> str:
    """Return a standard fork."""
    inside = parameter("jobsPerLink", per_link) + parameter("block", block)
    return node(name, waiting(classes), section("ServiceTunnel"), section("Fork", inside))


def join(name: str, **strategies: str) -> str:
    inside = by_class("JoinStrategy", f"{NET}.JoinStrategy", strategies) if strategies else ""
    return node(name, section("Join", inside), section("ServiceTunnel"), router())


def switch(name: str, rows: Mapping[str, Mapping[str, float]]) -> str:
    """Return a class switch."""
    parts = {
        one: '<subParameter array="true" classPath="java.lang.Float" name="row">'
        + "".join(
            f"<refClass>{other}</refClass>{sub('java.lang.Float', value=share)}"
            for other, share in row.items()
        )
        + "</subParameter>"
        for one, row in rows.items()
    }
    matrix = by_class("matrix", "java.lang.Object", parts)
    return node(name, waiting(list(rows)), section("ClassSwitch", matrix), router())


def closed(name: str, customers: object, reference: str, priority: object = 0) -> str:
    """Return a closed class."""
    return (
        f'<userClass customers="{customers}" name="{name}" priority="{priority}" '
        f'referenceSource="{reference}" type="closed"/>\n'
    )


def opened(name: str, reference: str = "Source", priority: int = 0) -> str:
    """Return an open class."""
    return (
        f'<userClass name="{name}" priority="{priority}" referenceSource="{reference}" '
        'type="open"/>\n'
    )


def archive(*parts: str, ways: str, after: str = "", attributes: str = "") -> str:
    """Return a file; ways are written "a > b, b > c"."""
    lines = []
    for way in ways.split(","):
        names = [name.strip() for name in way.split(">")]
        lines += [
            f'<connection source="{here}" target="{there}"/>\n'
            for here, there in itertools.pairwise(names)
        ]
    return (
        '<?xml version="1.0" encoding="ISO-8859-1" standalone="no"?>\n'
        '<archive xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" name="model.jsimg">\n'
        f'<sim name="model.jsimg" maxSamples="1000000" {attributes}>\n'
        f"{''.join(parts)}"
        '<measure alpha="0.01" name="x" nodeType="" precision="0.03" referenceNode="" '
        'referenceUserClass="" type="System Response Time" verbose="false"/>\n'
        f"{''.join(lines)}{after}</sim>\n"
        '<jmodel><userClass color="#FF0000FF" name="jobs"/></jmodel>\n</archive>\n'
    )
