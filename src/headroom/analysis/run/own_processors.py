"""Whose the processors of a measured point are: those of what is measured, or of others.

The machine's processors limit what is measured if the machine is full *and* threads of it wait for
a processor, apart from the busiest thread of each group: a single thread that always works limits
by itself. A machine that neighbours fill while the measured server sleeps limits nothing.

Invariant: time that a hypervisor gives to others counts as theirs.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

FULL = 0.95
"""Busy share from which a machine is full; the kernel counts in steps."""
NOTABLE = 0.1
"""Share of the processors below which others do not count, and below which what is measured does
not, if nothing is known of its waiting."""
CROWD = 2.0
"""Mean number of waiting threads from which they compete for processors."""
_BUSY = re.compile(r"((?!machine\.)(?P<group>.+))\.cpu\.utilization")


@dataclass(frozen=True, slots=True, kw_only=True)
class Processors:
    """Processors over the same windows.

    Parameters
    ----------
    count, busy
        Processors of the machine, and how many of them are busy.
    own
        Processors that the observed groups keep busy.
    crowd
        Threads of these groups that wait for a processor, apart from the busiest of each group;
        None in results of earlier versions.
    """

    count: float
    busy: float
    own: float
    crowd: float | None = None

    @classmethod
    def of(
        cls, values: Mapping[str, float], count: float, capacities: Mapping[str, float]
    ) -> Self | None:
        """Return the processors of a point from its metrics, None if they were not observed.

        `capacities` are those of groups with a limit.

        Examples
        --------
        >>> seen = {"machine.cpu.utilization": 1.0, "service.db.cpu.utilization": 0.02}
        >>> found = Processors.of(seen, 2.0, {})
        >>> found.own, found.others, found.available, found.limit_own
        (0.04, 1.96, 0.04, False)
        """
        if "machine.cpu.utilization" not in values:
            return None
        groups = own_groups(values)
        own = sum(
            values[f"{group}.cpu.utilization"] * capacities.get(group, count) for group in groups
        )
        waiting = [values.get(f"{group}.cpu.crowd_mean") for group in groups]
        known = [one for one in waiting if one is not None]
        busy = values["machine.cpu.utilization"] * count
        crowd = sum(known) if known and len(known) == len(waiting) else None
        return cls(count=count, busy=busy, own=min(own, busy), crowd=crowd)

    @property
    def others(self) -> float:
        """Processors that others keep busy."""
        return round(self.busy - self.own, 9)

    @property
    def available(self) -> float:
        """Processors that others leave."""
        return round(self.count - self.others, 9)

    @property
    def is_full(self) -> bool:
        """True if the machine has no processor left."""
        return self.busy >= FULL * self.count

    @property
    def limit_own(self) -> bool:
        """True if processors limit what is measured."""
        return self.is_full and self.has_competition

    @property
    def has_competition(self) -> bool:
        """True if processors would limit what is measured, were the machine full."""
        if self.others < NOTABLE * self.count:
            return True
        if self.crowd is None:
            return self.own >= NOTABLE * self.count
        return self.crowd >= CROWD


def own_groups(values: Mapping[str, float]) -> list[str]:
    """Return the observed groups; control groups only without others, whose processes they hold.

    Examples
    --------
    >>> own_groups({"service.db.cpu.utilization": 0.1, "cgroup.all.cpu.utilization": 0.2})
    ['service.db']
    """
    found = [match["group"] for match in map(_BUSY.fullmatch, values) if match]
    is_apart = all(one == "program" or one.startswith("cgroup.") for one in found)
    return [one for one in found if is_apart or not one.startswith("cgroup.")]
