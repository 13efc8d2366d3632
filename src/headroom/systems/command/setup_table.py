"""What `[experiment.system]` may say for `name = "command"`: types only."""

from typing import Annotated, TypeAlias

import msgspec

from headroom.experiment.system import Direction, ParameterType, Value

Argv: TypeAlias = Annotated[list[str], msgspec.Meta(min_length=1)]
MetricName: TypeAlias = Annotated[
    str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$", max_length=100)
]


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the study file: unknown keys are refused."""


class MetricTable(_Table, frozen=True):
    """`[[experiment.system.metric]]`: one more figure of every run, and where it is found.

    Exactly one of `regex`, `json_path`, `size_of` and `quotient` is set.
    """

    name: MetricName
    """Name of the figure; another than those that every run has."""
    unit: str = "1"
    """Base unit: `s`, `B`, `1/s`, `1` for a count or a ratio; `ms`, `MB`, `%` are refused."""
    better: Direction = "none"
    """Which direction is wanted."""
    description: str = ""
    """One sentence for the report."""
    origin: str = msgspec.field(default="stdout", name="from")
    """What `regex` and `json_path` read: stdout, stderr, or the path of a file from `folder` on."""
    regex: str = ""
    """Regular expression with one group; the first match counts."""
    json_path: str = ""
    """JSON path (RFC 9535) that selects one number."""
    size_of: str = ""
    """Path of a file whose size (B) is the metric."""
    quotient: Annotated[list[str], msgspec.Meta(max_length=2)] = []
    """Two metrics: the first divided by the second."""


class ParameterTable(_Table, frozen=True):
    """`[experiment.system.parameters.NAME]`: what a placeholder stands for."""

    type: ParameterType = "any"
    """Type of the value; `any` takes all."""
    unit: str = "1"
    """Unit; `1` for a count or a ratio, empty for words."""
    low: float | None = None
    """Lowest value."""
    high: float | None = None
    """Highest value."""
    choices: list[Value] = []
    """Allowed values; empty for any."""
    source: str = ""
    """Where range and default come from."""
    default: Value | None = None
    """Value where the study gives none; without one the study must give it."""
    description: str = ""
    """One sentence for the report."""


class CommandSetup(_Table, frozen=True):
    """`[experiment.system]` of a program that is measured as a black box.

    `{factor}` in any text of `argv`, `env`, `folder`, `stdin`, `set_up`, `clean_up` and in the
    paths of metrics is replaced; `{study}`, `{work}`, `{seed}` and `{python}` are given; `{{` and
    `}}` stand for braces.
    """

    argv: Argv
    """Program and arguments; no shell reads them."""
    env: dict[str, str] = {}
    """Additions to the environment of Headroom itself."""
    folder: str = "{work}"
    """Working folder; `{work}` is a fresh temporary folder of the replication."""
    stdin: str = ""
    """File for standard input; empty: nothing to read."""
    set_up: list[Argv] = []
    """Commands before the runs of each replication."""
    clean_up: list[Argv] = []
    """Commands after them, also after a failure."""
    warm_up_runs: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0
    """Runs before each measured one that are not reported."""
    time_limit_s: Annotated[float, msgspec.Meta(gt=0, le=1e7)] = 600.0
    """Limit (s) of every single command; after it, all its processes are killed."""
    ok_exit_codes: Annotated[list[int], msgspec.Meta(min_length=1)] = msgspec.field(
        default_factory=lambda: [0]
    )
    """Exit codes of the program that mean success."""
    metrics: list[MetricTable] = msgspec.field(default_factory=list, name="metric")
    """Further figures, picked from what the program writes."""
    parameters: dict[str, ParameterTable] = {}
    """Tables of placeholders by name: type, unit, range, source. All of them, or none."""
