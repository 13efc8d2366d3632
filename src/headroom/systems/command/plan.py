"""A command as a study describes it: its templates, and the arguments of one point.

Invariant: errors in the set-up that do not depend on the levels are found when it is read.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from headroom.errors import StudyError
from headroom.experiment.protocol.roles import LOAD, Placement
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Parameter, Value
from headroom.recording.services.keeper import names_of
from headroom.recording.services.kinds import kind_of
from headroom.recording.services.table import ServiceTable
from headroom.systems.command.pick import check_metric
from headroom.systems.command.setup_table import CommandSetup, ParameterTable
from headroom.systems.command.template import Template, parse_template

GIVEN_NAMES = ("study", "work", "seed", "python")
"""Names that Headroom fills: the study's folder, the temporary folder, the seed, its Python."""


STREAMS = ("stdout", "stderr")


@dataclass(frozen=True, slots=True)
class Words:
    """The command of one point and replication, every placeholder filled."""

    argv: list[str]
    set_up: list[list[str]]
    clean_up: list[list[str]]
    environment: dict[str, str]
    own_environment: dict[str, str]
    """Environment variables set by the study."""
    folder: Path
    stdin: Path
    metric_files: dict[str, Path]
    inputs: list[str]

    servers: list[list[str]] = field(default_factory=list)
    """Commands of services."""

    @property
    def commands(self) -> list[list[str]]:
        """Everything that is started."""
        return [self.argv, *self.set_up, *self.clean_up, *self.servers]


@dataclass(frozen=True, slots=True)
class CommandPlan:
    """The templates of a command."""

    argv: tuple[Template, ...]
    set_up: tuple[tuple[Template, ...], ...]
    clean_up: tuple[tuple[Template, ...], ...]
    environment: Mapping[str, Template]
    folder: Template
    stdin: Template
    metric_files: Mapping[str, Template]
    inputs: tuple[Template, ...]
    services: tuple[ServiceTable, ...]

    @classmethod
    def of(cls, setup: CommandSetup) -> Self:
        """Return the plan of a set-up, or raise `StudyError` if it contradicts itself."""
        plan = cls(
            argv=_templates(setup.argv),
            set_up=tuple(_templates(words) for words in setup.set_up),
            clean_up=tuple(_templates(words) for words in setup.clean_up),
            environment={name: parse_template(text) for name, text in setup.env.items()},
            folder=parse_template(setup.folder),
            stdin=parse_template(setup.stdin),
            metric_files={
                metric.name: parse_template(metric.size_of or metric.origin)
                for metric in setup.metrics
                if metric.size_of or metric.origin not in STREAMS
            },
            inputs=_templates(setup.inputs),
            services=tuple(setup.services),
        )
        check_services(setup.services)
        for metric in setup.metrics:
            check_metric(metric)
        plan._check_names(setup.parameters)
        return plan

    def placeholders(self) -> tuple[str, ...]:
        """Return the names that a study must give, in the order of their first use."""
        names = (name for template in self._templates() for name in template.names)
        own = {*GIVEN_NAMES, *(n for table in self.services for n in names_of(table))}
        return tuple(name for name in dict.fromkeys(names) if name not in own)

    def fill(
        self,
        config: Mapping[str, Value],
        given: Mapping[str, Value],
        services: Sequence[ServiceTable] | None = None,
    ) -> Words:
        """Return the words of one point; relative paths start at the working folder.

        `given` has a value for each of `GIVEN_NAMES`. `services` are those of this host, None for
        all.
        """
        values = {**config, **given}
        study = Path(str(given["study"]))

        def filled(templates: tuple[Template, ...]) -> list[str]:
            return [template.fill(values) for template in templates]

        added = {name: template.fill(values) for name, template in self.environment.items()}
        folder = study / self.folder.fill(values)
        stdin = self.stdin.fill(values)
        files = {name: folder / path.fill(values) for name, path in self.metric_files.items()}
        return Words(
            argv=filled(self.argv),
            set_up=[filled(words) for words in self.set_up],
            clean_up=[filled(words) for words in self.clean_up],
            environment={**os.environ, **added},
            own_environment=added,
            folder=folder,
            stdin=folder / stdin if stdin else Path(os.devnull),
            metric_files=files,
            inputs=filled(self.inputs),
            servers=[
                [parse_template(word).fill(values) for word in argv]
                for table in (self.services if services is None else services)
                for argv in (table.argv, *table.set_up, _server(table))
                if argv
            ],
        )

    def fixed_programs(self, study: Path) -> list[str]:
        """Return the programs that every point needs: those that no level chooses."""
        commands = (self.argv, *self.set_up, *self.clean_up)
        known = {"study": str(study), "python": sys.executable}
        fixed = (words[0] for words in commands if set(words[0].names) <= set(known))
        return [template.fill(known) for template in fixed]

    def fixed_environment(self) -> dict[str, str]:
        """Return the environment as far as no level changes it."""
        added = {name: text.fill({}) for name, text in self.environment.items() if not text.names}
        return {**os.environ, **added}

    def names_at(self, role: str) -> set[str]:
        """Return the placeholders in texts of the services of a role, or of the program."""
        templates = [] if role != LOAD else list(self._of_program())
        for table in self.services:
            if table.role == role:
                templates += [parse_template(text) for text in texts_of(table)]
        return {name for template in templates for name in template.names}

    def _templates(self) -> Iterator[Template]:
        yield from self._of_program()
        for table in self.services:
            for text in texts_of(table):
                yield parse_template(text)

    def _of_program(self) -> Iterator[Template]:
        yield from self.argv
        for words in (*self.set_up, *self.clean_up):
            yield from words
        yield from (*self.environment.values(), self.folder, self.stdin)
        yield from self.metric_files.values()
        yield from self.inputs

    def _check_names(self, declared: Mapping[str, ParameterTable]) -> None:
        used = self.placeholders()
        for name in used:
            if "." in name:
                known = [own for table in self.services for own in names_of(table)]
                raise StudyError(
                    f"{{{name}}} names no port, folder or other word of a service",
                    cure=suggestion(name, known),
                )
        for name in declared:
            if name in GIVEN_NAMES:
                raise StudyError(
                    f"parameter {name!r} is declared, but Headroom itself fills {{{name}}}",
                    cure="give the parameter another name",
                )
            if name not in used:
                raise StudyError(
                    f"parameter {name!r} is declared, but no text of the command uses {{{name}}}",
                    cure=suggestion(name, used),
                )
        unknown = [name for name in used if declared and name not in declared]
        if unknown:
            raise StudyError(
                f"{{{unknown[0]}}} is in the command, but parameters.{unknown[0]} is missing",
                cure=suggestion(unknown[0], (*declared, *GIVEN_NAMES)),
            )


