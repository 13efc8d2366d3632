"""The `headroom size` command that answers what a curve over a resource leaves open.

Invariant: made from results alone, so that it is there before anything more is run.
"""

import shlex
from collections.abc import Iterator

from headroom.analysis.results import ExperimentResult, LimitCrossing, StudyResult
from headroom.quantities import format_level


def size_command(result: StudyResult, folder: str) -> str:
    """Return the command for the first curve on which something is open; empty without any.

    That is so where no level is enough, or where those between too few and enough are unknown.

    Parameters
    ----------
    result, folder
        A study, and its folder as its user named it.
    """
    for experiment in result.experiments:
        name = experiment.name if len(result.experiments) > 1 else ""
        for crossing in experiment.limits if experiment.column == "model" else ():
            if high := _highest(experiment, crossing):
                return shlex.join(_words(experiment, crossing, folder, name, high))
    return ""


def _highest(experiment: ExperimentResult, crossing: LimitCrossing) -> int:
    """Return up to which level is worth asking, 0 where nothing is open."""
    factor = next((one for one in experiment.factors if one.name == crossing.factor), None)
    levels = [] if factor is None or factor.zipped_with else factor.levels
    counts = [level for level in levels if isinstance(level, int) and not isinstance(level, bool)]
    if not crossing.is_resource or not counts or len(counts) < len(levels):
        return 0
    if crossing.state in ("broken", "unclear"):
        return 2 * max(counts)
    enough, too_few = crossing.holds_at, crossing.breaks_at
    if crossing.kept == "above" and enough is not None and too_few is not None:
        return int(enough) if enough - too_few > 1 else 0
    return 0


def _words(
    experiment: ExperimentResult, crossing: LimitCrossing, folder: str, name: str, high: int
) -> Iterator[str]:
    yield from ("headroom", "size", folder, *(("--experiment", name) if name else ()))
    for one in experiment.limits:
        if (one.factor, one.where) == (crossing.factor, crossing.where):
            bound = one.at_least if one.at_most is None else one.at_most
            yield from (
                "--target",
                f"{one.metric}{'>=' if one.at_most is None else '<='}{bound:.12g}",
            )
    for level, value in crossing.where.items():
        yield from ("--set", f"{level}={format_level(value)}")
    low = min(level for one in experiment.factors if one.name == crossing.factor
              for level in one.levels if isinstance(level, int))  # fmt: skip
    yield from ("--over", f"{crossing.factor}={low}..{high}")
