"""The exit code of `run`: 0 only if all planned results exist, or a busy machine took them."""

import msgspec
import pytest

from headroom.analysis.results import (
    Disturbance,
    Estimate,
    ExperimentResult,
    LimitCrossing,
    PointResult,
    StudyResult,
    Verdict,
)
from headroom.cli.study.run_command import _exit_code
from headroom.errors import ExitCode
from headroom.experiment.runner.runner import Outcome

FIGURE = Estimate(
    metric="wall_s", unit="s", better="low", count=4, value=1.0, low=None, high=None,
    method="none", centre="median", mean=1.0, median=1.0, stdev=0.0, minimum=1.0, maximum=1.0,
)  # fmt: skip


def study(*points: PointResult) -> StudyResult:
    """Return the result of one experiment with these points."""
    experiment = ExperimentResult(
        name="e", title="", system="command", column="measure", factors=[], responses=[],
        points=list(points),
    )  # fmt: skip
    return StudyResult(
        format=1, name="s", title="S", question="", folder=".", seed=1, is_quick=False,
        is_complete=True, done=0, failed=0, planned=0, experiments=[experiment], claims=[],
        environments=[], command="", generated="", headroom_version="",
    )  # fmt: skip


@pytest.mark.parametrize(("done", "code"), [(15, ExitCode.DONE), (4, ExitCode.POINTS_FAILED)])
def test_an_incomplete_study_never_exits_0(done: int, code: ExitCode) -> None:
    """Cause: a study said "15 reused", then "4 of 15 done", and ended with 0."""
    point = PointResult(
        key="a", levels={}, done=done, failed=0, planned=15, estimates={"wall_s": FIGURE}
    )
    outcome = Outcome(done=0, reused=15, failed=0, interrupted=False, remaining=0)
    assert _exit_code(outcome, study(point), is_checked=False) is code


@pytest.mark.parametrize(
    ("disturbed", "code"), [([], ExitCode.POINTS_FAILED), ([0, 3], ExitCode.DONE)]
)
def test_a_run_too_short_for_figures_is_a_failure_unless_the_machine_was_busy(
    disturbed: list[int], code: ExitCode
) -> None:
    """Cause: the starter study of storage exited 1 beside two busy programs."""
    disturbances = (
        [Disturbance(kind="others", share=0.9, replications=disturbed)] if disturbed else []
    )
    point = PointResult(
        key="a", levels={}, done=7, failed=0, planned=7, estimates={}, disturbances=disturbances
    )
    outcome = Outcome(done=7, reused=0, failed=0, interrupted=False, remaining=0)
    assert _exit_code(outcome, study(point), is_checked=False) is code


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        ("holds", ExitCode.DONE), (None, ExitCode.DONE),
        ("differs", ExitCode.CLAIMS_DIFFER), ("undecided", ExitCode.CLAIMS_DIFFER),
    ],
)  # fmt: skip
def test_a_check_asks_whether_limits_are_kept_at_the_current_load(
    verdict: Verdict | None, code: ExitCode
) -> None:
    """Cause: a broken limit ended with 0 although the study was checked."""
    point = PointResult(
        key="a", levels={}, done=5, failed=0, planned=5, estimates={"wall_s": FIGURE}
    )
    limit = LimitCrossing(
        metric="wall_s", unit="s", at_most=0.2, at_least=None, factor="users", where={},
        state="broken", current=20.0, verdict=verdict,
    )  # fmt: skip
    whole = study(point)
    item = msgspec.structs.replace(whole.experiments[0], limits=[limit])
    limited = msgspec.structs.replace(whole, experiments=[item])
    outcome = Outcome(done=5, reused=0, failed=0, interrupted=False, remaining=0)
    assert _exit_code(outcome, limited, is_checked=True) is code
    assert _exit_code(outcome, limited, is_checked=False) is ExitCode.DONE
