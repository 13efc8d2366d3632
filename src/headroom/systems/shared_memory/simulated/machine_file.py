"""Machines with shared memory: processors, caches, cards, networks; each number has a source."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from headroom.experiment.protocol.parameter_file import named_file, read_parameters
from headroom.experiment.protocol.system import Parameter, Value

MACHINES = Path(__file__).parent / "machines"
"""Folder of the machines that come with Headroom."""
TIMES = (
    "instruction_s", "near_s", "last_s", "private_s", "local_read_s", "local_write_s",
    "hit_read_s", "hit_write_s", "request_s", "reply_s", "posted_write_s", "controller_s",
    "memory_s", "crossing_s", "hop_s", "link_bytes_per_s", "bus_bytes_per_s", "barrier_s",
    "lock_s",
)  # fmt: skip
"""Times and rates."""
_LEVELS = ("l1_bytes", "l1_ways", "l2_bytes", "l2_ways", "l3_bytes", "l3_ways")
FIELDS: Mapping[str, Any] = {
    **dict.fromkeys(TIMES, float),
    **dict.fromkeys(("cpus", "address_bits", "cpu_line_bytes"), int),
    **dict.fromkeys(("main_bytes", "shared_bytes"), int),
    **dict.fromkeys(_LEVELS, int),
    **dict.fromkeys(("line_bytes", "cache_bytes", "cache_ways", "posted_writes"), int),
    **dict.fromkeys(("incoming_queue", "outgoing_queue"), int),
    **dict.fromkeys(("on_card", "index_has_home"), bool),
    **dict.fromkeys(("protocol", "keeps", "bus"), str),
}
"""Type of each parameter of a machine file."""


def machine_path(name: str | Path, base: Path = Path()) -> Path:
    """Return the file of a machine: one of Headroom's own by its name, or another by its path.

    Examples
    --------
    >>> machine_path("ncc").name
    'ncc.toml'
    """
    own = base / name
    return named_file(own if own.suffix and own.is_file() else name, MACHINES, "machine")


def read_machine(path: Path) -> tuple[Parameter, ...]:
    """Return the parameters that a machine file declares."""
    return read_parameters(path, FIELDS, copy_of=MACHINES / "ncc.toml", own=MACHINES)


def setup_json(config: Mapping[str, Value]) -> bytes:
    """Return the machine of a point, and its placement, as the compiled part takes them.

    Examples
    --------
    >>> config = {one.name: one.default for one in read_machine(machine_path("numa"))}
    >>> config |= {"nodes": 2, "placement": "owner", "moves_private": "pages"}
    >>> msgspec.json.decode(setup_json(config))["machine"]["protocol"]
    'uncached'
    """
    has_cache = config["protocol"] != "uncached"
    cache = {
        "bytes": config["cache_bytes"],
        "ways": config["cache_ways"],
        "index_has_home": config["index_has_home"],
    }
    machine = {
        "nodes": config["nodes"],
        "cpus": config["cpus"],
        "line_bytes": config["line_bytes"],
        "protocol": config["protocol"],
        "is_on_card": config["on_card"],
        "cache": cache if has_cache else None,
        **{name: config[name] for name in ("posted_writes", "incoming_queue", "outgoing_queue")},
        "times": _times(config),
    }
    processor = {
        "line_bytes": config["cpu_line_bytes"],
        **{name: config[name] for name in (*_LEVELS, "keeps")},
    }
    return msgspec.json.encode(
        {
            "machine": machine,
            "processor": processor,
            "placement": config["placement"],
            "moves_private": config["moves_private"],
        }
    )


def _times(config: Mapping[str, Value]) -> dict[str, float]:
    times = {name: float(config[name]) for name in TIMES}
    times["instruction_s"] *= float(config.get("work", 1.0))
    return times
