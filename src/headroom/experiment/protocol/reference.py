"""Additions of a layer to the reference page of its system.

A layer registers it under the entry point group ``headroom.reference``, with the system's name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headroom.experiment.protocol import plug_ins

GROUP = "headroom.reference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A piece of the page: a title, a paragraph, a table; each may be empty."""

    title: str = ""
    text: str = ""
    header: tuple[str, ...] = ()
    rows: Sequence[tuple[str, ...]] = ()


def _no_sections() -> Iterable[Section]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The content of the page of systems.

    Parameters
    ----------
    example
        A set-up whose metrics are shown.
    title
        Heading above them.
    has_parameters
        Whether the parameters of the example are those of every study.
    sections
        Returns what else there is to show.
    """

    example: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    has_parameters: bool = False
    sections: Callable[[], Iterable[Section]] = _no_sections


def reference_of(system: str) -> Reference:
    """Return a layer's reference of its system; an empty one if it registers nothing.

    Examples
    --------
    >>> reference_of("command").title
    'Metrics of every command'
    """
    offered = plug_ins.plug_ins(GROUP)
    if system not in offered:
        return Reference()
    reference: Reference = plug_ins.load(offered[system], kind="reference")
    return reference
