"""What a gate needs of a benchmark tool: its command line, and the samples of one process.

A process of a suite is one unit: what it repeats inside of itself scatters less than processes do.
So tools are told to measure briefly, unless the user's own command line says how long.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NoReturn, Protocol

from headroom.errors import ExitCode, HeadroomError
from headroom.experiment.protocol.system import Direction
from headroom.input_file import decode_json, read_file

SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0}


class SuiteFailedError(HeadroomError):
    """A process of a suite failed, or gave no samples (exit code 1)."""

    exit_code = ExitCode.POINTS_FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One value of one process: benchmark, metric, value in its base unit, which way is better."""

    name: str
    metric: str
    value: float
    unit: str = "s"
    better: Direction = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A command line with the variables that it needs."""

    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a process left: its stdout, its files, and its times (s)."""

    stdout: str
    scratch: Path
    wall_s: float
    processor_time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The benchmarks of a process: all if `wanted` is empty, and those that may be left out."""

    wanted: Sequence[str] = ()
    others: Sequence[str] = ()

    def pattern(self) -> str:
        r"""Return a regular expression of the wanted names alone, which all tools read alike.

        Examples
        --------
        >>> Choice(wanted=["fib 10", "sum/[n]"]).pattern()
        '^(fib 10|sum/\\[n\\])$'
        """
        names = (re.sub(r"[\\.^$*+?()\[\]{}|]", r"\\\g<0>", name) for name in self.wanted)
        return f"^({'|'.join(names)})$"


class Tool(Protocol):
    """A benchmark tool: a module with these functions."""

    def call(self, argv: Sequence[str], scratch: Path, choice: Choice) -> Call:
        """Return the user's command with what makes it brief, and its results readable."""

    def samples(self, output: Output) -> list[Sample]:
        """Return the samples of one process."""


def with_defaults(argv: Sequence[str], defaults: Mapping[str, str]) -> list[str]:
    """Return a command line with options `NAME=VALUE`, unless it has them.

    Examples
    --------
    >>> with_defaults(["bench", "--time=1"], {"--time": "0.1", "--runs": "2"})
    ['bench', '--time=1', '--runs=2']
    """
    given = {word.partition("=")[0] for word in argv}
    return [*argv, *(f"{name}={value}" for name, value in defaults.items() if name not in given)]


def with_pairs(argv: Sequence[str], defaults: Mapping[str, str]) -> list[str]:
    """Return a command line with options `NAME VALUE`, unless it has them.

    Examples
    --------
    >>> with_pairs(["bench", "-f", "2"], {"-f": "1", "-i": "3"})
    ['bench', '-f', '2', '-i', '3']
    """
    given = {word.partition("=")[0] for word in argv}
    more = [word for pair in defaults.items() if pair[0] not in given for word in pair]
    return [*argv, *more]


def document(path: Path) -> Any:  # noqa: ANN401 - what a tool wrote
    """Return a JSON document that a tool wrote.

    Raises
    ------
    SuiteFailedError
        There is none, or it is not JSON.
    """
    try:
        return decode_json(read_file(path), path.name, type=object)
    except HeadroomError as error:
        raise SuiteFailedError(
            f"the suite wrote no results: {error.message}", cure="run its command by hand"
        ) from error


def combined(samples: Sequence[Sample]) -> list[Sample]:
    """Return one sample for each benchmark and metric: the median of those of a process.

    Examples
    --------
    >>> [one.value for one in combined([Sample(name="a", metric="wall_s", value=v)
    ...     for v in (1.0, 2.0, 9.0)])]
    [2.0]
    """
    found: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        found.setdefault((sample.name, sample.metric), []).append(sample)
    return [
        Sample(name=many[0].name, metric=many[0].metric, unit=many[0].unit,
               better=many[0].better, value=median(one.value for one in many))
        for many in found.values()
    ]  # fmt: skip


def unreadable(tool: str, cause: object) -> NoReturn:
    """Refuse results that are not those of the tool."""
    raise SuiteFailedError(
        f"these are not results of {tool}: {cause!r}", cure="check the command, and its version"
    )
