"""Cached answers are reused, and the result does not show it."""

import dataclasses
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headroom.analysis import answers as answers_module
from headroom.analysis.analyse import analyse
from headroom.analysis.answers import Memory
from headroom.analysis.kept_answers import KeptAnswers
from headroom.analysis.point_answer import answer_of
from headroom.analysis.test_analyse import claim
from headroom.experiment.journal.journal import Journal
from headroom.experiment.journal.journal_salvage import salvage
from headroom.experiment.study.study import WarmUp
from tests.support.example_plan import THROUGHPUT, WALL, ExampleStudy
from tests.support.example_runs import mm1_run

IDENTITY = b"this program"
RUNS = {
    (level, number): mm1_run(load=0.2 * level, jobs=300, seed=10 * level + number)
    for level in (1, 2, 3)
    for number in range(4)
}


@dataclasses.dataclass
class Edited:
    """A study and its journal while they are edited."""

    journal: Path
    study: ExampleStudy = dataclasses.field(default_factory=lambda: ExampleStudy(levels=(1, 2)))
    stored: int = 0


def add_replication(it: Edited) -> None:
    if it.stored < 4:
        number = it.stored
        it.stored += 1
        with Journal.open(it.journal, create=True) as journal:
            for point in it.study.plan().experiments[0].points:
                run = RUNS[int(point.levels["users"]), number]
                journal.append(it.study._row(point, number, run))


def add_failure(it: Edited) -> None:
    with Journal.open(it.journal, create=True) as journal:
        point = it.study.plan().experiments[0].points[0]
        journal.append(it.study._row(point, 3, "the disk is full"))


def damage_a_row(it: Edited) -> None:
    connection = sqlite3.connect(it.journal)
    with connection:
        connection.execute("UPDATE replication SET run = x'00' WHERE id = 1")
    connection.close()


def salvage_it(it: Edited) -> None:
    damage_a_row(it)
    salvage(it.journal)


def edit(**fields: Any) -> Callable[[Edited], None]:
    def apply(it: Edited) -> None:
        it.study = dataclasses.replace(it.study, **fields)

    return apply


EDITS: dict[str, Callable[[Edited], None]] = {
    "add a replication": add_replication,
    "add a failure": add_failure,
    "damage a row": damage_a_row,
    "salvage": salvage_it,
    "claim the throughput": edit(
        claims=[claim(kind="value", where={"users": 1}, value=20, tolerance=0.1)]
    ),
    "claim the response time": edit(
        claims=[claim(kind="monotone", metric="response_s_mean", factor="users", direction="rises")]
    ),
    "keep few metrics": edit(kept=["thr*"]),
    "keep all metrics": edit(kept=()),
    "declare another metric": edit(metrics=(THROUGHPUT, WALL)),
    "cut no warm-up": edit(warm_up=WarmUp(method="none")),
    "cut a second": edit(warm_up=WarmUp(method="fixed", seconds=1.0)),
    "add a level": edit(levels=(1, 2, 3)),
    "leave a level out": edit(levels=(2,)),
    "change the seed": edit(seed=8),
}


def found(it: Edited, memory: Memory | None) -> bytes:
    with Journal.open(it.journal, create=False) as journal:
        result = analyse(
            it.study.plan(),
            journal,
            environments=journal.environments(),
            command="headroom run example",
            memory=memory,
        )
    return msgspec.json.encode(result)


