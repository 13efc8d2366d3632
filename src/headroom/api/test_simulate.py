"""Simulate, compare, solve, what-if and size from Python: values, and what is refused."""

import math
from pathlib import Path
from typing import cast

import pytest

import headroom as hr
from headroom.errors import HeadroomError, StudyError


def closed(users: int = 10, think_s: float = 1.0) -> hr.Model:
    model = hr.Model("closed", time_unit="s")
    page = model.program("page")
    page.use(model.station("web", servers=2), hr.exponential(0.014))
    page.use(model.station("database"), hr.exponential(0.009))
    model.closed_class("users", page, population=users, think=hr.exponential(think_s))
    return model


def test_an_estimate_holds_what_theory_says_and_computes_like_a_number() -> None:
    found = hr.simulate(closed, users=50, completions=4000, replications=5, processes=1)
    theory = hr.solve(closed, users=50)
    throughput = found["throughput"]
    assert theory.is_exact
    assert throughput.low is not None
    assert throughput.high is not None
    assert throughput.low < theory["throughput"] < throughput.high
    assert math.isclose(float(throughput), throughput.value)
    assert str(throughput).startswith("48")
    assert throughput.count == 5
    assert "throughput" in repr(throughput)


def test_the_same_seed_gives_the_same_rows_and_lists_make_points() -> None:
    once = hr.simulate(closed, users=[10, 150], completions=500, replications=2, processes=1)
    again = hr.simulate(closed, users=[10, 150], completions=500, replications=2, processes=2)
    other = hr.simulate(
        closed, users=[10, 150], completions=500, replications=2, processes=1, seed=2
    )
    assert once.to_rows() == again.to_rows() != other.to_rows()
    assert [point.levels["users"] for point in once] == [10, 150]
    assert once.at(users=150)["station.database.utilization"].value > 0.9
    row = once.to_rows()[0]
    assert (row["users"], row["n"], row["metric"], row["unit"]) == (10, 2, "throughput", "1/s")
    frame = once.to_frame()
    assert list(frame["users"].unique()) == [10, 150]


def test_until_runs_as_long_as_the_interval_is_too_wide() -> None:
    found = hr.simulate("mm1", utilization=0.5, until=0.05, completions=2000, processes=1)
    response = found["response_s_mean"]
    assert response.low is not None
    assert response.high is not None
    assert response.high - response.low <= 0.101 * response.value


def test_until_ends_after_a_hundred_runs_unless_another_number_is_given() -> None:
    for given, expected in ({}, 100), ({"replications": 7}, 7):
        found = hr.simulate(
            "mm1",
            utilization=0.5,
            until=1e-9,
            completions=300,
            processes=1,
            **given,  # type: ignore[arg-type]
        )
        assert found["throughput"].count == expected


def test_runs_that_are_too_short_to_count_say_so_instead_of_a_name_that_is_missing() -> None:
    found = hr.simulate("mm1", utilization=0.5, completions=20, replications=2, processes=1)
    with pytest.raises(StudyError, match="fewer than 50 completions") as caught:
        found["throughput"]
    assert "completions" in caught.value.cure


def test_a_model_that_deadlocks_in_every_run_is_refused_with_its_cycle() -> None:
    model = hr.Model("circle", time_unit="s", may_deadlock=True)
    pools = [model.pool(name, tokens=1) for name in "ab"]
    for number, order in enumerate((pools, pools[::-1])):
        program = model.program(f"p{number}")
        with program.holding(order[0]):
            program.delay(hr.constant(1.0))
            with program.holding(order[1]):
                program.delay(hr.constant(1.0))
        model.closed_class(f"c{number}", program, population=1, think=hr.constant(1.0))
    with pytest.raises(StudyError, match=r"every replication failed: .*deadlock"):
        hr.simulate(model, completions=100, replications=2, processes=1)


