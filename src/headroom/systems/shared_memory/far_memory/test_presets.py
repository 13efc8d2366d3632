"""The machines of today have the latencies that their files state."""

from pathlib import Path

import pytest

from headroom.systems.shared_memory.simulated.machine_file import machine_path, read_machine
from headroom.systems.shared_memory.simulated.system import SharedMachine, SharedMachineSetup

WORDS = 1000


def read_s(machine: str, of: str, **config: float | str) -> float:
    """Return the time (s) of a read of one kind of memory."""
    system = SharedMachine.load(SharedMachineSetup(machine=machine), base=Path())
    defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
    config = {"program": "reads", "reads_of": of, "reads_words": WORDS, **config}
    found = system.run({**defaults, **config}, seed=1)
    return found.values[f"{of}_s"] * 2 / WORDS


@pytest.mark.parametrize("protocol", ["directory", "uncached"])
@pytest.mark.parametrize(("machine", "stated_s"), [("two_socket", 140e-9), ("cxl_pool", 250e-9)])
def test_a_far_read_takes_the_stated_time(machine: str, stated_s: float, protocol: str) -> None:
    assert read_s(machine, "remote", protocol=protocol) == pytest.approx(stated_s, rel=0.05)


@pytest.mark.parametrize(("machine", "stated_s"), [("two_socket", 80e-9), ("cxl_pool", 90e-9)])
def test_a_near_read_takes_the_stated_time(machine: str, stated_s: float) -> None:
    # The owner has touched one of 16 words of each page, which its caches still have.
    assert read_s(machine, "local") == pytest.approx(stated_s * 15 / 16, rel=0.05)


def test_the_range_of_the_pool_is_that_of_the_paper() -> None:
    (hop,) = (one for one in read_machine(machine_path("cxl_pool")) if one.name == "hop_s")
    assert hop.low is not None
    assert hop.high is not None
    assert read_s("cxl_pool", "remote", hop_s=hop.low) == pytest.approx(140e-9, rel=0.05)
    assert read_s("cxl_pool", "remote", hop_s=hop.high) == pytest.approx(410e-9, rel=0.05)
