"""Take the pictures of the documents from a real report: `make pictures`.

Runs the quickstart study in a temporary copy and takes screenshots of part of its page in headless
Chromium, in both colour schemes, and draws the stored results of a benchmark, of the quick form of
`ncc_numa`, and a terminal with an audit. Needs Chromium; everything else is in `.venv/`.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

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
POST = """\
Our new engine is twice as fast!

| engine | connections | req/s  | avg (ms) | p99 (ms) | errors |
|--------|------------:|-------:|---------:|---------:|-------:|
| old    |          32 |  9,880 |     3.21 |      9.1 |      0 |
| new    |          32 | 19,420 |     2.80 |     12.2 |      0 |
"""
COLUMNS = 92
WITHOUT_FONTS = re.sub(
    r"@font-face \{.*?\}\s*(?=@font-face|\.)", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL
)
"""The fonts of the template come from elsewhere; a monospaced one of the reader's will do."""


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


def audit() -> Path:
    """Draw a terminal in which a post is audited, and return the picture."""
    argv = ["audit", "post.md", "--color", "always"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "post.md").write_text(POST, encoding="utf-8")
        headroom = Path(sys.executable).parent.absolute() / "headroom"
        done = subprocess.run(
            [str(headroom), *argv], cwd=folder, capture_output=True, text=True, check=False
        )
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    console.print(f"$ headroom {' '.join(argv[:2])}", style="bold", markup=False, highlight=False)
    console.print(Text.from_ansi(done.stdout.partition("\nCannot be checked")[0]))
    picture = PICTURES / "audit.svg"
    drawn = console.export_svg(title="headroom audit", code_format=WITHOUT_FONTS)
    picture.write_text(drawn, encoding="utf-8")
    return picture


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
    pictures += [write_picture(), audit()]
    for picture in pictures:
        print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size} bytes")
    return int(any(picture.stat().st_size > LARGEST_BYTES for picture in pictures))


if __name__ == "__main__":
    sys.exit(main())
