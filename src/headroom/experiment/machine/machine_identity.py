"""The identity of a measuring machine: facts that must agree, and their differences as text.

A machine is identified by its installation (a hash of its machine-id), processor model, usable
processors, processor quota, and memory. Its host name does not count, because it changes with a
network or a container. Load, kernel and versions do not count either: they vary on one machine, and
the results show them.

Invariant: a fact that only one of two machines publishes never separates them.
"""

import math
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

from headroom.experiment.machine import machine_facts
from headroom.quantities import format_quantity

ROLES = "roles"
"""Key of an environment that holds the facts of the machines of roles other than the load."""
NO_MACHINE_ID = "none"
"""Placeholder for a missing machine-id; sessions before it was stored have no entry."""
_MEMORY_TOLERANCE = 0.05
"""Memory is what firmware and kernel leave: an update moves it by a few per cent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Facts that identify a machine; None or empty if unknown.

    Parameters
    ----------
    machine_id
        Hash of the machine-id, `NO_MACHINE_ID` without one, empty in a session that stored none.
    host_name
        Only stands in for a `machine_id` that was not stored.
    cpu_model
        Processor model.
    cpu_count
        Processors that this process may use.
    cpu_quota
        Processors' worth of time that a container allows; infinite without a limit.
    memory_bytes
        Memory of the machine, or of the container if that is less.
    others
        Machines of the other roles of an experiment, by role.
    """

    machine_id: str = ""
    host_name: str = ""
    cpu_model: str = ""
    cpu_count: int | None = None
    cpu_quota: float | None = None
    memory_bytes: int | None = None
    others: tuple[tuple[str, "Machine"], ...] = ()

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """Return the machine that an environment describes, see `environment.collect`."""
        host, cpu, limits = (facts.get(name, {}) for name in ("host", "cpu", "container"))
        is_known = "machine_id" in host
        sizes = [facts.get("memory", {}).get("total_bytes"), limits.get("memory_bytes_max")]
        return cls(
            machine_id=host.get("machine_id", ""),
            host_name=host.get("name", ""),
            cpu_model=cpu.get("model", ""),
            cpu_count=cpu.get("usable_count"),
            cpu_quota=limits.get("cpu_count_max", math.inf) if is_known else None,
            memory_bytes=min((size for size in sizes if size is not None), default=None),
            others=tuple((role, cls.of(its)) for role, its in facts.get(ROLES, {}).items()),
        )

    def difference(self, other: "Machine") -> str:
        """Return how another machine differs from this one, empty if it does not.

        Examples
        --------
        >>> here = Machine(machine_id="a", cpu_count=2)
        >>> here.difference(Machine(machine_id="a", cpu_count=8))
        'usable processors 8, here 2'
        """
        differences = [
            _installation(self, other),
            _value("processor", other.cpu_model, self.cpu_model),
            _value("usable processors", other.cpu_count, self.cpu_count),
            _value("processor quota", other.cpu_quota, self.cpu_quota),
            _memory(other.memory_bytes, self.memory_bytes),
            *_of_roles(dict(other.others), dict(self.others)),
        ]
        return "; ".join(text for text in differences if text)


@cache
def machine_here() -> Machine:
    """Return this machine, from as few files as that takes."""
    return Machine.of(
        {
            "host": {
                "name": socket.gethostname(),
                "machine_id": machine_facts.machine_id() or NO_MACHINE_ID,
            },
            "cpu": machine_facts.cpu(),
            "memory": machine_facts.memory(),
            "container": machine_facts.container(),
        }
    )


def _installation(here: Machine, there: Machine) -> str:
    """Return whether two machines are two; without machine-ids host names stand in."""
    if here.machine_id and there.machine_id:
        return "" if here.machine_id == there.machine_id else "machine-id"
    return _value("host", there.host_name, here.host_name)


def _of_roles(there: Mapping[str, Machine], here: Mapping[str, Machine]) -> Iterator[str]:
    """Yield how the machines of roles differ; a role without one is on the machine itself."""
    for role in sorted({*there, *here}):
        if role in there and role in here:
            difference = here[role].difference(there[role])
            yield f"{role}: {difference}" if difference else ""
        else:
            apart = "on another machine than the load"
            yield f"{role} {apart}" if role in there else f"{role} not {apart}"


def _value(name: str, there: str | float | None, here: str | float | None) -> str:
    if there in (None, "") or here in (None, "") or there == here:
        return ""
    return f"{name} {_text(there)}, here {_text(here)}"


def _text(value: str | float | None) -> str:
    if value == math.inf:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _memory(there: int | None, here: int | None) -> str:
    if there is None or here is None or math.isclose(there, here, rel_tol=_MEMORY_TOLERANCE):
        return ""
    return f"memory {format_quantity(there, 'B')}, here {format_quantity(here, 'B')}"
