"""The study of the size of nodes: its quick form, and what its claims take from formulas."""

from typing import Any

import numpy as np
import pytest

from studies.quick_form import ClaimRows, QuickForm, QuickRun
from studies.record_node_size.effects import beyond_noise, effects_of
from studies.record_node_size.make_pictures import LINES, curve_of

PAGE_BYTES = 8192
PUBLISHED_CELLS = 11 * 4 * 5 * 2 * (4 + 4 + 1)
INFEASIBLE_CELLS = 3 * 4 * 2 * (4 + 4 + 1)


class TestRecordNodeSize(QuickForm, ClaimRows):
    """The quick form ends with its claims, and README.md explains each."""

    def test_simulations_settle_the_claims_about_pages(self, quick: QuickRun) -> None:
        """Simulations have fixed seeds, so these verdicts are the same on every machine."""
        verdicts = quick.verdicts()
        for name in ("half-pages-4", "half-pages-64", "no-multiple-loses", "multiple-gains"):
            assert verdicts[name] == "holds", name

    def test_counted_misses_are_compared_where_there_are_counters(self, quick: QuickRun) -> None:
        """Without counters the claim has no evidence; with them it may have any verdict."""
        points = quick.experiment("published")["points"]
        has_counters = any("dtlb_misses_per_record" in point["estimates"] for point in points)
        if not has_counters:
            assert quick.verdicts()["misses-explain-time"] == "undecided"


def test_the_grid_has_the_published_cells_without_the_impossible_ones(
    study: dict[str, Any],
) -> None:
    """The paper has 3,960 cells; in 216 of them a record is larger than its node."""
    experiments = {one["name"]: one for one in study["experiment"]}
    for experiment in (experiments["published"], experiments["ultrasparc"]):
        factors = experiment["factors"]
        pairs = [
            (node, record)
            for node in factors["node_bytes"]
            for record in factors["record_bytes"]
            if node >= record
        ]
        count = len(pairs) * len(factors["records"]) * len(factors["operation"]) * (4 + 4 + 1)
        assert count == PUBLISHED_CELLS - INFEASIBLE_CELLS == 3744
        left_out = {
            (node, record)
            for table in experiment["without"]
            if "node_bytes" in table
            for node in [table["node_bytes"]]
            for record in (
                table["record_bytes"]
                if isinstance(table["record_bytes"], list)
                else [table["record_bytes"]]
            )
        }
        assert left_out == {(64, 128), (64, 256), (128, 256)}


@pytest.mark.parametrize("name", ["half-pages-4", "half-pages-64", "eighth-pages-4"])
def test_claimed_pages_are_those_of_the_formula(name: str, study: dict[str, Any]) -> None:
    """Pages of N bytes in nodes of S bytes, scattered over k N: (k N/P)(1 - (1 - 1/k)^(P/S))."""
    claim = next(one for one in study["claim"] if one["name"] == name)
    k, node = claim["where"]["occupancy"], claim["where"]["node_bytes"]
    assert claim["value"] == pytest.approx(k * (1.0 - (1.0 - 1.0 / k) ** (PAGE_BYTES / node)))


def _rows(mode: str, times: dict[int, float], seed: int) -> list[dict[str, str]]:
    """Return the rows of a cell: ten replications at each size, with noise of 1%."""
    random = np.random.default_rng(seed)
    return [
        {
            "metric": "record_s", "state": "done", "factor.node_bytes": str(size),
            "factor.mode": mode, "value": str(value),
        }
        for size, time in times.items()
        for value in time * random.normal(1, 0.01, 10)
    ]  # fmt: skip


def test_a_cell_without_an_effect_is_not_beyond_noise() -> None:
    """Of 40 cells with noise alone none passes, of 10 with an effect of 5% all do."""
    nothing = [_rows(f"none {seed}", {64: 1.0, 4096: 1.0}, seed) for seed in range(40)]
    effect = [_rows(f"some {seed}", {64: 1.05, 4096: 1.0}, seed) for seed in range(10)]
    found = beyond_noise(effects_of([row for cell in nothing + effect for row in cell]))
    assert {mode for ((_, mode),) in found} == {f"some {seed}" for seed in range(10)}


def test_figure_1_has_a_line_for_each_machine(quick: QuickRun) -> None:
    labels = {line.label for line in curve_of(quick.results).lines}
    assert labels == {label for label, _ in LINES.values()}
