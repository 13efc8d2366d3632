"""Let what-if runs overrule a verdict about a station that rejects work.

At other stations the utilization law is a theorem. A doubling without effect (open arrivals that
are all served, two joint bottlenecks) does not refute it.

Invariant: a verdict is mended only by a doubling that ran.
"""

import math
from collections.abc import Sequence

import msgspec

from headroom.analysis.point import summarise
from headroom.analysis.results import Effect, PointResult, WhatIfResult
from headroom.experiment.journal.journal import ReplicationRow
from headroom.experiment.protocol.changes import changes_in, doubled
from headroom.experiment.study.plan import PlannedExperiment

NO_GAIN = 1.05
"""Factor up to which a metric is said not to improve: a gain not worth a server."""
NOTABLE_REJECTION = 0.01
"""Share rejected from which a full station is no proof that it limits: below it the arrivals
are what a station without rejections would get, and the utilization law holds to 1%."""


def with_tried_verdict(
    experiment: PlannedExperiment, rows: Sequence[ReplicationRow], result: PointResult
) -> PointResult:
    """Return a point whose verdict also knows which doublings were tried and gave nothing.

    Parameters
    ----------
    experiment, rows
        The experiment, and the replications of the point.
    result
        The point with its what-ifs.
    """
    useless = useless_stations(result)
    verdict = result.bottleneck
    if verdict is None or not verdict.limits or verdict.name not in useless:
        return result
    runs = [row.run for row in rows if row.state == "done" and row.run is not None]
    mended = summarise(experiment, runs, useless).bottleneck
    return msgspec.structs.replace(result, bottleneck=mended)


def useless_stations(result: PointResult) -> frozenset[str]:
    """Return the stations that reject work and whose doubling improves nothing.

    That is shown where each doubling of it that was tried leaves each compared metric surely below
    a gain of `NO_GAIN`. Where nearly nothing is rejected the utilization law holds, and the
    station limits however little its doubling gives today.

    Parameters
    ----------
    result
        A point with what was tried there.
    """
    gains: dict[str, list[float]] = {}
    for what_if in result.what_ifs:
        changes = changes_in(what_if.change)
        if len(changes) == 1 and changes[0] in doubled("station", changes[0].name):
            gains.setdefault(changes[0].name, []).append(_largest_gain(what_if))
    return frozenset(
        name
        for name, found in gains.items()
        if max(found) <= NO_GAIN and _rejected(result, name) >= NOTABLE_REJECTION
    )


def _rejected(result: PointResult, station: str) -> float:
    found = result.estimates.get(f"station.{station}.reject_ratio")
    return found.value if found else 0.0


def _largest_gain(found: WhatIfResult) -> float:
    """Return by which factor a metric may improve at most; infinity where that is unknown."""
    directed = [effect for effect in found.effects if effect.better != "none"]
    return max(map(_possible_gain, directed), default=math.inf)


def _possible_gain(effect: Effect) -> float:
    if effect.low is None or effect.high is None or effect.low <= 0.0:
        return math.inf
    return effect.high if effect.better == "high" else 1.0 / effect.low
