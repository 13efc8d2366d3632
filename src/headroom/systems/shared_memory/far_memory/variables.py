"""Variables of a program by their addresses: memory that no call allocates, but that has a name."""

import re
import shutil
import subprocess
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headroom.systems.shared_memory.hook.sites import parse_maps, unmoved

_SYMBOL = re.compile(r"^([0-9a-f]+) ([0-9a-f]+) [bBdDgGrRsSuvV] (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, order=True)
class Variable:
    """A variable: its bytes from `start` to before `end`."""

    start: int
    end: int
    name: str


def variables(program: Path, maps: str) -> tuple[Variable, ...]:
    """Return the global and static variables of a program, by address; none if nothing tells.

    Parameters
    ----------
    program
        Its file.
    maps
        Its /proc/PID/maps.
    """
    tool = shutil.which("nm")
    parts = [part for part in parse_maps(maps) if part.path == str(program)]
    if tool is None or not parts:
        return ()
    done = subprocess.run(
        [tool, "-S", "-C", "--defined-only", str(program)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return moved(done.stdout, parts[0].start - unmoved(str(program), parts[0].offset))


def moved(symbols: str, distance: int) -> tuple[Variable, ...]:
    r"""Return the variables among symbols as nm prints them, in a program that was moved.

    Examples
    --------
    >>> moved("4060 20 B counters\n1139 4e T work", 0x1000)
    (Variable(start=20576, end=20608, name='counters'),)
    """
    found = (
        Variable(int(start, 16) + distance, int(start, 16) + int(size, 16) + distance, name)
        for start, size, name in _SYMBOL.findall(symbols)
    )
    return tuple(sorted(found))


def variable_at(known: Sequence[Variable], address: int, *, size: int) -> Variable | None:
    """Return the last variable with a part of some bytes, None if there is none.

    Examples
    --------
    >>> known = moved("4060 20 B counters", 0)
    >>> variable_at(known, 0x4040, size=64).name
    'counters'
    >>> variable_at(known, 0x4080, size=64) is None
    True
    """
    at = bisect_left(known, address + size, key=lambda one: one.start) - 1
    return known[at] if at >= 0 and known[at].end > address else None
