"""The clock of the processors: policy, boost, hardware threads, power supply."""

from pathlib import Path

from headroom.experiment.machine.calibration import DISTURBED
from headroom.experiment.machine.machine_facts import ROOT, read_int, read_text
from headroom.experiment.protocol.finding import Finding, costs, fine, unknown

_CPU = "sys/devices/system/cpu"


def _frequencies_ghz(root: Path) -> tuple[float, float] | None:
    """Return the lowest and highest frequency (GHz) of all processors, None if unpublished."""
    ends = []
    for name, choose in (("cpuinfo_min_freq", min), ("cpuinfo_max_freq", max)):
        files = (root / _CPU).glob(f"cpu[0-9]*/cpufreq/{name}")
        known = [khz for file in files if (khz := read_int(file))]
        if not known:
            return None
        ends.append(choose(known) / 1e6)
    return ends[0], ends[1]


def policy(root: Path = ROOT) -> Finding:
    """Check which policy chooses the frequency."""
    folders = sorted((root / _CPU).glob("cpu[0-9]*/cpufreq"))
    governors = sorted({text for one in folders if (text := read_text(one / "scaling_governor"))})
    if not governors:
        return Finding(
            check="frequency policy",
            state="not published here: the firmware or the host of a virtual machine decides",
            verdict="unknown",
            effect="Runs may be slower or faster for a reason that nothing here shows. Headroom "
            "times known work around each measured run and marks runs during which it took "
            f"{DISTURBED:.0%} longer.",
        )
    preferences = sorted(
        {text for one in folders if (text := read_text(one / "energy_performance_preference"))}
    )
    named = f"governor {', '.join(governors)}"
    named += f", energy preference {', '.join(preferences)}" if preferences else ""
    # With a preference the processor itself chooses, and the governor is only a bound.
    if governors == ["performance"] or preferences == ["performance"]:
        return fine("frequency policy", named)
    ends = _frequencies_ghz(root)
    span = ""
    if ends is not None and ends[1] > ends[0] > 0:
        low, high = ends
        span = f": from {low:.1f} to {high:.1f} GHz, a factor of {high / low:.1f}"
    return costs(
        "frequency policy",
        named,
        effect="The clock follows the load, so short runs and light loads are timed at a low "
        f"clock{span}. It affects all measured times.",
        hint="sudo cpupower frequency-set --governor performance",
        facts={} if ends is None else {"frequency_ghz_min": ends[0], "frequency_ghz_max": ends[1]},
    )


def boost(root: Path = ROOT) -> Finding:
    """Check whether the clock exceeds its base frequency while the processor is cool."""
    no_turbo = root / _CPU / "intel_pstate/no_turbo"
    switch = root / _CPU / "cpufreq/boost"
    if (off := read_int(no_turbo)) is not None:
        is_on, cure = off == 0, f"echo 1 | sudo tee /{no_turbo.relative_to(root)}"
    elif (on := read_int(switch)) is not None:
        is_on, cure = on == 1, f"echo 0 | sudo tee /{switch.relative_to(root)}"
    else:
        return unknown("boost")
    if not is_on:
        return fine("boost", "off")
    base = read_int(root / _CPU / "cpu0/cpufreq/base_frequency")
    ends = _frequencies_ghz(root)
    gain = f", by up to {ends[1] * 1e6 / base - 1:.0%}" if base and ends else ""
    return costs(
        "boost",
        "on",
        effect="The clock rises while few cores work and the processor is cool"
        f"{gain}: the first runs of a session are faster, and a run depends on its neighbours.",
        hint=cure,
    )


def hardware_threads(root: Path = ROOT) -> Finding:
    """Check whether two hardware threads share a core."""
    active = read_int(root / _CPU / "smt/active")
    if active is None:
        return unknown("hardware threads")
    if not active:
        return fine("hardware threads", "one for each core")
    return costs(
        "hardware threads",
        "several share a core",
        effect="Two busy threads of a core slow each other down, and measured processor time "
        "rises with them. It affects loads with more threads than cores, and any run with a busy "
        "neighbour.",
        hint=f"echo off | sudo tee /{_CPU}/smt/control",
    )
