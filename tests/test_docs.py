"""Every example in every document runs, every link resolves, the reference is current.

`scripts/documents.py` defines each kind of block; `make docs` updates the pages.
"""

import re
from pathlib import Path

import pytest

from scripts.documents import (
    ROOT,
    Block,
    ExampleError,
    PageRun,
    anchors,
    blocks,
    links,
    pages,
    run_block,
    start_page,
)
from scripts.reference_pages import PAGES as GENERATED
from scripts.reference_pages import REFERENCE, text_of

PAGES = [page for page in pages() if page.exists()]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

# A cell such as "12.3 ms" or "4.2 MB": a number that was measured once. The unit `1/s` is not a
# number.
MEASURED = re.compile(r"(?!1/s`)\d\s?(ns|µs|us|ms|s|min|B|kB|MB|GB|KiB|MiB|%|/s)\b")


CHEAP = {
    *("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/README.md"),
    *("docs/guides/add-detail-to-a-model.md", "docs/guides/can-i-trust-this-number.md"),
    "docs/guides/modelling-patterns.md",
    *(name for name in NAMES if name.startswith(("docs/background/", "docs/reference/"))),
} - {"docs/background/spax-calibration.md", "docs/reference/solvers.md"}
"""Pages whose examples take moments; the quick tier runs them, the deep tier all others."""
WITH_TIERS = [
    pytest.param(page, id=name, marks=() if name in CHEAP else pytest.mark.deep)
    for page, name in zip(PAGES, NAMES, strict=True)
]


@pytest.mark.parametrize("page", WITH_TIERS)
def test_the_examples_of_a_page_run_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    found = list(blocks(page.read_text(encoding="utf-8")))
    if not found:
        return
    run = start_page(page, tmp_path)
    for block in found:
        content = run_block(run, block)
        if content is not None and block.settings.get("output") != "example":
            place = f"{page.relative_to(ROOT)}, line {block.line} (`make docs` refreshes it)"
            assert content == block.content, place


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for link in links(text_of(page)):
        if re.match(r"[a-z]+:", link):
            continue
        file_name, _, anchor = link.partition("#")
        target = (page.parent / file_name).resolve() if file_name else page
        assert target.exists() or target in GENERATED, f"{link}: no such file"
        assert target.is_relative_to(ROOT), f"{link}: leads out of the repository"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(text_of(target)), f"{link}: no heading"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_a_reader_of_the_rendered_page_has_all_that_its_examples_need(page: Path) -> None:
    """The first line of a fence is not shown, and `studies/` is in a checkout alone."""
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines()
    for block in blocks(text):
        name = block.settings.get("file", "")
        above = "\n".join(lines[: block.line - 2]).rstrip().rpartition("\n\n")[2]
        assert name in above, f"line {block.line}: {name} is not named above"
    is_guide = page.parent.name == "guides"
    if is_guide and re.search(r"^\$ headroom \S+ studies/", text, re.MULTILINE):
        assert "checkout" in text


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_no_table_holds_a_measured_number_that_no_command_prints(page: Path) -> None:
    """Measured numbers belong in console blocks with their command; `make docs` refreshes them."""
    if page.is_relative_to(REFERENCE) or {"background", "ARCHITECTURE.md"} & set(page.parts):
        return
    is_block = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip().startswith("```"):
            is_block = not is_block
        if line.lstrip().startswith("|") and not is_block:
            assert not MEASURED.search(line), f"{page.relative_to(ROOT)}:{number}: {line}"


@pytest.mark.parametrize("page", GENERATED, ids=[page.stem for page in GENERATED])
def test_a_generated_page_has_a_title_and_its_links_lead_somewhere(page: Path) -> None:
    assert re.match(r"# \w", text_of(page))
    assert not page.exists(), f"{page.relative_to(ROOT)} is made by `make site`, not kept"
    test_every_link_leads_to_a_file_and_a_heading(page)


def test_every_page_of_the_documents_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    reached: set[Path] = set()
    waiting = [index]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not (page.exists() or page in GENERATED):
            continue
        reached.add(page)
        found = links(text_of(page))
        waiting += [(page.parent / link.partition("#")[0]).resolve() for link in found]
    assert {*ROOT.glob("docs/**/*.md"), *GENERATED} <= reached


def block(language: str, content: str, **settings: str) -> Block:
    return Block(language=language, settings=settings, content=content, line=1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (block("console", "$ headroom run nowhere\n"), "instead of 0"),
        (block("console", "$ true\n", exit="2"), "instead of 2"),
        (block("console", "$ make no-such-target\n"), "no target"),
        (
            block("console", "$ headroom --version\n", **{"run-by": "docs/README.md"}),
            "does not run",
        ),
        (block("console", "$ ls\n", **{"run-by": "tests/test_docs.py::test_x"}), "no test"),
        (block("python", ">>> 1 + 1\n3\n"), "Expected"),
        (block("python", "raise ValueError('wrong example')\n"), "wrong example"),
        (block("toml", "schema = 1\nnmae = 'x'\n"), "nmae"),
        (block("toml", "= 1\n"), "Invalid"),
        (block("json", "{\n"), "Expecting"),
    ],
)
def test_a_wrong_example_is_found(wrong: Block, message: str, tmp_path: Path) -> None:
    """The machinery itself must be able to fail."""
    with pytest.raises(Exception, match=message):  # each kind raises its own
        run_block(PageRun(page=ROOT / "README.md", folder=tmp_path), wrong)


def test_console_blocks_share_a_folder_and_its_files(tmp_path: Path) -> None:
    run = PageRun(page=ROOT / "README.md", folder=tmp_path)
    run_block(run, block("text", "one\n", file="sub/a.txt"))
    run_block(run, block("console", "$ cd sub\n"))
    said = run_block(run, block("console", "$ cat a.txt\nold\n", output="compared"))
    assert said == "$ cat a.txt\none\n"


def test_output_that_is_not_asked_for_is_refused_in_a_plain_console_block(tmp_path: Path) -> None:
    run = PageRun(page=ROOT / "README.md", folder=tmp_path)
    written = block("console", "$ echo one\ntwo\n")
    assert run_block(run, written) != written.content


def test_python_blocks_of_a_page_share_their_names(tmp_path: Path) -> None:
    run = PageRun(page=ROOT / "README.md", folder=tmp_path)
    run_block(run, block("python", "answer = 42\n"))
    run_block(run, block("python", ">>> answer\n42\n"))
    with pytest.raises(ExampleError):
        run_block(run, block("python", ">>> answer\n43\n"))
