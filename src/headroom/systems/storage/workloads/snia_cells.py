"""The matrix of a test of a solid-state device: read/write mixes by request sizes.

A round of the test has one cell for each mix and size, in the order in which the study names them:
mix by mix, size by size. Each cell is a class of the results, named by its share of reads and its
size (``r65-8KiB``).

Source: the SNIA Solid State Storage Performance Test Specification 2.0.2, IOPS test: seven mixes,
eight sizes, 56 cells.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from headroom.errors import StudyError
from headroom.experiment.protocol.declared import Declared
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.system import Value
from headroom.systems.storage.workloads.sizes import parse_bytes

MIXES = "100, 95, 65, 50, 35, 5, 0"
"""Reads in a hundred requests, of each mix."""
SIZES = "1024 KiB, 128 KiB, 64 KiB, 32 KiB, 16 KiB, 8 KiB, 4 KiB, 0.5 KiB"
_SOURCE = "SNIA PTS 2.0.2: IOPS test"
_KIB = 1024
_TRACKED_BYTES = 4 * _KIB
_BOUNDS = (1, 64 << 20)
"""Smallest and largest request (B), as of the micro workload."""


class Snia(Declared, frozen=True, kw_only=True):
    """The matrix, and how the target is prepared."""

    snia_precondition: Annotated[
        float,
        parameter(low=0.0, high=100.0, source="SNIA PTS: twice the user capacity, written in 128 "
                  "KiB"),
    ] = 2.0  # fmt: skip
    """How often the whole target is written before the rounds"""
    snia_mixes: Annotated[str, parameter(source=_SOURCE)] = MIXES
    """Mixes of a round: reads in a hundred requests, with commas"""
    snia_sizes: Annotated[str, parameter(source=_SOURCE)] = SIZES
    """Sizes of a round, with commas; without those that the target cannot take"""
    snia_rounds: Annotated[
        int, parameter(low=5, high=1000, source="TKperf stops after 25 rounds")
    ] = 25
    """Rounds at most"""


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One mix and size.

    Parameters
    ----------
    read_percent
        Reads in a hundred requests, 0 to 100.
    block_bytes
        Length of a request (B).
    """

    read_percent: int
    block_bytes: int

    @property
    def name(self) -> str:
        """Name of its class in the results.

        Examples
        --------
        >>> Cell(65, 8192).name, Cell(0, 512).name
        ('r65-8KiB', 'r0-512B')
        """
        whole, rest = divmod(self.block_bytes, _KIB)
        size = f"{self.block_bytes}B" if rest else f"{whole}KiB"
        return f"r{self.read_percent}-{size}"

    @property
    def write_share(self) -> float:
        """Share of writes among its requests."""
        return 1.0 - self.read_percent / 100.0

    def parameters(self) -> dict[str, Value]:
        """Return the parameters that make a point of a micro workload this cell."""
        return {
            "workload": "micro",
            "block_bytes": self.block_bytes,
            "read_share": self.read_percent / 100.0,
        }


def cells_of(config: Mapping[str, Value]) -> tuple[Cell, ...]:
    """Return the cells of a round, in order.

    Raises
    ------
    StudyError
        A mix or a size is invalid, or appears twice.

    Examples
    --------
    >>> len(cells_of({"snia_mixes": MIXES, "snia_sizes": SIZES}))
    56
    >>> [cell.name for cell in cells_of({"snia_mixes": "65, 0", "snia_sizes": "64 KiB, 4 KiB"})]
    ['r65-64KiB', 'r65-4KiB', 'r0-64KiB', 'r0-4KiB']
    """
    snia = Snia.of(config)
    mixes = [_mix(text) for text in _parts("snia_mixes", snia.snia_mixes)]
    sizes = [_size(text) for text in _parts("snia_sizes", snia.snia_sizes)]
    for name, values in (("snia_mixes", mixes), ("snia_sizes", sizes)):
        if len(set(values)) < len(values):
            raise StudyError(f"{name} names a value twice", cure="name each once")
    return tuple(Cell(mix, size) for mix in mixes for size in sizes)


def fitting(
    config: Mapping[str, Value], *, target_bytes: int, alignment: int
) -> tuple[tuple[Cell, ...], tuple[str, ...]]:
    """Return the cells that a target can carry out, and messages about the others.

    Parameters
    ----------
    config
        Value of every parameter.
    target_bytes
        Size (B) of the target.
    alignment
        Multiple (B) that requests must have.

    Raises
    ------
    StudyError
        A size that the study names itself cannot be carried out, or none can.

    Examples
    --------
    >>> config = {"snia_mixes": MIXES, "snia_sizes": SIZES}
    >>> cells, said = fitting(config, target_bytes=1 << 30, alignment=4096)
    >>> len(cells), said
    (49, ('left out of the matrix: 512 B, since the target takes multiples of 4096 B',))
    """
    cells = cells_of(config)
    why = {cell.block_bytes: _why_not(cell.block_bytes, target_bytes, alignment) for cell in cells}
    left_out = tuple(f"{size} B, since {reason}" for size, reason in why.items() if reason)
    kept = tuple(cell for cell in cells if not why[cell.block_bytes])
    if left_out and (Snia.of(config).snia_sizes != SIZES or not kept):
        raise StudyError(
            f"snia_sizes has sizes that this target cannot take: {'; '.join(left_out)}",
            cure='choose others, use a larger target, or set direct = "no"',
        )
    return kept, tuple(f"left out of the matrix: {words}" for words in left_out)


def tracked(cells: tuple[Cell, ...]) -> Cell:
    """Return the cell by which steadiness is judged: writes of 4 KiB, or the nearest to that.

    Examples
    --------
    >>> tracked((Cell(100, 4096), Cell(0, 4096), Cell(0, 512))).name
    'r0-4KiB'
    >>> tracked((Cell(100, 8192), Cell(65, 65536))).name
    'r65-64KiB'
    """
    return min(cells, key=lambda cell: (cell.read_percent, abs(cell.block_bytes - _TRACKED_BYTES)))


def _parts(name: str, value: str) -> Iterator[str]:
    parts = [part.strip() for part in value.split(",")]
    if not all(parts):
        raise StudyError(
            f"{name} is {value!r}", cure="name one value or more, with commas between them"
        )
    yield from parts


def _mix(text: str) -> int:
    if not text.isdecimal() or int(text) > 100:  # noqa: PLR2004 - per cent
        raise StudyError(
            f"snia_mixes has {text!r}", cure="give reads in a hundred requests, 0 to 100"
        )
    return int(text)


def _size(text: str) -> int:
    size = parse_bytes(text)
    if not _BOUNDS[0] <= size <= _BOUNDS[1]:
        raise StudyError(f"snia_sizes has {text!r}", cure="give sizes of 1 B to 64 MiB")
    return size


def _why_not(size: int, target_bytes: int, alignment: int) -> str:
    if size % alignment:
        return f"the target takes multiples of {alignment} B"
    return "the target is smaller" if size > target_bytes else ""
