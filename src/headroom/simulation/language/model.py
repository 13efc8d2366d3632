"""The model builder: stations, pools, programs and job classes, kept as data."""

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, TypeVar, get_args

from headroom.simulation.errors import caller_location, refused
from headroom.simulation.language import classes
from headroom.simulation.language.amounts import as_law
from headroom.simulation.language.arguments import (
    check_count,
    check_name,
    choose,
    is_number,
    is_whole,
)
from headroom.simulation.language.classes import Draw, JobClass, Mix, Start
from headroom.simulation.language.computed_arrivals import ComputedArrivals
from headroom.simulation.language.controllers import Controller
from headroom.simulation.language.expression import Attribute, Expression, Operand, Token
from headroom.simulation.language.mechanisms import Mechanism, as_mechanism
from headroom.simulation.language.mix_draws import ComputedDraw
from headroom.simulation.language.program import Program
from headroom.simulation.language.schedules import Schedule, as_capacity
from headroom.simulation.language.stations import (
    Breakdown,
    BreakdownUnit,
    Discipline,
    Pool,
    PoolOrder,
    Station,
    WhenFull,
    as_batch,
    as_position,
    as_speeds,
    checked_station,
)
from headroom.simulation.laws.distribution import Distribution

if TYPE_CHECKING:
    from headroom.simulation.laws.arrivals import ArrivalProcess

TimeUnit: TypeAlias = Literal["ps", "ns", "us", "ms", "s", "min", "h"]
Part = TypeVar("Part", Station, Pool)

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
class Counted:
    """Facts about a model known without solving it; see `Model.counted_by_hand`."""

    highest_throughput: float
    why: str


