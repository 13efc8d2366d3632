"""How often prediction intervals of fitted queueing models hold: `python -m benches.predictions`.

A server whose demand changes with its load (`benches.changing_demand`) is measured as in a study,
with scatter and with a neighbour that changes between measurement and test. The model
`interactive`, with one constant demand, is fitted to it by `least-squares`. The fitted model
predicts the server at its knee, at twice that load, and without think time. An interval covers if
it contains the truth. Cases that the fit rejects are counted separately.

The published errors behind the intervals come from real systems, never from these. The last columns
show what the simulated systems alone would give: the factor that covers 95% of the errors of all
*other* families, and how often it covers the family that was left out.

Writes `benches/results/predictions.json`; `--print` prints the table of the stored results.
"""

import argparse
import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any, ClassVar, cast

import numpy as np

from benches.changing_demand import KNOWN, OTHER, Case, Maker, Queue, cores, throughput
from benches.harness import write_rows
from headroom.analysis.fits.least_squares import LeastSquares, Options
from headroom.analysis.fits.loads import load_of
from headroom.analysis.fits.model_answers import ModelAnswers
from headroom.analysis.fits.prediction import Margins, Sides
from headroom.analysis.statistics.intervals import Sample
from headroom.experiment.protocol.changes import Change
from headroom.experiment.protocol.fit_method import (
    FitError,
    FittedSet,
    Observed,
    SourcePoint,
    Target,
)
from headroom.experiment.protocol.model_parameters import parameters_of
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value
from headroom.forecasts import Forecast
from headroom.simulation import Model
from headroom.systems.model.library import interactive

RESULTS = Path(__file__).resolve().parent / "results" / "predictions.json"
CASES = 40
"""Servers of each family for each kind of evidence."""
SEED = 20261123
REPLICATIONS = 5
SCATTER = 0.03
"""Standard deviation of the logarithm of a replication."""
DRIFT = {"apart": 0.15, "alternated": 0.05}
"""The error from changes of neighbours between measurement and test: minutes or seconds apart."""
CLIENTS = (16, 32, 96, 128)
LOADS = {"knee": 1.0, "twice": 2.0, "no think": math.inf}
"""Clients / think time of the predicted points, in units of the saturated throughput."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A way to measure before a prediction."""

    name: str
    metrics: tuple[str, ...]
    shares: tuple[float, ...] = ()
    """Clients / think time in units of the saturated throughput, with the clients of the target."""
    clients: tuple[int, ...] = ()
    """Clients without think time; 0 means those of the target."""
    visits: int = 1
    knows_servers: bool = True


CPU, RATE, TIME = "station.server.utilization", "throughput", "response_s_mean"
EVIDENCE = (
    Evidence(name="processor time, low load", metrics=(CPU,), shares=(0.1, 0.3, 0.45)),
    Evidence(name="response times, low load", metrics=(TIME,), shares=(0.1, 0.3, 0.45)),
    Evidence(name="1 to 8 clients", metrics=(RATE,), clients=(1, 2, 4, 8)),
    Evidence(name="burst, 64 clients", metrics=(RATE,), clients=(64,)),
    Evidence(name="burst, target clients", metrics=(RATE,), clients=(0,)),
    Evidence(name="alternated burst", metrics=(RATE,), clients=(0,), visits=3),
    Evidence(
        name="response times, cores unknown",
        metrics=(TIME,),
        shares=(0.1, 0.3, 0.45),
        knows_servers=False,
    ),
)


class Repairman:
    """The model `interactive` by its own formula: the same numbers, a hundred times as fast."""

    name: ClassVar[str] = "repairman"
    column: ClassVar[Column] = Column.MODEL

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters of `interactive` that the formula knows."""
        known = ("users", "think_s", "service_s", "servers")
        return tuple(one for one in parameters_of(interactive) if one.name in known)

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:  # noqa: ARG002
        """Return nothing: the metrics are those of `forecast`."""
        return ()

    def forecast(
        self,
        config: Mapping[str, Value],
        changes: Sequence[Change],  # noqa: ARG002
    ) -> Forecast:
        """Return throughput, response time and utilization."""
        values = _repairman(
            int(config["users"]),
            float(config["think_s"]),
            float(config["service_s"]),
            int(config["servers"]),
        )
        return Forecast(values=dict(zip((RATE, TIME, CPU), values, strict=True)), is_exact=True)

    @classmethod
    def model_names(cls) -> tuple[str, ...]:
        """Return nothing: it is not registered."""
        return ()

    def model(
        self,
        config: Mapping[str, Value],
        changes: Sequence[Change] = (),  # noqa: ARG002
    ) -> Model:
        """Return the model, from which its load is read."""
        return interactive(**cast("Any", config))

    def natural_end(self, model: Model) -> str:  # noqa: ARG002
        """Return nothing: it has a steady state."""
        return ""

    def run_model(self, config: Mapping[str, Value], **how: object) -> Run:
        """Refuse to run: it has formulas."""
        raise NotImplementedError(config, how)


@lru_cache(maxsize=4096)
def _repairman(
    users: int, think_s: float, service_s: float, servers: int
) -> tuple[float, float, float]:
    rate = throughput(users, think_s, [Queue(service_s, cores(servers))])
    return rate, users / rate - think_s, rate * service_s / servers


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One prediction: truth over prediction and both ends of the interval, as logarithms."""

    family: str
    evidence: str
    load: str
    kind: str = ""
    errors: dict[str, float] = field(default_factory=dict)
    below: dict[str, float] = field(default_factory=dict)
    above: dict[str, float] = field(default_factory=dict)

    @property
    def is_refused(self) -> bool:
        """True if the fit gave no parameters."""
        return not self.errors

    def holds(self, metric: str) -> bool:
        """Return whether the interval contains the truth."""
        return -self.below[metric] <= self.errors[metric] <= self.above[metric]


