"""Results of other tools as a study of recorded runs, one experiment for each kind of result.

Factors are what differs: levels that files state (clients, block size, command), parts NAME=VALUE
of file names, and levels that the user gives. Names that say no more than other factors are left
out. Parameters with one level are fixed; all else that a file says is kept with its runs. Equal
levels make replications; the times of a program's runs are one replication each.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, product
from pathlib import Path
from typing import Any

from headroom.audit.readers.tidy import level
from headroom.audit.result import Result
from headroom.errors import StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Value
from headroom.input_file import read_file

NAMES = ("target", "job", "command", "system", "loop", "offered")
"""Levels that may say no more than other factors, the first to leave out first."""
_NAMED_LEVEL = re.compile(r"(?:^|[, -])([A-Za-z][A-Za-z0-9_]*)=([^, =-]+)")
_METRICS = {
    "throughput": ("1/s", "high", "Completions per second"),
    "response_s_mean": ("s", "low", "Mean response time"),
    "offered": ("1/s", "none", "Requests per second, failed ones included"),
    "goodput": ("1/s", "high", "Requests per second that did not fail"),
    "fail_ratio": ("1", "low", "Share of the requests that failed"),
    "error_count": ("1", "low", "Requests that failed"),
    "wall_s": ("s", "low", "Time from start to end"),
    "response_s_stdev": ("s", "low", "Standard deviation of the response time"),
    "response_s_min": ("s", "low", "Smallest response time"),
    "response_s_max": ("s", "low", "Largest response time"),
}
Levels = dict[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file with its results, and the levels that its name or the user gives."""

    path: Path
    kind: str
    results: Sequence[Result]
    levels: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A study: its content for `toml_text`, and the content of each file of recorded runs."""

    study: Mapping[str, Any]
    files: Mapping[str, Mapping[str, Any]]


def levels_in(path: Path, given: Mapping[str, Sequence[str]], place: int) -> Levels:
    """Return the levels of the file at a place in the list of files.

    Examples
    --------
    >>> levels_in(Path("wrk-clients=8.txt"), {"server": ["a", "b"]}, 1)
    {'clients': 8, 'server': 'b'}
    """
    named = {name: level(text) for name, text in _NAMED_LEVEL.findall(path.stem)}
    return named | {
        name: level(texts[place if len(texts) > 1 else 0]) for name, texts in given.items()
    }


def given_factors(texts: Sequence[str], files: int) -> dict[str, list[str]]:
    """Return the levels of each factor given as NAME=VALUE or NAME=VALUE,VALUE...

    Raises
    ------
    StudyError
        A text is of another form, or has neither one level nor one for each file.
    """
    found = {}
    for text in texts:
        name, _, values = text.partition("=")
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or not values:
            raise StudyError(
                f"`--factor {text}` is not NAME=VALUE", cure="write --factor server=nginx,caddy"
            )
        found[name] = values.split(",")
        if len(found[name]) not in {1, files}:
            raise StudyError(
                f"`--factor {text}` has {len(found[name])} levels for {files} files",
                cure="give one level, or one for each file in their order",
            )
    return found


def imported(
    sources: Sequence[Source], *, name: str, renamed: Mapping[str, str] | None = None
) -> Imported:
    """Return the study of all results.

    Parameters
    ----------
    sources
        The files.
    name
        Name of the study.
    renamed
        New names of levels, such as those of a model's parameters.

    Raises
    ------
    StudyError
        No result has a figure that can be imported, or none has a level that is renamed.
    """
    runs = [run for source in sources for run in _runs(source)]
    if not runs:
        why = "; ".join(left_out(sources)) or "no result has a throughput or a time"
        raise StudyError(why, cure="import other files")
    known = {key for run in runs for key in run["levels"]}
    for old, new in (renamed or {}).items():
        if old not in known:
            raise StudyError(f"no result has a level {old!r}", cure=suggestion(old, sorted(known)))
        for run in runs:
            run["levels"] = {new if k == old else k: v for k, v in run["levels"].items()}
    experiments: list[dict[str, Any]] = []
    files: dict[str, dict[str, Any]] = {}
    for kind, own in groupby(sorted(runs, key=lambda run: run["kind"]), lambda run: run["kind"]):
        members = list(own)
        label = kind if kind not in files else f"{kind}-{len(files)}"
        experiments.append(_experiment(label, members))
        files[label] = {"format": 1, "metrics": _metrics(members), "runs": [
            {key: run[key] for key in ("levels", "values", "source", "taken", "settings")}
            for run in members
        ]}  # fmt: skip
    study = {
        "schema": 1,
        "name": name,
        "title": f"Imported results: {name}",
        "seed": 1,
        "experiment": experiments,
    }
    return Imported(study=study, files={f"recorded/{one}.json": c for one, c in files.items()})


def in_utc(text: str) -> str:
    """Return a moment as results have it; empty if the text is none.

    Examples
    --------
    >>> in_utc("2026-05-01T12:00:00+02:00"), in_utc("Friday")
    ('2026-05-01T10:00:00.000000Z', '')
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    # A time without a zone is that of a machine which nobody knows: UTC is a day off at most.
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def left_out(sources: Sequence[Source]) -> list[str]:
    """Return of each result that is not imported why: its run failed."""
    return [
        f"{one.name} is left out: {one.error or f'all {one.count} of its runs failed'}"
        for source in sources
        for one in source.results
        if one.is_failure
    ]


