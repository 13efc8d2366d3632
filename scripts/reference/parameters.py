"""Tables of parameters and metrics, each fact once."""

import re
from collections.abc import Iterable, Sequence

from headroom.experiment.protocol.system import Metric, Parameter
from scripts.reference.tables import table

_STATISTIC = re.compile(r"(.*_s)_(mean|stdev|mean_deviation|min|max|p\d+(?:_\d+)?)")
_KINDS = ("paper", "data sheet", "standard", "measured", "calibrated", "assumed")
FEWEST_SHARED = 5
"""Parameters that a model shares with an earlier one before the page refers to that."""


def parameter_table(parameters: Iterable[Parameter]) -> str:
    """Return the table of some parameters, with the kind of each source."""
    return table(
        ("parameter", "unit", "default", "range", "meaning", "source"),
        [_row(item) for item in parameters],
    )


def difference_table(parameters: Iterable[Parameter], base: dict[str, Parameter]) -> str:
    """Return the differences from a model with the same parameters: default, range and source."""
    return table(
        ("parameter", "unit", "default", "range", "source"),
        [
            (*_row(item)[:4], source_kind(item.source))
            for item in parameters
            if _row(item)[:4] != _row(base[item.name])[:4]
        ],
    )


def shared(parameters: Sequence[Parameter], other: Sequence[Parameter]) -> list[str]:
    """Return the names of the parameters that two models have in common, value and all."""
    rows = {_row(item) for item in other}
    return [item.name for item in parameters if _row(item) in rows]


def _row(item: Parameter) -> tuple[str, ...]:
    low = "" if item.low is None else f"{item.low:g}"
    high = "" if item.high is None else f"{item.high:g}"
    default = "required" if item.default is None else f"{item.default}"
    range_ = ", ".join(map(str, item.choices)) or (f"{low} to {high}" if low or high else "")
    kind = source_kind(item.source)
    return (f"`{item.name}`", item.unit, default, range_, item.description, kind)


def source_kind(source: str) -> str:
    """Return the kind of a source: its first word.

    Examples
    --------
    >>> source_kind("paper by Kang and Cheong: table 1"), source_kind("assumed, as in textbooks")
    ('paper', 'assumed')
    """
    kind = next((kind for kind in _KINDS if source.startswith(kind)), "")
    return kind or source.partition(":")[0]


def metric_table(metrics: Iterable[Metric]) -> str:
    """Return the table of some metrics; alike families of statistics share their rows."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for item in metrics:
        match = _STATISTIC.fullmatch(item.name)
        better = item.better.replace("none", "")
        if match:
            key = (match[2], item.unit, better, item.description)
            rows.setdefault(key, []).append(match[1])
        else:
            rows[item.name, item.unit, better, item.description] = []
    return table(
        ("metric", "unit", "better", "meaning"),
        [
            (", ".join(f"`{stem}_{key[0]}`" for stem in stems) or f"`{key[0]}`", *key[1:])
            for key, stems in rows.items()
        ],
    )
