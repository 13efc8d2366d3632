"""What an adapter is: it reads one counter that only grows.

Invariant: an adapter changes nothing at the server, and leaves its own requests out of the count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headroom.errors import HeadroomError

PATIENCE_S = 2.0
"""Time (s) that a server has to answer."""


class AdapterError(HeadroomError):
    """A counter cannot be read: what, where, why."""


@dataclass(slots=True)
class Adapter:
    """A counter of completed operations.

    Parameters
    ----------
    place
        Where it is read, as the user named it.

    Attributes
    ----------
    shortest_s
        Shortest window (s) that it can tell: a database counts a second later.
    full_statements
        Whether texts of statements are shown in full.
    """

    place: str
    shortest_s: float = field(default=0.0, init=False)
    full_statements: bool = field(default=False, init=False)

    def count(self) -> float:
        """Return the completed operations since a start that is the same for all calls.

        Raises
        ------
        AdapterError
            The server does not answer, or does not count.
        """
        raise NotImplementedError

    def waits(self) -> Mapping[str, float]:
        """Return how many clients waited on average, by what they waited for."""
        return {}

    def statements(self) -> Sequence[str]:
        """Return what clients most often did while they waited."""
        return ()

    def close(self) -> None:
        """Close connections."""
