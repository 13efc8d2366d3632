"""Why a configuration takes its time: the parts of the modelled time of its mix, on this machine.

The same accesses of the same store go through the caches and TLBs that the probe found. The model
counts the causes; the measured time stays the answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from headroom.systems.records import native
from headroom.systems.records.advisor.configurations import Configuration, table_config
from headroom.systems.records.advisor.question import Question
from headroom.systems.records.advisor.timing import cell_of
from headroom.systems.records.machine_file import TLBS, machine_spec
from headroom.systems.records.model import time_of, tlb_misses
from headroom.systems.records.parameters import table_spec

_VISITS = 3_000
_MOST_RECORDS = 1_000_000
"""A simulated table needs no more: it is larger than all caches."""
_HUGE_RATIO = 512
CAUSES = {
    "memory": "lines fetched from memory",
    "caches": "lines fetched from farther caches",
    "tlbs": "misses of the TLBs",
    "copies": "copying the records",
    "work": "the processor's own work",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """The modelled time of a mix by its causes.

    Parameters
    ----------
    shares
        Cause (see `CAUSES`) to its share of the time.
    operation_s
        Modelled time (s) of an operation.
    lines, tlb_misses
        Lines of memory and misses of the last TLB, for each operation.
    """

    shares: Mapping[str, float]
    operation_s: float
    lines: float
    tlb_misses: float

    @property
    def largest(self) -> str:
        """The cause with the largest share."""
        return max(self.shares, key=self.shares.__getitem__)


def explain(
    question: Question,
    configuration: Configuration,
    machine: Mapping[str, Any],
    *,
    batch: int,
    ahead: int,
    seed: int,
) -> Reason:
    """Return why a configuration takes its time.

    Parameters
    ----------
    machine
        Parameters of `records_model`, from `headroom.systems.records.advisor.machine`.
    batch, ahead
        How it is asked.
    """
    # The model has no allocator; slabs of size classes are what allocators keep.
    placement = "size_classes" if question.placement == "malloc" else question.placement
    asked = replace(question, records=min(question.records, _MOST_RECORDS), placement=placement)
    config = {**machine, **table_config(asked, configuration), "caches": "warm"}
    if configuration.pages != "small":
        # The entries of a TLB stay as many; what they reach grows.
        config |= {
            f"tlb{one}_bytes": _HUGE_RATIO * float(config[f"tlb{one}_bytes"]) for one in TLBS
        }
        config["page_bytes"] = _HUGE_RATIO * int(config["page_bytes"])
    table = native.Table(msgspec.json.encode(table_spec(config, seed)))
    totals = dict.fromkeys(CAUSES, 0.0)
    lines = misses = 0.0
    for name, share in asked.mix.items():
        level = {"lookup": batch, "scan": ahead}.get(name, 0)
        cell = cell_of(asked, name, _VISITS, level)
        found = table.simulate(
            cell=msgspec.json.encode(cell), machine=msgspec.json.encode(machine_spec(config)),
            warm_up=1, seed=seed,
        )  # fmt: skip
        found = {**found, "runs": 1}
        operations = cell["scans"] if name == "scan" else found["visits"]
        mode = {"mode": cell["mode"], "batch": batch, "ahead": ahead}
        parts = time_of({**config, **mode}, found)
        for cause in CAUSES:
            totals[cause] += share * getattr(parts, cause) / operations
        lines += share * (found["lone"] + found["streamed"]) / operations
        misses += share * tlb_misses(found) / operations
    total = sum(totals.values())
    shares = {cause: value / total for cause, value in totals.items()}
    return Reason(shares=shares, operation_s=total, lines=lines, tlb_misses=misses)
