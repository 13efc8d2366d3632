"""Make the logs of fio and the tables of systems in this folder: `python tests/data/audit/make.py`.

Needs fio, FUSE and three minutes. The devices are Headroom's soft one: a number of servers with
known times, whose process is stopped by SIGSTOP for a stall.
"""

import csv
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headroom.systems.storage.soft.soft_mount import SoftMount, mounted
from headroom.systems.storage.soft.soft_script import SoftScript

HERE = Path(__file__).parent
SIZE = 16 << 20
STALL_AT_S, STALL_S = 5.0, 2.0
DRAWN = random.Random(1)  # noqa: S311 - not for secrets
STEADY = [DRAWN.uniform(0.005, 0.015) for _ in range(997)]
"""Service times (s) of reads."""
WARMING = [3.0 * time_s for time_s in STEADY[:300]] + STEADY * 20
WINDOWS = "--log_avg_msec=250 --write_iops_log={log}"
BINS = "--log_hist_msec=250 --write_hist_log={log} --log_hist_coarseness=4"
LOGS = [
    ("sound/fio", STEADY, False, "--write_lat_log={log}"),
    ("sound/fio_windows", STEADY, False, f"--write_lat_log={{log}} {WINDOWS}"),
    ("sound/fio_bins", STEADY, False, BINS),
    ("spoilt/fio_stalled", STEADY, True, "--write_lat_log={log}"),
    ("spoilt/fio_windows_stalled", STEADY, True, f"--write_lat_log={{log}} {WINDOWS}"),
    ("spoilt/fio_bins_stalled", STEADY, True, BINS),
    ("spoilt/fio_windows_warming", WARMING, False, f"--write_lat_log={{log}} {WINDOWS}"),
]
KEPT = ("_lat.1.log", "_iops.1.log", "_clat_hist.1.log")
SYSTEMS = {"Alpha": (4, 1.0), "Beta": (2, 1.0), "Gamma": (4, 1.5)}
"""Servers, and service times relative to those of the logs."""
CLIENTS = (8, 64)
CEILING = "--rate_iops=120"
"""Requests (1/s) that the generator sends at most, whatever the system could do."""
COLUMNS = ("system", "clients", "loop", "think_s", "throughput", "response_ms_mean",
           "response_ms_p50", "response_ms_p99", "count")  # fmt: skip


def make_log(name: str, read_s: list[float], options: str, *, has_stall: bool) -> None:
    """Run fio on a device of four servers and keep its logs of response times and rates."""
    with TemporaryDirectory() as folder, device(4, read_s) as soft, ThreadPoolExecutor() as pool:
        log = Path(folder) / Path(name).name
        done = pool.submit(fio, soft, 8, *options.format(log=log).split())
        if has_stall:
            time.sleep(STALL_AT_S)
            os.kill(soft.server, signal.SIGSTOP)
            time.sleep(STALL_S)
            os.kill(soft.server, signal.SIGCONT)
        done.result()
        for suffix in KEPT:
            if (made := Path(f"{log}{suffix}")).exists():
                (HERE / f"{name}{suffix}").write_bytes(made.read_bytes())


@contextmanager
def device(servers: int, read_s: list[float]) -> Iterator[SoftMount]:
    """Serve a soft device."""
    with TemporaryDirectory() as folder:
        script = SoftScript(servers=servers, read_s=read_s)
        with mounted(script, size_bytes=SIZE, at=Path(folder)) as soft:
            yield soft


def fio(soft: SoftMount, depth: int, *options: str) -> Any:
    """Read from a device for 10 s; return what fio says of the reads."""
    words = ["fio", "--name=read", f"--filename={soft.device}", f"--size={SIZE}", "--rw=randread",
             "--bs=4k", "--ioengine=libaio", f"--iodepth={depth}", "--direct=1", "--runtime=10",
             "--time_based", "--norandommap", "--output-format=json", *options]  # fmt: skip
    answer = subprocess.run(words, check=True, capture_output=True).stdout
    return json.loads(answer)["jobs"][0]["read"]


def table(*options: str) -> list[list[str]]:
    """Measure all systems with all numbers of clients; return rows as a person would type them."""
    rows = []
    for system, (servers, times) in SYSTEMS.items():
        with device(servers, [times * one for one in STEADY]) as soft:
            for clients in CLIENTS:
                read = fio(soft, clients, *options)
                percentile = read["clat_ns"]["percentile"]
                times_ns = (
                    read["lat_ns"]["mean"],
                    percentile["50.000000"],
                    percentile["99.000000"],
                )
                figures = (f"{read['iops']:.1f}", *(f"{1e-6 * one:.2f}" for one in times_ns))
                rows.append([system, str(clients), "closed", "0", *figures, str(read["total_ios"])])
    return rows


def write_table(name: str, rows: list[list[str]]) -> None:
    """Write rows below the header."""
    with (HERE / name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


def main() -> None:
    """Make everything."""
    for name, read_s, has_stall, options in LOGS:
        make_log(name, read_s, options, has_stall=has_stall)
    rows = table()
    write_table("sound/systems.csv", rows)
    mean = COLUMNS.index("response_ms_mean")
    rows[0][mean], rows[1][mean] = rows[1][mean], rows[0][mean]
    write_table("spoilt/swapped_column.csv", rows)
    write_table("spoilt/one_ceiling.csv", table(CEILING))


if __name__ == "__main__":
    main()
