"""Forecasts of a model before it runs."""

from typing import Literal

import pytest

from headroom.forecasts.forecast import forecast_of
from headroom.forecasts.rows import by_rows
from headroom.simulation import Model, exponential, trace
from headroom.simulation.language.model import SECONDS_PER_UNIT
from headroom.solvers import solve
from headroom.systems.model import library


def queue(**station: object) -> Model:
    """Return a queue with twice the load that its server can do."""
    model = Model("queue", time_unit="s")
    program = model.program("visit")
    program.use(model.station("server", **station), exponential(1))  # type: ignore[arg-type]
    model.open_class("jobs", program, interarrival=exponential(0.5))
    return model


def test_an_overload_is_found_without_any_solver() -> None:
    assert "load of 2: no steady state" in forecast_of(queue()).overload


def test_a_station_that_rejects_is_never_overloaded() -> None:
    """Cause: every load of 1 was mistaken for an overload, and sizing left such models out.

    Oracle: M/M/1/2 with load a = 2 loses a^2 / (1 + a + a^2) = 4/7 of the jobs.
    """
    forecast = forecast_of(queue(buffer=1, when_full="reject"))
    assert not forecast.overload
    assert abs(forecast.values["throughput"] - 2 * 3 / 7) < 1e-9


def test_servers_for_everybody_are_never_overloaded() -> None:
    assert not forecast_of(queue(discipline="infinite")).overload


def test_a_recording_ends_and_its_queues_with_it() -> None:
    """Cause: the rate of a trace was mistaken for one that continues indefinitely."""
    model = Model("replay", time_unit="s")
    program = model.program("visit")
    program.use(model.station("server"), exponential(5))
    model.open_class("jobs", program, interarrival=trace([0.0, 1.0, 2.0]))
    assert not forecast_of(model).overload


def test_a_mix_has_the_figures_of_its_classes_and_one_bound() -> None:
    """Oracle: one server of 1 s, three jobs without think time: 1 /s, one in three of class one."""
    model = Model("mix", time_unit="s")
    program = model.program("visit")
    program.use(model.station("server"), exponential(1))
    model.closed_mix("users", {"one": (program, 1), "two": (program, 2)}, population=3)
    forecast = forecast_of(model)
    assert forecast.is_exact
    assert forecast.values["class.one.throughput"] == pytest.approx(1 / 3)
    assert forecast.values["class.two.response_s_mean"] == pytest.approx(3)
    assert [limit.class_name for limit in forecast.limits] == ["users"]


def test_a_pool_that_lets_too_few_through_is_an_overload_with_its_bounds() -> None:
    """One token at a CPU and a disk of 1 s each: 0.5 /s, not the 1 /s that each could do."""
    model = Model("narrow", time_unit="s")
    program = model.program("visit")
    with program.holding(model.pool("tokens", tokens=1)):
        program.use(model.station("cpu"), exponential(1))
        program.use(model.station("disk"), exponential(1))
    model.open_class("jobs", program, interarrival=exponential(1 / 0.6))
    forecast = forecast_of(model)
    assert "pool 'tokens' lets 0.5 jobs/s through" in forecast.overload
    assert forecast.highest["throughput"] == pytest.approx(0.5)


def test_where_no_formula_applies_the_bounds_are_still_there() -> None:
    model = Model("circle", time_unit="s", may_deadlock=True)
    cpu = model.station("cpu")
    pools = [model.pool(name, tokens=1) for name in "ab"]
    for number, order in enumerate((pools, pools[::-1])):
        program = model.program(f"p{number}")
        with program.holding(order[0]), program.holding(order[1]):
            program.use(cpu, exponential(2))
        model.closed_class(f"c{number}", program, population=2, think=exponential(9))
    forecast = forecast_of(model)
    assert not forecast.values
    assert "cycle of orders" in forecast.reasons[0]
    assert [limit.throughput_high for limit in forecast.limits] == pytest.approx([2 / 11] * 2)


def test_a_load_that_time_outs_shed_is_no_overload() -> None:
    """Cause: waits that end in a time-out were counted as work, and sizing left such models out."""
    model = Model("storm", time_unit="ms")
    call = model.program("call")
    with call.attempt(timeout=exponential(100)) as attempt, attempt.work():
        call.use(model.station("back"), exponential(15))
    model.open_class("calls", call, interarrival=exponential(10))
    forecast = forecast_of(model)
    assert not forecast.overload
    assert not forecast.values
    assert "only a run can show" in forecast.reasons[0]


