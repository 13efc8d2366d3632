"""Comparisons and predictions in a study file: errors with their location and a hint."""

import pytest

from headroom.errors import StudyError
from headroom.experiment.conftest import MakePlan

EXPERIMENT = """
[[experiment]]
name = "{name}"
system = {{ name = "fake-model" }}
factors = {{ users = [1, 2, 3], mode = ["plain", "faulty"] }}
"""
COMPARE = '[experiment.compare]\nfactor = "mode"\nbase = "plain"\n'
AGREEMENT = """
[[claim]]
kind = "agreement"
name = "near"
text = "It is near."
experiment = "load"
metric = "throughput"
to_experiment = "soak"
tolerance = 0.15
"""


def text_of(name: str = "load") -> str:
    return EXPERIMENT.format(name=name)


def refusal(plan_of: MakePlan, text: str) -> StudyError:
    with pytest.raises(StudyError) as caught:
        plan_of(text)
    return caught.value


def test_the_base_has_the_type_of_its_factor(plan_of: MakePlan) -> None:
    text = text_of() + '[experiment.compare]\nfactor = "users"\nbase = 2.0\n'
    compare = plan_of(text).experiments[0].spec.compare
    assert compare is not None
    assert compare.base == 2
    assert isinstance(compare.base, int)
    assert compare.same_within == 0.05


@pytest.mark.parametrize(
    ("changed", "to", "cause", "cure"),
    [
        ('factor = "mode"', 'factor = "mood"', "has no factor 'mood'", "'mode'"),
        ('base = "plain"', 'base = "dies"', "no level 'dies'", "plain"),
        ('base = "plain"', 'base = "plan"', "not one of its choices", "'plain'"),
        ('base = "plain"', "", "base", "base"),
        ('base = "plain"\n', 'base = "plain"\nsame_within = 1.5\n', "same_within", "1"),
        ('base = "plain"\n', 'base = "plain"\nmetrics = ["thruput"]\n', "'thruput'", "throughput"),
    ],
)
def test_a_comparison_that_names_what_is_not_there_is_refused(
    plan_of: MakePlan, changed: str, to: str, cause: str, cure: str
) -> None:
    error = refusal(plan_of, text_of() + COMPARE.replace(changed, to))
    assert cause in error.message
    assert cure in error.cure
    assert "study.toml:" in error.message


def test_a_factor_with_one_level_has_nothing_to_compare(plan_of: MakePlan) -> None:
    text = text_of().replace('["plain", "faulty"]', '["plain"]') + COMPARE
    assert "only one level" in refusal(plan_of, text).message


def test_a_quick_variant_may_leave_the_base_or_the_factor_out(plan_of: MakePlan) -> None:
    study = text_of() + COMPARE + "[experiment.quick]\n"
    without_base = plan_of(study + 'factors = { mode = ["faulty"] }', quick=True)
    assert without_base.experiments[0].spec.compare is not None
    without_factor = plan_of(study + 'fixed = { mode = "plain" }', quick=True)
    assert without_factor.experiments[0].spec.compare is None


def test_two_experiments_over_the_same_levels_may_be_said_to_agree(plan_of: MakePlan) -> None:
    assert plan_of(text_of() + text_of("soak") + AGREEMENT).study.claims


@pytest.mark.parametrize(
    ("changed", "to", "cause", "cure"),
    [
        ('"soak"', '"soap"', "no other experiment 'soap'", "'soak'"),
        ('to_experiment = "soak"', 'to_experiment = "load"', "no other experiment", "soak"),
        ('"throughput"\n', '"throughput"\nto_metric = "thruput"\n', "'thruput'", "throughput"),
        ("tolerance = 0.15", "tolerance = 0.15\nto = { users = 9 }", "no level 9", "3"),
        ("tolerance = 0.15", "tolerance = 0.15\nwhere = { usres = 1 }", "'usres'", "users"),
        ("tolerance = 0.15", "", "tolerance", "tolerance"),
    ],
)
def test_an_agreement_that_names_what_is_not_there_is_refused(
    plan_of: MakePlan, changed: str, to: str, cause: str, cure: str
) -> None:
    error = refusal(plan_of, text_of() + text_of("soak") + AGREEMENT.replace(changed, to))
    assert cause in error.message
    assert cure in error.cure


