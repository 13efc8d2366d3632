"""Time of each class by state, in words: what its jobs wait for or do.

Invariant: restates the estimates of a point.
"""

from headroom.analysis.results import Estimate, PointResult

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
