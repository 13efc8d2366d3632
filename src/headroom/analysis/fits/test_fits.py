"""Parameters fitted to the results of other experiments, their intervals, and the runs after."""

import contextlib
import math
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benches.known.formulas import mmc_wait
from headroom.analysis.analyse import analyse
from headroom.analysis.fits import fits, kept_fits
from headroom.analysis.fits.fits import with_fits
from headroom.analysis.results import ExperimentResult, FitResult, StudyResult
from headroom.analysis.statistics.intervals import mean_interval
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol import fit_method, registry
from headroom.experiment.protocol.fit_method import (
    FitError,
    FittedSet,
    Found,
    LeastSquaresEvidence,
    ParameterEvidence,
    Residual,
)
from headroom.experiment.protocol.run import Run
from headroom.experiment.runner.runner import Outcome
from headroom.experiment.runner.selection import Selection
from headroom.experiment.runner.test_killed_driver import without_machine
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.fit_plan import stages
from headroom.experiment.study.paths import journal_path
from headroom.experiment.study.plan import Plan
from tests.support.example_session import run_study
from tests.support.fake_fits import fake_methods
from tests.support.fake_systems import fake_entries

HEADER = """
schema = 1
name = "loop"
title = "Measure, fit, predict"
seed = 7
"""
FAKE = (
    HEADER
    + """
[[experiment]]
name = "sweep"
system.name = "{column}"
factors.users = [1, 2, 3]
replications.count = 6
warm_up.method = "none"
[[experiment]]
name = "predict"
system.name = "fake-model"
factors.users = [4]
replications.count = 3
warm_up.method = "none"
[experiment.fit]
from = "sweep"
method = "mean"
"""
)
QUEUE = (
    HEADER
    + """
[[experiment]]
name = "sweep"
system = { name = "model", model = "mmc", completions = 20_000 }
fixed = { service_s = 0.013, servers = 3 }
factors.utilization = [0.2, 0.5, 0.7]
replications.count = 5
[[experiment]]
name = "predict"
system = { name = "model", model = "mmc", completions = 20_000 }
factors.utilization = [0.85]
replications.count = 5
what_if.parts = "none"
[experiment.fit]
from = "sweep"
method = "least-squares"
[experiment.fit.options]
parameters = { service_s = [0.001, 0.1], servers = [1, 8] }
metrics = ["throughput", "response_s_mean"]
"""
)


@pytest.fixture
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "registered", fake_entries)
    monkeypatch.setattr(fit_method, "registered", fake_methods)


def planned(folder: Path, text: str) -> Plan:
    (folder / "study.toml").write_text(text)
    return make_plan(load_study(folder), quick=False)


def opened(plan: Plan) -> Journal:
    return Journal.open(journal_path(plan.folder, plan.is_quick), create=True)


def run_all(plan: Plan, journal: Journal) -> list[Outcome]:
    """Run a study as `headroom run` does; one outcome for each stage."""
    outcomes = []
    for names in stages(plan.experiments):
        ready = with_fits(plan, journal).only(names).ready()
        outcomes.append(run_study(ready, journal))
    return outcomes


def seen_by(run: Run) -> float:
    """Return the mean response time that a fake run reports: that of its series."""
    return float(run.series[0].values.mean())


def analysed(plan: Plan, journal: Journal) -> StudyResult:
    return analyse(plan, journal, environments=[], command="headroom run .")


def predicted(result: StudyResult) -> tuple[ExperimentResult, FitResult]:
    experiment = result.experiments[-1]
    assert experiment.fit is not None
    return experiment, experiment.fit


@pytest.mark.usefixtures("_fakes")
def test_the_jackknife_of_a_mean_is_its_standard_error(tmp_path: Path) -> None:
    """Oracle: leaving out one of n gives exactly s / sqrt(n), with n - 1 degrees of freedom."""
    plan = planned(tmp_path, FAKE.format(column="fake-model"))
    with opened(plan) as journal:
        run_all(plan, journal)
        _, fit = predicted(analysed(plan, journal))
        selection = Selection(plan, journal)
        sweep = plan.named("sweep")
        blocks = np.array(
            [
                [seen_by(row.run) for row in selection.rows(sweep, p) if row.run]
                for p in sweep.points
            ]
        ).mean(axis=0)
    (value,) = fit.sets[0].parameters
    expected = mean_interval(blocks)
    assert value.value == pytest.approx(expected.value, rel=1e-5)
    assert value.standard_error == pytest.approx(blocks.std(ddof=1) / math.sqrt(6), rel=1e-9)
    assert value.low == pytest.approx(expected.low, rel=1e-5)
    assert value.high == pytest.approx(expected.high, rel=1e-5)
    assert len(fit.sets[0].residuals) == 3
    assert fit.sets[0].notes == ["a mean"]


