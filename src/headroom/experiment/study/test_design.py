"""Plans: every combination once, and every mistake found before anything runs."""

import itertools
from importlib.metadata import EntryPoint

import pytest

from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.experiment.conftest import MakePlan
from headroom.experiment.protocol import registry
from headroom.experiment.study.design import Plan
from tests.support.fake_systems import FakeModel

EXPERIMENT = """\
[[experiment]]
name = "load"
system.name = "fake-model"
"""


def refusal(plan_of: MakePlan, text: str, *, quick: bool = False) -> HeadroomError:
    with pytest.raises(HeadroomError) as caught:
        plan_of(text, quick=quick)
    return caught.value


def levels_of(plan: Plan) -> list[tuple[object, ...]]:
    return [tuple(point.levels.values()) for point in plan.experiments[0].points]


def test_factors_are_combined_in_full(plan_of: MakePlan) -> None:
    plan = plan_of(EXPERIMENT + 'factors = { users = [1, 2], mode = ["plain", "faulty"] }')
    assert levels_of(plan) == [(1, "plain"), (1, "faulty"), (2, "plain"), (2, "faulty")]
    assert len({point.key for point in plan.experiments[0].points}) == 4


def test_zipped_factors_move_together(plan_of: MakePlan) -> None:
    text = "zipped = [{ users = [1, 2], rate = [0.5, 1.5] }]\nfactors.mode = ['plain', 'faulty']"
    plan = plan_of(EXPERIMENT + text)
    assert levels_of(plan) == [
        ("plain", 1, 0.5), ("plain", 2, 1.5), ("faulty", 1, 0.5), ("faulty", 2, 1.5),
    ]  # fmt: skip
    assert plan.experiments[0].factors[1].zipped_with == ("rate",)


def test_zipped_levels_may_repeat(plan_of: MakePlan) -> None:
    plan = plan_of(EXPERIMENT + "zipped = [{ users = [1, 1], rate = [0.5, 1.5] }]")
    assert levels_of(plan) == [(1, 0.5), (1, 1.5)]


GRID = EXPERIMENT + 'factors = { users = [1, 2, 3], mode = ["plain", "faulty"] }\n'


def test_combinations_may_be_left_out(plan_of: MakePlan) -> None:
    text = 'without = [{ users = [1, 3], mode = "faulty" }, { users = 2, mode = "plain" }]'
    plan = plan_of(GRID + text)
    assert levels_of(plan) == [(1, "plain"), (2, "faulty"), (3, "plain")]
    assert plan.experiments[0].factors[0].levels == (1, 2, 3)


def test_a_quick_variant_may_lack_what_is_left_out(plan_of: MakePlan) -> None:
    text = GRID + 'without = [{ users = 3, mode = "faulty" }]\n'
    plan = plan_of(text + "[experiment.quick]\nfactors = { users = [2] }", quick=True)
    assert {dict(point.levels)["users"] for point in plan.experiments[0].points} == {2}
    plan = plan_of(text + "[experiment.quick]\nfixed = { users = 3 }", quick=True)
    assert levels_of(plan) == [("plain",), ("faulty",)]


@pytest.mark.parametrize(
    ("table", "cause", "cure"),
    [
        ("{ usrs = 1 }", "unknown factor 'usrs'", "users"),
        ("{ users = 4 }", "no level 4", "3"),
        ("{}", "names no factor", "remove it"),
        ("{ users = [1, 2, 3] }", "every point is left out", "remove a table"),
    ],
)
def test_what_cannot_be_left_out_is_refused(
    plan_of: MakePlan, table: str, cause: str, cure: str
) -> None:
    error = refusal(plan_of, GRID + f"without = [{table}]")
    assert cause in error.message
    assert cure in error.cure
    assert "study.toml:" in error.message


def test_without_factors_there_is_one_point(plan_of: MakePlan) -> None:
    (point,) = plan_of(EXPERIMENT).experiments[0].points
    assert point.levels == {}
    assert point.config == {"users": 10, "rate": 1.0, "mode": "plain"}


