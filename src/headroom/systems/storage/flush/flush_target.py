"""The target of a flush check: opened through the rules of `safety`, and never removed.

Invariant: an existing target is written only if the user typed its name and size; a new file stays,
because the check reads it after the crash.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.systems.storage.targets import safety
from headroom.systems.storage.targets.device_facts import alignment_of
from headroom.systems.storage.targets.laying_out import allows_direct, check_space, forget, lay_out
from headroom.systems.storage.targets.places import is_memory

RESERVE_BYTES = 64 << 20
"""Space that stays free next to a new file."""


def examined(path: Path) -> safety.Existing:
    """Return the facts about a block device or an ordinary file.

    Raises
    ------
    EnvironmentUnfitError
        There is neither.
    """
    if path.is_block_device():
        return safety.examine_device(path)
    return safety.examine_file(path)


def check_may_write(path: Path, typed: Sequence[str], *, command: str) -> None:
    """Refuse a target that may not be written to, before anything is made.

    Raises
    ------
    EnvironmentUnfitError
        It is in use, was there before and is not named by the user, or cannot be made.
    """
    if path.exists():
        safety.check_allowed(examined(path), typed, command=command)
    else:
        safety.check_may_create(path.parent)


@contextmanager
def opened_for_writing(
    path: Path, typed: Sequence[str], *, size_bytes: int | None, command: str
) -> Iterator[dict[str, Any]]:
    """Open a target, laid out if it did not exist; yield the table `target` of a job.

    Parameters
    ----------
    path
        A block device, or a file.
    typed
        Confirmations of the user.
    size_bytes
        Size of a file that is made; of an existing one, bytes that are used, None for all.
    command
        The command that takes the confirmations.

    Raises
    ------
    HeadroomError
        It may not be written to, or cannot be.
    """
    check_may_write(path, typed, command=command)
    if not path.exists():
        if size_bytes is None:
            raise StudyError(
                f"file {path} not found", cure="give the size of a new file with --bytes"
            )
        check_space(path.parent, needed=size_bytes, reserve=RESERVE_BYTES)
        lay_out(path, size=size_bytes, seed=1)
    yield from _opened(examined(path), is_written=True, size_bytes=size_bytes)


@contextmanager
def opened_for_reading(path: Path) -> Iterator[dict[str, Any]]:
    """Open a target to compare it with its log; yield the table `target` of a job."""
    yield from _opened(examined(path), is_written=False, size_bytes=None)


def _opened(
    target: safety.Existing, *, is_written: bool, size_bytes: int | None
) -> Iterator[dict[str, Any]]:
    used = target.size_bytes if size_bytes is None else size_bytes
    if used > target.size_bytes or used <= 0:
        raise EnvironmentUnfitError(
            f"{target.path} has {target.size_bytes} bytes, but --bytes asks for {used}",
            cure="ask for less with --bytes, or leave it out to use all",
        )
    # The check reads cell by cell through plain calls; the page cache is emptied first.
    direct = is_written and not is_memory(target.path) and allows_direct(target.path)
    descriptor = safety.open_existing(target, is_written=is_written, direct=direct)
    try:
        if not direct:
            forget(descriptor)
        alignment = alignment_of(target.path, is_device=target.is_device) if direct else 1
        files = [{"fd": descriptor, "bytes": used}]
        yield {"kind": "files", "files": files, "alignment": alignment}
    finally:
        os.close(descriptor)
