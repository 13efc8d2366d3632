"""The parameters of storage workloads: one declaration for the measured and the modelled column.

Invariant: a parameter means the same in both columns, so that one seeded stream of requests drives
both; each belongs to named workloads, and a study that sets a parameter of another workload is
rejected.
"""

from typing import Annotated, Literal, TypeAlias, get_args

from headroom.experiment.protocol.declared import Declared, declared_by
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.system import Parameter
from headroom.systems.storage.workloads.snia_cells import Snia

_KIB = 1024
_PAPER = "paper by Kang and Cheong: performance parameters"
_REPRESENTATIVE = f"{_PAPER}: 4 KiB random read is the representative point"
_ASSUMED = "assumed"
_SPC1_RAMP = "SPC-1-like: ramp of 10 to 100%"
_SPC2_SIZES = "SPC-2-like: 256 or 1024 KiB; 64 or 1024 KiB for ldq"
_POSTMARK = "PostMark 1.51: its default"
_Share: TypeAlias = Annotated[float, parameter(low=0.0, high=1.0, source=_ASSUMED)]
_Bytes: TypeAlias = Annotated[int, parameter(unit="B", low=1, high=64 << 20, source=_POSTMARK)]
_Bias: TypeAlias = Annotated[float, parameter(low=-1.0, high=10.0, source=_POSTMARK)]
_Every: TypeAlias = Annotated[int, parameter(low=1, high=1_000_000_000, source=_ASSUMED)]
Sync: TypeAlias = Literal["never", "fdatasync", "fsync"]
TraceFormat: TypeAlias = Literal["auto", "fio_iolog", "blkparse", "msr", "spc"]
Workload: TypeAlias = Literal["micro", "spc1_like", "spc2_like", "postmark", "trace", "snia_like"]


class Asked(Declared, frozen=True, kw_only=True):
    """Which load, and how it reaches the target."""

    workload: Annotated[Workload, parameter(source=_ASSUMED)] = "micro"
    """Load on the target"""
    interface: Annotated[Literal["auto", "io_uring", "threads"], parameter(source=_ASSUMED)] = (
        "auto"
    )
    """How requests are handed to the system; auto: threads in memory and where io_uring is
    refused"""
    direct: Annotated[Literal["auto", "yes", "no"], parameter(source=_ASSUMED)] = "auto"
    """Past the page cache (O_DIRECT); auto: where the file system has it"""


class Micro(Declared, frozen=True, kw_only=True):
    """Requests of one kind."""

    block_bytes: Annotated[
        int, parameter(unit="B", low=1, high=64 << 20, source=_REPRESENTATIVE)
    ] = 4 * _KIB
    """Length of a request"""
    read_share: Annotated[float, parameter(low=0.0, high=1.0, source=_PAPER)] = 1.0
    """Share of reads among the requests"""
    trim_share: _Share = 0.0
    """Share of trims (holes in a file, discards of a block device); the rest after reads and trims
    is writes"""
    pattern: Annotated[
        Literal["random", "sequential", "zipf", "strided"], parameter(source=_PAPER)
    ] = "random"
    """Order of the offsets"""
    random_share: Annotated[float, parameter(low=0.0, high=1.0, source=_PAPER)] = 0.0
    """Share of random offsets in addition to another pattern"""
    sequential_share: Annotated[float, parameter(low=0.0, high=1.0, source=_PAPER)] = 0.0
    """Share of sequential offsets in addition to another pattern"""
    zipf_share: _Share = 0.0
    """Share of offsets by popularity in addition to another pattern"""
    strided_share: _Share = 0.0
    """Share of strided offsets in addition to another pattern"""
    zipf_exponent: Annotated[
        float, parameter(low=0.01, high=5.0, source="assumed: as YCSB has it")
    ] = 0.99
    """Exponent of the popularity of blocks in the pattern zipf"""
    stride_bytes: Annotated[int, parameter(unit="B", low=1, high=1 << 40, source=_ASSUMED)] = (
        64 * _KIB
    )
    """Distance of successive offsets in the pattern strided"""
    range_start_share: _Share = 0.0
    """Where the range of offsets starts, as a share of the target"""
    range_share: _Share = 1.0
    """Length of the range of offsets, as a share of the target"""
    load: Annotated[Literal["closed", "open"], parameter(source=_ASSUMED)] = "closed"
    """closed: depth requests are always outstanding; open: requests are due at their own times,
    from which response times count"""
    rate: Annotated[float, parameter(unit="1/s", low=1e-3, high=1e9, source=_ASSUMED)] = 100.0
    """Requests per second of an open load"""
    law: Annotated[
        Literal["poisson", "constant", "gamma", "ramp", "pulses"], parameter(source=_ASSUMED)
    ] = "poisson"
    """Arrivals of an open load: Poisson, at equal or gamma distributed gaps, Poisson with a rate
    that rises to the given one, or many at once and then a pause"""
    gap_c2: Annotated[float, parameter(low=0.01, high=1000.0, source=_ASSUMED)] = 4.0
    """Squared coefficient of variation of gamma distributed gaps; above 1 in bursts"""
    ramp_s: Annotated[float, parameter(unit="s", low=0.001, high=1e6, source=_ASSUMED)] = 10.0
    """Length of the rise of a ramp"""
    pulse_requests: Annotated[int, parameter(low=1, high=1_000_000, source=_ASSUMED)] = 32
    """Requests of a stream that a pulse brings at once"""


