"""Analysis of whole studies: partial, failed, unsound, repeated."""

import dataclasses
import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from headroom.analysis.analyse import analyse
from headroom.analysis.evidence import Fault, MissingEvidence
from headroom.analysis.results import StudyResult
from headroom.analysis.results_file import read_results, write_results
from headroom.errors import EnvironmentUnfitError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric
from headroom.experiment.study.study import Claim, Replications, WarmUp
from tests.support.example_plan import THROUGHPUT, WALL, ExampleStudy
from tests.support.example_runs import mm1_run

Make = Callable[[int, int], Run | str | None]
STATION = Metric(name="station.cpu.utilization", unit="1")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path / "journal.sqlite", create=True) as opened:
        yield opened


def analysed(
    study: ExampleStudy, journal: Journal, *, environments: tuple[dict[str, Any], ...] = ()
) -> StudyResult:
    return analyse(study.plan(), journal, environments=environments, command="headroom run example")


def value_run(level: int, number: int) -> Run:
    return Run(values={"throughput": 10.0 * level + number})


def claim(**fields: Any) -> Claim:
    table = {"name": "c", "text": "So it is.", "experiment": "web", "metric": "throughput"}
    converted: Claim = msgspec.convert({**table, **fields}, Claim)
    return converted


def test_a_study_keeps_the_metrics_that_it_names_and_those_that_it_needs(journal: Journal) -> None:
    other = Metric(name="response_s_mean", unit="s")
    study = ExampleStudy(
        metrics=(THROUGHPUT, other, STATION), kept=["*", "!response_s_mean", "!thr*"]
    )
    study.fill(
        journal,
        lambda _level, number: Run(
            values={"throughput": 1.0 + number, other.name: 2.0, STATION.name: 0.5}
        ),
    )
    claims = [claim(kind="value", metric="throughput", where={"users": 1}, value=2, tolerance=0.9)]
    # Without responses of its own, a study shows the first three metrics, and so needs them.
    shown = {THROUGHPUT.name, other.name, STATION.name}
    assert set(analysed(study, journal).experiments[0].points[0].estimates) == shown
    few = msgspec.structs.replace(study.plan().experiments[0].spec, responses=[STATION.name])
    plan = study.plan()
    experiment = dataclasses.replace(plan.experiments[0], spec=few)
    told = msgspec.structs.replace(plan.study, claims=claims)
    narrow = dataclasses.replace(plan, study=told, experiments=(experiment,))
    result = analyse(narrow, journal, environments=(), command="headroom run example")
    assert set(result.experiments[0].points[0].estimates) == {THROUGHPUT.name, STATION.name}


def test_a_finished_study_has_an_estimate_for_every_point(journal: Journal) -> None:
    study = ExampleStudy(levels=(1, 2, 3))
    study.fill(journal, value_run)
    result = analysed(study, journal)
    assert (result.is_complete, result.done, result.failed, result.planned) == (True, 9, 0, 9)
    points = result.experiments[0].points
    assert [point.estimates["throughput"].value for point in points] == [11.0, 21.0, 31.0]
    assert result.generated == "2025-01-01T00:00:02Z"
    assert result.experiments[0].responses == ["throughput"]
    assert result.experiments[0].replications == Replications(count=3)


def test_the_same_journal_gives_the_same_result_byte_for_byte(journal: Journal) -> None:
    study = ExampleStudy(levels=(1, 2, 3, 4, 5, 6), metrics=(THROUGHPUT, STATION))
    study.fill(journal, lambda level, n: mm1_run(load=0.1 * level, jobs=600, seed=10 * level + n))
    first, second = (msgspec.json.encode(analysed(study, journal)) for _ in range(2))
    assert first == second


