"""The keys of what is observed in a study file: types only."""

from typing import Annotated, TypeAlias

import msgspec

Name: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]


class ObserveTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.system.observe]`: the machine, the program and its services during each run."""

    interval_s: Annotated[float, msgspec.Meta(ge=0.02, le=60)] = 0.5
    """Time (s) between two looks. Processor times are exact at any interval; a shorter one shows
    short-lived processes and peaks of memory, and costs more (`observer.cpus`)."""
    skip_s: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 0.0
    """Time (s) after the start of the program that does not count, such as connecting."""
    throughput: str = ""
    """Metric with the operations per second of the same time; it makes metrics per operation."""
    processes: dict[Name, str] = {}
    """Name to the number of a process, or to a file that contains it: it is observed with all its
    descendants."""
    cgroups: dict[Name, str] = {}
    """Name to the folder of a control group."""
