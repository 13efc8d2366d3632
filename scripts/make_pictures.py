"""Take the pictures of the documents from a real report: `make pictures`.

Runs the quickstart study in a temporary copy and takes screenshots of part of its page in headless
Chromium, in both colour schemes. Needs Chromium; everything else is in `.venv/`.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from headroom.report.browser import Scheme, open_browser

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
STUDY = "quickstart"
WIDTH = 1100
LARGEST_BYTES = 200_000
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

# Leaves the title and the results of the first experiment, for a picture that fits a README.
SHORTEN = """
for (const part of document.querySelectorAll("main > section")) part.hidden = true;
const first = document.querySelector("main > section.experiment");
first.hidden = false;
const rest = "h3, .hint, .choose, .choose ~ .figures, details, table";
for (const part of first.querySelectorAll(rest)) part.hidden = true;
for (const part of document.querySelectorAll("footer, body > nav")) part.hidden = true;
const figures = [...first.querySelectorAll("figure")];
for (const figure of figures.slice(FIGURE_COUNT)) figure.hidden = true;
"""
FIGURE_COUNT = 4


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
    action = SHORTEN.replace("FIGURE_COUNT", str(FIGURE_COUNT))
    with open_browser() as browser:
        browser.visit(page, scheme=scheme, width=WIDTH, height=200, picture=picture, action=action)
    return picture


def main() -> int:
    """Write the pictures; return 1 if one is too large for the repository."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = report_page(Path(folder).resolve())
        pictures = [photograph(page, scheme) for scheme in SCHEMES]
    for picture in pictures:
        print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size} bytes")
    return int(any(picture.stat().st_size > LARGEST_BYTES for picture in pictures))


if __name__ == "__main__":
    sys.exit(main())
