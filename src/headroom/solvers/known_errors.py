"""The known error of an approximation: measured on random models, by the worst of its reasons.

`python -m benches.solver_errors` solves and simulates a corpus; what it found is kept in
`known_errors.json`, so that each estimate says how far off its kind is.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headroom.solvers.network import Network
from headroom.solvers.reasons import DOUBTS, MOST_ERROR, Reason

STORED = Path(__file__).with_name("known_errors.json")
FEWEST = 5
"""Models from which this is judged."""
LOPSIDED = 0.8
"""Share of the models from which the estimates of a kind are called too high or too low."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownError:
    """How far off a kind of estimate was: of response time, and of closed classes throughput.

    `median` and `p95` are relative, `high` is the share of the models whose response was estimated
    too high.
    """

    models: int
    median: float
    p95: float
    high: float

    @property
    def text(self) -> str:
        """The error in words."""
        sign = "too high" if self.high >= LOPSIDED else "too low"
        lean = f", mostly {sign}" if abs(2 * self.high - 1) >= 2 * LOPSIDED - 1 else ""
        count = f"of {self.models} random models of this kind"
        if self.models < FEWEST:
            return f"{count} all were within {self.p95:.1%} of a simulation: too few to tell"
        return (
            f"{count}, half were within {self.median:.1%} of "
            f"a simulation and 95% within {self.p95:.1%}{lean}"
        )


def key_of(network: Network, reasons: Sequence[Reason]) -> str:
    """Return the kind of error that an answer has: open or closed, and the worst reason."""
    if not reasons:
        return ""
    order = list(DOUBTS)
    worst = max(reasons, key=lambda reason: (reason.doubt, order.index(reason.kind)))
    return f"{'closed' if network.closed else 'open'}: {worst.kind}"


def is_close(key: str) -> bool:
    """Return whether a kind of estimate is known to be close enough to be printed."""
    found = known_errors().get(key)
    return found is None or found.models < FEWEST or found.p95 <= MOST_ERROR


@cache
def known_errors() -> dict[str, KnownError]:
    """Return the error of each kind that was measured."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    return {key: KnownError(**found) for key, found in stored["by_reason"].items()}
