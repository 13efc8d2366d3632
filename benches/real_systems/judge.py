"""Predictions of real servers, beside what was measured: one row for each predicted load."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benches.real_systems.study import JUDGED

LIMITS = {
    "hog": "processors", "quota": "quota", "mutex": "lock", "pool": "pool", "fsync": "disk",
    "client": "client", "two": "thread", "loop": "thread",
}  # fmt: skip
"""What limits each kind, by its construction."""
VERDICTS = {
    "hog": "machine.cpu", "quota": "service.server.cpu", "client": "program.busiest_thread",
    "two": "service.server.busiest_thread", "loop": "service.server.busiest_thread",
}  # fmt: skip
"""The observed resource that limits a measured burst; of the others nothing that is observed is."""
_RATE, _TIME = "throughput", "response_s_mean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One predicted load of a case; without a prediction if the fit is refused."""

    case: str
    use: str
    load: float
    measured: float
    spread: float
    """Half of the range of the replications of the measured point, relative to it."""
    neighbours: float
    """Share of the processors that others took during the burst."""
    limit: str = ""
    predicted: float | None = None
    low: float | None = None
    high: float | None = None
    response_error: float | None = None
    response_holds: bool | None = None
    refused: str = ""
    verdict: str = ""
    """What the verdict of the measured burst names."""

    @property
    def kind(self) -> str:
        """Kind of the server."""
        return self.case.partition("-")[0]

    @property
    def error(self) -> float | None:
        """Relative error of the predicted throughput."""
        return None if self.predicted is None else self.predicted / self.measured - 1.0

    @property
    def holds(self) -> bool | None:
        """Whether the interval contains what was measured."""
        if self.predicted is None or self.low is None or self.high is None:
            return None
        return self.low <= self.measured <= self.high

    @property
    def half_width(self) -> float | None:
        """Half of the interval, relative to the prediction."""
        if self.predicted is None or self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2.0 / self.predicted

    @property
    def names_limit(self) -> bool:
        """Whether the fit names what limits by construction."""
        return self.limit == LIMITS[self.kind]

    @property
    def has_verdict(self) -> bool:
        """Whether the verdict of the burst is right: the resource, or none that was observed."""
        return self.verdict == VERDICTS.get(self.kind, "")


def results(folder: Path) -> dict[str, Any]:
    """Return the experiments of a study by name."""
    whole = json.loads((folder / "results" / "results.json").read_text(encoding="utf-8"))
    return {one["name"]: one for one in whole["experiments"]}


def value(point: Mapping[str, Any], metric: str) -> float:
    """Return a metric of a point."""
    return float(point["estimates"][metric]["value"])


def rows(folder: Path) -> Iterator[Row]:
    """Yield the rows of a study whose predictions have run."""
    found = results(folder)
    points = {one["levels"]["load"]: one for one in found["server"]["points"]}
    burst = points["burst"]
    own = sum(value(burst, f"{group}.cpu.busy_mean") for group in ("service.server", "program"))
    count = value(burst, "machine.cpu.count")
    for use in ("fit", "low"):
        fit = found[f"from_{use}"]["fit"]
        sets = fit["sets"]
        for place, load in enumerate(JUDGED):
            there = points[f"{load:g}"]
            whole = there["estimates"][_RATE]
            said = {
                "case": folder.name,
                "use": use,
                "load": load,
                "measured": value(there, _RATE),
                "spread": (whole["maximum"] - whole["minimum"]) / 2.0 / whole["value"],
                "neighbours": value(burst, "machine.cpu.utilization") - own / count,
                "verdict": (burst["bottleneck"] or {}).get("name", ""),
            }
            if not sets:
                yield Row(**said, refused=fit["reason"])
                continue
            point = found[f"from_{use}"]["points"][place]
            estimate = point["estimates"][_RATE]
            time = point["estimates"][_TIME]
            observed_s = value(there, _TIME)
            yield Row(
                **said,
                limit=sets[0]["evidence"]["limit"],
                predicted=estimate["value"],
                low=estimate["low"],
                high=estimate["high"],
                response_error=time["value"] / observed_s - 1.0,
                response_holds=bool(time["low"] and time["low"] <= observed_s <= time["high"]),
            )


def table(lines: Iterable[Row]) -> str:
    """Return the rows as a table of Markdown."""
    heads = ("Case", "From", "Load", "Others", "Measured", "Spread", "Predicted", "Error", "Holds",
             "Half-width", "Response", "Limit")  # fmt: skip
    text = [f"| {' | '.join(heads)} |", f"| --- | --- |{' ---: |' * 9} --- |"]
    text += [_line(line) for line in lines]
    return "\n".join(text)


def _line(row: Row) -> str:
    cells = [row.case, row.use, f"{row.load:g}", f"{row.neighbours:.0%}", f"{row.measured:.0f}",
             f"{row.spread:.0%}"]  # fmt: skip
    if row.predicted is None:
        return f"| {' | '.join([*cells, 'refused', '', '', '', '', row.refused[:60]])} |"
    bounds = "-" if row.low is None or row.high is None else f"{row.low:.0f} to {row.high:.0f}"
    cells += [f"{row.predicted:.0f} ({bounds})", f"{row.error:+.0%}", str(row.holds)]
    cells += ["-" if row.half_width is None else f"{row.half_width:.0%}"]
    right = "" if row.names_limit else f", not {LIMITS[row.kind]}"
    return f"| {' | '.join([*cells, f'{row.response_error:+.0%}', f'{row.limit}{right}'])} |"


def summary(lines: Iterable[Row]) -> Iterator[str]:
    """Yield one line for each kind of evidence."""
    whole = list(lines)
    for use in ("fit", "low"):
        every = [line for line in whole if line.use == use]
        known = [line for line in every if line.predicted is not None]
        if not known:
            yield f"{use}: all {len(every)} refused"
            continue
        errors = sorted(abs(line.error or 0.0) for line in known)
        widths = [math.inf if line.half_width is None else line.half_width for line in known]
        times = sorted(abs(line.response_error or 0.0) for line in known)
        first = {line.case: line for line in every}.values()
        yield (
            f"{use}: {len(every) - len(known)} of {len(every)} refused; throughput error median "
            f"{median(errors):.0%}, 9 of 10 {errors[int(0.9 * (len(errors) - 1))]:.0%}, worst "
            f"{errors[-1]:.0%}; interval holds {sum(bool(line.holds) for line in known)} of "
            f"{len(known)}, half-width median {median(widths):.0%}; response error median "
            f"{median(times):.0%}, worst {times[-1]:.0%}, interval holds "
            f"{sum(bool(line.response_holds) for line in known)}; limit named in "
            f"{sum(line.names_limit for line in first)} of {len(first)} cases; verdict of the "
            f"burst right in {sum(line.has_verdict for line in first)}"
        )
    spreads = [line.spread for line in whole if line.use == "fit"]
    yield f"half of the range of three identical runs: median {median(spreads):.0%}"
