"""Check the changed files: `make check`, about a minute, while you work.

A file is changed if it differs from the upstream branch, committed or not. Layout, lint, spelling,
import directions and types are checked everywhere, because they are quick. Rust and the types of
compiled modules are checked if Rust changed. The tests that run are the quick ones among those that
changed, the doctests of changed modules, and the tests that are named after such a module or import
it by name. A module without such a test runs those of its folder. Everything else, including
documents and studies, is left to `make test`.
"""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from scripts.check import BESIDE, COMPILED_TYPES, JUNIT, ROOT, RUST, TEXT, TYPES, Step, check

LEFT_OUT = ("tests/test_docs.py", "studies/")
"""Tests that take minutes and that nearly every change would call for."""
TESTED = ("src/headroom/", "tests/", "scripts/", "benches/")


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed_files() -> list[str]:
    """Return the files that differ from the point where this branch left its upstream."""
    (base, *_) = [*_git("merge-base", "HEAD", "@{upstream}"), "HEAD"]
    changed = _git("diff", "--name-only", base)
    changed += _git("ls-files", "--others", "--exclude-standard")
    return sorted({name for name in changed if (ROOT / name).is_file()})


def module_of(name: str) -> str:
    """Return the dotted name by which a file is imported.

    Examples
    --------
    >>> module_of("src/headroom/cli/output.py"), module_of("src/headroom/cli/__init__.py")
    ('headroom.cli.output', 'headroom.cli')
    """
    parts = Path(name.removeprefix("src/")).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(text: str, module: str) -> bool:
    r"""Return whether a program imports a module by its name.

    Examples
    --------
    >>> imports("from headroom.cli import output, session\n", "headroom.cli.output")
    True
    >>> imports("import headroom.cli.output\n", "headroom.cli.output")
    True
    >>> imports("from headroom.cli.outputs import a\n", "headroom.cli.output")
    False
    """
    parent, _, last = module.rpartition(".")
    whole = rf"^\s*(?:from|import) {re.escape(module)}\b(?!\.)"
    part = rf"^\s*from {re.escape(parent)} import (?:\([^)]*|[^\n(]*)\b{re.escape(last)}\b"
    return bool(re.search(f"{whole}|{part}", text, re.MULTILINE))


def _files_of(name: str, texts: dict[str, str]) -> set[str]:
    """Return the test files that go with a module."""
    folder = Path(name).parent
    own = str(folder / f"test_{Path(name).stem}.py")
    files = {test for test, text in texts.items() if test == own or imports(text, module_of(name))}
    return files or {test for test in texts if Path(test).parent == folder}


def files_for_pytest(changed: Iterable[str], texts: dict[str, str]) -> list[str]:
    """Return the files to be given to pytest, of test files with their texts.

    Examples
    --------
    >>> texts = {"tests/test_a.py": "from headroom.cli import output", "tests/test_b.py": ""}
    >>> files_for_pytest(["src/headroom/cli/output.py", "README.md"], texts)
    ['src/headroom/cli/output.py', 'tests/test_a.py']
    """
    chosen: set[str] = set()
    for name in changed:
        if not name.endswith(".py") or not name.startswith(TESTED):
            continue
        chosen |= {name} if name in texts else {name, *_files_of(name, texts)}
    return sorted(name for name in chosen if not name.startswith(LEFT_OUT))


def kinds(changed: list[str]) -> list[list[list[Step]]]:
    """Return the kinds of checks for files that changed."""
    tests = {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in _git("ls-files", "--cached", "--others", "--exclude-standard", "*test_*.py")
        if (ROOT / name).is_file()
    }
    chosen = files_for_pytest(changed, tests)
    lanes = [TYPES]
    if any(name.endswith((".rs", ".pyi", "Cargo.toml", "Cargo.lock")) for name in changed):
        lanes = [[*TYPES, *COMPILED_TYPES], RUST]
    argv = [sys.executable, "-m", "pytest", "--color=no", "-q", f"--junitxml={JUNIT}", *BESIDE]
    unit = Step(name=f"tests of {len(chosen)} files", argv=[*argv, *chosen])
    return [[TEXT], lanes, *([[[unit]]] if chosen else [])]


if __name__ == "__main__":
    sys.exit(check(kinds(changed_files())))
