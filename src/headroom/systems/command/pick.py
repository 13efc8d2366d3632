"""Extract values from the output of a program: by regular expression, JSON path or file size.

Invariant: a value is one finite number, or the point fails and the message shows the searched text.
"""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path

import jsonpath

from headroom.errors import StudyError
from headroom.systems.command.failure import CommandFailedError
from headroom.systems.command.metric_units import check_unit
from headroom.systems.command.patience import at_most
from headroom.systems.command.setup_table import MetricTable

LARGEST_TEXT_BYTES = 64 * 1024 * 1024
"""Longest beginning of an output (B) that is searched for values."""
SEARCH_LIMIT_S = 10.0
"""Longest search (s) for one value: a pattern without nested repetitions needs less than a second
for the longest text."""

_SHOWN_CHARACTERS = 300
_JSON_PATHS = jsonpath.JSONPathEnvironment(strict=True)


def check_metric(metric: MetricTable) -> None:
    """Raise `StudyError` if a metric has no or two ways to be found, or a wrong one."""
    ways = ("regex", "json_path", "size_of", "quotient")
    used = [way for way in ways if getattr(metric, way)]
    if len(used) != 1:
        raise StudyError(
            f"metric {metric.name!r} sets {' and '.join(used) or 'none'} of {', '.join(ways)}",
            cure="set exactly one of them: it says how to find the value",
        )
    check_unit(metric)
    if metric.regex:
        _check_regex(metric)
    if metric.json_path:
        _check_json_path(metric)
    if len(metric.quotient) == 1:
        raise StudyError(
            f"metric {metric.name!r} names one metric, but a quotient needs two",
            cure='name two metrics: quotient = ["stdout_bytes", "wall_s"]',
        )


def pick(metric: MetricTable, *, path: Path) -> float:
    """Return the value of `metric` in its base unit, found in the file `path`."""
    if not path.is_file():
        raise CommandFailedError(
            f"metric {metric.name!r}: the run did not write the file {path.name!r}",
            cure="check the path, and that the program writes it when it succeeds",
        )
    if metric.size_of:
        return float(path.stat().st_size)
    text, is_cut = _beginning(path)
    piece = _searched(metric, text)
    if piece is None:
        sought = metric.regex or metric.json_path
        raise _not_found(metric, f"nothing matches {sought!r}", text, is_cut=is_cut)
    return _number(metric, piece, text) * metric.factor


def divide(metric: MetricTable, values: Mapping[str, float]) -> float:
    """Return the quotient of two metrics of the same run."""
    over, under = (values[name] for name in metric.quotient)
    if under == 0:
        raise CommandFailedError(
            f"metric {metric.name!r}: {metric.quotient[1]!r} is 0, so it cannot be the divisor",
            cure="measure a longer or larger run",
        )
    return over / under


def _check_regex(metric: MetricTable) -> None:
    try:
        groups = re.compile(metric.regex).groups
    except re.error as error:
        raise StudyError(
            f"metric {metric.name!r}: the regular expression {metric.regex!r} is wrong: {error}",
            cure="correct it; in TOML, single quotes keep backslashes: regex = 'took (\\d+) s'",
        ) from error
    if groups != 1:
        raise StudyError(
            f"metric {metric.name!r}: {metric.regex!r} has {groups} groups, not one",
            cure="put round brackets around the number alone; (?:...) groups without counting",
        )


def _check_json_path(metric: MetricTable) -> None:
    try:
        _JSON_PATHS.compile(metric.json_path)
    except jsonpath.JSONPathError as error:
        raise StudyError(
            f"metric {metric.name!r}: the JSON path {metric.json_path!r} is wrong: {error}",
            cure="write a path as in RFC 9535, for example $.jobs[0].read.iops",
        ) from error


def _beginning(path: Path) -> tuple[str, bool]:
    with path.open("rb") as file:
        raw = file.read(LARGEST_TEXT_BYTES)
        return raw.decode(errors="replace"), bool(file.read(1))


def _searched(metric: MetricTable, text: str) -> object:
    """Return the match of a metric's pattern or path, in limited time."""
    try:
        with at_most(SEARCH_LIMIT_S):
            return _by_regex(metric, text) if metric.regex else _by_json_path(metric, text)
    except TimeoutError as error:
        sought = metric.regex or metric.json_path
        raise CommandFailedError(
            f"metric {metric.name!r}: the search for `{sought}` in {metric.origin} "
            f"({len(text):,} characters) was ended after {SEARCH_LIMIT_S:g} s",
            cure="simplify the pattern: nested repetitions such as (a+)+ or .*.* try every way "
            "to split the text; say what stands around the number",
        ) from error


def _by_regex(metric: MetricTable, text: str) -> object:
    match = re.search(metric.regex, text, flags=re.MULTILINE)
    return None if match is None else match[1]


def _by_json_path(metric: MetricTable, text: str) -> object:
    try:
        document = json.loads(text)  # with NaN, which many programs write
    except (ValueError, RecursionError) as error:
        raise _not_found(
            metric, f"the output is not valid JSON ({error})", text, is_cut=False
        ) from error
    selected = _JSON_PATHS.findall(metric.json_path, document)
    if len(selected) > 1:
        what = f"{metric.json_path!r} selects {len(selected)} values, not one"
        raise _not_found(metric, what, text, is_cut=False)
    return selected[0] if selected else None


def _number(metric: MetricTable, piece: object, text: str) -> float:
    is_number = isinstance(piece, (int, float, str)) and not isinstance(piece, bool)
    try:
        number = float(piece) if is_number else math.nan  # type: ignore[arg-type]
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise _not_found(metric, f"{piece!r} is not a finite number", text, is_cut=False)
    return number


def _not_found(metric: MetricTable, what: str, text: str, *, is_cut: bool) -> CommandFailedError:
    where = metric.origin
    note = f" (only its first {LARGEST_TEXT_BYTES} bytes were read)" if is_cut else ""
    start = text.strip()[:_SHOWN_CHARACTERS]
    looked_at = (
        "it is empty" if not start else "it begins:\n    " + "\n    ".join(start.splitlines())
    )
    return CommandFailedError(
        f"metric {metric.name!r}: in {where}, {what}{note}; {looked_at}",
        cure="run the command by hand and correct the metric's table",
    )
