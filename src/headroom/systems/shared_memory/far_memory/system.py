"""The system `far_memory`: a program of the user on a simulated machine with far memory.

The program is compiled with hooks, run once, and its recorded accesses are simulated on the machine
of each point, with and without the cache of far memory.

Invariant: replication r of each point simulates recording r, which is made before workers start.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, ClassVar, Self

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.declared import Declared, FromDeclaration, declared_by
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.section import Section, SectionPoint
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value
from headroom.systems.shared_memory import native
from headroom.systems.shared_memory.far_memory.recording import (
    Program,
    is_runnable,
    recorded,
    relative,
)
from headroom.systems.shared_memory.far_memory.sections import program_sections
from headroom.systems.shared_memory.far_memory.tables import tables
from headroom.systems.shared_memory.hook.build import find_compiler
from headroom.systems.shared_memory.hook.record import TraceError
from headroom.systems.shared_memory.simulated.machine_file import (
    machine_path,
    read_machine,
    setup_json,
)
from headroom.systems.shared_memory.simulated.system import (
    METRICS,
    MovesPrivate,
    check_addresses,
    check_home,
    values,
)

PLACEMENTS = ("first_touch", "interleave", "equal_cut", "most")
UNCACHED = "uncached"
_INSTRUCTIONS = "assumed: programs of SPLASH-2 execute 2 to 8; the hooks do not see instructions"
_ATOMIC = "threads wait for atomic objects {:,} times, in the order of the recording"
_ONE = "one recording, so there is no interval: recordings = 3 shows how much others differ"
_TABLES = 2
"""Version of the tables of a run: results that lack some are found again."""
_CPP = (".C", ".cc", ".cpp", ".cxx")


class ProgramSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys that recorded and delayed programs have in common."""

    sources: tuple[str, ...] = ()
    """Files of C and C++ that are compiled with hooks, relative to the study."""
    program: str = ""
    """A program that was compiled with hooks, relative to the study."""
    flags: tuple[str, ...] = ("-O2",)
    """Flags of the compiler and the linker."""
    argv: tuple[str, ...] = ()
    """Arguments of the program, which runs in the folder of the study."""
    machine: Annotated[str, msgspec.Meta(min_length=1)] = "ncc"
    """Machine file: `ncc`, `two_socket`, `cxl_pool`, ..., or the path of another."""
    machine_without_cache: str = ""
    """Machine of the points without a cache; if it is left out, the same without its cache."""


class FarMemorySetup(ProgramSetup, frozen=True, kw_only=True):
    """`[experiment.system]` of a recorded program: `sources` or `program`, and the machine."""

    recordings: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    """Recordings of the program, one for each replication: there are no more replications."""


class Recorded(Declared, frozen=True, kw_only=True):
    """How a recorded program uses a machine."""

    nodes: Annotated[int, parameter(low=1, high=native.MOST_NODES, source="declared")] = 2
    """Nodes; the threads are dealt out to their processors in turn"""
    cache: Annotated[bool, parameter(source="declared")] = True
    """Whether nodes cache lines of other nodes"""
    placement: Annotated[str, parameter(choices=PLACEMENTS, source="declared")] = "first_touch"
    """Homes of pages: the first user, pages in turn, all pages in equal parts, or the node that
    uses the page most"""
    moves_private: MovesPrivate = "nothing"
    """Shared memory of one node alone that becomes private: nothing, pages, or parts of 64 bytes,
    as if the program had been changed"""
    instructions_per_access: Annotated[int, parameter(low=1, high=1000, source=_INSTRUCTIONS)] = 3
    """Instructions for each access, with its own"""


_METRICS = (
    *METRICS,
    Metric(name="threads", unit="1", better="none", description="Threads of the program"),
)


