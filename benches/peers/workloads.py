"""The simulated workloads, and the known answer that every contender must give.

Each contender writes the same model in its own language. Its answers are compared with closed forms
or exact solutions before its speed counts: a fast simulation of a different model is worth nothing.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from benches.harness import Work

SMALLEST_TOLERANCE = 0.01
"""The largest relative shift of an answer by a start away from equilibrium and a coarse clock."""


class PeerMissingError(Exception):
    """A peer cannot take part; the message gives the reason, and the fix if there is one."""


class WrongAnswerError(Exception):
    """A contender simulates a different model from the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A model with its known answer.

    Parameters
    ----------
    key
        Short name, which the programs in Rust take as argument.
    title
        What the table calls it.
    answer
        What the known answer is, with its unit.
    known
        The known answer.
    noise
        Standard deviation of the relative error of a run, times the square root of its visits.
    """

    key: str
    title: str
    answer: str
    known: float
    noise: float

    def tolerance(self, visits: float) -> float:
        """Return the relative error (1) allowed for a run with this number of station visits.

        Examples
        --------
        >>> round(MM1.tolerance(90_000), 3)
        0.119
        """
        return max(SMALLEST_TOLERANCE, 4 * self.noise / math.sqrt(visits))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A contender's result: the number of station visits, and its answer."""

    visits: float
    answer: float


def erlang_c(*, offered: float, servers: int) -> float:
    """Return the probability that a customer of the M/M/c queue waits (Erlang, 1917).

    Examples
    --------
    >>> round(erlang_c(offered=1.6, servers=2), 6)
    0.711111
    """
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = offered * blocked / (count + offered * blocked)
    return blocked / (1 - offered / servers * (1 - blocked))


MM1_LOAD = 0.8
MMC_SERVERS, MMC_OFFERED = 4, 3.2
JOBS, CPUS, CPU_MS, DISKS, DISK_MS = 64, 4, 4.0, 16, 15.0
PIPELINE_STATIONS, PIPELINE_BUFFER, PIPELINE_JOBS = 3, 2, 10
"""A ring with this many jobs never starves its first station: 3 + 3 places and a blocked server
hold at most 7 of them."""
STATIONS, STATION_JOBS, LARGE_JOBS = 10_000, 20_000, 100_000

# Noise of the waiting times: asymptotic variance of the wait in M/M/1, rho (2 + 5 rho - 4 rho^2 +
# rho^3) / (1 - rho)^4 = 1976 at 0.8, and that of one server four times as fast for M/M/4.
MM1 = Workload(
    key="mm1",
    title="M/M/1 at a load of 0.8",
    answer="mean response time in service times",
    known=1 / (1 - MM1_LOAD),
    noise=math.sqrt(1976) * (1 - MM1_LOAD),
)
_MMC_RESPONSE = 1 + erlang_c(offered=MMC_OFFERED, servers=MMC_SERVERS) / (MMC_SERVERS - MMC_OFFERED)
MMC = Workload(
    key="mm4",
    title="M/M/4 at a load of 0.8",
    answer="mean response time in service times",
    known=_MMC_RESPONSE,
    noise=math.sqrt(1976) / MMC_SERVERS / _MMC_RESPONSE,
)
# Exact convolution in rationals.
CENTRAL_SERVER = Workload(
    key="central-server",
    title=f"central server: {JOBS} jobs, {CPUS} CPUs, {DISKS} disks",
    answer="cycles per millisecond",
    known=0.844677,
    noise=1.0,
)
# Balance equations of the Markov chain, solved directly.
PIPELINE = Workload(
    key="pipeline",
    title=f"blocking pipeline: {PIPELINE_STATIONS} stations, buffers of {PIPELINE_BUFFER}",
    answer="jobs per service time",
    known=0.734017,
    noise=math.sqrt(PIPELINE_STATIONS),
)
# Balanced closed network: N / (N + M - 1) of every station is busy.
MANY_STATIONS, MANY_JOBS = (
    Workload(
        key=key,
        title=f"{STATIONS:,} stations, {jobs:,} jobs",
        answer="station visits per service time",
        known=STATIONS * jobs / (jobs + STATIONS - 1),
        noise=1.0,
    )
    for key, jobs in {"many-stations": STATION_JOBS, "many-jobs": LARGE_JOBS}.items()
)
WORKLOADS = (MM1, MMC, CENTRAL_SERVER, PIPELINE, MANY_STATIONS)
"""The workloads that every peer runs, or says why it cannot; `MANY_JOBS` is for the fastest."""


def verified(workload: Workload, contender: str, simulate: Callable[[], Run]) -> Work:
    """Return the work of a contender; it raises if the answer is not the known one.

    Raises
    ------
    WrongAnswerError
        When the work is done and its answer is further from the known one than chance explains.

    Examples
    --------
    >>> verified(MM1, "somebody", lambda: Run(visits=1e6, answer=5.01))()
    1000000.0
    """

    def work() -> float:
        run = simulate()
        error = abs(run.answer / workload.known - 1)
        if not error <= workload.tolerance(run.visits):
            raise WrongAnswerError(
                f"{contender}, {workload.title}: {workload.answer} is {run.answer:.6g} after "
                f"{run.visits:.0f} visits, known is {workload.known:.6g}"
            )
        return run.visits

    return work
