"""Run the tests of a part on one changed module, in a separate process.

The process is a fork that has loaded the libraries, but nothing of Headroom: it imports the changed
module as if the file said so, and so do the programs that its tests start.

Invariant: no file of the tree is written. A process that outlives its limit is ended.
"""

import ast
import marshal
import os
import resource
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType

import pytest

from scripts.check_changes import module_of

ROOT = Path(__file__).parents[2]
_PRELOADED = ("hypothesis", "numpy", "msgspec", "jinja2", "rich.console", "_pytest.doctest")
_OPTIONS = ("-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist",
            "-W", "ignore::pytest.PytestAssertRewriteWarning",
            "--hypothesis-seed=0")  # fmt: skip
_NO_TESTS = 5
_SLEEPY = 20
"""Times its limit of processor time that a fork may last: it may only wait."""
_OURS = ("headroom", "tests.", "benches.", "scripts.")
_PLUG_INS = "headroom.experiment.protocol.plug_ins"
_ENTRY_POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "entry-points"
]
_HOOK = '''\
"""Import one module from changed code."""
import importlib.abc, importlib.machinery, marshal, os, sys


class Changed(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != os.environ["HEADROOM_CHANGED_MODULE"]:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        with open(os.environ["HEADROOM_CHANGED_CODE"], "rb") as file:
            code = marshal.load(file)
        spec.loader.get_code = lambda _: code
        return spec


sys.meta_path.insert(0, Changed())
'''


@dataclass(frozen=True, slots=True)
class Judgement:
    """Verdict of the tests.

    Parameters
    ----------
    is_caught
        True if a test failed, or did not end.
    by
        The test that failed first; empty if none did.
    cpu_s
        Processor time (s) that they took.
    output
        What pytest printed.
    """

    is_caught: bool
    by: str
    cpu_s: float
    output: str


class _Watcher:
    """A plug-in of pytest that writes the name of the first test that fails."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def pytest_sessionstart(self) -> None:
        """Ask for the changed code first: pytest itself would import the files that it is given."""
        sys.meta_path.sort(key=lambda finder: type(finder).__name__ != "Changed")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self._file.exists():
            self._file.write_text(report.nodeid, encoding="utf-8")


def preload() -> None:
    """Load the libraries, so that each fork has them."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a fork takes no threads along
    for name in _PRELOADED:
        __import__(name)


def judge(
    module: str, code: CodeType, tests: Sequence[str], limit_s: int = 600, mark: str = "not deep"
) -> Judgement:
    """Run tests with one module replaced, and return what they say.

    Parameters
    ----------
    module, code
        Dotted name of the module, and its changed code.
    tests
        Files for pytest, those first that will know it best.
    limit_s
        Processor time (s) after which they count as failed, which a busy machine does not change.
    mark
        Which of their tests run: `deep`, or the quick ones.
    """
    with tempfile.TemporaryDirectory(prefix="headroom-mutant-") as name:
        folder = Path(name)
        (folder / "code").write_bytes(marshal.dumps(code))
        (folder / "sitecustomize.py").write_text(_HOOK, encoding="utf-8")
        pid = os.fork()
        if not pid:
            resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
            _be_judged(folder, module, tests, mark)
        status, cpu_s = _waited(pid, time.monotonic() + _SLEEPY * limit_s)
        by = folder / "by"
        first = by.read_text(encoding="utf-8") if by.exists() else "an import"
        output = (folder / "output").read_text(encoding="utf-8", errors="replace")
    if status < 0:
        first = f"no end within {limit_s} s"
    is_caught = status not in {0, _NO_TESTS}
    return Judgement(is_caught, first if is_caught else "", cpu_s, output)


def _be_judged(folder: Path, module: str, tests: Sequence[str], mark: str) -> None:
    """Run the tests in this fork, and end it."""
    status = 1
    try:
        os.setsid()
        os.chdir(ROOT)
        with (folder / "output").open("wb") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        os.environ |= {
            "HEADROOM_CHANGED_MODULE": module,
            "HEADROOM_CHANGED_CODE": str(folder / "code"),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "examples"),
            "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
        }
        exec(compile(_HOOK, "hook", "exec"), {})  # noqa: S102 - a constant
        status = pytest.main([*_OPTIONS, "-m", mark, *tests], plugins=[_Watcher(folder / "by")])
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def _waited(pid: int, end_s: float) -> tuple[int, float]:
    """Return exit code, negative if it was ended, and processor time (s) of a process."""
    while time.monotonic() < end_s:
        done, status, used = os.wait4(pid, os.WNOHANG)
        if done:
            _end(pid)
            return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime
        time.sleep(0.02)
    _end(pid)
    os.waitpid(pid, 0)
    return -signal.SIGKILL, 0.0


def _end(pid: int) -> None:
    """End what is left of a process's session."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def files_for(part: str, path: str) -> list[str]:
    """Return the test files of a part that may notice a change of a module, the nearest first.

    They are those in its folder and those of `tests` that are named for it. The module itself comes
    first: its documentation has examples.
    """
    folder, stem = ROOT / part, Path(path).stem
    named = sorted((ROOT / "tests").glob(f"test_{folder.name}*.py"))
    files = [str(one.relative_to(ROOT)) for one in (*sorted(folder.rglob("test_*.py")), *named)]
    module = module_of(path)
    near = [name for name in files if module in _reached(name)]

    def distance(name: str) -> int:
        return 0 if Path(name).stem == f"test_{stem}" else 2 - (module in _imported(name))

    return [path, *sorted(near, key=distance)]


@cache
def _imported(name: str) -> frozenset[str]:
    """Return the modules that a file imports or names anywhere, by their dotted names."""
    if not (ROOT / name).is_file():
        return frozenset()
    found: set[str] = set()
    package = module_of(name).rpartition(".")[0]
    for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A table of what is loaded when it is used, by whole names or below its package.
            found |= {node.value, f"{package}.{node.value}"}
    return frozenset(one for one in found if one.startswith(_OURS) and " " not in one)


@cache
def _reached(name: str) -> frozenset[str]:
    """Return all modules that are loaded with a file; what finds plug-ins may load any of them."""
    seen: set[str] = set()
    ahead = [*_imported(name)]
    while ahead:
        module = ahead.pop()
        if module in seen:
            continue
        seen.add(module)
        if module == _PLUG_INS:
            ahead += [
                one.split(":")[0] for group in _ENTRY_POINTS.values() for one in group.values()
            ]
        for file in _files_of(module):
            ahead += _imported(file)
    return frozenset(seen)


def _files_of(module: str) -> list[str]:
    path = module.replace(".", "/")
    path = f"src/{path}" if module.startswith("headroom") else path
    return [f"{path}.py", f"{path}/__init__.py"]
