"""A study can request every metric that a model can report."""

from headroom.simulation import Model, exponential
from headroom.systems.model.metrics import metrics_of


def names_of(model: Model) -> set[str]:
    """Return the metrics that belong to failures, full stations and breakdowns."""
    endings = ("_ratio", "failed_tries_mean")
    return {metric.name for metric in metrics_of(model) if metric.name.endswith(endings)}


OUTCOMES = ("lost_ratio", "reject_ratio", "fail_ratio", "failed_tries_mean")


def test_failures_are_declared_where_they_can_happen() -> None:
    """Cause: they were not declared, so no study could chart, claim or size by them."""
    model = Model("shop", time_unit="ms")
    door = model.station("door", buffer=2, when_full="reject")
    disk = model.station("disk")
    model.breakdowns(disk, time_to_failure=exponential(1000), repair=exponential(10))
    program = model.program("visit")
    with program.attempt(timeout=5) as attempt, attempt.work():
        program.use(door, exponential(1))
    program.use(disk, exponential(1))
    model.open_class("guests", program, interarrival=exponential(3))
    assert names_of(model) == {
        "station.door.reject_ratio",
        "station.disk.down_ratio",
        *(f"{owner}{name}" for owner in ("", "class.guests.") for name in OUTCOMES),
    }


def test_blocking_is_declared_where_a_station_can_be_full() -> None:
    model = Model("line", time_unit="ms")
    program = model.program("part")
    program.use(model.station("first"), exponential(1))
    program.use(model.station("second", buffer=1), exponential(1))
    model.open_class("parts", program, interarrival=exponential(3))
    assert names_of(model) == {"station.first.blocked_ratio", "station.second.blocked_ratio"}


def test_a_model_in_which_nothing_fails_declares_no_failures() -> None:
    model = Model("queue", time_unit="ms")
    program = model.program("visit")
    program.use(model.station("server"), exponential(1))
    model.open_class("jobs", program, interarrival=exponential(3))
    assert not names_of(model)
