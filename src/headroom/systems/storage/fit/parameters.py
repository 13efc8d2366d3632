"""The parameters of a fitted device: what a micro sweep identifies, with units and ranges.

Invariant: each value is a property of device and host, not of the load; the load has the same names
as in the measured column.
"""

from headroom.experiment.protocol.system import Parameter
from headroom.systems.storage.workloads.workload_parameters import workload_parameters

_DEFAULT = "assumed: a flash device behind a virtual machine, until something is fitted"
KINDS = ("read", "write")
_WORKLOADS = ("micro", "spc1_like")
_LEFT_OUT = frozenset({"seconds", "requests", "bytes", "classes"})
"""Parameters of a measured run that mean nothing here."""


def _seconds(name: str, default: float, text: str, *, low: float = 0.0) -> Parameter:
    return Parameter(name=name, type="float", unit="s", default=default, low=low, high=100.0,
                     source=_DEFAULT, description=text)  # fmt: skip


def _per_byte(name: str, default: float, text: str) -> Parameter:
    return Parameter(name=name, type="float", unit="s/B", default=default, low=0.0, high=1.0,
                     source=_DEFAULT, description=text)  # fmt: skip


def _number(name: str, default: float, high: float, text: str) -> Parameter:
    return Parameter(name=name, type="float", unit="1", default=default, low=0.0, high=high,
                     source=_DEFAULT, description=text)  # fmt: skip


def _of_kind(kind: str) -> tuple[Parameter, ...]:
    alone = f"Time of a {kind} of base_bytes at depth 1, percentile"
    return (
        _seconds(f"{kind}_s_p10", 70e-6, f"{alone} 10"),
        _seconds(f"{kind}_s_p50", 80e-6, f"{alone} 50", low=1e-9),
        _seconds(f"{kind}_s_p90", 120e-6, f"{alone} 90"),
        _per_byte(f"{kind}_s_per_byte", 2e-10, f"Time of each further byte of a {kind} at a unit"),
        _seconds(f"{kind}_shared_s", 5e-6, f"Part of a {kind}'s time that all units share"),
        _seconds(f"{kind}_batch_s", 0.0, f"Part of a {kind}'s time there once for all that wait"),
        _per_byte(f"{kind}_shared_s_per_byte", 1e-10, f"Time per byte of each {kind} there"),
        _seconds(f"{kind}_wake_s", 0.0, f"Mean further time of a {kind} after an idle millisecond"),
        _number(f"{kind}_wake_exponent", 0.5, 3.0, "How that grows: power of the idle time"),
        _number(f"{kind}_wake_cv", 0.3, 10.0, "Coefficient of variation of it"),
    )


DEVICE = (
    Parameter(name="base_bytes", type="int", unit="B", default=4096, low=1, high=1 << 30,
              source=_DEFAULT, description="Length of the requests that the times are of"),
    _seconds("host_s", 5e-6, "Processor time of a request on its way there and back"),
    Parameter(name="units", type="int", unit="1", default=16, low=1, high=4096, source=_DEFAULT,
              description="Requests that the device works on at once"),
    *_of_kind("read"),
    *_of_kind("write"),
    Parameter(name="idle_weight", type="float", unit="1", default=1.0, low=1e-3, high=1.0,
              source=_DEFAULT, description="Weight of the last idle time in the running mean that "
              "determines waking up"),
    _seconds("idle_most_s", 10e-3, "Idle time beyond which waking up takes no longer", low=1e-9),
    Parameter(name="stalls_per_s", type="float", unit="1/s", default=0.0, low=0.0, high=1e6,
              source=_DEFAULT, description="How often the device stalls"),
    _seconds("stall_s", 1e-3, "Mean length of a stall", low=1e-9),
    Parameter(name="busy_stalls_per_s", type="float", unit="1/s", default=0.0, low=0.0, high=1e6,
              source=_DEFAULT, description="How often it stalls in addition if the load computes "
              "all the time"),
    Parameter(name="busy_use", type="float", unit="1", default=1.0, low=1e-3, high=1.0,
              source=_DEFAULT, description="Share of one processor from which the load does that"),
    _seconds("busy_stall_s", 1e-3, "Mean time for which it does so then", low=1e-9),
    _seconds("wake_cpu_s", 0.0, "Further processor time of a request that finds all asleep"),
    _seconds("flush_s", 1e-3, "Time of a flush"),
)  # fmt: skip
"""Parameters that `storage.device` fits."""

LOAD = (
    Parameter(name="target", type="str", unit="", default="device", source="assumed",
              description="Name of the device, for one set of parameters each"),
    Parameter(name="target_bytes", type="int", unit="B", default=1 << 30, low=1, high=1 << 60,
              source="assumed", description="Size of the device: that of the measured target, for "
              "the same requests"),
    Parameter(name="workload", type="str", unit="", default="micro", choices=_WORKLOADS,
              source="assumed", description="Load on the device"),
    *(shared for shared in workload_parameters(*_WORKLOADS) if shared.name not in _LEFT_OUT),
)  # fmt: skip
"""The load, as the system `storage` names it."""