@pytest.mark.usefixtures("_fakes")
def test_what_was_measured_is_fitted_to_medians_and_its_spread_to_means(tmp_path: Path) -> None:
    plan = planned(tmp_path, FAKE.format(column="fake-measure").replace("[1, 2, 3]", "[1]"))
    with opened(plan) as journal:
        run_all(plan, journal)
        _, fit = predicted(analysed(plan, journal))
        sweep = plan.named("sweep")
        rows = Selection(plan, journal).rows(sweep, sweep.points[0])
    seen = np.array([seen_by(row.run) for row in rows if row.run])
    (value,) = fit.sets[0].parameters
    assert value.value == pytest.approx(float(np.median(seen)), rel=1e-5)
    assert value.standard_error == pytest.approx(seen.std(ddof=1) / math.sqrt(6), rel=1e-9)


@pytest.mark.usefixtures("_fakes")
def test_one_replication_has_a_value_and_says_why_it_has_no_interval(tmp_path: Path) -> None:
    plan = planned(tmp_path, FAKE.format(column="fake-model").replace("count = 6", "count = 1"))
    with opened(plan) as journal:
        run_all(plan, journal)
        _, fit = predicted(analysed(plan, journal))
    (value,) = fit.sets[0].parameters
    assert (value.low, value.high) == (None, None)
    assert value.evidence == [ParameterEvidence(code="few_replications", count=1)]


@pytest.mark.usefixtures("_fakes")
def test_each_level_is_fitted_from_its_own_points(tmp_path: Path) -> None:
    text = FAKE.format(column="fake-model").replace("users = [4]", "users = [3, 1]")
    plan = planned(tmp_path, text + "by = ['users']\n")
    with opened(plan) as journal:
        run_all(plan, journal)
        result = analysed(plan, journal)
        settled = with_fits(plan, journal).named("predict")
    sweep, (_, fit) = result.experiments[0], predicted(result)
    observed = {p.levels["users"]: p.estimates["response_s_mean"].value for p in sweep.points}
    values = {one.where["users"]: one.parameters[0].value for one in fit.sets}
    assert values == {level: float(f"{observed[level]:.6g}") for level in (3, 1)}
    assert {p.levels["users"]: p.config["rate"] for p in settled.points} == values


@pytest.mark.usefixtures("_fakes")
def test_a_prediction_waits_until_its_source_is_complete(tmp_path: Path) -> None:
    plan = planned(tmp_path, FAKE.format(column="fake-model"))
    with opened(plan) as journal:
        predict, fit = predicted(analysed(plan, journal))
        assert fit.state == "waits"
        assert fit.reason == "waits for experiment sweep: 0 of 18 replications done"
        assert not predict.points[0].done
        text = FAKE.format(column="fake-model")
        more = planned(tmp_path, text.replace("count = 6", "count = 8"))
        run_all(plan, journal)
        assert predicted(analysed(plan, journal))[1].state == "fitted"
        waiting = analysed(more, journal)
    predict, fit = predicted(waiting)
    assert fit.reason == "waits for experiment sweep: 18 of 24 replications done"
    assert not waiting.is_complete
    assert predict.points[0].done == 0  # older predictions do not speak for what comes


@pytest.mark.usefixtures("_fakes")
@pytest.mark.parametrize(
    ("change", "reason", "cure"),
    [
        (("factors.users = [1", "factors.mode = ['plain', 'fails']\nfactors.users = [1"),
         "not run, because 18 replications of experiment sweep failed", "remove their cause"),
        (('"mean"', '"mean"\noptions.fewest = 4'), "3 points are too few", "run 4 or more"),
        (('"mean"', '"mean"\noptions.factor = -1.0'), "below its lowest value 0", "0 or more"),
        (('"mean"', '"mean"\noptions.diverges = true'),
         "does not converge: inf", "more levels"),
        (("factors.users = [1", "fixed.mode = 'faulty'\nfactors.users = [1"),
         "no point of sweep has results", "lower their load"),
    ],
)  # fmt: skip
def test_what_cannot_be_fitted_is_not_run_and_says_why(
    tmp_path: Path, change: tuple[str, str], reason: str, cure: str
) -> None:
    plan = planned(tmp_path, FAKE.format(column="fake-model").replace(*change, 1))
    with opened(plan) as journal:
        first, second = run_all(plan, journal)
        predict, fit = predicted(analysed(plan, journal))
    assert first.done + first.failed >= 18
    assert second.done == second.reused == 0
    assert fit.state == "refused"
    assert reason in fit.reason
    assert cure in fit.cure
    assert predict.points[0].done == 0


