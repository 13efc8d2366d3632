"""Run the checks of a tier: `make test` the quick ones, `make test-deep` all others.

Both commands install everything first. A Python test is deep if it bears the mark `deep`; tests in
Rust are quick, but for those of crates apart. A report says what each tier costs and which
tests belong in the other one (`scripts/tiers.py`).

Kinds of checks run one after the other. The checks of the second kind run in parallel lanes,
because types and Rust do not depend on each other. Each step prints its name, its output and its
time; in lanes, all at once when it ends. A step whose tool is missing is skipped and prints the
command that installs the tool. With CI=true it fails instead, and all steps run even after a
failure. A step that runs past its limit hangs: it is ended, and its output so far shown. The last
lines repeat the skipped steps, the failures, and the summary of pytest.

Tests measure real servers and wait for real clocks, on machines that others use too. With CI=true
those that fail are therefore repeated once, alone. If they pass then, their step is unsteady: the
run succeeds, and the last lines name them, because somebody has to make them steady.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from scripts import tiers

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
BUILD = ROOT / "build"
JUNIT = BUILD / "pytest.xml"

Outcome: TypeAlias = Literal["passed", "failed", "skipped", "unsteady"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One check: a command that ends with 0 if all is well."""

    name: str
    argv: list[str]
    probe: list[str] = field(default_factory=list)
    """A command that fails if the tool is missing; empty: it is always there."""
    cure: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    limit_s: float = 1800.0
    """Time after which it is ended with all that it has started: it hangs."""
    again: list[str] = field(default_factory=list)
    """Command that repeats, alone, what has failed; empty: nothing is repeated."""


def tool(name: str, *arguments: str) -> list[str]:
    """Return the command line of a tool of the virtual environment."""
    return [str(BIN / name), *arguments]


def cargo(*arguments: str) -> list[str]:
    """Return a command line of cargo with the committed versions of all crates."""
    return ["cargo", *arguments, "--locked"]


def native_modules() -> list[str]:
    """Return the compiled modules: the core's, and that of each layer."""
    stubs = sorted((ROOT / "src/headroom").rglob("native.pyi"))
    names = [".".join(stub.relative_to(ROOT / "src").with_suffix("").parts) for stub in stubs]
    return ["headroom._core", *names]


CLIPPY = ["cargo", "clippy", "--version"]
RUSTFMT = ["cargo", "fmt", "--version"]

PROCESSES = min((os.cpu_count() or 1) + 1, 4)
"""One more than processors: measurements and tests of waits leave theirs idle for a while."""

BESIDE = [
    f"--numprocesses={PROCESSES}",
    *("--dist=loadfile", "--no-loadscope-reorder"),
]
"""Processes of pytest in parallel: a file stays in one (exceptions are in `conftest.py`), and the
studies, which take longest, begin first."""

APART = {
    "the catalogue service": ("src/headroom/systems/catalogue/service/Cargo.toml", "catalogue"),
    "the transactions driver": (
        "src/headroom/systems/transactions/driver/Cargo.toml",
        "transactions",
    ),
}
"""Crates that are no members of the workspace: project files, and folders in `target`."""

SAME_EXAMPLES = {"PROPTEST_RNG_SEED": "1"}
"""Properties in Rust are tried with the same examples in continuous integration, as those in Python
(`conftest.py`); everywhere else with new ones."""

TEXT = [
    Step(name="layout of Python", argv=tool("ruff", "format", "--check", "--quiet", ".")),
    Step(
        name="layout of Rust",
        argv=["cargo", "fmt", "--all", "--check"],
        probe=RUSTFMT,
        cure="rustup component add rustfmt",
    ),
    *(
        Step(
            name=f"layout of {crate}",
            argv=["cargo", "fmt", "--manifest-path", manifest, "--check"],
            probe=RUSTFMT,
            cure="rustup component add rustfmt",
        )
        for crate, (manifest, _) in APART.items()
    ),
    Step(name="lint of Python", argv=tool("ruff", "check", "--quiet", ".")),
    Step(name="spelling", argv=tool("typos")),
    Step(name="import directions", argv=tool("lint-imports", "--no-logo")),
]

TYPES = [Step(name="types", argv=tool("mypy", "--no-error-summary"))]
COMPILED_TYPES = [Step(name="types of compiled modules", argv=tool("stubtest", *native_modules()))]

