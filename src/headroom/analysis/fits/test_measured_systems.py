"""The measured system that is closest to a fit."""

from typing import Any

import msgspec

from headroom.analysis.fits.measured_systems import closest_system, measured_systems
from headroom.analysis.results import MeasuredSystem
from headroom.experiment.protocol.fit_method import (
    FittedParameter,
    FittedSet,
    Found,
    LimitName,
    Load,
    ServiceEvidence,
)


def system(case: str, **changes: Any) -> MeasuredSystem:
    """Return a measured lock of 2 ms under 16 clients, next to nobody."""
    usual = MeasuredSystem(
        case=case, product=case, limit="lock", basis="bursts", clients=16, service_s=0.002,
        neighbours=0.0, points=4, throughput=0.03, worst_throughput=0.05, p95=0.1,
    )  # fmt: skip
    return msgspec.structs.replace(usual, **changes)


def fitted(
    limit: LimitName = "lock", *, neighbours: float | None = None, service_s: float = 0.002
) -> FittedSet:
    """Return a fit of bursts of 16 clients."""
    return FittedSet(
        where={},
        found=Found(
            parameters=(FittedParameter(name="service_s", value=service_s, unit="s"),),
            evidence=ServiceEvidence(basis="bursts", limit=limit, neighbours=neighbours),
        ),
        origin="measured",
        loads=(Load(clients=16, think_s=0.0, utilization=1.0, servers=(1,)),),
    )


def test_the_same_limit_comes_first() -> None:
    """A pool says nothing about a lock, however alike the rest is."""
    known = [system("pool", limit="pool"), system("far", clients=500, service_s=9.0)]
    found = closest_system(fitted(), known)
    assert found is not None
    assert found.case == "far"
    assert closest_system(fitted("thread"), known) is None


def test_of_several_the_one_with_neighbours_clients_and_demand_alike() -> None:
    """Neighbours count more than clients, and clients more than the demand."""
    known = [
        system("busy", neighbours=0.5),
        system("many", clients=48),
        system("long", service_s=0.1),
        system("alike", service_s=0.003),
    ]
    assert [
        one.case
        for fit in (fitted(), fitted(neighbours=0.4), fitted(service_s=0.2))
        if (one := closest_system(fit, known))
    ] == ["alike", "busy", "long"]


def test_no_system_is_close_to_what_was_simulated() -> None:
    """Only measurements carry the errors of measurements."""
    one = fitted()
    assert closest_system(FittedSet(where={}, found=one.found), [system("lock")]) is None


def test_the_measured_systems_are_whole() -> None:
    """Each was predicted at the same loads, and its worst error is no smaller than the typical."""
    known = measured_systems()
    assert len({one.product for one in known}) >= 10
    assert {one.points for one in known} == {4}
    assert all(one.throughput <= one.worst_throughput for one in known)
