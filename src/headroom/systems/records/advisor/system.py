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
from typing import Annotated, ClassVar

import msgspec

from headroom.experiment.protocol.code_digest import code_digest
from headroom.experiment.protocol.declared import Declared, FromDeclaration
from headroom.experiment.protocol.own_process import OwnProcess
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Value
from headroom.memory import native as memory
from headroom.systems.records import native
from headroom.systems.records.advisor.advice import TIME_S, advise, checked_space
from headroom.systems.records.advisor.configurations import chosen
from headroom.systems.records.advisor.question import Question
from headroom.systems.records.advisor.reason import CAUSES
from headroom.systems.records.advisor.shown import notes_of


class AdvisorSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.system]` of the advisor."""

    seconds: Annotated[float, msgspec.Meta(ge=1, le=86_400)] = TIME_S
    """Time (s) of a search."""
    quick: bool = False
    """Whether fewer finalists and visits will do."""


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


@dataclass(frozen=True, slots=True)
class RecordsAdvisor(FromDeclaration):
    """Searches for the fastest layout of a table on this machine.

    Examples
    --------
    >>> advisor = RecordsAdvisor.load(AdvisorSetup(seconds=1.0, quick=True), base=Path())
    >>> len(advisor.parameters())
    7
    """

    name: ClassVar[str] = "records_advisor"
    column: ClassVar[Column] = Column.MEASURE
    setup_type: ClassVar[type[msgspec.Struct]] = AdvisorSetup
    code_key: ClassVar[str] = ""
    declared: ClassVar[type[Declared]] = Question

    setup: AdvisorSetup

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

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse a mix or a table that cannot be, or that this machine has no memory for."""
        checked_space(Question.of(config))

    def own_process(self, config: Mapping[str, Value]) -> OwnProcess:  # noqa: ARG002
        """Return a process on one processor for the searches of a block."""
        return OwnProcess(per="group", group="advisor", cpus=(min(os.sched_getaffinity(0)),))

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Search once."""
        setup = self.setup
        advice = advise(
            Question.of(config), time_s=setup.seconds, seed=seed % 2**63, is_quick=setup.quick
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
        chose = chosen(best.configuration, best.batch, best.ahead, choice.question.shares)
        notes = (f"chose {chose}", *notes_of(advice))
        return Run(values=values, notes=notes)
