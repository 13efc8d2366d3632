"""The plan of a study: experiments with their systems, factors and points.

Types only; `design.make_plan` makes them and checks everything on the way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.changes import Change
from headroom.experiment.protocol.fit_method import PlannedFit
from headroom.experiment.protocol.kept_code import Records
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Parameter, System, Value
from headroom.experiment.study.seeds import derive_seed, point_key
from headroom.experiment.study.study import Derived, Experiment, Study, Where

Origin: TypeAlias = Literal["default", "fixed", "factor", "fitted"]
Operation: TypeAlias = Literal[
    "ratio_to",
    "difference_to",
    "divided_by",
    "share_over",
    "standardised_over",
    "sum_over",
    "mean_over",
    "geometric_mean_over",
    "maximum_over",
    "minimum_over",
    "function",
]
"""Operation of a derived quantity: the key of its table in the study."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorSpec:
    """A factor with its checked levels, in the order of the study file.

    Parameters
    ----------
    name
        Name of the parameter that varies.
    parameter
        Its declaration.
    levels
        Levels in the parameter's type.
    zipped_with
        Other factors that move together with this one; empty for a factor of its own.
    """

    name: str
    parameter: Parameter
    levels: tuple[Value, ...]
    zipped_with: tuple[str, ...] = ()

    @property
    def is_numeric(self) -> bool:
        """True if the levels are numbers."""
        return all(
            isinstance(level, (int, float)) and not isinstance(level, bool) for level in self.levels
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterUse:
    """A parameter of an experiment and the source of its value.

    Parameters
    ----------
    parameter
        The declaration.
    value
        The value; None for a factor, and for a fitted parameter that is not known yet or differs
        by level.
    origin
        The system's default, fixed by the study, a factor, or fitted from other results.
    source
        Source of the value: the system's source, or the study's own.
    """

    parameter: Parameter
    value: Value | None
    origin: Origin
    source: str

    @property
    def name(self) -> str:
        """Name by which a study sets it and tables call it."""
        return self.parameter.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One combination of levels.

    Parameters
    ----------
    experiment
        Name of the experiment.
    key
        16 hexadecimal digits, see `seeds.point_key`.
    levels
        Level of each factor.
    config
        Value of every parameter, as `System.run` gets.
    fingerprint
        Hash of system, set-up and config; rows of another fingerprint are not reused.
    changes
        Changes of the system's resources, for a system that is `Modelled`.
    seed_key
        Key that the seeds derive from; empty for the point's own. Points that share it run with
        common random numbers.
    content
        The system's own description at `config`, a part of the fingerprint: a worker must have run
        this and nothing else.
    recorded
        Number of runs that there are, of a system that `Replays`; None without a bound.
    """

    experiment: str
    key: str
    levels: Mapping[str, Value]
    config: Mapping[str, Value]
    fingerprint: str
    changes: tuple[Change, ...] = ()
    seed_key: str = ""
    content: str = ""
    recorded: int | None = None

    def seed(self, study_seed: int, replication: int) -> int:
        """Return the seed of one replication, see `seeds.derive_seed`."""
        return derive_seed(study_seed, self.seed_key or self.key, replication)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDerived:
    """A derived quantity, checked.

    Parameters
    ----------
    spec
        Its table of the study file.
    operation
        The key of the table that says what it is.
    unit
        Unit of its values.
    factors
        Factors that its values have levels of.
    over
        Factors that an operation combines, those zipped with them included; or those that differ
        between a point and the one that it is compared with.
    to
        Levels of that point, in the types of the factors.
    """

    spec: Derived
    operation: Operation
    unit: str
    factors: tuple[FactorSpec, ...]
    over: frozenset[str] = frozenset()
    to: Where

    @property
    def name(self) -> str:
        """Name of the quantity."""
        return self.spec.name


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedExperiment:
    """One experiment, ready to run.

    Parameters
    ----------
    spec
        Its table of the study file, with the quick variant applied.
    system
        The loaded system.
    setup, base
        What the system was loaded from, so that worker processes can load it again.
    factors
        Factors in the order of the file.
    points
        All points, full factorial, in the order of the file.
    parameters
        Every parameter with its value and origin.
    fit
        The fit of some parameters from other experiments, and its result. Until it is settled the
        points have provisional values and cannot be run.
    added
        Keys of the points that were added where a limit breaks, see
        `headroom.experiment.study.refining`.
    derived
        Quantities of several points, in the order of the file.
    """

    spec: Experiment
    system: System
    setup: msgspec.Struct
    base: Path
    factors: tuple[FactorSpec, ...]
    points: tuple[Point, ...]
    parameters: tuple[ParameterUse, ...]
    fit: PlannedFit | None = None
    added: frozenset[str] = frozenset()
    derived: tuple[PlannedDerived, ...] = ()

    def derived_named(self, name: str) -> PlannedDerived | None:
        """Return the derived quantity of this name, None if there is none."""
        return next((one for one in self.derived if one.name == name), None)

    def seen_by(self, quantity: str) -> "PlannedExperiment":
        """Return the experiment with the factors and points that a quantity has values at."""
        found = self.derived_named(quantity)
        if found is None:
            return self
        names = {factor.name for factor in found.factors}
        points: dict[str, Point] = {}
        for point in self.points:
            levels = {name: level for name, level in point.levels.items() if name in names}
            key = point_key(self.spec.name, levels)
            points.setdefault(key, replace(point, levels=levels, key=key))
        return replace(self, factors=found.factors, points=tuple(points.values()))

    @property
    def is_ready(self) -> bool:
        """True if every parameter has a value that may be run."""
        return self.fit is None or self.fit.is_settled

    @property
    def sources(self) -> tuple[str, ...]:
        """Experiments whose results this one is fitted from."""
        return () if self.fit is None else self.fit.needed

    @property
    def most_replications(self) -> int:
        """Largest number of replications of a point."""
        count = self.spec.replications.count
        return self.spec.replications.maximum if count is None else count

    @property
    def first_replications(self) -> int:
        """Number of replications of every point before the first check of a stopping rule."""
        count = self.spec.replications.count
        return self.spec.replications.minimum if count is None else count

    def replications_at(self, point: Point, *, first: bool = False) -> int:
        """Return the number of replications of a point: at most, or before the first check."""
        count = self.first_replications if first else self.most_replications
        return count if point.recorded is None else min(count, point.recorded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A study, planned and ready to run.

    Parameters
    ----------
    study
        The study file's content.
    folder
        Folder of the study.
    is_quick
        True for the quick variant.
    seed
        Study seed in use; the file's own unless another was requested.
    experiments
        Experiments to run.
    settings
        Settings from outside, see `headroom.experiment.study.file.settings`.
    command
        What repeats a study that a program built; empty for one of a file.
    full_planned, full_most
        Replications of the full variant: before the first check of a stopping rule, and at most.
    code
        What the code of the study answers while it is run.
    """

    study: Study
    folder: Path
    is_quick: bool
    seed: int
    experiments: tuple[PlannedExperiment, ...]
    settings: tuple[str, ...] = ()
    command: str = ""
    full_planned: int = 0
    full_most: int = 0
    code: Records = field(default_factory=dict, compare=False, repr=False)

    def only(self, names: Sequence[str]) -> "Plan":
        """Return the plan with the named experiments only.

        Raises
        ------
        StudyError
            An experiment of this name is not in the plan.
        """
        known = [experiment.spec.name for experiment in self.experiments]
        for name in names:
            if name not in known:
                raise StudyError(
                    f"study {self.study.name!r} has no experiment {name!r}",
                    cure=suggestion(name, known),
                )
        kept = tuple(experiment for experiment in self.experiments if experiment.spec.name in names)
        return replace(self, experiments=kept)

    def ready(self) -> "Plan":
        """Return the plan without the experiments that wait for the results of others."""
        kept = tuple(experiment for experiment in self.experiments if experiment.is_ready)
        return replace(self, experiments=kept)

    def named(self, name: str) -> PlannedExperiment:
        """Return the experiment of this name.

        Raises
        ------
        StudyError
            There is none.
        """
        return self.only([name]).experiments[0]
