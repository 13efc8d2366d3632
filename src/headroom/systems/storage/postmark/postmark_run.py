"""One run of PostMark in an empty folder, and its conversion of counters and times.

The folder is created for the run and removed afterwards. The cost of the tool is the processor time
of the same transactions without any file operation.

Invariant: counters are those that the original prints; times are those of single operations.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from headroom.experiment.protocol.observed_metrics import observed_metrics
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Metric, Value
from headroom.recording.observations import histogram_of, series_of, table_of
from headroom.recording.tool_share import MOST_SHARE, OVER_SHARE, tool_share
from headroom.systems.storage.blocks.job import OPERATIONS, stream_seed
from headroom.systems.storage.blocks.measurement import Measurement
from headroom.systems.storage.postmark.postmark import PostmarkResult, carry_out, operations
from headroom.systems.storage.postmark.postmark_figures import RUN_S, WARM_UP_RATIO, warm_up_ratio
from headroom.systems.storage.targets.laying_out import check_space
from headroom.systems.storage.targets.patience import within
from headroom.systems.storage.targets.safety import check_may_create
from headroom.systems.storage.targets.targets import Target
from headroom.systems.storage.workloads.workload_parameters import Data, Postmark
from headroom.systems.storage.workloads.workload_table import pool_table

KINDS = ("create", "read", "append", "delete")
_WHOLE = "transaction"
_TRIED = 20_000
"""Maximum number of transactions for measuring the cost of the tool."""
_COUNTERS = (
    "created_alone_count", "created_mixed_count", "read_count", "appended_count",
    "deleted_alone_count", "deleted_mixed_count", "sync_count", "full_append_count",
    "read_bytes", "written_bytes",
)  # fmt: skip
_SMALLER = "use fewer or smaller files, free some space, or name another folder"
_PHASES = ("creation_s", "transactions_s", "deletion_s")


def postmark_metrics() -> Iterator[Metric]:
    """Yield the metrics of PostMark."""
    yield RUN_S
    yield Metric(name="transactions_per_s", unit="1/s", better="high",
                 description="Transactions per second of their phase")  # fmt: skip
    yield Metric(name="throughput", unit="1/s", better="high", description="The same")
    yield from observed_metrics("response_s")
    for phase in _PHASES:
        yield Metric(name=phase, unit="s", better="low", description="Time of the phase")
    for kind in KINDS:
        yield Metric(name=f"{kind}s_per_s", unit="1/s", better="high",
                     description="Operations of the transactions, per second")  # fmt: skip
        yield from observed_metrics(f"class.{kind}.response_s")
    for name in _COUNTERS:
        unit = "B" if name.endswith("_bytes") else "1"
        yield Metric(name=name, unit=unit, description="As the original counts it")
    yield Metric(name="achieved_read_share", unit="1", description="Reads among reads and appends")
    yield Metric(name="cpu_s_per_request", unit="s", better="low",
                 description="Processor time of the process per transaction")  # fmt: skip
    yield Metric(name="tool_share", unit="1",
                 description="Share of the tool in the time of a transaction")  # fmt: skip
    yield WARM_UP_RATIO
    yield Metric(name="left_count", unit="1", better="low",
                 description="Files that could not be deleted")  # fmt: skip
    yield Metric(name="stuck_count", unit="1", better="low",
                 description="Threads in a call that did not return")  # fmt: skip


def run_postmark(asked: Measurement) -> Run:
    """Run PostMark once.

    Raises
    ------
    HeadroomError
        The folder cannot be used, or the parameters contradict each other.
    """
    config, target, silence_s = asked.config, asked.target, asked.setup.silence_s
    within(silence_s, lambda: check_pool(config, target), what=f"target {target.name!r}")
    with target.session.pool(target.path, silence_s=silence_s) as folder:
        descriptor = within(silence_s, lambda: _opened(folder), what=str(folder))
        try:
            job = job_of(config, seed=asked.seed, folder=descriptor)
            patience = {"silence_s": silence_s, "drain_s": asked.setup.drain_s}
            result = carry_out({**job, **patience})
        finally:
            os.close(descriptor)
    return run_of(result, own_s=_own_s(config, asked.seed))


def _opened(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def job_of(config: Mapping[str, Value], *, seed: int, folder: int | None) -> dict[str, Any]:
    """Return the job of one run; without a folder nothing is done with files."""
    postmark = Postmark.of(config)
    job: dict[str, Any] = {
        "seed": stream_seed(seed, OPERATIONS),
        "target": {"kind": "nothing"} if folder is None else {"kind": "folder", "fd": folder},
        "workload": pool_table(config),
        "threads": postmark.postmark_threads,
        "access": postmark.postmark_access,
        "data": msgspec.to_builtins(Data.of(config)),
    }
    if postmark.postmark_sync != "never":
        job["sync"] = {"every": postmark.postmark_sync_every, "kind": postmark.postmark_sync}
    return job


def check_pool(config: Mapping[str, Value], target: Target) -> None:
    """Refuse a pool that may not fit: twice the files, all of the largest size.

    Raises
    ------
    HeadroomError
        There is too little space, nothing may be made there, or the parameters contradict each
        other.
    """
    operations(job_of(config, seed=0, folder=None), count=0)
    check_may_create(target.path)
    postmark = Postmark.of(config)
    needed = 2 * postmark.postmark_files * postmark.postmark_high_bytes
    check_space(target.path, needed=needed, reserve=target.reserve, cure=_SMALLER)


def _own_s(config: Mapping[str, Value], seed: int) -> float:
    """Return the processor time (s) of the tool itself per transaction."""
    count = min(Postmark.of(config).postmark_transactions, _TRIED)
    if not count:
        return 0.0
    job = job_of({**config, "postmark_transactions": count}, seed=seed, folder=None)
    return carry_out(job).times.transactions_processor_s / count


def run_of(result: PostmarkResult, *, own_s: float) -> Run:
    """Return the run that the result of PostMark describes."""
    values = _values(result, own_s)
    tables = result.tables
    remarks = (OVER_SHARE,) if values.get("tool_share", 0.0) > MOST_SHARE else ()
    return Run(
        values=values,
        series=tuple(
            series_of(_metric(name), table)
            for name, table in tables["series"].items()
            if name == _WHOLE
        ),
        histograms=tuple(
            histogram_of(_metric(name), table)
            for name, table in tables["histograms"]["response_s"].items()
            if name == _WHOLE or name in KINDS
        ),
        snapshot_times_s=tables["snapshots"]["times_s"],
        resources=(table_of("class", tables["snapshots"]["classes"]),),
        faults=result.faults,
        remarks=remarks,
    )  # fmt: skip


def _metric(name: str) -> str:
    return "response_s" if name == _WHOLE else f"class.{name}.response_s"


def _values(result: PostmarkResult, own_s: float) -> dict[str, float]:
    counters, times = result.counters, result.times
    length_s = times.transactions_s
    done = counters.transaction_count
    counts = {
        "create": counters.created_mixed_count,
        "read": counters.read_count,
        "append": counters.appended_count,
        "delete": counters.deleted_mixed_count,
    }
    values = {
        "run_s": times.total_s,
        **{phase: float(getattr(times, phase)) for phase in _PHASES},
        **{name: float(getattr(counters, name)) for name in _COUNTERS},
        "left_count": float(result.left_count),
        "stuck_count": float(result.stuck_count),
    }
    if length_s > 0.0 and done:
        values["transactions_per_s"] = done / length_s
        values |= {f"{kind}s_per_s": count / length_s for kind, count in counts.items()}
        values["cpu_s_per_request"] = times.transactions_processor_s / done
        values["tool_share"] = tool_share(
            own_s=own_s, count=done, load_s=length_s, threads=result.threads
        )
    series = result.tables.get("series", {}).get(_WHOLE)
    ratio = None if series is None else warm_up_ratio(series["values"])
    if ratio is not None:
        values[WARM_UP_RATIO.name] = ratio
    if result.achieved_read_share is not None:
        values["achieved_read_share"] = result.achieved_read_share
    return values
