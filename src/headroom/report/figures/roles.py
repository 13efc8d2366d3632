"""Colours by role, for the light and the dark scheme, and the styles of a figure.

A colour says what a mark means; shape, dash or place say it too, because some readers cannot
tell two of the colours apart. Text keeps a contrast of 4.5 to its ground, a mark 3.

Invariant: every class that `headroom.report.figures.canvas` writes has a rule here.
"""

from typing import Literal, TypeAlias

Role: TypeAlias = Literal["data", "limit", "better", "third", "context", "differs", "published"]
"""Our results; what limits, knees and waits; what is better or holds; a third series; what gives
context; what differs; what was published or follows from theory."""
Tone: TypeAlias = Role | Literal["ink", "muted"]
"""Colour of a text."""
Scheme: TypeAlias = Literal["light", "dark"]

PAPER: dict[str, tuple[str, str]] = {
    "paper": ("#fcfcfb", "#121518"),
    "panel": ("#ffffff", "#1a1e22"),
    "ink": ("#1a1f24", "#e7eaed"),
    "soft": ("#57606a", "#a4aeb8"),
    "line": ("#d9dee3", "#353c44"),
    "grid": ("#eceff1", "#262c32"),
}
"""Colours of page and text: light, dark."""
MARKS: dict[Role, tuple[str, str]] = {
    "data": ("#0068a8", "#6db8f2"),
    "limit": ("#d55e00", "#f08a4b"),
    "better": ("#00856a", "#3fbf9b"),
    "third": ("#702963", "#cf86c8"),
    "context": ("#7d8791", "#8a949e"),
    "differs": ("#b3261e", "#e5534b"),
    "published": ("#1a1f24", "#e7eaed"),
}
TEXTS: dict[Role, tuple[str, str]] = MARKS | {
    "limit": ("#b84a00", "#ff9f66"),
    "better": ("#00735c", "#56d0ad"),
    "context": ("#57606a", "#a4aeb8"),
    "differs": ("#b3261e", "#ff9d94"),
}
GROUNDS: dict[Role, tuple[str, str]] = {
    "data": ("#cfe3f2", "#1f3d54"),
    "limit": ("#fdebdd", "#3a2618"),
    "better": ("#e3f4ef", "#16332b"),
    "third": ("#ead7e8", "#46304a"),
    "context": ("#e6e9ec", "#2b3138"),
    "differs": ("#fde7e4", "#40211e"),
    "published": ("#e6e9ec", "#2b3138"),
}
SERIES: tuple[Role, ...] = ("data", "limit", "better", "third", "context", "differs", "published")
"""Colours of series in their order; marks and dashes distinguish further ones."""
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
SHAPES = """
svg.figure { display: block; max-width: 100%; height: auto; }
svg.figure text { font-size: 12px; fill: var(--ink); }
svg.figure .middle { text-anchor: middle; }
svg.figure .end { text-anchor: end; }
svg.figure .muted { fill: var(--soft); }
svg.figure .bold { font-weight: 650; }
svg.figure .small { font-size: 11px; }
svg.figure .large { font-size: 14px; }
svg.figure .halo { paint-order: stroke; stroke: var(--panel); stroke-width: 4px; stroke-linejoin: round; }
svg.figure .axis { stroke: var(--soft); stroke-width: 1; fill: none; }
svg.figure .grid { stroke: var(--grid); stroke-width: 1; fill: none; }
svg.figure .stroke { stroke-width: 2.5; fill: none; stroke-linejoin: round; }
svg.figure .thin { stroke-width: 1.5; fill: none; }
svg.figure .dashed { stroke-dasharray: 6 4; }
svg.figure .hollow { fill: var(--panel); stroke-width: 2; }
svg.figure .faint { opacity: 0.45; }
svg.figure .pale { opacity: 0.15; }
svg.figure .area { fill-opacity: 0.4; stroke-width: 1.5; stroke-linejoin: round; }
svg.figure .cut { stroke: var(--panel); stroke-width: 2; }
"""  # noqa: E501 - a rule is a line


def page_rules() -> str:
    """Return the styles of figures for a page, which names the colours of `PAPER` itself."""
    names = "\n".join(
        f"--{kind}-{role}: light-dark({light}, {dark});"
        for kind, colours in (("mark", MARKS), ("text", TEXTS), ("ground", GROUNDS))
        for role, (light, dark) in colours.items()
    )
    return f":root {{\n{names}\n}}\n{SHAPES}{_role_rules()}"


def _role_rules() -> str:
    shades = "".join(
        f"\nsvg.figure .o{tenth} {{ opacity: {tenth / 10}; }}" for tenth in range(1, 11)
    )
    return (
        shades
        + "\n"
        + "\n".join(
            f"svg.figure .t-{role} {{ fill: var(--text-{role}); }}\n"
            f"svg.figure .s-{role} {{ stroke: var(--mark-{role}); }}\n"
            f"svg.figure .f-{role} {{ fill: var(--mark-{role}); }}\n"
            f"svg.figure .g-{role} {{ fill: var(--ground-{role}); }}"
            for role in MARKS
        )
    )


def file_rules(scheme: Scheme) -> str:
    """Return the styles of one scheme without variables, as every program that reads SVG can.

    Examples
    --------
    >>> "var(" in file_rules("light"), "#0068a8" in file_rules("light")
    (False, True)
    """
    place = SCHEMES.index(scheme)
    rules = SHAPES + _role_rules()
    named = {name: pair[place] for name, pair in PAPER.items()}
    for kind, colours in (("mark", MARKS), ("text", TEXTS), ("ground", GROUNDS)):
        named |= {f"{kind}-{role}": pair[place] for role, pair in colours.items()}
    for name, colour in named.items():
        rules = rules.replace(f"var(--{name})", colour)
    return rules