@pytest.mark.deep
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(list(EDITS))
@given(st.lists(st.sampled_from(sorted(EDITS)), max_size=8))
def test_whatever_is_edited_a_kept_answer_is_the_one_that_would_be_found(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("edited")
    it = Edited(folder / "journal.sqlite")
    for change in [add_replication, *(EDITS[name] for name in names)]:
        change(it)
        kept = KeptAnswers(folder / "points.cache")
        assert found(it, Memory(kept=kept, identity=IDENTITY)) == found(it, None)
        kept.save()


def test_each_point_is_analysed_once_while_its_rows_stay_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analysed: list[object] = []

    def counted(question: Any, rows: Any) -> Any:
        analysed.append(question.point.levels["users"])
        return answer_of(question, rows)

    monkeypatch.setattr(answers_module, "answer_of", counted)
    it = Edited(tmp_path / "journal.sqlite", ExampleStudy(levels=(1, 2, 3)))
    add_replication(it)
    for expected in ([1, 2, 3], []):
        analysed.clear()
        kept = KeptAnswers(tmp_path / "points.cache")
        found(it, Memory(kept=kept, identity=IDENTITY))
        kept.save()
        assert analysed == expected
    it.study = dataclasses.replace(it.study, levels=(1, 2))
    add_replication(it)
    it.study = dataclasses.replace(it.study, levels=(1, 2, 3))
    analysed.clear()
    found(it, Memory(kept=KeptAnswers(tmp_path / "points.cache"), identity=IDENTITY))
    assert analysed == [1, 2]
    analysed.clear()
    found(it, Memory(kept=KeptAnswers(tmp_path / "points.cache"), identity=b"another program"))
    assert analysed == [1, 2, 3]


def test_answers_that_other_processes_find_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers_module, "FEWEST_SHARED", 2)
    monkeypatch.setattr(answers_module, "_CHUNK", 1)
    here, real = os.getpid(), answer_of

    def only_elsewhere(question: Any, rows: Any) -> Any:
        assert os.getpid() != here
        return real(question, rows)

    it = Edited(tmp_path / "journal.sqlite", ExampleStudy(levels=(1, 2, 3)))
    add_replication(it)
    alone = found(it, None)
    monkeypatch.setattr(answers_module, "answer_of", only_elsewhere)
    assert found(it, Memory(kept=KeptAnswers(None), identity=IDENTITY, jobs=2)) == alone


def test_a_point_that_fails_elsewhere_is_analysed_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers_module, "FEWEST_SHARED", 2)
    here, real = os.getpid(), answer_of

    def only_here(question: Any, rows: Any) -> Any:
        if os.getpid() != here:
            os._exit(1)
        return real(question, rows)

    it = Edited(tmp_path / "journal.sqlite", ExampleStudy(levels=(1, 2, 3)))
    add_replication(it)
    alone = found(it, None)
    monkeypatch.setattr(answers_module, "answer_of", only_here)
    assert found(it, Memory(kept=KeptAnswers(None), identity=IDENTITY, jobs=2)) == alone


@pytest.mark.parametrize("spoil", [0, 20, -1])
def test_a_damaged_file_of_answers_is_as_good_as_none(tmp_path: Path, spoil: int) -> None:
    path = tmp_path / "points.cache"
    kept = KeptAnswers(path)
    kept.put(b"key", b"answer")
    kept.save()
    assert KeptAnswers(path).get(b"key") == b"answer"
    content = bytearray(path.read_bytes())
    content[spoil] ^= 1
    path.write_bytes(content)
    assert KeptAnswers(path).get(b"key") is None
    path.write_bytes(b"")
    assert KeptAnswers(path).get(b"key") is None


def test_answers_that_nobody_asked_for_are_not_kept_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "points.cache"
    first = KeptAnswers(path)
    first.put(b"old", b"1")
    first.put(b"used", b"2")
    first.save()
    second = KeptAnswers(path)
    second.get(b"used")
    second.save()
    third = KeptAnswers(path)
    assert (third.get(b"old"), third.get(b"used")) == (None, b"2")


def test_a_folder_that_cannot_be_written_keeps_nothing_and_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept = KeptAnswers(tmp_path / "file" / "points.cache")
    kept.put(b"key", b"answer")
    kept.save()


HELPER = """
import os, threading, time
from headroom.analysis.answers import _end_with
parent = os.getpid()
child = os.fork()
if child:
    print(child, flush=True)
else:
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
time.sleep(60)
"""


def test_a_process_that_analyses_ends_with_the_one_that_forked_it_off() -> None:
    with subprocess.Popen([sys.executable, "-c", HELPER], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = Path(f"/proc/{int(parent.stdout.readline())}/stat")
        assert child.exists()
        parent.kill()
        parent.wait()
        deadline = time.monotonic() + 30.0
        with suppress(FileNotFoundError):
            while child.read_text().split()[2] != "Z":
                assert time.monotonic() < deadline
                time.sleep(0.05)
