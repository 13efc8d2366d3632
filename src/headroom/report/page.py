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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
from markupsafe import Markup

from headroom.analysis.results import ExperimentResult, StudyResult
from headroom.analysis.stored_form import stored_form
from headroom.report.charts.predictions import prediction_panels
from headroom.report.extent import (
    BUDGETS,
    PAGE_BYTES,
    WHOLE_BUDGETS,
    Extent,
    extents_of,
    is_whole,
)
from headroom.report.figures.roles import page_rules as figure_rules
from headroom.report.findings.laws import BASIS_WORDS, basis_sentences
from headroom.report.findings.predictions import predictions_table
from headroom.report.first_screen.opening import opening_of
from headroom.report.fold.panels import PanelView, Pictures, panel_views
from headroom.report.fold.view import ExperimentView, view_of
from headroom.report.layout import environment, template_text
from headroom.report.model_picture.style import page_rules
from headroom.report.notes.measuring import moment
from headroom.report.sentences.claims import claim_figure, claim_reason
from headroom.report.sentences.numbers import capital
from headroom.report.summary import count_verdicts, describe_progress
from headroom.report.tables.tables import essentials, flatten
from headroom.report.titles import in_words_of_study

Rows: TypeAlias = list[tuple[str, str]]
"""Names and texts of a table with two columns."""
_SPACES = re.compile(r"\s+")
_MOST_FOLDS = 6
"""Experiments that have a folded line each; more of them are folded together."""
_PACKED_FROM = 2_000
"""Letters of JSON from which on a page carries it packed."""


@in_words_of_study
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
        "capital": capital,
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