@pytest.mark.parametrize(
    ("changes", "reason", "cure"),
    [
        ({'mean"]': 'mean"]\nmap = { rho = "utilization" }'},
         "the model has no parameter 'rho'", "map = {"),
        ({'mean"]': 'mean"]\nmap = { utilization = "rho" }'},
         "the source has no parameter 'rho'", "utilization"),
        ({"mmc": "mm1", ", servers = 3": "", ", servers = [1, 8]": "",
          'predict"\nsystem = { name = "model", model = "mm1"':
          'predict"\nsystem = { name = "model", model = "mmc"',
          "[0.85]": "[0.85]\nfactors.servers = [2]"},
         "the source has no 'servers', which is a factor here", "map = { servers"),
    ],
)  # fmt: skip
def test_least_squares_says_which_parameter_its_source_lacks(
    tmp_path: Path, changes: dict[str, str], reason: str, cure: str
) -> None:
    text = QUEUE.replace("20_000", "200")
    for old, new in changes.items():
        text = text.replace(old, new)
    plan = planned(tmp_path, text)
    with opened(plan) as journal:
        run_all(plan, journal)
        _, fit = predicted(analysed(plan, journal))
    assert fit.state == "refused"
    assert reason in fit.reason
    assert cure in fit.cure


@pytest.mark.usefixtures("_fakes")
def test_a_chain_of_fits_waits_and_fails_as_one(tmp_path: Path) -> None:
    text = FAKE.format(column="fake-model")
    third = text[text.index('[[experiment]]\nname = "predict"') :]
    third = third.replace('"predict"', '"third"').replace('from = "sweep"', 'from = "predict"')
    plan = planned(tmp_path, text + third)
    with opened(plan) as journal:
        assert predicted(analysed(plan, journal))[1].reason.startswith(
            "waits for experiment predict, which waits for experiment sweep"
        )
        assert [one.done for one in run_all(plan, journal)] == [18, 3, 3]
        _, middle, final = analysed(plan, journal).experiments
    last = final.fit
    assert last is not None
    observed = middle.points[0].estimates["response_s_mean"]
    assert float(last.sets[0].parameters[0].value) == pytest.approx(observed.value, rel=1e-5)


@pytest.mark.usefixtures("_fakes")
def test_unchanged_measurements_reuse_predictions_and_new_ones_make_new(tmp_path: Path) -> None:
    plan = planned(tmp_path, FAKE.format(column="fake-model"))
    with opened(plan) as journal:
        assert [one.done for one in run_all(plan, journal)] == [18, 3]
        again = run_all(plan, journal)
        assert [(one.done, one.reused) for one in again] == [(0, 18), (0, 3)]
        before = predicted(analysed(plan, journal))[1].sets[0].parameters[0].value
        text = FAKE.format(column="fake-model").replace(
            'system.name = "fake-model"', 'system = { name = "fake-model", observations = 7 }', 1
        )
        other = planned(tmp_path, text)
        assert [one.done for one in run_all(other, journal)] == [18, 3]
        after = predicted(analysed(other, journal))[1].sets[0].parameters[0].value
        back = run_all(planned(tmp_path, FAKE.format(column="fake-model")), journal)
        assert [(one.done, one.reused) for one in back] == [(0, 18), (0, 3)]
    assert after != before


