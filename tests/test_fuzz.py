"""Random inputs that follow what they reach: none hangs, ends or misleads what reads it.

Of the Rust core the programs are those of `tests/fuzz/src`; libFuzzer works with a stable compiler,
as long as nothing but the counting of what is reached is asked for. What Python reads is tried by
`tests/fuzz/readers.py`. With CI=true each begins with the same number and ends after as many
inputs, so that the same inputs are tried there again.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headroom.experiment.protocol.system import Modelled
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.simulation.checks.check import canonical_json
from headroom.systems.shared_memory.hook import compile_hooked, record

pytestmark = pytest.mark.deep

ROOT = Path(__file__).resolve().parents[1]
TARGET = f"{platform.machine()}-unknown-linux-gnu"
COUNTED = (
    "--cfg=fuzzing -Cpasses=sancov-module"
    " -Cllvm-args=-sanitizer-coverage-level=4"
    " -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
    " -Cllvm-args=-sanitizer-coverage-pc-table"
    " -Cllvm-args=-sanitizer-coverage-trace-compares"
)
SECONDS, MOST_INPUTS = 60, {
    "plan": 500_000, "trace": 4_000_000, "store": 1_000_000,
    "study": 20_000, "stored": 30_000, "journal": 500,
}  # fmt: skip
ATHERIS = "atheris==3.0.0"
"""Wheels alone: where there is none, it wants a clang with its own libFuzzer."""
WRITES = """
int places[100];
int main(void) {
    for (int i = 0; i < 100; i++)
        places[i] = i;
    return places[7] - 7;
}
"""


@pytest.fixture(scope="module")
def programs() -> Path:
    """Return the folder of the programs, built here."""
    if sys.platform != "linux" or not shutil.which("c++"):
        pytest.skip("libFuzzer is built on Linux, with a C++ compiler: apt-get install g++")
    argv = [str(ROOT / "scripts/with-rust"), "cargo", "build", "--quiet", "--locked",
            "--package", "headroom-fuzz", "--features", "fuzzing", "--bins",
            "--target", TARGET, "--target-dir", str(ROOT / "target" / "fuzz")]  # fmt: skip
    subprocess.run(argv, cwd=ROOT, env=os.environ | {"RUSTFLAGS": COUNTED}, check=True)
    return ROOT / "target" / "fuzz" / TARGET / "debug"


def plans(_folder: Path) -> Iterator[bytes]:
    """Yield models as data, of studies that use most of the language."""
    for name in ("quickstart", "amga_model", "spax_tpcc", "storage_ngs"):
        for experiment in make_plan(load_study(ROOT / "studies" / name), quick=True).experiments:
            if isinstance(experiment.system, Modelled):
                yield canonical_json(experiment.system.model(experiment.points[0].config))


def traces(folder: Path) -> Iterator[bytes]:
    """Yield a trace of a program with a known number of accesses."""
    source, trace = folder / "program.c", folder / "trace"
    source.write_text(WRITES, encoding="utf-8")
    record([compile_hooked([source], output=folder / "program")], trace=trace)
    yield trace.read_bytes()


def steps(_folder: Path) -> Iterator[bytes]:
    """Yield histories of a store: six bytes of what it is made of, then three for each step."""
    for layout in range(3):
        yield bytes([1, 2, layout, 0, 1, 7]) + bytes(range(256)) * 9


@pytest.mark.parametrize(("name", "seeds"), [("plan", plans), ("trace", traces), ("store", steps)])
def test_no_input_hurts_the_core(
    name: str, seeds: Callable[[Path], Iterator[bytes]], programs: Path, tmp_path: Path
) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds(tmp_path)):
        (corpus / str(number)).write_bytes(seed)
    search([str(programs / f"fuzz-{name}"), str(corpus), "-max_len=20000"], name, tmp_path)


@pytest.fixture(scope="module")
def python() -> dict[str, str]:
    """Return the environment of a Python that has Atheris."""
    folder = ROOT / "target" / "fuzz" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not (folder / "atheris").is_dir():
        argv = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:",
                "--no-deps", "--target", str(folder), ATHERIS]  # fmt: skip
        if subprocess.run(argv, check=False).returncode:
            pytest.skip(f"no wheel of {ATHERIS} for this Python: pip install --target {folder}")
    return os.environ | {"PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"}


@pytest.mark.parametrize("name", ["study", "stored", "journal"])
def test_no_file_of_a_stranger_hurts(name: str, python: dict[str, str], tmp_path: Path) -> None:
    argv = [sys.executable, str(ROOT / "tests/fuzz/readers.py"), name, "corpus"]
    search([*argv, "-max_len=100000"], name, tmp_path, python)


def search(argv: list[str], name: str, folder: Path, env: dict[str, str] | None = None) -> None:
    """Run a search; fail with what it printed if an input did harm."""
    is_ci = bool(os.environ.get("CI"))
    options = [f"-max_total_time={SECONDS}", "-timeout=60", "-rss_limit_mb=2048",
               "-print_final_stats=1", f"-seed={int(is_ci)}"]  # fmt: skip
    if is_ci:
        options.append(f"-runs={MOST_INPUTS[name]}")
    done = subprocess.run([*argv, *options], cwd=folder, env=env, capture_output=True, text=True,
                          check=False, timeout=600)  # fmt: skip
    found = {path.name: path.read_bytes()[:500] for path in folder.glob("*-*")}
    assert done.returncode == 0, (done.stderr[-3000:], found)
    assert "stat::number_of_executed_units" in done.stderr
