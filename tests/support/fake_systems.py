"""Small systems for the tests of the engine: one per column, and the failures of runs.

They are in a separate module because worker processes import them by name; they are not registered
and appear in no study.
"""

import os
import signal
import time
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar, Literal, Self

import msgspec
import numpy as np

from headroom.errors import EnvironmentUnfitError, HeadroomError
from headroom.experiment.machine.machine_watch import usable_cpus
from headroom.experiment.protocol.own_process import OwnProcess
from headroom.experiment.protocol.registry import GROUP, class_path
from headroom.experiment.protocol.run import Run, Series
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value

PARAMETERS = (
    Parameter(name="users", type="int", unit="1", default=10, low=1, high=1000, source="assumed"),
    Parameter(name="rate", type="float", unit="1/s", default=1.0, low=0.0, source="assumed"),
    Parameter(
        name="mode",
        type="str",
        unit="",
        default="plain",
        choices=("plain", "fails", "crashes", "dies", "hangs", "waits", "faulty"),
        source="assumed",
    ),
)


class FakeSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Set-up of the fake systems."""

    observations: int = 5
    version: str = "1"
    required: str = ""
    """Name of a parameter without default, empty for none."""
    log: str = ""
    """File that gets one line per run, relative to the study."""
    program: str = "present"


class FakeModel:
    """A simulated system whose result is a function of its config and seed."""

    name: ClassVar[str] = "fake-model"
    column: ClassVar[Column] = Column.MODEL
    setup_type: ClassVar[type[msgspec.Struct]] = FakeSetup

    def __init__(self, setup: FakeSetup, base: Path) -> None:
        self._setup = setup
        self._base = base

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:
        """Return the system; a negative number of observations is refused."""
        assert isinstance(setup, FakeSetup)
        if setup.observations < 0:
            raise HeadroomError("observations is negative", cure="give 0 or more")
        return cls(setup, base)

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the declared parameters."""
        if not self._setup.required:
            return PARAMETERS
        extra = Parameter(name=self._setup.required, type="int", unit="B", source="assumed")
        return (*PARAMETERS, extra)

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:
        """Return the metrics of every config, and one that only runs with many users have."""
        always = (
            Metric(name="response_s_mean", unit="s", better="low"),
            Metric(name="throughput", unit="1/s", better="high"),
        )
        is_crowded = int(config["users"]) > 100
        return (*always, Metric(name="queue_len_mean", unit="1")) if is_crowded else always

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return the version of the set-up; the engine adds the config."""
        del config
        return f"{self._setup.version}-{self._setup.observations}"

    def prepare(self) -> Mapping[str, float]:
        """Return one fact, or refuse the machine."""
        if self._setup.program == "missing":
            raise EnvironmentUnfitError("the program 'missing' is not there", cure="install it")
        return {"overhead_s": 0.25}

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Return random numbers of the seed, or go wrong as `mode` requires."""
        self._write_log(config, seed)
        self._go_wrong(str(config["mode"]))
        values = np.random.default_rng(seed).exponential(size=self._setup.observations)
        return Run(
            values={"response_s_mean": float(config["rate"]) + seed % 97, "throughput": 2.0},
            series=(Series(metric="response_s", values=values, end_times_s=values.cumsum()),),
            counters={"events": float(config["users"])},
            faults=("overload",) if config["mode"] == "faulty" else (),
        )

    def _go_wrong(self, mode: str) -> None:
        if mode == "fails":
            raise HeadroomError("the disk model is overloaded", cure="lower the rate")
        if mode == "crashes":
            raise ZeroDivisionError("division by zero")
        if mode == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        while mode == "hangs":
            time.sleep(0.05)  # short, so that a signal just before it is noticed
        if mode == "greedy":
            bytearray(1 << 28)
        if mode == "waits":
            (self._base / "go").read_text()

    def _write_log(self, config: Mapping[str, Value], seed: int) -> None:
        if self._setup.log:
            with (self._base / self._setup.log).open("a") as log:
                log.write(f"{os.getpid()} {config['users']} {seed}\n")


class FakeKiller(FakeModel):
    """A simulated system whose runs may also kill the Dask worker that runs them."""

    name: ClassVar[str] = "fake-killer"

    def _go_wrong(self, mode: str) -> None:
        if mode == "dies":
            worker = _parent_of(_parent_of(os.getpid()))
            command = Path(f"/proc/{worker}/cmdline").read_bytes()
            assert b"multiprocessing" in command, "it is no worker under a nanny"
            os.kill(worker, signal.SIGKILL)
        super()._go_wrong(mode)


def _parent_of(process: int) -> int:
    status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    return int(status.rpartition(")")[2].split()[1])


class FakeMeasure(FakeModel):
    """A measured system; the same in all else."""

    name: ClassVar[str] = "fake-measure"
    column: ClassVar[Column] = Column.MEASURE


class FakeKeeper(FakeMeasure):
    """A measured system that keeps a file from run to run, and refuses a thousand users early."""

    name: ClassVar[str] = "fake-keeper"

    def open_session(self, say: Callable[[str], None]) -> tuple[str, ...]:
        """Make the file; report an existing one."""
        say("opening")
        kept = self._base / "kept"
        said = ("a kept file was left",) if kept.exists() else ()
        kept.write_text("")
        return said

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse as many users as the file has no place for."""
        assert (self._base / "kept").exists()
        if int(config["users"]) == 1000:
            raise EnvironmentUnfitError("there is no place for 1000 users", cure="take fewer")

    def close_session(self) -> tuple[str, ...]:
        """Remove the file; a second call does nothing."""
        (self._base / "kept").unlink(missing_ok=True)
        return ("all is gone",)

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Run with the file, which must be there."""
        assert (self._base / "kept").exists()
        if config["mode"] == "waits":
            raise KeyboardInterrupt
        return super().run(config, seed=seed)


class FakeLocated(FakeMeasure):
    """A measured system: the content at the place of `users` is that of the place's file."""

    name: ClassVar[str] = "fake-located"

    def found_at(self, config: Mapping[str, Value]) -> str:
        """Return the content of the file, or nothing if there is none."""
        place = self._base / f"place-{config['users']}"
        return place.read_text() if place.exists() else ""


class FakeAlone(FakeMeasure):
    """A measured system in a process of its own on one processor; `users` above 9 share it."""

    name: ClassVar[str] = "fake-alone"

    def own_process(self, config: Mapping[str, Value]) -> OwnProcess | None:
        """Return the process, none for a hundred users."""
        users = int(config["users"])
        if users == 100:
            return None
        cpu = 9999 if users == 99 else min(usable_cpus())
        per: Literal["replication", "point"] = "point" if users > 9 else "replication"
        memory_bytes = 1 << 26 if config["mode"] == "greedy" else None
        return OwnProcess(per=per, cpus=(cpu,), memory_bytes=memory_bytes)


class NoisyModel(FakeModel):
    """A simulated system that prints."""

    name: ClassVar[str] = "noisy-model"

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Print, then run."""
        print("noise", flush=True)  # noqa: T201 - its purpose
        return super().run(config, seed=seed)


def fake_entries() -> dict[str, EntryPoint]:
    """Return the fake systems as if they were registered; replaces `registry.registered`."""
    return {
        kind.name: EntryPoint(name=kind.name, value=class_path(kind), group=GROUP)
        for kind in (FakeModel, FakeKiller, FakeMeasure, FakeKeeper, FakeLocated, FakeAlone)
    }
