"""Where the time of a response goes, by level; and how busy parts were over time.

Invariant: the parts of a bar add up to its mean response time.
"""

from collections.abc import Mapping, Sequence

from headroom.analysis.answer_evidence import Part
from headroom.analysis.pictures import evenly
from headroom.analysis.results import ExperimentResult, PointResult, SeriesLine
from headroom.analysis.verdicts.directions import is_resource
from headroom.quantities import brief_levels, choose_scale
from headroom.report.dimensions import Dimension, dimensions_of
from headroom.report.figures.axes import linear_axis
from headroom.report.figures.inputs import Busy, BusyRow, Stack, Stacks
from headroom.report.figures.roles import Role
from headroom.report.first_screen.scales import digits, value_axis
from headroom.report.first_screen.sentences.names import factor_words, noun, with_factor
from headroom.report.first_screen.sentences.sentence import brief_percent_of
from headroom.report.sentences.numbers import capital
from headroom.report.states import class_names, shares_of
from headroom.report.words import label_factor, label_point

_MOST_STACKS = 8
_SERVED, _OTHER = "being served", "other"
_WAITS: tuple[tuple[Role, bool], ...] = (("limit", True), ("limit", False), ("third", False))
"""Colours of the longest waits; all others are one part."""
_MOST_ROWS = 4
_MACHINE = "machine.cpu"
_ROLE = "machine."
"""Begins the names of machines of other roles than the load."""
_MOST_STEPS = 240


def time_of(experiment: ExperimentResult) -> tuple[Stacks, str] | None:
    """Return the parts of the mean response time by level, and the largest at the fullest level.

    That is the last one, and of servers or tokens the first.

    None if the design has more than one numeric factor, or more classes than one, or if no states
    are known.
    """
    dimensions = dimensions_of(experiment)
    if len(dimensions) != 1 or not dimensions[0].is_numeric:
        return None
    found = [
        (point, shares)
        for point in sorted(experiment.points, key=dimensions[0].number_of)
        if (shares := _shares(point)) and "response_s_mean" in point.estimates
    ]
    found = [found[place] for place in evenly(len(found), _MOST_STACKS)]
    if len(found) < 2:  # noqa: PLR2004
        return None
    factor = dimensions[0].factors[0]
    is_of_parts = is_resource(factor.name, experiment.points, declared=factor.direction)
    point, told = found[0 if is_of_parts else -1]
    waits = sorted((name for name in told if name not in {_SERVED, _OTHER}), key=lambda n: -told[n])
    order = [_SERVED, *waits[: len(_WAITS)], _OTHER]
    largest = max(told, key=lambda name: told[name])
    level = point.levels[factor.name]
    at = with_factor(factor_words(factor.name), level, factor.unit)
    title = f"{brief_percent_of(told[largest])} of a response is {_gerund(largest)} at {at}"
    return _stacks(found, order, dimensions[0]), title


def _shares(point: PointResult) -> dict[str, float]:
    """Return the share of each part of a response; service of all stations is one part."""
    names = class_names(point)
    if len(names) != 1:
        return {}
    shares: dict[str, float] = {}
    for words, estimate in shares_of(point, names[0]).items():
        name = _SERVED if words.startswith("service at ") else words
        shares[name] = shares.get(name, 0.0) + estimate.value
    return shares


def _gerund(words: str) -> str:
    return words.replace("wait ", "waiting ", 1) if words.startswith("wait ") else words


def _stacks(
    found: Sequence[tuple[PointResult, dict[str, float]]], order: Sequence[str], axis: Dimension
) -> Stacks:
    means = [point.estimates["response_s_mean"].value for point, _ in found]
    labels = brief_levels([axis.number_of(point) for point, _ in found])
    scale = choose_scale(means, "s")
    colours: list[tuple[Role, bool]] = [
        ("data", False),
        *_WAITS[: len(order) - 2],
        ("context", False),
    ]
    return Stacks(
        x=value_axis([m * scale.factor for m in means], f"response time ({scale.label})", scale),
        parts=tuple((n, role, faint) for n, (role, faint) in zip(order, colours, strict=True)),
        stacks=tuple(
            Stack(
                label=label,
                parts=tuple(mean * scale.factor * share for share in _in_order(shares, order)),
                text=digits(mean, scale),
            )
            for label, mean, (_, shares) in zip(labels, means, found, strict=True)
        ),
        title=label_factor(axis.factors[0]),
    )


