"""The parameters of storage workloads: one declaration for the measured and the modelled column.

Invariant: a parameter means the same in both columns, so that one seeded stream of requests drives
both; each belongs to named workloads, and a study that sets a parameter of another workload is
rejected.
"""

from collections.abc import Mapping
from typing import TypeAlias

from headroom.errors import StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Parameter, ParameterType, Value
from headroom.systems.storage.workloads.snia_cells import MIXES, SIZES
from headroom.systems.storage.workloads.workload_table import has_writes

WORKLOADS = ("micro", "spc1_like", "spc2_like", "postmark", "trace", "snia_like")
TRACE_FORMATS = ("fio_iolog", "blkparse", "msr", "spc")
BLOCK_WORKLOADS = ("micro", "spc1_like", "spc2_like", "trace", "snia_like")
"""Workloads that are requests at offsets of one target; PostMark works on files."""

_KIB = 1024
_Domain: TypeAlias = tuple[str, float, float, float]
"""Unit, default, lowest and highest value."""
_PAPER = "paper by Kang and Cheong: performance parameters"
_ASSUMED = "assumed"
_SNIA = "SNIA PTS 2.0.2: IOPS test"
_POSTMARK = "PostMark 1.51: its default"


def _number(
    name: str, domain: _Domain, source: str, text: str, *, kind: ParameterType = "float"
) -> Parameter:
    unit, default, low, high = domain
    return Parameter(name=name, type=kind, unit=unit, default=default, low=low, high=high,
                     source=source, description=text)  # fmt: skip


def _count(name: str, domain: _Domain, source: str, text: str) -> Parameter:
    return _number(name, domain, source, text, kind="int")


def _word(name: str, default: str, choices: tuple[str, ...], source: str, text: str) -> Parameter:
    return Parameter(name=name, type="str", unit="", default=default, choices=choices,
                     source=source, description=text)  # fmt: skip


WORKLOAD = _word("workload", "micro", WORKLOADS, _ASSUMED, "Load on the target")

DIRECT = _word("direct", "auto", ("auto", "yes", "no"), _ASSUMED,
               "Past the page cache (O_DIRECT); auto: where the file system has it")  # fmt: skip
INTERFACE = _word("interface", "auto", ("auto", "io_uring", "threads"), _ASSUMED,
                  "How requests are handed to the system; auto: threads in memory and where "
                  "io_uring is refused")  # fmt: skip

