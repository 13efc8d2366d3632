"""Real servers fitted and predicted: `python -m benches.real_systems FOLDER [CASE…]`.

For each case, a system of `systems.py` with some clients, as the machine is (`quiet`) or next to a
process that takes half of two processors (`busy`), a study measures bursts, low load and the loads
to predict in turn. Stores a row for each prediction, and prints what all come to. Without names it
measures the cases that are not stored yet. The studies stay in the folder; `--judge` fits and
predicts again from what is measured there, `--print` prints what is stored.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from benches.real_systems.judge import (
    by_system,
    group_errors,
    line_of,
    named,
    publish,
    results,
    rows,
    store,
    stored,
    summary,
    value,
)
from benches.real_systems.study import text
from benches.real_systems.systems import CASES, PROGRAMS, SYSTEMS


@cache
def compiled(folder: Path, compilers: tuple[str, ...] = ("rustc", "go", "javac")) -> Path:
    """Compile the programs of the table into a folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    commands: tuple[list[str | Path], ...] = (
        ["rustc", "--edition", "2024", "-O", "-o", folder / "load", PROGRAMS / "load.rs"],
        ["go", "build", "-o", folder / "web", PROGRAMS / "web.go"],
        ["javac", "-d", folder, PROGRAMS / "Web.java"],
    )
    for command in commands:
        if command[0] not in compilers:
            continue
        if shutil.which(str(command[0])) is None:
            print(f"no {command[0]}: the systems that it compiles are refused", file=sys.stderr)
            continue
        subprocess.run(command, check=True)
    return folder


def measure(case: str, folder: Path, programs: Path) -> None:
    """Measure one case: what a burst reaches, then all loads in its terms."""
    name, clients, state = case.rsplit("-", 2)
    with neighbour(is_there=state == "busy"):
        first = folder / case / "burst"
        first.mkdir(parents=True, exist_ok=True)
        burst = text(SYSTEMS[name], int(clients), programs, None)
        (first / "study.toml").write_text(burst, encoding="utf-8")
        run(first)
        plan(case, folder, programs)
        run(folder / case, "--only", "server")


def plan(case: str, folder: Path, programs: Path) -> None:
    """Write the study of a case whose burst was measured."""
    name, clients, _ = case.rsplit("-", 2)
    burst = results(folder / case / "burst")["server"]["points"][0]
    capacity = float(f"{value(burst, 'throughput'):.3g}")
    study = text(SYSTEMS[name], int(clients), programs, capacity)
    (folder / case / "study.toml").write_text(study, encoding="utf-8")


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
    """Measure, judge and print cases."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/real_systems"))
    parser.add_argument("cases", nargs="*", help="such as pool-16-busy")
    parser.add_argument("--judge", action="store_true", dest="is_judged", help="measure nothing")
    parser.add_argument("--print", action="store_true", dest="is_printed", help="only print")
    chosen = parser.parse_intermixed_args(arguments)
    known = stored()
    if not chosen.is_printed:
        cases = chosen.cases or [case for case in CASES if chosen.is_judged or case not in known]
        programs = chosen.folder.resolve() / "programs"
        for case in cases:
            if chosen.is_judged:
                plan(case, chosen.folder, programs)
            else:
                measure(case, chosen.folder, compiled(programs))
            run(chosen.folder / case, "--only", "from_fit", "--only", "from_low")
            known[case] = list(rows(chosen.folder / case))
            print("\n".join(line_of(row) for row in known[case]), flush=True)
            store(known)
            publish(known)
    found = [row for case in known.values() for row in case]
    print(
        "\n".join(
            [*summary(found), "", named(found), "", *by_system(found), "", *group_errors(found)]
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
