"""Progress and remaining time of a run on stderr: a bar on a terminal, elsewhere a line a minute.

The bar is redrawn only when a replication ends: a thread that redraws ten times a second would
disturb the measurements that it reports on. The thread of the lines wakes once a minute.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import StringIO
from threading import Event, Thread
from time import perf_counter
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar


@dataclass(slots=True, kw_only=True)
class Pace:
    """The work of one experiment.

    Parameters
    ----------
    open_count
        Replications that wait or run.
    parallel
        How many run at the same time.
    finished_count
        Replications that ended in this session.
    wall_s_sum
        Their wall time (s) together.
    """

    open_count: int
    parallel: int
    finished_count: int = 0
    wall_s_sum: float = 0.0


def time_left_s(paces: Mapping[str, Pace]) -> float | None:
    """Return the time (s) until everything has ended, None while nothing is known.

    Each experiment continues at its own mean pace; one that has not begun is expected to be like
    the mean of the others.

    Examples
    --------
    >>> done = Pace(open_count=4, parallel=2, finished_count=10, wall_s_sum=5.0)
    >>> time_left_s({"web": done})
    1.0
    """
    count = sum(pace.finished_count for pace in paces.values())
    if count == 0:
        return None
    overall_s = sum(pace.wall_s_sum for pace in paces.values()) / count
    total_s = 0.0
    for pace in paces.values():
        mean_s = pace.wall_s_sum / pace.finished_count if pace.finished_count else overall_s
        total_s += pace.open_count * mean_s / pace.parallel
    return total_s


def in_words(seconds: float | None) -> str:
    """Return a time as a person would say it.

    Examples
    --------
    >>> in_words(42.0), in_words(200.0), in_words(8000.0), in_words(None)
    ('42 s left', '3 min 20 s left', '2 h 13 min left', '')
    """
    if seconds is None:
        return ""
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004 - seconds in a minute
        return f"{whole} s left"
    if whole < 3600:  # noqa: PLR2004 - seconds in an hour
        return f"{whole // 60} min {whole % 60} s left"
    return f"{whole // 3600} h {whole % 3600 // 60} min left"


FIRST_LINE_S, LINE_S = 10.0, 60.0
"""Time (s) before the first line of a run without a terminal, and between two lines."""


class Progress:
    """The bar of a run on a terminal; elsewhere, such as in a log, a line now and then.

    Parameters
    ----------
    console
        Console of stderr.
    is_quiet
        True shows nothing, also on a terminal.
    first_s, every_s
        Time (s) before the first line elsewhere, and between two lines.
    """

    has_warned: bool = False
    """Whether the user knows what it would warn of: of a busy machine, once in many rounds."""

    def __init__(
        self,
        console: "Console",
        *,
        is_quiet: bool = False,
        first_s: float = FIRST_LINE_S,
        every_s: float = LINE_S,
    ) -> None:
        self._console = console
        self._is_quiet = is_quiet
        self._is_shown = not is_quiet and console.file.isatty() and not console.is_dumb_terminal
        self._paces: dict[str, Pace] = {}
        self._reused_count = 0
        self._failed_count = 0
        self._worker_count: int | None = None
        self._bar: Bar | None = None
        self._waits_s = first_s, every_s
        self._has_ended = Event()
        self._lines: Thread | None = None

    def start(self, paces: Mapping[str, Pace], *, reused: int) -> None:
        """Show the remaining work, and how many replications earlier sessions did."""
        self._paces = dict(paces)
        self._reused_count = reused
        if self._is_shown:
            self._bar = _bar(self._console)
            self._bar.start()
            self._draw(self._bar)
        elif not self._is_quiet:
            self._has_ended.clear()
            self._lines = Thread(target=self._print_lines, daemon=True)
            self._lines.start()

    def workers(self, count: int | None) -> None:
        """Show how many workers of a cluster there are, None without a cluster."""
        self._worker_count = count

    def add(self, experiment: str, count: int = 1) -> None:
        """Note that a stopping rule requested more replications."""
        self._paces[experiment].open_count += count

    def drop(self, experiment: str, count: int) -> None:
        """Note that replications will not be tried."""
        self._paces[experiment].open_count -= count

    def finish(self, experiment: str, *, wall_s: float, is_done: bool) -> None:
        """Note that a replication has ended."""
        pace = self._paces[experiment]
        pace.open_count -= 1
        pace.finished_count += 1
        pace.wall_s_sum += wall_s
        self._failed_count += not is_done
        if self._bar is not None:
            self._draw(self._bar)

    def say(self, words: str) -> None:
        """Show above the bar what takes long before a replication."""
        if self._bar is not None:
            self._bar.console.print(f"headroom: {words}", markup=False)

    def warn(self, words: str) -> None:
        """Print a message on stderr, terminal or not, unless the user wants quiet."""
        if words and not self._is_quiet and not self.has_warned:
            self._console.print(f"headroom: warning: {words}", markup=False, soft_wrap=True)

    def note(self, words: str) -> None:
        """Print what is known so far on stderr, unless the user wants quiet."""
        if not self._is_quiet:
            self._console.print(f"headroom: {words}", markup=False, soft_wrap=True)

    def stop(self) -> None:
        """Restore the terminal."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if self._lines is not None:
            self._has_ended.set()
            self._lines.join()
            self._lines = None

    def _print_lines(self) -> None:
        """Print a line now and then until the run ends, also during a long replication."""
        wait_s, every_s = self._waits_s
        while not self._has_ended.wait(wait_s):
            self._console.print(f"headroom: {self._state()[2]}", markup=False, soft_wrap=True)
            wait_s = every_s

    def _draw(self, bar: "Bar") -> None:
        finished, total, words = self._state()
        if not bar.tasks:
            bar.add_task(words, total=total)
        bar.update(bar.tasks[0].id, description=words, completed=finished, total=total)
        bar.refresh()

    def _state(self) -> tuple[int, int, str]:
        """Return how many replications have ended, of how many, and that as text."""
        finished = sum(pace.finished_count for pace in self._paces.values()) + self._reused_count
        total = finished + sum(pace.open_count for pace in self._paces.values())
        notes = [f"{finished}/{total} replications"]
        notes += [f"{self._reused_count} reused"] if self._reused_count else []
        notes += [f"{self._failed_count} failed"] if self._failed_count else []
        if self._worker_count is not None:
            notes.append(f"{self._worker_count} worker{'' if self._worker_count == 1 else 's'}")
        left = in_words(time_left_s(self._paces))
        return finished, total, ", ".join([*notes, *([left] if left else [])])