def test_parameters_say_where_their_values_come_from(plan_of: MakePlan) -> None:
    text = "fixed.rate = { value = 3, source = 'paper: table 2' }\nfactors.users = [1]"
    uses = {use.name: use for use in plan_of(EXPERIMENT + text).experiments[0].parameters}
    assert (uses["rate"].value, uses["rate"].origin, uses["rate"].source) == (
        3.0,
        "fixed",
        "paper: table 2",
    )
    assert (uses["users"].value, uses["users"].origin) == (None, "factor")
    assert (uses["mode"].value, uses["mode"].origin, uses["mode"].source) == (
        "plain",
        "default",
        "assumed",
    )


def test_a_point_keeps_its_key_and_changes_its_fingerprint_with_fixed_values(
    plan_of: MakePlan,
) -> None:
    point, other, newer = (
        plan_of(EXPERIMENT + text).experiments[0].points[0]
        for text in (
            "fixed.rate = 1\nfactors.users = [5]",
            "fixed.rate = 2\nfactors.users = [5]",
            "fixed.rate = 1\nfactors.users = [5]\nsystem.version = '2'",
        )
    )
    assert point.key == other.key == newer.key
    assert len({point.fingerprint, other.fingerprint, newer.fingerprint}) == 3


WRONG = {
    "unknown factor": ("factors.usres = [1]", "no parameter 'usres'", "'users'"),
    "unknown fixed": ("fixed.usres = 1", "no parameter 'usres'", "'users'"),
    "level out of range": ("factors.users = [1, 0]", "users[1]: parameter 'users' is 0", "1 or"),
    "fixed out of range": ("fixed.users = 1001", "above its highest", "1000 or less"),
    "wrong choice": ("fixed.mode = 'plan'", "not one of its choices", "'plain'"),
    "factor and fixed": ("fixed.users = 1\nfactors.users = [1]", "fixed at the same", "remove"),
    "factor twice": (
        "factors.users = [1]\nzipped = [{users = [1], rate = [1]}]",
        "factor twice",
        "keep one",
    ),
    "unequal lists": ("zipped = [{users = [1], rate = [1, 2]}]", "users has 1, rate has 2", "each"),
    "empty zip": ("zipped = [{}]", "equal length", "each"),
    "no levels": ("factors.users = []", "no levels", "at least one"),
    "unknown response": ("responses = ['throughputs']", "no metric 'throughputs'", "'throughput'"),
    "pattern that fits nothing": (
        "metrics = ['throughputs*']",
        "no metric of the system fits 'throughputs*'",
        "'throughput'",
    ),
    "no system name": ("", "has no name", "fake-model"),
    "unknown system": ("", "no system 'fake-modle'", "'fake-model'"),
    "unknown set-up": ("system.observation = 3", "unknown key 'observation'", "'observations'"),
    "wrong set-up": ("system.observations = '3'", "whole number", "whole number"),
    "set-up refused": ("system.observations = -1", "observations is negative", "0 or more"),
    "required": ("system.required = 'block'", "'block' (int, unit B) has no value", "block = "),
    "no replications": ("replications.minimum = 2", "either count, or metric", "one of the two"),
    "both replications": (
        "replications = { count = 2, metric = 'throughput', half_width = 0.1 }",
        "either count, or metric",
        "one of the two",
    ),
    "no half width": ("replications.metric = 'throughput'", "without half_width", "0.05"),
    "unknown metric": (
        "replications = { metric = 'thruput', half_width = 0.1 }",
        "no metric 'thruput'",
        "'throughput'",
    ),
    "minimum above maximum": (
        "replications = { metric = 'throughput', half_width = 0.1, minimum = 9, maximum = 8 }",
        "minimum 9 is above maximum 8",
        "maximum",
    ),
    "warm-up without seconds": ("warm_up.method = 'fixed'", "needs seconds", "seconds"),
    "seconds without fixed": ("warm_up.seconds = 3", "only for method fixed", "fixed"),
    "too many points": (
        "factors = { users = {from=1, to=1000, step=1}, rate = {from=0, to=2000, step=1} }",
        "2001000 points",
        "fewer",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_refused_with_its_line_and_a_cure(plan_of: MakePlan, name: str) -> None:
    text, cause, cure = WRONG[name]
    systems = {"no system name": "{}", "unknown system": '{ name = "fake-modle" }'}
    start = '[[experiment]]\nname = "load"\n'
    system = "system.name = 'fake-model'" if name not in systems else f"system = {systems[name]}"
    error = refusal(plan_of, f"{start}{system}\n{text}")
    assert cause in error.message
    assert cure in error.cure
    assert "study.toml:" in error.message


def test_the_wrong_level_of_a_long_list_has_its_own_line(plan_of: MakePlan) -> None:
    error = refusal(plan_of, EXPERIMENT + "[experiment.factors]\nusers = [1,\n 2,\n 'x']")
    assert 'study.toml:11: experiment "load": factors.users[2]: ' in error.message


def test_names_are_unique(plan_of: MakePlan) -> None:
    error = refusal(plan_of, EXPERIMENT + EXPERIMENT)
    assert 'study.toml:9: experiment "load": name: the name' in error.message


def test_a_study_needs_an_experiment(plan_of: MakePlan) -> None:
    assert "no experiment" in refusal(plan_of, "experiment = []").message


def test_other_seeds_can_be_asked_for(plan_of: MakePlan) -> None:
    assert plan_of(EXPERIMENT).seed == 7
    assert plan_of(EXPERIMENT, seed=8).seed == 8


def test_only_the_named_experiments_are_kept(plan_of: MakePlan) -> None:
    plan = plan_of(EXPERIMENT + EXPERIMENT.replace("load", "soak"))
    assert [experiment.spec.name for experiment in plan.only(["soak"]).experiments] == ["soak"]
    with pytest.raises(StudyError, match="no experiment 'sok'") as caught:
        plan.only(["sok"])
    assert "'soak'" in caught.value.cure


QUICK = EXPERIMENT + (
    "fixed.rate = 1\nfactors = { users = [1, 2, 3], mode = ['plain', 'faulty'] }\n"
    "replications.count = 9\n[experiment.quick]\n"
)


def test_quick_replaces_levels_replications_and_set_up(plan_of: MakePlan) -> None:
    text = "factors.users = [1]\nreplications.count = 2\nsystem.observations = 1\nfixed.rate = 2"
    planned = plan_of(QUICK + text, quick=True).experiments[0]
    assert [tuple(point.levels.values()) for point in planned.points] == [
        (1, "plain"),
        (1, "faulty"),
    ]
    assert planned.most_replications == 2
    assert planned.points[0].config["rate"] == 2.0
    assert planned.system.fingerprint(planned.points[0].config).endswith("-1")
    assert plan_of(QUICK + text).experiments[0].most_replications == 9


def test_quick_may_fix_a_factor_and_vary_a_fixed_value(plan_of: MakePlan) -> None:
    text = "fixed.mode = 'plain'\nfactors.rate = [1, 2]\nfactors.users = [4]"
    planned = plan_of(QUICK + text, quick=True).experiments[0]
    assert [dict(point.levels) for point in planned.points] == [
        {"users": 4, "rate": 1.0},
        {"users": 4, "rate": 2.0},
    ]


def test_quick_skips_whole_experiments(plan_of: MakePlan) -> None:
    other = EXPERIMENT.replace("load", "soak")
    plan = plan_of(EXPERIMENT + "quick.skip = true\n" + other, quick=True)
    assert [experiment.spec.name for experiment in plan.experiments] == ["soak"]


def test_quick_must_leave_something(plan_of: MakePlan) -> None:
    error = refusal(plan_of, EXPERIMENT + "quick.skip = true", quick=True)
    assert "skips every experiment" in error.message


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("factors.users = [0]", "quick.factors.users[0]"),
        ("fixed.users = 0", "quick.fixed.users"),
        ("system.observation = 2", "quick.system.observation"),
        ("replications.minimum = 3", "quick.replications"),
        ("zipped = [{users = [1], rate = [1, 2]}]", "quick.zipped[0]"),
    ],
)
def test_a_mistake_in_quick_is_found_where_it_stands(
    plan_of: MakePlan, text: str, key: str
) -> None:
    for quick in (True, False):
        error = refusal(plan_of, QUICK + text, quick=quick)
        assert f': experiment "load": {key}: ' in error.message
        assert "study.toml:12: " in error.message


