"""The system `command`: any program of this machine as a black box."""

import os
import statistics
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Self

import msgspec

from headroom.errors import HeadroomError, StudyError
from headroom.experiment.protocol.artefact import EACH_BYTES, Artefact
from headroom.experiment.protocol.roles import LOAD, Placement
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.section import Section, SectionPoint
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value
from headroom.experiment.study.seeds import digest
from headroom.recording.launching.launcher import LAUNCHER_VERSION, Launch, Launcher, Usage
from headroom.recording.launching.observer import Report, next_tick_ns
from headroom.recording.observers.observed import metrics_of
from headroom.recording.observers.observing import Observing
from headroom.recording.observers.postgres import postgres_metrics
from headroom.recording.services.keeper import Fill, Keeper, remove_leftovers, unknown_words
from headroom.recording.services.kinds import KINDS_VERSION, folder_of_programs
from headroom.recording.services.service import end_of
from headroom.systems.command.apart.crew import Crew, metrics_elsewhere, services_at
from headroom.systems.command.apart.messages import Ask
from headroom.systems.command.apart.serving import Serving, busy_since
from headroom.systems.command.content import Content
from headroom.systems.command.observation import (
    cpu_by_group,
    groups_of,
    observer_of,
    postgres_servers,
)
from headroom.systems.command.plan import CommandPlan, Words, check_words_apart, parameter_of
from headroom.systems.command.redaction import check_patterns, hide, redacted, secret_values
from headroom.systems.command.replication import Replication, program_path, scratch_folder
from headroom.systems.command.seen.sights import Sights
from headroom.systems.command.setup_table import CommandSetup, ParameterTable
from headroom.systems.command.slowed import SLOWED_SHARE, Slowing, slowed_parameter
from headroom.systems.command.template import parse_template

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
    content: Content = field(compare=False, repr=False)
    sights: Sights = field(compare=False, repr=False)
    keeper: Keeper = field(default_factory=Keeper, compare=False, repr=False)
    placement: Placement | None = field(default=None, compare=False, repr=False)
    serving: Serving = field(default_factory=Serving, compare=False, repr=False)

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:
        """Return the system for a validated `setup`; `{study}` is `base`."""
        if not isinstance(setup, CommandSetup):
            raise TypeError(f"a CommandSetup is needed, not {type(setup).__name__}")
        _check_metric_names(setup)
        check_patterns(setup.redact)
        study = Path(os.path.normpath(base.absolute()))
        plan = CommandPlan.of(setup)
        _check_offered(setup, plan)
        content = Content(study, setup.ignore)
        return cls(setup, plan, study, content, Sights.of(setup, content))

    def parameters(self) -> tuple[Parameter, ...]:
        """Return one parameter per placeholder."""
        declared = self.setup.parameters
        named = tuple(
            parameter_of(name, declared.get(name, ParameterTable()))
            for name in self.plan.placeholders()
        )
        return (*named, slowed_parameter(self.setup)) if self.setup.slowed else named

    def how_to_declare(self, name: str) -> str:
        """Return how a study makes `name` a parameter: by using it."""
        places = "argv, env, folder, stdin, set_up, clean_up or a metric's path"
        return f'use {{{name}}} in {places}; only to label points, env = {{ LABEL = "{{{name}}}" }}'

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:  # noqa: ARG002
        """Return time, memory, exit code and output size, then the picked metrics."""
        picked = (
            Metric(name=m.name, unit=m.base_unit, better=m.better, description=m.description)
            for m in self.setup.metrics
        )
        slowed = [SLOWED_SHARE] if self.setup.slowed else []
        return (*BASE_METRICS, *picked, *slowed, *self._observed_metrics())

    def sections(self, points: Sequence[SectionPoint]) -> Sequence[Section]:
        """Return the processor time by group of processes, if it was observed."""
        return cpu_by_group(self.setup, points) if self.setup.observers is not None else []

    def _observed_metrics(self) -> Iterator[Metric]:
        if (observe := self.setup.observers) is not None:
            groups, limited = groups_of(self.setup)
            yield from metrics_of(groups, limited, per_op=bool(observe.throughput))
            if self.placement is not None:
                yield from metrics_elsewhere(self.placement)
            for service in postgres_servers(self.setup):
                yield from postgres_metrics(service, per_op=bool(observe.throughput))

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return a hash of the command, the levels, the study's files and the launcher's version.

        `found_at` reports the inputs from this machine.
        """
        unspoken = {"parameters", "time_limit_s", "ignore", "ignore_env", "redact"}
        if not self.setup.services:
            unspoken.add("service")
        if self.setup.observers is None:
            unspoken.add("observe")
        if self.setup.slowed is None:
            unspoken.add("slowed")
        command = {k: v for k, v in msgspec.to_builtins(self.setup).items() if k not in unspoken}
        if "observe" in command:
            del command["observe"]["files"]  # decides what is known of a run, not what runs
        for service in command.get("service", ()):
            del service["role"]  # the machines decide, which a row knows
        words = self._words(config, programs={})
        files = [
            self.content.tree_digest(),
            self.content.named_in_study(words),
            self.content.inputs_in_study(words.inputs),
        ]
        versions = [KINDS_VERSION] if self.setup.services else []
        return digest([command, dict(config), files, LAUNCHER_VERSION, *versions], size_bytes=8)

    def found_at(self, config: Mapping[str, Value]) -> str:
        """Return the programs, inputs and variables that this machine supplies, with hashes."""
        words = self._words(config)
        variables = {name: words.environment.get(name) for name in self.setup.variables}
        own = self.content.supplied(words, words.inputs, variables)
        return " ".join(filter(None, [own, *self._crew.found(config)]))

    def expect(self, config: Mapping[str, Value], seen: str) -> None:
        """Take what an earlier run was seen to depend on; empty to observe the next one."""
        self.sights.expect(config, seen)

    def seen(self, config: Mapping[str, Value]) -> str:
        """Return what a run was seen to depend on, empty if none was observed."""
        return self.sights.of_point(config)

    def changes_since(self, seen: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Return the names of what differs now from what runs were seen to depend on."""
        return self.sights.changes(seen)

    def look_again(self) -> tuple[str, ...]:
        """Forget earlier looks at files; return those of the study that changed since."""
        return self.content.look_again()

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse a point with an input that is missing."""
        self.content.check_inputs(self._words(config).inputs)

    def check_files(self, config: Mapping[str, Value]) -> None:
        """Refuse a point with an input, or a program of every point, that is missing."""
        self._check_programs()
        self.check_point(config)

    def open_session(self, say: Callable[[str], None]) -> tuple[str, ...]:  # noqa: ARG002
        """Begin a session; services that a killed run left behind are ended and reported."""
        return remove_leftovers() if self.setup.services else ()

    def close_session(self) -> tuple[str, ...]:
        """End all services."""
        self.keeper.close()
        return ()

    def prepare(self) -> Mapping[str, float]:
        """Check the programs that every point needs, and time the launcher on an empty program.

        Programs whose names hold a placeholder are looked up when their points run, so that a
        missing one fails these points only.
        """
        self._check_programs()
        return launcher_overhead()

    def roles(self) -> tuple[str, ...]:
        """Return the roles of the program and of its services."""
        return tuple(dict.fromkeys([LOAD, *(table.role for table in self.setup.services)]))

    def placed(self, placement: Placement) -> Self:
        """Return the same command with services on several hosts."""
        check_words_apart(self.plan, placement)
        keeper = self.keeper
        if placement.addresses:
            peers = tuple(dict.fromkeys(placement.addresses.values()))
            keeper = Keeper(host=placement.addresses[placement.own], peers=peers)
        return replace(self, placement=placement, keeper=keeper, serving=Serving())

    def serve(self, request: bytes) -> bytes:
        """Answer a request about the services of this host."""
        return self.serving.answer(
            request,
            setup=self.setup,
            keeper=self.keeper,
            start=self._started,
            find=self._found_of_services,
            logs=lambda: self._logs(os.environ),
        )

    def _started(self, ask: Ask) -> dict[str, str]:
        table = next(one for one in self.setup.services if one.name == ask.service)
        fill = self._fill({**ask.config, **self._given(seed=ask.seed), **self._programs()})
        return self.keeper.ensure([table], fill, ask.words)

    def _found_of_services(self, ask: Ask) -> str:
        """Return the facts of this host that its services alone use."""
        words = self._words(ask.config)
        if not words.servers:
            return ""
        first, *others = words.servers
        only = replace(
            words, argv=first, set_up=[], clean_up=[], servers=others, own_environment={},
            stdin=Path(os.devnull),
        )  # fmt: skip
        return self.content.supplied(only, [], {})

    def _check_programs(self) -> None:
        environment = self.plan.fixed_environment()
        for name in self.plan.fixed_programs(self.study_folder):
            program_path(name, environment=environment)

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Run one replication; raise `HeadroomError` if the program fails."""
        since_ns, watched = self._observe_apart(config, seed)
        crew = self._crew
        before_s = self.keeper.busy_s()
        with self._prepared(config, seed, watched) as (replication, observer):
            slowing = Slowing(self.setup, config, self.keeper, replication.launcher)
            beside = slowing.beside(replication.beside)
            usage, values = replace(replication, beside=beside).measure()
            values |= slowing.values()
            busy_s = busy_since(before_s, self.keeper)
            remarks = tuple(r for one in self.keeper.services() for r in one.remarks)
            artefacts = self._artefacts(replication.scratch, replication.words.environment)
            if watched is not None:
                self._keep(config, replication, watched, since_ns)
        counters = {
            "major_faults": float(usage.major_faults),
            "involuntary_switches": float(usage.involuntary_switches),
            **busy_s,
        }
        offered = {
            metric.name: float(config[metric.offered])
            for metric in self.setup.metrics
            if metric.offered
        }
        run = Run(
            values=values,
            counters=counters,
            offered=offered,
            remarks=remarks,
            notes=self.sights.sentence(config),
            artefacts=artefacts,
        )
        return crew.added_to(observer.added_to(run))

    def _observe_apart(
        self, config: Mapping[str, Value], seed: int
    ) -> tuple[int, list[Report] | None]:
        """Observe a run of its own, if one is wanted and there is no warm-up run to observe.

        Returns when all this began, and what takes the reports of the warm-up run, if it is it.
        A run that fails under the observer fails nothing: the floor takes its place.
        """
        if not self.sights.is_wanted(config):
            return 0, None
        reason = self.sights.why_not()
        if reason:
            self.sights.keep_floor(config, self._words(config), reason)
            return 0, None
        since_ns = next_tick_ns()
        if self.setup.warm_up_runs:
            return since_ns, []
        try:
            with self._prepared(config, seed) as (replication, _):
                self._keep(config, replication, replication.observe(), since_ns)
        except HeadroomError:
            self._keep_floor_of_failed(config)
        return since_ns, None

    def _keep(
        self,
        config: Mapping[str, Value],
        replication: Replication,
        reports: Sequence[Report],
        since_ns: int,
    ) -> None:
        if reports:
            words, scratch = replication.words, replication.scratch
            self.sights.keep(config, words, reports, scratch=scratch, since_ns=since_ns)
        else:
            self._keep_floor_of_failed(config)

    def _keep_floor_of_failed(self, config: Mapping[str, Value]) -> None:
        self.sights.keep_floor(config, self._words(config), "the observed run failed")

    @contextmanager
    def _prepared(
        self, config: Mapping[str, Value], seed: int, watched: list[Report] | None = None
    ) -> Iterator[tuple[Replication, Observing]]:
        """Yield a replication with its own folder and services, and the observer beside it."""
        crew = self._crew
        with scratch_folder() as name, Launcher(Path(name), crew.check) as launcher:
            scratch = Path(name)
            work = scratch / "work"
            work.mkdir()
            given = self._given(seed=seed, work=work)
            environment: Mapping[str, str] = os.environ
            try:
                fill = self._fill({**config, **given, **self._programs()})
                given = {**given, **self._programs(), **crew.ensure(config, seed, fill)}
                words = self.plan.fill(config, given)
                environment = words.environment
                observer = observer_of(self.setup, self.keeper, launcher)
                replication = Replication(
                    setup=self.setup,
                    words=words,
                    scratch=scratch,
                    launcher=launcher,
                    beside=partial(crew.beside, observer),
                    check=crew.check,
                    watched=watched,
                )
                yield replication, observer
            except HeadroomError as error:
                secret = self.setup.redact
                error.artefacts = self._artefacts(scratch, environment)
                raise redacted(error, environment=environment, patterns=secret) from None
            finally:
                crew.end_of_run()

    @property
    def _crew(self) -> Crew:
        return Crew(setup=self.setup, keeper=self.keeper, placement=self.placement)

    def _artefacts(self, scratch: Path, environment: Mapping[str, str]) -> tuple[Artefact, ...]:
        """Return the ends of the logs of services and of what the program said, without secrets."""
        texts = {**self._logs(environment, {"stderr.log": scratch / "stderr"}), **self._crew.logs()}
        return tuple(
            Artefact(name=name, kind="log", content=content) for name, content in texts.items()
        )

    def _logs(
        self, environment: Mapping[str, str], others: Mapping[str, Path] = MappingProxyType({})
    ) -> dict[str, bytes]:
        places = {
            f"{service.table.name}.log": service.place.log for service in self.keeper.services()
        }
        texts = {name: end_of(path, EACH_BYTES) for name, path in {**places, **others}.items()}
        secrets = secret_values(environment)
        return {
            name: hide(text, secrets=secrets, patterns=self.setup.redact).encode()
            for name, text in texts.items()
            if text
        }

    @staticmethod
    def _fill(values: Mapping[str, Value]) -> Fill:
        return lambda text, words: parse_template(text).fill({**values, **words})

    def _programs(self) -> dict[str, str]:
        """Return the folders of the programs of services elsewhere, as far as a text uses them."""
        if self.placement is None:
            return {}
        used = {
            name
            for role in self.placement.hosts
            if self.placement.is_here(role)
            for name in self.plan.names_at(role)
        }
        return {
            f"{table.name}.bin": folder_of_programs(table)
            for table in self.setup.services
            if not self.placement.is_here(table.role) and f"{table.name}.bin" in used
        }

    def _given(self, *, seed: int, work: Path = Path("/nowhere")) -> Mapping[str, Value]:
        return {
            "seed": seed,
            "study": str(self.study_folder),
            "work": str(work),
            "python": sys.executable,
        }

    def _words(
        self, config: Mapping[str, Value], programs: Mapping[str, str] | None = None
    ) -> Words:
        """Return the command of a point, as far as it is common to all replications.

        `programs` are the folders of known servers; None for those of this machine.
        """
        here = services_at(self.setup.services, self.placement)
        given = dict(self._given(seed=0))
        for table in self.setup.services:
            given |= unknown_words(table)
        if programs is None:
            programs = {f"{table.name}.bin": folder_of_programs(table) for table in here}
            programs |= self._programs()
        return self.plan.fill(config, {**given, **programs}, here)


