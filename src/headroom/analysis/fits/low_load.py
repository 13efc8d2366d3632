"""What low load says of the capacity: which of the possible limits comes first, or that none does.

Low load shows what an operation costs, and little of what limits. The capacity is identified if all
of the response time is processor time, or waits for a processor: then the limit is the quota, a
thread that does all of its group's work, or the processors. Whether operations run one at a time on
idle processors is decided by the response time at the highest load: with one server it would be
longer. Everything else is refused, with the run that decides.

Source: the machine repairman model, e.g. Lazowska et al., *Quantitative System Performance* (1984).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headroom.analysis.fits.loads import repairman
from headroom.analysis.fits.traces import Inside
from headroom.experiment.protocol.fit_method import FitError, LimitName, Load

HIDDEN = 0.25
"""Share of the response time without a processor from which something else may limit."""
CROWDED = 0.25
"""Share of the processors that others take from which it is unknown what they will leave."""
APART = 1.5
"""Ratio of two response times that are told apart."""
ALONE = 0.9
"""Share of its group's work from which a thread does all of it."""


class LowLoadError(FitError):
    """Low load does not identify the capacity: a burst does, and `also` names what else helps."""

    def __init__(self, message: str, *, also: str = "") -> None:
        super().__init__(
            message,
            cure="measure a burst of 2 s with the clients of the prediction, without think time; "
            f"{also}or set `extrapolate = true` for a wide interval",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LowPoint:
    """A point below the knee.

    Parameters
    ----------
    rate
        Operations per second.
    load
        Its clients and their think time.
    inside
        Response and processor time of an operation; None if no response time was measured.
    threads
        Group to the processor time (s) of an operation in its busiest thread, and in all of it.
    neighbours
        Share of the processors that others take.
    """

    rate: float
    load: Load
    inside: Inside | None
    threads: Mapping[str, tuple[float, float]]
    neighbours: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """The first limit: servers / `demand_s` operations per second."""

    limit: LimitName
    servers: int
    demand_s: float


def first_limit(
    points: Sequence[LowPoint], *, demand_s: float, servers: int, quota: tuple[str, float] | None
) -> Capacity:
    """Return what limits first.

    Parameters
    ----------
    points
        Points below the knee.
    demand_s
        Processor time (s) of an operation, all groups together.
    servers
        Processors of the machine.
    quota
        A group with a quota, and its processors.

    Raises
    ------
    FitError
        The points do not identify it.
    """
    top = max(points, key=lambda one: one.rate)
    if top.inside is None:
        raise LowLoadError(
            "low load without response times does not show whether anything but processors limits",
            also="or name the metric of the mean response time as `response`; ",
        )
    neighbours = float(np.median([one.neighbours for one in points]))
    if neighbours >= CROWDED:
        raise LowLoadError(
            f"others take {neighbours:.0%} of the processors: what they leave to a full server is "
            "unknown",
            also="or measure while they rest, or without them (cpuset); ",
        )
    found = [Capacity(limit="processors", servers=servers, demand_s=demand_s)]
    if quota is not None:
        group, cpus = quota
        found.append(Capacity(limit="quota", servers=1, demand_s=top.threads[group][1] / cpus))
    for group, (thread_s, all_s) in top.threads.items():
        if thread_s >= ALONE * all_s:
            name: LimitName = "client" if group == "program" else "thread"
            found.append(Capacity(limit=name, servers=1, demand_s=thread_s))
    first = min(found, key=lambda one: one.servers / one.demand_s)
    if first.servers > 1:
        _check_several_at_a_time(points, first)
    return first


def check_hidden(points: Sequence[LowPoint]) -> None:
    """Refuse points of which every response time has a part that takes no processor."""
    seen = [one.inside for one in points if one.inside is not None]
    if not seen:
        return
    least = min(seen, key=lambda one: one.hidden_s / one.response_s)
    if least.hidden_s < HIDDEN * least.response_s:
        return
    raise LowLoadError(
        f"{least.hidden_s:.3g} s of the {least.response_s:.3g} s that an "
        "operation takes at low load are no processor time: what limits that part (a lock, a pool, "
        "a disk, another machine) is not seen at low load",
    )


def _check_several_at_a_time(points: Sequence[LowPoint], first: Capacity) -> None:
    """Refuse where no response time is shorter than if one server did all the work.

    Nothing says how evenly an open load arrives: of that only more work than one server can do
    shows that there are several.
    """
    if any(one.load.clients is None and one.rate * first.demand_s > 1.0 for one in points):
        return
    pairs = []
    for one in points:
        clients, think_s = one.load.clients or 1, one.load.think_s or 0.0
        if one.inside is not None:
            alone_s = clients / repairman(clients, think_s, first.demand_s, 1) - think_s
            pairs.append((alone_s, one.inside.response_s))
    alone_s, response_s = max(pairs, key=lambda pair: pair[0] / pair[1])
    if alone_s >= APART * response_s:
        return
    raise LowLoadError(
        "operations may run one at a time, as behind a lock: they would take "
        f"{alone_s:.3g} s, and {response_s:.3g} s were observed",
        also="or a rate that keeps more than one processor busy; "
        if points[0].load.clients is None
        else "",
    )
