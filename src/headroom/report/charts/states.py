"""Time of each class by state: one bar per class, divided by what its jobs wait for or do.

Invariant: the parts of a bar add up to the whole; what is too small to be told apart is one part,
and so is time that no state accounts for.
"""

from collections.abc import Sequence

from headroom.analysis.results import ExperimentResult, PointResult
from headroom.report.charts.panel import Panel
from headroom.report.figures.axes import linear_axis
from headroom.report.figures.inputs import Stack, Stacks
from headroom.report.first_screen.grids import PARTS
from headroom.report.states import class_names, shares_of

STATES_AT_MOST = 7
"""Parts of a bar that have a colour of their own, the rest included."""
_REST = "other"


def states_of(point: PointResult) -> Stacks | None:
    """Return a bar for each class of a point; None if it tells no states."""
    shares = {
        name: {words: one.value for words, one in found.items()}
        for name in class_names(point)
        if (found := shares_of(point, name))
    }
    if not shares:
        return None
    largest: dict[str, float] = {}
    for parts in shares.values():
        for words, value in parts.items():
            largest[words] = max(largest.get(words, 0.0), value)
    kept = set(sorted(largest, key=lambda words: -largest[words])[: STATES_AT_MOST - 1])
    order = [words for words in largest if words in kept]
    return Stacks(
        x=linear_axis([0.0, 100.0], "share of the time", suffix="%"),
        parts=tuple(
            (words, role, is_faint)
            for words, (role, is_faint) in zip([*order, _REST], PARTS, strict=False)
        ),
        stacks=tuple(
            Stack(label=name, parts=_bar(parts, order), text="") for name, parts in shares.items()
        ),
    )


def _bar(shares: dict[str, float], order: Sequence[str]) -> tuple[float, ...]:
    """Return the parts of a bar (per cent), all that is not among `order` as the last."""
    known = [100.0 * shares.get(words, 0.0) for words in order]
    return (*known, max(0.0, 100.0 - sum(known)))


def states_panel(experiment: ExperimentResult, points: Sequence[PointResult]) -> Panel:
    """Return the panel of the states; without pictures if no point tells them."""
    pictures = {(point.key, ""): one for point in points if (one := states_of(point)) is not None}
    return Panel(
        key=f"{experiment.name}-states",
        title="Where the time of each class goes",
        caption="Shares of the time that jobs spend in the system, think time left out; parts "
        f"beyond the largest {STATES_AT_MOST - 1} are one.",
        pictures=pictures,
        is_wide=True,
    )
