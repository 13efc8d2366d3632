"""Reads a SQLite file page by page, past any damage: the rows of one, and the state of its log.

SQLite finds a row through the file's header and the inner pages of a tree, so one damaged page
there hides every row below it. This module reads each leaf page independently and recovers whatever
the leaf still holds. Format: https://www.sqlite.org/fileformat2.html, which SQLite keeps stable.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Stored: TypeAlias = int | float | str | bytes | None
_Kind: TypeAlias = Literal["table", "index"]

DEFAULT_PAGE_BYTES = 4096
_MAGIC = b"SQLite format 3\0"
_LEAVES: Mapping[int, _Kind] = {0x0D: "table", 0x0A: "index"}
_LOG_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_MAX_HOLE = 256
"""Frames of zeros after which the log is not searched further: it may be a hole of gigabytes."""
_LOG_MAGIC = 0x377F_0682
"""Of a log whose checksums take little-endian words; the next number is of big-endian ones."""
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_FLOAT, _ZERO, _ONE, _FIRST_BLOB = 7, 8, 9, 12


class UnreadableCellError(ValueError):
    """A cell points outside its page or file, or has impossible content."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A row of some table, or an entry of some index (which has no number)."""

    kind: _Kind
    row_id: int
    values: tuple[Stored, ...]


def read_cells(path: Path) -> Iterator[Cell]:
    """Yield every readable cell of a file and its write-ahead log, in the order of pages.

    Rows come from all tables; the caller distinguishes them by their values.
    """
    with _Pages(path) as pages:
        for number in range(2, pages.count + 1):  # page 1 holds the schema
            yield from _cells_of(pages, pages.page(number))


def broken_log(path: Path) -> tuple[bool, int]:
    """Return whether the log of a file ends within a write, and how many commits are behind that.

    SQLite passes over everything from the first frame with a wrong checksum on. After a loss of
    power that is one commit at most, which no one was told of.
    """
    with _Pages(path) as pages:
        return pages.broken_log()


