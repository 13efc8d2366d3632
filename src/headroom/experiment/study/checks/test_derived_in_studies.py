"""Derived quantities in a study file: units, factors, and errors with location and hint."""

import pytest

from headroom.errors import StudyError
from headroom.experiment.conftest import MakePlan

EXPERIMENT = """
[[experiment]]
name = "load"
system = { name = "fake-model" }
factors = { users = [1, 2, 4], mode = ["plain", "faulty"] }
"""
SPEED_UP = """
[[experiment.derived]]
name = "speed_up"
of = "throughput"
ratio_to = { users = 1 }
"""
GROWTH = '[[experiment.derived]]\nname = "growth"\nof = "speed_up"\nsum_over = ["mode"]\n'
CLAIM = """
[[claim]]
kind = "value"
name = "linear"
text = "It is linear."
experiment = "load"
metric = "growth"
where = { users = 4 }
at_least = 7.5
"""
LIMIT = '[[experiment.limit]]\nmetric = "growth"\nat_least = 2.0\n'


def test_a_quantity_has_the_factors_that_it_does_not_combine(plan_of: MakePlan) -> None:
    (load,) = plan_of(EXPERIMENT + SPEED_UP + GROWTH + LIMIT + CLAIM).experiments
    speed_up, growth = load.derived
    assert (speed_up.unit, growth.unit) == ("1", "1")
    assert [factor.name for factor in speed_up.factors] == ["users", "mode"]
    assert [dict(point.levels) for point in load.seen_by("growth").points] == [
        {"users": 1}, {"users": 2}, {"users": 4}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "to", "cause", "cure"),
    [
        ('of = "throughput"', 'of = "thruput"', "no metric 'thruput'", "throughput"),
        ('of = "throughput"', 'of = "speed_up"', "is made of itself", "below its parts"),
        ('of = "throughput"', 'of = "growth"', "'growth', which is below", "below its parts"),
        ("ratio_to = { users = 1 }", "", "has no operation", "ratio_to"),
        ("{ users = 1 }", '{ users = 1 }\nsum_over = "mode"', "ratio_to and sum_over", "one of"),
        ("{ users = 1 }", "{ users = 3 }", "no level 3", "4"),
        ("{ users = 1 }", "{ usrs = 1 }", "no factor 'usrs'", "users"),
        ("{ users = 1 }", "{}", "names no level", "to_experiment"),
        ("{ users = 1 }", '{}\nto_experiment = "soak"', "unknown experiment 'soak'", ""),
        ("ratio_to = { users = 1 }", 'function = "magic"', "no derived function 'magic'", ""),
        ("ratio_to = { users = 1 }", 'divided_by = "response_s_mean"', "needs a unit", "unit ="),
        ("ratio_to = { users = 1 }", 'divided_by = "mode"', "not numeric", "number"),
        ("ratio_to", "inverse = true\ndifference_to", "inverse has no meaning", "ratio_to"),
        ('name = "speed_up"', 'name = "throughput"', "already a quantity 'throughput'", "another"),
        ('of = "speed_up"', 'of = "speed_up"\nstatistic = "mean"', "no replications", "remove"),
        ("at_least = 2.0", "at_least = 2.0\nrefine = 2", "no level is added", "refine"),
        ("sum_over = [", "weights.users = { 4 = 2 }\nsum_over = [", "is not combined", "mode"),
        ("sum_over = [", "weights.mode = { best = 2 }\nsum_over = [", "no level 'best'", ""),
        ("ratio_to", "weights.mode = { plain = 2 }\nratio_to", "no meaning with", "sum_over"),
        ("where = { users = 4 }", 'where = { mode = "plain" }', "no factor 'mode'", "users"),
        ("where = { users = 4 }", "", "3 points", "users"),
        ("at_least = 7.5", 'at_least = 7.5\nstatistic = "median"', "no replications", "derived"),
    ],
)  # fmt: skip
def test_a_quantity_that_cannot_be_is_refused(
    plan_of: MakePlan, changed: str, to: str, cause: str, cure: str
) -> None:
    text = EXPERIMENT + SPEED_UP + GROWTH + LIMIT + CLAIM
    assert changed in text
    with pytest.raises(StudyError) as caught:
        plan_of(text.replace(changed, to, 1))
    assert cause in caught.value.message
    assert cure in caught.value.cure
    assert "study.toml:" in caught.value.message


def test_a_quick_variant_may_lack_the_point_that_others_refer_to(plan_of: MakePlan) -> None:
    quick = "[experiment.quick]\nfactors = { users = [2] }\n"
    (load,) = plan_of(EXPERIMENT + SPEED_UP + GROWTH + quick, quick=True).experiments
    assert load.derived[0].to == {"users": 1}


def test_another_experiment_above_may_be_referred_to(plan_of: MakePlan) -> None:
    soak = (EXPERIMENT + SPEED_UP).replace('"load"', '"soak"')
    soak = soak.replace("{ users = 1 }", '{}\nto_experiment = "load"')
    assert plan_of(EXPERIMENT + soak).experiments[1].derived[0].to == {}


RANKS = """
[[claim]]
kind = "errors"
name = "ranks"
text = "It ranks them."
experiment = "soak"
metric = "speed_up"
to_experiment = "load"
rank_at_least = 0.9
beyond_noise = true
"""


@pytest.mark.parametrize(
    ("changed", "to", "cause", "cure"),
    [
        ("rank_at_least = 0.9", "median_at_most = 0.1", "is about ranks", "rank_at_least"),
        ('"speed_up"', '"throughput"', "over which factor", "reference"),
        ("beyond_noise = true", "reference = { users = 1 }", "has no meaning", "remove"),
        ("rank_at_least = 0.9", "rank_at_least = 0.9\nsigns_at_least = 0.9", "needs a ref", "give"),
    ],
)
def test_what_may_be_noise_has_to_be_known(
    plan_of: MakePlan, changed: str, to: str, cause: str, cure: str
) -> None:
    both = EXPERIMENT + SPEED_UP + (EXPERIMENT + SPEED_UP).replace('"load"', '"soak"')
    plan_of(both + RANKS)
    plan_of(both + RANKS.replace('"speed_up"', '"throughput"') + "reference = { users = 1 }\n")
    with pytest.raises(StudyError) as caught:
        plan_of(both + RANKS.replace(changed, to, 1))
    assert cause in caught.value.message
    assert cure in caught.value.cure
