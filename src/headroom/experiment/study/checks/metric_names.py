"""Resolve everyday metric names, such as `p95` or `latency_p99.9`.

A metric is named by quantity, unit and qualifier (`response_s_p95`). Users often leave out the
quantity or the unit, or use a synonym for either.
"""

import re
from collections.abc import Iterable

from headroom.experiment.protocol.asked_metrics import asked_metric
from headroom.experiment.protocol.suggestions import suggestion

_SYNONYMS = {
    **dict.fromkeys(("latency", "lat", "duration", "rt"), "response"),
    **dict.fromkeys(("tps", "qps", "rps", "iops", "rate"), "throughput"),
    **dict.fromkeys(("avg", "average"), "mean"),
    "median": "p50",
    "usage": "utilization",
    "elapsed": "wall",
}
_UNSPOKEN = {"", "s", "ms", "us", "ns", "sec", "seconds", "time", "percentile"}
"""Units and fillers: no two metrics differ in them alone."""
_SHORTEST_BEGINNING = 4
"""Letters to which a word may be shortened: `util` for utilization."""


def metric_suggestion(word: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown metric: the one that was probably meant, and the list.

    Examples
    --------
    >>> metric_suggestion("p95", ["response_s_mean", "response_s_p95", "wall_s"])
    "did you mean 'response_s_p95'? known: response_s_mean, response_s_p95, wall_s"
    >>> metric_suggestion("station.desk.wait_share_within(30 s)", ["throughput"])
    "write 'station.desk.wait_share_within_30s'"
    """
    names = list(dict.fromkeys(known))
    plain = re.sub(r"[\s()]", "", word.replace("(", "_")).replace("lag_jobs_max", "queue_len_max")
    if plain != word and (asked_metric(plain) or plain in names):
        return f"write {plain!r}"
    return suggestion(word, names, meant=closest_metric(word, names))


def closest_metric(word: str, known: Iterable[str]) -> str:
    """Return the metric with all words of `word` and the fewest others; empty if none has them.

    Of equally good ones the first counts: a system names what matters most first.

    Examples
    --------
    >>> names = ["response_s_p95", "response_s_p99_9", "wait_s_p95", "station.cpu.utilization"]
    >>> [closest_metric(word, names) for word in ("latency_ms_p95", "p99.9", "cpu_util", "speed")]
    ['response_s_p95', 'response_s_p99_9', 'station.cpu.utilization', '']
    """
    wanted = _spoken(word)
    fitting = [name for name in known if wanted and _says(_spoken(name), wanted)]
    return min(fitting, key=lambda name: (name.count("."), len(_spoken(name))), default="")


def _spoken(name: str) -> list[str]:
    """Return the words of a name that distinguish metrics, in this project's terms."""
    words = re.split(r"[\W_]+", name.lower())
    return [_SYNONYMS.get(word, word) for word in words if word not in _UNSPOKEN]


def _says(words: list[str], wanted: list[str]) -> bool:
    """Return whether the words contain the wanted ones, in their order."""
    rest = iter(words)
    return all(any(_is_meant(word, other) for other in rest) for word in wanted)


def _is_meant(word: str, known: str) -> bool:
    return word == known or (len(word) >= _SHORTEST_BEGINNING and known.startswith(word))
