"""The keys of `[experiment.system]` for `name = "command"`: types only."""

from typing import Annotated, TypeAlias

import msgspec

from headroom.experiment.protocol.system import Direction, ParameterType, Value
from headroom.recording.observers.table import ObserveTable
from headroom.recording.services.table import ServiceTable
from headroom.units import unit_named

Argv: TypeAlias = Annotated[list[str], msgspec.Meta(min_length=1)]
PathPattern: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
MetricName: TypeAlias = Annotated[
    str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$", max_length=100)
]


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the study file: unknown keys are refused."""


class MetricTable(_Table, frozen=True):
    """`[[experiment.system.metric]]`: one more metric of every run, and its source.

    Exactly one of `regex`, `json_path`, `size_of` and `quotient` is set.
    """

    name: MetricName
    """Name of the metric; different from those of every run."""
    unit: str = "1"
    """Unit of the printed number, e.g. `s`, `ms`, `MiB`, `1/s`, `%`; `1` for a count or ratio.
    Values are kept in the base unit (s, B, 1/s, 1), which the name must give."""
    scale: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    """Factor of the printed number before its unit: 512 with the unit `B` for sectors."""
    better: Direction = "none"
    """Which direction is better."""
    offered: str = ""
    """Parameter with the offered value in the base unit, e.g. the rate of a load generator. A point
    significantly below it is saturated."""
    description: str = ""
    """One sentence for the report."""
    origin: str = msgspec.field(default="stdout", name="from")
    """Text that `regex` and `json_path` read: stdout, stderr, or the path of a file relative to
    `folder`."""
    regex: str = ""
    """Regular expression with one group; the first match counts."""
    json_path: str = ""
    """JSON path (RFC 9535) that selects one number."""
    size_of: str = ""
    """Path of a file whose size (B) is the metric."""
    quotient: Annotated[list[str], msgspec.Meta(max_length=2)] = []
    """Two metrics: the first divided by the second."""

    @property
    def base_unit(self) -> str:
        """Unit of the value that is kept."""
        known = unit_named(self.unit)
        return self.unit if known is None else known.base

    @property
    def factor(self) -> float:
        """Factor for a printed number."""
        known = unit_named(self.unit)
        return self.scale * (1.0 if known is None else known.factor)


class CommandObserveTable(ObserveTable, frozen=True):
    """`[experiment.system.observe]` of a command."""

    files: bool = True
    """Whether an untimed run of each point is watched, as without this table."""


class SlowedTable(_Table, frozen=True):
    """`[experiment.system.slowed]`: a part that is slowed in each measured run.

    It adds the parameter `slowed`: `nothing`, `program`, the name of a service, or `NAME.limit` for
    its limit of processors. `headroom what-limits` uses it.
    """

    by: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.1
    """Share of the time in which the part is stopped, or by which its limit is lowered."""
    slice_s: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.001
    """Length (s) of each stop; what waits longer than that loses nothing."""


class ParameterTable(_Table, frozen=True):
    """`[experiment.system.parameters.NAME]`: the value of a placeholder."""

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
    """The source of range and default."""
    default: Value | None = None
    """Default value; without one the study must give it."""
    description: str = ""
    """One sentence for the report."""


class CommandSetup(_Table, frozen=True):
    """`[experiment.system]` of a program that is measured as a black box.

    `{factor}` in any text of `argv`, `env`, `folder`, `stdin`, `set_up`, `clean_up` and in the
    paths of metrics is replaced; `{study}`, `{work}`, `{seed}` and `{python}` are given; `{{` and
    `}}` represent braces.
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
    """Unreported runs before each measured one."""
    time_limit_s: Annotated[float, msgspec.Meta(gt=0, le=1e7)] = 600.0
    """Limit (s) of every single command; after it, all its processes are killed."""
    ok_exit_codes: Annotated[list[int], msgspec.Meta(min_length=1)] = msgspec.field(
        default_factory=lambda: [0]
    )
    """Exit codes of the program that mean success."""
    redact: list[str] = []
    """Regular expressions whose matches in failure messages are stored as `***`, like passwords,
    tokens, keys and other usual secrets."""
    metrics: list[MetricTable] = msgspec.field(default_factory=list, name="metric")
    """Additional metrics, from the output of the program."""
    inputs: list[PathPattern] = []
    """Files, folders and globs outside the study's folder that results depend on."""
    variables: list[Annotated[str, msgspec.Meta(pattern=r"^[^=\0]+$")]] = []
    """Variables of the environment whose values results depend on, in addition to those in
    `env`."""
    ignore: list[PathPattern] = []
    """Files, folders and globs of the study's folder that results do not depend on, such as
    output."""
    services: list[ServiceTable] = msgspec.field(default_factory=list, name="service")
    """Servers that run beside the program, started in this order."""
    ignore_env: list[Annotated[str, msgspec.Meta(pattern=r"^[^=\0$]+$")]] = []
    """Variables of the environment, or globs of them, on which results do not depend."""
    observe: CommandObserveTable | bool = True
    """Observers of each measured run. Even without one, an untimed run of each point is watched for
    the files, libraries and programs that it uses; `false` turns that off, for a program that must
    not run once more."""
    slowed: SlowedTable | None = None
    """Slow a part of the system in each measured run, by the parameter `slowed`."""
    parameters: dict[str, ParameterTable] = {}
    """Tables of placeholders by name: type, unit, range, source. All of them, or none."""

    @property
    def observers(self) -> ObserveTable | None:
        """Observers of each measured run, None without any."""
        return None if isinstance(self.observe, bool) else self.observe

    @property
    def watches_files(self) -> bool:
        """Whether one run of each point is watched for what it uses."""
        return self.observe if isinstance(self.observe, bool) else self.observe.files