def outcomes(maker: Maker, evidence: Evidence, numbers: Iterable[int]) -> list[Outcome]:
    """Return the outcomes of the predictions for some servers of a family."""
    place = (KNOWN + OTHER).index(maker), EVIDENCE.index(evidence)
    return [
        outcome
        for number in numbers
        for outcome in _of_one(maker, evidence, np.random.default_rng((SEED, *place, number)))
    ]


def _of_one(maker: Maker, evidence: Evidence, random: np.random.Generator) -> list[Outcome]:
    case = maker(random)
    clients = int(random.choice(CLIENTS))
    most = case.measured(clients, 0.0)[RATE]
    drift = math.exp(random.normal(0.0, DRIFT["alternated" if evidence.visits > 1 else "apart"]))
    target = Target(
        system=cast("Any", Repairman()),
        config={"users": clients, "think_s": 0.0, "service_s": 1e-4, "servers": case.servers},
    )
    points = _points(case, evidence, clients, most, random)
    ranges = {"service_s": [1e-6, 1e-1]} | ({} if evidence.knows_servers else {"servers": [1, 8]})
    options = Options(parameters=ranges, metrics=list(evidence.metrics))
    try:
        fit = LeastSquares().fit(points, target, options)
    except FitError:
        return [Outcome(family=case.family, evidence=evidence.name, load=load) for load in LOADS]
    values = {parameter.name: parameter.value for parameter in fit.parameters}
    loads = tuple(
        load_of(target.system, {**target.config, **point.config, **values}, visits=point.visits)
        for point in points
    )
    fitted = FittedSet(where={}, found=fit, origin="measured", loads=loads)
    return [
        _predicted(case, evidence, target, fitted, load=load, most=most, drift=drift)
        for load in LOADS
    ]


def _points(
    case: Case, evidence: Evidence, clients: int, most: float, random: np.random.Generator
) -> list[SourcePoint]:
    """Return the points that a study would measure."""
    loads = [(clients, clients / (share * most)) for share in evidence.shares]
    loads += [(count or clients, 0.0) for count in evidence.clients]
    return [
        SourcePoint(
            experiment="measured",
            column=Column.MEASURE,
            levels={},
            config={"users": count, "think_s": think_s, "servers": case.servers}
            if evidence.knows_servers
            else {"users": count, "think_s": think_s},
            observed={
                name: _observed(value, random)
                for name, value in case.measured(count, think_s).items()
            },
            visits=evidence.visits,
        )
        for count, think_s in loads
    ]


def _observed(value: float, random: np.random.Generator) -> Observed:
    sample = Sample(values=value * np.exp(random.normal(0.0, SCATTER, REPLICATIONS)))
    return Observed(
        value=sample.value, standard_error=sample.standard_error, degrees=sample.degrees
    )


