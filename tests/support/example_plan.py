"""A hand-made plan and its journal for the tests of this package; no study file, no system."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Self

import msgspec

from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value
from headroom.experiment.study.plan import FactorSpec, ParameterUse, Plan, PlannedExperiment, Point
from headroom.experiment.study.seeds import derive_seed, point_key
from headroom.experiment.study.study import Claim, Experiment, Replications, Study, WarmUp

THROUGHPUT = Metric(name="throughput", unit="1/s", better="high")
WALL = Metric(name="wall_s", unit="s", better="low")
USERS = Parameter(name="users", type="int", unit="1", source="assumed: an example")


class NoSetup(msgspec.Struct, frozen=True):
    """The set-up of a system that needs none."""


@dataclass(frozen=True)
class ExampleSystem:
    """A system that declares metrics and never runs: its rows are written by hand."""

    name: ClassVar[str] = "example"
    setup_type: ClassVar[type[msgspec.Struct]] = NoSetup
    column: Column = Column.MODEL
    declared: tuple[Metric, ...] = (THROUGHPUT,)

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:
        """Return the system; there is nothing to load."""
        del setup, base
        return cls()

    def parameters(self) -> tuple[Parameter, ...]:
        """Return `users` alone."""
        return (USERS,)

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:
        """Return the declared metrics, the same for every config."""
        del config
        return self.declared

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return the same for all levels: nothing here is measured."""
        del config
        return "example"

    def prepare(self) -> Mapping[str, float]:
        """Return no facts."""
        return {}

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Refuse: rows of examples are written by hand."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ExampleStudy:
    """One experiment ``web`` over the factor ``users``."""

    levels: Sequence[int] = (1, 2)
    replications: Replications = field(default_factory=lambda: Replications(count=3))
    column: Column = Column.MODEL
    metrics: tuple[Metric, ...] = (THROUGHPUT,)
    claims: Sequence[Claim] = ()
    warm_up: WarmUp = field(default_factory=WarmUp)
    seed: int = 7
    kept: Sequence[str] = ()

    def plan(self) -> Plan:
        """Return these fields as the plan of an experiment on `web`."""
        spec = Experiment(
            name="web",
            system={"name": "example"},
            replications=self.replications,
            warm_up=self.warm_up,
            metrics=list(self.kept),
        )
        points = tuple(self._point(level) for level in self.levels)
        experiment = PlannedExperiment(
            spec=spec,
            system=ExampleSystem(column=self.column, declared=self.metrics),  # type: ignore[arg-type]
            setup=NoSetup(),
            base=Path(),
            factors=(FactorSpec(name="users", parameter=USERS, levels=tuple(self.levels)),),
            points=points,
            parameters=(
                ParameterUse(parameter=USERS, value=None, origin="factor", source=USERS.source),
            ),
        )
        study = Study(
            schema=1,
            name="example",
            title="An example",
            seed=self.seed,
            experiments=[spec],
            claims=list(self.claims),
        )
        return Plan(
            study=study,
            folder=Path("example"),
            is_quick=False,
            seed=self.seed,
            experiments=(experiment,),
        )

    def _point(self, level: int) -> Point:
        levels = {"users": level}
        return Point(
            experiment="web",
            key=point_key("web", levels),
            levels=levels,
            config=levels,
            fingerprint="example",
        )

    def fill(
        self,
        journal: Journal,
        make: Callable[[int, int], Run | str | None],
        *,
        replications: int = 3,
    ) -> None:
        """Store what ``make(level, replication)`` returns: a run, an error, or nothing."""
        session = journal.add_environment({})
        for point in self.plan().experiments[0].points:
            for number in range(replications):
                made = make(int(point.levels["users"]), number)
                if made is not None:
                    journal.append(replace(self._row(point, number, made), environment=session))

    def _row(self, point: Point, number: int, made: Run | str) -> ReplicationRow:
        return ReplicationRow(
            experiment="web",
            point_key=point.key,
            fingerprint=point.fingerprint,
            levels=point.levels,
            replication=number,
            seed=derive_seed(self.seed, point.key, number),
            state="failed" if isinstance(made, str) else "done",
            started_at=f"2025-01-01T00:00:{number:02d}Z",
            wall_s=0.1,
            error=made if isinstance(made, str) else "",
            run=None if isinstance(made, str) else made,
        )


def test_the_plan_of_an_example_has_a_point_for_each_level() -> None:
    points = ExampleStudy(levels=(1, 5, 9)).plan().experiments[0].points
    assert [point.levels for point in points] == [{"users": 1}, {"users": 5}, {"users": 9}]
    assert len({point.key for point in points}) == 3
