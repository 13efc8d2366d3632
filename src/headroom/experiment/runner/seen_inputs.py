"""What runs were seen to depend on: stored with the journal's environments, compared before reuse.

A system that observes its runs (`SeesInputs`) says as a text what a run used. The text is stored
once, in an environment without rows, with the points for which it holds and the fingerprint that
they had; rows are linked to it by their environment. Before a row is reused, its text is compared
with the present state; only if no text holds any longer is a run observed again.

Rows of versions that observed nothing have no text, and count as they did.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from headroom.experiment.protocol.system import SeesInputs
from headroom.experiment.study.plan import PlannedExperiment, Point
from headroom.experiment.study.seeds import digest

SEEN = "seen"
"""Key of an environment that holds what was seen of points."""
OTHER_THING = "measured with another program, input or device"
OTHER_ENVIRONMENT = "measured with another environment"
_MOST_NAMED = 4


class Verdicts(NamedTuple):
    """By environment and point key why its rows do not count; by point key the text that holds."""

    refused: Mapping[tuple[int, str], str]
    holding: Mapping[str, str]


class _Sight(NamedTuple):
    environment: int
    text: str


class _Stored(msgspec.Struct):
    """What an environment holds under `SEEN`."""

    of: int | None
    """Number of the environment to which the rows belong; None for this one."""
    points: dict[str, tuple[str, str]]
    """Key of a point to the hash of its text and its fingerprint."""
    texts: dict[str, str]
    """Hash to text; one of an earlier environment need not be stored again."""


def facts_of_points(
    points: Iterable[Point],
    texts: Mapping[str, str],
    *,
    environment: int | None = None,
    is_new: bool = True,
) -> dict[str, Any]:
    """Return what to store in an environment: the texts of points, by their keys.

    Parameters
    ----------
    points
        Those of which something was seen.
    texts
        What was seen, by key.
    environment
        Number of the environment to which the rows belong; None for the one that is made of this.
    is_new
        False if the journal has these texts already.
    """
    told = {point.key: (digest(texts[point.key]), point.fingerprint) for point in points}
    by_digest = {digest(texts[key]): texts[key] for key in told} if is_new else {}
    return {SEEN: {"of": environment, "points": told, "texts": by_digest}} if told else {}


def is_sight(facts: Mapping[str, Any]) -> bool:
    """Return whether an environment only holds what was seen, and is no session."""
    stored = _stored(facts)
    return stored is not None and stored.of is not None


def _stored(facts: Mapping[str, Any]) -> _Stored | None:
    """Return what an environment holds; None if it holds nothing, or is damaged."""
    try:
        return msgspec.convert(facts.get(SEEN), _Stored)
    except msgspec.ValidationError:
        return None


def verdicts(
    experiment: PlannedExperiment,
    environments: Iterable[Mapping[str, Any]],
    *,
    is_here: bool,
    is_run: bool,
) -> Verdicts:
    """Return which rows do not count because of what was seen.

    Parameters
    ----------
    experiment, environments
        The experiment, and the sessions of the journal.
    is_here
        False if the machine in question is another one: nothing is compared then.
    is_run
        True if rows are to be reused: all must hold. A reader sees the newest if none holds.
    """
    system = experiment.system
    points = {point.key: point for point in experiment.points}
    refused: dict[tuple[int, str], str] = {}
    holding: dict[str, str] = {}
    if not isinstance(system, SeesInputs):
        return Verdicts(refused, holding)
    sights = _sights(points, environments)
    texts = {sight.text for known in sights.values() for sight in known}
    changes = system.changes_since(texts) if is_here else dict.fromkeys(texts, ())
    for key, known in sights.items():
        valid = [sight.text for sight in known if not changes[sight.text]]
        if valid:
            holding[key] = valid[-1]
        elif not is_run:
            valid = [known[-1].text]
        refused |= {
            (sight.environment, key): _reason(changes[sight.text])
            for sight in known
            if sight.text not in valid
        }
    return Verdicts(refused, holding)


def _sights(
    points: Mapping[str, Point], environments: Iterable[Mapping[str, Any]]
) -> Mapping[str, Sequence[_Sight]]:
    """Return what was seen of each point with its present fingerprint, oldest first."""
    texts: dict[str, str] = {}
    sights: dict[str, list[_Sight]] = defaultdict(list)
    for facts in environments:
        if (stored := _stored(facts)) is None:
            continue
        texts |= stored.texts
        for key, (name, fingerprint) in stored.points.items():
            if key in points and points[key].fingerprint == fingerprint and name in texts:
                sights[key].append(_Sight(stored.of or int(facts["id"]), texts[name]))
    return sights


def _reason(names: Sequence[str]) -> str:
    """Return why a row does not count, from the names of what differs."""
    shown = ", ".join(sorted(names)[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    if not all(name.startswith("$") for name in names):
        return f"{OTHER_THING} ({shown}{more})"
    ignored = ", ".join(f'"{name[1:]}"' for name in sorted(names)[:_MOST_NAMED])
    return f"{OTHER_ENVIRONMENT} ({shown}{more}); to reuse them: ignore_env = [{ignored}]"