def _runs(source: Source) -> Iterator[dict[str, Any]]:
    digest = hashlib.sha256(read_file(source.path)).hexdigest()[:12]
    for result in source.results:
        if result.is_failure:
            continue
        tool = f"{source.kind} {result.version}".strip()
        view = re.sub(r"[^a-z0-9]+", "_", result.view.lower())
        base: dict[str, Any] = {
            # Several views of one run are no alternatives.
            "kind": f"{source.kind}-{view}" if view else source.kind,
            "source": f"{source.path.name} ({tool}, sha256 {digest})",
            "levels": {**result.levels, **source.levels}, "taken": in_utc(result.taken),
            "settings": {**result.settings, **{k: str(v) for k, v in result.levels.items()}},
        }  # fmt: skip
        for values in _values(result):
            yield {**base, "levels": dict(base["levels"]), "values": values}


def _values(result: Result) -> Iterator[dict[str, float]]:
    if result.runs_s.size:
        codes = result.settings.get("exit_codes", "").split() or ["0"] * result.runs_s.size
        for time_s, code in zip(result.runs_s, codes, strict=True):
            if code == "0":
                yield {"wall_s": float(time_s)}
        return
    stated = {
        "throughput": result.throughput, "response_s_mean": result.mean,
        "response_s_stdev": result.stdev, "response_s_min": result.low,
        "response_s_max": result.high,
        **{_percentile(share): one for share, one in sorted(result.percentiles.items())},
    }  # fmt: skip
    if values := {name: one.value for name, one in stated.items() if one is not None}:
        yield values | _failures(result)


def _failures(result: Result) -> dict[str, float]:
    """Return what became of the requests, if some failed: their throughput counts these too."""
    if not result.failed or not result.count or result.throughput is None:
        return {}
    share, all_of_them = result.failed / result.count, result.throughput.value
    return {
        "offered": all_of_them,
        "goodput": all_of_them * (1.0 - share),
        "fail_ratio": share,
        "error_count": result.failed,
    }


def _percentile(share: float) -> str:
    """Return the name of a percentile.

    Examples
    --------
    >>> _percentile(0.99), _percentile(0.999)
    ('response_s_p99', 'response_s_p99_9')
    """
    return f"response_s_p{round(100.0 * share, 6):g}".replace(".", "_")


def _metrics(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    names = dict.fromkeys(name for run in runs for name in run["values"])
    order = [
        *(name for name in _METRICS if name in names),
        *(n for n in names if n not in _METRICS),
    ]
    percentile = ("s", "low", "Percentile of the response time")
    keys = ("unit", "better", "description")
    return [
        {"name": name, **dict(zip(keys, _METRICS.get(name, percentile), strict=True))}
        for name in order
    ]


def _experiment(kind: str, runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the table of an experiment; runs keep only the levels of its factors."""
    shared = set.intersection(*(set(run["levels"]) for run in runs))
    factors = [key for key in runs[0]["levels"] if key in shared and _levels(runs, [key])[1:]]
    for key in NAMES:
        rest = [factor for factor in factors if factor != key]
        if key in factors and len(_levels(runs, rest)) == len(_levels(runs, factors)):
            factors = rest
    fixed = {
        key: runs[0]["levels"][key] for key in runs[0]["levels"]
        if key in shared - set(factors) and key not in NAMES and not _levels(runs, [key])[1:]
    }  # fmt: skip
    for run in runs:
        run["levels"] = {key: run["levels"][key] for key in (*fixed, *factors)}
    points = _levels(runs, factors)
    counts = [sum(_key(run, factors) == point for run in runs) for point in points]
    return {
        "name": kind, "system": {"name": "imported", "file": f"recorded/{kind}.json"},
        **({"fixed": fixed} if fixed else {}), **_design(factors, points),
        "replications": {"count": max(counts)},
    }  # fmt: skip


def _design(factors: Sequence[str], points: Sequence[tuple[Value, ...]]) -> dict[str, Any]:
    """Return factors if every combination was recorded, zipped ones otherwise."""
    if not factors:
        return {}
    levels = [list(dict.fromkeys(point[at] for point in points)) for at in range(len(factors))]
    if set(product(*levels)) == set(points):
        return {"factors": dict(zip(factors, levels, strict=True))}
    rows = [list(column) for column in zip(*points, strict=True)]
    return {"zipped": [dict(zip(factors, rows, strict=True))]}


def _levels(runs: Sequence[Mapping[str, Any]], factors: Sequence[str]) -> list[tuple[Value, ...]]:
    return list(dict.fromkeys(_key(run, factors) for run in runs))


def _key(run: Mapping[str, Any], factors: Sequence[str]) -> tuple[Value, ...]:
    return tuple(run["levels"][factor] for factor in factors)
