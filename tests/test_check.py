"""`make test` runs its steps in lanes, and `make check` finds the tests of changed files."""

import dataclasses
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from scripts import check
from scripts.check import ROOT, TIERS, Step, run_all
from scripts.check_changes import files_for_pytest, kinds
from scripts.tiers import Tier, costs_of, report


def step(name: str, code: str) -> Step:
    return Step(name=name, argv=[sys.executable, "-c", code])


def printed(name: str) -> Step:
    return step(name, f"print('{name} 1'); import sys; sys.stdout.flush(); print('{name} 2')")


@pytest.fixture
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "")


@pytest.mark.usefixtures("at_home")
def test_a_failed_kind_ends_the_run_and_a_failed_step_its_lane() -> None:
    failed = step("b", "raise SystemExit(1)")
    later = [[step("e", "")]]
    lanes = [[step("a", ""), failed, step("c", "")], [step("d", "")]]
    assert run_all([lanes, later]) == {"a": "passed", "b": "failed", "d": "passed"}


def test_in_continuous_integration_all_steps_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    outcomes = run_all([[[step("a", "raise SystemExit(1)"), step("b", "")]], [[step("c", "")]]])
    assert outcomes == {"a": "failed", "b": "passed", "c": "passed"}


@pytest.mark.parametrize(
    ("ci", "again", "expected"),
    [
        ("true", "", "unsteady"),
        ("true", "raise SystemExit(1)", "failed"),
        ("", "", "failed"),
    ],
)
def test_in_continuous_integration_what_failed_is_repeated_once(
    ci: str, again: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    first = step("a", "raise SystemExit(1)")
    repeated = dataclasses.replace(first, again=[sys.executable, "-c", again])
    assert run_all([[[repeated]]]) == {"a": expected}


def test_a_step_that_hung_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take its whole limit once more; the second command would pass."""
    monkeypatch.setenv("CI", "true")
    sleeps = step("a", "import time; time.sleep(600)")
    hangs = dataclasses.replace(sleeps, limit_s=2.0, again=[sys.executable, "-c", ""])
    assert run_all([[[hangs]]]) == {"a": "failed"}


def test_what_was_unsteady_is_named_and_the_run_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first attempt fails and writes pytest's file; the second passes."""
    monkeypatch.setenv("CI", "true")
    report = tmp_path / "pytest.xml"
    monkeypatch.setattr(check, "JUNIT", report)
    text = (
        '<testsuites><testsuite tests="2" failures="0" errors="1" skipped="0" time="1">'
        '<testcase classname="a" name="b"><error/></testcase><testcase classname="a" name="c"/>'
        "</testsuite></testsuites>"
    )
    code = (
        f"import pathlib; pathlib.Path({str(report)!r}).write_text({text!r}); raise SystemExit(1)"
    )
    tests = dataclasses.replace(step("Python tests", code), again=[sys.executable, "-c", ""])
    assert check.check([[[tests]]]) == 0
    said = capsys.readouterr().out
    assert "   unsteady: Python tests\n      failed beside others, passed alone: a::b\n" in said
    assert "1 passed, 1 errors in 1.0s" in said


@pytest.mark.usefixtures("at_home")
def test_lanes_run_beside_each_other_and_print_each_step_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both lanes have begun before either ends: run one after the other, they would deadlock."""
    both, begin = threading.Barrier(2), subprocess.Popen

    def met(*argv: object, **options: object) -> object:
        both.wait()
        return begin(*argv, **options)  # type: ignore[call-overload]  # as it was called

    monkeypatch.setattr(subprocess, "Popen", met)
    run_all([[[printed("x"), printed("z")], [printed("y"), printed("w")]]])
    lines = capsys.readouterr().out.splitlines()
    blocks = [lines[start : start + 4] for start in range(0, 16, 4)]
    assert {(head, *said) for head, *said, _time in blocks} == {
        (f"== {name}", f"{name} 1", f"{name} 2") for name in "xyzw"
    }
    assert all(time.startswith("   passed in ") for *_block, time in blocks)


@pytest.mark.usefixtures("at_home")
def test_a_step_that_hangs_is_ended_with_what_it_started_and_its_output_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The grandchild keeps the output open: without its end, reading would not end either."""
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    code = "import subprocess; print('so far'); subprocess.run(['sleep', '600'])"
    hangs = Step(name="h", argv=[sys.executable, "-c", code], limit_s=6.0)
    assert run_all([[[hangs], [step("a", "")]]]) == {"h": "failed", "a": "passed"}
    said = capsys.readouterr().out
    assert "== h\nso far\n   ended after 6 s: it hangs (failed)\n" in said


def test_what_nobody_imports_by_name_has_the_tests_of_its_folder() -> None:
    texts = {"src/headroom/a/test_one.py": "", "src/headroom/b/test_two.py": ""}
    assert files_for_pytest(["src/headroom/a/inner.py"], texts) == [
        "src/headroom/a/inner.py",
        "src/headroom/a/test_one.py",
    ]


def test_what_takes_minutes_and_what_is_no_python_is_left_to_make_test() -> None:
    changed = ["tests/test_docs.py", "studies/a/test_a.py", "README.md", "src/headroom/lib.rs"]
    assert files_for_pytest(changed, {"tests/test_docs.py": "", "studies/a/test_a.py": ""}) == []


def test_rust_is_checked_where_rust_changed() -> None:
    def names(changed: list[str]) -> list[str]:
        return [one.name for lanes in kinds(changed) for lane in lanes for one in lane]

    assert {"lint of Rust", "types of compiled modules"} <= set(names(["src/headroom/lib.rs"]))
    assert "types of compiled modules" not in names(["src/headroom/units.py"])
    assert "lint of Rust" not in names(["README.md"])
    assert "tests of 1 files" in names(["tests/test_check.py"])


def steps_of(tier: Tier) -> list[Step]:
    return [one for lanes in TIERS[tier] for lane in lanes for one in lane]


def test_every_step_is_in_one_tier_once() -> None:
    names = [one.name for tier in TIERS for one in steps_of(tier)]
    assert len(names) == len(set(names))
    assert {"types", "Rust tests"} <= {one.name for one in steps_of("quick")}
    assert "tests of the catalogue service" in {one.name for one in steps_of("deep")}


def test_the_tiers_leave_no_test_out() -> None:
    (quick,), (deep,) = (
        [one for one in steps_of(tier) if "pytest" in one.argv] for tier in ("quick", "deep")
    )
    at = quick.argv.index("not deep")
    assert [*quick.argv[:at], "deep", *quick.argv[at + 1 :]] == deep.argv
    ignored = [file for file in (ROOT / "src").rglob("*.rs") if "#[ignore" in file.read_text()]
    assert ignored == []


def test_continuous_integration_runs_both_tiers_and_fails_if_either_does(tmp_path: Path) -> None:
    folder = tmp_path / ".ci"
    folder.mkdir()
    script = folder / "run"
    script.write_text((ROOT / ".ci" / "run").read_text(encoding="utf-8"), encoding="utf-8")
    for failing in ("test", "test-deep", None):
        rules = [
            f"{name}:\n\t@echo {name} $$CI{'; false' if name == failing else ''}\n"
            for name in ("test", "test-deep")
        ]
        (tmp_path / "Makefile").write_text("".join(rules), encoding="utf-8")
        alone = {
            key: text for key, text in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))
        }
        alone["CI"] = "true"
        argv = ["bash", str(script)]
        done = subprocess.run(argv, env=alone, capture_output=True, text=True, check=False)
        assert done.stdout.splitlines() == ["test true", "test-deep true"]
        assert bool(done.returncode) == (failing is not None)


