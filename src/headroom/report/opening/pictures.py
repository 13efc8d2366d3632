"""The figures of a first screen as pictures of their own: for files, and for notebooks.

Invariant: the same figures, in the same order, as on the page.
"""

from dataclasses import dataclass

from markupsafe import Markup

from headroom.analysis.results import StudyResult
from headroom.report.figures.draw import HALF_PX, LEAD_PX, NARROW_PX
from headroom.report.figures.files import small_picture, svg_file
from headroom.report.opening.drafts import LEAD, drafts_of
from headroom.report.sentences.answer.answer import words_or_none
from headroom.report.sentences.answer.sentence import Span


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure as an SVG document; `name` is that of its file, without the ending."""

    name: str
    svg: str


def pictures_of(result: StudyResult, *, has_dark: bool = True) -> list[Picture]:
    """Return the figures of the first screen, the decisive one first.

    Parameters
    ----------
    result
        An analysed study; without an answer it has none.
    has_dark
        Whether viewers that prefer dark pages get dark colours.
    """
    words = words_or_none(result)
    drafts = drafts_of(result, words, []) if words else []
    return [
        Picture(
            f"{place:02}-{_slug(draft.key)}",
            svg_file(
                draft.figure,
                _text(draft.title),
                LEAD_PX if draft.key == LEAD else HALF_PX,
                has_dark=has_dark,
            ),
        )
        for place, draft in enumerate(drafts, start=1)
    ]


def small_figure(result: StudyResult) -> Markup:
    """Return the decisive figure as a small image for a notebook; empty if there is none.

    Parameters
    ----------
    result
        An analysed study.
    """
    words = words_or_none(result)
    draft = next(drafts_of(result, words, []), None) if words else None
    if draft is None:
        return Markup()
    return small_picture(draft.figure, _text(draft.title), NARROW_PX)


def _slug(key: str) -> str:
    """Return the name of a figure as part of a file name.

    Examples
    --------
    >>> _slug("which_part-2"), _slug("answer")
    ('which-part', 'answer')
    """
    return (key.rpartition("-")[0] or key).replace("_", "-").replace(".", "-")


def _text(title: tuple[Span, ...]) -> str:
    return "".join(span.text for span in title)
