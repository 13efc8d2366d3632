"""Parameters of a table and of a query, for both columns.

The paper is Kim, Lee, Lee: *Optimal Size of Record Storage Node in MMDB Considering
Cache-consciousness*. Each choice that it leaves open is a parameter, with the choice of
`record_node_size`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from headroom.experiment.protocol.system import Parameter, Value

LINE_BYTES = 64
SCANS = ("phy_seq", "idx_seq", "idx_ran")
CHANGES = ("insert", "update", "delete")
UPKEEP = ("protect", "checkpoint")
_PAPER = "paper"
_ASSUMED = "assumed: the paper leaves it open"
_DECLARED = "declared"


def table_parameters() -> Iterator[Parameter]:
    """Return the parameters of a table."""
    yield Parameter(
        name="node_bytes", type="int", unit="B", default=8192, low=8, high=1 << 24, source=_PAPER,
        description="Record storage node, w lines of 64 B",
    )  # fmt: skip
    yield Parameter(
        name="records", type="int", unit="1", default=500_000, low=1, high=4_294_967_295,
        source=_PAPER, description="Records of the table",
    )  # fmt: skip
    yield Parameter(
        name="record_bytes", type="int", unit="B", default=64, low=8, high=1 << 20, source=_PAPER,
        description="Record: its number (4 B), a field (4 B), and the rest",
    )  # fmt: skip
    yield Parameter(
        name="layout", type="str", unit="", default="array", source=_PAPER,
        choices=("array", "slotted", "sorted"),
        description="Records in a node: in order of insertion, behind slots, in order of numbers",
    )  # fmt: skip
    yield Parameter(
        name="placement", type="str", unit="", default="scattered", source=_ASSUMED,
        choices=("arena", "scattered", "size_classes", "malloc"),
        description="Nodes: side by side, in a shared heap, in slabs, by the system's allocator",
    )  # fmt: skip
    yield Parameter(
        name="occupancy", type="int", unit="1", default=4, low=1, high=64, source=_ASSUMED,
        description="Size of the heap of scattered nodes, in sizes of the table",
    )  # fmt: skip
    yield Parameter(
        name="pages", type="str", unit="", default="small", source=_DECLARED,
        choices=("small", "transparent", "huge"),
        description="Pages: usual ones, ones that the system joins, ones set aside",
    )  # fmt: skip
    yield Parameter(
        name="index_bytes", type="int", unit="B", default=LINE_BYTES, low=64, high=16384,
        source=_PAPER, description="Node of the index, whole lines",
    )  # fmt: skip
    yield Parameter(
        name="index", type="str", unit="", default="full", source=_ASSUMED,
        choices=("full", "grown"),
        description="Nodes of the index: full, or as insertions one by one left them",
    )  # fmt: skip
    yield Parameter(
        name="insertion", type="str", unit="", default="random", source=_ASSUMED,
        choices=("random", "ascending"), description="Order of the records' insertion",
    )  # fmt: skip


def query_parameters(*, has_upkeep: bool) -> Iterator[Parameter]:
    """Return the parameters of what is done to a table; upkeep is measured only."""
    yield Parameter(
        name="mode", type="str", unit="", default="idx_ran", source=_PAPER,
        choices=(*SCANS, *CHANGES, *(UPKEEP if has_upkeep else ())),
        description="Physical order, order of the index, at random; or how records change",
    )  # fmt: skip
    yield Parameter(
        name="operation", type="str", unit="", default="retrieve", source=_PAPER,
        choices=("retrieve", "sum"), description="A record is copied, or a field of it added up",
    )  # fmt: skip
    yield Parameter(
        name="scan", type="float", unit="1", default=0.2, low=1e-6, high=1.0, source=_PAPER,
        description="Share of the records that a scan visits, or that change",
    )  # fmt: skip
    yield Parameter(
        name="batch", type="int", unit="1", default=1, low=1, high=64, source=_DECLARED,
        description="Look-ups at once, so that their misses overlap",
    )  # fmt: skip
    yield Parameter(
        name="ahead", type="int", unit="1", default=0, low=0, high=64, source=_DECLARED,
        description="Records or nodes that a scan of the index asks for early",
    )  # fmt: skip
    yield Parameter(
        name="lookups", type="int", unit="1", default=1000, low=1, source=_ASSUMED,
        description="Fewest look-ups of a run at random; otherwise one for each record",
    )  # fmt: skip
    yield Parameter(
        name="most_lookups", type="int", unit="1", default=100_000, low=1, source=_ASSUMED,
        description="Most look-ups of a run at random: a larger table has no more",
    )  # fmt: skip
    yield Parameter(
        name="destination", type="str", unit="", default="one", source=_ASSUMED,
        choices=("one", "all"),
        description="Retrieved records replace each other, or lie side by side",
    )  # fmt: skip
    yield Parameter(
        name="start", type="str", unit="", default="random", source=_ASSUMED,
        choices=("random", "first"), description="Record at which a scan begins",
    )  # fmt: skip
    yield Parameter(
        name="caches", type="str", unit="", default="warm", source=_ASSUMED,
        choices=("warm", "cold"), description="Caches before a run: with the table, or without",
    )  # fmt: skip


def table_spec(config: Mapping[str, Value], seed: int) -> dict[str, Any]:
    """Return the table of a point as the compiled part takes it."""
    scattered = {"scattered": {"k": config["occupancy"]}}
    placement = scattered if config["placement"] == "scattered" else config["placement"]
    table = {
        "node_bytes": config["node_bytes"],
        "record_bytes": config["record_bytes"],
        "capacity": config["records"],
        "layout": config["layout"],
        "placement": placement,
        "pages": config["pages"],
        "index_bytes": config["index_bytes"],
        "seed": seed % 2**64,
    }
    is_grown = config["index"] == "grown"
    return {"table": table, "insertion": config["insertion"], "index_is_grown": is_grown}


def cell_json(config: Mapping[str, Value]) -> bytes:
    """Return the query of a point as the compiled part takes it."""
    cell = {
        "mode": config["mode"],
        "operation": config["operation"],
        # Look-ups at random visit as many records as there are.
        "share": 1.0 if config["mode"] == "idx_ran" else config["scan"],
        "batch": config["batch"],
        "ahead": config["ahead"],
        "lookups": config["lookups"],
        "most_lookups": config["most_lookups"],
        "keeps_all": config["destination"] == "all",
        "from_first": config["start"] == "first",
    }
    return msgspec.json.encode(cell)


_SCANS_ONLY = ("ahead", "start")
_LOOK_UPS_ONLY = ("batch", "lookups", "most_lookups")


def used(config: Mapping[str, Value]) -> dict[str, Value]:
    """Return the parameters that a point depends on: a look-up at random has no scan.

    Examples
    --------
    >>> used({"mode": "idx_ran", "scan": 0.2, "start": "first", "batch": 1, "placement": "arena",
    ...       "occupancy": 4})
    {'mode': 'idx_ran', 'batch': 1, 'placement': 'arena'}
    """
    mode = config.get("mode")
    if mode is None:  # A fit asks what its target depends on, whatever the query.
        return dict(config)
    left_out = set(_SCANS_ONLY if mode not in SCANS[:2] else ())
    left_out |= set(_LOOK_UPS_ONLY if mode != "idx_ran" else ())
    if mode == "idx_ran":
        left_out.add("scan")
    if mode not in SCANS:
        left_out |= {"operation", "destination"}
    if config["placement"] != "scattered":
        left_out.add("occupancy")
    return {name: value for name, value in config.items() if name not in left_out}


def version(config: Mapping[str, Value]) -> int:
    """Return the version of the store that a layout belongs to: results of others are not reused.

    Examples
    --------
    >>> version({"layout": "array"}), version({"layout": "sorted"})
    (1, 2)
    """
    return 2 if config.get("layout") == "sorted" else 1


TABLE = tuple(one.name for one in table_parameters())


def table_key(config: Mapping[str, Value]) -> str:
    """Return the table of a point as text: points with the same one can share it."""
    return " ".join(f"{name}={config[name]}" for name in TABLE)
