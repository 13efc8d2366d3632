"""Rules for every test: no clock decides, and in continuous integration a skip is a failure.

Files of tests, and pages of the documents, are handed out to processes that run beside each other.

A skip is silent rot: the browser disappears from an image, and the report is never opened
again. So with CI=true each skip becomes a failure, unless its reason stands in `MAY_SKIP`.
There the properties are also tried with the same examples every time, so that a change, and not
luck, decides whether it passes; everywhere else the examples are new in each run.
"""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

collect_ignore = ["src/headroom/studies", "tests/fuzz"]
"""A link to the studies, which are collected where they are, and programs that load Atheris."""

collect_ignore_glob = ["src/headroom/systems/*/starter/*"]
"""Starter studies are files to be copied, not modules of the package."""

MAY_SKIP: dict[str, str] = {
    "nothing can be observed": "a container may forbid ptrace; the tests of the floor run",
    "no wheel of atheris": "there is one for usual processors and Pythons alone; random content of "
    "hostile files is tried without it",
    "LINE is not installed": "an optional oracle and no dependency; what it checks is also checked "
    "against known answers and simulations",
    "the original PostMark has no package here": "an optional oracle, which Debian and its kin "
    "alone have; the laws of chance that it follows are checked without it",
    "fio is not installed": "a peer of the benchmarks alone; what Headroom does "
    "with the same load is tested without it",
    "clang is not installed": "a second compiler; the same hooks are tried with gcc",
    "no nightly Rust": "stable Rust has no hooks; the same runtime is tried with C and C++",
    "no other user can be taken on": "it takes the rights of root, which images of "
    "continuous integration usually give",
    "no file system can be mounted here": "it takes the rights of root; a full device is tried at "
    "every operation of a run by a scripted folder too",
}
"""Start of a skip's reason -> why that skip is right even in continuous integration."""


def is_continuous_integration() -> bool:
    """Return True where CI=true is set, as every common service does."""
    return os.environ.get("CI") == "true"


hypothesis.settings.register_profile("house", deadline=None)
hypothesis.settings.register_profile("continuous-integration", deadline=None, derandomize=True)
hypothesis.settings.load_profile(
    "continuous-integration" if is_continuous_integration() else "house"
)

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A shell starts its background jobs with SIGINT ignored, and every program that a test starts
would inherit that: a test of Ctrl-C would wait for ever."""


os.environ["HEADROOM_DEBUG"] = "1"
"""A defect fails its test instead of becoming a caution of a report."""


os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
"""Images of containers often set it. Each of the hundreds of programs that tests start would then
compile all modules of Headroom anew, which takes longer than most of them run."""


class _ByFileAndPage(LoadFileScheduling):
    """A file of tests stays in one process, and so does each page of the documents."""

    def _split_scope(self, nodeid: str) -> str:
        is_page = nodeid.startswith("tests/test_docs.py::test_the_examples_of_a_page")
        return nodeid if is_page else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """Return who hands tests out to the processes that run beside each other."""
    return _ByFileAndPage(config, log)


_STARTED = pytest.StashKey[float]()

_MEMORY = Path("/dev/shm")  # noqa: S108 - the place itself is meant, no file in it
_made: list[str] = []


def _trust_all_folders() -> None:
    """Let tests run the code of the studies that they write, in a configuration of their own."""
    place = tempfile.mkdtemp(prefix=f"headroom-tests-{os.getpid()}-")
    _made.append(place)
    os.environ["XDG_CONFIG_HOME"] = place
    file = Path(place, "headroom", "trust.json")
    file.parent.mkdir()
    file.write_text('{"always": ["/"]}')
    file.chmod(0o600)


def pytest_configure() -> None:
    """Give each process that runs tests a configuration and a folder in memory of its own.

    Several run beside each other, and tests look at what was left in that folder.
    """
    _trust_all_folders()
    if not _MEMORY.is_dir() or not os.access(_MEMORY, os.W_OK):
        return
    for left in _MEMORY.glob("headroom-tests-*"):
        if not Path("/proc", left.name.split("-")[2]).exists():  # its run was killed
            shutil.rmtree(left, ignore_errors=True)
    _made.append(tempfile.mkdtemp(prefix=f"headroom-tests-{os.getpid()}-", dir=_MEMORY))
    os.environ["HEADROOM_MEMORY"] = _made[-1]


def pytest_unconfigure() -> None:
    """Take the folder in memory away again."""
    while _made:
        shutil.rmtree(_made.pop(), ignore_errors=True)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    is_expected_failure = hasattr(report, "wasxfail")
    if not report.skipped or is_expected_failure or not is_continuous_integration():
        return
    reason = _reason(report)
    if not any(reason.startswith(start) for start in MAY_SKIP):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI=true does not allow: {reason}"


def _processor_s() -> float:
    """Return the processor time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


_BUILT_LATER = {"catalogue_programs", "transactions_program"}
"""Fixtures of what `make test-deep` builds."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the programs of crates apart as deep: that tier builds them."""
    for item in items:
        if _BUILT_LATER & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.deep)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item,
    nextitem: pytest.Item | None,  # noqa: ARG001  # the hook's signature
) -> Generator[None, object, object]:
    """Keep what a test cost, with its fixtures: the tiers are chosen by it."""
    item.stash[_STARTED] = _processor_s()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
    call: pytest.CallInfo[Any],  # noqa: ARG001  # the hook's signature
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failed one, and note what the test has cost."""
    report = yield
    if report.when == "teardown":
        cost = _processor_s() - item.stash[_STARTED]
        report.user_properties.append(("processor_s", f"{cost:.3f}"))
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,  # noqa: ARG001
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a skipped module into a failed one."""
    report = yield
    _refuse_skip(report)
    return report
