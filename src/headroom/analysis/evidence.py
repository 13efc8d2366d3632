"""What a verdict rests on, as plain data: codes and numbers in base units, never sentences.

`headroom.report.sentences` makes the words; a program reads the fields.

Invariant: as for `headroom.analysis.results`, all of it survives `msgspec.to_builtins` and back.
"""

from typing import Literal, TypeAlias

import msgspec

from headroom.experiment.protocol.system import Value


class _Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all evidence."""


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
    """What a claim allows: from `low` to `high`, both included; None where nothing bounds it."""

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
    note: str = ""
    """Why there is no interval."""


class SignEvidence(_Evidence, frozen=True, kw_only=True, tag_field="kind", tag="sign"):
    """Two points without a ratio, because a value is not above zero: differences decide."""

    allowed: Allowed
    place: Literal["inside", "above", "below", "unclear"]
    """Where the ratio would lie, seen from what is allowed."""
    note: str = ""
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
    note: str = ""
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
    """Of each comparison, so that all hold together with 95 %."""
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
    message: str = ""
    """What failed, or why a point has no results."""


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
    """Of the ratio of each point, so that all hold together with 95 %."""
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
    | MissingEvidence
)
