"""Where simulations run, as `--on` names it: a Dask scheduler, or a cluster of this machine."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.runner.executors import Place

_SCHEDULER = re.compile(
    r"(dask|dask\+open|tcp|tls)://(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(\d{1,5})/?"
)
_LOCAL = re.compile(r"local-cluster(?::([1-9]\d{0,3}))?")
_MOST_PORT = 65535
_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|\[::1\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A parsed `--on`.

    Parameters
    ----------
    text
        As the user wrote it.
    scheduler
        Address of the scheduler for Dask; empty for a cluster of this machine.
    worker_count
        Workers of a cluster of this machine, None for one per core.
    """

    text: str
    scheduler: str = ""
    worker_count: int | None = None


def parse_address(text: str) -> Address:
    """Return where `--on TEXT` sends simulations.

    Raises
    ------
    StudyError
        It names no cluster; or one on a network without TLS, and not by ``dask+open://``.

    Examples
    --------
    >>> parse_address("tls://head:8786").scheduler, parse_address("dask://[::1]:8786").scheduler
    ('tls://head:8786', 'tcp://[::1]:8786')
    >>> parse_address("local-cluster:4").worker_count
    4
    >>> parse_address("head:8786")
    Traceback (most recent call last):
    ...
    headroom.errors.StudyError: `--on head:8786` names no cluster
      hint: write dask://HOST:PORT, tls://HOST:PORT, local-cluster or local-cluster:N
    """
    if match := _LOCAL.fullmatch(text):
        return Address(text=text, worker_count=int(match[1]) if match[1] else None)
    match = _SCHEDULER.fullmatch(text)
    if match is None or not 0 < int(match[3]) <= _MOST_PORT:
        raise StudyError(
            f"`--on {text}` names no cluster",
            cure="write dask://HOST:PORT, tls://HOST:PORT, local-cluster or local-cluster:N",
        )
    place = f"{match[2]}:{match[3]}"
    if match[1] in {"dask", "tcp"} and not _LOOPBACK.fullmatch(match[2]):
        raise StudyError(
            f"`--on {text}` has no TLS: whoever reaches that port runs programs as you, here and "
            "on the workers",
            cure=f"use certificates and tls://{place}; if only you can reach that network, write "
            f"dask+open://{place}",
        )
    protocol = "tls" if match[1] == "tls" else "tcp"
    return Address(text=text, scheduler=f"{protocol}://{place}")


@contextmanager
def place_of(on: str, say: Callable[[str], None]) -> Iterator[Place | None]:
    """Yield the place that `--on` names, None if `on` is empty: processes of this machine.

    Parameters
    ----------
    on
        Text of the option.
    say
        Called with a sentence for the user.
    """
    if not on:
        yield None
        return
    address = parse_address(on)
    if find_spec("distributed") is None:
        raise EnvironmentUnfitError(
            f"`--on {on}` needs Dask, which is not installed",
            cure="pip install 'headroom-lab[cluster]'",
        )
    from headroom.experiment.runner.cluster.connection import Cluster  # noqa: PLC0415 - loads much

    with Cluster(address, say) as cluster:
        yield cluster
