"""The storage layer's part of `headroom doctor`: whether io_uring is available, and its cost."""

from pathlib import Path

from headroom.experiment.machine.machine_facts import ROOT, read_int
from headroom.experiment.protocol.finding import Finding
from headroom.systems.storage.blocks.interfaces import Interfaces

_REASONS = {
    1: "kernel.io_uring_disabled = 1: only for root and one group",
    2: "kernel.io_uring_disabled = 2: for no program",
}


def check_interfaces(root: Path = ROOT, interfaces: Interfaces | None = None) -> list[Finding]:
    """Return whether storage loads can use io_uring; measures the cost of both interfaces."""
    known = interfaces or Interfaces()
    facts = {name: value for name, value in known.measure().items() if name.startswith("tool_")}
    threads = known.costs.get("threads")
    ring = known.costs.get("io_uring")
    if ring is not None:
        state = f"available, {ring.read_s * 1e6:.2g} µs of processor time a read"
        state += f" (threads: {threads.read_s * 1e6:.2g} µs)" if threads else ""
        return [Finding(check="io_uring", state=state, verdict="fine", facts=facts)]
    setting = read_int(root / "proc/sys/kernel/io_uring_disabled") or 0
    reason = _REASONS.get(setting, known.refusals["io_uring"])
    return [
        Finding(
            check="io_uring",
            state=f"refused ({reason})",
            verdict="costs accuracy",
            effect="`storage` uses one thread for each request in flight: deep queues cost more "
            "processor time, and a fast device may wait for its load.",
            cure="sudo sysctl kernel.io_uring_disabled=0"
            if setting
            else "allow io_uring in the container's seccomp filter",
            facts=facts,
        )
    ]
