"""Saturated points as sentences and cells of tables.

Invariant: restates `Saturation`; nothing is computed here.
"""

from collections.abc import Sequence

from headroom.analysis.results import ExperimentResult, PointResult, Saturation
from headroom.quantities import format_bounds, format_level, format_plain
from headroom.report.dimensions import dimensions_of
from headroom.report.words import count_noun, first_few, label_point

SATURATED = "saturated"
"""Text of a cell whose metric grows without bound."""
_SENTENCES_AT_MOST = 3
_FULL = 1.005
"""Load from which a factor is worth printing: below it prints as 1.00."""


def is_unbounded(point: PointResult, metric: str) -> bool:
    """Return whether a metric grows without bound at a point."""
    return point.saturation is not None and metric in point.saturation.unbounded


def name_of(found: Saturation) -> str:
    """Return the saturated resource, with its kind.

    Examples
    --------
    >>> name_of(Saturation(kind="station", name="cpu", basis="formulas"))
    'station "cpu"'
    >>> name_of(Saturation(kind="system", name="", basis="runs"))
    'the system'
    """
    return f'{found.kind} "{found.name}"' if found.name else "the system"


def saturation_words(found: Saturation) -> str:
    """Return where a point is saturated, by how much, what flows through and what grows.

    Examples
    --------
    >>> saturation_words(Saturation(kind="station", name="cpu", basis="formulas", load=1.3,
    ...     served_per_s=100.0, served_low=99.0, served_high=101.0, growth_per_s=30.2,
    ...     growth_low=29.0, growth_high=31.0))
    'station "cpu" is offered 1.30 times its capacity; 100.0 /s (99.0 to 101.0) are served and the \
number of jobs grows by 30.2 /s (29.0 to 31.0)'
    """
    parts = [_offered(found)]
    if found.served_per_s is not None:
        served = format_bounds(found.served_per_s, found.served_low, found.served_high, "1/s")
        parts.append(f"{served} are served")
    words = "; ".join(parts)
    if found.growth_per_s is None:
        return words
    grows = format_bounds(found.growth_per_s, found.growth_low, found.growth_high, "1/s")
    return f"{words} and the number of jobs grows by {grows}"


def _offered(found: Saturation) -> str:
    name = name_of(found)
    if found.load is None:
        return f"{name} is offered more than its capacity"
    if found.basis == "formulas":
        times = f"{format_plain(found.load, decimals=2)} times " if found.load >= _FULL else ""
        return f"{name} is offered {times}its capacity"
    ratio = format_bounds(found.load, found.load_low, found.load_high, "1")
    return f"{name} is saturated: {ratio} times as many jobs arrive as leave"


def saturation_sentences(experiment: ExperimentResult) -> list[str]:
    """Return one sentence for each station or pool that is saturated somewhere."""
    places = list(
        dict.fromkeys(name_of(p.saturation) for p in experiment.points if p.saturation is not None)
    )
    sentences = [_sentence(experiment, place) for place in places]
    return first_few(sentences, _SENTENCES_AT_MOST, "are saturated")


def _sentence(experiment: ExperimentResult, place: str) -> str:
    points = [p for p in experiment.points if p.saturation and name_of(p.saturation) == place]
    first = points[0]
    words = saturation_words(first.saturation) if first.saturation else ""
    where = label_point(first, experiment.factors)
    where = f"At {where}: " if len(experiment.points) > 1 else ""
    also = _also(experiment, points)
    text = f"{where}{words}{also}"
    return f"{text[:1].upper()}{text[1:]}."


def _also(experiment: ExperimentResult, points: Sequence[PointResult]) -> str:
    """Say where else the same is saturated: the levels of the only factor, or how many points."""
    if len(points) == 1:
        return ""
    dimensions = dimensions_of(experiment)
    if len(dimensions) == 1 and dimensions[0].is_numeric:
        name = dimensions[0].name
        last = format_level(max(dimensions[0].number_of(point) for point in points))
        return f"; saturated up to {name} = {last}"
    return (
        f"; so {'is' if len(points) == 2 else 'are'} {count_noun(len(points) - 1, 'other point')}"  # noqa: PLR2004
    )
