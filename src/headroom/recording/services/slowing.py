"""Slow a part of a running system by a known share, to see what depends on it.

Processes are stopped and continued in short slices, which needs no rights beyond those of their
owner and takes away what they compute: whoever sleeps or waits for a device meanwhile loses
nothing, as long as the slice is shorter than the wait. A limit of processors is lowered instead.

Invariant: when a block ends, however it does, everything runs as before.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_LOOK_S = 0.05
"""How often new processes are looked for."""


@dataclass(slots=True)
class Slowed:
    """How much something was held back: what was asked for and what the machine made of it."""

    held_s: float = 0.0
    whole_s: float = 0.0

    @property
    def share(self) -> float:
        """Share of the time in which it was held back."""
        return self.held_s / self.whole_s if self.whole_s > 0.0 else 0.0


@contextmanager
def in_slices(
    processes: Callable[[], Sequence[int]], share: float, slice_s: float
) -> Iterator[Slowed]:
    """Stop processes for a share of the block, again and again for `slice_s`.

    Parameters
    ----------
    processes
        Returns those that live now.
    share
        Of the time, in (0, 1).
    slice_s
        Length (s) of each stop.

    Yields
    ------
    What it came to; complete after the block.
    """
    found, ended = Slowed(), threading.Event()
    thread = threading.Thread(
        target=_slice, args=[processes, share, slice_s, found, ended], daemon=True
    )
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()


def _slice(
    processes: Callable[[], Sequence[int]],
    share: float,
    slice_s: float,
    found: Slowed,
    ended: threading.Event,
) -> None:
    with suppress(OSError):  # of this thread: a stop must not last longer on a busy machine
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -20)
    start_s = time.perf_counter()
    pids, looked_s = list(processes()), start_s
    pause_s = slice_s * (1.0 - share) / share
    while not ended.wait(pause_s):
        now_s = time.perf_counter()
        if now_s - looked_s > _LOOK_S:
            pids, looked_s = list(processes()), now_s
        try:
            _send(signal.SIGSTOP, pids)
            stopped_s = time.perf_counter()
            time.sleep(slice_s)
        finally:
            found.held_s += time.perf_counter() - stopped_s
            _send(signal.SIGCONT, pids)
        # What the machine made longer is made up for: the share is that of the whole run.
        spent_s = time.perf_counter() - start_s
        pause_s = max(found.held_s / share - spent_s, slice_s * (1.0 - share) / share / 4)
    found.whole_s = time.perf_counter() - start_s


def _send(number: int, pids: Sequence[int]) -> None:
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, number)


@contextmanager
def by_limit(groups: Mapping[str, Path], share: float) -> Iterator[Slowed]:
    """Lower the limit of processors of a control group by a share.

    Raises
    ------
    OSError
        The group has none, or it may not be changed.
    """
    folder = groups.get("cpu")
    if folder is None:
        raise OSError(0, "it has no limit of processors here")
    file = folder / "cpu.max"
    if not file.exists():
        file = folder / "cpu.cfs_quota_us"
    before = file.read_text(encoding="ascii").split()
    lower = [str(round(int(before[0]) * (1.0 - share))), *before[1:]]
    file.write_text(" ".join(lower), encoding="ascii")
    try:
        yield Slowed(share, 1.0)
    finally:
        file.write_text(" ".join(before), encoding="ascii")
