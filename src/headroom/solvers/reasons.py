"""Why an answer is no theorem, and how far off each reason can make it: the one table.

Printed throughputs and response times are within `MOST_ERROR` of the truth for 95% of the random
models of a corpus (`headroom.solvers.known_errors`). A reason that does worse refuses the number,
and keeps the results of flow conservation.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

MOST_ERROR = 0.2
REFUSED = f"an estimate could be more than {MOST_ERROR:.0%} off"


class Doubt(IntEnum):
    """The uncertainty that a reason leaves; each includes those before it."""

    ERROR = 0
    """Nothing: the estimate is close enough."""
    PARTS = 1
    """Times and numbers of jobs at single stations and pools."""
    TIMES = 2
    """Times and numbers of jobs as a whole; of closed classes also how many complete."""
    ROUTES = 3
    """Which stations the jobs visit."""
    FLOWS = 4
    """How many jobs come through, or whether there is a steady state at all."""


DOUBTS: Mapping[str, Doubt] = {
    "law": Doubt.ERROR,
    "means": Doubt.ERROR,
    "speeds": Doubt.ERROR,
    "priority": Doubt.ERROR,
    "carried route": Doubt.ERROR,
    "deck": Doubt.ERROR,
    "fork": Doubt.ERROR,
    "pool": Doubt.ERROR,
    "cost": Doubt.ERROR,
    "known breakdown": Doubt.ERROR,
    "known loss": Doubt.ERROR,
    "shortest queue": Doubt.ERROR,
    "known turns": Doubt.ERROR,
    "known arrivals": Doubt.ERROR,
    "attribute": Doubt.PARTS,
    "uneven law": Doubt.PARTS,
    "pool and law": Doubt.PARTS,
    "renewal arrivals": Doubt.PARTS,
    "wild law": Doubt.TIMES,
    "repeated law": Doubt.TIMES,
    "wild means": Doubt.TIMES,
    "closed priority": Doubt.TIMES,
    "carried times": Doubt.TIMES,
    "wild arrivals": Doubt.TIMES,
    "uneven fork": Doubt.TIMES,
    "nested pools": Doubt.TIMES,
    "full pool": Doubt.TIMES,
    "pool and station": Doubt.TIMES,
    "limit": Doubt.TIMES,
    "batch": Doubt.TIMES,
    "breakdown": Doubt.TIMES,
    "position": Doubt.TIMES,
    "mechanism": Doubt.TIMES,
    "reply": Doubt.TIMES,
    "start": Doubt.TIMES,
    "own priority": Doubt.TIMES,
    "turns": Doubt.TIMES,
    "loss": Doubt.TIMES,
    "queue route": Doubt.ROUTES,
    "cancelled arms": Doubt.ROUTES,
    "state route": Doubt.FLOWS,
    "patience": Doubt.FLOWS,
    "computed class": Doubt.FLOWS,
    "blocking": Doubt.FLOWS,
    "attempt": Doubt.FLOWS,
    "crossed pools": Doubt.FLOWS,
    "unknown loss": Doubt.FLOWS,
}


class Reason(NamedTuple):
    """A kind of `DOUBTS`, and the words with the line of the model."""

    kind: str
    text: str

    @property
    def doubt(self) -> Doubt:
        """The uncertainty that it leaves."""
        return DOUBTS[self.kind]


def doubt_of(reasons: Iterable[Reason]) -> Doubt:
    """Return the largest uncertainty of several reasons."""
    return max((reason.doubt for reason in reasons), default=Doubt.ERROR)


def texts(reasons: Iterable[Reason], least: Doubt = Doubt.ERROR) -> tuple[str, ...]:
    """Return the words of the reasons that leave at least so much uncertain."""
    return tuple(reason.text for reason in reasons if reason.doubt >= least)