RUST = [
    Step(
        name="lint of Rust",
        argv=[*cargo("clippy", "--quiet", "--workspace", "--all-targets"), "--", "-D", "warnings"],
        probe=CLIPPY,
        cure="rustup component add clippy",
    ),
    Step(
        name="Rust documentation",
        argv=cargo("doc", "--quiet", "--workspace", "--no-deps"),
        environment={"RUSTDOCFLAGS": "-D warnings"},
    ),
    Step(name="Rust tests", argv=cargo("test", "--quiet", "--workspace")),
]


def crate_apart(crate: str) -> list[Step]:
    """Return the steps of a crate that is no member of the workspace."""
    manifest, folder = APART[crate]
    of_crate = ("--manifest-path", manifest)
    tests = cargo("test", "--quiet", *of_crate, "--all-features")
    build = {"CARGO_TARGET_DIR": str(ROOT / "target" / folder)}
    return [
        Step(
            name=f"lint of {crate}",
            argv=[
                *cargo("clippy", "--quiet", *of_crate, "--all-targets", "--all-features"),
                *("--", "-D", "warnings"),
            ],
            probe=CLIPPY,
            cure="rustup component add clippy",
            environment=build,
        ),
        Step(name=f"tests of {crate}", argv=tests, environment=build, again=tests),
    ]


def python_tests(name: str, mark: str) -> Step:
    """Return the step of the Python tests that have a mark, or `not` have it."""
    pytest = [sys.executable, "-m", "pytest", "--color=no", "-q", "-m", mark]
    return Step(
        name=name,
        argv=[*pytest, f"--junitxml={JUNIT}", *BESIDE],
        # pytest itself ends a test that hangs (`faulthandler_timeout`), and names it.
        limit_s=4800.0,
        again=[*pytest, "--last-failed", "--last-failed-no-failures=none"],
    )


Kinds: TypeAlias = Sequence[Sequence[Sequence[Step]]]
"""Kinds of checks, cheap first, each with its lanes of steps."""

TIERS: dict[tiers.Tier, Kinds] = {
    "quick": [
        [TEXT],
        [[*TYPES, *COMPILED_TYPES], RUST],
        [[python_tests("Python tests and documents", "not deep")]],
    ],
    "deep": [
        *([crate_apart(crate)] for crate in APART),
        [[python_tests("deep Python tests, documents and studies", "deep")]],
    ],
}

_printing = threading.Lock()


def say(text: str) -> None:
    """Print at once, so that the lines stay in order with those of the tools."""
    print(text, flush=True)


def is_continuous_integration() -> bool:
    """Return True if CI=true is set."""
    return os.environ.get("CI") == "true"


def _is_missing(step: Step) -> bool:
    return bool(
        step.probe and subprocess.run(step.probe, capture_output=True, check=False).returncode
    )


def run(step: Step, *, beside: bool = False) -> Outcome:
    """Run a step, print its name, its output and its time; `beside` others all of it at once."""
    if _is_missing(step):
        say(f"== {step.name}: the tool is missing; get it with: {step.cure}")
        return "failed" if is_continuous_integration() else "skipped"
    if not beside:
        say(f"== {step.name}")
    code = _attempt(step, step.argv, beside=beside)
    # A step that hung would take its whole limit once more.
    if code and step.again and is_continuous_integration():
        say(f"   the failures of {step.name} are repeated once, alone")
        return "unsteady" if _attempt(step, step.again, beside=beside) == 0 else "failed"
    return "passed" if code == 0 else "failed"


def _attempt(step: Step, argv: list[str], *, beside: bool) -> int | None:
    """Execute a command of a step and print its end; return its exit status, None if it hung."""
    started = time.monotonic()
    code, output = _execute(step, argv, keeps_output=beside)
    ending = f"   {'failed' if code else 'passed'} in {time.monotonic() - started:.1f} s"
    if code is None:
        ending = f"   ended after {step.limit_s:.0f} s: it hangs (failed)"
    with _printing:
        say(f"== {step.name}\n{output}{ending}" if beside else ending)
    return code


