"""Results as Python values: a study, a sweep of one experiment, and what each shows.

Invariant: every number comes from `StudyResult`, as the page's and the terminal's do.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import msgspec

from headroom.analysis import export
from headroom.analysis.answer.answer import with_answer
from headroom.analysis.answer_evidence import Record
from headroom.analysis.results import ClaimResult, ExperimentResult, LevelsCompared, StudyResult
from headroom.api.estimates import Estimate, Point
from headroom.api.tables import Tabular, csv_of, frame_of, tidy
from headroom.errors import StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.paths import RESULTS_NAME, results_folder
from headroom.output_file import write_output
from headroom.report.cards import result_card
from headroom.report.first_screen.terminal import render_first_screen
from headroom.report.fold.terminal import render_study
from headroom.report.sentences.runs import missing_words
from headroom.report.terminal.screen import printed
from headroom.sessions.study_session import existing_journal, page_text

if TYPE_CHECKING:
    import altair
    import pandas as pd

    from headroom.experiment.study.plan import Plan

What: TypeAlias = Literal[
    "points", "wide", "replications", "what-ifs", "comparisons", "derived", "intervals"
]
"""Kinds of rows that a result has."""
_ROWS: Mapping[str, Callable[[StudyResult], Iterator[export.Row]]] = {
    "points": partial(export.point_rows, why=missing_words),
    "wide": partial(export.wide_rows, why=missing_words),
    "what-ifs": export.what_if_rows,
    "comparisons": export.comparison_rows,
    "derived": export.derived_rows,
    "intervals": export.interval_rows,
}


_MORE = ".summary(everything=True)"
_PAGE = re.compile(r"Report: |Page    ")
"""The line of a summary that names the page."""


class View(Tabular):
    """Base of results and sweeps.

    Parameters
    ----------
    data
        The analysed study, or the part of it that is shown.
    """

    folder: Path | None = None
    """Folder of the study, if a page was written there, which the summary names."""
    path: Path | None = None
    """Its `results.json`, if it comes from one or from a study; the journal is next to it."""
    plan: "Plan | None" = None
    """The plan, if it is known: it leads to the journal."""
    kind: ClassVar[What] = "points"
    """Its rows if no others are asked for."""

    def __init__(self, data: StudyResult) -> None:
        self.data = data

    def __repr__(self) -> str:
        return self.summary().rstrip("\n")

    def _repr_html_(self) -> str:
        return result_card(self.data)

    @property
    def is_complete(self) -> bool:
        """True if no replication is missing or failed."""
        return self.data.is_complete and not self.data.failed

    @property
    def answers(self) -> tuple[Record, ...]:
        """The answers to what the study asks, the headline first: value, interval, level, rows."""
        return tuple(self.data.answers)

    @property
    def claims(self) -> tuple[ClaimResult, ...]:
        """The claims with their verdicts: ``holds``, ``differs`` or ``undecided``."""
        return tuple(self.data.claims)

    @property
    def holds(self) -> bool:
        """True if there is a claim, and every one holds."""
        return bool(self.claims) and all(claim.verdict == "holds" for claim in self.claims)

    def summary(self, width: int = 80, *, everything: bool = False) -> str:
        """Return the output of `headroom show`: the answer in at most 24 lines.

        Parameters
        ----------
        width
            Columns, >= 20.
        everything
            All results, as of `headroom show --all`.
        """
        folder = Path() if self.folder is None else self.folder
        text = printed(
            lambda console: (
                render_study(self.data, console)
                if everything or self.data.answer is None
                else render_first_screen(self.data, console, folder=folder, command=_MORE)
            ),
            width,
        )
        lines = text.splitlines(keepends=True)
        return "".join(line for line in lines if self.folder or not _PAGE.match(line))

    def to_rows(self, what: What | None = None) -> list[dict[str, Any]]:
        """Return tidy rows, one for each point and metric: value, low, high, n, unit.

        A response without an estimate has a row as well, which says why in the column `missing`.
        Missing numbers are NaN.

        Parameters
        ----------
        what
            ``points``; ``wide``: one row for each point, with the columns `throughput`,
            `throughput_low` and `throughput_high`, and so on for each metric; ``replications``; or
            one row for each effect of a what-if, comparison with a base, derived quantity, or
            interval of terminating runs.
        """
        kind = what or self.kind
        if kind == "replications":
            return self.replications()
        if kind not in _ROWS:
            raise StudyError(f"there are no rows of kind {kind!r}", cure=suggestion(kind, _ROWS))
        return tidy(_ROWS[kind](self.data))

    def to_csv(self, path: str | Path, what: What | None = None) -> Path:
        """Write the rows of `to_rows` as a CSV file, missing numbers as NaN; returns its path."""
        return csv_of(self.to_rows(what), path)

    def replications(self) -> list[dict[str, Any]]:
        """Return one row for each replication and metric, after the warm-up cut.

        Raises
        ------
        StudyError
            The result was loaded from a file alone, which has no replications.
        """
        if self.plan is None:
            raise StudyError(
                f"the result of study {self.data.name!r} was loaded without its journal",
                cure="load the folder of the study, or run it",
            )
        names = {experiment.name for experiment in self.data.experiments}
        with existing_journal(self.plan, lambda _: None) as journal:
            found = export.replication_rows(self.plan, journal)
            return tidy(row for row in found if row["experiment"] in names)

    def to_frame(self, what: What | None = None) -> "pd.DataFrame":
        """Return the rows of `to_rows` as a pandas DataFrame, without pandas as a pyarrow Table.

        polars, DuckDB and pyarrow take the result itself (``polars.DataFrame(result)``), with the
        rows of its points; pyarrow must be installed for that.

        Raises
        ------
        EnvironmentUnfitError
            Neither pandas nor pyarrow is installed; `to_rows` needs no library.
        """
        return frame_of(self.to_rows(what))

    def chart(self, metric: str = "", *, over: str = "") -> "altair.Chart | altair.LayerChart":
        """Return a figure of the report as an Altair chart, to change or to save.

        Parameters
        ----------
        metric
            A response; empty: the first that varies.
        over
            Factor on the axis; empty: the report's choice.

        Raises
        ------
        EnvironmentUnfitError
            Altair is not installed.
        """
        from headroom.api.charts import chart_of  # noqa: PLC0415 - few draw

        return chart_of(self.data, metric, over)

    def page(self, path: str | Path = "report.html") -> Path:
        """Write the report of the study as one HTML file, and return its path."""
        file = Path(path)
        write_output(file, page_text(self.data, lambda _: None))
        return file


class Sweep(View):
    """The results of one experiment: its points over the levels of its factors.

    With a single point, a metric in brackets is its estimate. Otherwise choose the point first:
    ``sweep.at(users=250)["throughput"]``.
    """

    def __init__(self, data: StudyResult, name: str = "", *, plan: "Plan | None" = None) -> None:
        names = [experiment.name for experiment in data.experiments]
        chosen = name or names[0]
        if chosen not in names:
            raise StudyError(
                f"study {data.name!r} has no experiment {chosen!r}", cure=suggestion(chosen, names)
            )
        super().__init__(data if len(names) == 1 else _alone(data, chosen))
        self.plan = plan

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "plan": None}  # another program has no journal

    @property
    def experiment(self) -> ExperimentResult:
        """Everything in the results about the experiment."""
        return self.data.experiments[0]

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The points, in the order of the levels."""
        return tuple(Point(point, self.experiment) for point in self.experiment.points)

    @property
    def compared(self) -> LevelsCompared | None:
        """The comparison of levels with a base; None if nothing is compared."""
        return self.experiment.compared

    def at(self, **levels: Value) -> Point:
        """Return the point with these levels; factors that are left out must not vary.

        Raises
        ------
        StudyError
            No point has them, or several do.
        """
        known = [factor.name for factor in self.experiment.factors]
        for name in levels:
            if name not in known:
                raise StudyError(
                    f"experiment {self.experiment.name!r} has no factor {name!r}",
                    cure=suggestion(name, known),
                )
        found = [point for point in self.points if _has(point, levels)]
        if len(found) == 1:
            return found[0]
        wanted = ", ".join(f"{name}={level!r}" for name, level in levels.items())
        raise StudyError(
            f"{len(found) or 'no'} points of experiment {self.experiment.name!r} have "
            f"{wanted or 'any levels'}",
            cure=f"choose one of: {_shown([point.label for point in found or self.points])}",
        )

    def __getitem__(self, metric: str) -> Estimate:
        """Return the estimate of a metric at the only point."""
        return self.at()[metric]

    def __contains__(self, metric: object) -> bool:
        return any(metric in point for point in self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)


