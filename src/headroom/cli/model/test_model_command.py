"""`headroom model`: the output describes the model that would run."""

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from headroom.cli.app import app
from headroom.errors import ExitCode
from headroom.simulation import Model, canonical_json, exponential
from tests.support.study_text import Head

SHOP = """
from typing import Annotated
from headroom.simulation import Model, exponential
from headroom.systems.model import parameter

def shop(*, users: Annotated[int, parameter(unit="1", low=1, source="assumed")] = 7):
    model = Model("shop", time_unit="ms")
    page = model.program("page")
    page.use(model.station("web"), exponential(5))
    model.closed_class("users", page, population=users)
    return model
"""


def run(*words: str) -> str:
    answer = CliRunner().invoke(app, ["model", *words])
    assert answer.exit_code == 0, answer.stderr
    return answer.stdout


@pytest.fixture
def shop(tmp_path: Path) -> str:
    path = tmp_path / "shop.py"
    path.write_text(SHOP, encoding="utf-8")
    return f"{path}:shop"


def test_registered_models_are_listed_with_their_parameters() -> None:
    listed = json.loads(run("list", "--json"))["content"]
    models = {one["name"]: {p["name"]: p for p in one["parameters"]} for one in listed}
    assert models["mm1"]["utilization"]["default"] == 0.8
    assert models["mm1"]["service_s"]["unit"] == "s"
    text = run("list")
    assert "central_server" in text
    # A machine has too many to list; they are a command away.
    assert "headroom model show" in " ".join(text.replace("│", " ").split())
    assert "processing_nodes" not in text
    assert models["spax"]["terminals"]["default"] == 10


def test_the_listing_of_studies_names_the_models_too(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["list", str(tmp_path), "--json"])
    assert "mm1" in json.loads(answer.stdout)["content"]["models"]


def test_a_model_is_told_with_the_values_it_is_given(shop: str) -> None:
    assert run("show", shop, "--set", "users=9").splitlines() == [
        "parameters",
        "  users = 9",
        "model shop, times in ms",
        "stations",
        "  web; 1 server; page uses it for 5 ms exponential",
        "classes",
        "  closed class users; 9 jobs; walks page",
        "program page",
        "  use web for 5 ms exponential",
    ]


IDLE = SHOP.replace("    page = ", '    model.station("attic")\n    page = ')


def test_what_has_no_effect_is_remarked_on_beside_the_model(tmp_path: Path) -> None:
    path = tmp_path / "shop.py"
    path.write_text(IDLE, encoding="utf-8")
    answer = CliRunner().invoke(app, ["model", "show", f"{path}:shop"])
    assert answer.exit_code == 0
    line = 1 + IDLE.splitlines().index('    model.station("attic")')
    assert answer.stderr == f"headroom: remark: {path}:{line}: no program uses station 'attic'\n"
    assert "remark" not in answer.stdout


STUDY = Head("shop", "Shop", "users").then("""\
system = { name = "model", file = "shop.py", function = "shop", completions = 2000 }
factors = { users = [1, 2] }
replications = { count = 2 }
""")


@pytest.mark.parametrize(
    ("when", "is_said"), [("if True", True), ("if users == 1", False), ("if False", False)]
)
def test_a_study_says_what_is_idle_at_all_of_its_points(
    when: str, *, is_said: bool, tmp_path: Path
) -> None:
    source = IDLE.replace('    model.station("attic")', f'    {when}: model.station("attic")')
    (tmp_path / "shop.py").write_text(source, encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    answer = CliRunner().invoke(app, ["run", str(tmp_path), "--jobs", "1", "--no-what-if"])
    assert answer.exit_code == 0, answer.stderr
    assert ("no program uses station 'attic'" in answer.stderr) == is_said


def test_a_model_that_is_wrong_prints_nothing_of_itself(tmp_path: Path) -> None:
    path = tmp_path / "shop.py"
    path.write_text(SHOP.replace("exponential(5)", "exponential(0)"), encoding="utf-8")
    answer = CliRunner().invoke(app, ["model", "show", f"{path}:shop"])
    assert answer.exit_code == ExitCode.USAGE
    assert answer.stdout == ""


def test_the_json_is_that_of_the_builder_byte_for_byte(shop: str) -> None:
    model = Model("shop", time_unit="ms")
    page = model.program("page")
    page.use(model.station("web"), exponential(5))
    model.closed_class("users", page, population=7)
    assert run("json", shop) == canonical_json(model).decode() + "\n"


def test_a_picture_goes_to_stdout_or_into_a_file(shop: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.svg"
    drawn = run("picture", shop)
    assert run("picture", shop, "-o", str(path)).strip() == str(path)
    assert path.read_text(encoding="utf-8") == drawn
    assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314


def test_a_trace_holds_the_events_of_one_run(shop: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    told = run("trace", shop, "-o", str(path), "--events", "400", "--seed", "3")
    assert f"{path}: 400 events" in told
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["otherData"] == {"model": "shop", "is_truncated": True}
    events = [event for event in document["traceEvents"] if "ts" in event]
    names = {event["name"] for event in events if event["ph"] == "b"}
    assert names == {"users", "waits for web", "at web"}
    counted = [event["args"] for event in events if event["ph"] == "C"]
    assert max(counts["served"] for counts in counted if "served" in counts) == 1
    assert max(sum(counts.values()) for counts in counted) == 7


@pytest.mark.parametrize("words", [("show", "mm2"), ("show", "mm1", "--set", "uses=3"),
                                   ("picture", "nowhere.py")])  # fmt: skip
def test_what_is_not_there_is_told_with_a_cure(words: tuple[str, ...]) -> None:
    answer = CliRunner().invoke(app, ["model", *words])
    assert answer.exit_code == ExitCode.USAGE
    assert "hint:" in answer.stderr


def test_the_series_of_a_run_are_rows_at_equal_distances(shop: str, tmp_path: Path) -> None:
    """Oracle: users who never think keep the only server busy and are all there, always."""
    rows = list(csv.DictReader(run("series", shop, "--every", "0.5", "--completions",
                                   "1000").splitlines()))  # fmt: skip
    assert [float(row["time_s"]) for row in rows[:3]] == [0.5, 1.0, 1.5]
    assert {row["station.web.utilization"] for row in rows} == {"1"}
    assert {row["class.users.jobs_mean"] for row in rows} == {"7"}
    done = sum(0.5 * float(row["class.users.throughput"]) for row in rows)
    assert 1000 * (1 - 1 / len(rows)) < done <= 1000
    path = tmp_path / "series.csv"
    told = run("series", shop, "--every", "0.5", "--completions", "1000", "-o", str(path),
               "--only", "station.*")  # fmt: skip
    assert told == f"{path}: {len(rows)} rows, 4 metrics\n"
    assert path.read_text(encoding="utf-8").startswith("time_s,station.web.utilization,")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--every", "0"), "--every is 0"),
        (("--every", "1e6", "--completions", "10"), "before the end of the first interval"),
        (
            ("--every", "0.01", "--completions", "100", "--only", "station.wbe.*"),
            "matches no series",
        ),
    ],
)
def test_series_that_cannot_be_told_say_why(
    shop: str, words: tuple[str, ...], message: str
) -> None:
    answer = CliRunner().invoke(app, ["model", "series", shop, *words])
    assert answer.exit_code == ExitCode.USAGE
    assert message in " ".join(answer.stderr.split())