def _execute(step: Step, argv: list[str], *, keeps_output: bool) -> tuple[int | None, str]:
    """Return the exit status of a command, None if it hung, and its output if kept."""
    process = subprocess.Popen(
        argv,
        cwd=ROOT,
        env={
            **os.environ,
            "PYO3_PYTHON": sys.executable,
            **(SAME_EXAMPLES if is_continuous_integration() else {}),
            **step.environment,
        },
        text=True,
        stdout=subprocess.PIPE if keeps_output else None,
        stderr=subprocess.STDOUT if keeps_output else None,
        # Its own group of processes, so that those which it has started end with it.
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=step.limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0] or ""
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, output or ""


def run_lane(steps: Sequence[Step], *, beside: bool) -> dict[str, Outcome]:
    """Run steps one after another; outside continuous integration a failed one ends the lane."""
    outcomes: dict[str, Outcome] = {}
    for step in steps:
        outcomes[step.name] = run(step, beside=beside)
        if outcomes[step.name] == "failed" and not is_continuous_integration():
            break
    return outcomes


def run_kind(lanes: Sequence[Sequence[Step]]) -> dict[str, Outcome]:
    """Run the lanes of a kind in parallel and return the outcomes of their steps."""
    beside = len(lanes) > 1
    with ThreadPoolExecutor(len(lanes)) as threads:
        running = [threads.submit(run_lane, lane, beside=beside) for lane in lanes]
        return {name: what for lane in running for name, what in lane.result().items()}


def run_all(kinds: Kinds) -> dict[str, Outcome]:
    """Run the kinds in turn; outside continuous integration a failing kind ends the run."""
    outcomes: dict[str, Outcome] = {}
    for lanes in kinds:
        outcomes |= run_kind(lanes)
        if "failed" in outcomes.values() and not is_continuous_integration():
            break
    return outcomes


def skipped_tests() -> list[str]:
    """Return the reasons for which pytest skipped tests, without duplicates."""
    if not JUNIT.exists():
        return []
    reasons = [
        skip.get("message", "")
        for skip in ET.parse(JUNIT).iter("skipped")  # noqa: S314  # written by our own pytest
        if skip.get("type") != "pytest.xfail"
    ]
    return list(dict.fromkeys(re.sub(r"\s+", " ", reason) for reason in reasons))


def unsteady_tests() -> list[str]:
    """Return the names of the tests that failed in the first attempt."""
    if not JUNIT.exists():
        return []
    cases = ET.parse(JUNIT).iter("testcase")  # noqa: S314  # written by our own pytest
    return [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]


def pytest_summary() -> str:
    """Return pytest's counts in its own words, from the file that it wrote."""
    if not JUNIT.exists():
        return "pytest was not run"
    (suite,) = ET.parse(JUNIT).iter("testsuite")  # noqa: S314
    counts = {key: int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")}
    passed = counts["tests"] - counts["failures"] - counts["errors"] - counts["skipped"]
    words = [f"{passed} passed"]
    words += [
        f"{counts[key]} {word}"
        for key, word in (("failures", "failed"), ("errors", "errors"), ("skipped", "skipped"))
        if counts[key]
    ]
    return ", ".join(words) + f" in {float(suite.get('time', '0')):.1f}s"


def check(kinds: Kinds, tier: tiers.Tier = "quick") -> int:
    """Run the kinds of checks of a tier and print the end; return 1 if a step has failed."""
    JUNIT.unlink(missing_ok=True)
    BUILD.mkdir(exist_ok=True)
    outcomes = run_all(kinds)
    if JUNIT.exists():
        say("\n== processor time of Python tests")
        say(tiers.report(JUNIT, tier))
    say("\n== summary")
    for reason in skipped_tests():
        say(f"   skipped: {reason}")
    for name, outcome in outcomes.items():
        if outcome != "passed":
            say(f"   {outcome}: {name}")
        if outcome == "unsteady" and "Python" in name:
            for test in unsteady_tests():
                say(f"      failed beside others, passed alone: {test}")
    steps = [step for lanes in kinds for lane in lanes for step in lane]
    not_run = [step.name for step in steps if step.name not in outcomes]
    if not_run:
        say(f"   not run, because a cheaper check failed: {', '.join(not_run)}")
    say(pytest_summary())
    return int("failed" in outcomes.values())


def main(arguments: Sequence[str]) -> int:
    """Check the tier that is asked for; return 1 if a step has failed."""
    tier: tiers.Tier = "deep" if list(arguments) == ["deep"] else "quick"
    return check(TIERS[tier], tier)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
