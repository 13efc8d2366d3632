"""The metadata catalogue: what an operation costs in the paper's four cases, beside its peers.

Three questions:

- the processor time of an operation in client, catalogue and PostgreSQL, and the rate, for the
  four cases, full and resumed handshakes, one-shot and in the paper's form; beside them connections
  to PostgreSQL by TLS for each operation, and PgBouncer, with the same client;
- the memory of a server to which 10,000 clients are connected, and its connections to the database;
- how much the 99th percentile of queries grows from 100,000 entries to 10,000,000.

All ways take turns, and a ratio is that of one round. `HEADROOM_BENCH_SCALE` (default 1)
multiplies clients and entries of the second and third question. `python -m benches.catalogue
--table` prints the table of `docs/reference/speed-catalogue.md` from the stored results, without
measuring anything.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from benches.harness import (
    Case,
    Row,
    Work,
    aligned,
    figure,
    print_stored,
    ratio_cell,
    verdict_cell,
)
from benches.metadata.bills import (
    BOUNCED,
    CASE_1,
    CASE_3,
    CASE_4,
    DIRECT_TLS,
    FORMS,
    RESUMED,
    WAYS,
    Bill,
    Contender,
    contender,
)
from benches.metadata.crowd import Crowd, crowd, too_few_files
from benches.metadata.site import site
from benches.metadata.volume import Volume
from headroom.errors import EnvironmentUnfitError
from headroom.systems.catalogue.command import companion
from headroom.systems.catalogue.measured.services import LOAD

RESULTS = Path(__file__).resolve().parent / "results" / "catalogue.json"
COST, RATE, GOAL = "processor time of an operation", "operations", "ratio that is asked for"
MEMORY, CONNECTIONS = "memory of the server, each", "connections to the database"
P99 = "99th percentile of queries"
PARTS: dict[str, Callable[[Bill], float]] = {
    "client": lambda bill: bill.client_s,
    "between": lambda bill: bill.between_s,
    "database": lambda bill: bill.database_s,
}
OPERATIONS = ("query", "insert")
ONE_SHOT, PAPERS = FORMS
SCALE = float(os.environ.get("HEADROOM_BENCH_SCALE", "1"))
CLIENTS = round(10_000 * SCALE)
FEW, MANY = round(100_000 * SCALE), round(10_000_000 * SCALE)
TOUR_S = {FEW: 5.0, MANY: 45.0}
COLD, WARM = "after the start", "directories known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A ratio that is asked for, between two ways or of a way and a number.

    Parameters
    ----------
    own, other
        Form and way; a number is a rate (1/s).
    of
        What is compared.
    asked
        Least ratio; the largest one if `is_limit`.
    """

    name: str
    own: tuple[str, str]
    other: tuple[str, str] | float
    of: Literal["cost", "rate"]
    asked: float
    better: Literal["high", "low"] = "high"
    is_limit: bool = False


GOALS = (
    Goal(name="TLS connection to the database / case 1, CPU, one-shot", of="cost", asked=8.0,
         own=(ONE_SHOT, CASE_1), other=(ONE_SHOT, DIRECT_TLS), better="low"),
    Goal(name="TLS connection to the database / case 1, CPU, paper's form", of="cost", asked=8.0,
         own=(PAPERS, CASE_1), other=(PAPERS, DIRECT_TLS), better="low"),
    Goal(name="case 1, one-shot / 1,500 operations per second", of="rate", asked=1.0,
         own=(ONE_SHOT, CASE_1), other=1500.0),
    Goal(name="case 1 / case 4, CPU, paper's form", of="cost", asked=12.0,
         own=(PAPERS, CASE_1), other=(PAPERS, CASE_4), is_limit=True),
    Goal(name="case 1 resumed / case 4, CPU, paper's form", of="cost", asked=8.0,
         own=(PAPERS, RESUMED), other=(PAPERS, CASE_4), is_limit=True),
    Goal(name="case 1, one-shot / case 4, paper's form, CPU", of="cost", asked=12.0,
         own=(ONE_SHOT, CASE_1), other=(PAPERS, CASE_4), is_limit=True),
    Goal(name="case 3, one-shot / case 4, paper's form, rate", of="rate", asked=1.0,
         own=(ONE_SHOT, CASE_3), other=(PAPERS, CASE_4)),
    Goal(name="case 3 / case 4, rate, paper's form", of="rate", asked=0.5,
         own=(PAPERS, CASE_3), other=(PAPERS, CASE_4)),
    Goal(name="case 3 / PgBouncer, rate, one-shot", of="rate", asked=1.0,
         own=(ONE_SHOT, CASE_3), other=(ONE_SHOT, BOUNCED)),
    Goal(name="case 3 / PgBouncer, rate, paper's form", of="rate", asked=1.0,
         own=(PAPERS, CASE_3), other=(PAPERS, BOUNCED)),
)  # fmt: skip
MOST_KIB, MOST_CONNECTIONS, MOST_GROWTH = 64.0, 32.0, 1.5


