"""Evidence for a verdict as plain data: codes and numbers in base units, never sentences.

`headroom.report.sentences` writes the sentences; a program reads the fields.

Invariant: as for `headroom.analysis.results`, all of it survives `msgspec.to_builtins` and back.
"""

from typing import Literal, TypeAlias

import msgspec

from headroom.experiment.protocol.system import Value


class _Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all evidence."""


NoIntervalCode: TypeAlias = Literal[
    "one_replication",
    "few_for_median",
    "few_for_extreme",
    "few_for_spread",
    "few_for_shift",
    "few_pairs",
    "zero_divisor",
    "divisor_near_zero",
    "zero_inside",
    "not_positive",
    "both_unbounded",
    "same_values",
    "one_outlier",
    "no_upper_end",
    "no_formula",
    "fitted_parts",
]
"""Why a value has no interval: there is one replication; too few for a median, an extreme, a
spread, a shift, or signed ranks of pairs; the divisor is zero, or its interval includes zero; an
interval of a ratio of medians includes zero; a value is not above zero, so that differences decide;
both sides grow without bound; all replications gave one value, or all but one; a prediction may
have no steady state, or no formula says how it depends on the fitted parameters; a derived quantity
is made of predictions with fitted parameters, whose errors go together."""


class NoInterval(_Evidence, frozen=True, kw_only=True, omit_defaults=True):
    """Why a value has no interval, with the numbers that say so."""

    code: NoIntervalCode
    count: int | None = None
    """Of ``few_...``: replications, or pairs of runs."""
    needed: int | None = None
    """Of ``few_...``: how many are needed."""
    other_count: int | None = None
    """Of ``few_for_shift``: replications of the other side."""
    confidence: float | None = None
    """Of ``few_for_median``."""
    extreme_of: int | None = None
    """Of ``few_for_extreme``: over how many replications."""


class Absent(_Evidence, frozen=True, kw_only=True):
    """Why a point with results lacks a metric."""

    code: Literal["few_observations", "few_bursts", "saturated", "no_mean"]
    """The shortest run has too few observations for a percentile; the runs show too few bursts
    beyond it; the point is saturated; the mean does not exist."""
    percent: float | None = None
    needed: float | None = None
    """Observations in each run, or bursts in all."""
    beyond: int | None = None
    """Of ``few_observations``: how many of them are beyond the percentile."""
    found: float | None = None
    """Observations of the shortest run, or bursts."""
    observations: float | None = None
    """Of ``few_bursts``: observations of each run that would show as many bursts as needed."""


NoValueCode: TypeAlias = Literal[
    "no_point", "no_results", "saturated", "zero_divisor", "not_positive", "few_levels", "function"
]
"""Why a derived quantity has no value: no point was planned at the `levels`, its runs have no
results, or it is saturated; a divisor is zero; a geometric mean needs values above zero; fewer than
two levels have values; the registered function gives none."""


class NoValue(_Evidence, frozen=True, kw_only=True):
    """Why a derived quantity has no value, or lacks a term."""

    code: NoValueCode
    quantity: str = ""
    """The metric or derived quantity that is missing."""
    levels: dict[str, Value] = {}
    absent: Absent | None = None
    """Of ``no_results``: why the point has none, where that is known."""


NoKneeCode: TypeAlias = Literal[
    "few_replications",
    "few_levels",
    "straight",
    "smooth",
    "bend_at_end",
    "parallel",
    "outside",
    "unsettled",
    "defect",
]
"""Why a curve has no knee: no level has enough replications; too few levels; a straight line
explains the curve; a smooth law explains it better than two lines; it bends next to its first or
last level; both ends have one slope; the asymptotes meet outside the levels; the interval of the
knee covers all levels; Headroom failed."""


class NoKnee(_Evidence, frozen=True, kw_only=True):
    """Why a curve has no knee, with the numbers that say so."""

    code: NoKneeCode
    count: int | None = None
    """Of ``few_levels``: levels with results."""
    needed: int | None = None
    """Of ``few_levels`` and ``few_replications``: how many are needed."""
    add: list[float] = []
    """Of ``few_levels``: levels to add."""
    low: float | None = None
    """Of ``bend_at_end`` and ``unsettled``: between these levels more are needed."""
    high: float | None = None
    end: Literal["first", "last", ""] = ""
    """Of ``bend_at_end``: next to which level."""
    meets_at: float | None = None
    """Of ``outside``: where the asymptotes meet."""
    message: str = ""
    """Of ``defect``: what failed."""


class Allowed(_Evidence, frozen=True, kw_only=True):
    """The range that a claim allows: `low` to `high`, both included; None if unbounded."""

    low: float | None = None
    high: float | None = None


class IntervalEvidence(_Evidence, frozen=True, kw_only=True, tag_field="kind", tag="interval"):
    """One interval, the `value`, `low` and `high` of the claim, against what is allowed."""

    allowed: Allowed
    is_ratio: bool = False
    is_unbounded: bool = False
    """Whether the point is saturated and the metric grows as long as the run lasts."""
    extreme_of: int | None = None
    """Of a smallest or largest value: over how many replications."""
    is_cut: bool = False
    """Of a knee: whether its interval ends with the levels."""
    without: list[float] = []
    """Of a knee: levels without results."""
    reason: NoInterval | None = None
    """Why there is no interval."""


class SignEvidence(_Evidence, frozen=True, kw_only=True, tag_field="kind", tag="sign"):
    """Two points without a ratio, because a value is not above zero: differences decide."""

    allowed: Allowed
    place: Literal["inside", "above", "below", "unclear"]
    """Where the ratio would lie, seen from what is allowed."""
    reason: NoInterval | None = None
    """Why nothing is decided, if replications are too few."""


class ZeroEvidence(_Evidence, frozen=True, kw_only=True, tag_field="kind", tag="zero"):
    """Two points at which the metric is zero in every run."""

    allowed: Allowed


class LevelEstimate(_Evidence, frozen=True, kw_only=True):
    """The metric of a claim at one level of its factor; `value` is None if it has no bound."""

    level: Value
    value: float | None
    low: float | None
    high: float | None


class Step(_Evidence, frozen=True, kw_only=True):
    """The comparison of one level with another, or with the mean of all.

    The value is above zero where the level that comes later is larger in the direction of the
    claim, and above one if it is a ratio.
    """

    level: Value
    to_level: Value | None = None
    """None: the mean of all levels."""
    is_ratio: bool = False
    value: float | None
    low: float | None
    high: float | None
    reason: NoInterval | None = None
    """Why there is no interval."""


class CurveEvidence(_Evidence, frozen=True, kw_only=True, tag_field="kind", tag="curve"):
    """The levels of a claim about an order or a direction, and the steps between them."""

    shape: Literal["ordered", "rises", "falls"]
    factor: str
    levels: list[LevelEstimate]
    smallest_step: Step | None = None
    """Of a direction: the smallest step the right way, or the largest one back."""
    comparisons: int
    confidence: float
    """Of each comparison, so that all hold together with 95%."""
    decisive: Step | None = None
    """The first step that differs, or else that is undecided; None if all hold."""


class FlatEvidence(_Evidence, frozen=True, kw_only=True, tag_field="kind", tag="flat"):
    """The mean of all levels of a claim that a curve is flat, and how far a level is from it."""

    factor: str
    mean: float
    mean_low: float | None
    mean_high: float | None
    largest_distance: float
    """Of a level from the mean, in the unit of the metric."""
    comparisons: int
    confidence: float
    decisive: Step | None = None


class UnboundedEvidence(_Evidence, frozen=True, kw_only=True, tag_field="kind", tag="unbounded"):
    """A level of a curve that is saturated, so that the metric grows without bound there."""

    factor: str
    level: Value


class NoKneeEvidence(_Evidence, frozen=True, kw_only=True, tag_field="kind", tag="no_knee"):
    """A claim about a knee of a curve that has none."""

    reason: NoKnee
    without: list[float] = []


class CrossoversEvidence(_Evidence, frozen=True, kw_only=True, tag_field="kind", tag="crossovers"):
    """A claim about one crossover of two curves that have none, or several."""

    count: int
    levels: int
    """Levels that both curves have."""


MissingCode: TypeAlias = Literal[
    "not_run",
    "not_planned",
    "no_results",
    "several_points",
    "several_partners",
    "not_a_factor",
    "repeated_level",
    "not_a_number",
    "few_levels",
    "few_levels_in_range",
    "few_common_levels",
    "no_common_point",
    "defect",
]
"""Why nothing is known: the experiment was not run; no point was planned at the `levels`; none of
its runs has results of the `metric`; the `levels` select several points, or several partners in
another experiment; `factor` is not a factor, has one level several times, or a level that is not
a number; it has a single level, fewer than two in the range of the claim, or fewer than two in
both experiments; no point is in both experiments; Headroom failed."""


class MissingEvidence(_Evidence, frozen=True, kw_only=True, tag_field="kind", tag="missing"):
    """Why a claim cannot be decided."""

    code: MissingCode
    levels: dict[str, Value] = {}
    metric: str = ""
    factor: str = ""
    experiment: str = ""
    count: int | None = None
    """Points that the levels select."""
    is_quick: bool = False
    """Whether the quick variant leaves it out on purpose."""
    absent: Absent | None = None
    """Of ``no_results``: why the point has none, where that is known."""
    message: str = ""
    """Of ``defect``: what failed."""


class UnboundedPair(_Evidence, frozen=True, kw_only=True):
    """A point that is saturated on one side of an agreement only: an error without bound."""

    levels: dict[str, Value]
    side: Literal["predicted", "measured"]


class AgreementEvidence(_Evidence, frozen=True, kw_only=True, tag_field="kind", tag="agreement"):
    """Predicted over measured at the points of two experiments: the `pairs` of the claim."""

    allowed: Allowed
    """Of each ratio."""
    count: int
    """Points that both experiments have, those without results included."""
    confidence: float
    """Of the ratio of each point, so that all hold together with 95%."""
    is_median: bool = False
    """Whether the claim is about the median of the errors."""
    median: float | None = None
    """Of the errors, as shares of what was measured; None, as its bounds, if it has no bound."""
    median_low: float | None = None
    median_high: float | None = None
    worst: int | None = None
    """Number of the pair with the largest error, from 0."""
    decisive: int | None = None
    """Number of the pair that the verdict is about; None if it is about all or about the median."""
    unbounded: list[UnboundedPair] = []
    missing: MissingEvidence | None = None
    """Why the first of the points without results has none."""


ErrorCode: TypeAlias = Literal["median", "worst", "rank", "signs"]
"""The median and the worst of the relative errors; the rank correlation of predicted and measured;
the share of points whose difference to the point of reference has the measured sign."""


class ErrorMeasure(_Evidence, frozen=True, kw_only=True):
    """One figure of the errors of a prediction, and what the claim allows."""

    code: ErrorCode
    value: float | None
    """None, as its bounds, if it has no bound."""
    low: float | None
    high: float | None
    allowed: Allowed
    verdict: Literal["holds", "differs", "undecided"]


class WithinNoise(_Evidence, frozen=True, kw_only=True):
    """Groups of points that a rank correlation leaves out: their values may be equal."""

    factors: list[str]
    """Points that differ in nothing else form a group."""
    groups: int
    left_out: int
    points: int
    """In the groups that are left out."""


class ErrorsEvidence(_Evidence, frozen=True, kw_only=True, tag_field="kind", tag="errors"):
    """The errors of a prediction over all common points: the `pairs` of the claim."""

    count: int
    """Points that both experiments have, those without results included."""
    measures: list[ErrorMeasure]
    worst: int
    """Number of the pair with the largest error, from 0."""
    unbounded: list[UnboundedPair] = []
    missing: MissingEvidence | None = None
    """Why the first of the points without results has none."""
    within_noise: WithinNoise | None = None
    """None unless the claim is about what differs beyond noise."""


ClaimEvidence: TypeAlias = (
    IntervalEvidence
    | SignEvidence
    | ZeroEvidence
    | CurveEvidence
    | FlatEvidence
    | UnboundedEvidence
    | NoKneeEvidence
    | CrossoversEvidence
    | AgreementEvidence
    | ErrorsEvidence
    | MissingEvidence
)


class UsedResource(_Evidence, frozen=True, kw_only=True):
    """How full a station, a pool, or a group of either is."""

    kind: Literal["station", "pool"]
    name: str
    utilization: float
    """Share of the time up in which servers work, or tokens are held, with its 95% interval."""
    low: float | None
    high: float | None
    waiting: float | None
    """Mean number of jobs that wait there; None if unknown."""
    capacity: float | None
    """Servers or tokens; None without limit."""
    is_saturated: bool
    """Whether hardly any time is left: busy, broken and blocked together."""
    busiest: float | None = None
    """Of a group that is saturated at one station only: the busy share of that one."""
    blocked: float = 0.0
    """Share of the time in which servers hold a job that finds no place further on."""
    down: float = 0.0
    """Share of the time in which servers are broken."""


SymptomCode: TypeAlias = Literal["no_place", "waits_for_pool", "queues", "blocked"]
"""Why a resource is full without fault: its finished jobs find no place at the bottleneck; its
holders wait for the bottleneck, a pool; queue there, a station; or are held up by it."""


class Symptom(_Evidence, frozen=True, kw_only=True):
    """A resource that is full only because of the bottleneck."""

    resource: UsedResource
    because: SymptomCode
    wait_share: float | None = None
    """Part of the mean response time that jobs wait for it; None if no job waits."""


class Overflow(_Evidence, frozen=True, kw_only=True):
    """A station that rejects jobs."""

    resource: UsedResource
    rejected: float
    """Share of the arrivals."""
    harmless: Literal["", "unawaited", "no_failures", "no_gain"] = ""
    """Of a saturated one: why that harms nobody. Only work that no job waits for is rejected; no
    job is lost and no try fails; doubling the station was tried and improves nothing."""


class ClassShare(_Evidence, frozen=True, kw_only=True):
    """Which share of the work of a station is for one class."""

    name: str
    share: float


class ClassLoss(_Evidence, frozen=True, kw_only=True):
    """Which share of the jobs of a class is lost, or how many failed tries a job makes."""

    name: str
    """Empty if there is only one class."""
    lost: float = 0.0
    failed_tries: float = 0.0


LossCause: TypeAlias = Literal["rejected", "abandoned", "failed", "lost", "late"]
"""What became of work that was not done in time: no room; no patience; the last try, or the
request, failed; lost, it is not recorded why; completed, but too late."""


class LostShare(_Evidence, frozen=True, kw_only=True):
    """Which share of the work that ended came to one bad end."""

    cause: LossCause
    share: float
    low: float | None = None
    high: float | None = None


class Outcome(_Evidence, frozen=True, kw_only=True):
    """What became of the work of a point, or of one of its classes, where some was not done."""

    name: str = ""
    """The class; empty for all together."""
    offered: float
    """Jobs, requests or operations a second that came."""
    goodput: float
    """Those of them a second that were done in time."""
    is_late: bool = False
    """Whether some were done, but too late."""
    lost: list[LostShare]
    """By cause, the most first; empty if only their number is known."""
    count: float | None = None
    """How many failed in a run, where that was measured."""


class SaturatedSpan(_Evidence, frozen=True, kw_only=True):
    """When a resource was saturated (s)."""

    name: str
    from_s: float
    to_s: float


class WorstSpan(_Evidence, frozen=True, kw_only=True):
    """The stretch of a terminating run that a verdict is about."""

    from_s: float
    to_s: float
    kind: Literal["station", "pool"]
    name: str
    """The resource whose queue is `longest_queue`."""
    longest_queue: float
    """Mean over the replications of the longest queue."""
    is_last: bool
    """Whether the run ends with the stretch."""
    others: list[SaturatedSpan] = []
    """Other stretches, by the queue meanwhile."""
    whole_utilization: float | None = None
    """Of the bottleneck over the whole run."""


LimitingCode: TypeAlias = Literal["busy", "uneven", "down", "full_places", "held"]
"""Why a resource is the bottleneck: a station works all the time; one station of a group does; it
is broken for part of the time; its places are full and block others; the tokens of a pool are
held."""


class Limiting(_Evidence, frozen=True, kw_only=True, tag_field="kind", tag="limiting"):
    """The resource that limits a point, and how full the others are."""

    why: LimitingCode
    cause: UsedResource
    population: float | None = None
    """Closed jobs of which those that wait are a part; None if others wait as well."""
    is_awaited: bool = True
    """Whether any job waits for the work."""
    classes: list[ClassShare] = []
    """For whom a station works, the most first; empty if that does not explain its work."""
    ties: list[UsedResource] = []
    """Resources that are as busy: they are joint bottlenecks."""
    next: UsedResource | None = None
    """Of a station: the busiest of the other stations, the next candidate."""
    others: int = 0
    """Of a station: how many other stations there are."""
    behind: list[UsedResource] = []
    """Of a pool: full resources that its holders use, at which no job waits."""
    inside: UsedResource | None = None
    """Of a pool: the busiest station used while holding a token; None if there is none."""
    symptoms: list[Symptom] = []
    overflows: list[Overflow] = []
    losses: list[ClassLoss] = []
    neighbours: float | None = None
    """Of a measured load: share of the processors that other programs take, if notable."""
    is_steady: bool = True
    """False if the verdict is about whole runs, which have no steady state."""
    worst: WorstSpan | None = None


NotLimitedBy: TypeAlias = Literal[
    "think_time", "population", "arrivals", "accepted_arrivals", "failing_arrivals", "observed"
]
"""Most users think; too few users; all arrivals are served; all that are not rejected are served;
some arrivals do not come to their end; of a measured load only busy shares are known."""


class NotLimited(_Evidence, frozen=True, kw_only=True, tag_field="kind", tag="not_limited"):
    """A point without a bottleneck: what is fullest, and what keeps the throughput where it is."""

    fullest: UsedResource
    by: NotLimitedBy
    population: float = 0.0
    thinking: float = 0.0
    """Mean number of users who think."""
    overflows: list[Overflow] = []
    losses: list[ClassLoss] = []
    neighbours: float | None = None
    """Of a measured load: share of the processors that other programs take, if notable."""


LimitEvidence: TypeAlias = Limiting | NotLimited


UnclearCode: TypeAlias = Literal["", "no_results", "near_limit", "prediction", "defect"]
"""Why it is not known whether a limit breaks: no level has results; the interval, or the prediction
interval, of a level includes the limit; Headroom failed."""

UndecidedCode: TypeAlias = Literal[
    "",
    "no_level_near",
    "few_replications",
    "next_to_saturated",
    "includes_limit",
    "prediction",
    "defect",
]
"""Why it is not known whether a limit is kept at a load: no levels with results around it; too few
replications there for an interval; a neighbouring level is saturated; the interval, or the
prediction interval, includes the limit; Headroom failed."""


class CrossingEvidence(_Evidence, frozen=True, kw_only=True):
    """The levels that say where a limit breaks."""

    unclear: UnclearCode = ""
    at: float | None = None
    """The level that is unclear, the last one that surely keeps a limit that never breaks, or the
    first one of a limit that is broken everywhere: seen from the side where it is kept."""
    kept_at: list[float] = []
    """Levels whose whole interval keeps the limit, in order, those whose whole interval breaks it,
    and those whose interval includes it."""
    broken_at: list[float] = []
    undecided_at: list[float] = []
    before: float | None = None
    """Of a limit that breaks: the levels between which it does."""
    after: float | None = None
    is_saturated: bool = False
    """Whether `after` is saturated, so that no line leads there."""
    is_jump: bool = False
    """Whether values differ ten times between them and the other levels do not tell how."""
    is_cut: bool = False
    """Whether the interval of the break ends with the levels."""
    lacks_interval: bool = False
    """Whether replications are too few for an interval."""
    without: list[float] = []
    """Levels without results."""
    undecided: UndecidedCode = ""
    """Why the verdict at the current load is undecided."""
    message: str = ""
    """Of ``defect``: what failed."""


ComparisonCode: TypeAlias = Literal[
    "within",
    "beyond",
    "both_zero",
    "unbounded",
    "missing",
    "few_runs",
    "larger_open",
    "smaller_open",
    "open",
]
"""What decides a comparison: the whole interval of the ratio is within the zone of the same, or
beyond it; the metric is zero in every run of both; levels are saturated. Or why it is undecided:
a level has no results; runs are too few for an interval; the ratio is above one, or below one,
but perhaps within the zone; it may be one or outside the zone."""


class ComparisonEvidence(_Evidence, frozen=True, kw_only=True):
    """The basis of a verdict on a level against its base, apart from the numbers of the row."""

    code: ComparisonCode
    levels: list[Value] = []
    """Of ``unbounded``: the saturated levels; of ``missing``: the level without results."""
    by_differences: bool = False
    """Whether differences decide, because a value is not above zero and has no ratio."""
    absent: Absent | None = None
    """Of ``missing``: why there are no results, where that is known."""
    reason: NoInterval | None = None
    """Of ``few_runs``: why there is no interval."""


class RunOrder(_Evidence, frozen=True, kw_only=True):
    """How the runs of compared levels were ordered.

    Simulated runs have no order that matters. Measured ones are ``interleaved`` in blocks, and
    paired, or ``apart``: then a drift of the machine would look like a difference.
    """

    code: Literal["simulated", "no_runs", "interleaved", "apart"]
    intact: int = 0
    """Pairs of runs that stood side by side."""
    blocks: int = 0
    """Pairs of runs that there might be."""


WarmUpCode: TypeAlias = Literal[
    "too_long", "no_series", "few_completions", "still_settles", "rare_classes", "saturated"
]
"""The warm-up is longer than the run; no series shows it; completions are too few; a series still
settles when half of the run is cut; some classes complete too rarely, and the others have a steady
state; the point is saturated."""


class WarmUpEvidence(_Evidence, frozen=True, kw_only=True):
    """A finding about the warm-up of a point, or the reason why it has no steady state."""

    code: WarmUpCode
    run_s: float = 0.0
    """Length of the shortest run."""
    cut_s: float = 0.0
    """Of ``too_long``: the warm-up."""
    metric: str = ""
    """Of ``still_settles``: the series."""
    needed: int = 0
    """Of ``few_completions`` and ``rare_classes``: completions of a run."""
    classes: tuple[str, ...] = ()
    """Of ``rare_classes``: those that are not reported."""
    overloaded: tuple[Literal["station", "pool"], str] | None = None
    """Kind and name of a resource whose queue grows in every run: the load may be too much."""


LawPlace: TypeAlias = Literal["system", "class", "station", "pool"]
FaultCode: TypeAlias = Literal[
    "reported", "little", "little_of_queue", "utilization_law", "busy", "nothing_left", "warm_up"
]
"""Why a run does not count: the system says so; Little's law fails for a place, or for its queue;
a station is busy for longer than jobs are there outside its queue; a resource is busy for longer
than time passes; the warm-up takes all of it; the point has no steady state."""


class Fault(_Evidence, frozen=True, kw_only=True):
    """Why runs of a point do not count."""

    code: FaultCode
    kind: LawPlace = "system"
    """Of a law: where it fails."""
    name: str = ""
    message: str = ""
    """Of ``reported``: the words of the system."""
    cut_s: float | None = None
    """Of ``nothing_left``: the warm-up."""
    warm_up: WarmUpEvidence | None = None
    times: int = 1
    """How often it came."""


class AppliedChange(_Evidence, frozen=True, kw_only=True):
    """A change of a station, a pool or a parameter, with the numbers before and after."""

    kind: Literal["station", "pool", "parameter"]
    name: str
    aspect: Literal["servers", "tokens", "speed", "repair", "value"]
    before: Value | None = None
    """None if not known, and of a speed or a repair."""
    after: Value | None = None
    """None if only the factor is known."""
    factor: float | None = None
    """Multiplies the old value; None if the change gives a new one."""


class NoEffect(_Evidence, frozen=True, kw_only=True):
    """Why a change has no effects to show."""

    code: Literal["no_steady_state", "failed", "steady_then", "few_pairs"]
    """The changed system has no steady state; a replication failed; it has a steady state, and
    the point itself has none; too few sound replications on both sides."""
    warm_up: WarmUpEvidence | None = None
    """Of ``no_steady_state``."""
    message: str = ""
    """Of ``failed``."""
    served_per_s: float | None = None
    """Of ``steady_then``: throughput (1/s)."""


DemandKind: TypeAlias = Literal[
    "measured", "alternated", "low-load", "burst", "pulses", "target-burst", "alternated-burst"
]
"""Where a prediction lies, seen from the measurements of the demands: within the measured loads,
perhaps measured in turn; beyond them; other clients than those of a burst, or than pulses of all
clients; with the clients of a burst; saturated with them, and measured in turn."""

PredictionKind: TypeAlias = DemandKind | Literal["published", "simulated", "chained", "unknown"]
"""The same of a point with fitted parameters; or the method publishes errors of its predictions;
the sources were simulated; they are predictions themselves; no error of the method is known."""


class NoComparison(_Evidence, frozen=True, kw_only=True):
    """Why no level is compared: the base level was not run, or Headroom failed."""

    code: Literal["base_not_run", "defect"]
    message: str = ""