def test_a_study_that_was_cut_off_is_analysed_as_far_as_it_went(journal: Journal) -> None:
    study = ExampleStudy(claims=[claim(kind="value", value=20.0, where={"users": 2})])
    study.fill(journal, lambda level, n: value_run(level, n) if level == 1 else None)
    result = analysed(study, journal)
    assert (result.is_complete, result.done, result.planned) == (False, 3, 6)
    missing = result.experiments[0].points[1]
    assert (missing.done, missing.estimates, missing.bottleneck) == (0, {}, None)
    assert result.claims[0].verdict == "undecided"
    evidence = result.claims[0].evidence
    assert isinstance(evidence, MissingEvidence)
    assert (evidence.code, evidence.metric) == ("no_results", "throughput")


def test_an_empty_journal_gives_an_empty_result(journal: Journal) -> None:
    result = analysed(ExampleStudy(), journal)
    assert (result.is_complete, result.done, result.generated) == (False, 0, "")


def test_failed_replications_are_counted_and_their_messages_grouped(journal: Journal) -> None:
    study = ExampleStudy()
    study.fill(journal, lambda level, n: "disk is full" if level == 2 else value_run(level, n))
    result = analysed(study, journal)
    assert (result.is_complete, result.failed) == (True, 3)
    failed = result.experiments[0].points[1]
    assert failed.errors == ["disk is full (3 times)"]
    assert failed.estimates == {}


def test_a_run_with_a_fault_is_named_and_not_reported(journal: Journal) -> None:
    def make(level: int, number: int) -> Run:
        faults = ("the driver was saturated",) if number == 0 else ()
        return Run(values={"throughput": 100.0 if number == 0 else 1.0 * level}, faults=faults)

    study = ExampleStudy()
    study.fill(journal, make)
    point = analysed(study, journal).experiments[0].points[0]
    assert point.faults == [Fault(code="reported", message="the driver was saturated")]
    assert (point.estimates["throughput"].value, point.estimates["throughput"].count) == (1.0, 2)
    assert point.done == 3


def test_a_point_without_a_steady_state_reports_no_numbers(journal: Journal) -> None:
    """A queue with load 3 grows for as long as the run lasts."""
    study = ExampleStudy(levels=(1,), metrics=(THROUGHPUT, STATION))
    study.fill(journal, lambda _, n: mm1_run(load=3.0, jobs=600, seed=n))
    point = analysed(study, journal).experiments[0].points[0]
    assert point.warm_up is not None
    assert not point.warm_up.is_steady
    assert point.warm_up.values
    assert point.faults == [Fault(code="warm_up", warm_up=point.warm_up.evidence, times=1)]
    assert (point.estimates, point.resources, point.distributions) == ({}, [], [])
    assert point.bottleneck is not None
    assert (point.bottleneck.kind, point.bottleneck.name) == ("station", "cpu")


def test_a_simulated_point_carries_every_verdict(journal: Journal) -> None:
    study = ExampleStudy(levels=(1,), metrics=(THROUGHPUT, STATION))
    study.fill(journal, lambda _, n: mm1_run(load=0.6, jobs=4_000, seed=n))
    point = analysed(study, journal).experiments[0].points[0]
    assert point.estimates["station.cpu.utilization"].value == pytest.approx(0.6, rel=0.05)
    assert point.bottleneck is not None
    assert point.bottleneck.kind == "none"
    assert point.little is not None
    assert point.little.passed
    assert point.little.worst_gap <= point.little.tolerance
    assert point.distributions[0].metric == "response_s"
    assert point.distributions[0].count == sum(point.distributions[0].counts)
    assert point.seeds == [row.seed for row in journal.rows("web", point.key)]


def test_every_estimate_of_a_resource_stands_once(journal: Journal) -> None:
    """Declared or not, under its qualified name; the resource only says where to look."""
    study = ExampleStudy(levels=(1,), metrics=(THROUGHPUT, STATION))
    study.fill(journal, lambda _, n: mm1_run(load=0.6, jobs=4_000, seed=n))
    point = analysed(study, journal).experiments[0].points[0]
    (cpu,) = point.resources
    found = cpu.estimates_among(point.estimates)
    assert found["utilization"] == point.estimates["station.cpu.utilization"]
    assert {f"station.cpu.{metric}" for metric in found} == set(point.estimates) - {"throughput"}
    assert msgspec.to_builtins(cpu) == {"kind": "station", "name": "cpu", "capacity": 1.0}


