"""Response times of a point over time: a heat map with a column per slice of each replication.

A percentile over time hides that a few requests stall while the rest continue; the map shows both.
Shares have a logarithmic colour scale, because users remember the few slow requests.

Invariant: a cell is a share of the results; nothing is smoothed.
"""

from typing import Any

from headroom.analysis.results import ExperimentResult, LatencyMap
from headroom.quantities import choose_scale
from headroom.report.charts.figure import Figure, Spec

_HEIGHT_PX = 320


def latency_map_figure(experiment: ExperimentResult) -> Figure | None:
    """Return the figure of the maps, None if no point has one."""
    if not any(point.latency for point in experiment.points):
        return None
    return Figure(
        key=f"{experiment.name}-latency-map",
        title="Response times over time",
        caption="Replications one after the other, warm-up included, with a line between them; "
        "colour is the share of the responses of each stretch of time, on a logarithmic scale. A "
        "band that moves is a device that changes its speed; a lone cell high up is a stall.",
        spec=_spec(),
        detail="latency",
        experiment=experiment.name,
        is_wide=True,
    )


def latency_words(latency: LatencyMap | None) -> dict[str, Any] | None:
    """Return the words and scales of the map of a point; None if it has none."""
    if latency is None:
        return None
    used = [number for stretch in latency.stretches for number in stretch[::2]]
    longest_s = latency.shortest_s * latency.ratio ** (max(used, default=0) + 1)
    length = choose_scale([(latency.shortest_s * longest_s) ** 0.5], "s")
    time = choose_scale([latency.step_s * len(latency.stretches)], "s")
    ends = range(latency.per_run, len(latency.stretches), latency.per_run)
    return {
        "titles": {
            "@time": f"time measured, replication after replication ({time.label})",
            "@length": f"response time ({length.label}), log scale",
            "@from": f"from ({length.label})",
            "@to": f"to ({length.label})",
        },
        "time_factor": time.factor,
        "factor": length.factor,
        "edges": [{"at": end * latency.step_s * time.factor} for end in ends],
    }


def _spec() -> Spec:
    time = {
        "field": "from",
        "type": "quantitative",
        "title": "@time",
        "scale": {"nice": False, "zero": True},
        "axis": {"grid": False, "tickCount": 6},
    }
    length = {
        "field": "low",
        "type": "quantitative",
        "title": "@length",
        "scale": {"type": "log", "nice": False},
        "axis": {"grid": False, "tickCount": 5},
    }
    cells = {
        "mark": {"type": "rect", "stroke": None, "strokeWidth": 0},
        "encoding": {
            "x": time,
            "x2": {"field": "to"},
            "y": length,
            "y2": {"field": "high"},
            "color": {
                "field": "share",
                "type": "quantitative",
                "title": "share of responses (%)",
                "scale": {"type": "log", "nice": False},
                "legend": {"gradientLength": 160, "tickCount": 4},
            },
            "tooltip": [
                {"field": "low", "type": "quantitative", "title": "@from", "format": ".3~g"},
                {"field": "high", "type": "quantitative", "title": "@to", "format": ".3~g"},
                {"field": "share", "type": "quantitative", "title": "share (%)", "format": ".3~g"},
                {"field": "run", "type": "quantitative", "title": "replication"},
                {"field": "from", "type": "quantitative", "title": "@time", "format": ".4~g"},
            ],
        },
    }
    edges = {
        "data": {"name": "edges"},
        "mark": {"type": "rule", "style": "guide", "clip": True},
        "encoding": {"x": {**time, "field": "at"}},
    }
    return {
        "description": "Response times over time",
        "width": "container",
        "height": _HEIGHT_PX,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"name": "rows"},
        "layer": [cells, edges],
    }
