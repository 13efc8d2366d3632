"""Read a user-named text file of sensible size, in UTF-8.

Invariant: a FIFO, a device or a huge file is refused before a byte of it is read.
"""

import os
import stat
from pathlib import Path

from headroom.errors import EnvironmentUnfitError, StudyError

LARGEST_BYTES = 16 * 1024 * 1024
"""A study file of 10,000 experiments has 2 MB."""


def read_text_file(path: Path) -> str:
    """Return the text of a file, without a byte order mark.

    Raises
    ------
    FileNotFoundError
        There is nothing at the path.
    StudyError
        It is not a regular file, too large, or not UTF-8.
    EnvironmentUnfitError
        It cannot be read.
    """
    try:
        _check(path, path.stat())  # before it is opened, which waits for the writer of a FIFO
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise
    except UnicodeDecodeError as error:
        raise StudyError(
            f"{path} is not UTF-8 text (byte {error.start})", cure="save the file as UTF-8"
        ) from error
    except OSError as error:
        raise EnvironmentUnfitError(
            f"cannot read {path}: {error.strerror}", cure="make the file readable for you"
        ) from error


def _check(path: Path, state: os.stat_result) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise StudyError(f"{path} is not a regular file", cure="name a text file")
    if state.st_size > LARGEST_BYTES:
        raise StudyError(
            f"{path} has {state.st_size:,} bytes; at most {LARGEST_BYTES:,} are read",
            cure="name the text file that was meant, or split it",
        )
