"""Through the runner: what a run was seen to use decides about its reuse, whoever named it."""

import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.runner.selection import Selection
from headroom.experiment.runner.what_ran import ChangedMeanwhileError
from headroom.experiment.study.paths import journal_path
from headroom.recording.launching.observer import why_not
from headroom.systems.command import system
from headroom.systems.command.seen import sights
from tests.support.command_bench import ELSEWHERE, Bench

Files = dict[str, str]
CASES: dict[str, tuple[dict[str, Any], Files]] = {
    "package on a PYTHONPATH that env names": (
        {"argv": ["env", f"PYTHONPATH={ELSEWHERE}", "{python}", "-c", "import package_of_test"]},
        {"elsewhere/package_of_test/__init__.py": ""},
    ),
    "file that a script outside the folder sources": (
        {"argv": ["sh", f"{ELSEWHERE}/script"]},
        {"elsewhere/common": "", "elsewhere/script": f". {ELSEWHERE}/common\n"},
    ),
    "file of an undeclared glob": (
        {"argv": ["sh", "-c", f"cat {ELSEWHERE}/*.csv"]},
        {"elsewhere/a.csv": "", "elsewhere/b.csv": ""},
    ),
    "program that a program starts": (
        {"argv": ["sh", f"{ELSEWHERE}/outer"]},
        {"elsewhere/inner": "#!/bin/sh\n", "elsewhere/outer": "$(dirname $0)/inner\n"},
    ),
    "file that the set-up reads": (
        {"argv": ["true"], "set_up": [["sh", "-c", f"cat {ELSEWHERE}/*.h"]]},
        {"elsewhere/a.h": ""},
    ),
}
needs_observer = pytest.mark.skipif(bool(why_not()), reason=f"nothing can be observed: {why_not()}")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(system, "launcher_overhead", dict)
    return Bench(tmp_path)


@needs_observer
@pytest.mark.parametrize("case", CASES)
def test_a_change_of_what_was_opened_measures_again(bench: Bench, case: str) -> None:
    """Cause: of these the old value was reused, with exit code 0."""
    table, files = CASES[case]
    table = bench.filled(table)
    for name, text in files.items():
        bench.write(name, text)
    assert bench.run(**table).done == 1
    assert bench.run(**table).reused == 1
    first = next(iter(files))
    bench.write(first, files[first] + "# more\n")
    assert (bench.run(**table).done, bench.row_count()) == (1, 2)
    assert bench.run(**table).reused == 1
    bench.write(first, files[first])
    assert bench.run(**table).reused == 1, "changed back: the old figures count again"


