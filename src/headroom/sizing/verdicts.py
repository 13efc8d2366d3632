"""Does a configuration meet its targets? A sequential test over replications.

After 5, 8, 12, 18 ... replications each target is compared with the Student-t interval of its
metric. The error allowed for one configuration is shared among all targets and all looks
(Bonferroni), so the verdict holds at its confidence no matter how often it is checked. A
configuration whose intervals still contain a bound at the last look stays undecided, and so does
one whose runs give no figures: a run that is too short does not tell that a size is too small,
unless a response time that still grows exceeds its bound already.

Invariant: the verdict is a function of the replications in their order, so that a resumed search
comes to the same one.

Sources: sequential looks and shared errors as in Law, *Simulation Modeling and Analysis* (2015),
sections 9.4 and 9.7.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as replaced

from headroom.analysis.evidence import Fault
from headroom.analysis.follow_up.stopping import looks
from headroom.analysis.point import PointSummary, summarise
from headroom.analysis.results import Bottleneck
from headroom.experiment.protocol.run import FloatArray, Run
from headroom.experiment.study.plan import PlannedExperiment, Point
from headroom.experiment.study.study import WarmUp
from headroom.quantities import is_share
from headroom.sizing.result import Check
from headroom.sizing.search import Verdict
from headroom.sizing.targets import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The results of the replications of a configuration.

    Parameters
    ----------
    verdict
        ``"undecided"`` where more replications are needed, or the last look did not tell.
    checks
        Each target with its interval.
    replications
        Replications that were looked at.
    bottleneck
        What limits.
    values
        Metric of each target to its value per replication, for paired comparisons.
    note
        Why there are no results, in words.
    fault
        The same as evidence, where the runs say so.
    could_run
        False where a replication failed.
    """

    verdict: Verdict
    checks: list[Check]
    replications: int
    bottleneck: Bottleneck | None
    values: dict[str, FloatArray]
    note: str = ""
    fault: Fault | None = None
    could_run: bool = True

    @property
    def has_no_figures(self) -> bool:
        """True where runs told nothing because they have a fault."""
        return self.fault is not None and self.verdict == "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When a configuration meets its targets; also the stopping rule of its replications.

    Parameters
    ----------
    targets
        All must be met.
    error
        Probability of a wrong verdict about one configuration, between 0 and 1.
    minimum, maximum
        Replications at the first and the last look.
    """

    targets: tuple[Target, ...]
    error: float
    minimum: int
    maximum: int

    @property
    def interval_confidence(self) -> float:
        """Confidence of each two-sided interval: an error on one side only misleads.

        Examples
        --------
        >>> target = Target(metric="throughput", unit="1/s", bound=1.0, is_floor=True)
        >>> Rule(targets=(target,), error=0.02, minimum=5, maximum=8).interval_confidence
        0.98
        """
        return 1.0 - 2.0 * self.error / (len(self.targets) * len(self._looks()))

    def _looks(self) -> list[int]:
        return list(looks(minimum=self.minimum, maximum=self.maximum))

    def judge(self, experiment: PlannedExperiment, runs: Sequence[Run]) -> Judgement:
        """Return the verdict at the first look that decides, else at the last one so far."""
        passed = [look for look in self._looks() if look <= len(runs)] or [len(runs)]
        for look in passed:
            found = self._at(experiment, runs[:look])
            if found.verdict != "undecided" or self._is_hopeless(found):
                break
        return found

    def needs_more(self, experiment: PlannedExperiment, point: Point, runs: Sequence[Run]) -> bool:
        """Return whether more runs may decide; see `runner.StoppingRule`."""
        del point
        found = self.judge(experiment, runs)
        is_open = found.verdict == "undecided" and not self._is_hopeless(found)
        return len(runs) < self.maximum and is_open

    def _is_hopeless(self, found: Judgement) -> bool:
        """Return whether more runs will hardly give figures: a few might still show it steady."""
        return found.has_no_figures and found.replications >= self._looks()[:3][-1]

    def next_look(self, experiment: PlannedExperiment, count: int) -> int:
        """Return the number of replications, above `count`, at which the rule looks next."""
        del experiment
        return next((look for look in self._looks() if look > count), count + 1)

    def _at(self, experiment: PlannedExperiment, runs: Sequence[Run]) -> Judgement:
        summary = summarise(experiment, runs)
        checks = [self._check(target, summary) for target in self.targets]
        note, fault = _why_no_figures(summary)
        if fault is not None and fault.warm_up is not None:
            checks = self._while_it_rises(experiment, runs) or checks
        return Judgement(
            verdict="fails" if note else _verdict_of(checks),
            checks=checks,
            replications=len(runs),
            bottleneck=summary.bottleneck,
            values={
                target.metric: summary.samples[target.metric].values
                for target in self.targets
                if target.metric in summary.samples and len(summary.windows) == len(runs)
            },
            note=note,
            fault=fault,
        )

    def _while_it_rises(self, experiment: PlannedExperiment, runs: Sequence[Run]) -> list[Check]:
        """Return the checks that fail even before a steady state, which will be worse; else none.

        A queue that still grows has responses below those to come: if its second half misses an
        upper bound, the steady state does.
        """
        middle_s = min(float(run.snapshot_times_s[-1]) for run in runs) / 2.0
        whole, later = (
            summarise(replace(experiment, spec=replaced(experiment.spec, warm_up=cut)), runs)
            for cut in (WarmUp(method="none"), WarmUp(method="fixed", seconds=middle_s))
        )
        return [
            check
            for target in self.targets
            if (check := self._check(target, later)).met is False and not target.is_floor
            if (of_all := self._check(target, whole).value) is not None
            if check.value is not None and check.value >= of_all
        ]

    def _check(self, target: Target, summary: PointSummary) -> Check:
        sample = summary.samples.get(target.metric)
        if sample is None:
            return Check(target=target, value=None)
        interval = sample.interval(confidence=self.interval_confidence)
        low, high = interval.low, interval.high
        if low is not None and is_share(target.metric):
            low = max(low, 0.0)
        return Check(
            target=target,
            value=interval.value,
            low=low,
            high=high,
            met=_is_met(target, low, high),
        )


def _is_met(target: Target, low: float | None, high: float | None) -> bool | None:
    if low is None or high is None:
        return None
    both = {target.is_met_by(low), target.is_met_by(high)}
    return both.pop() if len(both) == 1 else None


def _verdict_of(checks: Sequence[Check]) -> Verdict:
    """Return ``fails`` as soon as one target is surely missed, ``meets`` once all are met."""
    if any(check.met is False for check in checks):
        return "fails"
    return "meets" if all(check.met for check in checks) else "undecided"


def _why_no_figures(summary: PointSummary) -> tuple[str, Fault | None]:
    if summary.saturation is not None:
        return f"saturated: {summary.saturation.name or 'the system'} is offered too much", None
    if summary.samples:
        return "", None
    if summary.cut is not None and not summary.cut.is_steady:
        return "", Fault(code="warm_up", warm_up=summary.cut.evidence)
    return ("", summary.faults[0]) if summary.faults else ("no replication gave a figure", None)
