"""State diagrams as SVG: three states of a process and its transitions, as measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 560, 316
"""Room (px) of a panel."""
_BOX_WIDTH, _BOX_HEIGHT = 150, 66
_WAITING, _RUNNING, _SLEEPING = (160, 124), (400, 124), (280, 268)
"""Middle of each state (px)."""
_LINE = 15
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_RULES = f"""
text{{font-family:{_FONT};font-size:11px;fill:#566272;text-anchor:middle}}
.title{{font-size:15px;font-weight:600;fill:#1c2430}}
.name{{font-size:13px;font-weight:600;fill:#1c2430}}
.number{{fill:#1c2430}}
.left{{text-anchor:end}} .right{{text-anchor:start}}
.back{{fill:#ffffff}}
.state{{fill:#eaf1f8;stroke:#0a5ca8;stroke-width:1.5}}
.way{{fill:none;stroke:#566272;stroke-width:1.5}}
.tip{{fill:#566272}}
@media (prefers-color-scheme:dark){{
text{{fill:#a3aebd}} .title,.name,.number{{fill:#e6eaf0}} .back{{fill:#191f27}}
.state{{fill:#1f2d3b;stroke:#7cc0f5}} .way{{stroke:#a3aebd}} .tip{{fill:#a3aebd}}
}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The words of one diagram.

    Parameters
    ----------
    title, subtitle
        Texts above it.
    created, scheduled, woken
        How often a process takes these ways.
    asks
        Why it goes to sleep, and how often; one line each.
    waiting, running, sleeping
        Measurements of each state; one line each.
    """

    title: str
    subtitle: str
    created: str
    scheduled: str
    woken: str
    asks: tuple[str, ...]
    waiting: tuple[str, ...]
    running: tuple[str, ...]
    sleeping: tuple[str, ...]


def draw_figure(panels: Sequence[Panel], *, title: str) -> str:
    """Return diagrams side by side as an SVG file.

    Examples
    --------
    >>> words = dict.fromkeys(Panel.__slots__, "Payment")
    >>> one = Panel(**words | dict.fromkeys(("asks", "waiting", "running", "sleeping"), ("5%",)))
    >>> draw_figure([one], title="States").count('class="state"')
    3
    """
    width = _WIDTH * len(panels)
    said = "; ".join(
        f"{panel.title}: running {panel.running[0]}, waiting {panel.waiting[0]}, "
        f"asleep {panel.sleeping[0]}"
        for panel in panels
    )
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {_HEIGHT}" '
            f'width="{width}" height="{_HEIGHT}">',
            f"<title>{escape(title)}</title><desc>{escape(said)}</desc>",
            f"<style>{_RULES}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>',
            f'<rect class="back" width="{width}" height="{_HEIGHT}"/>',
            *(
                f'<g transform="translate({_WIDTH * place} 0)">{_panel(panel)}</g>'
                for place, panel in enumerate(panels)
            ),
            "</svg>\n",
        ]
    )


def _panel(panel: Panel) -> str:
    return "".join(
        [
            _text(_WIDTH // 2, 26, panel.title, "title"),
            _text(_WIDTH // 2, 44, panel.subtitle),
            _state(_WAITING, "Waiting in queue", panel.waiting),
            _state(_RUNNING, "Running", panel.running),
            _state(_SLEEPING, "Sleeping", panel.sleeping),
            *_ways(),
            *_words(panel),
        ]
    )


def _state(middle: tuple[int, int], name: str, lines: Sequence[str]) -> str:
    left, top = middle[0] - _BOX_WIDTH // 2, middle[1] - _BOX_HEIGHT // 2
    box = (
        f'<rect class="state" x="{left}" y="{top}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" '
        'rx="10"/>'
    )
    texts = [_text(middle[0], top + 21, name, "name")]
    texts += [
        _text(middle[0], top + 39 + _LINE * row, line, "number") for row, line in enumerate(lines)
    ]
    return box + "".join(texts)


def _ways() -> tuple[str, ...]:
    """Return the arrows: born, scheduled, asleep, woken, gone."""
    half, tall = _BOX_WIDTH // 2, _BOX_HEIGHT // 2
    (waits, top), (runs, _), (sleeps, bottom) = _WAITING, _RUNNING, _SLEEPING
    born, gone = top - tall - 26, top - tall - 22
    return (
        f'<circle class="tip" cx="{waits}" cy="{born}" r="5"/>',
        _way(waits, born + 6, waits, top - tall),
        _way(waits + half, top, runs - half, top),
        _way(runs, top + tall, sleeps + half, bottom - 8),
        _way(sleeps - half, bottom - 8, waits, top + tall),
        _way(runs, top - tall, runs, gone + 1),
        f'<circle class="way" cx="{runs}" cy="{gone - 6}" r="7"/>',
        f'<circle class="tip" cx="{runs}" cy="{gone - 6}" r="4"/>',
    )


def _words(panel: Panel) -> tuple[str, ...]:
    """Return the labels of the arrows."""
    (waits, top), (runs, _), (_, bottom) = _WAITING, _RUNNING, _SLEEPING
    above, beside = top - _BOX_HEIGHT // 2 - 12, (top + bottom) // 2
    between = (waits + runs) // 2
    return (
        _text(waits - 12, above, panel.created, "left"),
        _text(runs + 14, above, "ends", "right"),
        _text(between, top - 7, "scheduled"),
        _text(between, top + 18, panel.scheduled, "number"),
        *(
            _text(runs - 4, beside + 6 + _LINE * row, line, "right")
            for row, line in enumerate(panel.asks)
        ),
        _text(waits + 2, beside + 6, f"answered {panel.woken}", "left"),
    )


def _way(x1: int, y1: int, x2: int, y2: int) -> str:
    return f'<path class="way" marker-end="url(#tip)" d="M{x1} {y1}L{x2} {y2}"/>'


def _text(x: int, y: int, words: str, style: str = "") -> str:
    of_style = f' class="{style}"' if style else ""
    return f'<text{of_style} x="{x}" y="{y}">{escape(words)}</text>'
