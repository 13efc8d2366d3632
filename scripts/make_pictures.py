"""Take the pictures of the documents from a real report: `make pictures`.

Runs the quickstart study in a temporary copy and takes screenshots of part of its page in headless
Chromium, in both colour schemes, and draws the stored results of a benchmark and of the quick form
of `ncc_numa`. Needs Chromium; everything else is in `.venv/`.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benches.metadata.picture import write_picture
from headroom.report.browser import Scheme, open_browser
from studies.ncc_numa.picture import write_picture as write_speed_ups

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
STUDY = "quickstart"
WIDTH = 1180
LARGEST_BYTES = 200_000
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
PANEL_COUNT = 2
# Leaves the answer, its figure and the first questions, for a picture that fits a README.
SHORTEN = f"""
for (const part of document.querySelectorAll("#rest, footer")) part.hidden = true;
const panels = [...document.querySelectorAll(".questions > *")];
for (const panel of panels.slice({PANEL_COUNT})) panel.hidden = true;
"""


def run_copy(folder: Path, name: str, *options: str) -> Path:
    """Run a study in a copy and return the copy."""
    study = folder / name
    shutil.copytree(ROOT / "studies" / name, study, ignore=shutil.ignore_patterns("results"))
    headroom = Path(sys.executable).parent / "headroom"
    command = [str(headroom), "run", str(study), "--trust", *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return study


def speed_ups(folder: Path) -> Path:
    """Draw the speed-ups of `ncc_numa` and return the picture."""
    found = run_copy(folder, "ncc_numa", "--quick") / "results" / "quick" / "results.json"
    return write_speed_ups(json.loads(found.read_text(encoding="utf-8")))


def photograph(page: Path, scheme: Scheme) -> Path:
    """Write the picture of a page in one colour scheme and return its path."""
    picture = PICTURES / f"{STUDY}-{scheme}.png"
    with open_browser() as browser:
        browser.visit(page, scheme=scheme, width=WIDTH, height=200, picture=picture, action=SHORTEN)
    return picture


def main() -> int:
    """Write the pictures; return 1 if one is too large for the repository."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = run_copy(Path(folder).resolve(), STUDY) / "results" / "report.html"
        pictures = [photograph(page, scheme) for scheme in SCHEMES]
        pictures.append(speed_ups(Path(folder).resolve()))
    pictures.append(write_picture())
    for picture in pictures:
        print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size} bytes")
    return int(any(picture.stat().st_size > LARGEST_BYTES for picture in pictures))


if __name__ == "__main__":
    sys.exit(main())
