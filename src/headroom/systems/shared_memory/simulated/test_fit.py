"""The fit of a machine to a probe and one thread: known machines are found again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from headroom.experiment.protocol.fit_method import FitError, Found, Observed, SourcePoint, Target
from headroom.experiment.protocol.system import Column, Value
from headroom.systems.shared_memory.program_parameters import program_parameters
from headroom.systems.shared_memory.simulated.fit import HostFit, HostOptions
from headroom.systems.shared_memory.simulated.system import SharedMachine, SharedMachineSetup

FIRST, SECOND = 1 << 15, 1 << 19
NEAR_S, FAR_S, WORK = 1e-9, 6e-9, 0.5
HAND_OVER_S, MANY_S = 120e-9, 60e-9
SIZES = [1 << bits for bits in range(13, 25)]
HOST = SharedMachine.load(SharedMachineSetup(machine="host"), base=Path())
Config: TypeAlias = dict[str, Value]


def point(experiment: str, config: Config, observed: dict[str, float]) -> SourcePoint:
    """Return a measured point."""
    return SourcePoint(
        experiment=experiment, column=Column.MEASURE, levels={}, config=config,
        observed={name: Observed(value=value) for name, value in observed.items()},
    )  # fmt: skip


def probed(**config: Value) -> Config:
    """Return the parameters of a point of a probe."""
    return {"kind": "chase", "stride_bytes": 64, "pages": "small", "chains": 1, **config}


def load_s(size: int) -> float:
    """Return the latency of dependent loads, with a step at each cache."""
    steps = ((FIRST, 3e-9), (SECOND, 9e-9))
    return 1e-9 + sum(height * max(0.0, 1.0 - cache / size) for cache, height in steps)


def chases(sizes: Sequence[int] = SIZES) -> list[SourcePoint]:
    """Return a chase, and eight at once, at each size."""
    found = []
    for size in sizes:
        many_s = 0.4e-9 if size <= FIRST else NEAR_S if size <= SECOND else FAR_S
        alone_s = load_s(size)
        found += [
            point("probe", probed(bytes=size), {"load_s": alone_s, "access_s": alone_s}),
            point(
                "probe", probed(bytes=size, chains=8), {"load_s": 8 * many_s, "access_s": many_s}
            ),
        ]
    return found


def way(many_s: float = MANY_S) -> list[SourcePoint]:
    """Return the hand-over of one line, and of eight at once."""
    return [
        point("way", probed(kind="hand_over", lines=lines), {"hand_over_s": taken_s})
        for lines, taken_s in ((1, HAND_OVER_S), (8, many_s))
    ]


def target() -> Target:
    config = {one.name: one.default for one in HOST.parameters() if one.default is not None}
    return Target(system=HOST, config={**config, "placement": "first_touch"})


def truth(program: Config) -> Config:
    """Return the parameters of a machine that the points describe."""
    memory = ("private_s", "local_read_s", "hit_read_s")
    machine = {"l1_bytes": FIRST, "l2_bytes": SECOND, "near_s": NEAR_S, "work": WORK}
    return {**target().config, **dict.fromkeys(memory, FAR_S), **machine, **program, "nodes": 1}


def native(program: Config) -> SourcePoint:
    """Return the run of a program with one thread on the true machine."""
    sizes = {one.name: one.default for one in program_parameters()}
    config = {**sizes, **program, "threads": 1}
    run = HOST.run(truth(program), seed=1)
    return point("native", config, {"run_s": run.values["run_s"]})  # type: ignore[arg-type]


def values(found: Found) -> dict[str, float]:
    return {one.name: float(one.value) for one in found.parameters}


@pytest.mark.parametrize(
    "program",
    [
        {"program": "lu", "lu_size": 128},
        {"program": "fft", "fft_points": 65_536},
        {"program": "ocean"},
        {"program": "barnes", "barnes_bodies": 512},
    ],
    ids=lambda program: str(program["program"]),
)
def test_a_known_machine_is_found_again(program: Config) -> None:
    found = HostFit().fit([*chases(), *way(), native(program)], target(), HostOptions())
    fitted = values(found)
    assert (fitted["l1_bytes"], fitted["l2_bytes"]) == (FIRST, SECOND)
    assert fitted["near_s"] == pytest.approx(NEAR_S)
    assert fitted["private_s"] == fitted["hit_read_s"] == pytest.approx(FAR_S)
    # An instruction takes whole picoseconds: 50 here.
    assert fitted["work"] == pytest.approx(WORK, rel=0.02)
    (residual,) = found.residuals
    assert residual.fitted == pytest.approx(residual.observed, rel=0.02)


def test_a_remote_read_takes_half_a_hand_over_of_several_lines_and_a_barrier_two_of_one() -> None:
    program: Config = {"program": "fft"}
    fitted = values(HostFit().fit([*chases(), *way(), native(program)], target(), HostOptions()))
    reads: Config = {"program": "reads", "reads_of": "remote", "reads_words": 100}
    config = {**target().config, **fitted, **reads, "nodes": 2, "placement": "owner"}
    config |= {"l1_bytes": FIRST, "l2_bytes": SECOND}
    run = HOST.run(config, seed=1)
    assert run.values["remote_s"] * 2 / 100 == pytest.approx(MANY_S / 2, rel=0.02)
    assert fitted["barrier_s"] == pytest.approx(2 * HAND_OVER_S)
    assert fitted["lock_s"] == pytest.approx(HAND_OVER_S / 2)


def test_a_hand_over_that_the_links_do_not_allow_is_refused() -> None:
    with pytest.raises(FitError, match="links alone take"):
        HostFit().fit([*chases(), *way(1e-9), native({"program": "fft"})], target(), HostOptions())


def test_a_replicate_keeps_the_sizes_of_the_caches() -> None:
    points = [*chases(), *way(), native({"program": "fft"})]
    near = replace(target(), is_replicate=True)
    near = replace(near, config={**near.config, "l1_bytes": 65_536, "l2_bytes": 1 << 20})
    found = values(HostFit().fit(points, near, HostOptions()))
    assert (found["l1_bytes"], found["l2_bytes"]) == (65_536, 1 << 20)


def without(kind: Callable[[SourcePoint], bool]) -> list[SourcePoint]:
    points = [*chases(), *way(), native({"program": "fft"})]
    return [one for one in points if not kind(one)]


@pytest.mark.parametrize(
    ("points", "message", "cure"),
    [
        (without(lambda one: one.experiment == "native"), "0 runs of a program", "by ="),
        (
            without(lambda one: one.experiment == "way"),
            "hand-over between processors with lines = 1",
            "hand_over",
        ),
        (
            without(lambda one: one.config.get("lines") == 8),
            "hand-over between processors with lines = 8",
            "lines = ",
        ),
        (without(lambda one: one.config.get("chains") == 8), "8 chases at once", "chains = "),
        (without(lambda one: one.experiment == "probe"), "0 sizes of a chase", "measure"),
    ],
    ids=["no program", "no way", "one line", "one chain", "no probe"],
)
def test_what_is_missing_is_said(points: list[SourcePoint], message: str, cure: str) -> None:
    with pytest.raises(FitError, match=message) as refused:
        HostFit().fit(points, target(), HostOptions())
    assert cure in refused.value.cure


def test_a_run_shorter_than_its_memory_allows_is_refused() -> None:
    run = native({"program": "fft"})
    short = replace(run, observed={"run_s": Observed(value=1e-9)})
    with pytest.raises(FitError, match="memory alone takes"):
        HostFit().fit([*chases(), *way(), short], target(), HostOptions())
