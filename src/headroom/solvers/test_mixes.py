"""Mixes of classes: one chain, split again by class; and choices by attributes of jobs."""

import pytest

from headroom.simulation import (
    Model,
    Program,
    draw,
    erlang,
    exponential,
    floor,
    simulate,
    uniform,
)
from headroom.simulation.language.classes import Draw
from headroom.solvers import bounds, network_of, solve
from headroom.solvers.solution import Solution


def shop(*, jobs: int = 8, draw: Draw = "independent", tokens: int = 0) -> Model:
    """Return users who look three times out of four, and else buy: more CPU, and the disk often."""
    model = Model("shop", time_unit="s")
    cpu, disk = model.station("cpu", discipline="ps"), model.station("disk")
    look, buy = model.program("look"), model.program("buy")
    steps = {look: (exponential(0.02), 1), buy: (erlang(0.1, stages=2), 3)}
    pool = model.pool("workers", tokens=tokens) if tokens else None
    for program, (work, visits) in steps.items():
        if pool is not None:
            program.acquire(pool)
        program.use(cpu, work)
        with program.loop(visits):
            program.use(disk, exponential(0.03))
        if pool is not None:
            program.release(pool)
    members = {"look": (look, 3), "buy": (buy, 1)}
    model.closed_mix("users", members, population=jobs, think=exponential(0.5), draw=draw)
    return model


def by_hand(jobs: int) -> tuple[float, dict[str, float]]:
    """Return throughput and responses of `shop` by mean value analysis of the mean walk."""
    demands = [0.75 * 0.02 + 0.25 * 0.1, 0.75 * 0.03 + 0.25 * 0.09]
    present, throughput = [0.0, 0.0], 0.0
    seen = present
    for count in range(1, jobs + 1):
        seen = present
        times = [demand * (1 + there) for demand, there in zip(demands, seen, strict=True)]
        throughput = count / (0.5 + sum(times))
        present = [throughput * time for time in times]
    cpu, disk = (1 + there for there in seen)
    return throughput, {"look": 0.02 * cpu + 0.03 * disk, "buy": 0.1 * cpu + 0.09 * disk}


def responses(solution: Solution) -> dict[str, float]:
    return {class_.name: class_.response_s for class_ in solution.classes}


@pytest.mark.parametrize("jobs", [1, 2, 8, 40])
def test_a_mix_drawn_by_chance_is_solved_exactly(jobs: int) -> None:
    solution = solve(shop(jobs=jobs))
    throughput, times = by_hand(jobs)
    assert solution.is_exact
    assert solution.throughput_per_s == pytest.approx(throughput)
    assert responses(solution) == pytest.approx(times)
    assert [class_.throughput_per_s / throughput for class_ in solution.classes] == pytest.approx(
        [0.75, 0.25]
    )


def test_what_is_solved_is_what_a_run_finds() -> None:
    run = simulate(shop(), seed=7, completions=200_000)
    columns = run.classes.columns
    means = columns["response_s_sum"][-1] / columns["completion_count"][-1]
    assert list(responses(solve(shop())).values()) == pytest.approx(means.tolist(), rel=0.02)


def test_jobs_of_all_classes_at_all_stations_and_thinking_are_the_population() -> None:
    solution = solve(shop())
    present = sum(sum(station.jobs_by_class.values()) for station in solution.stations)
    assert present + solution.throughput_per_s * 0.5 == pytest.approx(8)
    assert sum(class_.jobs for class_ in solution.classes) == pytest.approx(present)
    for station in solution.stations:
        assert sum(station.throughput_by_class.values()) == pytest.approx(station.throughput_per_s)


def test_a_mix_of_one_class_is_that_class() -> None:
    def lone(*, is_mix: bool) -> Solution:
        model = Model("lone", time_unit="s")
        visit = model.program("visit")
        visit.use(model.station("server", servers=2), exponential(1))
        if is_mix:
            model.closed_mix("users", {"a": (visit, 5)}, population=6, think=2.0, draw="deck")
        else:
            model.closed_class("a", visit, population=6, think=2.0)
        return solve(model)

    assert lone(is_mix=True).metrics() == pytest.approx(lone(is_mix=False).metrics())
    assert lone(is_mix=True).is_exact


def test_a_deck_is_an_approximation_and_says_its_line() -> None:
    solution = solve(shop(draw="deck"))
    assert not solution.is_exact
    (reason,) = solution.reasons
    assert "test_mixes.py:" in reason
    assert "mix 'users': classes come from a deck" in reason
    assert solution.throughput_per_s == pytest.approx(by_hand(8)[0], rel=0.02)


