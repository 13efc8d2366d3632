"""The study file as data: the keys of `study.toml`, and its published JSON schema.

A study is a folder with a `study.toml`. This module holds only the types. Reading, checking and
error messages with line numbers are in `study_file`; points and seeds are in `design`. The
description of each key appears in the JSON schema and in `headroom describe study-file`.

Invariant: every key is declared here or by a system's `setup_type`; unknown keys are refused.
"""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from headroom.experiment.protocol.fit_method import DemandEvidence
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.asks import Ask, Direction
from headroom.experiment.study.windows import Analysis, Window

Name: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", max_length=60)]


Quantity: TypeAlias = float | str
"""A number in base units, or text with a unit, such as "200 ms"; a plan has numbers only."""


class Range(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"start": "from", "stop": "to"},
):
    """Levels from `from` to `to` inclusive: by `step`, or `count` levels on a `scale`."""

    start: Annotated[float, Meta(description="First level.")]
    stop: Annotated[float, Meta(description="Last level; with `step` the last one at most.")]
    step: Annotated[
        float | None, Meta(description="Distance of two levels; instead of `count`.")
    ] = None
    count: Annotated[
        Annotated[int, Meta(ge=2, le=100_000)] | None,
        Meta(
            description="Number of levels; on a whole-number parameter they are rounded and "
            "doubles left out."
        ),
    ] = None
    scale: Annotated[
        Literal["linear", "log"],
        Meta(description="Equal distances (`linear`) or equal ratios (`log`, needs `count`)."),
    ] = "linear"


class Sourced(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fixed value with its source, which the report prints."""

    value: Annotated[Value, Meta(description="The value.")]
    source: Annotated[
        str, Meta(description="Where it comes from: paper, data sheet, measured, assumed ...")
    ]


Levels: TypeAlias = list[Value] | Range
"""Levels of a factor. A list of lists is written as a zipped factor instead."""


class Replications(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often each point runs.

    Fixed (`count`), or until the 95% interval of `metric` is narrower than `half_width`
    (relative to its centre), at least `minimum` and at most `maximum` times.
    """

    count: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Fixed number; instead of `metric` and `half_width`."),
    ] = None
    metric: Annotated[
        str | None, Meta(description="Metric whose interval decides; needs `half_width`.")
    ] = None
    half_width: Annotated[
        Annotated[float, Meta(gt=0, lt=1)] | None,
        Meta(description="Half of the 95% interval, relative to its centre: 0.05 is 5%."),
    ] = None
    minimum: Annotated[int, Meta(ge=2, description="Replications before the metric decides.")] = 5
    maximum: Annotated[int, Meta(ge=2, description="Maximum number of replications.")] = 100


class WarmUp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the warm-up is cut: found in the runs, a fixed time, or not at all."""

    method: Annotated[
        Literal["automatic", "mser5", "fixed", "none"],
        Meta(
            description="`automatic` finds the cut by correlation times, `mser5` by MSER-5 alone; "
            "`fixed` removes `seconds`, `none` removes nothing."
        ),
    ] = "automatic"
    seconds: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="Simulated or measured time (s) that method `fixed` removes."),
    ] = None


class WhatIf(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What-if runs that double stations or pools, at every point of a simulation.

    The doubled system runs with the seeds of the point itself, so a few replications are enough.
    """

    parts: Annotated[
        Literal["limits", "all", "none"],
        Meta(
            description="Double saturated stations and exhausted pools (`limits`), every station "
            "and pool (`all`), or nothing (`none`)."
        ),
    ] = "limits"
    replications: Annotated[
        int,
        Meta(ge=2, description="Replications of each doubled system, at most those of its point."),
    ] = 5
    points: Annotated[
        int,
        Meta(ge=1, description="Maximum number of points to try, of all with a bottleneck."),
    ] = 20
    changes: Annotated[
        int,
        Meta(
            ge=1,
            description="Maximum changes at a point: the bottleneck first, then the busiest; the "
            "report counts the rest. `all` tries every one.",
        ),
    ] = 5
    also: Annotated[
        list[str],
        Meta(
            description="Additional changes at the same points, also of parameters, e.g. "
            '"hit_ratio=0.9" or "station.cpu.servers=8; hit_ratio=0.9".'
        ),
    ] = []


