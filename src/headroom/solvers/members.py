"""Results of the classes of a mix, derived from the solution of the mix as one class.

Each class is walked in proportion to its share. At a station its jobs wait as long as all jobs of
the mix. If jobs share the servers, the time is in proportion to their own service.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from headroom.solvers.approximate.forks import Slowness, slowness, walk_time_s
from headroom.solvers.closed_network import Answer
from headroom.solvers.network import SHARED, Member, Network
from headroom.solvers.solution import ClassSolution


def solved_members(
    network: Network,
    answer: Answer,
    column: int,
    whole: ClassSolution,
    pools: Mapping[str, float],
) -> Iterator[ClassSolution]:
    """Yield the figures of the classes of a column: of one class itself, of a mix all of them.

    Parameters
    ----------
    network, answer, column
        Where the class or mix stands, and what was found.
    whole
        Its figures.
    pools
        Mean wait (s) for tokens of each pool.
    """
    members = network.classes[column].members
    if not members:
        yield whole
    for member in members:
        rate = whole.throughput_per_s * member.share
        time = walk_time_s(member.whole, _slowness(network, answer, column, member), pools)
        yield replace(
            whole, name=member.name, throughput_per_s=rate, response_s=time, jobs=rate * time
        )


def shares_at(network: Network, answer: Answer, row: int) -> Iterator[tuple[str, float, float]]:
    """Yield each class with its share of the visits, and of the jobs, of its column at a station.

    Parameters
    ----------
    network, answer
        The network and what was found.
    row
        Row of the station.
    """
    for column, one in enumerate(network.classes):
        if not one.members:
            yield one.name, 1.0, 1.0
            continue
        visits = [member.share * float(member.visits[row]) for member in one.members]
        times = [_visit_s(network, answer, row, column, member) for member in one.members]
        jobs = [count * time for count, time in zip(visits, times, strict=True)]
        for member, count, present in zip(one.members, visits, jobs, strict=True):
            yield member.name, _part(count, visits), _part(present, jobs)


def _part(value: float, values: list[float]) -> float:
    total = sum(values)
    return value / total if total > 0 else 0.0


def _visit_s(network: Network, answer: Answer, row: int, column: int, member: Member) -> float:
    """Return the mean response (s) of one visit of a class of a mix."""
    service = float(member.service_s[row])
    found = _slowness_at(network, answer, row, column)
    return found.per_visit + found.stretch * service


def _slowness(network: Network, answer: Answer, column: int, member: Member) -> dict[str, Slowness]:
    """Return how each station slows a class of a mix down."""
    return {
        station.name: _slowness_at(network, answer, row, column)
        for row, station in enumerate(network.stations)
        if member.visits[row] > 0
    }


def _slowness_at(network: Network, answer: Answer, row: int, column: int) -> Slowness:
    return slowness(
        float(answer.wait_s[row, column]),
        float(network.service_s[row, column]),
        is_shared=network.stations[row].discipline in SHARED,
    )
