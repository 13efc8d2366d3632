"""Which parameters of a workload contradict each other.

Invariant: each parameter belongs to named workloads, and a study that sets a parameter of another
workload is rejected.
"""

from collections.abc import Mapping

from headroom.errors import StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Value
from headroom.systems.storage.workloads.workload_parameters import (
    STOPS,
    Asked,
    Micro,
    Postmark,
    Requests,
    Trace,
    workload_parameters,
)
from headroom.systems.storage.workloads.workload_table import has_writes


def check_workload(config: Mapping[str, Value]) -> None:
    """Refuse a value for a parameter that the chosen workload does not have.

    Parameters
    ----------
    config
        Value of every parameter. A value that differs from its default was given on purpose.

    Raises
    ------
    StudyError
        A parameter of another workload is set, or two parameters contradict each other.
    """
    workload = Asked.of(config).workload
    own = {parameter.name for parameter in workload_parameters(workload)}
    for parameter in workload_parameters():
        name = parameter.name
        if name in config and name not in own and config[name] != parameter.default:
            raise StudyError(
                f"the parameter {name!r} is set, but the workload {workload!r} does not have it",
                cure=f"remove it; {suggestion(name, sorted(own))}",
            )
    _check_pairs(config, workload)


def _check_pairs(config: Mapping[str, Value], workload: str) -> None:
    own = {parameter.name: parameter.default for parameter in workload_parameters(workload)}
    given = {name for name, default in own.items() if config.get(name) != default}
    for name, key, needed in _NEEDS:
        if name in given and key in {*own, "workload"} and config.get(key) not in needed:
            words = " or ".join(repr(word) for word in needed)
            raise StudyError(
                f"{name!r} is set, but it means nothing with {key} = {config.get(key)!r}",
                cure=f"remove it, or set {key} to {words}",
            )
    for name, pattern in (("zipf_exponent", "zipf"), ("stride_bytes", "strided")):
        if name in given and config["pattern"] != pattern and not config[f"{pattern}_share"]:
            raise StudyError(
                f"{name!r} is set, but no request has the pattern {pattern!r}",
                cure=f'remove it, or set pattern = "{pattern}" or {pattern}_share',
            )
    if "sync" in given and not has_writes(config):
        raise StudyError(
            f"'sync' is {Requests.of(config).sync!r}, but no request writes",
            cure="remove it: there is nothing to make durable; or let some requests write",
        )
    if workload == "postmark":
        _check_postmark(config)
    if workload == "micro":
        _check_shares(config)
    if workload == "trace" and not Trace.of(config).trace_file:
        raise StudyError(
            "the workload 'trace' has no trace to replay", cure='add trace_file = "my.trace"'
        )
    if workload not in {"postmark", "trace"} and not any(config.get(name) for name in STOPS):
        raise StudyError(
            "the run would never end: seconds, requests and bytes are all 0",
            cure="set one of them; the default is seconds = 10",
        )


def _check_shares(config: Mapping[str, Value]) -> None:
    micro = Micro.of(config)
    if micro.read_share + micro.trim_share > 1.0:
        raise StudyError(
            f"read_share is {micro.read_share} and trim_share {micro.trim_share}: they "
            "sum to more than 1",
            cure="lower one of them; the rest of 1 is writes",
        )


def _check_postmark(config: Mapping[str, Value]) -> None:
    for name in ("interface", "direct"):
        if config.get(name, "auto") != "auto":
            raise StudyError(
                f"{name!r} is set, but PostMark makes plain calls through the page cache",
                cure='remove it; files are made durable with postmark_sync = "fsync"',
            )
    postmark = Postmark.of(config)
    low, high = postmark.postmark_low_bytes, postmark.postmark_high_bytes
    if low > high:
        raise StudyError(
            f"postmark_low_bytes is {low}, above postmark_high_bytes, which is {high}",
            cure="make the largest file at least as large as the smallest",
        )


_NEEDS = (
    ("rate", "load", ("open",)),
    ("law", "load", ("open",)),
    ("gap_c2", "law", ("gamma",)),
    ("ramp_s", "law", ("ramp",)),
    ("pulse_requests", "law", ("pulses",)),
    ("depth", "load", ("closed",)),
    ("depth", "trace_timing", ("as_fast",)),
    ("depth", "spc2_part", ("lfp", "ldq")),
    ("streams", "workload", ("micro", "spc2_like", "snia_like")),
    ("classes", "workload", ("micro", "spc1_like", "spc2_like", "trace")),
    ("random_share", "pattern", ("sequential", "zipf", "strided")),
    ("sequential_share", "pattern", ("random", "zipf", "strided")),
    ("zipf_share", "pattern", ("random", "sequential", "strided")),
    ("strided_share", "pattern", ("random", "sequential", "zipf")),
    ("postmark_sync_every", "postmark_sync", ("fdatasync", "fsync")),
    ("trace_time_scale", "trace_timing", ("as_timed",)),
    ("spc2_phase", "spc2_part", ("lfp",)),
    ("spc2_block_bytes", "spc2_part", ("lfp", "ldq")),
    ("sync_every", "sync", ("fdatasync", "fsync")),
    ("spc2_stream_rate", "spc2_part", ("vod",)),
)
"""A parameter, another that gives it a meaning if the workload has both, and the values with which
it has one."""
