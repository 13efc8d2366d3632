"""Gates and histories: the error rates that docs/reference/gates.md promises.

The benchmark (`python -m benches.gate`) measures all lines; this test checks their promises, and
measures some cells again.
"""

import pytest
from scipy import stats

from benches.gate import NOISES, SERIES, SUITES, THRESHOLD, gates, histories, load
from headroom.gate import changes, threshold

pytestmark = pytest.mark.deep

REAL_GATES = 200


def most(count: int, rate: float) -> float:
    """Return the number of events that a true rate exceeds once in 100,000 lines."""
    return float(stats.binom.isf(1e-5, count, rate))


def test_no_stored_gate_has_more_false_alarms_than_promised() -> None:
    gated, _, _ = load()
    equal = [row for row in gated if row.effect == 0.0]
    assert {row.noise for row in equal} == set(NOISES)
    assert all(row.gates == SUITES[row.rows][0] for row in equal)
    assert [row for row in equal if row.alarms > most(row.gates, threshold.AIM)] == []


@pytest.mark.parametrize("rows", [1, 20])
def test_nine_of_ten_slowdowns_as_large_as_the_scatter_are_found(rows: int) -> None:
    gated, _, _ = load()
    (line,) = [
        row for row in gated if (row.noise, row.rows, row.effect) == ("normal", rows, THRESHOLD)
    ]
    assert line.found >= 0.9 * line.gates


def test_real_gates_were_complete_and_raised_hardly_any_false_alarm() -> None:
    lines = load()[2]
    count = sum(line.gates for line in lines)
    assert count >= REAL_GATES
    assert sum(line.incomplete for line in lines) == 0
    assert sum(line.alarms for line in lines) <= most(count, threshold.AIM)


def test_series_without_a_step_show_none_more_often_than_stated_also_if_they_drift() -> None:
    _, series, _ = load()
    equal = [row for row in series if row.shift == 0.0]
    assert {row.noise for row in equal} == set(NOISES)
    assert [row for row in equal if row.found > most(SERIES, changes.LEVEL)] == []
    moved = [row for row in equal if row.noise not in {"drifting", "autocorrelated"}]
    assert [row for row in moved if row.moved > most(SERIES, changes.LEVEL)] == []


def test_cells_measured_again_are_as_stored() -> None:
    gated, series, _ = load()
    line = next(row for row in gated if (row.noise, row.rows, row.effect) == ("drifting", 1, 0.03))
    found = gates("drifting", 1, effect=0.03, count=300)
    assert stats.binomtest(found.found, 300, line.found / line.gates).pvalue > 1e-5
    assert gates("bimodal", 20, count=50).alarms <= most(50, threshold.AIM)
    other = next(row for row in series if (row.noise, row.length, row.shift) == ("normal", 50, 2.0))
    again = histories("normal", 50, shift=2.0, count=300)
    assert stats.binomtest(again.found, 300, other.found / other.series).pvalue > 1e-5
