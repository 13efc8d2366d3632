"""Print how many cells depend on the size: `python studies/record_node_size/effects.py`.

Needs results/results.json, which `headroom run studies/record_node_size` writes; another file may
be named. A cell depends on the size if the Kruskal-Wallis test over its replications says so, with
the false discovery rate of all cells at 5% (Benjamini and Hochberg). For these cells it prints the
rank correlation of measured and predicted times over the sizes as well.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy

RESULTS = Path(__file__).resolve().parent / "results" / "results.json"
FALSE_RATE = 0.05
METRIC = "record_s"
Levels = tuple[tuple[str, object], ...]


@dataclass(slots=True)
class Effect:
    """A cell over the sizes of its node."""

    times: dict[int, float] = field(default_factory=dict)
    """Time (s) of a record, the centre of the replications."""
    samples: list[list[float]] = field(default_factory=list)
    """Times (s) of the replications at each size; none of simulated ones."""

    @property
    def slowdown(self) -> float:
        """Time at the worst size over that at the best."""
        return max(self.times.values()) / min(self.times.values())

    @property
    def p_value(self) -> float:
        """Probability of such differences if the size had no effect."""
        if len({one for sample in self.samples for one in sample}) <= 1:
            return 1.0
        return float(scipy.stats.kruskal(*self.samples).pvalue)


def effects_of(points: Iterable[Mapping[str, Any]]) -> dict[Levels, Effect]:
    """Return the effect of the size in each cell."""
    cells: dict[Levels, Effect] = {}
    for point in points:
        levels = point["levels"]
        rest = tuple((name, one) for name, one in levels.items() if name != "node_bytes")
        if METRIC not in point["estimates"]:
            continue
        cell = cells.setdefault(rest, Effect())
        cell.times[levels["node_bytes"]] = point["estimates"][METRIC]["value"]
        found = [one["samples"] for one in point["distributions"] if one["metric"] == METRIC]
        cell.samples += found
    return {rest: cell for rest, cell in cells.items() if len(cell.times) > 1}


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
        other = predicted.get(rest)
        sizes = sorted(effect.times.keys() & other.times.keys()) if other else []
        if other and len(sizes) > 2:  # noqa: PLR2004 - two sizes have no order to speak of
            pairs = [[one.times[size] for size in sizes] for one in (effect, other)]
            found.append(float(scipy.stats.spearmanr(*pairs).statistic))
    return [one for one in found if np.isfinite(one)]


def table_of(experiments: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Return the lines that are printed."""
    effects = effects_of(experiments.get("published", ()))
    measured = beyond_noise(effects)
    lines = ["mode      cells  beyond noise  worst over best size (median)"]
    for mode in dict.fromkeys(dict(rest)["mode"] for rest in effects):
        own = [effect for rest, effect in effects.items() if ("mode", mode) in rest]
        count = sum(("mode", mode) in rest for rest in measured)
        worst = float(np.median([effect.slowdown for effect in own]))
        lines.append(f"{mode!s:8} {len(own):6} {count:13}  {worst:.2f}")
    ranks = rank_correlations(measured, effects_of(experiments.get("predicted", ())))
    if ranks:
        share = sum(one >= 0.9 for one in ranks) / len(ranks)  # noqa: PLR2004 - the goal
        lines.append(
            f"predicted: in {len(ranks)} cells beyond noise the median rank correlation is "
            f"{np.median(ranks):.2f}; {share:.0%} have 0.9 or more"
        )
    return lines


def main(path: Path = RESULTS) -> int:
    """Print the table."""
    results = json.loads(path.read_text(encoding="utf-8"))
    experiments = {one["name"]: one["points"] for one in results["experiments"]}
    sys.stdout.write("\n".join(table_of(experiments)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
