"""Convert the engine's result to the common `Run` of all systems.

Invariant: nothing is averaged or cut here; each number of the run comes from the engine, or is a
quotient of two that hold for the whole run.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.protocol.run import ResourceTable, Run, TimeSamples
from headroom.recording.observations import histogram_of, series_of, table_of
from headroom.recording.tool_share import MOST_SHARE, OVER_SHARE
from headroom.systems.storage.blocks.tool_cost import ToolCost
from headroom.systems.storage.verify.verification import findings_in_words, verified_values

QUANTITIES = ("response_s", "service_s", "submit_error_s")
LIMITS_CLOSED = (
    "what limits is the target: in a closed loop all requests are with it; more of them at once "
    "may give more"
)
LIMITS_CARRIED = (
    "what limits is the load: every request found a place when it was due, so the target may "
    "carry more"
)
LIMITS_LATE = (
    "what limits is the target, or how many requests may be with it: some found no place when "
    "they were due (late_count)"
)


def run_of(
    result: Mapping[str, Any],
    *,
    cost: ToolCost,
    is_open: bool,
    remarks: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Run:
    """Return the run that the engine's dictionary describes.

    Parameters
    ----------
    result
        Of `measure.run_job`.
    cost
        Cost of the tool itself, with the interface used.
    is_open
        Whether requests have their own due times.
    remarks, notes
        Other facts about the run: why it may mislead, and what puts nothing in doubt.

    Raises
    ------
    EnvironmentUnfitError
        Not one request succeeded, so that there is nothing to keep.
    """
    done = sum(class_["completion_count"] for class_ in result["classes"].values())
    if not done:
        raise EnvironmentUnfitError(_why_nothing(result), cure="check the target with `dmesg`")
    values = values_of(result, cost)
    said = [*remarks, *failures_in_words(result)]
    if values.get("tool_share", 0.0) > MOST_SHARE:
        said.append(OVER_SHARE)
    return Run(
        values=values,
        series=tuple(
            series_of(f"class.{name}.response_s", table) for name, table in result["series"].items()
        ),
        histograms=tuple(
            histogram_of(f"class.{name}.{quantity}", table)
            for quantity in QUANTITIES
            for name, table in result["histograms"][quantity].items()
            if table["bin_low"].size
        ),
        snapshot_times_s=result["snapshots"]["times_s"],
        resources=_tables(result["snapshots"]),
        counters=_counters(result),
        faults=faults_of(result),
        remarks=tuple(said),
        notes=(*notes, *what_limits(values, is_open=is_open)),
        samples=None if result["samples"] is None else _samples(result["samples"]),
    )


def values_of(result: Mapping[str, Any], cost: ToolCost) -> dict[str, float]:
    """Return the values of a whole run, warm-up included, that its tables do not give."""
    classes = result["classes"]
    done = sum(class_["completion_count"] for class_ in classes.values())
    failed = sum(class_["failure_count"] for class_ in classes.values())
    reads = classes.get("read", {}).get("completion_count", 0)
    writes = classes.get("write", {}).get("completion_count", 0)
    values = {
        "error_count": float(failed),
        "fail_ratio": failed / max(done + failed, 1),
        "late_count": float(sum(class_["late_count"] for class_ in classes.values())),
        "defect_count": float(sum(class_["defect_count"] for class_ in classes.values())),
        "unfinished_count": float(result["outstanding_count"] + result["waiting_count"]),
        "stuck_count": float(result["outstanding_count"]),
        "run_s": result["end_s"],
        "cpu_s_per_request": result["counters"]["cpu_s"] / max(done, 1),
        **(verified_values(result["findings"]) if result.get("findings") else {}),
        **cost.share_in(result),
    }
    if reads + writes:
        values["achieved_read_share"] = reads / (reads + writes)
    return values


def what_limits(values: Mapping[str, float], *, is_open: bool) -> tuple[str, ...]:
    """Return the limits on a run's throughput, as far as visible from outside a target.

    Nothing if the tool is being measured, which has its own sentence.

    Examples
    --------
    >>> what_limits({"tool_share": 0.01, "late_count": 0.0}, is_open=True)[0].partition(":")[0]
    'what limits is the load'
    """
    if values.get("tool_share", 0.0) > MOST_SHARE:
        return ()
    if not is_open:
        return (LIMITS_CLOSED,)
    return (LIMITS_LATE if values["late_count"] else LIMITS_CARRIED,)


def failures_in_words(result: Mapping[str, Any]) -> list[str]:
    """Return one sentence for each kind of failed request."""
    return [
        f"{failure['count']} requests of {failure['class']} failed: {_error(failure['errno'])} "
        f"(the first at offset {failure['first_offset']})"
        for failure in result["failures"]
    ]


def faults_of(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Return why a run is not sound: what went wrong, and data that were wrong."""
    problem = (result["problem"],) if result["problem"] else ()
    return (*problem, *findings_in_words(result.get("findings")))


def _counters(result: Mapping[str, Any]) -> dict[str, float]:
    """Return the counters of a run, including those of the workload and of a soft device."""
    truth = result.get("truth") or {}
    counted = {
        **result["counters"],
        **result["workload_counters"],
        **{f"truth_{name}": value for name, value in truth.items()},
    }
    return {name: float(value) for name, value in counted.items()}


def _error(number: int) -> str:
    return os.strerror(number)


def _why_nothing(result: Mapping[str, Any]) -> str:
    reasons = [result["problem"] or "", *failures_in_words(result)]
    said = "; ".join(reason for reason in reasons if reason)
    return f"no request succeeded: {said or 'the run ended before the first one did'}"


def _tables(raw: Mapping[str, Any]) -> tuple[ResourceTable, ...]:
    """Return the tables of the target and of the classes.

    How many servers a target has is not known: the engine counts its own places, which a closed
    loop keeps full by design, so a share of them would say nothing about the target.
    """
    stations = table_of("station", raw["stations"])
    unknown = np.full(len(stations.names), np.inf)
    return (replace(stations, capacity=unknown), table_of("class", raw["classes"]))


def _samples(raw: Mapping[str, Any]) -> TimeSamples:
    return TimeSamples(times_s=raw["times_s"], tables=_tables(raw))
