"""The engine's result becomes a run without losing a value; failures are described as text."""

from typing import Any

import numpy as np
import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.protocol.run import Run
from headroom.recording.tool_share import OVER_SHARE
from headroom.systems.storage.blocks.conversion import (
    LIMITS_CARRIED,
    LIMITS_CLOSED,
    LIMITS_LATE,
    run_of,
)
from headroom.systems.storage.blocks.tool_cost import ToolCost

COST = ToolCost(interface="threads", read_s=1e-6, write_s=3e-6)


def _total(count: int, failures: int = 0) -> dict[str, Any]:
    return {
        "completion_count": count,
        "failure_count": failures,
        "late_count": 2,
        "defect_count": 1,
        **{f"{name}_min": 1e-3 for name in ("response_s", "service_s", "submit_error_s")},
        **{f"{name}_max": 2e-3 for name in ("response_s", "service_s", "submit_error_s")},
    }


def _found(
    reads: int = 30, writes: int = 10, failures: int = 0, problem: str | None = None
) -> dict[str, Any]:
    names = ["read", "write"]
    columns = {name: np.array([[1.0, 2.0]]) for name in ("completion_count", "busy_s")}
    classes = {"names": names, "capacity": np.ones(2), "columns": columns, "maxima": {}}
    busy = {"busy_s": np.array([[0.04]]), "completion_count": np.array([[40.0]])}
    stations = {"names": ["device"], "capacity": np.ones(1), "columns": busy, "maxima": {}}
    failed = {"class": "read", "errno": 5, "count": failures, "first_offset": 4096}
    return {
        "classes": {"read": _total(reads, failures), "write": _total(writes)},
        "snapshots": {"times_s": np.array([0.1]), "classes": classes, "stations": stations},
        "samples": None,
        "series": {},
        "histograms": {name: {} for name in ("response_s", "service_s", "submit_error_s")},
        "counters": {"cpu_s": 0.008},
        "workload_counters": {"trace_lines_skipped": 5},
        "facts": {"interface": "threads", "threads": "2"},
        "failures": [failed] if failures else [],
        "problem": problem,
        "outstanding_count": 1,
        "waiting_count": 2,
        "load_s": 0.1,
        "end_s": 0.11,
    }


def _run(result: dict[str, Any], *, cost: ToolCost = COST, is_open: bool = False) -> Run:
    return run_of(result, cost=cost, is_open=is_open)


def test_figures_of_a_whole_run_are_sums_and_quotients_worked_out_by_hand() -> None:
    values = _run(_found()).values
    assert values["achieved_read_share"] == 0.75
    assert values["cpu_s_per_request"] == pytest.approx(0.008 / 40)
    assert (values["unfinished_count"], values["stuck_count"]) == (3.0, 1.0)
    assert (values["late_count"], values["defect_count"]) == (4.0, 2.0)
    assert values["run_s"] == 0.11
    assert values["tool_s_per_request"] == pytest.approx((30 * 1e-6 + 10 * 3e-6) / 40)
    # Of the time: 60 us in 0.1 s of two threads, 0.03%. Of the service of 1 ms: 0.15%.
    assert values["tool_share"] == pytest.approx(1.5e-3)


def test_failures_are_counted_and_told_and_do_not_make_a_run_unsound() -> None:
    run = _run(_found(failures=7))
    assert run.is_sound
    assert run.values["error_count"] == 7.0
    assert run.values["fail_ratio"] == pytest.approx(7 / 47)
    assert run.remarks == (
        "7 requests of read failed: Input/output error (the first at offset 4096)",
    )


def test_a_target_that_failed_in_mid_run_keeps_its_part_and_carries_the_fault() -> None:
    run = _run(_found(failures=100, problem="the target failed"))
    assert run.faults == ("the target failed",)
    assert run.values["error_count"] == 100.0
    assert run.snapshot_times_s.size == 1


def test_a_run_without_one_success_is_an_error_with_the_reason() -> None:
    with pytest.raises(EnvironmentUnfitError, match="no request succeeded: gone; 9 requests"):
        _run(_found(reads=0, writes=0, failures=9, problem="gone"))


def test_above_ten_per_cent_the_tool_is_said_to_be_measured() -> None:
    cost = ToolCost(interface="threads", read_s=1.1e-4, write_s=1.1e-4)
    run = _run(_found(), cost=cost)
    assert run.values["tool_share"] == pytest.approx(0.11)
    assert any("the tool itself is being measured" in remark for remark in run.remarks)
    below = ToolCost(interface="threads", read_s=0.9e-4, write_s=0.9e-4)
    assert _run(_found(), cost=below).remarks == ()


def test_what_the_workload_counts_is_among_the_counters() -> None:
    assert _run(_found()).counters == {"cpu_s": 0.008, "trace_lines_skipped": 5.0}


def test_a_target_has_no_utilization_because_its_servers_are_not_known() -> None:
    """Cause: busy time over the places of the tool, which a closed loop keeps full, is always 1."""
    result = _found()
    assert result["snapshots"]["stations"]["capacity"].tolist() == [1.0]
    stations, classes = _run(result).resources
    assert stations.capacity.tolist() == [np.inf]
    assert classes.capacity.tolist() == [1.0, 1.0]


def _without_waits(result: dict[str, Any]) -> dict[str, Any]:
    for total in result["classes"].values():
        total["late_count"] = 0
    return result


def test_what_limits_is_said_as_far_as_it_can_be_known() -> None:
    assert _run(_found()).notes == (LIMITS_CLOSED,)
    assert _run(_found(), is_open=True).notes == (LIMITS_LATE,)
    assert _run(_without_waits(_found()), is_open=True).notes == (LIMITS_CARRIED,)
    slow = ToolCost(interface="threads", read_s=1.1e-4, write_s=1.1e-4)
    measured_tool = _run(_found(), cost=slow)
    assert measured_tool.notes == ()
    assert measured_tool.remarks == (OVER_SHARE,)
