"""The report of a study: one HTML file that needs no network and no server.

The file contains everything: styles, drawn figures, one small script, and the raw results if they
fit. The content security policy allows only that script, by its hash, and no connections at all. So
a name in a study file can never become code.

Invariant: reads `StudyResult` and nothing else; every text passes Jinja's escaping or
`embed_json`.
"""

import base64
import gzip
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import msgspec
from markupsafe import Markup

from headroom.analysis.results import ClaimResult, ExperimentResult, PointResult, StudyResult
from headroom.analysis.stored_form import stored_form
from headroom.defects import fallback
from headroom.quantities import format_level
from headroom.report.artefacts import ShownArtefact, shown_artefacts
from headroom.report.charts.detail import closer_points, detail_panels, first_choice
from headroom.report.charts.forest import forest_panels
from headroom.report.charts.heat import heat_maps
from headroom.report.charts.over_time import with_series
from headroom.report.charts.panel import Panel
from headroom.report.charts.predictions import prediction_panels
from headroom.report.charts.sections import section_panels, section_tables, sections_left_out
from headroom.report.charts.sweep import sweep_panels
from headroom.report.charts.tradeoff import tradeoff_panels
from headroom.report.extent import (
    BUDGETS,
    PAGE_BYTES,
    WHOLE_BUDGETS,
    Extent,
    extents_of,
    is_whole,
)
from headroom.report.figures.roles import page_rules as figure_rules
from headroom.report.findings.beside import theory_table
from headroom.report.findings.comparisons import comparisons_table
from headroom.report.findings.crossovers import crossovers_table
from headroom.report.findings.derived import derived_panels, derived_tables
from headroom.report.findings.fits import candidates_table, fitted_table, residual_table
from headroom.report.findings.headroom_left import limits_table
from headroom.report.findings.laws import BASIS_WORDS, basis_sentences, law_table
from headroom.report.findings.predictions import predictions_table
from headroom.report.findings.profiles import profile_pictures
from headroom.report.findings.what_if import what_if_table
from headroom.report.layout import environment, template_text
from headroom.report.model_figure import ModelFigure, model_figure
from headroom.report.model_picture.style import page_rules
from headroom.report.notes.measured_when import moment
from headroom.report.notes.remarks import page_remarks
from headroom.report.opening.screen import opening_of
from headroom.report.panels import PanelView, Pictures, panel_views
from headroom.report.sentences.claims import claim_figure, claim_reason
from headroom.report.sentences.runs import fault_words, stopping_words
from headroom.report.summary import Finding, count_verdicts, describe_progress, find
from headroom.report.tables.course_table import course_table
from headroom.report.tables.replication_table import replication_table
from headroom.report.tables.series_table import series_table
from headroom.report.tables.state_tables import class_tables
from headroom.report.tables.tables import (
    Table,
    essentials,
    flatten,
    parameters_table,
    points_table,
    resources_table,
)
from headroom.report.words import count_noun, label_point

