"""Kinds of studies that state what they ask: one or two `[[ask]]`, of all kinds but reproductions.

Some ask of a part of a grid, have words as levels, titles, several classes, zipped factors.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from benches.answers import kinds
from benches.answers.exact import Network
from benches.answers.kinds import MEAN, WAIT, Kind
from benches.answers.studies import Level, Study
from headroom.experiment.study.file.toml_text import toml_text

BUSY, MAKESPAN = "station.desk.utilization", "makespan_s"
FULL = 2.5
"""Growth that fills the desk to the last job: it is neither saturated nor not."""
OLD, NEW = {"design": "old"}, {"design": "new"}


@dataclass(slots=True, kw_only=True)
class Recorded(Study):
    """A study of recorded runs, whose counts are known."""

    runs: list[dict[str, Any]] = field(default_factory=list)

    def exact(self, levels: Mapping[str, Level], change: str = "") -> dict[str, float]:  # noqa: ARG002
        """Return nothing: what the runs are drawn from is not what is asked."""
        return {}

    def files(self) -> dict[str, str]:
        """Return `study.toml` and the runs."""
        metrics = [{"name": name, "unit": "s" if name.endswith("_s") else "1", "better": "low"}
                   for name in self.responses]  # fmt: skip
        count = len(self.runs) // len(self.rows())
        experiment = {"name": "faults", "system": {"name": "imported", "file": "runs.json"},
                      "factors": self.factors, "replications": {"count": count},
                      "responses": self.responses}  # fmt: skip
        runs = json.dumps({"metrics": metrics, "runs": self.runs})
        return {"study.toml": toml_text(self.content(experiment)), "runs.json": runs}


@dataclass(slots=True, kw_only=True)
class Nightly(Study):
    """A study of jobs that are all there at the start, for some workers."""

    jobs: int

    def exact(self, levels: Mapping[str, Level], change: str = "") -> dict[str, float]:
        """Return the mean time until all is done: that of the next end, for each job left."""
        (desk,) = self.network(levels, change).stations.values()
        ends = [desk.service / min(left, desk.servers) for left in range(1, self.jobs + 1)]
        return {MAKESPAN: sum(ends),
                BUSY: self.jobs * desk.service / desk.servers / sum(ends)}  # fmt: skip

    def network(self, levels: Mapping[str, Level], change: str = "") -> Network:
        """Return the workers, whose queue is what is there: no rate comes to it."""
        network = super(Nightly, self).network(levels, change)
        (desk,) = network.stations.values()
        return Network(stations={"desk": replace(desk, places=self.jobs)}, loads=network.loads)


def ask(kind: str, metric: str = MEAN, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return a table `[[ask]]`."""
    return {"kind": kind, **({"metric": metric} if metric else {}), **more}


def asking(study: Study, *asks: dict[str, Any]) -> Study:
    """Give a study its asks, instead of limits unless they are asked for."""
    study.asks = list(asks)
    if not {"window", "capacity", "deadline"} & {one["kind"] for one in asks}:
        study.limits = study.limits if asks[0] == ask("enough", "") else []
    return study


def closed(random: Random) -> Study:
    """Return a closed system whose desk limits with few servers, its db with many."""
    study = kinds.users(random)
    study.also, study.parameters["servers"] = [], 1
    study.stations["desk"]["service"] = f"{random.uniform(20, 60):.4g} / speed"
    study.stations["db"] |= {"servers": 2, "service": round(random.uniform(4, 14), 2)}
    return study


def share(random: Random) -> Study:
    """Ask how many servers of a closed system reach a share of the best, for one or many users."""
    study, where = closed(random), {}
    study.factors = {"servers": random.choice([[1, 2, 3, 4, 6, 8], [2, 4, 6, 8, 10, 12, 16]])}
    if random.randint(0, 1):
        study.factors["users"] = [12, random.choice([30, 60])]
        where = random.choice([{}, {"users": study.factors["users"][1]}])
    metric, other = random.sample([MEAN, "throughput"], 2)
    goal = random.choice([0.8, 0.9, 0.95, 0.99])
    value = ask("value", other, extreme=random.choice(["highest", "lowest"]))
    enough = ask("enough", metric, factor="servers", where=where, share=goal)
    return asking(study, enough, *[value] * random.randint(0, 1))


def scale(random: Random) -> Study:
    """Ask how a closed system grows with its users or servers, and what limits it."""
    study, where = closed(random), {}
    study.factors = {"servers": [1, 2, 4, 8]}
    if random.randint(0, 1):
        study.factors = {"users": [2, 4, 8, 16, 32], "servers": [1, 4]}
        where = {"servers": random.choice([1, 4])}
    metric = random.choice(["throughput", MEAN])
    return asking(study, ask("scale", metric, where=where), ask("limit", "", where=where))


