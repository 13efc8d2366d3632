"""Predictions of real servers, beside what was measured: one row for each predicted load."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, cast

import msgspec

from benches.real_systems.study import JUDGED
from benches.real_systems.systems import SYSTEMS, System
from headroom.analysis.fits import measured_systems
from headroom.analysis.fits.demand_errors import group_of
from headroom.analysis.fits.measured_systems import QUIET
from headroom.analysis.results import MeasuredSystem

if TYPE_CHECKING:
    from headroom.experiment.protocol.fit_method import LimitName

_RATE, _TIME, _P95 = "throughput", "response_s_mean", "response_s_p95"


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """A prediction beside what was measured, and both ends of its interval."""

    measured: float
    value: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """Relative error."""
        return self.value / self.measured - 1.0

    @property
    def holds(self) -> bool:
        """Whether the interval contains what was measured."""
        return self.low <= self.measured <= self.high

    @property
    def half_width(self) -> float:
        """Half of the interval, relative to the prediction."""
        return (self.high - self.low) / 2.0 / self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One predicted load of a case; without predictions if the fit is refused."""

    case: str
    """System, clients, and `quiet` or `busy`."""
    use: str
    load: float
    measured: float
    spread: float
    """Half of the range of the replications of the measured point, relative to it."""
    neighbours: float
    """Share of the processors that others took, during the burst or the predicted load."""
    verdict: str
    """What the verdict of the measured burst names."""
    limit: str = ""
    rate: Predicted | None = None
    time: Predicted | None = None
    p95: Predicted | None = None
    refused: str = ""
    service_s: float = 0.0
    """Fitted demand of an operation (s)."""

    @property
    def kind(self) -> str:
        """Name of the system."""
        return self.case.rsplit("-", 2)[0]

    @property
    def system(self) -> System:
        """The system."""
        return SYSTEMS[self.kind]

    @property
    def is_quiet(self) -> bool:
        """Whether nobody else took much of the processors."""
        return self.neighbours <= QUIET

    @property
    def names_limit(self) -> bool:
        """Whether the fit names what limits by construction."""
        return self.limit == self.system.limit

    @property
    def has_verdict(self) -> bool:
        """Whether the verdict of the burst is right: the resource, or none that was observed."""
        return self.verdict == self.system.verdict


PUBLISHED = Path(measured_systems.__file__).with_name(measured_systems.FILE)
RESULTS = Path(__file__).resolve().parent.parent / "results" / "real_systems.json"


def stored() -> dict[str, list[Row]]:
    """Return the stored rows of each case."""
    content = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    return {case: [_row(one) for one in some] for case, some in content.items()}


def store(known: Mapping[str, Sequence[Row]]) -> None:
    """Store the rows of all cases, a line each."""
    cases = [
        f"{json.dumps(case)}: [\n" + ",\n".join(json.dumps(asdict(row)) for row in some) + "\n]"
        for case, some in sorted(known.items())
    ]
    RESULTS.write_text("{\n" + ",\n".join(cases) + "\n}\n", encoding="utf-8")


def publish(known: Mapping[str, Sequence[Row]]) -> None:
    """Write the measured systems that fits are compared with."""
    found = [
        _measured([row for row in some if row.use == use], basis)
        for some in known.values()
        for use, basis in (("fit", "bursts"), ("low", "low_load"))
        if all(row.rate for row in some if row.use == use)
    ]
    lines = (msgspec.json.encode(one).decode() for one in found)
    PUBLISHED.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def _measured(some: Sequence[Row], basis: str) -> MeasuredSystem:
    errors = [abs(row.rate.error) for row in some if row.rate]
    content = {
        "case": some[0].case,
        "product": some[0].system.product,
        "limit": some[0].limit,
        "basis": basis,
        "clients": int(some[0].case.rsplit("-", 2)[1]),
        "service_s": float(f"{some[0].service_s:.3g}"),
        "neighbours": round(median(row.neighbours for row in some), 3),
        "points": len(some),
        "throughput": round(median(errors), 4),
        "worst_throughput": round(max(errors), 4),
        "p95": next(round(abs(row.p95.error), 4) for row in some if row.p95),
    }
    return msgspec.convert(content, MeasuredSystem)


def _row(content: dict[str, Any]) -> Row:
    for name in ("rate", "time", "p95"):
        if content[name] is not None:
            content[name] = Predicted(**content[name])
    return Row(**content)


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
    system = SYSTEMS[folder.name.rsplit("-", 2)[0]]
    for use in ("fit", "low"):
        fit = found[f"from_{use}"]["fit"]
        sets = fit["sets"]
        for place, load in enumerate(JUDGED):
            there = points[f"{load:g}"]
            said = {
                "case": folder.name,
                "use": use,
                "load": load,
                "measured": value(there, _RATE),
                "spread": _half_range(there["estimates"][_RATE]),
                "neighbours": max(_of_others(burst, system), _of_others(there, system)),
                "verdict": (burst["bottleneck"] or {}).get("name", ""),
            }
            if not sets:
                yield Row(**said, refused=fit["reason"])
                continue
            point = found[f"from_{use}"]["points"][place]
            rate, time, p95 = (_predicted(point, there, metric) for metric in (_RATE, _TIME, _P95))
            demands = {one["name"]: one["value"] for one in sets[0]["parameters"]}
            yield Row(
                **said, limit=sets[0]["evidence"]["limit"], service_s=demands["service_s"],
                rate=rate, time=time, p95=p95,
            )  # fmt: skip


def _of_others(point: Mapping[str, Any], system: System) -> float:
    """Return the share of the processors that others took during a point."""
    groups = [*(f"service.{name}" for name in system.names), "program"]
    own = sum(value(point, f"{group}.cpu.busy_mean") for group in groups)
    return value(point, "machine.cpu.utilization") - own / value(point, "machine.cpu.count")


