"""Kinds of studies: each draws one at random, its limits well between the values at its levels."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import TypeAlias

from benches.answers.studies import Level, Study

CLEAR = 1.08
"""Ratio of a limit and the exact value at any level, at least."""
Kind: TypeAlias = Callable[[Random], Study]
MEAN, TAIL, WAIT = "response_s_mean", "response_s_p95", "station.desk.wait_s_mean"


def drawn(seed: int, number: int, kinds: Sequence[Kind] = ()) -> Study:
    """Return study `number` of a seed, of one of the kinds."""
    random = Random(f"{seed}:{number}")  # noqa: S311 - no secret
    make, study = (kinds or KINDS)[number % len(kinds or KINDS)], None
    while study is None:
        try:
            study = make(random)
        except IndexError:  # No limit fits between these levels.
            continue
    study.name, study.seed = f"s{seed}_{number}_{make.__name__}", random.randrange(10**6)
    return study


def limited(random: Random, study: Study, metric: str, sign: str = "at_most") -> Study:
    """Give a study a limit of a metric between two levels, before the first or after the last."""
    factor = next(name for name in study.factors if name != "design")
    values = [x for row in study.rows() if (x := study.exact(row)[metric]) < math.inf]
    bounds = [math.sqrt(a * b) for a, b in pairwise(values)]
    bounds += [1.5 * max(values)] + [min(values) / 1.4] * random.randint(0, 1)
    clear = [b for b in bounds if all(max(b / v, v / b) > CLEAR for v in values)]
    bound = float(f"{random.choice(clear):.3g}")
    study.limits.append({"metric": metric, sign: bound, "factor": factor})
    study.responses = list(dict.fromkeys([metric, *study.responses]))
    return study


def desk(random: Random, parameters: dict[str, Level], busy: float, servers: object = 1) -> Study:
    """Return M/M/c of which so many servers are busy, times `growth` if that is a parameter."""
    service = round(random.uniform(4, 80), 2)
    growth = " / growth" if "growth" in parameters else ""
    people = {"route": ["desk"], "interarrival": f"{service / busy:.5g}{growth}"}
    stations = {"desk": {"servers": servers, "service": service}}
    return Study(parameters=parameters, stations=stations, loads={"people": people})


def growing(random: Random, levels: list[float]) -> Study:
    """Return M/M/c over growth, full at 2.5."""
    servers = random.randint(1, 6)
    study = desk(random, {"growth": 1.0, "servers": servers}, 0.4 * servers, "servers")
    study.factors, study.responses = {"growth": levels}, ["throughput"]
    return study


def staffing(random: Random) -> Study:
    """Draw how many servers keep a wait, a mean response or a percentile."""
    name, busy = random.choice(["agents", "doctors", "desks", "cores"]), random.uniform(1.2, 11)
    first = max(math.floor(busy) + 1 - random.choice([0, 0, 0, 1, 2]), 1)
    levels = {first + n * random.choice([1, 1, 1, 2]) for n in range(random.randint(4, 6))}
    study = desk(random, {name: 3}, busy, name)
    study.factors, study.responses = {name: sorted(levels)}, ["station.desk.utilization"]
    return limited(random, study, random.choice([WAIT, MEAN, TAIL]))


def load(random: Random) -> Study:
    """Draw up to which load a limit is kept, where the highest ones may be saturated."""
    top, bend = random.choice([2.35, 3.0]), random.uniform(0.8, 1.3)
    levels = [float(f"{0.75 + (top - 0.75) * (n / 5) ** bend:.3g}") for n in range(6)]
    study = limited(random, growing(random, levels), random.choice([WAIT, MEAN, TAIL]))
    study.limits[0] |= {"current": levels[0]} if random.randint(0, 1) else {}
    return study


def both(random: Random) -> Study:
    """Draw two limits over servers or growth: only what meets both counts."""
    study = random.choice([staffing, load])(random)
    others = {MEAN, TAIL, WAIT} - {study.limits[0]["metric"]}
    return limited(random, study, random.choice(sorted(others)))


def changes(random: Random) -> Study:
    """Draw a desk above its limit, and changes of which some meet it."""
    study = growing(random, [1.25, 1.75, 2.0, 2.2, 2.37])
    servers = int(study.parameters["servers"])
    more = random.sample([servers + 1, servers + 2, servers + 3, 2 * servers + 2], 2)
    study.also = [f"station.desk.servers={count}" for count in sorted(more)]
    study.also += ["station.desk.speed=x1.5"] * random.randint(0, 1)
    return limited(random, study, MEAN)


def loss(random: Random) -> Study:
    """Draw a desk with few places that rejects: at most a share of the callers."""
    study = growing(random, [1.2, 1.6, 2.0, 2.6, 3.2])
    study.stations["desk"] |= {"buffer": random.randint(2, 4), "when_full": "reject"}
    servers = int(study.parameters["servers"])
    study.also = [f"servers={servers + 1}", f"servers={2 * servers + 1}"]
    return limited(random, study, "class.people.lost_ratio")


def grows(random: Random) -> Study:
    """Draw servers that are added as the load grows: a limit may be kept again."""
    study = desk(random, {"growth": 1.0, "servers": 1}, random.uniform(0.4, 0.75), "servers")
    counts = random.choice([[1, 2, 2, 3], [1, 2, 3, 4], [1, 1, 2, 4]])
    study.is_zipped, study.factors = True, {"growth": [1.0, 1.3, 2.0, 3.0], "servers": counts}
    return limited(random, study, MEAN)


def curves(random: Random) -> Study:
    """Draw a load on a curve for each number of servers: a limit has an answer on each."""
    study = desk(random, {"growth": 1.0, "servers": 1}, random.uniform(0.4, 0.6), "servers")
    levels = [1.0, 1.5, 2.1, 2.8, 3.6]
    study.factors = {"growth": levels, "servers": list(range(1, random.randint(3, 6)))}
    return limited(random, study, random.choice([MEAN, TAIL]))


def jump(random: Random) -> Study:
    """Draw a load from which on services are far longer, as after a cache that overflows."""
    study, edge = desk(random, {"growth": 1.0}, 0.004), random.uniform(1.3, 1.9)
    service, times = study.stations["desk"]["service"], random.randint(40, 90)
    study.stations["desk"]["service"] = f"{service} * ({times} if growth > {edge:.3f} else 1)"
    study.factors = {"growth": [1.0, 1.2, 1.4, 1.6, 1.8, 2.0]}
    return between(study, random.choice([MEAN, TAIL]), 1.0, 2.0)


def many(random: Random) -> Study:
    """Draw many noisy levels of a load, of which some exceed the limit by chance."""
    study = growing(random, [round(1.0 + 0.03 * n, 2) for n in range(random.randint(36, 46))])
    study.completions = 5_000
    return between(study, MEAN, *random.sample(study.factors["growth"], 2))


def between(study: Study, metric: str, *levels: float) -> Study:
    """Give a study a limit between the values at two levels of its growth."""
    bound = math.sqrt(math.prod(study.exact({"growth": at})[metric] for at in levels))
    study.limits.append({"metric": metric, "at_most": float(f"{bound:.3g}"), "factor": "growth"})
    study.responses = [metric]
    return study


def batch(random: Random) -> Study:
    """Draw a setting with an optimum: a limit is kept in a window of its levels."""
    best, work = 2 ** random.randint(2, 5), random.uniform(2, 9)
    study = desk(random, {"batch": 8}, 1.0)
    study.stations = {"desk": {"service": f"{work:.4g} * ({best} / batch + batch / {best})"}}
    study.loads["people"]["interarrival"] = f"{4.25 * work * random.uniform(0.9, 1.6):.5g}"
    study.factors = {"batch": [best // 4, best // 2, best, 2 * best, 4 * best]}
    return limited(random, study, MEAN)


def design(random: Random) -> Study:
    """Draw two designs over growth, to compare or with a limit for each."""
    study = desk(random, {"design": "old", "growth": 1.0}, random.uniform(0.7, 1.0))
    old, share = study.stations["desk"]["service"], random.choice([0.7, 0.85, 1.2, 1.7])
    new, servers = round(share * old, 3), random.randint(2, 4)
    study.stations["desk"] = {"servers": f"{{'old': 2, 'new': {servers}}}[design]",
                              "service": f"{{'old': {old}, 'new': {new}}}[design]"}  # fmt: skip
    study.factors = {"design": ["old", "new"], "growth": [1.0, 1.4, 1.7]}
    study.responses, study.compared = [MEAN], random.choice(["design", ""])
    return limited(random, study, MEAN) if random.randint(0, 1) else study


def classes(random: Random) -> Study:
    """Draw an urgent and a normal class at one station, or two classes that share nothing."""
    study, place = desk(random, {"growth": 1.0}, 1.0), random.choice(["desk", "slow"])
    own, is_shared = study.stations["desk"], place == "desk"
    study.stations |= {place: {"service": own["service"] * (1 if is_shared else 2)}}
    study.stations[place] |= {"discipline": "priority"} if is_shared else {}
    study.loads = {
        name: {"route": [place if name == "normal" else "desk"], "priority": priority,
               "interarrival": f"{random.uniform(3.5, 6) * own['service']:.5g} / growth"}
        for name, priority in (("urgent", int(is_shared)), ("normal", 0))
    }  # fmt: skip
    study.factors = {"growth": [1.0, 1.3, 1.6, 1.9, random.choice([2.1, 3.2])]}
    study.responses = [f"class.{name}.response_s_mean" for name in study.loads]
    return limited(random, study, random.choice(study.responses))


def tandem(random: Random) -> Study:
    """Draw two or three stations over a rate, some equally busy, with changes of one or two."""
    names = random.sample(["web", "db", "disk"], random.randint(2, 3))
    shares = [1.0, random.choice([1.0, random.uniform(0.4, 0.75)]), random.uniform(0.3, 0.6)]
    counts = {name: random.randint(1, 3) for name in names}
    also = [f"station.{name}.servers={count + 1}" for name, count in counts.items()]
    study = Study(
        parameters={"rate": 50.0},
        stations={name: {"servers": counts[name], "service": round(10 * counts[name] * share, 3)}
                  for name, share in zip(names, shares, strict=False)},
        loads={"people": {"route": names, "interarrival": "1000.0 / rate"}},
        factors={"rate": [30, 50, 70, 80, random.choice([87, 93, 104])]},
        also=random.choice([[*also, "; ".join(also[:2])], []]),
    )  # fmt: skip
    return limited(random, study, MEAN) if random.randint(0, 4) else study


def users(random: Random) -> Study:
    """Draw a closed system over its users: a limit of its response or throughput, or none."""
    asked = random.choice([(MEAN, "at_most"), ("throughput", "at_least"), ()])
    db, service = random.randint(1, 4), f"{random.uniform(5, 40):.4g} / speed"
    study = Study(
        parameters={"users": random.randint(20, 80), "servers": random.randint(1, 2),
                    "think": 300.0, "speed": 1.0},
        stations={"desk": {"servers": "servers", "service": service},
                  "db": {"servers": db, "service": round(db * random.uniform(3, 25), 2)}},
        loads={"people": {"route": ["desk", "db"], "users": "users", "think": "think"}},
        factors={"users": sorted({random.randint(4, 14) + 14 * n for n in range(6)})},
        also=random.choice([[], [f"station.db.servers={db + 1}", "servers=3"]]),
    )  # fmt: skip
    return limited(random, study, *asked) if asked else study


def floor(random: Random) -> Study:
    """Draw how many servers, which speed or which think time gives a throughput."""
    study = users(random)
    study.limits, study.also, study.stations["db"] = [], [], {"servers": 2, "service": 6.0}
    counts, speeds, thinks = (
        [1, 2, 3, 4, 5, 6],
        [0.5, 0.75, 1.0, 1.5, 2.0],
        [1e2, 3e2, 6e2, 1e3, 2e3],
    )
    study.factors = random.choice([{"servers": counts}, {"speed": speeds}, {"think": thinks}])
    return limited(random, study, "throughput", "at_least")


KINDS: Sequence[Kind] = (
    staffing, load, tandem, users, floor, both, changes, classes, batch, design, loss, grows,
    curves, jump, many,
)  # fmt: skip