def cases() -> list[Case]:
    """Return all cases.

    Raises
    ------
    EnvironmentUnfitError
        The programs are missing, or built without optimisation.
    """
    if companion(LOAD).parent.name == "debug":
        raise EnvironmentUnfitError(
            "the catalogue is built without optimisation", cure="build it with `--release`"
        )
    found = [case for operation in OPERATIONS for case in operations(operation)]
    return [*found, *crowds(), *volumes()]


def operations(operation: str) -> list[Case]:
    """Return the cases of an operation: the first one measures, the others ask its runs again."""
    contenders = {
        (form, name): contender(operation, form, way)
        for form in FORMS
        for name, way in WAYS.items()
        if not way.cannot()
    }

    def again(metric: str, unit: str, of: Callable[[Bill], float]) -> Case:
        works = {key: one.again(of) for key, one in contenders.items()}
        return _bill_case(operation, metric, unit, works)

    measuring = {key: one.work for key, one in contenders.items()}
    return [
        _bill_case(operation, COST, "s", measuring),
        *(again(f"{COST}, {part}", "s", of) for part, of in PARTS.items()),
        again(RATE, "1/s", lambda bill: bill.per_s),
        *(_goal_case(operation, goal, contenders) for goal in GOALS),
    ]


def _bill_case(
    operation: str, metric: str, unit: str, works: Mapping[tuple[str, str], Work]
) -> Case:
    first, *others = works
    cannot = {name: why for name, way in WAYS.items() if (why := way.cannot())}
    return Case(
        name=operation,
        metric=metric,
        unit=unit,
        measure="returned",
        better="high" if metric == RATE else "low",
        headroom=works[first],
        peers={_label(*key): works[key] for key in others},
        cannot={_label(form, name): why for name, why in cannot.items() for form in FORMS},
    )


def _label(form: str, name: str) -> str:
    return f"{form}: {name}"


def _goal_case(operation: str, goal: Goal, contenders: dict[tuple[str, str], Contender]) -> Case:
    def of(bill: Bill) -> float:
        return bill.all_s if goal.of == "cost" else bill.per_s

    peers: dict[str, Work] = {}
    cannot: dict[str, str] = {}
    other = goal.other
    if isinstance(other, float):
        peers = {"asked": lambda: other}
    elif other in contenders:
        peers = {_label(*other): contenders[other].again(of)}
    else:
        cannot = {_label(*other): WAYS[other[1]].cannot()}
    return Case(
        name=f"{operation}: {goal.name}",
        metric=GOAL,
        unit="s" if goal.of == "cost" else "1/s",
        measure="returned",
        better=goal.better,
        headroom=contenders[goal.own].again(of),
        peers=peers,
        cannot=cannot,
    )


def crowds() -> list[Case]:
    """Return the cases of many connected clients."""
    return [
        case
        for title, is_encrypted in (("plain", False), ("TLS", True))
        for case in _crowd_cases(f"{CLIENTS:,} clients, {title}", is_encrypted=is_encrypted)
    ]


def _crowd_cases(title: str, *, is_encrypted: bool) -> list[Case]:
    missing = too_few_files(CLIENTS)
    seen: list[Crowd] = []

    def memory() -> float:
        seen.append(crowd(site(), CLIENTS, is_encrypted=is_encrypted))
        return seen[-1].kib_each

    def case(metric: str, unit: str, work: Work, most: float) -> Case:
        return Case(
            name=title,
            metric=metric,
            unit=unit,
            measure="returned",
            better="high",
            headroom=(lambda: 0.0) if missing else work,
            peers={} if missing else {"allowed": lambda: most},
            cannot={"allowed": missing} if missing else {},
            repeats=2,
            unmeasured=0,
        )

    connections = iter(range(2))
    return [
        case(MEMORY, "KiB", memory, MOST_KIB),
        case(CONNECTIONS, "1", lambda: seen[next(connections)].connections, MOST_CONNECTIONS),
    ]