def test_beyond_a_number_of_points_only_some_keep_pictures_and_all_keep_figures(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = ExampleStudy(levels=range(1, 6), metrics=(THROUGHPUT, STATION))
    study.fill(journal, lambda _, n: mm1_run(load=0.6, jobs=2_000, seed=n))
    whole = analysed(study, journal).experiments[0].points
    monkeypatch.setattr("headroom.analysis.analyse.PICTURES_AT_MOST", 3)
    spared = analysed(study, journal).experiments[0].points
    assert [bool(point.distributions) for point in whole] == [True] * 5
    assert [bool(point.distributions) for point in spared] == [True, False, True, False, True]
    for point, other in zip(spared, whole, strict=True):
        assert (point.estimates, point.bottleneck, point.little) == (
            other.estimates, other.bottleneck, other.little,
        )  # fmt: skip
        assert point.warm_up is not None
        assert bool(point.warm_up.values) == bool(point.distributions)
        assert other.warm_up is not None
        assert point.warm_up.cut_s == other.warm_up.cut_s


def test_measured_values_are_medians_with_their_raw_samples(journal: Journal) -> None:
    study = ExampleStudy(
        levels=(1,), column=Column.MEASURE, metrics=(WALL,), replications=Replications(count=7)
    )
    study.fill(journal, lambda _, n: Run(values={"wall_s": 1.0 + n**2}), replications=7)
    point = analysed(study, journal).experiments[0].points[0]
    assert (point.estimates["wall_s"].value, point.estimates["wall_s"].centre) == (10.0, "median")
    assert point.distributions[0].samples == [1.0 + n**2 for n in range(7)]
    assert point.warm_up is None


def test_metrics_that_the_system_does_not_declare_stay_out(journal: Journal) -> None:
    study = ExampleStudy()
    study.fill(journal, lambda level, _: Run(values={"throughput": 1.0 * level, "secret": 1.0}))
    assert set(analysed(study, journal).experiments[0].points[0].estimates) == {"throughput"}


def test_a_curve_with_a_bend_gets_its_knee_and_a_claim_about_it(journal: Journal) -> None:
    claims = [claim(kind="knee", factor="users", level=5.0, tolerance=0.1)]
    study = ExampleStudy(levels=range(1, 11), claims=claims)
    study.fill(
        journal, lambda level, n: Run(values={"throughput": min(level, 5.0) + 0.001 * (n - 1)})
    )
    result = analysed(study, journal)
    knee = result.experiments[0].knees[0]
    assert (knee.found, knee.metric, knee.factor, knee.where) == (True, "throughput", "users", {})
    assert knee.level == pytest.approx(5.0, abs=0.05)
    assert result.claims[0].verdict == "holds"


@pytest.mark.parametrize("lost", [None, "disk is full"])
def test_a_level_without_figures_does_not_erase_the_knee_of_the_others(
    journal: Journal, lost: str | None
) -> None:
    study = ExampleStudy(levels=range(1, 12))
    study.fill(journal, lambda level, n: lost if level == 9 else value_run(min(level, 5), n))
    knee = analysed(study, journal).experiments[0].knees[0]
    assert knee.level == pytest.approx(5.0, abs=0.3)
    assert (knee.without, knee.reason) == ([9.0], None)


def test_an_open_number_of_replications_is_complete_when_the_rule_says_so(
    journal: Journal,
) -> None:
    rule = Replications(metric="throughput", half_width=0.1, minimum=3, maximum=9)
    study = ExampleStudy(levels=(1, 2), replications=rule)
    study.fill(
        journal,
        lambda level, n: Run(values={"throughput": 10.0 + (n * 5.0 if level == 2 else 0.0)}),
    )
    result = analysed(study, journal)
    first, second = result.experiments[0].points
    assert (first.precision_reached, second.precision_reached) == (True, False)
    assert not result.is_complete
    assert result.planned == 3 + 4


def test_facts_come_from_the_newest_session_that_measured_them(journal: Journal) -> None:
    environments = (
        {"id": 1, "facts": {"web": {"launcher_overhead_s": 0.002}}},
        {"id": 2, "facts": {"web": {"launcher_overhead_s": 0.001}}},
        {"id": 3, "facts": {"other": {"launcher_overhead_s": 0.009}}},
    )
    result = analysed(ExampleStudy(), journal, environments=environments)
    assert result.experiments[0].facts == {"launcher_overhead_s": 0.001}


def test_a_warm_up_longer_than_a_run_leaves_no_numbers_and_says_so(journal: Journal) -> None:
    study = ExampleStudy(levels=(1,), warm_up=WarmUp(method="fixed", seconds=1e6))
    study.fill(journal, lambda _, n: mm1_run(load=0.5, jobs=500, seed=n))
    point = analysed(study, journal).experiments[0].points[0]
    assert point.estimates == {}
    warm_up = point.faults[0].warm_up
    assert warm_up is not None
    assert (warm_up.code, warm_up.cut_s) == ("too_long", 1e6)


def test_results_survive_their_file(journal: Journal, tmp_path: Path) -> None:
    study = ExampleStudy(levels=(1,), metrics=(THROUGHPUT, STATION))
    study.fill(journal, lambda _, n: mm1_run(load=0.6, jobs=1_000, seed=n))
    result = analysed(study, journal)
    path = tmp_path / "results" / "results.json"
    write_results(result, path)
    assert read_results(path) == result
    assert [entry.name for entry in path.parent.iterdir()] == ["results.json"]


def test_a_file_that_is_not_a_result_is_refused_with_a_cure(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text("{}")
    with pytest.raises(EnvironmentUnfitError, match="headroom report STUDY"):
        read_results(path)
    with pytest.raises(EnvironmentUnfitError, match="cannot be read"):
        read_results(tmp_path / "missing.json")


def test_a_folder_that_cannot_be_written_keeps_the_old_file(
    journal: Journal, tmp_path: Path
) -> None:
    """Fault: the name of the folder belongs to a file."""
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(EnvironmentUnfitError, match="the journal keeps every replication"):
        write_results(analysed(ExampleStudy(), journal), tmp_path / "taken" / "results.json")
    assert (tmp_path / "taken").read_text() == "a file"


@pytest.mark.deep
def test_the_runs_of_one_point_are_forgotten_before_the_next_one(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault: a journal that counts how many of its runs are alive at once."""
    study = ExampleStudy(levels=range(1, 21), replications=Replications(count=2))
    study.fill(journal, value_run, replications=2)
    alive: list[weakref.ref[Any]] = []
    largest = 0
    read = Journal.decoded

    def decoded(self: Journal, rows: Any) -> Any:
        nonlocal largest
        found = read(self, rows)
        gc.collect()
        alive.extend(weakref.ref(row.run.snapshot_times_s) for row in found if row.run)
        largest = max(largest, sum(ref() is not None for ref in alive))
        return found

    monkeypatch.setattr(Journal, "decoded", decoded)
    analysed(study, journal)
    assert len(alive) == 40
    assert largest <= 4


def test_numbers_in_a_result_are_plain_and_finite(journal: Journal) -> None:
    study = ExampleStudy(levels=(1, 2), metrics=(THROUGHPUT, STATION))
    study.fill(journal, lambda level, n: mm1_run(load=0.3 * level, jobs=800, seed=n))
    built = msgspec.to_builtins(analysed(study, journal))

    def numbers(node: Any) -> Iterator[float]:
        if isinstance(node, dict):
            for child in node.values():
                yield from numbers(child)
        elif isinstance(node, list):
            for child in node:
                yield from numbers(child)
        elif isinstance(node, float):
            yield node

    assert all(np.isfinite(number) for number in numbers(built))
