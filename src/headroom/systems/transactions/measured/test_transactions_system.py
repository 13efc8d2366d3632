"""Measured databases against the standard's counts and conditions, and a server that is killed."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Value
from headroom.recording.programs import LoadPrograms
from headroom.recording.services.limits import hierarchies
from headroom.recording.services.table import FaultTable
from headroom.systems.transactions.measured.databases import Databases
from headroom.systems.transactions.measured.program import ask, program
from headroom.systems.transactions.system import TransactionsSetup, TransactionsSystem
from tests.support.transactions_program import opened, point


class Usage(NamedTuple):
    """What the system says of a file system."""

    free: int


SETUP = TransactionsSetup(seconds=2.0, warm_up_s=0.5)
PRODUCTS = ("sqlite", "postgres", "mariadb")


@pytest.fixture(scope="module")
def system(transactions_program: None) -> Iterator[TransactionsSystem]:  # noqa: ARG001 - it skips
    with opened(SETUP) as one:
        yield one


def measured(system: TransactionsSystem, **levels: Value) -> Run:
    config = point(system, **levels)
    system.check_point(config)
    run = system.run(config, seed=3)
    assert run.faults == ()
    declared = {metric.name for metric in system.metrics(config)}
    assert set(run.values) <= declared
    return run


@pytest.mark.parametrize("product", PRODUCTS)
def test_conditions_and_counters_hold_after_a_run(system: TransactionsSystem, product: str) -> None:
    run = measured(system, product=product, waits=False, terminals=2)
    values, counters = run.values, run.counters
    assert values["broken_conditions"] == 0.0
    assert values["error_count"] == 0.0
    if product == "postgres" and not counters["retry_count"]:
        assert values["miscounted_rows"] == 0.0
    assert counters["new_order_count"] == pytest.approx(counters["payment_count"], abs=20)
    assert values["nopm"] > 0.0
    assert any("derived from TPC-C" in one for one in run.notes)


@pytest.mark.parametrize(
    ("product", "pipelines"), [("postgres", False), ("postgres", True), ("mariadb", False)]
)
def test_single_statements_do_the_same(
    system: TransactionsSystem, product: str, *, pipelines: bool
) -> None:
    run = measured(
        system, product=product, form="statement", pipelines=pipelines, waits=False, terminals=2
    )
    assert run.values["broken_conditions"] == 0.0
    assert run.values.get("miscounted_rows", 0.0) == 0.0 or product == "mariadb"


@pytest.mark.parametrize("product", PRODUCTS)
def test_balances_of_tpc_b_agree(system: TransactionsSystem, product: str) -> None:
    run = measured(system, product=product, workload="tpcb", terminals=3)
    assert run.values["broken_conditions"] == 0.0
    assert run.counters["change_count"] > 50


def test_remote_lines_and_payments_hit_other_warehouses(system: TransactionsSystem) -> None:
    run = measured(system, product="postgres", warehouses=2, waits=False, terminals=8)
    lines, payments = run.counters["line_count"], run.counters["payment_count"]
    error = 4.0 * (0.01 * 0.99 / lines) ** 0.5
    assert run.values["remote_line_share"] == pytest.approx(0.01, abs=error)
    error = 4.0 * (0.15 * 0.85 / payments) ** 0.5
    assert run.values["remote_payment_share"] == pytest.approx(0.15, abs=error)


def test_a_quota_holds_back_the_server_and_not_its_loading(system: TransactionsSystem) -> None:
    if "cpu" not in {name for one in hierarchies() for name in one.controllers}:
        pytest.skip("no control groups here: run as root with cgroup mounted")
    free = measured(system, product="postgres", waits=False, terminals=4)
    folder = databases_of(system).service()
    held = measured(system, product="postgres", waits=False, terminals=4, server_cpus=0.3)
    assert databases_of(system).service() is folder
    assert held.values["service.db.cpu.busy_mean"] == pytest.approx(0.3, rel=0.2)
    assert held.counters["new_order_count"] < 0.7 * free.counters["new_order_count"]


def test_servers_of_several_products_stay_while_their_points_alternate(
    system: TransactionsSystem,
) -> None:
    """Cause: each change of the product started a server anew, loaded, and kept the old files."""
    servers = []
    for product in ("postgres", "mariadb") * 2:
        measured(system, product=product, waits=False, terminals=1)
        servers.append(databases_of(system, product).service())
    assert servers[:2] == servers[2:]
    assert servers[0] is not servers[1]


def test_a_database_that_finds_no_room_is_refused(
    system: TransactionsSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = point(system, product="postgres", warehouses=100, waits=False)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(free=20_000_000_000))
    with pytest.raises(EnvironmentUnfitError, match=r"size 100 and its copy .* 25 GB, but"):
        system.check_files(config)
    system.check_files({**config, "warehouses": 50})


def test_an_open_load_that_is_too_much_is_offered_and_late(system: TransactionsSystem) -> None:
    run = measured(system, product="sqlite", rate_per_s=20_000.0, connections=1)
    assert run.offered["throughput"] == pytest.approx(20_000, rel=0.2)
    assert run.values["throughput"] < 20_000


@pytest.mark.parametrize(
    ("levels", "reason"),
    [
        ({"product": "sqlite", "server_cpus": 0.5, "waits": False}, "not limited"),
        ({"pipelines": True, "waits": False}, "needs single statements"),
        ({"product": "sqlite", "processes": 2, "waits": False}, "there is one"),
        ({"product": "postgres"}, "asks once in 21 s"),
    ],
)
def test_a_point_that_contradicts_itself_is_refused(
    system: TransactionsSystem, levels: dict[str, Value], reason: str
) -> None:
    with pytest.raises(StudyError, match=reason):
        system.check_point(point(system, **levels))


def databases_of(system: TransactionsSystem, product: str = "postgres") -> Databases:
    return system.session.databases[product]


@pytest.mark.parametrize("product", ["postgres", "mariadb"])
def test_no_acknowledged_order_is_lost_when_the_server_is_killed(
    system: TransactionsSystem, product: str, tmp_path: Path
) -> None:
    config = point(system, product=product, waits=False, terminals=4)
    measured(system, product=product, waits=False, terminals=1)
    databases = databases_of(system, product)
    target, name = databases.copy_for(config)
    journal = tmp_path / "journal"
    job = run_job(target, name, journal, seconds=4.0)
    fault = FaultTable(signal="KILL", after_s=1.5, starts_again_after_s=0.2)
    with (
        LoadPrograms([str(program()), "--wait", "-"], [job]) as programs,
        databases.keeper.faults({"db": fault}),
    ):
        result = programs.run()
    assert sum(one["failure_count"] for one in result["classes"].values()) > 0
    acknowledged = journal.read_text(encoding="utf-8").split("\n")[:-1]
    assert len(acknowledged) > 20
    assert databases.broken_conditions(target, name) == {}
    check = {"do": "check", "target": target, "database": name, "journal": str(journal)}
    assert ask(check)["missing_orders"] == []
    journal.write_text("1 1 999999\n", encoding="utf-8")
    assert ask(check)["missing_orders"] == ["1 1 999999"]


def run_job(target: dict[str, Any], name: str, journal: Path, *, seconds: float) -> dict[str, Any]:
    return {
        "do": "run",
        "target": target,
        "database": name,
        "seed": 5,
        "load": {"kind": "closed", "terminals": 4, "waits": False},
        "stop": {"seconds": seconds},
        "journal": str(journal),
        "failure_limit": 1_000_000,
    }


@pytest.mark.parametrize(
    ("isolation", "fails"),
    [
        ("read_committed", ["a price that is read twice", "the last order, read twice",
                            "no order to deliver, looked for twice"]),
        ("repeatable_read", []),
        ("serializable", []),
    ],
)  # fmt: skip
def test_postgresql_is_as_isolated_as_its_level_says(
    system: TransactionsSystem, isolation: str, fails: list[str]
) -> None:
    config = point(system, product="postgres", waits=False, terminals=1)
    measured(system, product="postgres", waits=False, terminals=1)
    target, name = databases_of(system).copy_for(config)
    job = {"do": "acid", "target": target, "database": name, "isolation": isolation}
    tests = ask(job)["tests"]
    assert [one["test"] for one in tests if not one["passed"]] == fails
