"""Convert a point's parameters to the `workload` table of a job, which both columns read.

Invariant: the table is a function of the parameters and the size of the target alone.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Value
from headroom.systems.storage.workloads.workload_parameters import (
    Asked,
    Micro,
    Spc1,
    Spc2,
    Streamed,
    Trace,
)

SHARES = ("random_share", "sequential_share", "zipf_share", "strided_share")


def workload_table(config: Mapping[str, Value], *, target_bytes: int) -> dict[str, Any]:
    """Return the table of a block workload.

    Parameters
    ----------
    config
        Value of every parameter.
    target_bytes
        Size (B) of the target, of which ranges are shares.

    Examples
    --------
    >>> from headroom.systems.storage.workloads.workload_parameters import workload_parameters
    >>> config = {one.name: one.default for one in workload_parameters()}
    >>> table = workload_table({**config, "workload": "micro"}, target_bytes=1 << 20)
    >>> table["kind"], table["block_bytes"], table["range_bytes"]
    ('micro', 4096, 1048576)
    """
    match Asked.of(config).workload:
        case "micro":
            return _micro(Micro.of(config), Streamed.of(config), target_bytes)
        case "spc1_like":
            table: dict[str, Any] = msgspec.to_builtins(Spc1.of(config))
            return table
        case "spc2_like":
            return _spc2(Spc2.of(config), Streamed.of(config))
        case "trace":
            return _trace(Trace.of(config), Streamed.of(config))
        case other:
            raise AssertionError(f"the workload {other} has no table")


def _micro(micro: Micro, streamed: Streamed, target_bytes: int) -> dict[str, Any]:
    first, length = _range(micro, target_bytes)
    table: dict[str, Any] = {
        "kind": "micro",
        "streams": streamed.streams,
        "block_bytes": micro.block_bytes,
        "read_share": micro.read_share,
        "pattern": micro.pattern,
        "offset_bytes": first,
        "range_bytes": length,
        **{name: share for name in SHARES if (share := getattr(micro, name))},
    }
    if micro.trim_share:
        table["trim_share"] = micro.trim_share
    if micro.pattern == "zipf" or micro.zipf_share:
        table["zipf_exponent"] = micro.zipf_exponent
    if micro.pattern == "strided" or micro.strided_share:
        table["stride_bytes"] = micro.stride_bytes
    if micro.load == "open":
        table["rate_per_s"] = micro.rate / streamed.streams
        table["arrivals"] = _arrivals(micro)
    else:
        table["depth"] = streamed.depth
    return table


def _arrivals(micro: Micro) -> str | dict[str, Any]:
    match micro.law:
        case "gamma":
            return {"gaps": {"kind": "gamma", "mean": 1.0, "c2": micro.gap_c2}}
        case "ramp":
            return {"ramp": {"seconds": micro.ramp_s}}
        case "pulses":
            return {"pulses": {"count": micro.pulse_requests}}
        case law:
            return law


def _range(micro: Micro, target_bytes: int) -> tuple[int, int]:
    """Return first byte and length of the range of offsets, in whole blocks."""
    block = micro.block_bytes
    first = int(micro.range_start_share * target_bytes) // block * block
    length = min(int(micro.range_share * target_bytes), target_bytes - first)
    if length < block:
        raise StudyError(
            f"a request has {block} B, but the range of offsets has only {length} B",
            cure="use smaller requests, a larger target or a larger range_share",
        )
    return first, length


def _spc2(spc2: Spc2, streamed: Streamed) -> dict[str, Any]:
    table = {"kind": "spc2_like", "part": spc2.spc2_part, "streams": streamed.streams}
    if spc2.spc2_part == "vod":
        return {**table, "rate_bytes_per_s": spc2.spc2_stream_rate}
    table |= {"block_bytes": spc2.spc2_block_bytes, "depth": streamed.depth}
    return table | ({"phase": spc2.spc2_phase} if spc2.spc2_part == "lfp" else {})


def _trace(trace: Trace, streamed: Streamed) -> dict[str, Any]:
    """Return the table of a trace, without the open file and its format; see `trace_files`."""
    table = {"kind": "trace", "timing": trace.trace_timing, "start_s": trace.trace_start_s}
    if trace.trace_timing == "as_timed":
        return {**table, "time_scale": trace.trace_time_scale}
    return {**table, "depth": streamed.depth}


def is_open(config: Mapping[str, Value]) -> bool:
    """Return whether requests of a point come at times of their own, whatever the target does.

    Examples
    --------
    >>> is_open({"workload": "spc1_like"}), is_open({"workload": "micro", "load": "closed"})
    (True, False)
    """
    match Asked.of(config).workload:
        case "micro":
            return Micro.of(config).load == "open"
        case "spc2_like":
            return Spc2.of(config).spc2_part == "vod"
        case "trace":
            return Trace.of(config).trace_timing == "as_timed"
        case workload:
            return workload == "spc1_like"


def writes(config: Mapping[str, Value]) -> bool:
    """Return whether a point writes to its target; anything not certainly read-only counts."""
    match Asked.of(config).workload:
        case "micro":
            return Micro.of(config).read_share < 1.0
        case "spc2_like":
            spc2 = Spc2.of(config)
            is_read_only = spc2.spc2_part == "lfp" and spc2.spc2_phase == "read_only"
            return not is_read_only and spc2.spc2_part != "vod"
        case _:
            return True


def has_writes(config: Mapping[str, Value]) -> bool:
    """Return whether a point has requests that write: trims change data, and write none."""
    if Asked.of(config).workload == "micro":
        micro = Micro.of(config)
        return micro.read_share + micro.trim_share < 1.0
    return writes(config)


_POOL = {
    "postmark_files": "files",
    "postmark_transactions": "transactions",
    "postmark_low_bytes": "size_low_bytes",
    "postmark_high_bytes": "size_high_bytes",
    "postmark_read_block_bytes": "read_block_bytes",
    "postmark_write_block_bytes": "write_block_bytes",
    "postmark_bias_read": "read_bias",
    "postmark_bias_create": "create_bias",
    "postmark_folders": "subdirectories",
}


def pool_table(config: Mapping[str, Value]) -> dict[str, Any]:
    """Return files and transactions of PostMark as the compiled part takes them.

    Examples
    --------
    >>> pool_table({"postmark_files": 5, "postmark_bias_read": -1.0, "postmark_threads": 2})
    {'files': 5, 'read_bias': -1.0}
    """
    return {compiled: config[name] for name, compiled in _POOL.items() if name in config}
