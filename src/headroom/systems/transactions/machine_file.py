"""Machine files: every number of a machine with its unit, its range and its source.

A machine file is a parameter file (`headroom.experiment.protocol.parameter_file`) that has each
parameter of `headroom.systems.transactions.machine.Machine` exactly once, or only those that differ
from another machine: ``like = "server"``.
"""

from pathlib import Path

from headroom.experiment.protocol.parameter_file import (
    SOURCES,
    named_file,
    opening_comment,
    read_parameters,
)
from headroom.experiment.protocol.system import Parameter
from headroom.systems.transactions.machine import FIELDS

__all__ = ["MACHINES", "SOURCES", "machine_path", "opening_comment", "read_machine"]

MACHINES = Path(__file__).parent / "machines"
"""Folder of the machines that come with Headroom."""


def machine_path(name: str | Path) -> Path:
    """Return the file of a machine by the name of one of Headroom's own, or by its path.

    Raises
    ------
    StudyError
        There is no such file.

    Examples
    --------
    >>> machine_path("spax").name
    'spax.toml'
    """
    return named_file(name, MACHINES, "machine")


def read_machine(path: Path) -> tuple[Parameter, ...]:
    """Return the parameters that a machine file declares, in its order.

    Raises
    ------
    StudyError
        It cannot be read, or a parameter is missing, unknown or wrong.
    """
    return read_parameters(path, FIELDS, copy_of=MACHINES / "spax.toml", own=MACHINES)
