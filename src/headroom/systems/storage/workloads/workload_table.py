"""Convert a point's parameters to the `workload` table of a job, which both columns read.

Invariant: the table is a function of the parameters and the size of the target alone.
"""

from collections.abc import Mapping
from typing import Any

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Value

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
    makers = {"micro": _micro, "spc1_like": _spc1, "spc2_like": _spc2}
    workload = str(config["workload"])
    if workload == "trace":
        return _trace(config)
    return makers[workload](config, target_bytes)


def _micro(config: Mapping[str, Value], target_bytes: int) -> dict[str, Any]:
    block = int(config["block_bytes"])
    first, length = _range(config, block, target_bytes)
    table: dict[str, Any] = {
        "kind": "micro",
        "streams": config["streams"],
        "block_bytes": block,
        "read_share": config["read_share"],
        "pattern": config["pattern"],
        "offset_bytes": first,
        "range_bytes": length,
        **{name: config[name] for name in SHARES if config[name]},
    }
    # Models know no trims, and so not the parameter.
    if config.get("trim_share"):
        table["trim_share"] = config["trim_share"]
    if _uses(config, "zipf"):
        table["zipf_exponent"] = config["zipf_exponent"]
    if _uses(config, "strided"):
        table["stride_bytes"] = config["stride_bytes"]
    if config["load"] == "open":
        table["rate_per_s"] = float(config["rate"]) / int(config["streams"])
        table["arrivals"] = _arrivals(config)
    else:
        table["depth"] = config["depth"]
    return table


def _arrivals(config: Mapping[str, Value]) -> str | dict[str, Any]:
    match config["law"]:
        case "gamma":
            return {"gaps": {"kind": "gamma", "mean": 1.0, "c2": config["gap_c2"]}}
        case "ramp":
            return {"ramp": {"seconds": config["ramp_s"]}}
        case "pulses":
            return {"pulses": {"count": config["pulse_requests"]}}
        case law:
            return str(law)


def _uses(config: Mapping[str, Value], pattern: str) -> bool:
    return config["pattern"] == pattern or bool(config[f"{pattern}_share"])


def _range(config: Mapping[str, Value], block: int, target_bytes: int) -> tuple[int, int]:
    """Return first byte and length of the range of offsets, in whole blocks."""
    first = int(float(config["range_start_share"]) * target_bytes) // block * block
    length = min(int(float(config["range_share"]) * target_bytes), target_bytes - first)
    if length < block:
        raise StudyError(
            f"a request has {block} B, but the range of offsets has only {length} B",
            cure="use smaller requests, a larger target or a larger range_share",
        )
    return first, length


def _spc1(config: Mapping[str, Value], target_bytes: int) -> dict[str, Any]:  # noqa: ARG001 - as others
    return {
        "kind": "spc1_like",
        "bsus": config["bsus"],
        "load_share": config["load_share"],
        "variant": config["spc1_variant"],
    }


def _spc2(config: Mapping[str, Value], target_bytes: int) -> dict[str, Any]:  # noqa: ARG001 - as others
    part = str(config["spc2_part"])
    table = {"kind": "spc2_like", "part": part, "streams": config["streams"]}
    if part == "vod":
        return {**table, "rate_bytes_per_s": config["spc2_stream_rate"]}
    table |= {"block_bytes": config["spc2_block_bytes"], "depth": config["depth"]}
    return table | ({"phase": config["spc2_phase"]} if part == "lfp" else {})


def _trace(config: Mapping[str, Value]) -> dict[str, Any]:
    """Return the table of a trace, without the open file and its format; see `trace_files`."""
    is_timed = config["trace_timing"] == "as_timed"
    table = {"kind": "trace", "timing": config["trace_timing"], "start_s": config["trace_start_s"]}
    return table | (
        {"time_scale": config["trace_time_scale"]} if is_timed else {"depth": config["depth"]}
    )


def is_open(config: Mapping[str, Value]) -> bool:
    """Return whether requests of a point come at times of their own, whatever the target does.

    Examples
    --------
    >>> is_open({"workload": "spc1_like"}), is_open({"workload": "micro", "load": "closed"})
    (True, False)
    """
    workload = str(config["workload"])
    if workload == "micro":
        return bool(config["load"] == "open")
    if workload == "spc2_like":
        return bool(config["spc2_part"] == "vod")
    if workload == "trace":
        return bool(config["trace_timing"] == "as_timed")
    return workload == "spc1_like"


def writes(config: Mapping[str, Value]) -> bool:
    """Return whether a point writes to its target; anything not certainly read-only counts."""
    workload = str(config["workload"])
    if workload == "micro":
        return float(config["read_share"]) < 1.0
    if workload == "spc2_like":
        is_read_only = config["spc2_part"] == "lfp" and config["spc2_phase"] == "read_only"
        return not is_read_only and config["spc2_part"] != "vod"
    return True


def has_writes(config: Mapping[str, Value]) -> bool:
    """Return whether a point has requests that write: trims change data, and write none."""
    if config["workload"] == "micro":
        return float(config["read_share"]) + float(config["trim_share"]) < 1.0
    return writes(config)
