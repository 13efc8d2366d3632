"""Effect of doubling, on real models: against formulas, planned once, never run twice."""

from pathlib import Path

import pytest

from benches.known.formulas import repairman_throughput
from headroom.analysis.analyse import analyse
from headroom.analysis.evidence import AppliedChange, NoEffect
from headroom.analysis.export import what_if_rows
from headroom.analysis.follow_up.what_if import planned_what_ifs
from headroom.analysis.results import ExperimentResult, PointResult, StudyResult, WhatIfResult
from headroom.analysis.verdicts.culprits import SATURATED
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.changes import parse_change
from headroom.experiment.runner.what_if import changed_plan, changed_point
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.plan import Plan
from tests.support.example_session import run_study
from tests.support.study_text import Head

STUDY = Head("doubled", "What doubling gives", "load", seed=5).then("""\
responses = ["throughput", "response_s_mean"]
system = {{ name = "model", model = "{model}", completions = 20_000 }}
replications = {{ count = 6 }}
{rest}
""")
INTERACTIVE = """
fixed = { think_s = 1.0, service_s = 0.05 }
factors = { users = [2, 60] }
"""


def planned(folder: Path, *, model: str, rest: str) -> Plan:
    (folder / "study.toml").write_text(STUDY.format(model=model, rest=rest))
    return make_plan(load_study(folder), quick=False)


def with_what_ifs(plan: Plan, folder: Path) -> StudyResult:
    """Run a plan and the changes that its results ask for, with a journal in `folder`."""
    with Journal.open(folder / "journal.sqlite", create=True) as journal:
        run_study(plan, journal)
        run_study(planned_what_ifs(plan, journal), journal)
        return analysed(plan, journal)


def analysed(plan: Plan, journal: Journal) -> StudyResult:
    return analyse(plan, journal, environments=journal.environments(), command="")


def point_at(result: StudyResult, users: int) -> PointResult:
    points = result.experiments[0].points
    return next(point for point in points if point.levels["users"] == users)


def test_doubling_the_limit_gives_what_the_balance_equations_say(tmp_path: Path) -> None:
    """Oracle: 60 users, think 1 s, service 50 ms: one server against two, and one twice as fast."""
    plan = planned(tmp_path, model="interactive", rest=INTERACTIVE)
    result = with_what_ifs(plan, tmp_path)
    assert point_at(result, 2).what_ifs == [], "nothing limits 2 users"
    found = {what_if.change: what_if for what_if in point_at(result, 60).what_ifs}
    base = repairman_throughput(1, 60, 1.0, 0.05)
    expected = {
        "station.server.servers=x2": repairman_throughput(2, 60, 1.0, 0.05) / base,
        "station.server.speed=x2": repairman_throughput(1, 60, 1.0, 0.025) / base,
    }
    assert found.keys() == expected.keys()
    for change, ratio in expected.items():
        effect = found[change].effects[0]
        assert effect.metric == "throughput"
        assert effect.low is not None
        assert effect.high is not None
        assert effect.low <= ratio <= effect.high
        assert effect.pairs == 5
    assert found["station.server.servers=x2"].applied == [
        AppliedChange(
            kind="station", name="server", aspect="servers", before=1.0, after=2, factor=2.0
        )
    ]
    assert result.experiments[0].what_if_replications == 10
    rows = list(what_if_rows(result))
    assert {row["change"] for row in rows} == expected.keys()
    assert all(row["factor.users"] == 60 for row in rows)
    first = next(row for row in rows if row["metric"] == "throughput")
    assert first["ratio"] == found[first["change"]].effects[0].ratio


def test_an_exported_change_without_effects_says_why() -> None:
    why = NoEffect(code="few_pairs")
    tried = WhatIfResult(change="pool.a.tokens=x2", done=2, failed=0, why_empty=why)
    point = PointResult(key="k", levels={"users": 5}, done=2, failed=0, what_ifs=[tried])
    (row,) = what_if_rows(study_with(point))
    assert (row["factor.users"], row["change"], row["metric"]) == (5, "pool.a.tokens=x2", None)
    assert row["evidence"] == "few_pairs"


