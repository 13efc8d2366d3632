"""The system `command`: any program of this machine as a black box."""

import hashlib
import os
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import msgspec

from headroom.errors import StudyError
from headroom.experiment.run import Run
from headroom.experiment.suggestions import suggestion
from headroom.experiment.system import Column, Metric, Parameter, Value
from headroom.systems.command.measure import Launch, Launcher, Usage
from headroom.systems.command.plan import CommandPlan, Words, parameter_of
from headroom.systems.command.replication import Replication, program_path, scratch_folder
from headroom.systems.command.setup_table import CommandSetup, ParameterTable

OVERHEAD_RUNS = 30

BASE_METRICS = (
    Metric(name="wall_s", unit="s", better="low", description="Time from start to end"),
    Metric(name="user_s", unit="s", better="low", description="Processor time, own code"),
    Metric(name="system_s", unit="s", better="low", description="Processor time, kernel"),
    Metric(
        name="peak_memory_bytes",
        unit="B",
        better="low",
        description="Largest resident set of the program or of any one of its children",
    ),
    Metric(name="exit_code", unit="1", description="Exit code"),
    Metric(name="stdout_bytes", unit="B", description="Bytes written to standard output"),
)


@dataclass(frozen=True, slots=True)
class CommandSystem:
    """A program with placeholders for factors; see docs/guides/measure-a-program.md.

    Examples
    --------
    >>> setup = CommandSetup(argv=["echo", "{word}"])
    >>> system = CommandSystem.load(setup, base=Path("/tmp"))
    >>> [parameter.name for parameter in system.parameters()]
    ['word']
    >>> system.run({"word": "hello"}, seed=1).values["stdout_bytes"]
    6.0
    """

    name: ClassVar[str] = "command"
    column: ClassVar[Column] = Column.MEASURE
    setup_type: ClassVar[type[msgspec.Struct]] = CommandSetup

    setup: CommandSetup
    plan: CommandPlan
    study_folder: Path

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:
        """Return the system for a validated `setup`; `{study}` stands for `base`."""
        if not isinstance(setup, CommandSetup):
            raise TypeError(f"a CommandSetup is needed, not {type(setup).__name__}")
        _check_metric_names(setup)
        return cls(setup, CommandPlan.of(setup), base.absolute())

    def parameters(self) -> tuple[Parameter, ...]:
        """Return one parameter per placeholder."""
        declared = self.setup.parameters
        return tuple(
            parameter_of(name, declared.get(name, ParameterTable()))
            for name in self.plan.placeholders()
        )

    def how_to_declare(self, name: str) -> str:
        """Return how a study makes `name` a parameter: by using it."""
        return f"use {{{name}}} in argv, env, folder, stdin, set_up, clean_up or a metric's path"

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:  # noqa: ARG002
        """Return time, memory, exit code and output size, then the picked metrics."""
        picked = (
            Metric(name=m.name, unit=m.unit, better=m.better, description=m.description)
            for m in self.setup.metrics
        )
        return (*BASE_METRICS, *picked)

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return a hash of the command, the levels and the files of the study it names."""
        unspoken = ("parameters", "time_limit_s")
        command = {k: v for k, v in msgspec.to_builtins(self.setup).items() if k not in unspoken}
        words = self.plan.fill(config, self._given(seed=0, work=Path("/nowhere")))
        own_files = self._own_files(words)
        files = {str(path.relative_to(self.study_folder)): _digest(path) for path in own_files}
        content = msgspec.json.encode([command, dict(config), files], order="sorted")
        return hashlib.sha256(content).hexdigest()[:16]

    def prepare(self) -> Mapping[str, float]:
        """Check the programs that every point needs, and time the launcher on an empty program.

        Programs whose names hold a placeholder are looked for when their points run, so that
        a missing one fails these points only.
        """
        environment = self.plan.fixed_environment()
        for name in self.plan.fixed_programs(self.study_folder):
            program_path(name, environment=environment)
        return launcher_overhead()

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Run one replication; raise `HeadroomError` where the program fails."""
        with scratch_folder() as name, Launcher(Path(name)) as launcher:
            scratch = Path(name)
            work = scratch / "work"
            work.mkdir()
            words = self.plan.fill(config, self._given(seed=seed, work=work))
            replication = Replication(
                setup=self.setup, words=words, scratch=scratch, launcher=launcher
            )
            usage, values = replication.measure()
        counters = {
            "major_faults": float(usage.major_faults),
            "involuntary_switches": float(usage.involuntary_switches),
        }
        return Run(values=values, counters=counters)

    def _given(self, *, seed: int, work: Path) -> Mapping[str, Value]:
        return {
            "seed": seed,
            "study": str(self.study_folder),
            "work": str(work),
            "python": sys.executable,
        }

    def _own_files(self, words: Words) -> Iterator[Path]:
        """Yield the files of the study's folder that the command names: its scripts, its data."""
        study = str(self.study_folder)
        texts = [*words.argv, *(word for argv in words.set_up for word in argv), str(words.stdin)]
        for text in texts:
            path = Path(text[text.find(study) :]) if study in text else words.folder / text
            if path.is_relative_to(self.study_folder) and path.is_file():
                yield path


def launcher_overhead() -> dict[str, float]:
    """Return what an empty program seems to need: facts to print beside the figures.

    Nothing is subtracted from a measurement. A program whose time or memory is near these
    figures cannot be told from an empty one.
    """
    usages = _empty_runs()
    walls = [usage.wall_s for usage in usages]
    return {
        "launcher_overhead_s_median": statistics.median(walls),
        "launcher_overhead_s_max": max(walls),
        "launcher_overhead_runs": float(len(walls)),
        "launcher_peak_memory_bytes_max": float(max(usage.peak_memory_bytes for usage in usages)),
        "clock_resolution_s": time.get_clock_info("monotonic").resolution,
    }


def _empty_runs() -> list[Usage]:
    with scratch_folder() as name, Launcher(Path(name)) as launcher:
        folder = Path(name)
        launch = Launch(
            program=program_path("true", environment=os.environ),
            argv=["true"],
            environment=os.environ,
            folder=folder,
            stdout=folder / "stdout",
            stderr=folder / "stderr",
        )
        return [launcher.run(launch) for _ in range(OVERHEAD_RUNS)]


def _check_metric_names(setup: CommandSetup) -> None:
    known = [metric.name for metric in BASE_METRICS]
    for metric in setup.metrics:
        if metric.name in known:
            raise StudyError(
                f"metric {metric.name!r} is there already",
                cure="give it another name; every run has " + ", ".join(known),
            )
        for name in metric.quotient:
            if name not in known:
                raise StudyError(
                    f"metric {metric.name!r} divides by or into {name!r}, which is not known there",
                    cure=suggestion(name, known) + "; a metric stands before its quotients",
                )
        known.append(metric.name)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
