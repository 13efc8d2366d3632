"""Changed copies of models: compared with formulas, and without effect on the original."""

import numpy as np
import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.changes import parse_change
from headroom.simulation import Model, canonical_json, exponential, simulate, uniform
from headroom.systems.model import library
from headroom.systems.model.changed import changed_model

COMPLETIONS = 200_000


def mean_response_s(model: Model, seed: int) -> float:
    result = simulate(model, seed=seed, completions=COMPLETIONS)
    columns = result.classes.columns
    return float(columns["response_s_sum"][-1, 0] / columns["completion_count"][-1, 0])


@pytest.mark.parametrize(
    ("change", "expected_s"),
    [
        # Erlang C with load 0.8 on two servers: R = S / (1 - (U / 2)^2).
        ("station.server.servers=x2", 1.0 / (1.0 - 0.4**2)),
        ("station.server.servers=2", 1.0 / (1.0 - 0.4**2)),
        # M/M/1 with half the service time: R = S / (1 - U).
        ("station.server.speed=x2", 0.5 / (1.0 - 0.4)),
    ],
)
def test_a_doubled_queue_is_what_the_formula_says(change: str, expected_s: float) -> None:
    """Oracle: M/M/1 at 80% load with a second server, or a server twice as fast."""
    model = changed_model(library.mm1(utilization=0.8, service_s=1.0), [parse_change(change)])
    mean_s = np.mean([mean_response_s(model, seed) for seed in range(4)])
    assert mean_s == pytest.approx(expected_s, rel=0.01)


def held_model() -> Model:
    model = Model("held", time_unit="s")
    cpu, pool = model.station("cpu", servers=2), model.pool("slots", tokens=3)
    job = model.program("job")
    with job.holding(pool):
        job.use(cpu, exponential(1))
    model.closed_class("jobs", job, population=5)
    return model


def test_a_change_leaves_no_trace_on_the_model_given() -> None:
    model = held_model()
    before = canonical_json(model)
    changes = ("station.cpu.servers=8", "station.cpu.speed=x4", "pool.slots.tokens=x3")
    changed = changed_model(model, [parse_change(text) for text in changes])
    assert canonical_json(model) == before
    assert changed.stations["cpu"].servers == 8
    assert changed.pools["slots"].tokens == 9
    assert b'"speeds":[4.0,' in canonical_json(changed)


def test_no_change_gives_the_same_bytes() -> None:
    assert canonical_json(changed_model(held_model(), [])) == canonical_json(held_model())


def test_changes_apply_one_after_another() -> None:
    twice = [parse_change("station.cpu.servers=x2")] * 2
    assert changed_model(held_model(), twice).stations["cpu"].servers == 8


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("station.cpx.servers=2", "no station 'cpx'"),
        ("station.cpx.speed=2", "no station 'cpx'"),
        ("pool.cpu.tokens=2", "no pool 'cpu'"),
        ("station.cpu.servers=x0.2", "whole number"),
    ],
)
def test_a_change_of_what_is_not_there_is_refused_with_a_cure(text: str, why: str) -> None:
    with pytest.raises(StudyError, match=why) as caught:
        changed_model(held_model(), [parse_change(text)])
    assert caught.value.cure


def test_a_computed_service_time_is_shortened_by_faster_servers() -> None:
    """Oracle: one job alone, 6 s of work computed from its attribute, on a server twice as fast."""
    model = Model("computed", time_unit="s")
    cpu, size = model.station("cpu"), model.attribute("size", initial=3)
    job = model.program("job")
    job.use(cpu, size * 2)
    model.closed_class("jobs", job, population=1)
    changed = changed_model(model, [parse_change("station.cpu.speed=x2")])
    result = simulate(changed, seed=1, completions=10)
    assert result.snapshot_times_s[-1] == pytest.approx(30.0)


def timed_by_an_arm(*, servers: int) -> Model:
    model = Model("disk", time_unit="ms")
    arm = model.mechanism("arm", kind="arm", parameters={"speed": 100})
    disk, place = model.station("disk", servers=servers), model.attribute("place")
    job = model.program("job")
    job.set(place, uniform(0, 1000))
    job.use(disk, 1 + arm.call("travel", place))
    job.use(model.station("link"), place / 100)
    model.closed_class("jobs", job, population=4)
    return model


def test_a_disk_with_one_head_gets_faster_but_no_second_head() -> None:
    """Cause: "disk 1 to 2 servers" is not a disk; both would have moved the one head."""
    model = timed_by_an_arm(servers=1)
    with pytest.raises(StudyError, match="mechanism 'arm', which is one server") as caught:
        changed_model(model, [parse_change("station.disk.servers=x2")])
    assert "station.disk.speed=x2" in str(caught.value.cure)
    for text in ("station.disk.speed=x2", "station.disk.servers=1", "station.link.servers=x2"):
        changed_model(model, [parse_change(text)])


def test_a_model_that_lets_several_servers_share_a_mechanism_may_have_more() -> None:
    changed = changed_model(timed_by_an_arm(servers=2), [parse_change("station.disk.servers=x2")])
    assert changed.stations["disk"].servers == 4


def test_what_a_program_sets_anyway_is_not_changed() -> None:
    """A what-if of its servers would run replications of an unchanged model."""
    model = Model("scaled", time_unit="s")
    web, scale, visit = model.station("web"), model.program("scale"), model.program("visit")
    scale.set_servers(web, model.jobs(web))
    model.controller("scaler", scale, every=1)
    visit.use(web, 1)
    model.closed_class("users", visit, population=3)
    with pytest.raises(StudyError, match="a program of the model sets the servers of 'web'"):
        changed_model(model, [parse_change("station.web.servers=x2")])
    changed = changed_model(model, [parse_change("station.web.speed=x2")])
    assert changed.stations["web"].speeds == (2.0,)
