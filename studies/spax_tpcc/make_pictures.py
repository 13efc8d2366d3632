"""Photograph the figures of the study's report: `python studies/spax_tpcc/make_pictures.py`.

Needs results/report.html, which `headroom run studies/spax_tpcc` writes, and Chromium. Writes one
picture for each experiment into pictures/.
"""

import sys
from pathlib import Path

from headroom.report.browser import open_browser

FOLDER = Path(__file__).resolve().parent
PICTURES = FOLDER / "pictures"
WIDTH = 1100
LARGEST_BYTES = 200_000
FIGURES = {
    "size": [0, 2], "length": [0, 1], "disks": [0, 2], "io": [0, 1], "buffers": [0, 2, 4, 5],
    "balance": [0, -1], "clock": [0], "path": [0], "scale": [0], "server": [0],
}  # fmt: skip
"""Which figures of an experiment, in the order of its page; -1 is the last, its map."""

SHOW = """
const kept = document.getElementById("experiment-EXPERIMENT");
for (const part of document.querySelectorAll("main > section, body > nav, body > header, footer"))
  part.hidden = part !== kept;
for (const part of kept.querySelectorAll(":scope > *:not(.figures)")) part.hidden = true;
const groups = [...kept.querySelectorAll(":scope > .figures")];
groups.slice(1).forEach(group => group.hidden = true);
const figures = [...groups[0].querySelectorAll("figure")];
const wanted = PLACES.map(place => figures.at(place));
for (const figure of figures) figure.hidden = !wanted.includes(figure);
"""


def main() -> int:
    """Write the pictures; return 1 where one is too large for the repository."""
    PICTURES.mkdir(exist_ok=True)
    written = []
    with open_browser() as browser:
        for name, places in FIGURES.items():
            picture = PICTURES / f"{name}.png"
            action = SHOW.replace("EXPERIMENT", name).replace("PLACES", str(places))
            page = FOLDER / "results" / "report.html"
            browser.visit(page, width=WIDTH, height=200, picture=picture, action=action)
            written.append(picture)
    for picture in written:
        sys.stdout.write(f"{picture.name}: {picture.stat().st_size} bytes\n")
    return int(any(picture.stat().st_size > LARGEST_BYTES for picture in written))


if __name__ == "__main__":
    sys.exit(main())
