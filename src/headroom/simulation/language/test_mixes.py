"""Mixes of classes and choices by number agree with theory or plain arithmetic.

Exact answers: a mix whose stations share their servers (or serve exponential times with a common
mean in FCFS order) has product form with one chain (Baskett, Chandy, Muntz and Palacios 1975),
which is solved by exact mean value analysis (Reiser and Lavenberg 1980).
"""

import json
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from benches.known.formulas import mva
from headroom.simulation import (
    Distribution,
    Model,
    SimulationError,
    SimulationResult,
    constant,
    exponential,
    floor,
    hyperexponential,
    simulate,
    uniform,
)
from headroom.simulation.checks.check import canonical_json
from headroom.simulation.checks.visits import expected_visits
from headroom.simulation.language.classes import Draw

POPULATION = 6
THINK_S = 4.0
WEIGHTS = {"look": 3, "buy": 1}
DEMANDS_S = {"look": {"cpu": 0.5, "disk": 0.25}, "buy": {"cpu": 1.5, "disk": 2.0}}
COMPLETIONS = 100_000
REPLICATIONS = 10
T_999 = 4.781
"""Two-sided 99.9% quantile of Student's t with nine degrees of freedom."""


def shop(
    *,
    weights: Mapping[str, int] = WEIGHTS,
    draw: Draw = "independent",
    population: int = POPULATION,
    law: Any = exponential,
) -> Model:
    """Return a mix of classes at two stations that share their servers."""
    model = Model("shop", time_unit="s")
    stations = {name: model.station(name, discipline="ps") for name in ("cpu", "disk")}
    members = {}
    for name, weight in weights.items():
        program = model.program(name)
        for station, demand_s in DEMANDS_S[name].items():
            program.use(stations[station], law(demand_s))
        members[name] = (program, weight)
    think = exponential(THINK_S)
    model.closed_mix("users", members, population=population, think=think, draw=draw)
    return model


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and half the 99.9% interval (Student's t) of independent replications."""
    assert len(values) == REPLICATIONS
    return float(np.mean(values)), T_999 * float(np.std(values, ddof=1)) / math.sqrt(REPLICATIONS)


def rates(result: SimulationResult) -> dict[str, float]:
    completed = result.classes.columns["completion_count"][-1]
    end_s = float(result.snapshot_times_s[-1])
    return dict(zip(result.classes.names, completed / end_s, strict=True))


def responses_s(result: SimulationResult) -> dict[str, float]:
    columns = result.classes.columns
    means = columns["response_s_sum"][-1] / columns["completion_count"][-1]
    return dict(zip(result.classes.names, means, strict=True))


def counts(result: SimulationResult) -> dict[str, float]:
    completed = result.classes.columns["completion_count"][-1].tolist()
    return dict(zip(result.classes.names, completed, strict=True))


def hyper(mean: float) -> Distribution:
    return hyperexponential(mean, c2=4)


@pytest.mark.parametrize("law", [exponential, hyper, constant])
def test_a_mix_at_shared_servers_has_the_exact_throughput_and_responses(law: Any) -> None:
    """The jobs of each class at a station are in proportion to its share of the work there."""
    total = sum(WEIGHTS.values())
    demands_s = {
        station: sum(WEIGHTS[job_class] * DEMANDS_S[job_class][station] for job_class in WEIGHTS)
        / total
        for station in ("cpu", "disk")
    }
    throughput, stays_s = mva(list(demands_s.values()), THINK_S, POPULATION)
    stretch = {
        station: stay_s / demand_s
        for (station, demand_s), stay_s in zip(demands_s.items(), stays_s, strict=True)
    }
    exact = {f"{name} response": sum(DEMANDS_S[name][station] * stretch[station] for station in
             stretch) for name in WEIGHTS}  # fmt: skip
    exact |= {f"{name} rate": throughput * WEIGHTS[name] / total for name in WEIGHTS}
    exact["rate"] = throughput
    samples: dict[str, list[float]] = {name: [] for name in exact}
    for seed in range(REPLICATIONS):
        result = simulate(shop(law=law), seed=seed, completions=COMPLETIONS)
        for name, rate in rates(result).items():
            samples[f"{name} rate"].append(rate)
        for name, response in responses_s(result).items():
            samples[f"{name} response"].append(response)
        samples["rate"].append(sum(rates(result).values()))
    for name, value in exact.items():
        mean, half_width = interval(samples[name])
        assert abs(mean - value) <= half_width, (name, value, mean, half_width)
        assert half_width <= 0.03 * value


def test_classes_that_wait_in_one_line_wait_equally_long() -> None:
    """With one exponential law for all at servers in turn the chain has product form, too."""
    model = Model("line", time_unit="s")
    cpu, disk = model.station("cpu"), model.station("disk")
    short, long = model.program("short"), model.program("long")
    short.use(cpu, exponential(1))
    with long.loop(3):
        long.use(cpu, exponential(1))
        long.use(disk, exponential(2))
    members = {"short": (short, 2), "long": (long, 1)}
    model.closed_mix("users", members, population=5, think=exponential(10))
    throughput, (at_cpu_s, at_disk_s) = mva([5 / 3, 2.0], 10, 5)
    times = [at_cpu_s / (5 / 3), at_disk_s]
    result = simulate(model, seed=1, completions=2 * COMPLETIONS)
    assert sum(rates(result).values()) == pytest.approx(throughput, rel=0.01)
    assert responses_s(result)["short"] == pytest.approx(times[0], rel=0.025)
    assert responses_s(result)["long"] == pytest.approx(3 * sum(times), rel=0.02)


def test_a_mix_of_one_class_is_a_closed_class() -> None:
    alone = shop(weights={"buy": 1})
    usual = Model("shop", time_unit="s")
    program = usual.program("buy")
    for name, demand_s in DEMANDS_S["buy"].items():
        program.use(usual.station(name, discipline="ps"), exponential(demand_s))
    usual.closed_class("buy", program, population=POPULATION, think=exponential(THINK_S))
    mixed, other = (
        simulate(model, seed=1, completions=2 * COMPLETIONS) for model in (alone, usual)
    )
    assert rates(mixed)["buy"] == pytest.approx(rates(other)["buy"], rel=0.01)
    assert responses_s(mixed)["buy"] == pytest.approx(responses_s(other)["buy"], rel=0.015)


def test_a_deck_deals_exact_shares_and_chance_does_not() -> None:
    """One user goes through the deck card by card, so after whole decks the shares are exact."""
    weights = {"look": 9, "buy": 1}
    dealt = simulate(shop(weights=weights, draw="deck", population=1), seed=1, completions=2000)
    drawn = simulate(shop(weights=weights, population=1), seed=1, completions=2000)
    assert counts(dealt) == {"look": 1800, "buy": 200}
    assert counts(drawn) != counts(dealt)
    off = abs(counts(drawn)["buy"] - 200) / math.sqrt(2000 * 0.9 * 0.1)
    assert off < 4


@pytest.mark.parametrize("draw", ["independent", "deck"])
def test_every_class_conserves_its_jobs_and_their_times(draw: Draw) -> None:
    result = simulate(shop(draw=draw), seed=2, completions=10_000)
    columns = result.classes.columns
    present = columns["arrival_count"] - columns["completion_count"]
    assert (present >= 0).all()
    assert (present.sum(axis=1) <= POPULATION).all()
    assert np.allclose(columns["jobs_s"], columns["response_s_sum"] + columns["age_s"], rtol=1e-9)
    for place, station in enumerate(result.stations.names):
        rows = [result.visits.names.index(f"{station}.class.{name}") for name in WEIGHTS]
        parts = result.visits.columns["completion_count"][:, rows]
        whole = result.stations.columns["completion_count"][:, place]
        assert (parts.sum(axis=1) == whole).all()
        for row, name in zip(rows, WEIGHTS, strict=True):
            walks = columns["arrival_count"][-1, result.classes.names.index(name)]
            assert result.visits.columns["arrival_count"][-1, row] <= walks


def test_each_class_has_its_share_of_the_population_in_the_table() -> None:
    result = simulate(shop(weights={"look": 3, "buy": 1}), seed=1, completions=10)
    assert result.classes.capacity.tolist() == [4.5, 1.5]


def test_the_more_urgent_class_of_a_mix_goes_first() -> None:
    """The urgent class meets at most one job in service, the other waits for all of them."""

    def model(priorities: Mapping[str, int]) -> Model:
        made = Model("priorities", time_unit="s")
        cpu = made.station("cpu", discipline="priority_preempt" if priorities else "fcfs")
        members = {}
        for name in ("vip", "usual"):
            program = made.program(name)
            program.use(cpu, exponential(1))
            members[name] = (program, 1)
        made.closed_mix("users", members, population=8, think=exponential(8), priorities=priorities)
        return made

    first, last, equal = (
        responses_s(simulate(model(priorities), seed=1, completions=50_000))
        for priorities in ({"vip": 1}, {"vip": -1}, {})
    )
    assert first["vip"] < 0.8 * equal["vip"] < 0.8 * first["usual"]
    assert last["usual"] < 0.8 * equal["usual"] < 0.8 * last["vip"]
    assert equal["vip"] == pytest.approx(equal["usual"], rel=0.05)


def test_a_priority_that_a_walk_sets_does_not_outlast_it() -> None:
    """Each walk begins with the priority of its class, whatever the walk before it set."""
    model = Model("priorities", time_unit="s")
    cpu = model.station("cpu", discipline="priority_preempt")
    program, other = model.program("first"), model.program("other")
    program.use(cpu, exponential(1))
    program.prioritize(100)
    other.use(cpu, exponential(1))
    model.closed_mix("users", {"first": (program, 1)}, population=4, think=exponential(1))
    model.closed_class("rest", other, population=4, think=exponential(1), priority=50)
    times_s = responses_s(simulate(model, seed=1, completions=20_000))
    assert times_s["first"] > 2 * times_s["rest"]


def test_a_job_that_is_lost_draws_a_class_again() -> None:
    model = Model("loss", time_unit="s")
    narrow = model.station("narrow", buffer=0, when_full="reject")
    lost, kept = model.program("lost"), model.program("kept")
    lost.use(narrow, constant(1))
    kept.delay(constant(1))
    members = {"lost": (lost, 1), "kept": (kept, 1)}
    model.closed_mix("users", members, population=4, think=exponential(1), draw="deck")
    columns = simulate(model, seed=1, completions=20_000).classes.columns
    ended = columns["completion_count"][-1] + columns["lost_count"][-1]
    assert columns["lost_count"][-1, 0] > 100
    assert columns["lost_count"][-1, 1] == 0
    assert abs(ended[0] - ended[1]) <= 4


def test_ready_jobs_walk_at_once_and_others_think_first() -> None:
    def first_end_s(**start: Any) -> float:
        model = Model("start", time_unit="s")
        program = model.program("walk")
        program.delay(constant(1))
        members = {"one": (program, 1), "two": (program, 1)}
        model.closed_mix("users", members, population=2, think=constant(5), **start)
        return float(simulate(model, seed=1, completions=2).snapshot_times_s[-1])

    assert first_end_s(start="ready") == pytest.approx(1)
    assert first_end_s() == pytest.approx(6)


def locks(tokens: int) -> Model:
    """Return four users, each of which walks through two locks in one order or the other."""
    model = Model("locks", time_unit="s")
    pools = [model.pool(name, tokens=tokens) for name in ("left", "right")]
    members = {}
    for name, order in (("up", pools), ("down", pools[::-1])):
        program = model.program(name)
        with program.holding(order[0]), program.holding(order[1]):
            program.delay(exponential(1))
        members[name] = (program, 1)
    model.closed_mix("users", members, population=4)
    return model


def test_circles_of_waiting_count_the_users_of_a_mix_once() -> None:
    """Four users can fill four places and then wait for each other; five are never all held."""
    assert canonical_json(locks(5))
    with pytest.raises(SimulationError, match="holds"):
        canonical_json(locks(2))


def test_a_mix_is_part_of_a_copy_and_of_what_stands_inside() -> None:
    model = Model("nodes", time_unit="s")
    for number in (1, 2):
        with model.inside(f"node {number}"):
            program = model.program("visit")
            program.use(model.station("cpu"), 1)
            model.closed_mix("users", {"a": (program, 1), "b": (program, 2)}, population=2,
                             priorities={"b": 3})  # fmt: skip
    before = canonical_json(model)
    twin = model.copy()
    assert canonical_json(twin) == before
    twin.closed_mix("more", {"c": (program, 1)}, population=1)
    assert list(twin.mixes) == ["node 1/users", "node 2/users", "more"]
    assert list(model.classes) == ["node 1/a", "node 1/b", "node 2/a", "node 2/b"]
    assert model.classes["node 2/b"].priority == 3
    assert canonical_json(model) == before


def test_a_mix_as_data_has_its_own_list() -> None:
    data: Any = json.loads(canonical_json(shop(draw="deck")))
    (mix,) = data["mixes"]
    assert data["classes"] == []
    assert mix["classes"] == [
        {"name": "look", "program": "look", "weight": 3},
        {"name": "buy", "program": "buy", "weight": 1},
    ]
    assert (mix["name"], mix["population"], mix["draw"]) == ("users", POPULATION, "deck")
    assert mix["stream"] != mix["draw_stream"]
    assert "mixes" not in json.loads(canonical_json(numbered(1)))


@pytest.mark.parametrize("draw", ["independent", "deck"])
def test_runs_of_a_mix_have_the_same_bits_beside_each_other(draw: Draw) -> None:
    def bits(seed: int) -> bytes:
        columns = simulate(shop(draw=draw), seed=seed, completions=5_000).classes.columns
        return b"".join(columns[name].tobytes() for name in sorted(columns))

    alone = bits(1)
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(bits, [1, 1, 1])) == [alone] * 3
    assert bits(2) != alone


