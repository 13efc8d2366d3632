"""The system `storage`: a load on a real device or file system.

Invariant: a replication is one run on one target, with nothing of another run in the page cache, if
the file system can drop it; created files are removed when the session ends.
"""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Self

import msgspec

from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.experiment.protocol.declared import declared_by
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Confirmation, Metric, Parameter, Value
from headroom.recording.observers.observed import metrics_of
from headroom.recording.observers.observing import PROGRAM, Observing, named_in
from headroom.recording.observers.watch import tree_of
from headroom.systems.storage.blocks.block_run import run_blocks
from headroom.systems.storage.blocks.interfaces import INTERFACES, Interfaces
from headroom.systems.storage.blocks.measurement import Measurement
from headroom.systems.storage.blocks.metrics import block_metrics
from headroom.systems.storage.blocks.snia_run import run_rounds
from headroom.systems.storage.early_checks import check_before_anything, check_before_runs
from headroom.systems.storage.postmark.postmark_run import postmark_metrics, run_postmark
from headroom.systems.storage.soft.soft_script import SoftScript
from headroom.systems.storage.targets.health import HealthWatch, counters_of, in_words, warnings_of
from headroom.systems.storage.targets.health_sources import Reading
from headroom.systems.storage.targets.patience import within
from headroom.systems.storage.targets.session import SESSION
from headroom.systems.storage.targets.setup_table import StorageSetup
from headroom.systems.storage.targets.targets import Target
from headroom.systems.storage.workloads.sizes import parse_bytes
from headroom.systems.storage.workloads.trace_files import trace_path
from headroom.systems.storage.workloads.workload_checks import check_workload
from headroom.systems.storage.workloads.workload_parameters import (
    Asked,
    Data,
    Trace,
    workload_parameters,
)

_SERVICE = "from the submission of a request to its end: what fio calls lat; its clat begins later"
"""The definition of a service time here, for comparison with other tools."""


