"""The parameters of fitted files: costs of operations on small files, with units and ranges.

Invariant: each value is a property of file system and host, not of the load; the load has the same
names as in the measured column.
"""

from headroom.experiment.protocol.system import Parameter
from headroom.systems.storage.workloads.workload_parameters import workload_parameters

_DEFAULT = "assumed: ext4 on flash, in the page cache, until something is fitted"
KINDS = ("create", "read", "append", "delete")
"""Kinds of operations, in the order of their numbers in the mechanism `storage.postmark`."""
_DEFAULTS = {
    "create": (10e-6, 5e-10),
    "read": (2e-6, 2e-10),
    "append": (2e-6, 3e-10),
    "delete": (5e-6, 1e-10),
}
_USED = (
    "postmark_files", "postmark_transactions", "postmark_low_bytes", "postmark_high_bytes",
    "postmark_bias_read", "postmark_bias_create", "postmark_sync", "postmark_sync_every",
)  # fmt: skip


def _number(name: str, unit: str, default: float, text: str, *, high: float) -> Parameter:
    return Parameter(name=name, type="float", unit=unit, default=default, low=0.0, high=high,
                     source=_DEFAULT, description=text)  # fmt: skip


def _of_kind(kind: str) -> tuple[Parameter, ...]:
    base_s, per_byte = _DEFAULTS[kind]
    operation = f"an {kind}" if kind == "append" else f"a {kind}"
    return (
        _number(
            f"{kind}_s", "s", base_s, f"Fixed time of each {kind}, without its bytes", high=100.0
        ),
        _number(f"{kind}_s_per_byte", "s/B", per_byte, f"Time per byte of each {kind}", high=1.0),
        _number(f"{kind}_cv", "1", 0.2, f"Coefficient of variation of {operation}", high=10.0),
    )


FILES = (
    *(parameter for kind in KINDS for parameter in _of_kind(kind)),
    _number("between_s", "s", 5e-7, "Time of the client between two transactions", high=1.0),
    _number("stalls_per_s", "1/s", 0.0, "How often an operation is held up", high=1e6),
    _number("stall_s", "s", 1e-3, "Mean time for which it is", high=100.0),
)
"""Parameters that `storage.files` always fits."""
SYNC = (
    _number("create_sync_s", "s", 1e-3, "Time to make a new file durable", high=100.0),
    _number("create_sync_s_per_byte", "s/B", 1e-9, "Time of each byte of it", high=1.0),
    _number("append_sync_s", "s", 1e-3, "Time to make what was appended durable", high=100.0),
    _number("append_sync_s_per_byte", "s/B", 1e-9, "Time of each byte of it", high=1.0),
    _number("sync_cv", "1", 0.3, "Coefficient of variation of both", high=10.0),
    _number("durable_delete_s", "s", 3e-5, "Time that deleting takes longer where a file has been "
            "made durable", high=100.0),
    _number("durable_delete_s_per_byte", "s/B", 1e-10, "Time of each byte of that", high=1.0),
)  # fmt: skip
"""Parameters that it fits if `options.sync` requests it."""

LOAD = (
    Parameter(name="target", type="str", unit="", default="files", source="assumed",
              description="Name of the folder, for one set of parameters each"),
    *(parameter for parameter in workload_parameters("postmark") if parameter.name in _USED),
)  # fmt: skip
"""The load, as the system `storage` names it."""
