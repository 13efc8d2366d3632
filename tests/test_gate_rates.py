"""Gates and histories: the error rates that docs/reference/gates.md promises.

The benchmark (`python -m benches.gate`) measures all lines; this test checks their promises, and
measures some cells again.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benches import gates as jobs
from benches import histories, slowdowns
from benches.gate import NOISES, SUITES, THRESHOLD, gates, load
from headroom.gate import changes, threshold

pytestmark = pytest.mark.deep

REAL_GATES = 200


def most(count: int, rate: float) -> float:
    """Return the number of events that a true rate exceeds once in 100,000 lines."""
    return float(stats.binom.isf(1e-5, count, rate))


def test_no_stored_gate_has_more_false_alarms_than_promised() -> None:
    gated, _ = load()
    equal = [row for row in gated if row.effect == 0.0]
    assert {row.noise for row in equal} == set(NOISES)
    assert all(row.gates == SUITES[row.rows][0] for row in equal)
    assert [row for row in equal if row.alarms > most(row.gates, threshold.AIM)] == []


@pytest.mark.parametrize("rows", [1, 20])
def test_nine_of_ten_slowdowns_as_large_as_the_scatter_are_found(rows: int) -> None:
    gated, _ = load()
    (line,) = [
        row for row in gated if (row.noise, row.rows, row.effect) == ("normal", rows, THRESHOLD)
    ]
    assert line.found >= 0.9 * line.gates


def test_real_gates_were_complete_and_raised_hardly_any_false_alarm() -> None:
    _, lines = load()
    count = sum(line.gates for line in lines)
    assert count >= REAL_GATES
    assert sum(line.incomplete for line in lines) == 0
    assert sum(line.alarms for line in lines) <= most(count, threshold.AIM)


def test_series_without_a_change_show_one_no_more_often_than_stated_also_if_they_drift() -> None:
    lines = [one for one in histories.load() if one.method == histories.OURS[0]]
    quiet = [one for one in lines if one.kind in histories.QUIETS]
    assert {one.kind for one in quiet} == set(histories.QUIETS)
    assert [one for one in quiet if one.found > most(one.series, changes.LEVEL)] == []
    count = sum(one.series for one in quiet)
    assert sum(one.found for one in quiet) <= changes.LEVEL * count
    level = [one for one in histories.load() if one.method == histories.OURS[1]]
    level = [one for one in level if one.kind in histories.QUIETS and one.kind != "drift"]
    assert [one for one in level if one.found > most(one.series, changes.LEVEL)] == []


@pytest.mark.parametrize("kind", [kind for kind in histories.KINDS if "10%" in kind])
def test_every_change_of_ten_deviations_is_found_and_nearly_all_at_their_place(kind: str) -> None:
    (line,) = [one for one in histories.load() if (one.kind, one.method) == (kind, "Headroom")]
    assert (line.series, line.found) == (histories.SERIES, histories.SERIES)
    assert line.exact >= histories.SERIES - 1


def test_a_kind_judged_again_is_as_stored() -> None:
    kind = "step of 10%, last 3"
    (line,) = [one for one in histories.load() if (one.kind, one.method) == (kind, "Headroom")]
    again = [histories.ours(series)[0] for series in histories.drawn(kind)]
    assert sum(places == histories.KINDS[kind].places for places in again) == line.exact


def test_real_gates_make_no_false_claim_more_than_promised_and_find_more_than_hyperfine() -> None:
    lines = {(one.method, one.slowdown > 0.0): one for one in slowdowns.load()}
    peer = "hyperfine, Welch's t"
    false = lines["Headroom", False]
    assert false.claims <= most(false.comparisons, threshold.AIM)
    assert lines["Headroom", True].claims >= lines[peer, True].claims
    guide = (Path(__file__).parents[1] / "docs/guides/catch-a-regression.md").read_text("utf-8")
    assert slowdowns.table(slowdowns.load()) in guide


def test_gates_of_jobs_are_hardly_ever_red_by_chance_and_see_3_percent() -> None:
    data = jobs.load()
    lines = {(one.kind.partition(",")[0], one.slower > 0.0): one for one in data["lines"]}
    for kind in ("a program", f"{jobs.ROWS} rows"):
        equal = lines[kind, False]
        assert equal.gates == jobs.GATES[1, 0.0]
        assert equal.red <= threshold.LEVEL * equal.gates
    assert lines["a program", True].red >= 0.9 * lines["a program", True].gates
    real = "jobs of the action's script"
    assert (lines[real, False].gates, lines[real, True].gates) == (60, 30)
    assert lines[real, False].red <= 2
    assert lines[real, True].red >= 24
    guide = (Path(__file__).parents[1] / "docs/guides/gate-a-pull-request.md").read_text("utf-8")
    assert jobs.table(data["lines"], data["costs"]) in guide


def test_gates_simulated_again_with_the_recorded_noise_are_as_stored() -> None:
    data = jobs.load()
    times = np.exp(np.array(data["times"]))
    assert jobs.simulated(times, jobs.ROWS, 0.0, 20).red <= 2
    (line,) = [one for one in data["lines"] if one.kind.startswith("a program") and one.slower]
    found = jobs.simulated(times, 1, jobs.SHARE, 200)
    assert stats.binomtest(found.red, 200, line.red / line.gates).pvalue > 1e-5


def test_cells_measured_again_are_as_stored() -> None:
    gated, _ = load()
    line = next(row for row in gated if (row.noise, row.rows, row.effect) == ("drifting", 1, 0.03))
    found = gates("drifting", 1, effect=0.03, count=300)
    assert stats.binomtest(found.found, 300, line.found / line.gates).pvalue > 1e-5
    assert gates("bimodal", 20, count=50).alarms <= most(50, threshold.AIM)
