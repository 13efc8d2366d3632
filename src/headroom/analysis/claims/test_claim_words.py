"""Figures of claims as words: short for many levels, in the digits that intervals support."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.analysis.claims.claim_words import LEVELS_LISTED, Region, Words
from headroom.analysis.statistics.intervals import Interval, Sample, ratio


def spread(value: float, half: float) -> Sample:
    return Sample(values=value + half * np.linspace(-1.0, 1.0, 8))


def curve(values: list[float], *, half: float = 0.1) -> dict[float, Sample]:
    return {10.0 * place: spread(value, half) for place, value in enumerate(values, 1)}


def test_few_levels_are_all_named() -> None:
    text = Words(unit="s").curve(curve([1.0, 2.0, 3.0]), sign=1.0)
    assert text == "1.00 s at 10, 2.00 s at 20, 3.00 s at 30"


def test_many_levels_are_told_by_their_ends_and_the_weakest_step() -> None:
    text = Words(unit="1/s").curve(curve([1.0, 2.0, 4.0, 4.5, 6.0, 9.0]), sign=1.0)
    assert text.startswith("1.00 /s at 10 to 9.00 /s at 60 in 5 steps")
    assert re.search(r"smallest rise 0\.50 /s \(.*\) from 30 to 40$", text)


def test_a_step_back_is_shown_as_what_it_is() -> None:
    """The sign tells a contradiction from a small step."""
    rising = Words(unit="1/s").curve(curve([1.0, 2.0, 4.0, 3.5, 6.0, 9.0]), sign=1.0)
    assert "smallest rise \N{MINUS SIGN}0.50 /s" in rising
    falling = Words(unit="1/s").curve(curve([9.0, 6.0, 3.5, 4.0, 2.0, 1.0]), sign=-1.0)
    assert "smallest fall \N{MINUS SIGN}0.50 /s" in falling
    assert falling.endswith("from 30 to 40")


@given(st.lists(st.floats(0.1, 1e4), min_size=LEVELS_LISTED + 1, max_size=200))
def test_the_words_of_a_curve_stay_short(values: list[float]) -> None:
    assert len(Words(unit="s").curve(curve(values, half=0.001), sign=1.0)) < 200


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (Words(unit="1", metric="station.cpu.utilization"), "within 63 % and 65 %"),
        (Words(unit="s"), "within 630 ms and 650 ms"),
        (Words(unit="1/s"), "within 0.63 /s and 0.65 /s"),
    ],
)
def test_what_a_claim_allows_is_said_in_the_unit_of_our_figure(words: Words, text: str) -> None:
    assert words.allowed(Region(0.63, 0.65)) == text


def test_a_share_is_said_in_per_cent() -> None:
    sure = Interval(value=0.6409, low=0.6391, high=0.6427, method="student-t")
    words = Words(unit="1", metric="station.cpu.utilization")
    assert words.found(sure) == "64.09 % (63.91 to 64.27)"


def test_a_ratio_says_how_many_times() -> None:
    found = Words(unit="1", is_ratio=True).found(ratio(spread(9.0, 0.03), spread(7.0, 0.01)))
    assert re.fullmatch(r"\N{MULTIPLICATION SIGN} 1\.286 \(1\.28\d to 1\.2[89]\d\)", found)
