"""Draw figure 1 of the paper: `python studies/record_node_size/make_pictures.py`.

Needs results/results.json, which `headroom run studies/record_node_size` writes; another file may
be named. Writes pictures/figure-1.svg: the mean norm over the size of a node, on each machine.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headroom.report.figures.axes import level_axis, linear_axis
from headroom.report.figures.draw import LEAD_PX
from headroom.report.figures.files import svg_file
from headroom.report.figures.inputs import Curve, Dot, Line
from headroom.report.figures.roles import Role

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "results" / "results.json"
PICTURE = FOLDER / "pictures" / "figure-1.svg"
LINES: Mapping[str, tuple[str, Role]] = {
    "published": ("measured here", "data"),
    "ultrasparc": ("UltraSPARC-IIi", "third"),
    "rp5405": ("rp5405", "context"),
    "arena": ("UltraSPARC-IIi, side by side", "limit"),
}
TITLE = "Mean norm of the time to retrieve a record, by the size of its node; lower is better"
LINE_BYTES = 64


def curve_of(results: Mapping[str, Any]) -> Curve:
    """Return the mean norms of all experiments that have them."""
    lines = []
    for experiment in results["experiments"]:
        found = [one for one in experiment["derived"] if one["name"] == "norm_mean"]
        if not found or experiment["name"] not in LINES:
            continue
        label, role = LINES[experiment["name"]]
        known = [one for one in found[0]["values"] if one["value"] is not None]
        dots = [
            Dot(x=one["levels"]["node_bytes"] / LINE_BYTES, y=one["value"], low=one["low"],
                high=one["high"])
            for one in known
        ]  # fmt: skip
        lines.append(Line(label=label, role=role, dots=tuple(dots), is_dashed=role != "data"))
    at = [dot.x for line in lines for dot in line.dots]
    norms = [bound for line in lines for dot in line.dots for bound in (dot.y, dot.low, dot.high)]
    return Curve(
        x=level_axis(at, "size of a node (lines of 64 B)", is_log=True),
        y=linear_axis([one for one in norms if one is not None], "norm", from_zero=False),
        lines=tuple(lines),
    )


def main(path: Path = RESULTS) -> int:
    """Write the picture."""
    results = json.loads(path.read_text(encoding="utf-8"))
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(svg_file(curve_of(results), TITLE, LEAD_PX), encoding="utf-8")
    sys.stdout.write(f"{PICTURE.name}: {PICTURE.stat().st_size} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
