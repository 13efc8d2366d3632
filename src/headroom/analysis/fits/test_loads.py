"""Visits to a point are counted by the order of time."""

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from headroom.analysis.fits.loads import visits_in
from headroom.experiment.journal.journal import ReplicationRow


def row(start: str) -> ReplicationRow:
    return ReplicationRow(
        experiment="web", point_key="k", fingerprint="f", levels={}, replication=0, seed=1,
        state="done", started_at=start, wall_s=0.1,
    )  # fmt: skip


@given(st.lists(st.booleans(), max_size=30))
def test_visits_are_the_groups_of_a_point_in_the_order_of_time(is_here: list[bool]) -> None:
    places = {f"{number:02}": number for number in range(len(is_here))}
    rows = [row(start) for start, is_own in zip(places, is_here, strict=True) if is_own]
    groups = sum(is_own for is_own, _ in groupby(is_here))
    assert visits_in([*rows, row("not in the order")], places) == groups
