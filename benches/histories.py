"""Histories: the changes that Headroom, Otava, e-divisive and PELT find in series with known ones.

`python -m benches.histories --peers PYTHON` draws the series, judges them with the shipped code and
with the peers that the interpreter PYTHON has (see `benches/peers/change_points.py`), stores the
table and prints it; without `--peers` the stored figures of the peers stay. `--table` prints the
stored table, `--design` judges series of other seeds and stores nothing: methods are developed on
those, and the printed table is from seeds that no method has seen.

The *oracle* knows the true places, and asks only whether steps there explain a series better than
any drift does, at 1% of false steps in the worst drift. A method that has to find the places, at
that rate, can hardly find more.

A series is a nightly job's: 40 results with 1% of noise (one standard deviation, sd). A kind is
*found* if a change is reported within three results of each true one, and *exact* if at the very
places and nowhere else.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from headroom.experiment.protocol.run import FloatArray
from headroom.gate.changes import changes_of, spread_of

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benches" / "results" / "histories.json"
LENGTH, SCATTER = 40, 0.01
SERIES, QUIET = 24, 200
"""Series of each kind with a change, and of each kind without."""
OURS = ("Headroom", "with drifts", "oracle")
_NEAR = 3
_DRAWS, _FALSE = 4_000, 0.01
_DRIFTS = [(memory, walk) for memory in (1.0, 0.8, 0.5) for walk in np.geomspace(0.01, 100.0, 13)]
"""Share of its distance from the mean that a level keeps, and variance of its steps."""
_DESIGN_SEED, _FINAL_SEED = 44_000_000, 97_000_000
_WEEK = (0.0, 0.0, 0.0, 0.0, 0.0, -3.0, -3.0)
"""Nights of a weekend are this much faster (sd)."""

Noise = Callable[[np.random.Generator], FloatArray]


def _white(random: np.random.Generator) -> FloatArray:
    values: FloatArray = random.normal(size=LENGTH)
    return values


def _remembering(random: np.random.Generator) -> FloatArray:
    values = _white(random)
    for place in range(1, LENGTH):
        values[place] = 0.5 * values[place - 1] + np.sqrt(0.75) * values[place]
    return values


def _heavy(random: np.random.Generator) -> FloatArray:
    values: FloatArray = random.standard_t(3, size=LENGTH) / np.sqrt(3.0)
    return values


def _bimodal(random: np.random.Generator) -> FloatArray:
    slow: FloatArray = 3.0 * (random.random(LENGTH) < 0.3) + 0.3 * _white(random)  # noqa: PLR2004 - three in ten
    return slow


def _drifting(random: np.random.Generator) -> FloatArray:
    trend = random.choice([-1.0, 1.0]) * random.uniform(3.0, 8.0) * np.linspace(0.0, 1.0, LENGTH)
    drift: FloatArray = trend + np.cumsum(0.3 * _white(random)) + _white(random)
    return drift


def _weekday(random: np.random.Generator) -> FloatArray:
    nights: FloatArray = _white(random) + np.resize(_WEEK, LENGTH)
    return nights


def _outlier(random: np.random.Generator) -> FloatArray:
    values = _white(random)
    values[random.integers(LENGTH)] += 10.0
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Series of a kind: noise (sd), and what is added from a place on."""

    noise: Noise = _white
    steps: Mapping[int, float] = field(default_factory=dict)
    """Place to the size (sd) of the change there; two of opposite sign are a pulse."""
    spread: int | None = None
    """Place from which on the noise is four times as large."""

    def draw(self, random: np.random.Generator) -> list[float]:
        """Return a series."""
        values = self.noise(random)
        if self.spread is not None:
            values[self.spread :] *= 4.0
        for place, size in self.steps.items():
            values[place:] += size
        series: list[float] = (100.0 * np.exp(SCATTER * values)).tolist()
        return series

    @property
    def places(self) -> list[int]:
        """Places of the true changes."""
        return sorted({*self.steps, *([] if self.spread is None else [self.spread])})


