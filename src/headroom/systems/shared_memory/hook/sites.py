"""Addresses of code become functions and lines of sources.

A site is an address in the memory of the program; its map says which file is there, and the
headers of that file where its sections are when it is not moved. So position-independent programs
and libraries are resolved too.
"""

import re
import shutil
import struct
import subprocess
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_MAP = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ \d+ +(/.*?)$", re.MULTILINE)
_ELF = b"\x7fELF\x02\x01"
"""First bytes of a file for 64 bits, little-endian."""
_ELF_HEADERS = struct.Struct("<32xQ14xHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_LOADED = 1
_UNKNOWN = "??"


@dataclass(frozen=True, slots=True, order=True)
class Mapped:
    """A part of a file in memory: from `start` to before `end` (B), from `offset` of the file."""

    start: int
    end: int
    offset: int
    path: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where code is.

    Parameters
    ----------
    function
        Its function, empty if the program was compiled without `-g`.
    line
        `file:line`, or `module+0xaddress` if the file does not say, or `0xaddress`.
    """

    function: str
    line: str


def parse_maps(text: str) -> list[Mapped]:
    """Return the files in a text of /proc/PID/maps, by address.

    Examples
    --------
    >>> parse_maps("1000-2000 r-xp 00000200 08:01 42     /bin/true")
    [Mapped(start=4096, end=8192, offset=512, path='/bin/true')]
    """
    return sorted(
        Mapped(int(start, 16), int(end, 16), int(offset, 16), path)
        for start, end, offset, path in _MAP.findall(text)
    )


def resolve(sites: Sequence[int], maps: str) -> list[Place]:
    """Return where sites are: return addresses, so the code is before them.

    Parameters
    ----------
    sites
        Addresses in the memory of the program.
    maps
        Its /proc/PID/maps.

    Examples
    --------
    >>> resolve([0x10], "")
    [Place(function='', line='0xf')]
    """
    mapped = parse_maps(maps)
    starts = [part.start for part in mapped]
    found: dict[int, tuple[str, int]] = {}
    for site in sites:
        at = bisect_right(starts, site - 1) - 1
        if at >= 0 and site - 1 < mapped[at].end:
            part = mapped[at]
            found[site] = part.path, unmoved(part.path, site - 1 - part.start + part.offset)
    lines = {
        path: _lines(path, sorted({address for other, address in found.values() if other == path}))
        for path in {path for path, _ in found.values()}
    }
    return [_place(site, found, lines) for site in sites]


def _place(
    site: int,
    found: Mapping[int, tuple[str, int]],
    lines: Mapping[str, Mapping[int, Place]],
) -> Place:
    if site not in found:
        return Place("", f"{max(site - 1, 0):#x}")
    path, address = found[site]
    return lines[path].get(address, Place("", f"{Path(path).name}+{address:#x}"))


@cache
def _segments(path: str) -> tuple[tuple[int, int, int], ...]:
    """Return file offset, address and bytes of each loaded segment; none of a foreign file."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(64)
            if not head.startswith(_ELF):
                return ()
            start, size, count = _ELF_HEADERS.unpack_from(head)
            file.seek(start)
            table = file.read(size * count)
    except OSError:
        return ()
    rows = (_SEGMENT.unpack_from(table, size * row) for row in range(len(table) // size))
    return tuple((row[2], row[3], row[5]) for row in rows if row[0] == _LOADED)


def unmoved(path: str, offset: int) -> int:
    """Return the address that debug information uses for a place in a file."""
    for start, address, length in _segments(path):
        if start <= offset < start + length:
            return offset - start + address
    return offset


def _lines(path: str, addresses: Iterable[int]) -> dict[int, Place]:
    """Return the places that debug information knows; none if there is no addr2line."""
    addresses = list(addresses)
    program = shutil.which("addr2line")
    if program is None or not Path(path).is_file():
        return {}
    asked = "".join(f"{address:#x}\n" for address in addresses)
    done = subprocess.run(
        [program, "-C", "-f", "-e", path], input=asked, capture_output=True, text=True, check=False
    )
    answers = done.stdout.splitlines()
    if done.returncode != 0 or len(answers) != 2 * len(addresses):
        return {}
    places = {}
    for address, function, line in zip(addresses, answers[::2], answers[1::2], strict=True):
        if not line.startswith(_UNKNOWN) and not line.endswith((":?", ":0")):
            name = "" if function == _UNKNOWN else function
            places[address] = Place(name, line.partition(" (")[0])
    return places
