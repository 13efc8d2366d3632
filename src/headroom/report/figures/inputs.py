"""Typed inputs of figures, scaled to the unit of their axis.

Builders in `headroom.report` fill them from results; a drawer here draws them. Texts are those that
a reader sees.

Invariant: no input refers to results, so a figure is a function of its input and its width.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from headroom.report.figures.axes import Axis
from headroom.report.figures.roles import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A pair of values, with the interval of `y` where there is one.

    `hint` is what a pointer over it shows.
    """

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A series over the x axis, named at its end; an area reaches down to zero."""

    label: str
    role: Role
    dots: tuple[Dot, ...]
    is_dashed: bool = False
    is_area: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """Where a curve bends or a limit breaks: a line with its interval as a band.

    `at` is None if only the interval is known. `lines` names it: the first line is bold.
    """

    at: float | None
    low: float
    high: float
    lines: tuple[str, ...]
    role: Role = "limit"
    is_named: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A named place: a change that was tried, the best level, a published number."""

    x: float
    y: float
    lines: tuple[str, ...]
    role: Role
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A dashed level line: a bound, a target, an ideal."""

    y: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturated:
    """A level that is offered more than the system can do, with its offered load as text."""

    x: float
    text: str = ""
    hint: str = ""
    series: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A rectangle of the plane, and how strong its ground is (0 to 1)."""

    x: tuple[float, float]
    y: tuple[float, float]
    strength: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Series over a numeric factor.

    Parameters
    ----------
    x, y
        Axes.
    lines
        Series; those with a name have it at their end, or above if they are many.
    breaks
        Knees, breaks of limits, stretches of time.
    limited_from
        Level from which on a part limits: the ground beyond is tinted; None for nowhere.
    limited_by, before
        Words above the ground and to the left of it.
    references
        Level lines.
    marks
        Hollow points.
    saturated
        Levels without a bound: arrows to the upper edge.
    fitted
        Levels between which a model was fitted: the ground there is tinted; None for nowhere.
    tiles, tiles_words
        Rectangles below everything else, and what the strength of their ground says.
    """

    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    breaks: tuple[Break, ...] = ()
    limited_from: float | None = None
    limited_by: str = ""
    before: str = ""
    references: tuple[Reference, ...] = ()
    marks: tuple[Mark, ...] = ()
    saturated: tuple[Saturated, ...] = ()
    fitted: tuple[float, float] | None = None
    tiles: tuple[Tile, ...] = ()
    tiles_words: Callable[[float], str] = str


Key: TypeAlias = tuple[tuple[str, Role, bool], ...]
"""Name, colour, whether it is lighter: of series or parts, explained above a figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bar from zero with its number behind it, and a text at the right edge."""

    label: str
    value: float
    text: str
    role: Role
    low: float | None = None
    high: float | None = None
    end: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Bars from zero, with today or a bound dashed.

    Parameters
    ----------
    today
        Value of the dashed line; None for no line.
    title, end_title
        Words above the labels and above the texts at the right edge.
    """

    x: Axis
    bars: tuple[Bar, ...]
    today: float | None = None
    title: str = ""
    end_title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting of a trade-off, with intervals in both directions and its words.

    `series` is its place in the key of the figure, None if there is no key.
    """

    x: Dot
    y_low: float | None = None
    y_high: float | None = None
    name: str
    detail: tuple[str, ...] = ()
    role: Role = "data"
    is_beaten: bool = False
    series: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOff:
    """Settings by two costs or benefits; `frontier` are places (in order) that nothing beats.

    With a `key`, the settings of each series are joined in their order. `tolerance` draws the
    diagonal of equal values, and the band in which x is at most that share off y.
    """

    x: Axis
    y: Axis
    settings: tuple[Setting, ...]
    frontier: tuple[int, ...] = ()
    better: str = ""
    key: Key = ()
    is_joined: bool = False
    tolerance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of values along one axis: its runs as strokes, its centre as point.

    `printed` is a number that was published for it; `role` colours the centre; `series` is its
    place in the key of the figure, None if there is no key. A value that has no bound is an arrow
    at the right edge.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    runs: tuple[float, ...] = ()
    printed: float | None = None
    text: str = ""
    role: Role = "data"
    is_bold: bool = False
    hint: str = ""
    series: int | None = None
    is_unbounded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows along one axis, with a band of what is allowed and a dashed line at `centre`.

    `limits` are further dashed lines, and `key` names the series.
    """

    x: Axis
    rows: tuple[Row, ...]
    band: tuple[float, float] | None = None
    band_text: str = ""
    centre: float | None = None
    end_title: str = ""
    key: Key = ()
    limits: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    """A claim: its verdict and what a pointer over it shows."""

    verdict: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SquareRow:
    """The claims of one section, with words next to exceptions."""

    label: str
    detail: str
    squares: tuple[Square, ...]
    notes: tuple[tuple[str, str], ...] = ()
    """Verdict and text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Squares:
    """A square for each claim, by section."""

    rows: tuple[SquareRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell: its number, the word below it, and how strong its ground is (0 to 1).

    One without a bound has a dashed frame instead of a ground.
    """

    text: str
    word: str = ""
    role: Role = "data"
    strength: float | None = None
    hint: str = ""
    is_unbounded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Values by two factors; None if a point has no result."""

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    column_title: str
    row_title: str
    cells: tuple[tuple[Cell | None, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A bar of parts; the numbers are in the unit of the axis, the total as text."""

    label: str
    parts: tuple[float, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacks:
    """Bars that are sums of parts, each with its total at the right.

    `faint` are numbers of parts that are drawn lighter, such as waiting next to service.
    """

    x: Axis
    parts: Key
    stacks: tuple[Stack, ...]
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A lane of spans: start, end (in the unit of the axis) and number of the state."""

    label: str
    spans: tuple[tuple[float, float, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """Spans in lanes over time."""

    x: Axis
    states: Key
    lanes: tuple[Lane, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyRow:
    """Shares (0 to 1) of one part over equal steps of time; None if unknown."""

    label: str
    role: Role
    shares: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """How busy parts were over time, a row for each."""

    x: Axis
    rows: tuple[BusyRow, ...]


Figure: TypeAlias = Curve | Bars | TradeOff | Rows | Squares | Cells | Stacks | Lanes | Busy
