"""Calls that may never end: what they return, raise, and what is said where they do not end."""

import threading

import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.systems.storage.patience import within


def test_an_answer_in_time_is_the_answer_and_an_error_the_error() -> None:
    assert within(600.0, lambda: 42, what="arithmetic") == 42
    with pytest.raises(ZeroDivisionError):
        within(600.0, lambda: 1 // 0, what="arithmetic")


def test_a_call_that_does_not_end_is_left_to_itself_and_named() -> None:
    gate, ended = threading.Event(), threading.Event()

    def hang() -> None:
        gate.wait()
        ended.set()

    with pytest.raises(EnvironmentUnfitError, match="the server does not answer") as caught:
        within(0.05, hang, what="the server")
    assert caught.value.cure
    gate.set()
    ended.wait()
