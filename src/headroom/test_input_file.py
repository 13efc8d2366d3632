"""Files of others: what is no sensible regular file is refused in one line, and not read."""

import gzip
import json
import os
import socket
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom import input_file
from headroom.errors import StudyError
from headroom.input_file import MAX_DEPTH, MAX_TEXT_BYTES, is_deep, read_file, read_text, unpack


def odd_places(folder: Path) -> dict[str, Path]:
    """Return what is no file that can be read whole, by what it is."""
    fifo, device, inside, listener, huge, absent = (folder / name for name in "abcdef")
    os.mkfifo(fifo)
    device.symlink_to("/dev/zero")
    inside.mkdir()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(listener))
    huge.touch()
    os.truncate(huge, 10 * 10**9)
    return {
        "a FIFO": fifo, "a device": device, "a folder": inside, "a socket": listener,
        "10,000,000,000 bytes": huge, "no such file": absent,
    }  # fmt: skip


def test_what_is_no_file_of_sensible_size_is_refused_in_one_line(tmp_path: Path) -> None:
    """Cause: opening the FIFO waited for a writer, and reading the device took all memory."""
    for what, path in {**odd_places(tmp_path), "no such file": Path("a\0b")}.items():
        with pytest.raises(StudyError, match=what) as caught:
            read_file(path)
        assert str(path) in caught.value.message.splitlines()[-1]


@pytest.mark.parametrize("what", ["more than 1,000 bytes; at most 1,000", "a FIFO"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault: at the first look it is small, then it grows with each, or is a FIFO."""
    path, look = tmp_path / "log.json", input_file._check
    path.write_bytes(b"x" * 10)

    def change(*seen: Any) -> None:
        look(*seen)
        if what == "a FIFO":
            path.unlink()
            os.mkfifo(path)
        else:
            path.write_bytes(path.read_bytes() + b"x" * 600)

    monkeypatch.setattr(input_file, "_check", change)
    with pytest.raises(StudyError, match=what):
        read_file(path, most_bytes=1000)


def test_a_text_has_no_byte_order_mark_and_is_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbfname = 1")
    assert read_text(path) == "name = 1"
    for content, why in ((b"name = \xff", "byte 7"), (b" " * (MAX_TEXT_BYTES + 1), "16,777,216")):
        path.write_bytes(content)
        with pytest.raises(StudyError, match=why):
            read_text(path)


def depth(value: object) -> int:
    """Return how many lists and tables are in each other, by the definition."""
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)


_BRACKETS = st.text('[]{}"\\ aé')
_JSON = st.recursive(
    _BRACKETS, lambda inner: st.lists(inner) | st.dictionaries(_BRACKETS, inner), max_leaves=30
)


@settings(deadline=None)
@given(_JSON, st.integers(MAX_DEPTH - 20, MAX_DEPTH + 5))
def test_the_depth_is_that_of_the_decoded_value(value: Any, more: int) -> None:
    for number in range(more):
        value = [value, "]"] if number % 2 else {"[": value}
    text = json.dumps(value)
    assert is_deep(text) == is_deep(text.encode()) == (depth(value) > MAX_DEPTH)


def test_no_more_is_unpacked_than_the_limit() -> None:
    bomb = b"0" * 1_000_000
    for pack in (zlib.compress, gzip.compress):
        assert unpack(pack(bomb), most_bytes=1_000_000) == bomb
        for damaged in (pack(bomb)[:-1], pack(bomb + b"0"), b"no"):
            with pytest.raises(zlib.error):
                unpack(damaged, most_bytes=1_000_000)
