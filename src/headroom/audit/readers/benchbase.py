"""Summaries of BenchBase (`*.summary.json`)."""

from collections.abc import Mapping, Sequence
from typing import Any

from headroom.audit.readers.fields import exact
from headroom.audit.readers.format import Format
from headroom.audit.result import Result, Stated

_SHARES = {"25th Percentile": 0.25, "Median": 0.5, "75th Percentile": 0.75,
           "90th Percentile": 0.9, "95th Percentile": 0.95, "99th Percentile": 0.99}  # fmt: skip
_SETTINGS = ("DBMS Type", "DBMS Version", "isolation", "scalefactor")


def is_benchbase(document: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return whether a JSON document is a summary of BenchBase."""
    return isinstance(document, dict) and "Latency Distribution" in document


def read_benchbase(document: Mapping[str, Any], source: str) -> Sequence[Result]:
    """Return the result of a summary. With a rate, arrivals wait in a queue that no time counts."""
    times, clients = document["Latency Distribution"], document.get("terminals")

    def time(name: str) -> Stated | None:
        # Cut to whole microseconds, also the mean.
        value = times.get(f"{name} Latency (microseconds)")
        return None if value is None else Stated((value + 0.5) * 1e-6, 0.5e-6)

    throughput, good = (
        exact(document.get(f"{kind} (requests/second)")) for kind in ("Throughput", "Goodput")
    )
    count, failed = document.get("Measured Requests"), None
    if count and throughput is not None and good is not None:
        failed = count * max(1.0 - good.value / throughput.value, 0.0)
    percentiles = {share: time(name) for name, share in _SHARES.items()}
    return [
        Result(
            tool="benchbase", source=source, name=str(document.get("Benchmark Type", source)),
            clients=None if clients is None else float(clients),
            duration_s=exact(document.get("Elapsed Time (nanoseconds)"), scale=1e-9),
            mean=time("Average"), low=time("Minimum"), high=time("Maximum"),
            count=count, throughput=throughput, failed=failed,
            percentiles={share: one for share, one in percentiles.items() if one is not None},
            settings={key: str(document[key]) for key in _SETTINGS if document.get(key)},
            levels={} if clients is None else {"clients": int(clients)},
        )
    ]  # fmt: skip


FORMAT = Format(
    kind="json", expected="JSON with `Latency Distribution`", fits=is_benchbase, read=read_benchbase
)
