"""The result of a search for the smallest configuration: plain data for terminal, page and JSON.

Invariant: every number is in the base unit of its metric; nothing here computes.
"""

from typing import Literal, TypeAlias

import msgspec

from headroom.analysis.evidence import Fault
from headroom.analysis.results import Bottleneck
from headroom.experiment.protocol.system import Value
from headroom.sizing.search import Verdict
from headroom.sizing.targets import Target

FORMAT = 2
How: TypeAlias = Literal["simulation", "formula", "overload"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One target at one configuration.

    `low` and `high` bound the metric at the confidence at which the verdict was made; None
    without an interval. `met` is None if the interval does not tell.
    """

    target: Target
    value: float | None
    low: float | None = None
    high: float | None = None
    met: bool | None = None


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration that was looked at."""

    number: int
    levels: dict[str, Value]
    cost: float
    verdict: Verdict
    how: How
    """Settled by simulation, screened by a formula, or without a steady state by its load."""
    why: str
    """Why it was looked at."""
    checks: list[Check] = []
    replications: int = 0
    seeds: list[int] = []
    bottleneck: Bottleneck | None = None
    note: str = ""
    fault: Fault | None = None
    """Why its runs give no figures."""


class AxisUsed(msgspec.Struct, frozen=True, kw_only=True):
    """A factor that was varied, and what it costs."""

    name: str
    levels: list[Value]
    weight: float
    is_priced_by_value: bool


class SizingResult(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `headroom size`, with the trail that led to it."""

    format: int
    subject: str
    """The model or study, as it was named."""
    fixed: dict[str, Value]
    """Parameters that were set, not varied."""
    changed: list[str]
    """Those of them whose value is not the declared one."""
    targets: list[Target]
    axes: list[AxisUsed]
    seed: int
    is_found: bool
    best: Trial | None
    equally_cheap: list[Trial]
    undecided: list[Trial]
    """Cheaper configurations that cannot be distinguished from a target."""
    nearest: Trial | None
    """Without an answer: what comes nearest to the targets."""
    trail: list[Trial]
    configurations: int
    screened: int
    """Configurations that a formula alone excluded."""
    inferred: int
    """Configurations that follow from others, because more was never worse."""
    not_tried: int
    """Configurations that might be the answer and were not looked at."""
    replications: int
    confidence: float
    """Lower bound of the probability that all verdicts hold on which the answer rests."""
    is_monotone: bool
    contradictions: list[str]
    refuted: str
    """Where a simulation lies beyond a bound that a formula gave; empty if none does."""
    statement: list[str]
    """The answer in sentences."""
    beyond: Trial | None = None
    """Without an answer: the smallest configuration found with more than was given."""
    limit: Bottleneck | None = None
    """What limits the nearest configuration, unless formulas say why none meets the targets."""
    command: str
    headroom_version: str
