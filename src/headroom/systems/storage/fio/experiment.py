"""Convert a fio job to an experiment of a study.

Invariant: an experiment measures what the job measures, or the job is rejected; if the two differ
slightly in meaning, a note says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from headroom.systems.storage.fio.job_file import Job
from headroom.systems.storage.fio.options import Options

Table: TypeAlias = dict[str, Any]
REPLICATIONS = 7
"""An interval of a median needs 6 runs, a comparison 7."""
QUICK_S = 0.2
QUICK_BYTES = 64 << 20
_LARGE_BYTES = 64 << 10
"""From this size on, bytes per second are the requested quantity."""
_MIXES: dict[str, tuple[str, float, float]] = {
    "read": ("sequential", 1.0, 0.0), "randread": ("random", 1.0, 0.0),
    "write": ("sequential", 0.0, 0.0), "randwrite": ("random", 0.0, 0.0),
    "trim": ("sequential", 0.0, 1.0), "randtrim": ("random", 0.0, 1.0),
}  # fmt: skip
"""Pattern, share of reads and share of trims."""
_MIXED = {"rw": "sequential", "readwrite": "sequential", "randrw": "random"}
_ONE_AT_A_TIME = ("psync", "sync", "pvsync", "pvsync2", "vsync")
_ENGINES = {"io_uring": "io_uring", "libaio": "io_uring", "posixaio": "threads"}
_CHECKSUMS = frozenset(
    {"md5", "crc64", "crc32c", "crc32c-intel", "crc32", "crc16", "crc7", "xxhash", "sha512",
     "sha256", "sha1", "sha3-224", "sha3-256", "sha3-384", "sha3-512", "meta"}
)  # fmt: skip
_SMALLEST_CELL, _LARGEST_CELL = 512, 1 << 20


@dataclass(slots=True, kw_only=True)
class Asked:
    """A job's demands, as far as they are translated.

    Parameters
    ----------
    fixed, target, system
        Tables of the experiment.
    notes
        Differences between Headroom and fio, one sentence each.
    warm_up_s
        Time (s) that is discarded.
    """

    options: Options
    fixed: Table = field(default_factory=dict)
    target: Table = field(default_factory=dict)
    system: Table = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warm_up_s: float = 0.0

    @property
    def is_writing(self) -> bool:
        """Whether some requests write."""
        return float(self.fixed["read_share"]) + float(self.fixed.get("trim_share", 0.0)) < 1.0


def experiment_of(job: Job, *, name: str, here: Path) -> tuple[Table, list[str]]:
    """Return the experiment that asks what a job asks, and notes for people.

    Parameters
    ----------
    job
        Of the file.
    name
        Of the experiment.
    here
        Folder that relative paths start at, as fio does it.

    Raises
    ------
    StudyError
        The job needs something that has no counterpart.
    """
    asked = Asked(options=Options(job))
    _mix(asked)
    _block(asked)
    _engine(asked)
    _order(asked)
    _load(asked)
    size = _target(asked, job, here)
    _end(asked, size)
    _durable(asked)
    _content(asked)
    unchanged: dict[str, list[str]] = {}
    for option, reason in asked.options.rest():
        unchanged.setdefault(reason, []).append(option.text)
    asked.notes += [f"{', '.join(texts)}: {reason}" for reason, texts in unchanged.items()]
    return _experiment(asked, name), asked.notes


def _experiment(asked: Asked, name: str) -> Table:
    fixed, target = asked.fixed, asked.target
    quick_fixed = {**fixed, "seconds": round(QUICK_S + asked.warm_up_s, 3)}
    quick_target = dict(target)
    if "bytes" in target:
        quick_target["bytes"] = min(target["bytes"], max(QUICK_BYTES, fixed["block_bytes"]))
    experiment: Table = {
        "name": name,
        "title": asked.options.word("description", name),
        "responses": _responses(fixed),
        "fixed": fixed,
        "replications": {"count": REPLICATIONS},
        "system": {"name": "storage", "targets": {"fio": target}, **asked.system},
        "quick": {"fixed": quick_fixed, "system": {"targets": {"fio": quick_target}}},
    }
    if asked.warm_up_s:
        experiment["warm_up"] = {"method": "fixed", "seconds": asked.warm_up_s}
    return experiment


def _responses(fixed: Table) -> list[str]:
    if "sync" in fixed:
        # The throughput of a target counts the syncs, too.
        return ["class.write.throughput", "class.write.service_s_p50", "class.sync.service_s_p50"]
    rate = "bytes_per_s" if fixed["block_bytes"] >= _LARGE_BYTES else "throughput"
    own = ["response_s_p50", "response_s_p99"] if fixed.get("load") == "open" else []
    return [rate, *own, "service_s_p50", "service_s_p99", "tool_share"]


def _mix(asked: Asked) -> None:
    options = asked.options
    rw = options.word("rw", "read")
    reads, writes = options.option("rwmixread"), options.option("rwmixwrite")
    if rw in _MIXES:
        pattern, read_share, trim_share = _MIXES[rw]
    elif rw in _MIXED:
        last = max(
            (option for option in (reads, writes) if option),
            key=lambda option: option.line,
            default=None,
        )
        percent = 50 if last is None else options.number(last.name, 50)
        pattern, trim_share = _MIXED[rw], 0.0
        read_share = (percent if last is None or last is reads else 100 - percent) / 100
    else:
        raise options.refused(
            "rw",
            "has no counterpart",
            cure=f"write one of {', '.join([*_MIXES, *_MIXED])}, without a number after it",
        )
    asked.fixed |= {"pattern": pattern, "read_share": read_share}
    if trim_share:
        asked.fixed["trim_share"] = trim_share


def _of_directions(asked: Asked, name: str) -> list[int]:
    """Return the values of an option for the directions that the job has, each once."""
    trims = asked.fixed.get("trim_share", 0.0)
    is_used = (asked.fixed["read_share"] > 0.0, asked.is_writing, trims > 0.0)
    values = asked.options.by_direction(name)
    given = (value for value, used in zip(values, is_used, strict=True) if used)
    return list(dict.fromkeys(value for value in given if value is not None))


def _block(asked: Asked) -> None:
    sizes = _of_directions(asked, "bs") or [4096]
    if len(sizes) > 1:
        raise asked.options.refused(
            "bs", "has several sizes at once", cure="give each size its own job"
        )
    asked.fixed["block_bytes"] = sizes[0]
    aligned = asked.options.size("ba")
    if aligned not in {None, 0, sizes[0]}:
        raise asked.options.refused(
            "ba", "does not align to the size of a request", cure="remove it"
        )


def _engine(asked: Asked) -> None:
    options, fixed = asked.options, asked.fixed
    engine = options.word("ioengine", "psync")
    depth = options.number("iodepth", 1)
    if engine in _ONE_AT_A_TIME:
        fixed["interface"] = "threads"
        if depth > 1:
            asked.notes.append(f"iodepth={depth}: {engine} has one request at a time, as in fio")
        depth = 1
    elif engine in _ENGINES:
        fixed["interface"] = _ENGINES[engine]
        if engine != "io_uring":
            asked.notes.append(f"ioengine={engine}: the same depth by {fixed['interface']} here")
    else:
        raise options.refused(
            "ioengine",
            "has no counterpart",
            cure=f"write one of {', '.join([*_ONE_AT_A_TIME, *_ENGINES])}",
        )
    is_direct = options.flag("direct", default=not options.flag("buffered", default=True))
    fixed["direct"] = "yes" if is_direct else "no"
    if not is_direct and depth > 1:
        asked.notes.append(
            "iodepth without direct=1: fio waits at each request for the page cache; here they "
            "are outstanding at once"
        )
    fixed["depth"] = depth
    streams = options.number("numjobs", 1)
    if streams > 1:
        fixed["streams"] = streams


def _order(asked: Asked) -> None:
    options, fixed = asked.options, asked.fixed
    law, _, number = options.word("random_distribution", "random").partition(":")
    is_random = fixed["pattern"] == "random"
    if is_random and law == "zipf":
        try:
            fixed |= {"pattern": "zipf", "zipf_exponent": float(number or 1.1)}
        except ValueError as error:
            raise options.refused(
                "random_distribution", "has a centre", cure="write zipf:1.1"
            ) from error
    elif law not in {"random", "zipf"} and is_random:
        raise options.refused(
            "random_distribution", "has no counterpart", cure="write random or zipf:1.1"
        )
    percent = options.number("percentage_random", 100)
    if is_random and percent < 100:  # noqa: PLR2004 - per cent
        fixed["sequential_share"] = (100 - percent) / 100
    if is_random and law == "random" and not options.flag("norandommap"):
        asked.notes.append(
            "without norandommap fio asks each place once before any twice; here offsets are "
            "independent of each other"
        )


def _load(asked: Asked) -> None:
    options, fixed = asked.options, asked.fixed
    rates = [value for value in options.by_direction("rate_iops") if value is not None]
    name = "rate_iops"
    if not rates:
        name = "rate"
        bytes_per_s = [value for value in options.by_direction("rate") if value is not None]
        rates = [value // fixed["block_bytes"] for value in bytes_per_s]
    law = options.word("rate_process", "linear")
    if not any(rates):
        return
    if law not in {"linear", "poisson"}:
        raise options.refused("rate_process", "has no counterpart", cure="write linear or poisson")
    reads, writes, trims = rates[0], rates[1], rates[2]
    share = fixed["read_share"]
    if 0.0 < share < 1.0:
        if abs(reads / (reads + writes) - share) > 0.01:  # noqa: PLR2004 - one per cent of the mix
            raise options.refused(
                name,
                f"is the rate of reads and that of writes, but {share:.0%} are to be reads",
                cure="give both, as in rate_iops=700,300 with rwmixread=70",
            )
        rate = reads + writes
    else:
        rate = reads if share else trims if fixed.get("trim_share") else writes
    fixed.pop("depth")
    rate *= fixed.get("streams", 1)
    law = {"linear": "constant"}.get(law, law)
    fixed |= {"load": "open", "rate": float(rate), "law": law}
    asked.notes.append(
        f"{name}: requests are due at their own times here, whatever the number outstanding, and "
        "response times count from there; fio counts from when it sends them"
    )


def _target(asked: Asked, job: Job, here: Path) -> int | None:
    """Translate the target of the load; return its size (B) for one job, None if it is unknown."""
    options = asked.options
    filesize, size = options.size("filesize"), options.size("size")
    size = size if filesize is None else filesize
    path, target = _place(asked, job, here)
    is_made = Path(target["path"]).is_dir()
    if is_made and asked.is_writing:
        asked.notes.append(
            "fio writes into a file whose places are only reserved, unless it is there already; "
            "here each block has been written before, so that syncs may cost less"
        )
    if size is None and is_made:
        raise job.refused(None, "has no size", cure="add size=1g, as fio needs it too")
    asked.target |= target
    if size is None:
        return path.stat().st_size or None
    asked.target["bytes"] = size * target.get("files", 1)
    return size


def _place(asked: Asked, job: Job, here: Path) -> tuple[Path, Table]:
    """Return the path that fio would use, and the target that it becomes."""
    filename, folder = asked.options.option("filename"), asked.options.option("directory")
    for option in (filename, folder):
        if option is not None and ":" in option.value:
            raise job.refused(option, "names several places", cure="give each its own job")
    start = here / (folder.value if folder else "")
    streams = asked.fixed.get("streams", 1)
    if filename is None:
        if streams == 1:
            return start, {"kind": "file", "path": str(start)}
        asked.notes.append(
            f"numjobs={streams}: one file for each, as in fio; random requests go to all of them"
        )
        return start, {"kind": "folder", "path": str(start), "files": streams}
    path = start / filename.value
    if path.exists():
        return path, {
            "kind": "block_device" if path.is_block_device() else "file",
            "path": str(path),
        }
    asked.notes.append(f"{filename.text}: not there; a file of Headroom's own in its folder")
    return path, {"kind": "file", "path": str(path.parent)}


def _end(asked: Asked, size: int | None) -> None:
    options, fixed = asked.options, asked.fixed
    runtime, ramp = options.seconds("runtime"), options.seconds("ramp_time") or 0.0
    is_timed = options.flag("time_based")
    moved = options.size("io_size")
    if is_timed and not runtime:
        raise options.refused("time_based", "has no runtime", cure="add runtime=30s")
    fixed["seconds"] = 0.0 if runtime is None else round(runtime + ramp, 6)
    if not is_timed:
        whole = moved or size
        if whole:
            fixed["bytes"] = whole * fixed.get("streams", 1)
        elif not runtime:
            raise options.refused("rw", "has no end", cure="add runtime=30s and time_based")
    asked.warm_up_s = ramp


def _durable(asked: Asked) -> None:
    counts = {name: asked.options.number(name, 0) for name in ("fsync", "fdatasync")}
    asked_for = [name for name, count in counts.items() if count]
    if not asked.is_writing or not asked_for:
        return
    if len(asked_for) > 1:
        raise asked.options.refused(
            "fsync", "cannot be combined with fdatasync", cure="keep one of them"
        )
    asked.fixed |= {"sync": asked_for[0], "sync_every": counts[asked_for[0]]}


def _content(asked: Asked) -> None:
    options = asked.options
    percent = options.number("buffer_compress_percentage", 0)
    share = 1.0 if options.flag("zero_buffers") else percent / 100
    if share:
        asked.fixed["compressible_share"] = share
    method = options.word("verify", "0")
    if method in {"0", "none", "null"} or not options.flag("do_verify", default=True):
        return
    if method not in _CHECKSUMS or not asked.is_writing:
        raise options.refused(
            "verify",
            "has no counterpart: only checksums of what the same job writes are checked",
            cure="remove it, or take a checksum, such as crc32c, in a job that writes",
        )
    block = asked.fixed["block_bytes"]
    cell = min(block & -block, _LARGEST_CELL)
    if cell < _SMALLEST_CELL:
        raise options.refused("bs", "is too odd for verified data", cure="take a multiple of 512")
    asked.system["verify"] = {"cell_bytes": cell}
    asked.notes.append(f"verify={method}: each written cell holds its identity, and is read back")


def names_of(jobs: Sequence[Job]) -> list[str]:
    """Return names that a study may use: letters, digits, `_`; no two the same."""
    names: list[str] = []
    for job in jobs:
        plain = "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in job.name)
        plain = plain if plain[0].isalpha() else f"job_{plain}"
        taken = sum(1 for name in names if name == plain or name.startswith(f"{plain}_"))
        names.append(f"{plain}_{taken + 1}" if plain in names else plain)
    return names
