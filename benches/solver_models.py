"""Random models of 23 kinds, each a function of a seed: what approximations are judged by.

>>> model_of("breakdowns", 1).name
'breakdowns'
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from headroom.simulation import (
    Distribution,
    Model,
    Program,
    bursty,
    constant,
    discrete,
    exponential,
    from_moments,
    geometric,
    lognormal,
)

Make = Callable[[Model, Random], None]


def _law(random: Random, mean: float, low: float, high: float) -> Distribution:
    """Return a law with a c2 between two, every fourth one of a family without phases."""
    c2 = random.choice([low, 1.0, random.uniform(low, high), random.uniform(low, high)])
    if c2 > 0 and random.random() < 0.25:  # noqa: PLR2004
        return lognormal(mean, c2)
    return from_moments(mean, c2 if c2 > 0.05 else 0.0)  # noqa: PLR2004


def _walk(
    model: Model, random: Random, *, low: float = 1.0, high: float = 1.0, stations: int = 0,
    servers: int = 3, loads: tuple[float, float] = (0.3, 0.85),
) -> Program:  # fmt: skip
    """Return a program through some stations in a row for one arrival per second."""
    program = model.program(f"walk{len(model.programs)}")
    for _ in range(stations or random.randint(1, 3)):
        count = random.randint(1, servers)
        station = model.station(f"s{len(model.stations)}", servers=count)
        program.use(station, _law(random, count * random.uniform(*loads), low, high))
    return program


def _open(
    model: Model,
    program: Program,
    gap: Distribution | None = None,
    *,
    priority: int = 0,
    batch: Distribution | None = None,
) -> None:
    model.open_class(
        f"c{len(model.classes)}",
        program,
        interarrival=gap or exponential(1),
        priority=priority,
        batch=batch,
    )


def _closed(model: Model, program: Program, random: Random, *, priority: int = 0) -> None:
    jobs = random.randint(2, 40)
    think = exponential(jobs * random.uniform(0.3, 1.5))
    model.closed_class(
        f"c{len(model.classes)}", program, population=jobs, think=think, priority=priority
    )


def _breakdowns(model: Model, random: Random) -> None:
    program, up = _walk(model, random, stations=random.choice([1, 1, 2])), random.uniform(0.6, 0.95)
    count, load = random.randint(1, 4), random.uniform(0.3, 0.85)
    station = model.station("breaks", servers=count)
    cycle = 10 ** random.uniform(0, 2.5)
    unit: Any = random.choice(["all", "each"])
    model.breakdowns(station, time_to_failure=exponential(cycle * up),
                     repair=_law(random, cycle * (1 - up), 1.0, 3.0), unit=unit)  # fmt: skip
    program.use(station, exponential(count * load * up))
    _open(model, program)


def _breakdown_alone(model: Model, random: Random) -> None:
    program, up = model.program("walk"), random.uniform(0.4, 0.95)
    count, load, cycle = random.randint(1, 4), random.uniform(0.3, 0.85), random.uniform(2, 200)
    station = model.station("breaks", servers=count)
    unit: Any = random.choice(["all", "each"])
    model.breakdowns(station, time_to_failure=exponential(cycle * up),
                     repair=exponential(cycle * (1 - up)), unit=unit)  # fmt: skip
    program.use(station, exponential(count * load * up))
    _open(model, program)


def _loss(model: Model, random: Random) -> None:
    program = model.program("walk")
    for place in range(random.randint(1, 3)):
        count = random.randint(1, 4)
        room: dict[str, Any] = {"buffer": random.randint(0, 8), "when_full": "reject"}
        station = model.station(f"s{place}", servers=count, **(room if place < 2 else {}))  # noqa: PLR2004
        program.use(station, exponential(count * random.uniform(0.3, 0.95 if place > 1 else 1.5)))
    _open(model, program)


def _bursts(model: Model, random: Random, stations: int = 0) -> None:
    program = _walk(model, random, stations=stations, low=0.5, high=2.0)
    peak, on = random.uniform(1.2, 5), 10 ** random.uniform(0, 2)
    process = bursty(mean_rate=1, burst_rate=peak, burst_mean=on, calm_mean=on * peak)
    model.open_class("c", program, interarrival=process)


def _renewal(model: Model, random: Random) -> None:
    _open(model, _walk(model, random, low=0.3, high=2.0), _law(random, 1.0, 0.0, 6.0))


def _shortest(model: Model, random: Random) -> None:
    count, load = random.randint(2, 7), random.uniform(0.3, 0.95)
    program = model.program("walk")
    stations = [model.station(f"q{place}") for place in range(count)]
    policy: Any = random.choice(["shortest_queue", "shortest_queue", "two_choices"])
    program.use_one_of(stations, _law(random, count * load, 0.3, 2.0), policy=policy)
    _open(model, program)


def _fork(model: Model, random: Random, low: float = 1.0, high: float = 1.0) -> None:
    program, load = model.program("walk"), random.uniform(0.2, 0.9)
    arms = random.randint(2, 8)
    is_even = random.random() < 0.5  # noqa: PLR2004
    with program.fork() as fork:
        for place in range(arms):
            with fork.arm():
                mean = load if is_even else load * random.uniform(0.3, 1.0)
                program.use(model.station(f"arm{place}"), _law(random, mean, low, high))
    _open(model, program)


def _priorities(model: Model, random: Random, *, is_open: bool = True) -> None:
    discipline: Any = random.choice(["priority", "priority_preempt"])
    count, classes = random.randint(1, 3), random.randint(2, 3)
    station = model.station("s", servers=count, discipline=discipline)
    for place in range(classes):
        program = model.program(f"walk{place}")
        mean = count * random.uniform(0.2, 0.9) / classes
        program.use(station, _law(random, mean, 0.3, 3.0))
        if is_open:
            _open(model, program, priority=place)
        else:
            _closed(model, program, random, priority=place)


def _batches(model: Model, random: Random) -> None:
    program = _walk(model, random, low=0.5, high=2.0, stations=random.choice([1, 1, 2]))
    size = random.choice([constant(random.randint(2, 6)), geometric(random.uniform(1.5, 5)),
                          discrete([1, 10], weights=[9, 1])])  # fmt: skip
    _open(model, program, exponential(size.mean), batch=size)


def _turns(model: Model, random: Random) -> None:
    count, load = random.randint(2, 6), random.uniform(0.3, 0.95)
    program = model.program("walk")
    stations = [model.station(f"q{place}") for place in range(count)]
    program.use_one_of(stations, _law(random, count * load, 0.3, 2.0), policy="round_robin")
    _open(model, program)


def _general(model: Model, random: Random) -> None:
    low, high = random.choice([(0.0, 6.0), (0.0, 6.0), (0.6, 2.0)])
    _open(model, _walk(model, random, low=low, high=high))


def _closed_law(model: Model, random: Random) -> None:
    low, high = random.choice([(0.0, 3.0), (0.6, 2.0)])
    _closed(model, _walk(model, random, low=low, high=high), random)


def _wild_law(model: Model, random: Random) -> None:
    _closed(model, _walk(model, random, low=3.0, high=16.0), random)


def _means(model: Model, random: Random, *, is_open: bool = False) -> None:
    stations = [model.station(f"s{n}", servers=random.randint(1, 3)) for n in range(2)]
    for place in range(2):
        program = model.program(f"walk{place}")
        for station in stations:
            program.use(station, exponential(station.servers * random.uniform(0.1, 0.45)))
        if is_open:
            _open(model, program)
        else:
            _closed(model, program, random)


def _pool(model: Model, random: Random, *, is_open: bool) -> None:
    program = model.program("walk")
    program.use(model.station("front", servers=2), exponential(random.uniform(0.4, 1.6)))
    with program.holding(model.pool("tokens", tokens=random.randint(2, 8))):
        mean = random.uniform(0.2, 0.7)
        is_plain = random.random() < 0.5  # noqa: PLR2004
        law = exponential(mean) if is_plain else _law(random, mean, 0.3, 2.0)
        program.use(model.station("inside"), law)
        program.delay(random.uniform(0.1, 0.6))
    if is_open:
        _open(model, program)
    else:
        _closed(model, program, random)


def _speeds(model: Model, random: Random) -> None:
    speeds = [random.uniform(0.3, 3) for _ in range(random.randint(2, 4))]
    program, load = model.program("walk"), random.uniform(0.3, 0.9)
    work = _law(random, load * sum(speeds), 0.3, 2.0)
    program.use(model.station("s", servers=len(speeds), speeds=speeds), work)
    if random.random() < 0.5:  # noqa: PLR2004
        _open(model, program)
    else:
        _closed(model, program, random)


def _carried(model: Model, random: Random) -> None:
    size = model.attribute("size")
    program = model.program("walk")
    program.set(size, _law(random, 1.0, 0.0, 2.0))
    for place in range(random.randint(1, 2)):
        program.use(model.station(f"s{place}"), size * random.uniform(0.3, 0.85))
    _open(model, program)


def _limit(model: Model, random: Random) -> None:
    station = model.station("s", discipline="ps", limit=random.randint(1, 6))
    program = model.program("walk")
    program.use(station, _law(random, random.uniform(0.3, 0.9), 0.3, 4.0))
    _open(model, program)


def _many(model: Model, random: Random) -> None:
    for _ in range(3):
        program = _walk(model, random, stations=1, loads=(0.1, 0.3))
        for station in list(model.stations.values())[:-1]:
            program.use(station, exponential(station.servers * random.uniform(0.1, 0.3)))
        _closed(model, program, random)


KINDS: Mapping[str, Make] = {
    "breakdowns alone": _breakdown_alone,
    "breakdowns": _breakdowns,
    "loss": _loss,
    "bursts alone": lambda model, random: _bursts(model, random, 1),
    "bursts": _bursts,
    "renewal arrivals": _renewal,
    "shortest queue": _shortest,
    "forks": _fork,
    "forks of any law": lambda model, random: _fork(model, random, 0.0, 3.0),
    "priorities": _priorities,
    "priorities, closed": lambda model, random: _priorities(model, random, is_open=False),
    "batch arrivals": _batches,
    "in turn": _turns,
    "any service": _general,
    "any service, closed": _closed_law,
    "wild service, closed": _wild_law,
    "unequal classes": lambda model, random: _means(model, random, is_open=True),
    "unequal classes, closed": _means,
    "pools": lambda model, random: _pool(model, random, is_open=True),
    "pools, closed": lambda model, random: _pool(model, random, is_open=False),
    "unequal servers": _speeds,
    "carried times": _carried,
    "limited sharing": _limit,
}


def model_of(kind: str, seed: int) -> Model:
    """Return the model of a kind for a seed."""
    model = Model(kind, time_unit="s")
    KINDS[kind](model, Random(f"{kind} {seed}"))  # noqa: S311 - no secret
    return model
