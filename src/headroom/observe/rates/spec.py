"""Rates as users name them: ``NAME=KIND:PLACE``, ``KIND:PLACE`` or a URL whose scheme is the kind.

Invariant: a mistake is found before anything is observed.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from headroom.errors import StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.observe.rates.adapter import Adapter

KINDS: Mapping[str, tuple[str, str]] = {
    "command": ("command:CommandAdapter", "runs"),
    "log": ("log:LogAdapter", "lines"),
    "nginx": ("web:NginxAdapter", "requests"),
    "haproxy": ("web:HaproxyAdapter", "requests"),
    "prometheus": ("web:PrometheusAdapter", "count"),
    "redis": ("redis:RedisAdapter", "commands"),
    "postgres": ("postgres:PostgresAdapter", "transactions"),
}
"""Kind to its class in this folder and to the name of its rate."""


def adapters_of(specs: Sequence[str], *, full_statements: bool = False) -> dict[str, Adapter]:
    """Return the adapters by the names of their rates.

    Raises
    ------
    StudyError
        A rate is of no known kind, or two have one name.

    Examples
    --------
    >>> list(adapters_of(["jobs=command:cat /tmp/jobs", "command:cat /tmp/all"]))
    ['jobs', 'runs']
    """
    found: dict[str, Adapter] = {}
    for spec in specs:
        name, kind, place = _parts(spec)
        where, usual = KINDS[kind]
        module, _, function = where.partition(":")
        make: Callable[[str], Adapter] = getattr(
            import_module(f"headroom.observe.rates.{module}"), function
        )
        name = name or usual
        if name in found:
            raise StudyError(f"two rates are called {name!r}", cure="name them: --rate reads=…")
        found[name] = make(place)
        found[name].full_statements = full_statements
    return found


def _parts(spec: str) -> tuple[str, str, str]:
    """Return name, kind and place.

    Examples
    --------
    >>> _parts("hits=nginx:http://127.0.0.1/status")
    ('hits', 'nginx', 'http://127.0.0.1/status')
    """
    head, colon, place = spec.partition(":")
    name, equals, kind = head.rpartition("=")
    if equals and not name.isidentifier():
        raise StudyError(
            f"--rate {spec}: {name!r} is not a name", cure="use letters, digits and underscores"
        )
    if not colon or not place or kind not in KINDS:
        raise StudyError(
            f"--rate {spec}: unknown kind {kind!r}",
            cure=f"{suggestion(kind, list(KINDS))}; write KIND:PLACE, or NAME=KIND:PLACE",
        )
    return name, kind, place
