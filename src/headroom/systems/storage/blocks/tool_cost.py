"""The overhead of the tool itself, and its share in a result.

The engine runs on a null target that answers each request at once, so all processor time is its
own. The tool distorts a result in two ways, and the larger one is reported as ``tool_share``:

- for the throughput: the generating threads' own processor time, as a share of their available
  time; at 1 the generator, not the target, sets the throughput;
- for the times: the engine's own time per request, as a share of the mean service time.

Nothing is ever subtracted.

Invariant: the cost is that of the interface, and of the mix of reads and writes, of the run that it
is reported with.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from headroom.errors import EnvironmentUnfitError
from headroom.recording.tool_share import tool_share
from headroom.systems.storage.measure import nothing_job

_REQUESTS = 100_000
_TRIES = 3
"""The median counts: what else the machine does may fall into one of them."""
_DEPTH = {"io_uring": 128, "threads": 1}
"""As deep as a ring should be; a thread has one request, and more threads would fight for cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCost:
    """Processor time (s) that the engine needs for one request to nothing."""

    interface: str
    read_s: float
    write_s: float

    def share_in(
        self, result: Mapping[str, Any], *, write_share: float | None = None
    ) -> dict[str, float]:
        """Return `tool_share` and `tool_s_per_request` for what the engine found.

        Parameters
        ----------
        result
            Of `measure.run_job`.
        write_share
            Share of writes if the classes do not give it; None if they do.

        Examples
        --------
        >>> cost = ToolCost(interface="io_uring", read_s=1e-7, write_s=2e-7)
        >>> one = {"completion_count": 1000, "failure_count": 0}
        >>> station = {"columns": {"busy_s": [[0.01]], "completion_count": [[1000.0]]}}
        >>> found = {"classes": {"read": one}, "load_s": 0.01, "facts": {"interface": "io_uring"},
        ...          "snapshots": {"stations": station}}
        >>> round(cost.share_in(found)["tool_share"], 6)
        0.01
        """
        counts = {
            name: class_["completion_count"] + class_["failure_count"]
            for name, class_ in result["classes"].items()
        }
        whole = sum(counts.values())
        if not whole:
            return {}
        written = counts.get("write", 0) if write_share is None else write_share * whole
        own_s = (self.read_s * (whole - written) + self.write_s * written) / whole
        if result["facts"].get("interface") == "soft":
            # Its time stops while the tool works.
            return {"tool_s_per_request": own_s, "tool_share": 0.0}
        threads = int(result["facts"].get("threads", 1))
        columns = result["snapshots"]["stations"]["columns"]
        service_s = columns["busy_s"][-1][0] / max(columns["completion_count"][-1][0], 1.0)
        of_time = tool_share(own_s=own_s, count=whole, load_s=result["load_s"], threads=threads)
        of_service = own_s / service_s if service_s > 0.0 else 1.0
        share = min(max(of_time, of_service), 1.0)
        return {"tool_s_per_request": own_s, "tool_share": float(share)}


def measure_cost(
    interface: str, run_job: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> ToolCost | str:
    """Return the cost of an interface, or why it cannot be used on this machine.

    Parameters
    ----------
    interface
        ``"io_uring"`` or ``"threads"``.
    run_job
        `measure.run_job`.
    """
    try:
        read_s, write_s = (
            median(_own_s(interface, share, run_job) for _ in range(_TRIES)) for share in (1.0, 0.0)
        )
    except EnvironmentUnfitError as error:
        return error.message
    return ToolCost(interface=interface, read_s=read_s, write_s=write_s)


def _own_s(
    interface: str,
    read_share: float,
    run_job: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> float:
    job = nothing_job(
        interface=interface,
        read_share=read_share,
        requests=_REQUESTS,
        depth=_DEPTH[interface],
    )
    result = run_job(job)
    done = sum(int(class_["completion_count"]) for class_ in result["classes"].values())
    return float(result["counters"]["cpu_s"]) / max(done, 1)
