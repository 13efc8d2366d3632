"""One model with every word of the language, as the data that kernels and tools read.

`python tests/test_model_language.py` regenerates the snapshot. Review the difference before keeping
it: a changed key of a random stream alters the results of every study that uses it.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from headroom.simulation import (
    Attribute,
    Model,
    ModelWarning,
    Program,
    canonical_json,
    discrete,
    draw,
    erlang,
    exponential,
    floor,
    maximum,
    minimum,
    simulate,
    uniform,
)

SNAPSHOT = Path(__file__).parent / "snapshots" / "model_language.json"


@dataclass(frozen=True, slots=True)
class Recorded:
    """An arrival process as the builder sees it: data, a rate, and what arrivals carry."""

    mean_rate: float = 0.01
    attribute_names: tuple[str, ...] = ("size",)

    def to_data(self) -> dict[str, object]:
        """Return the process as the kernel reads it."""
        return {"kind": "trace", "times": [0.0, 100.0], "attributes": {"size": [1.0, 2.5]}}


def every_feature() -> Model:
    """Return a model that uses each part of the language at least once."""
    model = Model("every feature", time_unit="ms", may_deadlock=True)
    size = model.attribute("size", initial=1.5)
    for part in (_stations, _pools):
        part(model)
    second = model.program("second phase")
    second.use(model.stations["cpu"], erlang(2, stages=4))
    second.reply()
    second.use(model.stations["log"], uniform(0, 1))
    background = model.program("background")
    background.delay(exponential(3))
    with model.inside("node 1"):
        request = model.program("request")
    _computing(model, request, size)
    _choosing(model, request, size)
    _routing(model, request, size)
    _together(model, request)
    request.call(second)
    request.start(background)
    _classes(model, request, background)
    model.stop(completions=1000, time=1e6)
    return model


def _stations(model: Model) -> None:
    model.station("cpu", servers=2, discipline="priority_preempt", speeds=[1, 2])
    model.station("disk", discipline="ps", servers=2, limit=8)
    model.station("log", batch=(1, 16))
    model.station("bus", discipline="lcfs", batch=4, buffer=20)
    model.station("full", discipline="random", buffer=3, when_full="reject")
    model.station("cloud", discipline="infinite")
    model.station("stack", discipline="lcfs_preempt")
    model.station("desk", discipline="priority")
    model.breakdowns(model.stations["cpu"], time_to_failure=exponential(1e4), repair=uniform(1, 9))
    model.breakdowns(model.stations["disk"], time_to_failure=5000, repair=50, unit="each")


def _pools(model: Model) -> None:
    model.pool("threads", tokens=50)
    model.pool("locks", tokens=1, order="priority")


def _computing(model: Model, request: Program, size: Attribute) -> None:
    request.set(size, exponential(4))
    request.set(size, -2)
    request.set(size, maximum(minimum(size * 2 + 1, 64), draw(exponential(1)) / 2 - 1))
    request.prioritize(-size % 3)
    request.use(model.stations["cloud"], 2 + size * 0.1)
    with request.loop(floor(maximum(size, 0))):
        request.use(model.stations["stack"], 0.1)
    request.use(model.stations["stack"], 0.1, reserve=True)
    request.use(model.stations["bus"], exponential(1))
    with request.loop(discrete([1, 3], weights=[2, 1])):
        request.use(model.stations["desk"], 0.1)


def _choosing(model: Model, request: Program, size: Attribute) -> None:
    stations, pools = model.stations, model.pools
    with request.branch() as branch:
        with branch.when((size > 3) & (model.jobs(stations["cpu"]) <= 5) | ~(size == 1)):
            request.delay(1)
        with branch.when((model.now < 10) | (model.free(pools["locks"]) >= 1)):
            request.delay(2)
    with request.branch() as branch:
        with branch.case(0.3):
            request.delay(3)
        with branch.otherwise():
            pass
    with request.branch("round_robin") as branch:
        for time in (1, 2):
            with branch.case():
                request.delay(time)
    with request.branch("hash", by=size) as branch:
        for time in (1, 2):
            with branch.case():
                request.delay(time)
    with request.branch("two_choices") as branch:
        for part in (stations["cpu"], pools["threads"]):
            with branch.case(of=part):
                request.delay(1)
    request.use_one_of([stations["cpu"], stations["disk"]], exponential(1))


def _routing(model: Model, request: Program, size: Attribute) -> None:
    stations = model.stations
    with request.network() as net:
        with net.node("a", to={"b": 0.5, "c": 0.25, net.leave: 0.25}):
            request.use(stations["cpu"], exponential(1))
        with net.node("b", to={"c": size > 3, "d": size != 2, net.leave: None}):
            request.use(stations["disk"], exponential(1))
        with net.node("c", to={"a": stations["cpu"], "b": stations["disk"]}, policy="two_choices"):
            pass
        with net.node("d", to=["a", "e"], policy="round_robin"):
            pass
        with net.node("e", to=["a", net.leave], policy="hash", by=size):
            pass


def _together(model: Model, request: Program) -> None:
    stations, pools = model.stations, model.pools
    with request.fork(quorum=1, cancel=True) as fork:
        for _ in range(2):
            with fork.arm():
                request.use(stations["disk"], exponential(1))
    with request.attempt(timeout=exponential(20), tries=3, pause=exponential(1)) as attempt:
        with attempt.work(), request.holding(pools["threads"], 2):
            request.use(stations["full"], exponential(1))
            with request.holding(pools["locks"]):
                request.use(stations["bus"], exponential(1))
        with attempt.failed():
            request.delay(5)


def _classes(model: Model, request: Program, background: Program) -> None:
    cpu = model.stations["cpu"]
    model.closed_class("users", request, population=9, think=exponential(100), priority=2)
    with model.inside("node 2"):
        model.closed_class(
            "batch",
            request,
            population=5,
            start="ready",
            placed={cpu: 2},
        )
    model.open_class("guests", request, interarrival=exponential(500), initial=3)
    groups = discrete([1, 4], weights=[1, 1])
    model.open_class("groups", background, interarrival=900, batch=groups, priority=-1)
    model.open_class("replay", background, interarrival=cast("Any", Recorded()))


def nested_values(data: object) -> Iterator[tuple[str, Any]]:
    """Yield key and value of every entry, at any depth."""
    if isinstance(data, dict):
        yield from data.items()
        for value in data.values():
            yield from nested_values(value)
    elif isinstance(data, list):
        for value in data:
            yield from nested_values(value)


def test_the_data_of_every_feature_is_that_of_the_snapshot() -> None:
    assert json.loads(canonical_json(every_feature())) == json.loads(SNAPSHOT.read_text("utf-8"))


def test_every_feature_runs_together() -> None:
    with pytest.warns(ModelWarning, match="class 'groups' has the priority -1"):
        result = simulate(every_feature(), seed=1, completions=1000)
    assert result.classes.columns["completion_count"][-1].sum() == 1000


def test_every_source_of_randomness_has_a_stream_of_its_own() -> None:
    entries = nested_values(every_feature().to_data())
    keys = Counter(value for key, value in entries if key.endswith("stream"))
    assert len(keys) > 50
    assert [key for key, count in keys.items() if count > 1] == []


def test_a_step_that_is_added_leaves_the_streams_of_the_others() -> None:
    model = every_feature()
    before = {value for key, value in nested_values(model.to_data()) if key == "stream"}
    model.programs["node 1/request"].use(model.stations["desk"], exponential(1) * model.now)
    after = {value for key, value in nested_values(model.to_data()) if key == "stream"}
    assert before < after


def test_defaults_are_left_out() -> None:
    model = Model("plain", time_unit="ms")
    program = model.program("p")
    program.use(model.station("cpu"), 1)
    model.pool("k", tokens=2)
    model.closed_class("users", program, population=1)
    data: Any = model.to_data()
    assert data["stations"] == [{"name": "cpu", "servers": 1}]
    assert data["pools"] == [{"name": "k", "tokens": 2}]
    assert set(data["programs"][0]["steps"][0]) == {"op", "station", "service", "stream"}
    assert set(data["classes"][0]) == {"name", "program", "kind", "population", "think", "stream"}


if __name__ == "__main__":
    SNAPSHOT.parent.mkdir(exist_ok=True)
    SNAPSHOT.write_text(json.dumps(every_feature().to_data(), indent=1) + "\n", encoding="utf-8")
