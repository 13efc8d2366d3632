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
    unit: str = "1"
    better: Direction = "none"
    description: str = ""
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
    unit: str = "1"
    low: float | None = None
    high: float | None = None
    choices: list[Value] = []
    source: str = ""
    default: Value | None = None
    description: str = ""


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
    metrics: list[MetricTable] = msgspec.field(default_factory=list, name="metric")
    parameters: dict[str, ParameterTable] = {}
