"""What runs in a worker of a cluster, without Dask around it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from headroom.experiment.conftest import MakePlan
from headroom.experiment.journal.run_codec import decode_run
from headroom.experiment.machine import program_identity
from headroom.experiment.runner.cluster import on_worker
from headroom.experiment.runner.cluster.on_worker import Answer, Here, Order, answer, code_here
from headroom.experiment.runner.cluster.parcel import Content
from headroom.experiment.runner.executors import InlineExecutor
from headroom.experiment.runner.tasks import Recipe, Result, Task, recipe_of
from headroom.experiment.runner.what_ran import ChangedMeanwhileError, Ran, check_ran
from tests.support.fake_systems import FakeModel, FakeSetup


def task(number: int, mode: str = "plain") -> Task:
    return Task(
        number=number,
        experiment="load",
        config={"users": 1, "rate": 0.0, "mode": mode},
        seed=number,
    )


def recipe(folder: Path) -> Recipe:
    setup = FakeSetup()
    made = recipe_of(FakeModel(setup, folder), setup, folder)
    return msgspec.structs.replace(made, base=".")


def order(folder: Path, *tasks: Task) -> Order:
    content = msgspec.msgpack.encode(Content(recipes={"load": recipe(folder)}, files={}))
    return Order(session="mine", code=code_here(), parcel="p", tasks=list(tasks), content=content)


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Callable[..., Answer]]:
    """Return a function from an order to the answer of a worker with an own folder."""

    def asked(sent: Order, *, is_wanted: bool = True) -> Answer:
        reported: list[bytes] = []
        here = Here(
            address="tcp://there:1",
            scratch=tmp_path,
            is_wanted=lambda: is_wanted,
            report=reported.append,
        )
        answered = answer(sent, here)
        for one in reported:
            answered.results.extend(msgspec.msgpack.decode(one, type=list[Result]))
        return answered

    yield asked
    on_worker.forget("mine")
    assert not list(tmp_path.glob("headroom-*")), "nothing is left behind"


def test_results_are_those_of_this_process(tmp_path: Path, ask: Callable[..., Answer]) -> None:
    there = ask(order(tmp_path, task(0), task(1)))
    here = InlineExecutor({"load": FakeModel(FakeSetup(), tmp_path)})
    here.submit([task(0), task(1)])
    expected = [*here.results(), *here.results()]
    assert [result.run for result in there.results] == [result.run for result in expected]


def test_a_parcel_is_asked_for_once(tmp_path: Path, ask: Callable[..., Answer]) -> None:
    full = order(tmp_path, task(0))
    bare = msgspec.structs.replace(full, content=None)
    assert ask(bare).lacks_parcel
    assert not ask(full).lacks_parcel
    assert len(ask(bare).results) == 1
    other = msgspec.structs.replace(bare, parcel="other")
    assert ask(other).lacks_parcel


def test_a_task_that_dies_fails_and_those_behind_it_run(
    tmp_path: Path, ask: Callable[..., Answer]
) -> None:
    dead, after = ask(order(tmp_path, task(0, "dies"), task(1))).results
    assert "was killed by SIGKILL" in dead.error
    assert after.run is not None
    assert decode_run(after.run).values["throughput"] == 2.0


def test_a_chunk_that_nobody_wants_is_ended(
    tmp_path: Path, ask: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_worker, "_LOOK_S", 0.01)
    assert ask(order(tmp_path, task(0, "hangs")), is_wanted=False).results == []
    assert len(ask(order(tmp_path, task(1))).results) == 1, "the worker can go on"


def test_another_program_is_refused(tmp_path: Path, ask: Callable[..., Answer]) -> None:
    code = msgspec.structs.replace(code_here(), kernel="0.0")
    refused = ask(msgspec.structs.replace(order(tmp_path, task(0)), code=code))
    assert refused.results == []
    assert refused.refusal == f"simulation kernel {code_here().kernel}, here 0.0"


def test_a_worker_that_makes_another_model_ends_the_session(plan_of: MakePlan) -> None:
    plan = plan_of("[[experiment]]\nname = 'load'\nsystem.name = 'fake-model'\n")
    (point,) = plan.experiments[0].points
    check_ran(Ran(fingerprint=point.content), point, "", has_failed=False, where="dask://far:1")
    with pytest.raises(ChangedMeanwhileError, match="a worker of dask://far:1 made another model"):
        check_ran(Ran(fingerprint="other"), point, "", has_failed=False, where="dask://far:1")


def test_code_is_compared_by_content_and_tests_do_not_count(tmp_path: Path) -> None:
    digest = program_identity._code_digest
    for name in ("a.py", "test_a.py", "conftest.py", "compiled.so", "numbers.toml"):
        (tmp_path / name).write_text("1")
    before = digest(tmp_path)
    for name in ("test_a.py", "conftest.py", "compiled.so"):
        (tmp_path / name).write_text("2")
    assert digest(tmp_path) == before
    (tmp_path / "numbers.toml").write_text("2")
    assert digest(tmp_path) != before