class Refine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Levels to add where a limit breaks, once the levels of the study have run.

    Each new level halves the widest gap between the last level that keeps the limit and the first
    that breaks it, on each curve over the load.
    """

    points: Annotated[
        int, Meta(ge=0, le=100, description="Maximum levels that are added to a curve.")
    ] = 6
    to: Annotated[
        float,
        Meta(
            gt=0,
            lt=1,
            description="Distance of those two levels, or of the ends of the interval of the "
            "break, relative to the upper level, at which no more are added: 0.05 is 5%.",
        ),
    ] = 0.05


class Limit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A limit that a metric must keep; the report says at which load it breaks."""

    metric: Annotated[str, Meta(description="Metric that is limited.")]
    at_most: Annotated[
        Quantity | None,
        Meta(description='Largest value allowed: in the base unit of the metric, or "200 ms".'),
    ] = None
    at_least: Annotated[Quantity | None, Meta(description="Smallest value allowed.")] = None
    factor: Annotated[
        str,
        Meta(description="Numeric factor that is the load; empty: the first numeric factor."),
    ] = ""
    current: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(description="Current level of the load; the headroom is relative to it."),
    ] = None
    refine: Annotated[
        Annotated[int, Meta(ge=0, le=100)] | Refine,
        Meta(
            description="Add levels of the load where the limit breaks: the maximum for each curve "
            "(`refine = 6`), or a table with `points` and `to`; 0 adds none."
        ),
    ] = 0

    @property
    def refinement(self) -> Refine:
        """How levels are added; with 0 points none are."""
        return self.refine if isinstance(self.refine, Refine) else Refine(points=self.refine)


class Fit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters that are fitted from the results of earlier experiments of the same study.

    The experiment waits until those experiments have all their replications. A new measurement
    gives new parameters and so new runs; an unchanged one reuses what was run.
    """

    sources: Annotated[
        str | list[str],
        Meta(description="Experiment, or list of experiments, whose results are fitted."),
    ] = msgspec.field(name="from")
    method: Annotated[
        str,
        Meta(
            description="Registered method: `least-squares`, `service.demand`, "
            "`share-of-maximum`, `storage.device` or a plug-in's."
        ),
    ]
    where: Annotated[
        dict[str, Value],
        Meta(
            description="Levels of the source's factors; a factor not named matches every level, "
            "and a source that has no such parameter is taken whole."
        ),
    ] = {}
    by: Annotated[
        list[str],
        Meta(
            description="Factors of this experiment and of its sources: one set of parameters is "
            "fitted for each of their levels; a source that has no such parameter serves all sets."
        ),
    ] = []
    options: Annotated[dict[str, Any], Meta(description="The method's own options.")] = {}
    start: Annotated[
        dict[str, Value],
        Meta(
            description="Values of fitted parameters that the experiment is checked with and the "
            "search starts from, instead of their defaults."
        ),
    ] = {}
    load_of: Annotated[
        str,
        Meta(
            description="Experiment above whose load a fit has chosen (`share-of-maximum`): this "
            "one gets the same load, and a prediction that of the measurement."
        ),
    ] = ""
    evidence: Annotated[
        DemandEvidence,
        Meta(
            description="Kind of measurement that demands are fitted to; it decides how wide a "
            "prediction beyond the measured range is. `automatic` finds it from the points: "
            "utilization, clients, think time, and how often the study came back to them."
        ),
    ] = "automatic"


SAME_WITHIN = 0.05
"""Difference considered negligible, unless the study states another."""


class Compare(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Comparison of the levels of a factor with one of them.

    Every level is compared with `base` in every metric, at each combination of the other factors.
    """

    factor: Annotated[str, Meta(description="Factor whose levels are compared.")]
    base: Annotated[Value, Meta(description="Level that the others are compared with.")]
    same_within: Annotated[
        float,
        Meta(
            ge=0,
            lt=1,
            description="Difference that does not matter: with 0.05, levels are the same if the "
            "whole interval of their ratio is between 1 / 1.05 and 1.05.",
        ),
    ] = SAME_WITHIN
    metrics: Annotated[
        list[str], Meta(description="Metrics to compare; empty: the responses.")
    ] = []


Where: TypeAlias = dict[str, Value]
"""Selects points by factor levels; factors not named match every level."""


