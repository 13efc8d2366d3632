"""Copy the documents to a folder where the site generator finds all of them.

Pages keep their places relative to each other, so that their links hold. The index of the documents
becomes the front page: each row of its table is a section of the navigation.

Invariant: the repository is only read.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.documents import ROOT, links, pages
from scripts.reference_pages import PAGES, text_of

_INDEX = Path("docs/README.md")
_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \|$")
_NAMED = re.compile(r"\[[^\]]+\]\(([^)#]+\.md)\)")
_PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*'
    r'<img alt="([^"]*)" src="([^"]+)">\s*</picture>'
)
_NOTEBOOKS = "docs/notebooks"


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the navigation: its title, and its pages as paths from the root."""

    title: str
    pages: tuple[str, ...]


def sections(index: str) -> list[Section]:
    """Return the sections that the table of the index names, in its order.

    Examples
    --------
    >>> sections("| learn by doing | [Tutorial](tutorial.md), [Code](../ARCHITECTURE.md) |")
    [Section(title='Learn by doing', pages=('docs/tutorial.md', 'ARCHITECTURE.md'))]
    """
    found = []
    for title, cell in (match.groups() for match in map(_ROW.match, index.splitlines()) if match):
        named = _NAMED.findall(cell)
        if named:
            paths = tuple(_from_root(path) for path in named)
            found.append(Section(title[:1].upper() + title[1:], paths))
    return found


def _from_root(path: str) -> str:
    place = (ROOT / _INDEX.parent / path).resolve()
    return str(place.relative_to(ROOT))


def notebooks() -> list[Path]:
    """Return the notebooks of the documents, in the order of their names."""
    return sorted((ROOT / _NOTEBOOKS).glob("*.ipynb"))


def stage(folder: Path) -> None:
    """Fill an empty folder with the sources of the site.

    Parameters
    ----------
    folder
        Empty folder, outside the documents.
    """
    shown = _shown()
    for file in [*notebooks(), *(file for page in shown for file in _linked_files(page))]:
        _copy(file, folder)
    for page in shown:
        text = with_plain_pictures(text_of(page))
        to = folder / page.relative_to(ROOT)
        if page == ROOT / "README.md":
            to, text = folder / "index.md", text + _navigation(_all_sections(shown))
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text, encoding="utf-8")


def with_plain_pictures(text: str) -> str:
    r"""Return a page whose pictures in two schemes are two images: the generator moves no others.

    Examples
    --------
    >>> print(with_plain_pictures(
    ...     '<picture>\n <source media="(prefers-color-scheme: dark)" srcset="d.png">\n'
    ...     ' <img alt="A page" src="l.png">\n</picture>'))
    <img class="only-light" alt="A page" src="l.png">
    <img class="only-dark" alt="A page" src="d.png">
    """
    return _PICTURE.sub(
        r'<img class="only-light" alt="\2" src="\3">\n<img class="only-dark" alt="\2" src="\1">',
        text,
    )


def _shown() -> list[Path]:
    """Return all pages, with those that only another one links to."""
    shown = [*pages(), ROOT / "CHANGELOG.md"]
    for page in shown:  # grows while it is walked
        for link in links(text_of(page)):
            place = (page.parent / link.partition("#")[0]).resolve()
            if place.suffix == ".md" and (place.is_file() or place in PAGES) and place not in shown:
                shown.append(place)
    return shown


def _all_sections(shown: Sequence[Path]) -> list[Section]:
    named = sections((ROOT / _INDEX).read_text(encoding="utf-8"))
    listed = {path for section in named for path in section.pages} | {"README.md", str(_INDEX)}
    rest = [path for page in shown if (path := str(page.relative_to(ROOT))) not in listed]
    of_studies = [path for path in rest if path.startswith("studies/")]
    of_systems = [path for path in rest if path.startswith("src/")]
    more = [path for path in rest if path not in {*of_studies, *of_systems}]
    return [
        Section("Contents", (str(_INDEX),)),
        *named,
        Section("Notebooks", tuple(str(page.relative_to(ROOT)) for page in notebooks())),
        Section("Studies", tuple(of_studies)),
        Section("Systems", tuple(of_systems)),
        Section("More", tuple(more)),
    ]


def _linked_files(page: Path) -> Iterator[Path]:
    """Yield the files of the repository, other than pages, that a page links to or shows."""
    text = text_of(page)
    sources = [*links(text), *re.findall(r'(?:src|srcset)="([^"]+)"', text)]
    for link in sources:
        place = (page.parent / link.partition("#")[0]).resolve()
        if place.is_file() and place.is_relative_to(ROOT) and place.suffix != ".md":
            yield place


def _copy(file: Path, folder: Path) -> None:
    to = folder / file.relative_to(ROOT)
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, to)


def _navigation(parts: Sequence[Section]) -> str:
    """Return hidden tables of contents: the generator takes its navigation from them."""
    blocks = []
    for part in parts:
        if part.pages:
            entries = "\n".join(f"/{path.rpartition('.')[0]}" for path in part.pages)
            blocks.append(f"\n```{{toctree}}\n:hidden:\n:caption: {part.title}\n\n{entries}\n```\n")
    return "".join(blocks)
