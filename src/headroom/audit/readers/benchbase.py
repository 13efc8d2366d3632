"""Summaries of BenchBase, read by its documentation: no file could be made to test it."""

from collections.abc import Mapping, Sequence
from typing import Any

from headroom.audit.readers.fields import exact
from headroom.audit.result import Result, Stated

_SHARES = {"25th Percentile": 0.25, "Median": 0.5, "75th Percentile": 0.75,
           "90th Percentile": 0.9, "95th Percentile": 0.95, "99th Percentile": 0.99}  # fmt: skip


def is_benchbase(document: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return whether a JSON document is a summary of BenchBase."""
    return isinstance(document, dict) and "Latency Distribution" in document


def read_benchbase(document: Mapping[str, Any], source: str) -> Sequence[Result]:
    """Return the result of a `*.summary.json`."""
    times = document["Latency Distribution"]

    def time(name: str) -> Stated | None:
        return exact(times.get(f"{name} Latency (microseconds)"), scale=1e-6)

    clients = document.get("terminals")
    percentiles = {share: time(name) for name, share in _SHARES.items()}
    return [
        Result(
            tool="benchbase",
            source=source,
            name=str(document.get("Benchmark Type", source)),
            clients=None if clients is None else float(clients),
            mean=time("Average"),
            low=time("Minimum"),
            high=time("Maximum"),
            count=document.get("Measured Requests"),
            throughput=exact(document.get("Throughput (requests/second)")),
            percentiles={share: one for share, one in percentiles.items() if one is not None},
            levels={} if clients is None else {"clients": int(clients)},
        )
    ]