T = TypeVar("T")
Rows: TypeAlias = list[tuple[str, str]]
"""Names and texts of a table with two columns."""
_METRICS_COMPARED = 6
"""Rows for each point of tables that have one for each point and metric."""
_SPACES = re.compile(r"\s+")
_MOST_FOLDS = 6
"""Experiments that have a folded line each; more of them are folded together."""
_PACKED_FROM = 2_000
"""Letters of JSON from which on a page carries it packed."""
_COLUMN_WORDS = {"measure": "measured", "model": "simulated"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentView:
    """One experiment as the template lays it out."""

    name: str
    anchor: str
    title: str
    column: str
    facts: list[tuple[str, str]]
    subtitle: str
    findings: list[Finding]
    model: ModelFigure | None
    figures: list[PanelView]
    details: list[PanelView]
    remarks: list[str]
    point_remarks: dict[str, list[str]]
    choices: list[tuple[str, str]]
    choice_note: str
    first_choice: str
    points: Table
    resources: Table | None
    class_tables: list[Table]
    course: Table | None
    over_time: Table | None
    theory: Table | None
    law: Table | None
    what_ifs: Table | None
    comparisons: Table | None
    derived: list[Table]
    sections: list[Table]
    sections_left_out: list[str]
    crossovers: Table | None
    replications: Table | None
    limits: Table | None
    fitted: Table | None
    candidates: Table | None
    profiles: Sequence[tuple[str, Markup]]
    residuals: Table | None
    parameters: Table | None
    lacks_picture: bool
    failures: list[tuple[str, list[str]]]
    failures_left_out: int
    artefacts: list[ShownArtefact]
    artefacts_left_out: int
    seeds: list[tuple[str, str]]


def render_page(result: StudyResult) -> str:
    """Return the report of `result` as one self-contained HTML document.

    Parameters
    ----------
    result
        Results of a study; an incomplete or empty one gives an honest, shorter page.

    Examples
    --------
    >>> result = StudyResult(format=1, name="empty", title="An empty study", question="",
    ...     folder=".", seed=1, is_quick=False, is_complete=False, done=0, failed=0, planned=0,
    ...     experiments=[], claims=[], environments=[], command="headroom run .",
    ...     generated="2026-01-01T00:00:00Z", headroom_version="0.1.0")
    >>> "<title>An empty study" in render_page(result)
    True
    """
    budgets = (*WHOLE_BUDGETS, *BUDGETS) if is_whole(result) else BUDGETS
    page = ""
    known: Pictures = {}
    last: list[Extent] | None = None
    for budget in budgets:
        extents = extents_of(result, budget)
        if extents == last:
            continue
        last = extents
        page = _page(result, extents, known, is_whole=budget in WHOLE_BUDGETS)
        if len(page.encode()) <= PAGE_BYTES:
            break
    return page


def _page(
    result: StudyResult, extents: Sequence[Extent], known: Pictures, *, is_whole: bool
) -> str:
    """Return a page of which each experiment has an extent, with the raw results if they fit."""
    views = [
        view_of(experiment, extent, known, result.claims, before=_before(result, experiment))
        for experiment, extent in zip(result.experiments, extents, strict=True)
    ]
    predictions = panel_views(prediction_panels(result.claims), known)
    script = template_text("page.js")
    facts: dict[str, Any] = {
        "result": result,
        "generated": moment(result.generated),
        "views": views,
        "verdicts": count_verdicts(result.claims),
        "bases": basis_sentences(result.claims),
        "basis_words": BASIS_WORDS,
        "claim_figure": claim_figure,
        "claim_reason": claim_reason,
        "progress": describe_progress(result),
        "environments": _distinct([_environment_view(one) for one in result.environments]),
        "policy": _policy(script),
        "style": _style(views),
        "opening": opening_of(result),
        "script": Markup(script),  # noqa: S704
        "predictions": predictions_table(result.claims),
        "prediction_figures": predictions,
        "is_whole": is_whole,
        "is_long": len(views) > _MOST_FOLDS,
        "points": sum(len(experiment.points) for experiment in result.experiments),
    }
    template = environment().get_template("page.html")
    data = {"pictures": embedded(embed_json(_picture_data(views, predictions)))}
    if is_whole:
        results = {"results": embedded(embed_json(stored_form(result)))}
        page = template.render(**facts, data=data | results, has_results=True)
        if len(page.encode()) <= PAGE_BYTES:
            return page
    return template.render(**facts, data=data, has_results=False)


def _before(result: StudyResult, experiment: ExperimentResult) -> ExperimentResult | None:
    """Return the first experiment of the same system, if that is another one."""
    first = next(one for one in result.experiments if one.system == experiment.system)
    return None if first is experiment else first


def _style(views: Iterable[ExperimentView]) -> Markup:
    rules = page_rules() if any(view.model for view in views) else ""
    style = template_text("page.css") + figure_rules() + rules
    return Markup(_SPACES.sub(" ", style))  # noqa: S704 - files of this package


def view_of(
    experiment: ExperimentResult,
    extent: Extent,
    known: Pictures,
    claims: Sequence[ClaimResult] = (),
    *,
    before: ExperimentResult | None = None,
) -> ExperimentView:
    """Return the template data of one experiment, with parameters that differ from `before`."""
    closer = with_series(
        closer_points(experiment, at_most=extent.details),
        at_most=extent.series,
        first=first_choice(experiment),
    )
    failures = _failures(experiment)
    artefacts, artefacts_left_out = shown_artefacts(experiment, extent.artefact_bytes)
    drawn = Drawn(known)
    has_model = experiment.model is not None and extent.has_picture
    model = (
        drawn.part("the picture of the model", lambda: model_figure(experiment))
        if has_model
        else None
    )
    figures = [
        *drawn.panels("forest", lambda: forest_panels(experiment, marks=extent.marks)),
        *drawn.panels("trade-off", lambda: tradeoff_panels(experiment, marks=extent.marks)),
        *drawn.panels("sweep", lambda: sweep_panels(experiment, marks=extent.marks, claims=claims)),
        *drawn.panels("derived", lambda: derived_panels(experiment, marks=extent.marks)),
        *drawn.panels("map", lambda: heat_maps(experiment, marks=extent.marks)),
        *drawn.panels("section", lambda: section_panels(experiment)),
    ]
    first = first_choice(experiment)
    details = drawn.panels(
        "detail",
        lambda: detail_panels(experiment, closer),
        experiment=experiment.name,
        point=first,
    )
    remarks = {point.key: page_remarks(point) for point in closer}
    return ExperimentView(
        name=experiment.name,
        anchor=f"experiment-{experiment.name}",
        title=experiment.title or experiment.name,
        column=_COLUMN_WORDS[experiment.column],
        facts=flatten(experiment.facts),
        subtitle=_subtitle(experiment),
        findings=[*find(experiment), *drawn.cautions],
        model=model,
        figures=figures,
        details=details,
        remarks=remarks.get(first, []),
        point_remarks=remarks,
        choices=[(point.key, label_point(point, experiment.factors)) for point in closer],
        choice_note=_choice_note(len(closer), experiment),
        first_choice=first,
        points=points_table(experiment, at_most=extent.rows),
        resources=resources_table(experiment, at_most=extent.resource_rows),
        class_tables=class_tables(experiment, at_most=extent.class_rows),
        course=course_table(experiment),
        over_time=series_table(experiment),
        theory=theory_table(experiment, at_most=extent.rows),
        law=law_table(experiment, at_most=extent.rows),
        what_ifs=what_if_table(experiment, at_most=extent.rows),
        crossovers=crossovers_table(experiment, at_most=extent.rows),
        comparisons=comparisons_table(experiment, at_most=extent.rows * _METRICS_COMPARED),
        derived=derived_tables(experiment, at_most=extent.rows),
        sections=section_tables(experiment),
        sections_left_out=sections_left_out(experiment),
        artefacts=artefacts,
        artefacts_left_out=artefacts_left_out,
        replications=replication_table(experiment, at_most=extent.statistic_rows),
        limits=limits_table(experiment),
        fitted=fitted_table(experiment),
        candidates=candidates_table(experiment),
        profiles=profile_pictures(experiment),
        residuals=residual_table(experiment, at_most=extent.rows),
        parameters=parameters_table(experiment, before),
        lacks_picture=experiment.model is not None and not extent.has_picture,
        failures=failures[: extent.rows],
        failures_left_out=len(failures[extent.rows :]),
        seeds=_seeds(experiment.points[: extent.rows], experiment),
    )


class Drawn:
    """What is drawn of an experiment; a figure that fails leaves a caution in its place."""

    def __init__(self, known: Pictures) -> None:
        self._known = known
        self.cautions: list[Finding] = []

    def part(self, what: str, draw: Callable[[], T | None]) -> T | None:
        """Return the result of `draw`, None with a caution if it fails."""

        def note(reason: str) -> None:
            self.cautions.append(Finding("Caution", f"This page lacks {what}: {reason}."))

        return fallback(draw, note)

    def panels(
        self,
        kind: str,
        make: Callable[[], Sequence[Panel]],
        *,
        experiment: str = "",
        point: str = "",
    ) -> list[PanelView]:
        """Return the panels of one kind with their pictures, none if they fail."""

        def drawn() -> list[PanelView]:
            return panel_views(make(), self._known, experiment=experiment, point=point)

        return self.part(f"the {kind} figures", drawn) or []


def _subtitle(experiment: ExperimentResult) -> str:
    parts = [f"System {experiment.system}", count_noun(len(experiment.points), "point")]
    if experiment.replications:
        parts.append(stopping_words(experiment.replications))
    return ", ".join(parts)


def _choice_note(shown: int, experiment: ExperimentResult) -> str:
    done = sum(1 for point in experiment.points if point.done)
    if shown == done:
        return ""
    return f"{shown} of {done:,} points; headroom show --point KEY prints any other."


def _environment_view(facts: Mapping[str, Any]) -> tuple[Rows, Rows]:
    """Return the essentials and all facts; those of single experiments are listed with these."""
    return essentials(facts), flatten({k: v for k, v in facts.items() if k not in {"facts", "id"}})


def _distinct(views: Iterable[tuple[Rows, Rows]]) -> list[tuple[Rows, Rows]]:
    """Return each view of an environment once: sessions on one machine repeat it."""
    found: list[tuple[Rows, Rows]] = []
    for view in views:
        if view not in found:
            found.append(view)
    return found


def _failures(experiment: ExperimentResult) -> list[tuple[str, list[str]]]:
    return [
        (label_point(point, experiment.factors), messages)
        for point in experiment.points
        if (messages := _messages(point))
    ]


def _messages(point: PointResult) -> list[str]:
    return list(
        dict.fromkeys([*point.errors, *(f"fault: {fault_words(fault)}" for fault in point.faults)])
    )


def _seeds(points: Iterable[PointResult], experiment: ExperimentResult) -> list[tuple[str, str]]:
    return [
        (label_point(point, experiment.factors), ", ".join(map(format_level, point.seeds)))
        for point in points
        if point.seeds
    ]


def _picture_data(
    views: Iterable[ExperimentView], predictions: Sequence[PanelView]
) -> dict[str, Any]:
    """Return the pictures that a reader can choose, and what is said about each point."""
    shown = list(views)
    panels = [*predictions, *(one for view in shown for one in (*view.figures, *view.details))]
    return {
        "pictures": {panel.key: panel.more for panel in panels if panel.more},
        "remarks": {view.name: view.point_remarks for view in shown},
    }


def embed_json(value: object) -> Markup:
    r"""Return `value` as JSON that is safe inside a `script` element.

    Examples
    --------
    >>> print(embed_json({"text": "</script><!--"}))
    {"text":"\u003c/script\u003e\u003c!--"}
    """
    text = msgspec.json.encode(value).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - no sign that HTML knows is left


@dataclass(frozen=True, slots=True)
class Embedded:
    """Data of a page as its file carries it: JSON, or base64 of JSON that gzip packed."""

    text: Markup
    is_packed: bool


def embedded(json: Markup) -> Embedded:
    """Return JSON as a page carries it: packed where it is long, which browsers undo.

    Examples
    --------
    >>> embedded(Markup('{"a":1}'))
    Embedded(text=Markup('{"a":1}'), is_packed=False)
    """
    if len(json) < _PACKED_FROM:
        return Embedded(json, is_packed=False)
    return _packed(str(json))


def _packed(text: str) -> Embedded:
    """Return a text as base64 of gzip, in which no sign means anything to HTML."""
    packed = gzip.compress(text.encode(), mtime=0)
    return Embedded(Markup(base64.b64encode(packed).decode()), is_packed=True)  # noqa: S704


def _policy(script: str) -> str:
    """Return the content security policy: this script, inline styles, no connection."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; connect-src 'none'; form-action 'none'; base-uri 'none'"
    )
