"""Time of each class by state: one bar per class, divided by what its jobs wait for or do.

Invariant: the parts of a bar add up to the whole; what is too small to be told apart is one part,
and so is time that no state accounts for.
"""

from collections.abc import Iterable
from typing import Any

from headroom.analysis.results import Estimate, ExperimentResult, PointResult
from headroom.quantities import format_percent
from headroom.report.charts.figure import Figure, Row, Spec
from headroom.report.numbers import format_estimate

STATES_AT_MOST = 7
"""Parts of a bar that have a colour of their own, the rest included."""
_REST = "other"
_LEAST = 0.0005
_WORDS = {
    "delay_share": "delays",
    "join_share": "arms and replies",
    "outside_share": "outside of full stations",
}
_PLACES = {
    ("station", "wait_share"): "wait at {}",
    ("station", "service_share"): "service at {}",
    ("station", "blocked_share"): "blocked at {}",
    ("pool", "wait_share"): "wait for {}",
}


def class_names(point: PointResult) -> list[str]:
    """Return the classes of a point in order, those of which figures are known.

    Examples
    --------
    >>> class_names(PointResult(key="k", levels={}, done=1, failed=0))
    []
    """
    ending = ".jobs_mean"
    metrics = [m for m in point.estimates if m.startswith("class.") and m.endswith(ending)]
    return [metric.removeprefix("class.").removesuffix(ending) for metric in metrics]


def shares_of(point: PointResult, name: str) -> dict[str, Estimate]:
    """Return the share of each state that takes time of a class, by the words of the state."""
    prefix = f"class.{name}."
    shares = {}
    for metric, estimate in point.estimates.items():
        if metric.startswith(prefix) and metric.endswith("_share"):
            words = _words(metric.removeprefix(prefix))
            if words and estimate.value > 0.0:
                shares[words] = estimate
    return shares


def _words(state: str) -> str:
    if state in _WORDS:
        return _WORDS[state]
    kind, _, rest = state.partition(".")
    place, _, what = rest.rpartition(".")
    return _PLACES.get((kind, what), "").format(place)


def state_rows(point: PointResult) -> list[Row]:
    """Return the parts of each class's bar: share in per cent, words, place in the order."""
    shares = {name: shares_of(point, name) for name in class_names(point)}
    largest: dict[str, float] = {}
    for found in shares.values():
        for words, estimate in found.items():
            largest[words] = max(largest.get(words, 0.0), estimate.value)
    kept = sorted(largest, key=lambda words: -largest[words])[: STATES_AT_MOST - 1]
    order = [words for words in largest if words in set(kept)]
    return [row for name, found in shares.items() if found for row in _bar(name, found, order)]


def _bar(name: str, shares: dict[str, Estimate], order: list[str]) -> Iterable[Row]:
    told = 0.0
    for place, words in enumerate(order):
        if words in shares:
            estimate = shares[words]
            told += estimate.value
            yield _part(name, words, estimate.value, format_estimate(estimate), place)
    if 1.0 - told > _LEAST:
        yield _part(name, _REST, 1.0 - told, format_percent(1.0 - told), len(order))


def _part(name: str, state: str, share: float, shown: str, place: int) -> Row:
    return {"class": name, "state": state, "share": 100.0 * share, "shown": shown, "order": place}


def states_figure(experiment: ExperimentResult) -> Figure | None:
    """Return the figure of the states, None if no point tells them."""
    rows = [row for point in experiment.points for row in state_rows(point)]
    if not rows:
        return None
    order = dict.fromkeys(row["state"] for row in rows if row["state"] != _REST)
    return Figure(
        key=f"{experiment.name}-states",
        title="Where the time of each class goes",
        caption="Shares of the time that jobs spend in the system, think time left out; parts "
        f"beyond the largest {STATES_AT_MOST - 1} are one.",
        spec=_spec([*order, _REST]),
        detail="states",
        experiment=experiment.name,
        is_wide=True,
    )


def _spec(states: list[str]) -> Spec:
    encoding: dict[str, Any] = {
        "y": {"field": "class", "type": "nominal", "title": None, "sort": None,
              "axis": {"labelLimit": 220, "grid": False, "ticks": False, "domain": False}},
        "x": {"field": "share", "type": "quantitative", "title": "share of the time (%)",
              "stack": "zero", "scale": {"domain": [0, 100], "nice": False, "clamp": True}},
        "color": {"field": "state", "type": "nominal", "title": None, "sort": states,
                  "legend": {"columns": 4}},
        "order": {"field": "order", "type": "quantitative"},
        "tooltip": [
            {"field": "class", "type": "nominal", "title": "class"},
            {"field": "state", "type": "nominal", "title": "state"},
            {"field": "shown", "type": "nominal", "title": "share"},
        ],
    }  # fmt: skip
    mark = {"type": "bar", "height": {"band": 0.66}, "opacity": 0.9}
    return {
        "description": "Time of each class by state",
        "width": "container",
        "height": "@height",
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"name": "rows"},
        "mark": mark,
        "encoding": encoding,
    }
