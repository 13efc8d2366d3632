"""The system `coherence`: all states that a coherence protocol can reach.

A run visits every state of a few caches, a home and the messages between them. It reports whether
one of them breaks a rule of coherence, and draws the shortest way to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.artefact import Artefact
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value
from headroom.systems.shared_memory import native

PROTOCOLS = ("sci", "directory", "uncached")
NOTHING = "nothing"
"""The level of `without` for the whole protocol."""
MOST_STATES = 20_000_000
_SOURCE = "declared"


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


_PARAMETERS = (
    Parameter(
        name="protocol", type="str", unit="", default="sci", choices=PROTOCOLS, source=_SOURCE,
        description="SCI lists (IEEE 1596), a full-map directory, or far memory without caches",
    ),
    Parameter(
        name="caches", type="int", unit="1", default=3, low=1, high=native.MOST_CACHES,
        source=_SOURCE, description="Caches",
    ),
    Parameter(
        name="lines", type="int", unit="1", default=1, low=1, high=3, source=_SOURCE,
        description="Lines; more than one matters only for a snoop filter",
    ),
    Parameter(
        name="entries", type="int", unit="1", default=0, low=0, high=3, source=_SOURCE,
        description="Entries of the directory's snoop filter; 0: one for each line",
    ),
    Parameter(
        name="home_processor", type="bool", unit="", default=True, source=_SOURCE,
        description="Whether a processor at the home uses the line too",
    ),
    Parameter(
        name="without", type="str", unit="", default=NOTHING, source=_SOURCE,
        description="Condition of the protocol that is left out, to see that it is needed",
    ),
    Parameter(
        name="most_states", type="int", unit="1", default=MOST_STATES, low=1, source=_SOURCE,
        description="States at which the search gives up",
    ),
)  # fmt: skip

_METRICS = (
    Metric(name="violations", unit="1", better="low", description="1 if a rule is broken"),
    Metric(name="states", unit="1", better="none", description="States up to names of caches"),
    Metric(name="steps", unit="1", better="none", description="Events that were tried"),
    Metric(name="depth", unit="1", better="none", description="Events to the farthest state"),
    Metric(name="path_events", unit="1", better="none", description="Events to the violation"),
    Metric(name="unused_rules", unit="1", better="none", description="Rules that no state used"),
)


@dataclass(frozen=True, slots=True)
class Coherence:
    """A search of all states of a protocol."""

    name: ClassVar[str] = "coherence"
    column: ClassVar[Column] = Column.MODEL
    setup_type: ClassVar[type[msgspec.Struct]] = CoherenceSetup

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:  # noqa: ARG003 - the protocol's
        """Return the system."""
        return cls()

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the protocol, and the size of the system that is searched."""
        return _PARAMETERS

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:  # noqa: ARG002
        """Return the metrics."""
        return _METRICS

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return the code of the search and all parameters."""
        return f"coherence {native.CHECKER_CODE} {sorted(config.items())}"

    def prepare(self) -> Mapping[str, float | str]:
        """Return nothing: a search depends on no machine."""
        return {}

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:  # noqa: ARG002
        """Search; a protocol that breaks a rule is a result, and no fault of the run."""
        protocol = str(config["protocol"])
        found = native.check_protocol(
            protocol,
            caches=int(config["caches"]),
            lines=int(config["lines"]),
            entries=_entries(config),
            has_local=bool(config["home_processor"]),
            most_states=int(config["most_states"]),
            without=_left_out(protocol, str(config["without"])),
        )
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


def _entries(config: Mapping[str, Value]) -> int | None:
    entries = int(config["entries"])
    if entries and config["protocol"] != "directory":
        raise StudyError(
            f"entries = {entries}, but {config['protocol']} has no snoop filter",
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