def test_a_summary_is_plain_text_without_a_page_in_a_notebook_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cause: rich displayed each line in a notebook, and obeyed its FORCE_COLOR."""
    found = hr.simulate(closed, users=50, completions=500, replications=2, processes=1)
    tried = hr.what_if(
        closed, "station.web.servers=x2", completions=500, replications=2, processes=1
    )
    outside = [found.summary(), tried.summary(), hr.solve(closed).summary()]
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert [found.summary(), tried.summary(), hr.solve(closed).summary()] == outside
    monkeypatch.undo()
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert [found.summary(), tried.summary(), hr.solve(closed).summary()] == outside
    assert "report.html" not in found.summary() + found.summary(everything=True)
    assert "web 2 to 4 servers" in tried._repr_html_().lower()


def test_several_points_ask_which_one_is_meant() -> None:
    found = hr.simulate(closed, users=[5, 6], completions=100, replications=2, processes=1)
    with pytest.raises(StudyError, match="2 points of experiment") as caught:
        found["throughput"]
    assert "users = 5; users = 6" in caught.value.cure
    with pytest.raises(StudyError, match="no factor 'usres'"):
        found.at(usres=5)
    with pytest.raises(StudyError, match="no estimate of 'thruput'") as missing:
        found.at(users=5)["thruput"]
    assert "throughput" in missing.value.cure


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: hr.simulate(closed, usres=5), "no parameter 'usres'"),
        (lambda: hr.simulate(closed, users=2.5), "users"),
        (lambda: hr.simulate("mm1", completions=0), "completions"),
        (lambda: hr.simulate("nowhere.py"), "not found"),
        (lambda: hr.simulate(cast("str", 7)), "7 is not a model"),
        (lambda: hr.simulate(lambda: cast("hr.Model", 7)), "returned int, not a Model"),
        (lambda: hr.compare(closed), "needs two models"),
        (lambda: hr.compare(closed, "mm1", users=5), "model 'mm1' has no parameter 'users'"),
        (lambda: hr.load("nowhere"), "no results at nowhere"),
        (lambda: hr.what_if(closed, "station.cpu.servers=x2"), "station"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_hint(ask: object, message: str) -> None:
    assert callable(ask)
    with pytest.raises(HeadroomError, match=message) as caught:
        ask()
    assert caught.value.cure


def test_a_saturated_point_says_so_instead_of_an_estimate() -> None:
    found = hr.simulate("mm1", utilization=0.5, completions=300, replications=2, processes=1)
    assert found.at().saturation is None

    def flooded() -> hr.Model:
        model = hr.Model("flooded", time_unit="s")
        visit = model.program("visit")
        visit.use(model.station("till"), hr.exponential(0.02))
        model.open_class("visits", visit, interarrival=hr.exponential(0.01))
        return model

    full = hr.simulate(flooded, completions=300, replications=2, processes=1)
    assert full.at().saturation is not None
    with pytest.raises(StudyError, match="saturated"):
        full["response_s_mean"]


def test_a_comparison_knows_the_better_model_and_both_sides_by_name() -> None:
    def one_fast() -> hr.Model:
        return closed(users=200)

    def two_slow() -> hr.Model:
        return closed(users=20)

    found = hr.compare(
        one_fast, two_slow, completions=2000, replications=4, metrics=["throughput"], processes=1
    )
    (row,) = found.to_rows("comparisons")
    assert (row["model"], row["base"], row["verdict"]) == ("two_slow", "one_fast", "worse")
    assert "two_slow" in found.summary()


def test_what_ifs_and_sizes_answer_as_the_commands_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tried = hr.what_if(
        closed,
        "station.database.servers=x2",
        users=200,
        completions=4000,
        replications=3,
        processes=1,
    )
    effect = tried["station.database.servers=x2"]["throughput"]
    assert effect.low is not None
    assert effect.low > 1.1
    assert {row["change"] for row in tried.to_rows()} == {"station.database.servers=x2"}
    assert "What if" in tried.summary()
    sized = hr.size(
        closed,
        target="throughput>=120/s",
        over={"station.database.servers": [1, 2, 3]},
        users=200,
        completions=1000,
        processes=1,
    )
    assert sized.best == {"station.database.servers": 2}
    assert sized.is_found
    assert sized.sentences
    assert not list(tmp_path.iterdir())  # Cause: what-ifs of models left a cache in the folder.


def test_formulas_sweep_and_say_what_they_cannot() -> None:
    curve = hr.solve(closed, users=range(1, 4))
    assert [row["users"] for row in curve.to_rows() if row["metric"] == "throughput"] == [1, 2, 3]
    with pytest.raises(StudyError, match="3 points were solved"):
        curve["throughput"]
    with pytest.raises(StudyError, match="formulas give no 'thruput'"):
        hr.solve(closed)["thruput"]


def test_numbers_that_leave_nothing_to_do_are_refused() -> None:
    for wrong in (0, -1, 2.5):
        with pytest.raises(StudyError, match="is not a number of runs"):
            hr.simulate("mm1", replications=cast("int", wrong))
    with pytest.raises(StudyError, match="leaves nothing to choose"):
        hr.size("interactive", target="throughput>=1/s", over={})


def call_centre(agents: int = 14) -> hr.Model:
    model = hr.Model("call centre", time_unit="s")
    call = model.program("call")
    call.use(model.station("agents", servers=agents), hr.exponential(180))
    model.open_class("callers", call, interarrival=hr.exponential(15))
    return model


def test_the_agents_that_answer_80_percent_of_the_calls_within_30_s_are_erlangs(
    tmp_path: Path,
) -> None:
    """Oracle: Erlang C gives 65.5% for 14 agents and 80.6% for 15."""
    metric = "station.agents.wait_share_within_30s"
    staff = hr.Experiment(
        "staff", call_centre, factors={"agents": [14, 15, 16]}, replications=5,
        completions=400_000, responses=[metric], limit=[{"metric": metric, "at_least": "80%"}],
    )  # fmt: skip
    result = hr.run(hr.Study("calls", [staff], title="Calls", seed=1, folder=tmp_path))
    assert "15 agents are enough" in result.summary()
    found = hr.simulate(call_centre, metric=metric, agents=14, completions=100_000)
    assert found[metric].value == pytest.approx(0.655, abs=0.02)
