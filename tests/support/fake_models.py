"""Random models for property tests, written with the builder as a user would.

`models` draws from the whole language: stations of every discipline with their options, pools,
random programs, open and closed classes. `Ring` is the family in which more work can never end
earlier, whatever is drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, get_args

from hypothesis import strategies as st

from headroom.simulation.language.classes import Draw, Start
from headroom.simulation.language.model import Model
from headroom.simulation.language.program import Program
from headroom.simulation.language.stations import BY_POSITION, BreakdownUnit, Discipline, PoolOrder
from headroom.simulation.laws.arrivals import ArrivalProcess, changing_rate, mmpp
from headroom.simulation.laws.compound_laws import coxian
from headroom.simulation.laws.discrete_laws import discrete
from headroom.simulation.laws.distribution import (
    Distribution,
    constant,
    erlang,
    exponential,
    hyperexponential,
    lognormal,
    uniform,
)
from tests.support.fake_programs import Parts, empty_model, outlines, write

DISCIPLINES: tuple[Discipline, ...] = get_args(Discipline)
TAKES_BATCHES: tuple[Discipline, ...] = ("fcfs", "lcfs", "priority", "random", "elevator")

UNITS: tuple[BreakdownUnit, ...] = ("all", "each")
DRAWS: tuple[Draw, ...] = ("independent", "deck")
STARTS: tuple[Start, ...] = ("thinking", "ready")
ORDERS: tuple[PoolOrder, ...] = ("fcfs", "priority")


def laws(mean: float = 1.0) -> st.SearchStrategy[Distribution]:
    """Return laws of about this mean."""
    return st.sampled_from(
        [
            exponential(mean),
            constant(mean),
            uniform(0, 2 * mean),
            erlang(mean, stages=3),
            hyperexponential(mean, c2=4),
            lognormal(mean, c2=2),
            coxian([mean / 2, mean], [0.5]),
            discrete([0, mean, 2 * mean], weights=[1, 2, 1]),
        ]
    )


@st.composite
def _stations(draw: st.DrawFn, model: Model, name: str) -> None:
    """Add a station with the options that its discipline allows."""
    discipline: Discipline = draw(st.sampled_from(DISCIPLINES))
    if discipline == "infinite":
        model.station(name, discipline="infinite")
        return
    options: dict[str, Any] = {"group": draw(st.sampled_from(["", "like", "others"]))}
    if discipline in BY_POSITION:
        options["position"] = uniform(0, 100)
    servers = draw(st.integers(1, 3))
    wishes = {
        wish for wish in ("room", "speeds", "batch", "limit", "breaks") if draw(st.booleans())
    }
    if "room" in wishes:
        options["buffer"] = draw(st.integers(0, 3))
        options["when_full"] = draw(st.sampled_from(["block", "reject"]))
    if "speeds" in wishes:
        options["speeds"] = (
            [2.0] * servers if discipline == "ps" else [1.0 + n for n in range(servers)]
        )
    if "limit" in wishes and discipline == "ps":
        options["limit"] = servers + 1
    if "batch" in wishes and discipline in TAKES_BATCHES:
        options["batch"] = (1, draw(st.integers(1, 3)))
    station = model.station(name, servers=servers, discipline=discipline, **options)
    if "breaks" in wishes and "batch" not in options:
        unit = draw(st.sampled_from(UNITS))
        model.breakdowns(station, time_to_failure=exponential(20), repair=draw(laws(2)), unit=unit)


def arrivals() -> st.SearchStrategy[Distribution | ArrivalProcess]:
    """Return arrivals, about one in two units of time."""
    return st.one_of(
        laws(2.0).filter(lambda law: law.kind != "constant"),
        st.just(mmpp(rates=[1.0, 0.1], switch_rates=[[0, 0.1], [0.1, 0]])),
        st.just(changing_rate(times=[0, 10], rates=[1.0, 0.0], period=20)),
    )


@st.composite
def models(draw: st.DrawFn, *, is_open: bool = True) -> Model:
    """Return models of one to four classes, some of a mix, with the parts that random programs use.

    They may deadlock, and stop for other reasons that a message names.
    """
    outline = empty_model().model
    model = Model("random", time_unit="ms", may_deadlock=True)
    for name in outline.stations:
        draw(_stations(model, name))
    group = draw(st.sampled_from(["", "pools"]))
    for name in outline.pools:
        order = draw(st.sampled_from(ORDERS))
        model.pool(name, tokens=draw(st.integers(2, 9)), order=order, group=group)
    for name in outline.attributes:
        model.attribute(name)
    program = model.program("p")
    program.use(model.stations["s0"], draw(laws()))
    write(Parts(model, program), draw(outlines(2)))
    model.closed_class("closed", program, population=draw(st.integers(1, 6)),
                       think=draw(st.one_of(st.none(), laws(3))), priority=1)  # fmt: skip
    if is_open and draw(st.booleans()):
        model.open_class("open", program, interarrival=draw(arrivals()),
                         initial=draw(st.integers(0, 2)),
                         batch=draw(st.sampled_from([None, 2])))  # fmt: skip
    if draw(st.booleans()):
        draw(_mixes(model, program))
    return model


@st.composite
def _mixes(draw: st.DrawFn, model: Model, program: Program) -> None:
    """Add jobs that walk now the program of the others, now a short one."""
    short = model.program("short")
    short.use(model.stations["s1"], draw(laws()))
    members = {
        name: (walked, draw(st.integers(1, 4)))
        for name, walked in (("long", program), ("short", short))
    }
    model.closed_mix("mix", members, population=draw(st.integers(1, 4)),
                     think=draw(st.one_of(st.none(), laws(3))),
                     draw=draw(st.sampled_from(DRAWS)), start=draw(st.sampled_from(STARTS)),
                     priorities={"short": 2})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stop:
    """A station of a ring: service law, its mean, servers, and waiting places (None unlimited)."""

    law: str
    mean: float
    servers: int = 1
    buffer: int | None = None


LAWS: dict[str, Callable[[float], Distribution]] = {
    "exponential": exponential,
    "constant": constant,
    "erlang": lambda mean: erlang(mean, stages=2),
    "hyperexponential": lambda mean: hyperexponential(mean, c2=3),
    "uniform": lambda mean: uniform(0, 2 * mean),
}


@dataclass(frozen=True, slots=True)
class Ring:
    """Jobs that go round a ring of stations, first come first served.

    The k-th service at a station takes the k-th draw of its stream, and ends no earlier where any
    service is longer, a place or a server is taken away, or a job: its times are a composition of
    maxima, order statistics and sums (Shanthikumar & Yao, 1989, Stochastic monotonicity in
    queueing networks). So with equal seeds this holds for each run, not only on average.
    """

    stops: tuple[Stop, ...]
    population: int

    def model(self) -> Model:
        """Return the model; its jobs all begin at the first station, which has room for them."""
        model = Model("ring", time_unit="s")
        cycle = model.program("cycle")
        for number, stop in enumerate(self.stops):
            station = model.station(f"s{number}", servers=stop.servers, buffer=stop.buffer)
            cycle.use(station, LAWS[stop.law](stop.mean))
        model.closed_class("jobs", cycle, population=self.population)
        return model

    def changed(self, place: int, **changes: Any) -> "Ring":
        """Return the ring with another stop."""
        stops = list(self.stops)
        stops[place] = replace(stops[place], **changes)
        return replace(self, stops=tuple(stops))


@st.composite
def rings(draw: st.DrawFn) -> Ring:
    """Return rings; single servers where places are limited, so that blocked jobs keep order."""
    has_limits = draw(st.booleans())
    count = draw(st.integers(2, 4))
    stops = []
    for number in range(count):
        mean = draw(st.floats(0.1, 2.0))
        law = draw(st.sampled_from(sorted(LAWS)))
        limit = draw(st.integers(0, 3)) if has_limits and number else None
        stops.append(Stop(law, mean, 1 if has_limits else draw(st.integers(1, 3)), limit))
    return Ring(tuple(stops), draw(st.integers(1, 8)))
