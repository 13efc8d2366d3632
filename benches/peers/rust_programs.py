"""Programs in Rust: the workloads in NeXosim, hand-written loops, the kernel, caches and stores.

Their crate, `benches/nexosim`, is a separate workspace that only the benchmarks build.
"""

import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from benches.peers.workloads import PeerMissingError, Run

ROOT = Path(__file__).resolve().parents[2]
CRATE = ROOT / "benches" / "nexosim"
TARGET = ROOT / "build" / "bench" / "rust"
BUILD_LIMIT_S = 900.0
RUN_LIMIT_S = 120.0

NEXOSIM_VISITS = {
    "mm1": 1_000_000,
    "mm4": 1_000_000,
    "central-server": 1_000_000,
    "pipeline": 1_000_000,
    "many-stations": 100_000,
}
LOOP = "hand-written loop in Rust"
LOOP_VISITS = {
    "mm1": 20_000_000,
    "mm4": 20_000_000,
    "central-server": 20_000_000,
    "pipeline": 20_000_000,
    "many-stations": 6_000_000,
    "many-jobs": 6_000_000,
}


def build(*names: str, options: Sequence[str] = ()) -> None:
    """Build the programs `names` with further options of cargo.

    Raises
    ------
    PeerMissingError
        If that fails; the message holds the last line of the compiler.
    """
    argv = [
        *(
            str(ROOT / "scripts" / "with-rust"),
            "cargo",
            "build",
            "--release",
            "--locked",
            "--quiet",
        ),
        *(word for name in names for word in ("--bin", name)),
        *("--manifest-path", str(CRATE / "Cargo.toml"), "--target-dir", str(TARGET)),
        *options,
    ]
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, timeout=BUILD_LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise PeerMissingError(f"its crate was not built within {error.timeout:.0f} s") from error
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.strip()]
        raise PeerMissingError(f"its crate cannot be built: {errors[-1] if errors else 'no word'}")


def nexosim_name() -> str:
    """Return the name with the version that the lock file of the crate holds."""
    lock = (CRATE / "Cargo.lock").read_text(encoding="utf-8")
    match = re.search(r'name = "nexosim"\nversion = "([^"]+)"', lock)
    return f"NeXosim {match[1]}" if match else "NeXosim"


def path_of(name: str) -> Path:
    """Return the program `name`, which `build` has built."""
    return TARGET / "release" / name


def program(name: str, key: str, visits: int) -> Callable[[], Run]:
    """Return a function that runs the program `name` on the workload `key`."""
    argv = [str(path_of(name)), key, str(visits)]

    def simulate() -> Run:
        done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=RUN_LIMIT_S)
        made, answer = done.stdout.split()
        return Run(visits=float(made), answer=float(answer))

    return simulate
