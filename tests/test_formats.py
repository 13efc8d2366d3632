"""`docs/background/formats.md` draws what is on disk: its tables alone read each file here."""

import json
import os
import re
import sqlite3
import struct
import zlib
from pathlib import Path

import msgspec
import numpy as np
import pytest

from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.protocol.run import Run, Series
from headroom.systems.shared_memory.hook import read_trace
from headroom.systems.shared_memory.hook.record import TraceError
from headroom.systems.storage import native
from scripts.documents import ROOT

PAGE = (ROOT / "docs" / "background" / "formats.md").read_text(encoding="utf-8")
HEADER = ROOT / "src/headroom/systems/shared_memory/hook/runtime/format.h"
ROW = re.compile(r"^\| (\d+) \| (\d+|rest) \| `(\w+)` \|", re.MULTILINE)
CELL, BYTES = 4096, 1 << 16

Layout = dict[str, tuple[int, int]]


def layouts(heading: str) -> list[Layout]:
    """Return the tables of bytes under a heading: field -> offset and size."""
    section = re.split(rf"^#+ {heading}$", PAGE, flags=re.MULTILINE)[1]
    section = re.split(r"^#+ ", section, maxsplit=1, flags=re.MULTILINE)[0]
    tables = [ROW.findall(table) for table in section.split("| ---: | ---: |")[1:]]
    return [
        {name: (int(at), 0 if size == "rest" else int(size)) for at, size, name in table}
        for table in tables
    ]


def number(content: bytes, field: tuple[int, int]) -> int:
    at, size = field
    return int.from_bytes(content[at : at + size], "little")


def text(content: bytes, field: tuple[int, int]) -> bytes:
    return content[field[0] : sum(field)]


def packed(layout: Layout, **values: int | bytes) -> bytes:
    """Return the fields as bytes, which must fill their place."""
    content = bytearray(max(map(sum, layout.values())))
    assert set(values) == set(layout)
    for name, (at, size) in layout.items():
        value = values[name]
        raw = value if isinstance(value, bytes) else value.to_bytes(size, "little")
        assert len(raw) == size, name
        content[at : at + size] = raw
    return bytes(content)


def crc32c(content: bytes) -> int:
    """Castagnoli's checksum, bit by bit."""
    state = 0xFFFF_FFFF
    for byte in content:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F6_3B78 if state & 1 else 0)
    return state ^ 0xFFFF_FFFF


@pytest.mark.parametrize(
    "heading", ["The trace", "A chunk", "The verify log", "A record", "Stamped cells"]
)
def test_fields_follow_each_other_without_gaps(heading: str) -> None:
    for layout in layouts(heading):
        end = 0
        for at, size in layout.values():
            assert at == end, (heading, layout)
            end = at + size


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("journal") / "journal.sqlite"
    values = np.array([0.1, -0.0, np.pi])
    row = ReplicationRow(
        experiment="web", point_key="k", fingerprint="f", levels={"users": 1}, replication=0,
        seed=7, state="done", started_at="2026-01-01T00:00:00Z", wall_s=0.1,
        run=Run(series=(Series(metric="response_s", values=values, batch_size=5),)),
    )  # fmt: skip
    with Journal.open(path, create=True) as made:
        made.append(row)
    return path


def test_the_head_of_a_journal(journal: Path) -> None:
    content = journal.read_bytes()
    (layout,) = layouts("The journal")[:1]
    assert text(content, layout["magic"]) == b"SQLite format 3\0"
    numbers = (text(content, layout[name]) for name in ("user_version", "application_id"))
    assert [int.from_bytes(raw, "big") for raw in numbers] == [1, 0x4844_524D]


def test_the_columns_of_a_journal(journal: Path) -> None:
    with sqlite3.connect(journal) as connection:
        columns = connection.execute("SELECT name, type FROM pragma_table_info('replication')")
        documented = re.findall(r"^\| `(\w+)` \| (INTEGER|TEXT|REAL|BLOB) \|", PAGE, re.MULTILINE)
        assert documented == columns.fetchall()


def test_an_array_of_a_run(journal: Path) -> None:
    with sqlite3.connect(journal) as connection:
        ((blob,),) = connection.execute("SELECT run FROM replication")
    fields = msgspec.msgpack.decode(zlib.decompress(blob))
    assert "values" not in fields, "an empty field is left out"
    kind, shape, planes = fields["series"][0][1]
    assert (kind, shape) == ("f", [3])
    words = [int.from_bytes(planes[at :: shape[0]], "little") for at in range(shape[0])]
    doubles = [words[0], words[0] ^ words[1], words[0] ^ words[1] ^ words[2]]
    assert struct.pack("<3Q", *doubles) == struct.pack("<3d", 0.1, -0.0, np.pi)


