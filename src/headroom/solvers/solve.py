"""Solve a model: exactly if theory allows, otherwise approximately and labelled as such."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from headroom.simulation import Model
from headroom.simulation.checks.capacity import overloaded_station
from headroom.solvers.approximate.forks import NOBODY, walk_time_s
from headroom.solvers.approximate.losses import rejecting, thinned
from headroom.solvers.approximate.pools import solve_by_levels, station_slowness
from headroom.solvers.approximate.regions import inner_first
from headroom.solvers.approximate.singles import settled, singles_of
from headroom.solvers.approximate.unequal import at_speeds, is_unequal
from headroom.solvers.bounds.bounds import Bounds
from headroom.solvers.bounds.class_bounds import bounds_of
from headroom.solvers.bounds.needs import Needs, needs_of
from headroom.solvers.closed_network import (
    Answer,
    closed_part,
    inside_bounds,
    saturated,
    solve_approximately,
    solve_by_laws,
    solve_exactly,
    too_costly,
)
from headroom.solvers.errors import NoSteadyStateError, SolverError
from headroom.solvers.exact.alone import exact_formula
from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.exact.fork_join import fork_join
from headroom.solvers.exact.percentiles import response_percentiles, wait_percentiles
from headroom.solvers.exact.product_form import reasons_against
from headroom.solvers.exact.single_queue import Single
from headroom.solvers.known_errors import is_close as is_close_enough
from headroom.solvers.known_errors import key_of
from headroom.solvers.members import shares_at, solved_members
from headroom.solvers.network import Network, network_of
from headroom.solvers.open_network import arrival_c2, open_waits
from headroom.solvers.reasons import Doubt, Reason, doubt_of, texts
from headroom.solvers.solution import (
    ROUNDING,
    ClassSolution,
    PoolSolution,
    Solution,
    StationSolution,
)
from headroom.solvers.unsteady import refuse_unsteady
from headroom.solvers.withheld import without_estimate, without_parts

FULL_POOL = 0.6
"""Utilization of a pool from which a small error of its rate is a large one of the waits."""


def solve(model: Model) -> Solution:
    """Return the steady state of a model as theory gives it.

    Parameters
    ----------
    model
        Any model. Where it is not product form, the answer is an approximation and `reasons` says
        of what.

    Raises
    ------
    SimulationError
        The model contradicts itself.
    SolverError
        There is no steady state, or no solver here knows what the model asks for.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential
    >>> model = Model("interactive", time_unit="ms")
    >>> request = model.program("request")
    >>> request.use(model.station("server"), exponential(50))
    >>> model.closed_class("users", request, population=20, think=exponential(1000))
    >>> solution = solve(model)
    >>> solution.label, round(solution.throughput_per_s, 3), round(solution.bounds[0].knee, 1)
    ('exact (convolution)', 16.822, 21.0)
    """
    network = network_of(model)
    refuse_unsteady(model, knows_patience=bool(exact_formula(network)))
    behind = thinned(network)
    full = saturated(network if behind is None else behind.network)
    if full and overloaded_station(model) is None:
        raise SolverError(
            f"model {model.name!r}: open classes offer a load of 1 or more to {', '.join(full)}, "
            "unless time-outs, rejections or conditions reduce it, which only a run can show",
            cure="simulate it",
        )
    return solve_network(network, needs_of(model, network))


def estimate(model: Model) -> Solution:
    """Return the estimate for a model even where `solve` refuses it: what its error is found by."""
    network = network_of(model)
    return solve_network(network, needs_of(model, network), refuses=False)


def bounds(model: Model) -> tuple[Bounds, ...]:
    """Return the bounds of each class of a model, which hold whether it can be solved or not.

    Raises
    ------
    SimulationError
        The model contradicts itself.
    SolverError
        A mean time cannot be computed.

    Examples
    --------
    >>> from headroom.systems.model import library
    >>> [one.throughput_per_s_high for one in bounds(library.mm1(utilization=0.5))]
    [100.0]
    """
    network = network_of(model)
    return bounds_of(network, needs_of(model, network))


def solve_network(
    network: Network, needs: Needs | None = None, *, refuses: bool = True
) -> Solution:
    """Return the steady state of a network, with bounds where its needs are known; see `solve`."""
    limits = () if needs is None else bounds_of(network, needs)
    solution = replace(_steady_state(network, limits, refuses=refuses), bounds=limits)
    is_unsure = refuses and doubt_of(reasons_against(network)) == Doubt.PARTS
    is_unsure &= len(network.queues) > 1 or bool(network.pools)  # else the part is the whole
    return without_parts(solution) if is_unsure and not solution.is_exact else solution


def _steady_state(network: Network, limits: Sequence[Bounds], *, refuses: bool) -> Solution:
    behind = thinned(network)
    whole = network if behind is None else behind.network
    if full := saturated(whole):
        raise NoSteadyStateError(
            f"model {network.name!r} has no steady state: open classes offer a load of 1 or more "
            f"to {', '.join(full)}",
            cure="lower the arrivals or add servers",
        )
    inner_first(network)
    variability = arrival_c2(network, network.visits * network.rate_per_s)
    singles = singles_of(whole, variability)
    reasons = settled(network, reasons_against(network), singles)
    has_theorem = bool(exact_formula(network))
    if behind is not None:
        reasons = [
            one._replace(kind="known loss") if one.kind == "loss" else one for one in reasons
        ]
    elif rejecting(network):
        reasons.append(Reason("unknown loss", "what gets past a full station depends on the rest"))
    is_close = doubt_of(reasons) <= Doubt.PARTS and is_close_enough(key_of(network, reasons))
    if refuses and not is_close and not has_theorem:
        if behind is not None:  # what is lost depends on what is not estimated
            reasons.append(Reason("unknown loss", "what gets past depends on the rest"))
        return without_estimate(network, reasons)
    is_unequal_anywhere = any(map(is_unequal, network.stations))
    if network.pools or (is_unequal_anywhere and network.closed):
        return _by_levels(network, reasons, limits, refuses=refuses)
    if is_unequal_anywhere:
        network = at_speeds(network, network.rate_per_s)
    if network.closed:
        return _closed_solution(network, reasons, limits)
    return _open_solution(network, reasons, singles)


def _by_levels(
    given: Network, reasons: Sequence[Reason], limits: Sequence[Bounds], *, refuses: bool
) -> Solution:
    found = solve_by_levels(given)
    fullest = max((pool.utilization for pool in found.pools), default=0.0)
    is_known = len(reasons) == 1 and len(given.classes) == 1  # else the rate of a pool is a guess
    if refuses and given.open and not is_known and fullest > FULL_POOL:
        what = f"a pool is {fullest:.0%} full, and what it lets through is an approximation"
        return without_estimate(given, [*reasons, Reason("full pool", what)])
    responses = {
        column: _open_response_s(found.network, found.answer, column, found.waits)
        for column in given.open
    }
    return _solution(
        found.network,
        inside_bounds(found.network, found.answer, limits),
        reasons,
        is_exact=False,
        pools=found.pools,
        responses=responses,
    )


def _closed_solution(
    network: Network, reasons: Sequence[Reason], limits: Sequence[Bounds]
) -> Solution:
    if not reasons:
        cost = too_costly(closed_part(network))
        if not cost:
            return _solution(network, solve_exactly(network), (), is_exact=True)
        reasons = [Reason("cost", cost)]
    found = solve_by_laws(network, reasons) or solve_approximately(network)
    answer = inside_bounds(network, found, limits)
    return _solution(network, answer, reasons, is_exact=False)


def _open_solution(
    network: Network, reasons: Sequence[Reason], singles: Mapping[int, Single]
) -> Solution:
    behind = thinned(network)
    network = network if behind is None else behind.network
    waits = open_waits(network, singles)
    passing = np.ones(len(network.classes)) if behind is None else behind.passing
    if behind is None and waits.lost.any():  # impatience: a queue by itself, which all come to
        passing = np.prod((1 - waits.lost[:, None]) ** network.visits, axis=0)
    throughput = network.rate_per_s * passing
    rates = network.visits * network.rate_per_s * (1 - waits.lost[:, None])
    jobs = rates * (network.service_s + waits.wait_s)
    for row, single in singles.items():
        jobs[row] = single.jobs * network.visits[row] * network.rate_per_s / _rate(network, row)
    theorem = "Jackson's theorem" if len(network.queues) > 1 else "M/M/c"
    method = theorem if not reasons else exact_formula(network)
    joined = fork_join(network)
    is_exact = bool(method)
    response: Mapping[int, float] = {}
    if joined is not None:
        method, is_exact, response = joined.method, joined.is_exact, {0: joined.response_s}
    elif behind is not None:
        spent = behind.kept * (network.service_s + waits.wait_s)
        delays = [class_.delay_s for class_ in network.classes]
        response = dict(enumerate(spent.sum(axis=0) + delays))
    answer = Answer(
        method=method or _method(network, singles),
        throughput_per_s=throughput,
        wait_s=waits.wait_s,
        jobs=jobs,
    )
    left_out = () if is_exact else reasons
    return _solution(
        network, answer, left_out, is_exact=is_exact, responses=response, lost=waits.lost
    )


def _method(network: Network, singles: Mapping[int, Single]) -> str:
    """Return how an approximation is found: by one method for all stations, or by decomposition."""
    names = {singles[row].name if row in singles else "" for row in network.queues}
    is_one = len(names) == 1 and all(names)
    return names.pop() if is_one else "decomposition into G/G/c queues, Allen and Cunneen"


def _rate(network: Network, row: int) -> float:
    return float(network.visits[row] @ network.rate_per_s)


def _solution(
    network: Network,
    answer: Answer,
    reasons: Sequence[Reason],
    *,
    is_exact: bool,
    pools: Sequence[PoolSolution] = (),
    responses: Mapping[int, float] | None = None,
    lost: FloatArray | None = None,
) -> Solution:
    is_markov = is_exact and not reasons_against(network)
    return Solution(
        model=network.name,
        method=answer.method,
        is_exact=is_exact,
        reasons=texts(reasons),
        error_key=key_of(network, reasons),
        classes=tuple(
            solved
            for column, one in enumerate(network.classes)
            for solved in solved_members(
                network,
                answer,
                column,
                _class(
                    network,
                    answer,
                    column,
                    (responses or {}).get(column),
                    lost,
                    is_markov=is_markov,
                ),
                {pool.name: pool.wait_s for pool in pools},
            )
        ),
        stations=tuple(
            _station(network, answer, row, lost, is_markov=is_markov)
            for row in range(len(network.stations))
            if (network.visits[row] > 0).any()
        ),
        pools=tuple(pools),
        bounds=(),
    )


def _class(
    network: Network,
    answer: Answer,
    column: int,
    response: float | None,
    lost: FloatArray | None,
    *,
    is_markov: bool,
) -> ClassSolution:
    one, throughput = network.classes[column], float(answer.throughput_per_s[column])
    present = float(answer.jobs[:, column].sum()) + throughput * one.delay_s
    if one.is_open:
        response_s = _open_response_s(network, answer, column) if response is None else response
    else:
        response_s = one.population / throughput - one.think_s if throughput > 0 else math.inf
    return ClassSolution(
        name=one.name,
        throughput_per_s=throughput,
        response_s=response_s,
        jobs=throughput * response_s if lost is None or not lost.any() else present,
        response_s_at=response_percentiles(network) if is_markov else {},
    )


def _open_response_s(
    network: Network, answer: Answer, column: int, pools: Mapping[str, float] = NOBODY
) -> float:
    stations = station_slowness(network, answer.wait_s, column)
    return walk_time_s(network.classes[column].whole, stations, pools)


def _station(
    network: Network, answer: Answer, row: int, lost: FloatArray | None, *, is_markov: bool
) -> StationSolution:
    station = network.stations[row]
    passed = 1.0 if lost is None else 1.0 - lost[row]
    source = answer.throughput_per_s if lost is None else network.rate_per_s
    rates = network.visits[row] * source * passed
    total = float(rates.sum())
    wait = float(rates @ answer.wait_s[row]) / total if total > 0 else math.nan
    service = float(rates @ network.service_s[row]) / total if total > 0 else math.nan
    if wait <= ROUNDING * service:
        wait = 0.0
    parts = list(shares_at(network, answer, row))
    columns = [column for column, one in enumerate(network.classes) for _ in one.members or (one,)]
    pairs = list(zip(parts, columns, strict=True))
    return StationSolution(
        name=station.name,
        servers=station.servers,
        availability=station.availability,
        throughput_per_s=total,
        busy=total * service if total > 0 else 0.0,
        jobs=float(answer.jobs[row].sum()),
        wait_s=wait,
        response_s=wait + service,
        jobs_by_class={
            name: float(answer.jobs[row, column]) * part for (name, _, part), column in pairs
        },
        throughput_by_class={
            name: float(rates[column]) * part for (name, part, _), column in pairs
        },
        wait_s_at=wait_percentiles(network, row) if is_markov else {},
    )
