"""A figure as a separate file: SVG that needs no page, and PNG of it.

Invariant: a file names no font or style sheet outside itself.
"""

import math
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from markupsafe import escape

from headroom.report.figures.draw import draw, height_of
from headroom.report.figures.inputs import Figure
from headroom.report.figures.placing import broken
from headroom.report.figures.roles import FONT, PAPER, SCHEMES, file_rules

_MARGIN_PX = 18.0
_TITLE_PX, _LINE_PX = 17.0, 22.0
_PNG_ZOOM = 2
"""Pixels of a PNG for each px of the figure."""
_SIZE = re.compile(r' width="([\d.]+)" height="([\d.]+)"')
_SHEET = (
    '<!DOCTYPE html><html data-state="done"><meta charset="utf-8">'
    "<style>body {{ margin: 0; }} body > svg {{ display: block; }}</style>{svg}"
)


def svg_file(figure: Figure, title: str, width: float, *, has_dark: bool = True) -> str:
    """Return a figure with its title as an SVG document.

    Parameters
    ----------
    figure
        What is drawn.
    title
        The finding, written above; empty for no title.
    width
        Width of the figure (px), without the margin around it.
    has_dark
        Whether viewers that prefer dark pages get dark colours.
    """
    lines = broken(title, width, size=_TITLE_PX, is_bold=True) if title else []
    top = _MARGIN_PX + _LINE_PX * len(lines) + (8.0 if lines else 0.0)
    whole = width + 2.0 * _MARGIN_PX, top + height_of(figure, width) + _MARGIN_PX
    heads = "".join(
        f'<text class="title" x="{_MARGIN_PX:g}" y="{_MARGIN_PX + _LINE_PX * (place + 0.7):g}">'
        f"{escape(text)}</text>"
        for place, text in enumerate(lines)
    )
    inner = str(draw(figure, width, title).svg).replace(
        "<svg ", f'<svg x="{_MARGIN_PX:g}" y="{top:g}" '
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole[0]:g} {whole[1]:g}" '
        f'width="{whole[0]:g}" height="{whole[1]:g}" font-family="{escape(FONT)}" role="img" '
        f'aria-label="{escape(title)}"><style>{_styles(has_dark=has_dark)}</style>'
        f'<rect class="sheet" width="100%" height="100%"/>{heads}{inner}</svg>\n'
    )


def _styles(*, has_dark: bool) -> str:
    light, dark = (
        f".sheet {{ fill: {PAPER['panel'][place]}; }}\n"
        f".title {{ font-size: {_TITLE_PX:g}px; font-weight: 650; fill: {PAPER['ink'][place]}; }}"
        f"{file_rules(scheme)}"
        for place, scheme in enumerate(SCHEMES)
    )
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}" if has_dark else light


def write_pngs(pictures: Mapping[Path, str]) -> None:
    """Write SVG documents as PNG, two pixels for each px, as Chromium draws them.

    Parameters
    ----------
    pictures
        File to write -> SVG document.

    Raises
    ------
    EnvironmentUnfitError
        There is no Chromium.
    """
    from headroom.report.browser import open_browser  # noqa: PLC0415 - few pictures are PNG

    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        page = Path(folder) / "figure.html"
        for path, svg in pictures.items():
            width, height = _SIZE.search(svg).groups()  # type: ignore[union-attr]
            page.write_text(_SHEET.format(svg=svg), encoding="utf-8")
            browser.visit(
                page,
                width=math.ceil(float(width)),
                height=math.ceil(float(height)),
                picture=path,
                zoom=_PNG_ZOOM,
            )
