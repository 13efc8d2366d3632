"""Configurations that the advisor chooses among, and which of them can be.

Invariant: a configuration that is left out is left out with its reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from headroom.systems.records import native
from headroom.systems.records.advisor.question import ANY, LAYOUTS, Question
from headroom.systems.records.parameters import Table, table_spec

NODES = (256, 512, 1024, 2048, 4096, 8192, 16384, 65536)
INDEXES = (64, 128, 256, 512, 1024, 4096)
PAGES = ("small", "transparent", "huge")
_KIB = 1024
_HUGE_BYTES = 2 << 20
_HUGE_MODE = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@dataclass(frozen=True, slots=True, order=True)
class Configuration:
    """A layout of a table; sizes in bytes (B).

    Examples
    --------
    >>> str(Configuration("sorted", 1024, 256, "transparent"))
    'sorted nodes of 1 KiB, index nodes of 256 B, transparent huge pages'
    """

    layout: str
    node_bytes: int
    index_bytes: int
    pages: str

    def __str__(self) -> str:
        nodes, index = (size_text(size) for size in (self.node_bytes, self.index_bytes))
        kind = {"transparent": "transparent huge"}.get(self.pages, self.pages)
        return f"{self.layout} nodes of {nodes}, index nodes of {index}, {kind} pages"

    def to_data(self) -> dict[str, Any]:
        """Return it as parameters of the system `records`."""
        names = ("layout", "node_bytes", "index_bytes", "pages")
        return {name: getattr(self, name) for name in names}


def size_text(size: int) -> str:
    """Return bytes as a short size.

    Examples
    --------
    >>> size_text(1024), size_text(64), size_text(1100)
    ('1 KiB', '64 B', '1100 B')
    """
    return f"{size // _KIB} KiB" if size >= _KIB and size % _KIB == 0 else f"{size} B"


def table_config(question: Question, configuration: Configuration) -> dict[str, Any]:
    """Return all parameters of the table of a configuration."""
    return {
        **msgspec.to_builtins(Table()),
        **configuration.to_data(),
        "records": question.records,
        "record_bytes": question.record_bytes,
        "placement": question.placement,
        "index": "grown" if question.changes_keys else "full",
    }


def footprint(question: Question, configuration: Configuration) -> dict[str, int]:
    """Return the memory of a table as `headroom.systems.records.native.footprint` does.

    Raises
    ------
    ValueError
        The table cannot be, and why.
    """
    return native.footprint(
        msgspec.json.encode(table_spec(table_config(question, configuration), 0))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """The levels of each factor, and what is left out.

    Parameters
    ----------
    layouts, nodes, indexes, pages
        Levels, ascending.
    left_out
        Why levels are missing, one sentence each.
    """

    layouts: Sequence[str]
    nodes: Sequence[int]
    indexes: Sequence[int]
    pages: Sequence[str]
    left_out: tuple[str, ...] = ()

    def all(self, question: Question) -> list[Configuration]:
        """Return every configuration that can be."""
        every = product(self.layouts, self.nodes, self.indexes, self.pages)
        return [one for one in (Configuration(*levels) for levels in every) if fits(question, one)]

    def start(self, layout: str) -> Configuration:
        """Return where the search of a layout begins: page-sized nodes, small index nodes."""
        node = min(self.nodes, key=lambda size: abs(size - 4096))
        index = min(self.indexes, key=lambda size: abs(size - 256))
        return Configuration(layout, node, index, self.pages[-1])

    def along(self, configuration: Configuration, factor: str) -> Iterator[Configuration]:
        """Yield the configurations that differ in one factor at most."""
        if factor == "node_bytes":
            yield from (replace(configuration, node_bytes=size) for size in self.nodes)
        elif factor == "index_bytes":
            yield from (replace(configuration, index_bytes=size) for size in self.indexes)
        else:
            yield from (replace(configuration, pages=kind) for kind in self.pages)

    def around(self, configuration: Configuration) -> Iterator[Configuration]:
        """Yield the neighbours by a step of node, of index node, or of both."""
        node, index = (
            self.nodes.index(configuration.node_bytes),
            self.indexes.index(configuration.index_bytes),
        )
        for here, there in product((node - 1, node, node + 1), (index - 1, index, index + 1)):
            if 0 <= here < len(self.nodes) and 0 <= there < len(self.indexes):
                yield replace(
                    configuration, node_bytes=self.nodes[here], index_bytes=self.indexes[there]
                )


def fits(question: Question, configuration: Configuration) -> bool:
    """Return whether a record fits into a node, and the pages suit the placement."""
    try:
        footprint(question, configuration)
    except ValueError:
        return False
    return True


def search_space(question: Question, mode_file: Path = _HUGE_MODE) -> Space:
    """Return the levels that this machine and these records allow.

    A record that is larger than all usual nodes gets nodes of one and of four records.
    """
    left_out = []
    wide = max(question.record_bytes + 8, 1)
    nodes = [size for size in NODES if size >= wide]
    if len(nodes) < len(NODES):
        left_out.append(f"nodes below {size_text(nodes[0] if nodes else wide)} hold no record")
    for records in (1, 4):
        size = records * (question.record_bytes + 4) + 64
        if not nodes or size > max(nodes):
            nodes.append(-(-size // 64) * 64)
    pages, reasons = _pages(question, sorted(nodes), mode_file)
    return Space(
        layouts=LAYOUTS if question.layout == ANY else (question.layout,),
        nodes=sorted(nodes), indexes=INDEXES, pages=pages,
        left_out=(*left_out, *reasons),
    )  # fmt: skip


def _pages(
    question: Question, nodes: Sequence[int], mode_file: Path
) -> tuple[list[str], list[str]]:
    if question.placement == "malloc":
        return ["small"], ["huge pages: the system's allocator chooses its pages itself"]
    pages, reasons = ["small"], []
    mode = mode_file.read_text(encoding="ascii") if mode_file.is_file() else "[never]"
    if "[never]" in mode:
        reasons.append(
            "transparent huge pages: the system joins none (transparent_hugepage/enabled)"
        )
    else:
        pages.append("transparent")
    needed = _set_aside_needed(question, nodes)
    free = free_huge_pages()
    if free >= needed:
        pages.append("huge")
    else:
        reasons.append(
            f"huge pages set aside: {free:,} are free, {needed:,} needed (vm.nr_hugepages)"
        )
    return pages, reasons


def _set_aside_needed(question: Question, nodes: Sequence[int]) -> int:
    """Return the huge pages that the largest table of the search takes."""
    needed = 0
    for layout, node, index in product(LAYOUTS, (nodes[0], nodes[-1]), (INDEXES[0], INDEXES[-1])):
        try:
            taken = footprint(question, Configuration(layout, node, index, "huge"))
        except ValueError:
            continue
        # Each region takes whole pages, and that of the index is twice as large as its content.
        pages = (
            -(-size // _HUGE_BYTES) for size in (taken["area_bytes"], 2 * taken["index_bytes"])
        )
        needed = max(needed, sum(pages))
    return needed


def free_huge_pages(path: Path = Path("/proc/meminfo")) -> int:
    """Return the huge pages that are set aside and free."""
    for line in path.read_text(encoding="ascii").splitlines():
        name, _, rest = line.partition(":")
        if name == "HugePages_Free":
            return int(rest)
    return 0


def paper_configuration(space: Space, question: Question) -> Configuration:
    """Return the paper's choice: an array of page-sized nodes, an index of lines, small pages."""
    node = next((size for size in space.nodes if size >= max(8192, question.record_bytes)), 0)
    return Configuration("array", node or max(space.nodes), 64, "small")


def chosen(configuration: Configuration, batch: int, ahead: int, mix: Mapping[str, float]) -> str:
    """Return a configuration with how it is asked, as text."""
    asked = []
    if mix.get("lookup"):
        asked.append(f"batches of {batch}" if batch > 1 else "one look-up at a time")
    if mix.get("scan") and ahead:
        asked.append(f"scans {ahead} ahead")
    return ", ".join([str(configuration), *asked])
