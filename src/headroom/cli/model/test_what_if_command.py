"""`headroom what-if` and `headroom show --limit` from the command line."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headroom.cli.app import app
from tests.support.study_text import Head

STUDY = Head("shop", "A shop", "load").then("""\
responses = ["throughput", "response_s_mean"]
system = { name = "model", model = "interactive", completions = 4000 }
fixed = { service_s = 0.05 }
factors = { users = [5, 20, 40, 60] }
replications = { count = 4 }
""")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def headroom(*words: str) -> Result:
    return CliRunner().invoke(app, words, env={"COLUMNS": "100", "NO_COLOR": "1"})


def test_a_model_is_tried_without_a_study() -> None:
    """Oracle: M/M/1 at 80% load, R = 5 S; with a second server R = S / (1 - 0.16)."""
    answer = headroom(
        "what-if", "mm1", "--change", "station.server.servers=x2", "-n", "10", "--quiet", "--json"
    )
    assert answer.exit_code == 0, answer.stderr
    (found,) = json.loads(answer.stdout)["content"]["what_ifs"]
    effect = next(one for one in found["effects"] if one["metric"] == "response_s_mean")
    assert effect["low"] <= (1 / 0.84) / 5.0 <= effect["high"]
    assert effect["pairs"] == 10


def test_without_a_change_everything_is_doubled_at_the_last_point_that_is_limited() -> None:
    answer = headroom("what-if", ".", "--quiet", "--json")
    assert answer.exit_code == 0, answer.stderr
    content = json.loads(answer.stdout)["content"]
    assert content["levels"] == {"users": 60}
    changes = {what_if["change"] for what_if in content["what_ifs"]}
    assert changes == {"station.server.servers=x2", "station.server.speed=x2"}


def test_what_was_tried_at_a_point_appears_in_the_study() -> None:
    assert headroom("run", "--quiet", "--no-what-if").exit_code == 0
    assert "What if" not in headroom("show").stdout
    tried = headroom(
        "what-if", ".", "--point", "users=40", "-c", "station.server.servers=3", "--quiet"
    )
    assert tried.exit_code == 0, tried.stderr
    assert "server 1 to 3" in tried.stdout
    assert "server 1 to 3" in headroom("show", "--point", "users=40").stdout


def test_changes_joined_by_a_semicolon_are_made_together() -> None:
    both = "station.server.servers=2; station.server.speed=x2"
    answer = headroom("what-if", "mm1", "-c", both, "-n", "2", "--quiet", "--json")
    (found,) = json.loads(answer.stdout)["content"]["what_ifs"]
    assert [(one["aspect"], one["before"], one["after"]) for one in found["applied"]] == [
        ("servers", 1.0, 2),
        ("speed", None, None),
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("mm1", "-c", "server=2"), "station is changed with station.NAME.servers=2"),
        (("mm1", "-c", "station.cpu.servers=2"), "no station 'cpu'"),
        (("mm1", "--set", "load=2"), "no parameter"),
        ((".", "--set", "users=2"), "need a model"),
        ((".", "--point", "users=7", "-c", "station.server.servers=2"), "no point is 'users=7'"),
    ],
)
def test_a_wrong_question_is_refused_with_a_cure(words: tuple[str, ...], why: str) -> None:
    answer = headroom("what-if", *words, "--quiet")
    assert answer.exit_code == 2
    assert why in " ".join(answer.stderr.split())
    assert "hint:" in answer.stderr


def test_a_limit_is_asked_about_without_touching_the_study() -> None:
    """Oracle: behind the saturated server R = N D - Z, so 1.5 s is reached at (1.5 + 1) / 0.05."""
    assert headroom("run", "--quiet", "--no-what-if").exit_code == 0
    words = ("--limit", "response_s_mean<=1.5s", "--current", "25", "--json")
    answer = headroom("show", *words)
    (found,) = json.loads(answer.stdout)["content"]["experiments"][0]["limits"]
    assert found["state"] == "breaks"
    assert found["level_low"] <= 50.0 <= found["level_high"]
    assert found["headroom"] == pytest.approx(2.0, rel=0.05)
    assert "times" not in headroom("show", "--limit", "response_s_mean<=9s").stderr
    assert "within 9 s up to 60 users" in headroom("show", "--limit", "response_s_mean<=9s").stdout


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--limit", "respons_s_mean<=1s"), "no metric 'respons_s_mean'"),
        (("--limit", "response_s_mean<=1s", "--load", "user"), "varies user"),
        (("--limit", "response_s_mean<=1s", "--current", "0"), "--current is 0"),
    ],
)
def test_a_limit_that_means_nothing_is_refused(words: tuple[str, ...], why: str) -> None:
    assert headroom("run", "--quiet", "--no-what-if").exit_code == 0
    answer = headroom("show", *words)
    assert answer.exit_code == 2
    assert why in " ".join(answer.stderr.split())


@pytest.mark.parametrize(
    ("limit", "why"),
    [
        ('metric = "nothing"\nat_most = 1', "no metric 'nothing'"),
        ('metric = "throughput"', "at_most or at_least"),
        ('metric = "throughput"\nat_most = 1\nat_least = 1', "at_most or at_least"),
        ('metric = "throughput"\nat_least = 1\nfactor = "user"', "no numeric factor 'user'"),
    ],
)
def test_a_wrong_limit_of_a_study_names_its_line(folder: Path, limit: str, why: str) -> None:
    (folder / "study.toml").write_text(f"{STUDY}\n[[experiment.limit]]\n{limit}\n")
    answer = headroom("status")
    assert answer.exit_code == 2
    assert why in " ".join(answer.stderr.split())
    assert "study.toml:1" in answer.stderr


CHAIN = """
from headroom.simulation import Model, exponential


