"""Worker processes: every task comes back once, whatever happens to its worker."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.journal.run_codec import decode_run
from headroom.experiment.runner import fork_server
from headroom.experiment.runner.executors import Executor, InlineExecutor
from headroom.experiment.runner.fork_server import Forked
from headroom.experiment.runner.tasks import Recipe, Result, Task, recipe_of
from headroom.experiment.runner.worker_pool import WorkerPool, kept_workers
from tests.support.fake_systems import FakeModel, FakeSetup


def task(number: int, mode: str = "plain", experiment: str = "load") -> Task:
    return Task(
        number=number,
        experiment=experiment,
        config={"users": 1, "rate": 0.0, "mode": mode},
        seed=number,
    )


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    setup = FakeSetup(log="log")
    return recipe_of(FakeModel(setup, tmp_path), setup, tmp_path)


@pytest.fixture
def pool(recipe: Recipe) -> Iterator[WorkerPool]:
    pool = WorkerPool({"load": recipe}, worker_count=2)
    yield pool
    pool.cancel()


def all_results(executor: Executor, count: int) -> dict[int, Result]:
    results: dict[int, Result] = {}
    while len(results) < count:
        for result in executor.results():
            assert result.number not in results
            results[result.number] = result
    return results


def test_results_are_those_of_this_very_process(pool: WorkerPool, tmp_path: Path) -> None:
    """Oracle: the inline executor; a run depends on its config and seed only."""
    inline = InlineExecutor({"load": FakeModel(FakeSetup(), tmp_path)})
    tasks = [task(number) for number in range(6)]
    pool.submit(tasks[:3])
    pool.submit(tasks[3:])
    inline.submit(tasks)
    actual, expected = all_results(pool, 6), all_results(inline, 6)
    assert [actual[number].run for number in range(6)] == [expected[n].run for n in range(6)]
    assert all(result.run for result in actual.values())


def test_capacity_counts_idle_workers(pool: WorkerPool) -> None:
    assert pool.capacity == 2
    pool.submit([task(0)])
    assert pool.capacity == 1
    all_results(pool, 1)
    assert pool.capacity == 2


def test_only_the_task_that_killed_its_worker_fails(pool: WorkerPool) -> None:
    """The tasks behind it in the chunk go to another worker."""
    pool.submit([task(0), task(1, "dies"), task(2), task(3, "dies"), task(4)])
    results = all_results(pool, 5)
    assert {number for number, result in results.items() if result.error} == {1, 3}
    assert "was killed by SIGKILL (9)" in results[1].error
    assert "too little memory" in results[1].error
    for number in (0, 2, 4):
        run = results[number].run
        assert run is not None
        assert decode_run(run).values["response_s_mean"] == number


def test_a_model_that_leaves_python_is_a_failed_task(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def leave(*_: object, **__: object) -> None:
        raise SystemExit(3)

    monkeypatch.setattr(FakeModel, "run", leave)
    inline = InlineExecutor({"load": FakeModel(FakeSetup(), tmp_path)})
    inline.submit([task(0)])
    assert inline.results()[0].error.startswith("SystemExit: 3 (in ")
    assert pool.most_tasks > inline.most_tasks


def test_a_system_that_cannot_be_loaded_fails_its_tasks_only(recipe: Recipe) -> None:
    broken = Recipe(system=recipe.system, setup={"observations": -1}, base=recipe.base)
    gone = Recipe(system="no_such_module:System", setup={}, base=recipe.base)
    pool = WorkerPool({"load": recipe, "broken": broken, "gone": gone}, worker_count=1)
    pool.submit([task(0, experiment="broken"), task(1, experiment="gone"), task(2)])
    results = all_results(pool, 3)
    pool.close()
    assert "observations is negative" in results[0].error
    assert "no_such_module" in results[1].error
    assert not results[2].error


def test_cancel_ends_tasks_that_hang(pool: WorkerPool, tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    pool.submit([task(0), task(1, "hangs")])
    all_results(pool, 1)
    pool.cancel()
    assert pool.capacity == 2


def test_only_the_task_that_is_past_its_time_limit_fails(recipe: Recipe) -> None:
    """Fault: an endless simulation is killed; the other worker and later tasks continue."""
    limited = msgspec.structs.replace(recipe, time_limit_s=0.5)
    pool = WorkerPool({"load": recipe, "limited": limited}, worker_count=2)
    assert pool.most_tasks == 1
    pool.submit([task(0, "hangs", experiment="limited"), task(1)])
    pool.submit([task(2)])
    results = all_results(pool, 3)
    pool.close()
    assert {number for number, result in results.items() if result.error} == {0}
    assert "ended at its time limit of 0.5 s" in results[0].error
    assert "time_limit_s" in results[0].error
    assert results[0].wall_s >= 0.5


@pytest.mark.deep
def test_workers_that_do_not_start_are_an_unfit_environment(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork_server.close_servers()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    pool = WorkerPool({"load": recipe}, worker_count=1)
    pool.submit([task(0)])
    with pytest.raises(EnvironmentUnfitError, match="do not start: the first one ended with exit"):
        pool.results()


def test_what_a_model_prints_does_not_reach_stdout(
    recipe: Recipe, capfd: pytest.CaptureFixture[str]
) -> None:
    """Results only on stdout: a worker's stdout is its stderr."""
    noisy = Recipe(
        system="tests.support.fake_systems:NoisyModel", setup=recipe.setup, base=recipe.base
    )
    pool = WorkerPool({"load": noisy}, worker_count=1)
    pool.submit([task(0)])
    assert not all_results(pool, 1)[0].error
    pool.close()
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "noise" in captured.err


def process_of(pool: WorkerPool) -> Forked:
    """Run a task and return the process that ran it."""
    pool.submit([task(0)])
    all_results(pool, 1)
    (worker,) = pool._workers
    return worker._process


def test_workers_are_kept_for_the_next_pool_and_load_what_it_runs(
    recipe: Recipe, tmp_path: Path
) -> None:
    with kept_workers():
        first = WorkerPool({"load": recipe}, worker_count=1)
        pid = process_of(first).pid
        first.close()
        second = WorkerPool({"other": recipe}, worker_count=1)
        second.submit([task(0, experiment="other"), task(1, experiment="load")])
        results = all_results(second, 2)
        (worker,) = second._workers
        assert worker._process.pid == pid
        inline = InlineExecutor({"other": FakeModel(FakeSetup(), tmp_path)})
        inline.submit([task(0, experiment="other")])
        assert results[0].run == all_results(inline, 1)[0].run
        assert "load" in results[1].error, "the recipes of the first pool are forgotten"
        second.close()
    assert worker._process.returncode is not None, "nobody is left when the block ends"


def test_a_kept_worker_that_has_died_is_replaced(recipe: Recipe) -> None:
    with kept_workers():
        first = WorkerPool({"load": recipe}, worker_count=1)
        process = process_of(first)
        first.close()
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        second = WorkerPool({"load": recipe}, worker_count=1)
        assert process_of(second).pid != process.pid
        second.close()


def test_without_the_block_workers_end_with_their_pool(recipe: Recipe) -> None:
    pool = WorkerPool({"load": recipe}, worker_count=1)
    pool.submit([task(0)])
    all_results(pool, 1)
    (worker,) = pool._workers
    pool.close()
    assert worker._process.returncode is not None