@dataclass(frozen=True, slots=True)
class FarMemory(FromDeclaration):
    """A recorded program on a simulated machine."""

    name: ClassVar[str] = "far_memory"
    column: ClassVar[Column] = Column.MODEL
    setup_type: ClassVar[type[msgspec.Struct]] = FarMemorySetup
    declared: ClassVar[type[Declared]] = Recorded

    program: Program
    recordings: int
    machine: tuple[Parameter, ...] = field(compare=False, repr=False)
    without: Mapping[str, Value] = field(compare=False, repr=False)
    """Values of the machine without a cache where it differs."""

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:
        """Return the system for a validated `setup`; paths start at `base`."""
        given = msgspec.convert(msgspec.to_builtins(setup), FarMemorySetup)
        if bool(given.sources) == bool(given.program):
            raise StudyError(
                "far_memory needs either sources or a program",
                cure='write sources = ["program.c"], or program = "./program" if it has hooks',
            )
        program = Program(
            sources=tuple((base / name).absolute() for name in given.sources),
            program=(base / given.program).absolute() if given.program else None,
            flags=given.flags,
            argv=given.argv,
            folder=base.absolute(),
        )
        machine = read_machine(machine_path(given.machine, base))
        without: dict[str, Value] = {"protocol": UNCACHED}
        if given.machine_without_cache:
            other = read_machine(machine_path(given.machine_without_cache, base))
            defaults = {one.name: one.default for one in machine}
            without |= {
                one.name: one.default
                for one in other
                if one.default is not None and one.default != defaults[one.name]
            }
        return cls(program, given.recordings, machine, without)

    def parameters(self) -> tuple[Parameter, ...]:
        """Return what a study may set: of the machine, what both of its forms have in common.

        If the machine without a cache differs in a number, `cache` decides about it.
        """
        fixed = self.without.keys() - {"protocol"}
        return (*declared_by(Recorded), *(one for one in self.machine if one.name not in fixed))

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:  # noqa: ARG002
        """Return the same metrics at each point."""
        return _METRICS

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return the code of the simulator, the program, and the machine of the point."""
        words = [_TABLES, self.digest(), self.program.flags, self.program.argv, self.recordings]
        machine = sorted(self.whole_machine(config).items())
        return f"far_memory {native.TRACED_CODE} {words} {machine}"

    def sections(self, points: Sequence[SectionPoint]) -> Sequence[Section]:
        """Return what the time is spent on, and where far accesses come from."""
        return program_sections(points)

    def check_files(self, config: Mapping[str, Value]) -> None:
        """Refuse a missing file, and sources without a compiler."""
        for path in self.program.files():
            if not path.is_file():
                raise StudyError(f"there is no file {path}", cure="correct its path in the study")
        own = self.program.program
        if own is not None and not is_runnable(own):
            raise StudyError(f"{own} cannot be run", cure=f"chmod +x {own}")
        if self.program.sources:
            is_cpp = any(path.suffix in _CPP for path in self.program.sources)
            find_compiler(is_cpp=is_cpp)
        self._check_machine(config)

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse a program that cannot run, then record it."""
        self.check_files(config)
        for number in range(self.recordings):
            recorded(self.program, self.digest(), number)

    def _check_machine(self, config: Mapping[str, Value]) -> None:
        whole = self.whole_machine(config)
        check_addresses(whole)
        if Recorded.of(config).cache and whole["protocol"] == UNCACHED:
            raise StudyError(
                'cache = true on a machine with protocol = "uncached"',
                cure='use protocol = "sci" or "directory", or cache = false',
            )

    def whole_machine(self, config: Mapping[str, Value]) -> dict[str, Value]:
        """Return all numbers of the machine of a point."""
        defaults = {one.name: one.default for one in self.machine if one.default is not None}
        return {**defaults, **config, **({} if Recorded.of(config).cache else self.without)}

    def digest(self) -> str:
        """Return a hash of the files of the program."""
        content = sha256()
        for path in self.program.files():
            data = path.read_bytes() if path.is_file() else b""
            content.update(f"{path.name} {len(data)} ".encode() + data)
        return content.hexdigest()[:16]

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Simulate a recording of the program; the seed chooses which."""
        return self.replay(config, replication=seed % self.recordings)

    def recorded(self, config: Mapping[str, Value]) -> int:  # noqa: ARG002 - all points have them
        """Return the number of recordings."""
        return self.recordings

    def replay(self, config: Mapping[str, Value], *, replication: int) -> Run:
        """Simulate a recording of the program."""
        whole = self.whole_machine(config)
        recording = recorded(self.program, self.digest(), replication)
        try:
            found = native.simulate_recording(
                recording.path,
                setup_json(whole),
                instructions_per_access=Recorded.of(config).instructions_per_access,
            )
        except ValueError as error:
            raise StudyError(str(error), cure="change the program or the machine") from error
        except EOFError as error:
            raise TraceError(
                f"the trace is not whole: {error}", cure="let the program end by itself"
            ) from error
        except (OSError, RuntimeError) as error:
            raise TraceError(
                f"the trace is damaged: {error}", cure="record the program again"
            ) from error
        check_home(whole, found)
        places = relative(recording.places, [self.program.folder])
        return Run(
            values={**values(whole, found), "threads": float(found["threads"])},
            artefacts=tables(
                found, places, recording.variables, line_bytes=int(whole["line_bytes"])
            ),
            remarks=recording.remarks,
            notes=(
                *([_ATOMIC.format(found["atomic_waits"])] if found["atomic_waits"] else []),
                *([_ONE] if self.recordings == 1 else []),
            ),
        )