class Streamed(Declared, frozen=True, kw_only=True):
    """How many requests there are at once."""

    depth: Annotated[int, parameter(low=1, high=4096, source=_PAPER)] = 1
    """Requests of a stream outstanding at once"""
    streams: Annotated[int, parameter(low=1, high=1024, source=_PAPER)] = 1
    """Streams of requests"""


class Spc1(Declared, frozen=True, kw_only=True, tag="spc1_like", tag_field="kind",
           rename={"spc1_variant": "variant"}):  # fmt: skip
    """A load like that of SPC-1; its JSON is a table of the compiled part."""

    bsus: Annotated[
        int, parameter(low=1, high=1_000_000, source="SPC-1-like: 50 requests per second each")
    ] = 1
    """Business scaling units at full load"""
    load_share: Annotated[float, parameter(low=0.001, high=1.0, source=_SPC1_RAMP)] = 1.0
    """Requested share of the full load"""
    spc1_variant: Annotated[Literal["published", "version_1"], parameter(source="SPC-1-like")] = (
        "published"
    )
    """Published generator: they differ in walks and starts of runs"""


class Spc2(Declared, frozen=True, kw_only=True):
    """A load like that of SPC-2."""

    spc2_part: Annotated[Literal["lfp", "ldq", "vod"], parameter(source="SPC-2-like")] = "lfp"
    """Processing of large files, query of a large database, video on demand"""
    spc2_phase: Annotated[
        Literal["write_only", "read_write", "read_only"], parameter(source="SPC-2-like")
    ] = "read_only"
    """Phase of the processing of large files"""
    spc2_block_bytes: Annotated[
        int, parameter(unit="B", low=64 * _KIB, high=1024 * _KIB, source=_SPC2_SIZES)
    ] = 1024 * _KIB
    """Length of a request"""
    spc2_stream_rate: Annotated[
        float,
        parameter(unit="B/s", low=1.0, high=1e12, source="assumed: video of 6.4 Mbit/s"),
    ] = 8e5
    """Constant rate of each stream of video on demand"""


class Postmark(Declared, frozen=True, kw_only=True):
    """PostMark, and how it is carried out."""

    postmark_files: Annotated[int, parameter(low=1, high=10_000_000, source=_POSTMARK)] = 500
    """Files at the start"""
    postmark_transactions: Annotated[
        int, parameter(low=1, high=1_000_000_000, source=_POSTMARK)
    ] = 500
    """Transactions"""
    postmark_low_bytes: Annotated[
        int, parameter(unit="B", low=0, high=1 << 40, source=_POSTMARK)
    ] = 500
    """Smallest file"""
    postmark_high_bytes: Annotated[
        int, parameter(unit="B", low=1, high=1 << 40, source=_POSTMARK)
    ] = 10_000
    """Largest file"""
    postmark_read_block_bytes: _Bytes = 512
    """Piece of a read"""
    postmark_write_block_bytes: _Bytes = 512
    """Piece of a write"""
    postmark_bias_read: _Bias = 5.0
    """Reads in ten reads and appends, any real number; -1 for neither"""
    postmark_bias_create: _Bias = 5.0
    """Creations in ten creations and deletions, any real number; -1 for neither"""
    postmark_folders: Annotated[int, parameter(low=0, high=1_000_000, source=_POSTMARK)] = 0
    """Subfolders"""
    postmark_threads: Annotated[
        int, parameter(low=1, high=256, source="PostMark 1.51: it has one")
    ] = 1
    """Threads"""
    postmark_sync: Annotated[Sync, parameter(source="PostMark 1.51: it never syncs")] = "never"
    """How a file is made durable before it is closed"""
    postmark_sync_every: _Every = 1
    """Every how many-th written file is made durable, with postmark_sync"""
    postmark_access: Annotated[Literal["buffered", "raw"], parameter(source=_POSTMARK)] = "buffered"
    """Pieces gathered in a buffer of 4 KiB as by stdio, or one system call each"""


