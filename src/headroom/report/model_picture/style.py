"""Colours of the picture: page variables inside a page, explicit colours in a separate file.

Series colours are the palette of Okabe and Ito (Color Universal Design, 2008), lightened for dark.
"""

from collections.abc import Sequence

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_LIGHT = {
    "ink": "#1c2430",
    "soft": "#566272",
    "line": "#c3cad3",
    "panel": "#ffffff",
    "accent": "#0a5ca8",
    "bad": "#a83f00",
}
_DARK = {
    "ink": "#e6eaf0",
    "soft": "#a3aebd",
    "line": "#46505d",
    "panel": "#191f27",
    "accent": "#7cc0f5",
    "bad": "#ff9b6b",
}
LIGHT_SERIES = ("#0072B2", "#D55E00", "#007F5F", "#B5589A", "#B97700", "#2F8FC4", "#5B5F66")
DARK_SERIES = ("#56B4E9", "#F2A33A", "#2EC4A0", "#DE93BF", "#F4845F", "#F0E442", "#B8BEC7")
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "4 2", "10 4", "1 3")
SERIES = len(LIGHT_SERIES)
_RULES = """\
.mp text{font-family:@font;text-anchor:middle;fill:@ink;font-size:11px}
.mp .mp-name{font-size:13px;font-weight:600}
.mp .mp-line{fill:@soft}
.mp .mp-key{text-anchor:start;fill:@soft}
.mp .mp-busy{font-weight:600}
.mp .mp-limits{font-weight:600;fill:@bad}
.mp .mp-inside{font-weight:600}
.mp-fill{fill:@panel}
.mp-part{fill:none;stroke:@ink;stroke-width:1.5;stroke-linejoin:round}
.mp-part.mp-fill{fill:@panel}
.mp-limit{stroke:@bad;stroke-width:2.6}
.mp-thin{fill:none;stroke:@ink;stroke-width:1}
.mp-level{fill:@accent;fill-opacity:.38}
.mp-token{fill:@ink}
.mp-solid{fill:@ink}
.mp-behind{fill:@panel;stroke:@line;stroke-width:1.2}
.mp-class{fill:@panel;stroke:@accent;stroke-width:1.6}
.mp-other{fill:@panel;stroke:@soft;stroke-width:1.3;stroke-dasharray:4 3}
.mp-hull{fill:@accent;fill-opacity:.05;stroke:@accent;stroke-opacity:.55;stroke-dasharray:5 4}
.mp-route{fill:none;stroke:@soft;stroke-width:1.5}
.mp-route.mp-start{stroke-dasharray:2 4}
.mp-route.mp-failed{stroke:@bad;stroke-dasharray:5 4}
.mp-tip{fill:@soft}
.mp-tip.mp-failed{fill:@bad}
.mp-halo{fill:@panel}
"""


def page_rules() -> str:
    """Return the style rules for pictures inside the report's page.

    Examples
    --------
    >>> "fill:var(--ink)" in page_rules(), "@" in page_rules()
    (True, False)
    """
    names = {name: f"var(--{name})" for name in _LIGHT} | {"line": "var(--soft)"}
    pairs = zip(LIGHT_SERIES, DARK_SERIES, strict=True)
    return _rules(names, [f"light-dark({light}, {dark})" for light, dark in pairs])


def file_rules() -> str:
    """Return the style rules of a file of its own: light, dark where the reader asks for it."""
    dark = _rules(_DARK, DARK_SERIES)
    return f"{_rules(_LIGHT, LIGHT_SERIES)}@media (prefers-color-scheme:dark){{\n{dark}}}\n"


def _rules(colours: dict[str, str], series: Sequence[str]) -> str:
    text = _RULES.replace("@font", FONT)
    for name, colour in colours.items():
        text = text.replace(f"@{name}", colour)
    own = [
        f".mp-route.mp-c{n}{{stroke:{colour};stroke-dasharray:{_DASHES[n] or 'none'}}}\n"
        f".mp-tip.mp-c{n}{{fill:{colour}}}\n"
        for n, colour in enumerate(series)
    ]
    return text + "".join(own)
