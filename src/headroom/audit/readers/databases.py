"""What load generators for databases print: sysbench, YCSB, scylla-bench."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from headroom.audit.readers.format import Format
from headroom.audit.readers.text import go_time, ratio, shares
from headroom.audit.result import Result, Stated

_MS, _US = 1e-3, 1e-6
_SYSBENCH_TIME = re.compile(
    r"^\s+(min|avg|max|approx\.\s+(\d+) percentile|(\d+)th percentile):\s+([\d.]+)(ms)?",
    re.MULTILINE,
)
_TRANSACTIONS = re.compile(
    r"^\s+(transactions|events|total number of events):\s+(\d+)", re.MULTILINE
)
_PROGRESS = re.compile(r"^\[ ?\d+s ?\].*? (?:tps|eps): ([\d.]+)", re.MULTILINE)
_YCSB = re.compile(r"^\[([\w-]+)\], ([^,\n]+), ([\w.+-]+)", re.MULTILINE)
_YCSB_PERCENTILE = re.compile(r"([\d.]+)(?:st|nd|rd|th)?PercentileLatency\((us|ms)\)")
_YCSB_BIN = 1e-3
"""Relative width of the bins of its histogram."""
_LATENCY = "raw latency"


def is_sysbench(text: str) -> bool:
    """Return whether a text has the totals of sysbench."""
    return "total time:" in text and ("avg:" in text) and ("percentile:" in text)


def read_sysbench(text: str, source: str) -> Sequence[Result]:
    """Return transactions, or events, of a run; a thread asks at once again."""
    threads = re.search(r"^\s*Number of threads:\s+(\d+)|--threads=(\d+)", text, re.MULTILINE)
    length = re.search(r"total time:\s+([\d.]+)s", text)
    counts = {name: int(count) for name, count in _TRANSACTIONS.findall(text)}
    count = counts.get("transactions", counts.get("total number of events", counts.get("events")))
    times: dict[str, Stated] = {}
    percentiles = []
    for name, old, new, number, _ in _SYSBENCH_TIME.findall(text):
        time = Stated.printed(number, scale=_MS)
        if old or new:
            percentiles.append((old or new, time))
        else:
            times[name] = time
    clients = float(threads[1] or threads[2]) if threads else None
    errors = re.search(r"ignored errors:\s+(\d+)", text)
    fatal = re.search(r"FATAL: .*", text)
    version = re.search(r"^sysbench ([\d.]+)", text, re.MULTILINE)
    rate = re.search(r"(?:--rate=|Target transaction rate: )([\d.]+)", text)
    duration = Stated.printed(length[1]) if length else None
    return [
        Result(
            tool="sysbench", version=version[1] if version else "", source=source,
            name=_script(text) or source, loop="open" if rate else "closed",
            from_schedule=bool(rate), offered=float(rate[1]) if rate else None, clients=clients,
            think_s=0.0, duration_s=duration, count=count,
            throughput=ratio(count, duration) if count and duration else None,
            # sysbench writes a percentile of 0 if it was told to keep none.
            percentiles={s: t for s, t in shares(percentiles).items() if t.value > 0.0},
            mean=times.get("avg"), low=times.get("min"), high=times.get("max"), failed=0.0,
            lost=float(errors[1]) if errors else 0.0, error=fatal[0][:120] if fatal else "",
            rates=np.array([float(one) for one in _PROGRESS.findall(text)]),
            rank_error=0.05, levels={"threads": int(clients)} if clients else {},
        )
    ]  # fmt: skip


def _script(text: str) -> str:
    match = re.search(
        r"\bsysbench\b[^\n]*?\b((?:oltp|tpcc|select|bulk)\w*|cpu|memory|fileio)", text
    )
    return match[1] if match else ""


def is_ycsb(text: str) -> bool:
    """Return whether a text has the results of YCSB."""
    return "[OVERALL], RunTime(ms)," in text


def read_ycsb(text: str, source: str) -> Sequence[Result]:
    """Return one result for each kind of operation, and for all of them together."""
    rows: dict[str, dict[str, str]] = {}
    for kind, name, value in _YCSB.findall(text):
        rows.setdefault(kind, {})[name] = value
    length = Stated.printed(rows["OVERALL"]["RunTime(ms)"], scale=_MS)
    threads = re.search(r"-threads[ =](\d+)|threadcount=(\d+)", text)
    clients = float(threads[1] or threads[2]) if threads else None
    offered = re.search(r"-target[ =](\d+)", text)
    results, total = [], 0
    for kind, row in rows.items():
        count = int(row.get("Operations", "0"))
        if not count or kind == "CLEANUP" or kind.endswith("-FAILED"):
            continue
        bad = {name.removeprefix("Return="): int(n) for name, n in row.items()
               if name.startswith("Return=") and name != "Return=OK"}  # fmt: skip
        failed = int(rows.get(f"{kind}-FAILED", {}).get("Operations", "0"))
        total += count + failed
        results.append(
            Result(
                tool="ycsb", source=source, name=kind.lower(), clients=clients, clients_vary=True,
                duration_s=length, count=count, throughput=ratio(count, length),
                mean=_ycsb_time(row, "Average"), low=_ycsb_time(row, "Min"),
                high=_ycsb_time(row, "Max"), percentiles=shares(_ycsb_percentiles(row)),
                failed=float(min(sum(bad.values()), count)), lost=float(failed), view=kind.lower(),
                settings={"errors": ", ".join(f"{n} {name}" for name, n in bad.items())},
                levels={"operation": kind.lower()} | ({"threads": int(clients)} if clients else {}),
            )
        )  # fmt: skip
    rate = Stated.printed(rows["OVERALL"]["Throughput(ops/sec)"][:12])
    everything = Result(
        tool="ycsb", source=source, name="all operations", duration_s=length, count=total,
        throughput=Stated(rate.value, rate.error + 1e-6 * rate.value), clients=clients, failed=None,
        offered=float(offered[1]) if offered else None, loop="open" if offered else "closed",
        view="all operations",
    )  # fmt: skip
    return [everything, *results]


def _ycsb_time(row: dict[str, str], name: str) -> Stated | None:
    for unit, scale in (("us", _US), ("ms", _MS)):
        if text := row.get(f"{name}Latency({unit})"):
            value = float(text) * scale
            return Stated(value, _YCSB_BIN * value + (0.0 if name == "Average" else scale))
    return None


def _ycsb_percentiles(row: dict[str, str]) -> Iterator[tuple[str, Stated]]:
    for name, text in row.items():
        if match := _YCSB_PERCENTILE.fullmatch(name):
            scale = _US if match[2] == "us" else _MS
            yield match[1], Stated(float(text) * scale, float(text) * scale * _YCSB_BIN + scale)


def is_scylla_bench(text: str) -> bool:
    """Return whether a text has the results of scylla-bench."""
    return "Time (avg):" in text and "Total ops:" in text


def read_scylla_bench(text: str, source: str) -> Sequence[Result]:
    """Return the result of a run, with the latencies of single requests."""
    facts = dict(re.findall(r"^\s*([A-Z][\w /()-]+?):\s+(\S+)", text, re.MULTILINE))
    count, length = int(facts["Total ops"]), go_time(facts["Time (avg)"])
    raw = text.partition(_LATENCY)[2].partition("c-o fixed")[0]
    times = dict(re.findall(r"^\s*([\w.]+):\s+([\d.]+[nuµm]?s)", raw, re.MULTILINE))
    ranked = [("50" if n == "median" else n.removesuffix("th"), go_time(t))
              for n, t in times.items() if n == "median" or n.endswith("th")]  # fmt: skip
    clients = float(facts["Concurrency"]) if "Concurrency" in facts else None
    errors = float(facts.get("Total errors", "0"))
    rate = str(facts.get("Max rate", facts.get("Maximum rate", "unlimited")))
    return [
        Result(
            tool="scylla-bench", source=source, name=facts.get("Mode", source), loop="closed",
            clients=clients, think_s=0.0 if "unlimited" in rate else None, duration_s=length,
            count=count, throughput=Stated.printed(facts["Operations/s"]), failed=0.0, lost=errors,
            mean=go_time(times["mean"]) if "mean" in times else None,
            high=go_time(times["max"]) if "max" in times else None, percentiles=shares(ranked),
            levels={"mode": facts.get("Mode", "")} | ({"clients": int(clients)} if clients else {}),
        )
    ]  # fmt: skip


SYSBENCH = Format(
    kind="text",
    expected='lines "total time:" and "avg:"',
    fits=is_sysbench,
    read=read_sysbench,
    start=re.compile(r"^[ \t]*\**(?:General statistics:|Test execution summary:)", re.MULTILINE),
    header=re.compile(
        r"^[ \t]*(?:sysbench [\d.]+|SQL statistics:|OLTP test statistics:|Number of threads:"
        r"|\[ ?\d+s)|\bsysbench +\S",
        re.MULTILINE,
    ),
)
YCSB = Format(
    kind="text",
    expected='lines "[OVERALL], RunTime(ms), ..."',
    fits=is_ycsb,
    read=read_ycsb,
    start=re.compile(r"^[ \t]*\**\[OVERALL\], RunTime", re.MULTILINE),
    header=re.compile(r"-threads|threadcount="),
)
SCYLLA_BENCH = Format(
    kind="text",
    expected='lines "Time (avg):" and "Total ops:"',
    fits=is_scylla_bench,
    read=read_scylla_bench,
    start=re.compile(r"^[ \t]*\**Time \(avg\):", re.MULTILINE),
    header=re.compile(r"^[ \t]*Configuration\s*$|\bscylla-bench +-", re.MULTILINE),
)
