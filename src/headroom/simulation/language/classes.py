"""Job classes: which program the jobs run, and how often."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

from headroom.simulation.errors import caller_location, refused
from headroom.simulation.language.amounts import as_law
from headroom.simulation.language.arguments import check_count, choose, is_whole
from headroom.simulation.language.computed_arrivals import ComputedArrivals
from headroom.simulation.language.mix_draws import ComputedDraw
from headroom.simulation.language.stations import Station
from headroom.simulation.language.streams import stream_key
from headroom.simulation.laws.distribution import Distribution

if TYPE_CHECKING:
    from headroom.simulation.laws.arrivals import ArrivalProcess

Start: TypeAlias = Literal["thinking", "ready"]
Draw: TypeAlias = Literal["independent", "deck"]
LARGEST_DECK = 100_000
"""Maximum cards of a deck."""
PRIORITY_LIMIT = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JobClass:
    """A class of jobs: closed if it has a population, else open.

    Parameters
    ----------
    name, program
        Its name, and that of the program that it walks.
    population
        Jobs of a closed class; None for an open one.
    law
        Think time of a closed class, time between arrivals of an open one; None for no think time,
        and if `process` gives the arrivals.
    process
        Arrival process without independent draws: bursts, a changing rate, a trace.
    priority
        Priority that its jobs start with; the larger, the more urgent.
    start, placed
        Where the jobs of a closed class are at time 0.
    batch, initial
        How many jobs of an open class arrive at once, and how many are there at time 0.
    mix, weight
        For a class of a mix, the name of the mix, whose jobs it shares with the other classes of
        the mix, and how often it is drawn; its population and think time are those of the mix.
    location
        Line of Python that made it.
    """

    name: str
    program: str
    population: int | None = None
    law: Distribution | None = None
    process: "ArrivalProcess | ComputedArrivals | None" = None
    priority: int = 0
    start: Start = "thinking"
    placed: tuple[tuple[str, int], ...] = ()
    batch: Distribution | None = None
    initial: int = 0
    mix: str = ""
    weight: int = 1
    location: str = field(default="", repr=False)

    @property
    def arrival_rate(self) -> float:
        """Mean arrivals in a time unit, jobs of a batch counted singly; 0 for a closed class."""
        if self.population is not None:
            return 0.0
        jobs = 1.0 if self.batch is None else self.batch.mean
        if self.process is not None:
            return jobs * float(self.process.mean_rate)
        return jobs / self.law.mean if self.law is not None else 0.0

    @property
    def is_endless(self) -> bool:
        """False if the arrivals end by themselves: a trace is only so long."""
        if isinstance(self.process, ComputedArrivals):
            return self.process.goes_on is None
        return self.process is None or self.process.to_data().get("kind") != "trace"

    def to_data(self) -> dict[str, object]:
        """Return the class as the kernel reads it."""
        data: dict[str, object] = {"name": self.name, "program": self.program}
        if self.priority:
            data["priority"] = self.priority
        return data | (self._open_data() if self.population is None else self._closed_data())

    def _closed_data(self) -> dict[str, object]:
        data: dict[str, object] = {
            "kind": "closed",
            "population": self.population,
            "think": None if self.law is None else self.law.to_data(),
            "stream": stream_key(f"class {self.name}: think"),
        }
        if self.start != "thinking":
            data["start"] = self.start
        if self.placed:
            data["placed"] = [{"station": name, "jobs": jobs} for name, jobs in self.placed]
        return data

    def _open_data(self) -> dict[str, object]:
        data: dict[str, object] = {
            "kind": "open",
            "stream": stream_key(f"class {self.name}: arrivals"),
        }
        if self.process is not None:
            data["arrivals"] = self.process.to_data()
        else:
            data["interarrival"] = None if self.law is None else self.law.to_data()
        if self.batch is not None:
            data["batch"] = self.batch.to_data()
            data["batch_stream"] = stream_key(f"class {self.name}: batch")
        if self.initial:
            data["initial"] = self.initial
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Jobs that belong to one class after another.

    Parameters
    ----------
    name
        Its name.
    population
        Number of jobs.
    law
        Think time before each walk; None for none.
    start
        Where the jobs are at time 0.
    draw
        How the class of the next walk is drawn.
    location
        Line of Python that made it.
    """

    name: str
    population: int
    law: Distribution | None
    start: Start
    draw: Draw | ComputedDraw
    location: str = field(default="", repr=False)

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """Names of the attributes that its jobs compute before their class."""
        return self.draw.attribute_names if isinstance(self.draw, ComputedDraw) else ()

    def to_data(self, members: Iterable[JobClass]) -> dict[str, object]:
        """Return the mix of the classes `members` as the kernel reads it."""
        data: dict[str, object] = {
            "name": self.name,
            "population": self.population,
            "think": None if self.law is None else self.law.to_data(),
            "stream": stream_key(f"mix {self.name}: think"),
            **self._draw_data(),
            "draw_stream": stream_key(f"mix {self.name}: draw"),
            "classes": [_member_data(member) for member in members],
        }
        if self.start != "thinking":
            data["start"] = self.start
        return data

    def _draw_data(self) -> dict[str, object]:
        is_computed = isinstance(self.draw, ComputedDraw)
        return self.draw.to_data(self.name) if is_computed else {"draw": self.draw}  # type: ignore[union-attr]  # it was asked


