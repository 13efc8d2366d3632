"""The system `memory_model`: latency of dependent loads by formula."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import msgspec

from headroom.experiment.protocol.declared import Declared, FromDeclaration, declared_by
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value

MOST_CACHES = 4
MOST_TLBS = 3
LINE_BYTES = 64
"""Bytes (B) of a line: a chase with a shorter stride uses lines several times."""
PAGE_BYTES = 4096
"""Bytes (B) of a small page."""


class ModelSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.system]` of the model: it has no keys."""


def step_names(kind: str, count: int) -> list[tuple[str, str]]:
    """Return the parameters of the steps of a kind: capacity and height.

    Examples
    --------
    >>> step_names("tlb", 1)
    [('tlb1_bytes', 'tlb1_step_s')]
    """
    return [(f"{kind}{number}_bytes", f"{kind}{number}_step_s") for number in range(1, count + 1)]


CACHES, TLBS = step_names("cache", MOST_CACHES), step_names("tlb", MOST_TLBS)


class Chase(Declared, frozen=True, kw_only=True):
    """A chase of dependent loads."""

    bytes: Annotated[int, parameter(unit="B", low=128, source="declared")] = 1 << 20
    """Memory that is touched in random order"""
    stride_bytes: Annotated[int, parameter(unit="B", low=8, source="declared")] = 64
    """Distance of the words"""
    pages: Annotated[Literal["small", "transparent", "huge"], parameter(source="declared")] = (
        "small"
    )
    """Pages; only small ones miss TLBs"""
    chains: Annotated[int, parameter(low=1, high=16, source="declared")] = 1
    """Chases at once"""


def _machine() -> Iterator[Parameter]:
    source = "assumed until it is fitted to a probe"
    yield Parameter(
        name="first_s", type="float", unit="s", default=1.5e-9, low=0, source=source,
        description="Latency of the nearest cache",
    )  # fmt: skip
    for name, what in (("cache", "cache"), ("tlb", "TLB")):
        for size, step in CACHES if name == "cache" else TLBS:
            number = size[len(name)]
            yield Parameter(
                name=size, type="float", unit="B", default=0.0, low=0, source=source,
                description=f"Memory that {what} {number} covers; 0: there is none",
            )  # fmt: skip
            yield Parameter(
                name=step, type="float", unit="s", default=0.0, low=0, source=source,
                description=f"Time that an access behind {what} {number} takes longer",
            )  # fmt: skip
    yield Parameter(
        name="parallel", type="float", unit="1", default=1.0, low=1, source=source,
        description="Loads that are in flight at once, at most",
    )  # fmt: skip


def latency_s(config: Mapping[str, Value]) -> float:
    """Return the latency (s) of a load of one chase alone.

    Examples
    --------
    >>> config = {"bytes": 2048, "stride_bytes": 64, "pages": "huge", "first_s": 1e-9,
    ...           "cache1_bytes": 1024.0, "cache1_step_s": 8e-9}
    >>> round(latency_s(config) * 1e9, 3)
    5.0
    """
    chase = Chase.of(config)
    # Memory in lines that are touched, and in pages.
    lines = chase.bytes * LINE_BYTES / max(chase.stride_bytes, LINE_BYTES)
    pages = chase.bytes * PAGE_BYTES / max(chase.stride_bytes, PAGE_BYTES)
    total = float(config["first_s"]) + _behind(config, CACHES, lines)
    return total + (_behind(config, TLBS, pages) if chase.pages == "small" else 0.0)


def _behind(config: Mapping[str, Value], steps: list[tuple[str, str]], size: float) -> float:
    found = ((float(config.get(end, 0)), float(config.get(step, 0))) for end, step in steps)
    return sum(height * max(0.0, 1.0 - capacity / size) for capacity, height in found)


@dataclass(frozen=True, slots=True)
class MemoryModel(FromDeclaration):
    """Latency by the capacities of caches and TLBs; see `levels`."""

    name: ClassVar[str] = "memory_model"
    column: ClassVar[Column] = Column.MODEL
    setup_type: ClassVar[type[msgspec.Struct]] = ModelSetup
    code_key: ClassVar[str] = ""
    declared: ClassVar[type[Declared]] = Chase

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:  # noqa: ARG003 - the protocol's
        """Return the system."""
        return cls()

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the chase, and the machine."""
        return (*declared_by(Chase), *_machine())

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:  # noqa: ARG002
        """Return the metrics, those of the probe's chase."""
        return (
            Metric(
                name="load_s", unit="s", better="low", description="Time of a load of one chain"
            ),
            Metric(
                name="access_s", unit="s", better="low", description="Time of an access, all chains"
            ),
        )

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return all parameters."""
        return f"memory_model 1 {sorted(config.items())}"

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:  # noqa: ARG002
        """Return the latency by formula."""
        alone_s, chains = latency_s(config), Chase.of(config).chains
        load_s = alone_s * max(1.0, chains / float(config["parallel"]))
        return Run(values={"load_s": load_s, "access_s": load_s / chains})
