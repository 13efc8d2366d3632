"""The system `model`: a simulation model written in Python."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol import kept_code
from headroom.experiment.protocol.changes import Change
from headroom.experiment.protocol.model_parameters import parameters_of
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value
from headroom.experiment.study.windows import NO_WINDOWS, TimeWindows, window_metrics, worst_metrics
from headroom.simulation import Model, SimulationResult
from headroom.simulation.checks.existence import endless, meanless_rows
from headroom.simulation.errors import OverloadError
from headroom.simulation.language.model import SECONDS_PER_UNIT
from headroom.simulation.runs.kernel_version import KERNEL_VERSION
from headroom.simulation.runs.run import ReadyModel, ready, run_ready
from headroom.systems.model.asked import asked_metrics, waits_of
from headroom.systems.model.changed import changed_model
from headroom.systems.model.conversion import run_of
from headroom.systems.model.intervals import IntervalPlan, interval_plan, unreached_remark
from headroom.systems.model.metrics import MAKESPAN, metrics_of, windowed_metrics
from headroom.systems.model.model_file import is_model_file, model_file, parameters_of_file
from headroom.systems.model.nature import (
    is_before_last_change,
    missing_end,
    periodic_note,
    unsettled_remark,
)
from headroom.systems.model.overload import longest_time, overloads_by_row
from headroom.systems.model.own_figures import (
    declared_by,
    law_of,
    own_code,
    own_metrics,
    own_values,
)
from headroom.systems.model.ready_models import (
    BuiltModel,
    Recent,
    recent_metrics,
    recent_models,
    recent_ready_models,
)
from headroom.systems.model.sampling import check_size
from headroom.systems.model.source import (
    built_model,
    code_of_file,
    function_of_file,
    model_as_data,
    model_names,
    registered_function,
    with_late,
)
from headroom.systems.model.user_code import UserCode


class ModelSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.system]` of a simulation model: `file` with `function`, or `model`."""

    file: str = ""
    """Python file, or file of another tool (.jsimg, .jmva, .lqnx); relative to the study."""
    function: str = ""
    """Function of that file that returns the model; empty: `build`."""
    model: str = ""
    """Name of a registered model, instead of a file."""
    completions: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Completions after which a run ends, instead of the model's rule."""
    time_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Simulated time (s) after which a run ends, instead of the model's rule."""
    late_after: dict[str, float | str] | float | str | None = None
    """Response time (s, or "200 ms") of all classes, or by class, beyond which a completed job is
    late: it counts for the throughput and not for the `goodput`."""
    sample_every_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Simulated time (s) between values of the time series that the first replication of each point
    keeps for the report; a multiple if they are too many."""
    time_limit_s: Annotated[float, msgspec.Meta(gt=0, le=1e7)] | None = None
    """Wall time (s) after which a replication is ended and counts as failed."""


@dataclass(frozen=True, slots=True)
class ModelSystem:
    """A model function and how long to run its model.

    Examples
    --------
    >>> setup = ModelSetup(model="mm1", completions=2000)
    >>> system = ModelSystem.load(setup, base=Path())
    >>> config = {p.name: p.default for p in system.parameters()} | {"utilization": 0.5}
    >>> run = system.run(config, seed=1)
    >>> [table.kind for table in run.resources]
    ['station', 'class']
    """

    name: ClassVar[str] = "model"
    column: ClassVar[Column] = Column.MODEL
    setup_type: ClassVar[type[msgspec.Struct]] = ModelSetup
    code_key: ClassVar[str] = "file"

    setup: ModelSetup
    function: Callable[..., Any]
    declared: tuple[Parameter, ...]
    code: UserCode | None = field(default=None, compare=False, repr=False)
    built: Recent[BuiltModel] = field(default_factory=recent_models, compare=False, repr=False)
    ready_models: Recent[ReadyModel] = field(
        default_factory=recent_ready_models, compare=False, repr=False
    )
    known_metrics: Recent[tuple[Metric, ...]] = field(
        default_factory=recent_metrics, compare=False, repr=False
    )
    windows: TimeWindows = NO_WINDOWS
    record: dict[str, Any] | None = field(default=None, compare=False, repr=False)
    """Where the code of a study keeps its answers while the study is run."""

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:
        """Return the system for a validated `setup`; a relative `file` starts at `base`."""
        if not isinstance(setup, ModelSetup):
            raise TypeError(f"a ModelSetup is needed, not {type(setup).__name__}")
        _check(setup)
        if is_model_file(setup.file):
            read = model_file(base / setup.file)
            return cls(setup, read, parameters_of_file(read))
        if not setup.file:
            function = registered_function(setup.model)
            return cls(setup, function, parameters_of(function, is_registered=True))
        name = setup.function or "build"
        key = f"{setup.file}:{name}"
        kept = kept_code.kept_function(
            key, base / setup.file, name, lambda path: UserCode(path).digest
        )
        if kept is not None:
            return cls(setup, kept, kept.parameters)
        code = code_of_file(base / setup.file)
        function = function_of_file(code, name)
        declared = parameters_of(function)
        record = kept_code.recorder(key, lambda: declared_by(function, name, declared, code))
        return cls(setup, function, declared, code, record=record)

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters that the model function declares."""
        return self.declared

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:
        """Return the metrics of the stations, pools and classes of the model of `config`."""
        return self.known_metrics.of(config, (), lambda: self._metrics(config))

    def _metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:
        model = self._model(config)
        windowed = window_metrics(self.windows.windows, windowed_metrics(model))
        asked = asked_metrics(model, self.windows.metrics)
        return (
            *own_metrics(self.function),
            *metrics_of(model),
            *([MAKESPAN] if self._intervals(model).is_complete else []),
            *asked,
            *windowed,
            *self._worst(model),
        )

    def with_windows(self, windows: TimeWindows) -> Self:
        """Return the same system whose runs keep statistics of `windows`."""
        return replace(self, windows=windows, known_metrics=recent_metrics())

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return a hash of the model as data, how it runs, own values, and the kernel's version."""
        model, data = self._built(config)
        content: list[object] = [
            hashlib.sha256(data).hexdigest(),
            self.setup.completions,
            self.setup.time_s,
            KERNEL_VERSION,
        ]
        if self.setup.sample_every_s is not None:
            content.append(self.setup.sample_every_s)
        plan = self._intervals(model)
        if plan.ends_s:
            content.append({"interval_ends_s": plan.ends_s})
        if plan.is_complete:
            content.append("ends with the last job")
        if waits := waits_of(model, self.windows.metrics):
            content.append({"waits": [one.quantity for one in waits]})
        if own := own_code(self.function, self.code):
            content.append(own)
        return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]

    def fingerprint_anew(self, config: Mapping[str, Value]) -> str:
        """Return the fingerprint of a model that is built once more: it should be the same."""
        return replace(self, built=recent_models()).fingerprint(config)

    def code_files(self) -> Sequence[Path]:
        """Return the model file and the local modules that it imports."""
        if isinstance(self.function, kept_code.KeptFunction):
            return self.function.files
        return () if self.code is None else [Path(name) for name in self.code.texts]

    def law(self, config: Mapping[str, Value]) -> Mapping[str, float]:
        """Return the metrics of the model function's law, see `own_figures`."""
        law = law_of(self.function, config, self.code)
        kept_code.note(self.record, "law", config, law)
        return law

    def prepare(self) -> Mapping[str, float]:
        """Return nothing: a simulation needs nothing from the machine."""
        return {}

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Simulate the model of `config` once."""
        return self._run_of(self._ready(config), seed, every_s=self.setup.sample_every_s)

    def run_model(
        self,
        config: Mapping[str, Value],
        *,
        seed: int,
        changes: Sequence[Change] = (),
        every_s: float | None = None,
    ) -> Run:
        """Simulate the changed model of `config` once; with `every_s`, keep how it went."""
        ready_model = self._ready(config, changes)
        return self._run_of(
            ready_model, seed, every_s=every_s, are_all_samples_kept=every_s is not None
        )

    def model(self, config: Mapping[str, Value], changes: Sequence[Change] = ()) -> Model:
        """Return the model of `config`, with changed stations and pools."""
        return changed_model(self._model(config), changes)

    def natural_end(self, model: Model) -> str:
        """Return why runs of a model have no steady state; empty if they do."""
        plan = self._intervals(model)
        if not plan.is_terminating:
            return ""
        return plan.ends_because or "the study analyses its runs as terminating"

    def missing_end(self, model: Model) -> str:
        """Return what changes in runs that end by completions, too few for many periods of it."""
        if self.windows.analysis == "steady-state" or self.setup.time_s is not None:
            return ""
        return missing_end(model, self.setup.completions)

    def stand_in(self, config: Mapping[str, Value]) -> tuple[Model, tuple[str, ...]] | None:
        """Return the simpler model that the model function offers, and what its errors are.

        A function does so by an attribute ``stand_in``, which takes the parameters and returns the
        simpler model and sentences on its error.
        """
        simpler = getattr(self.function, "stand_in", None)
        if simpler is None:
            return None
        found = simpler(**config)
        kept_code.note(self.record, "stand_in", config, found)
        return None if found is None else (found[0], tuple(found[1]))

    @property
    def known_error(self) -> str:
        """Known error of the model's predictions; empty if unknown."""
        return str(getattr(self.function, "known_error", ""))

    @classmethod
    def of_function(cls, function: Callable[..., Model] | Model) -> Mapping[str, str]:
        """Return the `[experiment.system]` of a function or a model of the calling program."""
        # It needs this class; and commands never need it.
        from headroom.systems.model.function import table_of  # noqa: PLC0415

        return table_of(function)

    @classmethod
    def model_names(cls) -> tuple[str, ...]:
        """Return the names of the registered models, sorted."""
        return model_names()

    def _worst(self, model: Model) -> Iterator[Metric]:
        """Yield the metrics of the worst interval, if runs have a natural end."""
        plan = self._intervals(model)
        if plan.is_terminating and plan.ends_s:
            yield from worst_metrics(windowed_metrics(model))

    def _intervals(self, model: Model) -> IntervalPlan:
        time_s, completions = self.setup.time_s, self.setup.completions
        return interval_plan(model, self.windows, time_s=time_s, completions=completions)

    def _simulated(
        self, once: ReadyModel, seed: int, *, every_s: float | None, ends_s: Sequence[float]
    ) -> tuple[SimulationResult, Mapping[str, float]]:
        """Run a model once; returns the result, and the rows that are overloaded."""
        unit_s = SECONDS_PER_UNIT[once.model.time_unit]
        time_s = self.setup.time_s
        if every_s is not None:
            check_size(once.model, every_s=every_s, time_s=time_s)
        run = partial(
            run_ready,
            once,
            seed=seed,
            sample_every=None if every_s is None else every_s / unit_s,
            interval_ends=[end_s / unit_s for end_s in ends_s],
            waits=waits_of(once.model, self.windows.metrics),
        )
        completions = self.setup.completions
        try:
            result = run(completions=completions, time=None if time_s is None else time_s / unit_s)
        except OverloadError:
            full = overloads_by_row(once.model)
            if not full:
                raise
            wanted = completions or once.model.stop_completions or 1
            return run(completions=wanted, time=longest_time(once.model, wanted)), full
        is_timed = time_s is not None or (completions is None and once.model.stop_time is not None)
        return result, overloads_by_row(once.model) if is_timed else {}

    def _run_of(
        self,
        once: ReadyModel,
        seed: int,
        *,
        every_s: float | None = None,
        are_all_samples_kept: bool = False,
    ) -> Run:
        plan = self._intervals(once.model)
        result, overloads = self._simulated(once, seed, every_s=every_s, ends_s=plan.ends_s)
        end_s = float(result.snapshot_times_s[-1])
        early = self.missing_end(once.model)
        remarks = [] if plan.ends_because else [unsettled_remark(once.model, end_s, early)]
        remarks.append(unreached_remark(self.windows, end_s))
        unsure = endless(once.model)
        remarks += [one.text for one in unsure]
        note = "" if plan.is_terminating else periodic_note(once.model, end_s)
        return run_of(
            result,
            are_all_samples_kept=are_all_samples_kept,
            own_values={
                **({MAKESPAN.name: end_s} if plan.is_complete else {}),
                **own_values(self.function, result, self.code),
            },
            overloads={} if is_before_last_change(once.model, end_s) else overloads,
            meanless=meanless_rows(once.model, unsure),
            remarks=tuple(filter(None, remarks)),
            notes=(note,) if note else (),
            ends_because=plan.ends_because,
        )

    def _ready(self, config: Mapping[str, Value], changes: Sequence[Change] = ()) -> ReadyModel:
        """Return the model of `config` with `changes`, ready to run again and again."""

        def build() -> ReadyModel:
            return ready(changed_model(self._model(config), changes))

        return self.ready_models.of(config, changes, build)

    def _model(self, config: Mapping[str, Value]) -> Model:
        return self._built(config).model

    def _built(self, config: Mapping[str, Value]) -> BuiltModel:
        def build() -> BuiltModel:
            built = built_model(self.function, config, self.code)
            kept_code.note(self.record, "model", config, built)
            model = with_late(built, self.setup.late_after)
            return BuiltModel(model, model_as_data(self.function, model))

        return self.built.of(config, (), build)


def _check(setup: ModelSetup) -> None:
    if setup.file and setup.model:
        raise StudyError(
            f"file = {setup.file!r} and model = {setup.model!r} both name a model",
            cure="give one of the two",
        )
    if not setup.file and not setup.model:
        raise StudyError(
            "the system `model` needs either a file or the name of a registered model",
            cure='write file = "model.py" or model = "mm1"',
        )
    if setup.function and not setup.file:
        raise StudyError(
            f"function = {setup.function!r} belongs to a file, but a registered model is named",
            cure="remove function, or write file = ...",
        )
    if setup.function and is_model_file(setup.file):
        raise StudyError(
            f"function = {setup.function!r} needs a Python file, but file = {setup.file!r}",
            cure="remove function",
        )
    check_end(setup)


def check_end(setup: ModelSetup) -> None:
    """Refuse a set-up with two rules for the end of a run."""
    if setup.completions is not None and setup.time_s is not None:
        raise StudyError(
            "completions and time_s both say when a run ends", cure="keep one of the two"
        )
