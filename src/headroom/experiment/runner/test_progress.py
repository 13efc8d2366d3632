"""Progress: a bar on a terminal, lines elsewhere, and an honest remaining time."""

import io
from threading import Event

import pytest
from rich.console import Console

from headroom.experiment.runner.progress import Pace, Progress, in_words, time_left_s


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def shown(*, is_terminal: bool, is_quiet: bool = False) -> str:
    stream = Terminal() if is_terminal else io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, _environ={})
    progress = Progress(console, is_quiet=is_quiet)
    progress.start({"load": Pace(open_count=4, parallel=2)}, reused=3)
    progress.finish("load", wall_s=60.0, is_done=True)
    progress.finish("load", wall_s=60.0, is_done=False)
    progress.add("load")
    progress.drop("load", 1)
    progress.finish("load", wall_s=60.0, is_done=True)
    progress.stop()
    return stream.getvalue()


def test_a_terminal_shows_counts_failures_and_the_time_left() -> None:
    text = shown(is_terminal=True)
    assert "3/7 replications, 3 reused" in text
    assert "5/7 replications, 3 reused, 1 failed, 1 min 0 s left" in text
    assert "6/7 replications, 3 reused, 1 failed, 30 s left" in text


def test_the_workers_of_a_cluster_are_counted() -> None:
    stream = Terminal()
    progress = Progress(Console(file=stream, force_terminal=True, width=100, _environ={}))
    progress.start({"load": Pace(open_count=4, parallel=2)}, reused=0)
    progress.workers(8)
    progress.finish("load", wall_s=20.0, is_done=True)
    progress.stop()
    assert "1/4 replications, 8 workers, 30 s left" in stream.getvalue()


@pytest.mark.parametrize(("is_terminal", "is_quiet"), [(False, False), (True, True)])
def test_nothing_is_shown_elsewhere_even_with_forced_colours(
    *, is_terminal: bool, is_quiet: bool
) -> None:
    assert shown(is_terminal=is_terminal, is_quiet=is_quiet) == ""


class Log(io.StringIO):
    """A stream that is no terminal, and knows when a line has come."""

    def __init__(self) -> None:
        super().__init__()
        self.has_line = Event()

    def write(self, text: str) -> int:
        """Write, and note the end of a line."""
        written = super().write(text)
        if "\n" in text:
            self.has_line.set()
        return written


def test_a_log_gets_a_line_now_and_then_also_while_no_replication_ends() -> None:
    stream = Log()
    console = Console(file=stream, width=100, _environ={})
    progress = Progress(console, first_s=0.001, every_s=3600.0)
    progress.start({"load": Pace(open_count=4, parallel=1)}, reused=3)
    assert stream.has_line.wait(60.0)
    progress.finish("load", wall_s=1.0, is_done=True)
    progress.stop()
    assert stream.getvalue() == "headroom: 3/7 replications, 3 reused\n"


def test_each_experiment_goes_on_at_its_own_pace() -> None:
    """Oracle: 6 x 1 s on 2 workers, then 3 x 10 s alone."""
    quick = Pace(open_count=6, parallel=2, finished_count=4, wall_s_sum=4.0)
    slow = Pace(open_count=3, parallel=1, finished_count=2, wall_s_sum=20.0)
    assert time_left_s({"quick": quick, "slow": slow}) == 33.0


def test_an_experiment_that_has_not_begun_is_expected_to_be_like_the_others() -> None:
    known = Pace(open_count=0, parallel=1, finished_count=2, wall_s_sum=8.0)
    assert time_left_s({"known": known, "new": Pace(open_count=5, parallel=1)}) == 20.0


def test_without_any_result_nothing_is_promised() -> None:
    assert time_left_s({"new": Pace(open_count=5, parallel=1)}) is None
    assert in_words(None) == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "0 s left"),
        (59.6, "1 min 0 s left"),
        (3599.4, "59 min 59 s left"),
        (3600, "1 h 0 min left"),
    ],
)
def test_times_are_said_as_a_person_says_them(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