def _member_data(job_class: JobClass) -> dict[str, object]:
    data: dict[str, object] = {
        "name": job_class.name,
        "program": job_class.program,
        "weight": job_class.weight,
    }
    return data | ({"priority": job_class.priority} if job_class.priority else {})


def check_members(name: str, members: object) -> None:
    """Refuse `members` that are no classes of a mix, each with a pair of program and weight."""
    if not isinstance(members, Mapping) or not members:
        raise refused(
            f"mix {name!r} has the classes {members!r}",
            cure="give a dictionary of one or more: class -> (program, weight)",
        )
    for member, pair in members.items():
        if not isinstance(pair, tuple) or len(pair) != 2:  # noqa: PLR2004 - program and weight
            raise refused(
                f"class {member!r} of mix {name!r} is {pair!r}",
                cure="give a pair: (program, weight)",
            )


def mixed(
    name: str,
    members: Mapping[str, tuple[str, int]],
    *,
    population: int,
    think: Distribution | float | None,
    start: Start,
    draw: Draw | ComputedDraw,
    priorities: Mapping[str, int],
) -> tuple[Mix, dict[str, JobClass]]:
    """Return a mix and its classes, after checking it; `members` has program and weight of each."""
    jobs = check_count(f"mix {name!r}", "jobs (population)", population)
    choose(f"mix {name!r}", "start", start, get_args(Start))
    if not isinstance(draw, ComputedDraw):
        choose(f"mix {name!r}", "draw", draw, get_args(Draw))
    weights = {
        member: check_count(f"class {member!r} of mix {name!r}", "weight", weight)
        for member, (_, weight) in members.items()
    }
    unknown = [priority for priority in priorities if priority not in members]
    if unknown:
        raise refused(
            f"mix {name!r} gives a priority to {unknown[0]!r}, which is not one of its classes",
            cure=f"choose among {', '.join(map(repr, members))}",
        )
    if draw == "deck" and sum(weights.values()) > LARGEST_DECK:
        raise refused(
            f"the deck of mix {name!r} has more than {LARGEST_DECK} cards",
            cure="give smaller weights with the same ratios",
        )
    law = None if think is None else as_law(think, f"the think time of mix {name!r}")
    location = caller_location()
    made = {
        member: JobClass(
            name=member,
            program=program,
            population=jobs,
            law=law,
            priority=_priority(member, priorities.get(member, 0)),
            start=start,
            mix=name,
            weight=weights[member],
            location=location,
        )
        for member, (program, _) in members.items()
    }
    mix = Mix(name=name, population=jobs, law=law, start=start, draw=draw, location=location)
    return mix, made


