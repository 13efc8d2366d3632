"""Machines of the modelled column: processor, caches and TLBs, each number with its source."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headroom.experiment.protocol.parameter_file import named_file, read_parameters
from headroom.experiment.protocol.system import Parameter, Value

MACHINES = Path(__file__).parent / "machines"
"""Folder of the machines that come with Headroom."""
CACHES = (1, 2, 3)
TLBS = (1, 2)
WORK = ("start_s", "record_s", "record_node_s", "index_node_s", "comparison_s", "copy_s", "byte_s")
"""Costs of work, in the order of `headroom.systems.records.model.WORK_COUNTS`."""
OVERLAPS = (
    "near_overlap", "index_overlap", "scan_overlap", "lookup_overlap", "second_overlap",
    "stream_overlap",
)  # fmt: skip
"""How many waits of a kind overlap."""
_CACHE: Mapping[str, type] = {
    "bytes": float, "ways": int, "line_bytes": int, "writes": str, "step_s": float,
}  # fmt: skip
_TLB: Mapping[str, type] = {"bytes": float, "ways": int, "step_s": float}
FIELDS: Mapping[str, Any] = {
    **dict.fromkeys(WORK, float),
    **{f"cache{number}_{name}": kind for number in CACHES for name, kind in _CACHE.items()},
    "page_bytes": int,
    **{f"tlb{number}_{name}": kind for number in TLBS for name, kind in _TLB.items()},
    **dict.fromkeys(("parallel", *OVERLAPS), float),
}
"""Type of each parameter of a machine file."""


def machine_path(name: str | Path) -> Path:
    """Return the file of a machine by the name of one of Headroom's own, or by its path.

    Examples
    --------
    >>> machine_path("ultrasparc").name
    'ultrasparc.toml'
    """
    return named_file(name, MACHINES, "machine")


def read_machine(path: Path) -> tuple[Parameter, ...]:
    """Return the parameters that a machine file declares."""
    return read_parameters(path, FIELDS, copy_of=MACHINES / "ultrasparc.toml", own=MACHINES)


def machine_spec(config: Mapping[str, Value]) -> dict[str, Any]:
    """Return caches and TLBs of a machine as `headroom.memory` simulates them.

    Capacities are rounded to whole sets: a fitted one may be any number.

    Examples
    --------
    >>> from headroom.systems.records.machine_file import machine_path, read_machine
    >>> config = {one.name: one.default for one in read_machine(machine_path("ultrasparc"))}
    >>> [level["bytes"] for level in machine_spec(config)["levels"]]
    [16384, 2097152]
    """
    levels = [_level(config, number) for number in CACHES if config[f"cache{number}_bytes"]]
    page = int(config["page_bytes"])
    tlbs = []
    for number in TLBS:
        entries = round(float(config[f"tlb{number}_bytes"]) / page)
        if entries:
            ways = int(config[f"tlb{number}_ways"])
            entries = max(entries // ways, 1) * ways if ways else entries
            tlbs.append({"name": f"TLB {number}", "entries": entries, "ways": ways})
    paging = {"page_bytes": page, "tlbs": tlbs, "walk_levels": 1} if tlbs else None
    return {"levels": levels, "paging": paging}


def _level(config: Mapping[str, Value], number: int) -> dict[str, Any]:
    ways, line = (int(config[f"cache{number}_{name}"]) for name in ("ways", "line_bytes"))
    sets = max(round(float(config[f"cache{number}_bytes"]) / (line * max(ways, 1))), 1)
    return {
        "name": f"L{number}",
        "bytes": sets * line * max(ways, 1),
        "ways": ways,
        "line_bytes": line,
        "writes": config[f"cache{number}_writes"],
    }