def test_a_model_counted_by_hand_has_its_bound_and_its_reason_until_it_is_changed() -> None:
    model = library.central_server()
    model.counted_by_hand(highest_throughput=2.0, why="packets hold their buffers")
    forecast = forecast_of(model)
    per_s = 2.0 / SECONDS_PER_UNIT[model.time_unit]
    assert forecast.highest == {"throughput": per_s}
    assert (forecast.values, forecast.reasons) == ({}, ("packets hold their buffers",))
    changed = forecast_of(model.with_speed(next(iter(model.stations)), 2.0))
    assert (changed.highest, changed.reasons) == ({}, ("packets hold their buffers",))


def shop(unit: Literal["s", "ms", "us"]) -> Model:
    """Return a shop of three users: 1 s of thought, 0.2 s at the web, 0.5 s at the disk."""
    per_s = 1.0 / SECONDS_PER_UNIT[unit]
    model = Model("shop", time_unit=unit)
    page = model.program("page")
    page.use(model.station("web"), exponential(0.2 * per_s))
    page.use(model.station("disk"), exponential(0.5 * per_s))
    model.closed_class("users", page, population=3, think=exponential(1.0 * per_s))
    return model


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_limits_are_the_balanced_ones_in_seconds_whatever_the_unit(
    unit: Literal["s", "ms", "us"],
) -> None:
    """Oracle: balanced job bounds with N = 3, Z = 1 s, D = 0.7 s of which 0.5 s is at the disk."""
    forecast = forecast_of(shop(unit))
    (limits,) = forecast.limits
    high, low = 3 / (1.7 + 2 * 0.35 * 0.7 / 1.7), 3 / (1.7 + 2 * 0.5 / (1 + 1 / (3 * 0.7)))
    assert limits.resource == "disk"
    assert (limits.throughput_low, limits.throughput_high) == pytest.approx((low, high))
    times = (limits.response_s_low, limits.response_s_high)
    assert times == pytest.approx((3 / high - 1, 3 / low - 1))
    assert limits.knee == pytest.approx(3.4)
    assert limits.alone_s == pytest.approx(0.7)
    assert dict(limits.alone_parts) == pytest.approx({"disk": 0.5, "web": 0.2})
    assert forecast.highest["throughput"] == pytest.approx(limits.throughput_high)
    assert forecast.values == pytest.approx(forecast_of(shop("s")).values)


def test_what_was_counted_by_hand_bounds_the_throughput_in_each_unit() -> None:
    model = Model("packets", time_unit="ms")
    program = model.program("send")
    program.use(model.station("line"), exponential(1.0))
    model.open_class("jobs", program, interarrival=exponential(10.0))
    model.counted_by_hand(highest_throughput=0.2, why="packets hold their buffers")
    forecast = forecast_of(model)
    assert forecast.highest["throughput"] == pytest.approx(200.0)
    assert forecast.reasons == ("packets hold their buffers",)


def test_the_row_of_unlike_stations_and_pools_weighs_times_by_visits_and_tokens() -> None:
    """Oracle: one is visited twice for each visit of the other; a third is never visited."""
    model = Model("tills", time_unit="s")
    program = model.program("visit")
    tills = [model.station(f"till {n}", group="till") for n in range(3)]
    doors = [model.pool(f"door {n}", tokens=2 + n, group="door") for n in range(2)]
    for door, till, service_s in zip(doors, tills, (0.5, 1.0), strict=False):
        with program.holding(door):
            program.use(till, exponential(service_s))
            if service_s < 1.0:
                program.use(till, exponential(service_s))
    model.open_class("customers", program, interarrival=exponential(2))
    alone = solve(model)
    whole = by_rows(model, alone)
    row = next(one for one in whole.stations if one.name == "till")
    first, second = (one for one in alone.stations if one.name in {"till 0", "till 1"})
    assert row.servers == 3
    assert row.throughput_per_s == pytest.approx(1.0 + 0.5)
    assert row.busy == pytest.approx(0.5 + 0.5)
    assert row.response_s == pytest.approx((2 * first.response_s + second.response_s) / 3)
    assert row.jobs == pytest.approx(first.jobs + second.jobs)
    both = next(one for one in whole.pools if one.name == "door")
    two, three = sorted((one for one in alone.pools), key=lambda one: one.name)
    assert both.utilization == pytest.approx((2 * two.utilization + 3 * three.utilization) / 5)
    assert both.wait_s == pytest.approx((two.wait_s + three.wait_s) / 2)
    assert both.queue_len == pytest.approx(two.queue_len + three.queue_len)
