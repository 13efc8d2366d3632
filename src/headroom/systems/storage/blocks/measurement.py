"""Input and output of one replication of a storage experiment, for any workload.

Invariant: everything that a run may depend on is here or in the point itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headroom.experiment.protocol.system import Value
from headroom.systems.storage.blocks.interfaces import Interfaces
from headroom.systems.storage.targets.setup_table import StorageSetup
from headroom.systems.storage.targets.targets import Target
from headroom.systems.storage.workloads.workload_parameters import Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One replication to be run.

    Parameters
    ----------
    config
        Value of every parameter.
    seed
        Of the requests and the data.
    target
        The target of the load.
    typed
        Confirmations of the user, typed at this call of the command.
    interfaces
        Interfaces of this machine, and what the tool costs with each.
    setup
        Set-up of the study.
    """

    config: Mapping[str, Value]
    seed: int
    target: Target
    typed: Sequence[str]
    interfaces: Interfaces
    setup: StorageSetup

    @property
    def wish(self) -> str:
        """The requested interface: ``"auto"`` or the name of one."""
        return Asked.of(self.config).interface