class Model:
    """A model of a system, built line by line and kept as data.

    Parameters
    ----------
    name
        Name, for messages.
    time_unit
        Unit of all durations: ps, ns, us, ms, s, min or h. The kernel counts in steps of 1e-9 of
        it, up to 1.8e10 of it.
    may_deadlock
        Whether the model may run although its jobs could deadlock. An actual deadlock ends the run
        with an error that names the cycle.

    Examples
    --------
    >>> from headroom.simulation import Model, expected_visits, exponential
    >>> model = Model("shop", time_unit="ms")
    >>> web = model.station("web", servers=4)
    >>> request = model.program("request")
    >>> request.use(web, exponential(5))
    >>> model.closed_class("users", request, population=10, think=exponential(100))
    >>> expected_visits(model).demands["users"]
    {'web': 5.0}
    """

    _draw: ClassVar["Callable[[Model], str] | None"] = None
    """Draws a model for a notebook; the Python front sets it, because nothing here draws."""

    def __init__(
        self, name: str, time_unit: TimeUnit = "ms", *, may_deadlock: bool = False
    ) -> None:
        if not isinstance(name, str):
            raise refused(f"a model has the name {name!r}", cure="give it a name")
        if time_unit not in get_args(TimeUnit):
            raise refused(
                f"time_unit is {time_unit!r}, which is not known",
                cure=f"choose one of {', '.join(get_args(TimeUnit))}",
            )
        self.name = name
        self.model_id = next(_MODEL_IDS)
        self.time_unit: TimeUnit = time_unit
        self.may_deadlock = may_deadlock
        self.stations: dict[str, Station] = {}
        self.pools: dict[str, Pool] = {}
        self.attributes: dict[str, Attribute] = {}
        self.breakdowns_of: dict[str, Breakdown] = {}
        self.mechanisms: dict[str, Mechanism] = {}
        self.programs: dict[str, Program] = {}
        self.classes: dict[str, JobClass] = {}
        self.mixes: dict[str, Mix] = {}
        self.controllers: dict[str, Controller] = {}
        self.late_limits: dict[str, float] = {}
        self.counted: Counted | None = None
        self.stop_completions: int | None = DEFAULT_COMPLETIONS
        self.stop_time: float | None = None
        self.holds: int | None = None
        self._prefix = ""

    @contextmanager
    def inside(self, prefix: str) -> Iterator[None]:
        """Put `prefix` and a slash before the names of all that is made in the block.

        Examples
        --------
        >>> from headroom.simulation import Model
        >>> model = Model("cluster")
        >>> for number in (1, 2):
        ...     with model.inside(f"node {number}"):
        ...         cpu = model.station("cpu")
        >>> list(model.stations)
        ['node 1/cpu', 'node 2/cpu']
        """
        if not isinstance(prefix, str) or not prefix.strip():
            raise refused(f"names are put inside {prefix!r}", cure="give a name")
        outer = self._prefix
        self._prefix = f"{outer}{prefix}/"
        try:
            yield
        finally:
            self._prefix = outer

    def station(
        self,
        name: str,
        *,
        servers: int | Schedule = 1,
        discipline: Discipline = "fcfs",
        limit: int | None = None,
        speeds: Sequence[float] | Schedule | None = None,
        buffer: int | None = None,
        when_full: WhenFull | None = None,
        batch: int | tuple[int, int] | None = None,
        group: str = "",
        position: Operand | None = None,
    ) -> Station:
        """Add servers with one queue.

        Parameters
        ----------
        name
            Unique name.
        servers
            Number of servers (>= 1), or its `schedule`. A busy server that goes ends its service
            first.
        discipline
            Who is served next: ``"fcfs"``, ``"lcfs"``, ``"random"``, ``"priority"`` (largest first,
            ties first come first served); with preemption, interrupted jobs resuming later:
            ``"lcfs_preempt"``, ``"priority_preempt"``; ``"ps"`` (processor sharing in equal shares)
            and ``"infinite"`` (a server for each job). By `position`, like the head of a disk:
            ``"elevator"`` (up, then back to the first: C-LOOK), ``"elevator_two_way"`` (up and
            down: LOOK) and ``"nearest"`` (SSTF: a distant job may wait indefinitely).
        limit
            For ps: maximum number of jobs in service (None: no limit); the others wait first come
            first served.
        speeds
            One factor (> 0) a server, which divides service times; a job takes the fastest free
            server. Or the `schedule` of one factor for all; a change affects services in progress
            too.
        buffer
            Places (>= 0) in addition to one for each server; None: unlimited.
        when_full
            ``"block"`` (the default): an arriving job waits where it is and keeps its server there
            (blocking after service). ``"reject"``: its innermost attempt fails; a job without one
            is lost.
        batch
            Jobs that a server serves together, with one service time: a number, or (least, most) to
            start with the jobs present.
        group
            Group of identical stations that are reported as one row, with the sums of their
            servers, jobs and times. `inside` does not prefix it.
        position
            For disciplines by position: attribute or expression, computed when the job arrives. The
            head starts at 0; jobs at one position are served in order of arrival.

        Examples
        --------
        >>> from headroom.simulation import Model
        >>> model = Model("disk", time_unit="ms")
        >>> track = model.attribute("track")
        >>> disk = model.station("disk", discipline="elevator", position=track)
        >>> cpu = model.station("cpu", servers=4, discipline="ps", limit=64)
        >>> model.stations["cpu"].limit
        64
        """
        full = self._name("station", name, self.stations)
        count, timed = as_capacity(f"station {full!r}", "servers", servers)
        station = Station(
            name=full,
            servers=count,
            model_id=self.model_id,
            discipline=discipline,
            limit=limit,
            speeds=None if isinstance(speeds, Schedule) else as_speeds(full, speeds),
            server_schedule=timed,
            speed_schedule=speeds if isinstance(speeds, Schedule) else None,
            buffer=buffer,
            when_full=when_full or "block",
            batch=as_batch(batch),
            group=group,
            position=as_position(full, position, self.model_id),
            location=caller_location(),
        )
        self.stations[full] = checked_station(station, when_full=when_full)
        return self.stations[full]

    def breakdowns(
        self,
        station: Station,
        *,
        time_to_failure: Distribution | float,
        repair: Distribution | float,
        unit: BreakdownUnit = "all",
    ) -> None:
        """Let the servers of `station` fail; an interrupted service resumes later.

        Until then its job waits by the discipline: with ``"fcfs"`` it is next.

        Parameters
        ----------
        station
            Station whose servers fail.
        time_to_failure
            Time from a repair to the next failure, its mean above 0.
        repair
            Time from a failure to its repair.
        unit
            ``"all"``: all servers fail together. ``"each"``: each independently.
        """
        name = f"station {getattr(station, 'name', station)!r}"
        if not isinstance(station, Station) or station.model_id != self.model_id:
            raise refused(f"{name} is not in this model", cure="pass the result of model.station()")
        choose(name, "unit of breakdowns", unit, get_args(BreakdownUnit))
        if station.name in self.breakdowns_of or station.discipline == "infinite":
            why = "breaks down already" if station.name in self.breakdowns_of else "is infinite"
            raise refused(
                f"{name} {why}", cure="write breakdowns once, for a station with servers to count"
            )
        if station.server_schedule is not None:
            raise refused(
                f"{name} breaks down, and the number of its servers follows a schedule",
                cure="leave one of the two out",
            )
        failure = as_law(time_to_failure, f"the time to failure of {name}")
        if failure.mean <= 0:
            raise refused(
                f"{name} would fail again at once, without end", cure="give a mean above 0"
            )
        repaired = as_law(repair, f"the repair time of {name}")
        location = caller_location()
        self.breakdowns_of[station.name] = Breakdown(
            station.name, unit, failure, repaired, location
        )

    def pool(
        self, name: str, *, tokens: int | Schedule, order: PoolOrder = "fcfs", group: str = ""
    ) -> Pool:
        """Add a pool of `tokens` (>= 1), reported separately or with its `group`, like stations.

        Tokens may follow a `schedule`: if fewer remain than are held, returned ones are withdrawn.

        They are granted first come first served, or with the order ``"priority"`` to the most
        urgent job. Small requests never overtake a large one before them.
        """
        full = self._name("pool", name, self.pools)
        most, timed = as_capacity(f"pool {full!r}", "tokens", tokens)
        count = check_count(f"pool {full!r}", "tokens", most)
        choose(f"pool {full!r}", "order", order, get_args(PoolOrder))
        self.pools[full] = Pool(full, count, self.model_id, order, group, caller_location(), timed)
        return self.pools[full]

    def attribute(self, name: str, *, initial: float = 0.0) -> Attribute:
        """Add a number that each job carries, `initial` until `Program.set` changes it.

        A job of a closed class keeps it for its next walk. Arms of a fork and started programs get
        a copy; a call that replies returns its values to the caller.
        """
        full = self._name("attribute", name, self.attributes)
        if not is_number(initial):
            raise refused(f"attribute {full!r} starts as {initial!r}", cure="give a finite number")
        self.attributes[full] = Attribute(full, float(initial), self.model_id)
        return self.attributes[full]

    def mechanism(
        self, name: str, *, kind: str, parameters: Mapping[str, object] | None = None
    ) -> Mechanism:
        """Add a native part with its own state, whose functions expressions call.

        Each run creates a new one, with a separate stream of random numbers.

        Parameters
        ----------
        name
            Unique name.
        kind
            ``"arm"`` (moves along a line), ``"curve"`` (lines between points), or a kind of a
            layer, such as ``"storage.requests"``.
        parameters
            Data that the kind needs.

        Examples
        --------
        >>> from headroom.simulation import Model
        >>> model = Model("disk", time_unit="ms")
        >>> seek = model.mechanism("seek", kind="curve", parameters={"points": [[0, 0], [9, 4.5]]})
        >>> print(seek.call("at", 6) + 2)
        (seek.at(6) + 2)
        """
        full = self._name("mechanism", name, self.mechanisms)
        self.mechanisms[full] = as_mechanism(
            full, kind, parameters or {}, model_id=self.model_id, location=caller_location()
        )
        return self.mechanisms[full]

    def jobs(self, station: Station) -> Expression:
        """Return the number of jobs at `station`, waiting or in service, as an expression."""
        self._check_station(station, "jobs are counted at")
        return Expression((Token("jobs", station.name),), self.model_id)

    def free(self, pool: Pool) -> Expression:
        """Return the number of free tokens of `pool`, as an expression."""
        if not isinstance(pool, Pool) or pool.model_id != self.model_id:
            raise refused(
                f"tokens are counted in {pool!r}, which is not a pool of this model",
                cure="pass the result of model.pool()",
            )
        return Expression((Token("free", pool.name),), self.model_id)

    def servers(self, station: Station) -> Expression:
        """Return the number of servers that `station` has now, as an expression."""
        self._check_station(station, "servers are counted at")
        return Expression((Token("servers", station.name),), self.model_id)

    def tokens(self, pool: Pool) -> Expression:
        """Return the number of tokens that `pool` has now, held ones included, as an expression."""
        if not isinstance(pool, Pool) or pool.model_id != self.model_id:
            raise refused(
                f"tokens are counted in {pool!r}, which is not a pool of this model",
                cure="pass the result of model.pool()",
            )
        return Expression((Token("tokens", pool.name),), self.model_id)

    def busy_time(self, station: Station) -> Expression:
        """Return how long servers of `station` have worked so far, all together.

        An expression, in the model's time unit. Its growth over an interval, divided by the
        interval and the servers, is the utilization in it.
        """
        self._check_station(station, "busy time is taken at")
        return Expression((Token("busy_time", station.name),), self.model_id)

    def _check_station(self, station: Station, what: str) -> None:
        if not isinstance(station, Station) or station.model_id != self.model_id:
            raise refused(
                f"{what} {station!r}, which is not a station of this model",
                cure="pass the result of model.station()",
            )

    @property
    def now(self) -> Expression:
        """The simulated time since the start, in the model's time unit, as an expression."""
        return Expression((Token("now"),), self.model_id)

    def program(self, name: str) -> Program:
        """Add an empty program; write its steps on the returned object."""
        full = self._name("program", name, self.programs)
        self.programs[full] = Program(full, self.model_id)
        return self.programs[full]

    def closed_class(
        self,
        name: str,
        program: Program,
        *,
        population: int,
        think: Distribution | float | None = None,
        priority: int = 0,
        start: Start = "thinking",
        placed: Mapping[Station, int] | None = None,
    ) -> None:
        """Add `population` (>= 1) jobs that think, walk `program`, and think again.

        The response time of a job runs from the end of its think time to the end of the program.

        Parameters
        ----------
        name, program
            Its name, and what its jobs walk.
        population
            Number of jobs.
        think
            Time between the end of a walk and the next; None is none.
        priority
            The larger, the more urgent.
        start
            Where the jobs are at time 0: ``"thinking"``, or ``"ready"`` to walk at once.
        placed
            Jobs that are at a station at time 0, for a warm start; the others start as `start`
            says.
        """
        self._add_class(name, program)
        full = self._prefix + name
        self.classes[full] = classes.closed(
            full,
            program.name,
            population=population,
            think=think,
            priority=priority,
            start=start,
            placed=placed,
            model_id=self.model_id,
        )

    def open_class(
        self,
        name: str,
        program: Program,
        *,
        interarrival: "Distribution | float | ArrivalProcess | ComputedArrivals",
        priority: int = 0,
        batch: int | Distribution | None = None,
        initial: int = 0,
    ) -> None:
        """Add jobs that arrive from outside, walk `program` once and leave.

        Parameters
        ----------
        name, program
            Its name, and what its jobs walk.
        interarrival
            Time between arrivals, with a mean above 0, or an arrival process.
        priority
            The larger, the more urgent.
        batch
            Jobs that arrive at once: an int, or a discrete distribution of ints; None is one.
        initial
            Jobs that are there at time 0, for a warm start.
        """
        self._add_class(name, program)
        full = self._prefix + name
        if isinstance(interarrival, ComputedArrivals):
            interarrival.check(full, self.model_id)
        self.classes[full] = classes.opened(
            full,
            program.name,
            interarrival=interarrival,
            priority=priority,
            batch=batch,
            initial=initial,
        )

    def closed_mix(
        self,
        name: str,
        members: Mapping[str, tuple[Program, int]],
        *,
        population: int,
        think: Distribution | float | None = None,
        draw: Draw | ComputedDraw = "independent",
        start: Start = "thinking",
        priorities: Mapping[str, int] | None = None,
    ) -> None:
        """Add `population` (>= 1) jobs that think, draw a class, walk its program, and think again.

        Users who alternate between tasks: each task is a class with its own metrics, and all share
        the population.

        Parameters
        ----------
        name
            Name of the mix.
        members
            Name of each class -> its program and its weight, a whole number (>= 1): the relative
            frequency of its draws.
        population
            Number of jobs.
        think
            Time between the end of a walk and the next; None is none.
        draw
            ``"independent"``: at random. ``"deck"``: from a shuffled deck with as many cards of
            each class as its weight, reshuffled when empty, so that shares are exact (TPC-C, clause
            5.2.4.2). `computed_draw`: as the job computes it; analyses without a run use the
            weights.
        start
            Where the jobs are at time 0: ``"thinking"``, or ``"ready"`` to walk at once.
        priorities
            Priority of classes that have one; the larger, the more urgent.

        Examples
        --------
        >>> from headroom.simulation import Model, exponential, simulate
        >>> model = Model("shop", time_unit="ms")
        >>> cpu = model.station("cpu")
        >>> look, buy = model.program("look"), model.program("buy")
        >>> look.use(cpu, exponential(1))
        >>> buy.use(cpu, exponential(5))
        >>> members = {"look": (look, 9), "buy": (buy, 1)}
        >>> model.closed_mix("users", members, population=4, draw="deck")
        >>> result = simulate(model, seed=1, completions=1000)
        >>> result.classes.names, result.classes.columns["completion_count"][-1].tolist()
        (('look', 'buy'), [900.0, 100.0])
        """
        full = self._name("mix", name, self.mixes)
        classes.check_members(full, members)
        if isinstance(draw, ComputedDraw):
            draw.check(full, self.model_id)
        for member, (program, _) in members.items():
            self._add_class(member, program)
        self.mixes[full], made = classes.mixed(
            full,
            {self._prefix + short: (program.name, w) for short, (program, w) in members.items()},
            population=population,
            think=think,
            start=start,
            draw=draw,
            priorities={self._prefix + short: value for short, value in (priorities or {}).items()},
        )
        self.classes |= made

    def late_after(self, class_name: str, time: float) -> None:
        """Call jobs of a class late whose response takes longer than `time`.

        They complete, but too late for who waits: they count for the throughput and not for the
        goodput (``goodput``, ``late_ratio``).

        Examples
        --------
        >>> from headroom.simulation import Model, exponential, simulate
        >>> model = Model("shop", time_unit="ms")
        >>> page = model.program("page")
        >>> page.use(model.station("web"), exponential(5))
        >>> model.open_class("visitors", page, interarrival=exponential(10))
        >>> model.late_after("visitors", 30)
        >>> bool(simulate(model, seed=1).classes.columns["late_count"][-1, 0] > 0)
        True
        """
        full = self._prefix + class_name
        if full not in self.classes:
            raise refused(
                f"no class is named {full!r} whose jobs could be late",
                cure=f"add it first; the model has {', '.join(self.classes) or 'none'}",
            )
        if not is_number(time) or not time >= 0:
            raise refused(
                f"jobs of class {full!r} are late after {time!r}", cure="give a time of 0 or more"
            )
        self.late_limits[full] = float(time)

    def controller(self, name: str, program: Program, *, every: Distribution | float) -> None:
        """Repeat `program`, to read the state and change capacities and speeds.

        A controller is not a job: it has no class and uses no station or pool. Its program may set
        attributes (its own, which last), branch, loop, delay, `Program.set_servers`,
        `Program.set_speed` and `Program.set_tokens`. A delay before a change models start-up, one
        after it a cool-down.

        Parameters
        ----------
        name, program
            Its name, and what it walks.
        every
            Time (mean above 0) from the end of a walk to the next, and before the first.

        Examples
        --------
        One server per 4 jobs, 1 to 8 of them, checked every 10 s; a start takes 30 s, a cool-down a
        minute:

        >>> from headroom.simulation import Model, exponential, floor, maximum, minimum, simulate
        >>> model = Model("autoscaling", time_unit="s")
        >>> web = model.station("web", servers=2)
        >>> wanted, scale = model.attribute("wanted"), model.program("scale")
        >>> scale.set(wanted, maximum(1, minimum(8, floor((model.jobs(web) + 3) / 4))))
        >>> with scale.branch() as branch:
        ...     with branch.when(wanted > model.servers(web)):
        ...         scale.delay(30)
        ...         scale.set_servers(web, wanted)
        ...         scale.delay(60)
        ...     with branch.when(wanted < model.servers(web)):
        ...         scale.set_servers(web, wanted)
        ...         scale.delay(60)
        >>> model.controller("scaler", scale, every=10)
        >>> visit = model.program("visit")
        >>> visit.use(web, exponential(1))
        >>> model.open_class("visitors", visit, interarrival=exponential(0.3))
        >>> simulate(model, seed=1).stations.names
        ('web',)

        """
        full = self._name("controller", name, self.controllers)
        if not isinstance(program, Program) or program.model_id != self.model_id:
            raise refused(
                f"controller {full!r} does not walk a program of this model",
                cure="make the program with model.program() of the same model",
            )
        law = as_law(every, f"the time between two looks of controller {full!r}")
        if law.mean <= 0:
            raise refused(
                f"controller {full!r} would look again at once, without end",
                cure="give a mean above 0",
            )
        self.controllers[full] = Controller(full, program.name, law, caller_location())

    def stop(
        self, *, completions: int | None = None, time: float | None = None, is_all: bool = False
    ) -> None:
        """End runs after `completions` (all classes together) or at `time`, whichever is first.

        `is_all`: these completions are all the work that there is, and no run can ask for more.
        """
        check_stop(completions, time)
        self.holds = int(completions) if is_all and completions is not None else None
        self.stop_completions = None if completions is None else int(completions)
        self.stop_time = time

    def counted_by_hand(self, *, highest_throughput: float, why: str) -> None:
        """State the highest throughput of a model that formulas do not fit.

        A study then shows no theoretical answer; `headroom solve` still does.

        Parameters
        ----------
        highest_throughput
            Completions in a time unit, all classes together; infinite if unknown.
        why
            Why formulas do not fit, as a sentence for the reader.

        Examples
        --------
        >>> from headroom.simulation import Model
        >>> model = Model("machine", time_unit="ms")
        >>> model.counted_by_hand(highest_throughput=0.2, why="packets hold their buffers")
        >>> model.counted.highest_throughput
        0.2
        """
        if not highest_throughput > 0:
            raise refused(
                f"the highest throughput is {highest_throughput!r}", cure="give a number above 0"
            )
        self.counted = Counted(float(highest_throughput), why)

    def copy(self) -> "Model":
        """Return an equal model; changes of one do not affect the other.

        Both know the same stations, pools and programs, so code can continue with either.
        """
        twin = copy.copy(self)
        twin.stations = dict(self.stations)
        twin.pools = dict(self.pools)
        twin.attributes = dict(self.attributes)
        twin.breakdowns_of = dict(self.breakdowns_of)
        twin.mechanisms = dict(self.mechanisms)
        twin.programs = {name: program.copy() for name, program in self.programs.items()}
        twin.classes = dict(self.classes)
        twin.mixes = dict(self.mixes)
        twin.controllers = dict(self.controllers)
        twin.late_limits = dict(self.late_limits)
        return twin

    def _changed(self) -> "Model":
        """Return a copy of which the highest throughput is not known any more."""
        twin = self.copy()
        if twin.counted is not None:
            twin.counted = Counted(math.inf, twin.counted.why)
        return twin

    def with_servers(self, station: str, servers: int) -> "Model":
        """Return a copy in which `station` has another number of servers.

        Examples
        --------
        >>> from headroom.simulation import Model
        >>> model = Model("shop")
        >>> cpu = model.station("cpu")
        >>> model.with_servers("cpu", 4).stations["cpu"].servers
        4
        """
        twin = self._changed()
        twin.stations[station] = _found("station", station, self.stations).with_servers(servers)
        return twin

    def with_speed(self, station: str, factor: float) -> "Model":
        """Return a copy in which the servers of `station` are `factor` (> 0) times as fast."""
        twin = self._changed()
        twin.stations[station] = _found("station", station, self.stations).with_speed(factor)
        return twin

    def with_repair(self, station: str, factor: float) -> "Model":
        """Return a copy in which repairs of `station` take `factor` (> 0) times as long."""
        twin = self._changed()
        one = self.breakdowns_of[station]
        twin.breakdowns_of[station] = replace(one, repair=one.repair * factor)
        return twin

    def with_tokens(self, pool: str, tokens: int) -> "Model":
        """Return a copy in which `pool` has another number of tokens."""
        twin = self._changed()
        twin.pools[pool] = _found("pool", pool, self.pools).with_tokens(tokens)
        return twin

    def __repr__(self) -> str:
        from headroom.simulation.language.model_text import model_text  # noqa: PLC0415 - few print

        return model_text(self)

    def _repr_html_(self) -> str | None:
        """Return the picture of the model for a notebook, if something that draws is loaded."""
        draw = type(self)._draw
        return None if draw is None else draw(self)

    def to_data(self) -> dict[str, object]:
        """Return the model as data, as the kernel reads it; `canonical_json` checks it as well."""
        stop = {"completions": self.stop_completions, "time": self.stop_time}
        attributes = self.attributes.values()
        data: dict[str, object] = {
            "format": FORMAT,
            "name": self.name,
            "time_unit": self.time_unit,
            "attributes": [
                {"name": attribute.name, "initial": attribute.initial} for attribute in attributes
            ],
            "stations": [station.to_data() for station in self.stations.values()],
            "breakdowns": [breakdown.to_data() for breakdown in self.breakdowns_of.values()],
            "pools": [pool.to_data() for pool in self.pools.values()],
            "programs": [
                {"name": p.name, "steps": [step.data for step in p.steps]}
                for p in self.programs.values()
            ],
            "classes": [class_.to_data() for class_ in self.classes.values() if not class_.mix],
            "stop": stop,
        }
        if self.mechanisms:
            data["mechanisms"] = [mechanism.to_data() for mechanism in self.mechanisms.values()]
        if self.mixes:
            data["mixes"] = [mix.to_data(self._members(mix)) for mix in self.mixes.values()]
        if timed := list(self._schedules()):
            data["schedules"] = timed
        if self.controllers:
            data["controllers"] = [controller.to_data() for controller in self.controllers.values()]
        if self.late_limits:
            data["late_after"] = self.late_limits
        return data

    def _schedules(self) -> Iterator[dict[str, object]]:
        """Yield the elements that follow a schedule, as the kernel reads them."""
        parts: list[Station | Pool] = [*self.stations.values(), *self.pools.values()]
        for part in parts:
            for kind, schedule in part.schedules.items():
                yield schedule.to_data(kind, part.name)

    def _members(self, mix: Mix) -> Iterator[JobClass]:
        """Yield the classes of `mix`."""
        return (class_ for class_ in self.classes.values() if class_.mix == mix.name)

    def station_rows(self) -> dict[str, tuple[Station, ...]]:
        """Return the stations of each row of the results: one, or those of a group."""
        return _rows(self.stations.values())

    def pool_rows(self) -> dict[str, tuple[Pool, ...]]:
        """Return the pools of each row of the results: one, or those of a group."""
        return _rows(self.pools.values())

    def _name(self, kind: str, name: str, taken: Mapping[str, object]) -> str:
        """Return the full name of a new part."""
        full = self._prefix + name if isinstance(name, str) and name.strip() else name
        check_name(kind, full, taken)
        return full

    def _add_class(self, name: str, program: Program) -> None:
        self._name("class", name, self.classes)
        if not isinstance(program, Program) or program.model_id != self.model_id:
            raise refused(
                f"class {name!r} does not walk a program of this model",
                cure="make the program with model.program() of the same model",
            )


def _rows(parts: Iterable[Part]) -> dict[str, tuple[Part, ...]]:
    by_row: dict[str, list[Part]] = {}
    for part in parts:
        by_row.setdefault(part.row, []).append(part)
    return {row: tuple(members) for row, members in by_row.items()}


def _found(kind: str, name: str, among: Mapping[str, Part]) -> Part:
    if name not in among:
        known = ", ".join(map(repr, among)) or "none"
        raise refused(f"no {kind} is named {name!r}", cure=f"the model has {known}")
    return among[name]


LATEST = 1.8e10
"""Latest time (time units) that the kernel's clock of 2^64 steps of 1e-9 can represent."""


def check_stop(completions: int | None, time: float | None) -> None:
    """Refuse limits that end a run never or before it starts."""
    if completions is None and time is None:
        raise refused("the run never stops", cure="give completions or a time")
    if completions is not None and (not is_whole(completions) or completions < 1):
        raise refused(
            f"the run stops after {completions!r} completions",
            cure="give a whole number of 1 or more",
        )
    if time is not None and (not is_number(time) or not 0 < time <= LATEST):
        raise refused(
            f"the run stops at time {time!r}",
            cure=f"give a time above 0 and up to {LATEST:g} time units, or a larger time_unit",
        )
