"""The walk of a mix: its classes are drawn in turn, so one job walks all of them in succession.

The demand of a mix job per walk is the mean over its classes, weighted by how often each is drawn.
So a mix is one closed class (a chain of class switches), and the results of its classes follow from
their own walks. If classes are drawn at random, that is exact for every product-form network:
Baskett, Chandy, Muntz and Palacios (1975), JACM 22(2), 248-260, section 3.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from headroom.simulation import ComputedDraw, Model
from headroom.simulation.language import classes as simulated
from headroom.solvers.reasons import Reason
from headroom.solvers.walk import Hold, Join, Part, Section, Walk, add_join

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """What becomes one class of a network: a class, or the classes of a mix with their shares.

    Parameters
    ----------
    name
        Name of the class or of the mix.
    classes
        The classes.
    shares
        How often each of them is walked, of all walks.
    reasons
        Why the classes of a walk are no independent draws, with the line of the mix.
    """

    name: str
    classes: tuple[simulated.JobClass, ...]
    shares: tuple[float, ...]
    reasons: tuple[Reason, ...] = ()


def chains_of(model: Model) -> Iterator[Chain]:
    """Yield the classes and the mixes of a model, in the order of the model.

    Examples
    --------
    >>> model = Model("shop")
    >>> program = model.program("visit")
    >>> program.delay(1)
    >>> model.closed_mix("users", {"look": (program, 3), "buy": (program, 1)}, population=4)
    >>> [(chain.name, chain.shares) for chain in chains_of(model)]
    [('users', (0.75, 0.25))]
    """
    members: dict[str, list[simulated.JobClass]] = {name: [] for name in model.mixes}
    for class_ in model.classes.values():
        if class_.mix:
            members[class_.mix].append(class_)
    for class_ in model.classes.values():
        if not class_.mix:
            yield Chain(name=class_.name, classes=(class_,), shares=(1.0,))
        elif members[class_.mix][0] is class_:
            yield _chain(model, class_.mix, members[class_.mix])


def _chain(model: Model, name: str, classes: Sequence[simulated.JobClass]) -> Chain:
    mix, total = model.mixes[name], sum(class_.weight for class_ in classes)
    where = f"{mix.location}: mix {name!r}"
    reasons = []
    if isinstance(mix.draw, ComputedDraw):
        what = f"{where}: jobs compute their class; here each is drawn by its weight"
        reasons.append(Reason("computed class", what))
    if mix.draw == "deck" and len(classes) > 1:
        what = f"{where}: classes come from a deck; here each is drawn at random"
        reasons.append(Reason("deck", what))
    if len({class_.priority for class_ in classes}) > 1:
        what = f"{where}: its classes have different priorities; here they have one"
        reasons.append(Reason("own priority", what))
    return Chain(
        name=name,
        classes=tuple(classes),
        shares=tuple(class_.weight / total for class_ in classes),
        reasons=tuple(reasons),
    )


def mixed_walk(walks: Sequence[Walk], shares: Sequence[float]) -> Walk:
    """Return the mean walk of a chain, from one walk of each of its classes."""
    if len(walks) == 1:
        return walks[0]
    found = Walk(walks[0].programs, dict(walks[0].attributes))
    for walk, share in zip(walks, shares, strict=True):
        found.uses += [replace(use, mass=use.mass * share) for use in walk.uses]
        _add(found.flows, walk.flows, share)
        _add_section(found.whole, walk.whole, share)
        for pool, hold in walk.holds.items():
            _add_hold(found.holds.setdefault(pool, Hold(location=hold.location)), hold, share)
        for path, part in walk.parts.items():
            _add_part(found.parts.setdefault(path, Part()), part, share)
        found.reasons |= walk.reasons
        found.unknown = found.unknown or walk.unknown
    return found


def _add(to: dict[Key, float], values: Mapping[Key, float], share: float) -> None:
    for name, value in values.items():
        to[name] = to.get(name, 0.0) + share * value


def _add_section(to: Section, section: Section, share: float) -> None:
    _add(to.visits, section.visits, share)
    _add(to.work, section.work, share)
    _add(to.grants, section.grants, share)
    to.delay += share * section.delay
    for join in section.joins:
        add_join(to.joins, _scaled_join(join, share))


def _scaled_join(join: Join, share: float) -> Join:
    arms = []
    for arm in join.arms:
        arms.append(Section())
        _add_section(arms[-1], arm, share)
    return replace(join, mass=join.mass * share, arms=arms)


def _add_hold(to: Hold, hold: Hold, share: float) -> None:
    to.grants += share * hold.grants
    to.tokens += share * hold.tokens
    to.most_tokens = max(to.most_tokens, hold.most_tokens)


def _add_part(to: Part, part: Part, share: float) -> None:
    _add(to.visits, part.visits, share)
    _add(to.work, part.work, share)
    _add(to.grants, part.grants, share)
    to.delay += share * part.delay
    to.variance += share * part.variance
