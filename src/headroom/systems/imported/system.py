"""The system `imported`: recorded runs by their levels. It never runs anything."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, ClassVar, Self

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Parameter, ParameterType, Value
from headroom.systems.imported.recorded import Recorded, RecordedRun, read_recorded

EXACT_TIMES = 20
"""Equal replications that an exact run counts as: enough for the interval of a median."""
_TYPES: Mapping[str, ParameterType] = {"bool": "bool", "int": "int", "float": "float"}


class ImportedSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.system]` of imported runs."""

    file: Annotated[str, msgspec.Meta(min_length=1)]
    """File of recorded runs, relative to the study."""
    exact: bool = False
    """Whether the values are published ones, without scatter: see `EXACT_TIMES`."""


@dataclass(frozen=True, slots=True)
class ImportedSystem:
    """Runs of a file of `headroom import`.

    Examples
    --------
    >>> import tempfile
    >>> text = '{"metrics": [{"name": "wall_s", "unit": "s"}], "runs": [{"levels": {"size": 8}, '
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "a.json")
    ...     _ = file.write_text(text + '"values": {"wall_s": 0.5}, "source": "a.txt"}]}')
    ...     system = ImportedSystem.load(ImportedSetup(file="a.json"), base=Path(folder))
    >>> system.replay({"size": 8}, replication=0).values
    {'wall_s': 0.5}
    """

    name: ClassVar[str] = "imported"
    column: ClassVar[Column] = Column.MEASURE
    setup_type: ClassVar[type[msgspec.Struct]] = ImportedSetup
    code_key: ClassVar[str] = ""

    path: Path
    content: Recorded = field(compare=False, repr=False)
    times: int = 1

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:
        """Return the system of a validated set-up; the file's path starts at `base`."""
        if not isinstance(setup, ImportedSetup):
            raise TypeError(f"an ImportedSetup is needed, not {type(setup).__name__}")
        path = base / setup.file
        return cls(path, read_recorded(path), EXACT_TIMES if setup.exact else 1)

    def parameters(self) -> tuple[Parameter, ...]:
        """Return one parameter for each factor of the file; none has a default."""
        names = self.content.runs[0].levels
        return tuple(
            Parameter(
                name=name, type=_type_of([run.levels[name] for run in self.content.runs]),
                unit="", source="recorded", description="Level of the recorded runs",
            )
            for name in names
        )  # fmt: skip

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:
        """Return the metrics that a run at `config` has."""
        known = {name for run in self._at(config) for name in run.values}
        return tuple(
            Metric(name=m.name, unit=m.unit, better=m.better, description=m.description)
            for m in self.content.metrics
            if m.name in known
        )

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return a hash of the recorded runs at `config`."""
        return sha256(msgspec.json.encode(self._at(config))).hexdigest()[:16]

    def prepare(self) -> Mapping[str, float | str]:
        """Return the sources: nothing of this machine matters."""
        sources = dict.fromkeys(run.source for run in self.content.runs)
        return {"imported from": ", ".join(sources)}

    def recorded(self, config: Mapping[str, Value]) -> int:
        """Return the number of runs recorded at `config`."""
        return len(self._at(config)) * self.times

    def replay(self, config: Mapping[str, Value], *, replication: int) -> Run:
        """Return a recorded run."""
        run = self._at(config)[replication // self.times]
        notes = (f"Recorded elsewhere: {run.source}",)
        return Run(values=run.values, notes=notes, recorded_at=run.taken)

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Refuse to run: runs are replayed by number, see `replay`."""
        raise StudyError(
            f"recorded runs at {dict(config)} have no seed {seed}", cure="replay them by number"
        )

    def _at(self, config: Mapping[str, Value]) -> list[RecordedRun]:
        found = [run for run in self.content.runs if run.levels == config]
        if not found:
            raise StudyError(
                f"{self.path} has no run at {dict(config)}",
                cure="use levels of the file, zipped if not every combination was recorded",
            )
        return found


def _type_of(levels: list[Value]) -> ParameterType:
    """Return the narrowest type that takes all levels.

    Examples
    --------
    >>> _type_of([1, 2]), _type_of([1, 2.5]), _type_of([1, "4k"])
    ('int', 'float', 'any')
    """
    kinds = {type(level).__name__ for level in levels}
    if kinds == {"int", "float"}:
        return "float"
    return _TYPES.get(kinds.pop(), "str") if len(kinds) == 1 else "any"
