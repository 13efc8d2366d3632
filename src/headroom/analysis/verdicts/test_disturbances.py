"""Disturbed replications: only other programs count, never the measured program itself."""

from dataclasses import replace
from typing import Any

import pytest

from headroom.analysis.verdicts.disturbances import disturbances_of, shares_of
from headroom.experiment.journal.journal_rows import ReplicationRow
from headroom.experiment.machine.machine_watch import PREFIX
from headroom.experiment.protocol.run import Run

QUIET = {
    "span_s": 10.0, "cpu_count": 4.0, "busy_s": 20.0, "own_busy_s": 20.0, "steal_s": 0.0,
    "cpu_wait_s": 0.0, "swapped_pages": 0.0, "throttled_periods": 0.0, "quota_periods": 100.0,
}  # fmt: skip


def row(replication: int, **changed: float) -> ReplicationRow:
    """Return a finished replication on a machine that is quiet except for what is changed."""
    counters = {f"{PREFIX}{name}": value for name, value in (QUIET | changed).items()}
    return ReplicationRow(
        experiment="e", point_key="p", fingerprint="f", levels={}, replication=replication, seed=1,
        state="done", started_at="", wall_s=1.0, run=Run(counters=counters),
    )  # fmt: skip


def test_a_quiet_machine_disturbs_nothing() -> None:
    assert disturbances_of([row(number) for number in range(5)]) == []


@pytest.mark.parametrize(
    "own",
    [
        {"busy_s": 40.0, "own_busy_s": 40.0},
        {"busy_s": 40.0, "own_busy_s": 40.0, "cpu_wait_s": 10.0},
        {"busy_s": 39.0, "own_busy_s": 40.0, "cpu_wait_s": 10.0},
    ],
    ids=["all processors", "more threads than processors", "ticks that are counted too few"],
)
def test_the_load_of_the_measured_program_itself_is_no_disturbance(own: dict[str, float]) -> None:
    assert disturbances_of([row(0, **own)]) == []


def test_others_on_processors_that_were_idle_take_nothing_away() -> None:
    assert disturbances_of([row(0, busy_s=38.0, own_busy_s=10.0, cpu_wait_s=0.1)]) == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"busy_s": 40.0, "cpu_wait_s": 5.0}, ("others", 0.5)),
        ({"steal_s": 5.0}, ("steal", 0.2)),
        ({"throttled_periods": 30.0}, ("throttling", 0.3)),
        ({"swapped_pages": 2000.0}, ("swapping", 0.2)),
    ],
)
def test_each_disturbance_names_the_replications_that_it_concerns(
    changed: dict[str, float], expected: tuple[str, float]
) -> None:
    rows = [row(0), row(1, **changed), row(2), row(3, **changed)]
    kind, share = expected
    (found,) = disturbances_of(rows)
    assert (found.kind, found.replications) == (kind, [1, 3])
    assert found.share == pytest.approx(share)


def test_short_replications_are_judged_together() -> None:
    """One tick of 10 ms would be a tenth of a replication of 100 ms."""
    short: dict[str, Any] = {"span_s": 0.1, "busy_s": 0.2, "own_busy_s": 0.2, "cpu_wait_s": 0.05}
    one_tick = [row(0, **short | {"busy_s": 0.3}), *(row(n, **short) for n in range(1, 12))]
    assert disturbances_of(one_tick) == []
    all_the_time = [row(number, **short | {"busy_s": 0.3}) for number in range(12)]
    (found,) = disturbances_of(all_the_time)
    assert (found.kind, found.replications) == ("others", list(range(12)))


def test_rows_of_older_versions_and_other_systems_say_nothing() -> None:
    assert disturbances_of([ReplicationRow(**{**_fields(row(0)), "run": Run()})]) == []
    assert shares_of({"span_s": 1.0, "cpu_count": 2.0, "own_busy_s": 0.5}) == {}


def _fields(found: ReplicationRow) -> dict[str, Any]:
    return {name: getattr(found, name) for name in ReplicationRow.__dataclass_fields__}


def calibrated_row(replication: int, processor_s: float, memory_s: float) -> ReplicationRow:
    """Return a replication on a quiet machine, after which known work took these times."""
    whole = row(replication)
    assert whole.run is not None
    known = {
        "calibration_processor_s_before": 0.010,
        "calibration_processor_s_after": processor_s,
        "calibration_memory_s_before": 0.020,
        "calibration_memory_s_after": memory_s,
    }
    run = Run(counters={**whole.run.counters, **known})
    return ReplicationRow(**{**_fields(whole), "run": run})


def test_known_work_that_takes_longer_marks_the_replications_that_it_surrounds() -> None:
    calm, slow_processor = calibrated_row(0, 0.0105, 0.021), calibrated_row(1, 0.012, 0.02)
    slow_memory = calibrated_row(2, 0.01, 0.03)
    assert disturbances_of([calm, row(3)]) == []
    (disturbance,) = disturbances_of([calm, slow_processor, slow_memory, row(3)])
    assert (disturbance.kind, disturbance.replications) == ("slower", [1, 2])
    assert disturbance.share == pytest.approx(0.5)


def test_the_work_of_services_of_the_measured_system_is_no_disturbance() -> None:
    busy = {"busy_s": 38.0, "own_busy_s": 10.0, "cpu_wait_s": 5.0}
    assert shares_of({**QUIET, **busy})["others"] == pytest.approx(0.7)
    assert shares_of({**QUIET, **busy, "services_busy_s": 27.0})["others"] == pytest.approx(0.025)


def test_the_machine_of_another_role_is_judged_by_its_own_processors() -> None:
    """The load's machine is quiet; the hypervisor of the server's takes a fifth in one of two."""
    rows = []
    for number, stolen_s in enumerate([0.0, 5.0]):
        quiet = row(number)
        assert quiet.run is not None
        server = {f"server_{PREFIX}{k}": v for k, v in (QUIET | {"steal_s": stolen_s}).items()}
        run = replace(quiet.run, counters={**quiet.run.counters, **server})
        rows.append(replace(quiet, run=run))
    (found,) = disturbances_of(rows)
    assert (found.kind, found.replications) == ("steal", [1])
    assert found.share == pytest.approx(0.2)
