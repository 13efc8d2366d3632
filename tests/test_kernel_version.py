"""The stored results of a set of models, bit by bit: they change only with the kernel's version.

A stored simulation is reused as long as `KERNEL_VERSION` is unchanged. A change of the kernel, the
builder or the conversion of results that alters a bit must raise it, and then update the hashes
with `python tests/test_kernel_version.py`. Adding a part alters none.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest

from headroom.simulation import (
    Model,
    bounded_pareto,
    bursty,
    changing_rate,
    erlang,
    exponential,
    gamma,
    hyperexponential,
    lognormal,
    triangular,
    uniform,
    weibull,
    zipf,
)
from headroom.simulation.runs.kernel_version import KERNEL_VERSION
from headroom.systems.model import ModelSystem, library
from headroom.systems.model.system import ModelSetup

SNAPSHOT = Path(__file__).parent / "snapshots" / "kernel_results.json"


def shared() -> Model:
    """Return two classes: processor sharing, priorities, a pool, forks, branches, heavy tails."""
    model = Model("shared", time_unit="ms")
    cpu = model.station("cpu", servers=2, discipline="ps")
    disk = model.station("disk", discipline="priority")
    log = model.station("log", batch=(1, 8))
    link = model.station("link", discipline="lcfs_preempt")
    tokens = model.pool("tokens", tokens=6)
    page = model.program("page")
    with page.holding(tokens):
        page.use(cpu, hyperexponential(4, c2=4))
        with page.branch() as branch:
            with branch.case(0.3):
                page.use(disk, bounded_pareto(shape=1.5, low=1, high=200))
            with branch.otherwise():
                page.use(link, erlang(2, stages=3))
        with page.fork() as fork:
            with fork.arm():
                page.use(log, lognormal(1, c2=2))
            with fork.arm():
                page.delay(uniform(0, 4))
    batch = model.program("batch")
    batch.use(disk, exponential(6))
    model.open_class(
        "pages",
        page,
        interarrival=bursty(mean_rate=0.08, burst_rate=0.3, burst_mean=100, calm_mean=900),
    )
    model.closed_class("batches", batch, population=3, think=exponential(90))
    return model


def routed() -> Model:
    """Return a network of full, preempted and balanced stations, with attempts given up."""
    model = Model("routed", time_unit="ms")
    front = model.station("front", servers=2, discipline="priority_preempt", speeds=[1, 2])
    full = model.station("full", buffer=3, when_full="reject")
    twins = [model.station(f"twin {number}") for number in (1, 2)]
    request = model.program("request")
    with request.network() as net:
        with net.node("in", to={"work": 0.7, net.leave: 0.3}):
            request.use(front, exponential(1))
        with net.node("work", to=["in", net.leave], policy="round_robin"):
            request.use_one_of(twins, gamma(2, c2=2))
    with request.attempt(timeout=exponential(8), tries=2, pause=weibull(1, 0.7)) as attempt:
        with attempt.work():
            request.use(full, triangular(1, 2, 6))
        with attempt.failed():
            request.delay(5)
    model.open_class("calm", request, interarrival=exponential(5))
    model.open_class("urgent", request, interarrival=exponential(9), priority=1)
    return model


def daily() -> Model:
    """Return arrivals that follow a curve, until a time."""
    model = Model("daily", time_unit="s")
    rates = changing_rate(times=[0, 300, 600], rates=[0.1, 0.5, 0.1], period=1000)
    visit = model.program("visit")
    visit.use(model.station("desk", servers=3, discipline="random"), zipf(20, exponent=1.1))
    model.open_class("visitors", visit, interarrival=rates)
    model.stop(time=2000)
    return model


MODELS: dict[str, Callable[[], Model]] = {
    "M/M/1": library.mm1,
    "M/M/c": library.mmc,
    "shared": shared,
    "routed": routed,
    "daily": daily,
}


def hashes_of(build: Callable[[], Model]) -> dict[str, str]:
    """Return a hash of each part of the stored results of a model, over runs with three seeds."""
    setup = ModelSetup(model="mm1", completions=None if build is daily else 3000)
    system = ModelSystem(setup, build, ())
    runs = [dict(parts_of(system.run({}, seed=seed))) for seed in (1, 2, 2**63 - 1)]
    return {name: digest(*(run[name] for run in runs)) for name in runs[0]}


def digest(*parts: bytes) -> str:
    """Return a short hash of some contents."""
    return hashlib.sha256(b" ".join(parts)).hexdigest()[:12]


def parts_of(value: object, name: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield the parts of a run with their contents, to the bit, whatever their layout.

    An empty part adds nothing, so that another optional part moves no other one.
    """
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from parts_of(one, f"{name}.{key}".removeprefix("."))
    elif isinstance(value, np.ndarray):
        kind = "<f8" if value.dtype.kind == "f" else "<i8"
        yield name, repr(value.shape).encode() + value.astype(kind).tobytes()
    elif isinstance(value, tuple | list) and value and is_dataclass(value[0]):
        for one in value:
            label = getattr(one, "kind", "") or getattr(one, "metric", "")
            yield from parts_of(one, f"{name}.{label}")
    elif value not in ((), [], None, ""):
        yield name, repr(value).encode()


@pytest.mark.parametrize("name", MODELS)
def test_a_bit_moves_only_with_the_version_of_the_kernel(name: str) -> None:
    stored = json.loads(SNAPSHOT.read_text())
    renew = "renew the hashes with `python tests/test_kernel_version.py`"
    assert stored["version"] == KERNEL_VERSION, f"the version was raised: {renew}"
    found, known = hashes_of(MODELS[name]), stored["hashes"][name]
    moved = [part for part in known if found.get(part) != known[part]]
    assert not moved, (
        f"{', '.join(moved)} of {name} have other bits: raise KERNEL_VERSION, so that stored "
        f"simulations are run again, then {renew}"
    )


if __name__ == "__main__":
    found = {name: hashes_of(build) for name, build in MODELS.items()}
    text = json.dumps({"version": KERNEL_VERSION, "hashes": found}, indent=1)
    SNAPSHOT.write_text(text + "\n")
