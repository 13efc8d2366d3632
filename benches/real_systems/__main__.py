"""Real servers fitted and predicted beside neighbours: `python -m benches.real_systems FOLDER`.

For each kind of `servers.py` a study measures bursts, low load and the loads to predict in turn,
once as the machine is and once beside a process that takes half of two processors. Prints a row for
each prediction, and what all come to. The studies stay in the folder that is named; `--judge` fits
and predicts again from what is measured there.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benches.real_systems.judge import LIMITS, results, rows, summary, table, value
from benches.real_systems.study import text


def measure(case: str, folder: Path) -> None:
    """Measure one case: what a burst reaches, then all loads in its terms."""
    kind, _, state = case.partition("-")
    with neighbour(is_there=state == "busy"):
        first = folder / case / "burst"
        first.mkdir(parents=True, exist_ok=True)
        (first / "study.toml").write_text(text(kind, None), encoding="utf-8")
        run(first)
        capacity = value(results(first)["server"]["points"][0], "throughput")
        study = text(kind, float(f"{capacity:.3g}"))
        (folder / case / "study.toml").write_text(study, encoding="utf-8")
        run(folder / case, "--only", "server")


@contextmanager
def neighbour(*, is_there: bool) -> Iterator[None]:
    """Burn a processor meanwhile."""
    if not is_there:
        yield
        return
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def run(folder: Path, *options: str) -> None:
    """Run a study; a fit that is refused is a result."""
    headroom = Path(sys.prefix) / "bin" / "headroom"
    command = [str(headroom), "run", "--trust", "--quiet", *options, str(folder)]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main(arguments: Sequence[str]) -> int:
    """Measure and judge cases."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    every = [f"{kind}-{state}" for kind in LIMITS for state in ("quiet", "busy")]
    parser.add_argument("cases", nargs="*", default=every, help="such as pool-busy")
    parser.add_argument("--judge", action="store_true", dest="is_judged", help="measure nothing")
    chosen = parser.parse_args(arguments)
    found = []
    for case in chosen.cases:
        if not chosen.is_judged:
            measure(case, chosen.folder)
        run(chosen.folder / case)
        found += list(rows(chosen.folder / case))
    print(table(found))
    print("\n".join(summary(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
