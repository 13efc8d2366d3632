"""The page over studies: each with its answer, links that work, nothing hidden that failed."""

from pathlib import Path

import msgspec
import pytest

from headroom.analysis.results import StudyResult
from headroom.analysis.results_file import FORMAT, write_results
from headroom.report.index.entries import entries_of, is_folder_of_studies
from headroom.report.index.page import render_index
from tests.support.example_results import SHAPES

STUDY = """
schema = 1
name = "{name}"
title = "{title}"
seed = 1
[[experiment]]
name = "queue"
responses = ["throughput"]
[experiment.system]
name = "model"
model = "mm1"
[experiment.factors]
load = [0.5, 0.6]
[experiment.replications]
count = 3
"""


def add_study(folder: Path, *, title: str = "A queue", result: StudyResult | None = None) -> Path:
    folder.mkdir(parents=True)
    name = folder.name.replace(" ", "_")
    (folder / "study.toml").write_text(STUDY.format(name=name, title=title), encoding="utf-8")
    if result is not None:
        written = msgspec.structs.replace(result, format=FORMAT)
        write_results(written, folder / "results" / "results.json")
        (folder / "results" / "report.html").write_text("<p>report</p>", encoding="utf-8")
    return folder


def index_of(folder: Path) -> str:
    return render_index(entries_of(folder), title="Mine", at=folder / "index.html")


def test_each_study_has_its_answer_figure_chips_and_a_link_to_its_report(tmp_path: Path) -> None:
    add_study(tmp_path / "my shop", result=SHAPES["measured"])
    page = index_of(tmp_path)
    assert 'href="my%20shop/results/report.html"' in page
    assert page.count('<article class="card">') == 1
    assert page.count('class="figure wide"') == 1
    assert "1 differs</span>" in page
    assert ">measured</span>" in page


def test_a_study_without_results_says_how_to_get_them(tmp_path: Path) -> None:
    add_study(tmp_path / "later", title="Later <b>")
    page = index_of(tmp_path)
    assert "Later &lt;b&gt;" in page
    assert "not run yet: headroom run later" in page


def test_what_cannot_be_read_is_listed_with_the_reason(tmp_path: Path) -> None:
    broken = add_study(tmp_path / "broken")
    (broken / "study.toml").write_text("name = ", encoding="utf-8")
    old = add_study(tmp_path / "old", result=SHAPES["measured"])
    (old / "results" / "results.json").write_text('{"format": 1}', encoding="utf-8")
    page = index_of(tmp_path)
    assert "study.toml:1" in page
    assert "headroom report" not in page.split("old")[0]
    assert "is not a results file of this version" in page


def test_the_newest_variant_is_shown(tmp_path: Path) -> None:
    study = add_study(tmp_path / "shop", result=SHAPES["measured"])
    quick = msgspec.structs.replace(SHAPES["numeric sweep"], format=FORMAT, is_quick=True)
    write_results(quick, study / "results" / "quick" / "results.json")
    entry = entries_of(tmp_path)[0]
    assert entry.result is not None
    assert entry.result.is_quick
    assert entry.page is None


@pytest.mark.parametrize(("name", "is_folder"), [("", True), ("shop", False), ("empty", False)])
def test_a_study_and_an_empty_folder_are_no_folders_of_studies(
    tmp_path: Path, name: str, *, is_folder: bool
) -> None:
    add_study(tmp_path / "shop")
    (tmp_path / "empty").mkdir()
    assert is_folder_of_studies(tmp_path / name) is is_folder
