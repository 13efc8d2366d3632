"""The result of analysing a study: plain data for reports, tables and JSON.

Invariant: everything here survives `msgspec.to_builtins` and back; no arrays, no live objects.
A figure in a report comes from these fields and from nowhere else.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from headroom.analysis.answer_evidence import Answer, Record
from headroom.analysis.evidence import (
    Absent,
    AppliedChange,
    ClaimEvidence,
    ComparisonEvidence,
    CrossingEvidence,
    Fault,
    LawPlace,
    LimitEvidence,
    NoComparison,
    NoEffect,
    NoInterval,
    NoKnee,
    NoValue,
    Outcome,
    PredictionKind,
    RunOrder,
    WarmUpEvidence,
)
from headroom.experiment.journal.journal_rows import State
from headroom.experiment.protocol.artefact import Artefact
from headroom.experiment.protocol.fit_method import FitEvidence, LimitName, ParameterEvidence
from headroom.experiment.protocol.section import Section
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.asks import Ask, Direction
from headroom.experiment.study.study import Replications

Verdict: TypeAlias = Literal["holds", "differs", "undecided"]
Basis: TypeAlias = Literal["fitted", "arithmetic", "simulator", "own", ""]
Method: TypeAlias = Literal[
    "student-t",
    "batch means",
    "order statistics",
    "signed ranks",
    "two intervals",
    "jackknife",
    "prediction",
    "none",
]


class _Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all results."""


class Margin(_Result, frozen=True, kw_only=True):
    """Possible error of a predicted metric, apart from the scatter of its own runs.

    All are logarithms of the metric, at 95%; `below` and `above` are distances from the estimate,
    None if nothing bounds it. A side combines the runs, the fit and the method by their squares.
    """

    run_low: float | None
    """Ends of the interval that counts the scatter of the runs alone, in the unit of the metric."""
    run_high: float | None
    fit_below: float
    """By what the fitted points do not refute."""
    fit_above: float | None
    method_below: float
    """By the published error of the method."""
    method_above: float | None
    degrees: float
    """Degrees of freedom of the error of the method; 0 if none is known."""


class Estimate(_Result, frozen=True, kw_only=True):
    """One metric of one point over its replications, with a 95% interval.

    `value` is the mean in the model column (interval from the batch means of all replications),
    the median (order-statistic interval) in the measure column, and for percentiles of merged
    histograms the pooled percentile (interval from its batches). Where a run keeps no batches of a
    metric, a mean has a Student-t interval over the replications. `low` and `high` are None where
    `count` is too small for an interval; `reason` then says so.
    """

    metric: str
    unit: str
    better: Literal["high", "low", "none"]
    count: int
    value: float
    low: float | None
    high: float | None
    method: Method
    centre: Literal["mean", "median", "pooled", "choice"]
    """Of settings that a system chose, the most frequent choice."""
    mean: float
    median: float
    stdev: float
    minimum: float
    maximum: float
    mean_deviation: float | None = None
    """Mean distance of the replications from their mean; None in results of older versions."""
    reason: NoInterval | None = None
    margin: Margin | None = None
    """Of a prediction with fitted parameters: `low` and `high` are then its prediction interval."""

    def of_runs(self) -> "Estimate":
        """Return the estimate with the interval that counts the scatter of its runs alone."""
        if self.margin is None:
            return self
        return msgspec.structs.replace(
            self, low=self.margin.run_low, high=self.margin.run_high, margin=None
        )


