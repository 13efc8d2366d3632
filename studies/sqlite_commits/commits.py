"""Insert rows into a new SQLite database, commit by commit, and print what that took as JSON.

`commits.py FOLDER --journal wal --synchronous full --rows 100 --seconds 0.5 --seed 1`

The time runs from the first row until the database is closed, so that a write-ahead log is merged
into the database within it. The folder must be on a disk: in memory a commit would cost nothing.
"""

import argparse
import json
import random
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

PAYLOAD_BYTES = 100
IN_MEMORY = {"tmpfs", "ramfs"}
MOUNTS = Path("/proc/self/mounts")


def file_system_of(folder: Path, mounts: Path = MOUNTS) -> str:
    """Return the type of the file system of a folder, "unknown" where the system does not say."""
    try:
        lines = mounts.read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    place = folder.resolve()
    # A blank in a path is written as \040; of mounts on the same place the last one is on top.
    points = [(line.split()[1].replace("\\040", " "), line.split()[2]) for line in lines]
    holders = [point for point in points if place.is_relative_to(point[0])]
    return max(enumerate(holders), key=lambda item: (len(item[1][0]), item[0]))[1][1]


def payloads(seed: int) -> Iterator[tuple[str]]:
    """Yield rows: the same texts for the same seed."""
    source = random.Random(seed)  # noqa: S311 - test data
    while True:
        yield (source.randbytes(PAYLOAD_BYTES // 2).hex(),)


def measure(
    database: Path, *, journal: str, synchronous: str, rows: int, seconds: float, seed: int
) -> dict[str, float]:
    """Commit for some seconds; return counts and times (s)."""
    connection = sqlite3.connect(database, isolation_level=None)
    (used,) = connection.execute(f"PRAGMA journal_mode = {journal}").fetchone()
    if used != journal:
        sys.exit(f"SQLite uses the journal mode {used} here, not {journal}")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    source = payloads(seed)
    batches = [[next(source) for _ in range(rows)] for _ in range(16)]
    commit_s: list[float] = []
    start_s = now_s = perf_counter()
    while now_s - start_s < seconds:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT INTO item (text) VALUES (?)", batches[len(commit_s) % len(batches)]
        )
        connection.execute("COMMIT")
        then_s, now_s = now_s, perf_counter()
        commit_s.append(now_s - then_s)
    connection.close()
    return {
        "commits": len(commit_s),
        "rows": len(commit_s) * rows,
        "elapsed_s": perf_counter() - start_s,
        "commit_s_median": median(commit_s),
    }


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="New folder for the database, removed afterwards")
    parser.add_argument("--journal", choices=("delete", "truncate", "wal"), required=True)
    parser.add_argument("--synchronous", choices=("full", "normal", "off"), required=True)
    parser.add_argument("--rows", type=int, required=True, help="Rows of a commit")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, default=1)
    chosen = vars(parser.parse_args())
    folder: Path = chosen.pop("folder")
    folder.mkdir(parents=True)
    try:
        file_system = file_system_of(folder)
        if file_system in IN_MEMORY:
            sys.exit(
                f"{folder.parent} is in memory ({file_system}), where a commit costs nothing; "
                "name a folder on a disk: --set experiment.fixed.target=/var/tmp"
            )
        found = measure(folder / "data.sqlite", **chosen)
        versions = {"file_system": file_system, "sqlite": sqlite3.sqlite_version}
        sys.stdout.write(f"{json.dumps({**found, **versions})}\n")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
