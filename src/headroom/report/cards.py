"""Cards for notebooks: an estimate, a result, a model, each a small piece of HTML.

A card is at most 560 px wide, has no script and loads nothing, so it is complete wherever a
notebook is shown. It has a ground of its own, light or dark as the notebook is.

Invariant: restates results; every text passes `escape`.
"""

import math
from collections.abc import Sequence
from functools import cache
from html import escape

from headroom.analysis.results import Estimate, ExperimentResult, StudyResult
from headroom.defects import fallback
from headroom.quantities import format_quantity
from headroom.report.figures.draw import CARD_PX, draw
from headroom.report.figures.inputs import Row, Rows
from headroom.report.figures.roles import PAPER, page_rules
from headroom.report.first_screen.drafts import LEAD, drafts_of
from headroom.report.first_screen.scales import point_axis, scale_of
from headroom.report.first_screen.sentences.answer import AnswerWords, Chip, words_of
from headroom.report.model_picture import draw_model
from headroom.report.numbers import format_estimate
from headroom.report.summary import describe_progress
from headroom.report.titles import in_words_of_study
from headroom.report.words import axis_title, count_noun, label_metric

WIDTH_PX = 560
MOST_CAUTIONS = 2
_FRAME = (
    f"max-width:{WIDTH_PX}px;box-sizing:border-box;border:1px solid var(--line);border-radius:8px;"
    "padding:11px 14px 10px;font:14px/1.4 system-ui,sans-serif;color:var(--ink);"
    "background:var(--panel);overflow-wrap:anywhere"
)
_VERDICTS = {"holds": ("✓", "better"), "differs": ("✗", "differs"), "undecided": ("?", "context")}
_SCHEMES = """
.headroom-card { color-scheme: light dark; }
body[data-jp-theme-light="true"] .headroom-card { color-scheme: light; }
body[data-jp-theme-light="false"] .headroom-card { color-scheme: dark; }
"""


def estimate_card(estimate: Estimate, *, where: str = "", is_simulated: bool = True) -> str:
    """Return an estimate as a card: the number, its interval drawn, the runs, the method.

    Parameters
    ----------
    estimate
        The estimate.
    where
        Levels of its point as text.
    is_simulated
        Whether a model gave it.
    """
    what = ", ".join(filter(None, [label_metric(estimate.metric), where]))
    head = _head(what, "simulated" if is_simulated else "measured")
    number = format_quantity(estimate.value, estimate.unit)
    big = f'<div style="font-size:23px;font-weight:700">{escape(number)}</div>'
    runs = count_noun(estimate.count, "run")
    if estimate.low is None or estimate.high is None:
        return _card(head, big, _note(f"no interval; {runs}"))
    words = f"95% confidence; {runs}; {estimate.method}"
    return _card(head, big, _interval(estimate), _note(words))


@in_words_of_study
def result_card(result: StudyResult) -> str:
    """Return a result as a card: the answer, a small figure, chips of claims, cautions.

    Parameters
    ----------
    result
        An analysed study, or one experiment of it with an answer of its own.
    """
    words = words_of(result)
    figure, chips = _figure(result, words), _chips(words.chips)
    side = f"<div>{chips}{_note(describe_progress(result))}</div>"
    body = (
        f'<div style="display:flex;gap:16px;flex-wrap:wrap;align-items:center">{figure}{side}</div>'
    )
    points = sum(len(experiment.points) for experiment in result.experiments)
    extent = f"{count_noun(len(result.experiments), 'experiment')}, {count_noun(points, 'point')}"
    return _card(
        _head(result.title, words.column),
        _strong(words.answer.text if result.answer else "No answer: see the summary."),
        *(_text(sentence.text) for sentence in words.follows),
        *(_responses(one) for one in result.experiments if len(one.points) == 1),
        body,
        *(_caution(text) for text in words.cautions[:MOST_CAUTIONS]),
        _note(f"{extent} · .summary() .to_frame() .chart() .page()"),
    )


