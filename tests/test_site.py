"""The documents as a site: every page is there, every link resolves, the search knows the words."""

import re
from pathlib import Path

import pytest

from scripts.documents import ROOT, pages
from scripts.site.build import build
from scripts.site.staging import notebooks, sections


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site, whose notebooks were not executed; a broken link would have stopped it."""
    folder = tmp_path_factory.mktemp("site") / "site"
    build(folder, with_notebooks=False)
    return folder


@pytest.mark.deep
def test_every_page_and_notebook_is_there_and_can_be_found(site: Path) -> None:
    index = (site / "searchindex.js").read_text("utf-8")
    for page in [*pages(), *notebooks()]:
        name = str(page.relative_to(ROOT).with_suffix(""))
        name = "index" if name == "README" else name
        assert (site / f"{name}.html").exists(), name
        assert f'"{name}"' in index, name
    assert "saturat" in index, "words are kept without their endings"


@pytest.mark.deep
def test_no_page_of_the_site_asks_the_network(site: Path) -> None:
    loads = re.compile(r'<(?:script|img|link|iframe)[^>]*?(?:src|href)="(?:https?:)?//[^"]+"')
    for page in site.rglob("*.html"):
        assert not loads.findall(page.read_text("utf-8")), page.name


def test_the_index_of_the_documents_names_every_guide() -> None:
    """A page without a link in the index would be in no section of the site."""
    listed = {
        path for one in sections((ROOT / "docs/README.md").read_text("utf-8")) for path in one.pages
    }
    guides = {str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")}
    assert guides - listed - {"docs/README.md", "docs/notebooks/README.md"} == set()
