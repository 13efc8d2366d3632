"""A machine under TPC-C as a simulation model, and the parameters that a study may vary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headroom.errors import StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Parameter, Value
from headroom.simulation import Model
from headroom.systems.transactions.machine import Machine
from headroom.systems.transactions.machine_file import (
    MACHINES,
    machine_path,
    opening_comment,
    read_machine,
)
from headroom.systems.transactions.parts.elements import build_elements
from headroom.systems.transactions.parts.processes import Processes
from headroom.systems.transactions.theory.demands import highest_throughput
from headroom.systems.transactions.theory.law import law
from headroom.systems.transactions.theory.queues import (
    KNOWN_ERRORS,
    LEAVES_OUT,
    UNKNOWN_ERROR,
    queue_network,
)
from headroom.systems.transactions.workload.load import add_load
from headroom.systems.transactions.workload.transactions import build_transactions

_KNOWN_ERRORS = {
    "server": "before its rows were locked, the simulation of this machine predicted 10% more "
    "than a real database did at one client, 27% more at 4 clients and 41% more at 16; it "
    "has not been compared since, and nothing was measured past 16 terminals of a node: with "
    "crowding_share = 0 its results for more are upper bounds"
}
"""The known error of the simulation, by machine."""


@dataclass(frozen=True, slots=True)
class MachineModel:
    """A model function whose parameters are the numbers of a machine file.

    Parameters
    ----------
    name
        Name of the machine.
    parameters
        Its numbers.
    place
        Location of its file, for messages.
    """

    name: str
    parameters: tuple[Parameter, ...]
    place: str

    @property
    def __name__(self) -> str:
        """Name of the machine, for messages."""
        return self.name

    @property
    def about(self) -> str:
        """The first lines of the machine file, which are comments, about the machine.

        Examples
        --------
        >>> machine_model("spax").about[:46]
        'SPAX, the parallel transaction machine of Kim,'
        """
        return opening_comment(Path(self.place.rpartition(":")[0]))

    def machine(self, **changed: Value) -> Machine:
        """Return the machine with some numbers changed.

        Raises
        ------
        StudyError
            A number is unknown, of the wrong type or out of its range, or such a machine cannot be.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in changed:
            if name not in known:
                raise StudyError(
                    f"the machine {self.name!r} has no {name!r}", cure=suggestion(name, known)
                )
        values = {parameter.name: parameter.default for parameter in self.parameters}
        values |= {name: known[name].check(value) for name, value in changed.items()}
        machine = Machine(**values)  # type: ignore[arg-type]  # the file was read against its fields
        machine.check()
        return machine

    @property
    def is_own(self) -> bool:
        """Whether this is one of Headroom's own machines, and no file of the user."""
        return Path(self.place.rpartition(":")[0]).parent == MACHINES

    @property
    def known_error(self) -> str:
        """Known error of predictions; empty if unknown."""
        return _KNOWN_ERRORS.get(self.name, "") if self.is_own else ""

    def stand_in(self, **config: Value) -> tuple[Model, Sequence[str]]:
        """Return a model that formulas solve in place of this one, and how far off it is."""
        error = KNOWN_ERRORS.get(self.name, UNKNOWN_ERROR) if self.is_own else UNKNOWN_ERROR
        said = filter(None, [error, LEAVES_OUT, self.known_error])
        return queue_network(self.machine(**config), self.name), tuple(said)

    def law(self, **config: Value) -> Mapping[str, float]:
        """Return the arithmetic results for the machine with some numbers changed."""
        return law(self.machine(**config))

    def __call__(self, **config: Value) -> Model:
        """Return the model of the machine with some numbers changed."""
        machine = self.machine(**config)
        model = Model(f"{self.name} under TPC-C", time_unit="ms")
        elements = build_elements(model, machine)
        programs = build_transactions(model, Processes(model, machine, elements))
        add_load(model, machine, programs)
        model.stop(completions=machine.transaction_count)
        highest_per_s, row = highest_throughput(machine)
        model.counted_by_hand(
            highest_throughput=1e-3 * highest_per_s,
            why="packets hold their places while they wait for the next, which formulas do not "
            f"know; at most {highest_per_s:.4g} transactions/s by what they ask of: {row}",
        )
        return model


def machine_model(machine: str | Path) -> MachineModel:
    """Return the model function of a machine: one of Headroom's own by name, or a machine file.

    Parameters
    ----------
    machine
        ``"spax"``, ``"server"``, or the path of a machine file (TOML).

    Raises
    ------
    StudyError
        The file is missing or wrong.

    Examples
    --------
    >>> from headroom.simulation import simulate
    >>> spax = machine_model("spax")
    >>> model = spax(processing_nodes=1, processors=1, terminals=2, transactions_per_terminal=5)
    >>> result = simulate(model, seed=1)
    >>> int(result.classes.columns["completion_count"][-1].sum())
    10
    """
    path = machine_path(machine)
    return MachineModel(name=path.stem, parameters=read_machine(path), place=f"{path}:1")


SPAX = machine_model("spax")
"""The machine of Kim et al."""
SERVER = machine_model("server")
"""A present-day machine: compute and storage nodes over 25 GbE, with NVMe."""