class Trace(Declared, frozen=True, kw_only=True):
    """A trace that is replayed."""

    trace_file: Annotated[str, parameter(source=_ASSUMED)] = ""
    """Trace to replay; a relative path starts at the study"""
    trace_format: Annotated[TraceFormat, parameter(source=_ASSUMED)] = "auto"
    """Format of the trace; auto tells by its first line"""
    trace_timing: Annotated[Literal["as_timed", "as_fast"], parameter(source=_ASSUMED)] = "as_timed"
    """At the times of the trace, or as soon as there is a place"""
    trace_time_scale: Annotated[float, parameter(low=1e-6, high=1e6, source=_ASSUMED)] = 1.0
    """Factor on the times of the trace: 0.5 is twice as fast"""
    trace_start_s: Annotated[float, parameter(unit="s", low=0.0, high=1e9, source=_ASSUMED)] = 0.0
    """Time of the trace to start at"""


class Requests(Declared, frozen=True, kw_only=True):
    """When a load of requests ends, and how it is reported."""

    seconds: Annotated[float, parameter(unit="s", low=0.0, high=1e7, source=_ASSUMED)] = 10.0
    """Length of the run, or of one cell of a SNIA-like round; 0 for no limit"""
    requests: Annotated[int, parameter(low=0, high=1 << 62, source=_ASSUMED)] = 0
    """Requests of the run; 0 for no limit"""
    bytes: Annotated[int, parameter(unit="B", low=0, high=1 << 62, source=_ASSUMED)] = 0
    """Bytes moved by the run; 0 for no limit"""
    classes: Annotated[Literal["auto", "kind", "stream"], parameter(source=_ASSUMED)] = "auto"
    """Report reads and writes apart, or the streams; auto: streams where they have names"""
    sync: Annotated[Sync, parameter(source=_ASSUMED)] = "never"
    """How writes are made durable during the run"""
    sync_every: _Every = 1
    """Writes between two syncs"""


class Data(Declared, frozen=True, kw_only=True):
    """What is written."""

    compressible_share: _Share = 0.0
    """Share of the written bytes that compress to nothing"""


WORKLOAD = declared_by(Asked)[0]
WORKLOADS = get_args(Workload)
STOPS = ("seconds", "requests", "bytes")
"""What ends a run of requests."""
BLOCK_WORKLOADS = tuple(name for name in WORKLOADS if name != "postmark")
"""Workloads that are requests at offsets of one target; PostMark works on files."""


_USERS: tuple[tuple[type[Declared], tuple[str, ...]], ...] = (
    (Micro, ("micro",)),
    (Streamed, ("micro", "spc2_like", "trace", "snia_like")),
    (Spc1, ("spc1_like",)),
    (Spc2, ("spc2_like",)),
    (Postmark, ("postmark",)),
    (Trace, ("trace",)),
    (Snia, ("snia_like",)),
    (Requests, BLOCK_WORKLOADS),
    (Data, WORKLOADS),
)


def workload_parameters(*workloads: str) -> tuple[Parameter, ...]:
    """Return the parameters of some workloads, without `WORKLOAD` itself; of all without names.

    Examples
    --------
    >>> [one.name for one in workload_parameters("spc1_like")][:2]
    ['bsus', 'load_share']
    """
    asked = workloads or WORKLOADS
    used = (struct for struct, users in _USERS if any(name in users for name in asked))
    return tuple(one for struct in used for one in declared_by(struct))
