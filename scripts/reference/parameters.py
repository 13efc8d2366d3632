"""Tables of parameters and metrics, each fact once."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headroom.experiment.protocol.system import Metric, Parameter
from scripts.reference.tables import items, table

_STATISTIC = re.compile(r"(.*_s)_(mean|stdev|mean_deviation|min|max|p\d+(?:_\d+)?)")
_PERCENTILE = re.compile(r"(.*_p)(\d+(?:_\d+)?)")
_KINDS = ("paper", "data sheet", "standard", "measured", "calibrated", "assumed")
_ARROWS = {"high": "\N{UPWARDS ARROW}", "low": "\N{DOWNWARDS ARROW}", "none": "", "": ""}
_UNITS = {"1": "", "1e3": "thousand"}
_TO = "\N{EN DASH}"
FEWEST_SHARED = 3
"""Parameters that a model shares with an earlier one before the page refers to that."""
FEWEST_OTHER_DEFAULTS = 3
"""Parameters of a model that differ by their default alone before they have no row."""

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
        _reads_with_writes([_row(item) for item in parameters]),
    )


def differences(parameters: Iterable[Parameter], base: Mapping[str, Parameter]) -> str:
    """Return the differences from a model with the same parameters: default, range, source."""
    rows = []
    for item in parameters:
        name, default, bounds, _, kind = _row(item)
        _, base_default, base_bounds, _, _ = _row(base[item.name])
        if (default, bounds) != (base_default, base_bounds):
            text = default if bounds == base_bounds else f"{default}, range {bounds}"
            rows.append((name, f"{text} ({kind})" if kind else text))
    return items(rows)


def other_defaults(
    parameters: Iterable[Parameter], base: Mapping[str, Parameter]
) -> list[Parameter]:
    """Return the parameters that differ from those of another model by their default alone."""
    return [
        item
        for item in parameters
        if item.name in base and _row(item)[2:4] == _row(base[item.name])[2:4]
    ]


def defaults_text(name: str, parameters: Iterable[Parameter]) -> str:
    """Return the defaults of some parameters that are otherwise those of the model `name`."""
    pieces = []
    for item in parameters:
        parameter, default, _, _, kind = _row(item)
        pieces.append(f"{parameter} {default}" + (f" ({kind})" if kind else ""))
    return f"As in `{name}`, with other defaults: {', '.join(pieces)}.\n"


def _reads_with_writes(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return rows in which a parameter of writes shares the row of the same one of reads.

    Examples
    --------
    >>> _reads_with_writes([("`read_s`", "0", "", "Time of a read", ""),
    ...                     ("`write_s`", "0", "", "Time of a write", "")])
    [('`read_s`, `write_s`', '0', '', 'Time of a read or write', '')]
    """
    kept: list[tuple[str, ...]] = []
    twins: set[tuple[str, ...]] = set()
    for row in rows:
        twin = tuple(re.sub(r"\bread(?=\b|_)", "write", cell) for cell in row)
        if row[0].startswith("`read_") and twin in rows:
            twins.add(twin)
            meaning = re.sub(r"\bread('s)?(?= |$)", r"read\1 or write\1", row[3])
            kept.append((f"{row[0]}, {twin[0]}", *row[1:3], meaning, row[4]))
        elif row not in twins:
            kept.append(row)
    return kept


@dataclass(slots=True)
class Shown:
    """The parameters of a model on the page: its own table, and those of earlier models."""

    own: list[str] = field(default_factory=list)
    of_others: dict[str, list[str]] = field(default_factory=dict)

    def reference(self, name: str, common: Sequence[str]) -> str:
        r"""Return which parameters another model has in common with this one, called `name`.

        Examples
        --------
        >>> disk = Shown(own=["a", "b", "c"], of_others={"those as in `storage`": ["x", "y"]})
        >>> disk.reference("disk", ["a", "b", "x", "y"])
        'As in `disk`: `a`, `b`; those as in `storage`.\n'
        """
        pieces = [_piece("all of its table", self.own, common)]
        pieces += [_piece(title, names, common) for title, names in self.of_others.items()]
        return f"As in `{name}`: {'; '.join(filter(None, pieces))}.\n"


def _piece(title: str, names: Sequence[str], common: Sequence[str]) -> str:
    there = [name for name in names if name in common]
    missing = [name for name in names if name not in common]
    if 2 * len(missing) >= len(there):
        return _names(there)
    return f"{title} except {_names(missing)}" if missing else title


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def shared(parameters: Sequence[Parameter], other: Sequence[Parameter]) -> list[str]:
    """Return the names of the parameters that two models have in common, value and all."""
    rows = {_row(item) for item in other}
    return [item.name for item in parameters if _row(item) in rows]


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
        text += f"\n`TIME` is any of {_names(next(iter(several)))}.\n"
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
