"""Take the pictures of the documents from a real report: `make pictures`.

Runs the quickstart study in a temporary copy and takes screenshots of part of its page in headless
Chromium, in both colour schemes, and draws the stored results of a benchmark. Needs Chromium;
everything else is in `.venv/`.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benches.metadata.picture import write_picture
from headroom.report.browser import Scheme, open_browser

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


def report_page(folder: Path) -> Path:
    """Run the study in a copy and return its page."""
    study = folder / STUDY
    shutil.copytree(ROOT / "studies" / STUDY, study, ignore=shutil.ignore_patterns("results"))
    headroom = Path(sys.executable).parent / "headroom"
    subprocess.run([str(headroom), "run", str(study)], check=True, stdout=subprocess.DEVNULL)
    return study / "results" / "report.html"


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
        page = report_page(Path(folder).resolve())
        pictures = [photograph(page, scheme) for scheme in SCHEMES]
    pictures.append(write_picture())
    for picture in pictures:
        print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size} bytes")
    return int(any(picture.stat().st_size > LARGEST_BYTES for picture in pictures))


if __name__ == "__main__":
    sys.exit(main())
