"""Calls that may never return: their results, exceptions, and messages."""

import threading

import pytest

from headroom.systems.storage.targets.patience import NoAnswerError, Progress, within


def test_an_answer_in_time_is_the_answer_and_an_error_the_error() -> None:
    assert within(600.0, lambda: 42, what="arithmetic") == 42
    with pytest.raises(ZeroDivisionError):
        within(600.0, lambda: 1 // 0, what="arithmetic")


def test_a_call_that_does_not_end_is_left_to_itself_and_named() -> None:
    gate, ended = threading.Event(), threading.Event()

    def hang() -> None:
        gate.wait()
        ended.set()

    with pytest.raises(NoAnswerError, match="the server does not answer") as caught:
        within(0.05, hang, what="the server")
    assert caught.value.cure
    gate.set()
    ended.wait()


class _Moving(Progress):
    """One step further at each look; the seventh look opens a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0
        self.gate = threading.Event()

    @property
    def done_bytes(self) -> int:
        self.looks += 1
        if self.looks == 7:
            self.gate.set()
        return self.looks

    @done_bytes.setter
    def done_bytes(self, value: int) -> None:
        pass


def test_what_gets_on_is_waited_for_longer_than_a_single_call() -> None:
    moving = _Moving()
    assert within(0.01, moving.gate.wait, what="the server", progress=moving)
    assert moving.looks >= 7, "two looks for each time that was waited"
    assert moving.is_wanted


def test_what_stops_is_told_that_nobody_waits() -> None:
    progress, gate = Progress(done_bytes=5), threading.Event()
    with pytest.raises(NoAnswerError):
        within(0.05, gate.wait, what="the server", progress=progress)
    assert not progress.is_wanted
    gate.set()
