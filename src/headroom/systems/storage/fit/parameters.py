"""The parameters of a fitted device: what a micro sweep identifies, with units and ranges.

Invariant: each value is a property of device and host, none of the load; the load has the names
that the measured column gives it.
"""

from headroom.experiment.system import Parameter
from headroom.systems.storage.workload_parameters import workload_parameters

_DEFAULT = "assumed: a flash device behind a virtual machine, until something is fitted"
KINDS = ("read", "write")


def _seconds(name: str, default: float, text: str, *, low: float = 0.0) -> Parameter:
    return Parameter(name=name, type="float", unit="s", default=default, low=low, high=100.0,
                     source=_DEFAULT, description=text)  # fmt: skip


def _per_byte(name: str, default: float, text: str) -> Parameter:
    return Parameter(name=name, type="float", unit="s/B", default=default, low=0.0, high=1.0,
                     source=_DEFAULT, description=text)  # fmt: skip


def _of_kind(kind: str) -> tuple[Parameter, ...]:
    return (
        _seconds(f"{kind}_unit_s", 80e-6, f"Time of a {kind} at a unit, without its bytes"),
        _per_byte(f"{kind}_unit_s_per_byte", 2e-10, f"Time of each byte of a {kind} at a unit"),
        _seconds(f"{kind}_shared_s", 5e-6, f"Time of a {kind} at what all units share"),
        _per_byte(f"{kind}_shared_s_per_byte", 5e-10, f"Time of each byte of a {kind} there"),
        Parameter(name=f"{kind}_cv", type="float", unit="1", default=0.5, low=0.0, high=20.0,
                  source=_DEFAULT,
                  description=f"Coefficient of variation of a {kind} at a unit, stalls left out"),
    )  # fmt: skip


DEVICE = (
    _seconds("host_s", 5e-6, "Processor time of a request on its way there and back"),
    Parameter(name="units", type="int", unit="1", default=16, low=1, high=1024, source=_DEFAULT,
              description="Requests that the device works on at once"),
    *_of_kind("read"),
    *_of_kind("write"),
    _seconds("flush_s", 1e-3, "Time of a flush"),
    Parameter(name="stall_share", type="float", unit="1", default=0.0, low=0.0, high=0.5,
              source=_DEFAULT, description="Share of requests that meet a rare stall"),
    _seconds("stall_s", 10e-3, "Mean time of a rare stall", low=1e-9),
)  # fmt: skip
"""What `storage.device` fits."""

_LOADS = ("block_bytes", "read_share", "load", "rate", "depth", "streams", "sync", "sync_every",
          "bsus", "load_share")  # fmt: skip
LOAD = (
    Parameter(name="target", type="str", unit="", default="device", source="assumed",
              description="Name of the device, for one set of parameters each"),
    Parameter(name="workload", type="str", unit="", default="micro",
              choices=("micro", "spc1_like"), source="assumed",
              description="What is asked of the device"),
    *(one for one in workload_parameters("micro", "spc1_like") if one.name in _LOADS),
)  # fmt: skip
"""The load, as the system `storage` names it."""
