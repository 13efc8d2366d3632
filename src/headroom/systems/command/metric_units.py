"""Check that name, unit and scale of a metric agree, when the study is read.

A value is kept in its base unit, so the name of a metric must not state another one: `latency_ms`
would be read as milliseconds although it holds seconds.

Invariant: a metric that is converted has its base unit in its name.
"""

import re

from headroom.errors import StudyError
from headroom.systems.command.setup_table import MetricTable
from headroom.units import unit_named

_NAMED = {"s": "s", "B": "bytes", "B/s": "bytes_per_s", "bit/s": "bits_per_s", "1/s": "per_s",
          "1": "share", "J": "joules", "W": "watts"}  # fmt: skip
"""The name suffix of a base unit."""
_WORDS = re.compile(r"[_.-]")
_UNIT_WORDS = {"ms", "us", "ns", "msec", "usec", "sec", "seconds", "millis", "micros", "nanos",
               "kb", "mb", "gb", "kib", "mib", "gib", "percent", "pct"}  # fmt: skip
"""Words of names that say a unit which no value is kept in."""


def check_unit(metric: MetricTable) -> None:
    """Raise `StudyError` if unit, scale and name of a metric contradict each other."""
    is_converted = metric.base_unit != metric.unit or metric.factor != 1.0
    if is_converted and (metric.quotient or metric.size_of):
        raise StudyError(
            f"metric `{metric.name}` is made of base units, so it takes no unit `{metric.unit}` "
            f"and no scale",
            cure=f'set unit = "{metric.base_unit}" and remove scale; the report scales it',
        )
    wrong = next((word for word in _WORDS.split(metric.name) if word.lower() in _UNIT_WORDS), None)
    lacks_unit = metric.base_unit != metric.unit and not _says_unit(metric)
    if wrong is None and not lacks_unit:
        return
    said = "does not say so" if wrong is None else f"says `{wrong}`"
    raise StudyError(
        f"metric `{metric.name}` is kept in {_kept_in(metric)}, but its name {said}",
        cure=_hint(metric, wrong),
    )


def _hint(metric: MetricTable, wrong: str | None) -> str:
    meant = None if wrong is None else unit_named(wrong)
    if metric.unit == "1" and wrong is not None and meant is not None:
        name = _better_name(metric, wrong, _NAMED[meant.base])
        return f'set unit = "{wrong}" and write name = "{name}"; it is converted'
    name = _better_name(metric, wrong, _NAMED.get(metric.base_unit, metric.base_unit))
    return f'write name = "{name}"; the report scales it for display'


def _says_unit(metric: MetricTable) -> bool:
    """Return whether a name includes its base unit as text; a share needs none."""
    if metric.base_unit not in _NAMED or metric.base_unit == "1":
        return True
    return f"_{_NAMED[metric.base_unit]}_" in f"_{_WORDS.sub('_', metric.name)}_"


def _kept_in(metric: MetricTable) -> str:
    return "plain numbers" if metric.base_unit == "1" else metric.base_unit


def _better_name(metric: MetricTable, wrong: str | None, word: str) -> str:
    if wrong is None:
        return f"{metric.name}_{word}"
    words = [word if part == wrong else part for part in _WORDS.split(metric.name)]
    return re.sub(r"_per_s_per_s$", "_per_s", "_".join(words))
