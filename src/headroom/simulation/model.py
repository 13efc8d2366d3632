"""The model builder: stations, pools, programs and job classes, kept as data."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from headroom.simulation import check
from headroom.simulation.distribution import Distribution, as_distribution
from headroom.simulation.errors import SimulationError, caller_location
from headroom.simulation.program import Pool, Program, Station
from headroom.simulation.streams import stream_key

TimeUnit: TypeAlias = Literal["ps", "ns", "us", "ms", "s", "min", "h"]

# Numbers, unlike addresses, are never used twice: parts of a dead model stay strangers.
_MODEL_IDS = itertools.count(1)

FORMAT = 2
DEFAULT_COMPLETIONS = 20_000
SECONDS_PER_UNIT: Mapping[str, float] = {
    "ps": 1e-12,
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
}


@dataclass(frozen=True, slots=True)
class JobClass:
    """A class of jobs: closed where it has a population, else open."""

    name: str
    program: str
    population: int | None
    law: Distribution | None
    location: str

    def to_data(self) -> dict[str, object]:
        """Return the class as the kernel reads it."""
        data: dict[str, object] = {"name": self.name, "program": self.program}
        law = None if self.law is None else self.law.to_data()
        if self.population is None:
            stream = stream_key(f"class {self.name}: arrivals")
            return data | {"kind": "open", "interarrival": law, "stream": stream}
        stream = stream_key(f"class {self.name}: think")
        return data | {
            "kind": "closed",
            "population": self.population,
            "think": law,
            "stream": stream,
        }


class Model:
    """A model of a system, built line by line and kept as data.

    Parameters
    ----------
    name
        Name, for messages.
    time_unit
        Unit of every duration given to the model: ps, ns, us, ms, s, min or h. The kernel counts
        in steps of 1e-9 of it, for at most 1.8e10 of it.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential, simulate
    >>> model = Model("shop", time_unit="ms")
    >>> web = model.station("web", servers=4)
    >>> request = model.program("request")
    >>> request.use(web, exponential(5))
    >>> model.closed_class("users", request, population=10, think=exponential(100))
    >>> result = simulate(model, seed=1, completions=100)
    >>> result.stations.names
    ('web',)
    """

    def __init__(self, name: str, time_unit: TimeUnit = "ms") -> None:
        if time_unit not in get_args(TimeUnit):
            raise SimulationError(
                f"time_unit is {time_unit!r}, which is not known",
                cure=f"choose one of {', '.join(get_args(TimeUnit))}",
            )
        self.name = name
        self.model_id = next(_MODEL_IDS)
        self.time_unit: TimeUnit = time_unit
        self.stations: dict[str, Station] = {}
        self.pools: dict[str, Pool] = {}
        self.programs: dict[str, Program] = {}
        self.classes: dict[str, JobClass] = {}
        self.stop_completions: int | None = DEFAULT_COMPLETIONS
        self.stop_time: float | None = None

    def station(self, name: str, *, servers: int = 1) -> Station:
        """Add `servers` (>= 1) equal servers with one first-come-first-served queue."""
        _check_name("station", name, self.stations)
        _check_count(f"station {name!r}", "servers", servers)
        self.stations[name] = Station(name, servers, self.model_id)
        return self.stations[name]

    def pool(self, name: str, *, tokens: int) -> Pool:
        """Add a pool of `tokens` (>= 1), granted first come first served."""
        _check_name("pool", name, self.pools)
        _check_count(f"pool {name!r}", "tokens", tokens)
        self.pools[name] = Pool(name, tokens, self.model_id)
        return self.pools[name]

    def program(self, name: str) -> Program:
        """Add an empty program; write its steps on what is returned."""
        _check_name("program", name, self.programs)
        self.programs[name] = Program(name, self.model_id)
        return self.programs[name]

    def closed_class(
        self,
        name: str,
        program: Program,
        *,
        population: int,
        think: Distribution | float | None = None,
    ) -> None:
        """Add `population` (>= 1) jobs that think, walk `program`, and think again.

        `think` is in the model's time unit; None is no think time. The response time of a job
        runs from the end of its think time to the end of the program.
        """
        _check_count(f"class {name!r}", "population", population)
        law = None if think is None else as_distribution(think)
        self._add_class(name, program, population, law)

    def open_class(
        self, name: str, program: Program, *, interarrival: Distribution | float
    ) -> None:
        """Add jobs that arrive from outside, walk `program` once and leave.

        `interarrival`, with a mean above 0, is in the model's time unit.
        """
        law = as_distribution(interarrival)
        if law.mean <= 0:
            raise SimulationError(
                f"{caller_location()}: class {name!r} has no time between arrivals",
                cure="give an interarrival time with a mean above 0",
            )
        self._add_class(name, program, None, law)

    def stop(self, *, completions: int | None = None, time: float | None = None) -> None:
        """End runs after `completions` (all classes together) or at `time`, whichever is first."""
        check_stop(completions, time)
        self.stop_completions = completions
        self.stop_time = time

    def to_data(self) -> dict[str, object]:
        """Return the model as data, after checking it."""
        check.check_model(self)
        stop = {"completions": self.stop_completions, "time": self.stop_time}
        return {
            "format": FORMAT,
            "name": self.name,
            "time_unit": self.time_unit,
            "stations": [{"name": s.name, "servers": s.servers} for s in self.stations.values()],
            "pools": [{"name": p.name, "tokens": p.tokens} for p in self.pools.values()],
            "programs": [
                {"name": p.name, "steps": [step.data for step in p.steps]}
                for p in self.programs.values()
            ],
            "classes": [c.to_data() for c in self.classes.values()],
            "stop": stop,
        }

    def to_json(self) -> bytes:
        """Return the model as canonical JSON: the same bytes for the same model.

        Raises
        ------
        SimulationError
            Where the model contradicts itself; the message names the line of the step.
        """
        data = self.to_data()
        return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    def holds(self) -> dict[str, tuple[str, ...]]:
        """Return for each pool the stations that jobs use while they hold its tokens."""
        return check.holds(self)

    def nested(self) -> dict[str, tuple[str, ...]]:
        """Return for each pool the other pools that jobs acquire while they hold its tokens."""
        return check.nested(self)

    def loads(self) -> dict[str, float]:
        """Return the load that open classes offer to each station, per server (1 is full).

        Examples
        --------
        >>> from headroom.simulation import Model, exponential
        >>> model = Model("queue", time_unit="s")
        >>> program = model.program("visit")
        >>> program.use(model.station("server"), exponential(0.8))
        >>> model.open_class("customers", program, interarrival=exponential(1))
        >>> model.loads()
        {'server': 0.8}
        """
        return check.loads(self)

    def _add_class(
        self, name: str, program: Program, population: int | None, law: Distribution | None
    ) -> None:
        _check_name("class", name, self.classes)
        if not isinstance(program, Program) or program.model_id != self.model_id:
            raise SimulationError(
                f"{caller_location()}: class {name!r} does not walk a program of this model",
                cure="make the program with model.program() of the same model",
            )
        self.classes[name] = JobClass(name, program.name, population, law, caller_location())


def check_stop(completions: int | None, time: float | None) -> None:
    """Refuse limits that end a run never or before it starts."""
    if completions is None and time is None:
        raise SimulationError(
            f"{caller_location()}: the run never stops", cure="give completions or a time"
        )
    if completions is not None and (not isinstance(completions, int) or completions < 1):
        raise SimulationError(
            f"{caller_location()}: the run stops after {completions!r} completions",
            cure="give a whole number of 1 or more",
        )
    if time is not None and not 0 < time < float("inf"):
        raise SimulationError(
            f"{caller_location()}: the run stops at time {time!r}", cure="give a time above 0"
        )


def _check_name(kind: str, name: str, taken: Mapping[str, object]) -> None:
    if not isinstance(name, str) or not name.strip():
        raise SimulationError(
            f"{caller_location()}: a {kind} has the name {name!r}", cure="give it a name"
        )
    if name in taken:
        raise SimulationError(
            f"{caller_location()}: the model has a {kind} named {name!r} already",
            cure="give each one its own name",
        )


def _check_count(what: str, word: str, count: int) -> None:
    limit = 2**24 - 1
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= limit:
        raise SimulationError(
            f"{caller_location()}: {what} has {count!r} {word}",
            cure=f"give a whole number from 1 to {limit}",
        )