def _in_order(shares: dict[str, float], order: Sequence[str]) -> list[float]:
    """Return the shares of the parts with a colour, and the rest as the last."""
    known = [shares.get(name, 0.0) for name in order[:-1]]
    return [*known, max(0.0, 1.0 - sum(known))]


def busy_of(experiment: ExperimentResult) -> tuple[Busy, str] | None:
    """Return how busy parts were over time at the last point that recorded it, with the busiest."""
    for point in reversed(experiment.points):
        lines = [one for one in point.series.lines if _is_busy(one)] if point.series else []
        if point.series is None or not lines:
            continue
        lines = sorted(lines, key=lambda line: -_mean(line))[:_MOST_ROWS]
        step = point.series.step_s
        time = choose_scale([step * point.series.count], "s")
        rows = tuple(
            BusyRow(
                label=_group_of(line.name),
                role="limit" if line.name == point.limiter else "data",
                shares=_thin(line.values),
            )
            for line in lines
        )
        others = _others(lines, {one.name: one.capacity for one in point.resources})
        if others:
            rows = (
                *rows,
                BusyRow(label="others", role="context", shares=_thin(others)),
            )
        end = step * point.series.count * time.factor
        at = label_point(point, experiment.factors)
        busiest = noun(Part(kind="station", name=lines[0].name)).text
        title = f"{capital(busiest)}: {brief_percent_of(_mean(lines[0]))} busy on average at {at}"
        return Busy(x=linear_axis([0.0, end], f"time ({time.label})"), rows=rows), title
    return None


def _group_of(name: str) -> str:
    """Return a part as a short label; of the processors of processes, who they are.

    Examples
    --------
    >>> _group_of("service.db.cpu"), _group_of("machine.cpu"), _group_of("machine.server.cpu")
    ('db', 'machine', 'machine of server')
    """
    if not name.endswith(".cpu"):
        return name
    group = name.removesuffix(".cpu").removeprefix("service.")
    return f"machine of {group.removeprefix(_ROLE)}" if group.startswith(_ROLE) else group


def _others(lines: Sequence[SeriesLine], capacity: Mapping[str, float | None]) -> list[float]:
    """Return the share of the processors that programs other than the observed ones take.

    Nothing if several machines were observed: a line does not say on which one it was.
    """
    machine = next((one for one in lines if one.name == _MACHINE), None)
    if machine is None or any(one.name.startswith(_ROLE) for one in lines if one is not machine):
        return []
    whole = capacity.get(_MACHINE) or 1.0
    own = [
        (one, (capacity.get(one.name) or whole) / whole)
        for one in lines
        if one is not machine and one.name.endswith(".cpu")
    ]
    return [
        max(0.0, (value or 0.0) - sum(weight * (one.values[place] or 0.0) for one, weight in own))
        for place, value in enumerate(machine.values)
    ]


def _is_busy(line: SeriesLine) -> bool:
    return line.metric == "utilization" and len({v for v in line.values if v is not None}) > 1


def _mean(line: SeriesLine) -> float:
    known = [value for value in line.values if value is not None]
    return sum(known) / len(known)


def _thin(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return the means of equal stretches, few enough to be drawn."""
    width = -(-len(values) // _MOST_STEPS)
    stretches = [values[start : start + width] for start in range(0, len(values), width)]
    means = []
    for stretch in stretches:
        known = [value for value in stretch if value is not None]
        means.append(sum(known) / len(known) if known else None)
    return tuple(means)
