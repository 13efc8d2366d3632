"""The nature of the runs of a point: samples of a steady state, or terminating runs.

A study may declare it. Otherwise the runs decide: a system knows whether its load follows a curve
up to a given time.

Invariant: runs that end are never cut, and each of them is one observation.

Source: Law, *Simulation Modeling and Analysis* (2015), sections 9.3 and 9.4.
"""

from collections.abc import Sequence

from headroom.analysis.results import PointResult, RunsAnalysed, WarmUpCut
from headroom.experiment.protocol.run import Run
from headroom.experiment.study.checks.window_checks import analysis_of
from headroom.experiment.study.study import Experiment

STEADY_STATE = RunsAnalysed(kind="steady-state")


def nature_of(spec: Experiment, runs: Sequence[Run]) -> RunsAnalysed:
    """Return how `runs` are analysed, and why.

    Examples
    --------
    >>> spec = Experiment(name="day", system={"name": "model"})
    >>> nature_of(spec, [Run()]).kind
    'steady-state'
    >>> nature_of(spec, [Run(ends_because="arrivals follow a curve")])
    RunsAnalysed(kind='terminating', is_declared=False, because='arrivals follow a curve')
    """
    said = analysis_of(spec)
    if said == "terminating":
        return RunsAnalysed(kind="terminating", is_declared=True)
    reasons = {run.ends_because for run in runs}
    if said == "automatic" and runs and "" not in reasons:
        return RunsAnalysed(kind="terminating", because=min(reasons))
    return RunsAnalysed(kind="steady-state", is_declared=spec.analysis == "steady-state")


def is_terminating(point: PointResult) -> bool:
    """Return whether the runs of a point have a natural end."""
    return point.analysed is not None and point.analysed.kind == "terminating"


def whole_runs(runs: Sequence[Run]) -> WarmUpCut | None:
    """Return the cut of runs that end: none. None if they have no clock."""
    clocks = [float(run.snapshot_times_s[-1]) for run in runs if run.snapshot_times_s.size]
    if not clocks:
        return None
    return WarmUpCut(method="none", cut_s=0.0, run_s=min(clocks), is_steady=True)
