"""Sections of a page that a layer adds as data: matrices, timelines and stacked bars.

A layer describes all points of an experiment together; the report draws each section as a figure
and as a table. The browser interprets no text of a section.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

import msgspec

from headroom.experiment.protocol.artefact import Artefact
from headroom.experiment.protocol.system import Value

MOST_CELLS = 4096
"""Cells, spans or parts of a section at most: more is not read but exported."""


class _Section(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    title: str
    caption: str = ""


class Matrix(_Section, frozen=True, kw_only=True, tag="matrix"):
    """Values by row and column, such as the time from each processor to each other one.

    Parameters
    ----------
    title, caption
        Words above and below.
    rows, columns
        Labels, each its own.
    row_title, column_title
        What they are.
    values
        Shape (rows, columns), in the base unit; None where there is none.
    metric, unit
        Name and base unit of the values.
    """

    rows: list[str]
    columns: list[str]
    row_title: str = ""
    column_title: str = ""
    values: list[list[float | None]]
    metric: str
    unit: str


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Something that lasts: from `start_s` to `end_s` (s) in a lane, in a state."""

    lane: str
    start_s: float
    end_s: float
    state: str


class Timeline(_Section, frozen=True, kw_only=True, tag="timeline"):
    """Spans in lanes over time, such as what each thread did when.

    Parameters
    ----------
    title, caption
        Words above and below.
    spans
        The spans.
    states
        The order of the states, which decides about their colours; as the spans have it if empty.
    """

    spans: list[Span]
    states: list[str] = []

    def ordered_states(self) -> list[str]:
        """Return all states in their order."""
        return list(dict.fromkeys([*self.states, *(span.state for span in self.spans)]))


class StackedBars(_Section, frozen=True, kw_only=True, tag="stacked_bars"):
    """Bars that are sums of parts, such as the processor time of an operation by process.

    Parameters
    ----------
    bars, parts
        Labels, each its own.
    bar_title
        What the bars are.
    values
        Shape (bars, parts), >= 0, in the base unit.
    metric, unit
        Name and base unit of the values.
    """

    bars: list[str]
    parts: list[str]
    bar_title: str = ""
    values: list[list[float]]
    metric: str
    unit: str


Section: TypeAlias = Matrix | Timeline | StackedBars


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionPoint:
    """A point with results.

    Parameters
    ----------
    label
        Its name among the points of its experiment.
    levels, config
        Its levels, and all its parameters.
    estimates
        The estimate of each metric.
    artefacts
        What its first finished replication left, by name: what the page lists and
        ``headroom export --what artefacts`` writes, so reading it costs nothing more. Empty if the
        system leaves nothing, and for most points of an experiment of more than 50.
    """

    label: str
    levels: Mapping[str, Value]
    config: Mapping[str, Value]
    estimates: Mapping[str, float]
    artefacts: Mapping[str, Artefact] = field(default_factory=dict)


@runtime_checkable
class HasSections(Protocol):
    """A system that adds sections to the page of its experiments; optional for a `System`."""

    def sections(self, points: Sequence[SectionPoint]) -> Sequence[Section]:
        """Return the sections of an experiment, a function of its points alone."""
        ...


def problem_of(section: Section) -> str:
    """Return why a section cannot be drawn, empty if it can.

    Examples
    --------
    >>> problem_of(Matrix(title="t", rows=["a"], columns=["b", "b"], values=[[1.0, 2.0]],
    ...                   metric="x_s", unit="s"))
    'two columns have one label'
    """
    if isinstance(section, Timeline):
        if any(not span.start_s <= span.end_s for span in section.spans):
            return "a span ends before it starts"
        return _too_many(len(section.spans))
    is_matrix = isinstance(section, Matrix)
    rows = section.rows if isinstance(section, Matrix) else section.bars
    columns = section.columns if isinstance(section, Matrix) else section.parts
    words = ("rows", "columns") if is_matrix else ("bars", "parts")
    for labels, word in ((rows, words[0]), (columns, words[1])):
        if len(set(labels)) < len(labels):
            return f"two {word} have one label"
    if [len(row) for row in section.values] != [len(columns)] * len(rows):
        return f"its values are not {len(rows)} {words[0]} of {len(columns)} {words[1]}"
    if not is_matrix and any((value or 0.0) < 0.0 for row in section.values for value in row):
        return "a part is negative"
    return _too_many(len(rows) * len(columns))


def _too_many(count: int) -> str:
    return f"it has {count} cells, more than {MOST_CELLS}" if count > MOST_CELLS else ""
