"""The fit of the catalogue's model against demands that points were made of."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from headroom.experiment.protocol.fit_method import (
    FitError,
    Found,
    Observed,
    SourcePoint,
    Target,
    find_method,
)
from headroom.experiment.protocol.registry import find_system
from headroom.experiment.protocol.system import Column, Value
from headroom.systems.catalogue.fit import CatalogueService, ServiceOptions

TRUE = {
    "machine_cpus": 2, "machine_share": 0.8, "client_s": 4e-5, "client_connect_s": 3e-5,
    "client_tls_s": 3e-4, "service_s": 1.2e-4, "connect_s": 1e-4, "tls_s": 4e-4,
    "database_s": 1.5e-4, "login_s": 6e-5, "direct_s": 2e-5, "insert_s": 1e-4, "log_s": 2e-3,
    "line_s": 5e-5,
}  # fmt: skip
CASES, OPERATIONS, CLIENTS = (1, 2, 3, 4), ("query", "insert"), (1, 4)


def point(case: int, operation: str, clients: int, *, rtt_s: float = 0.0) -> SourcePoint:
    """Return a point of a machine with the demands `TRUE`."""
    config: dict[str, Value] = {
        "case": case, "operation": operation, "clients": clients, "rtt_s": rtt_s, "servers": 1,
        "server_cpus": 0.0, "rate_per_s": 0.0, "resumes": False, "pool": 16, "form": "transaction",
    }  # fmt: skip
    values = observed(case, operation, clients)
    if rtt_s:
        values["service.line.cpu_s_per_op"] = TRUE["line_s"]
    return SourcePoint(
        experiment="few", column=Column.MEASURE, levels={"case": case, "clients": clients},
        config=config, observed={name: Observed(value=value) for name, value in values.items()},
    )  # fmt: skip


def observed(case: int, operation: str, clients: int) -> dict[str, float]:
    is_insertion = operation == "insert"
    client_s = TRUE["client_s"] + (case <= 2) * TRUE["client_connect_s"]
    server_s = TRUE["service_s"] + (case <= 2) * TRUE["connect_s"] + (case == 1) * TRUE["tls_s"]
    work = {
        "program": client_s + (case == 1) * TRUE["client_tls_s"],
        "service.amga1": server_s if case <= 3 else 0.0,
        "service.db": TRUE["database_s"]
        + (case == 1) * TRUE["login_s"]
        + (case == 4) * TRUE["direct_s"]
        + is_insertion * TRUE["insert_s"],
    }
    flushes = 1.0 if clients == 1 else 1.5
    response_s = sum(work.values()) / 0.8 + is_insertion * flushes * TRUE["log_s"]
    throughput = clients / response_s
    return {
        "throughput": throughput,
        "program.cpu.utilization": throughput * work["program"] / 2,
        **{f"{name}.cpu_s_per_op": value for name, value in work.items()},
        **{f"{name}.queue_s_per_op": value / 4 for name, value in work.items()},
    }


def points(*more: SourcePoint) -> list[SourcePoint]:
    return [*(point(c, o, n) for c in CASES for o in OPERATIONS for n in CLIENTS), *more]


def target(**config: Value) -> Target:
    kind = find_system("model")
    system = kind.load(msgspec.convert({"model": "catalogue"}, kind.setup_type), base=Path())
    defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
    return Target(system=system, config={**defaults, **config})


def fit(given: list[SourcePoint], **config: Value) -> Found:
    return CatalogueService().fit(given, target(**config), ServiceOptions())


def values(found: Found) -> Mapping[str, Value]:
    return {one.name: one.value for one in found.parameters}


def test_it_is_registered_and_finds_what_it_declares() -> None:
    method = find_method("catalogue.service")
    declared = method.parameter_names(ServiceOptions())
    assert set(declared) == set(values(fit(points()))) == set(TRUE)
    assert set(declared) <= set(target().parameters)


def test_the_demands_come_back() -> None:
    found = fit(points(point(1, "query", 32, rtt_s=0.05)))
    assert values(found) == pytest.approx(TRUE)
    assert [one.relative for one in found.residuals] == pytest.approx([0.0] * 16, abs=1e-9)


def test_the_points_with_the_most_clients_give_the_demands() -> None:
    slow = []
    for one in points():
        factor = 2.0 if one.config["clients"] == 1 else 1.0
        cpu = {
            name: Observed(value=factor * known.value)
            for name, known in one.observed.items()
            if name.endswith("cpu_s_per_op")
        }
        slow.append(_with(one, cpu))
    assert values(fit(slow))["tls_s"] == pytest.approx(TRUE["tls_s"])
    alone = [one for one in slow if one.config["clients"] == 1]
    assert values(fit(alone))["tls_s"] == pytest.approx(2.0 * TRUE["tls_s"])


def _with(one: SourcePoint, seen: Mapping[str, Observed]) -> SourcePoint:
    return replace(one, observed={**one.observed, **seen})


def test_one_case_of_insertions_is_enough() -> None:
    given = [o for o in points() if o.config["operation"] == "query" or o.config["case"] == 3]
    found = values(fit(given))
    assert found["insert_s"] == pytest.approx(TRUE["insert_s"])
    assert found["log_s"] == pytest.approx(TRUE["log_s"])


@pytest.mark.parametrize("change", [{"servers": 2}, {"server_cpus": 0.5}, {"form": "single"}])
def test_points_with_other_processes_or_limits_do_not_count(change: dict[str, Value]) -> None:
    busy = _with(point(1, "query", 64), {"program.cpu_s_per_op": Observed(value=1.0)})
    other = replace(busy, config={**busy.config, **change})
    assert values(fit(points(other)))["client_tls_s"] == pytest.approx(TRUE["client_tls_s"])


def test_noise_makes_no_demand_negative() -> None:
    given = [
        _with(one, {"service.amga1.cpu_s_per_op": Observed(value=1e-6)})
        if one.config["case"] == 1
        else one
        for one in points()
    ]
    found = fit(given)
    assert values(found)["tls_s"] == 0.0
    for one in found.parameters:
        target().parameters[one.name].check(one.value)


def test_without_insertions_or_a_line_their_numbers_are_not_determined() -> None:
    found = fit([one for one in points() if one.config["operation"] == "query"])
    unknown = {one.name: one.note for one in found.parameters if not one.is_determined}
    assert set(unknown) == {"insert_s", "log_s", "line_s"}
    assert "no point has a line" in unknown["line_s"]


@pytest.mark.parametrize(
    ("is_kept", "reason"),
    [
        (lambda one: one.config["case"] != 2, "case 2 has no result with operation = query"),
        (lambda one: one.config["clients"] != 1, "case 1, 2, 3, 4 has no result"),
        (lambda one: one.config["operation"] == "query", "no point .* has operation = insert"),
    ],
)
def test_missing_points_are_refused(is_kept: Callable[[SourcePoint], bool], reason: str) -> None:
    with pytest.raises(FitError, match=reason) as caught:
        fit([one for one in points() if is_kept(one)], operation="insert")
    assert caught.value.cure.startswith("measure")


def test_points_of_another_system_are_refused() -> None:
    other = replace(points()[0], config={"clients": 1})
    with pytest.raises(FitError, match="few is not an experiment of the system catalogue"):
        fit(points(other))


def test_a_point_without_a_metric_is_refused() -> None:
    given = points()
    seen = {n: one for n, one in given[0].observed.items() if n != "service.db.cpu_s_per_op"}
    with pytest.raises(FitError, match=r"few reports no service\.db\.cpu_s_per_op"):
        fit([replace(given[0], observed=seen), *given[1:]])