def check_services(tables: Sequence[ServiceTable]) -> None:
    """Refuse services of the same name, of an unknown kind, or ready at an unknown port."""
    names = [table.name for table in tables]
    for table in tables:
        kind_of(table)
        if names.count(table.name) > 1 or table.name in GIVEN_NAMES:
            raise StudyError(
                f"service name {table.name!r} is used already", cure="give it another name"
            )
        if isinstance(table.ready.port, str) and table.ready.port not in ("", *table.ports):
            raise StudyError(
                f"service {table.name!r}: ready.port is {table.ready.port!r}, which is not in "
                "`ports`",
                cure=suggestion(table.ready.port, table.ports),
            )


def check_words_apart(plan: CommandPlan, placement: Placement) -> None:
    """Refuse texts that need a file of another host."""
    at = {table.name: table.role for table in plan.services}
    for role, host in placement.hosts.items():
        for name in sorted(plan.names_at(role)):
            service, _, word = name.rpartition(".")
            is_far = service in at and placement.hosts[at[service]] != host
            if is_far and word in {"folder", "log"}:
                raise StudyError(
                    f"{{{name}}} is on {placement.hosts[at[service]]}, but the role {role!r}, "
                    f"which uses it, on {host}",
                    cure="use its host and ports, or give both roles the same host",
                )
            if name == "work" and host != placement.hosts[LOAD]:
                raise StudyError(
                    f"{{work}} is on {placement.hosts[LOAD]}, but a service of {role!r}, which "
                    f"uses it, on {host}",
                    cure="let the service use its own folder, {NAME.folder}",
                )


def texts_of(table: ServiceTable) -> Iterator[str]:
    """Yield all texts of a service that may have placeholders."""
    yield from (*table.argv, *table.env.values(), *table.settings.values(), *table.ready.argv)
    yield from table.files.values()
    for argv in table.set_up:
        yield from argv


def _server(table: ServiceTable) -> list[str]:
    """Return the path of a known server, whose content decides about reuse."""
    return [] if table.kind == "program" else [f"{{{table.name}.bin}}/{table.kind}"]


def parameter_of(name: str, table: ParameterTable) -> Parameter:
    """Return the parameter of a placeholder; an undeclared one takes any value, in unit 1."""
    return Parameter(
        name=name,
        type=table.type,
        unit=table.unit,
        low=table.low,
        high=table.high,
        choices=tuple(table.choices),
        source=table.source,
        default=table.default,
        description=table.description,
    )


def _templates(words: list[str]) -> tuple[Template, ...]:
    return tuple(parse_template(word) for word in words)