def effect(random: Random) -> Study:
    """Ask what a new design gains or costs, at one load or at each, with or without titles."""
    study = kinds.design(random)
    study.responses = [MEAN, "throughput", BUSY]
    study.titles = random.choice([{}, {"design": {"old": "the old desk", "new": "two new desks"}}])
    at = random.choice([{}, {"growth": random.choice(study.factors["growth"])}])
    study.factors["growth"] += random.choice([[], [], [1.1, 1.2, 1.5]])
    of, to = random.sample([OLD, NEW], 2)
    asked = ask("effect", random.choice([MEAN, WAIT, BUSY]), where=at, of=of, to=to,
                same_within=random.choice([0.05, 0.1]))  # fmt: skip
    best = ask("best", where={"growth": 1.4})
    return asking(study, asked, *[best] * random.randint(0, 1))


def ratio(random: Random) -> Study:
    """Ask for a derived ratio at each load."""
    study, turned = kinds.design(random), bool(random.randint(0, 1))
    study.compared, study.responses = "", [MEAN, BUSY]
    gain = {"name": "gain", "of": MEAN, "ratio_to": OLD, "inverse": turned}
    study.derived = [gain | {"better": "high" if turned else "low"}]
    study.titles = random.choice([{}, {"gain": "gain of the new design"}])
    return asking(study, ask("effect", "gain", where=NEW))


def added(random: Random) -> Study:
    """Ask what one more server gains, at one load or at several: numbers as levels."""
    study = kinds.growing(random, [1.2, 1.8, 2.2])
    count = int(study.parameters["servers"])
    study.factors["servers"], study.responses = [count, count + 1], [MEAN, WAIT]
    at = random.choice([{}, {"growth": random.choice([1.8, 2.2])}])
    names = {str(count): "the desks of today", str(count + 1): "one desk more"}
    study.titles = random.choice([{}, {"servers": names}, {"servers": "desks"}])
    return asking(study, ask("effect", random.choice([MEAN, WAIT]), where=at,
                             of={"servers": count + 1}, to={"servers": count}))  # fmt: skip


def bought(random: Random) -> Study:
    """Ask what a purchase of two things at once gains: a word with numbers zipped to it."""
    study = kinds.desk(random, {"buy": "none", "servers": 2, "speed": 1.0}, 1.0, "servers")
    own, more = study.stations["desk"], random.uniform(1, 1.8)
    own["service"] = f"{own['service']} * {more:.3g} / speed"
    study.is_zipped = True
    study.factors = {"buy": ["none", "desk", "speed", "both"], "servers": [2, 3, 2, 3],
                     "speed": [1.0, 1.0, 1.3, 1.3]}  # fmt: skip
    titles = {"none": "desks as they are", "desk": "a third desk", "speed": "faster desks"}
    study.titles = random.choice([{}, {"buy": titles}])
    none, desk, *_ = study.rows()
    of, to = random.choice([(desk, none), ({"buy": "both"}, {"buy": "none"})])
    value = ask("value", where={"buy": random.choice(["speed", "both"])})
    return asking(study, *random.sample([ask("effect", of=of, to=to), ask("best"), value], 2))


def together(random: Random) -> Study:
    """Ask what servers that are added as the load grows keep: zipped factors."""
    study = kinds.grows(random)
    study.responses = [MEAN, "throughput"]
    first, *_, last = study.rows()
    of, to = random.sample([first, last], 2)
    value = ask("value", where={"growth": last["growth"]})
    return asking(study, ask("effect", of=of, to=to), value)


def urgent(random: Random) -> Study:
    """Ask of one of two classes: how its response grows, what load costs it, how long it is."""
    study = kinds.classes(random)
    metric, top = random.choice(study.responses), study.factors["growth"][-2]
    asks = [ask("effect", metric, of={"growth": top}, to={"growth": 1.0}),
            ask("value", metric, where={"growth": random.choice([1.0, top])}),
            ask("scale", metric, factor="growth")]  # fmt: skip
    return asking(study, *random.sample(asks, 2))


def best(random: Random) -> Study:
    """Ask for the best batch, alone or of one of three plans, or for the best of both."""
    study = kinds.batch(random)
    study.responses = [MEAN, "throughput"]
    part: dict[str, Level] = {}
    if random.randint(0, 1):
        study.parameters |= {"plan": "a"}
        own = {one: round(random.uniform(0.6, 1.4), 2) for one in ("a", "b", "c")}
        study.stations["desk"]["service"] += f" * {own}[plan] * 0.7"
        study.factors = {"batch": sorted({8, *study.factors["batch"][1:4]}), "plan": list(own)}
        part = random.choice([{"plan": "b"}, {"batch": 8}, {}])
        study.titles = random.choice([{}, {"plan": {"a": "plan A", "b": "plan B", "c": "plan C"}}])
    return asking(study, ask("best", where=part))


def value(random: Random) -> Study:
    """Ask how much there is at one level, or at most, with more metrics or a subject."""
    study = kinds.growing(random, [1.2, 1.6, 2.0, 2.2])
    study.responses = [MEAN, "throughput", BUSY]
    more: dict[str, Any] = random.choice([
        {"extreme": "highest"}, {"where": {"growth": random.choice([1.2, 2.0])}}, {},
        {"where": {"growth": 2.0}, "also": [BUSY]}, {"extreme": "lowest", "also": [BUSY]},
        {"where": {"growth": 1.6}, "subject": "a call"},
    ])  # fmt: skip
    study.titles = random.choice([{}, {"throughput": "calls a second", MEAN: "time of a call"}])
    asked = ask("value", random.choice([MEAN, "throughput"]), **more)
    return asking(study, asked, *[ask("limit", "")] * random.randint(0, 1))


