"""The answer of a study as plain data: statements, figures and cautions, never sentences.

`headroom.analysis.answer` makes it from the rest of a result, `headroom.report.first_screen` words
it. A statement is what one sentence says: the answer, what follows, or the title of a figure.

Invariant: as for `headroom.analysis.results`, all of it survives `msgspec.to_builtins` and back; a
number with an interval is stated no more strongly than the interval allows.
"""

from typing import Literal, TypeAlias

import msgspec

from headroom.analysis.evidence import Absent, AppliedChange, Outcome, WarmUpEvidence
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.asks import AskKind

Kind: TypeAlias = Literal[
    "incomplete",
    "disturbed",
    "saturated",
    "limit",
    "no_limit",
    "losses",
    "target",
    "comparison",
    "equal",
    "undecided",
    "trade_off",
    "reproduction",
    "prediction",
    "findings",
    "sweep",
    "value",
    "enough",
    "effects",
    "scale",
    "safe",
]
"""Kinds of answers; the other statements only follow from one, or are the title of a figure."""
Setting: TypeAlias = dict[str, Value]
"""Levels of the factors that tell the points of an experiment apart."""
PartKind: TypeAlias = Literal["station", "pool", "system"]


class _Data(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all data here."""


class _Statement(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """Base of all statements; `kind` is written next to their fields."""


class Bounded(_Data, frozen=True, kw_only=True):
    """A number in base units with its 95% interval; `low` and `high` are None if there is none."""

    value: float
    low: float | None = None
    high: float | None = None
    metric: str = ""
    """Empty: a ratio."""
    unit: str = "1"


class Level(_Data, frozen=True, kw_only=True):
    """A level of a factor, found with an interval or planned."""

    factor: str
    unit: str
    value: Value
    low: float | None = None
    high: float | None = None


class Part(_Data, frozen=True, kw_only=True):
    """A station or a pool, with the share of time in which it is busy or held."""

    kind: PartKind
    name: str
    utilization: Bounded | None = None


class Down(_Data, frozen=True, kw_only=True):
    """For which share of the time a station is down, and what share of the response it holds."""

    share: float
    held: float


class TriedChange(_Data, frozen=True, kw_only=True):
    """A change that was run, and how many times better a metric is for it."""

    applied: list[AppliedChange]
    levels: Setting = {}
    """Levels of the changed point, if the change is another point; empty of a what-if run."""
    experiment: str
    gain: Bounded | None
    """Above one is better, also of a metric that falls; without `metric` and `unit`. Without an
    upper end it may be any number of times. None: it gives a bound to what has none, or leaves
    nothing of what is lost."""
    metric: str
    unit: str
    better: Literal["high", "low"]
    before: float | None
    after: float
    """Of the metric, in its base unit; None: it grows without bound."""
    after_low: float | None = None
    after_high: float | None = None
    then: Part | None = None
    """The bottleneck after the change; None if there is none, or if that is unknown."""
    is_gain: bool
    """Whether the whole interval is above one, and not all of it within 2% of it."""
    is_no_gain: bool
    """Whether the whole interval is below 1.02: hardly better, or worse."""
    meets: bool = False
    """Whether the metric surely keeps the limit that the study sets, after the change."""


IncompleteCode: TypeAlias = Literal[
    "runs_left", "failed", "no_results", "not_fitted", "left_out", "withheld"
]
"""Runs are left; runs failed, so that points have no results; points have none although their runs
finished; parameters could not be fitted; no point has what is asked for, as in a quick variant;
runs are too short for the percentile that is asked for."""


class Incomplete(_Statement, frozen=True, kw_only=True, tag="incomplete"):
    """There is no answer yet, or none at all."""

    code: IncompleteCode
    done: int
    failed: int
    planned: int
    points: int
    """Points of the experiment; of ``runs_left`` those of the study."""
    points_without: int
    """Those of them without results."""
    reason: str = ""
    """Words of an error or of a system."""
    warm_up: WarmUpEvidence | None = None
    """Of ``no_results``: why a point has no steady state."""
    metric: str = ""
    absent: Absent | None = None
    """Of ``withheld``: the percentile, and what it needs."""


class Disturbed(_Statement, frozen=True, kw_only=True, tag="disturbed"):
    """Most runs were disturbed."""

    cause: Literal["others", "steal", "throttling", "swapping", "slower"]
    share: float
    """At most taken, of the whole machine."""
    count: int
    done: int
    cores: float | None = None


class Saturated(_Statement, frozen=True, kw_only=True, tag="saturated"):
    """From a level on a part is offered more than it can do."""

    level: Level | None
    """Lowest level that is saturated; None if there is no such factor."""
    is_up_to: bool = False
    """Whether `level` is the highest one: there is too little of something."""
    also_up_to: float | None = None
    """Level up to which it is saturated too, of a setting that is best between two levels."""
    last_steady: float | None = None
    """Highest level below it that is not, or lowest above it."""
    points: int = 0
    """Points that are saturated, of `judged`."""
    judged: int = 0
    part: Part
    ties: list[Part] = []
    """Parts that are offered as much of what they can do."""
    steadied_by: list[AppliedChange] = []
    """A change that was tried and gives a steady state."""
    load: Bounded | None = None
    """Offered load over capacity at that level."""
    is_everywhere: bool = False
    where: Setting = {}


class Limit(_Statement, frozen=True, kw_only=True, tag="limit"):
    """A part limits, from a level on if there is a factor."""

    part: Part
    ties: list[Part] = []
    """Parts that are as busy: joint bottlenecks."""
    level: Level | None
    """With an interval: the knee of `metric`. Without: the lowest level at which the part
    limits; None if there is no such factor, or if it limits everywhere."""
    last_free: float | None = None
    """Highest level below `level` at which it does not."""
    end: Level | None = None
    """Highest level at which it limits, if it does not limit above; then `level` is None."""
    metric: str = ""
    points: int
    """At which the part limits."""
    judged: int
    down: Down | None = None
    """Of a part that limits because it is down."""
    best: TriedChange | None = None
    where: Setting = {}


class NoLimit(_Statement, frozen=True, kw_only=True, tag="no_limit"):
    """No part limits at any level."""

    level: Level | None
    """Highest level that was tried."""
    part: Part | None
    """The busiest one at any point; None if no shares are known."""
    down: Down | None = None
    """A station that makes jobs wait because it is down; then `part` is that station."""
    where: Setting = {}


class Losses(_Statement, frozen=True, kw_only=True, tag="losses"):
    """Some of the work is lost, or done too late: how much is offered, and what becomes of it.

    It is the answer where no part limits, and follows from every other one.
    """

    outcome: Outcome
    """Of all work at the point that loses most."""
    where: Setting = {}
    """Its levels, if there are several points."""
    points: int = 1
    """At which work is lost, of `judged`."""
    judged: int = 1


class Target(_Statement, frozen=True, kw_only=True, tag="target"):
    """Where the limits that the study sets are kept; the fields are those of the decisive one."""

    metric: str
    unit: str
    bound: float
    is_upper: bool
    """Whether the metric must be at most, not at least, `bound`."""
    state: Literal["breaks", "holds", "broken"]
    level: Level
    """Where it breaks, between `low` and `high`. Kept ``above``: the lowest level from which on it
    is kept. Kept ``between``: `low` and `high` are the first and the last level that keep it. Of
    ``holds`` and ``broken``: the last level on the side where it is kept, or the first."""
    is_between: bool = False
    """Whether only the levels around the break are known, because the upper one is saturated."""
    is_open: bool = False
    """Whether the break may lie beyond the last level, which does not surely break it."""
    kept: Literal["below", "above", "between"] = "below"
    is_resource: bool = False
    """Whether servers or tokens grow with the factor."""
    value: Bounded | None = None
    """The metric at `level`, if that was run."""
    kept_at: list[float] = []
    """Levels that surely keep all limits."""
    beyond: list[float] = []
    """The nearest levels that surely break one, on each side where it is not kept."""
    undecided: list[float] = []
    """Levels of which it is not known."""
    limits: int = 1
    """Limits of the study that `level` is about."""
    headroom: Bounded | None = None
    """How many times the current load the level is."""
    current: float | None = None
    verdict: Literal["holds", "differs", "undecided", ""] = ""
    """At the current load."""
    where: Setting = {}
    curves: int = 1
    """Curves that the limits are about: this one leaves least."""


class Comparison(_Statement, frozen=True, kw_only=True, tag="comparison"):
    """One setting is better than another, by a ratio whose interval excludes one."""

    first: Setting
    second: Setting
    metric: str
    better: Literal["high", "low", "none"]
    """``none``: the first one is larger."""
    ratio: Bounded
    """How many times better, or larger, the first is: above one."""
    is_next: bool = False
    """Whether the second is the next best of several."""
    is_least: bool = False
    """Whether the ratio is the smallest of several combinations."""
    better_count: int = 1
    """Combinations of other factors at which the first is better."""
    worse_count: int = 0
    same_count: int = 0
    undecided_count: int = 0
    beyond: Level | None = None
    """From which level on the first is better, if the second is better below it."""
    where: Setting = {}


class Equal(_Statement, frozen=True, kw_only=True, tag="equal"):
    """Two settings are the same within the zone that the study names."""

    first: Setting
    second: Setting
    metric: str
    ratio: Bounded
    same_within: float
    count: int = 1
    """Combinations of other factors; the ratio is the one farthest from one."""
    where: Setting = {}


UndecidedCode: TypeAlias = Literal["comparison", "ranking", "target", "few_runs"]
"""Two levels; several settings, of which none is clearly best; a limit; a metric that has no
interval."""


class Undecided(_Statement, frozen=True, kw_only=True, tag="undecided"):
    """The intervals do not carry an answer."""

    code: UndecidedCode
    first: Setting = {}
    second: Setting = {}
    metric: str = ""
    better: Literal["high", "low", "none"] = "none"
    ratio: Bounded | None = None
    count: int = 0
    """Runs of each side; of ``ranking`` settings."""
    more: int | None = None
    """About how many more runs of each side would decide; None if unknown."""
    level: Level | None = None
    """Of ``target``."""
    bound: float | None = None
    unit: str = "1"
    where: Setting = {}


class OtherCurves(_Statement, frozen=True, kw_only=True, tag="other_curves"):
    """Where the limits are kept on each of the other curves over the same factor."""

    of: list[Target | Undecided]


class Goal(_Data, frozen=True, kw_only=True):
    """The best settings for one metric: those that cannot be distinguished from the best."""

    metric: str
    better: Literal["high", "low"]
    settings: list[Setting]
    value: Bounded
    """Of the first setting."""
    saturated: list[Setting] = []
    """The others, if none of them has a steady state and so none has a value."""


class Beaten(_Data, frozen=True, kw_only=True):
    """A setting that another one beats for each goal."""

    setting: Setting
    by: Setting


class TradeOff(_Statement, frozen=True, kw_only=True, tag="trade_off"):
    """Which setting is best for which goal."""

    goals: list[Goal]
    beaten: list[Beaten]
    settings: int
    where: Setting = {}
    """Levels at which it is asked."""


class Reproduction(_Statement, frozen=True, kw_only=True, tag="reproduction"):
    """How many findings of a publication hold.

    It stands if 90% of those that were checked hold and none that was printed as a number differs;
    it falls if more than half differ; else it stands in part.
    """

    state: Literal["stands", "partly", "falls"]
    holds: int
    differs: int
    undecided: int
    left_out: int = 0
    """Of the undecided: those that the quick variant leaves out on purpose."""
    topics: list[str] = []
    """Metrics of the findings that differ, the most frequent first."""
    headline_differs: int = 0
    """Findings printed as numbers that differ."""


class Findings(_Statement, frozen=True, kw_only=True, tag="findings"):
    """How many of its own claims hold in a study of which no setting is the answer."""

    holds: int
    differs: int
    undecided: int
    first: str = ""
    """Text of the first claim, if that holds: a study names the most important one first."""


class Prediction(_Statement, frozen=True, kw_only=True, tag="prediction"):
    """How far predictions are from measurements of points that they had not seen."""

    verdict: Literal["holds", "differs", "undecided"]
    metric: str
    experiment: str
    to_experiment: str
    points: int
    median: Bounded | None
    """Of the errors, as shares of what was measured; None if unknown."""
    worst: float | None
    is_bounded: bool = True
    """False if an error has no bound, because one side is saturated."""
    claims: int = 1
    """Claims about predictions; the numbers are those of the worst of them."""
    held: int = 0
    undecided: int = 0


class Sweep(_Statement, frozen=True, kw_only=True, tag="sweep"):
    """How a metric changes between two levels."""

    metric: str
    unit: str
    better: Literal["high", "low", "none"]
    start: Level
    end: Level
    ratio: Bounded | None
    """Value at the end over that at the start; None if it has none."""
    before: Bounded
    after: Bounded
    where: Setting = {}


class SinglePoint(_Statement, frozen=True, kw_only=True, tag="value"):
    """The metrics of one point."""

    values: list[Bounded]
    where: Setting = {}
    """Levels that tell the point apart; empty for the only one."""
    extreme: Literal["highest", "lowest", ""] = ""
    """Whether its first metric has this value of all `points`."""
    points: int = 1
    subject: str = ""
    """Words of the ask."""


class Share(_Data, frozen=True, kw_only=True):
    """A level, and the share of the best value that it reaches."""

    level: Level
    share: Bounded
    value: Bounded


class Enough(_Statement, frozen=True, kw_only=True, tag="enough"):
    """The least level that reaches a share of the best value."""

    metric: str
    goal: float
    """The share that is asked for."""
    least: Share
    best: Level
    """With the best value."""
    less: Share | None = None
    """The next level below, which does not; None if `least` is the lowest that was run."""
    is_open: bool = False
    """Whether the best is the last level and still gains more than the goal allows: more may give
    more."""
    where: Setting = {}


EffectVerdict: TypeAlias = Literal["better", "worse", "larger", "smaller", "same", "undecided"]


class Effect(_Data, frozen=True, kw_only=True):
    """A ratio between two settings at one combination of the other levels."""

    where: Setting
    ratio: Bounded
    """Of the metric: the first setting over the second."""
    verdict: EffectVerdict
    first: Bounded | None = None
    second: Bounded | None = None


class Effects(_Statement, frozen=True, kw_only=True, tag="effects"):
    """What one setting costs or gains against another, for each combination of other levels."""

    metric: str
    better: Literal["high", "low", "none"]
    first: Setting
    second: Setting
    """Both empty: the metric is a ratio itself."""
    effects: list[Effect]
    missing: list[Setting] = []
    """Where one of both has no value: saturated, or without results."""
    where: Setting = {}


class Scale(_Statement, frozen=True, kw_only=True, tag="scale"):
    """A metric as a power of a factor, fitted by least squares to the logarithms."""

    metric: str
    power: Bounded
    start: Level
    end: Level
    ratio: Bounded
    """Value at the end over that at the start."""
    worst: float
    """Largest distance of a value from the power, as a share of it."""
    proportional_to: Level | None = None
    """The last level up to which the metric is in proportion within 10%; None if not at all."""
    where: Setting = {}


class Outage(_Data, frozen=True, kw_only=True):
    """For how long users see a fault."""

    setting: Setting
    seconds: Bounded


class Safe(_Statement, frozen=True, kw_only=True, tag="safe"):
    """Whether anything went wrong, and what zero of so many tries cannot exclude."""

    counts: list[Bounded]
    """Of each metric: the sum over all tries, or points if those are all there is."""
    tries: int
    """Runs; of an exhaustive check 0."""
    checked: Bounded | None = None
    """What was checked, if that was all there is: the sum over points."""
    excluded: float | None = None
    """Share of tries that may go wrong, at 95%, though none did; None if some did, or if all there
    is was checked."""
    bad: list[Setting] = []
    """Points at which something went wrong."""
    points: int
    expects: Literal["none", "some"] = "none"
    subject: str = ""
    """Words of the ask."""
    outages: list[Outage] = []
    where: Setting = {}


class Changes(_Statement, frozen=True, kw_only=True, tag="changes"):
    """The effects of the tried changes."""

    best: TriedChange | None
    """The smallest change that keeps the limit of the study; without one that does, or without a
    limit, the best change of one thing, or of several if one alone gains little."""
    further: TriedChange | None
    """A change of several things that is surely better than `best`."""
    no_gain: list[TriedChange]
    unclear: int = 0
    """Changes whose interval decides nothing."""
    levels: Setting = {}
    """Where they were tried."""
    also: list[TriedChange] = []
    """Further changes after which the limit of the study is kept, the smallest first."""
    bound: float | None = None
    """The limit by which changes are judged; None if there is none."""
    is_upper: bool = True


class Busiest(_Statement, frozen=True, kw_only=True, tag="busiest"):
    """The busiest part at one level."""

    part: Part
    ties: list[Part] = []
    """Parts that are as busy."""
    level: Level | None
    is_limiting: bool
    where: Setting = {}


class Settings(_Statement, frozen=True, kw_only=True, tag="settings"):
    """The values of the best settings of a trade-off for each goal."""

    goals: list[Goal]
    values: list[list[Bounded]]
    """Of the first setting of each goal, in turn: its value for every goal."""


class PrintedNumbers(_Statement, frozen=True, kw_only=True, tag="printed"):
    """How far the results are from the numbers that a publication prints."""

    count: int
    within: float | None
    """Largest distance, as a share of what is printed; None without `count`."""
    fitted: int = 0
    """Further numbers that the model was fitted to: that they are met says nothing."""


Statement: TypeAlias = (
    Incomplete
    | Disturbed
    | Saturated
    | Limit
    | NoLimit
    | Losses
    | Target
    | OtherCurves
    | Comparison
    | Equal
    | Undecided
    | TradeOff
    | Reproduction
    | Prediction
    | Findings
    | Sweep
    | SinglePoint
    | Enough
    | Effects
    | Scale
    | Safe
    | Changes
    | Busiest
    | Settings
    | PrintedNumbers
)

FigureKind: TypeAlias = Literal[
    "curve",
    "bars",
    "runs",
    "trade_off",
    "cells",
    "errors",
    "predicted",
    "claims",
    "changes",
]
"""Metrics over a numeric factor; a value for each setting; the same with its runs; two goals; two
factors, with the limiting part; errors of predictions; predicted and measured values over a factor;
a mark for each claim; tried changes;
metrics over time in a run."""
QuestionCode: TypeAlias = Literal[
    "answer",
    "carries",
    "waits",
    "which_part",
    "what_to_change",
    "which_setting",
    "how_much",
    "printed",
    "predicts",
    "follows",
    "experiment",
    "asked",
]
"""The question of a figure: the question of the study; how much the system carries; how long a
response takes; which part runs out first; which change helps; which setting; how large `metrics`
are; whether printed numbers are met; how good predictions are, and where;
or the question is the title of its experiment, or a further one that the study asks."""


class Mark(_Data, frozen=True, kw_only=True):
    """Something drawn inside a figure."""

    kind: Literal[
        "knee",
        "limit",
        "target",
        "current",
        "saturated",
        "best",
        "beaten",
        "change",
        "base",
        "chosen",
    ]
    level: Level | None = None
    """Where on the axis of the factor."""
    value: Bounded | None = None
    """Where on the axis of the metric."""
    name: str = ""
    """Of a part."""
    setting: Setting = {}


class FigureChoice(_Data, frozen=True, kw_only=True):
    """A figure: what it draws, what it marks, and the statement that is its title."""

    kind: FigureKind
    question: QuestionCode
    experiment: str
    """Empty: the claims of the whole study."""
    metrics: list[str] = []
    factor: str = ""
    """On the horizontal axis; of ``cells`` the first of two; empty for settings."""
    series: str = ""
    """Factor of the series; of ``cells`` the second of two."""
    where: Setting = {}
    """Levels that are held."""
    marks: list[Mark] = []
    text: str = ""
    """Of ``asked``: the question, as the study has it."""
    part: Setting = {}
    """Levels of the part of the experiment that was asked about."""
    only: list[Setting] = []
    """Settings that are drawn alone; empty: all."""
    finding: Statement | None = None
    """Title; None if the figure says no more than its question."""


CautionCode: TypeAlias = Literal[
    "quick",
    "runs_left",
    "failed",
    "no_results",
    "disturbed",
    "remark",
    "refused",
    "little",
    "settled",
    "imprecise",
    "short_runs",
    "no_intervals",
    "unpaired",
    "assumed",
    "fitted",
]
"""A quick variant; runs that are left; failed runs; points without results; disturbed runs; the
system says why its results may mislead; a fit was refused; Little's law fails; runs settled at one
of two rates; a precision was not reached; runs too short for their intervals; no intervals;
compared runs stood apart; numbers of a model are assumed; or fitted to what it is compared with."""


class Caution(_Data, frozen=True, kw_only=True, omit_defaults=True):
    """A reason to take care, with the numbers that say so."""

    code: CautionCode
    count: int = 0
    total: int = 0
    share: float | None = None
    """The worst: of `imprecise` a half-width, of `disturbed` what was taken, of `settled` how much
    larger the higher rate is."""
    wanted: float | None = None
    metric: str = ""
    unit: str = "1"
    name: str = ""
    """Of `disturbed`: the cause, as `Disturbed.cause`; of `assumed`: ``assumed``, ``unsourced`` or
    ``both``; of `quick`: ``at_least`` if `total` is the least that the full variant runs."""
    message: str = ""
    """Of `remark`: the words of the system; of `refused`: the reason, `name` is the experiment."""
    levels: Setting = {}
    """Of `imprecise`: the point."""


class Sureness(_Data, frozen=True, kw_only=True):
    """How wide the 95% intervals of the responses are, relative to their values."""

    runs: int
    """Of each point: the most."""
    typical: float
    """Median of the half-widths."""
    worst_below: float
    """Reach of the widest one below its value, and above."""
    worst_above: float
    metric: str
    levels: Setting
    is_prediction: bool = False
    widest: Bounded | None = None
    """The value with the widest one; None in results of older versions."""
    count: int = 0
    """Values with an interval."""
    vague: int = 0
    """Those whose interval reaches farther from the value than twice its size."""


class ClaimCounts(_Data, frozen=True, kw_only=True):
    """How many claims hold, differ and are undecided."""

    holds: int = 0
    differs: int = 0
    undecided: int = 0
    left_out: int = 0
    """Undecided ones that the quick variant leaves out on purpose."""
    exceptions: list[str] = []
    """Names of those that do not hold: first those that differ."""

    @property
    def total(self) -> int:
        """Claims whatever their verdict."""
        return self.holds + self.differs + self.undecided


class Record(_Data, frozen=True, kw_only=True):
    """The answer to one question of a study: what everything that is printed comes from."""

    ask: AskKind
    question: str
    """As the study has it; empty: the title of the study, or of the experiment."""
    is_inferred: bool
    """Whether the study asks nothing of this kind: the design suggests it."""
    experiment: str
    """Empty: the claims, or the whole study."""
    statement: Statement
    metric: str = ""
    value: float | None = None
    """The number that answers, in `unit`: of a capacity, a limit and what is enough the level, of
    an effect the ratio, of growth the power, of a value that of `metric`; None for words."""
    low: float | None = None
    high: float | None = None
    unit: str = "1"
    parameter: str = ""
    level: Value | None = None
    where: Setting = {}
    """Levels that are held."""
    is_decided: bool = True
    """Whether it is an answer, and not that intervals, or the levels, leave it open."""
    rows: list[str] = []
    """Keys of the points that it stands on; empty: all of the experiment."""


class Answer(_Data, frozen=True, kw_only=True):
    """The answer of a study: one statement, its figure, what follows, and how sure that is."""

    statement: Statement
    experiment: str
    """The one that the statement is about; empty: the claims, or the whole study."""
    records: list[Record] = []
    """One for each question, the headline first; none in results of older versions."""
    follows: list[Statement]
    """At most two; three where the study states what it asks."""
    figure: FigureChoice | None
    """The decisive one; None if nothing can be drawn."""
    questions: list[FigureChoice]
    """Further figures, one for each question: at most eight."""
    cautions: list[Caution]
    """The most important first: at most four."""
    sureness: Sureness | None
    """None without intervals."""
    claims: ClaimCounts
    columns: list[Literal["measure", "model"]]
    """Whether it was measured or simulated, or both."""

    @property
    def kind(self) -> str:
        """The kind of the statement."""
        return str(self.statement.__struct_config__.tag)
