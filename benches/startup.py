"""Start-up time and installed size of command line libraries: `python -m benches.startup`.

Each library gets the same small program: a version, and a command with typed options. They are
installed into separate folders, so this needs a package index. Times are processor time (s),
medians of interleaved starts, with an empty Python and Headroom itself for comparison.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

PINNED = "typer<0.29"
STARTS = 21

_TYPER = """
import typer
from pathlib import Path
from typing import Annotated
app = typer.Typer()
app.callback()(lambda: None)
@app.command()
def run(study: Annotated[Path, typer.Argument()], *, jobs: int = 1, quick: bool = False):
    print(study)
app()
"""
PROGRAMS: dict[str, tuple[tuple[str, ...], str]] = {
    "nothing": ((), "pass"),
    "argparse": (
        (),
        "import argparse\n"
        "parser = argparse.ArgumentParser()\n"
        "run = parser.add_subparsers().add_parser('run')\n"
        "run.add_argument('study')\n"
        "run.add_argument('--jobs', type=int)\n"
        "run.add_argument('--quick', action='store_true')\n"
        "print(parser.parse_args().study)",
    ),
    "click": (
        ("click",),
        "import click\n"
        "app = click.Group()\n"
        "@app.command()\n"
        "@click.argument('study')\n"
        "@click.option('--jobs', type=int)\n"
        "@click.option('--quick', is_flag=True)\n"
        "def run(study, jobs, quick):\n    print(study)\n"
        "app()",
    ),
    PINNED: ((PINNED,), _TYPER),
    "typer, newest": (("typer",), _TYPER),
    "cyclopts": (
        ("cyclopts",),
        "import cyclopts\n"
        "from pathlib import Path\n"
        "app = cyclopts.App()\n"
        "@app.command\n"
        "def run(study: Path, *, jobs: int = 1, quick: bool = False):\n    print(study)\n"
        "app()",
    ),
}
"""Name -> what is installed, and the program."""


def install(folder: Path, requirements: Sequence[str]) -> float:
    """Install into a folder and return its size (bytes)."""
    folder.mkdir(parents=True)
    if requirements:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
        subprocess.run([*pip, "--no-compile", "--no-warn-conflicts", *requirements], check=True)
    return float(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()))


def processor_s(argv: Sequence[str], folder: Path) -> float:
    """Return the processor time (s) of one start with the libraries of a folder."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    subprocess.run(argv, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Install, measure and print the table."""
    with tempfile.TemporaryDirectory() as place:
        folders = {name: Path(place) / str(at) for at, name in enumerate(PROGRAMS)}
        sizes = {name: install(folders[name], what) for name, (what, _) in PROGRAMS.items()}
        commands = {
            # Headroom's own environment has the packages; -S leaves it out of the others.
            name: [
                sys.executable,
                "-S",
                "-c",
                program,
                *(["run", "x"] if name != "nothing" else []),
            ]
            for name, (_, program) in PROGRAMS.items()
        }
        commands["headroom --version"] = [sys.executable, "-m", "headroom", "--version"]
        folders["headroom --version"] = Path(place)
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(STARTS):
            for name, argv in commands.items():
                times[name].append(processor_s(argv, folders[name]))
    pinned_s = median(times[PINNED])
    print(f"{'program':<20}{'start (s)':>10}{'to pinned':>11}{'installed (MB)':>16}")
    for name, series in times.items():
        size = f"{sizes[name] / 1e6:.1f}" if name in sizes else ""
        print(f"{name:<20}{median(series):>10.3f}{median(series) / pinned_s:>10.2f}x{size:>16}")


if __name__ == "__main__":
    main()