@pytest.mark.deep
def test_a_queue_is_recognised_from_its_sweep_and_predicts_a_load_not_seen(tmp_path: Path) -> None:
    """Truth: three servers of 13 ms, of which the fit knows neither number."""
    plan = planned(tmp_path, QUEUE)
    with opened(plan) as journal:
        run_all(plan, journal)
        result = analysed(plan, journal)
    predict, fit = predicted(result)
    found = {parameter.name: parameter for parameter in fit.sets[0].parameters}
    assert found["servers"].value == 3
    service = found["service_s"]
    assert service.low is not None
    assert service.high is not None
    assert service.low <= 0.013 <= service.high
    assert service.high - service.low < 0.1 * 0.013
    point = predict.points[0]
    response = point.estimates["response_s_mean"]
    truth = 0.013 * (1.0 + mmc_wait(3, 3 * 0.85))
    assert response.value == pytest.approx(truth, rel=0.15)
    origins = {use.name: (use.origin, use.value) for use in predict.parameters}
    assert origins["service_s"] == ("fitted", service.value)


@pytest.mark.deep
def test_the_interval_covers_the_truth_as_often_as_it_says(tmp_path: Path) -> None:
    """Of 8 studies with seeds of their own, 95% intervals miss 3 or more once in 170 times."""
    missed = 0
    for seed in range(8):
        folder = tmp_path / str(seed)
        folder.mkdir()
        text = (
            QUEUE.replace("20_000", "2_000")
            .replace(", 0.5, 0.7]", ", 0.6]")
            .replace("seed = 7", f"seed = {seed}")
        )
        text = text.replace(", servers = [1, 8] }", " }").replace(
            "factors.utilization = [0.85]", "factors.utilization = [0.85]\nfixed.servers = 3"
        )
        plan = planned(folder, text)
        with opened(plan) as journal:
            run_study(plan.only(["sweep"]), journal)
            settled = with_fits(plan, journal).named("predict").fit
        assert settled is not None
        (service,) = settled.sets[0].found.parameters
        assert service.low is not None
        assert service.high is not None
        missed += not service.low <= 0.013 <= service.high
    assert missed < 3


@pytest.mark.deep
def test_simulation_answers_where_formulas_are_not_asked(tmp_path: Path) -> None:
    text = QUEUE.replace("metrics =", 'answers = "simulation"\nmetrics =')
    text = (
        text.replace(", servers = [1, 8] }", " }")
        .replace("factors.utilization = [0.85]", "factors.utilization = [0.85]\nfixed.servers = 3")
        .replace("20_000", "4_000")
    )
    plan = planned(tmp_path, text)
    with opened(plan) as journal:
        run_study(plan.only(["sweep"]), journal)
        fit = with_fits(plan, journal).named("predict").fit
    assert fit is not None
    (service,) = fit.sets[0].found.parameters
    assert float(service.value) == pytest.approx(0.013, rel=0.05)
    evidence = fit.sets[0].found.evidence
    assert isinstance(evidence, LeastSquaresEvidence)
    assert evidence.answers == "simulation"


@pytest.mark.usefixtures("_fakes")
def test_a_session_fits_the_same_results_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(tmp_path, FAKE.format(column="fake-model"))
    with opened(plan) as journal:
        run_study(plan.only(["sweep"]), journal)
        first = with_fits(plan, journal).named("predict")
        monkeypatch.setattr(fits, "_fitted_now", None)  # whoever asks again, fails
        assert with_fits(plan, journal).named("predict").points == first.points


def fit_in_another_process(
    folder: Path, text: str, monkeypatch: pytest.MonkeyPatch, *, fails: bool = False
) -> int:
    """Return how often a new process has to fit, for the study as it is now; it asks twice."""
    asked: list[int] = []
    whole = fits._fitted_now

    def counted(*given: Any) -> FittedSet:
        asked.append(1)
        return whole(*given)

    plan = planned(folder, text)
    with monkeypatch.context() as patch, opened(plan) as journal:
        patch.setattr(fits, "_KNOWN", {})
        patch.setattr(fits, "_fitted_now", counted)
        with_fits(plan, journal)
        settled = with_fits(plan, journal).named("predict")
    assert settled.fit is not None
    assert settled.is_ready is not fails
    assert settled.fit.is_refused is fails
    assert ("too few" in settled.fit.reason) is fails
    return len(asked)