def size(random: Random) -> Study:
    """Ask how a response grows with the size of jobs: in proportion, or with a fixed part."""
    study = kinds.desk(random, {"records": 100, "lag": 0.0}, 1.0)
    service, where = f"(0.1 * records + {random.choice([0, 0, 30, 200])} + lag)", {}
    study.stations = {"desk": {"service": service, "servers": 2}}
    study.loads["people"]["interarrival"] = f"{random.uniform(0.7, 1.2):.3g} * {service}"
    study.factors, study.responses = {"records": [100, 300, 1000, 3000]}, [MEAN, "throughput"]
    if random.randint(0, 1):
        study.factors["lag"] = [0.0, 50.0]
        where = random.choice([{}, {"lag": 50.0}])
    return asking(study, ask("scale", random.choice([MEAN, "throughput"]), where=where))


def window(random: Random) -> Study:
    """Ask between which batches a limit is kept."""
    return asking(kinds.batch(random), ask("window", ""))


def capacity(random: Random) -> Study:
    """Ask up to which load, or from how many servers on, limits are kept; and a value there."""
    study = random.choice([kinds.load, kinds.staffing])(random)
    name, levels = next(iter(study.factors.items()))
    if name == "growth" and FULL in levels:
        raise IndexError
    more = ask("value", study.limits[0]["metric"], where={name: levels[len(levels) // 2]})
    kind = "capacity" if name == "growth" else "enough"
    return asking(study, ask(kind, ""), *[more] * random.randint(0, 1))


def part(random: Random) -> Study:
    """Ask for the limit on one of two curves."""
    parameters: dict[str, Level] = {"growth": 1.0, "servers": 2}
    study = kinds.desk(random, parameters, random.uniform(0.9, 1.2), "servers")
    study.factors = {"growth": [1.0, 1.3, 1.6], "servers": [2, 3]}
    study = kinds.limited(random, study, random.choice([MEAN, WAIT]))
    return asking(study, ask("capacity", "", where={"servers": random.choice([2, 3])}))


def bottleneck(random: Random) -> Study:
    """Ask which of two or three stations limits."""
    return asking(kinds.tandem(random), ask("limit", ""), ask("value", "", where={"rate": 30}))


def safe(random: Random) -> Study:
    """Ask whether any of some recorded runs lost something, and for how long it was seen."""
    study = Recorded(parameters={}, stations={}, loads={})
    study.responses = ["lost_count", "torn_count", "errors_s"]
    study.factors = {"fault": random.sample(["killed", "stopped", "cut", "full"], 3)}
    study.factors |= random.choice([{}, {"clients": [1, 8]}])
    bad = random.choice([0.0, 0.0, 0.1, 0.5])
    for levels in study.rows() * random.choice([3, 5, 9, 20]):
        lost = random.choice([1, 2, 7]) if random.random() < bad else 0
        torn, seconds = int(random.random() < bad / 2), round(random.uniform(0.05, 9.0), 3)
        values = {"lost_count": lost, "torn_count": torn, "errors_s": seconds}
        study.runs.append({"levels": levels, "values": values, "source": "runs"})
    study.titles = random.choice([{}, {"lost_count": "lost writes", "errors_s": "errors for"}])
    asked = ask("safe", "lost_count", also=["torn_count"] * random.randint(0, 1))
    asked |= random.choice([{}, {"where": {"fault": study.factors["fault"][0]}}])
    asked |= random.choice([{}, {"seconds": "errors_s", "by": "fault"}])
    return asking(study, asked)


def deadline(random: Random) -> Study:
    """Ask when work that is all there at the start is done, with a limit or at some workers."""
    jobs, name = random.randint(1_500, 4_000), random.choice(["workers", "machines"])
    study = Nightly(jobs=jobs, parameters={name: 2}, stations={}, loads={})
    study.stations = {"desk": {"servers": name, "service": random.randint(200, 9000)}}
    people = {"route": ["desk"], "interarrival": "trace([0])", "batch": jobs}
    study.loads, first = {"people": people}, random.randint(2, 6)
    study.factors = {name: [first + n * random.choice([1, 2]) for n in range(5)]}
    study.factors[name], study.responses = sorted({*study.factors[name]}), [MAKESPAN, BUSY]
    if random.randint(0, 1):
        return asking(study, ask("deadline", "", where={name: study.factors[name][1]}))
    return asking(kinds.limited(random, study, MAKESPAN), ask("deadline", ""))


ASKED: Sequence[Kind] = (
    share, effect, best, value, scale, safe, bought, ratio, added, size, window, urgent, capacity,
    together, part, bottleneck, deadline,
)  # fmt: skip
