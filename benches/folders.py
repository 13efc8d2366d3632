"""Temporary folders for benchmark files, always cleaned up.

A folder is removed when the process that created it ends, also on a signal that allows cleanup. A
folder left by a SIGKILL is removed by the next benchmark that creates one next to it.

Invariant: only folders of this user with the name of a benchmark's folder are removed, once their
process is gone.
"""

import os
import shutil
import signal
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import NoReturn

PREFIX = "headroom-bench-"


def new_folder(parent: Path) -> "TemporaryDirectory[str]":
    """Return a new folder in `parent`, removed when it is closed or the process ends."""
    _end_in_order()
    remove_left(parent)
    return TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-", dir=parent)


def remove_left(parent: Path) -> list[Path]:
    """Remove folders whose process is gone; return their paths.

    Examples
    --------
    >>> with TemporaryDirectory() as parent, new_folder(Path(parent)) as own:
    ...     (Path(parent) / "headroom-bench-mine").mkdir()
    ...     remove_left(Path(parent)), Path(own).is_dir()
    ([], True)
    """
    left = [folder for folder in parent.glob(f"{PREFIX}*") if _is_left(folder)]
    for folder in left:
        shutil.rmtree(folder, ignore_errors=True)
    return left


def _is_left(folder: Path) -> bool:
    number = folder.name.removeprefix(PREFIX).partition("-")[0]
    if not number.isdecimal() or folder.is_symlink() or not folder.is_dir():
        return False
    return folder.stat().st_uid == os.getuid() and not Path(f"/proc/{number}").exists()


def _end_in_order() -> None:
    """Let the signals that end a program end this one as its own end does."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
