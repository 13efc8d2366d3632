"""The result of a comparison: plain data for the terminal, the page and JSON.

Invariant: everything here survives `msgspec.to_builtins` and back; ratios are always other / base.
"""

from typing import Literal, TypeAlias

import msgspec

from headroom.analysis.answer_evidence import Record
from headroom.analysis.results import ComparisonVerdict, Disturbance
from headroom.experiment.protocol.system import Direction, Value

GateVerdict: TypeAlias = Literal["passed", "regression", "blind", "unconfirmed", "missing"]
SuspicionVerdict: TypeAlias = Literal["regression", "cleared", "noise", "unconfirmed"]
"""`noise`: slower, but by no more than the base can differ from itself in the same blocks."""
Doubt: TypeAlias = Literal[
    "", "few_runs", "single_runs", "not_positive", "missing", "open", "unbounded"
]
"""Why a row is undecided; `single_runs`: one run each; `open`: more runs may decide.

Empty for other verdicts."""


class _Data(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all results."""


class Arm(_Data, frozen=True, kw_only=True):
    """One of the things that are compared."""

    name: str
    """Short name: A, B, C; results and revisions too."""
    label: str
    """As the user called it."""
    about: dict[str, str] = {}
    """Its identity: command, commit, date, machine."""
    done: int = 0
    """Runs that count."""
    failed: int = 0
    disturbances: list[Disturbance] = []
    times_s: list[float] = []
    """Wall time (s) of each block's run, in the order of the blocks; empty if unknown."""
    records: list[Record] = []
    """Of a saved result: the answer to each question of its study."""
    titles: dict[str, str | dict[str, str]] = {}
    """Words of that study for its metrics, parts and levels."""


class Row(_Data, frozen=True, kw_only=True):
    """One metric of one point: another arm against the base, with a 95% interval of the ratio."""

    arm: str
    base: str
    experiment: str = ""
    levels: dict[str, Value] = {}
    metric: str
    unit: str
    better: Direction
    value: float | None = None
    base_value: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0
    """Blocks that hold both; 0 if the runs are not paired."""
    count: int = 0
    """Runs of the arm with fewer."""
    p_value: float | None = None
    """Two-sided, of equality; None if unknown."""
    adjusted: float | None = None
    """The same, corrected for the number of rows (Holm)."""
    verdict: ComparisonVerdict = "undecided"
    doubt: Doubt = ""
    needed: int | None = None
    """Blocks, or runs of each, that would probably decide; None if that is not known."""


class Noise(_Data, frozen=True, kw_only=True):
    """What the machine alone does: the base against itself, run twice in each block.

    Saved results have no such runs: the ratio is None; sessions of the same code take its place.
    """

    experiment: str = ""
    levels: dict[str, Value] = {}
    metric: str
    ratio: float | None
    low: float | None
    high: float | None
    scatter: float | None
    """Standard deviation of the logarithm of one run, from the differences within blocks."""
    detectable: float | None
    """Smallest slowdown that 9 of 10 first looks find at this scatter and number of blocks."""
    sessions: int = 0
    """Of saved results: sessions in which the base was measured; 0 if its runs were in blocks."""
    between: float | None = None
    """Largest difference (share) of the medians of sessions; None if there is only one."""


class Sight(_Data, frozen=True, kw_only=True):
    """What a gate could see in one metric at a point; see `headroom.gate.sight`."""

    arm: str
    experiment: str = ""
    levels: dict[str, Value] = {}
    metric: str
    detectable: float
    """Smallest slowdown (share) that 9 of 10 first looks of this width find."""
    most: float | None = None
    """Of an expectation: the same with as many blocks as the gate may take."""
    is_blind: bool = False
    """Whether the threshold lies below that, and within the interval."""
    needed: int | None = None
    """Blocks, or runs of each, that would see the threshold."""


class Suspicion(_Data, frozen=True, kw_only=True):
    """A row that looked like a regression, and what new runs say."""

    first: Row
    again: Row | None = None
    verdict: SuspicionVerdict


class Gate(_Data, frozen=True, kw_only=True):
    """The decision on regressions; see `headroom.gate.threshold`."""

    threshold: float
    """Slowdown (share) that counts."""
    level: float
    """Probability of a false alarm, of all rows together."""
    first_level: float
    """Level of the first look at each row, one-sided."""
    again_level: float
    """Level of the second look, at new runs."""
    rows: int
    """Rows that were judged: those of metrics with a better direction."""
    verdict: GateVerdict
    suspicions: list[Suspicion] = []
    missing: list[str] = []
    """Points and metrics with results on one side only."""
    sights: list[Sight] = []
    """What the last look at each row could see."""
    blind: list[Sight] = []
    """The best of each point at which nothing sees the threshold."""
    expected: list[Sight] = []
    """What the gate said before its first look that it would see."""
    elsewhere: list[Sight] = []
    """Metrics of a command that nobody asked for, and that see the threshold where it is blind."""
    not_repeated: str = ""
    """Why suspicions were not measured again; empty if they were, or if there were none."""


class Difference(_Data, frozen=True, kw_only=True):
    """A difference between two results apart from their metrics."""

    what: str
    base: str
    other: str
    forbids: bool = False
    """Whether it makes figures incomparable."""


class ComparisonResult(_Data, frozen=True, kw_only=True):
    """A whole comparison: what `headroom compare --json` prints."""

    kind: Literal["commands", "revisions", "results"]
    title: str
    arms: list[Arm]
    """The base first."""
    rows: list[Row]
    same_within: float
    confidence: float = 0.95
    stopped: Literal["sure", "planned", "max_runs", "max_time", "interrupted", "stored"]
    """Why no more runs were made."""
    blocks: int = 0
    until: float | None = None
    seed: int | None = None
    """Seed of the order of the runs."""
    noise: list[Noise] = []
    gate: Gate | None = None
    differences: list[Difference] = []
    forced: bool = False
    """Whether differences that forbid the comparison were overruled by --force."""
    left_out: list[str] = []
    """Points and metrics that only one side has, or that were not compared, and why."""
    cautions: list[str] = []
    command: str = ""
    generated: str = ""
    headroom_version: str = ""
