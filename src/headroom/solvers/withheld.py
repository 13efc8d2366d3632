"""Answers without an estimate that could be far off: the results of flow conservation."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headroom.solvers.network import Network
from headroom.solvers.reasons import REFUSED, Doubt, Reason, doubt_of, texts
from headroom.solvers.solution import ClassSolution, Solution, StationSolution

FLOWS = "conservation of flow alone"


def without_estimate(network: Network, reasons: Sequence[Reason]) -> Solution:
    """Return the flows of an open network, as far as they are sure; of others nothing.

    Parameters
    ----------
    network
        The network.
    reasons
        Why there is no estimate.
    """
    doubt = doubt_of(reasons)
    # Work that waits inside holds its tokens longer: whether a pool lets it through is unknown.
    is_sure = not network.closed and not network.pools and doubt < Doubt.FLOWS
    rate = 1.0 if is_sure else math.nan
    return Solution(
        model=network.name,
        method=f"{FLOWS}: {REFUSED}" if is_sure else f"none: {REFUSED}",
        is_exact=False,
        reasons=texts(reasons),
        refused=texts(reasons, min(doubt, Doubt.TIMES)),
        classes=tuple(
            ClassSolution(
                name=name,
                throughput_per_s=one.rate_per_s * part * rate,
                response_s=math.nan,
                jobs=math.nan,
            )
            for one in network.classes
            for name, part in [(m.name, m.share) for m in one.members] or [(one.name, 1.0)]
        ),
        stations=_stations(network) if is_sure and doubt < Doubt.ROUTES else (),
        pools=(),
        bounds=(),
    )


def without_parts(solution: Solution) -> Solution:
    """Return a solution without the times and numbers of jobs at single stations and pools."""
    gone = math.nan
    return replace(
        solution,
        stations=tuple(
            replace(one, jobs=gone, wait_s=gone, response_s=gone, jobs_by_class={})
            for one in solution.stations
        ),
        pools=tuple(replace(one, queue_len=gone, wait_s=gone) for one in solution.pools),
    )


def _stations(network: Network) -> tuple[StationSolution, ...]:
    served = network.visits * network.rate_per_s
    return tuple(
        StationSolution(
            name=station.name,
            servers=station.servers,
            availability=station.availability,
            throughput_per_s=float(served[row].sum()),
            # A batch keeps a server busy once for all its jobs; of unequal servers any may serve.
            busy=math.nan
            if station.batch > 1 or len(set(station.speeds)) > 1
            else float(served[row] @ network.service_s[row]),
            jobs=math.nan,
            wait_s=math.nan,
            response_s=math.nan,
            jobs_by_class={},
            throughput_by_class={},
        )
        for row, station in enumerate(network.stations)
        if np.any(served[row] > 0)
    )
