"""Roles of an experiment on several machines: its load, and the services that the load uses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, runtime_checkable

from headroom.experiment.protocol.system import System

LOAD = "load"
"""Role of the measured program."""


def _not_there(host: str, request: bytes) -> bytes:
    raise AssertionError(f"{host} is asked before it is held: {request!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where the roles of an experiment are, as one of its hosts sees it.

    Parameters
    ----------
    hosts
        Role to host, the role `LOAD` among them.
    own
        Host of this process.
    addresses
        Host to its network address; empty while nothing is held, as in a plan.
    ask
        Sends a request to the same system on another host and returns its answer.

    Examples
    --------
    >>> placement = Placement(hosts={"load": "gen1", "server": "db1"}, own="gen1")
    >>> placement.is_here("load"), placement.others, placement.role_at("db1")
    (True, ('db1',), 'server')
    """

    hosts: Mapping[str, str]
    own: str
    addresses: Mapping[str, str] = field(default_factory=dict)
    ask: Callable[[str, bytes], bytes] = _not_there

    def is_here(self, role: str) -> bool:
        """Return whether a role is on this host."""
        return self.hosts[role] == self.own

    @property
    def others(self) -> tuple[str, ...]:
        """The other hosts, in the order of the study."""
        return tuple(dict.fromkeys(host for host in self.hosts.values() if host != self.own))

    def role_at(self, host: str) -> str:
        """Return the first role of a host, which names its metrics."""
        return next(role for role, at in self.hosts.items() if at == host)


@runtime_checkable
class RunsInRoles(Protocol):
    """A system whose services can run on other hosts than its load."""

    def roles(self) -> Sequence[str]:
        """Return the roles that it uses, `LOAD` first; that alone if it starts no services."""
        ...

    def placed(self, placement: Placement) -> Self:
        """Return the same system with its roles on several hosts.

        Raises
        ------
        StudyError
            A text needs something that is on another host.
        """
        ...

    def serve(self, request: bytes) -> bytes:
        """Answer a request of the same system on the host of the load."""
        ...


def roles_of(system: object) -> Sequence[str]:
    """Return the parts that run on hosts of their own; (LOAD,) if all runs on one."""
    return system.roles() if isinstance(system, RunsInRoles) else (LOAD,)


def with_hosts(system: System, hosts: Mapping[str, str]) -> System:
    """Return a system that knows where its roles will be, if they are on several hosts."""
    if not hosts or not isinstance(system, RunsInRoles):
        return system
    return system.placed(Placement(hosts=hosts, own=hosts[LOAD]))
