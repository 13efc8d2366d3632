"""The system `records_advisor`: a search as a replication, so that a study can repeat it.

Invariant: a replication is one whole search, with new tables. The points of a block share a
process, which probes the machine once.
"""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar, Self

import msgspec

from headroom.experiment.protocol.code_digest import code_digest
from headroom.experiment.protocol.own_process import OwnProcess
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value
from headroom.memory import native as memory
from headroom.systems.records import native
from headroom.systems.records.advisor.advice import TIME_S, advise, checked_space
from headroom.systems.records.advisor.configurations import chosen
from headroom.systems.records.advisor.question import (
    ANY,
    DEFAULT_MIX,
    LAYOUTS,
    MOST_BATCH,
    PLACEMENTS,
    Question,
    parse_mix,
)
from headroom.systems.records.advisor.reason import CAUSES
from headroom.systems.records.advisor.shown import notes_of


class AdvisorSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.system]` of the advisor."""

    seconds: Annotated[float, msgspec.Meta(ge=1, le=86_400)] = TIME_S
    """Time (s) of a search."""
    quick: bool = False
    """Whether fewer finalists and visits will do."""


_PARAMETERS = (
    Parameter(name="record_bytes", type="int", unit="B", default=64, low=8, high=1 << 20,
              source="declared", description="Size of a record"),
    Parameter(name="records", type="int", unit="1", default=1_000_000, low=1, high=4_294_967_295,
              source="declared", description="Records of the table"),
    Parameter(name="mix", type="str", unit="", default=DEFAULT_MIX, source="declared",
              description="Shares of operations: lookup, scan, insert, update, delete"),
    Parameter(name="scan_records", type="int", unit="1", default=100, low=1, source="declared",
              description="Records that a scan visits"),
    Parameter(name="most_batch", type="int", unit="1", default=MOST_BATCH, low=1, high=MOST_BATCH,
              source="declared", description="Look-ups that the program asks for at once"),
    Parameter(name="placement", type="str", unit="", default="arena", choices=PLACEMENTS,
              source="declared", description="Where nodes are put"),
    Parameter(name="layout", type="str", unit="", default=ANY, choices=(ANY, *LAYOUTS),
              source="declared", description="The only layout that is searched; any: all"),
)  # fmt: skip
_METRICS = (
    Metric(name="operation_s", unit="s", better="low", description="Time of an operation, chosen"),
    Metric(
        name="paper_operation_s", unit="s", better="low", description="Time of the paper's node"
    ),
    Metric(name="gain", unit="1", better="high", description="Paper's time by that of the choice"),
    Metric(
        name="rivals", unit="1", better="low", description="Finalists not slower than the choice"
    ),
    Metric(name="chosen_node_bytes", unit="B", description="Chosen record storage node"),
    Metric(name="chosen_index_bytes", unit="B", description="Chosen node of the index"),
    Metric(name="chosen_batch", unit="1", description="Chosen look-ups at once"),
    Metric(name="chosen_ahead", unit="1", description="Nodes that scans ask for ahead, chosen"),
    Metric(name="timed", unit="1", description="Configurations that were timed"),
    Metric(name="search_s", unit="s", better="low", description="Time of the search"),
    *(
        Metric(name=f"{name}_share", unit="1", description=f"Share of the modelled time: {text}")
        for name, text in CAUSES.items()
    ),
)

_FOLDER = Path(__file__).parent
_BELOW = ("fit", "machine_file", "model", "parameters")
"""Modules of the layer that the model explains with."""
_NOT_RUN = ("command", "shown")


@cache
def _code() -> str:
    """Return a hash of the Python code of a search."""
    own = (
        file
        for file in _FOLDER.glob("*.py")
        if file.stem not in _NOT_RUN and not file.stem.startswith("test_")
    )
    return code_digest([*own, *(_FOLDER.parent / f"{name}.py" for name in _BELOW)])


def question_of(config: Mapping[str, Value]) -> Question:
    """Return the question of a point."""
    return Question(
        record_bytes=int(config["record_bytes"]), records=int(config["records"]),
        mix=parse_mix(str(config["mix"])), scan_records=int(config["scan_records"]),
        most_batch=int(config["most_batch"]), placement=str(config["placement"]),
        layout=str(config["layout"]),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecordsAdvisor:
    """Searches for the fastest layout of a table on this machine.

    Examples
    --------
    >>> advisor = RecordsAdvisor.load(AdvisorSetup(seconds=1.0, quick=True), base=Path())
    >>> [one.name for one in advisor.parameters()][:3]
    ['record_bytes', 'records', 'mix']
    """

    name: ClassVar[str] = "records_advisor"
    column: ClassVar[Column] = Column.MEASURE
    setup_type: ClassVar[type[msgspec.Struct]] = AdvisorSetup

    setup: AdvisorSetup

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:  # noqa: ARG003 - the protocol's
        """Return the system for a validated `setup`."""
        return cls(msgspec.convert(msgspec.to_builtins(setup), AdvisorSetup))

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the table and its use."""
        return _PARAMETERS

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:  # noqa: ARG002
        """Return the choice, its time and its margin."""
        return _METRICS

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return the question, the effort, and the code that searches, times and explains."""
        setup = msgspec.to_builtins(self.setup)
        compiled = f"{native.MEASURED_CODE} {native.MODELLED_CODE} {memory.PROBE_CODE}"
        return f"records_advisor 1 {compiled} {_code()} {setup} {sorted(config.items())}"

    def found_at(self, config: Mapping[str, Value]) -> str:  # noqa: ARG002 - the protocol's
        """Return the machine: results of another one are not reused."""
        return f"{platform.node()} {platform.machine()} {os.cpu_count()}"

    def prepare(self) -> Mapping[str, float | str]:
        """Return nothing: a replication notes what it finds."""
        return {}

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse a mix or a table that cannot be, or that this machine has no memory for."""
        checked_space(question_of(config))

    def own_process(self, config: Mapping[str, Value]) -> OwnProcess:  # noqa: ARG002
        """Return a process on one processor for the searches of a block."""
        return OwnProcess(per="group", group="advisor", cpus=(min(os.sched_getaffinity(0)),))

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Search once."""
        setup = self.setup
        advice = advise(
            question_of(config), time_s=setup.seconds, seed=seed % 2**63, is_quick=setup.quick
        )
        choice, reason = advice.choice, advice.reason
        best = choice.best
        values = {
            "operation_s": best.operation_s,
            "rivals": float(sum(other.verdict != "slower" for other in choice.others)),
            "chosen_node_bytes": float(best.configuration.node_bytes),
            "chosen_index_bytes": float(best.configuration.index_bytes),
            "chosen_batch": float(best.batch),
            "chosen_ahead": float(best.ahead),
            "timed": float(len(choice.seen)),
            "search_s": choice.taken_s,
        }
        if choice.paper is not None:
            values |= {
                "paper_operation_s": choice.paper.operation_s, "gain": choice.paper.ratio.value,
            }  # fmt: skip
        if reason is not None:
            values |= {f"{name}_share": share for name, share in reason.shares.items()}
        # Without times, so that equal choices are counted.
        chose = chosen(best.configuration, best.batch, best.ahead, choice.question.mix)
        notes = (f"chose {chose}", *notes_of(advice))
        return Run(values=values, notes=notes)
