"""Hold the results of files against every check, and sum up."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from headroom.audit.checks import (
    ceiling,
    distribution,
    implied,
    laws,
    omission,
    over_time,
    tools,
)
from headroom.audit.result import Checked, Finding, Level, Loop, Result, Unchecked

CHECKS: Mapping[str, Callable[[Result], Checked]] = {
    "completions": laws.completions,
    "failures": laws.failures,
    "whole failures": laws.whole_failures,
    "Little's law": laws.population,
    "longest mean": implied.longest_mean,
    "utilization": laws.utilization,
    "order of percentiles": distribution.order,
    "mean": distribution.mean,
    "deviation": distribution.deviation,
    "recomputed": distribution.recomputed,
    "samples": distribution.samples,
    "steady state": over_time.steady,
    "pauses": over_time.pauses,
    "repeated runs": over_time.repeated_runs,
    "open loop": laws.open_loop,
    "offered load": omission.shortfall,
    "omission": omission.stall,
    "fio": tools.fio,
    "pgbench": tools.pgbench,
    "warehouses": tools.warehouses,
}
"""Checks of single results by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Numbers that the user supplies for those that files lack; see `Result`."""

    clients: float | None = None
    think_s: float | None = None
    cpus: float | None = None
    offered: float | None = None
    loop: Loop = ""

    def added_to(self, result: Result) -> Result:
        """Return a result with these numbers; what is given here replaces what the file says."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(
            result, **{name: value for name, value in given.items() if value not in (None, "")}
        )


def named(result: Result, *, among: int) -> Result:
    """Return a result whose name says its file, if it is of one of several."""
    if among == 1 or result.name == result.source:
        return result
    return replace(result, name=f"{result.source}: {result.name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The answer: findings, checks that were made, and laws that lacked a number.

    Parameters
    ----------
    done
        Names of the checks that were made of at least one result.
    unchecked
        What could not be checked of which results.
    result_count
        Number of results.
    derived
        Name of a result, and a figure that follows from its stated ones.
    """

    findings: tuple[Finding, ...]
    done: tuple[str, ...]
    unchecked: tuple[Unchecked, ...]
    result_count: int
    derived: tuple[tuple[str, str], ...] = ()

    def of(self, level: Level) -> tuple[Finding, ...]:
        """Return the findings of a level."""
        return tuple(one for one in self.findings if one.level is level)

    @property
    def contradictions(self) -> tuple[Finding, ...]:
        """The findings that break a law."""
        return self.of(Level.CONTRADICTION)


def audit(results: Sequence[Result]) -> Audit:
    """Hold all results against all checks.

    Examples
    --------
    >>> from headroom.audit.result import Stated
    >>> fast = Result(tool="csv", source="t.csv", name="A", clients=10, throughput=Stated(1000.0),
    ...               mean=Stated(0.02))
    >>> [finding.check for finding in audit([fast]).contradictions]
    ["Little's law"]
    """
    full = [implied.filled(one) for one in results]
    answers = [
        # A throughput that was filled in from a count agrees with that count.
        _named(check(result if name == "completions" else known), name, result.name)
        for result, known in zip(results, full, strict=True)
        for name, check in CHECKS.items()
    ]
    answers.append(_named(ceiling.ceiling(results), "ceiling", "all"))
    findings = [one for found, _ in answers if isinstance(found, list) for one in found]
    return Audit(
        findings=tuple(sorted(findings, key=lambda one: list(Level).index(one.level))),
        done=tuple(dict.fromkeys(name for found, name in answers if isinstance(found, list))),
        unchecked=tuple(found for found, _ in answers if isinstance(found, Unchecked)),
        result_count=len(results),
        derived=tuple((one.name, text) for one in full for text in implied.derived(one)),
    )


def _named(found: Checked, check: str, result: str) -> tuple[Checked, str]:
    if isinstance(found, Unchecked):
        return replace(found, check=check, result=result), check
    if found is None:
        return None, check
    return [replace(one, check=check, result=result) for one in found], check