def shared_populations(
    job_classes: Iterable[JobClass],
) -> Iterator[tuple[int, tuple[JobClass, ...]]]:
    """Yield jobs of closed classes and their possible classes: one, or those of a mix.

    Examples
    --------
    >>> users = JobClass(name="users", program="page", population=4)
    >>> [(jobs, len(classes)) for jobs, classes in shared_populations([users])]
    [(4, 1)]
    """
    groups: dict[str, list[JobClass]] = {}
    for job_class in job_classes:
        groups.setdefault(
            f"mix {job_class.mix}" if job_class.mix else f"class {job_class.name}", []
        ).append(job_class)
    for group in groups.values():
        yield group[0].population or 0, tuple(group)


def closed(
    name: str,
    program: str,
    *,
    population: int,
    think: Distribution | float | None,
    priority: int,
    start: Start,
    placed: Mapping[Station, int] | None,
    model_id: int,
) -> JobClass:
    """Return a closed class, after checking it."""
    jobs = check_count(f"class {name!r}", "jobs (population)", population)
    choose(f"class {name!r}", "start", start, get_args(Start))
    places = _places(name, placed or {}, jobs, model_id)
    return JobClass(
        name=name,
        program=program,
        population=jobs,
        law=None if think is None else as_law(think, f"the think time of class {name!r}"),
        priority=_priority(name, priority),
        start=start,
        placed=places,
        location=caller_location(),
    )


def opened(
    name: str,
    program: str,
    *,
    interarrival: "Distribution | float | ArrivalProcess | ComputedArrivals",
    priority: int,
    batch: int | Distribution | None,
    initial: int,
) -> JobClass:
    """Return an open class, after checking it."""
    present = check_count(f"class {name!r}", "jobs at time 0 (initial)", initial, least=0)
    is_process = hasattr(interarrival, "mean_rate") and hasattr(interarrival, "to_data")
    law = None if is_process else _interarrival(name, interarrival)
    process = cast("ArrivalProcess | ComputedArrivals", interarrival) if is_process else None
    if isinstance(process, ComputedArrivals):
        process = replace(process, source=f"class {name}: arrivals")
    return JobClass(
        name=name,
        program=program,
        law=law,
        process=process,
        priority=_priority(name, priority),
        batch=None if batch is None else _batch(name, batch),
        initial=present,
        location=caller_location(),
    )


def _interarrival(name: str, value: object) -> Distribution:
    law = as_law(value, f"the time between arrivals of class {name!r}")
    if law.mean <= 0:
        raise refused(
            f"class {name!r} has no time between arrivals",
            cure="give an interarrival time with a mean above 0",
        )
    return law


def _batch(name: str, value: object) -> Distribution:
    law = as_law(value, f"the batch of class {name!r}")
    if not law.is_whole or law.mean <= 0:
        raise refused(
            f"class {name!r} arrives in batches of {law}",
            cure="give an int of 1 or more, or a discrete distribution of ints",
        )
    return law


def _priority(name: str, priority: object) -> int:
    if not is_whole(priority) or abs(int(priority)) > PRIORITY_LIMIT:
        raise refused(
            f"class {name!r} has the priority {priority!r}",
            cure="give a whole number; the larger, the more urgent",
        )
    return int(priority)


def _places(
    name: str, placed: Mapping[Station, int], population: int, model_id: int
) -> tuple[tuple[str, int], ...]:
    places: dict[str, int] = {}
    for station, jobs in placed.items():
        if not isinstance(station, Station) or station.model_id != model_id:
            raise refused(
                f"class {name!r} places jobs at {station!r}, which is not a station of this model",
                cure="write placed={station: jobs} with the result of model.station()",
            )
        word = f"jobs placed at station {station.name!r}"
        places[station.name] = check_count(f"class {name!r}", word, jobs)
    total = sum(places.values())
    if total > population:
        raise refused(
            f"class {name!r} places {total} jobs at stations, but has {population}",
            cure="place at most the population",
        )
    return tuple(places.items())