class Result(View):
    """The results of a study.

    An experiment in brackets is its sweep: ``result["load"].at(users=250)["throughput"]``.

    Parameters
    ----------
    data
        The analysed study.
    notes
        What the session noted: replications that were reused, experiments that wait.
    plan
        The plan, if it is known: it leads to the journal.
    report
        The page that was written.
    path
        The results file that was read; of a plan, the one in its folder.
    """

    def __init__(
        self,
        data: StudyResult,
        *,
        notes: tuple[str, ...] = (),
        plan: "Plan | None" = None,
        report: Path | None = None,
        path: Path | None = None,
    ) -> None:
        super().__init__(data)
        self.notes = notes
        self.plan = plan
        self.report = report
        self.folder = None if plan is None or report is None else plan.folder
        place = None if plan is None else results_folder(plan.folder, plan.is_quick)
        self.path = path if place is None else place / RESULTS_NAME

    def __getitem__(self, experiment: str) -> Sweep:
        """Return all points of the experiment with this name."""
        return Sweep(self.data, experiment, plan=self.plan)

    def __iter__(self) -> Iterator[Sweep]:
        return (self[experiment.name] for experiment in self.data.experiments)

    def __len__(self) -> int:
        return len(self.data.experiments)


def _alone(data: StudyResult, name: str) -> StudyResult:
    """Return one experiment of a study, with an answer of its own."""
    alone = msgspec.structs.replace(
        data,
        experiments=[one for one in data.experiments if one.name == name],
        claims=[claim for claim in data.claims if claim.experiment == name],
    )
    return with_answer(alone)


def _has(point: Point, levels: Mapping[str, Value]) -> bool:
    return all(point.levels.get(name) == level for name, level in levels.items())


def _shown(labels: list[str], at_most: int = 8) -> str:
    rest = f" and {len(labels) - at_most} more" if len(labels) > at_most else ""
    return "; ".join(labels[:at_most]) + rest
