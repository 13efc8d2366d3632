"""Colours, dashes and markers of the figures, for the light and the dark scheme.

The palette is that of Okabe and Ito (Color Universal Design, 2008), lightened for the dark scheme.
Series always differ in dash and marker as well, never in colour alone.
"""

from typing import Any

SYMBOLS = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke"]
VERDICT_SYMBOLS = ["circle", "square", "triangle-up", "triangle-down", "cross", "circle", "diamond"]
"""Markers of verdicts, in the order of `VERDICTS`."""
VERDICTS = ["same", "differs", "holds", "larger", "smaller", "", "undecided"]
"""Verdicts at their places in the palette: blue, vermilion, green ... and grey."""
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 2]]
LIGHT_SERIES = ["#0072B2", "#D55E00", "#007F5F", "#B5589A", "#B97700", "#2F8FC4", "#5B5F66"]
DARK_SERIES = ["#56B4E9", "#F2A33A", "#2EC4A0", "#DE93BF", "#F4845F", "#F0E442", "#B8BEC7"]
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def themes() -> dict[str, dict[str, Any]]:
    """Return the Vega-Lite configuration of each scheme.

    Examples
    --------
    >>> sorted(themes())
    ['dark', 'light']
    """
    return {
        "light": _config(
            ink="#1a1f24",
            soft="#57606a",
            grid="#e8ebef",
            rule="#6d7887",
            paper="#ffffff",
            panel="#ffffff",
            ramp=["#f1f6fb", "#0072B2"],
            series=LIGHT_SERIES,
        ),
        "dark": _config(
            ink="#e7eaed",
            soft="#a4aeb8",
            grid="#2a323d",
            rule="#8d99a8",
            paper="#121518",
            panel="#1a1e22",
            ramp=["#1f2b38", "#56B4E9"],
            series=DARK_SERIES,
        ),
    }


def _config(
    *,
    ink: str,
    soft: str,
    grid: str,
    rule: str,
    paper: str,
    panel: str,
    ramp: list[str],
    series: list[str],
) -> dict[str, Any]:
    axis = {
        "labelColor": soft,
        "titleColor": ink,
        "gridColor": grid,
        "domainColor": rule,
        "tickColor": rule,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": 500,
        "titlePadding": 10,
        "labelPadding": 4,
        "tickSize": 4,
        "labelFlush": False,
    }
    return {
        "background": "transparent",
        "font": _FONT,
        "view": {"stroke": "transparent"},
        "axis": axis,
        "legend": {
            "labelColor": ink,
            "titleColor": soft,
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titleFontWeight": 500,
            "orient": "top",
            "symbolSize": 80,
            "symbolOpacity": 1,
            "columnPadding": 14,
            "labelLimit": 240,
        },
        "range": {"category": series, "symbol": SYMBOLS, "heatmap": ramp, "ramp": ramp},
        "mark": {"color": series[0]},
        "rule": {"color": series[0]},
        "text": {"color": ink},
        "style": {
            "guide": {"color": rule, "strokeDash": [4, 3], "strokeWidth": 1.2},
            "diagonal": {"color": rule, "stroke": rule, "strokeDash": [4, 3], "strokeWidth": 1.2},
            "guide-area": {"color": rule, "opacity": 0.14},
            "guide-text": {"color": soft, "fontSize": 11},
            "guide-halo": {
                "color": panel,
                "stroke": panel,
                "strokeWidth": 4,
                "strokeJoin": "round",
                "fontSize": 11,
            },
            "limit": {"color": ink, "strokeDash": [10, 4], "strokeWidth": 1.2, "opacity": 0.8},
            "theory": {"stroke": ink, "strokeDash": [1, 3], "strokeWidth": 2, "strokeCap": "round"},
            "inside-text": {"color": paper, "fontSize": 11},
            "series-fill": {"fill": series[0]},
            "unbounded-cell": {
                "color": panel,
                "stroke": rule,
                "strokeDash": [4, 3],
                "strokeWidth": 1.2,
            },
            "cell": {"stroke": panel, "strokeWidth": 2},
            "whisker": {"color": ink, "strokeWidth": 1.4},
        },
    }
