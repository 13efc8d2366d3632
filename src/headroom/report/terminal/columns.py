"""Columns of a terminal table: their widths, and where their texts wrap.

Invariant: texts wrap at blanks and, if they must, at the joints of a name (after ``.``, ``_``,
``/``, ``=``, ``:`` or ``-``); never inside a word, and numbers only before their interval.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_PREFERRED_WIDTH = 14
"""Width that a column of words keeps while there is room."""
_NARROWER = (14, 11, 9, 7, 5)
"""Widths to which columns of words shrink, tried one after the other until a table fits."""
GAP = 3
"""Signs between two columns: a blank of each, and the line between them."""
_JOINT = re.compile(r"(?<=\D[._/=:-])(?=\w)|(?<=[._/=:-])(?=[^\W\d])")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its head and its cells."""

    head: str
    cells: list[str]
    is_number: bool = False


def parts(word: str) -> list[str]:
    """Return a word in the parts between its joints; a number is one part.

    Examples
    --------
    >>> parts("station.node-1/cpu.servers"), parts("1.25")
    (['station.', 'node-', '1/', 'cpu.', 'servers'], ['1.25'])
    """
    return _JOINT.split(word)


def width_of(column: Column) -> int:
    """Return the preferred least width of a column: numbers stay whole, long words wrap."""
    words = [len(word) for text in (column.head, *column.cells) for word in text.split()]
    if column.is_number:
        return max([len(word) for word in column.head.split()] + [len(c) for c in column.cells])
    natural = natural_width_of(column)
    preferred = min(_PREFERRED_WIDTH, max(max(words, default=0), min(natural, _PREFERRED_WIDTH)))
    return max(preferred, _longest_part(column))


def natural_width_of(column: Column) -> int:
    """Return the width at which nothing wraps."""
    return max(map(len, (column.head, *column.cells)))


def broken(cell: str) -> str:
    r"""Return a number with the ends of its interval in a line of their own.

    Examples
    --------
    >>> broken("200 (160 to 480)"), broken("200 ±12")
    ('200\n(160 to 480)', '200 ±12')
    """
    return cell.replace(" (", "\n(", 1)


def narrow_width_of(column: Column, longest: int, *, breaks_numbers: bool) -> int:
    """Return the least width of a column whose words wrap beyond `longest`, at their joints.

    Numbers are never broken but before the ends of their interval; at other blanks only where
    `breaks_numbers` is given.

    Examples
    --------
    >>> column = Column("station.database.servers", ["8 to 16"], is_number=True)
    >>> narrow_width_of(column, 9, breaks_numbers=False)
    9
    >>> column = Column("p50", ["200 (160 to 480)"], is_number=True)
    >>> [narrow_width_of(column, 14, breaks_numbers=breaks) for breaks in (False, True)]
    [12, 4]
    """
    head = [len(word) for word in column.head.split()]
    whole = _longest_part(column)
    if column.is_number:
        numbers = [
            part
            for one in column.cells
            for part in (one.split() if breaks_numbers else broken(one).split("\n"))
        ]
        least = max(map(len, numbers), default=0)
        return max(min(longest, max(head, default=0)), least, whole)
    cells = [len(word) for cell in column.cells for word in cell.split()]
    return max(min(longest, max([*head, *cells], default=0)), whole)


def _longest_part(column: Column) -> int:
    texts = [column.head] if column.is_number else [column.head, *column.cells]
    return max((len(part) for text in texts for word in text.split() for part in parts(word)),
               default=0)  # fmt: skip


def layout(columns: Sequence[Column], room: int) -> list[int] | None:
    """Return the width of each column; None if no widths within `room` keep all words whole.

    Examples
    --------
    >>> layout([Column("Point", ["users = 80"]), Column("n", ["5"], is_number=True)], 80)
    [10, 1]
    >>> layout([Column("Throughput", ["1,000"], is_number=True)] * 4, 20) is None
    True
    """
    space = room - GAP * (len(columns) - 1) - 2
    widths = [width_of(column) for column in columns]
    tries = [(longest, breaks) for breaks in (False, True) for longest in _NARROWER]
    for longest, breaks_numbers in tries:
        if sum(widths) <= space:
            break
        widths = [
            narrow_width_of(column, longest, breaks_numbers=breaks_numbers) for column in columns
        ]
    if sum(widths) > space:
        return None
    return _widened(columns, widths, space)


def _widened(columns: Sequence[Column], widths: list[int], space: int) -> list[int]:
    """Return the widths with the room that is left shared among columns that would wrap."""
    found = list(widths)
    natural = [natural_width_of(column) for column in columns]
    while free := space - sum(found):
        wrapped = [
            place
            for place, column in enumerate(columns)
            if not column.is_number and found[place] < natural[place]
        ]
        if not wrapped:
            break
        narrowest = min(wrapped, key=lambda place: found[place])
        found[narrowest] += min(free, 1)
    return found


def wrapped(text: str, width: int) -> str:
    r"""Return a text in lines of at most `width` signs, broken at blanks and joints.

    Examples
    --------
    >>> wrapped("connections-of-the-application 5 to 10", 15)
    'connections-of-\nthe-application\n5 to 10'
    """
    return "\n".join(line for given in text.split("\n") for line in _lines(given, width))


def _lines(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if len(joined) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        for part in parts(word):
            if lines[-1] and len(lines[-1]) + len(part) > width:
                lines.append("")
            lines[-1] += part
    return lines