def test_what_tests_cost_is_added_up_by_file_and_the_misplaced_are_named(tmp_path: Path) -> None:
    junit = tmp_path / "pytest.xml"

    def case(file: str, name: str, cost: float) -> str:
        value = f'<properties><property name="processor_s" value="{cost}"/></properties>'
        return f'<testcase classname="{file}" name="{name}">{value}</testcase>'

    cases = case("a", "x", 3.0) + case("a", "y", 0.25) + case("b", "z", 0.25)
    junit.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>", encoding="utf-8")
    quick, deep = (report(junit, tier).split("\n") for tier in ("quick", "deep"))
    dearest = ["   4 s in 2 files; the dearest:", "      3.2 s  a", "      0.2 s  b"]
    assert quick == [*dearest, "   mark these deep:", "   3.0 s  a::x"]
    assert deep[3:] == ["   these are quick: take their mark away:", "   0.2 s  b"]


def test_each_test_notes_its_processor_time(tmp_path: Path) -> None:
    """The time of programs that a test started is counted with it."""
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text(encoding="utf-8"))
    burn = "import time; end = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
    (tmp_path / "test_one.py").write_text(
        f"""
import subprocess, sys
def test_burns():
    subprocess.run([sys.executable, "-c", {burn!r}], check=True)
def test_rests():
    pass
"""
    )
    junit = tmp_path / "results.xml"
    options = ["-q", "-p", "no:cacheprovider", f"--junitxml={junit}"]
    subprocess.run([sys.executable, "-m", "pytest", *options, tmp_path], cwd=tmp_path, check=True)
    ((_file, tests),) = costs_of(junit).items()
    assert tests["test_burns"] >= 0.5 > tests["test_rests"]
