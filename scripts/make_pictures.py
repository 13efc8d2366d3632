"""Take the pictures of the documents from a real report: `make pictures`.

Runs the quickstart study in a temporary copy and photographs its page in headless Chromium, in
both colour schemes. Needs Chromium; everything else is in `.venv/`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
STUDY = "quickstart"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LARGEST_BYTES = 200_000


def browser() -> str:
    """Return a Chromium of this machine."""
    named = os.environ.get("HEADROOM_CHROMIUM", "")
    for name in (named, *BROWSERS):
        found = shutil.which(name) if name else None
        if found:
            return found
    sys.exit("headroom: no Chromium; `make test` as root installs it")


def report_page(folder: Path) -> Path:
    """Run the study in a copy and return its page."""
    study = folder / STUDY
    shutil.copytree(ROOT / "studies" / STUDY, study, ignore=shutil.ignore_patterns("results"))
    headroom = Path(sys.executable).parent / "headroom"
    subprocess.run([str(headroom), "run", str(study)], check=True, stdout=subprocess.DEVNULL)
    return study / "results" / "report.html"


def photograph(page: Path, picture: Path, *, is_dark: bool, profile: Path) -> None:
    """Write the top of a page as a picture, as a reader sees it on a laptop."""
    scheme = ["--force-dark-mode"] if is_dark else []
    argv = [
        browser(),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--force-device-scale-factor=1",
        "--window-size=1200,1000",
        "--virtual-time-budget=20000",
        f"--user-data-dir={profile}",
        *scheme,
        f"--screenshot={picture}",
        page.as_uri(),
    ]
    subprocess.run(argv, check=True, capture_output=True)
    size = picture.stat().st_size
    print(f"{picture.relative_to(ROOT)}: {size} bytes")
    if size > LARGEST_BYTES:
        sys.exit(f"headroom: {picture.name} is larger than {LARGEST_BYTES} bytes")


def main() -> None:
    """Write the pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        page = report_page(folder)
        for scheme in ("light", "dark"):
            photograph(
                page,
                PICTURES / f"{STUDY}-{scheme}.png",
                is_dark=scheme == "dark",
                profile=folder / f"profile-{scheme}",
            )


if __name__ == "__main__":
    main()
