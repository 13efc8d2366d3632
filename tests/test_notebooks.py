"""Every notebook of the documents runs from top to bottom, with its fast settings.

All of them share one kernel, which forgets its names in between: starting it takes longer than most
of them. A notebook that needs less than its cells say names fast settings in its metadata.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
MOST_CELLS = 12


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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(
    path: Path, kernel: NotebookClient, tmp_path: Path
) -> None:
    notebook = with_settings(read(path), tmp_path)
    kernel.nb = notebook
    kernel.execute(cleanup_kc=False)
    outputs = [output for cell in notebook.cells[1:] for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error"]
    assert any("text/html" in output.get("data", {}) for output in outputs)


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
