"""Compare saved results, as `headroom compare RESULT RESULT` does.

Invariant: what the command refuses is refused here, and what is forced is recorded.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from headroom.api.results import View
from headroom.api.tables import Tabular, tidy
from headroom.api.voice import ProgramVoice
from headroom.errors import StudyError
from headroom.gate.question import Question
from headroom.gate.repeat import compare_saved as gated_results
from headroom.gate.repeat import study_to_run
from headroom.gate.result import ComparisonResult, Gate, Row
from headroom.gate.stored import Stored
from headroom.report.compared.terminal import render_comparison
from headroom.report.terminal.screen import printed
from headroom.sessions.trust import trusted_study


class Compared(Tabular):
    """A comparison of saved results with the first one, point by point.

    Parameters
    ----------
    data
        What `headroom compare --json` prints.
    """

    def __init__(self, data: ComparisonResult) -> None:
        self.data = data

    def __repr__(self) -> str:
        return self.summary().rstrip("\n")

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary())}</pre>"

    @property
    def gate(self) -> Gate | None:
        """The decision on regressions; None without `fail_on_regression`."""
        return self.data.gate

    @property
    def rows(self) -> tuple[Row, ...]:
        """A ratio with interval and verdict for each metric of each point."""
        return tuple(self.data.rows)

    def summary(self, width: int = 80) -> str:
        """Return the output of `headroom compare`.

        Parameters
        ----------
        width
            Columns, >= 20.
        """
        return printed(lambda console: render_comparison(self.data, console), width)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return tidy rows: factors, metric, both values, ratio, low, high, verdict."""
        return tidy(_flat(row) for row in self.data.rows)


def _flat(row: Row) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(row)
    levels = plain.pop("levels")
    return {**{f"factor.{name}": level for name, level in levels.items()}, **plain}


def compare_saved(
    results: Sequence[View], question: Question, *, progress: bool = True
) -> Compared:
    """Compare results with the first one; see `headroom.compare`.

    Raises
    ------
    StudyError
        The results are not comparable, or have no metric in common.
    """
    labels = list(question.names) or [f"result {number}" for number in range(1, len(results) + 1)]
    if len(results) < 2 or len(set(labels)) != len(results):  # noqa: PLR2004 - a pair
        raise StudyError(
            f"a comparison needs two results with different names, but these are: {labels}",
            cure='name them: hr.compare(before, after, names=["before", "after"])',
        )
    stored = [
        Stored(label=label, path=result.path, result=result.data)
        for label, result in zip(labels, results, strict=True)
    ]
    if study := study_to_run(stored, question):
        trusted_study(study)
    with TemporaryDirectory(prefix="headroom-compare-") as folder:
        return Compared(
            gated_results(
                stored,
                Path(folder),
                question=question,
                new_progress=ProgramVoice(shows_progress=progress).progress,
            )
        )
