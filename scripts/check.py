"""Run every check, quick and cheap first: what `make test` does once all is installed.

Each step prints its name and time. A step whose tool is missing is skipped with the line that
installs it; with CI=true it fails instead, and all steps run although one has failed. The last
lines repeat what was skipped, what failed, and the summary of pytest.
"""

import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
BUILD = ROOT / "build"
JUNIT = BUILD / "pytest.xml"

Outcome: TypeAlias = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One check: a command that ends with 0 where all is well."""

    name: str
    argv: list[str]
    probe: list[str] = field(default_factory=list)
    """A command that fails where the tool is not there; empty: it always is."""
    cure: str = ""
    environment: dict[str, str] = field(default_factory=dict)


def tool(name: str, *arguments: str) -> list[str]:
    """Return the command line of a tool of the virtual environment."""
    return [str(BIN / name), *arguments]


def cargo(*arguments: str) -> list[str]:
    """Return a command line of cargo with the committed versions of all crates."""
    return ["cargo", *arguments, "--locked"]


def native_modules() -> list[str]:
    """Return the compiled modules: the core's, and that of each layer."""
    stubs = sorted((ROOT / "src").glob("headroom/systems/*/native.pyi"))
    names = [".".join(stub.relative_to(ROOT / "src").with_suffix("").parts) for stub in stubs]
    return ["headroom._core", *names]


CLIPPY = ["cargo", "clippy", "--version"]
RUSTFMT = ["cargo", "fmt", "--version"]

BESIDE = [
    *("--numprocesses=auto", "--maxprocesses=4"),
    *("--dist=loadfile", "--no-loadscope-reorder"),
]
"""Processes of pytest beside each other: a file stays in one (`conftest.py` says what does not),
and the studies, which take longest, begin first."""

STATIC = [
    Step(name="layout of Python", argv=tool("ruff", "format", "--check", "--quiet", ".")),
    Step(
        name="layout of Rust",
        argv=["cargo", "fmt", "--all", "--check"],
        probe=RUSTFMT,
        cure="rustup component add rustfmt",
    ),
    Step(name="lint of Python", argv=tool("ruff", "check", "--quiet", ".")),
    Step(name="spelling", argv=tool("typos")),
    Step(name="import directions", argv=tool("lint-imports", "--no-logo")),
    Step(name="types", argv=tool("mypy", "--no-error-summary")),
    Step(name="types of compiled modules", argv=tool("stubtest", *native_modules())),
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
]

TESTS = [
    Step(name="Rust tests", argv=cargo("test", "--quiet")),
    Step(
        name="Python tests, documents and studies",
        argv=[
            *(sys.executable, "-m", "pytest", "--color=no", "-q", f"--junitxml={JUNIT}"),
            *("--durations=30", *BESIDE),
        ],
    ),
]


def say(text: str) -> None:
    """Print at once, so that the lines stay in order with those of the tools."""
    print(text, flush=True)


def is_continuous_integration() -> bool:
    """Return True where CI=true is set."""
    return os.environ.get("CI") == "true"


def run(step: Step) -> Outcome:
    """Run a step, print its name, what it says and its time."""
    if step.probe and subprocess.run(step.probe, capture_output=True, check=False).returncode:
        say(f"== {step.name}: the tool is missing; get it with: {step.cure}")
        return "failed" if is_continuous_integration() else "skipped"
    say(f"== {step.name}")
    started = time.monotonic()
    environment = {**os.environ, "PYO3_PYTHON": sys.executable, **step.environment}
    status = subprocess.run(step.argv, cwd=ROOT, env=environment, check=False).returncode
    outcome: Outcome = "failed" if status else "passed"
    say(f"   {outcome} in {time.monotonic() - started:.1f} s")
    return outcome


def run_all() -> dict[str, Outcome]:
    """Run the steps; outside continuous integration a failed static check ends the run."""
    outcomes: dict[str, Outcome] = {}
    for stage in (STATIC, TESTS):
        for step in stage:
            outcomes[step.name] = run(step)
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


def main() -> int:
    """Run all, print the end; return 1 where a step has failed."""
    JUNIT.unlink(missing_ok=True)
    BUILD.mkdir(exist_ok=True)
    outcomes = run_all()
    say("\n== summary")
    for reason in skipped_tests():
        say(f"   skipped: {reason}")
    for name, outcome in outcomes.items():
        if outcome != "passed":
            say(f"   {outcome}: {name}")
    not_run = [step.name for step in STATIC + TESTS if step.name not in outcomes]
    if not_run:
        say(f"   not run, because a cheaper check failed: {', '.join(not_run)}")
    say(pytest_summary())
    return int("failed" in outcomes.values())


if __name__ == "__main__":
    sys.exit(main())
