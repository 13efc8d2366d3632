"""Why a configuration takes its time: the parts of the modelled time of its mix, on this machine.

The same accesses of the same store go through the caches and TLBs that the probe found. Costs of
work and overlaps are fitted to the timings of the search, as the fit method `records.machine` does;
the choice is predicted with them. The measured time stays the answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from headroom.systems.records import native
from headroom.systems.records.advisor.configurations import Configuration, table_config
from headroom.systems.records.advisor.question import Question
from headroom.systems.records.advisor.search import Choice
from headroom.systems.records.advisor.timing import cell_of
from headroom.systems.records.fit import cost_row, fitted_costs
from headroom.systems.records.machine_file import TLBS, machine_spec
from headroom.systems.records.model import completed, memory_lines, time_of, tlb_misses
from headroom.systems.records.parameters import table_spec

_VISITS = 3_000
_MOST_RECORDS = 1_000_000
"""A simulated table needs no more: it is larger than all caches."""
_HUGE_RATIO = 512
MOST_FITTED = 12
"""Configurations that costs and overlaps are fitted to."""
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


@dataclass(frozen=True, slots=True)
class _Counted:
    """The misses and work of one operation on a simulated machine."""

    config: Mapping[str, Any]
    found: Mapping[str, Any]
    operations: float


def fitted_machine(
    choice: Choice, machine: Mapping[str, Any], *, seed: int, most: int = MOST_FITTED
) -> dict[str, Any]:
    """Return a machine whose costs of work and overlaps agree with the timings of a search.

    The chosen configuration is left out, so that its time is predicted and not repeated.

    Parameters
    ----------
    choice
        The search; the fastest tables of the chosen layout count.
    machine
        Caches and TLBs of the probe, as parameters of `records_model`.
    most
        Configurations to simulate; each needs a table.
    """
    best = choice.best.configuration
    like = [one for one in choice.seen if one.layout == best.layout and one != best]
    like.sort(key=lambda one: choice.seen[one].operation_s)
    swept = replace(choice.question, records=choice.sweep_records)
    rows = []
    for one in like[:most]:
        timing = choice.seen[one]
        counted = _counts(swept, one, machine, batch=timing.batch, ahead=timing.ahead, seed=seed)
        rows += [
            cost_row(run.config, run.found, timing.each_s[name] * run.operations)
            for name, run in counted.items()
        ]
    rows += _rows_alone(choice, machine, seed=seed)
    if not rows:
        return dict(machine)
    return {**machine, **{one.name: one.value for one in fitted_costs(np.array(rows))}}


def _rows_alone(choice: Choice, machine: Mapping[str, Any], *, seed: int) -> list[list[float]]:
    """Return the rows of look-ups one at a time: they tell waiting from work.

    In batches waits overlap, so that times of batches alone fit to many divisions.
    """
    asked = replace(choice.question, records=choice.final_records)
    compared = [*choice.others, *([choice.paper] if choice.paper is not None else [])]
    if "lookup" not in asked.shares:
        return []
    asked = replace(asked, mix="lookup=1")
    rows = []
    for one in compared:
        known = [taken for at in one.timings if (taken := at.lookup_alone_s) is not None]
        if known and one.configuration != choice.best.configuration:
            counted = _counts(asked, one.configuration, machine, batch=1, ahead=0, seed=seed)
            run = counted["lookup"]
            rows.append(cost_row(run.config, run.found, float(np.median(known)) * run.operations))
    return rows


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
        Parameters of `records_model`, from `fitted_machine`.
    batch, ahead
        How it is asked.
    """
    totals = dict.fromkeys(CAUSES, 0.0)
    lines = misses = 0.0
    counted = _counts(question, configuration, machine, batch=batch, ahead=ahead, seed=seed)
    for name, run in counted.items():
        share = question.shares[name] / run.operations
        parts = time_of(run.config, run.found)
        for cause in CAUSES:
            totals[cause] += share * getattr(parts, cause)
        lines += share * memory_lines(run.found)
        misses += share * tlb_misses(run.found)
    total = sum(totals.values())
    shares = {cause: value / total for cause, value in totals.items()}
    return Reason(shares=shares, operation_s=total, lines=lines, tlb_misses=misses)


def _counts(
    question: Question,
    configuration: Configuration,
    machine: Mapping[str, Any],
    *,
    batch: int,
    ahead: int,
    seed: int,
) -> dict[str, _Counted]:
    """Return the misses of each operation of a mix, on one table."""
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
    spec, simulated = (msgspec.json.encode(one) for one in (table_spec(config, seed),
                                                            machine_spec(config)))  # fmt: skip
    table = native.Table(spec)
    counted = {}
    for name in asked.shares:
        level = {"lookup": batch, "scan": ahead}.get(name, 0)
        cell = cell_of(asked, name, _VISITS, level)
        found = table.simulate(
            cell=msgspec.json.encode(cell), machine=simulated, warm_up=1, seed=seed
        )
        operations = cell["scans"] if name == "scan" else found["visits"]
        mode = {"mode": cell["mode"], "batch": batch, "ahead": ahead}
        counted[name] = _Counted({**config, **mode}, completed(found, config), float(operations))
    return counted
