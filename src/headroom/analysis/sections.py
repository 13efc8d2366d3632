"""Sections that a system adds to the results of its experiment.

Invariant: a section that cannot be drawn is left out with a reason that names the system; it never
costs the other results.
"""

from collections.abc import Sequence

from headroom.analysis.results import PointResult, SectionLeftOut
from headroom.defects import fallback
from headroom.experiment.protocol.section import HasSections, Section, SectionPoint, problem_of
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.plan import PlannedExperiment


def sections_of(
    experiment: PlannedExperiment, results: Sequence[PointResult]
) -> tuple[list[Section], list[SectionLeftOut]]:
    """Return the sections of an experiment, and those that are left out."""
    system = experiment.system
    if not isinstance(system, HasSections):
        return [], []
    configs = {point.key: point.config for point in experiment.points}
    points = [
        SectionPoint(
            label=", ".join(f"{name} = {_text(level)}" for name, level in one.levels.items()),
            levels=one.levels,
            config=configs[one.key],
            estimates={name: estimate.value for name, estimate in one.estimates.items()},
            artefacts={
                left.artefact.name: left.artefact for left in one.artefacts if left.state == "done"
            },
        )
        for one in results
        if one.estimates and one.key in configs
    ]
    return fallback(
        lambda: _checked(system.sections(points)),
        lambda reason: ([], [SectionLeftOut(title="", problem=reason)]),
    )


def _text(level: Value) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)


def _checked(sections: Sequence[Section]) -> tuple[list[Section], list[SectionLeftOut]]:
    problems = [problem_of(section) for section in sections]
    kept = [one for one, problem in zip(sections, problems, strict=True) if not problem]
    left_out = [
        SectionLeftOut(title=one.title, problem=problem)
        for one, problem in zip(sections, problems, strict=True)
        if problem
    ]
    return kept, left_out
