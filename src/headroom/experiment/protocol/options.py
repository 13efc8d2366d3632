"""Options of a question to Headroom, declared once: as the fields of a dataclass.

A field has the name that the argument has in Python, its type, default and range, and, in its
`Option`, the name and help that the option has on the command line. The command and its page of the
reference follow from it.

Invariant: numbers are checked when the struct is made, whoever makes it.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from headroom.experiment.protocol.system import Parameter


class Option:
    """The note on a field that a command has as an option, inside `Annotated`.

    Parameters
    ----------
    names
        Names of the option, such as ``"--jobs", "-j"``.
    text
        Its help.
    low, high
        Inclusive range, None for no bound.
    read, written
        Makes the value of a text, given with the option's name; and the default as such a text.
    words
        How the help shows it: `metavar`, `envvar`, `show_default`.
    """

    def __init__(
        self,
        *names: str,
        text: str,
        low: float | None = None,
        high: float | None = None,
        read: Callable[[str, str], Any] | None = None,
        written: str | None = None,
        **words: Any,  # noqa: ANN401 - typer's
    ) -> None:
        self.names, self.text, self.words = names, text, words
        self.low, self.high, self.read, self.written = low, high, read, written


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Base of the structs of options.

    Examples
    --------
    >>> @dataclass(frozen=True, slots=True, kw_only=True)
    ... class Asked(Options):
    ...     pairs: Annotated[int | None, Option("--pairs", text="Pairs.", low=2)] = None
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
        struct: Any = type(self)
        for name, declared in _numbers(struct).items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, declared.check(_plain(value)))


@cache
def _numbers(struct: type[Options]) -> Mapping[str, Parameter]:
    """Return the fields that hold a number, as parameters that check it."""
    return {
        name: Parameter(
            name=name,
            type="int" if kind is int else "float",
            unit="1",
            source="",
            low=note.low,
            high=note.high,
        )
        for name, hint in get_type_hints(struct, include_extras=True).items()
        for kind, note in _noted(hint)
        if kind in {int, float}
    }


def _noted(hint: object) -> list[tuple[object, Option]]:
    """Return the type, without None, and the note of an annotation that has one."""
    if get_origin(hint) is not Annotated:
        return []
    kind, *notes = get_args(hint)
    alone = [one for one in get_args(kind) if one is not NoneType]
    found = alone[0] if len(alone) == 1 and NoneType in get_args(kind) else kind
    return [(found, note) for note in notes if isinstance(note, Option)]


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a program gives
    if isinstance(value, Real) and not isinstance(value, bool):
        return int(value) if isinstance(value, Integral) else float(value)
    return value


QUICK = Option("--quick", text="The smaller variant that the study defines.")
SEED = Option("--seed", low=0, high=2**63 - 1, text="Another study seed than the file's.")
SETTINGS = Option(
    "--set",
    metavar="KEY=VALUE",
    text="Set a key of the study file: experiment.KEY in all experiments that have it, "
    "NAME.KEY in one; a bare name is a fixed parameter. Repeatable, or several after one. "
    "Results of other settings are kept.",
)
JOBS = Option(
    "--jobs", "-j", low=1, envvar="HEADROOM_JOBS", text="Simulations in parallel [cores]."
)
ON = Option(
    "--on",
    metavar="CLUSTER",
    text="Run simulations on the Dask cluster at dask://HOST:PORT or tls://HOST:PORT, or on "
    "local-cluster[:WORKERS]; needs headroom-lab[cluster]. Measurements run here. [default: "
    "processes of this machine]",
    show_default=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulating(Options):
    """Options of everything that simulates."""

    processes: Annotated[int | None, JOBS] = None
    on: Annotated[str, ON] = ""

    @property
    def jobs(self) -> int:
        """Processes: as wanted, or one for each processor."""
        return self.processes or os.cpu_count() or 1
