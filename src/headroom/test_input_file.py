"""Files of others: what is no sensible regular file is refused in one line, and not read."""

import gzip
import json
import os
import socket
import threading
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom import input_file
from headroom.errors import HeadroomError, StudyError
from headroom.experiment.study.file.study_file import load_study
from headroom.input_file import (
    MAX_DEPTH,
    MAX_TEXT_BYTES,
    MalformedError,
    MissingFileError,
    decode_json,
    is_deep,
    read_file,
    read_text,
    unpack,
)


def odd_places(folder: Path) -> dict[str, Path]:
    """Return what is no file that can be read whole, by what it is."""
    names = ("fifo.toml", "device.toml", "folder.toml", "socket.toml", "huge.toml", "absent.toml")
    fifo, device, inside, listener, huge, absent = (folder / name for name in names)
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
    for what, path in odd_places(tmp_path).items():
        for read in (read_file, load_study):
            with pytest.raises(HeadroomError, match=path.name) as caught:
                read(path)
            assert "\n" not in caught.value.message
            assert caught.value.cure
        with pytest.raises(StudyError, match=what):
            read_file(path)


def test_a_name_with_a_nul_byte_is_of_no_file() -> None:
    with pytest.raises(MissingFileError):
        read_file(Path("a\0b"))


def test_a_file_that_grows_while_it_is_read_is_cut_at_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault: it has 10 bytes when it is looked at, and 1,210 when it is read."""
    path, look = tmp_path / "log.json", input_file._check
    path.write_bytes(b"x" * 10)

    def grow(*seen: Any) -> None:
        look(*seen)
        with path.open("ab") as file:
            file.write(b"x" * 600)

    monkeypatch.setattr(input_file, "_check", grow)
    with pytest.raises(StudyError, match="more than 1,000 bytes; at most 1,000"):
        read_file(path, most_bytes=1000)


def test_a_file_that_becomes_a_fifo_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(b"{}")

    def swap(path: Path, **_: object) -> None:
        path.unlink()
        os.mkfifo(path)

    monkeypatch.setattr(input_file, "check_regular", swap)
    refused: list[str] = []

    def read() -> None:
        try:
            read_file(path)
        except StudyError as error:
            refused.append(error.message)

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    reading.join(60)
    assert refused == [f"{path} is a FIFO, not a regular file"]


def test_a_text_has_no_byte_order_mark_and_is_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbfname = 1")
    assert read_text(path) == "name = 1"
    path.write_bytes(b"name = \xff")
    with pytest.raises(MalformedError, match="byte 7"):
        read_text(path)
    path.write_bytes(b" " * (MAX_TEXT_BYTES + 1))
    with pytest.raises(StudyError, match="16,777,216 are read"):
        read_text(path)


def depth(value: object) -> int:
    """Return how many lists and tables are in each other, by the definition."""
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth, inner), default=0)


_BRACKETS = st.text('[]{}"\\ aé')
_JSON = st.recursive(
    st.none() | _BRACKETS,
    lambda inner: st.lists(inner) | st.dictionaries(_BRACKETS, inner),
    max_leaves=30,
)


@settings(deadline=None)
@given(_JSON, st.integers(MAX_DEPTH - 20, MAX_DEPTH + 5), st.booleans())
def test_the_depth_is_that_of_the_decoded_value(value: Any, more: int, is_ascii: bool) -> None:  # noqa: FBT001 - drawn
    for number in range(more):
        value = [value, "]"] if number % 2 else {"[": value}
    text = json.dumps(value, ensure_ascii=is_ascii)
    assert is_deep(text) == is_deep(text.encode()) == (depth(value) > MAX_DEPTH)


@pytest.mark.parametrize(
    "content",
    [b"[" * 200_000, b"[" * 999 + b"]" * 999, b'{"a":' * 200_000, b"\xff", b"\0", b"", b"]"],
)
def test_broken_json_is_refused_in_one_line(content: bytes) -> None:
    with pytest.raises(MalformedError, match=r"a\.json") as caught:
        decode_json(content, "a.json", type=Any)
    assert "\n" not in caught.value.message


def test_no_more_is_unpacked_than_the_limit() -> None:
    bomb = b"0" * 1_000_000
    for pack in (zlib.compress, gzip.compress):
        assert unpack(pack(bomb), most_bytes=1_000_000) == bomb
        for damaged in (pack(bomb)[:-1], pack(bomb + b"0"), b"no"):
            with pytest.raises(zlib.error):
                unpack(damaged, most_bytes=1_000_000)
