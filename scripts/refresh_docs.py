"""Update the documents: `make docs`.

Runs the examples of every page and puts their current output into the console blocks that show
output.
"""

import sys
import tempfile
from pathlib import Path

from scripts.documents import ROOT, pages, refreshed


def refresh_examples(chosen: list[Path]) -> None:
    """Run each page and refresh the output that it shows."""
    for page in chosen:
        with tempfile.TemporaryDirectory() as folder:
            _write_if_changed(page, refreshed(page, Path(folder).resolve()))


def _write_if_changed(page: Path, text: str) -> None:
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")
        print(f"renewed {page.relative_to(ROOT)}")


def main(arguments: list[str]) -> None:
    """Refresh the pages named, or all of them."""
    refresh_examples([Path(name).resolve() for name in arguments] or pages())


if __name__ == "__main__":
    main(sys.argv[1:])
