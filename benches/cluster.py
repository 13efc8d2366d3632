"""Cost and safety of a cluster: `python -m benches.cluster [--kills N] [--seconds S]`.

Prints the processor time of one study in local processes and on Dask workers, next to each other,
and the start-up and memory of a cluster. Then the same study runs while workers and the scheduler
are killed at random moments, and is started again whenever it stops: its table must be that of an
undisturbed run. Prints the share of replications that ran twice.
"""

import argparse
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic

import psutil

from tests.support.dask_processes import DaskProcesses
from tests.support.model_study import write_model_study

POINTS, COMPLETIONS = 20, 60_000
RUNS = "HEADROOM_BENCH_RUNS"
COUNTED = """

def counted(result):
    import os

    with open(os.environ["HEADROOM_BENCH_RUNS"], "a") as log:
        log.write("1\\n")
    return {}


build.own_values = counted
"""
TABLE = (
    "SELECT experiment, point_key, replication, seed, fingerprint, state, error, run "
    "FROM replication ORDER BY experiment, point_key, replication, id"
)
WORKER_SHARE = 0.8
"""Share of the kills that hit a worker; the others hit the scheduler."""


def study_in(folder: Path, replications: int) -> Path:
    """Write the study, whose model counts its runs; returns its folder."""
    write_model_study(folder, points=POINTS, replications=replications, completions=COMPLETIONS)
    with (folder / "model.py").open("a") as model:
        model.write(COUNTED)
    return folder


def table(study: Path) -> list[tuple[object, ...]]:
    """Return the rows of a journal that do not depend on times."""
    with sqlite3.connect(study / "results" / "journal.sqlite") as connection:
        return list(connection.execute(TABLE))


def command(study: Path, *options: str) -> "subprocess.Popen[bytes]":
    """Start a run of a study."""
    arguments = ["run", str(study), "--no-what-if", "-q", "--trust", *options]
    return subprocess.Popen(
        [sys.executable, "-m", "headroom", *arguments], stdout=subprocess.DEVNULL
    )


def finish(run: "subprocess.Popen[bytes]") -> None:
    """Wait for a run that must succeed."""
    if run.wait():
        raise SystemExit(f"a run ended with exit code {run.returncode}")


def driver_cpu_s() -> float:
    """Return the processor time (s) of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tree_of(pids: list[int]) -> list[psutil.Process]:
    """Return processes and all that they have started."""
    roots = [psutil.Process(pid) for pid in pids]
    return [*roots, *(child for root in roots for child in root.children(recursive=True))]


def tree_cpu_s(pids: list[int]) -> float:
    """Return the processor time (s) of processes and of all that they have started."""
    return sum(sum(process.cpu_times()[:4]) for process in tree_of(pids))


def print_costs(folder: Path, replications: int) -> list[tuple[object, ...]]:
    """Run the study in each way and print what it costs; returns the rows that all of them give."""
    print(f"{'where':16} {'wall s':>8} {'CPU s':>8} {'efficiency':>10} {'ms/replication':>14}")
    expected: list[tuple[object, ...]] = []
    base_s = 0.0
    for where, count in (("local", 1), ("local", 2), ("dask", 1), ("dask", 2)):
        study = study_in(folder / f"{where}-{count}", replications)
        wall_s, cpu_s = cost(study, folder, where, count)
        rows = table(study)
        expected = expected or rows
        if rows != expected:
            raise SystemExit(f"the results of {where} with {count} workers differ")
        base_s = base_s or cpu_s
        extra_ms = 1e3 * (cpu_s - base_s) / len(rows)
        name = f"{where}, {count} worker{'s' if count > 1 else ''}"
        print(f"{name:16} {wall_s:8.1f} {cpu_s:8.1f} {base_s / cpu_s:10.1%} {extra_ms:+14.2f}")
    return expected


def cost(study: Path, folder: Path, where: str, count: int) -> tuple[float, float]:
    """Return the wall time and the processor time (s) of one run, all processes together."""
    before_s, start = driver_cpu_s(), monotonic()
    if where == "local":
        finish(command(study, "-j", str(count)))
        return monotonic() - start, driver_cpu_s() - before_s
    with DaskProcesses(folder, worker_count=count) as cluster:
        started_s = monotonic() - start
        idle_s, start = tree_cpu_s(cluster.pids), monotonic()
        finish(command(study, "-j", "1", "--on", cluster.on))
        wall_s = monotonic() - start
        used_s = tree_cpu_s(cluster.pids) - idle_s
        memory = sum(process.memory_info().rss for process in tree_of(cluster.pids)) / 2**20
        print(f"  (started in {started_s:.1f} s, {idle_s:.1f} s CPU; {memory:.0f} MiB at the end)")
        return wall_s, used_s + driver_cpu_s() - before_s


def print_kills(folder: Path, replications: int, *, kills: int, seconds: float) -> bool:
    """Run the study under fire and print what came of it; returns whether the table is right."""
    random_moments = random.Random(1)  # noqa: S311 - moments need no secrecy
    study = study_in(folder / "killed", replications)
    done = {"worker": 0, "scheduler": 0}
    sessions = 0
    with DaskProcesses(folder) as cluster:
        while True:
            sessions += 1
            run = command(study, "--on", cluster.on)
            while run.poll() is None:
                pause_s = random_moments.expovariate(kills / seconds)
                try:
                    run.wait(timeout=pause_s)
                except subprocess.TimeoutExpired:
                    if sum(done.values()) == kills:
                        run.wait()
                    elif random_moments.random() < WORKER_SHARE:
                        for pid in cluster.worker_pids()[:1]:  # none while they start again
                            os.kill(pid, signal.SIGKILL)
                            done["worker"] += 1
                    else:
                        cluster.kill_scheduler()
                        done["scheduler"] += 1
                        run.wait()  # it stops by itself
            if run.returncode == 0:
                break
            cluster.stop()
            cluster.start()
    rows = table(study)
    runs = len(Path(os.environ[RUNS]).read_text().splitlines())
    Path(os.environ[RUNS]).unlink()
    print(f"\nkilled {done['worker']} workers, {done['scheduler']} schedulers; {sessions} sessions")
    print(f"{len(rows)} rows, {runs} runs: {runs / len(rows) - 1:.2%} ran twice (aim: under 1%)")
    shutil.rmtree(study / "results")
    finish(command(study, "-j", "2"))
    is_right = table(study) == rows
    print("the table is that of an undisturbed run" if is_right else "THE TABLE DIFFERS")
    return is_right


def main(arguments: list[str]) -> int:
    """Run both parts; return 1 if a table is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=600.0, help="length of the second part")
    parser.add_argument("--replications", type=int, default=40, help="of a point, first part")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="headroom-bench-") as name:
        os.environ[RUNS] = str(Path(name) / "runs")
        start = monotonic()
        print_costs(Path(name), chosen.replications)
        per_s = 4 * POINTS * chosen.replications / (monotonic() - start)
        Path(os.environ[RUNS]).unlink()
        replications = max(2, round(chosen.seconds * per_s / POINTS))
        is_right = print_kills(Path(name), replications, kills=chosen.kills, seconds=chosen.seconds)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