_PLACES = {"early": 8, "in the middle": 20, "late": 32, "last 3": 37}
KINDS: Mapping[str, Kind] = {
    **{
        f"step of {size}%, {where}": Kind(steps={place: float(size)})
        for size in (2, 5, 10)
        for where, place in _PLACES.items()
    },
    "two steps of 5%, up": Kind(steps={13: 5.0, 27: 5.0}),
    "two steps of 5%, up and down": Kind(steps={13: 5.0, 27: -5.0}),
    **{
        f"pulse of {width} results, {size}%": Kind(
            steps={18: float(size), 18 + width: -float(size)}
        )
        for width in (3, 6)
        for size in (5, 10)
    },
    "spread 4 times as large": Kind(spread=20),
    "step of 5% and drift": Kind(noise=_drifting, steps={20: 5.0}),
    "step of 10% and drift": Kind(noise=_drifting, steps={20: 10.0}),
    "step of 5% and an outlier": Kind(noise=_outlier, steps={20: 5.0}),
    "step of 5% and weekdays": Kind(noise=_weekday, steps={20: 5.0}),
    "step of 5% and pulse of 3": Kind(steps={12: 5.0, 26: 10.0, 29: -10.0}),
    "step of 5% and wider spread": Kind(steps={14: 5.0}, spread=27),
    "step of 5%, heavy tails": Kind(noise=_heavy, steps={20: 5.0}),
    "step of 5%, noise that remembers": Kind(noise=_remembering, steps={20: 5.0}),
}
QUIETS: Mapping[str, Kind] = {
    "white noise": Kind(),
    "noise that remembers": Kind(noise=_remembering),
    "heavy tails": Kind(noise=_heavy),
    "two modes": Kind(noise=_bimodal),
    "weekdays": Kind(noise=_weekday),
    "outlier": Kind(noise=_outlier),
    "drift": Kind(noise=_drifting),
}
"""Without a change: each one that is reported is false."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a method finds in the series of one kind."""

    kind: str
    method: str
    series: int
    found: int
    """Series in which every true change is found; without one, those with a false change."""
    exact: int


def _score(kind: str, method: str, places: Sequence[Sequence[int]]) -> Line:
    truth = {**KINDS, **QUIETS}[kind].places
    found = [
        all(any(abs(one - true) <= _NEAR for one in got) for true in truth) if truth else bool(got)
        for got in places
    ]
    exact = [sorted(got) == truth for got in places]
    return Line(kind=kind, method=method, series=len(places), found=sum(found), exact=sum(exact))


def drawn(kind: str, *, seed: int = _FINAL_SEED) -> list[list[float]]:
    """Return the series of a kind."""
    names = [*KINDS, *QUIETS]
    random = np.random.default_rng(seed + names.index(kind))
    count = SERIES if kind in KINDS else QUIET
    return [{**KINDS, **QUIETS}[kind].draw(random) for _ in range(count)]


def ours(series: Sequence[float]) -> tuple[list[int], list[int]]:
    """Return the places of all abrupt changes, of level or spread, that Headroom reports.

    And those with the changes that it says may be a drift.
    """
    weekdays = [night % 7 for night in range(len(series))]
    changes = changes_of(series, weekdays=weekdays)
    spread = spread_of(series, changes, weekdays=weekdays)
    more = [] if spread is None else [spread.place]
    steps = [change.place for change in changes if change.is_step]
    return [*steps, *more], [*(change.place for change in changes), *more]


def _covariance(memory: float, walk: float) -> FloatArray:
    """Return the covariance of a level that drifts, with independent noise on it."""
    at = np.arange(LENGTH)
    if memory == 1.0:
        level = np.minimum.outer(at, at).astype(np.float64)
    else:
        level = memory ** np.abs(np.subtract.outer(at, at)) / (1.0 - memory**2)
    return np.eye(LENGTH) + walk * level


def _likelihood(rows: FloatArray, places: Sequence[int]) -> FloatArray:
    """Return the largest log-likelihood of each series over all drifts, with steps at places."""
    gaps = np.diff(rows, axis=1)
    basis = np.column_stack([np.ones(LENGTH - 1), *np.eye(LENGTH - 1)[[one - 1 for one in places]]])
    found = np.full(len(rows), -np.inf)
    for drift in _DRIFTS:
        covariance = np.diff(np.diff(_covariance(*drift), axis=0), axis=1)
        weight = np.linalg.inv(covariance)
        taken = weight @ basis
        weight = weight - taken @ np.linalg.solve(basis.T @ taken, taken.T)
        squares = ((gaps @ weight) * gaps).sum(axis=1)
        size = np.linalg.slogdet(covariance)[1] + (LENGTH - 1) * np.log(squares)
        found = np.maximum(found, -size / 2.0)
    return found


