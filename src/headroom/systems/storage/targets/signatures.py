"""Contents of a block device: signatures of file systems, partition tables and volumes.

Invariant: reads only. A signature that is found is certain; finding none does not prove that a
device is empty, so writing to any device requires a confirmation.

Source: the offsets that the formats themselves fix, as `wipefs` of util-linux looks for them.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_K = 1024
_SECTORS = (512, 4096)


@dataclass(frozen=True, slots=True)
class Signature:
    """Bytes that a format has at an offset (B); a negative offset counts from the end."""

    name: str
    offset: int
    magic: bytes


def _at(name: str, magic: bytes, *offsets: int) -> list[Signature]:
    return [Signature(name, offset, magic) for offset in offsets]


_ZFS = "a ZFS pool"
_ZFS_LABEL = 256 * _K
_UBERBLOCKS = 128 * _K
_UBERBLOCK = 0x00BAB10C
_UBERBLOCK_MAGICS = tuple(_UBERBLOCK.to_bytes(8, order) for order in ("little", "big"))
_MD = (0xA92B4EFC).to_bytes(4, "little")
_BCACHE = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")

LVM = "an LVM physical volume"

SIGNATURES: tuple[Signature, ...] = (
    *_at("an ext file system", b"\x53\xef", 1080),
    *_at("an XFS file system", b"XFSB", 0),
    *_at("a Btrfs file system", b"_BHRfS_M", 64 * _K + 64),
    *_at("an F2FS file system", (0xF2F52010).to_bytes(4, "little"), _K),
    *_at("a ReiserFS file system", b"ReIsEr", 64 * _K + 52),
    *_at("a JFS file system", b"JFS1", 32 * _K),
    *_at("a GFS2 file system", (0x01161970).to_bytes(4, "big"), 64 * _K),
    *_at("an OCFS2 file system", b"OCFSV2", _K, 2 * _K, 4 * _K, 8 * _K),
    *_at("an EROFS file system", (0xE0F5E1E2).to_bytes(4, "little"), _K),
    *_at("a SquashFS file system", b"hsqs", 0),
    *_at("an NTFS file system", b"NTFS    ", 3),
    *_at("an exFAT file system", b"EXFAT   ", 3),
    *_at("a FAT file system", b"FAT12   ", 54),
    *_at("a FAT file system", b"FAT16   ", 54),
    *_at("a FAT file system", b"FAT32   ", 82),
    *_at("an HFS+ file system", b"H+", _K),
    *_at("an APFS container", b"NXSB", 32),
    *_at("an ISO 9660 image", b"CD001", 32 * _K + 1),
    *_at("a UDF image", b"NSR0", *range(32 * _K + 1, 64 * _K, 2 * _K)),
    *_at("swap space", b"SWAPSPACE2", *(size - 10 for size in (4 * _K, 8 * _K, 16 * _K, 64 * _K))),
    *_at("a hibernated system", b"S1SUSPEND", *(size - 10 for size in (4 * _K, 8 * _K, 64 * _K))),
    *_at(LVM, b"LVM2 001", *(sector * 512 + 24 for sector in range(4))),
    *_at("a LUKS volume", b"LUKS\xba\xbe", 0),
    *_at("a LUKS volume", b"SKUL\xba\xbe", 16 * _K, 32 * _K, 64 * _K),
    *_at("a member of a RAID (md)", _MD, 0, 4 * _K, -8 * _K, -12 * _K),
    *_at("a bcache or bcachefs device", _BCACHE, 4 * _K + 24),
    *_at("a Ceph BlueStore device", b"bluestore block device", 0),
    *_at("an Oracle ASM disk", b"ORCLDISK", 32),
    *_at("a VMFS volume", (0xC001D00D).to_bytes(4, "little"), 1024 * _K),
    *_at("a partition table (GPT)", b"EFI PART", *_SECTORS, *(-size for size in _SECTORS)),
    *_at("a partition table (MBR) or a boot sector", b"\x55\xaa", 510),
)


def signatures_of(descriptor: int, size_bytes: int) -> tuple[str, ...]:
    """Return the names of the signatures on an open device or file, each once.

    Parameters
    ----------
    descriptor
        Open for reading.
    size_bytes
        Its size (B).
    """
    names = (
        signature.name
        for signature in _all_for(size_bytes)
        if _is_there(descriptor, signature, size_bytes)
    )
    found = dict.fromkeys(names)
    return (*found, _ZFS) if _has_zfs_label(descriptor, size_bytes) else tuple(found)


def _all_for(size_bytes: int) -> Iterator[Signature]:
    yield from SIGNATURES
    # Version 0.90 of md is in the last whole 64 KiB that has another 64 KiB behind it at most.
    old_md = (size_bytes & ~(64 * _K - 1)) - 64 * _K
    if old_md >= 0:
        yield Signature("a member of a RAID (md)", old_md, _MD)


def _has_zfs_label(descriptor: int, size_bytes: int) -> bool:
    """Return whether one of the four labels of ZFS is there, in the byte order of any machine.

    Two are at the start, two before the last multiple of their size. The second half of each is a
    ring of uberblocks, every one of which begins with its magic number.
    """
    end = size_bytes // _ZFS_LABEL * _ZFS_LABEL
    for label in (0, _ZFS_LABEL, end - 2 * _ZFS_LABEL, end - _ZFS_LABEL):
        ring = os.pread(descriptor, _UBERBLOCKS, max(label, 0) + _ZFS_LABEL - _UBERBLOCKS)
        if any(ring.startswith(_UBERBLOCK_MAGICS, place) for place in range(0, len(ring), _K)):
            return True
    return False


def _is_there(descriptor: int, signature: Signature, size_bytes: int) -> bool:
    start = signature.offset if signature.offset >= 0 else size_bytes + signature.offset
    if start < 0:
        return False
    return os.pread(descriptor, len(signature.magic), start) == signature.magic


def in_words(names: Sequence[str]) -> str:
    """Return names as part of a sentence; nothing for none: a new disk holds nothing known.

    Examples
    --------
    >>> in_words(["swap space", "a LUKS volume"]), in_words([])
    ('swap space and a LUKS volume', '')
    """
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last