_MICRO = (
    _count("block_bytes", ("B", 4 * _KIB, 1, 64 << 20), f"{_PAPER}: 4 KiB random read is the "
           "representative point", "Length of a request"),
    _number("read_share", ("1", 1.0, 0.0, 1.0), _PAPER, "Share of reads among the requests"),
    _number("trim_share", ("1", 0.0, 0.0, 1.0), _ASSUMED,
            "Share of trims (holes in a file, discards of a block device); the rest after reads "
            "and trims is writes"),
    _word("pattern", "random", ("random", "sequential", "zipf", "strided"), _PAPER,
          "Order of the offsets"),
    _number("random_share", ("1", 0.0, 0.0, 1.0), _PAPER,
            "Share of random offsets in addition to another pattern"),
    _number("sequential_share", ("1", 0.0, 0.0, 1.0), _PAPER,
            "Share of sequential offsets in addition to another pattern"),
    _number("zipf_share", ("1", 0.0, 0.0, 1.0), _ASSUMED,
            "Share of offsets by popularity in addition to another pattern"),
    _number("strided_share", ("1", 0.0, 0.0, 1.0), _ASSUMED,
            "Share of strided offsets in addition to another pattern"),
    _number("zipf_exponent", ("1", 0.99, 0.01, 5.0), "assumed: as YCSB has it",
            "Exponent of the popularity of blocks in the pattern zipf"),
    _count("stride_bytes", ("B", 64 * _KIB, 1, 1 << 40), _ASSUMED,
           "Distance of successive offsets in the pattern strided"),
    _number("range_start_share", ("1", 0.0, 0.0, 1.0), _ASSUMED,
            "Where the range of offsets starts, as a share of the target"),
    _number("range_share", ("1", 1.0, 0.0, 1.0), _ASSUMED,
            "Length of the range of offsets, as a share of the target"),
    _word("load", "closed", ("closed", "open"), _ASSUMED,
          "closed: depth requests are always outstanding; open: requests are due at their own "
          "times, from which response times count"),
    _number("rate", ("1/s", 100.0, 1e-3, 1e9), _ASSUMED, "Requests per second of an open load"),
    _word("law", "poisson", ("poisson", "constant", "gamma", "ramp", "pulses"), _ASSUMED,
          "Arrivals of an open load: Poisson, at equal or gamma distributed gaps, Poisson with a "
          "rate that rises to the given one, or many at once and then a pause"),
    _number("gap_c2", ("1", 4.0, 0.01, 1000.0), _ASSUMED,
            "Squared coefficient of variation of gamma distributed gaps; above 1 in bursts"),
    _number("ramp_s", ("s", 10.0, 0.001, 1e6), _ASSUMED, "Length of the rise of a ramp"),
    _count("pulse_requests", ("1", 32, 1, 1_000_000), _ASSUMED,
           "Requests of a stream that a pulse brings at once"),
)  # fmt: skip
_STREAMED = (
    _count("depth", ("1", 1, 1, 4096), _PAPER, "Requests of a stream outstanding at once"),
    _count("streams", ("1", 1, 1, 1024), _PAPER, "Streams of requests"),
)
_SPC1_LIKE = (
    _count("bsus", ("1", 1, 1, 1_000_000), "SPC-1-like: 50 requests per second each",
           "Business scaling units at full load"),
    _number("load_share", ("1", 1.0, 0.001, 1.0), "SPC-1-like: ramp of 10 to 100%",
            "Requested share of the full load"),
    _word("spc1_variant", "published", ("published", "version_1"), "SPC-1-like",
          "Published generator: they differ in walks and starts of runs"),
)  # fmt: skip
_SPC2_LIKE = (
    _word("spc2_part", "lfp", ("lfp", "ldq", "vod"), "SPC-2-like",
          "Processing of large files, query of a large database, video on demand"),
    _word("spc2_phase", "read_only", ("write_only", "read_write", "read_only"), "SPC-2-like",
          "Phase of the processing of large files"),
    _count("spc2_block_bytes", ("B", 1024 * _KIB, 64 * _KIB, 1024 * _KIB),
           "SPC-2-like: 256 or 1024 KiB; 64 or 1024 KiB for ldq", "Length of a request"),
    _number("spc2_stream_rate", ("B/s", 8e5, 1.0, 1e12), "assumed: video of 6.4 Mbit/s",
            "Constant rate of each stream of video on demand"),
)  # fmt: skip
_POSTMARK_OWN = (
    _count("postmark_files", ("1", 500, 1, 10_000_000), _POSTMARK, "Files at the start"),
    _count("postmark_transactions", ("1", 500, 1, 1_000_000_000), _POSTMARK, "Transactions"),
    _count("postmark_low_bytes", ("B", 500, 0, 1 << 40), _POSTMARK, "Smallest file"),
    _count("postmark_high_bytes", ("B", 10_000, 1, 1 << 40), _POSTMARK, "Largest file"),
    _count("postmark_read_block_bytes", ("B", 512, 1, 64 << 20), _POSTMARK, "Piece of a read"),
    _count("postmark_write_block_bytes", ("B", 512, 1, 64 << 20), _POSTMARK, "Piece of a write"),
    _number("postmark_bias_read", ("1", 5.0, -1.0, 10.0), _POSTMARK,
            "Reads in ten reads and appends, any real number; -1 for neither"),
    _number("postmark_bias_create", ("1", 5.0, -1.0, 10.0), _POSTMARK,
            "Creations in ten creations and deletions, any real number; -1 for neither"),
    _count("postmark_folders", ("1", 0, 0, 1_000_000), _POSTMARK, "Subfolders"),
    _count("postmark_threads", ("1", 1, 1, 256), "PostMark 1.51: it has one", "Threads"),
    _word("postmark_sync", "never", ("never", "fdatasync", "fsync"),
          "PostMark 1.51: it never syncs", "How a file is made durable before it is closed"),
    _count("postmark_sync_every", ("1", 1, 1, 1_000_000_000), _ASSUMED,
           "Every how many-th written file is made durable, with postmark_sync"),
    _word("postmark_access", "buffered", ("buffered", "raw"), _POSTMARK,
          "Pieces gathered in a buffer of 4 KiB as by stdio, or one system call each"),
)  # fmt: skip
_TRACE = (
    Parameter(name="trace_file", type="str", unit="", default="", source=_ASSUMED,
              description="Trace to replay; a relative path starts at the study"),
    _word("trace_format", "auto", ("auto", *TRACE_FORMATS), _ASSUMED,
          "Format of the trace; auto tells by its first line"),
    _word("trace_timing", "as_timed", ("as_timed", "as_fast"), _ASSUMED,
          "At the times of the trace, or as soon as there is a place"),
    _number("trace_time_scale", ("1", 1.0, 1e-6, 1e6), _ASSUMED,
            "Factor on the times of the trace: 0.5 is twice as fast"),
    _number("trace_start_s", ("s", 0.0, 0.0, 1e9), _ASSUMED, "Time of the trace to start at"),
)  # fmt: skip
_SNIA_LIKE = (
    _number("snia_precondition", ("1", 2.0, 0.0, 100.0),
            "SNIA PTS: twice the user capacity, written in 128 KiB",
            "How often the whole target is written before the rounds"),
    Parameter(name="snia_mixes", type="str", unit="", default=MIXES, source=_SNIA,
              description="Mixes of a round: reads in a hundred requests, with commas"),
    Parameter(name="snia_sizes", type="str", unit="", default=SIZES, source=_SNIA,
              description="Sizes of a round, with commas; without those that the target cannot "
              "take"),
    _count("snia_rounds", ("1", 25, 5, 1000), "TKperf stops after 25 rounds", "Rounds at most"),
)  # fmt: skip
_RUN = (
    _number("seconds", ("s", 10.0, 0.0, 1e7), _ASSUMED,
            "Length of the run, or of one cell of a SNIA-like round; 0 for no limit"),
    _count("requests", ("1", 0, 0, 1 << 62), _ASSUMED, "Requests of the run; 0 for no limit"),
    _count("bytes", ("B", 0, 0, 1 << 62), _ASSUMED, "Bytes moved by the run; 0 for no limit"),
    _word("classes", "auto", ("auto", "kind", "stream"), _ASSUMED,
          "Report reads and writes apart, or the streams; auto: streams where they have names"),
    _word("sync", "never", ("never", "fdatasync", "fsync"), _ASSUMED,
          "How writes are made durable during the run"),
    _count("sync_every", ("1", 1, 1, 1_000_000_000), _ASSUMED, "Writes between two syncs"),
)  # fmt: skip
_DATA = (
    _number("compressible_share", ("1", 0.0, 0.0, 1.0), _ASSUMED,
            "Share of the written bytes that compress to nothing"),
)  # fmt: skip

