"""All checks of a machine, those of the layers included, worst first."""

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import get_args

from headroom.defects import fallback
from headroom.experiment.machine.calibration import relative_times
from headroom.experiment.machine.doctor import frequency, resources, sharing
from headroom.experiment.protocol import plug_ins
from headroom.experiment.protocol.finding import GROUP, Check, Finding, Verdict

WORST_FIRST: tuple[Verdict, ...] = get_args(Verdict)


def examine(folder: Path) -> list[Finding]:
    """Return the findings of all checks; `folder` holds the studies, and its disk is checked.

    Takes about a second, in which known work is timed.

    Examples
    --------
    >>> {"load", "clock source", "disk space"} <= {one.check for one in examine(Path())}
    True
    """
    own = [
        sharing.steadiness(relative_times()),
        sharing.load(),
        sharing.processors(),
        sharing.virtual_machine(),
        sharing.steal(),
        frequency.policy(),
        frequency.boost(),
        frequency.hardware_threads(),
        sharing.mitigations(),
        resources.free_memory(),
        resources.huge_pages(),
        resources.nodes(),
        resources.clock_source(),
        resources.open_files(),
        resources.locked_memory(),
        resources.disk_space(folder),
        resources.build(),
    ]
    found = [*own, *_of_layers()]
    return sorted(found, key=lambda finding: WORST_FIRST.index(finding.verdict))


def _of_layers() -> list[Finding]:
    """Return the findings of checks that layers register; a check that fails is a finding too."""
    return [
        finding
        for name, entry in sorted(plug_ins.plug_ins(GROUP).items())
        for finding in _of_layer(name, entry)
    ]


def _of_layer(name: str, entry: EntryPoint) -> list[Finding]:
    check: Check = plug_ins.load(entry, kind="check")
    return fallback(
        check,
        lambda reason: [Finding(check=name, state=f"failed: {reason}", verdict="unknown")],
    )
