"""Who else uses the processors: other programs, the host, quotas."""

import re
from collections.abc import Mapping
from pathlib import Path

from headroom.experiment.machine.calibration import DISTURBED
from headroom.experiment.machine.machine_facts import ROOT, container, cpu, read_text
from headroom.experiment.machine.machine_watch import BUSY_WAIT, busy_words, usable_cpus
from headroom.experiment.protocol.finding import Facts, Finding, costs, fine, unknown

STEAL_SHARE = 0.01
"""Share of processor time since the start of the machine from which a host is a busy one."""
_STEAL = 7


def load(root: Path = ROOT) -> Finding:
    """Check whether other programs use the processors now."""
    words = busy_words(root)
    if not words:
        return fine("load", "a processor is free")
    state = words.removeprefix("this machine is ").partition("; other")[0]
    return costs(
        "load",
        state,
        effect="Measured programs wait for a processor. Replications that lose "
        f"{BUSY_WAIT:.0%} of the processors to others are marked as disturbed.",
        hint="stop other programs; `top` names them",
    )


def steal(root: Path = ROOT) -> Finding:
    """Check how much processor time the host of a virtual machine took since the start."""
    first = (read_text(root / "proc/stat") or "").partition("\n")[0].split()
    ticks = [int(word) for word in first[1:] if word.isdigit()]
    busy = sum(ticks[:3]) + sum(ticks[5 : _STEAL + 1]) if len(ticks) > _STEAL else 0
    if not busy:
        return unknown("stolen time")
    share = ticks[_STEAL] / busy
    state = f"{share:.1%} of the requested processor time since the start of the machine"
    facts: Facts = {"steal_ratio": share}
    if share < STEAL_SHARE:
        return fine("stolen time", state, facts)
    return costs(
        "stolen time",
        state,
        effect="The host runs other machines meanwhile, and no program here can notice when. "
        "Wall times get longer; means suffer less than high percentiles.",
        hint="use a machine with dedicated processors, or measure at night",
        facts=facts,
    )


def processors(root: Path = ROOT, usable: int | None = None) -> Finding:
    """Check how many processors there are, and whether a quota stops programs."""
    count = usable or len(usable_cpus())
    limits = container(root)
    share = limits.get("cpu_count_max")
    words = f"{count} usable" if count > 1 else "one usable"
    facts: Facts = {"usable_count": count}
    if share is not None and share < count:
        return costs(
            "processors",
            f"{words}, but a quota of {share:g}",
            effect="Once the quota of a period (100 ms by default) is spent, every thread stops "
            "until the next: response times of tens of milliseconds appear from nowhere.",
            hint=f"raise the quota, e.g. docker --cpus {count} or systemd CPUQuota={count}00%",
            facts={**facts, "quota_count": share},
        )
    if count == 1:
        return costs(
            "processors",
            words,
            effect="A load generator and its server take the processor from each other, and so "
            "does every other program.",
            hint="use a machine with two processors or more",
            facts=facts,
        )
    return fine("processors", words, facts)


def virtual_machine(root: Path = ROOT) -> Finding:
    """Check whether this is a virtual machine."""
    is_virtual = cpu(root).get("is_virtual")
    if is_virtual is None:
        return unknown("virtual machine")
    if not is_virtual:
        return fine("virtual machine", "no")
    names = (read_text(root / "sys/class/dmi/id" / name) for name in ("sys_vendor", "product_name"))
    named = " ".join(name for name in names if name)
    return costs(
        "virtual machine",
        f"yes ({named})" if named else "yes",
        effect="Neighbours on the same host share its caches, memory and disks, and page tables "
        "have two levels. Results hold for such machines; differences between days may be the "
        "host's.",
        hint="interleave what you compare, in one study",
    )


def steadiness(ratios: Mapping[str, float]) -> Finding:
    """Check how steady known work is: median over fastest pass, by kind, measured just now."""
    worst = max(ratios.values())
    slower = ", ".join(f"{kind} {ratio - 1:.0%}" for kind, ratio in ratios.items())
    facts: Facts = {f"{k}_ratio": ratio for k, ratio in ratios.items()}
    state = f"known work takes longer than at its fastest by: {slower} (median)"
    if worst < 1 + DISTURBED:
        return fine("steadiness", state, facts)
    return costs(
        "steadiness",
        state,
        effect="Something changes the speed of this machine right now. Differences below that "
        "size need many replications.",
        hint="see the other checks; then run `headroom doctor` again",
        facts=facts,
    )


def mitigations(root: Path = ROOT) -> Finding:
    """Name the mitigations of processor flaws: a fact, no fault."""
    flaws = cpu(root).get("mitigations", {})
    active = [
        re.sub(r"^Mitigation: ", "", text).partition(";")[0]
        for text in flaws.values()
        if text.startswith("Mitigation")
    ]
    if not flaws:
        return fine("mitigations", "none reported")
    return Finding(
        check="mitigations",
        state=f"{len(active)} active, {len(flaws) - len(active)} flaws without",
        verdict="fine",
        effect="They make system calls and switches of processes slower. Compare only machines "
        "with the same ones; the report lists them.",
    )