class Resource(_Result, frozen=True, kw_only=True):
    """A station or a pool at one point.

    Its estimates are those of the point whose metric starts with ``KIND.NAME.``. Stations:
    ``utilization``, ``utilization_max`` (of a group, its busiest station over whole runs),
    ``queue_len_mean``, ``queue_len_max`` (of whole runs, warm-up included),
    ``jobs_mean``, ``wait_s_mean``, ``response_s_mean``, ``throughput``. Pools: ``utilization``,
    ``queue_len_mean``, ``queue_len_max``, ``wait_s_mean``, ``throughput`` (grants).
    """

    kind: Literal["station", "pool"]
    name: str
    capacity: float | None
    """Servers or tokens; None if they are without limit or, of something measured, not known."""

    def estimates_among(self, estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
        """Return the estimates of this resource, keyed by metric without ``KIND.NAME.``.

        Parameters
        ----------
        estimates
            All estimates of the point, keyed by metric.
        """
        prefix = f"{self.kind}.{self.name}."
        return {
            metric.removeprefix(prefix): estimate
            for metric, estimate in estimates.items()
            if metric.startswith(prefix) and "." not in metric[len(prefix) :]
        }


class Bottleneck(_Result, frozen=True, kw_only=True):
    """Which station or pool limits a point, and why one may believe it."""

    limits: bool
    kind: Literal["station", "pool", "none"]
    name: str
    evidence: LimitEvidence
    utilization: float
    utilization_low: float | None
    utilization_high: float | None
    wait_share: float | None = None
    """Part of the mean response time that jobs wait at the limiting resource; above 1 where
    several parts of one job wait there at once."""
    from_s: float | None = None
    """Of a terminating run, the stretch (s) in which the resource limits; None: all of it. The
    utilization is that of the stretch."""
    to_s: float | None = None


class Effect(_Result, frozen=True, kw_only=True):
    """The effect of a change on one metric: paired replications of one seed, before and after.

    `ratio` is the mean after over the mean before, with Fieller's 95% interval for pairs.
    """

    metric: str
    unit: str
    better: Literal["high", "low", "none"]
    before: float
    after: float
    ratio: float
    low: float | None
    high: float | None
    pairs: int
    variance_reduction: float | None
    """Variance that independent replications would have given, over that of the pairs; None
    if nothing varies or the pairs cancel all chance."""
    variance_reduction_low: float | None = None
    """95% interval of `variance_reduction`, that of a quotient of two variances of the pairs."""
    variance_reduction_high: float | None = None
    reason: NoInterval | None = None
    """Why the ratio has no interval."""
    after_low: float | None = None
    """95% interval of `after` by itself: it may be known where the ratio is not."""
    after_high: float | None = None


class Saturation(_Result, frozen=True, kw_only=True):
    """Where the load of a point is more than its system can serve, and by how much.

    Response times and queues grow without bound there; throughputs and utilizations of the last
    two thirds of the runs are among the estimates.
    """

    kind: Literal["station", "pool", "system"]
    name: str
    basis: Literal["formulas", "runs"]
    """Whether the offered load says so, or jobs that grow steadily in the replications."""
    ties: list[tuple[Literal["station", "pool"], str]] = []
    """Further stations and pools that are offered as much of their capacity."""
    load: float | None = None
    """Offered load over capacity: by formulas of the station or pool, by runs arrivals over
    completions, with its 95% interval."""
    load_low: float | None = None
    load_high: float | None = None
    offered_per_s: float | None = None
    """Open arrivals (1/s)."""
    served_per_s: float | None = None
    """Open jobs that leave (1/s), with the 95% interval over replications."""
    served_low: float | None = None
    served_high: float | None = None
    growth_per_s: float | None = None
    """Jobs (1/s) by which the number in the system grows, with its 95% interval."""
    growth_low: float | None = None
    growth_high: float | None = None
    classes: list[str] = []
    """Open classes whose jobs grow."""
    unbounded: list[str] = []
    """Metrics that grow without bound: they have no estimate."""


class WhatIfResult(_Result, frozen=True, kw_only=True):
    """The effect of a change of stations or pools at one point."""

    change: str
    """As `headroom what-if --change` takes it."""
    applied: list[AppliedChange] = []
    """The same with the numbers before and after."""
    done: int
    failed: int
    effects: list[Effect] = []
    bottleneck: Bottleneck | None = None
    """The bottleneck after the change."""
    saturation: Saturation | None = None
    """Where the changed system is saturated."""
    reached: list[Estimate] = []
    """Metrics that grow without bound at the point itself, and settle after the change."""
    why_empty: NoEffect | None = None
    """Why there are no effects."""


class WarmUpCut(_Result, frozen=True, kw_only=True):
    """The warm-up of a point: one cut for all its replications."""

    method: Literal["automatic", "mser5", "fixed", "none"]
    cut_s: float
    run_s: float
    is_steady: bool
    evidence: WarmUpEvidence | None = None
    """Why there is no steady state, or what a reader should know of one; None if nothing."""
    correlation_s: float = 0.0
    """Correlation time (s) after the cut: how long the system remembers; 0 where unknown."""
    times_s: list[float] = []
    """Picture: time (s) of each point of `values`, the series averaged over replications."""
    values: list[float] = []
    metric: str = ""
    classes_left_out: list[str] = []
    """Classes with too few completions to find their steady state: not reported."""


class RunsAnalysed(_Result, frozen=True, kw_only=True):
    """How the runs of a point are analysed, and why.

    Runs that end (``terminating``) are whole observations: means over replications with Student's
    t, no warm-up, no steady-state theory.
    """

    kind: Literal["terminating", "steady-state"]
    is_declared: bool = False
    """Whether the study says so."""
    because: str = ""
    """Otherwise, why the runs end, in the words of the system."""


class WindowUsed(_Result, frozen=True, kw_only=True):
    """A window of time whose metrics are called ``window.NAME.METRIC``."""

    name: str
    from_s: float
    to_s: float


class IntervalLine(_Result, frozen=True, kw_only=True):
    """One metric of a terminating run over time: mean over replications, with 95% interval."""

    metric: str
    unit: str
    values: list[float | None]
    """One per interval, to five digits; None if nothing can be said about it."""
    low: list[float | None]
    high: list[float | None]


class OverTime(_Result, frozen=True, kw_only=True):
    """How terminating runs of a point go over time, over all replications.

    A response belongs to the interval in which it completes.
    """

    ends_s: list[float]
    """End (s) of each interval; the first starts with the run."""
    lines: list[IntervalLine]


class RunLength(_Result, frozen=True, kw_only=True):
    """How long the runs of a point are against the time that the system remembers.

    With too few bursts, see `headroom.analysis.run.run_length`, an interval covers the truth less
    often than it says.
    """

    correlation_s: float
    """Correlation time (s): successive results are alike for about so long."""
    times_in_a_run: float
    """Length of the kept part of the shortest run, in correlation times."""
    times_in_all: float
    """Length of all kept parts together, in correlation times."""
    completions_needed: int
    """Completions of a run, at this number of replications, that would do."""
    is_short: bool
    metrics: list[str] = []
    """Response times whose intervals cover less often than they say."""
    heavy: list[str] = []
    """Those of them with a tail too heavy; the others show too few bursts."""
    runs: int = 1


class Distribution(_Result, frozen=True, kw_only=True):
    """The merged distribution of one metric at one point, after the warm-up cut."""

    metric: str
    unit: str
    count: int
    low: list[float]
    """Lower bounds of the bins, in the unit of the metric."""
    high: list[float]
    counts: list[int]
    samples: list[float] = []
    """Raw values instead of bins, where there is one observation per replication."""


class SeriesLine(_Result, frozen=True, kw_only=True):
    """One metric of one station, pool or class over time, in its base unit."""

    kind: str
    name: str
    metric: str
    """Without ``KIND.NAME.``."""
    unit: str
    values: list[float | None]
    """One per interval, to five digits; None if nothing can be said about it."""


class TimeSeries(_Result, frozen=True, kw_only=True):
    """How one replication of a point went over time, warm-up included.

    Value number i of a line, counted from 1, is that of the interval from ``(i - 1) * step_s`` to
    ``i * step_s`` since the start of the run.
    """

    step_s: float
    count: int
    """Intervals: values of each line."""
    lines: list[SeriesLine]
    parts_left_out: int = 0
    """Stations, pools and classes that have series, but no line here: the least busy ones."""


class LatencyMap(_Result, frozen=True, kw_only=True):
    """The response times of measured replications over time, one replication after the other.

    Length number i, counted from 0, is from ``shortest_s * ratio ** i`` to ``ratio`` times that.
    """

    step_s: float
    """Length (s) of a stretch of time; a mean where replications differ a little."""
    per_run: int
    """Stretches of each replication."""
    shortest_s: float
    ratio: float
    stretches: list[list[int]]
    """Of each stretch, in turn: number of a length, share of its responses in 1e-5."""


class LittleCheck(_Result, frozen=True, kw_only=True):
    """Little's law on the runs of a point: the largest gap |N - X R| / N, and its place.

    The gap is a figure: it comes from the jobs that the edges of the window cut. `tolerance` is
    what their ages account for, likewise relative to N. `passed` tells whether the law holds as
    an identity, ages included.
    """

    passed: bool
    worst_gap: float
    kind: LawPlace
    name: str
    tolerance: float = 0.0


class SolverAnswer(_Result, frozen=True, kw_only=True):
    """Results of formulas for a point, without a run."""

    method: str
    """``exact (...)`` or ``approximation (...)``; empty if no formula applies."""
    is_exact: bool
    reasons: list[str] = []
    """Why the values are not exact, or why there are none; each with its line of the model."""
    refused: list[str] = []
    """Those of the reasons for which estimates are withheld; what is left is exact."""
    values: dict[str, float] = {}
    """Keyed by metric, of those that the point reports; in base units."""
    knee: float | None = None
    """Population of the only closed class at which the asymptotes cross."""


class Settled(_Result, frozen=True, kw_only=True):
    """Runs of a measured point that settled at one of two rates (1/s): no run takes the mean."""

    low: float
    high: float
    low_count: int
    high_count: int


class Disturbance(_Result, frozen=True, kw_only=True):
    """A disturbance of the machine while some replications of a point were measured."""

    kind: Literal["others", "steal", "throttling", "swapping", "slower"]
    share: float
    """The worst of these replications: share of processor time that other programs used or the
    host took, of the periods of a quota in which it was exhausted, of time (by `SWAP_PAGE_S`
    of `headroom.analysis.verdicts.disturbances`) that swapping took, or by which known work took
    longer than at its fastest."""
    replications: list[int]
    """Numbers of the replications, from 0."""


class LoadRange(_Result, frozen=True, kw_only=True):
    """Loads of some points: smallest and largest of each; None for what is not known."""

    clients: tuple[int, int] | None = None
    think_s: tuple[float, float] | None = None
    utilization: tuple[float, float] | None = None
    """Of the busiest station, by the fitted model."""
    servers: list[int] = []


class Prediction(_Result, frozen=True, kw_only=True):
    """The basis of the results of a point with fitted parameters."""

    kind: PredictionKind
    metrics: list[str] = []
    """Of ``published``: endings of the metrics whose intervals count the error of the method."""
    measured: LoadRange | None = None
    predicted: LoadRange | None = None
    factor: float | None = None
    """Times, either way, within which 95% of the errors of a demand of this kind lie."""
    source: str = ""


class DiskFigure(_Result, frozen=True, kw_only=True):
    """One figure of the health of a disk, in the unit of its name, over the runs of a point."""

    first: float
    """Before the first run."""
    last: float
    """After the last run."""
    highest: float
    """Before or after any run."""


class LeftArtefact(_Result, frozen=True, kw_only=True):
    """A small file that a replication left."""

    replication: int
    state: State
    artefact: Artefact


class PointResult(_Result, frozen=True, kw_only=True):
    """Everything known about one point."""

    key: str
    levels: dict[str, Value]
    done: int
    failed: int
    planned: int = 0
    """Replications that the point needs in all, as far as that is known now."""
    errors: list[str] = []
    faults: list[Fault] = []
    remarks: list[str] = []
    """Why the figures may mislead a reader, with the number of runs that say so."""
    notes: list[str] = []
    """What a reader should know that puts no figure in doubt, likewise."""
    disturbances: list[Disturbance] = []
    """Of measured replications that count; empty if the machine published nothing."""
    disk_health: dict[str, DiskFigure] = {}
    """Temperature, wear and errors of the disk that was measured; empty if none tells them."""
    estimates: dict[str, Estimate] = {}
    """Keyed by metric: what the system declares, then what else is known about its resources."""
    resources: list[Resource] = []
    outcomes: list[Outcome] = []
    """What became of the work, all together and of each of several classes; empty if all was done
    in time."""
    bottleneck: Bottleneck | None = None
    what_ifs: list[WhatIfResult] = []
    """Effects of changes of stations and pools here, the most useful first."""
    what_ifs_left_out: int = 0
    """Used up stations and pools at which no change was tried, where some were."""
    saturation: Saturation | None = None
    """Where the load is more than the system can serve; None at other points."""
    warm_up: WarmUpCut | None = None
    run_length: RunLength | None = None
    analysed: RunsAnalysed | None = None
    """None without runs."""
    over_time: OverTime | None = None
    """Of terminating runs; None for most of very many points."""
    distributions: list[Distribution] = []
    series: TimeSeries | None = None
    """Of the first replication, where the study asks for it; None for most of very many points."""
    latency: LatencyMap | None = None
    """Of measured replications that count responses by time; None for most of very many points."""
    little: LittleCheck | None = None
    settled: Settled | None = None
    """None unless the runs are clearly of two kinds."""
    absent: dict[str, Absent] = {}
    """Metrics that were requested and that the runs are too short for, with the reason."""
    artefacts: list[LeftArtefact] = []
    """Of the first replication and the first failed one; empty for most of very many points."""
    seeds: list[int] = []
    is_added: bool = False
    """Whether the study did not name the point, but a limit added it where it breaks."""
    solver: SolverAnswer | None = None
    """None if the system knows no formulas, and for most of very many points."""
    law: dict[str, float] = {}
    """Results of the law next to the system, by metric, of those that the point reports."""
    precision_reached: bool | None = None
    """None if replications are fixed."""
    prediction: Prediction | None = None
    """None unless parameters are fitted from other experiments."""

    @property
    def is_finished(self) -> bool:
        """True where every planned replication has succeeded."""
        return self.done >= self.planned

    @property
    def lacks_figures(self) -> bool:
        """True where replications finished, and yet none of them may be reported."""
        return self.done > 0 and not self.estimates and self.saturation is None

    @property
    def limiter(self) -> str:
        """Name of the station or pool that limits; empty if none does."""
        return self.bottleneck.name if self.bottleneck and self.bottleneck.limits else ""


class Factor(_Result, frozen=True, kw_only=True):
    """A factor of an experiment as it was run."""

    name: str
    unit: str
    is_numeric: bool
    levels: list[Value]
    zipped_with: list[str] = []
    direction: Direction | None = None
    """As the study declares it; None: what the points show."""


class ParameterUsed(_Result, frozen=True, kw_only=True):
    """A parameter and where its value comes from, for the provenance table."""

    name: str
    value: Value | None
    unit: str
    source: str
    origin: Literal["default", "fixed", "factor", "fitted"]
    low: float | None = None
    high: float | None = None
    description: str = ""


class FittedValue(_Result, frozen=True, kw_only=True):
    """A parameter that was fitted from other experiments, with its 95% interval."""

    name: str
    value: Value
    unit: str
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    note: str = ""
    """What the method says of it, in words."""
    evidence: list[ParameterEvidence] = []
    is_determined: bool = True
    """False if the points leave at least one end of the interval open."""


class FitCandidate(_Result, frozen=True, kw_only=True):
    """One combination of whole numbers that a fit tried."""

    values: dict[str, Value]
    """All parameters, the others fitted again."""
    error: float | None
    """Root mean square of the relative errors; None if the model answers nothing."""
    is_refuted: bool


class FitProfile(_Result, frozen=True, kw_only=True):
    """The best fit at each value of one parameter, the others fitted again."""

    name: str
    unit: str
    values: list[float]
    rises: list[float]
    """Rise of the sum of squares, in units of the rise that refutes a value."""


class FitResidual(_Result, frozen=True, kw_only=True):
    """What the fitted parameters give for one observation that they were fitted to."""

    experiment: str
    levels: dict[str, Value]
    metric: str
    unit: str
    observed: float
    observed_low: float | None
    observed_high: float | None
    fitted: float
    relative: float | None
    """(fitted - observed) / observed."""


class MeasuredSystem(_Result, frozen=True, kw_only=True):
    """A real system that was fitted, predicted, and measured at the predicted loads."""

    case: str
    product: str
    limit: LimitName
    """What limits it, as its fit said."""
    basis: str
    clients: int
    service_s: float
    """Fitted demand of an operation (s)."""
    neighbours: float
    """Share of the processors that others took."""
    points: int
    throughput: float
    """Relative error over the predicted loads (median)."""
    worst_throughput: float
    p95: float
    """Relative error of the 95th percentile of the response at 0.9 of the knee."""


class FitSet(_Result, frozen=True, kw_only=True):
    """What was fitted for the points with the levels `where`; no levels are all points."""

    where: dict[str, Value]
    parameters: list[FittedValue]
    residuals: list[FitResidual] = []
    notes: list[str] = []
    """What the method says, in words."""
    evidence: FitEvidence | None = None
    left_out: dict[str, int] = {}
    """Source experiment to the number of its points without results."""
    taken: dict[str, Value] = {}
    """Parameters of the load that another experiment has."""
    candidates: list[FitCandidate] = []
    profiles: list[FitProfile] = []
    origin: Literal["measured", "simulated", "predicted"] = "simulated"
    """Of the observations; predicted ones were simulated with fitted parameters."""
    closest: MeasuredSystem | None = None
    """The measured system that is closest to this one."""


class FitResult(_Result, frozen=True, kw_only=True):
    """How the parameters of an experiment were fitted from others; or why they were not."""

    sources: list[str]
    where: dict[str, Value]
    method: str
    state: Literal["fitted", "waits", "refused"]
    sets: list[FitSet] = []
    reason: str = ""
    cure: str = ""
    candidates: list[FitCandidate] = []
    """Of a refused fit: what it tried."""
    profiles: list[FitProfile] = []


class Knee(_Result, frozen=True, kw_only=True):
    """The knee of one metric over one numeric factor, others held at `where`."""

    metric: str
    factor: str
    where: dict[str, Value]
    found: bool
    level: float | None = None
    level_low: float | None = None
    level_high: float | None = None
    value: float | None = None
    is_cut: bool = False
    """Whether the interval would reach beyond the levels and ends with them."""
    without: list[float] = []
    """Levels that have no results, or too few replications."""
    reason: NoKnee | None = None
    """Why there is none; None if there is one."""


class LimitCrossing(_Result, frozen=True, kw_only=True):
    """Where a metric breaks its limit over one numeric factor, others held at `where`.

    `state` is ``"breaks"`` where it breaks between two levels, ``"holds"`` where no level breaks
    it, ``"broken"`` where no level keeps it, ``"unclear"`` where the intervals do not tell.
    `level` is None if the limit breaks between a level that keeps it and a saturated one: only
    `level_low` and `level_high` are known then. A limit is kept ``"below"`` its break (of a load),
    ``"above"`` it (of servers, tokens, speed) or ``"between"`` `level_low` and `level_high`.
    """

    metric: str
    unit: str
    at_most: float | None
    at_least: float | None
    factor: str
    where: dict[str, Value]
    state: Literal["breaks", "holds", "broken", "unclear"]
    kept: Literal["below", "above", "between"] = "below"
    is_resource: bool = False
    """Whether servers or tokens grow with the factor."""
    level: float | None = None
    level_low: float | None = None
    level_high: float | None = None
    current: float | None = None
    headroom: float | None = None
    """`level` over `current`: how many times the current load; None of what is no load."""
    headroom_low: float | None = None
    headroom_high: float | None = None
    holds_at: float | None = None
    """Nearest level on the kept side of the break whose whole interval keeps the limit."""
    breaks_at: float | None = None
    """Nearest on its other side whose whole interval breaks it, or that is saturated."""
    added: int = 0
    """Levels of the curve that were added to find the break."""
    verdict: Verdict | None = None
    """Whether the limit is kept at `current`, as a claim; None without a current load."""
    evidence: CrossingEvidence = CrossingEvidence()

    @property
    def is_kept_again(self) -> bool:
        """Whether a level beyond one that breaks the limit keeps it."""
        if self.breaks_at is None or self.kept == "between":
            return False
        kept = self.evidence.kept_at or [self.breaks_at]
        return kept[0] < self.breaks_at if self.kept == "above" else kept[-1] > self.breaks_at


ComparisonVerdict: TypeAlias = Literal["better", "worse", "larger", "smaller", "same", "undecided"]
"""Larger and smaller are said about metrics of which neither direction is better."""


class LevelComparison(_Result, frozen=True, kw_only=True):
    """One metric at one level of a factor against the base level, other factors at `where`.

    `ratio` is level over base: the typical ratio within blocks (signed ranks) where measured runs
    are paired (`pairs` above zero), else that of the medians, or of the means of simulated runs.
    Its interval decides; without a ratio, because a value is not above zero, differences decide.
    The interval of the Hodges-Lehmann `shift` has the same confidence.
    """

    level: Value
    where: dict[str, Value]
    metric: str
    unit: str
    better: Literal["high", "low", "none"]
    verdict: ComparisonVerdict
    evidence: ComparisonEvidence
    count: int = 0
    base_count: int = 0
    pairs: int = 0
    """Blocks in which runs of both levels stood side by side; 0 if nothing is paired."""
    value: float | None = None
    base_value: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    method: Method = "none"
    shift: float | None = None
    """Level less base, in `unit`."""
    shift_low: float | None = None
    shift_high: float | None = None
    cliffs_delta: float | None = None
    """-1 to 1: above zero where runs of the level are mostly larger."""
    effect: str = ""
    """Its size in the customary word: negligible, small, medium, large."""
    p_value: float | None = None
    """Two-sided, of signed ranks within blocks or else of Mann and Whitney; not corrected for the
    number of metrics."""


CrossoverState: TypeAlias = Literal["crosses", "none", "undecided"]
"""Whether a ratio crosses one between the levels tried, lies on one side of it, or neither."""


class CrossoverPoint(_Result, frozen=True, kw_only=True):
    """Where a ratio crosses one, with its interval; `level` is None if only that is known."""

    level: float | None
    low: float
    high: float
    beyond: ComparisonVerdict
    """What the compared level is above this point, up to the next one."""


class CrossoverRange(_Result, frozen=True, kw_only=True):
    """Levels of the other factor between which a verdict holds, those of crossovers left out."""

    low: float
    high: float
    verdict: ComparisonVerdict


class Crossover(_Result, frozen=True, kw_only=True):
    """From which level of a numeric factor a compared level is better than the base, or worse.

    Verdicts compare with a ratio of one; those of the rows compare with the zone of the same.
    """

    level: Value
    metric: str
    unit: str
    better: Literal["high", "low", "none"]
    factor: str
    where: dict[str, Value]
    state: CrossoverState
    points: list[CrossoverPoint] = []
    ranges: list[CrossoverRange] = []


class LevelsCompared(_Result, frozen=True, kw_only=True):
    """The levels of a factor against one of them."""

    factor: str
    base: Value
    same_within: float
    confidence: float
    """Of each interval; those of the metrics of a point hold together with 95%."""
    order: RunOrder
    """How the runs of the levels were ordered."""
    rows: list[LevelComparison]
    crossovers: list[Crossover] = []
    """One for each level, metric and other numeric factor, at each combination of the rest."""
    why_empty: NoComparison | None = None


class DerivedValue(_Result, frozen=True, kw_only=True):
    """A derived quantity at one combination of levels, with its 95% interval.

    The interval is that of `headroom.analysis.statistics.parts`: symmetric, Student's t.
    """

    levels: dict[str, Value]
    value: float | None = None
    low: float | None = None
    high: float | None = None
    count: int = 0
    """Values that it is made of."""
    planned: int = 0
    """Values that it would be made of if no point lacked results."""
    reason: NoInterval | None = None
    """Why there is no interval."""
    missing: NoValue | None = None
    """Why there is no value; or why the first term that is left out has none."""


class DerivedResult(_Result, frozen=True, kw_only=True):
    """A derived quantity of an experiment."""

    name: str
    of: str
    operation: str
    """Key of the study that defines it."""
    unit: str
    better: Literal["high", "low", "none"]
    factors: list[str]
    """Factors that its values have levels of."""
    over: list[str] = []
    """Factors that it combines, or that differ from the point that it refers to."""
    to: dict[str, Value] = {}
    """Levels of the point that it refers to."""
    to_experiment: str = ""
    """Experiment of that point; empty: its own."""
    is_inverse: bool = False
    """Whether that point is divided by this one."""
    divisor: str = ""
    """Of ``divided_by``: the metric, quantity or factor."""
    values: list[DerivedValue] = []


class DrawnModel(_Result, frozen=True, kw_only=True):
    """The model of one point as data, for its picture: no random streams, the rest as it ran."""

    point: str
    """Key of the point: the one that is looked at first."""
    data: dict[str, Any]


class Measured(_Result, frozen=True, kw_only=True):
    """When the replications of a measured experiment were measured."""

    oldest: str
    """Start of the first replication that counts, UTC, ISO 8601."""
    newest: str
    """Start of the last one."""
    count: int
    """Replications that are done and count."""
    reused: int
    """Those of them that the last session with replications of the experiment found done."""


class SectionLeftOut(_Result, frozen=True, kw_only=True):
    """A section of a system that cannot be drawn; no title stands for all of its sections."""

    title: str
    problem: str
    """In the words of the protocol, or those of an error."""


class ExperimentResult(_Result, frozen=True, kw_only=True):
    """What was found in one experiment, and the declarations that its readers need."""

    name: str
    title: str
    system: str
    column: Literal["measure", "model"]
    factors: list[Factor]
    responses: list[str]
    """Metrics to show first."""
    windows: list[WindowUsed] = []
    points: list[PointResult]
    knees: list[Knee] = []
    limits: list[LimitCrossing] = []
    compared: LevelsCompared | None = None
    """None if the study compares no levels."""
    derived: list[DerivedResult] = []
    """Quantities of several points, in the order of the study."""
    sections: list[Section] = []
    """What the system adds about all points together, drawn by the report."""
    sections_left_out: list[SectionLeftOut] = []
    """Sections that cannot be drawn."""
    what_if_replications: int = 0
    """Replications of changed systems, in addition to those of the points."""
    parameters: list[ParameterUsed] = []
    fit: FitResult | None = None
    """Where parameters are fitted from other experiments: how, and what came of it."""
    facts: dict[str, float | str] = {}
    """What `System.prepare` measured, e.g. the launcher's overhead."""
    replications: Replications | None = None
    """The stopping rule."""
    measured: Measured | None = None
    """None for simulations, and before the first measurement."""
    precision_metric: str = ""
    """Metric whose interval decides when a point has enough replications; empty: their number."""
    precision: float | None = None
    """Relative half-width of that interval at which it has."""
    model: DrawnModel | None = None
    """None for systems without a model, and for models too large to be drawn."""


class PredictedPair(_Result, frozen=True, kw_only=True):
    """One point of a claim of kind ``agreement``: what was predicted there and what was found.

    `ratio` is predicted over measured; its interval counts the uncertainty of both, at a
    confidence at which those of all points of the claim hold together with 95%.
    """

    levels: dict[str, Value]
    """Of the predicted point."""
    to_levels: dict[str, Value]
    """Of the measured point."""
    predicted: float
    predicted_low: float | None
    predicted_high: float | None
    measured: float
    measured_low: float | None
    measured_high: float | None
    ratio: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    reason: NoInterval | None = None
    """Why the ratio has no interval."""


class PrintedPoint(_Result, frozen=True):
    """A number that was published for one point: the levels, and the value in base units."""

    levels: dict[str, Value]
    value: float


class ClaimResult(_Result, frozen=True, kw_only=True):
    """One row of the claims table."""

    name: str
    text: str
    kind: str
    experiment: str
    metric: str
    published: str
    value: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    evidence: ClaimEvidence
    source: str = ""
    unit: str = ""
    """Unit of `value`, `low` and `high`: of the metric, ``"1"`` for a ratio, of the factor for
    a knee."""
    statistic: str = "centre"
    """What of the replications the claim is about."""
    to_experiment: str = ""
    """Of an agreement: the experiment that was predicted, with its metric, and how near."""
    to_metric: str = ""
    tolerance: float | None = None
    pairs: list[PredictedPair] = []
    """Of an agreement: the points that both experiments have, with figures."""
    pair_unit: str = ""
    """Unit of the figures of `pairs`."""
    basis: Basis = ""
    """What it rests on: the model was `fitted` to it; the law next to the simulator passes it too
    (`arithmetic`); the law does not, or says nothing of it (`simulator`); it was not published
    (`own`). Empty if the study has no law, or nothing published."""
    law: str = ""
    """The law's verdict on it, or empty if there is none."""
    printed: PrintedPoint | None = None
    """The point of a figure that was published as a number, None if none was."""


class StudyResult(_Result, frozen=True, kw_only=True):
    """The whole study: what the report, `headroom show` and `results.json` print."""

    format: int
    name: str
    title: str
    question: str
    folder: str
    seed: int
    is_quick: bool
    is_complete: bool
    done: int
    failed: int
    planned: int
    experiments: list[ExperimentResult]
    claims: list[ClaimResult]
    environments: list[dict[str, Any]]
    command: str
    """The command that repeats the study."""
    generated: str
    headroom_version: str
    full_planned: int = 0
    """Replications of the full variant, at least; 0 in results of older versions."""
    full_most: int = 0
    """The most of them; more than `full_planned` if they stop at a precision."""
    asks: list[Ask] = []
    """What the study asks, as data."""
    titles: dict[str, str | dict[str, str]] = {}
    """Words of the study for metrics, parts, parameters and their levels."""
    answer: Answer | None = None
    """Made of all the rest; None in results of older versions."""

    @property
    def answers(self) -> list[Record]:
        """The answers to all questions of the study, the headline first."""
        return self.answer.records if self.answer else []

    def experiment_named(self, name: str) -> ExperimentResult | None:
        """Return an experiment; None if no result is about one of this name."""
        return next((one for one in self.experiments if one.name == name), None)