def test_the_weight_of_one_class_changes_no_draw_of_another() -> None:
    """Services have their own streams: the draws of a class depend on no mix."""
    data, other = (shop(weights={"look": weight, "buy": 1}).to_data() for weight in (1, 9))
    assert data["programs"] == other["programs"]


def numbered(value: Any, cases: int = 3) -> Model:
    """Return one job that goes, each time, to the station with the number `value`."""
    model = Model("numbers", time_unit="s")
    stations = [model.station(f"s{number}") for number in range(cases)]
    number = model.attribute("number")
    program = model.program("visit")
    program.set(number, value)
    program.use_one_of(stations, constant(1), policy="index", by=number)
    model.closed_class("jobs", program, population=1)
    return model


def visits(model: Model, completions: int = 100) -> list[float]:
    result = simulate(model, seed=1, completions=completions)
    return result.stations.columns["completion_count"][-1].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_number_chooses_the_case_at_its_place(number: int) -> None:
    expected = [0.0, 0.0, 0.0]
    expected[number] = 100.0
    assert visits(numbered(number)) == expected


def test_a_number_may_be_computed_from_what_the_job_carries() -> None:
    model = Model("turns", time_unit="s")
    stations = [model.station(f"s{number}") for number in range(4)]
    turn = model.attribute("turn")
    program = model.program("visit")
    program.use_one_of(stations, constant(1), policy="index", by=turn % 4)
    program.set(turn, turn + 1)
    model.closed_class("jobs", program, population=1)
    assert visits(model) == [25.0] * 4


