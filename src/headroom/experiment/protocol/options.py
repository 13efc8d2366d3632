"""Options of a question to Headroom, declared once: as the fields of a dataclass.

A field has the name that the argument has in Python, its type, default and range, and the name and
help that the option has on the command line. The command and its page of the reference follow.

Invariant: numbers are checked when the struct is made, whoever makes it.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from numbers import Integral, Real
from typing import Any

from headroom.experiment.protocol.system import Parameter, ParameterType

_NUMBERS: Mapping[object, ParameterType] = {
    int: "int", int | None: "int", float: "float", float | None: "float",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """What a field says of its option; see `option`."""

    words: tuple[str, ...]
    low: float | None = None
    high: float | None = None
    read: Callable[[str, str], Any] | None = None
    written: str | None = None
    metavar: str | None = None
    envvar: str | None = None
    show_default: bool = True


def option(*words: str, default: Any = None, like: Option | None = None, **more: Any) -> Any:  # noqa: ANN401 - as of `field`
    """Return a field that a command has as an option.

    Parameters
    ----------
    words
        Names of the option, such as ``"--jobs", "-j"``; the last one is its help.
    default
        `MISSING` if the option is required.
    like
        An option that several structs share, instead of the rest.
    more
        `low` and `high`, an inclusive range; `read`, which makes the value of a text, given with
        the option's name, and `written`, the default as such a text; and what the help shows:
        `metavar`, `envvar`, `show_default`.
    """
    return field(default=default, metadata={"option": like or Option(words=words, **more)})


def option_of(one: Field[Any]) -> Option | None:
    """Return the option of a field, None if it is none."""
    found: Option | None = one.metadata.get("option")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Base of the structs of options.

    Examples
    --------
    >>> @dataclass(frozen=True, slots=True, kw_only=True)
    ... class Asked(Options):
    ...     pairs: int | None = option("--pairs", "Pairs.", low=2)
    >>> Asked(pairs=3).pairs, Asked().pairs
    (3, None)
    >>> Asked(pairs=1)
    Traceback (most recent call last):
    ...
    headroom.errors.StudyError: parameter 'pairs' is 1, below its lowest value 2
      hint: give a value of 2 or more
    """

    def __post_init__(self) -> None:
        """Check the numbers; those of numpy become Python's."""
        for one in fields(self):
            note, kind, value = option_of(one), _NUMBERS.get(one.type), getattr(self, one.name)
            if note and kind and value is not None:
                known = Parameter(
                    name=one.name, type=kind, unit="1", source="", low=note.low, high=note.high
                )
                object.__setattr__(self, one.name, known.check(_plain(value)))


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a program gives
    if isinstance(value, Real) and not isinstance(value, bool):
        return int(value) if isinstance(value, Integral) else float(value)
    return value


QUICK = Option(words=("--quick", "The smaller variant that the study defines."))
SEED = Option(words=("--seed", "Another study seed than the file's."), low=0, high=2**63 - 1)
SETTINGS = Option(
    words=(
        "--set",
        "Set a key of the study file: experiment.KEY in all experiments that have it, NAME.KEY in "
        "one; a bare name is a fixed parameter. Repeatable, or several after one. Results of other "
        "settings are kept.",
    ),
    metavar="KEY=VALUE",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulating(Options):
    """Options of everything that simulates."""

    processes: int | None = option(
        "--jobs", "-j", "Simulations in parallel [cores].", low=1, envvar="HEADROOM_JOBS"
    )
    on: str = option(
        "--on",
        "Run simulations on the Dask cluster at tls://HOST:PORT or dask://HOST:PORT, or on "
        "local-cluster[:WORKERS]; needs headroom-lab[cluster]. Measurements run here. [default: "
        "processes of this machine]",
        metavar="CLUSTER",
        show_default=False,
        default="",
    )

    @property
    def jobs(self) -> int:
        """Processes: as wanted, or one for each processor."""
        return self.processes or os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending(Simulating):
    """Options of what simulates runs that may end elsewhere than their model says."""

    completions: int | None = option("--completions", "Completions of one replication.", low=1)
    time_s: float | None = option(
        "--time-s", "Simulated time (s) of one replication, instead of completions.", low=1e-9
    )
