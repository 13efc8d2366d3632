"""A fit is checked with the study file, and nothing that depends on it can run before it."""

from importlib.metadata import EntryPoint

import pytest

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.conftest import MakePlan
from headroom.experiment.protocol import fit_method
from headroom.experiment.protocol.fit_method import FittedParameter, FittedSet, Found, find_method
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.fit_plan import (
    UNSETTLED,
    levels_of,
    not_settled,
    selected,
    stages,
    with_values,
)
from tests.support.fake_fits import fake_methods
from tests.support.study_sessions import run_study

SWEEP = """
[[experiment]]
name = "sweep"
system.name = "fake-measure"
factors.users = [1, 2, 3]
factors.mode = ["plain", "faulty"]
"""
PREDICT = """
[[experiment]]
name = "predict"
system.name = "fake-model"
factors.users = [3, 40]
[experiment.fit]
from = "sweep"
method = "mean"
"""


@pytest.fixture(autouse=True)
def _methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_method, "registered", fake_methods)


def found(value: Value, **where: Value) -> FittedSet:
    parameter = FittedParameter(name="rate", value=value, unit="1/s")
    return FittedSet(where=where, found=Found(parameters=(parameter,)))


def test_what_waits_for_a_fit_has_points_but_nothing_that_may_run(plan_of: MakePlan) -> None:
    plan = plan_of(SWEEP + PREDICT)
    predict = plan.named("predict")
    assert not predict.is_ready
    assert predict.fit is not None
    assert predict.fit.reason == "waits for experiment sweep"
    assert [point.levels for point in predict.points] == [{"users": 3}, {"users": 40}]
    assert {point.fingerprint for point in predict.points} == {UNSETTLED}
    assert [experiment.spec.name for experiment in plan.ready().experiments] == ["sweep"]
    (rate,) = (use for use in predict.parameters if use.name == "rate")
    assert (rate.origin, rate.value) == ("fitted", None)
    assert rate.source == "fitted: experiment sweep, method mean"


def test_fitted_values_reach_every_point_and_its_fingerprint(plan_of: MakePlan) -> None:
    predict = plan_of(SWEEP + PREDICT).named("predict")
    slow, fast = (with_values(predict, [found(rate)]) for rate in (2.5, 7.5))
    assert [point.config["rate"] for point in slow.points] == [2.5, 2.5]
    assert slow.is_ready
    names = [
        point.fingerprint for experiment in (predict, slow, fast) for point in experiment.points
    ]
    assert len(set(names)) == 5  # the two that wait share theirs
    assert [p.key for p in slow.points] == [p.key for p in fast.points]
    again = with_values(fast, [found(2.5)])
    assert [p.fingerprint for p in again.points] == [p.fingerprint for p in slow.points]
    back = not_settled(fast, "because")
    assert {point.fingerprint for point in back.points} == {UNSETTLED}


def test_a_fitted_point_is_the_point_that_has_these_values_fixed(plan_of: MakePlan) -> None:
    """The source of a value does not change the run, so both share their rows."""
    fitted = with_values(plan_of(SWEEP + PREDICT).named("predict"), [found(2.5)])
    fixed = plan_of(SWEEP + PREDICT.partition("[experiment.fit]")[0] + "fixed.rate = 2.5")
    assert [p.fingerprint for p in fitted.points] == [
        p.fingerprint for p in fixed.named("predict").points
    ]


def test_sets_go_to_the_points_with_their_levels(plan_of: MakePlan) -> None:
    text = PREDICT.replace("[3, 40]", "[3, 2]") + "by = ['users']\n"
    predict = plan_of(SWEEP + text).named("predict")
    assert levels_of(predict) == [{"users": 3}, {"users": 2}]
    done = with_values(predict, [found(30.0, users=3), found(20.0, users=2)])
    assert [point.config["rate"] for point in done.points] == [30.0, 20.0]
    (rate,) = (use for use in done.parameters if use.name == "rate")
    assert rate.value is None  # one by level: no single one


def test_levels_and_fixed_values_of_a_source_select_its_points(plan_of: MakePlan) -> None:
    sweep = plan_of(SWEEP).named("sweep")
    assert len(selected(sweep, {"mode": "plain"})) == 3
    assert len(selected(sweep, {"mode": "plain", "users": 2})) == 1
    assert len(selected(sweep, {"rate": 1.0})) == 6
    assert selected(sweep, {"rate": 2.0}) == []


def test_a_source_without_the_parameter_is_taken_whole(plan_of: MakePlan) -> None:
    other = SWEEP.replace('"sweep"', '"other"').replace("fake-measure", "fake-model")
    other = other.replace('factors.mode = ["plain", "faulty"]', "")
    text = SWEEP + other + PREDICT.replace('"sweep"', '["sweep", "other"]')
    plan = plan_of(text + 'where.mode = "plain"\n')
    for name in ("sweep", "other"):
        assert len(selected(plan.named(name), {"mode": "plain"})) == 3
    with pytest.raises(StudyError, match="experiments 'sweep' and 'other' have no parameter 'mod'"):
        plan_of(text + 'where.mod = "plain"\n')