def model_card(name: str, data: dict[str, object], bounds: list[str]) -> str:
    """Return a model as a card: its picture, and what it cannot exceed.

    Parameters
    ----------
    name, data
        The model as data, as `headroom.simulation.model_data` returns it.
    bounds
        Sentences on its bounds, the most important first.
    """
    picture = draw_model(data, key="card", is_file=True)
    scroll = (
        f'<div style="overflow:auto;max-height:340px;margin:4px 0;background:#fff">{picture}</div>'
    )
    return _card(
        _head(f"model {name}", ""), scroll, *map(_strong, bounds[:1]), *map(_note, bounds[1:])
    )


def text_card(title: str, sentences: list[str]) -> str:
    """Return sentences as a card, the first one bold."""
    return _card(_head(title, ""), *map(_strong, sentences[:1]), *map(_note, sentences[1:]))


@cache
def _styles() -> str:
    paper = " ".join(
        f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in PAPER.items()
    )
    rules = page_rules().replace(":root", ".headroom-card")
    return f"<style>{_SCHEMES}.headroom-card {{ {paper} }}\n{rules}</style>"


def _card(*parts: str) -> str:
    return f'{_styles()}<div class="headroom-card" style="{_FRAME}">{"".join(parts)}</div>'


def _strong(text: str) -> str:
    return f'<p style="margin:3px 0"><b>{escape(text)}</b></p>'


def _text(text: str) -> str:
    return f'<p style="margin:3px 0">{escape(text)}</p>'


def _head(title: str, tag: str) -> str:
    mark = (
        f'<span style="border:1px solid var(--line);border-radius:9px;padding:0 8px;'
        f'white-space:nowrap">{escape(tag)}</span>'
        if tag
        else ""
    )
    return (
        f'<div style="display:flex;gap:8px;align-items:flex-start;justify-content:space-between;'
        f'font-size:13px;color:var(--soft)"><span>{escape(title)}</span>{mark}</div>'
    )


def _note(text: str) -> str:
    return f'<p style="margin:3px 0;font-size:13px;color:var(--soft)">{escape(text)}</p>'


def _caution(text: str) -> str:
    return f'<p style="margin:3px 0;font-size:13px;color:var(--text-limit)">! {escape(text)}</p>'


def _responses(experiment: ExperimentResult) -> str:
    """Return the responses of the only point."""
    estimates = experiment.points[0].estimates
    told = [
        f"{label_metric(name)} {format_estimate(estimates[name])}"
        for name in experiment.responses
        if name in estimates
    ]
    return _text("; ".join(told)) if told else ""


def _chips(chips: Sequence[Chip]) -> str:
    shown = [
        f'<span style="border:1px solid;color:var(--text-{role});border-radius:9px;padding:0 8px;'
        f'margin-right:6px;font-size:13px">{sign} {escape(chip.text)}</span>'
        for chip in chips
        for sign, role in [_VERDICTS[chip.verdict]]
    ]
    return f"<div>{''.join(shown)}</div>" if shown else ""


def _figure(result: StudyResult, words: AnswerWords) -> str:
    """Return the decisive figure of a study, small; empty if it has none."""

    def drawn() -> str:
        draft = next(drafts_of(result, words, []), None)
        if draft is None or draft.key != LEAD:
            return ""
        return str(draw(draft.figure, CARD_PX, words.answer.text).svg)

    return fallback(drawn, lambda _: "")


def _interval(estimate: Estimate) -> str:
    """Return the interval, drawn over an axis."""
    scale = scale_of([estimate])
    known = [end for end in (estimate.low, estimate.value, estimate.high) if end is not None]
    low, value, high = (end * scale.factor for end in known)
    words = format_estimate(estimate)
    if not all(map(math.isfinite, known)):
        return _note(words)
    bounds = words.partition(" (")[2].removesuffix(")")
    row = Row(label="", value=value, low=low, high=high, text=bounds, role="data")
    axis = point_axis([low, value, high], axis_title(estimate.metric, scale), scale)
    return str(draw(Rows(x=axis, rows=(row,)), CARD_PX, words).svg)
