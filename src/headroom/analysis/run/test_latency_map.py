"""The map of response times has the counts of the histograms, at the right time and length."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.analysis.results import LatencyMap
from headroom.analysis.run.latency_map import LENGTHS_AT_MOST, PARTS, STRETCHES_AT_MOST, latency_map
from headroom.experiment.protocol.run import Histogram, Run


def histogram(
    counts: list[list[int]],
    *,
    metric: str = "class.read.response_s",
    low: tuple[float, ...] = (0.001, 0.1),
    ends_s: list[float] | None = None,
) -> Histogram:
    bins = np.array(low)
    return Histogram(
        metric=metric,
        bin_low=bins,
        bin_high=bins * 1.01,
        counts=np.array(counts, dtype=np.int64),
        segment_end_times_s=np.array(ends_s or np.arange(1.0, len(counts) + 1.0)),
    )


def made(*runs: Run) -> LatencyMap:
    found = latency_map(runs)
    assert found is not None
    return found


def shares(stretch: list[int]) -> dict[int, float]:
    return {place: part / PARTS for place, part in zip(stretch[::2], stretch[1::2], strict=True)}


def test_a_stall_is_seen_in_its_stretch_and_nowhere_else() -> None:
    counts = [[100, 0]] * 8
    counts[5] = [99, 1]
    found = made(Run(histograms=(histogram(counts),)))
    stalled = [number for number, one in enumerate(found.stretches) if len(one) > 2]
    assert stalled == [5]
    (_, usual), (place, stall) = shares(found.stretches[5]).items()
    assert (usual, stall) == (0.99, 0.01)
    lowest = found.shortest_s * found.ratio**place
    assert lowest <= 0.1 * 1.01 <= lowest * found.ratio * 1.01


def test_one_in_a_million_is_not_rounded_away() -> None:
    found = made(Run(histograms=(histogram([[1_000_000, 1]] * 8),)))
    assert shares(found.stretches[0])[max(shares(found.stretches[0]))] == 1 / PARTS


def test_replications_follow_each_other_with_equally_many_stretches() -> None:
    one, other = histogram([[10, 0]] * 8), histogram([[0, 10]] * 5)
    found = made(Run(histograms=(one,)), Run(histograms=(other,)))
    assert found.per_run == 8
    assert [max(shares(row)) for row in found.stretches] == [0] * 8 + [
        max(shares(found.stretches[-1]))
    ] * 8


def test_classes_are_told_together_each_by_its_own_segments() -> None:
    """A segment of 4 s that counts 4 has one in each second."""
    reads = histogram([[3, 0]] * 8)
    writes = histogram([[0, 4], [0, 4]], metric="class.write.response_s", ends_s=[4.0, 8.0])
    service = histogram([[7, 7]] * 8, metric="class.read.service_s")
    found = made(Run(histograms=(reads, writes, service)))
    assert all(sorted(shares(row).values()) == [0.25, 0.75] for row in found.stretches)


def test_all_rounds_of_a_test_in_rounds_are_told_not_the_last_ones() -> None:
    last = histogram([[50, 0]], metric="class.r0.response_s")
    rounds = histogram([[0, 9]] * 12 + [[9, 0]] * 5, metric="rounds.response_s")
    found = made(Run(histograms=(last, rounds)))
    assert len(found.stretches) == 17
    assert max(shares(found.stretches[0])) > max(shares(found.stretches[-1]))


@pytest.mark.parametrize(
    "runs",
    [[], [Run()], [Run(histograms=(histogram([[1, 0]] * 3),))]],
    ids=["no runs", "no histograms", "few segments"],
)
def test_too_little_makes_no_map(runs: list[Run]) -> None:
    assert latency_map(runs) is None


@pytest.mark.deep
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=8, max_size=16),
        min_size=1,
        max_size=80,
    ),
    st.floats(1e-9, 1e3),
)
def test_a_map_is_bounded_and_its_shares_sum_up_to_one(
    runs: list[list[tuple[int, int]]], longest: float
) -> None:
    found = latency_map(
        [
            Run(histograms=(histogram([list(row) for row in rows], low=(1e-6, longest)),))
            if longest > 1e-6
            else Run(histograms=(histogram([list(row) for row in rows], low=(longest, 1e-6)),))
            for rows in runs
        ]
    )
    if found is None:
        return
    assert len(found.stretches) <= STRETCHES_AT_MOST
    for row in found.stretches:
        assert all(0 <= place < LENGTHS_AT_MOST for place in shares(row))
        assert not row or sum(shares(row).values()) == pytest.approx(1.0, abs=1e-3)