class TextProgress(Progress):
    """Progress as one line of text that changes, and goes away at the end: for notebooks.

    Parameters
    ----------
    show
        Shows a text in place of the one before; an empty one is none.
    stream
        Where warnings go, such as stderr.
    every_s
        Time (s) between two texts, also before the first: what is done sooner shows none.
    """

    def __init__(
        self, show: Callable[[str], None], stream: TextIO, *, every_s: float = 0.5
    ) -> None:
        super().__init__(_no_console(), is_quiet=True)
        self._show = show
        self._stream = stream
        self._every_s = every_s
        self._last = perf_counter()
        self._is_line_shown = False

    def finish(self, experiment: str, *, wall_s: float, is_done: bool) -> None:
        """Note that a replication has ended, and rewrite the line if it is old."""
        super().finish(experiment, wall_s=wall_s, is_done=is_done)
        if perf_counter() - self._last >= self._every_s:
            self._show(f"headroom: {self._state()[2]}")
            self._is_line_shown = True
            self._last = perf_counter()

    def warn(self, words: str) -> None:
        """Print a message on a line of its own."""
        if words and not self.has_warned:
            self._stream.write(f"headroom: warning: {words}\n")

    def stop(self) -> None:
        """Let the line go away."""
        if self._is_line_shown:
            self._show("")
            self._is_line_shown = False


def _no_console() -> "Console":
    from rich.console import Console  # noqa: PLC0415 - as below

    return Console(file=StringIO())


def _bar(console: "Console") -> "Bar":
    # rich takes longer to import than a small study takes to run: only a terminal pays for it.
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

    return Progress(
        BarColumn(bar_width=30),
        TextColumn("{task.description}"),
        console=console,
        auto_refresh=False,
        transient=True,
    )
