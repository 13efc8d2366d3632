"""Any table: of Markdown, with commas, tabs or semicolons, or aligned by spaces.

The meaning of a column and its unit are guessed from its name; the audit prints how it understood
each of them, and `--column NAME=MEANING` decides. A time without a unit is never guessed: its
column is not used.

Invariant: a cell is a number with its digits, or it is text; it is never cut.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from headroom.audit.readers.fields import UNITS_S, UnreadableError
from headroom.audit.readers.format import Format
from headroom.audit.readers.tidy import COLUMNS, level, rounded
from headroom.audit.result import Result, Stated

_FEWEST = 2
_LONGEST = 10_000
"""Signs of the longest row."""
_RULE = re.compile(r"[\s|:+=-]*-{2,}[\s|:+=-]*")
_GAP = re.compile(r"\t+| {2,}")
_UNIT = re.compile(
    r"[\s(\[_,/-]+(ns|us|µs|μs|ms|s|sec|secs|seconds|min|m)[)\]]?\s*$", re.IGNORECASE
)
_UNIT_NAMES = {"sec": "s", "secs": "s", "seconds": "s", "min": "m", "μs": "us", "µs": "us"}
_CELL = re.compile(
    r"[~≈]?\s*(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s*([kKMG]?)\s*"
    r"(%|ns|us|µs|μs|ms|s|sec|m|min|(?:\w+)?/s(?:ec)?)?\s*(?:(?:±|\+/-)\s*[\d.,]+\s*%?\w*)?"
)
_SCALES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_TIMES = {"mean", "stdev", "low", "high", "duration_s", "think_s"}
_LEVELS = {"system", "warehouses", "loop"}
"""Columns that tell results apart rather than state a figure."""
_MEANINGS: Sequence[tuple[str, str]] = (
    ("failed_share", r"(?:errors?|failures?|fail(?:ed)?)[ _]?(?:rate|ratio|share|percent).*|"
                     r"(?:errors?|failures?|failed) ?\(?%\)?"),
    ("failed", r"(?:failed|failures?|errors?)(?:[ _](?:requests?|count))?"),
    ("throughput", r".*\b(?:throughput|tps|qps|rps|iops|[kKM]?(?:reqs?|requests?|ops|operations|"
                   r"queries|transactions|txns?|msgs?|messages)[ _]?(?:/|per|p)[ _]?"
                   r"s(?:ec(?:ond)?)?)\b.*"),
    ("offered", r"(?:offered|target|scheduled)(?:[ _](?:rate|load|rps|qps))?"),
    ("clients", r"(?:number of )?(?:clients|connections|conns?|concurrency|threads|users|terminals|"
                r"vus|workers|virtual users)"),
    ("mean", r"(?:(?:avg|average|mean)\b.*|.*\b(?:avg|average|mean)|latency|response[ _]time)"),
    ("stdev", r".*\b(?:st(?:an)?d(?:ard)?[ _.]?dev(?:iation)?|sd|stdev|sigma)\b.*"),
    ("low", r"(?:min(?:imum)?|fastest)\b.*|.*\bmin"),
    ("high", r"(?:max(?:imum)?|slowest|worst)\b.*|.*\bmax"),
    ("count", r"(?:count|(?:total[ _])?(?:requests|transactions|operations|ops))"),
    ("duration_s", r"(?:duration|elapsed(?:[ _]time)?|run[ _]?time|test[ _]time|wall[ _]time)"),
    ("think_s", r"think(?:[ _]time)?"),
    ("cpus", r"(?:cpus|cores|vcpus|processors)"),
    ("warehouses", r"warehouses?"),
    ("system", r"(?:system|name|server|framework|database|engine|product|tool|config(?:uration)?|"
               r"version|target|implementation|library|language)"),
)  # fmt: skip
_PERCENTILE = re.compile(
    r".*?\b(?:p\.?[ _]?(\d{2}(?:\.\d+)?|\d{3,4})|(\d{1,2}(?:\.\d+)?)[ _]?"
    r"(?:st|nd|rd|th|%ile|%|pct|percentile)).*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Names of columns and rows of cells, and the number of the line of the names."""

    line: int
    names: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a column holds: a field of a result, a percentile or a level, in a unit."""

    field: str
    scale: float | None = 1.0
    share: float = 0.0


def tables_in(text: str) -> Iterator[Table]:
    r"""Yield the tables of a text: two columns or more, and a row at least.

    Examples
    --------
    >>> [table.names for table in tables_in("| a | b |\n|---|---|\n| 1 | 2 |")]
    [['a', 'b']]
    """
    block: list[list[str]] = []
    start = 1
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        cells = _cells(line)
        if cells is not None and (not block or len(cells) == len(block[0])):
            start = start if block else number
            block.append(cells)
            continue
        if _RULE.fullmatch(line.strip()) and line.strip():
            continue
        if len(block) >= _FEWEST:
            yield Table(line=start, names=block[0], rows=block[1:])
        block = [] if cells is None else [cells]
        start = number


def _cells(line: str) -> list[str] | None:
    """Return the cells of a row; None if a line is none."""
    plain = line.strip().replace("**", "").replace("`", "")
    if not plain or len(plain) > _LONGEST or _RULE.fullmatch(plain):
        return None
    if "|" in plain:
        cells = [cell.strip() for cell in plain.strip("|").split("|")]
    elif any(mark in plain for mark in ("\t", ";")):
        mark = "\t" if "\t" in plain else ";"
        cells = [cell.strip() for cell in plain.split(mark)]
    elif _GAP.search(plain):
        cells = _GAP.split(plain)
    else:
        cells = [cell.strip() for cell in next(csv.reader(io.StringIO(plain)), [])]
    return cells if len(cells) >= _FEWEST else None


def meaning_of(name: str, given: Mapping[str, str]) -> Meaning | None:
    """Return what a column holds, by its name or as it is given; None if that is not known.

    Examples
    --------
    >>> meaning_of("Avg latency (ms)", {}), meaning_of("p99 [us]", {}).share
    (Meaning(field='mean', scale=0.001, share=0.0), 0.99)
    >>> meaning_of("latency", {}).scale is None
    True
    """
    said = given.get(name, name).strip()
    unit = _UNIT.search(said)
    bare = (said[: unit.start()] if unit else said).strip().lower().replace("response_", "")
    scale = None if unit is None else UNITS_S[_UNIT_NAMES.get(unit[1].lower(), unit[1].lower())]
    if match := re.fullmatch(r"response_([a-zµ]+)_(.+)", said):
        # A documented name has its unit in the middle.
        bare, scale = match[2], UNITS_S.get(match[1])
    if match := _PERCENTILE.fullmatch(bare):
        digits = match[1] or match[2]
        percent = float(f"{digits[:2]}.{digits[2:]}") if digits.isdigit() else float(digits)
        if 0.0 < percent < 100.0:  # noqa: PLR2004 - per cent
            return Meaning("percentile", scale, round(percent / 100.0, 9))
    if bare in {"median", "med"}:
        return Meaning("percentile", scale, 0.5)
    if said in COLUMNS and said != "system":
        return Meaning(said)
    for field, pattern in _MEANINGS:
        if re.fullmatch(pattern, bare if field in _TIMES else said.lower()):
            if field in _TIMES:
                return Meaning(field, scale)
            factor = 1e3 if re.match(r"k(?=[a-z])", said) and field == "throughput" else 1.0
            return Meaning(field, factor)
    return None


def is_table(text: str, given: Mapping[str, str]) -> bool:
    """Return whether a text has a table with a rate or a time among its columns."""
    return any(_is_useful(table, given) for table in tables_in(text))


def _is_useful(table: Table, given: Mapping[str, str]) -> bool:
    found = [meaning_of(name, given) for name in table.names]
    fields = [one.field for one in found if one is not None and one.field != "system"]
    return len(fields) >= _FEWEST and bool({"throughput", "mean", "percentile"} & set(fields))


def read_table(text: str, source: str, given: Mapping[str, str]) -> Sequence[Result]:
    """Return one result for each row of the tables that can be used."""
    return [
        one
        for table in tables_in(text)
        if _is_useful(table, given)
        for one in _of_rows(table, source, given)
    ]


def _of_rows(table: Table, source: str, given: Mapping[str, str]) -> Iterator[Result]:
    columns = [meaning_of(name, given) for name in table.names]
    for number, row in enumerate(table.rows, start=1):
        fields: dict[str, Any] = {"percentiles": {}}
        levels: dict[str, Any] = {}
        for name, meaning, text in zip(table.names, columns, row, strict=True):
            _put(fields, levels, name, meaning, text)
        share = fields.get("failed_share")
        if share is not None and fields.get("count") and "failed" not in fields:
            fields["failed"] = share.value * fields["count"]
        if (share := fields.pop("cpu_utilization", None)) is not None:
            fields["cpus"] = fields.get("cpus", 1.0)
            fields["busy"] = _scaled(share, fields["cpus"])
        if set(fields) - {"percentiles"} or fields["percentiles"]:
            texts = (one for one in levels.values() if isinstance(one, str))
            title = str(levels.get("system") or next(texts, f"row {number}"))
            yield Result(
                tool="table", source=source, name=title, levels=levels,
                settings=dict(zip(table.names, row, strict=True)), **fields,
            )  # fmt: skip


def _put(
    fields: dict[str, Any], levels: dict[str, Any], name: str, meaning: Meaning | None, text: str
) -> None:
    """Put a cell where it belongs: among the fields of a result, or its levels."""
    match = _CELL.fullmatch(text.strip())
    if meaning is None or meaning.field in _LEVELS or match is None:
        if meaning is not None and meaning.field == "loop" and text in {"open", "closed"}:
            fields["loop"] = text
        elif text.strip() and (meaning is None or meaning.field in _LEVELS):
            levels["system" if meaning and meaning.field == "system" else name] = level(text)
        return
    stated = _stated(match, meaning)
    if stated is None:
        return
    if meaning.field in {"clients", "offered"}:
        levels[meaning.field] = level(match[1].replace(",", ""))
    if meaning.field == "percentile":
        fields["percentiles"][meaning.share] = stated
    elif meaning.field == "failed_share" or (meaning.field == "failed" and match[3] == "%"):
        # A share is a per cent if its cell or its name says so, or if it is above 1.
        is_percent = match[3] != "%" and ("%" in name or stated.value > 1.0)
        fields["failed_share"] = _scaled(stated, 0.01) if is_percent else stated
    else:
        fields |= _as_field(meaning.field, stated)


def _as_field(field: str, stated: Stated) -> dict[str, Any]:
    """Return a number as the field of a result that takes it."""
    if field in {"clients", "offered", "cpus", "think_s", "failed"}:
        return {field: stated.value}
    if field in {"count", "samples"}:
        return {field: round(stated.value)}
    return {field: stated}


def _scaled(one: Stated, factor: float) -> Stated:
    return Stated(one.value * factor, one.error * factor)


def _stated(match: re.Match[str], meaning: Meaning) -> Stated | None:
    """Return the number of a cell in base units; None if it is a time without a unit."""
    digits, suffix, unit = match[1].replace(",", ""), match[2], match[3] or ""
    if meaning.field in _TIMES | {"percentile"}:
        own = UNITS_S.get(_UNIT_NAMES.get(unit, unit))
        # `12 m` is minutes, and `12m` too: thousands of seconds are not written so.
        scale = own if own is not None else meaning.scale
        return None if scale is None or unit == "%" else rounded(digits, scale=scale)
    scale = _SCALES[suffix] * (meaning.scale or 1.0) * (0.01 if unit == "%" else 1.0)
    if meaning.field in {"failed", "failed_share"}:
        return Stated.printed(digits, scale=scale)
    return rounded(digits, scale=scale) if scale == 1.0 else Stated.printed(digits, scale=scale)


def told(text: str, given: Mapping[str, str], *, only_read: bool = False) -> Iterator[str]:
    """Yield for each table of a text, or those that are read, what its columns mean."""
    for table in tables_in(text):
        if only_read and not _is_useful(table, given):
            continue
        found = {name: meaning_of(name, given) for name in table.names}
        used = [f"{n} = {_said(one)}" for n, one in found.items() if one and one.scale is not None]
        lost = [
            f"{n} (a time without a unit)" for n, one in found.items() if one and one.scale is None
        ]
        rest = [name for name, one in found.items() if one is None]
        yield f"line {table.line}: " + "; ".join(
            f"{what}: {', '.join(names)}"
            for what, names in (("read", used), ("not used", lost), ("tells rows apart", rest))
            if names
        )


def _said(meaning: Meaning) -> str:
    name = f"p{100 * meaning.share:g}" if meaning.field == "percentile" else meaning.field
    units = {scale: unit for unit, scale in UNITS_S.items() if unit not in {"us", "h"}}
    is_time = meaning.field in _TIMES | {"percentile"}
    return f"{name} in {units[meaning.scale or 1.0]}" if is_time else name.replace("_", " ")


def given_columns(texts: Sequence[str]) -> dict[str, str]:
    """Return the meanings given as NAME=MEANING.

    Raises
    ------
    UnreadableError
        A text is of another form, or no column can mean that.
    """
    found = {}
    for text in texts:
        name, mark, meaning = text.rpartition("=")
        if not mark or not name or meaning_of(meaning, {}) is None:
            raise UnreadableError(
                f"`--column {text}` is not NAME=MEANING",
                cure="write --column lat_us_avg=response_us_mean; meanings: "
                f"response_UNIT_STATISTIC, {', '.join(COLUMNS)}",
            )
        found[name] = meaning
    return found


def with_columns(given: Mapping[str, str]) -> Format:
    """Return the format of tables whose columns mean what is given, or what their names say."""
    return Format(
        kind="text",
        expected="a table with two known columns or more",
        fits=partial(is_table, given=given),
        read=partial(read_table, given=given),
        is_general=True,
    )


FORMAT = with_columns({})