def study_with(point: PointResult) -> StudyResult:
    experiment = ExperimentResult(
        name="load", title="", system="model", column="model", factors=[], responses=[],
        points=[point],
    )  # fmt: skip
    return StudyResult(
        format=2, name="s", title="", question="", folder="s", seed=1, is_quick=False,
        is_complete=True, done=2, failed=0, planned=2, experiments=[experiment], claims=[],
        environments=[], command="", generated="", headroom_version="0",
    )  # fmt: skip


def test_what_ran_once_is_not_run_again_and_gives_the_same_result(tmp_path: Path) -> None:
    plan = planned(tmp_path, model="interactive", rest=INTERACTIVE)
    with Journal.open(tmp_path / "journal.sqlite", create=True) as journal:
        run_study(plan, journal)
        first = run_study(planned_what_ifs(plan, journal), journal)
        before = analysed(plan, journal)
        base = run_study(plan, journal)
        again = run_study(planned_what_ifs(plan, journal), journal)
        assert analysed(plan, journal).experiments == before.experiments
    assert (first.done, again.done, base.done) == (10, 0, 0)
    assert again.reused == 10
    assert not base.kept, "the rows of changed systems are not called strangers"


@pytest.mark.parametrize(
    ("rule", "count"), [("none", 0), ("limits", 2), ("all", 4)], ids=["none", "limits", "all"]
)
def test_the_study_decides_what_is_doubled(tmp_path: Path, rule: str, count: int) -> None:
    rest = f'what_if = {{ parts = "{rule}" }}\n{INTERACTIVE}'
    plan = planned(tmp_path, model="interactive", rest=rest)
    with Journal.open(tmp_path / "journal.sqlite", create=True) as journal:
        run_study(plan, journal)
        changed = planned_what_ifs(plan, journal)
    points = (
        []
        if changed is None
        else [p for experiment in changed.experiments for p in experiment.points]
    )
    assert len(points) == count


RING = '''
from headroom.simulation import Model, exponential


def build() -> Model:
    """Return a ring of 12 stations, all saturated; the fourth is the slowest."""
    model = Model("ring", time_unit="ms")
    visit = model.program("visit")
    for place in range(12):
        visit.use(model.station(f"s{place}"), exponential(10.2 if place == 3 else 10.0))
    model.closed_class("jobs", visit, population=600)
    return model
'''


@pytest.mark.parametrize(("rule", "count"), [("", 5), ("what_if.changes = 3", 3)])
def test_only_the_few_changes_that_can_matter_are_tried(
    tmp_path: Path, rule: str, count: int
) -> None:
    """Cause: a ring of 500 saturated stations ran 1,220 replications of changed systems."""
    (tmp_path / "ring.py").write_text(RING)
    text = STUDY.replace('model = "{model}"', 'file = "ring.py"').replace("20_000", "3_000")
    (tmp_path / "study.toml").write_text(text.format(rest=f'{rule}\nwarm_up.method = "none"'))
    result = with_what_ifs(make_plan(load_study(tmp_path), quick=False), tmp_path)
    point = result.experiments[0].points[0]
    changes = {what_if.change for what_if in point.what_ifs}
    assert len(changes) == count
    assert point.bottleneck is not None
    assert any(f"station.{point.bottleneck.name}." in change for change in changes)
    tried = {change.rpartition(".")[0] for change in changes}
    shares = {f"station.s{place}": 0.0 for place in range(12)}
    shares = {name: point.estimates[f"{name}.utilization"].value for name in shares}
    untried = {name: share for name, share in shares.items() if name not in tried}
    assert max(untried.values()) <= min(shares[name] for name in tried)
    assert point.what_ifs_left_out == sum(share >= SATURATED for share in untried.values()) > 0


