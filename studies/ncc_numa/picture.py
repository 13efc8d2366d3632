"""Draw the speed-ups on four nodes: `make pictures` writes pictures/speed-ups.svg."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headroom.report.figures.axes import linear_axis
from headroom.report.figures.draw import LEAD_PX
from headroom.report.figures.files import svg_file
from headroom.report.figures.inputs import Bar, Bars

PICTURE = Path(__file__).resolve().parent / "pictures" / "speed-ups.svg"
TITLE = "Speed-up of four nodes over one; higher is better"
PROGRAMS = {"lu": "LU", "barnes": "Barnes", "ocean": "Ocean", "fft": "FFT"}
MACHINES = {"ncc": "network cache", "numa": "no cache"}
NODES = 4


def bars_of(results: Mapping[str, Any]) -> Bars:
    """Return two bars for each program, of the machines with and without a network cache."""
    found = {
        (experiment["name"], value["levels"]["program"]): float(value["value"])
        for experiment in results["experiments"]
        if experiment["name"] in MACHINES
        for derived in experiment["derived"]
        if derived["name"] == "speedup"
        for value in derived["values"]
        if value["levels"]["nodes"] == NODES
    }
    bars = tuple(
        Bar(
            label=f"{PROGRAMS[program]}, {MACHINES[machine]}",
            value=found[machine, program],
            text=f"{found[machine, program]:.2f}",
            role="data" if machine == "ncc" else "context",
        )
        for program in PROGRAMS
        for machine in MACHINES
    )
    return Bars(x=linear_axis([0.0, *(bar.value for bar in bars)], "speed-up"), bars=bars)


def write_picture(results: Mapping[str, Any]) -> Path:
    """Write the picture of the results of the study."""
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(svg_file(bars_of(results), TITLE, LEAD_PX), encoding="utf-8")
    return PICTURE
