"""Every notebook of the documents runs from top to bottom, with its fast settings, and answers.

All of them share one kernel, which forgets its names in between: starting it takes longer than most
of them. A notebook that needs less than its cells say names fast settings in its metadata.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
MOST_CELLS = 12
SAYS_NOTHING = re.compile(
    r"No answer|Not run|\bnan\b|\bNone\b|^\[\]$|^<[\w.]+ object at", re.IGNORECASE
)
"""What is no answer, in the text of a cell."""
ANSWERS = r"""
01 54    66     mean response time: NUMBER s
01 0.18  0.22   Till 1 to 2 servers: .* mean response time falls to NUMBER\D
02 117   143    The disk limits from NUMBER users
02 3     13     Disk 1 to 2 servers: throughput rises by NUMBER%
03 228   255    Response time p95 passes 200 ms at NUMBER users
03 3     3      station.database.servers = NUMBER is the smallest that meets every target
04 1.2   1000   level 1 is NUMBER times as fast as level 9
04 0.4   0.9    stdout_bytes +9 +1 +smaller +NUMBER
05 4     16     throughput (?:grows|falls|does not|changes).* (?:to|depth) NUMBER\.
05 0.1   1000   service time p50, depth = 1: NUMBER [nµm]?s
05 0     100    tool share, depth = 1: NUMBER%?\s
06 4     4      throughput (?:grows|falls|does not|changes).* to NUMBER clients
06 1     1e7    \n\d+ +4 +NUMBER
07 3     3      From sweep by least-squares: servers = NUMBER and
07 12.6  13.4   service_s = NUMBER ms
07 30.7  37.5   mean response time: NUMBER ms
08 95    100    The disk limits, NUMBER% busy
08 60    100    Disk 8 to 16 servers: throughput rises by NUMBER%
08 0     10     Processor 2 times as fast: throughput \D*NUMBER%
09 6     8      NUMBER of 8 intervals contain 33.33 ms
09 1     1      NUMBER of 2 numbers of the model are assumed; the only point ran too briefly
10 46    56     \(1, NUMBER,
10 92    112    \(2, NUMBER,
10 138   168    \(3, NUMBER,
10 184   224    \(4, NUMBER,
10 47    52     \n250 +NUMBER
10 100   100    NUMBER points, 0 of them without a result
10 188   208    \n250(?: +[\d.]+){3} +NUMBER
"""
"""First digits of a notebook, least and most NUMBER, the words around it. By theory: 01 60 s, and
0.2017 times; 02 asymptotes meet at 130 users, then 6.7% more at most; 07 34.1 ms; 10 N servers have
a knee at 51 N users and do 50 N a second. What is measured has wide ranges."""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookClient]:
    """Return the client of a kernel that runs all notebooks, one after the other."""
    os.environ["IPYTHONDIR"] = str(tmp_path_factory.mktemp("ipython"))
    client = NotebookClient(nbformat.v4.new_notebook(), timeout=600, kernel_name="python3")
    yield client
    client._cleanup_kernel()  # what `execute` calls for a kernel that serves one notebook
    del os.environ["IPYTHONDIR"]


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def with_settings(notebook: Any, folder: Path) -> Any:
    """Return a notebook that begins with empty names in its own folder, with its fast settings."""
    fresh = f"%reset -f\nimport os; os.chdir({str(folder)!r}); os.environ['HEADROOM_DEBUG'] = '1'"
    cells = [nbformat.v4.new_code_cell(fresh)]
    for cell in notebook.cells:
        cells.append(cell)
        if "parameters" in cell.metadata.get("tags", []):
            cells.append(nbformat.v4.new_code_cell(notebook.metadata["headroom"]["fast"]))
    notebook.cells = cells
    return notebook


def texts(cell: Any) -> Iterator[str]:
    """Yield what a cell shows as text, and the text of a card, whose sentences are on one line."""
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        yield data.get("text/plain", "")
        if "headroom-card" in (card := data.get("text/html", "")):
            yield re.sub(r"<style>.*?</style>|<[^>]+>", " ", card, flags=re.DOTALL)


def number(pattern: str, text: str) -> float:
    found = re.search(pattern.replace("NUMBER", r"([\d,.]*\d)"), text, re.IGNORECASE)
    assert found, f"nothing says {pattern!r}:\n{text}"
    return float(found[1].replace(",", ""))


@pytest.mark.deep
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom_and_answers(
    path: Path, kernel: NotebookClient, tmp_path: Path
) -> None:
    notebook = with_settings(read(path), tmp_path)
    kernel.nb = notebook
    kernel.execute(cleanup_kc=False)
    outputs = [output for cell in notebook.cells[1:] for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error"]
    assert any("text/html" in output.get("data", {}) for output in outputs)
    for cell in notebook.cells[1:]:
        # Cause: in a notebook rich displayed each line of a summary, with a page that nobody wrote.
        # Progress that has gone away is empty.
        shown = [any(output.get("data", {}).values()) for output in cell.get("outputs", [])]
        assert sum(shown) <= 1, cell.source
    said = [text for cell in notebook.cells[1:] for text in texts(cell)]
    assert not [text for text in said if SAYS_NOTHING.search(text)]
    whole = "\n".join(said)
    wanted = [row.split(maxsplit=3) for row in ANSWERS.split("\n") if row[:2] == path.stem[:2]]
    assert wanted
    for _, low, high, pattern in wanted:
        assert float(low) <= number(pattern, whole) <= float(high), pattern


@pytest.mark.deep
def test_progress_is_a_line_that_leaves_nothing_in_its_cell(kernel: NotebookClient) -> None:
    start = "from headroom.api.voice import CellLine\nline = CellLine()\nline.show('1 of 2')\n"
    for last, left in (("", "1 of 2"), ("line.show('')", "")):
        cell = nbformat.v4.new_code_cell(start + last)
        kernel.nb = nbformat.v4.new_notebook(cells=[cell])
        kernel.execute(cleanup_kc=False)
        (line,) = kernel.nb.cells[0].outputs
        assert (line["data"]["text/plain"], bool(line["data"]["text/html"])) == (left, bool(left))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_asks_a_question_is_short_and_holds_no_output(path: Path) -> None:
    notebook = read(path)
    first = notebook.cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    assert len(notebook.cells) <= MOST_CELLS
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not [cell for cell in code if cell.outputs or cell.execution_count]
    assert "import headroom as hr" in "\n".join(cell.source for cell in code)


def test_the_first_notebook_takes_fifteen_lines_from_nothing_to_a_verdict() -> None:
    first = next(cell for cell in read(NOTEBOOKS[0]).cells if cell.cell_type == "code")
    assert len(first.source.splitlines()) <= 15
    assert "hr.simulate" in first.source
    assert len(NOTEBOOKS) == 10
