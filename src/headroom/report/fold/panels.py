"""Panels as the page lays them out: the first picture drawn, all others for the script.

Invariant: a picture is drawn at the width at which it is shown: narrow ones have one on any page.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from markupsafe import Markup

from headroom.report.charts.panel import Choice, Panel
from headroom.report.figures.draw import PANEL_PX, WHOLE_PX, Drawing, draw, draw_both
from headroom.report.figures.inputs import Figure

Pictures: TypeAlias = dict[tuple[str, Choice], Drawing]
"""Drawings by panel and choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelView:
    """A panel with its pictures drawn.

    Parameters
    ----------
    experiment
        Whose chosen point it shows; empty if it shows all points.
    choice, options
        What is chosen in the panel, and from what.
    shown, first
        Choice that is shown before anything is chosen, and its picture; empty if there is none.
    more
        The other pictures by choice.
    """

    key: str
    title: str
    direction: str
    caption: str
    is_wide: bool
    experiment: str
    choice: str
    options: list[str]
    shown: str
    first: Markup
    more: dict[str, str]


def panel_views(
    panels: Sequence[Panel], known: Pictures, *, experiment: str = "", point: str = ""
) -> list[PanelView]:
    """Return panels with their pictures drawn.

    Parameters
    ----------
    known
        Pictures of single points that were drawn before, for a page with more of them.
    experiment, point
        Whose points can be chosen, and the one that is shown first; empty for panels of all points.
    """
    return [_view(panel, known, experiment, point) for panel in panels]


def fewer(panel: Panel, choices: int | None) -> Panel:
    """Return a panel that offers its first choices alone, for each point the same; None: all."""
    kept = list(dict.fromkeys(own for _, own in panel.pictures))[:choices]
    pictures = {choice: one for choice, one in panel.pictures.items() if choice[1] in kept}
    return replace(panel, pictures=pictures)


def _view(panel: Panel, known: Pictures, experiment: str, point: str) -> PanelView:
    options = list(dict.fromkeys(own for _, own in panel.pictures))
    shown = (point, options[0])
    drawn = {}
    for choice, figure in panel.pictures.items():
        if not experiment:
            drawn[choice] = _draw(panel, figure)
            continue
        if (panel.key, choice) not in known:
            known[panel.key, choice] = _draw(panel, figure)
        drawn[choice] = known[panel.key, choice]
    first = drawn.pop(shown, Drawing(Markup(), ()))
    return PanelView(
        key=panel.key,
        title=panel.title,
        direction=panel.direction,
        caption=first.caption(panel.caption),
        is_wide=panel.is_wide,
        experiment=experiment,
        choice=panel.choice,
        options=options,
        shown=_key(shown),
        first=first.svg,
        more={_key(choice): str(one.svg) for choice, one in drawn.items()},
    )


def _key(choice: Choice) -> str:
    return "\t".join(choice)


def _draw(panel: Panel, figure: Figure) -> Drawing:
    """Return a figure, for phones too if it is wide."""
    if panel.is_wide:
        return draw_both(figure, WHOLE_PX, panel.title)
    return draw(figure, PANEL_PX, panel.title)
