"""Readable names of metrics, factors and points.

Invariant: nothing here computes; a label never loses information that the reader needs to find
the metric in the results, because tables and tooltips also carry its name.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from headroom.analysis.answer.design import telling_factors
from headroom.analysis.results import Factor, PointResult
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.windows import WORST
from headroom.quantities import Scale, format_level
from headroom.report.titles import title_of

COLUMN_WORDS = {"measure": "measured", "model": "simulated"}
_WORDS = {
    "response": "response time",
    "service": "service time",
    "stdev": "standard deviation",
    "wall": "wall time",
    "run": "run time",
    "user": "user time",
    "system": "system time",
    "wait": "wait",
    "len": "length",
    "stdout": "output size",
}
_LOST = {"lost_ratio": "share lost", "fail_ratio": "share failed", "late_ratio": "share late"}
SETTINGS_SHOWN = 12
"""Parameters that are all told."""
_UNIT_WORDS = {"s", "bytes", "b", "ms", "us", "ns", "1"}
_QUALIFIED = {"station", "pool", "class", "service"}
_WORST = "the worst interval"


def label_metric(metric: str) -> str:
    """Return a metric's name as text, without its unit.

    Examples
    --------
    >>> label_metric("response_s_p99"), label_metric("wall_s")
    ('response time p99', 'wall time')
    >>> label_metric("station.database.queue_len_mean")
    'database mean queue length'
    >>> label_metric("peak_memory_bytes"), label_metric("size_bytes"), label_metric("s")
    ('peak memory', 'size', 's')
    >>> label_metric("input_bytes_per_s"), label_metric("class.read.response_s_p99_9")
    ('input bytes per s', 'read response time p99.9')
    >>> label_metric("service.db.cpu_s_per_op"), label_metric("program.cpu_s_per_op")
    ('db processor time per operation', 'program processor time per operation')
    >>> label_metric("window.peak.station.db.utilization")
    'db utilization in peak'
    >>> label_metric("window.worst.response_s_p95")
    'response time p95 in the worst interval'
    >>> label_metric("station.desk.wait_share_within_1_5s"), label_metric("class.web.lost_ratio")
    ('desk wait share within 1.5 s', 'web share lost')
    """
    if title := title_of(metric):
        return title
    kind, _, rest = metric.partition(".")
    if kind == "window":
        window, _, inner = rest.partition(".")
        return f"{label_metric(inner)} in {_WORST if window == WORST else window}"
    owner, _, name = rest.rpartition(".")
    is_qualified = kind in _QUALIFIED and bool(owner)
    words = _words_of(name if is_qualified else metric)
    return f"{owner} {words}" if is_qualified else words


_TENTHS = re.compile(r"_p(\d+)_(\d+)$")
"""A percentile with tenths: ``_p99_9``."""


_COST = re.compile(r"(?:^|\.)cpu s per op$")


_WITHIN = re.compile(r"(response|wait)_share_within_([\d_]+)([a-z]+)")


def _words_of(name: str) -> str:
    if name in _LOST:
        return _LOST[name]
    if match := _WITHIN.fullmatch(name):
        stem, number, unit = match.groups()
        return f"{_WORDS.get(stem, stem)} share within {number.replace('_', '.')} {unit}"
    tokens = _TENTHS.sub(r"_p\1.\2", name).split("_")
    if "per" in tokens:
        return _COST.sub(" processor time per operation", " ".join(tokens)).strip()
    kept = [token for token in tokens if token not in _UNIT_WORDS] or tokens
    if len(kept) > 1 and kept[-1] == "mean":
        kept = ["mean", *kept[:-1]]
    return " ".join(_WORDS.get(token, token) for token in kept)


def title_metric(metric: str) -> str:
    """Return the label with a capital first letter.

    Examples
    --------
    >>> title_metric("response_s_p99")
    'Response time p99'
    """
    label = label_metric(metric)
    return label[:1].upper() + label[1:]


def axis_title(metric: str, scale: Scale) -> str:
    """Return the title of an axis: quantity and unit.

    Examples
    --------
    >>> axis_title("response_s_p99", Scale(1000.0, "ms"))
    'response time p99 (ms)'
    >>> axis_title("throughput", Scale(1.0, "/s")), axis_title("queue_len_mean", Scale(1.0, ""))
    ('throughput (per s)', 'mean queue length')
    """
    if not scale.label:
        return label_metric(metric)
    unit = scale.label.replace("/s", " per s").strip()
    return f"{label_metric(metric)} ({unit})"


def direction_phrase(better: str) -> str:
    """Return ``lower is better``, or nothing where no direction is declared."""
    return {"low": "lower is better", "high": "higher is better"}.get(better, "")


def label_factor(factor: Factor) -> str:
    """Return a factor's name with its unit.

    Examples
    --------
    >>> label_factor(Factor(name="think", unit="ms", is_numeric=True, levels=[1, 2]))
    'think (ms)'
    """
    return factor.name if factor.unit in {"", "1"} else f"{factor.name} ({factor.unit})"


def settings_words(values: Mapping[str, Value], changed: Collection[str]) -> str:
    """Return the values of parameters; of many, those that are not as declared.

    Examples
    --------
    >>> settings_words({"users": 80, "disks": 2}, ["users"])
    'users = 80, disks = 2'
    >>> settings_words({f"knob_{number}": number for number in range(40)}, ["knob_7"])
    'knob_7 = 7, 39 others as declared'
    >>> settings_words({f"knob_{number}": number for number in range(40)}, [])
    '40 parameters as declared'
    """
    names = [name for name in values if name in changed or len(values) <= SETTINGS_SHOWN]
    told = [f"{name} = {quoted(format_level(values[name]))}" for name in names]
    rest = len(values) - len(names)
    noun = "others" if told else "parameters"
    return ", ".join([*told, f"{rest} {noun} as declared"] if rest else told)


def label_point(point: PointResult, factors: Sequence[Factor]) -> str:
    """Return ``users = 80, servers = 2``: the levels of a point in the order of the factors.

    Examples
    --------
    >>> users = Factor(name="users", unit="1", is_numeric=True, levels=[40, 80])
    >>> label_point(PointResult(key="k", levels={"users": 80}, done=1, failed=0), [users])
    'users = 80'
    """
    known = {factor.name for factor in factors}
    named = [factor.name for factor in telling_factors(factors)]
    rest = [name for name in point.levels if name not in known]
    parts = [
        f"{name} = {quoted(format_level(point.levels[name]))}"
        for name in (*named, *rest)
        if name in point.levels
    ]
    return ", ".join(parts) or "the only point"


def why_no_figures(point: PointResult) -> str:
    """Return why a point that ran has no results, nothing where it has some or has not run yet.

    Examples
    --------
    >>> why_no_figures(PointResult(key="k", levels={}, done=0, failed=2))
    'failed'
    >>> from headroom.analysis.evidence import Fault
    >>> late = Fault(code="reported", message="the driver was late")
    >>> why_no_figures(PointResult(key="k", levels={}, done=2, failed=0, faults=[late]))
    'faults in every replication'
    """
    if point.estimates or point.saturation or not (point.done or point.failed):
        return ""
    if not point.done:
        return "failed"
    if point.warm_up is not None and not point.warm_up.is_steady:
        is_found = point.warm_up.method in {"automatic", "mser5"}
        return "no steady state" if is_found else "warm-up longer than the run"
    return "faults in every replication" if point.faults else "no metric found"


def label_levels(levels: Sequence[object]) -> str:
    """Return the levels of factors that move together as one short name.

    Examples
    --------
    >>> label_levels(["gzip", 9]), label_levels(["two words"]), label_levels(["two words", 9])
    ('gzip 9', 'two words', '"two words" 9')
    """
    texts = [format_level(level) for level in levels]
    return texts[0] if len(texts) == 1 else " ".join(quoted(text, " ") for text in texts)


def quoted(text: str, separators: str = ",=") -> str:
    """Return a word of a list, in quotes where it holds one of the signs that separate words.

    Examples
    --------
    >>> quoted("round robin"), quoted("a, b")
    ('round robin', '"a, b"')
    """
    return f'"{text}"' if not text or any(sign in text for sign in separators) else text


def count_noun(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> count_noun(1, "point"), count_noun(3, "point"), count_noun(2, "study", "studies")
    ('1 point', '3 points', '2 studies')
    """
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def first_few(sentences: Sequence[str], most: int, noun: str) -> list[str]:
    """Return the first sentences, and how many more a table has.

    Examples
    --------
    >>> first_few(["One.", "Two.", "Three."], 2, "limits")
    ['One.', 'Two.', '1 more limits: see the table.']
    """
    left = len(sentences) - most
    return [*sentences[:most], *([f"{left} more {noun}: see the table."] if left > 0 else [])]


def join_words(words: Sequence[str]) -> str:
    """Return a list in a sentence.

    Examples
    --------
    >>> join_words(["a"]), join_words(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def verdict_counts(holds: int, differs: int, undecided: int) -> list[str]:
    """Return how many claims have each verdict, those that none has left out."""
    words = [
        (holds, "holds", "hold"),
        (differs, "differs", "differ"),
        (undecided, "is undecided", "are undecided"),
    ]
    return [f"{count:,} {one if count == 1 else many}" for count, one, many in words if count]