@dataclass(slots=True)
class StorageSystem:
    """Targets of this machine under load; see the folder's README.

    Examples
    --------
    >>> from headroom.systems.storage.targets.setup_table import TargetTable
    >>> setup = StorageSetup(targets={"none": TargetTable(kind="nothing")})
    >>> system = StorageSystem.load(setup, base=Path())
    >>> [parameter.name for parameter in system.parameters()][:3]
    ['target', 'workload', 'interface']
    """

    name: ClassVar[str] = "storage"
    column: ClassVar[Column] = Column.MEASURE
    setup_type: ClassVar[type[msgspec.Struct]] = StorageSetup
    code_key: ClassVar[str] = ""

    setup: StorageSetup
    study: Path
    targets: Mapping[str, Target]
    interfaces: Interfaces = field(default_factory=lambda: INTERFACES)
    typed: tuple[str, ...] = ()
    _found: dict[str, str] = field(default_factory=dict)
    """Identity of each target, looked up once."""
    _watches: dict[str, HealthWatch] = field(default_factory=dict)
    """Readers of the health of each target's disk."""

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:
        """Return the system for a validated `setup`; relative paths start at `base`."""
        if not isinstance(setup, StorageSetup):
            raise TypeError(f"a StorageSetup is needed, not {type(setup).__name__}")
        reserve = parse_bytes(setup.reserve, least=0)
        if setup.observe is not None and setup.observe.throughput:
            raise StudyError(
                "observe.throughput is set, but the rate of a storage load is known",
                cure="remove it: metrics per operation are there without it",
            )
        targets = {
            name: Target(
                name=name, table=table, study=base, reserve=reserve, silence_s=setup.silence_s
            )
            for name, table in setup.targets.items()
        }
        for target in targets.values():
            _check_table(target)
        return cls(setup, base, targets)

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the target, the workload, and the parameters of all workloads."""
        names = tuple(self.targets)
        target = Parameter(
            name="target",
            type="str",
            unit="",
            default=names[0] if len(names) == 1 else None,
            choices=names,
            source="targets of the study",
            description="Target of the load",
        )
        return (target, *declared_by(Asked), *workload_parameters())

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:
        """Return the metrics of a run of `config`."""
        observed = self._observed_metrics()
        if Asked.of(config).workload == "postmark":
            return (*postmark_metrics(), *observed)
        return (*block_metrics(config, is_verified=self.setup.verify is not None), *observed)

    def _observed_metrics(self) -> tuple[Metric, ...]:
        if (observe := self.setup.observe) is None:
            return ()
        return tuple(metrics_of([PROGRAM, *named_in(observe)], [], per_op=True))

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return a hash of the target and of the parameters that its workload has.

        The place on this machine counts as written: another path is another target.
        """
        check_workload(config)
        target = self._target(config)
        table = msgspec.to_builtins(target.table)
        own = {one.name for one in workload_parameters(Asked.of(config).workload)}
        own |= {"target", *Asked.__struct_fields__}
        used = {name: value for name, value in config.items() if name in own}
        content = msgspec.json.encode(
            [
                table,
                used,
                msgspec.to_builtins(self.setup.verify),
                *_trace_digest(config, self.study),
                *([msgspec.to_builtins(self.setup.observe)] if self.setup.observe else []),
                *([self.setup.processes] if self.setup.processes > 1 else []),
            ],
            order="sorted",
        )
        return _digest(content)

    def found_at(self, config: Mapping[str, Value]) -> str:
        """Return what distinguishes the target of a point from another at the same place.

        Empty if unknown, which refuses nothing: a run reports the problem.
        """
        target = self.targets[str(config["target"])]
        if target.name not in self._found:
            self._found[target.name] = ""
            with suppress(HeadroomError):
                what = f"target {target.name!r}"
                identity = within(self.setup.silence_s, target.identity, what=what)
                self._found[target.name] = identity and _digest(identity.encode())
        return self._found[target.name]

    def confirmations(self, config: Mapping[str, Value]) -> tuple[Confirmation, ...]:
        """Return the confirmations that `config` needs before it may run."""
        return self._target(config).confirmations(config)

    def confirm(self, words: Sequence[str]) -> None:
        """Take the words that the user typed at this call of the command."""
        self.typed = tuple(words)

    def foresight(self, config: Mapping[str, Value]) -> tuple[str, ...]:
        """Return the files and writes of a run of `config`."""
        return self._target(config).foresight(config)

    def open_session(self, say: Callable[[str], None]) -> tuple[str, ...]:
        """Begin a session; leftovers of killed runs are removed and reported."""
        return SESSION.start(say)

    def close_session(self) -> tuple[str, ...]:
        """Remove everything that was made on the targets; return what could not be."""
        return SESSION.end()

    def prepare(self) -> Mapping[str, float | str]:
        """Measure what the tool itself costs, and say what the targets are."""
        facts: dict[str, float | str] = {"service_s": _SERVICE, **self.interfaces.measure()}
        for name, target in self.targets.items():
            facts[f"target {name}"] = within(
                self.setup.silence_s, target.checked_facts, what=f"target {name!r}"
            )
            facts[f"health of target {name}"] = in_words(self._health(target))
        return facts

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse a point whose target does not fit: missing, too small, too full, not writable."""
        target = self._target(config)
        check = partial(check_before_runs, config, target, self.typed)
        within(self.setup.silence_s, check, what=f"target {target.name!r}")

    def check_files(self, config: Mapping[str, Value]) -> None:
        """Refuse a point whose target does not fit, without opening or making anything there."""
        target = self._target(config)
        check = partial(check_before_anything, config, target)
        within(self.setup.silence_s, check, what=f"target {target.name!r}")

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Run one replication; raise `HeadroomError` if the point cannot be run."""
        check_workload(config)
        asked = Measurement(
            config=config,
            seed=seed,
            target=self._target(config),
            typed=self.typed,
            interfaces=self.interfaces,
            setup=self.setup,
        )
        before = self._health(asked.target)
        driver = {PROGRAM: tree_of(os.getpid())}
        observer = Observing(observe=self.setup.observe, groups=driver)
        with observer.during():
            run = _RUNS.get(Asked.of(config).workload, run_blocks)(asked)
        run = observer.added_to(run, throughput=_rate(run))
        after = self._health(asked.target)
        return replace(
            run,
            counters={**run.counters, **counters_of(before, after)},
            remarks=(*run.remarks, *warnings_of(before, after)),
        )

    def _health(self, target: Target) -> Reading:
        """Return how the disk below a target is now; nothing if there is no answer."""

        def read() -> Reading:
            if target.name not in self._watches:
                self._watches[target.name] = HealthWatch(target.disk())
            return self._watches[target.name].read()

        try:
            return within(self.setup.silence_s, read, what=f"target {target.name!r}")
        except (EnvironmentUnfitError, OSError) as error:
            return Reading(why=str(error))

    def _target(self, config: Mapping[str, Value]) -> Target:
        """Return the target of a point; refuse settings that do not fit it or the set-up."""
        target = self.targets[str(config["target"])]
        is_folder = target.table.kind == "folder"
        if Asked.of(config).workload == "postmark" and not is_folder:
            raise StudyError(
                f"PostMark works on files, but target {target.name!r} is of kind "
                f"{target.table.kind!r}",
                cure='take a target of kind "folder"',
            )
        if self.setup.verify is not None:
            self._check_verified(config)
        if self.setup.processes > 1 and (workload := Asked.of(config).workload) != "micro":
            raise StudyError(
                f"processes = {self.setup.processes}, but the workload {workload!r} is "
                "one sequence of requests",
                cure='set processes = 1, or take workload = "micro"',
            )
        return target

    def _check_verified(self, config: Mapping[str, Value]) -> None:
        if Asked.of(config).workload == "postmark":
            raise StudyError(
                "`verify` is set, but PostMark compares nothing with what it wrote",
                cure="remove `verify`, or take another workload",
            )
        if Data.of(config).compressible_share:
            raise StudyError(
                "compressible_share is set, but verified blocks have their own content",
                cure="remove compressible_share or `verify`",
            )


