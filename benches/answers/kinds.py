"""Kinds of studies: each draws one at random, its limits well between the values at its levels."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

from benches.answers.studies import Level, Study

_CLEAR = 1.08
"""Ratio of a limit and the exact value at any level, at least."""
MEAN, TAIL, WAIT = "response_s_mean", "response_s_p95", "station.desk.wait_s_mean"


def drawn(seed: int, number: int) -> Study:
    """Return study `number` of a seed."""
    random = Random(f"{seed}:{number}")  # noqa: S311 - no secret
    make, study = KINDS[number % len(KINDS)], None
    while study is None:
        try:
            study = make(random)
        except IndexError:  # No limit fits between these levels.
            continue
    study.kind, study.seed = make.__name__, random.randrange(10**6)
    study.name = f"s{seed}_{number}_{study.kind}"
    return study


def limit(random: Random, study: Study, metric: str, sign: str = "at_most") -> None:
    """Give a study a limit of a metric between two levels, before the first or after the last."""
    factor = next(name for name, levels in study.factors.items() if not isinstance(levels[0], str))
    own = study.factors if study.is_zipped else {factor: study.factors[factor]}
    rows = [dict(zip(own, row, strict=True)) for row in zip(*own.values(), strict=True)]
    values = [x for row in rows if (x := study.exact(row)[metric]) < math.inf]
    bounds = [math.sqrt(a * b) for a, b in pairwise(values)] + [1.5 * max(values)]
    bounds += [min(values) / 1.4] * random.randint(0, 1)
    clear = [b for b in bounds if all(max(b / v, v / b) > _CLEAR for v in values)]
    bound = float(f"{random.choice(clear):.3g}")
    study.limits.append({"metric": metric, sign: bound, "factor": factor})
    study.responses = list(dict.fromkeys([metric, *study.responses]))


def desk(random: Random) -> Study:
    """Draw M/M/c with parameters for its growth and its servers, 30 to 50% busy."""
    service, servers = round(random.uniform(4, 80), 2), random.randint(1, 6)
    apart = service / servers / random.uniform(0.3, 0.5)
    return Study(
        kind="",
        parameters={"growth": 1.0, "servers": servers},
        stations={"desk": {"servers": "servers", "service": service}},
        loads={"people": {"route": ["desk"], "interarrival": f"{apart:.5g} / growth"}},
    )


def staffing(random: Random) -> Study:
    """Draw how many servers keep a wait, a mean response or a percentile."""
    study, busy = desk(random), random.uniform(1.2, 11)
    name = random.choice(["agents", "doctors", "desks", "cores", "servers"])
    first = max(math.floor(busy) + 1 - random.choice([0, 0, 0, 1, 2]), 1)
    levels = {first + n * random.choice([1, 1, 1, 2]) for n in range(random.randint(4, 6))}
    study.parameters = {name: 3}
    study.stations["desk"]["servers"] = name
    study.loads["people"]["interarrival"] = f"{study.stations['desk']['service'] / busy:.5g}"
    study.factors, study.responses = {name: sorted(levels)}, ["station.desk.utilization"]
    limit(random, study, random.choice([WAIT, MEAN, TAIL]))
    return study


def load(random: Random) -> Study:
    """Draw up to which load a limit is kept, where the highest ones may be saturated."""
    study = desk(random)
    full, top = 1.0 / study.network({}).offered("desk"), random.choice([0.93, 1.2])
    bend = random.uniform(0.8, 1.3)
    levels = {float(f"{full * (0.3 + (top - 0.3) * (n / 5) ** bend):.3g}") for n in range(6)}
    study.factors, study.responses = {"growth": sorted(levels)}, ["throughput"]
    limit(random, study, random.choice([WAIT, MEAN, TAIL]))
    if random.randint(0, 1):
        study.limits[0]["current"] = min(levels)
    return study


def tandem(random: Random) -> Study:
    """Draw two or three stations over a rate, some equally busy, with changes of one or two."""
    names = random.sample(["web", "db", "disk"], random.randint(2, 3))
    shares = [1.0, random.choice([1.0, random.uniform(0.4, 0.75)]), random.uniform(0.3, 0.6)]
    counts = {name: random.randint(1, 3) for name in names}
    study = desk(random)
    study.stations = {
        name: {"servers": counts[name], "service": round(10.0 * counts[name] * share, 3)}
        for name, share in zip(names, shares, strict=False)
    }
    study.parameters = {"rate": 50.0}
    study.loads = {"people": {"route": names, "interarrival": "1000.0 / rate"}}
    study.factors = {"rate": [30, 50, 70, 80, random.choice([87, 93, 104])]}
    also = [f"station.{name}.servers={count + 1}" for name, count in counts.items()]
    study.also = random.choice([[*also, "; ".join(also[:2])], []])
    if random.randint(0, 4):
        limit(random, study, MEAN)
    return study


def users(random: Random) -> Study:
    """Draw a closed system over its users: a limit of its response or throughput, or none."""
    study, db = desk(random), random.randint(1, 4)
    study.parameters = {"users": 10, "servers": random.randint(1, 2), "think": 300.0, "speed": 1.0}
    study.stations = {
        "desk": {"servers": "servers", "service": f"{random.uniform(5, 20):.4g} / speed"},
        "db": {"servers": db, "service": round(db * random.uniform(3, 25), 2)},
    }
    study.loads = {"people": {"route": ["desk", "db"], "users": "users", "think": "think"}}
    study.factors = {"users": sorted({random.randint(4, 14) + 14 * n for n in range(6)})}
    study.also = random.choice([[], [f"station.db.servers={db + 1}", "servers=3"]])
    asked = random.choice([(MEAN, "at_most"), ("throughput", "at_least"), None])
    if asked:
        limit(random, study, *asked)
    return study


def floor(random: Random) -> Study:
    """Draw how many servers, which speed or which think time gives a throughput."""
    study = users(random)
    study.limits, study.also, study.parameters["users"] = [], [], random.randint(20, 80)
    study.stations["desk"]["service"] = f"{random.uniform(15, 40):.4g} / speed"
    study.stations["db"] = {"servers": 2, "service": 6.0}
    study.factors = random.choice([
        {"servers": [1, 2, 3, 4, 5, 6]}, {"speed": [0.5, 0.75, 1.0, 1.5, 2.0]},
        {"think": [100.0, 300.0, 600.0, 1000.0, 2000.0]},
    ])  # fmt: skip
    limit(random, study, "throughput", "at_least")
    return study


def both(random: Random) -> Study:
    """Draw two limits over servers or growth: only what meets both counts."""
    study = random.choice([staffing, load])(random)
    known = study.limits[0]["metric"]
    limit(random, study, random.choice([x for x in (MEAN, TAIL, WAIT) if x != known]))
    return study


def changes(random: Random) -> Study:
    """Draw a desk above its limit, and changes of which some meet it."""
    study, full = desk(random), 0.0
    full, servers = 1.0 / study.network({}).offered("desk"), int(study.parameters["servers"])
    study.factors = {"growth": [float(f"{full * x:.3g}") for x in (0.5, 0.7, 0.8, 0.88, 0.95)]}
    more = random.sample([servers + 1, servers + 2, servers + 3, 2 * servers + 2], 2)
    study.also = [f"station.desk.servers={count}" for count in sorted(more)]
    study.also += ["station.desk.speed=x1.5"] * random.randint(0, 1)
    limit(random, study, MEAN)
    return study


def classes(random: Random) -> Study:
    """Draw an urgent and a normal class at one station, or two classes that share nothing."""
    study, other = desk(random), random.choice(["desk", "slow"])
    service, is_shared = study.stations["desk"]["service"], other == "desk"
    study.parameters, study.stations = {"growth": 1.0}, {"desk": {"service": service}}
    if is_shared:
        study.stations["desk"]["discipline"] = "priority"
    else:
        study.stations["slow"] = {"service": 2 * service}
    study.loads = {
        name: {"route": [place], "priority": int(is_shared and name == "urgent"),
               "interarrival": f"{random.uniform(3.5, 6) * service:.5g} / growth"}
        for name, place in (("urgent", "desk"), ("normal", other))
    }  # fmt: skip
    study.factors = {"growth": [1.0, 1.3, 1.6, 1.9, random.choice([2.1, 3.2])]}
    study.responses = [f"class.{name}.response_s_mean" for name in study.loads]
    limit(random, study, random.choice(study.responses))
    return study


def batch(random: Random) -> Study:
    """Draw a setting with an optimum: a limit is kept in a window of its levels."""
    study, best = desk(random), random.choice([4, 8, 16, 32])
    work = random.uniform(2, 9)
    study.parameters = {"batch": 8}
    study.stations = {"desk": {"service": f"{work:.4g} * ({best} / batch + batch / {best})"}}
    study.loads["people"]["interarrival"] = f"{4.25 * work * random.uniform(0.9, 1.6):.5g}"
    study.factors = {"batch": [best // 4, best // 2, best, 2 * best, 4 * best]}
    limit(random, study, MEAN)
    return study


def design(random: Random) -> Study:
    """Draw two designs over growth, to compare or with a limit for each."""
    study = desk(random)
    old, fewer = study.stations["desk"]["service"], random.choice([0.7, 0.85, 1.2, 1.7])
    study.parameters = {"design": "old", "growth": 1.0}
    study.stations["desk"] = {
        "servers": f"{{'old': 2, 'new': {random.randint(2, 4)}}}[design]",
        "service": f"{{'old': {old}, 'new': {fewer * old:.5g}}}[design]",
    }
    study.loads["people"]["interarrival"] = f"{old / random.uniform(0.7, 1.0):.5g} / growth"
    study.factors = {"design": ["old", "new"], "growth": [1.0, 1.4, 1.7]}
    study.responses, study.compared = [MEAN], random.choice(["design", ""])
    if random.randint(0, 1):
        limit(random, study, MEAN)
        rows: list[dict[str, Level]] = [{"design": "new", "growth": x} for x in (1.0, 1.4, 1.7)]
        bound = study.limits[0]["at_most"]
        if any(1 / _CLEAR < study.exact(row)[MEAN] / bound < _CLEAR for row in rows):
            raise IndexError
    return study


def loss(random: Random) -> Study:
    """Draw a desk with few places that rejects: at most a share of the callers."""
    study = desk(random)
    study.stations["desk"] |= {"buffer": random.randint(2, 4), "when_full": "reject"}
    servers = int(study.parameters["servers"])
    study.factors = {"growth": [1.2, 1.6, 2.0, 2.6, 3.2]}
    study.also, study.responses = (
        [f"servers={servers + 1}", f"servers={2 * servers}"],
        ["throughput"],
    )
    limit(random, study, "class.people.lost_ratio")
    return study


def grows(random: Random) -> Study:
    """Draw servers that are added as the load grows: a limit may be kept again."""
    study, busy = desk(random), random.uniform(0.4, 0.75)
    study.is_zipped, study.parameters = True, {"growth": 1.0, "servers": 1}
    apart = study.stations["desk"]["service"] / busy
    study.loads["people"]["interarrival"] = f"{apart:.5g} / growth"
    counts = random.choice([[1, 2, 2, 3], [1, 2, 3, 4], [1, 1, 2, 4]])
    study.factors = {"growth": [1.0, 1.3, 2.0, 3.0], "servers": counts}
    limit(random, study, MEAN)
    return study


KINDS: Sequence[Callable[[Random], Study]] = (
    staffing, load, tandem, users, floor, both, changes, classes, batch, design, loss, grows,
)  # fmt: skip
