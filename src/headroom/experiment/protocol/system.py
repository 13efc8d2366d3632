"""The protocol of everything that can be studied, and its declarations.

A *system* is real (column ``measure``) or simulated (column ``model``). It declares parameters
and metrics, and turns one point and one seed into one `Run`. Systems register under the entry
point group ``headroom.systems``; nothing here imports one.
"""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    ClassVar,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    get_args,
    runtime_checkable,
)

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.changes import Change
from headroom.experiment.protocol.run import Run
from headroom.units import unit_named

if TYPE_CHECKING:
    from headroom.simulation import Model

Value: TypeAlias = bool | int | float | str
ParameterType: TypeAlias = Literal["int", "float", "str", "bool", "any"]
Direction: TypeAlias = Literal["high", "low", "none"]


_WITHOUT_MULTIPLES = ("", "1e3", "m", "s/B")


class Column(StrEnum):
    """The two columns of the laboratory."""

    MEASURE = "measure"
    MODEL = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A number or word that a study may set, with its unit, range and source.

    Parameters
    ----------
    name
        Name in study files.
    type
        Type of the value; an int is accepted for a float, ``any`` takes all.
    unit
        Unit, ``"1"`` for a count or a ratio, ``""`` for text.
    default
        Value when the study sets none; None makes the parameter required.
    low, high
        Inclusive range, None for no bound.
    choices
        Allowed values, empty for any.
    source
        Source of the default: ``paper``, ``data sheet``, ``measured``, ``calibrated`` or
        ``assumed``, with the location.
    description
        One sentence.

    Examples
    --------
    >>> users = Parameter(name="users", type="int", unit="1", default=10, low=1, source="assumed")
    >>> users.check(20)
    20
    >>> users.check(0)
    Traceback (most recent call last):
    ...
    headroom.errors.StudyError: parameter 'users' is 0, below its lowest value 1
      hint: give a value of 1 or more
    """

    name: str
    type: ParameterType
    unit: str
    source: str
    default: Value | None = None
    low: float | None = None
    high: float | None = None
    choices: tuple[Value, ...] = ()
    description: str = ""

    def __post_init__(self) -> None:
        if self.unit not in _WITHOUT_MULTIPLES and unit_named(self.unit) is None:
            raise StudyError(
                f"parameter {self.name!r}: the unit `{self.unit}` is not known",
                cure='write one such as "ms", "MB", "MB/s" or "1/s"; "1" for a count, "" for words',
            )

    def check(self, value: Value) -> Value:
        """Return `value` in the declared type, or raise `StudyError` with cause and hint."""
        converted = self._convert(value)
        if self.choices and converted not in self.choices:
            allowed = ", ".join(repr(choice) for choice in self.choices)
            raise StudyError(
                f"parameter {self.name!r} is {value!r}, which is not one of its choices",
                cure=f"choose one of {allowed}",
            )
        if isinstance(converted, (int, float)) and not isinstance(converted, bool):
            self._check_range(converted)
        return converted

    def _convert(self, value: Value) -> Value:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if self.type == "any":
            return value
        if self.type == "float" and is_number:
            return float(value)
        if self.type == "int" and is_number and float(value).is_integer():
            return int(value)
        if self.type == "bool" and isinstance(value, bool):
            return value
        if self.type == "str" and isinstance(value, str):
            return value
        raise StudyError(
            f"parameter {self.name!r} is {value!r}, but its type is {self.type}",
            cure=f"give a value of type {self.type}",
        )

    def _check_range(self, value: float) -> None:
        if self.low is not None and not value >= self.low:
            raise StudyError(
                f"parameter {self.name!r} is {value:g}, below its lowest value {self.low:g}",
                cure=f"give a value of {self.low:g} or more",
            )
        if self.high is not None and not value <= self.high:
            raise StudyError(
                f"parameter {self.name!r} is {value:g}, above its highest value {self.high:g}",
                cure=f"give a value of {self.high:g} or less",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A quantity that a system reports.

    Parameters
    ----------
    name
        Quantity, unit, qualifier: ``response_s_p99``. Metrics of one resource are qualified:
        ``station.cpu.utilization``, ``pool.connections.wait_s_mean``, ``class.web.throughput``.
        Settings that the system chose begin with ``chosen_``: ``chosen_node_bytes``. Not their
        middle is reported, but the choice that most replications made.
    unit
        ``s``, ``B``, ``1/s``, ``1`` ...
    better
        Which direction a user wants.
    description
        One sentence.

    Raises
    ------
    StudyError
        `better` is not a direction; the message names the line that declares the metric.
    """

    name: str
    unit: str
    better: Direction = "none"
    description: str = ""

    def __post_init__(self) -> None:
        if self.better not in get_args(Direction):
            caller = sys._getframe(2)
            raise StudyError(
                f"{caller.f_code.co_filename}:{caller.f_lineno}: metric `{self.name}`: `better` is "
                f"{self.better!r}, which is not a direction",
                cure=f"write one of {', '.join(get_args(Direction))}",
            )


