"""Convert the merged result of a load to the common `Run`.

Invariant: nothing is averaged or cut here but the new orders of a minute, which the standard counts
after the ramp; each number comes from the driver's processes or from the database's own counters.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.protocol.run import ResourceTable, Run, TimeSamples
from headroom.recording.merging import merged_histogram
from headroom.recording.observations import histogram_of, series_of, table_of
from headroom.systems.transactions.measured.parameters import DEFERRED, Asked
from headroom.systems.transactions.measured.standard import CEILING, expected_rows

_LATE = 0.5
"""Share of late transactions from which an open load may be more than can be served."""
_COSTLY = 0.10
"""Share of the driver in all processor time from which it may be part of what is measured."""
_FREQUENT = {"new_order", "payment", "change"}
"""Types by which a run settles; the others, one in 23 each, are too few to tell in seconds."""


def completions(result: Mapping[str, Any]) -> int:
    """Return the transactions of terminals that succeeded."""
    return int(
        sum(one["completion_count"] for name, one in result["classes"].items() if name != DEFERRED)
    )


def run_of(result: Mapping[str, Any], point: Asked, *, warm_up_s: float) -> Run:
    """Return the run that the result of a load describes.

    Parameters
    ----------
    result
        Of `LoadPrograms.run`.
    warm_up_s
        Time (s) at the beginning whose new orders do not count.

    Raises
    ------
    EnvironmentUnfitError
        No transaction succeeded: there is nothing to keep.
    """
    done = completions(result)
    if not done:
        said = "; ".join(one for one in [result["problem"] or "", *_failures(result)] if one)
        raise EnvironmentUnfitError(
            f"no transaction succeeded: {said or 'the run ended before the first one did'}",
            cure="look at the database's log, or set longer `seconds`",
        )
    values = _values(result, done)
    if point.workload == "tpcc":
        values |= _of_tpc_c(result, point, warm_up_s)
    histograms = {
        name: table
        for name, table in result["histograms"]["response_s"].items()
        if table["bin_low"].size
    }
    of_terminals = [table for name, table in histograms.items() if name != DEFERRED]
    return Run(
        values=values,
        series=tuple(
            series_of(f"class.{name}.response_s", table)
            for name, table in result["series"].items()
            if name in _FREQUENT
        ),
        histograms=(
            histogram_of("response_s", merged_histogram(of_terminals, of_classes=True)),
            *(histogram_of(f"class.{name}.response_s", one) for name, one in histograms.items()),
        ),
        snapshot_times_s=result["snapshots"]["times_s"],
        resources=(_classes(result["snapshots"]["classes"]),),
        counters={
            name: float(value)
            for name, value in {**result["counters"], **result["workload_counters"]}.items()
        },
        faults=(result["problem"],) if result["problem"] else (),
        remarks=tuple(_failures(result)),
        samples=_samples(result["samples"]),
        offered=_offered(result, values, done),
    )


def miscounted_rows(
    counters: Mapping[str, float],
    before: Mapping[str, tuple[int, int, int]],
    after: Mapping[str, tuple[int, int, int]],
) -> dict[str, float]:
    """Return table -> rows by which its own counters differ from those of the transactions."""
    expected = expected_rows(counters)
    if "all" in after:
        expected = {"all": tuple(sum(one) for one in zip(*expected.values(), strict=True))}
    found = {}
    for table, wanted in expected.items():
        if table not in after:
            continue
        gained = np.subtract(after[table], before.get(table, (0, 0, 0)))
        if off := float(np.abs(gained - np.asarray(wanted)).sum()):
            found[table] = off
    return found


def with_driver_share(run: Run) -> Run:
    """Return a run with the driver's share of all processor time, and a caution where it is large.

    Where the database is not observed, or works in the driver's process, there is no share.
    """
    service = run.values.get("service.db.cpu_s_per_op", 0.0)
    if not service:
        return run
    own = run.values["driver_cpu_s_per_op"]
    share = own / (own + service)
    remarks = run.remarks
    if share > _COSTLY:
        remarks += (
            f"the driver takes more than {_COSTLY:.0%} of all processor time (`driver_share`): on "
            "this machine it is part of what was measured",
        )
    return replace(run, values={**run.values, "driver_share": share}, remarks=remarks)


def _classes(raw: Mapping[str, Any]) -> ResourceTable:
    """Return the classes of terminals: a delivery counts where it is asked for."""
    kept = [index for index, name in enumerate(raw["names"]) if name != DEFERRED]
    return table_of(
        "class",
        {
            "names": [raw["names"][index] for index in kept],
            "capacity": raw["capacity"][kept],
            "columns": {name: values[:, kept] for name, values in raw["columns"].items()},
            "maxima": {name: values[kept] for name, values in raw["maxima"].items()},
        },
    )


def _samples(raw: Mapping[str, Any] | None) -> TimeSamples | None:
    if raw is None:
        return None
    return TimeSamples(times_s=raw["times_s"], tables=(_classes(raw["classes"]),))


def _offered(result: Mapping[str, Any], values: dict[str, float], done: int) -> dict[str, float]:
    """Return the rate that arrived if many transactions waited for a connection, or nothing."""
    arrived = done + values["error_count"] + values["unfinished_count"]
    if values["late_count"] <= _LATE * done:
        return {}
    values["throughput"] = done / max(result["end_s"], 1e-9)
    return {"throughput": arrived / max(result["load_s"], 1e-9)}


def _values(result: Mapping[str, Any], done: int) -> dict[str, float]:
    classes, counts = result["classes"].values(), result["workload_counters"]
    failed = sum(one["failure_count"] for one in classes)
    return {
        "error_count": float(failed),
        "fail_ratio": failed / max(done + failed, 1),
        "retry_count": float(counts["retry_count"]),
        "late_count": float(sum(one["late_count"] for one in classes)),
        "unfinished_count": float(result["outstanding_count"] + result["waiting_count"]),
        "driver_cpu_s_per_op": result["counters"]["cpu_s"] / done,
        "run_s": result["end_s"],
    }


def _of_tpc_c(result: Mapping[str, Any], point: Asked, warm_up_s: float) -> dict[str, float]:
    counts = result["workload_counters"]
    nopm = _new_orders_per_minute(result, warm_up_s)
    values = {"nopm": nopm}
    if point.waits and not point.rate_per_s:
        values["ceiling_share"] = nopm / (CEILING * point.terminals / 10)
    shares = {
        "rollback_share": ("rolled_back_count", "new_order_count"),
        "remote_line_share": ("remote_line_count", "line_count"),
        "remote_payment_share": ("remote_payment_count", "payment_count"),
    }
    values |= {
        name: counts[part] / counts[whole]
        for name, (part, whole) in shares.items()
        if counts[whole]
    }
    if districts := counts["skipped_count"] + counts["delivered_count"]:
        values["skipped_share"] = counts["skipped_count"] / districts
    return values


def _new_orders_per_minute(result: Mapping[str, Any], warm_up_s: float) -> float:
    """Return the new orders of a minute from the end of the ramp to the end of the load."""
    snapshots = result["snapshots"]
    times_s = np.concatenate([[0.0], snapshots["times_s"]])
    column = snapshots["classes"]["names"].index("new_order")
    ended = snapshots["classes"]["columns"]["completion_count"][:, column]
    counts = np.concatenate([[0.0], ended])
    until_s = float(result["load_s"])
    from_s = min(warm_up_s, until_s / 2)
    orders = np.interp(until_s, times_s, counts) - np.interp(from_s, times_s, counts)
    return float(60.0 * orders / max(until_s - from_s, 1e-9))


def _failures(result: Mapping[str, Any]) -> list[str]:
    return [
        f"{one['count']} transactions failed ({one['code']}): {one['message'] or 'no reason given'}"
        for one in result["failures"]
    ]
