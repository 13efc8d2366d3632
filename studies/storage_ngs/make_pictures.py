"""Draw table 1 and figure 2 beside the models: `python studies/storage_ngs/make_pictures.py`.

Needs results/results.json, which `headroom run studies/storage_ngs` writes; another folder of
results may be named. Writes pictures/table-1.svg: on the left the times of whole runs as the paper
prints them and as the models have them, on the right how the time of a transaction falls during a
run.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headroom.simulation import simulate
from headroom.systems.storage.devices.models.calibrate import MODELS, PUBLISHED, Row

FOLDER = Path(__file__).resolve().parent
PICTURE = FOLDER / "pictures" / "table-1.svg"
WIDTH, HEIGHT = 960, 330
PAPER, MODEL, GRID = "#8a8f98", "#2868c8", "#e3e5e8"
COLOURS = {"NGS": "#2868c8", "EVA4400": "#c8552c"}
SHORT = {"NGS": "ngs", "EVA4400": "eva"}
"""How claims call the devices."""
SLICES = 40
SEEDS = range(1, 6)


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps values from `low` to `high` to places from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the place of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def across(x: float, reach: float, y: float, colour: str, width: float = 1.0) -> str:
    """Return a level line from `x` on, `reach` long."""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x + reach:.1f}" y2="{y:.1f}" stroke="{colour}" '
        f'stroke-width="{width}"/>'
    )


def text(x: float, y: float, said: str, *, anchor: str = "middle", size: int = 12) -> str:
    """Return a text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{said}</text>'


def rows_of(results: Mapping[str, Any]) -> dict[str, Row]:
    """Return the rows of the models by device (ms), extremes of as many runs as in the paper."""
    paper = next(
        experiment for experiment in results["experiments"] if experiment["name"] == "paper"
    )
    estimates = {
        point["levels"]["device"]: point["estimates"]["run_s"] for point in paper["points"]
    }
    claimed = {claim["name"]: 1e3 * float(claim["value"] or 0.0) for claim in results["claims"]}
    return {
        device: Row(
            mean=1e3 * estimate["mean"],
            deviation=1e3 * estimate["stdev"],
            median=1e3 * estimate["median"],
            least=claimed[f"model-{SHORT[device]}-min"],
            most=claimed[f"model-{SHORT[device]}-max"],
            absolute_deviation=1e3 * estimate["mean_deviation"],
        )
        for device, estimate in estimates.items()
    }


def bars(row: Row, x: float, axis: Axis, colour: str) -> Iterator[str]:
    """Yield one row: least to most, mean with the standard deviation around it, median."""
    high, low = axis.at(row.most), axis.at(row.least)
    yield f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{colour}" stroke-width="1.5"/>'
    for end in (low, high):
        yield across(x - 7, 14, end, colour, 1.5)
    top = axis.at(row.mean + row.deviation)
    height = axis.at(row.mean - row.deviation) - top
    yield (
        f'<rect x="{x - 13}" y="{top:.1f}" width="26" height="{height:.1f}" fill="{colour}" '
        f'fill-opacity="0.3" stroke="{colour}"/>'
    )
    yield across(x - 13, 26, axis.at(row.median), colour, 2.5)


def table(rows: Mapping[str, Row]) -> Iterator[str]:
    """Yield table 1 and the models, each device on an axis of its own."""
    for place, (device, model) in enumerate(rows.items()):
        published, left = PUBLISHED[device], 75 + 235 * place
        low = min(published.least, model.least)
        high = max(published.most, model.most)
        margin = 0.08 * (high - low)
        axis = Axis(low - margin, high + margin, HEIGHT - 60, 55)
        yield text(left + 75, 42, f"{device}: time of a run (ms)", size=13)
        for tick in np.linspace(low, high, 5):
            yield across(left, 150, axis.at(tick), GRID)
            yield text(left - 6, axis.at(tick) + 4, f"{tick:.0f}", anchor="end", size=11)
        for x, word, row, colour in (
            (left + 40, "table 1", published, PAPER),
            (left + 110, "model", model, MODEL),
        ):
            yield from bars(row, x, axis, colour)
            yield text(x, HEIGHT - 38, word)


def transaction_us(device: str) -> list[float]:
    """Return the mean time (us) of a transaction in each slice of a run, over some runs."""
    runs = []
    for seed in SEEDS:
        # The first batch has the making of the files in it.
        values = simulate(MODELS[device](), seed=seed).series[0].values[1:]
        runs.append([float(part.mean()) for part in np.array_split(values, SLICES)])
    slices: list[float] = (1e6 * np.array(runs).mean(axis=0)).tolist()
    return slices


def warm_up(curves: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield the time of a transaction over the transactions of a run."""
    left, right = 575, WIDTH - 20
    along = Axis(0, 100_000, left, right)
    up = Axis(0, 1.1 * max(map(max, curves.values())), HEIGHT - 60, 55)
    yield text((left + right) / 2, 42, "Time of a transaction (µs) during a run, models", size=13)
    for tick in range(0, int(up.high), 20):
        yield across(left, right - left, up.at(tick), GRID)
        yield text(left - 6, up.at(tick) + 4, str(tick), anchor="end", size=11)
    for tick in range(0, 100_001, 25_000):
        yield text(along.at(tick), HEIGHT - 42, f"{tick:,}", size=11)
    yield text((left + right) / 2, HEIGHT - 22, "transactions")
    for place, (device, values) in enumerate(curves.items()):
        step = 100_000 / len(values)
        points = " ".join(
            f"{along.at((turn + 0.5) * step):.1f},{up.at(value):.1f}"
            for turn, value in enumerate(values)
        )
        colour = COLOURS[device]
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        at = 72 + 18 * place
        yield across(right - 105, 25, at - 4, colour, 2)
        yield text(right - 72, at, device, anchor="start")


def picture(rows: Mapping[str, Row], curves: Mapping[str, Sequence[float]]) -> str:
    """Return the whole picture."""
    legend = "line: smallest to largest; box: mean and standard deviation; bar: median"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" fill="#23272e">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        text(
            20, 20, "Table 1 and figure 2 (Kang, Cheong) beside the models", anchor="start", size=14
        ),
        *table(rows),
        text(20, HEIGHT - 12, legend, anchor="start", size=11),
        *warm_up(curves),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    """Write the picture."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER / "results"
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    PICTURE.parent.mkdir(exist_ok=True)
    curves = {device: transaction_us(device) for device in MODELS}
    PICTURE.write_text(picture(rows_of(results), curves), encoding="utf-8")
    sys.stdout.write(f"{PICTURE.name}: {PICTURE.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
