"""Parameters of the programs, for the measured and the modelled column alike.

Invariant: the defaults are those of the compiled programs, whose sizes are those of Oh & Chung; a
test compares them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from headroom.experiment.protocol.system import Parameter, Value

PROGRAMS = ("lu", "fft", "ocean", "barnes", "reads")
"""The levels of `program`."""
_PAPER = "paper: Oh & Chung (2004), table 2"
_SPLASH = "data sheet: default of SPLASH-2"
_ASSUMED = "assumed: the paper leaves it open"

_PROGRAM = Parameter(
    name="program", type="str", unit="", default="lu", choices=PROGRAMS, source=_PAPER,
    description="LU factorisation, FFT, currents of an ocean, bodies under gravity, or reads alone",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Size:
    """A size of a program, and its name in the compiled part."""

    key: str
    parameter: Parameter


_SIZES = (
    _Size("order", Parameter(
        name="lu_size", type="int", unit="1", default=256, low=1, high=16_384, source=_PAPER,
        description="Rows and columns of the matrix, a multiple of lu_block",
    )),
    _Size("block", Parameter(
        name="lu_block", type="int", unit="1", default=16, low=1, high=16_384, source=_PAPER,
        description="Rows and columns of a block",
    )),
    _Size("storage", Parameter(
        name="lu_contiguous", type="bool", unit="", default=True, source=_ASSUMED,
        description="Whether a block lies in one place, or the matrix is one array by rows",
    )),
    _Size("points", Parameter(
        name="fft_points", type="int", unit="1", default=1024, low=4, high=1 << 24, source=_PAPER,
        description="Complex numbers, a power of four; the threads divide their root",
    )),
    _Size("grid", Parameter(
        name="ocean_size", type="int", unit="1", default=66, low=10, high=4098, source=_PAPER,
        description="Rows and columns of points with the boundary, best a power of two plus 2",
    )),
    _Size("steps", Parameter(
        name="ocean_steps", type="int", unit="1", default=6, low=1, high=10_000, source=_ASSUMED,
        description="Time steps",
    )),
    _Size("tolerance", Parameter(
        name="ocean_tolerance", type="float", unit="1", default=1e-7, low=1e-11, high=0.1,
        source=_SPLASH, description="Residual of a solution relative to its source",
    )),
    _Size("spacing_m", Parameter(
        name="ocean_spacing_m", type="float", unit="m", default=20_000.0, low=1.0, high=1e6,
        source=_SPLASH, description="Distance of neighbouring points",
    )),
    _Size("time_step_s", Parameter(
        name="ocean_time_step_s", type="float", unit="s", default=28_800.0, low=1.0, high=1e6,
        source=_SPLASH, description="Time step of the currents",
    )),
    _Size("bodies", Parameter(
        name="barnes_bodies", type="int", unit="1", default=4096, low=64, high=1 << 20,
        source=_PAPER, description="Bodies, no fewer than threads",
    )),
    _Size("steps", Parameter(
        name="barnes_steps", type="int", unit="1", default=4, low=1, high=10_000, source=_SPLASH,
        description="Time steps",
    )),
    _Size("time_step", Parameter(
        name="barnes_time_step", type="float", unit="1", default=0.025, low=1e-6, high=1.0,
        source=_SPLASH, description="Time step, in the units of the cluster",
    )),
    _Size("softening", Parameter(
        name="barnes_softening", type="float", unit="1", default=0.05, low=1e-6, high=1.0,
        source=_SPLASH, description="Distance within which gravity is softened",
    )),
    _Size("tolerance", Parameter(
        name="barnes_tolerance", type="float", unit="1", default=1.0, low=0.0, high=2.0,
        source=_SPLASH, description="Size of a cell by its distance that is small enough",
    )),
    _Size("of", Parameter(
        name="reads_of", type="str", unit="", default="local", source=_ASSUMED,
        choices=("private", "local", "remote", "mixed"),
        description="What the first thread reads: private memory, or shared of a near or far home; "
        "or a mixture of both that each thread reads",
    )),
    _Size("words", Parameter(
        name="reads_words", type="int", unit="1", default=4096, low=1, high=1 << 24,
        source=_ASSUMED, description="Words that are read",
    )),
    _Size("stride", Parameter(
        name="reads_stride", type="int", unit="B", default=256, low=8, high=1 << 16,
        source=_ASSUMED, description="From one word to the next, a multiple of 8",
    )),
    _Size("remote_share", Parameter(
        name="reads_remote_share", type="float", unit="1", default=0.5, low=0.0, high=1.0,
        source=_ASSUMED, description="Share of a mixture's reads that go to a far home",
    )),
    _Size("repeats", Parameter(
        name="reads_repeats", type="float", unit="1", default=1.0, low=1.0, high=float(1 << 24),
        source=_ASSUMED, description="Reads of each far word of a mixture, on average",
    )),
)  # fmt: skip


_OF = {size.parameter.name: size.parameter.name.partition("_")[0] for size in _SIZES}
"""Size -> its program."""


def program_parameters() -> tuple[Parameter, ...]:
    """Return the program and its sizes; the sizes of a program begin with its name.

    Examples
    --------
    >>> [one.name for one in program_parameters()][:4]
    ['program', 'lu_size', 'lu_block', 'lu_contiguous']
    """
    return (_PROGRAM, *(size.parameter for size in _SIZES))


def program_json(config: Mapping[str, Value]) -> bytes:
    """Return the program of a point as the compiled part takes it.

    Examples
    --------
    >>> config = {one.name: one.default for one in program_parameters()}
    >>> program_json(config | {"lu_contiguous": False})
    b'{"program":"lu","order":256,"block":16,"storage":"array"}'
    >>> program_json(config | {"program": "fft", "threads": 2})
    b'{"program":"fft","points":1024}'
    """
    spec: dict[str, Value] = {"program": config["program"]}
    for size in _SIZES:
        name = size.parameter.name
        if _OF[name] == config["program"]:
            spec[size.key] = _compiled(name, config[name])
    return msgspec.json.encode(spec)


def _compiled(name: str, value: Value) -> Value:
    if name == "lu_contiguous":
        return "contiguous" if value else "array"
    return value


def used(config: Mapping[str, Value]) -> dict[str, Value]:
    """Return the parameters that a point depends on: without the sizes of other programs.

    Examples
    --------
    >>> used({"program": "fft", "fft_points": 64, "lu_size": 32, "threads": 2})
    {'program': 'fft', 'fft_points': 64, 'threads': 2}
    """
    program = config.get("program")
    if program is None:  # A fit asks what its target depends on, whatever the program.
        return dict(config)
    return {name: value for name, value in config.items() if _OF.get(name, program) == program}
