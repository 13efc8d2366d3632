"""Results of benchmarks whose truth is known: simulated, and written as tools write them.

A closed system of clients, think time and servers starts empty, as a benchmark does, and nothing
is cut. The spoilt variants differ from the truth in one respect each.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from headroom.audit.audit import Audit, audit
from headroom.audit.readers.recognise import read_results
from headroom.experiment.protocol.run import FloatArray
from headroom.simulation import Model, exponential, lognormal, simulate

SHARES = (0.5, 0.9, 0.99)
_ENTERS, _IS_DONE = 0, 1
"""Kinds of events of the simulation's trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """One benchmark: single responses (s), their ends (s), clients and mean think time (s).

    An open one has a scheduled rate (1/s) and no clients.
    """

    clients: int
    rate: float = 0.0
    think_s: float
    ends_s: FloatArray
    response_s: FloatArray

    @property
    def throughput(self) -> float:
        """Completions per second of the whole run."""
        return float(self.ends_s.size / self.ends_s[-1])


def simulated(seed: int, completions: int = 1000) -> Truth:
    """Return a benchmark of a random system; every third one is open, at a load of 30% to 85%."""
    random = np.random.default_rng(seed)
    clients, servers = int(random.integers(2, 40)), int(random.integers(1, 5))
    think_s = float(random.choice([0.0, 0.0, random.uniform(0.01, 0.3)]))
    service_s = float(10.0 ** random.uniform(-3.0, -1.5))
    law = exponential(service_s) if random.random() < 0.5 else lognormal(service_s, 1.5 * service_s)
    model = Model("benchmark", time_unit="s")
    station, request = model.station("server", servers=servers), model.program("request")
    request.use(station, law)
    rate = servers * random.uniform(0.3, 0.85) / service_s if seed % 3 == 0 else 0.0
    think = exponential(think_s) if think_s else None
    if rate:
        model.open_class("users", request, interarrival=exponential(1.0 / rate))
    else:
        model.closed_class("users", request, population=clients, think=think)
    trace = simulate(model, seed=seed, completions=completions, trace=8 * completions).trace
    assert trace is not None
    began: dict[int, float] = {}
    rows: list[tuple[float, float]] = []
    for time_s, kind, job in zip(trace.time_s, trace.kind, trace.job, strict=True):
        if kind == _ENTERS:
            began[int(job)] = float(time_s)
        elif kind == _IS_DONE:
            rows.append((float(time_s), float(time_s) - began.pop(int(job))))
    ends_s, response_s = np.array(rows).T
    return Truth(
        clients=0 if rate else clients,
        rate=rate,
        think_s=think_s,
        ends_s=ends_s,
        response_s=response_s,
    )


def as_csv(truth: Truth) -> str:
    """Return a row of a published table: three significant digits."""
    r, percentiles = truth.response_s * 1e3, {}
    for share in SHARES:
        percentiles[f"response_ms_p{100 * share:g}"] = float(np.quantile(r, share))
    cells = {"response_ms_mean": r.mean(), "response_ms_stdev": r.std(ddof=1),
             "response_ms_max": r.max(), **percentiles, "throughput": truth.throughput,
             "duration_s": truth.ends_s[-1]}  # fmt: skip
    cells = {name: np.format_float_positional(value, precision=3, fractional=False, trim="-")
             for name, value in cells.items()}  # fmt: skip
    if truth.rate:
        cells |= {"loop": "open", "offered": f"{truth.rate:.6g}"}
    else:
        cells |= {"clients": truth.clients, "think_s": f"{truth.think_s:.3g}", "loop": "closed"}
    cells["count"] = truth.ends_s.size
    return f"{','.join(cells)}\n{','.join(map(str, cells.values()))}\n"


def as_k6(truth: Truth) -> str:
    """Return a summary of k6, whose iterations are the requests: percentiles interpolated."""
    r = truth.response_s * 1e3
    trend = {"avg": r.mean(), "min": r.min(), "med": np.median(r), "max": r.max()}
    trend |= {f"p({100 * share:g})": np.quantile(r, share) for share in SHARES[1:]}
    counter = {"count": r.size, "rate": truth.throughput}
    metrics = {"http_reqs": counter, "http_req_duration": trend}
    if truth.clients:
        users = {"min": truth.clients, "max": truth.clients}
        metrics |= {"vus": users, "vus_max": users}
    return json.dumps({"metrics": {**metrics, "iterations": {}}})


def as_log(truth: Truth) -> str:
    """Return a log of pgbench, in whole microseconds; of an open load, of vegeta."""
    rows = zip(truth.ends_s + 1e9, truth.response_s, strict=True)
    if truth.rate:
        return "".join(
            f"{1e9 * (end - r):.0f},200,{1e9 * r:.0f},0,2,,,{place},,GET,,\n"
            for place, (end, r) in enumerate(rows)
        )
    return "".join(
        f"{place % truth.clients} {place} {1e6 * r:.0f} 0 {int(end)} {1e6 * (end % 1.0):.0f}\n"
        for place, (end, r) in enumerate(rows)
    )


def as_markdown(truth: Truth) -> str:
    """Return a table of Markdown with spaces and units in its header, and no failure."""
    header, row = (line.split(",") for line in as_csv(truth).splitlines())
    names = {"response_ms_mean": "avg (ms)", "response_ms_stdev": "stdev (ms)",
             "response_ms_max": "max (ms)", "throughput": "Requests/s",
             "duration_s": "duration (s)", "think_s": "think time (s)"}  # fmt: skip
    named = [names.get(one, one.replace("response_ms_", "") + " (ms)" * ("_p" in one))
             for one in header]  # fmt: skip
    lines = (named, ["---"] * len(named), row)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def as_sysbench(truth: Truth) -> str:
    """Return the totals of sysbench; those of an open load are a table of Markdown."""
    if truth.rate or truth.think_s:
        return as_markdown(truth)
    r = truth.response_s * 1e3
    return (
        f"Number of threads: {truth.clients}\nGeneral statistics:\n"
        f"    total time:                {truth.ends_s[-1]:.4f}s\n"
        f"    total number of events:    {r.size}\n\nLatency (ms):\n"
        f"         min:   {r.min():.2f}\n         avg:   {r.mean():.2f}\n"
        f"         max:   {r.max():.2f}\n         95th percentile:  {np.quantile(r, 0.95):.2f}\n"
    )


FORMATS: Mapping[str, Callable[[Truth], str]] = {
    "csv": as_csv,
    "k6": as_k6,
    "log": as_log,
    "markdown": as_markdown,
    "sysbench": as_sysbench,
}


def stalled(truth: Truth) -> Truth:
    """Return the same benchmark with a server that stops for a third of the time in mid-run."""
    since_s, pause_s = truth.ends_s[truth.ends_s.size // 2], truth.ends_s[-1] / 3.0
    is_later = truth.ends_s > since_s
    is_open = is_later & (truth.ends_s - truth.response_s <= since_s)
    return replace(
        truth,
        ends_s=np.where(is_later, truth.ends_s + pause_s, truth.ends_s),
        response_s=np.where(is_open, truth.response_s + pause_s, truth.response_s),
    )


def with_fewer_clients(truth: Truth) -> Truth:
    """Return the result under half of its clients."""
    return replace(truth, clients=truth.clients // 2)


def in_wrong_unit(truth: Truth) -> Truth:
    """Return responses a thousand times as long: microseconds called milliseconds."""
    return replace(truth, response_s=truth.response_s * 1e3)


def with_mean_of_another_run(text: str) -> str:
    """Return a table whose mean is one tenth, as if it were of another run."""
    header, row = (line.split(",") for line in text.splitlines())
    place = header.index("response_ms_mean")
    row[place] = f"{float(row[place]) / 10.0:.4g}"
    return f"{','.join(header)}\n{','.join(row)}\n"


def with_cell(name: str, change: Callable[[float], float]) -> Callable[[Truth], str]:
    """Return a writer of a table one of whose numbers was changed."""

    def written(truth: Truth) -> str:
        header, row = (line.split(",") for line in as_csv(truth).splitlines())
        place = header.index(name)
        row[place] = f"{change(float(row[place])):.6g}"
        return f"{','.join(header)}\n{','.join(row)}\n"

    return written


def with_columns(**cells: str) -> Callable[[Truth], str]:
    """Return a writer of a table with more columns."""

    def written(truth: Truth) -> str:
        header, row = as_csv(truth).splitlines()
        return f"{header},{','.join(cells)}\n{row},{','.join(cells.values())}\n"

    return written


def with_percentiles_exchanged(truth: Truth) -> str:
    """Return a table whose median and 99th percentile were exchanged."""
    text = as_csv(truth)
    return text.replace("_p50", "_p00").replace("_p99", "_p50").replace("_p00", "_p99")


def behind_a_ceiling(truth: Truth) -> str:
    """Return a table of three systems with the throughput of the generator."""
    header, row = as_csv(truth).splitlines()
    return f"system,{header}\n" + "".join(f"{name},{row}\n" for name in "ABC")


def with_a_cold_run(truth: Truth) -> str:
    """Return runs of a program, as long as responses, whose first one found cold caches."""
    times = np.sort(truth.response_s)[truth.response_s.size // 2 :][:12] + 0.1
    times[0] *= 3.0
    row = {"command": "x", "times": times.tolist(), "mean": times.mean(), "exit_codes": [0] * 12}
    return json.dumps({"results": [row]})


SPOILT: Mapping[str, Callable[[Truth], str]] = {
    "half of the clients": lambda truth: as_csv(with_fewer_clients(truth)),
    "times in a wrong unit": lambda truth: as_csv(in_wrong_unit(truth)),
    "a stalled server, in a table": lambda truth: as_csv(stalled(truth)),
    "a stalled server, in a log": lambda truth: as_log(stalled(truth)),
    "mean of another run": lambda truth: with_mean_of_another_run(as_csv(truth)),
    "count of another run": with_cell("count", lambda count: round(1.2 * count)),
    "rate of another run": with_cell("throughput", lambda rate: 0.8 * rate),
    "exchanged percentiles": with_percentiles_exchanged,
    "failures counted as done": with_columns(errors="50"),
    "a share of failures that no count has": with_columns(**{"error rate (%)": "0.0512"}),
    "processors busier than there are": with_columns(cpus="2", cpu_utilization="1.3"),
    "a ceiling of the generator": behind_a_ceiling,
    "a cold first run": with_a_cold_run,
}


def audited(text: str, folder: Path) -> Audit:
    """Return the audit of a file with this text."""
    path = folder / "result"
    path.write_text(text, encoding="utf-8")
    return audit(read_results(path)[1])
