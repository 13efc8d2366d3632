"""Through the runner: reused results were measured on exactly this program."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headroom.errors import StudyError
from headroom.experiment.runner.what_ran import ChangedMeanwhileError
from headroom.experiment.study.seeds import digest
from headroom.recording.launching import launcher
from headroom.recording.launching.launcher import LAUNCHER_VERSION
from headroom.systems.command import content, study_tree, system
from headroom.systems.command.study_tree import StudyTree
from tests.support.command_bench import ELSEWHERE, Bench
from tests.support.study_sessions import run_study


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(system, "launcher_overhead", dict)
    return Bench(tmp_path)


PATH = f"{ELSEWHERE}:/usr/bin:/bin"
Files = dict[str, str]
CASES: dict[str, tuple[dict[str, Any], Files]] = {
    "program by absolute path": (
        {"argv": [f"{ELSEWHERE}/prog"]},
        {"elsewhere/prog": "#!/bin/sh\n"},
    ),
    "program on PATH": (
        {"argv": ["prog"], "env": {"PATH": PATH}},
        {"elsewhere/prog": "#!/bin/sh\n"},
    ),
    "program on PATH, started by a shell": (
        {"argv": ["sh", "-c", "cd /; prog"], "env": {"PATH": PATH}},
        {"elsewhere/prog": "#!/bin/sh\n"},
    ),
    "interpreter of a script": (
        {"argv": ["{study}/script"]},
        {
            "elsewhere/interpreter": "#!/bin/sh\n",
            "study/script": f"#!{ELSEWHERE}/interpreter\n",
        },
    ),
    "interpreter of a script, found by env": (
        {"argv": ["{study}/script"], "env": {"PATH": PATH}},
        {
            "elsewhere/interpreter": "#!/bin/sh\n",
            "study/script": "#!/usr/bin/env -S interpreter -x\n",
        },
    ),
    "script elsewhere, given to an interpreter": (
        {"argv": ["sh", f"{ELSEWHERE}/script"]},
        {"elsewhere/script": ""},
    ),
    "helper imported by a script": (
        {"argv": ["{python}", "-B", "{study}/work.py"]},
        {"study/helper.py": "", "study/work.py": "import helper\n"},
    ),
    "sourced library": (
        {"argv": ["sh", "{study}/work.sh"]},
        {"study/lib/common.sh": "", "study/work.sh": '. "$(dirname "$0")/lib/common.sh"\n'},
    ),
    "header of what is compiled": (
        {"argv": ["true"], "set_up": [["cp", "{study}/work.c", "{work}/out"]]},
        {"study/work.h": "", "study/work.c": '#include "work.h"\n'},
    ),
    "second file of a shell's text": (
        {"argv": ["sh", "-c", "cat {study}/one {study}/two"]},
        {"study/two": "", "study/one": ""},
    ),
    "file named in env": (
        {"argv": ["true"], "env": {"CONFIG": f"{ELSEWHERE}/config"}},
        {"elsewhere/config": ""},
    ),
    "file of a directory argument": (
        {"argv": ["ls", "{study}/data"]},
        {"study/data/inner/one": ""},
    ),
    "document that the command names": (
        {"argv": ["cat", "{study}/README.md"]},
        {"study/README.md": ""},
    ),
    "document in a folder that the command names": (
        {"argv": ["ls", "{study}/texts"]},
        {"study/texts/one.md": ""},
    ),
    "input file": (
        {"argv": ["true"], "inputs": [f"{ELSEWHERE}/data.bin"]},
        {"elsewhere/data.bin": ""},
    ),
    "input folder": (
        {"argv": ["true"], "inputs": ["../elsewhere/corpus"]},
        {"elsewhere/corpus/inner/one": ""},
    ),
    "input glob": (
        {"argv": ["true"], "inputs": [f"{ELSEWHERE}/*.csv"]},
        {"elsewhere/a.csv": "", "elsewhere/b.csv": ""},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_change_of_what_a_command_depends_on_measures_it_again(bench: Bench, case: str) -> None:
    """Cause: of a command only files of the study in whole arguments counted. The first changes."""
    table, files = CASES[case]
    table = bench.filled(table)
    for name, first_text in files.items():
        bench.write(name, first_text)
    assert bench.run(**table).done == 1
    assert bench.run(**table).reused == 1
    first = next(iter(files))
    bench.write(first, files[first] + "# rebuilt\n")
    assert (bench.run(**table).done, bench.row_count()) == (1, 2)
    assert bench.run(**table).reused == 1


def test_what_differs_is_named(bench: Bench) -> None:
    bench.write("elsewhere/prog", "#!/bin/sh\n")
    program = str(bench.elsewhere / "prog")
    bench.run(argv=[program])
    bench.write("elsewhere/prog", "#!/bin/sh\ntrue\n")
    (reason,) = bench.run(argv=[program]).kept
    assert reason == f"measured with another program, input or device ({program})"


def test_a_program_that_is_changed_back_gets_its_old_figures(bench: Bench) -> None:
    for text, done in (("", 1), ("true\n", 1), ("", 0)):
        bench.write("elsewhere/prog", "#!/bin/sh\n" + text)
        assert bench.run(argv=[str(bench.elsewhere / "prog")]).done == done


def test_a_declared_variable_counts_even_if_it_is_ignored(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {"argv": ["true"], "variables": ["HEADROOM_TEST_SIZE", "HEADROOM_TEST_NONE"]}
    table["ignore_env"] = ["HEADROOM_TEST_*"]
    monkeypatch.setenv("HEADROOM_TEST_SIZE", "1")
    assert bench.run(**table).done == 1
    monkeypatch.setenv("HEADROOM_TEST_OTHER", "1")
    assert bench.run(**table).reused == 1
    monkeypatch.setenv("HEADROOM_TEST_SIZE", "2")
    assert list(bench.run(**table).kept) == [
        "measured with another program, input or device ($HEADROOM_TEST_SIZE)"
    ]


def test_another_launcher_measures_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run(argv=["true"])
    monkeypatch.setattr(system, "LAUNCHER_VERSION", LAUNCHER_VERSION + 1)
    assert bench.run(argv=["true"]).done == 1


def test_the_version_of_the_launcher_was_looked_at_when_the_launcher_changed() -> None:
    """Reminder: raise `LAUNCHER_VERSION` if results may differ, then update the hash."""
    lines = (Path(launcher.__file__).parent / "launch.rs").read_text().splitlines()
    code = "".join(line.strip() for line in lines if not line.strip().startswith("//"))
    assert (LAUNCHER_VERSION, digest(code, size_bytes=4)) == (1, "300343be"), (
        "launch.rs changed: may figures differ? Then raise LAUNCHER_VERSION; renew this hash"
    )


@pytest.mark.parametrize(
    "name",
    [
        "study/README.md",
        "study/LICENSE",
        "study/results/old.csv",
        "study/__pycache__/helper.cpython-311.pyc",
        "study/.git/index",
        "study/notes.txt~",
        "study/other.toml",
        "study/scratch/deep/log",
        "study/trace.log",
    ],
)
def test_results_documents_and_what_is_ignored_do_not_count(bench: Bench, name: str) -> None:
    table = {"argv": ["true"], "ignore": ["scratch/", "*.log"]}
    for text in ("[[experiment]]\n", "[[experiment]]\nname = 'other'\n"):
        bench.write(name, text)
        bench.run(**table)
    assert bench.row_count() == 1


def test_a_title_a_claim_and_a_limit_of_time_do_not_count(bench: Bench) -> None:
    bench.run(argv=["true"])
    assert bench.run(argv=["true"], title="another title", time_limit_s=9.0).reused == 1


def test_results_do_not_depend_on_where_the_study_lies(bench: Bench) -> None:
    bench.write("study/work.sh", "")
    table = {"argv": ["sh", "{study}/work.sh"]}
    bench.run(**table)
    bench.study = bench.study.rename(bench.elsewhere / "moved")
    assert bench.run(**table).reused == 1


def test_an_edit_between_plan_and_run_is_refused_and_stored_under_no_name(bench: Bench) -> None:
    bench.write("study/work.sh", "")
    plan = bench.plan(argv=["sh", "{study}/work.sh"])
    bench.write("study/work.sh", "true\n")
    with pytest.raises(ChangedMeanwhileError, match=r"work\.sh changed while experiment 'e' ran"):
        run_study(plan)
    assert bench.row_count() == 0


@pytest.mark.parametrize("place", ["{study}/helper", "elsewhere"])
def test_an_edit_during_a_replication_is_refused_and_stored_under_no_name(
    bench: Bench, place: str
) -> None:
    """Cause: rows of the new program were stored under the old name, permanently."""
    bench.write("study/helper", "")
    bench.write("elsewhere/helper", "")
    name = place.replace("elsewhere", str(bench.elsewhere / "helper"))
    table = {"argv": ["sh", "-c", f"echo more >> {name}"]}
    with pytest.raises(ChangedMeanwhileError, match="helper changed while") as caught:
        bench.run(**table)
    assert "ignore" in caught.value.cure
    assert bench.row_count() == 0
    ignored = ["helper", str(bench.elsewhere / "helper")]
    assert bench.run(**table, ignore=ignored).done == 1


def test_rows_of_before_an_edit_stay(bench: Bench) -> None:
    """The edit comes with the second of three points; the first one is stored."""
    bench.write("study/count", "")
    script = (
        'test "$(wc -c < {study}/seen)" -lt 2 || echo x >> {study}/count; printf x >> {study}/seen'
    )
    table = {"argv": ["sh", "-c", script, "{n}"], "ignore": ["seen"], "observe": False}
    bench.write("study/seen", "x")
    with pytest.raises(ChangedMeanwhileError, match="count changed"):
        bench.run(**table, factors={"n": [1, 2, 3]})
    assert bench.row_count() == 1


@pytest.mark.parametrize("text", ["../elsewhere/daat.bin", "missing/*.csv"])
def test_an_input_that_names_nothing_is_an_error(bench: Bench, text: str) -> None:
    bench.write("elsewhere/data.bin", "")
    with pytest.raises(StudyError) as caught:
        bench.run(argv=["true"], inputs=[text])
    assert f"input {text!r} names nothing" in caught.value.message
    assert "inputs" in caught.value.cure
    assert ("data.bin" in caught.value.cure) == ("daat" in text)


def test_an_input_may_be_chosen_by_a_level(bench: Bench) -> None:
    for name in ("a", "b"):
        bench.write(f"elsewhere/{name}", "")
    table = {"argv": ["true"], "inputs": ["../elsewhere/{name}"], "factors": {"name": ["a", "b"]}}
    assert bench.run(**table).done == 2
    bench.write("elsewhere/b", "new")
    assert (bench.run(**table).done, bench.row_count()) == (1, 3)


def test_ten_thousand_points_look_once_at_the_files(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Path] = []

    def counted(folder: Path, ignored: Sequence[str]) -> StudyTree:
        looks.append(folder)
        return study_tree.study_tree(folder, ignored)

    monkeypatch.setattr(content, "study_tree", counted)
    bench.write("study/work.sh", "")
    levels = list(range(500))
    plan = bench.plan(argv=["sh", "{study}/work.sh", "{n}"], factors={"n": levels})
    assert len({point.fingerprint for point in plan.experiments[0].points}) == 500
    assert len(looks) == 1


def test_a_folder_with_too_many_files_is_refused_with_a_cure(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_tree, "MOST_FILES", 3)
    for number in range(4):
        bench.write(f"study/data/{number}", "")
    with pytest.raises(StudyError, match=r"holds more than 3 files") as caught:
        bench.plan(argv=["true"])
    assert "ignore" in caught.value.cure
    assert bench.run(argv=["true"], ignore=["data"]).done == 1


def test_a_folder_with_too_much_data_is_refused_with_a_cure(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_tree, "MOST_BYTES", 100)
    bench.write("study/data", "x" * 101)
    with pytest.raises(StudyError, match="GiB that are hashed") as caught:
        bench.plan(argv=["true"])
    assert "inputs" in caught.value.cure


def test_pipes_links_in_a_circle_and_files_that_may_not_be_read_hang_nothing(bench: Bench) -> None:
    """Fault: a FIFO would block any reader that opens it; a link to a parent never ends."""
    os.mkfifo(bench.study / "pipe")
    (bench.study / "again").symlink_to(bench.study)
    (bench.study / "broken").symlink_to("nowhere")
    bench.write("study/data", "")
    assert set(study_tree.study_tree(bench.study, ()).files) == {"data"}
    assert bench.run(argv=["true"]).done == 1


def test_a_large_file_elsewhere_counts_by_size_and_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "MOST_HASHED_BYTES", 10)
    bench.write("elsewhere/data", "x" * 11)
    table = {"argv": ["cat", str(bench.elsewhere / "data")]}
    bench.run(**table)
    assert bench.run(**table).reused == 1
    os.utime(bench.elsewhere / "data", (1, 1))
    assert bench.run(**table).done == 1
