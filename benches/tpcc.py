"""TPC-B and TPC-C on PostgreSQL: what the driver costs beside pgbench, and how long a load takes.

Both put the same functions of the same server under load, with as many connections and as many
transactions. pgbench draws simple inputs (uniform, lines of one item after another); the driver
draws those of the standard, keeps histograms by type, and checks each answer.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from benches.harness import Case
from headroom.errors import EnvironmentUnfitError
from headroom.recording.programs import LoadPrograms
from headroom.recording.services.keeper import Keeper, fill_words
from headroom.recording.services.table import ServiceTable
from headroom.systems.transactions.measured.program import ask, program

SCALE = 2
CLIENTS = 4
TRANSACTIONS = {"tpcb": 20_000, "tpcc": 6_000}
ASKED_LOAD_S = 1.2
"""Longest time (s) to load a warehouse that is asked for."""
_DRAWN = """\
\\set w random(1, {scale})
\\set d random(1, 10)
\\set c random(1, 3000)
\\set s random(0, 90000)
"""
_TPC_C = (
    (
        10,
        "select * from tpcc_new_order(:w, :d, :c, array[:s + 1, :s + 2, :s + 3, :s + 4, :s + 5, "
        ":s + 6, :s + 7, :s + 8, :s + 9, :s + 10]::int[], array_fill(:w::int, array[10]), "
        "array_fill(5, array[10]));",
    ),
    (10, "select * from tpcc_payment(:w, :d, :w, :d, :c, '', 1000);"),
    (1, "select * from tpcc_order_status(:w, :d, :c, '');"),
    (1, "select * from tpcc_delivery(:w, 3);"),
    (1, "select tpcc_stock_level(:w, :d, 15);"),
)
"""Cards of a deck, and what pgbench calls."""
_TPC_B = """\
\\set t random(1, 10 * {scale})
\\set a random(1, 100000 * {scale})
\\set g random(-5000, 5000)
select tpcb_change(:a, :t, (:t - 1) / 10 + 1, :g);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """Processor time (s) of the load for a transaction, and transactions in a second."""

    cpu_s: float
    per_s: float


class Site:
    """A server with both databases loaded; it ends with this process."""

    def __init__(self) -> None:
        self._keeper = Keeper()
        settings = {"max_connections": "100", "shared_buffers": "1GB"}
        table = ServiceTable(name="db", kind="postgres", settings=settings)
        words = self._keeper.ensure([table], fill_words)
        self.port = words["db.port"]
        self.programs = words.get("db.bin", "")
        self.target = {"url": f"postgres://headroom@127.0.0.1:{self.port}"}
        self.load_s = {
            workload: ask(
                {
                    "do": "load",
                    "target": self.target,
                    "database": f"headroom_{workload}",
                    "workload": workload,
                    "scale": SCALE,
                }
            )["time_s"]
            / SCALE
            for workload in TRANSACTIONS
        }

    def fresh(self, workload: str) -> str:
        """Return a fresh copy of a database."""
        name = f"headroom_{workload}_copy"
        job = {"do": "copy", "target": self.target, "from": f"headroom_{workload}", "to": name}
        ask(job)
        return name

    def driver(self, workload: str) -> Ran:
        """Run the driver."""
        job = {
            "do": "run",
            "target": self.target,
            "database": self.fresh(workload),
            "seed": 1,
            "load": {"kind": "closed", "terminals": CLIENTS, "waits": False},
            "defers": False,
            "stop": {"operations": TRANSACTIONS[workload]},
        }
        with LoadPrograms([str(program()), "--wait", "-"], [job]) as programs:
            result = programs.run()
        if result["problem"] or result["failures"]:
            raise EnvironmentUnfitError(f"the driver failed: {result['failures']}")
        done = sum(one["completion_count"] for one in result["classes"].values())
        return Ran(cpu_s=result["counters"]["cpu_s"] / done, per_s=done / result["end_s"])

    def pgbench(self, workload: str) -> Ran:
        """Run pgbench."""
        database = self.fresh(workload)
        count = TRANSACTIONS[workload] // CLIENTS
        with tempfile.TemporaryDirectory() as folder:
            files = [word for one in _files(workload, Path(folder)) for word in ("-f", one)]
            argv = [
                f"{self.programs}/pgbench", "-n", "-M", "prepared", "-c", str(CLIENTS), "-j", "1",
                "-t", str(count), *files, "-h", "127.0.0.1", "-p", self.port, "-U", "headroom",
                database,
            ]  # fmt: skip
            with subprocess.Popen(argv, stdout=subprocess.PIPE, encoding="utf-8") as running:
                said = running.stdout.read() if running.stdout else ""
                _, status, usage = os.wait4(running.pid, 0)
                running.returncode = os.waitstatus_to_exitcode(status)
        if running.returncode:
            raise EnvironmentUnfitError(f"pgbench failed: {said}")
        per_s = next(line.split()[2] for line in said.splitlines() if line.startswith("tps ="))
        cpu_s = (usage.ru_utime + usage.ru_stime) / (count * CLIENTS)
        return Ran(cpu_s=cpu_s, per_s=float(per_s))


def _files(workload: str, folder: Path) -> Iterator[str]:
    """Yield scripts of pgbench with their weights."""
    if workload == "tpcb":
        path = folder / "tpcb.sql"
        path.write_text(_TPC_B.format(scale=SCALE), encoding="utf-8")
        yield str(path)
        return
    for number, (cards, call) in enumerate(_TPC_C):
        path = folder / f"{number}.sql"
        path.write_text(f"{_DRAWN.format(scale=SCALE)}{call}\n", encoding="utf-8")
        yield f"{path}@{cards}"


@cache
def site() -> Site:
    """Return the server, started once."""
    return Site()


def cases() -> list[Case]:
    """Return all cases.

    Raises
    ------
    EnvironmentUnfitError
        The driver is missing, or built without optimisation.
    """
    if program().parent.name == "debug":
        raise EnvironmentUnfitError(
            "the driver is built without optimisation", cure="build it with `--release`"
        )
    titles = {"tpcb": "TPC-B", "tpcc": "TPC-C"}
    return [*(case for name in titles for case in _of(name, titles[name])), *_loads(titles)]


def _of(workload: str, title: str) -> Iterator[Case]:
    name = f"{title} as functions of PostgreSQL, {CLIENTS} connections"
    ran: dict[str, Ran] = {}

    def run(who: str, how: Callable[[str], Ran]) -> float:
        ran[who] = how(workload)
        return ran[who].cpu_s

    yield Case(
        name=name,
        metric="processor time of the load for a transaction",
        unit="s",
        headroom=lambda: run("headroom", site().driver),
        peers={"pgbench": lambda: run("pgbench", site().pgbench)},
        measure="returned",
        better="low",
    )
    yield Case(
        name=name,
        metric="transactions",
        unit="1/s",
        headroom=lambda: site().driver(workload).per_s,
        peers={"pgbench": lambda: site().pgbench(workload).per_s},
        measure="returned",
    )


def _load_s(workload: str) -> float:
    return float(site().load_s[workload])


def _loads(titles: Mapping[str, Any]) -> Iterator[Case]:
    for workload, title in titles.items():
        yield Case(
            name=f"load of {title}, a warehouse or branch",
            metric="elapsed time",
            unit="s",
            headroom=partial(_load_s, workload),
            peers={f"{ASKED_LOAD_S:g} s, asked for": lambda: ASKED_LOAD_S},
            measure="returned",
            better="low",
            repeats=1,
            unmeasured=0,
        )
