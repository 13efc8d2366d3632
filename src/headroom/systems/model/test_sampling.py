"""Samples of a run match the kernel's, are bounded, and do not influence the run."""

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from headroom.errors import StudyError
from headroom.experiment.journal.run_codec import decode_run, encode_run
from headroom.experiment.runner.tasks import Task, run_task
from headroom.simulation import Model, exponential, simulate
from headroom.systems.model import ModelSystem
from headroom.systems.model.conversion import run_of
from headroom.systems.model.sampling import ROWS_AT_MOST, VALUES_AT_MOST, check_size, samples_of
from headroom.systems.model.system import ModelSetup


def line(stations: int) -> Model:
    """Return an open line of stations, each half busy."""
    model = Model("line", time_unit="ms")
    program = model.program("walk")
    for number in range(stations):
        program.use(model.station(f"s{number}"), exponential(5))
    model.open_class("jobs", program, interarrival=exponential(10))
    return model


def of_mm1(**table: object) -> ModelSystem:
    return ModelSystem.load(msgspec.convert({"model": "mm1", **table}, ModelSetup), base=Path())


def config_of(system: ModelSystem) -> dict[str, bool | int | float | str]:
    return {p.name: p.default for p in system.parameters() if p.default is not None}


@pytest.mark.parametrize(("time", "every"), [(1000.0, 10.0), (8000.0, 2.0), (30_000.0, 1.0)])
def test_kept_samples_are_some_of_the_kernel_at_equal_distances_from_zero(
    time: float, every: float
) -> None:
    result = simulate(line(2), seed=1, time=time, sample_every=every)
    kept = samples_of(result)
    assert kept is not None
    assert result.samples is not None
    assert ROWS_AT_MOST / 2 <= kept.times_s.size <= ROWS_AT_MOST or time / every < ROWS_AT_MOST
    places = np.arange(1, kept.times_s.size + 1)
    assert kept.times_s == pytest.approx(kept.times_s[0] * places, rel=1e-9)
    rows = np.searchsorted(result.samples.times_s, kept.times_s)
    (stations,) = (table for table in kept.tables if table.kind == "station")
    for name, column in stations.columns.items():
        assert (column == result.samples.stations.columns[name][rows]).all()


def test_many_places_keep_fewer_rows() -> None:
    kept = samples_of(simulate(line(2000), seed=1, time=400.0, sample_every=1.0))
    assert kept is not None
    assert 40 <= kept.times_s.size <= VALUES_AT_MOST // 2001


def test_samples_that_do_not_fit_into_memory_are_refused() -> None:
    check_size(line(900), every_s=0.1, time_s=None)
    check_size(line(2000), every_s=0.1, time_s=10.0)
    with pytest.raises(StudyError, match="4,096 samples of 2,001 stations") as refused:
        check_size(line(2000), every_s=0.1, time_s=None)
    assert "end the run by time" in str(refused.value)


def test_sampling_changes_nothing_but_the_samples() -> None:
    plain, sampled = of_mm1(completions=3000), of_mm1(completions=3000, sample_every_s=0.2)
    config = config_of(plain)
    run, with_samples = plain.run(config, seed=5), sampled.run(config, seed=5)
    assert run.samples is None
    assert with_samples.samples is not None
    assert encode_run(replace(with_samples, samples=None)) == encode_run(run)
    asked = plain.run_model(config, seed=5, every_s=0.2)
    assert encode_run(asked) == encode_run(with_samples)


def test_a_run_for_its_series_keeps_more_than_a_journal_does() -> None:
    system = of_mm1(completions=3000, sample_every_s=0.01)
    config = config_of(system)
    stored = system.run(config, seed=5).samples
    asked = system.run_model(config, seed=5, every_s=0.01).samples
    assert stored is not None
    assert asked is not None
    assert stored.times_s.size <= ROWS_AT_MOST < asked.times_s.size < 4096
    assert asked.times_s[0] == pytest.approx(0.01)


def test_asking_for_samples_makes_it_another_run() -> None:
    """Stored replications hold none, so they must not stand for these."""
    plain, often = of_mm1(completions=50), of_mm1(completions=50, sample_every_s=0.05)
    rarely = of_mm1(completions=50, sample_every_s=0.5)
    config = config_of(plain)
    assert len({system.fingerprint(config) for system in (plain, often, rarely)}) == 3


@pytest.mark.parametrize("keeps", [True, False])
def test_a_task_says_whether_samples_are_kept(*, keeps: bool) -> None:
    system = of_mm1(completions=500, sample_every_s=0.05)
    task = Task(number=0, experiment="e", config=config_of(system), seed=1, keeps_samples=keeps)
    result = run_task(system, task)
    assert result.run is not None
    assert (decode_run(result.run).samples is not None) == keeps


def test_a_result_without_samples_gives_none() -> None:
    assert run_of(simulate(line(1), seed=1, completions=50)).samples is None
