"""A prediction gets the load that a fit chose for the experiment that it is compared with."""

from pathlib import Path

import pytest

from headroom.analysis.fits.fits import with_fits
from headroom.analysis.fits.test_fits import HEADER, analysed, opened, planned, predicted, run_all
from headroom.errors import StudyError
from headroom.experiment.protocol import fit_method
from headroom.experiment.study.fit_plan import stages
from tests.support.fake_fits import fake_methods

STUDY = (
    HEADER
    + """
[[experiment]]
name = "sweep"
system = { name = "model", model = "mmc", completions = 2_000 }
fixed = { service_s = 0.01, servers = 1 }
factors.utilization = [0.2, 0.5]
replications.count = 3
[[experiment]]
name = "loaded"
system = { name = "model", model = "mmc", completions = 2_000 }
factors.servers = [2, 3]
replications.count = 3
what_if.parts = "none"
[experiment.fit]
from = "sweep"
method = "share-of-maximum"
options = { parameter = "utilization", share = 0.01 }
[[experiment]]
name = "foreseen"
seeds_of = "loaded"
system = { name = "model", model = "mmc", completions = 2_000 }
factors.servers = [2, 3]
replications.count = 3
what_if.parts = "none"
[experiment.fit]
from = "sweep"
method = "mean"
load_of = "loaded"
options = { parameter = "service_s", metric = "response_s_mean" }
"""
)


@pytest.fixture(autouse=True)
def _methods(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**fit_method.registered(), **fake_methods()}
    monkeypatch.setattr(fit_method, "registered", lambda: known)


def test_both_experiments_have_the_load_and_only_one_the_fitted_value(tmp_path: Path) -> None:
    """Oracle: 1% of the 50 requests per second of the sweep is a utilization of a half."""
    plan = planned(tmp_path, STUDY)
    assert list(stages(plan.experiments)) == [["sweep"], ["loaded"], ["foreseen"]]
    with opened(plan) as journal:
        run_all(plan, journal)
        settled = with_fits(plan, journal)
        _, fit = predicted(analysed(settled, journal))
    loaded, foreseen = settled.named("loaded"), settled.named("foreseen")
    for one, other in zip(loaded.points, foreseen.points, strict=True):
        assert other.config["utilization"] == one.config["utilization"]
        assert other.config["utilization"] == pytest.approx(0.5, rel=0.1)
        assert other.config["service_s"] != one.config["service_s"]
    (use,) = (
        parameter for parameter in foreseen.parameters if parameter.parameter.name == "utilization"
    )
    assert use.source == "fitted: the load of experiment loaded"
    assert [parameter.name for parameter in fit.sets[0].parameters] == ["service_s"]
    assert list(fit.sets[0].taken) == ["utilization"]


def test_it_waits_for_the_experiment_whose_load_it_takes(tmp_path: Path) -> None:
    plan = planned(tmp_path, STUDY)
    foreseen = plan.named("foreseen")
    assert foreseen.fit is not None
    assert foreseen.fit.reason == "waits for experiments sweep, loaded"
    with opened(plan) as journal:
        waiting = with_fits(plan, journal).named("foreseen")
    assert not waiting.is_ready


@pytest.mark.parametrize("name", ["sweep", "foreseen", "loadde"])
def test_a_load_that_nobody_chose_above_is_refused(tmp_path: Path, name: str) -> None:
    text = STUDY.replace('load_of = "loaded"', f'load_of = "{name}"')
    with pytest.raises(StudyError, match=f"experiment '{name}' has no fitted load") as caught:
        planned(tmp_path, text)
    assert "load_of" in str(caught.value)
