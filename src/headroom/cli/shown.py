"""Plan, journal and report for `headroom show` if its output is not cached."""

from dataclasses import dataclass

from rich.console import Console

from headroom.analysis.results import StudyResult
from headroom.cli import session
from headroom.cli.kept_screens import KeptScreens, Watch
from headroom.defects import defects_met
from headroom.experiment.machine.program_identity import Stamp, journal_stamp
from headroom.experiment.protocol.system import Column
from headroom.experiment.study.plan import Plan
from headroom.report.terminal import render_study


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The result of a study, and whether its text may be kept.

    Parameters
    ----------
    result
        The analysed study.
    journal
        What changes with its journal; None while that is being written.
    is_plain
        Whether the text depends on files and the environment alone: no measurement, which counts
        on some machines and not on others; no fit; nothing to be said besides.
    """

    result: StudyResult
    journal: Stamp | None
    is_plain: bool


def analysed(plan: Plan) -> Shown:
    """Return the result of a study that has been run; say on stderr what does not count."""
    with session.existing_journal(plan) as journal:
        stamp = journal_stamp(journal.path)
        result = session.analysed(plan, journal)
        session.say_what_counts(plan, journal)
        is_sound = not journal.unreadable_count and not defects_met()
    return Shown(result=result, journal=stamp, is_plain=is_sound and is_simulated(plan))


def is_simulated(plan: Plan) -> bool:
    """Return whether all figures of a plan come from simulations whose parameters are given."""
    return all(
        experiment.system.column is Column.MODEL and experiment.fit is None
        for experiment in plan.experiments
    )


def text_of(result: StudyResult, console: Console, *, point: str | None) -> str:
    """Return the console output for a study, or for one of its points."""
    key = None if point is None else session.point_key(result, point)
    with console.capture() as captured:
        render_study(result, console, point=key)
    return captured.get()


def keep_text(
    plan: Plan, result: StudyResult, screens: KeptScreens, watch: Watch, console: Console
) -> None:
    """Keep what `headroom show` is going to print of a study that has just been run."""
    if is_simulated(plan) and not defects_met():
        text = text_of(result, console, point=None)
        screens.put(text, watch, journal_stamp(session.journal_of(plan)))
