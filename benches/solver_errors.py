"""How far off `headroom solve` is on random models: `python -m benches.solver_errors`.

Each model of a corpus is solved, and simulated for a bounded number of completions, the first
quarter left out. The errors are gathered by the reasons that an answer names; what is kept in
`benches/results/solver_errors.json` decides which estimates are printed, and with which error.

    python -m benches.solver_errors --seed 1 --models 230 --completions 300000
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benches.solver_models import KINDS, model_of
from headroom.simulation import Model, simulate
from headroom.solvers.errors import SolverError
from headroom.solvers.known_errors import STORED, known_errors
from headroom.solvers.solve import estimate, solve

RESULT = Path(__file__).parent / "results" / "solver_errors.json"
"""Where each model is kept."""


AGREEING = 0.02
"""Relative difference up to which two runs agree."""
LONGEST = 3_000_000
"""Completions beyond which no run is made longer."""


class Outcome(NamedTuple):
    """One model: what it is, what its answer is called, and by how much it is off."""

    kind: str
    seed: int
    key: str
    is_exact: bool
    is_printed: bool
    response: float
    throughput: float


def outcomes(seed: int, models: int, completions: int) -> Iterator[Outcome]:
    """Yield what becomes of each of `models` models, one of each kind after another."""
    kinds = list(KINDS)
    for number in range(models):
        kind, own = kinds[number % len(kinds)], seed * 100_000 + number // len(kinds)
        model = model_of(kind, own)
        try:
            found = estimate(model)
        except SolverError as error:
            sys.stderr.write(f"{kind} {own}: {error.message}\n")
            continue
        truth = simulated(model, completions)
        yield Outcome(
            kind=kind,
            seed=own,
            key=found.error_key,
            is_exact=found.is_exact,
            is_printed=False,
            response=float(found.response_s / truth[0] - 1.0),
            throughput=float(found.throughput_per_s / truth[1] - 1.0),
        )


def with_printed(rows: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes with what `solve` prints, by the errors that are kept now."""
    known_errors.cache_clear()
    return [
        row._replace(is_printed=not solve(model_of(row.kind, row.seed)).refused) for row in rows
    ]


def simulated(model: Model, completions: int) -> tuple[float, float]:
    """Return mean response (s) and throughput (1/s), by runs that get longer until two agree."""
    found = [_one_run(model, seed, completions) for seed in (1, 2)]
    one, other = (response for response, _ in found)
    if abs(one / other - 1.0) > AGREEING and completions < LONGEST:
        return simulated(model, completions * 4)
    return (one + other) / 2.0, (found[0][1] + found[1][1]) / 2.0


def _one_run(model: Model, seed: int, completions: int) -> tuple[float, float]:
    run = simulate(model, seed=seed, completions=completions)
    columns, times = run.classes.columns, np.asarray(run.snapshot_times_s)
    first = int(np.searchsorted(times, times[-1] / 4))
    done, spent = (
        float(columns[name][-1].sum() - columns[name][first].sum())
        for name in ("completion_count", "response_s_sum")
    )
    return spent / done, done / float(times[-1] - times[first])


def summary(rows: Sequence[Outcome]) -> dict[str, Any]:
    """Return median, 95th percentile and sign of the errors of an answer, by its reasons."""
    keys = sorted({row.key for row in rows if not row.is_exact})
    return {key: _errors([row for row in rows if row.key == key]) for key in keys}


def _errors(rows: Sequence[Outcome]) -> dict[str, Any]:
    worst = np.array([max(abs(row.response), abs(row.throughput)) for row in rows])
    signs = np.array([row.response for row in rows])
    return {
        "models": len(rows),
        "median": _round(np.median(worst)),
        "p95": _round(np.quantile(worst, 0.95)),
        "high": _round(np.mean(signs > 0)),
    }


def _round(value: Any) -> float:  # noqa: ANN401 - any number of NumPy
    return float(f"{float(value):.4g}")


def table(rows: Sequence[Outcome]) -> Iterator[str]:
    """Yield the errors of each kind of model as lines."""
    yield f"{'kind':26}{'models':>8}{'exact':>7}{'printed':>9}{'median':>9}{'95%':>8}{'worst':>8}"
    for kind in KINDS:
        own = [row for row in rows if row.kind == kind]
        shown = [abs(row.response) for row in own if row.is_printed]
        figures = (
            [f"{100 * x:.1f}%" for x in (np.median(shown), np.quantile(shown, 0.95), max(shown))]
            if shown
            else ["", "", ""]
        )
        exact = sum(row.is_exact for row in own)
        yield (f"{kind:26}{len(own):8}{exact:7}{len(shown):9}"
               f"{figures[0]:>9}{figures[1]:>8}{figures[2]:>8}")  # fmt: skip


def _by_kind(rows: Sequence[Outcome]) -> dict[str, list[list[Any]]]:
    """Return the outcomes of each kind of model, errors to four digits."""
    return {
        kind: [[*row[1:5], _round(row.response), _round(row.throughput)]
               for row in rows if row.kind == kind]
        for kind in KINDS
    }  # fmt: skip


def _text(kept: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what is kept, an entry a line."""
    parts = [
        f' "{name}": {{\n  '
        + ",\n  ".join(f"{json.dumps(key)}: {json.dumps(one)}" for key, one in value.items())
        + "\n }"
        for name, value in kept.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the corpus, keep its errors, and print them by kind of model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", type=int, default=230)
    parser.add_argument("--completions", type=int, default=300_000)
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--keep", action="store_true", help="also as what `solve` says")
    asked = parser.parse_args(arguments)
    rows = list(outcomes(asked.seed, asked.models, asked.completions))
    how = {"seed": asked.seed, "models": asked.models, "completions": asked.completions}
    said = {"corpus": how, "by_reason": summary(rows)}
    if asked.keep:
        STORED.write_text(_text(said))
    rows = with_printed(rows)
    asked.out.write_text(_text({**said, "models": _by_kind(rows)}))
    for line in table(rows):
        sys.stdout.write(line + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