@cache
def _needed(places: tuple[int, ...]) -> float:
    """Return the likelihood ratio that steps at known places reach by chance in the worst drift."""
    random = np.random.default_rng(1)
    rates = []
    for drift in _DRIFTS[::3]:
        drawn = random.normal(size=(_DRAWS, LENGTH)) @ np.linalg.cholesky(_covariance(*drift)).T
        ratios = _likelihood(drawn, places) - _likelihood(drawn, ())
        rates.append(float(np.quantile(ratios, 1.0 - _FALSE)))
    return max(rates)


def oracle(kind: Kind, many: Sequence[Sequence[float]]) -> int | None:
    """Return in how many series the oracle finds the steps; None if the noise is not normal."""
    if kind.noise not in (_white, _drifting, _remembering) or kind.spread or not kind.steps:
        return None
    rows = np.log(np.asarray(many)) / SCATTER
    places = tuple(kind.places)
    ratios = _likelihood(rows, places) - _likelihood(rows, ())
    return int(np.count_nonzero(ratios > _needed(places)))


def judged(python: str | None, *, seed: int) -> list[Line]:
    """Return the lines of Headroom, and of the peers if an interpreter has them."""
    lines = []
    for kind in [*KINDS, *QUIETS]:
        many = drawn(kind, seed=seed)
        found = [ours(series) for series in many]
        lines += [
            _score(kind, name, [pair[number] for pair in found])
            for number, name in enumerate(OURS[:2])
        ]
        if (possible := oracle({**KINDS, **QUIETS}[kind], many)) is not None:
            lines.append(
                Line(kind=kind, method=OURS[2], series=len(many), found=possible, exact=possible)
            )
        if python is not None:
            answer = subprocess.run(
                [python, "-m", "benches.peers.change_points"], cwd=ROOT, input=json.dumps(many),
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            lines += [_score(kind, name, got) for name, got in json.loads(answer.stdout).items()]
    return lines


def table(lines: Sequence[Line]) -> str:
    """Return both tables as Markdown: what is found (at the exact place), and what is false."""
    methods = list(dict.fromkeys(line.method for line in lines))
    by_key = {(line.kind, line.method): line for line in lines}
    rule = "| --- |" + " ---: |" * len(methods)
    found = [f"| found of {SERIES} (exact) | {' | '.join(methods)} |", rule]
    for kind in KINDS:
        known = [by_key.get((kind, method)) for method in methods]
        cells = (f"{line.found} ({line.exact})" if line else "" for line in known)
        found.append(f"| {kind} | {' | '.join(cells)} |")
    methods.remove(OURS[2])
    rule = "| --- |" + " ---: |" * len(methods)
    false = [f"| series with a false change, of {QUIET} | {' | '.join(methods)} |", rule]
    for kind in QUIETS:
        cells = (str(by_key[kind, method].found) for method in methods)
        false.append(f"| {kind} | {' | '.join(cells)} |")
    return "\n".join([*found, "", *false])


def load(path: Path = RESULTS) -> list[Line]:
    """Return the stored lines."""
    return [Line(**line) for line in json.loads(path.read_text(encoding="utf-8"))]


def main(arguments: Sequence[str]) -> int:
    """Judge all series, or print the stored table."""
    parser = argparse.ArgumentParser(prog="python -m benches.histories")
    parser.add_argument("--table", action="store_true", help="print the stored table")
    parser.add_argument("--design", action="store_true", help="judge other series, store nothing")
    parser.add_argument("--peers", metavar="PYTHON", help="interpreter that has the peers")
    chosen = parser.parse_args(arguments)
    if chosen.table:
        print(table(load()))
        return 0
    if chosen.peers is None:
        print("peers skipped: name an interpreter that has them by --peers", file=sys.stderr)
    lines = judged(chosen.peers, seed=_DESIGN_SEED if chosen.design else _FINAL_SEED)
    if not chosen.design:
        kept = [] if chosen.peers else [one for one in load() if one.method not in OURS]
        lines = [*lines, *kept]
        kinds = dict.fromkeys(line.kind for line in lines)
        rows = (
            ", ".join(json.dumps(asdict(line)) for line in lines if line.kind == kind)
            for kind in kinds
        )
        RESULTS.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
    print(table(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
