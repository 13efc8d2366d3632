"""Known answers: does the simulator agree with theory? `python -m benches.known_answers`.

Every model of `benches/known` runs 30 times with fixed seeds; the 99.9% interval (Student t) of the
means of the runs must contain the answer. To show that an interval can miss, each model runs again
for a third of the length, with all services 3% slower than the answers assume.

Writes `benches/results/known_answers.json`, with the same numbers on every machine. `--table`
prints the table of the stored results instead.
"""

import json
import math
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from benches.harness import aligned, write_rows
from benches.known.subject import Answer, Measured, Subject, measured
from benches.known.subjects import subjects
from headroom.quantities import decimals_for, format_plain

RESULTS = Path(__file__).resolve().parent / "results" / "known_answers.json"
SLOWER = 0.03
SLOWER_SHARE = 1 / 3
PROCESSES = 2
DIGITS = 6
HEAD = ("", "answer", "simulated", "99.9%", "verdict", "source of the answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One answer next to its simulated value.

    Parameters
    ----------
    model, parameters, quantity, source
        Labels of the table.
    is_exact
        False if the answer is an approximation.
    is_of_reference
        Whether the answer is one of the project's reference.
    answer, mean, half_width
        The theoretical value, and mean and half-width of the 99.9% interval.
    is_inside
        Whether the interval contains the answer.
    notices
        Whether the interval of the slower model excludes the answer, as it should.
    """

    model: str
    parameters: str
    quantity: str
    source: str
    is_exact: bool
    is_of_reference: bool
    answer: float
    mean: float
    half_width: float
    is_inside: bool
    notices: bool


def rows_of(subject: Subject) -> list[Row]:
    """Return the rows of a subject, by running it."""
    slower = measured(subject, share=SLOWER_SHARE, slower=SLOWER)
    pairs = zip(measured(subject), slower, strict=True)
    return [_row(subject, exact, other) for exact, other in pairs]


def _row(subject: Subject, exact: Measured, slower: Measured) -> Row:
    answer: Answer = exact.answer
    return Row(
        model=subject.model,
        parameters=subject.parameters,
        quantity=answer.quantity,
        source=answer.source,
        is_exact=answer.is_exact,
        is_of_reference=bool(answer.printed),
        answer=answer.value,
        mean=exact.mean,
        half_width=exact.half_width,
        is_inside=exact.is_inside,
        notices=not slower.is_inside,
    )


def _rows_at(place: int) -> list[Row]:
    return rows_of(subjects()[place])


def measure() -> list[Row]:
    """Run all subjects, in two processes, and return the rows in the order of the table."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor(PROCESSES) as pool:
        per_subject = pool.map(_rows_at, range(len(subjects())))
        return [row for rows in per_subject for row in rows]


def load(path: Path = RESULTS) -> list[Row]:
    """Return the stored rows."""
    return [Row(**stored) for stored in json.loads(path.read_text(encoding="utf-8"))]


def verdict(row: Row) -> str:
    """Return how far the answer is off if the interval does not contain it."""
    if row.is_inside:
        return ""
    return f"differs by {100 * (row.mean / row.answer - 1):+.1f}%"


def table(rows: Sequence[Row]) -> str:
    """Return the rows as text, model by model, under a count."""
    cells = [_cells(row) for row in rows]
    sources = [line[-1] for line in cells]
    for place in range(1, len(cells)):
        if sources[place] == sources[place - 1]:
            cells[place] = (*cells[place][:-1], "")
    head, *lines = aligned([HEAD, *cells]).splitlines()
    printed = [*_count(rows), "", head]
    pairs = zip(rows, lines, strict=True)
    for subject, group in groupby(pairs, key=lambda pair: (pair[0].model, pair[0].parameters)):
        printed += [": ".join(subject), *(line.rstrip() for _row, line in group)]
    return "\n".join(printed)


def _cells(row: Row) -> tuple[str, ...]:
    decimals = decimals_for(row.mean, half_width=row.half_width)
    digits = DIGITS - 1 - math.floor(math.log10(row.answer))
    answer = format_plain(row.answer, decimals=digits)
    if "." in answer:
        answer = answer.rstrip("0").rstrip(".")
    return (
        f"  {row.quantity}",
        answer,
        format_plain(row.mean, decimals=decimals),
        f"± {format_plain(row.half_width, decimals=decimals)}",
        verdict(row),
        row.source + ("" if row.is_of_reference else " *"),
    )


def _count(rows: Sequence[Row]) -> list[str]:
    exact = [row for row in rows if row.is_exact]
    approximations = [row for row in rows if not row.is_exact]
    inside = sum(row.is_inside for row in exact)
    notices = sum(row.notices for row in exact)
    return [
        f"{len(exact)} exact answers: {inside} inside the 99.9% interval, "
        f"{len(exact) - inside} outside",
        f"{len(approximations)} approximations: "
        f"{sum(row.is_inside for row in approximations)} inside",
        f"with all services 3% slower, {notices} of the {len(exact)} answers are noticed as wrong",
        "no verdict: inside; no source: as above; *: not in the project's reference",
    ]


def main(arguments: Sequence[str]) -> int:
    """Measure and store all rows, or print the stored ones."""
    if list(arguments) == ["--table"]:
        print(table(load()))
        return 0
    if arguments:
        print("python -m benches.known_answers measures; with --table it prints what is stored")
        return 2
    rows = measure()
    write_rows(rows, RESULTS)
    print(table(rows))
    return 0 if all(row.is_inside for row in rows if row.is_exact) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
