"""Device parameters in data-sheet units, and their conversion for the native mechanisms.

Each class lists exactly what one parameter file must hold. Names include the unit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskNumbers:
    """A mechanical disk; see `parameters/` for what each number is."""

    capacity_gb: float
    sector_bytes: int
    heads: int
    zones: int
    rpm: float
    outer_mb_s: float
    inner_mb_s: float
    seek_single_ms: float
    seek_mean_ms: float
    seek_full_ms: float
    head_switch_ms: float
    write_settle_ms: float
    disk_overhead_ms: float
    interface_mb_s: float
    buffer_segments: int
    buffer_segment_kib: int
    disk_order: str

    @property
    def target_bytes(self) -> int:
        """Bytes for the user."""
        return self.disk_bytes

    @property
    def disk_bytes(self) -> int:
        """Bytes of a disk, in whole sectors."""
        return int(self.capacity_gb * 1e9) // self.sector_bytes * self.sector_bytes

    def mechanism(self, disks: int) -> dict[str, object]:
        """Return the parameters of the mechanism ``storage.disks``.

        Parameters
        ----------
        disks
            Like disks.
        """
        return {
            "disks": disks,
            "capacity_bytes": self.disk_bytes,
            "sector_bytes": self.sector_bytes,
            "heads": self.heads,
            "zones": self.zones,
            "rotation_s": 60 / self.rpm,
            "outer_bytes_per_s": self.outer_mb_s * 1e6,
            "inner_bytes_per_s": self.inner_mb_s * 1e6,
            "seek_single_s": self.seek_single_ms * 1e-3,
            "seek_mean_s": self.seek_mean_ms * 1e-3,
            "seek_full_s": self.seek_full_ms * 1e-3,
            "head_switch_s": self.head_switch_ms * 1e-3,
            "write_settle_s": self.write_settle_ms * 1e-3,
            "overhead_s": self.disk_overhead_ms * 1e-3,
            "bus_bytes_per_s": self.interface_mb_s * 1e6,
            "segments": self.buffer_segments,
            "segment_bytes": self.buffer_segment_kib * KIB,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayNumbers(DiskNumbers):
    """Disks behind controllers with a cache."""

    disks: int
    raid_level: int
    strip_kib: int
    link_mb_s: float
    link_overhead_us: float
    controllers: int
    controller_us: float
    cache_mib: float
    cache_block_kib: int
    write_cache_mib: float
    destage_high_share: float
    destage_low_share: float
    destage_jobs: int

    @property
    def target_bytes(self) -> int:
        """Bytes of the array for its user."""
        strip = self.strip_kib * KIB
        data_disks = {0: self.disks, 1: self.disks // 2, 5: self.disks - 1}[self.raid_level]
        return self.disk_bytes // strip * strip * data_disks

    def layout(self) -> dict[str, object]:
        """Return the parameters of the mechanism ``storage.layout``."""
        return {
            "disks": self.disks,
            "disk_bytes": self.disk_bytes,
            "level": self.raid_level,
            "strip_bytes": self.strip_kib * KIB,
        }

    def cache(self, left_shares: tuple[float, float], left_range_bytes: int) -> dict[str, object]:
        """Return the parameters of the mechanism ``storage.cache``.

        Parameters
        ----------
        left_shares
            Least and greatest share of the write cache left dirty by an earlier load.
        left_range_bytes
            Range from the start of the array that contains it (B).
        """
        return {
            "cache_bytes": int(self.cache_mib * KIB * KIB),
            "block_bytes": self.cache_block_kib * KIB,
            "capacity_bytes": self.target_bytes,
            "dirty_bytes": int(self.write_cache_mib * KIB * KIB),
            "high_share": self.destage_high_share,
            "low_share": self.destage_low_share,
            "extent_bytes": self.strip_kib * KIB,
            "fills_gaps": True,
            "left_shares": list(left_shares),
            "left_range_bytes": left_range_bytes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DramNumbers:
    """A device of memory behind ports."""

    capacity_gb: float
    ports: int
    link_mb_s: float
    link_overhead_us: float
    access_us: float
    memory_mb_s: float
    memory_channels: int

    @property
    def target_bytes(self) -> int:
        """Bytes of the device, in whole blocks of 4 KiB."""
        return int(self.capacity_gb * 1e9) // 4096 * 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class FlashNumbers:
    """A flash device; channels move data, dies read, program and erase."""

    capacity_gb: float
    over_provisioning: float
    channels: int
    dies_per_channel: int
    planes: int
    page_kib: int
    pages_per_block: int
    reserve_blocks: int
    read_us: float
    program_us: float
    erase_ms: float
    channel_mb_s: float
    link_mb_s: float
    command_us: float
    controllers: int
    write_buffer_mib: float
    filled_share: float
    preconditioned: float

    @property
    def dies(self) -> int:
        """Dies of all channels."""
        return self.channels * self.dies_per_channel

    @property
    def target_bytes(self) -> int:
        """Bytes for the user, in whole pages of all dies."""
        stripe = self.dies * self.page_kib * KIB
        return int(self.capacity_gb * 1e9) // stripe * stripe

    def mechanism(self) -> dict[str, object]:
        """Return the parameters of the mechanism ``storage.flash``."""
        return {
            "capacity_bytes": self.target_bytes,
            "over_provisioning": self.over_provisioning,
            "dies": self.dies,
            "planes": self.planes,
            "page_bytes": self.page_kib * KIB,
            "pages_per_block": self.pages_per_block,
            "reserve_blocks": self.reserve_blocks,
            "read_s": self.read_us * 1e-6,
            "program_s": self.program_us * 1e-6,
            "erase_s": self.erase_ms * 1e-3,
            "filled_share": self.filled_share,
            "preconditioned": self.preconditioned,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientNumbers:
    """The computer on which PostMark runs: its time, its file system, its page cache."""

    operation_us: float
    create_us: float
    delete_us: float
    byte_ns: float
    page_us: float
    file_cache_mib: float
    file_dirty_mib: float
    background_share: float
    write_back_jobs: int
    write_back_kib: int
    inode_bytes: int
    journal_bytes: int
    journal_mib: int
    journal_full_share: float
    commit_s: float
    checkpoint_share: float


DeviceNumbers: TypeAlias = DiskNumbers | ArrayNumbers | DramNumbers | FlashNumbers


def types_of(numbers: type[Any]) -> Mapping[str, Any]:
    """Return the type of each number.

    Examples
    --------
    >>> types_of(DiskNumbers)["rpm"]
    <class 'float'>
    """
    return {field.name: field.type for field in fields(numbers)}
