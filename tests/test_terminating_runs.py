"""Runs with a natural end: a day with a peak, from the study file to the verdict."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroom.analysis.analyse import analyse
from headroom.analysis.evidence import Limiting
from headroom.analysis.export import interval_rows
from headroom.analysis.formulas import forecast_at
from headroom.analysis.point import PointSummary, summarise
from headroom.analysis.run.over_time import course_of
from headroom.analysis.run.time_windows import part_of, values_of_parts
from headroom.analysis.verdicts.busy_stretch import busy_stretches
from headroom.errors import StudyError
from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.protocol.run import Run
from headroom.experiment.study.checks.window_checks import time_windows
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.plan import Plan, PlannedExperiment
from headroom.experiment.study.study import Replications
from headroom.report.summary import find
from headroom.simulation import Model, SimulationError, changing_rate, exponential, simulate
from headroom.sizing.evaluate import Subject, plan_of
from tests.support.study_text import Head

MODEL = """
from typing import Annotated
from headroom.simulation import Model, changing_rate, exponential
from headroom.systems.model import parameter

def build(peak: Annotated[float, parameter(unit="1/s", source="test")] = 1.08) -> Model:
    model = Model("day", time_unit="s")
    program = model.program("request")
    program.use(model.station("web"), exponential(0.2))
    program.use(model.station("db"), exponential(1.0))
    arrivals = changing_rate(times=[0, 800, 1200], rates=[0.4, peak, 0.4])
    model.open_class("users", program, interarrival=arrivals)
    return model