def _predicted(
    case: Case,
    evidence: Evidence,
    target: Target,
    fitted: FittedSet,
    *,
    load: str,
    most: float,
    drift: float,
) -> Outcome:
    clients = int(target.config["users"])
    think_s = clients / (LOADS[load] * most)
    config = {**target.config, **fitted.values, "think_s": think_s}
    model = ModelAnswers(target.system, "formulas")
    margins = Margins.of(model, target.parameters, config, fitted)
    truth = case.measured(clients, think_s, drift=drift)
    sides = {
        name: margins.fit.get(name, Sides()).joined(margins.method.get(name, Sides()))
        for name in (RATE, TIME)
    }
    return Outcome(
        family=case.family,
        evidence=evidence.name,
        load=load,
        kind=margins.reach.kind if margins.reach else "",
        errors={name: math.log(truth[name] / margins.best[name]) for name in sides},
        below={name: side.below for name, side in sides.items()},
        above={name: side.above for name, side in sides.items()},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table."""

    evidence: str
    load: str
    families: str
    cases: int
    refused: int
    held: dict[str, int]
    """Metric to how many intervals contain the truth."""
    width: dict[str, float]
    """Metric to the median of the half-width, as a factor either way."""
    error: dict[str, float]
    """Metric to the median of the error, as a factor."""
    others: float
    """Factor that holds 95% of the errors of the throughput of the other families."""
    others_held: int

    @property
    def predicted(self) -> int:
        """Cases that were not refused."""
        return self.cases - self.refused


def rows(all_outcomes: Sequence[Outcome]) -> list[Row]:
    """Return the lines: each kind of evidence with each load, observed laws and others apart."""
    groups = {"observed laws": names_of(KNOWN), "other laws": names_of(OTHER)}
    return [
        _row(evidence.name, load, title, names, all_outcomes)
        for evidence in EVIDENCE
        for load in LOADS
        for title, names in groups.items()
    ]


def names_of(makers: Iterable[Maker]) -> set[str]:
    """Return the names of families."""
    return {maker.__name__.replace("_", " ") for maker in makers}


def _row(
    evidence: str, load: str, title: str, names: set[str], all_outcomes: Sequence[Outcome]
) -> Row:
    alike = [
        outcome for outcome in all_outcomes if (outcome.evidence, outcome.load) == (evidence, load)
    ]
    here = [outcome for outcome in alike if outcome.family in names]
    sure = [outcome for outcome in here if not outcome.is_refused]
    left_out = {name: _factor_without(name, alike) for name in names}
    return Row(
        evidence=evidence,
        load=load,
        families=title,
        cases=len(here),
        refused=len(here) - len(sure),
        held={metric: sum(outcome.holds(metric) for outcome in sure) for metric in (RATE, TIME)},
        width={
            metric: _typical([_half(outcome, metric) for outcome in sure])
            for metric in (RATE, TIME)
        },
        error={
            metric: _typical([abs(outcome.errors[metric]) for outcome in sure])
            for metric in (RATE, TIME)
        },
        others=median(left_out.values()),
        others_held=sum(
            abs(outcome.errors[RATE]) <= math.log(left_out[outcome.family]) + 1e-12
            for outcome in sure
        ),
    )


def _half(outcome: Outcome, metric: str) -> float:
    return (outcome.below[metric] + outcome.above[metric]) / 2.0


def _typical(logarithms: Sequence[float]) -> float:
    return math.exp(min(median(logarithms), 99.0)) if logarithms else 0.0


def _factor_without(family: str, all_outcomes: Sequence[Outcome]) -> float:
    """Return the factor that 95% of the errors of all other families stay within."""
    errors = [
        abs(outcome.errors[RATE])
        for outcome in all_outcomes
        if outcome.family != family and outcome.errors
    ]
    return math.exp(float(np.quantile(errors, 0.95))) if errors else 1.0


def measure(cases: int, jobs: int) -> list[Row]:
    """Return the whole table."""
    tasks = [(maker, evidence) for maker in KNOWN + OTHER for evidence in EVIDENCE]
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(outcomes, *task, range(cases)) for task in tasks]
        all_outcomes = [outcome for future in futures for outcome in future.result()]
    return rows(all_outcomes)


def load() -> list[Row]:
    """Return the stored lines."""
    return [Row(**row) for row in json.loads(RESULTS.read_text(encoding="utf-8"))]


def table(lines: Iterable[Row]) -> str:
    """Return the lines as a table of Markdown, which names each measurement once."""
    heads = ("Measured before", "Predicted", "Laws", "Refused", "X held", "X width",
             "X error", "R held", "R width", "Left out", "held")  # fmt: skip
    text = [f"| {' | '.join(heads)} |", f"| --- | --- | --- |{' ---: |' * 8}"]
    last = ""
    for line in lines:
        text.append(_line(line, "" if line.evidence == last else line.evidence))
        last = line.evidence
    return "\n".join(text)


def _line(row: Row, evidence: str) -> str:
    refused = f"{row.refused} of {row.cases}" if row.refused else ""
    cells = [evidence, row.load, row.families.removesuffix(" laws"), refused]
    if row.predicted:
        cells += [
            _percent(row.held[RATE], row.predicted),
            _times(row.width[RATE]),
            _times(row.error[RATE]),
            _percent(row.held[TIME], row.predicted),
            _times(row.width[TIME]),
            _times(row.others),
            _percent(row.others_held, row.predicted),
        ]
    else:
        cells += [""] * 7
    return f"| {' | '.join(cells)} |"


def _percent(part: int, whole: int) -> str:
    return f"{100.0 * part / whole:.0f}%"


def _times(factor: float) -> str:
    return f"{factor:.2f}" if factor < 10.0 else f"{factor:.0f}"  # noqa: PLR2004 - three digits


def main(arguments: Sequence[str]) -> int:
    """Measure and store the table, or print the stored one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--print", action="store_true", dest="is_printed")
    parser.add_argument("--cases", type=int, default=CASES)
    chosen = parser.parse_args(arguments)
    lines = load() if chosen.is_printed else measure(chosen.cases, os.cpu_count() or 1)
    print(table(lines))
    if not chosen.is_printed:
        write_rows(lines, RESULTS)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