@cache
def _volume(name: str, entries: int) -> Volume:
    volume = Volume(site(), name, entries)
    volume.make()
    return volume


def volumes() -> list[Case]:
    """Return the cases of queries in a large and in a small catalogue, first and later on."""
    seeds = {name: iter(range(1, 1 << 20)) for name in ("large", "small")}

    def asked(name: str, entries: int, *, tours: bool) -> Work:
        is_known = not tours

        def work() -> float:
            nonlocal is_known
            volume = _volume(name, entries)
            if not is_known:
                volume.tour(TOUR_S[entries])
                is_known = True
            return volume.p99_s(next(seeds[name]))

        return work

    return [
        Case(
            name=f"{MANY:,} entries, {title}",
            metric=P99,
            unit="s",
            measure="returned",
            headroom=asked("large", MANY, tours=tours),
            peers={f"{FEW:,} entries": asked("small", FEW, tours=tours)},
            repeats=repeats,
            unmeasured=int(tours),
        )
        for title, tours, repeats in ((COLD, False, 1), (WARM, True, 6))
    ]


def shown(rows: list[Row]) -> str:
    """Return all rows as text and columns, under a description of the machine."""
    tables = [_bill_table(rows, operation, form) for operation in OPERATIONS for form in FORMS]
    tables += [_goal_table(rows), _limit_table(rows)]
    return "\n\n".join([rows[0].machine, *(aligned(lines) for lines in tables if len(lines) > 1)])


def _bill_table(rows: list[Row], operation: str, form: str) -> list[tuple[str, ...]]:
    metrics = [*(f"{COST}, {part}" for part in PARTS), COST, RATE]
    own = {row.metric: row.headroom for row in rows if row.case == operation}
    others = {(row.metric, row.peer): row for row in rows if row.case == operation}
    lines: list[tuple[str, ...]] = [
        (f"{operation}, {form}: us of processor", *PARTS, "all", "operations/s")
    ]
    for name in WAYS:
        label = _label(form, name)
        found: dict[str, float | None]
        if (form, name) == (ONE_SHOT, CASE_1):
            found = dict(own)
        else:
            found = {
                metric: others[metric, label].peer_value
                for metric in metrics
                if (metric, label) in others
            }
        values = [found.get(metric) for metric in metrics]
        cells = [
            "" if value is None else _whole(value if metric == RATE else value * 1e6)
            for metric, value in zip(metrics, values, strict=True)
        ]
        if values[-1] is None and (COST, label) in others:
            cells = [f"cannot: {others[COST, label].reason}", "", "", "", ""]
        lines.append((f"  {name}", *cells))
    return lines


def _goal_table(rows: list[Row]) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = [
        ("ratio", "asked", *(word for operation in OPERATIONS for word in (operation, "")))
    ]
    for goal in GOALS:
        cells: list[str] = []
        for operation in OPERATIONS:
            row = next(row for row in rows if row.case == f"{operation}: {goal.name}")
            cells += [ratio_cell(row), verdict_cell(row, goal.asked, is_limit=goal.is_limit)]
        sign = "at most" if goal.is_limit else "at least"
        lines.append((f"  {goal.name}", f"{sign} {goal.asked:g}", *cells))
    return lines


def _limit_table(rows: list[Row]) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = [("many clients, many entries", "", "beside", "", "ratio", "")]
    for row in rows:
        if row.metric not in {MEMORY, CONNECTIONS, P99}:
            continue
        asked = MOST_GROWTH if row.metric == P99 else 1.0
        scale, unit = (1e3, "ms") if row.metric == P99 else (1.0, row.unit.replace("1", ""))
        peer = "" if row.peer_value is None else figure(row.peer_value * scale)
        own = figure(row.headroom * scale) if peer else ""
        name = f"  {row.case}: {row.metric} {unit}".rstrip()
        is_judged = COLD not in row.case
        verdict = verdict_cell(row, asked, is_limit=True) if is_judged else ""
        lines.append((name, own, row.peer, peer, ratio_cell(row), verdict))
    return lines


def _whole(value: float) -> str:
    """Return a count or a time with three digits, without an exponent."""
    return figure(value) if value < 100 else f"{float(f'{value:.3g}'):,.0f}"  # noqa: PLR2004


def main(arguments: list[str]) -> int:
    """Print the stored table."""
    return print_stored(RESULTS, shown, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
