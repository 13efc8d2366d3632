"""Run the benchmarks: `python -m benches.run [PART ...]`, or `make bench PART=...`.

Every module of this folder except the harness is a part and has a function
``cases() -> list[Case]``. Each part prints its table and writes `benches/results/<part>.json`.
"""

import importlib
import sys
from pathlib import Path

from benches.harness import Row, measure_case, table, write_rows

FOLDER = Path(__file__).resolve().parent


def part_names() -> list[str]:
    """Return the parts, sorted."""
    return sorted(
        path.stem for path in FOLDER.glob("*.py") if path.stem not in {"__init__", "run", "harness"}
    )


def run_part(name: str, results: Path) -> None:
    """Measure all cases of a part, print the table, write the rows."""
    print(f"\n== {name}", flush=True)
    rows: list[Row] = []
    for case in importlib.import_module(f"benches.{name}").cases():
        print(f"   {case.name} ...", file=sys.stderr, flush=True)
        rows += measure_case(case)
    print(table(rows))
    write_rows(rows, results / f"{name}.json")
    print(f"written to {results / name}.json")


def main(arguments: list[str]) -> int:
    """Run the parts named, or all of them; return 2 for an unknown one."""
    unknown = [name for name in arguments if name not in part_names()]
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are: {', '.join(part_names())}")
        return 2
    for name in arguments or part_names():
        run_part(name, FOLDER / "results")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