class Derived(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A quantity of several points: table `[[experiment.derived]]`, with exactly one operation.

    It may build on derived quantities above it. Claims and limits name it like a metric; what is
    taken `..._over` factors has one value for each combination of levels of the other factors.
    """

    name: Annotated[
        Name, Meta(description="Letters, digits, - and _; no metric of the system has this name.")
    ]
    of: Annotated[str, Meta(description="Metric, or derived quantity above this one.")]
    ratio_to: Annotated[
        Where | None,
        Meta(description="Divide by the point with these levels, all other levels equal."),
    ] = None
    difference_to: Annotated[
        Where | None,
        Meta(description="Subtract the point with these levels, all other levels equal."),
    ] = None
    to_experiment: Annotated[
        str,
        Meta(
            description="Experiment above with the points of `ratio_to` or `difference_to`, which "
            "may be {}; empty: this one."
        ),
    ] = ""
    inverse: Annotated[
        bool, Meta(description="Of `ratio_to`: the other point over this one, e.g. a speed-up.")
    ] = False
    divided_by: Annotated[
        str,
        Meta(
            description="Divide by a metric, a derived quantity or a numeric factor at the same "
            "levels, e.g. a share of the run time, or an efficiency."
        ),
    ] = ""
    share_over: Annotated[
        str | list[str], Meta(description="Share of the sum over the levels of these factors.")
    ] = []
    standardised_over: Annotated[
        str | list[str],
        Meta(
            description="Less the mean over the levels of these factors, divided by their sample "
            "standard deviation (n - 1); 0 if that is 0."
        ),
    ] = []
    sum_over: Annotated[
        str | list[str], Meta(description="Sum over the levels of these factors.")
    ] = []
    mean_over: Annotated[
        str | list[str], Meta(description="Mean over the levels of these factors.")
    ] = []
    geometric_mean_over: Annotated[
        str | list[str], Meta(description="Geometric mean over the levels of these factors.")
    ] = []
    maximum_over: Annotated[
        str | list[str], Meta(description="Largest value over the levels of these factors.")
    ] = []
    minimum_over: Annotated[
        str | list[str], Meta(description="Smallest value over the levels of these factors.")
    ] = []
    weights: Annotated[
        dict[str, dict[str, Annotated[float, Meta(gt=0)]]],
        Meta(
            description="Of a sum or a mean: factor to level to weight, e.g. "
            "`{ mode = { random = 4 } }`; levels that are not named have weight 1."
        ),
    ] = {}
    function: Annotated[
        str, Meta(description="Registered function (entry point group `headroom.derived`).")
    ] = ""
    options: Annotated[dict[str, Any], Meta(description="Options of the function.")] = {}
    unit: Annotated[
        str | None, Meta(description="Unit; by default that of the operation: 1 for a ratio.")
    ] = None
    better: Annotated[
        Literal["high", "low", "none"], Meta(description="Direction that is better.")
    ] = "none"
    statistic: Annotated[
        Literal["centre", "mean", "median"],
        Meta(
            description="Statistic of the replications of a metric: `centre` is the median of "
            "measured runs, the mean of simulated ones."
        ),
    ] = "centre"
    paired: Annotated[
        bool,
        Meta(
            description="Of a metric: take the mean, and pair the runs of one block, which were "
            "measured around each other, so that a drift of the machine cancels."
        ),
    ] = False


class Quick(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Keys that `--quick` replaces in an experiment, never merged within a factor."""

    fixed: Annotated[
        dict[str, Value | Sourced],
        Meta(description="Fixed values to set or replace; they replace factors of the same name."),
    ] = {}
    factors: Annotated[
        dict[str, Levels],
        Meta(description="Factors to set or replace; they replace fixed values of the same name."),
    ] = {}
    zipped: Annotated[
        list[dict[str, list[Value]]] | None, Meta(description="Replaces all zipped factors.")
    ] = None
    replications: Annotated[
        Replications | None, Meta(description="Replaces the table `replications`.")
    ] = None
    system: Annotated[
        dict[str, Any], Meta(description="Keys of the system's set-up to set or replace.")
    ] = {}
    completions: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="As in the experiment.")
    ] = None
    time_s: Annotated[
        Annotated[float, Meta(gt=0)] | None, Meta(description="As in the experiment.")
    ] = None
    refine: Annotated[
        Annotated[int, Meta(ge=0, le=100)] | None,
        Meta(description="Levels that each limit with `refine` adds at most, instead of its own."),
    ] = None
    skip: Annotated[bool, Meta(description="Leave the whole experiment out.")] = False