def build() -> Model:
    model = Model("chain", time_unit="s")
    web, database = model.station("web", servers=4), model.station("database", buffer=1)
    program = model.program("request")
    with program.holding(model.pool("connections", tokens=5)):
        program.use(web, exponential(0.5))
        program.use(database, exponential(0.15))
    model.closed_class("users", program, population=40, think=exponential(1))
    return model
"""


def test_the_station_that_blocks_is_blamed_and_doubling_it_helps_most(folder: Path) -> None:
    """The pool is held all the time, and twice its tokens give almost nothing."""
    (folder / "chain.py").write_text(CHAIN)
    words = ("what-if", "chain.py", "--completions", "20000", "-n", "4", "--quiet")
    answer = headroom(*words, "--json")
    assert answer.exit_code == 0, answer.stderr
    content = json.loads(answer.stdout)["content"]
    ratios = {
        what_if["change"]: effect["ratio"]
        for what_if in content["what_ifs"]
        for effect in what_if["effects"]
        if effect["metric"] == "throughput"
    }
    assert max(ratios, key=lambda change: ratios[change]).startswith("station.database.")
    assert ratios["pool.connections.tokens=x2"] < 1.1
    evidence = content["bottleneck"]["evidence"]
    assert (evidence["why"], evidence["cause"]["name"]) == ("full_places", "database")
    symptoms = {symptom["resource"]["name"]: symptom["because"] for symptom in evidence["symptoms"]}
    assert symptoms["connections"] == "blocked"
    assert 'Now The places of "database"' in " ".join(headroom(*words).stdout.split())


def test_a_parameter_is_tried_like_a_station_and_together_with_one() -> None:
    """Oracle: M/M/1, R = S / (1 - U): from U = 0.8 to 0.5 and to half of that service time."""
    changes = ["utilization=0.5", "utilization=0.5; station.server.speed=x2"]
    answer = headroom(
        *("what-if", "mm1", "--change", changes[0], "--change", changes[1]),
        *("-n", "6", "--completions", "20000", "--quiet", "--json"),
    )
    assert answer.exit_code == 0, answer.stderr
    found = {
        what_if["change"]: what_if for what_if in json.loads(answer.stdout)["content"]["what_ifs"]
    }
    expected = {changes[0]: (1 / 0.5) / (1 / 0.2), changes[1]: (0.5 / 0.75) / (1 / 0.2)}
    for text, ratio in expected.items():
        effects = {effect["metric"]: effect for effect in found[text]["effects"]}
        assert effects["response_s_mean"]["ratio"] == pytest.approx(ratio, rel=0.1)
    (applied,) = found[changes[0]]["applied"]
    assert (applied["before"], applied["after"]) == (0.8, 0.5)


def test_a_study_tries_parameters_beside_what_is_used_up(folder: Path) -> None:
    table = 'what_if = { parts = "none", also = ["service_s=x0.5"], points = 1 }'
    (folder / "study.toml").write_text(STUDY + table)
    assert headroom("run", "--quiet").exit_code == 0
    point = json.loads(headroom("show", "--json").stdout)["content"]["experiments"][0]["points"]
    tried = [one["applied"] for each in point for one in each["what_ifs"]]
    assert [(one["name"], one["before"], one["after"]) for (one,) in tried] == [
        ("service_s", 0.05, 0.025)
    ]


def test_a_parameter_that_a_study_cannot_change_is_named_with_its_line(folder: Path) -> None:
    (folder / "study.toml").write_text(STUDY + 'what_if = { also = ["servcie_s=0.1"] }')
    answer = headroom("run", "--quiet")
    assert answer.exit_code != 0
    assert "study.toml:14" in answer.stderr
    assert "did you mean 'service_s'" in " ".join(answer.stderr.split())