@pytest.mark.usefixtures("_fakes")
def test_a_fit_is_kept_until_a_row_a_parameter_or_the_program_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Causes: each `headroom show` fitted again; a session that asked twice emptied the file."""
    text = FAKE.format(column="fake-model")
    plan = planned(tmp_path, text)
    with opened(plan) as journal:
        run_study(plan.only(["sweep"]), journal)
    assert fit_in_another_process(tmp_path, text, monkeypatch) == 1
    assert fit_in_another_process(tmp_path, text, monkeypatch) == 0
    path = journal_path(tmp_path, quick=False)
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute(
            "UPDATE replication SET run = (SELECT run FROM replication WHERE id = 2) WHERE id = 1"
        )
    assert fit_in_another_process(tmp_path, text, monkeypatch) == 1
    assert fit_in_another_process(tmp_path, text, monkeypatch) == 0
    doubled = text + "[experiment.fit.options]\nfactor = 2.0\n"
    assert fit_in_another_process(tmp_path, doubled, monkeypatch) == 1
    assert fit_in_another_process(tmp_path, doubled, monkeypatch) == 0
    monkeypatch.setattr(kept_fits, "program_identity", lambda: b"another program")
    assert fit_in_another_process(tmp_path, doubled, monkeypatch) == 1


@pytest.mark.usefixtures("_fakes")
def test_a_fit_that_fails_is_kept_until_its_inputs_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cause: each `headroom show` tried a failing fit again, for seconds."""
    text = FAKE.format(column="fake-model") + "[experiment.fit.options]\nfewest = 4\n"
    plan = planned(tmp_path, text)
    with opened(plan) as journal:
        run_study(plan.only(["sweep"]), journal)
    assert fit_in_another_process(tmp_path, text, monkeypatch, fails=True) == 1
    assert fit_in_another_process(tmp_path, text, monkeypatch, fails=True) == 0
    fewer = text.replace("fewest = 4", "fewest = 3")
    assert fit_in_another_process(tmp_path, fewer, monkeypatch) == 1
    assert fit_in_another_process(tmp_path, fewer, monkeypatch) == 0


DRIVER = """
import sys
from headroom.experiment.protocol import fit_method
from headroom.experiment.protocol import registry
from tests.support.fake_fits import fake_methods
from tests.support.fake_systems import fake_entries
from tests.support.study_sessions import kill_at_row
from headroom.cli import main
registry.registered, fit_method.registered = fake_entries, fake_methods
kill_at_row(int(sys.argv[1]), sys.argv[2])
sys.argv = ["headroom", "run", sys.argv[3], "--quiet", "--jobs", "1"]
main()
"""


def driven(folder: Path, number: int = -1, stage: str = "before") -> int:
    command = [sys.executable, "-c", DRIVER, str(number), stage, str(folder)]
    return subprocess.run(
        command, capture_output=True, env=dict(os.environ), check=False
    ).returncode


def table_of(folder: Path) -> list[Any]:
    with sqlite3.connect(folder / "results" / "journal.sqlite") as connection:
        cursor = connection.execute(
            "SELECT experiment, point_key, replication, seed, fingerprint, levels, state, run "
            "FROM replication ORDER BY experiment, point_key, replication, id"
        )
        return [(*head, without_machine(run)) for *head, run in cursor]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("number", "stage"), [(2, "during"), (17, "after"), (18, "before"), (19, "during")]
)
def test_a_driver_killed_in_the_sweep_or_the_prediction_ends_the_same(
    tmp_path: Path, number: int, stage: str
) -> None:
    """18 rows of the sweep, then 3 of the prediction; killed around the commit of one of them."""
    text = FAKE.format(column="fake-measure").replace('"fake-model"', '"fake-measure"')
    folders = [tmp_path / name for name in ("killed", "whole")]
    for folder in folders:
        folder.mkdir()
        (folder / "study.toml").write_text(text)
    killed, whole = folders
    assert driven(killed, number, stage) == -signal.SIGKILL
    assert 0 < len(table_of(killed)) < 21
    assert driven(killed) == 0
    assert driven(whole) == 0
    assert table_of(killed) == table_of(whole)
    assert len(table_of(whole)) == 21


@pytest.mark.parametrize("factor", [1.9, 2.1, 7.33, 0.36 / 4.9])
def test_a_fit_far_off_its_own_observations_is_not_predicted_from(factor: float) -> None:
    """Such as 0.36 ms by the model where 4.9 ms were measured: 13.6 times off."""
    residuals = tuple(
        Residual(experiment="low", levels={}, metric="response time", unit="s", observed=one,
                 fitted=factor * one)
        for one in (1.0, 2.0, 3.0)
    )  # fmt: skip
    found = Found(parameters=(), residuals=residuals)
    if factor == 1.9:
        fits.check_near(found)
        return
    with pytest.raises(FitError, match=f"{max(factor, 1 / factor):.3g} times off"):
        fits.check_near(found)
