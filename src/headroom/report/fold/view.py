"""One experiment as the template of the page lays it out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headroom.analysis.results import ClaimResult, ExperimentResult, PointResult
from headroom.quantities import format_level
from headroom.report.artefacts import ShownArtefact, shown_artefacts
from headroom.report.charts.detail import closer_points, first_choice
from headroom.report.charts.over_time import with_series
from headroom.report.charts.sections import sections_left_out
from headroom.report.extent import Extent
from headroom.report.fold.figures import Figures
from headroom.report.fold.panels import PanelView, Pictures
from headroom.report.fold.tables import tables_of
from headroom.report.model_figure import ModelFigure
from headroom.report.notes.remarks import page_remarks
from headroom.report.sentences.runs import messages_of, stopping_words
from headroom.report.summary import Finding, find
from headroom.report.tables.tables import Table, flatten, parameters_table
from headroom.report.words import count_noun, label_point


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentView:
    """One experiment as the template lays it out."""

    name: str
    title: str
    facts: list[tuple[str, str]]
    subtitle: str
    findings: list[Finding]
    model: ModelFigure | None
    lacks_picture: bool
    figures: list[PanelView]
    details: list[PanelView]
    point_remarks: dict[str, list[str]]
    choices: list[tuple[str, str]]
    choice_note: str
    first_choice: str
    left_out: list[str]
    """Sentences on sections that are not shown."""
    tables: list[tuple[str, Table]]
    """Each with the line behind which it is folded; empty: not folded."""
    parameters: Table | None
    failures: list[tuple[str, list[str]]]
    failures_left_out: int
    artefacts: list[ShownArtefact]
    artefacts_left_out: int
    seeds: list[tuple[str, str]]


def view_of(
    experiment: ExperimentResult,
    extent: Extent,
    known: Pictures,
    claims: Sequence[ClaimResult] = (),
    *,
    before: ExperimentResult | None = None,
) -> ExperimentView:
    """Return the template data of one experiment, with parameters that differ from `before`."""
    first = first_choice(experiment)
    points = closer_points(experiment, at_most=extent.details)
    closer = with_series(points, at_most=extent.series, first=first)
    failures = _failures(experiment)
    artefacts, artefacts_left_out = shown_artefacts(experiment, extent.artefact_bytes)
    drawn = Figures(experiment, known)
    return ExperimentView(
        name=experiment.name,
        title=experiment.title or experiment.name,
        facts=flatten(experiment.facts),
        subtitle=_subtitle(experiment),
        model=drawn.model() if extent.has_picture else None,
        lacks_picture=experiment.model is not None and not extent.has_picture,
        figures=drawn.of_all_points(claims, extent.marks),
        details=drawn.closer(closer, first, extent.choices),
        findings=[*find(experiment), *(Finding("Caution", text) for text in drawn.cautions)],
        point_remarks={point.key: page_remarks(point) for point in closer},
        choices=[(point.key, label_point(point, experiment.factors)) for point in closer],
        choice_note=_choice_note(len(closer), experiment, extent.choices),
        first_choice=first,
        left_out=sections_left_out(experiment),
        tables=list(tables_of(experiment, extent)),
        artefacts=artefacts,
        artefacts_left_out=artefacts_left_out,
        parameters=parameters_table(experiment, before),
        failures=failures[: extent.rows],
        failures_left_out=len(failures[extent.rows :]),
        seeds=_seeds(experiment.points[: extent.rows], experiment),
    )


def _subtitle(experiment: ExperimentResult) -> str:
    parts = [f"System {experiment.system}", count_noun(len(experiment.points), "point")]
    if experiment.replications:
        parts.append(stopping_words(experiment.replications))
    return ", ".join(parts)


def _choice_note(shown: int, experiment: ExperimentResult, choices: int | None) -> str:
    done = sum(1 for point in experiment.points if point.done)
    metrics = f"Each figure offers {choices} metrics at most. " if choices else ""
    if shown == done:
        return metrics.strip()
    return f"{metrics}{shown} of {done:,} points; headroom show --point KEY prints any other."


def _failures(experiment: ExperimentResult) -> list[tuple[str, list[str]]]:
    return [
        (label_point(point, experiment.factors), [text for _, text in messages])
        for point in experiment.points
        if (messages := messages_of(point, fault="fault: "))
    ]


def _seeds(points: Iterable[PointResult], experiment: ExperimentResult) -> list[tuple[str, str]]:
    return [
        (label_point(point, experiment.factors), ", ".join(map(format_level, point.seeds)))
        for point in points
        if point.seeds
    ]