def _predicted(point: Mapping[str, Any], there: Mapping[str, Any], metric: str) -> Predicted:
    """Return a prediction; an interval without an end holds whatever is there."""
    one = point["estimates"][metric]
    high = one.get("high")
    return Predicted(
        measured=value(there, metric),
        value=one["value"],
        low=one.get("low") or 0.0,
        high=math.inf if high is None else high,
    )


def _half_range(estimate: Mapping[str, Any]) -> float:
    low, high = (estimate.get(name) or estimate["value"] for name in ("minimum", "maximum"))
    return float(high - low) / 2.0 / float(estimate["value"])


def line_of(row: Row) -> str:
    """Return a row as a line of a table."""
    cells = [row.case, row.use, f"{row.load:g}", f"{row.neighbours:.0%}", f"{row.measured:.0f}",
             f"{row.spread:.0%}"]  # fmt: skip
    if row.rate is None or row.time is None:
        return f"| {' | '.join([*cells, 'refused', '', '', '', '', row.refused[:60]])} |"
    rate = row.rate
    right = "" if row.names_limit else f", not {row.system.limit}"
    cells += [f"{rate.value:.0f} ({rate.low:.0f} to {rate.high:.0f})", f"{rate.error:+.0%}",
              str(rate.holds), f"{rate.half_width:.0%}", f"{row.time.error:+.0%}",
              f"{row.limit}{right}"]  # fmt: skip
    return f"| {' | '.join(cells)} |"


USES = {"fit": "bursts", "low": "points below half of the knee"}
"""What predictions were made from."""


def summary(lines: Sequence[Row]) -> Iterator[str]:
    """Yield what all rows come to, as lines of a table of Markdown."""
    heads = ("From", "Others", "Points", "Refused", "Throughput off by: median", "9 of 10", "Worst",
             "Interval holds", "Half-width", "Identical runs",
             "p95 off by, at 0.9 of the knee")  # fmt: skip
    yield f"| {' | '.join(heads)} |"
    yield f"| --- | --- |{' ---: |' * 9}"
    for use, words in USES.items():
        for is_quiet in (True, False):
            some = [one for one in lines if one.use == use and one.is_quiet == is_quiet]
            if some:
                cells = [words, "at most 10%" if is_quiet else "more", *_figures(some)]
                yield f"| {' | '.join(cells)} |"


def _figures(some: Sequence[Row]) -> list[str]:
    """Return the figures of rows: a half-width is of the interval, identical runs half a range."""
    rates = [row.rate for row in some if row.rate is not None]
    counts = [str(len(some)), str(len(some) - len(rates))]
    if not rates:
        return [*counts, *[""] * 7]
    errors = sorted(abs(one.error) for one in rates)
    late = [abs(row.p95.error) for row in some if row.p95 and row.load == min(JUDGED)]
    shares = (
        median(errors), errors[math.ceil(0.9 * len(errors)) - 1], errors[-1],
        sum(one.holds for one in rates) / len(rates), median(one.half_width for one in rates),
        median(row.spread for row in some if row.rate),
    )  # fmt: skip
    return [*counts, *(f"{share:.0%}" for share in shares), f"{median(late):.0%}" if late else ""]


def group_errors(lines: Sequence[Row]) -> Iterator[str]:
    """Yield the root mean square of the log errors of each group of demands, of `fit` to bursts.

    The published errors of `demand_errors.toml` are these; near the knee the error of a demand is
    about twice that of the throughput.
    """
    groups: dict[tuple[str, str], list[float]] = {}
    for row in lines:
        if row.use == "fit" and row.rate is not None:
            group = str(group_of(cast("LimitName", row.limit), row.service_s)) or "other"
            place = "past the knee" if row.load > 1.0 else "near the knee"
            groups.setdefault((group, place), []).append(math.log1p(row.rate.error))
    for (group, place), errors in sorted(groups.items()):
        spread = math.sqrt(sum(error**2 for error in errors) / len(errors))
        yield f"{group}, {place}: root mean square of {len(errors)} log errors {spread:.3f}"


def named(lines: Sequence[Row]) -> str:
    """Return how often the limit was named right, in a sentence."""
    first = {line.case: line for line in lines if line.use == "fit"}.values()
    fits, verdicts = sum(one.names_limit for one in first), sum(one.has_verdict for one in first)
    return (
        f"The fit of the bursts named what limits in {fits} of {len(first)} cases, the verdict of "
        f"the measured burst in {verdicts}."
    )


def by_system(lines: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each system: its predictions from bursts."""
    heads = ("System", "Limit", "Named", "Points", "Throughput off by: median", "Worst",
             "Interval holds", "p95 off by", "From below the knee")  # fmt: skip
    yield f"| {' | '.join(heads)} |"
    yield f"| --- | --- |{' ---: |' * 6} --- |"
    for name, system in SYSTEMS.items():
        own = [row for row in lines if row.kind == name]
        some = [row for row in own if row.use == "fit"]
        if some:
            figures = _figures(some)
            cells = [name, system.limit, _named(some), figures[0], figures[2], *figures[4:6],
                     figures[8], _low([row for row in own if row.use == "low"])]  # fmt: skip
            yield f"| {' | '.join(cells)} |"


def _named(some: Sequence[Row]) -> str:
    cases = {row.case: row.names_limit for row in some}
    return f"{sum(cases.values())} of {len(cases)}"


def _low(some: Sequence[Row]) -> str:
    errors = [abs(row.rate.error) for row in some if row.rate]
    if not errors:
        return "refused"
    held = sum(row.rate.holds for row in some if row.rate)
    return f"{median(errors):.0%} off, {held} of {len(errors)} hold"
