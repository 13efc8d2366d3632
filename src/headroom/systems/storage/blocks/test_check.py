"""The check of io_uring names the cause of a refusal, and what both interfaces cost."""

from pathlib import Path

import pytest

from headroom.systems.storage.blocks.check import check_interfaces
from headroom.systems.storage.blocks.interfaces import Interfaces
from headroom.systems.storage.blocks.tool_cost import ToolCost


@pytest.mark.parametrize(("setting", "cure"), [("0", "seccomp"), ("2", "sysctl")])
def test_a_refused_ring_is_named_with_its_cause(setting: str, cure: str, tmp_path: Path) -> None:
    path = tmp_path / "proc/sys/kernel/io_uring_disabled"
    path.parent.mkdir(parents=True)
    path.write_text(setting)
    refused = Interfaces(refusals={"io_uring": "not permitted", "threads": "not asked"})
    (found,) = check_interfaces(tmp_path, refused)
    assert found.verdict == "costs accuracy"
    assert cure in found.cure


def test_an_available_ring_is_fine_and_has_its_cost() -> None:
    ring = ToolCost(interface="io_uring", read_s=1e-7, write_s=1e-7)
    threads = ToolCost(interface="threads", read_s=2e-7, write_s=2e-7)
    known = Interfaces(costs={"io_uring": ring, "threads": threads})
    (found,) = check_interfaces(interfaces=known)
    assert found.verdict == "fine"
    assert found.state == "available, 0.1 µs of processor time a read (threads: 0.2 µs)"
