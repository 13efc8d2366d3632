"""How soon a page is ready: `python -m benches.pages [REPORT.html ...]`.

Opens pages in headless Chromium, interleaved, and prints for each one its size, the time until its
figures are drawn, and how much of that the page's own thread computed. Without arguments it opens
the pages of all studies that were run here.
"""

import sys
from pathlib import Path
from statistics import median

from headroom.report.browser import Visit, open_browser

VISITS = 7
STUDIES = Path(__file__).parent.parent / "studies"


def main() -> None:
    """Print one row for each page."""
    pages = [Path(name) for name in sys.argv[1:]] or sorted(STUDIES.glob("*/results/report.html"))
    if not pages:
        sys.exit("no page yet: run a study first, for example headroom run studies/quickstart")
    seen: dict[Path, list[Visit]] = {page: [] for page in pages}
    with open_browser() as browser:
        browser.visit(pages[0])  # The first page pays for the start of the browser.
        for _ in range(VISITS):
            for page, visits in seen.items():
                visits.append(browser.visit(page))
    print(f"medians of {VISITS} visits\n{'MB':>5} {'ready (s)':>10} {'busy (s)':>9}  page")
    for page, visits in seen.items():
        ready, busy = (
            median(getattr(one, name) for one in visits) for name in ("ready_s", "busy_s")
        )
        print(f"{page.stat().st_size / 1e6:5.2f} {ready:10.2f} {busy:9.2f}  {page}")


if __name__ == "__main__":
    main()
