"""Compare what a replication ran with the plan: files may change while a study runs.

A worker reports what it ran, and a measured system is inspected before and after each replication.
A replication that differs from the plan is not stored, and the run ends, because later replications
would also belong to the changed study.
"""

from collections.abc import Mapping, Sequence

import msgspec

from headroom.errors import ExitCode, HeadroomError
from headroom.experiment.protocol.system import Located, ReadsFiles, SeesInputs, System, Value
from headroom.experiment.runner.selection import differing_names
from headroom.experiment.study.plan import Point


class ChangedMeanwhileError(HeadroomError):
    """The study changed while it ran."""

    exit_code = ExitCode.POINTS_FAILED


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """The identity of a system at one moment, or throughout a replication."""

    fingerprint: str
    """As `System.fingerprint` returns it; empty if it could not be determined."""
    found: str = ""
    """As returned by `Located.found_at`."""
    changed: list[str] = []
    """Names of what changed, as far as they are known."""
    seen: str = ""
    """As returned by `SeesInputs.seen`."""
    is_steady: bool = True
    """False if it was not the same before and after the replication."""


def look(system: System, config: Mapping[str, Value], *, before: Ran | None = None) -> Ran:
    """Return the current identity of a run of `config`.

    Parameters
    ----------
    system, config
        The point.
    before
        Its identity before the replication; None if not examined.
    """
    changed = [] if before is None else list(before.changed)
    try:
        if isinstance(system, ReadsFiles):
            changed += system.look_again()
        fingerprint = system.fingerprint(config)
        at_place = system.found_at(config) if isinstance(system, Located) else ""
        seen, edited = _seen(system, config)
    except HeadroomError as error:
        return Ran(fingerprint="", changed=[*changed, error.message], is_steady=False)
    if before is not None and before.found != at_place:
        changed.append(differing_names(before.found, at_place))
    is_same = before is None or (before.fingerprint, before.found) == (fingerprint, at_place)
    changed += edited
    return Ran(
        fingerprint=fingerprint,
        found=at_place,
        changed=[name for name in dict.fromkeys(changed) if name],
        seen=seen,
        is_steady=is_same and not edited and (before is None or before.is_steady),
    )


def _seen(system: System, config: Mapping[str, Value]) -> tuple[str, Sequence[str]]:
    """Return what a run was seen to depend on, and what of it has changed since."""
    if not isinstance(system, SeesInputs) or not (seen := system.seen(config)):
        return "", ()
    return seen, system.changes_since([seen])[seen]


def check_ran(
    ran: Ran | None, point: Point, planned_place: str, *, has_failed: bool, where: str = ""
) -> None:
    """Raise `ChangedMeanwhileError` if something else ran than was planned.

    Parameters
    ----------
    ran
        The worker's answer; None if nothing ran.
    point
        The planned point.
    planned_place
        The content of its place when the session began, empty if unknown.
    has_failed
        True if there are no results: a failed program may not even be able to identify itself.
    where
        The cluster on which it ran, empty for this machine. Its workers have the files of the time
        when the session began, so a difference is one of their programs.
    """
    if ran is None or (has_failed and not ran.fingerprint):
        return
    is_found = not planned_place or ran.found == planned_place
    if ran.is_steady and ran.fingerprint == point.content and is_found:
        return
    if where:
        raise ChangedMeanwhileError(
            f"a worker of {where} made another model for experiment {point.experiment!r} than this "
            "machine; its replications are not stored",
            cure="give all machines the same Python packages, and keep what a model reads in the "
            "study's folder",
        )
    names = list(ran.changed)
    if not is_found:
        names.append(differing_names(planned_place, ran.found))
    known = ", ".join(dict.fromkeys(name for name in names if name))
    what = f"{known} changed" if known else "the model or a file that it reads changed"
    raise ChangedMeanwhileError(
        f"{what} while experiment {point.experiment!r} ran; the running replication is not stored",
        cure="run the same command again to use the new files; let the program write to "
        "{work}, or name the files that it writes in `ignore`",
    )