def trace(*, version: int = 2, sequence: int = 0, has_end: bool = True) -> bytes:
    """Return a trace of one thread: a read of 8 bytes, then an allocation."""
    (head,), (chunk, end) = layouts("The trace"), layouts("A chunk")
    read = (5 * 0 + 3) << 59 | 1024 << 48 | 0x1000
    allocated = 31 << 59 | 3 << 48 | 0
    words = [31 << 59 | 8 << 48, 31 << 59 | 15 << 48, read, allocated, 0x2000, 64, 0x3000,
             31 << 59 | 16 << 48 | 1, 31 << 59 | 9 << 48 | 2]  # fmt: skip
    common: dict[str, int | bytes] = {"magic": b"CHNK", "thread": 0, "entries": 0}
    content = packed(head, magic=b"HRHOOK1\n", version=version, byte_order=0x0102_0304)
    content += packed(chunk, **common, kind=1, words=len(words), sequence=sequence)
    content += b"".join(word.to_bytes(8, "little") for word in words)
    if has_end:
        content += packed(chunk, **common, kind=3, words=8, sequence=0)
        content += packed(end, threads=1, stamps=3, chunks=1, lost_words=0, spent_ns=0,
                          unseen_ns=0, children_ns=0, forks=0)  # fmt: skip
    return content


def test_a_trace_is_read_as_drawn(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(trace())
    found = read_trace(path)
    assert (found.missing, found.threads, found.regions) == ("", 1, 1)
    assert (found.reads, found.read_bytes, found.writes) == (1, 8, 0)
    assert (found.allocations, found.allocated_bytes) == (1, 64)


def test_a_torn_trace_keeps_its_whole_chunks(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(trace(has_end=False))
    found = read_trace(path)
    assert found.reads == 1
    assert "without its last chunk" in found.missing


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (trace(version=1), "byte 8 "),
        (trace(sequence=1), "byte 32 "),
        (trace() + b"!", "continues after"),
    ],
)
def test_a_damaged_trace_is_an_error_with_its_byte(
    content: bytes, place: str, tmp_path: Path
) -> None:
    path = tmp_path / "trace"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=place):
        read_trace(path)


def test_events_have_the_documented_numbers() -> None:
    defined = dict(re.findall(r"#define EVENT_(\w+) (\d+)\n", HEADER.read_text(encoding="utf-8")))
    assert defined.pop("CODE") == "31"
    documented: dict[str, str] = {}
    for kinds, names in re.findall(r"^\| ([\d, ]+) \| ((?:`[A-Z_]+`(?:, )?)+) \|", PAGE, re.M):
        documented |= zip(re.findall(r"[A-Z_]+", names), kinds.split(", "), strict=True)
    assert documented == defined


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """Return target and log of a verifying run of eight writes, flushed after each fourth."""
    folder = tmp_path_factory.mktemp("verified")
    target, log = folder / "target", folder / "log"
    target.write_bytes(bytes(BYTES))
    with target.open("r+b") as written, log.open("wb") as kept:
        file = {"fd": written.fileno(), "bytes": BYTES}
        verify = {"run": 77, "cell_bytes": CELL, "log_fd": os.dup(kept.fileno()),
                  "reads_back": False}  # fmt: skip
        job = {
            "seed": 1, "target": {"kind": "files", "files": [file]}, "interface": "threads",
            "workload": {"kind": "micro", "read_share": 0.0, "block_bytes": CELL, "depth": 1,
                         "pattern": "sequential"},
            "stop": {"requests": 8}, "sync": {"every": 4, "kind": "fdatasync"}, "verify": verify,
        }  # fmt: skip
        native.run(job=json.dumps(job).encode())
    return target.read_bytes(), log.read_bytes()


def test_a_verify_log_is_written_as_drawn(verified: tuple[bytes, bytes]) -> None:
    _, log = verified
    (head,), (record,) = layouts("The verify log"), layouts("A record")
    size = max(map(sum, record.values()))
    assert (size, len(log) % size) == (40, 0)
    assert text(log, head["magic"]) == b"hr-log-1"
    named = {name: number(log, head[name]) for name in ("run", "cell_bytes", "target_bytes")}
    assert named == {"run": 77, "cell_bytes": CELL, "target_bytes": BYTES}
    records = [log[at : at + size] for at in range(0, len(log), size)]
    assert [number(one, record["checksum"]) for one in records] == [
        crc32c(one[: record["checksum"][0]]) for one in records
    ]
    first = {name: number(records[1], field) for name, field in record.items()}
    assert (first["type"], first["offset"], first["length"]) == (1, 0, CELL)
    assert first["generation"] == 1
    kinds = [number(one, record["type"]) for one in records[1:]]
    assert {kind: kinds.count(kind) for kind in (1, 2)} == {1: kinds.count(2), 2: kinds.count(1)}
    assert (kinds.count(3), kinds.count(4), kinds.count(5)) == (kinds.count(4), kinds.count(3), 0)
    assert kinds.count(3) > 0


def test_a_cell_is_stamped_as_drawn(verified: tuple[bytes, bytes]) -> None:
    target, _ = verified
    (layout,) = layouts("Stamped cells")
    cell = target[CELL : 2 * CELL]
    assert text(cell, layout["magic"]) == b"headroom"
    named = {name: number(cell, layout[name]) for name in ("run", "offset", "generation", "length")}
    assert named == {"run": 77, "offset": CELL, "generation": 2, "length": CELL}
    at, size = layout["checksum"]
    assert number(cell, (at, size)) == crc32c(cell[:at] + bytes(size) + cell[at + size :])