def test_an_agreement_needs_points_that_meet(plan_of: MakePlan) -> None:
    apart = text_of("soak").replace("[1, 2, 3]", "[7, 8]")
    assert (
        "no point of 'soak' has the levels"
        in refusal(plan_of, text_of() + apart + AGREEMENT).message
    )


def test_an_agreement_names_levels_that_only_the_other_experiment_has(plan_of: MakePlan) -> None:
    plain = text_of().replace(', mode = ["plain", "faulty"]', "")
    study = plain + text_of("soak")
    error = refusal(plan_of, study + AGREEMENT)
    assert "several points of 'soak' match" in error.message
    assert "name a level of mode in `to`" in error.cure
    assert plan_of(study + AGREEMENT + "to = { mode = 'plain' }").study.claims


CLAIM = """
[[claim]]
kind = "{kind}"
name = "near"
text = "It is near."
experiment = "load"
metric = "response_s_mean"
where = {{ users = 1, mode = "plain" }}
{keys}
"""


@pytest.mark.parametrize(
    ("keys", "numbers"),
    [
        ('at_most = "200 ms"', {"at_most": 0.2}),
        ('at_least = "1 us"\nat_most = 0.5', {"at_least": 1e-6, "at_most": 0.5}),
        ('value = "20 ms"\nwithin = "5%"', {"value": 0.02, "tolerance": 0.05}),
        ('value = 0.02\nwithin = "5 ms"', {"value": 0.02, "tolerance_absolute": 0.005}),
    ],
)
def test_quantities_of_a_claim_are_numbers_of_the_plan(
    plan_of: MakePlan, keys: str, numbers: dict[str, float]
) -> None:
    (claim,) = plan_of(text_of() + CLAIM.format(kind="value", keys=keys)).study.claims
    for name, number in numbers.items():
        assert getattr(claim, name) == pytest.approx(number)
    assert getattr(claim, "within", "") == ""


@pytest.mark.parametrize(
    ("keys", "numbers"),
    [
        ('within = "5%"', {"value": 1.0, "tolerance": 0.05}),
        ('at_most = "110%"', {"at_most": 1.1}),
    ],
)
def test_a_ratio_may_be_said_in_per_cent(
    plan_of: MakePlan, keys: str, numbers: dict[str, float]
) -> None:
    keys += '\nto = { users = 2, mode = "plain" }'
    (claim,) = plan_of(text_of() + CLAIM.format(kind="ratio", keys=keys)).study.claims
    for name, number in numbers.items():
        assert getattr(claim, name) == pytest.approx(number)


@pytest.mark.parametrize(
    ("keys", "message", "cure"),
    [
        ('at_most = "4 GiB"', "has the unit `GiB`, but the value is in s", '"200 ms"'),
        ('at_most = "soon"', "`soon` is not a quantity", '"200 ms"'),
        ('within = "5%"', "`within` needs a value", "at_most"),
        ('value = 0.02\nwithin = "5%"\ntolerance = 0.1', "mean the same", "keep one"),
        ('value = 0.02\nat_most = "30 ms"', "cannot be combined", "keep value"),
        ('at_most = "1 ms"\nat_least = "1 s"', "no value is both", "at_most at least as large"),
        ('at_most = "1 s"\ntolerance = 0.1', "bounds need none", "within"),
        ("", "needs a number", '"200 ms"'),
    ],
)
def test_a_quantity_that_the_metric_does_not_have_is_refused_with_its_line(
    plan_of: MakePlan, keys: str, message: str, cure: str
) -> None:
    error = refusal(plan_of, text_of() + CLAIM.format(kind="value", keys=keys))
    assert message in error.message
    assert 'claim "near"' in error.message
    assert "study.toml:" in error.message
    assert cure in error.cure


def test_a_limit_takes_a_unit(plan_of: MakePlan) -> None:
    text = text_of() + '[[experiment.limit]]\nmetric = "response_s_mean"\nat_most = "200 ms"\n'
    (limit,) = plan_of(text).experiments[0].spec.limits
    assert limit.at_most == pytest.approx(0.2)
    error = refusal(plan_of, text.replace("ms", "MB"))
    assert "has the unit `MB`, but the value is in s" in error.message
