"""Summaries of BenchBase and of HammerDB, read by their documentation.

No file of either could be made while this was written, so unknown keys are skipped.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from headroom.audit.readers.fields import exact
from headroom.audit.result import Result

_US = 1e-6
_SHARES = {"25th Percentile": 0.25, "Median": 0.5, "75th Percentile": 0.75,
           "90th Percentile": 0.9, "95th Percentile": 0.95, "99th Percentile": 0.99}  # fmt: skip
_NOPM = re.compile(r"System achieved (\d+) NOPM from (\d+) .*TPM")


def is_benchbase(document: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return whether a JSON document is a summary of BenchBase."""
    return isinstance(document, dict) and "Latency Distribution" in document


def read_benchbase(document: Mapping[str, Any], source: str) -> Sequence[Result]:
    """Return the result of a `*.summary.json`."""
    times = document["Latency Distribution"]

    def time(name: str) -> Any:  # noqa: ANN401 - Stated or None
        return exact(times.get(f"{name} Latency (microseconds)"), scale=_US)

    terminals = document.get("terminals")
    percentiles = {share: time(name) for name, share in _SHARES.items()}
    return [
        Result(
            tool="benchbase", source=source, name=str(document.get("Benchmark Type", source)),
            clients=None if terminals is None else float(terminals), mean=time("Average"),
            count=document.get("Measured Requests"), low=time("Minimum"), high=time("Maximum"),
            throughput=exact(document.get("Throughput (requests/second)")),
            percentiles={share: one for share, one in percentiles.items() if one is not None},
            levels={} if terminals is None else {"clients": int(terminals)},
        )
    ]  # fmt: skip


def is_hammerdb(text: str) -> bool:
    """Return whether a text has a result line of HammerDB."""
    return _NOPM.search(text) is not None


def read_hammerdb(text: str, source: str) -> Sequence[Result]:
    """Return one result per result line: new orders per minute, from transactions per minute."""
    users = re.search(r"(\d+) Active Virtual Users", text)
    return [
        Result(
            tool="hammerdb", source=source, name=f"{source} {place}", loop="",
            clients=None if users is None else float(users[1]),
            throughput=exact(float(nopm) / 60.0), settings={"nopm": nopm, "tpm": tpm},
            levels={} if users is None else {"clients": int(users[1])},
        )
        for place, (nopm, tpm) in enumerate(_NOPM.findall(text), start=1)
    ]  # fmt: skip
