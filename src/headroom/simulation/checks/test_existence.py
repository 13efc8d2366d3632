"""Means that do not exist: theorems about the tail of a service and the servers that are free."""

import math
from typing import Any

import pytest

from headroom.simulation import (
    Model,
    constant,
    discrete,
    empirical,
    exponential,
    hyperexponential,
    mixture,
    pareto,
    weibull,
)
from headroom.simulation.checks.existence import endless, meanless_rows, tail_index


def queue(shape: float, *, servers: int = 1, load: float = 0.5, **extra: Any) -> Model:
    """Return a queue of Pareto services, the first argument their tail index."""
    model = Model("queue", time_unit="s")
    patience = extra.pop("patience", None)
    station, visit = model.station("desk", servers=servers, **extra), model.program("visit")
    visit.use(station, pareto(1, shape), patience=patience)
    gap = shape / (shape - 1) / (load * servers)
    model.open_class("visitors", visit, interarrival=exponential(gap))
    return model


@pytest.mark.parametrize(
    ("shape", "servers", "load", "has_mean"),
    [
        (1.5, 1, 0.5, False),
        (2.0, 1, 0.5, False),
        (2.5, 1, 0.5, True),
        (3.0, 1, 0.5, True),
        (1.5, 2, 0.4, False),  # both servers free on average: 2 x 0.5 = 1
        (1.6, 2, 0.4, True),
        (1.6, 2, 0.6, False),  # one of them: 0.6
        (1.4, 4, 0.2, True),
    ],
)
def test_the_mean_wait_exists_where_the_free_servers_make_up_for_the_tail(
    shape: float, servers: int, load: float, *, has_mean: bool
) -> None:
    """Scheller-Wolf: with k servers free on average, only if k (shape - 1) > 1."""
    (found,) = endless(queue(shape, servers=servers, load=load))
    assert (found.station, found.has_mean) == ("desk", has_mean)


@pytest.mark.parametrize("model", [queue(3.1), queue(2.6, servers=2, load=0.4)])
def test_a_wait_with_a_variance_is_not_named(model: Model) -> None:
    assert endless(model) == ()


@pytest.mark.parametrize(
    "extra",
    [
        {"discipline": "ps"},
        {"discipline": "lcfs_preempt"},
        {"buffer": 3, "when_full": "reject"},
        {"patience": 5},
    ],
)
def test_what_bounds_or_shares_the_wait_leaves_it_a_mean(extra: dict[str, Any]) -> None:
    assert endless(queue(1.5, **extra)) == ()


def test_closed_jobs_and_limited_attempts_have_means() -> None:
    model = Model("closed", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("desk"), pareto(1, 1.5))
    model.closed_class("users", visit, population=5)
    assert endless(model) == ()
    tried = Model("tried", time_unit="s")
    visit = tried.program("visit")
    with visit.attempt(timeout=3) as attempt, attempt.work():
        visit.use(tried.station("desk"), pareto(1, 1.5))
    tried.open_class("visitors", visit, interarrival=exponential(9))
    assert endless(tried) == ()


def test_all_classes_that_wait_behind_a_long_service_have_no_mean_but_the_most_urgent() -> None:
    model = Model("classes", time_unit="s")
    desk = model.station("desk", discipline="priority_preempt")
    elsewhere = model.station("elsewhere")
    for name, law, station, priority in (
        ("heavy", pareto(1, 1.5), desk, 0),
        ("light", exponential(1), desk, 0),
        ("urgent", exponential(1), desk, 1),
        ("other", exponential(1), elsewhere, 0),
    ):
        program = model.program(name)
        program.use(station, law)
        model.open_class(name, program, interarrival=exponential(20), priority=priority)
    found = endless(model)
    assert [one.classes for one in found] == [("heavy", "light")]
    assert meanless_rows(model, found) == ("station.desk", "class.heavy", "class.light")


def test_a_time_that_follows_a_drawn_attribute_has_its_tail() -> None:
    model = Model("carried", time_unit="s")
    size, visit = model.attribute("size"), model.program("visit")
    visit.set(size, pareto(1, 1.5))
    visit.use(model.station("desk"), size * 0.5)
    model.open_class("visitors", visit, interarrival=exponential(6))
    assert [one.has_mean for one in endless(model)] == [False]


def test_the_heaviest_part_of_a_law_decides() -> None:
    assert tail_index(1 + 2 * pareto(1, 2.5)) == 2.5
    assert tail_index(mixture([pareto(1, 1.1), constant(1)], weights=[0, 1])) == math.inf
    assert tail_index(weibull(1, 0.3)) == math.inf


def test_laws_whose_weights_are_those_of_values_have_all_moments() -> None:
    for law in (
        discrete([1, 2, 3], weights=[1, 2, 3]),
        hyperexponential(2.0, 4.0),
        empirical([1.0, 2.0]),
        mixture([constant(1.0), discrete([1, 2], weights=[1, 1])], weights=[1, 1]),
    ):
        assert math.isinf(tail_index(law))