class _Pages:
    """The pages of a file as of the last commit in its log."""

    def __init__(self, path: Path) -> None:
        self._files: list[BinaryIO] = []
        self._main = self._opened(path)
        self._log = self._opened(path.with_name(path.name + "-wal"))
        self.page_bytes = self._page_bytes()
        self._frames = self._committed_frames()
        main_bytes = self._main.seek(0, 2) if self._main else 0
        self.count = max(-(-main_bytes // self.page_bytes), *self._frames, 0, 0)

    def __enter__(self) -> "_Pages":
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            file.close()

    def page(self, number: int) -> bytes:
        """Return a page, filled up with zeros if the file ends within it."""
        if number in self._frames:
            content = _read_at(self._log, self._frames[number], self.page_bytes)
        else:
            content = _read_at(self._main, (number - 1) * self.page_bytes, self.page_bytes)
        return content.ljust(self.page_bytes, b"\0")

    def _opened(self, path: Path) -> BinaryIO | None:
        if not path.exists():
            return None
        file = path.open("rb")
        self._files.append(file)
        return file

    def _page_bytes(self) -> int:
        header = _read_at(self._main, 0, 18)
        stated = int.from_bytes(header[16:18], "big")
        if not header.startswith(_MAGIC):
            stated = int.from_bytes(_read_at(self._log, 8, 4), "big")
        stated = 65_536 if stated == 1 else stated
        is_possible = 512 <= stated <= 65_536 and stated & (stated - 1) == 0  # noqa: PLR2004 - format
        return stated if is_possible else DEFAULT_PAGE_BYTES

    def _committed_frames(self) -> dict[int, int]:
        """Return where in the log the newest committed version of a page begins."""
        committed: dict[int, int] = {}
        open_frames: dict[int, int] = {}
        salt = self._log_salt()
        for offset, header in self._frame_headers():
            number, size_after_commit = struct.unpack(">II", header[:8])
            if header[8:16] == salt:
                open_frames[number] = offset + _FRAME_HEADER_BYTES
                if size_after_commit:
                    committed |= open_frames
                    open_frames = {}
        return committed

    def _frame_headers(self) -> Iterator[tuple[int, bytes]]:
        offset, hole = _LOG_HEADER_BYTES, 0
        while hole < _MAX_HOLE and (
            len(header := _read_at(self._log, offset, _FRAME_HEADER_BYTES)) == _FRAME_HEADER_BYTES
        ):
            yield offset, header
            hole = 0 if any(header) else hole + 1
            offset += _FRAME_HEADER_BYTES + self.page_bytes

    def _log_salt(self) -> bytes:
        """Return what marks the frames of the log as its own; a damaged header has lost it."""
        place = 16 if self._log_sums() else _LOG_HEADER_BYTES + 8
        return _read_at(self._log, place, 8)

    def _log_sums(self) -> tuple[int, int] | None:
        """Return the checksum of the log's header, with which that of its frames begins."""
        header = _read_at(self._log, 0, _LOG_HEADER_BYTES)
        if len(header) < _LOG_HEADER_BYTES or header[:3] != _LOG_MAGIC.to_bytes(4, "big")[:3]:
            return None
        sums = self._sums(header[:24], (0, 0))
        return sums if sums == struct.unpack(">II", header[24:]) else None

    def _sums(self, content: bytes, sums: tuple[int, int]) -> tuple[int, int]:
        """Return the checksum of SQLite's log: s0 += x0 + s1, s1 += x1 + s0 for each two words."""
        is_big = _read_at(self._log, 3, 1) == bytes([(_LOG_MAGIC & 0xFF) + 1])
        words = np.frombuffer(content, ">u4" if is_big else "<u4").astype(np.uint32).reshape(-1, 2)
        powers = _powers(len(words))
        added = np.stack([words[:, 0], words[:, 0] + words[:, 1]], axis=1)
        rest = powers[-1] @ np.array(sums, np.uint32)
        total = (powers[-2::-1] @ added[:, :, None]).sum(axis=0, dtype=np.uint32)[:, 0] + rest
        return int(total[0]), int(total[1])

    def broken_log(self) -> tuple[bool, int]:
        """See the function of this name."""
        sums, salt = self._log_sums(), self._log_salt()
        is_broken, commit_count = False, 0
        for offset, header in self._frame_headers():
            if sums is not None:
                page = _read_at(self._log, offset + _FRAME_HEADER_BYTES, self.page_bytes)
                if len(page) == self.page_bytes and header[8:16] == salt:
                    sums = self._sums(header[:8] + page, sums)
                if header[8:] == salt + struct.pack(">II", *sums):
                    continue
                sums = None
            # A frame of an earlier log has another salt in both halves.
            if header[8:12] == salt[:4] or header[12:16] == salt[4:]:
                is_broken = True
                commit_count += any(header[4:8])
        return is_broken, commit_count


@cache
def _powers(count: int) -> npt.NDArray[np.uint32]:
    """Return what each of `count` steps of the log's checksum makes of the sums before it."""
    powers = np.empty((count + 1, 2, 2), np.uint32)
    powers[0] = np.eye(2)
    for number in range(count):
        powers[number + 1] = np.array([[1, 1], [1, 2]], np.uint32) @ powers[number]
    return powers


def _read_at(file: BinaryIO | None, offset: int, size: int) -> bytes:
    if file is None:
        return b""
    file.seek(offset)
    return file.read(size)


def _cells_of(pages: _Pages, page: bytes) -> Iterator[Cell]:
    kind = _LEAVES.get(page[0])
    if kind is None:
        return
    (cell_count,) = struct.unpack(">H", page[3:5])
    for place in range(8, min(8 + 2 * cell_count, len(page) - 1), 2):
        (offset,) = struct.unpack(">H", page[place : place + 2])
        try:
            yield _cell(pages, page, offset, kind)
        except (UnreadableCellError, IndexError, UnicodeDecodeError, struct.error):
            continue


def _cell(pages: _Pages, page: bytes, offset: int, kind: _Kind) -> Cell:
    size, offset = _varint(page, offset)
    row_id = 0
    if kind == "table":
        row_id, offset = _varint(page, offset)
    return Cell(kind, row_id, _record(_payload(pages, page, offset, size, kind)))


def _payload(pages: _Pages, page: bytes, offset: int, size: int, kind: _Kind) -> bytes:
    """Return the content of a cell; long content continues in overflow pages."""
    usable = pages.page_bytes
    if size > pages.count * usable:
        raise UnreadableCellError("longer than the file")
    most = usable - 35 if kind == "table" else (usable - 12) * 64 // 255 - 23
    if size <= most:
        return _exactly(page[offset : offset + size], size)
    least = (usable - 12) * 32 // 255 - 23
    fitted = least + (size - least) % (usable - 4)
    local = fitted if fitted <= most else least
    content = bytearray(_exactly(page[offset : offset + local], local))
    following = page[offset + local : offset + local + 4]
    while len(content) < size:
        number = int.from_bytes(following, "big")
        if not 2 <= number <= pages.count:  # noqa: PLR2004 - page 1 holds the schema
            raise UnreadableCellError("continues outside the file")
        more = pages.page(number)
        following = more[:4]
        content += more[4 : 4 + size - len(content)]
    return bytes(content)


def _exactly(content: bytes, size: int) -> bytes:
    if len(content) != size:
        raise UnreadableCellError("ends outside its page")
    return content


def _record(payload: bytes) -> tuple[Stored, ...]:
    header_bytes, place = _varint(payload, 0)
    types = []
    while place < header_bytes:
        serial, place = _varint(payload, place)
        types.append(serial)
    values, place = [], header_bytes
    for serial in types:
        size = _value_bytes(serial)
        values.append(_value(serial, _exactly(payload[place : place + size], size)))
        place += size
    return tuple(values)


def _value_bytes(serial: int) -> int:
    if serial >= _FIRST_BLOB:
        return (serial - _FIRST_BLOB) // 2
    return 8 if serial == _FLOAT else _INTEGER_BYTES.get(serial, 0)


def _value(serial: int, content: bytes) -> Stored:
    if serial >= _FIRST_BLOB:
        return content.decode() if serial % 2 else content
    if serial == _FLOAT:
        (number,) = struct.unpack(">d", content)
        return float(number)
    if serial in _INTEGER_BYTES:
        return int.from_bytes(content, "big", signed=True)
    if serial in (_ZERO, _ONE):
        return serial - _ZERO
    if serial:
        raise UnreadableCellError(f"unknown type {serial}")
    return None


def _varint(content: bytes, place: int) -> tuple[int, int]:
    """Return a number of one to nine bytes, and the place behind it."""
    value = 0
    for length in range(8):
        byte = content[place + length]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:  # noqa: PLR2004 - the top bit says that more follows
            return value, place + length + 1
    return value << 8 | content[place + 8], place + 9