@pytest.mark.parametrize(("value", "told"), [(3, "3"), (-1, "-1"), (0.5, "0.5")])
def test_a_number_of_no_case_ends_the_run(value: float, told: str) -> None:
    with pytest.raises(SimulationError) as caught:
        simulate(numbered(value), seed=1)
    assert "the number of one of 3 cases, counted from 0" in caught.value.message
    assert told in caught.value.message
    assert "visit" in caught.value.message
    assert caught.value.cure


def test_routes_of_a_network_may_be_chosen_by_number() -> None:
    model = Model("routes", time_unit="s")
    way = model.attribute("way", initial=1)
    stations = [model.station(name) for name in ("a", "b", "c")]
    program = model.program("visit")
    with program.network() as net:
        with net.node("a", to=["b", "c"], policy="index", by=way):
            program.use(stations[0], 1)
        with net.node("b", to=net.leave):
            program.use(stations[1], 1)
        with net.node("c", to=net.leave):
            program.use(stations[2], 1)
    model.closed_class("jobs", program, population=1)
    assert visits(model) == [100.0, 0.0, 100.0]


def test_a_choice_by_number_is_not_known_before_a_run() -> None:
    assert not expected_visits(numbered(1)).is_exact["jobs"]


def test_equal_choices_by_chance_and_by_number_are_equal_on_average() -> None:
    """A uniform draw, rounded down, is as good as equal probabilities."""
    by_number = visits(numbered(floor(uniform(0, 3))), completions=9000)
    off = [abs(count - 3000) / math.sqrt(9000 * 2 / 9) for count in by_number]
    assert max(off) < 4


def test_a_job_that_keeps_its_old_server_is_still_of_its_old_class_there() -> None:
    """A job drawn to a full station without thinking blocks the one where the last walk ended."""
    model = Model("blocked", time_unit="s", may_deadlock=True)
    narrow, wide = model.station("narrow", buffer=0), model.station("wide")
    stay, pass_by = model.program("stay"), model.program("pass by")
    stay.use(narrow, constant(10))
    pass_by.use(wide, constant(1))
    members = {"stay": (stay, 1), "pass": (pass_by, 1)}
    model.closed_mix("users", members, population=3)
    visits = simulate(model, seed=1, completions=1000).visits
    rows = {name: place for place, name in enumerate(visits.names)}
    last = {name: values[-1] for name, values in visits.columns.items()}
    kept, none = rows["wide.class.pass"], rows["wide.class.stay"]
    assert last["blocked_s_sum"][kept] > 1000
    assert last["arrival_count"][none] == last["blocked_s_sum"][none] == 0
    spent = last["response_s_sum"][kept] - last["wait_s_sum"][kept] - last["blocked_s_sum"][kept]
    unfinished = 3 * 10  # jobs that are still there, each with a wait that has been counted
    assert abs(spent - last["completion_count"][kept]) <= unfinished
