"""The keys of a service in a study file: types only."""

from typing import Annotated, Literal, TypeAlias

import msgspec

Argv: TypeAlias = Annotated[list[str], msgspec.Meta(min_length=1)]
FileName: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")]
Name: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
Signal: TypeAlias = Literal["TERM", "INT", "QUIT", "KILL", "HUP", "USR1", "USR2", "STOP"]
Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1e6)]


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the study file: unknown keys are refused."""


class ReadyTable(_Table, frozen=True):
    """How a service shows that it is ready; one key at most, by default its first port."""

    port: str | int = ""
    """Name of one of its ports, or the number of a port that its own settings give, which accepts
    connections."""
    line: str = ""
    """Regular expression of a line of its log."""
    argv: list[str] = []
    """Command that ends with exit code 0."""
    within_s: Seconds = 60.0
    """Limit (s) after which it counts as failed."""


class LimitsTable(_Table, frozen=True):
    """Limits by cgroup, where this machine permits them; a remark of the run says where not."""

    cpus: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Processors, e.g. 0.5."""
    memory_mb: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Memory (MB, millions of bytes)."""


class FaultTable(_Table, frozen=True):
    """A signal at a moment of each measured run."""

    signal: Signal
    """Signal; `STOP` pauses."""
    after_s: Annotated[float, msgspec.Meta(ge=0)]
    """Time (s) since the start of the program under measurement."""
    for_s: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Length (s) of a pause; 0 for the rest of the run."""
    to: Literal["all", "first"] = "all"
    """Processes that receive it: all of the service, or only the first."""
    starts_again_after_s: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Time (s) after the signal at which the service is started again, with the same files and
    ports; by default it stays away for the rest of the run."""


class ServiceTable(_Table, frozen=True):
    """`[[experiment.system.service]]`: a long-running program that the measured one uses.

    Other texts may use `{NAME.port}` (or another of its ports), `{NAME.folder}`, `{NAME.log}`,
    `{NAME.bin}`, `{NAME.url}` and `{NAME.host}`.
    """

    name: Name
    """Name, the first part of its placeholders."""
    kind: str = "program"
    """`program`, or a known server: `postgres`, `mariadb`, `nginx`, `haproxy`."""
    role: Name = "server"
    """Where it runs, if the experiment's `hosts` are several; then it must listen on
    `{NAME.host}`."""
    argv: list[str] = []
    """Program and arguments; for a known server additional arguments."""
    env: dict[str, str] = {}
    """Additions to the environment of Headroom itself."""
    settings: dict[str, str] = {}
    """Configuration of a known server."""
    files: dict[FileName, str] = {}
    """Name to content of text files that are written to its folder before each start."""
    ports: list[Name] = msgspec.field(default_factory=lambda: ["port"])
    """Names of the ports that it needs; free ones are chosen."""
    ready: ReadyTable = msgspec.field(default_factory=ReadyTable)
    """How it shows that it is ready."""
    set_up: list[Argv] = []
    """Commands after each start, once it is ready."""
    set_up_within_s: Seconds = 1800.0
    """Limit (s) of each command of `set_up`, which may load much data."""
    per: Literal["session", "point"] = "session"
    """`session`: it runs until its texts change or the session ends. `point`: it is started
    again for each replication."""
    limits: LimitsTable = msgspec.field(default_factory=LimitsTable)
    """Limits of processors and memory."""
    fault: FaultTable | None = None
    """A disturbance of each measured run."""
    stop: Signal = "TERM"
    """Signal that asks it to end."""
    stop_within_s: Seconds = 10.0
    """Limit (s) after which it is killed with all its processes."""
