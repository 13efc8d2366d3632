"""The system `coherence`: all states that a coherence protocol can reach.

A run visits every state of a few caches, a home and the messages between them. It reports whether
one of them breaks a rule of coherence, and draws the shortest way to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.artefact import Artefact
from headroom.experiment.protocol.declared import Declared, FromDeclaration
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Value
from headroom.systems.shared_memory import native

NOTHING = "nothing"
"""The level of `without` for the whole protocol."""


class CoherenceSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.system]`: it has no keys."""


def conditions(protocol: str) -> dict[str, str]:
    """Return the conditions that a protocol can be run without: name to sentence.

    Examples
    --------
    >>> conditions("sci")["tail_first"]
    'a copy that leaves takes no new backward neighbour'
    """
    return dict(native.conditions(protocol))


class Search(Declared, frozen=True, kw_only=True):
    """The protocol, and the size of the system that is searched."""

    protocol: Annotated[Literal["sci", "directory", "uncached"], parameter(source="declared")] = (
        "sci"
    )
    """SCI lists (IEEE 1596), a full-map directory, or far memory without caches"""
    caches: Annotated[int, parameter(low=1, high=native.MOST_CACHES, source="declared")] = 3
    """Caches"""
    lines: Annotated[int, parameter(low=1, high=3, source="declared")] = 1
    """Lines; more than one matters only for a snoop filter"""
    entries: Annotated[int, parameter(low=0, high=3, source="declared")] = 0
    """Entries of the directory's snoop filter; 0: one for each line"""
    home_processor: Annotated[bool, parameter(source="declared")] = True
    """Whether a processor at the home uses the line too"""
    without: Annotated[str, parameter(source="declared")] = NOTHING
    """Condition of the protocol that is left out, to see that it is needed"""
    most_states: Annotated[int, parameter(low=1, source="declared")] = 20_000_000
    """States at which the search gives up"""


_METRICS = (
    Metric(name="violations", unit="1", better="low", description="1 if a rule is broken"),
    Metric(name="states", unit="1", better="none", description="States up to names of caches"),
    Metric(name="steps", unit="1", better="none", description="Events that were tried"),
    Metric(name="depth", unit="1", better="none", description="Events to the farthest state"),
    Metric(name="path_events", unit="1", better="none", description="Events to the violation"),
    Metric(name="unused_rules", unit="1", better="none", description="Rules that no state used"),
)


@dataclass(frozen=True, slots=True)
class Coherence(FromDeclaration):
    """A search of all states of a protocol."""

    name: ClassVar[str] = "coherence"
    column: ClassVar[Column] = Column.MODEL
    setup_type: ClassVar[type[msgspec.Struct]] = CoherenceSetup
    code_key: ClassVar[str] = ""
    declared: ClassVar[type[Declared]] = Search

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:  # noqa: ARG003 - the protocol's
        """Return the same for each study: a search has no setup."""
        return cls()

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:  # noqa: ARG002
        """Return the same metrics at each point."""
        return _METRICS

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return the code of the search and all parameters."""
        return f"coherence {native.CHECKER_CODE} {sorted(config.items())}"

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:  # noqa: ARG002
        """Search; a protocol that breaks a rule is a result, and no fault of the run."""
        search = Search.of(config)
        found = native.check_protocol(
            search.protocol, caches=search.caches, lines=search.lines, entries=_entries(search),
            has_local=search.home_processor, most_states=search.most_states,
            without=_left_out(search.protocol, search.without),
        )  # fmt: skip
        sentence, path_events, chart = found["violation"] or ("", 0, "")
        values = {
            "violations": float(bool(sentence)),
            "states": float(found["states"]),
            "steps": float(found["steps"]),
            "depth": float(found["depth"]),
            "path_events": float(path_events),
            "unused_rules": float(len(found["unused"])),
        }
        if not (found["is_complete"] or sentence):
            why = f"gave up after {found['states']} states: raise most_states, or use fewer caches"
            return Run(values=values, faults=(why,))
        if not sentence:
            return Run(values=values)
        content = chart.encode()
        return Run(
            values=values,
            notes=(f"after {path_events} events: {sentence}",),
            artefacts=(Artefact(name="path.txt", kind="text", content=content),),
        )


def _entries(search: Search) -> int | None:
    entries = search.entries
    if entries and search.protocol != "directory":
        raise StudyError(
            f"entries = {entries}, but {search.protocol} has no snoop filter",
            cure='leave entries out, or use protocol = "directory"',
        )
    return entries or None


def _left_out(protocol: str, without: str) -> str | None:
    if without == NOTHING:
        return None
    known = conditions(protocol)
    if without not in known:
        names = ", ".join(known) or "it has none"
        raise StudyError(
            f"without = {without!r} is no condition of {protocol}",
            cure=f"its conditions: {names}",
        )
    return without
