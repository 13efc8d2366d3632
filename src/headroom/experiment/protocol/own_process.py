"""Processes of their own for measured replications; optional for a `System`.

A measured task runs in the driver's process unless its system asks for another one: then native
code that crashes is a failed replication, and the measurement does not include the driver's heap.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Protocol, runtime_checkable

import msgspec

from headroom.experiment.protocol.system import Value


class OwnProcess(msgspec.Struct, frozen=True, kw_only=True):
    """The process that a replication needs.

    Parameters
    ----------
    per
        Whether each ``replication`` has a new process, all successive ones of a ``point`` share
        one, or those of a ``group`` of points in the same block do.
    group
        Of ``per="group"``: its name. The points of a group run one after the other, in random
        order, so that what one of them makes serves the others.
    cpus
        Processors that it may use; empty for those of the driver.
    memory_bytes
        Most memory (B) that it may map beyond what it has mapped before the run; None for no limit.

    Examples
    --------
    >>> OwnProcess(cpus=(0,), memory_bytes=1 << 30).per
    'replication'
    """

    per: Literal["replication", "point", "group"] = "replication"
    group: str = ""
    cpus: tuple[Annotated[int, msgspec.Meta(ge=0)], ...] = ()
    memory_bytes: Annotated[int, msgspec.Meta(ge=1)] | None = None


@runtime_checkable
class NeedsOwnProcess(Protocol):
    """A measured system whose replications run in processes of their own.

    The process loads the system from its set-up again, so nothing that the driver's instance has
    opened for the session is there.
    """

    def own_process(self, config: Mapping[str, Value]) -> OwnProcess | None:
        """Return the process that `config` needs, None for that of the driver."""
        ...
