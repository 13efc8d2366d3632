"""Read the finite capacity regions of JMT: pools of tokens, or the room of one station.

A job that finds no room waits outside without blocking others, and is admitted by priority, then in
the order of arrival, just as in a pool of tokens. If a region around one station drops jobs
instead, it becomes the room of that station.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from headroom.jmt.document import Document
from headroom.jmt.place import Place, put, standing_at
from headroom.jmt.stations_in import Room, blocks
from headroom.jmt.xml_tree import Element
from headroom.simulation import Model

_KNOWN = frozenset(
    {"regionNode", "globalConstraint", "globalMemoryConstraint", "classConstraint",
     "classMemoryConstraint", "dropRules", "classWeight", "classSize", "classSoftDeadline"}
)  # fmt: skip


_KINDS = frozenset({"queue", "delay", "router"})


@dataclass(frozen=True, slots=True)
class Region:
    """A region: its nodes, and the room in it for all classes together or for each."""

    name: str
    nodes: tuple[str, ...]
    total: int | None
    by_class: Mapping[str, int]
    is_dropping: bool
    place: Place

    def pool_of(self, class_name: str) -> str:
        """Return the name of the pool that jobs of a class take a token of; empty for none."""
        if self.is_dropping:
            return ""
        if self.total is not None:
            return self.name
        return f"{self.name} {class_name}" if class_name in self.by_class else ""


def regions_of(document: Document) -> dict[str, Region]:
    """Return node -> the region that it belongs to."""
    regions: dict[str, Region] = {}
    for element in document.regions:
        region = _region(document, element)
        if region is None:
            continue
        for node in region.nodes:
            if node in regions:
                raise element.place.error(
                    f"node {node!r} belongs to two regions", cure="put it into one region"
                )
            regions[node] = region
    return regions


def room_of(region: Region | None) -> Room | None:
    """Return the room that a region which drops leaves its one station."""
    if region is None or not region.is_dropping or region.total is None:
        return None
    return Room(region.total, "drop", region.place)


def add_pools(model: Model, document: Document, regions: Mapping[str, Region]) -> None:
    """Add a pool for each region that lets jobs wait; one that drops them limits its queue."""
    differ = len({class_.priority for class_ in document.classes.values()}) > 1
    for region in {one.name: one for one in regions.values()}.values():
        if region.is_dropping:
            continue
        tokens = {region.name: region.total} if region.total is not None else {
            region.pool_of(name): count for name, count in region.by_class.items()
        }  # fmt: skip
        for name, count in tokens.items():
            with standing_at(region.place):
                model.pool(name, tokens=count or 0, order="priority" if differ else "fcfs")
            put(model, "pools", name, region.place)


def _region(document: Document, element: Element) -> Region | None:
    """Return a region; None for one that drops jobs and that there are too few to fill."""
    name = element.attribute("name")
    for child in element.children:
        if child.tag not in _KNOWN:
            raise child.place.error(
                f"<{child.tag}> of region {name!r} has no counterpart",
                cure="remove the group constraints of the region",
            )
    nodes = tuple(child.attribute("nodeName") for child in element.all("regionNode"))
    for node in nodes:
        if node not in document.nodes or document.nodes[node].kind not in _KINDS:
            raise element.place.error(
                f"region {name!r} holds {node!r}, not a queue, delay or router of the model",
                cure="keep only queues, delays and routers in the region",
            )
    _refuse_weights(element, name)
    totals = [_limit(child, "maxJobs") for child in element.all("globalConstraint")]
    total = totals[0] if totals else None
    by_class = _by_class(document, element)
    if total is not None and by_class:
        raise element.place.error(
            f"region {name!r} limits all classes together and some by themselves",
            cure="keep one of the two limits",
        )
    if len(document.classes) == 1 and by_class:
        total, by_class = next(iter(by_class.values())), {}
    limited = list(document.classes) if total is not None else list(by_class)
    may_drop = any(one.attribute("dropThisClass") == "true" for one in element.all("dropRules"))
    if total is not None and document.most_jobs <= total and may_drop:
        return None
    is_dropping = _is_dropping(document, element, name, limited)
    region = Region(name, nodes, total, by_class, is_dropping, element.place)
    _refuse_unlike_a_pool(document, region)
    return region


def _limit(element: Element, attribute: str) -> int | None:
    text = element.attribute(attribute)
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if found == float("inf") or found < 0:
        return None
    if not found.is_integer() or found < 1:
        raise element.place.error(
            f"{attribute} must be a number of jobs, not {text!r}",
            cure="write a whole number of 1 or more, or -1 for no limit",
        )
    return int(found)


def _by_class(document: Document, element: Element) -> dict[str, int]:
    found = {}
    for child in element.all("classConstraint"):
        limit = _limit(child, "maxJobsPerClass")
        if limit is not None:
            if child.attribute("jobClass") not in document.classes:
                raise child.place.error(
                    f"class {child.attribute('jobClass')!r} is not there", cure="correct its name"
                )
            found[child.attribute("jobClass")] = limit
    return found


def _refuse_weights(element: Element, name: str) -> None:
    for tag, attribute in (
        ("globalMemoryConstraint", "maxMemory"),
        ("classMemoryConstraint", "maxMemoryPerClass"),
    ):
        for child in element.all(tag):
            if _limit(child, attribute) is not None:
                raise child.place.error(
                    f"region {name!r} limits memory, which has no counterpart",
                    cure="limit the number of jobs, and the memory to -1",
                )
    for child in element.all("classWeight"):
        if child.attribute("weight") not in {"1", "1.0"}:
            raise child.place.error(
                f"class {child.attributes.get('jobClass')!r} weighs {child.attribute('weight')} in "
                f"region {name!r}; a small job may overtake a large one there, not in a pool",
                cure="give all classes the weight 1",
            )


def _is_dropping(document: Document, element: Element, name: str, limited: list[str]) -> bool:
    rules = {class_.name: class_.customers is None for class_ in document.classes.values()}
    given = list(element.all("dropRules"))
    if given:
        rules = dict.fromkeys(rules, False)
    for child in given:
        rules[child.attributes.get("jobClass", "")] = child.attribute("dropThisClass") == "true"
    found = {rules[one] for one in limited}
    if len(found) > 1:
        raise element.place.error(
            f"region {name!r} drops jobs of some classes and lets those of others wait",
            cure="choose one rule for all classes",
        )
    return True in found


def _refuse_unlike_a_pool(document: Document, region: Region) -> None:
    if region.is_dropping and (len(region.nodes) != 1 or region.total is None):
        raise region.place.error(
            f"region {region.name!r} drops jobs and is more than one station with one limit",
            cure="let jobs wait (dropThisClass false), or limit one station",
        )
    if region.is_dropping:
        node = document.nodes[region.nodes[0]]
        if node.kind != "queue":
            raise region.place.error(
                f"region {region.name!r} drops jobs at the delay {node.name!r}",
                cure="make it a queue with as many servers as the region has room",
            )
    elif (region.total is not None or region.by_class) and any(
        blocks(node, document.classes) for node in document.nodes.values()
    ):
        raise region.place.error(
            f"region {region.name!r} and stations that block their senders (BAS) are in one model; "
            "Headroom has no counterpart for tokens that blocked jobs hold",
            cure="use regions or BAS blocking, not both",
        )