"""
STUDY = Head("day", "A day", "day").then("""\
{keys}
[experiment.system]
name = "model"
file = "model.py"
time_s = 2400
[experiment.replications]
count = 5
{tables}
""")
PEAK = """
[[experiment.window]]
name = "peak"
from_s = 800
to_s = 1200
"""


def planned(folder: Path, *, keys: str = "", tables: str = PEAK) -> Plan:
    (folder / "model.py").write_text(MODEL)
    (folder / "study.toml").write_text(STUDY.format(keys=keys, tables=tables))
    return make_plan(load_study(folder), quick=False)


def runs_of(experiment: PlannedExperiment, *, count: int = 5, **config: Any) -> list[Run]:
    settled = dict(experiment.points[0].config) | config
    return [experiment.system.run(settled, seed=seed) for seed in range(count)]


def summarised(folder: Path, **config: Any) -> PointSummary:
    experiment = planned(folder).experiments[0]
    return summarise(experiment, runs_of(experiment, **config))


def day(**wishes: object) -> Model:
    model = Model("day", time_unit="s")
    program = model.program("request")
    program.use(model.station("db"), exponential(1.0))
    arrivals = changing_rate(times=[0, 300], rates=[0.9, 0.0])
    model.open_class("users", program, interarrival=arrivals, **wishes)  # type: ignore[arg-type]
    return model


def test_intervals_change_nothing_else_and_add_up_to_the_run() -> None:
    plain = simulate(day(), seed=3, time=400)
    cut = simulate(day(), seed=3, time=400, interval_ends=[7.5, 100, 250, 390])
    intervals = cut.intervals
    assert intervals is not None
    for name, column in plain.stations.columns.items():
        assert column.tobytes() == cut.stations.columns[name].tobytes()
        assert column[-1, 0] == pytest.approx(intervals.stations.columns[name][-1, 0])
    assert plain.stations.maxima["queue_len"] == cut.stations.maxima["queue_len"]
    assert intervals.station_queue_max.max() == cut.stations.maxima["queue_len"][0]
    assert plain.histograms[0].counts.tobytes() == cut.histograms[0].counts.tobytes()
    counted = intervals.histograms[0].counts.sum(axis=1).cumsum()
    assert counted.tolist() == intervals.classes.columns["completion_count"][:, 0].tolist()
    assert counted[-1] == plain.histograms[0].counts.sum()


def test_a_run_that_nothing_more_happens_in_is_quiet_to_its_end() -> None:
    """The kernel stops at the last event; the hours after it still have a throughput of zero."""
    intervals = simulate(day(), seed=3, time=2000, interval_ends=[300, 900, 1500, 2000]).intervals
    assert intervals is not None
    assert intervals.times_s.tolist() == [300, 900, 1500, 2000]
    assert np.diff(intervals.classes.columns["completion_count"][-2:, 0]) == 0


@pytest.mark.parametrize("ends", [[0.0], [5.0, 5.0], [9.0, 3.0], [math.nan], range(1, 2000)])
def test_interval_ends_that_do_not_rise_are_refused(ends: list[float]) -> None:
    with pytest.raises(SimulationError, match="interval ends"):
        simulate(day(), seed=1, time=100, interval_ends=ends)


def test_each_replication_of_a_day_is_one_observation(tmp_path: Path) -> None:
    """Batches within a day gave a throughput of 220 +-110 for replications from 219.9 to 220.1."""
    summary = summarised(tmp_path)
    assert summary.nature.kind == "terminating"
    assert "users changes up to the end of the run at 40 min" in summary.nature.because
    assert summary.cut is not None
    assert (summary.cut.cut_s, summary.cut.evidence, summary.run_length) == (0.0, None, None)
    for metric in ("throughput", "response_s_mean", "response_s_p95"):
        sample = summary.samples[metric]
        found = sample.interval()
        assert found.method == "student-t"
        assert found.high is not None
        error = float(np.std(sample.values, ddof=1)) / math.sqrt(5)
        assert found.high - found.value == pytest.approx(2.7764 * error, rel=1e-3)


def test_a_verdict_names_the_hours_of_a_peak(tmp_path: Path) -> None:
    """A peak at 108% of the capacity was shown next to "nothing limits"."""
    verdict = summarised(tmp_path).bottleneck
    assert verdict is not None
    assert (verdict.limits, verdict.kind, verdict.name) == (True, "station", "db")
    assert verdict.from_s is not None
    assert verdict.to_s is not None
    assert 700 <= verdict.from_s <= 900
    assert 1150 <= verdict.to_s <= 1700
    assert verdict.utilization > 0.9
    assert isinstance(verdict.evidence, Limiting)
    worst = verdict.evidence.worst
    assert worst is not None
    assert (worst.kind, worst.name) == ("station", "db")
    assert (worst.from_s, worst.to_s) == (verdict.from_s, verdict.to_s)
    assert worst.longest_queue > 1.0
    assert worst.whole_utilization == pytest.approx(0.55, abs=0.05)


def test_a_peak_below_the_capacity_limits_nothing(tmp_path: Path) -> None:
    verdict = summarised(tmp_path, peak=0.7).bottleneck
    assert verdict is not None
    assert not verdict.limits


def test_windows_have_the_metrics_of_the_whole_run(tmp_path: Path) -> None:
    experiment = planned(tmp_path).experiments[0]
    runs = runs_of(experiment)
    summary = summarise(experiment, runs)
    declared = {metric.name for metric in experiment.system.metrics(experiment.points[0].config)}
    for metric in (
        "throughput",
        "response_s_p99",
        "station.db.utilization",
        "class.users.jobs_mean",
    ):
        assert f"window.peak.{metric}" in summary.samples.keys() & declared
    peaks = summary.samples["window.peak.throughput"].values
    counts = [run.intervals.tables[-1].columns["completion_count"][:, 0]
              for run in runs if run.intervals]  # fmt: skip
    ends = runs[0].intervals.times_s.tolist() if runs[0].intervals else []
    first, last = ends.index(800.0), ends.index(1200.0)
    expected = [(count[last] - count[first]) / 400.0 for count in counts]
    assert peaks.tolist() == expected
    longest = summary.samples["window.peak.station.db.queue_len_max"].value
    assert longest <= summary.samples["station.db.queue_len_max"].value


def test_the_worst_interval_is_the_largest_of_the_course(tmp_path: Path) -> None:
    experiment = planned(tmp_path).experiments[0]
    runs = runs_of(experiment)
    course = course_of(runs)
    assert course is not None
    values = course.values["response_s_p95"]
    worst = summarise(experiment, runs).samples["window.worst.response_s_p95"]
    assert worst.value == pytest.approx(np.nanmax(values.mean(axis=0)))
    assert worst.values.size == 5


def test_parts_of_a_run_add_up_to_the_run(tmp_path: Path) -> None:
    (run, *_) = runs_of(planned(tmp_path).experiments[0], count=1)
    parts = [part_of(run, from_s=a, to_s=b) for a, b in ((0, 800), (800, 1200), (1200, 2400))]
    values = values_of_parts([part for part in parts if part])
    whole = part_of(run, from_s=0, to_s=2400)
    assert whole is not None
    total = sum(
        one["throughput"] * length for one, length in zip(values, (800, 400, 1200), strict=True)
    )
    assert total == pytest.approx(values_of_parts([whole])[0]["throughput"] * 2400)
    assert part_of(run, from_s=2400, to_s=2500) is None


def test_a_study_may_force_either_analysis(tmp_path: Path) -> None:
    forced = planned(tmp_path, keys='analysis = "steady-state"', tables="").experiments[0]
    (run, *_) = runs_of(forced, count=1)
    assert run.intervals is None
    assert summarise(forced, runs_of(forced)).nature.kind == "steady-state"
    cut = planned(tmp_path, keys='warm_up = {method = "fixed", seconds = 50}').experiments[0]
    assert summarise(cut, runs_of(cut)).nature.kind == "steady-state"
    system = '[experiment.system]\nname = "model"\nmodel = "mm1"\ntime_s = 500\n'
    text = STUDY.format(
        keys='analysis = "terminating"', tables="[experiment.fixed]\nutilization = 0.5"
    )
    head, _, tail = text.partition("[experiment.system]")
    (tmp_path / "study.toml").write_text(head + system + tail[tail.index("[experiment.repl") :])
    constant = make_plan(load_study(tmp_path), quick=False).experiments[0]
    summary = summarise(constant, runs_of(constant))
    assert (summary.nature.kind, summary.nature.is_declared) == ("terminating", True)


def test_a_curve_that_repeats_often_has_a_steady_state(tmp_path: Path) -> None:
    planned(tmp_path)
    source = MODEL.replace("[0.4, peak, 0.4])", "[0.4, peak, 0.4], period=1300)")
    for time_s, is_steady in ((12_000, False), (13_000, True)):
        (tmp_path / "model.py").write_text(source)
        text = (tmp_path / "study.toml").read_text()
        (tmp_path / "study.toml").write_text(text.replace("time_s = 2400", f"time_s = {time_s}"))
        experiment = make_plan(load_study(tmp_path), quick=False).experiments[0]
        (run, *_) = runs_of(experiment, count=1, peak=0.6)
        assert (run.ends_because == "") is is_steady
        (tmp_path / "study.toml").write_text(text)


@pytest.mark.parametrize(
    ("keys", "tables", "message"),
    [
        ("", PEAK + PEAK, "duplicate window 'peak'"),
        ("", PEAK.replace('"peak"', '"worst"'), "the name 'worst'"),
        ("", PEAK.replace("1200", "700"), "ends at 700 s, but starts at 800 s"),
        ("", PEAK.replace("1200", "2500"), "ends at 2500 s, but a run ends at 2400 s"),
        ('analysis = "terminating"\nwarm_up = {method = "mser5"}', "", "a warm-up is cut"),
        ('responses = ["window.peek.throughput"]', PEAK, "no metric 'window.peek.throughput'"),
    ],
)
def test_impossible_windows_are_refused(
    tmp_path: Path, keys: str, tables: str, message: str
) -> None:
    with pytest.raises(StudyError, match=message):
        planned(tmp_path, keys=keys, tables=tables)


@pytest.mark.parametrize(
    ("name", "setup"),
    [
        ("command", 'argv = ["true"]'),
        ("storage", 'targets.device = {kind = "file", path = "{disk}", bytes = "16 MiB"}'),
    ],
)
def test_windows_of_measured_systems_are_refused_with_the_cause(
    tmp_path: Path, name: str, setup: str
) -> None:
    planned(tmp_path)
    text = (tmp_path / "study.toml").read_text()
    model = 'name = "model"\nfile = "model.py"\ntime_s = 2400'
    (tmp_path / "study.toml").write_text(text.replace(model, f'name = "{name}"\n{setup}'))
    with pytest.raises(StudyError, match=f"'{name}' record no statistics per interval"):
        make_plan(load_study(tmp_path), quick=False)


def test_a_window_that_runs_by_completions_do_not_reach_is_named(tmp_path: Path) -> None:
    planned(tmp_path)
    text = (tmp_path / "study.toml").read_text()
    (tmp_path / "study.toml").write_text(text.replace("time_s = 2400", "completions = 100"))
    experiment = make_plan(load_study(tmp_path), quick=False).experiments[0]
    (run,) = runs_of(experiment, count=1)
    assert any(
        "window 'peak' ends at 1200 s, but the run ended" in remark for remark in run.remarks
    )


def test_a_day_in_results_has_no_theory_and_its_limits_know_the_worst_interval(
    tmp_path: Path,
) -> None:
    tables = (
        "[experiment.factors]\npeak = [0.5, 0.9, 1.2]\n"
        + PEAK
        + ('[[experiment.limit]]\nmetric = "response_s_p95"\nat_most = 30\n')
    )
    plan = planned(tmp_path, tables=tables)
    with Journal.open(tmp_path / "journal.sqlite", create=True) as journal:
        experiment = plan.experiments[0]
        for point in experiment.points:
            for number in range(5):
                seed = point.seed(plan.seed, number)
                run = experiment.system.run(point.config, seed=seed)
                row = ReplicationRow(
                    experiment="day", point_key=point.key, replication=number, seed=seed,
                    fingerprint=point.fingerprint, state="done", levels=dict(point.levels),
                    started_at="2026-01-01T00:00:00Z", wall_s=0.1, run=run,
                )  # fmt: skip
                journal.append(row)
        result = analyse(plan, journal, environments=(), command="headroom run day")
    (found,) = result.experiments
    assert [point.solver for point in found.points] == [None, None, None]
    assert [limit.metric for limit in found.limits] == [
        "response_s_p95", "window.worst.response_s_p95"
    ]  # fmt: skip
    whole, worst = (limit.level for limit in found.limits)
    assert whole is not None
    assert worst is not None
    assert worst < whole
    topics = {finding.topic for finding in find(found)}
    assert {"Limit", "Worst", "Note"} <= topics
    assert "Theory" not in topics
    course = found.points[-1].over_time
    assert course is not None
    rows = [row for row in interval_rows(result) if row["factor.peak"] == 1.2]
    shares = [row for row in rows if row["metric"] == "station.db.utilization"]
    assert [row["end_time_s"] for row in shares] == course.ends_s
    assert max(row["value"] for row in shares) > 0.9


def test_few_jobs_make_no_busy_stretch_by_chance(tmp_path: Path) -> None:
    """A server that is busy 60% of the time is busy all the time in many a short interval."""
    planned(tmp_path)
    (tmp_path / "model.py").write_text(MODEL.replace("[0.4, peak, 0.4]", "[0.6, peak, 0.61]"))
    experiment = make_plan(load_study(tmp_path), quick=False).experiments[0]
    runs = runs_of(experiment, count=5, peak=0.62)
    assert busy_stretches(runs) == []


def test_formulas_for_steady_states_say_nothing_about_a_day(tmp_path: Path) -> None:
    """A theory that was 204,249% off was shown next to the results of a day."""
    experiment = planned(tmp_path).experiments[0]
    forecast = forecast_at(experiment.system, experiment.points[0].config)
    assert forecast is not None
    assert (forecast.values, forecast.overload) == ({}, "")
    assert "no steady state: the arrival rate of class users changes" in forecast.reasons[0]


def test_sizing_looks_at_the_windows_of_a_study(tmp_path: Path) -> None:
    experiment = planned(tmp_path, keys='analysis = "terminating"').experiments[0]
    subject = Subject(
        name="day", system=experiment.system, setup=experiment.setup, base=tmp_path,
        config=experiment.points[0].config, windows=time_windows(experiment.spec),
    )  # fmt: skip
    plan = plan_of(subject, [subject.config], Replications(count=3), seed=1)
    summary = summarise(plan.experiments[0], runs_of(plan.experiments[0], count=3))
    assert summary.nature.is_declared
    assert "window.peak.response_s_p95" in summary.samples


SHIFTS = """
from headroom.simulation import Model, exponential, schedule

