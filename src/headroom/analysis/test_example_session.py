"""A whole study run for a test, from its plan to its journal."""

import io

from rich.console import Console

from headroom.analysis.stopping import IntervalRule
from headroom.experiment.design import Plan
from headroom.experiment.interrupt import Interrupt
from headroom.experiment.journal import Journal
from headroom.experiment.progress import Progress
from headroom.experiment.runner import Outcome, run_plan


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
