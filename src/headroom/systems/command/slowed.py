"""The parts of a command that can be slowed, and how a measured run slows one."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.protocol.system import Metric, Parameter, Value
from headroom.recording.launching.descendants import descendants
from headroom.recording.launching.launcher import Launcher
from headroom.recording.services.keeper import Keeper
from headroom.recording.services.slowing import Slowed, by_limit, in_slices
from headroom.systems.command.setup_table import CommandSetup

NOTHING, PROGRAM, LIMIT = "nothing", "program", ".limit"
PARAMETER = "slowed"
SLOWED_SHARE = Metric(
    name="slowed_share", unit="1", description="Share of the run in which the part was held back"
)


def parts_of(setup: CommandSetup) -> tuple[str, ...]:
    """Return what can be slowed: the program, each service, and each limit of processors."""
    named = [table.name for table in setup.services]
    limits = [f"{one.name}{LIMIT}" for one in setup.services if one.limits.cpus is not None]
    return (PROGRAM, *named, *limits)


def slowed_parameter(setup: CommandSetup) -> Parameter:
    """Return the parameter that names the part."""
    return Parameter(
        name=PARAMETER,
        type="str",
        unit="",
        source="",
        choices=(NOTHING, *parts_of(setup)),
        default=NOTHING,
        description="Part that is slowed in each measured run",
    )


@dataclass(slots=True)
class Slowing:
    """Slows the part that the levels name, if they name one."""

    setup: CommandSetup
    config: Mapping[str, Value]
    keeper: Keeper
    launcher: Launcher
    _slowed: Slowed = field(default_factory=Slowed)

    def beside(
        self, other: Callable[[], AbstractContextManager[None]]
    ) -> Callable[[], AbstractContextManager[None]]:
        """Return what is entered for the measured run, with the slowing inside of it."""

        @contextmanager
        def both() -> Iterator[None]:
            with other(), self._during() as self._slowed:
                yield

        return other if self._part == NOTHING else both

    def values(self) -> dict[str, float]:
        """Return the metric of the run."""
        return {SLOWED_SHARE.name: self._slowed.share} if self.setup.slowed else {}

    @property
    def _part(self) -> str:
        return str(self.config.get(PARAMETER, NOTHING)) if self.setup.slowed else NOTHING

    def _during(self) -> AbstractContextManager[Slowed]:
        table, part = self.setup.slowed, self._part
        if table is None:
            raise AssertionError("asked for only where something is slowed")
        if part == PROGRAM:
            return in_slices(self._program, table.by, table.slice_s)
        found = [one for one in self.keeper.services() if one.table.name == part]
        if found:
            return in_slices(found[0].processes, table.by, table.slice_s)
        return self._by_limit(part.removesuffix(LIMIT), table.by)

    def _program(self) -> list[int]:
        pid = self.launcher.pid
        return list(descendants(pid)) if pid else []  # not the launcher, which waits for it

    @contextmanager
    def _by_limit(self, name: str, by: float) -> Iterator[Slowed]:
        service = next((one for one in self.keeper.services() if one.table.name == name), None)
        if service is None:
            raise _unfit(f"service {name!r} runs on another machine")
        try:
            lowered = by_limit(service.groups, by)
            with lowered as slowed:
                yield slowed
        except OSError as error:
            raise _unfit(f"the limit of service {name!r}: {error.strerror}") from error


def _unfit(reason: str) -> EnvironmentUnfitError:
    return EnvironmentUnfitError(
        f"cannot be slowed: {reason}", cure="slow another part, or run where control groups work"
    )
