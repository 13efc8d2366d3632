"""Print how many cells depend on the size of the node by more than noise.

    headroom export studies/record_node_size --what replications > replications.csv
    python studies/record_node_size/effects.py replications.csv

A cell depends on the size if the Kruskal-Wallis test over its replications says so, with the false
discovery rate of all cells at 5% (Benjamini and Hochberg). For these cells it prints the rank
correlation of measured and predicted times over the sizes as well.
"""

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
import scipy

FALSE_RATE = 0.05
METRIC, SIZE, MODE = "record_s", "factor.node_bytes", "factor.mode"
Levels: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Effect:
    """A cell over the sizes of its node."""

    samples: dict[int, list[float]] = field(default_factory=dict)
    """Times (s) of a record in the replications, by size."""

    @property
    def times(self) -> dict[int, float]:
        """Median time (s) by size."""
        return {size: float(np.median(found)) for size, found in self.samples.items()}

    @property
    def slowdown(self) -> float:
        """Time at the worst size over that at the best."""
        times = self.times.values()
        return max(times) / min(times)

    @property
    def p_value(self) -> float:
        """Probability of such differences if the size had no effect."""
        samples = list(self.samples.values())
        if len({one for sample in samples for one in sample}) <= 1:
            return 1.0
        return float(scipy.stats.kruskal(*samples).pvalue)


def effects_of(rows: Iterable[Mapping[str, str]]) -> dict[Levels, Effect]:
    """Return the effect of the size in each cell, from the rows of its replications."""
    cells: dict[Levels, Effect] = {}
    for row in rows:
        if row["metric"] != METRIC or row["state"] != "done":
            continue
        levels = {name: one for name, one in row.items() if name.startswith("factor.") and one}
        size = int(levels.pop(SIZE))
        cell = cells.setdefault(tuple(levels.items()), Effect())
        cell.samples.setdefault(size, []).append(float(row["value"]))
    return {rest: cell for rest, cell in cells.items() if len(cell.samples) > 1}


def beyond_noise(effects: Mapping[Levels, Effect]) -> dict[Levels, Effect]:
    """Return the effects that are no noise."""
    p_values = [effect.p_value for effect in effects.values()]
    adjusted = scipy.stats.false_discovery_control(p_values) if p_values else []
    kept = zip(effects.items(), adjusted, strict=True)
    return {rest: effect for (rest, effect), one in kept if one <= FALSE_RATE}


def rank_correlations(
    measured: Mapping[Levels, Effect], predicted: Mapping[Levels, Effect]
) -> list[float]:
    """Return Spearman's correlation over the sizes of each cell that both have."""
    found = []
    for rest, effect in measured.items():
        times = [effect.times, predicted[rest].times] if rest in predicted else [{}, {}]
        sizes = sorted(times[0].keys() & times[1].keys())
        if len(sizes) > 2:  # noqa: PLR2004 - two sizes have no order to speak of
            pairs = [[one[size] for size in sizes] for one in times]
            found.append(float(scipy.stats.spearmanr(*pairs).statistic))
    return [one for one in found if np.isfinite(one)]


def table_of(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the lines that are printed."""
    effects, predicted = (
        effects_of(row for row in rows if row["experiment"] == name)
        for name in ("published", "predicted")
    )
    measured = beyond_noise(effects)
    lines = ["mode      cells  beyond noise  worst over best size (median)"]
    for mode in dict.fromkeys(dict(rest)[MODE] for rest in effects):
        own = [effect for rest, effect in effects.items() if (MODE, mode) in rest]
        count = sum((MODE, mode) in rest for rest in measured)
        worst = float(np.median([effect.slowdown for effect in own]))
        lines.append(f"{mode!s:8} {len(own):6} {count:13}  {worst:.2f}")
    ranks = rank_correlations(measured, predicted)
    if ranks:
        share = sum(one >= 0.9 for one in ranks) / len(ranks)  # noqa: PLR2004 - the goal
        lines.append(
            f"predicted: in {len(ranks)} cells beyond noise the median rank correlation is "
            f"{np.median(ranks):.2f}; {share:.0%} have 0.9 or more"
        )
    return lines


def main(path: Path) -> int:
    """Print the table."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == METRIC]
    sys.stdout.write("\n".join(table_of(rows)) + "\n")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:  # noqa: PLR2004 - the program and one file
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
