"""Output of pgbench: its report, with the lines of `--progress`, and logs of `--log`."""

import re
from collections.abc import Sequence

import numpy as np

from headroom.audit.readers.fields import UnreadableError, of_responses
from headroom.audit.readers.format import Format
from headroom.audit.result import Result, Stated
from headroom.experiment.protocol.run import FloatArray

_PROGRESS = re.compile(r"^progress: ([\d.]+) s, ([\d.]+) tps", re.MULTILINE)
_LOG_COLUMNS = (6, 7, 8)
"""Columns of a line of a log: plain, with the lag of `--rate`, with retries too."""
_TICK_S = 1e-6


def is_pgbench(text: str) -> bool:
    """Return whether a text is a report of pgbench."""
    return "transaction type:" in text and "tps =" in text


def read_pgbench(text: str, source: str) -> Sequence[Result]:
    """Return the result of a report.

    Without `--progress` or `--rate` pgbench derives the mean response from the throughput.
    """
    facts = dict(re.findall(r"^([a-z ]+?)(?: =|:) (.+)$", text, re.MULTILINE))
    tps = re.match(r"[\d.]+", facts.get("tps", ""))
    count = re.match(r"\d+", facts.get("number of transactions actually processed", ""))
    if tps is None or count is None or "number of clients" not in facts:
        raise UnreadableError(
            f"{source}: the report of pgbench lacks clients, transactions or tps",
            cure="give the whole output",
        )
    clients, workload = float(facts["number of clients"]), facts["transaction type"].strip("<>")
    seconds = re.match(r"(\d+) s", facts.get("duration", ""))
    lost = re.match(r"\d+", facts.get("number of failed transactions", ""))
    lag = re.search(r"rate limit schedule lag: avg ([\d.]+)", text)
    offered = re.search(r"--rate[= ]([\d.]+)|\s-R\s*([\d.]+)", text)
    version = re.search(r"^pgbench \(([\d.]+)", text, re.MULTILINE)
    # Connecting and the last transactions are outside of the stated duration: it is nominal.
    stdev = _milliseconds(facts.get("latency stddev"))
    return [
        Result(
            tool="pgbench", version=version[1] if version else "", source=source, name=workload,
            loop="closed" if lag is None else "open", from_schedule=lag is not None,
            clients=clients,
            think_s=0.0 if "builtin" in facts["transaction type"] else None,
            mean_is_derived=stdev is None, count=int(count[0]),
            duration_s=None if seconds is None else Stated(float(seconds[1]),
            0.5 + 0.1 * float(seconds[1])),
            throughput=Stated.printed(tps[0]), stdev=stdev,
            failed=0.0, lost=float(lost[0]) if lost else 0.0, error=_aborted(text),
            offered=None if offered is None else float(offered[1] or offered[2]),
            mean=_milliseconds(facts.get("latency average")), rates=_rates(text),
            settings={**facts,
            "includes_connections": str("-C" in text or "including reconn" in text)},
            levels={
                "workload": workload, "clients": int(clients),
                "scale": int(facts.get("scaling factor", "1")),
            },
        )
    ]  # fmt: skip


def _aborted(text: str) -> str:
    match = re.search(r"client \d+ aborted.*|Run was aborted.*", text)
    return f"the run was cut short: {match[0].strip()[:120]}" if match else ""


def _milliseconds(text: str | None) -> Stated | None:
    match = re.match(r"[\d.]+", text or "")
    return None if match is None else Stated.printed(match[0], scale=1e-3)


def _rates(text: str) -> FloatArray:
    return np.array([float(rate) for _, rate in _PROGRESS.findall(text)])


def is_log(lines: Sequence[str]) -> bool:
    """Return whether lines are of a log of pgbench.

    Examples
    --------
    >>> is_log(["0 1 2951 0 1795578153 792208"]), is_log(["0 1 2951"])
    (True, False)
    """
    words = [line.split() for line in lines if line.strip()]
    sizes = {len(row) for row in words}
    return (
        bool(words)
        and len(sizes) == 1
        and sizes.pop() in _LOG_COLUMNS
        and all(word.isdigit() for row in words for word in (row[0], row[1], *row[3:6]))
    )


def read_log(text: str, source: str) -> Sequence[Result]:
    """Return the result of a log: single responses, from the schedule if a rate was given.

    Transactions that failed or were skipped have no time.
    """
    rows = [line.split() for line in text.splitlines() if line.strip()]
    timed = [row for row in rows if row[2].isdigit()]
    try:
        table = np.array([[float(row[at]) for at in (0, 2, 4, 5)] for row in timed])
    except (ValueError, IndexError) as error:
        raise UnreadableError(
            f"{source}: a line of the log is incomplete", cure="give the log as pgbench wrote it"
        ) from error
    if not timed:
        raise UnreadableError(f"{source}: no transaction has a time", cure="give a longer log")
    has_lag = len(rows[0]) > _LOG_COLUMNS[0]
    return [
        of_responses(
            table[:, 2] + table[:, 3] * _TICK_S, table[:, 1] * _TICK_S, tick_s=_TICK_S,
            tool="pgbench-log", source=source, name=source, loop="open" if has_lag else "closed",
            from_schedule=has_lag, clients=float(np.unique(table[:, 0]).size),
        )
    ]  # fmt: skip


REPORT = Format(
    kind="text",
    expected='lines "transaction type:" and "tps ="',
    fits=is_pgbench,
    start=re.compile(r"^[ \t]*\**transaction type:", re.MULTILINE),
    header=re.compile(r"\bpgbench(?: +-| \()|starting vacuum|^[ \t]*progress: ", re.MULTILINE),
    read=read_pgbench,
)
LOG = Format(kind="lines", expected="lines of six to eight numbers", fits=is_log, read=read_log)
