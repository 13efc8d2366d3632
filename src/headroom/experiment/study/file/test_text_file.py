"""User-named files: a file that is not text is rejected before it is read."""

import os
from pathlib import Path

import pytest

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.file.text_file import LARGEST_BYTES, read_text_file


def test_a_fifo_a_device_and_a_huge_file_are_refused_as_a_study(tmp_path: Path) -> None:
    """Cause: opening the FIFO waited for a writer, and reading the device took all memory."""
    paths = [tmp_path / name for name in ("fifo.toml", "device.toml", "huge.toml")]
    fifo, device, huge = paths
    os.mkfifo(fifo)
    device.symlink_to("/dev/zero")
    huge.touch()
    os.truncate(huge, LARGEST_BYTES + 1)
    for path in paths:
        with pytest.raises(StudyError, match=path.name):
            load_study(path)


def test_a_folder_cannot_be_read_as_a_text(tmp_path: Path) -> None:
    with pytest.raises((StudyError, EnvironmentUnfitError)):
        read_text_file(tmp_path)


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbfname = 1")
    assert read_text_file(path) == "name = 1"
