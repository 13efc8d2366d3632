"""The keys of `[experiment.system]` for `name = "storage"`: types only."""

from typing import Annotated, Literal, TypeAlias

import msgspec

from headroom.recording.observers.table import ObserveTable
from headroom.systems.storage.soft.soft_script import SoftScript
from headroom.systems.storage.workloads.sizes import Bytes

TargetKind: TypeAlias = Literal["file", "folder", "block_device", "nothing", "soft"]
TargetName: TypeAlias = Annotated[
    str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", max_length=60)
]


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the study file: unknown keys are refused."""


class TargetTable(_Table, frozen=True):
    """`[experiment.system.targets.NAME]`: the target of a load."""

    kind: TargetKind
    """`file`: a new file in the folder `path`, or the file `path`; `folder`: several files, or
    those of PostMark, in the folder `path`; `block_device`: the device `path`; `nothing`: no
    target, to show the cost of the tool; `soft`: a device made of a script."""
    path: str = ""
    """Folder, file or device; `{memory}` and `{disk}` are folders in memory and on a disk,
    `{study}` that of the study. Empty for `nothing` and `soft`."""
    bytes: Bytes | None = None
    """Size of new files (default 1 GiB), or the used part of a device or existing file (default
    all)."""
    files: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1
    """Files that make up a `folder` as target of requests."""
    script: SoftScript = SoftScript()
    """Behaviour of a `soft` device."""


class VerifyTable(_Table, frozen=True):
    """`[experiment.system.verify]`: written blocks carry their position, and are checked."""

    cell_bytes: Annotated[int, msgspec.Meta(ge=512, le=1 << 20)] = 4096
    """Bytes that are judged together: the sector or the block of the target."""
    reads_back: bool = True
    """Read everything that was written at the end of each run."""
    log_folder: str = ""
    """Folder on another device for a log of acknowledged writes, for a check after a crash; removed
    after a run without a fault."""


class StorageSetup(_Table, frozen=True):
    """`[experiment.system]` of a storage target that is measured."""

    targets: Annotated[dict[TargetName, TargetTable], msgspec.Meta(min_length=1)]
    """Targets of loads; the parameter `target` chooses by name."""
    reserve: Bytes = "256 MiB"
    """Space that stays free on the file system of a target, and in memory for `{memory}`."""
    sample_every_s: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 0.1
    """Distance (s) of the samples of a run over time."""
    drain_s: Annotated[float, msgspec.Meta(ge=0, le=3600)] = 10.0
    """Time (s) after the end of the load for due requests to start, and again for their answers;
    the rest count in `stuck_count`, with a note."""
    silence_s: Annotated[float, msgspec.Meta(gt=0, le=1e6)] = 300.0
    """Time (s) without an answer to opening, laying out files or requests after which the run
    ends."""
    processes: Annotated[int, msgspec.Meta(ge=1, le=256)] = 1
    """Processes that share a micro load, where one driver would be the limit (`tool_share`)."""
    observe: ObserveTable | None = None
    """Observe the machine, the load driver, and processes and control groups during each run."""
    verify: VerifyTable | None = None
    """Write blocks with their position, and check them when read back."""