class Experiment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table `[[experiment]]`: a system, its fixed parameters, its factors."""

    name: Annotated[Name, Meta(description="Letters, digits, - and _; unique in the study.")]
    title: Annotated[str, Meta(description="Heading in the report.")] = ""
    model: Annotated[
        str | None,
        Meta(
            description="The model that is simulated, instead of `system`: a registered name, "
            '`"model.py:function"`, or a file of JMT.'
        ),
    ] = None
    system: Annotated[
        dict[str, Any],
        Meta(description="`name` of the system; the other keys are that system's own set-up."),
    ] = {}
    completions: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Short for `completions` in `system`: the end of each run."),
    ] = None
    time_s: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(description="Short for `time_s` in `system`: the end (s) of each run."),
    ] = None
    fixed: Annotated[
        dict[str, Value | Sourced],
        Meta(description="Values of parameters that do not vary, plain or with their source."),
    ] = {}
    factors: Annotated[
        dict[str, Levels],
        Meta(description="Parameters that vary: a list of levels, or a range."),
    ] = {}
    zipped: Annotated[
        list[dict[str, list[Value]]],
        Meta(description="Factors that move together: each table names lists of equal length."),
    ] = []
    without: Annotated[
        list[dict[str, Value | list[Value]]],
        Meta(
            description="Combinations of levels that are left out: each table names a level, or a "
            "list of levels, of some factors."
        ),
    ] = []
    responses: Annotated[
        list[str], Meta(description="Metrics to show first; empty: the system's first three.")
    ] = []
    metrics: Annotated[
        list[str],
        Meta(
            description="Metrics to keep in the results, as patterns such as "
            "`station.*.utilization`, or `!station.*.class.*` for what is left out; of those "
            "that fit a metric, the last decides. Those of responses, claims and limits are kept. "
            "Empty: all."
        ),
    ] = []
    replications: Annotated[Replications, Meta(description="How often each point runs.")] = (
        Replications(count=10)
    )
    warm_up: Annotated[WarmUp, Meta(description="How the warm-up is cut.")] = WarmUp()
    analysis: Annotated[
        Analysis,
        Meta(
            description="`terminating`: runs have a natural end, so each replication is one "
            "observation and nothing is cut; `steady-state`: runs are samples of a steady state; "
            "`automatic`: terminating where arrivals or capacities follow a curve up to a given "
            "time."
        ),
    ] = "automatic"
    windows: Annotated[
        list[Window],
        Meta(description="Windows of time with separate metrics: tables `[[experiment.window]]`."),
    ] = msgspec.field(default_factory=list, name="window")
    what_if: Annotated[WhatIf, Meta(description="What-if runs that double stations or pools.")] = (
        WhatIf()
    )
    limits: Annotated[
        list[Limit],
        Meta(description="Limits to keep: tables `[[experiment.limit]]`."),
    ] = msgspec.field(default_factory=list, name="limit")
    derived: Annotated[
        list[Derived],
        Meta(description="Quantities of several points: tables `[[experiment.derived]]`."),
    ] = []
    fit: Annotated[
        Fit | None,
        Meta(description="Parameters that are fitted from results of earlier experiments."),
    ] = None
    compare: Annotated[
        Compare | None,
        Meta(description="Compare the levels of a factor: table `[experiment.compare]`."),
    ] = None
    host: Annotated[
        Annotated[str, Meta(pattern=r"^([A-Za-z0-9][A-Za-z0-9_.-]*)?$", max_length=60)],
        Meta(
            description="Name or role of the machine that is measured, as one worker of the "
            "cluster announces it; empty: the machine that runs the command."
        ),
    ] = ""
    hosts: Annotated[
        dict[
            Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)],
            Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=60)],
        ],
        Meta(
            description="Role to host, instead of `host`: the program has the role `load`, a "
            "service the role `server` unless it names another."
        ),
    ] = {}
    seeds_of: Annotated[
        str,
        Meta(
            description="Another experiment with the same levels, whose seeds the points take: a "
            "prediction then sees the very random numbers of the measurement."
        ),
    ] = ""
    quick: Annotated[Quick, Meta(description="The smaller variant that `--quick` runs.")] = Quick()

    @property
    def site(self) -> str:
        """The machines that it names, as one text; empty: the machine that runs the command."""
        return self.host or ", ".join(f"{role}={host}" for role, host in self.hosts.items())


Statistic: TypeAlias = Literal["centre", "mean", "median", "stdev", "mean_deviation"]
"""Statistic of the replications of a point that a claim is about."""
Extreme: TypeAlias = Literal["minimum", "maximum"]
"""Statistic that only a claim about one point may have."""

_STATISTIC = Meta(
    description="Statistic of the replications: `centre` (the median of measured runs, the mean "
    "of simulated ones), `mean`, `median`, `stdev`, or `mean_deviation` (mean distance from the "
    "mean)."
)

_OF_A_POINT = Meta(
    description="As elsewhere, or `minimum` or `maximum`: the median extreme of samples of "
    "`extreme_of` replications."
)

_WITHIN = Meta(
    description='Instead of a tolerance: "5%" of `value`, or a quantity such as "10 ms".'
)
_SHARE = Meta(description='Instead of `tolerance`: text such as "5%".')


class _ClaimBase(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"
):
    """The common keys of all claims."""

    name: Annotated[Name, Meta(description="Letters, digits, - and _; unique in the study.")]
    text: Annotated[str, Meta(description="The claim as a sentence.")]
    experiment: Annotated[str, Meta(description="Name of the experiment that it is about.")]
    metric: Annotated[str, Meta(description="Metric that it is about.")]
    where: Annotated[
        Where, Meta(description="Levels of factors; a factor not named matches every level.")
    ] = {}
    published: Annotated[str, Meta(description="The statement of the source, for the table.")] = ""
    source: Annotated[str, Meta(description="Where it was published.")] = ""
    fitted: Annotated[
        bool,
        Meta(description="The model was fitted to this value, so it cannot differ by much."),
    ] = False


class ValueClaim(_ClaimBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="value"):
    """`metric` at the one point `where` is `value` within a tolerance, or at least / at most.

    Numbers are in the base unit of the metric; text has a unit: "200 ms", "4 GiB", "5%".
    """

    value: Annotated[
        Quantity | None, Meta(description="Published value; needs a tolerance or `within`.")
    ] = None
    within: Annotated[str, _WITHIN] = ""
    at_least: Annotated[Quantity | None, Meta(description="Lower bound of the metric.")] = None
    at_most: Annotated[Quantity | None, Meta(description="Upper bound of the metric.")] = None
    tolerance: Annotated[
        Annotated[float, Meta(ge=0, lt=1)] | None,
        Meta(description="Relative: 0.05 is 5% of `value`."),
    ] = None
    tolerance_absolute: Annotated[
        Annotated[float, Meta(ge=0)] | None, Meta(description="In the unit of the metric.")
    ] = None
    statistic: Annotated[Statistic | Extreme, _OF_A_POINT] = "centre"
    extreme_of: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="Replications that the published smallest or largest value was taken from, "
            "with the statistics `minimum` and `maximum`: an extreme grows with their number."
        ),
    ] = None


class RatioClaim(_ClaimBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="ratio"):
    """`metric` at `where` divided by `metric` at `to` is `value`, or at least / at most."""

    to: Annotated[Where, Meta(description="The point to divide by.")]
    value: Annotated[float | None, Meta(description="Published ratio.")] = None
    tolerance: Annotated[
        Annotated[float, Meta(ge=0, lt=1)] | None,
        Meta(description="Relative: 0.05 is 5% of `value`."),
    ] = None
    within: Annotated[
        str, Meta(description='Instead of `tolerance`: "5%" of `value`, or of 1 without a value.')
    ] = ""
    at_least: Annotated[
        Quantity | None, Meta(description='Lower bound of the ratio: 0.9 or "90%".')
    ] = None
    at_most: Annotated[
        Quantity | None, Meta(description='Upper bound of the ratio: 1.1 or "110%".')
    ] = None
    statistic: Annotated[Statistic, _STATISTIC] = "centre"


class AgreementClaim(
    _ClaimBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="agreement"
):
    """`experiment` predicts the `metric` of `to_experiment` within `tolerance`.

    Every point of `experiment` at `where` is compared with the point of `to_experiment` that has
    the same levels of all factors that both know; levels named in `to` replace them. The claim is
    that all of them agree; points that only one of the experiments has do not count. With
    `points = "median"` the claim is that half of them do.
    """

    to_experiment: Annotated[str, Meta(description="Experiment whose results are predicted.")]
    to_metric: Annotated[
        str, Meta(description="Metric there, in the same unit; empty: the same metric.")
    ] = ""
    to: Annotated[
        Where, Meta(description="Levels of factors of `to_experiment` where they differ.")
    ] = {}
    tolerance: Annotated[
        Annotated[float, Meta(gt=0, lt=1)] | None,
        Meta(description="Relative to what was measured: 0.15 is 15% of it."),
    ] = None
    within: Annotated[str, _SHARE] = ""
    statistic: Annotated[Statistic, _STATISTIC] = "centre"
    points: Annotated[
        Literal["all", "median"],
        Meta(
            description="`all`: every point agrees; `median`: the median of the errors of all "
            "points is within `tolerance`."
        ),
    ] = "all"


class ErrorsClaim(_ClaimBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="errors"):
    """`experiment` predicts the `metric` of `to_experiment`: the errors over all common points.

    Points meet as for `agreement`. The claim is about each limit that it states: the median and the
    worst error relative to what was measured, the rank correlation of Spearman, and the share of
    points whose difference to the point at `reference` has the measured sign.
    """

    to_experiment: Annotated[str, Meta(description="Experiment whose results are predicted.")]
    to_metric: Annotated[
        str, Meta(description="Metric there, in the same unit; empty: the same metric.")
    ] = ""
    to: Annotated[
        Where, Meta(description="Levels of factors of `to_experiment` where they differ.")
    ] = {}
    median_at_most: Annotated[
        Quantity | None, Meta(description='Bound of the median error: 0.1 or "10%".')
    ] = None
    worst_at_most: Annotated[
        Quantity | None, Meta(description='Bound of the worst error: 0.3 or "30%".')
    ] = None
    rank_at_least: Annotated[
        Annotated[float, Meta(ge=-1, le=1)] | None,
        Meta(description="Bound of the rank correlation, between -1 and 1."),
    ] = None
    beyond_noise: Annotated[
        bool,
        Meta(
            description="Rank only points whose group was measured to differ. Points that differ "
            "in nothing but the factors of `reference`, or of `ratio_to` and the like of a derived "
            "metric, form a group. Those groups count whose measured values Welch's test calls "
            "unequal, at a false discovery rate of 5% over all groups (Benjamini and Hochberg). "
            "If none counts, the claim is undecided."
        ),
    ] = False
    signs_at_least: Annotated[
        Quantity | None, Meta(description='Bound of the share of equal signs: 0.9 or "90%".')
    ] = None
    reference: Annotated[
        Where,
        Meta(
            description="Levels that differences are taken to, all others equal. For "
            "`signs_at_least`, and for `beyond_noise` of a metric that is not derived."
        ),
    ] = {}
    statistic: Annotated[Statistic, _STATISTIC] = "centre"


class OrderingClaim(
    _ClaimBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="ordering"
):
    """`metric` over the levels of `factor` rises strictly in the order given."""

    factor: Annotated[str, Meta(description="The factor whose levels are ordered.")]
    order: Annotated[list[Value], Meta(description="Levels by the metric, smallest first.")]


class MonotoneClaim(
    _ClaimBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="monotone"
):
    """`metric` never falls (or never rises) over the levels of a numeric `factor`.

    A step against `direction` of at most `tolerance` does not count: without it, a plateau is never
    distinguishable from a small fall.
    """

    factor: Annotated[str, Meta(description="A numeric factor.")]
    direction: Annotated[
        Literal["rises", "falls"], Meta(description="Where the metric goes as the factor grows.")
    ]
    tolerance: Annotated[
        float,
        Meta(
            ge=0,
            lt=1,
            description="Relative: a step back of at most this share does not count. Without it "
            "a plateau stays undecided, as it may be a small step back.",
        ),
    ] = 0.0


class FlatClaim(_ClaimBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="flat"):
    """`metric` stays within `tolerance` (relative) of its mean between two levels of `factor`."""

    factor: Annotated[str, Meta(description="A numeric factor.")]
    tolerance: Annotated[
        Annotated[float, Meta(gt=0)] | None, Meta(description="Relative: 0.05 is 5% of the mean.")
    ] = None
    within: Annotated[str, _SHARE] = ""
    start: Annotated[
        float | None, Meta(description="Level to start at; levels below do not count.")
    ] = msgspec.field(default=None, name="from")
    stop: Annotated[
        float | None, Meta(description="Level to end at; levels above do not count.")
    ] = msgspec.field(default=None, name="to")


class KneeClaim(_ClaimBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="knee"):
    """The curve of `metric` over a numeric `factor` bends at `level`, within `tolerance`."""

    factor: Annotated[str, Meta(description="A numeric factor.")]
    level: Annotated[float, Meta(description="Published level of the knee.")]
    tolerance: Annotated[
        Annotated[float, Meta(ge=0)] | None, Meta(description="Relative: 0.1 is 10% of `level`.")
    ] = None
    within: Annotated[str, _SHARE] = ""


def in_base_units(bound: Quantity | None) -> float | None:
    """Return a bound of a plan, in which quantities are numbers.

    Examples
    --------
    >>> in_base_units(0.2), in_base_units(None)
    (0.2, None)
    """
    if isinstance(bound, str):
        raise TypeError(f"{bound!r} belongs to a study that was not planned")
    return bound


class CrossoverClaim(
    _ClaimBase, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="crossover"
):
    """`metric` at `where` and at `to` cross at `level` of a numeric factor."""

    to: Annotated[Where, Meta(description="Levels of factors of the points to compare with.")]
    factor: Annotated[str, Meta(description="A numeric factor, named in neither.")]
    level: Annotated[float, Meta(description="Published level of the crossover.")]
    tolerance: Annotated[
        Annotated[float, Meta(ge=0)] | None, Meta(description="Relative: 0.1 is 10% of `level`.")
    ] = None
    within: Annotated[str, _SHARE] = ""


Claim: TypeAlias = (
    ValueClaim
    | RatioClaim
    | AgreementClaim
    | ErrorsClaim
    | OrderingClaim
    | MonotoneClaim
    | FlatClaim
    | KneeClaim
    | CrossoverClaim
)


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole `study.toml`."""

    schema: Annotated[Literal[1], Meta(description="Format of the file: 1.")]
    name: Annotated[Name, Meta(description="Letters, digits, - and _.")]
    title: Annotated[
        str, Meta(description="Heading of the report; empty: the question of the first ask.")
    ] = ""
    question: Annotated[str, Meta(description="The question that the study answers.")] = ""
    asks: Annotated[
        list[Ask],
        Meta(
            description="Questions as data: tables `[[ask]]`, the first is the headline. "
            "Empty: inferred from limits, comparisons, claims and factors."
        ),
    ] = msgspec.field(default_factory=list, name="ask")
    titles: Annotated[
        dict[str, str | dict[str, str]],
        Meta(
            description="Words for a metric, a part or a parameter in sentences, such as "
            '`throughput = "calls a second"`; or for the levels of a parameter: '
            '`case = { 1 = "a new TLS connection" }`.'
        ),
    ] = {}
    directions: Annotated[
        dict[str, Direction],
        Meta(
            description="Parameter to `load` (work that comes), `resource` (more is better), "
            "`setting` or `label`, where the model does not show it."
        ),
    ] = {}
    seed: Annotated[
        int, Meta(ge=0, le=2**63 - 1, description="All seeds derive from it; `--seed` replaces it.")
    ]
    experiments: Annotated[
        list[Experiment], Meta(description="One or more experiments: tables `[[experiment]]`.")
    ] = msgspec.field(name="experiment")
    claims: Annotated[
        list[Claim], Meta(description="Sentences to be checked: tables `[[claim]]`.")
    ] = msgspec.field(default_factory=list, name="claim")

    @property
    def heading(self) -> str:
        """The title; without one the first question that there is."""
        asked = [ask.question for ask in self.asks]
        return next(filter(None, [self.title, *asked, self.question]), "")