def test_a_quick_variant_that_skips_everything_does_not_stop_a_whole_run(
    plan_of: MakePlan,
) -> None:
    assert plan_of(EXPERIMENT + "quick.skip = true").experiments[0].points


def test_a_system_that_differs_each_time_it_is_asked_is_refused(
    plan_of: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise every run would start from nothing, without a word."""
    calls = itertools.count()
    monkeypatch.setattr(FakeModel, "fingerprint", lambda *_: str(next(calls)))
    error = refusal(plan_of, EXPERIMENT + "factors.users = [1, 2]")
    assert (
        'study.toml:7: experiment "load": system: the system describes the same point differently'
        in error.message
    )
    assert "no random numbers" in error.cure


def test_each_point_is_asked_for_its_fingerprint_once(
    plan_of: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planning stays linear: one call a point and one to compare; none for points not to be run."""
    asked: list[object] = []

    def fingerprint(_: FakeModel, config: object) -> str:
        asked.append(config)
        return "same"

    monkeypatch.setattr(FakeModel, "fingerprint", fingerprint)
    text = EXPERIMENT + "factors.users = { from = 1, to = 1000, step = 1 }\n"
    plan_of(text)
    assert len(asked) == 1001
    plan_of(text + "quick.factors.users = [1]", quick=True)
    assert len(asked) == 1001 + 2


def test_a_registered_system_that_is_not_installed_is_an_unfit_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = EntryPoint(name="gone", value="no_such_package:Gone", group=registry.GROUP)
    monkeypatch.setattr(registry, "registered", lambda: {"gone": entry})
    with pytest.raises(EnvironmentUnfitError, match="cannot be imported"):
        registry.find_system("gone")


def test_the_systems_of_this_package_are_registered() -> None:
    assert {"command", "model"} <= set(registry.system_names())


CLAIM = "\n[[claim]]\nname = 'c'\ntext = 'It is so.'\nexperiment = 'load'\nmetric = 'throughput'\n"
FACTORS = EXPERIMENT + (
    "factors.mode = ['plain', 'faulty']\nzipped = [{ users = [1, 200], rate = [1, 2] }]\n"
)
WHERE = "where = { users = 1, mode = 'plain' }\n"
GOOD_CLAIMS = {
    "value": "kind = 'value'\nvalue = 1\ntolerance = 0.1\n" + WHERE,
    "value by zip": "kind = 'value'\nvalue = 1\ntolerance_absolute = 1\n"
    "where = { rate = 2.0, mode = 'plain' }",
    "ratio": "kind = 'ratio'\nat_least = 2\nto = { rate = 2, mode = 'plain' }\n" + WHERE,
    "ordering": "kind = 'ordering'\nfactor = 'mode'\norder = ['faulty', 'plain']",
    "monotone": "kind = 'monotone'\nfactor = 'users'\ndirection = 'rises'",
    "flat": "kind = 'flat'\nfactor = 'users'\ntolerance = 0.1\nfrom = 1\nto = 50",
    "knee": "kind = 'knee'\nfactor = 'rate'\nlevel = 1.5\ntolerance = 0.1",
    "crossover": "kind = 'crossover'\nfactor = 'users'\nlevel = 20\ntolerance = 0.1\n"
    "where = { mode = 'plain' }\nto = { mode = 'faulty' }",
    "metric of some points": "kind = 'monotone'\nfactor = 'users'\ndirection = 'rises'\n"
    "metric = 'queue_len_mean'",
}
WRONG_CLAIMS = {
    "experiment": ("experiment = 'lod'", "unknown experiment 'lod'", "'load'"),
    "metric": ("metric = 'thruput'", "no metric 'thruput'", "'throughput'"),
    "where factor": ("where.usres = 1", "no factor 'usres'", "'users'"),
    "where level": ("where = { users = 2, mode = 'plain' }", "no level 2", "1, 200"),
    "where type": ("where = { users = 'x', mode = 'plain' }", "type is int", "int"),
    "where nothing": ("where = { users = 1, rate = 2 }", "no point", "zipped"),
    "where many": ("where.users = 1", "2 points have these levels", "mode"),
    "two tolerances": ("tolerance_absolute = 1", "needs one tolerance", "tolerance"),
    "extreme of what": ("statistic = 'minimum'", "needs extreme_of", "extreme_of"),
    "extreme of none": ("extreme_of = 20", "has no meaning", "statistic"),
    "no figure": (
        "kind = 'ratio'\nto = { users = 200, mode = 'plain' }",
        "a value or a bound",
        "at_least",
    ),
    "half a figure": (
        "kind = 'ratio'\nvalue = 2\nto = { users = 200, mode = 'plain' }",
        "must be given together",
        "both",
    ),
    "to many": ("kind = 'ratio'\nat_most = 2\nto = { users = 200 }", "2 points", "mode"),
    "order level": (
        "kind = 'ordering'\nfactor='mode'\norder=['faulty', 'plan']",
        "not one of its choices",
        "",
    ),
    "too wide": (
        "kind = 'value'\nvalue = 1\nwithin = '500%'",
        "holds whatever comes",
        "less than 100%",
    ),
    "hopeless": (
        "kind = 'errors'\nto_experiment = 'other'\nworst_at_most = 1e12",
        "holds whatever comes",
        "less than 1000%",
    ),
    "order short": ("kind = 'ordering'\nfactor='mode'\norder=['faulty']", "two levels", "two"),
    "crossed bounds": (
        "kind = 'ratio'\nat_least = 4\nat_most = 3\nto = { users = 200, mode = 'plain' }",
        "at_least 4 is above at_most 3",
        "at_most",
    ),
    "ratio to itself": (
        "kind = 'ratio'\nat_least = 1\nto = { rate = 1.0, mode = 'plain' }",
        "the same point",
        "another level",
    ),
    "order twice": (
        "kind = 'ordering'\nfactor='rate'\norder=[1, 2, 1.0]",
        "1.0 is listed twice",
        "once",
    ),
    "empty stretch": (
        "kind = 'flat'\nfactor='users'\ntolerance = 0.1\nfrom = 50\nto = 50",
        "must be below",
        "larger",
    ),
    "factor": ("kind = 'monotone'\nfactor='usrs'\ndirection='rises'", "factor 'usrs'", "'users'"),
    "no numbers": ("kind = 'monotone'\nfactor='mode'\ndirection='rises'", "numbers", "ordering"),
}


def claim(text: str) -> str:
    """Return a study with one claim; keys in `text` replace the common ones."""
    lines = dict(line.split(" = ", 1) for line in CLAIM.strip().splitlines()[1:])
    own = [line for line in text.splitlines() if line]
    kept = [
        f"{key} = {value}"
        for key, value in lines.items()
        if not any(line.startswith(f"{key} ") for line in own)
    ]
    return FACTORS + "\n".join(["[[claim]]", *kept, *own])


@pytest.mark.parametrize("name", GOOD_CLAIMS)
def test_claims_that_name_what_exists_are_accepted(plan_of: MakePlan, name: str) -> None:
    assert len(plan_of(claim(GOOD_CLAIMS[name])).study.claims) == 1


@pytest.mark.parametrize("name", WRONG_CLAIMS)
def test_claims_that_name_what_does_not_exist_are_refused(plan_of: MakePlan, name: str) -> None:
    text, cause, cure = WRONG_CLAIMS[name]
    base = "" if "kind" in text else "kind = 'value'\nvalue = 1\ntolerance = 0.1\n"
    place = "" if "where" in text or "factor" in text else WHERE
    error = refusal(plan_of, claim(f"{base}{place}{text}"))
    assert cause in error.message.replace("does not know", "not one of its choices")
    assert cure in error.cure
    assert ': claim "c": ' in error.message


def test_claims_are_checked_against_the_full_study_also_in_quick(plan_of: MakePlan) -> None:
    quick = FACTORS + "quick.zipped = [{ users = [1], rate = [1] }]\n"
    text = claim(
        "kind = 'value'\nvalue = 1\ntolerance = 0.5\nwhere = { users = 200, mode = 'plain' }"
    )
    plan = plan_of(text.replace(FACTORS, quick), quick=True)
    assert len(plan.experiments[0].points) == 2