def test_a_value_that_the_system_refuses_is_no_fit(plan_of: MakePlan) -> None:
    with pytest.raises(StudyError, match="below its lowest value"):
        with_values(plan_of(SWEEP + PREDICT).named("predict"), [found(-1.0)])
    with pytest.raises(StudyError, match="gave no value of 'rate'"):
        with_values(
            plan_of(SWEEP + PREDICT).named("predict"),
            [FittedSet(where={}, found=Found(parameters=()))],
        )


def test_sources_run_before_what_is_fitted_from_them(plan_of: MakePlan) -> None:
    third = PREDICT.replace('"predict"', '"third"').replace('from = "sweep"', 'from = "predict"')
    plan = plan_of(SWEEP + PREDICT + third)
    assert list(stages(plan.experiments)) == [["sweep"], ["predict"], ["third"]]
    chosen = plan.only(["third", "sweep"])
    assert list(stages(chosen.experiments)) == [["sweep", "third"]]


def test_the_runner_is_given_what_is_ready_and_runs_that(plan_of: MakePlan) -> None:
    plan = plan_of(SWEEP.replace(', "faulty"', "") + PREDICT)
    assert run_study(plan.ready()).done == 30


@pytest.mark.parametrize(
    ("change", "message", "cure"),
    [
        (('"mean"', '"meen"'), "fit.method: there is no fit method 'meen'", "did you mean 'mean'"),
        (
            ('from = "sweep"', 'from = "sweeep"'),
            "unknown experiment 'sweeep'",
            "did you mean 'sweep'",
        ),
        (('from = "sweep"', 'from = "predict"'), "must be above", "move this experiment below"),
        (('from = "sweep"', "from = []"), "names no experiment", 'from = "NAME"'),
        (("[experiment.fit]", "fixed.rate = 2\n[experiment.fit]"), "in the table fixed", "one of"),
        (("factors.users", "factors.rate = [2]\nfactors.users"), "table factors", "one of the two"),
        (('"mean"', '"mean"\noptions.parameter = "rat"'), "the system does not declare", "'rate'"),
        (('"mean"', '"mean"\noptions.parametr = "rate"'), "unknown key 'parametr'", "'parameter'"),
        (('"mean"', '"mean"\noptions.factor = "x"'), "options.factor", ""),
        (('"mean"', '"mean"\nstart.users = 2'), "not fitted", ""),
        (('"mean"', '"mean"\nstart.rate = -2'), "below its lowest value", "0 or more"),
        (('"mean"', '"mean"\nwhere.user = 2'), "no parameter 'user'", "did you mean 'users'"),
        (('"mean"', '"mean"\nwhere.users = 17'), "has no point with users = 17", "levels that it"),
        (('"mean"', '"mean"\nby = ["mode"]'), "'mode' is not a factor of this", "users"),
        (('"mean"', '"mean"\nby = ["users"]'), "has no point with users = 40", "levels that it"),
    ],
)
def test_a_mistake_is_found_before_anything_runs(
    plan_of: MakePlan, change: tuple[str, str], message: str, cure: str
) -> None:
    with pytest.raises(StudyError, match=message) as error:
        plan_of(SWEEP + PREDICT.replace(*change))
    assert cure in error.value.cure
    assert "study.toml:" in error.value.message


def test_no_level_is_added_to_a_curve_that_is_fitted_level_by_level(plan_of: MakePlan) -> None:
    fitted = SWEEP + PREDICT.replace("[3, 40]", "[3, 2]")
    limit = "[[experiment.limit]]\nmetric = 'throughput'\nat_least = 1.0\nrefine = 2\n"
    assert plan_of(fitted + limit).named("predict").spec.limits
    with pytest.raises(StudyError, match="fitted by its levels") as error:
        plan_of(fitted + "by = ['users']\n" + limit)
    assert "fit.by" in error.value.cure


def test_a_quick_variant_cannot_skip_what_it_is_fitted_from(plan_of: MakePlan) -> None:
    text = SWEEP + "quick.skip = true\n" + PREDICT
    assert len(plan_of(text).experiments) == 2
    with pytest.raises(StudyError, match="quick variant skips experiment 'sweep'"):
        plan_of(text, quick=True)
    both = text.replace("[experiment.fit]", "quick.skip = true\n[experiment.fit]")
    with pytest.raises(StudyError, match="skips every experiment"):
        plan_of(both, quick=True)


def test_a_parameter_without_a_default_needs_a_start_value(plan_of: MakePlan) -> None:
    text = PREDICT.replace('"fake-model"', '"fake-model"\nsystem.required = "speed"').replace(
        '"mean"', '"mean"\noptions.parameter = "speed"'
    )
    with pytest.raises(StudyError, match="no default to check") as error:
        plan_of(SWEEP + text)
    assert "start = { speed = ... }" in error.value.cure
    plan = plan_of(SWEEP + text + "start.speed = 4.0\n")
    assert plan.named("predict").points[0].config["speed"] == 4.0


def test_a_method_whose_package_is_broken_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"x": EntryPoint(name="x", value="no.such.module:X", group="headroom.fits")}
    monkeypatch.setattr(fit_method, "registered", lambda: broken)
    with pytest.raises(EnvironmentUnfitError, match="cannot be imported"):
        find_method("x")
