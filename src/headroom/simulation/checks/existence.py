"""Means that do not exist: service times without a variance, where jobs of open classes wait.

A job that waits finds a service half done. How long that still takes has a mean only if the
service has a variance: Kiefer and Wolfowitz (1956), Trans. Am. Math. Soc. 78, 1-18. Where k servers
are free on average, as many services must be long at once, so that the tail of the law counts k
times: Scheller-Wolf and Sigman (1997), Queueing Systems 26, 1-19. Percentiles exist all the same.

Invariant: what is named here does not exist; what is not named may not exist either, where laws
depend on more than draws.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from headroom.simulation.checks.capacity import offered_loads
from headroom.simulation.checks.parsed import Parsed, parse_model
from headroom.simulation.checks.structure import Assign, AttemptBlock, Body, Use, parts
from headroom.simulation.language.amounts import Amount
from headroom.simulation.language.model import Model
from headroom.simulation.laws.distribution import Distribution

_KEEPS_ALL = frozenset({"add", "subtract", "multiply", "divide"})
"""Operations after which a sum or product of independent draws has the heaviest of their tails."""
_MEAN, _VARIANCE = 1.0, 2.0
"""Moments of what all free servers have left to do, up to which the wait has none."""
_SHARES = frozenset({"ps", "lcfs_preempt", "infinite"})
"""Disciplines by which no job waits for the service of another one as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endless:
    """A queue whose mean wait does not exist, or whose wait has no variance.

    Parameters
    ----------
    station
        Its name.
    classes
        The open classes whose jobs wait there, and so have no mean response either.
    location, law
        Line of the step that asks for the service, and what it draws.
    has_mean
        True if the mean exists, but its estimate has no variance.
    """

    station: str
    classes: tuple[str, ...]
    location: str
    law: str
    has_mean: bool

    @property
    def text(self) -> str:
        """What does not exist, and why, as a sentence without a full stop."""
        if self.has_mean:
            return (
                f"intervals of mean responses are too narrow: {self.law} at station "
                f"{self.station!r} has no third moment, so the wait has no variance; percentiles "
                f"settle ({self.location})"
            )
        return (
            f"the mean response does not exist: {self.law} at station {self.station!r} has no "
            f"variance; percentiles exist ({self.location})"
        )


def endless(model: Model) -> tuple[Endless, ...]:
    """Return the queues of a model whose mean wait, or the variance of it, does not exist.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential, pareto
    >>> model = Model("queue", time_unit="s")
    >>> visit = model.program("visit")
    >>> visit.use(model.station("desk"), pareto(1, shape=1.5))
    >>> model.open_class("visitors", visit, interarrival=exponential(6))
    >>> [(one.station, one.classes, one.has_mean) for one in endless(model)]
    [('desk', ('visitors',), False)]
    """
    steps = (step for program in model.programs.values() for step in program.steps)
    amounts = (amount for step in steps for amount in step.amounts.values())
    if all(math.isinf(_tail_of(amount, {})) for amount in amounts):
        return ()
    parsed = parse_model(model)
    assigned = _assigned(parsed)
    heavy = {name: list(_heavy(tree, assigned)) for name, tree in parsed.trees.items()}
    if not any(heavy.values()):
        return ()
    loads = offered_loads(model)
    found = []
    for name, station in model.stations.items():
        tails = [one for one in chain.from_iterable(heavy.values()) if one[0].station == name]
        if not tails or station.discipline in _SHARES or station.buffer is not None:
            continue
        use, tail = min(tails, key=lambda one: one[1])
        classes = tuple(_waiting(parsed, name))
        spare = station.servers - math.floor(loads.get(name, 0.0) * station.servers + 1e-9)
        excess = spare * (tail - 1.0)
        if classes and spare > 0 and excess <= _VARIANCE:
            found.append(Endless(station=name, classes=classes, location=use.location,
                                 law=str(use.service), has_mean=excess > _MEAN))  # fmt: skip
    return tuple(found)


def meanless_rows(model: Model, found: Iterable[Endless]) -> tuple[str, ...]:
    """Return the rows of the results, stations and classes, whose means do not exist."""
    rows: dict[str, None] = {}
    for one in found:
        if not one.has_mean:
            rows[f"station.{model.stations[one.station].row}"] = None
            rows |= dict.fromkeys(f"class.{name}" for name in one.classes)
    return tuple(rows)


def tail_index(law: Distribution) -> float:
    """Return the order from which on a law has no moments; infinite if it has all.

    Examples
    --------
    >>> from headroom.simulation import constant, mixture, pareto
    >>> tail_index(mixture([constant(1), 2 * pareto(1, shape=1.5)], weights=[9, 1]))
    1.5
    """
    given: dict[str, Any] = dict(law.parameters)
    if law.kind == "pareto":
        return float(given["shape"])
    inner = given.get("laws", given.get("law", ()))
    laws = inner if isinstance(inner, tuple) else (inner,)
    # Other laws have weights, too: of values, not of laws.
    weights = given["weights"] if "laws" in given and "weights" in given else (1.0,) * len(laws)
    return min(
        (tail_index(one) for one, weight in zip(laws, weights, strict=True) if weight > 0),
        default=math.inf,
    )


def _tail_of(amount: Amount, assigned: Mapping[str, float]) -> float:
    if isinstance(amount, Distribution):
        return tail_index(amount)
    found = math.inf
    for token in amount.tokens:
        if token.kind == "apply" and str(token.value) not in _KEEPS_ALL:
            return math.inf
        if isinstance(token.value, Distribution):
            found = min(found, tail_index(token.value))
        elif token.kind == "attribute":
            found = min(found, assigned.get(str(token.value), math.inf))
    return found


def _assigned(parsed: Parsed) -> dict[str, float]:
    """Return the heaviest tail of what each attribute is given."""
    found: dict[str, float] = {}
    for tree in parsed.trees.values():
        for node in _unlimited(tree):
            if isinstance(node, Assign):
                tail = _tail_of(node.value, found)
                found[node.attribute] = min(tail, found.get(node.attribute, math.inf))
    return found


def _heavy(body: Body, assigned: Mapping[str, float]) -> Iterator[tuple[Use, float]]:
    for node in _unlimited(body):
        if isinstance(node, Use) and node.patience is None:
            tail = _tail_of(node.service, assigned)
            if math.isfinite(tail):
                yield node, tail


def _unlimited(body: Body) -> Iterator[object]:
    """Yield the steps that no time-out ends."""
    for node in body:
        yield node
        if not (isinstance(node, AttemptBlock) and node.timeout is not None):
            for part in parts(node):
                yield from _unlimited(part)


def _waiting(parsed: Parsed, station: str) -> Iterator[str]:
    """Yield the open classes whose jobs visit a station, and wait there as long as it takes."""
    model = parsed.model
    users = {
        name
        for name, tree in parsed.trees.items()
        if any(isinstance(one, Use) and one.station == station and one.patience is None
               for one in _unlimited(tree))
    }  # fmt: skip
    heaviest = max((one.priority for one in model.classes.values()), default=0)
    for name, class_ in model.classes.items():
        is_ahead = (
            model.stations[station].discipline == "priority_preempt"
            and class_.priority == heaviest
            and len({one.priority for one in model.classes.values()}) > 1
        )
        reaches = parsed.reached_from(class_.program) & users
        if class_.population is None and class_.is_endless and reaches and not is_ahead:
            yield name
