"""All subjects: those of the reference, then the others."""

from functools import cache

from benches.known import closed, lines, more_networks, more_queues, more_servers, queues
from benches.known.subject import Subject


@cache
def subjects() -> tuple[Subject, ...]:
    """Return all subjects in the order of the table."""
    parts = (queues, closed, lines, more_queues, more_servers, more_networks)
    return tuple(subject for part in parts for subject in part.subjects())