@runtime_checkable
class DeclaresInStudy(Protocol):
    """A system whose parameters a study declares itself; optional for a `System`."""

    def how_to_declare(self, name: str) -> str:
        """Return the declaration in the set-up that makes `name` a parameter."""
        ...


@runtime_checkable
class TakesFunctions(Protocol):
    """A kind of system that also takes a function of the calling program; optional."""

    @classmethod
    def of_function(cls, function: "Callable[..., Model] | Model") -> Mapping[str, str]:
        """Return the `[experiment.system]` of a function, or of a model that was built."""
        ...


@runtime_checkable
class Modelled(Protocol):
    """A system that simulates a model; optional for a `System`.

    Formulas, pictures, traces, remarks and files of other tools are derived from the model.
    """

    @classmethod
    def model_names(cls) -> tuple[str, ...]:
        """Return the names of the models that are registered, sorted."""
        ...

    def model(self, config: Mapping[str, Value], changes: Sequence[Change] = ()) -> "Model":
        """Return the model of `config`, with changed stations and pools.

        Raises `StudyError` if it cannot be changed so.
        """
        ...

    def natural_end(self, model: "Model") -> str:
        """Return why runs of a model of this system have no steady state; empty if they do."""
        ...

    def run_model(
        self,
        config: Mapping[str, Value],
        *,
        seed: int,
        changes: Sequence[Change] = (),
        every_s: float | None = None,
    ) -> Run:
        """Run one replication of the changed model; see `System.run`.

        With `every_s` (s) it keeps all its samples, spaced by it or a multiple of it.
        """
        ...


@runtime_checkable
class HasMissingEnd(Protocol):
    """A modelled system that knows which runs need an end; optional for a `System`."""

    def model(self, config: Mapping[str, Value]) -> "Model":
        """Return the model of `config`."""
        ...

    def missing_end(self, model: "Model") -> str:
        """Return what changes for good in runs that end by completions; empty if nothing does."""
        ...


@runtime_checkable
class HasStandIn(Protocol):
    """A system with a simpler model that formulas solve in its place; optional for a `System`."""

    def stand_in(self, config: Mapping[str, Value]) -> "tuple[Model, tuple[str, ...]] | None":
        """Return the simpler model and sentences on its known error; None if there is none."""
        ...


@runtime_checkable
class HasKnownError(Protocol):
    """A system whose predictions were compared with the real thing; optional for a `System`."""

    @property
    def known_error(self) -> str:
        """The result of the comparison, a sentence without a full stop; empty if never compared."""
        ...


@runtime_checkable
class HasLaw(Protocol):
    """A system with a law: arithmetic that may satisfy a claim without the system."""

    def law(self, config: Mapping[str, Value]) -> Mapping[str, float]:
        """Return the metrics that the law gives at `config`, in base units; none without a law."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The words that the user must type before data of theirs is destroyed.

    Parameters
    ----------
    words
        The text to type: it names the target and its size.
    holds
        Description of its content; empty if nothing was found.
    """

    words: str
    holds: str = ""


@runtime_checkable
class Destructive(Protocol):
    """A system that can destroy the user's data, if told to; optional for a `System`.

    No study file can satisfy it: the words are typed at each call of the command.
    """

    def confirmations(self, config: Mapping[str, Value]) -> tuple[Confirmation, ...]:
        """Return the required confirmations for `config`; raise if no words would allow it."""
        ...

    def confirm(self, words: Sequence[str]) -> None:
        """Take the words that the user typed; `run` refuses anything that they do not name."""
        ...


@runtime_checkable
class Foresees(Protocol):
    """A system that can say what a run of a point will use up; optional for a `System`."""

    def foresight(self, config: Mapping[str, Value]) -> tuple[str, ...]:
        """Return one sentence for each thing that is made or written, with its size."""
        ...


