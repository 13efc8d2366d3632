"""Transactions: the TPC-C workload on a machine of nodes, a switched network and disks.

See README.md here, and docs/background/transactions.md.
"""

from headroom.systems.transactions.machine import Machine
from headroom.systems.transactions.model import MachineModel, machine_model

__all__ = ["Machine", "MachineModel", "machine_model"]
