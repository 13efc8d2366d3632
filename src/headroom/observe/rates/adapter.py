"""Rates as users name them, ``NAME=KIND:PLACE``: each is read from one counter that only grows.

Invariant: an adapter changes nothing at the server, and leaves its own requests out of the count.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from headroom.errors import HeadroomError, StudyError
from headroom.experiment.protocol.suggestions import suggestion

KINDS: Mapping[str, tuple[str, str]] = {
    "command": ("texts:command", "runs"),
    "log": ("log:LogAdapter", "lines"),
    "nginx": ("texts:nginx", "requests"),
    "haproxy": ("texts:haproxy", "requests"),
    "prometheus": ("texts:prometheus", "count"),
    "redis": ("texts:redis", "commands"),
    "postgres": ("postgres:PostgresAdapter", "transactions"),
}
"""Kind to its maker in this folder and to the name of its rate."""


class AdapterError(HeadroomError):
    """A counter cannot be read: what, where, why."""


class Adapter:
    """A counter of completed operations; databases need windows longer than a second.

    `place` is where it is read, as the user named it.
    """

    shortest_s = 0.0
    full_statements = False

    def __init__(self, place: str) -> None:
        self.place = place

    def count(self) -> float:
        """Return the completed operations; raise `AdapterError` if the server does not say."""
        raise NotImplementedError

    def waits(self) -> Mapping[str, float]:
        """Return how many clients waited on average, by what they waited for."""
        return {}

    def statements(self) -> Sequence[str]:
        """Return what clients most often did while they waited."""
        return ()

    def close(self) -> None:
        """Close files and connections."""


def adapters_of(specs: Sequence[str], *, full_statements: bool = False) -> dict[str, Adapter]:
    """Return the adapters by the names of their rates; raise `StudyError` for a mistake.

    Examples
    --------
    >>> list(adapters_of(["jobs=command:cat /tmp/jobs", "nginx:http://127.0.0.1/status"]))
    ['jobs', 'requests']
    """
    found: dict[str, Adapter] = {}
    for spec in specs:
        head, _, place = spec.partition(":")
        name, _, kind = head.rpartition("=")
        if not place or kind not in KINDS:
            raise StudyError(
                f"--rate {spec}: unknown kind {kind!r}",
                cure=f"{suggestion(kind, list(KINDS))}; write KIND:PLACE or NAME=KIND:PLACE",
            )
        name = name or KINDS[kind][1]
        if name in found or not name.isidentifier():
            raise StudyError(
                f"--rate {spec}: {name!r} is {'taken' if name in found else 'not a name'}",
                cure="name each rate: --rate reads=KIND:PLACE",
            )
        module, _, maker = KINDS[kind][0].partition(":")
        make: Callable[[str], Adapter] = getattr(
            import_module(f"headroom.observe.rates.{module}"), maker
        )
        found[name] = make(place)
        found[name].full_statements = full_statements
    return found