_RUNS: Mapping[str, Callable[[Measurement], Run]] = {
    "postmark": run_postmark,
    "snia_like": run_rounds,
}
"""Runners of the workloads that are not a plain load of requests."""


def _rate(run: Run) -> float | None:
    """Return the operations per second of a whole run; None if it has no length."""
    done = sum(
        float(table.columns["completion_count"][-1].sum())
        for table in run.resources
        if table.kind == "class" and len(run.snapshot_times_s)
    )
    length_s = run.values.get("run_s", 0.0)
    return done / length_s if length_s > 0.0 and done else None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _check_table(target: Target) -> None:
    """Refuse contradictions in the table of a target."""
    table = target.table
    if table.bytes is not None:
        parse_bytes(table.bytes)
    if table.kind in {"nothing", "soft"} and table.path:
        raise StudyError(
            f"target {target.name!r} of kind {table.kind!r} has a path", cure="remove `path`"
        )
    if table.kind == "block_device" and not table.path:
        raise StudyError(
            f"target {target.name!r} has no path", cure='add path = "/dev/..." (see lsblk --paths)'
        )
    if table.files > 1 and table.kind not in {"file", "folder"}:
        raise StudyError(
            f"target {target.name!r} of kind {table.kind!r} has {table.files} files",
            cure='remove `files`, or write kind = "folder"',
        )
    if table.kind == "soft":
        table.script.check(target.made_bytes)
    elif table.script != SoftScript():
        raise StudyError(
            f"target {target.name!r} of kind {table.kind!r} has a script",
            cure='remove it, or write kind = "soft"',
        )


def _trace_digest(config: Mapping[str, Value], study: Path) -> list[str]:
    """Return the content of a trace in short: another one is another load."""
    if Asked.of(config).workload != "trace":
        return []
    with trace_path(Trace.of(config).trace_file, study).open("rb") as file:
        return [hashlib.file_digest(file, "sha256").hexdigest()]
