"""The memory layer's part of `headroom doctor`: which hardware counters this machine has."""

from pathlib import Path

from headroom.experiment.machine.machine_facts import ROOT, read_int
from headroom.experiment.protocol.finding import Finding
from headroom.memory import native


def counters_here() -> dict[str, float | str]:
    """Return each hardware counter, or the reason why there is none."""
    found = native.chase(
        bytes=1 << 12, stride_bytes=64, pages="small", chains=1, rounds=1, round_s=1e-5, seed=1
    )
    return dict(found["counters"])


def check_counters(
    root: Path = ROOT, counters: dict[str, float | str] | None = None
) -> list[Finding]:
    """Return which counters can be read in user space."""
    found = counters_here() if counters is None else counters
    absent = {name: why for name, why in found.items() if isinstance(why, str)}
    present = [name for name in found if name not in absent]
    paranoid = read_int(root / "proc/sys/kernel/perf_event_paranoid")
    state = ", ".join(present) or "none"
    if absent:
        state += f"; no {', '.join(absent)} ({'; '.join(dict.fromkeys(absent.values()))})"
    if not absent:
        return [Finding(check="hardware counters", state=state, verdict="fine")]
    is_forbidden = any("not permitted" in why for why in absent.values())
    return [
        Finding(
            check="hardware counters",
            state=state,
            verdict="costs accuracy" if is_forbidden or not present else "fine",
            effect="`headroom memory probe` and `memory_probe` report times without the misses "
            "that explain them, so a model is fitted to times alone.",
            cure="sudo sysctl kernel.perf_event_paranoid=2"
            if is_forbidden
            else "use bare metal, or a virtual machine that passes counters on"
            if not present
            else "",
            facts={} if paranoid is None else {"perf_event_paranoid": float(paranoid)},
        )
    ]
