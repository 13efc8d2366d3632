"""The study file as data: what `study.toml` may say, and its published JSON schema.

A study is a folder with a `study.toml`. This module holds the types only; reading, checking
and error messages with line numbers are in `study_file`, points and seeds in `design`.

Invariant: every key is declared here or by a system's `setup_type`; unknown keys are refused.
"""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from headroom.experiment.system import Value

Name: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", max_length=60)]


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the study file: unknown keys are refused."""


class Range(_Table, kw_only=True, rename={"start": "from", "stop": "to"}):
    """Levels from `from` to `to` inclusive: by `step`, or `count` levels on a `scale`."""

    start: float
    stop: float
    step: float | None = None
    count: Annotated[int, msgspec.Meta(ge=2, le=100_000)] | None = None
    scale: Literal["linear", "log"] = "linear"


class Sourced(_Table, kw_only=True):
    """A fixed value with the place it was taken from; the source is printed in the report."""

    value: Value
    source: str


Levels: TypeAlias = list[Value] | Range
"""Levels of a factor. A list of lists is written as a zipped factor instead."""


class Replications(_Table, kw_only=True):
    """How often each point runs.

    Fixed (`count`), or until the 95 % interval of `metric` is narrower than `half_width`
    (relative to its centre), at least `minimum` and at most `maximum` times.
    """

    count: Annotated[int, msgspec.Meta(ge=1)] | None = None
    metric: str | None = None
    half_width: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    minimum: Annotated[int, msgspec.Meta(ge=2)] = 5
    maximum: Annotated[int, msgspec.Meta(ge=2)] = 100


class WarmUp(_Table, kw_only=True):
    """How the warm-up is cut: MSER-5, a fixed share of the run, or not at all."""

    method: Literal["mser5", "fixed", "none"] = "mser5"
    seconds: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Simulated or measured time (s) that method `fixed` removes."""


class Quick(_Table, kw_only=True):
    """What `--quick` replaces in an experiment: whole keys, never merged within a factor."""

    fixed: dict[str, Value | Sourced] = {}
    factors: dict[str, Levels] = {}
    zipped: list[dict[str, list[Value]]] | None = None
    replications: Replications | None = None
    system: dict[str, Any] = {}
    skip: bool = False


class Experiment(_Table, kw_only=True):
    """One table `[[experiment]]`: a system, its fixed parameters, its factors."""

    name: Name
    title: str = ""
    system: dict[str, Any]
    """`name` of the system; the other keys are that system's own set-up."""
    fixed: dict[str, Value | Sourced] = {}
    factors: dict[str, Levels] = {}
    zipped: list[dict[str, list[Value]]] = []
    """Factors that move together: each table names lists of equal length."""
    responses: list[str] = []
    """Metrics to show first; empty: the system's first three."""
    replications: Replications = Replications(count=10)
    warm_up: WarmUp = WarmUp()
    quick: Quick = Quick()


Where: TypeAlias = dict[str, Value]
"""Selects points by factor levels; factors not named match every level."""


class _ClaimBase(_Table, tag_field="kind", kw_only=True):
    """What every claim says."""

    name: Name
    text: str
    experiment: str
    metric: str
    where: Where = {}
    published: str = ""
    """What the source says, as words, for the table; numbers to check are fields of the kind."""
    source: str = ""


class ValueClaim(_ClaimBase, tag="value", kw_only=True):
    """`metric` at the one point `where` is `value` within a relative or absolute tolerance."""

    value: float
    tolerance: Annotated[float, msgspec.Meta(ge=0)] | None = None
    tolerance_absolute: Annotated[float, msgspec.Meta(ge=0)] | None = None


class RatioClaim(_ClaimBase, tag="ratio", kw_only=True):
    """`metric` at `where` divided by `metric` at `to` is `value`, or at least / at most."""

    to: Where
    value: float | None = None
    tolerance: Annotated[float, msgspec.Meta(ge=0)] | None = None
    at_least: float | None = None
    at_most: float | None = None


class OrderingClaim(_ClaimBase, tag="ordering", kw_only=True):
    """`metric` over the levels of `factor` rises strictly in the order given."""

    factor: str
    order: list[Value]


class MonotoneClaim(_ClaimBase, tag="monotone", kw_only=True):
    """`metric` never falls (or never rises) over the levels of a numeric `factor`.

    A step against `direction` of at most `tolerance`, relative to the level before, does not
    count: without it, a plateau can never be told from a small fall.
    """

    factor: str
    direction: Literal["rises", "falls"]
    tolerance: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.0


class FlatClaim(_ClaimBase, tag="flat", kw_only=True):
    """`metric` stays within `tolerance` (relative) of its mean between two levels of `factor`."""

    factor: str
    tolerance: Annotated[float, msgspec.Meta(gt=0)]
    start: float | None = msgspec.field(default=None, name="from")
    stop: float | None = msgspec.field(default=None, name="to")


class KneeClaim(_ClaimBase, tag="knee", kw_only=True):
    """The curve of `metric` over a numeric `factor` bends at `level`.

    `tolerance` is relative to `level`.
    """

    factor: str
    level: float
    tolerance: Annotated[float, msgspec.Meta(ge=0)]


Claim: TypeAlias = ValueClaim | RatioClaim | OrderingClaim | MonotoneClaim | FlatClaim | KneeClaim


class Study(_Table, kw_only=True):
    """A whole `study.toml`."""

    schema: Literal[1]
    name: Name
    title: str
    question: str = ""
    seed: Annotated[int, msgspec.Meta(ge=0, lt=2**63)]
    experiments: list[Experiment] = msgspec.field(name="experiment")
    claims: list[Claim] = msgspec.field(default_factory=list, name="claim")
