"""Tables of parameters and metrics, each fact once."""

import re
from collections.abc import Iterable, Sequence

from headroom.experiment.protocol.system import Metric, Parameter
from headroom.reference.tables import table

_STATISTIC = re.compile(r"(.*_s)_(mean|stdev|mean_deviation|min|max|p\d+(?:_\d+)?)")
_PERCENTILE = re.compile(r"(.*_p)(\d+(?:_\d+)?)")
_KINDS = ("paper", "data sheet", "standard", "measured", "calibrated", "assumed")
_ARROWS = {"high": "\N{UPWARDS ARROW}", "low": "\N{DOWNWARDS ARROW}", "none": "", "": ""}
_UNITS = {"1": "", "1e3": "thousand"}
_TO = "\N{EN DASH}"
LEGEND = (
    "- *Default*: of a parameter, with its unit; a study gives the number alone. "
    "Empty: none.\n"
    "- *Source*: kind of source of the default; empty for an assumption. The report of a study "
    "prints the full source of each value, as do the files in `src/headroom/systems`.\n"
    f"- {_ARROWS['high']} and {_ARROWS['low']}: more, or less, of a metric is better. "
    "No unit: a count, a ratio or a word.\n"
    "- Keys that are not required may be left out.\n"
)


def parameter_table(parameters: Iterable[Parameter]) -> str:
    """Return the table of some parameters, with the kind of each source."""
    return table(
        ("parameter", "default", "range", "meaning", "source"),
        [_row(item) for item in parameters],
    )


def _row(item: Parameter) -> tuple[str, ...]:
    default = "required" if item.default is None else f"{item.default}"
    unit = _UNITS.get(item.unit, item.unit)
    return (
        f"`{item.name}`",
        f"{default} {unit}".strip(),
        _range(item),
        item.description,
        source_kind(item.source).replace("assumed", ""),
    )


def _range(item: Parameter) -> str:
    if item.choices:
        return ", ".join(map(str, item.choices))
    low = "" if item.low is None else f"{item.low:g}"
    high = "" if item.high is None else f"{item.high:g}"
    if not (low and high):
        return f"at least {low}" if low else f"at most {high}" if high else ""
    return f"{low} to {high}" if low.startswith("-") else f"{low}{_TO}{high}"


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
    families: dict[tuple[str, ...], list[str]] = {}
    for item in metrics:
        match = _STATISTIC.fullmatch(item.name)
        stem, statistic = match.groups() if match else ("", item.name)
        key = (statistic, item.unit, item.better, item.description)
        families.setdefault(key, []).append(stem)
    several = {tuple(stems) for stems in families.values() if len(stems) > 1}
    is_one_family = len(several) == 1
    rows = []
    for (statistic, *others), stems in families.items():
        if len(stems) > 1 and is_one_family:
            names = f"`TIME_{statistic}`"
        else:
            names = ", ".join(f"`{stem}_{statistic}`" if stem else f"`{statistic}`"
                              for stem in stems)  # fmt: skip
        rows.append((names, *others))
    text = metric_rows(rows)
    if is_one_family:
        known = ", ".join(f"`{stem}`" for stem in next(iter(several)))
        text += f"\n`TIME` is any of {known}.\n"
    return text


def metric_rows(rows: Iterable[Sequence[str]]) -> str:
    """Return the table of metrics: name, unit, which direction is better, meaning."""
    names: dict[tuple[str, str], list[str]] = {}
    for name, unit, better, meaning in _percentiles_together(rows):
        shown = f"{_UNITS.get(unit, unit)} {_ARROWS[better]}".strip()
        names.setdefault((shown, meaning), []).append(name)
    return table(
        ("metric", "unit", "meaning"),
        [(", ".join(metrics), *key) for key, metrics in names.items()],
    )


def _percentiles_together(rows: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return rows in which the percentiles of one metric share a row.

    Examples
    --------
    >>> _percentiles_together([("`t_p50`", "50% are below"), ("`t_p99_9`", "99.9% are below")])
    [('`t_pN`, N = 50, 99_9', 'N% are below')]
    """
    numbers: dict[tuple[str, ...], list[str]] = {}
    for name, *others in rows:
        match = _PERCENTILE.fullmatch(name.strip("`"))
        stem, number = match.groups() if match and "," not in name else (name, "")
        dotted = number.replace("_", ".")
        texts = [text.replace(dotted, "N") if dotted else text for text in others]
        numbers.setdefault((stem, *texts), []).append(number)
    kept = []
    for (stem, *others), percents in numbers.items():
        if len(percents) > 1:
            kept.append((f"`{stem}N`, N = {', '.join(percents)}", *others))
        elif percents[0]:
            dotted = percents[0].replace("_", ".")
            kept.append(
                (f"`{stem}{percents[0]}`", *(re.sub(r"\bN\b", dotted, text) for text in others))
            )
        else:
            kept.append((stem, *others))
    return kept
