"""More than was given: where no configuration meets the targets, what limits the largest one grows.

A factor that serves the limiting resource gets higher levels; else the servers or tokens of the
resource become a factor themselves. The next search has them all, so that its answer is the
cheapest joint change. It ends with an answer, where nothing limits, or where more is refused.

Invariant: what was asked is answered first; nothing here changes that answer.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from headroom.analysis.evidence import Limiting
from headroom.errors import HeadroomError
from headroom.experiment.protocol.system import Modelled
from headroom.simulation import Model
from headroom.simulation.checks.capacity import overloads
from headroom.simulation.checks.visits import expected_visits
from headroom.simulation.language.model import SECONDS_PER_UNIT
from headroom.sizing.conclusion import Question, conclude, with_beyond
from headroom.sizing.evaluate import Evaluator, Subject
from headroom.sizing.result import SizingResult
from headroom.sizing.size import Sizing, configuration_at
from headroom.sizing.space import MOST_CONFIGURATIONS, Axis, Space

MOST_ROUNDS = 6
"""Times that the space grows."""
_ROUNDING = 1e-9
_MOST_JOINT = 4
"""Resources that limit together and grow together."""


def answered(
    question: Question, subject: Subject, sizing: Sizing, evaluator: Evaluator, *, most: int
) -> SizingResult:
    """Run a search and, if nothing given is enough, look beyond; return the result.

    Parameters
    ----------
    question, subject, sizing, evaluator
        The request, what is sized, its search, and what simulates.
    most
        Configurations simulated at most in each search.
    """
    sizing.run()
    result = conclude(question, sizing)
    is_hopeless = result.nearest is not None and result.limit is None
    if result.is_found or result.undecided or result.not_tried or is_hopeless:
        return result
    return with_beyond(result, _beyond(subject, sizing, evaluator, most))


def _beyond(subject: Subject, sizing: Sizing, evaluator: Evaluator, most: int) -> Sizing | None:
    """Return the search beyond the given factors that found an answer, None if none did."""
    for _ in range(MOST_ROUNDS):
        space = None if sizing.contradictions else _wider(subject, sizing)
        if space is None:
            return None
        declared = {axis.name for axis in space.axes}
        config = {name: value for name, value in subject.config.items() if name not in declared}
        wider = replace(subject, config=config)
        sizing = Sizing(wider, space, sizing.targets, evaluator, most=most)
        sizing.run()
        if sizing.search.best is not None:
            return sizing
    return None


def _wider(subject: Subject, sizing: Sizing) -> Space | None:
    """Return the space with more of what limits its largest configuration; None for no more."""
    space = sizing.space
    if not isinstance(subject.system, Modelled):
        return None
    found = {axis.name: axis for axis in space.axes}
    try:
        top = _model(subject, space, space.top)
        for kind, name in list(_limiting(sizing, top))[:_MOST_JOINT]:
            own = _own(top, kind, name)
            axis = _serving(subject, space, kind, name)
            axis = axis or _longer(subject, found.get(own.name, own))
            found[axis.name] = axis
        axes = tuple(found.values())
        wider = Space(axes, {axis.name: space.weights.get(axis.name, 1.0) for axis in axes})
        _model(subject, wider, wider.top)
    except HeadroomError:  # More is refused: a level out of range, a resource of one alone.
        return None
    return wider if space.size < wider.size < MOST_CONFIGURATIONS else None


def _model(subject: Subject, space: Space, place: tuple[int, ...]) -> Model:
    one = configuration_at(subject, space, place)
    if not isinstance(subject.system, Modelled):
        raise TypeError("asked of modelled systems alone")
    return subject.system.model(one.config, one.changes)


def _limiting(sizing: Sizing, top: Model) -> Iterator[tuple[str, str]]:
    """Yield the resources that limit the largest configuration, all that limit it together."""
    looked = [step for step in sizing.trail if step.place == sizing.space.top]
    judgement = looked[-1].judgement if looked else None
    if judgement is None or judgement.bottleneck is None:
        yield from ((full.kind, full.name) for full in overloads(top))
        return
    evidence = judgement.bottleneck.evidence
    if isinstance(evidence, Limiting):
        for used in (evidence.cause, *evidence.ties):
            yield used.kind, used.name
    elif any(check.met is False and not check.target.is_floor for check in judgement.checks):
        yield evidence.fullest.kind, evidence.fullest.name


def _serving(subject: Subject, space: Space, kind: str, name: str) -> Axis | None:
    """Return the factor that can have more levels, along which a resource has less to do a job."""
    for number, axis in enumerate(space.axes):
        low = tuple(0 if number == one else top for one, top in enumerate(space.top))
        less, more = (_demand(_model(subject, space, at), kind, name) for at in (low, space.top))
        longer = _longer(subject, axis)
        if more < less * (1.0 - _ROUNDING) and longer != axis:
            return longer
    return None


def _demand(model: Model, kind: str, name: str) -> float:
    """Return the time (s) that a job of each class takes of a station, pool or group of them."""
    visits = expected_visits(model)
    times = visits.pool_times if kind == "pool" else visits.demands
    parts = _parts(model, kind).get(name)
    if parts is None:
        return math.inf
    spent = math.fsum(one.get(part, 0.0) for one in times.values() for part, _ in parts)
    capacity = math.fsum(capacity for _, capacity in parts)
    return spent * SECONDS_PER_UNIT[model.time_unit] / capacity


def _parts(model: Model, kind: str) -> Mapping[str, list[tuple[str, float]]]:
    """Return name and capacity of each member of each station, pool or group of them."""
    if kind == "pool":
        rows = model.pool_rows().items()
        return {row: [(one.name, one.mean_tokens) for one in found] for row, found in rows}
    return {
        row: [(one.name, one.total_speed) for one in found]
        for row, found in model.station_rows().items()
    }


def _own(top: Model, kind: str, name: str) -> Axis:
    """Return the servers or tokens of a resource as a factor, from what there is."""
    if kind == "pool":
        return Axis(f"pool.{name}.tokens", (top.pool_rows()[name][0].tokens,))
    return Axis(f"station.{name}.servers", (top.station_rows()[name][0].servers,))


def _longer(subject: Subject, axis: Axis) -> Axis:
    """Return a factor of whole numbers with those up to twice its highest, as far as allowed."""
    last = axis.levels[-1]
    if not isinstance(last, int) or not axis.is_priced_by_value:
        return axis
    highs = [one.high for one in subject.system.parameters() if one.name == axis.name]
    high = min([2 * last + 1, *(int(high) for high in highs if high is not None)])
    return Axis(axis.name, (*axis.levels, *range(last + 1, high + 1)))
