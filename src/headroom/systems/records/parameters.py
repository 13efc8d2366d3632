"""Parameters of a table and of a query, for both columns.

The paper is Kim, Lee, Lee: *Optimal Size of Record Storage Node in MMDB Considering
Cache-consciousness*. Each choice that it leaves open is a parameter, with the choice of
`record_node_size`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from headroom.experiment.protocol.declared import Declared
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.system import Value

LINE_BYTES = 64
SCANS = ("phy_seq", "idx_seq", "idx_ran")
CHANGES = ("insert", "update", "delete")
UPKEEP = ("protect", "checkpoint")
PAPER = "paper"
_ASSUMED = "assumed: the paper leaves it open"
_DECLARED = "declared"
Layout: TypeAlias = Literal["array", "slotted", "sorted"]
Placement: TypeAlias = Literal["arena", "scattered", "size_classes", "malloc"]
Pages: TypeAlias = Literal["small", "transparent", "huge"]


class Table(Declared, frozen=True, kw_only=True):
    """A table, and the nodes that hold its records."""

    node_bytes: Annotated[int, parameter(unit="B", low=8, high=1 << 24, source=PAPER)] = 8192
    """Record storage node, w lines of 64 B"""
    records: Annotated[int, parameter(low=1, high=4_294_967_295, source=PAPER)] = 500_000
    """Records of the table"""
    record_bytes: Annotated[int, parameter(unit="B", low=8, high=1 << 20, source=PAPER)] = 64
    """Record: its number (4 B), a field (4 B), and the rest"""
    layout: Annotated[Layout, parameter(source=PAPER)] = "array"
    """Records in a node: in order of insertion, behind slots, in order of numbers"""
    placement: Annotated[Placement, parameter(source=_ASSUMED)] = "scattered"
    """Nodes: side by side, in a shared heap, in slabs, by the system's allocator"""
    occupancy: Annotated[int, parameter(low=1, high=64, source=_ASSUMED)] = 4
    """Size of the heap of scattered nodes, in sizes of the table"""
    pages: Annotated[Pages, parameter(source=_DECLARED)] = "small"
    """Pages: usual ones, ones that the system joins, ones set aside"""
    index_bytes: Annotated[int, parameter(unit="B", low=64, high=16384, source=PAPER)] = LINE_BYTES
    """Node of the index, whole lines"""
    index: Annotated[Literal["full", "grown"], parameter(source=_ASSUMED)] = "full"
    """Nodes of the index: full, or as insertions one by one left them"""
    insertion: Annotated[Literal["random", "ascending"], parameter(source=_ASSUMED)] = "random"
    """Order of the records' insertion"""


class Query(Table, frozen=True, kw_only=True):
    """A table and what is done to it."""

    mode: Annotated[str, parameter(choices=(*SCANS, *CHANGES), source=PAPER)] = "idx_ran"
    """Physical order, order of the index, at random; or how records change"""
    operation: Annotated[Literal["retrieve", "sum"], parameter(source=PAPER)] = "retrieve"
    """A record is copied, or a field of it added up"""
    scan: Annotated[float, parameter(low=1e-6, high=1.0, source=PAPER)] = 0.2
    """Share of the records that a scan visits, or that change"""
    batch: Annotated[int, parameter(low=1, high=64, source=_DECLARED)] = 1
    """Look-ups at once, so that their misses overlap"""
    ahead: Annotated[int, parameter(low=0, high=64, source=_DECLARED)] = 0
    """Records or nodes that a scan of the index asks for early"""
    lookups: Annotated[int, parameter(low=1, source=_ASSUMED)] = 1000
    """Fewest look-ups of a run at random; otherwise one for each record"""
    most_lookups: Annotated[int, parameter(low=1, source=_ASSUMED)] = 100_000
    """Most look-ups of a run at random: a larger table has no more"""
    destination: Annotated[Literal["one", "all"], parameter(source=_ASSUMED)] = "one"
    """Retrieved records replace each other, or lie side by side"""
    start: Annotated[Literal["random", "first"], parameter(source=_ASSUMED)] = "random"
    """Record at which a scan begins"""
    caches: Annotated[Literal["warm", "cold"], parameter(source=_ASSUMED)] = "warm"
    """Caches before a run: with the table, or without"""


def table_spec(config: Mapping[str, Value], seed: int) -> dict[str, Any]:
    """Return the table of a point as the compiled part takes it."""
    one = Table.of(config)
    table = {
        "node_bytes": one.node_bytes,
        "record_bytes": one.record_bytes,
        "capacity": one.records,
        "layout": one.layout,
        "placement": (
            {"scattered": {"k": one.occupancy}} if one.placement == "scattered" else one.placement
        ),
        "pages": one.pages,
        "index_bytes": one.index_bytes,
        "seed": seed % 2**64,
    }
    return {"table": table, "insertion": one.insertion, "index_is_grown": one.index == "grown"}


def cell_json(config: Mapping[str, Value]) -> bytes:
    """Return the query of a point as the compiled part takes it."""
    one = Query.of(config)
    cell = {
        "mode": one.mode,
        "operation": one.operation,
        # Look-ups at random visit as many records as there are.
        "share": 1.0 if one.mode == "idx_ran" else one.scan,
        "batch": one.batch,
        "ahead": one.ahead,
        "lookups": one.lookups,
        "most_lookups": one.most_lookups,
        "keeps_all": one.destination == "all",
        "from_first": one.start == "first",
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


def table_key(config: Mapping[str, Value]) -> str:
    """Return the table of a point as text: points with the same one can share it."""
    return " ".join(f"{name}={config[name]}" for name in Table.__struct_fields__)
