"""The tool that changes the code: what it changes, and that known changes are caught.

`python -m scripts.mutants --part all` prints how many changes the tests of each part catch.
"""

import subprocess
import sys

import pytest

from scripts.check_changes import module_of
from scripts.mutants.__main__ import chosen, parts
from scripts.mutants.changes import Change, changes_of
from scripts.mutants.judging import ROOT, files_for, judge, preload

CAUGHT = [
    ("gate", "gate/judging.py", "other.value / base.value", "other.value * base.value"),
    ("gate", "gate/sessions.py", "row.state == 'done'", "row.state != 'done'"),
    ("sessions", "sessions/overwrite.py", "one.words not in given", "one.words in given"),
    ("jmt", "jmt/laws_in.py", "rate / units", "rate * units"),
]
"""Part, module, and a change that its tests are known to catch."""


def found(path: str, before: str, after: str) -> Change:
    """Return a change by its code. Replace it in the list if that code is gone."""
    text = (ROOT / path).read_text(encoding="utf-8")
    made = (make() for make in changes_of(path, text))
    return next(one for one in made if (one.before, one.after) == (before, after))


def written(text: str) -> list[str]:
    return [f"{one.before} > {one.after}" for one in (make() for make in changes_of("a.py", text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", ["a < b > a >= b"]),
        ("len(a) < b", ["len(a) < b > len(a) <= b"]),
        ("a is not b", ["a is not b > a is b"]),
        ("a + b", ["a + b > a - b"]),
        ("a and b", ["a and b > a or b"]),
        ("not a", ["not a > a"]),
        ("f(a, b)", ["f(a, b) > f(b, a)"]),
        ("f(x=a, y=b)", ["f(x=a, y=b) > f(x=b, y=a)"]),
        ("a[i, j]", ["(i, j) > (j, i)"]),
        ("a = 2.0", ["2.0 > 4.0"]),
        ("a = True", ["True > False"]),
        ("if a: b", ["a > not a"]),
        ("def f() -> bool: return a", ["return a > return not a"]),
        ("def f() -> float: return a", ["return a > return a + 1"]),
        ("def f() -> list[int]: return a", ["return a > return []"]),
    ],
)
def test_each_kind_of_operator_is_changed(text: str, expected: list[str]) -> None:
    assert written(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        '"""Documented 1 < 2."""', "a: Literal[1]", "raise ValueError(1 < 2)", "print(1 < 2)",
        "f'{a + 1}'", "a = f(encoding=1)", "@f(1)\ndef g() -> None: pass", "PAUSE_S = 1.0",
        "def __repr__(self): return 1", "max(a, b)", "if a:\n    raise AssertionError(1)",
        "time.sleep(1)", "assert a < b",
    ],
)  # fmt: skip
def test_what_no_user_can_see_is_left_as_it_is(text: str) -> None:
    assert written(text) == []


@pytest.mark.deep
def test_a_seed_chooses_the_same_changes_again_and_every_layer_is_a_part() -> None:
    part = "src/headroom/forecasts"
    first, again, other = (
        [str(one) for one in chosen(part, count=5, seed=seed)] for seed in (1, 1, 2)
    )
    assert first == again != other
    part = "src/headroom/gate"
    assert {part, "src/headroom/systems/records"} <= set(parts())
    assert files_for(part, f"{part}/changes.py")[:2] == [
        f"{part}/changes.py",
        f"{part}/test_changes.py",
    ]


def judge_known() -> None:
    """Judge unchanged modules and known changes, in a process without threads."""
    preload()
    for part, name, old, new in CAUGHT:
        path = f"src/headroom/{name}"
        change = found(path, old, new)
        tests, module = files_for(f"src/headroom/{part}", path), module_of(path)
        text = (ROOT / path).read_text(encoding="utf-8")
        near = [one for one in tests if one.startswith("src/")]
        unchanged = judge(module, compile(text, path, "exec"), near[:2])
        assert not unchanged.is_caught, unchanged.output
        assert judge(module, compile(change.tree, path, "exec"), near).is_caught, change
        assert (ROOT / path).read_text(encoding="utf-8") == text


@pytest.mark.deep
def test_known_changes_are_caught_by_the_tests_of_their_part_and_no_file_is_written() -> None:
    """A judge that lets these pass is broken, and so is one that condemns unchanged code."""
    code = "from tests.test_mutants import judge_known; judge_known()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
