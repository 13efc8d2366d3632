"""A whole study run for a test, from its plan to its journal."""

import io

from rich.console import Console

from headroom.analysis.follow_up.stopping import IntervalRule
from headroom.experiment.journal.journal import Journal
from headroom.experiment.runner.interrupt import Interrupt
from headroom.experiment.runner.progress import Progress
from headroom.experiment.runner.runner import Outcome, run_plan
from headroom.experiment.study.design import Plan


def run_study(plan: Plan | None, journal: Journal) -> Outcome:
    """Run a whole study into `journal`, with two workers and no progress shown."""
    assert plan is not None
    return run_plan(
        plan,
        journal,
        stopping=IntervalRule(),
        jobs=2,
        progress=Progress(Console(file=io.StringIO())),
        interrupt=Interrupt(),
    )
