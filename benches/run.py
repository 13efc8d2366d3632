"""Run the benchmarks: `python -m benches.run [PART ...] [--long]`, or `make bench PART=...`.

Every module of this folder that has a function ``cases() -> list[Case]`` is a part. Each part
prints its table and writes `benches/results/<part>.json`. The parts `answers`, `cluster`,
`coverage`, `comparisons`, `gate`, `gates`, `histories`, `known_answers`, `methods`, `predictions`,
`records_advisor`, `slowdowns`, `solver_errors` and `terminating` are run separately: they have no
peer that runs the same case. `--long` adds the ``long_cases()`` of the parts that define them; a
part's ``shown(rows) -> str`` replaces the plain table.
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType

from benches.harness import Case, Row, measure_case, table, write_rows

FOLDER = Path(__file__).resolve().parent
LONG = "--long"
ON_THEIR_OWN = {
    "answers", "causes", "cluster", "comparisons", "coverage", "gate", "gates", "histories",
    "known_answers", "methods", "predictions", "real_systems", "records_advisor", "slowdowns",
    "solver_errors", "terminating",
}  # fmt: skip


def part_names() -> list[str]:
    """Return the parts, sorted: the modules of this folder that define ``cases()``."""
    modules = [path for path in FOLDER.glob("*.py") if path != Path(__file__).resolve()]
    return sorted(
        path.stem for path in modules if "\ndef cases(" in path.read_text(encoding="utf-8")
    )


def cases_of(part: ModuleType, *, with_long: bool) -> list[Case]:
    """Return the cases of a part, the long ones last."""
    long_cases = getattr(part, "long_cases", list) if with_long else list
    return [*part.cases(), *long_cases()]


def run_part(name: str, results: Path, *, with_long: bool = False) -> None:
    """Measure all cases of a part, print the table, write the rows."""
    print(f"\n== {name}", flush=True)
    rows: list[Row] = []
    part = importlib.import_module(f"benches.{name}")
    try:
        for case in cases_of(part, with_long=with_long):
            print(f"   {case.name}, {case.metric} ...", file=sys.stderr, flush=True)
            rows += measure_case(case)
    except BaseException:
        print(table(rows))  # the measurements are kept, but the part has no result
        raise
    print(getattr(part, "shown", table)(rows))
    write_rows(rows, results / f"{name}.json")
    print(f"written to {results / name}.json")


def main(arguments: list[str]) -> int:
    """Run the parts named, or all of them; return 2 for an unknown one."""
    names = [name for name in arguments if name != LONG]
    if len(names) == 1 and names[0] in ON_THEIR_OWN:
        is_folder = (FOLDER / names[0]).is_dir()
        module = f"benches.{names[0]}{'.__main__' * is_folder}"
        return int(importlib.import_module(module).main([]))
    unknown = [name for name in names if name not in part_names()]
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are: {', '.join(part_names())}")
        return 2
    for name in names or part_names():
        run_part(name, FOLDER / "results", with_long=LONG in arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