def test_classes_of_different_priority_in_a_mix_are_an_approximation() -> None:
    model = Model("urgent", time_unit="s")
    cpu = model.station("cpu", discipline="priority")
    visit = model.program("visit")
    visit.use(cpu, exponential(1))
    members = {"calm": (visit, 1), "urgent": (visit, 1)}
    model.closed_mix("users", members, population=3, priorities={"urgent": 1})
    assert "different priorities" in " ".join(solve(model).reasons)


def test_times_under_a_pool_add_up_to_the_time_of_the_mix() -> None:
    solution = solve(shop(jobs=20, tokens=3))
    assert not solution.is_exact
    mean = sum(class_.throughput_per_s * class_.response_s for class_ in solution.classes)
    assert 20 / solution.throughput_per_s - 0.5 == pytest.approx(mean / solution.throughput_per_s)
    run = simulate(shop(jobs=20, tokens=3), seed=2, completions=100_000)
    seen = run.classes.columns["completion_count"][-1].sum() / run.snapshot_times_s[-1]
    assert solution.throughput_per_s == pytest.approx(seen, rel=0.05)


def test_a_mix_beside_arrivals_from_outside_leaves_them_their_share() -> None:
    model = shop()
    program = model.program("report")
    program.use(model.stations["disk"], exponential(0.03))
    model.open_class("reports", program, interarrival=exponential(0.1))
    solution = solve(model)
    assert solution.is_exact
    assert [class_.name for class_ in solution.classes] == ["look", "buy", "reports"]
    assert solution.classes[2].throughput_per_s == pytest.approx(10)
    disk = next(station for station in solution.stations if station.name == "disk")
    assert list(disk.throughput_by_class) == ["look", "buy", "reports"]


def test_the_bounds_of_a_mix_are_those_of_its_mean_walk() -> None:
    (found,) = bounds(shop(jobs=100))
    assert found.class_name == "users"
    assert found.station == "disk"
    assert found.throughput_per_s_high == pytest.approx(1 / 0.045)
    assert found.knee == pytest.approx((0.5 + 0.04 + 0.045) / 0.045)


def test_two_mixes_share_a_station_as_two_classes_do() -> None:
    model = Model("two", time_unit="s")
    server, visit = model.station("server"), model.program("visit")
    visit.use(server, exponential(1))
    for name in ("a", "b"):
        members = {f"{name}{number}": (visit, number) for number in (1, 2)}
        model.closed_mix(name, members, population=2, think=exponential(3))
    found = {class_.name: class_.throughput_per_s for class_ in solve(model).classes}
    assert found["a2"] == pytest.approx(2 * found["a1"])
    assert found == pytest.approx({**found, "b1": found["a1"], "b2": found["a2"]})


def by_number(program: Program, model: Model, by: object) -> None:
    """Go to one of three disks, the first of which is slow."""
    with program.branch("index", by=by) as chosen:  # type: ignore[arg-type]
        for number, time in enumerate((9, 3, 3)):
            with chosen.case():
                program.use(model.station(f"disk {number}"), exponential(time))


def test_a_number_that_jobs_carry_gets_its_shares_and_its_reason() -> None:
    model = Model("disks", time_unit="ms")
    place, program = model.attribute("place"), model.program("read")
    program.set(place, floor(draw(uniform(0, 6))))
    by_number(program, model, place % 3)
    with program.branch() as again, again.when(place < 2):
        program.use(model.stations["disk 2"], exponential(3))
    model.closed_class("users", program, population=4)
    assert network_of(model).visits[:, 0] == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    solution = solve(model)
    assert not solution.is_exact
    assert "a route is chosen by what the job carries; here by chance" in solution.reasons[0]


def test_a_number_that_nobody_knows_counts_as_equally_likely() -> None:
    model = Model("disks", time_unit="ms")
    place, program = model.attribute("place"), model.program("read")
    program.set(place, floor(exponential(0.5) + 0))
    by_number(program, model, place)
    model.closed_class("users", program, population=4)
    assert network_of(model).visits[:, 0] == pytest.approx([1 / 3] * 3)
    assert "by a number that the job carries; the cases are taken as equally" in " ".join(
        solve(model).reasons
    )


def test_what_a_job_gathers_until_it_is_spent_is_counted_as_often_as_it_is() -> None:
    """Work piles up by 2 a round and is done with probability 1/4: all of it is done in the end.

    Cause: after a branch, what its last case had left counted for all cases; and a loop knew two
    rounds only.
    """
    model = Model("bursts", time_unit="s")
    burst, program, cpu = model.attribute("burst"), model.program("work"), model.station("cpu")
    program.set(burst, 0)
    with program.loop(50):
        program.set(burst, burst + 2)
        with program.branch() as now:
            with now.case(0.25):
                program.use(cpu, burst)
                program.set(burst, 0)
            with now.otherwise():
                pass
    program.use(cpu, burst)
    model.closed_class("users", program, population=1)
    assert network_of(model).demand_s[0, 0] == pytest.approx(100, rel=2e-3)
