"""Models with hardly any events are analysed without a crash, and report what is missing."""

import numpy as np
import pytest

from headroom.analysis.run.distributions import kept_bins
from headroom.analysis.run.relaxation import joined
from headroom.analysis.run.warm_up import choose_cut
from headroom.analysis.run.windows import open_window
from headroom.experiment.study.study import WarmUp
from headroom.simulation import Model, exponential, simulate
from headroom.solvers import solve
from headroom.systems.model.conversion import run_of


def test_a_class_of_which_no_job_ends_has_no_distribution() -> None:
    """Cause: a histogram without segments was requested (IndexError)."""
    model = Model("queue", time_unit="s")
    program = model.program("visit")
    program.use(model.station("cpu"), exponential(0.01))
    model.open_class("usual", program, interarrival=exponential(0.1))
    model.open_class("rare", program, interarrival=exponential(1e9))
    window = open_window(run_of(simulate(model, seed=1, completions=500)), cut_s=0.0)
    assert window is not None
    assert set(kept_bins(window)) == {"class.usual.response_s", "response_s"}


def test_a_run_in_which_no_time_passes_leaves_nothing() -> None:
    """Cause: no response after the cut, grouped into means of none (ZeroDivisionError)."""
    model = Model("instant", time_unit="s")
    program = model.program("visit")
    nothing = model.attribute("nothing")
    program.set(nothing, 0)
    program.delay(nothing)  # A plain 0 is refused before the run.
    model.closed_class("users", program, population=3)
    run = run_of(simulate(model, seed=1, completions=500))
    assert choose_cut(WarmUp(), [run]) is not None
    assert open_window(run, cut_s=0.0) is None
    means, group = joined(np.zeros((2, 0)))
    assert (means.shape, group) == ((2, 0), 1)


def test_a_station_that_nobody_uses_disturbs_no_formula() -> None:
    """Cause: the mean service times of users that do not exist (ValueError)."""
    model = Model("door", time_unit="s")
    model.station("idle")
    program = model.program("visit")
    program.use(model.station("door", buffer=0, when_full="reject"), exponential(1))
    model.open_class("jobs", program, interarrival=exponential(1))
    assert solve(model).metrics()["throughput"] == pytest.approx(0.5)