def linked(folder: Path, number: int) -> str:
    """Build a program and its shared library, which returns a number; skip without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc): install one to test libraries")
    (folder / "answer.c").write_text(f"int answer(void) {{ return {number}; }}\n")
    (folder / "main.c").write_text("int answer(void); int main(void) { return answer() != 0; }\n")
    library = ["-shared", "-fPIC", "-o", "libanswer.so", "answer.c"]
    subprocess.run([compiler, *library], cwd=folder, check=True)
    if not (folder / "main").exists():
        found = ["-o", "main", "main.c", "-L.", "-lanswer", f"-Wl,-rpath,{folder}"]
        subprocess.run([compiler, *found], cwd=folder, check=True)
    return str(folder / "main")


@pytest.mark.parametrize("is_permitted", [True, False])
def test_a_change_of_a_linked_library_measures_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, *, is_permitted: bool
) -> None:
    if is_permitted and why_not():
        pytest.skip(f"nothing can be observed: {why_not()}")
    if not is_permitted:
        monkeypatch.setattr(sights, "why_not", lambda: "not permitted here")
    table = {"argv": [linked(bench.elsewhere, 0)], "ok_exit_codes": [0, 1]}
    assert bench.run(**table).done == 1
    assert bench.run(**table).reused == 1
    linked(bench.elsewhere, 1)
    (reason,) = bench.run(**table).kept
    assert reason.endswith(f"({bench.elsewhere}/libanswer.so)")


def test_the_floor_has_packages_and_says_that_it_is_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sights, "why_not", lambda: "not permitted here")
    table, files = CASES["package on a PYTHONPATH that env names"]
    (name,) = files
    bench.write(name, "")
    table = bench.filled(table)
    assert bench.run(**table).done == 1
    assert bench.run(**table).reused == 1
    assert notes_of(bench, table)[0].startswith("not observed (not permitted here): ")
    bench.write(name, "# more\n")
    assert bench.run(**table).done == 1


@pytest.mark.parametrize("name", ["LC_ALL", "HEADROOM_TEST_UNDECLARED"])
@pytest.mark.parametrize("observe", [True, False])
def test_a_variable_of_the_caller_counts_and_the_message_offers_to_ignore_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str, *, observe: bool
) -> None:
    table: dict[str, Any] = {"argv": ["true"], "observe": observe}
    monkeypatch.delenv(name, raising=False)
    bench.run(**table)
    monkeypatch.setenv(name, "C")
    assert list(bench.run(**table).kept) == [
        f'measured with another environment (${name}); to reuse them: ignore_env = ["{name}"]'
    ]
    monkeypatch.setenv(name, "en_GB.UTF-8")
    assert bench.run(**table, ignore_env=[name]).reused == 1
    assert bench.run(**table).done == 1


def test_variables_of_terminals_sessions_and_editors_do_not_count(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.run(argv=["true"])
    for name in ("PWD", "SHLVL", "_", "TERM", "WINDOWID", "SSH_CLIENT", "EDITOR", "TMUX_PANE"):
        monkeypatch.setenv(name, "other")
    assert bench.run(argv=["true"]).reused == 1


def test_of_a_secret_only_a_hash_is_stored(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADROOM_TEST_TOKEN", "hush-hush-9271")
    bench.run(argv=["true"])
    content = journal_path(bench.study, quick=False).read_bytes()
    assert b"$HEADROOM_TEST_TOKEN=" in content
    assert b"hush-hush" not in content


@needs_observer
@pytest.mark.parametrize("seed", range(6))
def test_of_a_random_set_of_files_exactly_the_opened_ones_count(bench: Bench, seed: int) -> None:
    """Property: the oracle is the list that the script reads, in nested processes."""
    choice = random.Random(seed)  # noqa: S311 - no secret
    names = [f"data/{number}/f" for number in range(8)]
    for name in names:
        bench.write(f"elsewhere/{name}", "0")
    opened = choice.sample(names, k=4)
    commands = [
        choice.choice([f"cat $D/{n}", f"(cd $D/data; sh -c '. ../{n}')", f"wc <$D/{n} | cat"])
        for n in opened
    ]
    bench.write("elsewhere/list", "D=$(dirname $0)\n" + "\n".join(f"{c} || :" for c in commands))
    table = {"argv": ["sh", str(bench.elsewhere / "list")]}
    assert bench.run(**table).done == 1
    unopened = choice.choice([name for name in names if name not in opened])
    bench.write(f"elsewhere/{unopened}", "1")
    assert bench.run(**table).reused == 1
    edited = choice.choice(opened)
    bench.write(f"elsewhere/{edited}", "1")
    (reason,) = bench.run(**table).kept
    assert f"{bench.elsewhere}/{edited}" in reason


@needs_observer
@pytest.mark.parametrize(
    "script",
    [
        "echo $$ > E/pid.$$; cat E/pid.$$; rm E/pid.$$",
        "echo x >> E/log; wc -l E/log",
        "date +%N > E/state.new; mv E/state.new E/state; cat E/state",
        "date +%N > $1/out; cat $1/out; ls $1",
        "cat /proc/self/status /sys/kernel/mm/transparent_hugepage/enabled; head -c1 /dev/urandom",
        "T=$(mktemp); date +%N > $T; cat $T; rm $T; ls /tmp",
        "ls E/; date > E/$$.out",
    ],
)
def test_what_a_command_writes_itself_and_what_is_no_file_do_not_count(
    bench: Bench, script: str
) -> None:
    bench.write("elsewhere/script", script.replace("E/", "$(dirname $0)/"))
    table = {"argv": ["sh", str(bench.elsewhere / "script"), "{work}"]}
    assert bench.run(**table).done == 1
    for _ in range(2):
        assert bench.run(**table).reused == 1
    assert notes_of(bench, table)[0].startswith("observed: ")


@needs_observer
def test_a_file_that_appears_where_one_was_looked_for_measures_again(bench: Bench) -> None:
    bench.write("elsewhere/script", "cat $(dirname $0)/optional 2>/dev/null || :\n")
    table = {"argv": ["sh", str(bench.elsewhere / "script")]}
    bench.run(**table)
    assert bench.run(**table).reused == 1
    bench.write("elsewhere/optional", "")
    assert list(bench.run(**table).kept) == [
        f"measured with another program, input or device ({bench.elsewhere}/optional)"
    ]


@needs_observer
def test_a_new_file_in_a_listed_folder_measures_again(bench: Bench) -> None:
    bench.write("elsewhere/data/one", "")
    table = {"argv": ["sh", "-c", f"ls {bench.elsewhere}/d*"]}
    bench.run(**table)
    assert bench.run(**table).reused == 1
    bench.write("elsewhere/data/two", "")
    assert bench.run(**table).done == 1


@needs_observer
@pytest.mark.parametrize(
    ("table", "run_count"),
    [({}, 4), ({"warm_up_runs": 1}, 6), ({"observe": False}, 3)],
)
def test_one_untimed_run_is_observed_unless_there_is_a_warm_up_run(
    bench: Bench, table: dict[str, Any], run_count: int
) -> None:
    bench.write("elsewhere/script", "echo >> $(dirname $0)/runs")
    outcome = bench.run(argv=["sh", f"{bench.elsewhere}/script"], **table, replications=3)
    assert outcome.done == 3
    assert len((bench.elsewhere / "runs").read_text().splitlines()) == run_count


@needs_observer
@pytest.mark.parametrize("warm_up_runs", [0, 1])
def test_a_measured_run_is_never_observed(bench: Bench, warm_up_runs: int) -> None:
    metric = [{"name": "tracer", "regex": r"TracerPid:\s+(\d+)"}]
    table = {"argv": ["cat", "/proc/self/status"], "warm_up_runs": warm_up_runs, "metric": metric}
    bench.run(**table)
    (row,) = rows_of(bench, table)
    assert row.run is not None
    assert row.run.values["tracer"] == 0.0
    assert row.run.notes[0].startswith("observed: ")


@needs_observer
def test_a_program_that_fails_under_observation_is_measured_all_the_same(bench: Bench) -> None:
    table = {"argv": ["grep", "-q", "TracerPid:.0", "/proc/self/status"]}
    assert (bench.run(**table).done, bench.run(**table).reused) == (1, 1)
    assert notes_of(bench, table)[0].startswith("not observed (the observed run failed)")


@needs_observer
def test_a_server_of_the_set_up_lives_until_its_clean_up(bench: Bench) -> None:
    bench.write("elsewhere/in", "x")
    serve = "cd $(dirname $0); (while :; do cat in >> out; sleep 0.01; done) >&2 & echo $! > pid"
    bench.write("elsewhere/serve", serve)
    bench.write("elsewhere/check", "kill -0 $(cat $(dirname $0)/pid)")
    check = ["sh", f"{bench.elsewhere}/check"]
    table = {"argv": check, "set_up": [["sh", f"{bench.elsewhere}/serve"]]}
    table["clean_up"] = [check]
    assert bench.run(**table).done == 1
    assert notes_of(bench, table)[0].startswith("observed: ")


@needs_observer
def test_the_sentence_counts_what_was_seen_and_names_what_was_not(bench: Bench) -> None:
    bench.write("elsewhere/a", "")
    connect = "import socket, sys; open(sys.argv[1]); socket.socket().connect_ex(('127.0.0.1', 9))"
    name = str(bench.elsewhere / "a")
    table = {"argv": ["{python}", "-I", "-S", "-c", connect, name], "env": {"LC_ALL": "C"}}
    bench.run(**table)
    (note,) = notes_of(bench, table)
    assert note.endswith("; network used, not seen")
    assert " libraries, " in note
    quiet = {"argv": ["/bin/sh", "-c", f": < {name}"], "env": {"LC_ALL": "C"}}
    bench.run(**quiet)
    assert notes_of(bench, quiet)[0].startswith("observed: 1 file, ")
    assert notes_of(bench, quiet)[0].endswith("; no network")


@needs_observer
def test_a_reader_sees_the_newest_figures_whatever_has_changed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {"argv": ["sh", "-c", f"cat {bench.elsewhere}/*.csv"]}
    bench.write("elsewhere/a.csv", "1")
    bench.run(**table)
    monkeypatch.setenv("LC_ALL", "POSIX")
    bench.run(**table)
    monkeypatch.setenv("LC_ALL", "en_GB.UTF-8")
    bench.write("elsewhere/a.csv", "2")
    newest = max(row.started_at for row in all_rows(bench))
    assert [row.started_at for row in rows_of(bench, table)] == [newest]


@needs_observer
def test_a_moved_study_keeps_its_figures(bench: Bench) -> None:
    bench.write("study/work.sh", "ls $(dirname $0); cat $(dirname $0)/*.md || :\n")
    bench.write("study/README.md", "")
    table = {"argv": ["sh", "{study}/work.sh"]}
    bench.run(**table)
    bench.study = bench.study.rename(bench.elsewhere / "moved")
    assert bench.run(**table).reused == 1
    bench.write("study/README.md", "more")
    assert bench.run(**table).done == 1


@needs_observer
def test_an_edit_of_what_was_seen_during_a_run_is_refused(bench: Bench) -> None:
    """The measured run alone edits; seen files of a run that edits them itself do not count."""
    bench.write("elsewhere/a.csv", "1")
    edit = f"cat {bench.elsewhere}/*.csv; grep -q TracerPid:.0 /proc/self/status || exit 0; "
    edit += f"echo more >> {bench.elsewhere}/a.csv"
    with pytest.raises(ChangedMeanwhileError, match=r"a\.csv changed while"):
        bench.run(argv=["sh", "-c", edit])
    assert bench.row_count() == 0


def rows_of(bench: Bench, table: dict[str, Any]) -> list[ReplicationRow]:
    plan = bench.plan(**table)
    (experiment,) = plan.experiments
    with Journal.open(journal_path(bench.study, quick=False), create=False) as journal:
        return Selection(plan, journal).rows(experiment, experiment.points[0])


def all_rows(bench: Bench) -> list[ReplicationRow]:
    with Journal.open(journal_path(bench.study, quick=False), create=False) as journal:
        return list(journal.heads("e"))


def notes_of(bench: Bench, table: dict[str, Any]) -> tuple[str, ...]:
    (row,) = rows_of(bench, table)
    assert row.run is not None
    return row.run.notes
