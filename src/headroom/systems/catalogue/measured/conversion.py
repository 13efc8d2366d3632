"""Convert the merged result of a load to the common `Run`.

Invariant: nothing is averaged or cut here; each number comes from the load's processes or from
the database's own counters.
"""

from collections.abc import Mapping
from typing import Any

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.protocol.run import Run, TimeSamples
from headroom.experiment.protocol.system import Value
from headroom.recording.observations import histogram_of, series_of, table_of
from headroom.systems.catalogue.measured.parameters import Served

_BUSY = 0.8
"""Share of its processors from which a load may limit a result."""


_LATE = 0.5
"""Share of late operations from which an open load may be more than can be served."""


def completions(result: Mapping[str, Any]) -> int:
    """Return the operations that succeeded."""
    return int(sum(one["completion_count"] for one in result["classes"].values()))


def run_of(
    result: Mapping[str, Any],
    config: Mapping[str, Value],
    *,
    commit_count: float | None,
    kill_count: int = 0,
) -> Run:
    """Return the run that the result of a load describes.

    Parameters
    ----------
    result
        Of `LoadPrograms.run`.
    commit_count
        Transactions that the database committed meanwhile; None if it lost its counts.
    kill_count
        Processes of the database that its limit of memory ended.

    Raises
    ------
    EnvironmentUnfitError
        No operation succeeded, and no limit of memory is the reason: there is nothing to keep.
    """
    done = completions(result)
    if not done and not kill_count:
        reasons = [result["problem"] or "", *_failures(result)]
        said = "; ".join(one for one in reasons if one) or "the run ended before the first one did"
        raise EnvironmentUnfitError(f"no operation succeeded: {said}", cure="look at the logs")
    operation = Served.of(config).operation
    values = {**_values(result, done), "database_kills": float(kill_count)}
    if commit_count is not None:
        values["commits_per_op"] = commit_count / max(done, 1)
    remarks = _failures(result)
    problem = result["problem"]
    if kill_count:
        remarks.append(f"the limit of memory ended {kill_count} processes of the database")
        # That is what was measured, no fault of the measurement.
        remarks += [problem] if problem else []
        problem = None
    if values["load_busy"] > _BUSY:
        remarks.append(
            f"the load's processes are busy for {values['load_busy']:.0%} of the time, so they may "
            "limit the result: take more `processes`"
        )
    counters = {**result["counters"], **result["workload_counters"]}
    return Run(
        values=values,
        series=tuple(
            series_of("response_s", table) for table in _only(result["series"], operation)
        ),
        histograms=tuple(
            histogram_of("response_s", table)
            for table in _only(result["histograms"]["response_s"], operation)
        ),
        snapshot_times_s=result["snapshots"]["times_s"],
        resources=(table_of("class", result["snapshots"]["classes"]),),
        counters={name: float(value) for name, value in counters.items()},
        faults=(problem,) if problem else (),
        remarks=tuple(remarks),
        samples=_samples(result["samples"]),
        offered=_offered(result, values),
    )


def _offered(result: Mapping[str, Any], values: dict[str, float]) -> dict[str, float]:
    """Return the rate that arrived if many operations waited for a connection, or nothing.

    Then the operations that were served have a rate of their own, up to the last end.
    """
    done = completions(result)
    arrived = done + values["error_count"] + values["unfinished_count"]
    if values["late_count"] <= _LATE * done:
        return {}
    values["throughput"] = done / max(result["end_s"], 1e-9)
    return {"throughput": arrived / max(result["load_s"], 1e-9)}


def _only(tables: Mapping[str, Any], operation: str) -> list[Mapping[str, Any]]:
    return [table for name, table in tables.items() if name == operation]


def _samples(raw: Mapping[str, Any] | None) -> TimeSamples | None:
    if raw is None:
        return None
    return TimeSamples(times_s=raw["times_s"], tables=(table_of("class", raw["classes"]),))


def _values(result: Mapping[str, Any], done: int) -> dict[str, float]:
    classes, counts = result["classes"].values(), result["workload_counters"]
    failed = sum(one["failure_count"] for one in classes)
    ended = max(done + failed, 1)
    processes = float(result["facts"].get("processes", 1))
    cpu_s = result["counters"]["cpu_s"]
    return {
        "error_count": float(failed),
        "fail_ratio": failed / ended,
        "late_count": float(sum(one["late_count"] for one in classes)),
        "unfinished_count": float(result["outstanding_count"] + result["waiting_count"]),
        "message_pairs_per_op": counts["message_pair_count"] / ended,
        "connections_per_op": counts["connection_count"] / ended,
        "load_busy": min(cpu_s / (processes * max(result["load_s"], 1e-9)), 1.0),
        "run_s": result["end_s"],
    }


def _failures(result: Mapping[str, Any]) -> list[str]:
    return [
        f"{one['count']} operations failed: {one['message'] or one['code']}"
        for one in result["failures"]
    ]