def build() -> Model:
    model = Model("shifts", time_unit="s")
    program = model.program("request")
    program.use(model.station("cpu", servers=schedule({changes})), exponential(0.8))
    model.open_class("users", program, interarrival=exponential(1 / 1.35))
    return model
"""


@pytest.mark.parametrize(
    ("changes", "kind", "note"),
    [
        ("[(0, 2), (400, 1), (600, 2)]", "terminating", ""),
        ("[(0, 2), (400, 1), (600, 2)], period=1000", "terminating", ""),
        ("[(0, 2), (40, 1), (60, 2)], period=100", "steady-state", "means over 24 periods"),
        ("[(0, 2), (4000, 1)]", "steady-state", ""),
    ],
)
def test_servers_that_follow_a_schedule_are_analysed_as_what_they_are(
    tmp_path: Path, changes: str, kind: str, note: str
) -> None:
    """Also those that would be too few after the end of the run: nothing is saturated."""
    planned(tmp_path, tables="")
    (tmp_path / "model.py").write_text(SHIFTS.format(changes=changes))
    experiment = make_plan(load_study(tmp_path), quick=False).experiments[0]
    runs = runs_of(experiment)
    summary = summarise(experiment, runs)
    assert summary.nature.kind == kind
    assert summary.saturation is None
    assert all(note in " ".join(run.notes) for run in runs)
    assert bool(runs[0].notes) is bool(note)