_USERS: tuple[tuple[tuple[Parameter, ...], tuple[str, ...]], ...] = (
    (_MICRO, ("micro",)),
    (_STREAMED, ("micro", "spc2_like", "trace", "snia_like")),
    (_SPC1_LIKE, ("spc1_like",)),
    (_SPC2_LIKE, ("spc2_like",)),
    (_POSTMARK_OWN, ("postmark",)),
    (_TRACE, ("trace",)),
    (_SNIA_LIKE, ("snia_like",)),
    (_RUN, BLOCK_WORKLOADS),
    (_DATA, WORKLOADS),
)


def workload_parameters(*workloads: str) -> tuple[Parameter, ...]:
    """Return the parameters of some workloads, without `WORKLOAD` itself; of all without names.

    Examples
    --------
    >>> [one.name for one in workload_parameters("spc1_like")][:2]
    ['bsus', 'load_share']
    """
    asked = workloads or WORKLOADS
    by_name = {
        parameter.name: parameter
        for parameters, users in _USERS
        for parameter in parameters
        if any(name in users for name in asked)
    }
    return tuple(by_name.values())


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
    workload = str(config["workload"])
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
            f"'sync' is {config['sync']!r}, but no request writes",
            cure="remove it: there is nothing to make durable; or let some requests write",
        )
    if workload == "postmark":
        _check_postmark(config)
    if workload == "micro":
        _check_shares(config)
    if workload == "trace" and not config.get("trace_file"):
        raise StudyError(
            "the workload 'trace' has no trace to replay", cure='add trace_file = "my.trace"'
        )
    stops = ("seconds", "requests", "bytes")
    if workload not in {"postmark", "trace"} and not any(config.get(name) for name in stops):
        raise StudyError(
            "the run would never end: seconds, requests and bytes are all 0",
            cure="set one of them; the default is seconds = 10",
        )


def _check_shares(config: Mapping[str, Value]) -> None:
    if float(config["read_share"]) + float(config["trim_share"]) > 1.0:
        raise StudyError(
            f"read_share is {config['read_share']} and trim_share {config['trim_share']}: they "
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
    low, high = int(config["postmark_low_bytes"]), int(config["postmark_high_bytes"])
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
