"""Gates and histories: the error rates that docs/reference/gates.md promises.

The benchmark (`python -m benches.gate`) measures all lines; this test checks their promises, and
measures some cells again.
"""

import pytest
from scipy import stats

from benches.gate import NOISES, SERIES, SUITES, THRESHOLD, gates, histories, load
from headroom.gate import changes, threshold

EXCHANGEABLE = {"normal", "lognormal", "bimodal"}


def most(count: int, rate: float) -> float:
    """Return the number of events that a true rate exceeds once in 100,000 lines."""
    return float(stats.binom.isf(1e-5, count, rate))


def test_no_stored_gate_has_more_false_alarms_than_promised() -> None:
    gated, _, _ = load()
    equal = [row for row in gated if row.effect == 0.0]
    assert {row.noise for row in equal} == set(NOISES)
    assert all(row.gates == SUITES[row.rows][0] for row in equal)
    assert [row for row in equal if row.alarms > most(row.gates, threshold.LEVEL)] == []


@pytest.mark.parametrize("rows", [1, 20])
def test_nine_of_ten_slowdowns_as_large_as_the_scatter_are_found(rows: int) -> None:
    gated, _, _ = load()
    (line,) = [
        row for row in gated if (row.noise, row.rows, row.effect) == ("normal", rows, THRESHOLD)
    ]
    assert line.found >= 0.9 * line.gates


def test_200_real_gates_were_complete_and_raised_hardly_any_false_alarm() -> None:
    (line,) = load()[2]
    assert line.gates >= 200
    assert line.incomplete == 0
    assert line.alarms <= most(line.gates, threshold.LEVEL)


def test_series_of_exchangeable_results_raise_no_more_alarms_than_stated() -> None:
    _, series, _ = load()
    equal = [row for row in series if row.shift == 0.0 and row.noise in EXCHANGEABLE]
    assert [row for row in equal if row.found > most(SERIES, changes.LEVEL)] == []


def test_cells_measured_again_are_as_stored() -> None:
    gated, series, _ = load()
    line = next(row for row in gated if (row.noise, row.rows, row.effect) == ("drifting", 1, 0.03))
    found = gates("drifting", 1, effect=0.03, count=300)
    assert stats.binomtest(found.found, 300, line.found / line.gates).pvalue > 1e-5
    assert gates("bimodal", 20, count=100).alarms <= most(100, threshold.LEVEL)
    other = next(row for row in series if (row.noise, row.length, row.shift) == ("normal", 50, 1.0))
    again = histories("normal", 50, shift=1.0, count=300)
    assert stats.binomtest(again.found, 300, other.found / other.series).pvalue > 1e-5
