"""Find the reader of a file by its content."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from headroom.audit.readers import (
    benchbase,
    fio,
    fio_log,
    hammerdb,
    hyperfine,
    k6,
    pgbench,
    tidy,
    vegeta,
    wrk,
)
from headroom.audit.readers.fields import UnreadableError
from headroom.audit.result import Result

_HEAD_LINES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format: the content that makes a file one, and its reader."""

    kind: str
    expected: str
    fits: Callable[[Any], bool]
    read: Callable[[Any, str], Sequence[Result]]


def _has_point(lines: Sequence[str]) -> bool:
    return any('"type":"Point"' in line or '"type":"Metric"' in line for line in lines)


FORMATS = {
    "hyperfine": Format(kind="json", expected='JSON with a list `results`, each with a `command`',
                        fits=hyperfine.is_hyperfine, read=hyperfine.read_hyperfine),
    "fio": Format(kind="json", expected="JSON with `fio version` and `jobs`",
                  fits=fio.is_fio, read=fio.read_fio),
    "vegeta": Format(kind="json", expected="JSON with `latencies` and `status_codes`",
                     fits=vegeta.is_vegeta, read=vegeta.read_vegeta),
    "k6": Format(kind="json", expected="JSON with `metrics`, among them `iterations`",
                 fits=k6.is_summary, read=k6.read_summary),
    "benchbase": Format(kind="json", expected="JSON with `Latency Distribution`",
                        fits=benchbase.is_benchbase, read=benchbase.read_benchbase),
    "wrk": Format(kind="text", expected='lines "Running ... test @ ..." and "Thread Stats"',
                  fits=wrk.is_wrk, read=wrk.read_wrk),
    "pgbench": Format(kind="text", expected='lines "transaction type:" and "tps ="',
                      fits=pgbench.is_pgbench, read=pgbench.read_pgbench),
    "hammerdb": Format(kind="text", expected='a line "TEST RESULT :" or `jobs ID timing`',
                       fits=hammerdb.is_hammerdb, read=hammerdb.read_hammerdb),
    "vegeta-json": Format(kind="lines", expected="rows of `vegeta encode`",
                          fits=vegeta.is_encoded_json, read=vegeta.read_encoded_json),
    "vegeta-hdrplot": Format(kind="lines", expected="rows of `vegeta report -type=hdrplot`",
                             fits=vegeta.is_hdrplot, read=vegeta.read_hdrplot),
    "k6-json": Format(kind="lines", expected='lines of JSON, with `"type":"Point"`',
                      fits=_has_point, read=k6.read_json_lines),
    "k6-csv": Format(kind="lines", expected=f"a header {k6.CSV_HEADER}...",
                     fits=lambda lines: lines[0].startswith(k6.CSV_HEADER), read=k6.read_csv),
    "fio-log": Format(kind="lines", expected="rows of integers, separated by a comma and a blank",
                      fits=fio_log.is_fio_log, read=fio_log.read_fio_log),
    "pgbench-log": Format(kind="lines", expected="lines of six to eight numbers",
                          fits=pgbench.is_log, read=pgbench.read_log),
    "vegeta-csv": Format(kind="lines", expected="rows of `vegeta encode --to csv`",
                         fits=vegeta.is_encoded, read=vegeta.read_encoded),
    "csv": Format(kind="lines", expected="a header with two documented columns or more",
                  fits=lambda lines: tidy.is_tidy(lines[0]), read=tidy.read_tidy),
}  # fmt: skip
"""Formats by name, in the order in which a file is held against them."""


def read_results(path: Path, wanted: str = "") -> tuple[str, Sequence[Result]]:
    """Return the format of a file and its results.

    Parameters
    ----------
    path
        The file.
    wanted
        Name of its format; empty to recognise it.

    Raises
    ------
    UnreadableError
        No format fits, or the file is not complete.
    """
    if wanted and wanted not in FORMATS:
        raise UnreadableError(
            f"unknown format {wanted!r}", cure=f"choose one of {', '.join(FORMATS)}"
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(
            f"{path}: not a text file",
            cure="of vegeta's binary results use `vegeta report -type=json` or `encode --to csv`",
        ) from error
    except OSError as error:
        raise UnreadableError(
            f"{path}: {error.strerror}", cure="give a file with the results of a benchmark"
        ) from error
    name, content = _recognised(path, text, wanted)
    try:
        results = FORMATS[name].read(content, path.name)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise UnreadableError(
            f"{path}: not a complete file of {name}: {type(error).__name__} at {error}",
            cure="give the file as the tool wrote it, or choose another --format",
        ) from error
    if not results:
        raise UnreadableError(f"{path}: no result in this file of {name}", cure="run it for longer")
    return name, results


def _recognised(path: Path, text: str, wanted: str) -> tuple[str, Any]:
    contents: dict[str, Any] = {"text": text}
    lines = text.splitlines()
    contents["lines"] = [line for line in lines if line.strip()][:_HEAD_LINES]
    try:
        # fio may print notes above its document.
        contents["json"] = msgspec.json.decode(text[max(text.find("{"), 0) :])
    except msgspec.DecodeError as error:
        reason = f"not valid JSON: {error}"
    else:
        reason = ""
    for name, one in FORMATS.items():
        if wanted not in {"", name} or not contents.get(one.kind):
            continue
        if one.fits(contents[one.kind]):
            return name, text if one.kind == "lines" else contents[one.kind]
    if wanted:
        expected = FORMATS[wanted].expected
        also = f" ({reason})" if reason and FORMATS[wanted].kind == "json" else ""
        raise UnreadableError(
            f"{path}: not a file of {wanted}{also}; expected {expected}",
            cure="leave --format out to recognise the file",
        )
    also = f"; {reason}" if reason and text.lstrip().startswith(("{", "[")) else ""
    raise UnreadableError(
        f"{path}: no known format fits{also}",
        cure=f"name it with --format, one of {', '.join(FORMATS)}",
    )
