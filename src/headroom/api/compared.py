"""Several models as one, whose parameter `model` chooses: what a comparison of models varies.

Loaded in workers too, so it imports little.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol import registry
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Modelled, Parameter, System, Value
from headroom.simulation import Model

CHOICE = "model"
"""Name of the parameter that chooses; the models take it no more."""


@dataclass(slots=True)
class OneOf:
    """A model function over several models.

    Parameters
    ----------
    tables
        Table `[experiment.system]` of each model, by its name in the comparison.
    given
        Parameters that the comparison sets; every other has each model's own default.
    """

    tables: Mapping[str, Mapping[str, Any]]
    given: Sequence[str]
    place: str = "hr.compare"
    __name__: str = "compare"
    _systems: dict[str, System] = field(default_factory=dict)

    def __call__(self, **config: Value) -> Model:
        """Return the chosen model."""
        chosen = str(config.pop(CHOICE))
        system = self._system(chosen)
        if not isinstance(system, Modelled):
            raise StudyError(f"{chosen!r} is not a simulated model", cure="compare models")
        defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
        return system.model({**defaults, **config})

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The choice, and the parameters that are set: every model takes each of them."""
        choice = Parameter(
            name=CHOICE, type="str", unit="", source="hr.compare", choices=tuple(self.tables)
        )
        return (choice, *(self._declared(name) for name in self.given))

    def _declared(self, wanted: str) -> Parameter:
        found: list[Parameter] = []
        for name in self.tables:
            known = {one.name: one for one in self._system(name).parameters()}
            if wanted not in known:
                raise StudyError(
                    f"model {name!r} has no parameter {wanted!r}", cure=suggestion(wanted, known)
                )
            found.append(known[wanted])
        return found[0]

    def _system(self, name: str) -> System:
        if name not in self._systems:
            table = dict(self.tables[name])
            kind = registry.find_system(str(table.pop("name")))
            setup: msgspec.Struct = msgspec.convert(table, kind.setup_type)
            self._systems[name] = kind.load(setup, base=Path())
        return self._systems[name]

    def __getstate__(self) -> tuple[Mapping[str, Mapping[str, Any]], Sequence[str]]:
        return self.tables, self.given

    def __setstate__(self, state: tuple[Mapping[str, Mapping[str, Any]], Sequence[str]]) -> None:
        self.__init__(*state)  # type: ignore[misc] # loaded systems stay where they are
