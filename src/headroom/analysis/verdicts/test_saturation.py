"""Saturated points: found by formulas and by runs, never claimed for a transient that settles."""

import numpy as np
import pytest

from headroom.analysis.analyse import analyse
from headroom.analysis.evidence import IntervalEvidence
from headroom.analysis.follow_up.what_if import planned_what_ifs
from headroom.analysis.results import PointResult, StudyResult
from headroom.analysis.verdicts.saturation import ERROR_RATE, Growth, is_saturated, saturation_of
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.run import FloatArray, ResourceTable, Run
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from tests.support.example_session import run_study
from tests.support.study_text import Head

STUDY = Head("queue", "Up to which load?", "load", seed=3).then("""\
system = { name = "model", file = "queue.py", completions = 3000 }
factors = { load = [0.5, 0.7, 1.3] }
replications = { count = 3 }
responses = ["response_s_p95", "throughput"]

[[experiment.limit]]
metric = "response_s_p95"
at_most = 100.0

[[claim]]
kind = "ordering"
name = "rises"
text = "The response time rises"
experiment = "load"
metric = "response_s_p95"
factor = "load"
order = [0.5, 1.3]

[[claim]]
kind = "value"
name = "short"
text = "The response time is 1 s"
experiment = "load"
metric = "response_s_p95"
where = { load = 1.3 }
value = 1.0
tolerance = 0.5
""")
QUEUE = '''
from typing import Annotated

from headroom.simulation import Model, exponential
from headroom.systems.model import parameter


def build(*, load: Annotated[float, parameter(unit="1", source="assumed")] = 0.5) -> Model:
    """Return M/M/1 with a service time of 1 s."""
    model = Model("queue", time_unit="s")
    visit, server = model.program("visit"), model.station("server")
    visit.use(server, exponential(1.0))
    model.open_class("customers", visit, interarrival=exponential(1.0 / load))
    return model
'''


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    folder = tmp_path_factory.mktemp("queue")
    (folder / "study.toml").write_text(STUDY)
    (folder / "queue.py").write_text(QUEUE)
    plan = make_plan(load_study(folder), quick=False)
    with Journal.open(folder / "journal.sqlite", create=True) as journal:
        run_study(plan, journal)
        run_study(planned_what_ifs(plan, journal), journal)
        return analyse(plan, journal, environments=journal.environments(), command="")


@pytest.fixture
def full(result: StudyResult) -> PointResult:
    return result.experiments[0].points[-1]


def test_a_point_above_the_capacity_reports_what_flows_and_what_grows(full: PointResult) -> None:
    """M/M/1 offered 1.3 times its capacity serves its capacity; the queue takes the rest."""
    saturation = full.saturation
    assert saturation is not None
    assert (saturation.kind, saturation.name, saturation.basis) == ("station", "server", "formulas")
    assert saturation.load == pytest.approx(1.3)
    assert saturation.served_per_s is not None
    assert saturation.growth_per_s is not None
    assert saturation.growth_per_s == pytest.approx(0.3 * saturation.served_per_s, rel=0.3)
    assert "response_s_p95" in saturation.unbounded
    assert set(full.estimates) & set(saturation.unbounded) == set()
    assert full.estimates["throughput"].low is not None
    assert not full.lacks_figures


def test_a_limit_breaks_between_the_last_level_that_keeps_it_and_a_saturated_one(
    result: StudyResult,
) -> None:
    (limit,) = result.experiments[0].limits
    assert (limit.state, limit.level) == ("breaks", None)
    assert (limit.level_low, limit.level_high) == (0.7, 1.3)
    assert (limit.holds_at, limit.breaks_at) == (0.7, 1.3)


def test_claims_about_a_saturated_point_are_decided(result: StudyResult) -> None:
    rises, short = result.claims
    assert rises.verdict == "holds"
    assert short.verdict == "differs"
    assert isinstance(short.evidence, IntervalEvidence)
    assert short.evidence.is_unbounded


def test_doubling_a_saturated_server_gives_a_steady_state(full: PointResult) -> None:
    assert full.what_ifs
    for tried in full.what_ifs:
        (effect,) = [one for one in tried.effects if one.metric == "throughput"]
        assert effect.ratio == pytest.approx(1.3, rel=0.1)
        assert "response_s_p95" in {one.metric for one in tried.reached}


