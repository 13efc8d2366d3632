"""`make test` runs its steps in lanes, and `make check` finds the tests of changed files."""

import dataclasses
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from scripts import check
from scripts.check import KINDS, Step, run_all
from scripts.check_changes import files_for_pytest, kinds


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

    assert "lint of Rust" in names(["src/headroom/lib.rs"])
    assert "lint of Rust" not in names(["README.md"])
    assert "tests of 1 files" in names(["tests/test_check.py"])


def test_make_test_has_every_step_once() -> None:
    names = [one.name for lanes in KINDS for lane in lanes for one in lane]
    assert len(names) == len(set(names))
    assert {"types", "Rust tests", "Python tests, documents and studies"} <= set(names)
