"""`headroom solve`: models by name and by file, sweeps, studies, labels, errors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from headroom.cli.app import app
from headroom.errors import ExitCode

MODEL = """
from typing import Annotated
from headroom.simulation import Model, constant, exponential
from headroom.systems.model import parameter

def build(
    *,
    users: Annotated[int, parameter(unit="1", low=1, source="assumed: few")] = 5,
    think_s: Annotated[float, parameter(unit="s", low=0.0, source="assumed: short")],
) -> Model:
    model = Model("small", time_unit="s")
    request = model.program("request")
    request.use(model.station("web"), constant(1))
    model.closed_class("users", request, population=users, think=exponential(think_s))
    return model
"""


def said(*arguments: str) -> str:
    answer = CliRunner().invoke(app, ["solve", *arguments], env={"COLUMNS": "100"})
    assert answer.exit_code == ExitCode.DONE, answer.stderr
    return answer.stdout


LAYERED = """P 2 p desk i p cpu s 0 -1
T 2 t users r browse -1 desk m 3 t web n look buy -1 cpu -1
E 3 s browse 4 -1 y browse look 0.5 -1 y browse buy 0.5 -1 s look 1 -1 s buy {buy} -1 -1
"""
MVA = """<model><parameters>
<classes><closedclass name="users" population="3"/></classes><stations>
<delaystation name="desk"><servicetimes><servicetime customerclass="users">4</servicetime>
</servicetimes></delaystation>
<listation name="cpu"><servicetimes><servicetime customerclass="users">1</servicetime>
</servicetimes></listation></stations>
<ReferenceStation><Class name="users" refStation="desk"/></ReferenceStation>
</parameters></model>"""


def test_files_of_other_tools_are_solved_by_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Oracle: 3 users who think 4 s at one server of 1 s: M/M/1//3."""
    monkeypatch.chdir(tmp_path)
    exact = pytest.approx(1 - 1 / (1 + 3 / 4 + 6 / 16 + 6 / 64), rel=1e-6)
    Path("shop.jmva").write_text(MVA)
    assert solutions("shop.jmva")[0]["forecast"]["values"]["throughput"] == exact
    assert "class.users.population" in said("shop.jmva", "--set", "class.users.population=3,6")
    Path("shop.lqn").write_text(LAYERED.format(buy="0.5 0.5"))
    (point,) = solutions("shop.lqn")
    simulated = {name: one["value"] for name, one in point["simulated"].items()}
    assert simulated["pool.look.throughput"] == pytest.approx(simulated["throughput"] / 2, rel=0.02)
    assert simulated["pool.look.service_s_mean"] == pytest.approx(1.0, rel=0.02)
    assert "pool.look.utilization" not in simulated  # it only counts


def test_an_error_of_a_layered_model_has_one_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ring.lqn").write_text(LAYERED.format(buy="0.5 -1\ny buy look 1 -1 y look buy 1"))
    answer = CliRunner().invoke(app, ["solve", "ring.lqn"])
    assert answer.stderr.startswith("headroom: error: ring.lqn:4: programs call themselves")


def solutions(*arguments: str) -> list[dict[str, Any]]:
    document = json.loads(said(*arguments, "--json"))
    assert document["kind"] == "solutions"
    found: list[dict[str, Any]] = document["content"]
    return found


def test_a_registered_model_is_solved_with_its_defaults() -> None:
    text = said("mm1")
    assert "exact (M/M/c)" in text
    assert "149.8 ms" in text
    assert "set by server" in text


def test_a_sweep_is_a_table_with_the_knee() -> None:
    text = said("interactive", "--set", "users=20..22")
    assert [line.split()[0] for line in text.splitlines() if line.strip()[:1] == "2"] == [
        "20", "21", "22",
    ]  # fmt: skip
    assert "21 jobs" in text


def test_two_sweeps_are_a_product_in_the_order_given() -> None:
    found = solutions("central_server", "--set", "jobs=1,8", "--set", "cpus=1,2")
    assert [one["levels"] for one in found] == [
        {"jobs": 1, "cpus": 1},
        {"jobs": 1, "cpus": 2},
        {"jobs": 8, "cpus": 1},
        {"jobs": 8, "cpus": 2},
    ]


def test_a_station_can_be_changed_without_a_parameter() -> None:
    """Oracle: two servers at load 0.4 each; Erlang C gives R = S (1 + C / (2 (1 - 0.4)))."""
    (found,) = solutions("mm1", "--set", "station.server.servers=2")
    waiting = 2 * 0.4**2 / (1 + 0.4)
    expected = 0.01 * (1 + waiting / (2 * 0.6))
    assert found["forecast"]["values"]["response_s_mean"] == pytest.approx(expected)


def test_a_model_file_answers_with_the_line_that_makes_it_an_approximation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    text = said("small.py", "--set", "think_s=2.5")
    assert "approximation (Marie's method)" in text
    assert "small.py:13: service at 'web' (fcfs) is not exponential" in text


def test_every_point_of_a_study_is_solved() -> None:
    folder = Path(__file__).resolve().parents[4] / "studies" / "quickstart"
    found = solutions(str(folder), "--quick")
    assert {one["name"] for one in found} == {"load", "purchase", "connections"}
    assert all(one["forecast"]["values"]["throughput"] > 0 for one in found)


