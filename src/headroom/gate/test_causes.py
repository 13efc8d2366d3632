"""Shares of the limit from known ratios, and the verdict that they permit."""

import pytest

from headroom.gate.causes import Share, judged_causes, with_share
from headroom.gate.result import Row


def share(part: str, value: float, half: float = 0.1) -> Share:
    return Share(part=part, by=0.2, rows=[], share=value, low=value - half, high=value + half)


def row(ratio: float | None, *, better: str = "high") -> Row:
    return Row(
        arm="db", base="base", metric="m", unit="1/s", better=better,  # type: ignore[arg-type]
        ratio=ratio, low=ratio and ratio * 0.98, high=ratio and ratio * 1.02,
    )  # fmt: skip


@pytest.mark.parametrize(("ratio", "expected"), [(0.8, 1.0), (1.0, 0.0), (0.8**0.5, 0.5)])
def test_the_share_is_the_elasticity(ratio: float, expected: float) -> None:
    found = with_share(Share(part="db", by=0.2, rows=[row(ratio)]))
    assert found.share == pytest.approx(expected)
    assert found.low is not None
    assert found.high is not None
    assert found.low < expected < found.high


def test_a_time_grows_where_a_rate_falls() -> None:
    found = with_share(Share(part="db", by=0.2, rows=[row(1.25, better="low")]))
    assert found.share == pytest.approx(1.0)


def test_without_a_ratio_there_is_no_share() -> None:
    assert with_share(Share(part="db", by=0.2, rows=[row(None)])).share is None
    assert judged_causes([Share(part="db", by=0.2, rows=[row(None)])], machine=None) == (
        "undecided", [],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("shares", "machine", "verdict"),
    [
        ([share("db", 1.0), share("web", 0.1)], 0.6, ("part", ["db"])),
        ([share("db", 1.0), share("web", 0.1)], 1.0, ("part", ["db"])),
        ([share("db", 0.6), share("web", 0.4)], 0.98, ("shared", ["db", "web"])),
        ([share("db", 0.6), share("web", 0.4)], 0.6, ("undecided", [])),
        ([share("db", 0.9, 0.6), share("web", 0.1, 0.6)], 0.6, ("undecided", [])),
        ([share("db", 0.02), share("web", -0.03)], 0.3, ("nothing", [])),
        ([share("db", 0.02), share("web", 0.01)], 1.0, ("shared", [])),
        ([], None, ("undecided", [])),
    ],
)
def test_the_verdict_says_no_more_than_is_sure(
    shares: list[Share], machine: float | None, verdict: tuple[str, list[str]]
) -> None:
    assert judged_causes(shares, machine=machine) == verdict


def test_a_faster_part_gives_at_most_its_own_time() -> None:
    gain = share("db", 1.3).gain(0.1)
    assert gain is not None
    assert gain[0] == pytest.approx(1.0 / 0.9 - 1.0)
    assert share("db", -0.3).gain(0.1) == (0.0, 0.0, 0.0)
