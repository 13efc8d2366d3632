"""Parameters of the programs, for the measured and the modelled column alike.

Invariant: the defaults are those of the compiled programs, whose sizes are those of Oh & Chung; a
test compares them.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from headroom.experiment.protocol.declared import Declared, declared_by
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.system import Parameter, Value

PROGRAMS = ("lu", "fft", "ocean", "barnes", "reads")
"""The levels of `program`."""
_PAPER = "paper: Oh & Chung (2004), table 2"
_SPLASH = "data sheet: default of SPLASH-2"
_ASSUMED = "assumed: the paper leaves it open"
_OTHER_NAMES = {"lu_size": "order", "lu_contiguous": "storage", "ocean_size": "grid"}


def _compiled(name: str) -> str:
    """Return the name of a size in the compiled part."""
    return _OTHER_NAMES.get(name, name.partition("_")[2])


class _Choice(Declared, frozen=True, kw_only=True):
    program: Annotated[str, parameter(choices=PROGRAMS, source=_PAPER)] = "lu"
    """LU factorisation, FFT, currents of an ocean, bodies under gravity, or reads alone"""


class _Sizes(Declared, frozen=True, kw_only=True, tag_field="program", rename=_compiled):
    """The sizes of a program, which JSON has by their names in the compiled part."""


class Lu(_Sizes, frozen=True, kw_only=True, tag="lu"):
    """LU factorisation."""

    lu_size: Annotated[int, parameter(low=1, high=16_384, source=_PAPER)] = 256
    """Rows and columns of the matrix, a multiple of lu_block"""
    lu_block: Annotated[int, parameter(low=1, high=16_384, source=_PAPER)] = 16
    """Rows and columns of a block"""
    lu_contiguous: Annotated[bool, parameter(source=_ASSUMED)] = True
    """Whether a block lies in one place, or the matrix is one array by rows"""


class Fft(_Sizes, frozen=True, kw_only=True, tag="fft"):
    """The six-step transform of SPLASH-2: complex numbers as a square matrix."""

    fft_points: Annotated[int, parameter(low=4, high=1 << 24, source=_PAPER)] = 1024
    """Complex numbers, a power of four; the threads divide their root"""


class Ocean(_Sizes, frozen=True, kw_only=True, tag="ocean"):
    """Currents of an ocean."""

    ocean_size: Annotated[int, parameter(low=10, high=4098, source=_PAPER)] = 66
    """Rows and columns of points with the boundary, best a power of two plus 2"""
    ocean_steps: Annotated[int, parameter(low=1, high=10_000, source=_ASSUMED)] = 6
    """Time steps"""
    ocean_tolerance: Annotated[float, parameter(low=1e-11, high=0.1, source=_SPLASH)] = 1e-7
    """Residual of a solution relative to its source"""
    ocean_spacing_m: Annotated[float, parameter(unit="m", low=1.0, high=1e6, source=_SPLASH)] = 2e4
    """Distance of neighbouring points"""
    ocean_time_step_s: Annotated[float, parameter(unit="s", low=1.0, high=1e6, source=_SPLASH)] = (
        28_800.0
    )
    """Time step of the currents"""


class Barnes(_Sizes, frozen=True, kw_only=True, tag="barnes"):
    """Bodies under gravity."""

    barnes_bodies: Annotated[int, parameter(low=64, high=1 << 20, source=_PAPER)] = 4096
    """Bodies, no fewer than threads"""
    barnes_steps: Annotated[int, parameter(low=1, high=10_000, source=_SPLASH)] = 4
    """Time steps"""
    barnes_time_step: Annotated[float, parameter(low=1e-6, high=1.0, source=_SPLASH)] = 0.025
    """Time step, in the units of the cluster"""
    barnes_softening: Annotated[float, parameter(low=1e-6, high=1.0, source=_SPLASH)] = 0.05
    """Distance within which gravity is softened"""
    barnes_tolerance: Annotated[float, parameter(low=0.0, high=2.0, source=_SPLASH)] = 1.0
    """Size of a cell by its distance that is small enough"""


class Reads(_Sizes, frozen=True, kw_only=True, tag="reads"):
    """Reads alone."""

    reads_of: Annotated[
        Literal["private", "local", "remote", "mixed"], parameter(source=_ASSUMED)
    ] = "local"
    """What the first thread reads: private memory, or shared of a near or far home; or a mixture
    of both that each thread reads"""
    reads_words: Annotated[int, parameter(low=1, high=1 << 24, source=_ASSUMED)] = 4096
    """Words that are read"""
    reads_stride: Annotated[int, parameter(unit="B", low=8, high=1 << 16, source=_ASSUMED)] = 256
    """From one word to the next, a multiple of 8"""
    reads_remote_share: Annotated[float, parameter(low=0.0, high=1.0, source=_ASSUMED)] = 0.5
    """Share of a mixture's reads that go to a far home"""
    reads_repeats: Annotated[float, parameter(low=1.0, high=float(1 << 24), source=_ASSUMED)] = 1.0
    """Reads of each far word of a mixture, on average"""


_SIZES: Mapping[str, type[_Sizes]] = dict(
    zip(PROGRAMS, (Lu, Fft, Ocean, Barnes, Reads), strict=True)
)
_OF = {name: program for program, one in _SIZES.items() for name in one.__struct_fields__}
"""Size -> its program."""


def program_parameters() -> tuple[Parameter, ...]:
    """Return the program and its sizes; the sizes of a program begin with its name.

    Examples
    --------
    >>> [one.name for one in program_parameters()][:4]
    ['program', 'lu_size', 'lu_block', 'lu_contiguous']
    """
    sizes = (one for struct in _SIZES.values() for one in declared_by(struct))
    return (*declared_by(_Choice), *sizes)


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
    sizes = _SIZES[_Choice.of(config).program].of(config)
    spec = msgspec.to_builtins(sizes)
    if isinstance(sizes, Lu):
        spec["storage"] = "contiguous" if sizes.lu_contiguous else "array"
    return msgspec.json.encode(spec)


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
