"""What the quick form of every study has to do; the fixtures are in `conftest.py`."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headroom.analysis.results_file import read_results
from headroom.errors import ExitCode
from headroom.experiment.study.asks import disagreement
from headroom.report.browser import open_browser
from headroom.report.check.agreement import disagreements
from headroom.report.check.rows import faults_of
from headroom.report.extent import PAGE_BYTES_AT_MOST
from headroom.report.first_screen.terminal import MAX_LINES
from headroom.report.test_page_in_browser import browser_or_skip
from tests.support.first_screen import first_screen_problems

WIDTH = 80
"""Columns of the terminal in which a quick form runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickRun:
    """How a run of the quick form ended."""

    code: int
    """Exit code."""
    results: dict[str, Any]
    """Content of results.json."""
    said: str
    """Standard output."""
    page: Path
    """The report."""

    def experiment(self, name: str) -> dict[str, Any]:
        """Return the results of an experiment."""
        experiment: dict[str, Any] = next(
            candidate for candidate in self.results["experiments"] if candidate["name"] == name
        )
        return experiment

    def points(self) -> list[dict[str, Any]]:
        """Return the points of all experiments."""
        return [
            point for experiment in self.results["experiments"] for point in experiment["points"]
        ]

    def verdicts(self) -> dict[str, str]:
        """Return the verdict on each claim."""
        return {claim["name"]: claim["verdict"] for claim in self.results["claims"]}


def _levels_of_the_full_form_alone(experiment: dict[str, Any]) -> set[str]:
    """Return the numeric levels that the quick form lacks, as a title may name them."""
    quick = experiment.get("quick", {})
    if quick.get("skip"):
        return set()
    return {
        f"{number:g}"
        for name, levels in experiment.get("factors", {}).items()
        if name in quick.get("factors", {})
        for level in levels
        if isinstance(level, int | float) and level not in quick["factors"][name]
        for number in (level, 100.0 * level)
    }


class ClaimRows:
    """Tests of a README with a table of claims, whose first column are their names."""

    def test_the_readme_has_a_row_for_every_claim(
        self, request: pytest.FixtureRequest, study: dict[str, Any]
    ) -> None:
        text = (request.path.parent / "README.md").read_text(encoding="utf-8")
        names = [claim["name"] for claim in study["claim"]]
        assert [name for name in names if f"| `{name}` |" not in text] == []


class QuickForm:
    """Tests of the quick form; a study's own test module makes a subclass of it."""

    def test_it_ends_with_all_claims(self, quick: QuickRun, study: dict[str, Any]) -> None:
        assert set(quick.verdicts()) == {claim["name"] for claim in study["claim"]}
        counts = quick.results["answer"]["claims"]
        told = sum(counts[verdict] for verdict in ("holds", "differs", "undecided"))
        assert told == len(study["claim"])

    def test_the_first_screen_has_at_most_24_lines_of_80_columns(self, quick: QuickRun) -> None:
        lines = quick.said.splitlines()
        assert len(lines) <= MAX_LINES, quick.said
        assert max(map(len, lines)) <= WIDTH, quick.said

    def test_the_answer_has_a_figure_and_its_experiments_exist(self, quick: QuickRun) -> None:
        answer = quick.results["answer"]
        names = {experiment["name"] for experiment in quick.results["experiments"]}
        figures = [figure for figure in (answer["figure"], *answer["questions"]) if figure]
        assert figures
        assert {figure["experiment"] for figure in figures} <= {*names, ""}

    def test_each_answer_is_that_of_its_rows(self, quick: QuickRun) -> None:
        """And the page says it, draws it where it is, and says nothing else of the same thing."""
        result = read_results(quick.page.parent / "results.json")
        assert [record.ask for record in result.answers if record.is_inferred] == []
        assert faults_of(result) == []
        assert disagreements(result, quick.page.read_text(encoding="utf-8")) == []

    def test_each_question_is_of_the_kind_that_is_asked(self, study: dict[str, Any]) -> None:
        asks = [(ask.get("question", ""), ask["kind"]) for ask in study["ask"]]
        assert all(question.endswith("?") for question, _ in asks)
        assert [why for question, kind in asks if (why := disagreement(question, kind))] == []

    def test_titles_are_true_of_the_quick_form_too(self, study: dict[str, Any]) -> None:
        """Cause: "32 at once" stood above 16, and "from 10 to 100%" above 50 and 100%.

        A number with a unit of bytes is a size, and no level of something else.
        """
        wrong = [
            (experiment["title"], level)
            for experiment in study["experiment"]
            for level in _levels_of_the_full_form_alone(experiment)
            if re.search(rf"(?<![\w.]){re.escape(level)}(?![\w.]| [KM]i?B)", experiment["title"])
        ]
        assert wrong == []

    def test_every_replication_was_carried_out(self, quick: QuickRun) -> None:
        assert quick.points()
        failed = [(point["levels"], point["errors"]) for point in quick.points() if point["failed"]]
        assert failed == []

    def test_the_exit_code_says_whether_every_claim_holds(self, quick: QuickRun) -> None:
        """A point without figures is told first, unless a busy machine is the reason."""
        if not all(point["estimates"] or point["disturbances"] for point in quick.points()):
            assert quick.code == ExitCode.POINTS_FAILED
            return
        does_hold = set(quick.verdicts().values()) == {"holds"}
        assert quick.code == (ExitCode.DONE if does_hold else ExitCode.CLAIMS_DIFFER)

    def test_the_page_keeps_the_rules_of_the_first_screen(self, quick: QuickRun) -> None:
        browser_or_skip()
        assert quick.page.stat().st_size <= PAGE_BYTES_AT_MOST
        with open_browser() as browser:
            assert first_screen_problems(browser, quick.page) == {}
