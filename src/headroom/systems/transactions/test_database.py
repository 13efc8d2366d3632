"""The model of a database under TPC-C against bounds by hand, and the fit against the truth."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from headroom.experiment.protocol.fit_method import FitError, Observed, SourcePoint, Target
from headroom.experiment.protocol.registry import find_system
from headroom.experiment.protocol.system import Column, Value
from headroom.simulation import simulate
from headroom.systems.transactions.database import COMMITS, Database, database_model
from headroom.systems.transactions.fit import DatabaseFit, DatabaseOptions
from headroom.systems.transactions.workload.tpcc import DECK

CARDS = sum(DECK.values())


def per_s(**given: Value) -> float:
    model = database_model(**given)
    model.stop(completions=6_900)
    result = simulate(model, seed=5)
    return float(result.classes.columns["completion_count"][-1].sum() / result.snapshot_times_s[-1])


def test_one_terminal_waits_for_work_flush_and_delay_alone() -> None:
    of = Database(terminals=1, flush_s=0.002, delay_s=0.0001)
    commits = sum(DECK[kind] for kind in COMMITS) / CARDS
    expected_s = of.mean_work_s + commits * 0.002 + 0.0001
    found = per_s(terminals=1, flush_s=0.002, delay_s=0.0001)
    assert found == pytest.approx(1 / expected_s, rel=0.03)


def test_many_terminals_are_limited_by_the_processors_and_a_quota_of_them() -> None:
    full = Database().cpus / Database().mean_work_s
    assert per_s(terminals=64, warehouses=25) == pytest.approx(full, rel=0.03)
    assert per_s(terminals=64, warehouses=25, cpus=0.5) == pytest.approx(full / 4, rel=0.03)
    limited = {"server_cpus": 0.4, "server_share": 0.8}
    assert per_s(terminals=64, warehouses=25, **limited) == pytest.approx(full / 4, rel=0.03)
    limited["server_cpus"] = 1.9
    assert per_s(terminals=64, warehouses=25, **limited) == pytest.approx(full, rel=0.03)


def test_another_log_device_takes_a_multiple_of_the_flush() -> None:
    slow = per_s(terminals=8, flush_s=0.002, flush_factor=5.0)
    assert slow == pytest.approx(per_s(terminals=8, flush_s=0.01))
    assert per_s(terminals=8, flush_factor=0.0) == pytest.approx(per_s(terminals=8, flush_s=0.0))


def test_one_warehouse_is_limited_by_its_row() -> None:
    held_s = 0.9 * Database().payment_s + 0.01
    highest = CARDS / DECK["Payment"] / held_s
    # A commit that comes while others are flushed waits for their flush, too.
    assert 0.5 * highest < per_s(terminals=32, warehouses=1, flush_s=0.01) <= highest


def test_crowding_takes_its_share_for_each_further_terminal() -> None:
    alone, crowded = Database(terminals=16), Database(terminals=16, crowding=0.02)
    assert crowded.mean_work_s == pytest.approx(1.3 * alone.mean_work_s)


def test_a_flush_that_grows_with_terminals_holds_the_row_of_one_warehouse() -> None:
    grown = Database(terminals=16, flush_s=0.0002, flush_crowding=0.2)
    assert grown.crowded_flush_s == pytest.approx(0.0008)
    given: dict[str, Value] = {"terminals": 16, "flush_s": 0.0002}
    alone, shared = (per_s(warehouses=count, flush_crowding=0.2, **given) for count in (1, 25))
    assert alone < 0.8 * shared
    assert per_s(warehouses=1, **given) > 1.2 * alone


def point(of: Database, **more: Value) -> SourcePoint:
    """Return what a machine that is the model would have shown, without waits for rows."""
    work_s = of.mean_work_s
    flush_s = of.crowded_flush_s
    times = {kind: of.work_s(kind) + of.delay_s + flush_s * (kind in COMMITS) for kind in DECK}
    mean_s = sum(DECK[kind] * time_s for kind, time_s in times.items()) / CARDS
    observed = {
        "program.cpu_s_per_op": 0.1 * work_s,
        "service.db.cpu_s_per_op": 0.9 * work_s,
        "service.db.wal_flush_s_mean": flush_s,
        "response_s_mean": mean_s,
        "throughput": of.terminals / mean_s / 20,
        "machine.cpu.count": 4.0,
        # Others take one processor.
        "machine.cpu.utilization": (1.0 + of.terminals / mean_s / 20 * work_s) / 4.0,
        **{
            f"class.{kind.lower().replace('-', '_')}.response_s_mean": time_s
            for kind, time_s in times.items()
        },
    }
    config: dict[str, Value] = {
        "workload": "tpcc",
        "waits": False,
        "rate_per_s": 0.0,
        "server_cpus": 0.0,
        "warehouses": 4,
    }
    return SourcePoint(
        experiment="terminals",
        column=Column.MEASURE,
        levels={"terminals": of.terminals},
        config={**config, "terminals": of.terminals, **more},
        observed={name: Observed(value=value) for name, value in observed.items()},
    )


def target() -> Target:
    kind = find_system("model")
    setup = msgspec.convert({"model": "tpcc"}, kind.setup_type)
    return Target(system=kind.load(setup, base=Path()), config={})


def test_the_fit_finds_what_the_points_were_made_of() -> None:
    made: dict[str, float] = {
        "new_order_s": 0.0011,
        "payment_s": 0.0004,
        "flush_s": 0.0008,
        "delay_s": 0.0002,
        "crowding": 0.02,
        "flush_crowding": 0.2,
    }
    points = [point(Database.of({**made, "terminals": count})) for count in (1, 4, 16)]
    found = {
        one.name: one.value
        for one in DatabaseFit().fit(points, target(), DatabaseOptions()).parameters
    }
    for name, value in made.items():
        assert found[name] == pytest.approx(value, rel=1e-6), name
    assert found["cpus"] == pytest.approx(3.0)
    assert found["server_share"] == pytest.approx(0.9)


def test_a_full_machine_gave_what_was_kept_busy() -> None:
    of = Database(terminals=16)
    crowd = point(of)
    busy = {"machine.cpu.utilization": Observed(value=0.9), "throughput": Observed(value=3_000.0)}
    crowd = replace(crowd, observed={**crowd.observed, **busy})
    points = [point(Database(terminals=1)), crowd]
    result = DatabaseFit().fit(points, target(), DatabaseOptions())
    cpus = next(one.value for one in result.parameters if one.name == "cpus")
    assert cpus == pytest.approx(3_000 * of.mean_work_s)


def test_a_fit_without_one_terminal_or_with_quotas_alone_is_refused() -> None:
    crowd = point(Database(terminals=4))
    with pytest.raises(FitError, match="no point with one terminal"):
        DatabaseFit().fit([crowd], target(), DatabaseOptions())
    limited = [point(Database(terminals=1)), point(Database(terminals=4), server_cpus=0.5)]
    with pytest.raises(FitError, match="no point with several"):
        DatabaseFit().fit(limited, target(), DatabaseOptions())