def lines(jobs: FloatArray, arrivals: FloatArray) -> list[Run]:
    """Return runs of one open class: jobs present and arrivals so far, shape (runs, times)."""
    times_s = np.arange(1.0, jobs.shape[1] + 1.0)
    return [
        Run(
            snapshot_times_s=times_s,
            resources=(
                ResourceTable(
                    kind="class",
                    names=("jobs",),
                    capacity=np.array([np.inf]),
                    columns={
                        "jobs_s": np.cumsum(present)[:, None],
                        "arrival_count": came[:, None],
                        "completion_count": (came - present)[:, None],
                    },
                ),
            ),
        )
        for present, came in zip(jobs, arrivals, strict=True)
    ]


def queues(load: float, *, count: int, steps: int, seed: int) -> list[Run]:
    """Return runs of M/M/1 in normal approximation: a reflected walk with drift, service rate 1."""
    random = np.random.default_rng(seed)
    came = random.normal(load, np.sqrt(load), (count, steps))
    served = random.normal(1.0, 1.0, (count, steps))
    walk = np.cumsum(came - served, axis=1)
    return lines(walk - np.minimum(np.minimum.accumulate(walk, axis=1), 0.0), came.cumsum(axis=1))


def test_a_queue_that_grows_in_all_replications_is_saturated() -> None:
    assert is_saturated(queues(1.3, count=10, steps=3000, seed=1))


@pytest.mark.parametrize("load", [0.5, 0.9, 0.98, 1.0])
def test_a_load_that_can_be_served_is_rarely_called_saturated(load: float) -> None:
    """400 experiments of 5 runs: at an error rate of 1% more than 12 have a chance of 3e-4."""
    false = sum(is_saturated(queues(load, count=5, steps=300, seed=seed)) for seed in range(400))
    assert false <= 3 * ERROR_RATE * 400


@pytest.mark.parametrize("constant", [0.1, 0.3, 1.0, 3.0])
def test_a_system_that_still_settles_is_too_short_and_not_saturated(constant: float) -> None:
    """Many servers of long jobs fill as 1 - exp(-t / constant), in lengths of the run."""
    time = np.linspace(0.0, 1.0, 301)[1:]
    noise = np.random.default_rng(4).normal(0.0, 3.0, (8, 300))
    arrivals = np.tile(5000.0 * time, (8, 1))
    filled = 5000.0 * constant * (1.0 - np.exp(-time / constant))
    assert not is_saturated(lines(filled + noise, arrivals))


def test_closed_loads_and_single_runs_claim_nothing() -> None:
    grown = queues(1.5, count=1, steps=300, seed=2)
    assert not is_saturated(grown)
    assert not is_saturated([])
    table = grown[0].resources[0]
    closed = ResourceTable(
        kind="class", names=table.names, capacity=np.array([10.0]), columns=table.columns
    )
    runs = [Run(snapshot_times_s=grown[0].snapshot_times_s, resources=(closed,))] * 5
    assert not is_saturated(runs)


def test_growth_without_scatter_is_judged_too() -> None:
    thirds = np.array([[100.0, 200.0, 300.0]] * 3)
    flow = np.full((3, 3), 1000.0)
    growth = Growth(jobs=thirds, arrivals=1.1 * flow, completions=flow, third_s=np.ones(3))
    assert growth.is_unbounded()


def test_a_measured_rate_that_is_not_reached_is_saturated() -> None:
    """A generator that asks for 1,000 a second and reaches 800 to 820."""
    reached = [800.0, 810.0, 820.0, 805.0, 815.0]
    runs = [
        Run(values={"throughput": one, "response_s_p95": 3.0}, offered={"throughput": 1000.0})
        for one in reached
    ]
    assert is_saturated(runs)
    saturation = saturation_of(runs, None)
    assert saturation.load == pytest.approx(1000.0 / 810.0, rel=0.01)
    assert not is_saturated([Run(values=run.values, offered={"throughput": 812.0}) for run in runs])