def launcher_overhead() -> dict[str, float]:
    """Return the apparent cost of an empty program: facts to print next to the results.

    Nothing is subtracted from a measurement. A program whose time or memory is close to these
    values cannot be distinguished from an empty one.
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


def _check_offered(setup: CommandSetup, plan: CommandPlan) -> None:
    """Refuse a metric whose offered load is not a parameter of the command."""
    known = plan.placeholders()
    for metric in setup.metrics:
        if metric.offered and metric.offered not in known:
            raise StudyError(
                f"metric {metric.name!r}: offered = {metric.offered!r} is not a parameter",
                cure=suggestion(metric.offered, known),
            )


def _check_metric_names(setup: CommandSetup) -> None:
    if setup.observers is not None and (name := setup.observers.throughput):
        rates = [metric.name for metric in setup.metrics if metric.base_unit == "1/s"]
        if name not in rates:
            raise StudyError(
                f"observe.throughput = {name!r} is not a metric with the unit 1/s",
                cure=suggestion(name, rates)
                if rates
                else "pick one by [[experiment.system.metric]]",
            )
    known = [metric.name for metric in BASE_METRICS]
    for metric in setup.metrics:
        if metric.name in known:
            raise StudyError(
                f"duplicate metric {metric.name!r}",
                cure="give it another name; every run has " + ", ".join(known),
            )
        for name in metric.quotient:
            if name not in known:
                raise StudyError(
                    f"metric {metric.name!r} divides by or into {name!r}, which is not "
                    "defined above it",
                    cure=suggestion(name, known) + "; define a metric before its quotients",
                )
        known.append(metric.name)
