"""Read a queueing network of JMVA (.jmva) into a `headroom.simulation.Model`.

JMVA states no discipline, and its answers are those of a product form; servers are therefore
shared. Invariant: all that changes the answers is read or refused with its line.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headroom.jmt.place import Place, put, standing_at
from headroom.jmt.read import unit_for
from headroom.jmt.xml_tree import Element, parse_file
from headroom.simulation import Model, Program, exponential, geometric
from headroom.simulation.language.model import SECONDS_PER_UNIT, TimeUnit

_KINDS = {"delaystation": "infinite", "listation": "ps", "ldstation": "ps"}
_SKIPPED = {"algParams", "whatIf", "solutions", "description"}
SAME = 1e-4
"""Relative difference up to which service times under load are those of several servers."""


@dataclass(frozen=True, slots=True)
class _Centre:
    """A station: mean service times and visits by class; `servers` is None for a delay."""

    name: str
    servers: int | None
    times: Mapping[str, float]
    visits: Mapping[str, float]
    place: Place


@dataclass(frozen=True, slots=True)
class _Class:
    """A class: closed with a population, or open with a rate."""

    name: str
    population: int | None
    rate: float
    place: Place


def read_jmva(path: str | Path) -> Model:
    """Return the model of a file of JMVA.

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

    Examples
    --------
    >>> import tempfile
    >>> text = '''<model><parameters>
    ... <classes number="1"><closedclass name="users" population="3"/></classes>
    ... <stations number="2">
    ...   <delaystation name="desk"><servicetimes>
    ...     <servicetime customerclass="users">5.0</servicetime></servicetimes></delaystation>
    ...   <listation name="cpu" servers="1"><servicetimes>
    ...     <servicetime customerclass="users">1.0</servicetime></servicetimes></listation>
    ... </stations>
    ... <ReferenceStation number="1"><Class name="users" refStation="desk"/></ReferenceStation>
    ... </parameters></model>'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "shop.jmva"
    ...     _ = path.write_text(text)
    ...     model = read_jmva(path)
    >>> model.classes["users"].population, list(model.stations)
    (3, ['cpu'])
    """
    root = parse_file(Path(path))
    model = _model_of(root, Path(path).stem, "s")
    unit = unit_for(model)
    return model if unit == "s" else _model_of(root, Path(path).stem, unit)


def _model_of(root: Element, name: str, unit: TimeUnit) -> Model:
    parameters = root.first("parameters")
    if root.tag != "model" or parameters is None:
        raise root.place.error(
            f"the file holds <{root.tag}>, not a model of JMVA", cure="save the model from JMVA"
        )
    _refuse_others(root, {"parameters"} | _SKIPPED)
    _refuse_others(parameters, {"classes", "stations", "ReferenceStation"})
    classes = _classes(_part(parameters, "classes"))
    centres = _centres(_part(parameters, "stations"), set(classes))
    references = _references(parameters, classes, centres)
    model, units = Model(name, time_unit=unit), 1 / SECONDS_PER_UNIT[unit]
    for centre in centres.values():
        if any(_is_used(centre, one, references) for one in classes):
            with standing_at(centre.place):
                model.station(
                    centre.name,
                    servers=centre.servers or 1,
                    discipline="infinite" if centre.servers is None else "ps",
                )
            put(model, "stations", centre.name, centre.place)
    for one in classes.values():
        _add_class(model, one, centres, references.get(one.name), units)
    return model


def _refuse_others(element: Element, known: set[str]) -> None:
    for child in element.children:
        if child.tag not in known:
            raise child.place.error(
                f"<{child.tag}> has no counterpart", cure="remove it from the model in JMVA"
            )


def _part(parameters: Element, tag: str) -> Element:
    part = parameters.first(tag)
    if part is None or not part.children:
        raise parameters.place.error(f"the model has no {tag}", cure="add some in JMVA")
    return part


def _number(text: str, what: str, place: Place) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value >= 0 and math.isfinite(value)):
        raise place.error(f"{what} is {text.strip()!r}", cure="give a number of 0 or more")
    return value


def _whole(text: str, what: str, place: Place) -> int:
    value = _number(text, what, place)
    if value != int(value):
        raise place.error(f"{what} is {text!r}", cure="give a whole number")
    return int(value)


def _classes(part: Element) -> dict[str, _Class]:
    _refuse_others(part, {"closedclass", "openclass"})
    found: dict[str, _Class] = {}
    for element in part.children:
        name, place = element.attribute("name"), element.place
        if name in found or _number(element.attributes.get("priority", "0"), "priority", place):
            what = f"there are two classes {name!r}"
            raise place.error(
                what if name in found else f"class {name!r} has a priority",
                cure="give each class a name of its own, and priority 0",
            )
        if element.tag == "closedclass":
            jobs = _whole(element.attribute("population"), "the population", place)
            if jobs:
                found[name] = _Class(name, jobs, 0.0, place)
        else:
            rate = _number(element.attribute("rate"), "the arrival rate", place)
            if rate:
                found[name] = _Class(name, None, rate, place)
    if not found:
        raise part.place.error(
            "no class has jobs", cure="give a closed class customers, or an open one a rate"
        )
    return found


def _centres(part: Element, classes: set[str]) -> dict[str, _Centre]:
    _refuse_others(part, set(_KINDS))
    found: dict[str, _Centre] = {}
    for element in part.children:
        name, place = element.attribute("name"), element.place
        if name in found:
            raise place.error(f"there are two stations {name!r}", cure="rename one in JMVA")
        _refuse_others(element, {"servicetimes", "visits"})
        times = _by_class(element, "servicetimes")
        servers: int | None = None
        if element.tag == "listation":
            servers = _whole(element.attributes.get("servers", "1"), "servers", place)
        elif element.tag == "ldstation":
            servers = _servers_under_load(name, times, classes, place)
        if servers is not None and servers < 1:
            raise place.error(f"station {name!r} has no server", cure="give it 1 or more")
        firsts = {one: _number(part.text.split(";")[0], "a service time", part.place)
                  for one, part in times.items()}  # fmt: skip
        visits = {one: _number(part.text, "a number of visits", part.place)
                  for one, part in _by_class(element, "visits").items()}  # fmt: skip
        found[name] = _Centre(name, servers, firsts, visits, place)
    return found


def _by_class(element: Element, tag: str) -> dict[str, Element]:
    part = element.first(tag)
    return {} if part is None else {one.attribute("customerclass"): one for one in part.children}


def _servers_under_load(
    name: str, given: Mapping[str, Element], classes: set[str], place: Place
) -> int:
    """Return the servers whose service times under load a station states."""
    counts = set()
    for one in classes & given.keys():
        texts = given[one].text.strip().strip(";").split(";")
        times = [_number(text, "a service time", given[one].place) for text in texts]
        if times[0] == 0:
            continue
        servers = round(times[0] / times[-1]) if times[-1] > 0 else 0
        expected = [times[0] / min(jobs, servers or 1) for jobs in range(1, len(times) + 1)]
        is_same = all(
            math.isclose(time, other, rel_tol=SAME)
            for time, other in zip(times, expected, strict=True)
        )
        counts.add(servers if is_same else 0)
    if len(counts) > 1 or 0 in counts:
        raise place.error(
            f"the service times of station {name!r} under load are not those of a number of "
            "servers",
            cure="give each class S, S/2, ... S/c, or a load-independent station with servers",
        )
    return counts.pop() if counts else 1


def _references(
    parameters: Element, classes: Mapping[str, _Class], centres: Mapping[str, _Centre]
) -> dict[str, _Centre]:
    """Return the reference station of each closed class that has one."""
    part, found = parameters.first("ReferenceStation"), {}
    for element in [] if part is None else part.children:
        name, station = element.attribute("name"), element.attribute("refStation")
        if name not in classes or classes[name].population is None:
            continue
        if station not in centres:
            raise element.place.error(
                f"class {name!r} refers to station {station!r}, which is not there",
                cure=f"choose among {', '.join(map(repr, centres))}",
            )
        found[name] = centres[station]
    return found


def _is_thinking(centre: _Centre, name: str, references: Mapping[str, _Centre]) -> bool:
    return references.get(name) is centre and centre.servers is None


def _is_used(centre: _Centre, name: str, references: Mapping[str, _Centre]) -> bool:
    demand = centre.times.get(name, 0.0) * centre.visits.get(name, 1.0)
    return demand > 0 and not _is_thinking(centre, name, references)


def _add_class(
    model: Model,
    one: _Class,
    centres: Mapping[str, _Centre],
    reference: _Centre | None,
    units: float,
) -> None:
    """Add a class whose walk is from one visit of its reference station to the next."""
    references = {} if reference is None else {one.name: reference}
    once = 1.0 if reference is None else reference.visits.get(one.name, 1.0)
    if once == 0:
        raise one.place.error(
            f"class {one.name!r} never visits its reference station", cure="choose another one"
        )
    program = model.program(one.name)
    program.location = str(one.place)
    with standing_at(one.place, program):
        for centre in centres.values():
            if _is_used(centre, one.name, references):
                visits = centre.visits.get(one.name, 1.0) / once
                _visit(program, model, centre, centre.times[one.name] * units, visits)
        if one.population is None:
            model.open_class(one.name, program, interarrival=exponential(units / one.rate))
        else:
            think = 0.0
            if reference is not None and _is_thinking(reference, one.name, references):
                think = reference.times.get(one.name, 0.0)
            model.closed_class(
                one.name,
                program,
                population=one.population,
                think=exponential(think * units) if think else None,
                start="thinking" if think else "ready",
            )
    put(model, "classes", one.name, one.place)


def _visit(program: Program, model: Model, centre: _Centre, time: float, visits: float) -> None:
    station = model.stations[centre.name]
    if visits == 1:
        program.use(station, exponential(time))
        return
    is_whole = math.isclose(visits, round(visits))
    with program.loop(round(visits) if is_whole else geometric(visits, low=0)):
        program.use(station, exponential(time))
