"""The study of the cluster of Oh and Chung: its quick form."""

import json
from pathlib import Path
from typing import Any

import pytest

from studies.quick_form import ClaimRows, QuickForm, QuickRun

DIFFER = {
    "gain-ocean-2", "gain-ocean-4", "gain-fft-2", "gain-fft-4", "gain-order", "share-lu-2",
    "share-barnes-2", "share-barnes-4", "flat-barnes", "lines-64-ocean", "addresses",
}  # fmt: skip
"""Claims that the README explains; the other ones of the paper hold in the full study."""


class TestNccNuma(QuickForm, ClaimRows):
    """The quick form ends with its claims."""

    def test_the_read_times_are_those_of_table_1(self, quick: QuickRun) -> None:
        """They fix the controllers, so they hold in any form."""
        verdicts = quick.verdicts()
        assert {verdicts[name] for name in verdicts if name.startswith("read-")} == {"holds"}

    def test_lu_and_barnes_gain_and_what_differs_is_known(self, quick: QuickRun) -> None:
        """Programs with fixed seeds: no machine decides it."""
        verdicts = quick.verdicts()
        assert {verdicts[f"gain-{name}"] for name in ("lu-2", "lu-4", "barnes-2")} == {"holds"}
        assert {name for name, one in verdicts.items() if one == "differs"} <= DIFFER

    def test_cells_of_table_5_meet_their_published_ones(self, quick: QuickRun) -> None:
        """Each of the eight errors of a machine has a published partner."""
        for name in ("errors-numa", "errors-ncc"):
            claim = next(one for one in quick.results["claims"] if one["name"] == name)
            assert len(claim["pairs"]) == 8
            assert claim["value"] < 0.1


def far_read_us(*, hop_us: float, controller_us: float, packets: tuple[float, float]) -> float:
    """Return the time of a read of the other node, from the stations that its two packets pass.

    A packet passes two controllers, two buses of 400 MB/s, a link of 667 MB/s and a hop, and the
    processor's bus takes the 0.9 us of a near read.
    """
    ways = (2 * controller_us + 2 * size / 400 + size / 667 + hop_us for size in packets)
    return 0.9 + sum(ways)


def stated_gain(hop_us: float, share: float, *, repeats: float) -> float:
    """Return the time of mixed reads without a network cache over that with it, if none waits."""
    plain = far_read_us(hop_us=hop_us, controller_us=0.112, packets=(24, 24))
    line = far_read_us(hop_us=hop_us, controller_us=0.218, packets=(24, 88)) + 2 * 0.26
    cached = 0.9 + (line - 0.9) / repeats
    near = 1 - share
    return (plain * share + 0.01 * near) / (cached * share + 0.9 * near)


def test_the_recorded_break_even_is_the_formula() -> None:
    """Oracle: shares times the time of each kind of read; 4.02 us far is table 1."""
    text = (Path(__file__).parent / "recorded" / "break_even.json").read_text(encoding="utf-8")
    runs: list[dict[str, Any]] = json.loads(text)["runs"]
    assert len(runs) == 5 * 7
    for run in runs:
        hop_us, share = 1e6 * run["levels"]["hop_s"], run["levels"]["reads_remote_share"]
        expected = stated_gain(hop_us, share, repeats=16.0)
        assert run["values"]["gain"] == pytest.approx(expected, abs=1e-5)
    assert far_read_us(hop_us=1.18, controller_us=0.112, packets=(24, 24)) == pytest.approx(
        4.02, rel=0.001
    )