@runtime_checkable
class ChecksPoints(Protocol):
    """A system that can report early what cannot run here; optional for a `System`."""

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Raise `HeadroomError` if a run of `config` would fail: before anything is measured.

        Called once per session for each point that has work, after `System.prepare`; and by a dry
        run, which prepares nothing, unless the system has `check_files`.
        """
        ...


@runtime_checkable
class ChecksFiles(Protocol):
    """A system whose `check_point` makes or opens things, or lacks files; optional for a `System`.

    A dry run asks this instead.
    """

    def check_files(self, config: Mapping[str, Value]) -> None:
        """Raise `HeadroomError` if `config` cannot run, such as for a missing program or input.

        It makes, opens and starts nothing.
        """
        ...


@runtime_checkable
class Located(Protocol):
    """A system that measures what a machine has at a place; optional for a `System`.

    A disk at a path, or a program with a name: the actual disk or program may change, and differs
    on another reader's machine, so it is not part of the fingerprint.
    """

    def found_at(self, config: Mapping[str, Value]) -> str:
        """Return a short identifier of what is there now; empty if unknown.

        A replication of something else is not reused. Words of the form ``NAME=HASH`` let the
        message name the differences.
        """
        ...


@runtime_checkable
class SeesInputs(Protocol):
    """A system that observes what its runs depend on; optional for a `System`.

    The texts are the system's own: ``NAME=HASH`` words, which are stored with the results.
    """

    def expect(self, config: Mapping[str, Value], seen: str) -> None:
        """Take what an earlier run of `config` depended on; empty to observe the next one."""
        ...

    def seen(self, config: Mapping[str, Value]) -> str:
        """Return what a run of `config` depended on, empty if it is not known."""
        ...

    def changes_since(self, seen: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Return the names of what differs now from each text; executes nothing.

        What one of these runs wrote is no input of the others.
        """
        ...


@runtime_checkable
class ReadsFiles(Protocol):
    """A system that reads its files again in each run; optional for a `System`.

    Between two looks its fingerprints are those of the first: all points of a plan see the same
    state of the files.
    """

    def look_again(self) -> Sequence[str]:
        """Forget earlier looks at files; return the names of those that changed since."""
        ...


@runtime_checkable
class HasCode(Protocol):
    """A system that runs code of the study in this process; optional for a `System`."""

    def code_files(self) -> Sequence[Path]:
        """Return the files of that code, including all local files that they import."""
        ...


@runtime_checkable
class KeepsThings(Protocol):
    """A system that keeps things from run to run of one session; optional for a `System`."""

    def open_session(self, say: Callable[[str], None]) -> Sequence[str]:
        """Begin a session, even if nothing will run; `say` tells the user about slow steps.

        Returns the remains of earlier sessions that were removed, one sentence each.
        """
        ...

    def close_session(self) -> Sequence[str]:
        """Remove whatever was made, also after a failure or an interrupt.

        Returns what could not be removed, one sentence each.
        """
        ...


@runtime_checkable
class Replays(Protocol):
    """A system that returns runs recorded elsewhere, by number; optional for a `System`.

    This machine measured nothing: its load, and the date of the replay, say nothing about a run.
    """

    def recorded(self, config: Mapping[str, Value]) -> int:
        """Return the number of runs recorded at `config`."""
        ...

    def replay(self, config: Mapping[str, Value], *, replication: int) -> Run:
        """Return one of them, counted from 0, instead of `System.run`."""
        ...


class System(Protocol):
    """The interface that the runner needs of a system; see docs/guides for writing one."""

    name: ClassVar[str]
    column: ClassVar[Column]
    setup_type: ClassVar[type[msgspec.Struct]]
    """Schema of the `[experiment.system]` table, without its `name` key.

    A system that runs no program and no code of a study also has `code_key = ""`; one that does so
    by one key of the table alone has that key. Before any other is run, the user is asked.
    """

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:
        """Return the system for a validated `setup`; relative paths start at `base`."""
        ...

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the declared parameters."""
        ...

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:
        """Return the metrics that a run of `config` reports after analysis."""
        ...

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return a short hash that changes whenever the same point would mean another run."""
        ...

    def prepare(self) -> Mapping[str, float | str]:
        """Check the machine once per session (programs present, launcher overhead).

        Returns facts to be stored with the environment; raises `EnvironmentUnfitError`.
        """
        ...

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Run one replication; raise `HeadroomError` if the point cannot be run."""
        ...
