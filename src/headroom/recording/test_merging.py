"""Merged results against one recorder that saw everything."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.recording.merging import merged

Event = tuple[float, float]
"""End (s) and response time (s) of an operation."""


def result_of(events: Sequence[Event], *, end_s: float, interval_s: float) -> dict[str, Any]:
    """Return what a load driver says of a class whose operations ended so."""
    events = sorted(events)
    grid = np.arange(1, int(end_s / interval_s) + 1) * interval_s
    times = np.append(grid[grid < end_s], end_s)
    ends = np.array([event[0] for event in events])
    values = np.array([event[1] for event in events])
    rows = np.searchsorted(ends, times, side="right")
    sums = np.concatenate([[0.0], np.cumsum(values)])
    columns = {"completion_count": rows[:, None] * 1.0, "response_s_sum": sums[rows][:, None]}
    table = {"names": ["read"], "capacity": np.ones(1), "columns": columns, "maxima": {}}
    bins = np.floor(np.log2(values)) if len(values) else values
    kinds = np.unique(bins)
    parts = np.split(np.arange(len(values)), rows[:-1])
    counts = np.array([[np.sum(bins[part] == kind) for kind in kinds] for part in parts])
    return {
        "end_s": end_s, "load_s": end_s, "outstanding_count": 1, "waiting_count": 0,
        "continued_count": 0, "problem": None, "failures": [], "facts": {},
        "counters": {"cpu_s": 0.5}, "workload_counters": {},
        "classes": {"read": {"completion_count": len(values),
                             "response_s_max": max(values, default=float("nan"))}},
        "histograms": {"response_s": {"read": {
            "bin_low": 2.0**kinds, "bin_high": 2.0 ** (kinds + 1),
            "counts": counts.reshape(len(parts), len(kinds)).astype(np.int64),
            "segment_end_times_s": times,
            "totals": {
                "sums": np.array([values[part].sum() for part in parts]),
                "square_sums": np.array([(values[part] ** 2).sum() for part in parts]),
                "minima": np.array([values[part].min(initial=np.inf) for part in parts]),
                "maxima": np.array([values[part].max(initial=-np.inf) for part in parts]),
            },
        }}},
        "series": {"read": {"batch_size": 1, "end_times_s": ends, "values": values}},
        "snapshots": {"times_s": times, "stations": table, "classes": table}, "samples": None,
    }  # fmt: skip


EVENTS = st.lists(st.tuples(st.floats(0.001, 9.99), st.floats(1e-6, 10.0)), min_size=1, max_size=60)


@settings(max_examples=100, deadline=None)
@given(
    parts=st.lists(EVENTS, min_size=1, max_size=4),
    intervals=st.lists(st.sampled_from([0.25, 0.5, 1.0]), min_size=4, max_size=4),
    ends=st.lists(st.floats(10.01, 10.2), min_size=4, max_size=4),
)
def test_parts_are_the_whole(
    parts: list[list[Event]], intervals: list[float], ends: list[float]
) -> None:
    """Grids that double have the coarsest in common; ends differ by little."""
    used = list(zip(parts, intervals, ends, strict=False))
    found = merged([result_of(p, interval_s=i, end_s=e) for p, i, e in used])
    coarse, end_s = max(i for _, i, _ in used), max(e for _, _, e in used)
    wanted = result_of([one for p in parts for one in p], interval_s=coarse, end_s=end_s)
    assert_same(found["snapshots"]["classes"]["columns"], wanted["snapshots"]["classes"]["columns"])
    mine, whole = (one["histograms"]["response_s"]["read"] for one in (found, wanted))
    assert mine["counts"].tolist() == whole["counts"].tolist()
    assert_same(mine["totals"], whole["totals"])
    assert mine["bin_low"].tolist() == whole["bin_low"].tolist()
    assert found["series"]["read"]["end_times_s"].tolist() == sorted(
        one[0] for p in parts for one in p
    )
    assert found["classes"] == wanted["classes"]
    assert found["outstanding_count"] == len(parts)
    assert found["counters"]["cpu_s"] == 0.5 * len(parts)
    assert found["facts"]["processes"] == str(len(parts))


def assert_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, values in wanted.items():
        assert found[name] == pytest.approx(values), name


def test_the_order_of_processes_changes_nothing() -> None:
    first = result_of([(1.0, 0.1), (2.5, 0.2)], end_s=10.0, interval_s=1.0)
    second = result_of([(1.5, 0.4)], end_s=10.1, interval_s=0.5)
    one, other = merged([first, second]), merged([second, first])
    for part in ("classes", "counters"):
        assert one[part] == other[part]
    mine, its = (found["histograms"]["response_s"]["read"] for found in (one, other))
    assert mine["counts"].tolist() == its["counts"].tolist()


def test_batches_are_joined_to_the_longest() -> None:
    first = result_of([(0.1 * n, float(n)) for n in range(1, 9)], end_s=10.0, interval_s=1.0)
    second = result_of([(9.0, 3.0)], end_s=10.0, interval_s=1.0)
    second["series"]["read"]["batch_size"] = 4
    series = merged([first, second])["series"]["read"]
    assert series["batch_size"] == 4
    assert series["values"].tolist() == [2.5, 6.5, 3.0]


def test_a_problem_names_its_process() -> None:
    sound = result_of([(1.0, 0.1)], end_s=10.0, interval_s=1.0)
    assert merged([sound, {**sound, "problem": "the target is gone"}])["problem"] == (
        "load process 2: the target is gone"
    )