def test_a_change_that_saturates_a_point_says_so_and_compares_what_flows(tmp_path: Path) -> None:
    """Half the servers of an open queue at 80% load are offered 1.6 times what they can do."""
    rest = (
        'fixed = { servers = 2 }\nfactors = { utilization = [0.8] }\nwhat_if = { parts = "none" }'
    )
    plan = planned(tmp_path, model="mmc", rest=rest)
    with Journal.open(tmp_path / "journal.sqlite", create=True) as journal:
        run_study(plan, journal)
        experiment = plan.experiments[0]
        change = parse_change("station.server.servers=1")
        point = changed_point(experiment.points[0], [change], experiment.system)
        run_study(changed_plan(plan, [(experiment, point, 2)]), journal)
        result = analysed(plan, journal)
    found = result.experiments[0].points[0]
    assert found.estimates
    (tried,) = found.what_ifs
    assert [effect.metric for effect in tried.effects] == ["throughput"]
    assert tried.saturation is not None
    assert tried.saturation.load == pytest.approx(1.6)


SLOW_START = '''
from headroom.simulation import Model, exponential


def build() -> Model:
    """Return a disk on which the first 4,000 of 20,000 reads take 20 times as long."""
    model = Model("slow start", time_unit="ms")
    done, read, disk = model.attribute("done"), model.program("read"), model.station("disk")
    read.set(done, done + 1)
    with read.branch() as which:
        with which.when(done <= 4_000):
            read.use(disk, 20.0)
        with which.otherwise():
            read.use(disk, exponential(1.0))
    model.closed_class("reader", read, population=1, start="ready")
    return model
'''


def test_a_system_that_is_done_before_the_other_one_is_warm_is_compared_too(tmp_path: Path) -> None:
    """Of 96 s the slow start takes 80; twice as fast, the whole run takes 48."""
    (tmp_path / "slow_start.py").write_text(SLOW_START)
    text = STUDY.replace('model = "{model}"', 'file = "slow_start.py"')
    (tmp_path / "study.toml").write_text(text.format(rest=""))
    plan = make_plan(load_study(tmp_path), quick=False)
    result = with_what_ifs(plan, tmp_path)
    point = result.experiments[0].points[0]
    assert point.warm_up is not None
    assert point.warm_up.cut_s > 48
    found = {what_if.change: what_if for what_if in point.what_ifs}["station.disk.speed=x2"]
    assert found.effects, found.why_empty
    effect = next(one for one in found.effects if one.metric == "throughput")
    assert effect.ratio == pytest.approx(2.0, rel=0.05)


def test_pairs_of_one_seed_cancel_the_chance_of_the_arrivals(tmp_path: Path) -> None:
    """Throughput of an open queue is its arrivals, and those are the same in both systems."""
    rest = 'factors = { utilization = [0.95] }\nwhat_if = { parts = "all", replications = 6 }'
    plan = planned(tmp_path, model="mm1", rest=rest)
    result = with_what_ifs(plan, tmp_path)
    throughput = result.experiments[0].points[0].what_ifs[0].effects[0]
    assert throughput.metric == "throughput"
    assert throughput.ratio == pytest.approx(1.0, abs=0.01)
    assert throughput.variance_reduction is None or throughput.variance_reduction > 10


OVERLOADED = """
from typing import Annotated

from headroom.simulation import Model, exponential
from headroom.systems.model import parameter


def build(*, rate: Annotated[float, parameter(unit="1/s", source="assumed")] = 1.0) -> Model:
    model = Model("queue", time_unit="s")
    request = model.program("request")
    request.use(model.station("server"), exponential(1.0))
    model.open_class("requests", request, interarrival=exponential(1.0 / rate))
    model.stop(time=20_000)
    return model
"""


def test_an_overloaded_point_says_whether_doubling_would_carry_the_load(tmp_path: Path) -> None:
    """1.4 requests a second at a server that does 1, or 2 after the change."""
    (tmp_path / "model.py").write_text(OVERLOADED)
    study = STUDY.replace('model = "{model}", completions = 20_000', 'file = "model.py"')
    (tmp_path / "study.toml").write_text(study.format(rest="factors = { rate = [1.4] }"))
    plan = make_plan(load_study(tmp_path), quick=False)
    result = with_what_ifs(plan, tmp_path)
    point = result.experiments[0].points[0]
    assert point.saturation is not None
    tried = {what_if.change: what_if for what_if in point.what_ifs}
    assert tried.keys() == {"station.server.servers=x2", "station.server.speed=x2"}
    assert all(one.saturation is None for one in tried.values())
    assert all("response_s_mean" in {e.metric for e in one.reached} for one in tried.values())