def test_a_factor_that_is_set_leaves_no_point_twice() -> None:
    folder = Path(__file__).resolve().parents[4] / "studies" / "quickstart"
    found = solutions(str(folder), "--quick", "--set", "users=200,300")
    load = [one["levels"] for one in found if one["name"] == "load"]
    assert load == [{"users": 200}, {"users": 300}]


def test_what_has_no_steady_state_is_an_answer_and_no_crash() -> None:
    text = said("mm1", "--set", "utilization=0.9", "--set", "station.server.speed=x0.5")
    assert "no steady state" in text
    assert "load of 1.8" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mm1", "--set", "utilisation=0.5"], "did you mean 'utilization'"),
        (["mm1", "--set", "utilization=1.5"], "above its highest value"),
        (["mm2"], "there is no model 'mm2'"),
        (["nowhere.py"], "not found"),
        (["mm1", "--set", "utilization"], "cannot be read"),
    ],
)
def test_wrong_usage_is_told_with_its_cure(arguments: list[str], words: str) -> None:
    answer = CliRunner().invoke(app, ["solve", *arguments])
    assert answer.exit_code == ExitCode.USAGE
    assert words in answer.stderr


def test_a_parameter_without_a_value_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(app, ["solve", "small.py"])
    assert answer.exit_code == ExitCode.USAGE
    assert "add --set think_s=VALUE" in answer.stderr


def test_a_station_that_the_model_has_not_is_a_mistake_and_no_answer() -> None:
    """Cause: every error counted as "no formula applies", and the exit code was 0."""
    answer = CliRunner().invoke(app, ["solve", "mm1", "--set", "station.cpu.servers=2"])
    assert answer.exit_code == ExitCode.USAGE
    assert "no station 'cpu'" in answer.stderr


def test_the_classes_of_a_mix_are_printed_each_under_one_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mixed.py").write_text(MIXED)
    monkeypatch.chdir(tmp_path)
    text = said("mixed.py")
    assert "Look throughput" in text
    assert "Buy mean response time" in text
    assert text.count("Bounds") == 1


MIXED = """
from headroom.simulation import Model, exponential


def build() -> Model:
    model = Model("shop", time_unit="s")
    program = model.program("visit")
    program.use(model.station("cpu"), exponential(0.1))
    members = {"look": (program, 3), "buy": (program, 1)}
    model.closed_mix("users", members, population=4, think=exponential(1))
    return model
"""


def test_a_machine_that_no_formula_knows_is_answered_by_a_simpler_one_with_its_error() -> None:
    """The throughput is that of studies/spax_tpcc, `theory-disks-heavy-8`."""
    answer = CliRunner().invoke(app, ["solve", "spax", "--json"])
    assert answer.exit_code == 0, answer.stderr
    (point,) = json.loads(answer.stdout)["content"]
    found = point["forecast"]
    assert found["values"]["throughput"] == pytest.approx(104.7, rel=1e-3)
    assert not found["is_exact"]
    assert "within 6% of the simulation" in found["reasons"][0]
    assert found["highest"]["throughput"] == pytest.approx(109.85, rel=1e-3)


def test_the_known_error_of_a_machine_is_said_with_its_answer() -> None:
    said = " ".join(CliRunner().invoke(app, ["solve", "server"]).stdout.split())
    assert "41% more at 16" in said


BREAKING = """
from headroom.simulation import Model, exponential


def build() -> Model:
    model = Model("breaking", time_unit="s")
    cpu, program = model.station("cpu"), model.program("visit")
    model.breakdowns(cpu, time_to_failure=exponential(20), repair=exponential(10))
    program.use(cpu, exponential(2))
    model.closed_class("users", program, population=10, think=exponential(20))
    return model
"""


def breaking_response_s() -> float:
    """Return the mean response of `BREAKING`, from the shares of jobs at the CPU, up or down."""
    size = 22
    rates = np.zeros((size, size))
    for jobs in range(11):
        rates[jobs, jobs + 11], rates[jobs + 11, jobs] = 1 / 20, 1 / 10
        if jobs < 10:
            rates[jobs, jobs + 1] = rates[jobs + 11, jobs + 12] = (10 - jobs) / 20
        if jobs:
            rates[jobs, jobs - 1] = 1 / 2
    balance = (rates - np.diag(rates.sum(axis=1))).T
    balance[0] = 1.0
    shares = np.linalg.solve(balance, np.eye(size)[0])
    throughput = shares[1:11].sum() / 2
    return float(10 / throughput - 20)


def test_a_number_that_could_be_far_off_is_refused_with_its_bounds_and_a_simulation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cause: "at most 0.3333/s", and three lines later 0.3943/s."""
    (tmp_path / "breaking.py").write_text(BREAKING)
    monkeypatch.chdir(tmp_path)
    text = " ".join(said("breaking.py").split())
    assert "an estimate could be more than 20% off" in text
    assert "at most 0.3333 /s" in text
    (point,) = solutions("breaking.py")
    # Oracle: the chain of jobs at the CPU and of its state, solved by elimination: see below.
    simulated = point["simulated"]["response_s_mean"]
    assert simulated["low"] < breaking_response_s() < simulated["high"]
    assert point["forecast"]["values"] == {}
    assert point["forecast"]["refused"] == ["station 'cpu': servers break down"]
    assert point["forecast"]["limits"][0]["throughput_high"] == pytest.approx(1 / 3)
    assert point["simulate"] == (
        'python -c "import headroom as hr; '
        "print(hr.simulate('breaking.py', completions=20_000, replications=5))\""
    )
