"""Compare a suite at two revisions, and decide on regressions: what a gate in CI calls."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from headroom.errors import StudyError
from headroom.gate.judging import judged
from headroom.gate.question import Question
from headroom.gate.result import Arm, ComparisonResult
from headroom.gate.suites.measuring import (
    BASE,
    HEAD,
    Measuring,
    first_looks,
    looks_of,
    measure_again,
)
from headroom.gate.suites.running import Suite
from headroom.gate.suites.tool import SuiteFailedError
from headroom.gate.threshold import fewest_blocks, gate_of
from headroom.version import version


def compare_suite(
    suite: Suite,
    folders: Sequence[Path],
    *,
    labels: Sequence[str],
    question: Question,
    about: Sequence[Mapping[str, str]] = ({}, {}),
    note: Callable[[str], None] = lambda _: None,
) -> ComparisonResult:
    """Run a suite in the folders of base and head, and decide whether the head is slower.

    Parameters
    ----------
    suite
        What runs.
    folders, labels, about
        Of base and head: where, their names, and what identifies them.
    question
        The share, and how long to measure.
    note
        Tells people how far it is.

    Raises
    ------
    SuiteFailedError
        A process fails.
    """
    threshold = question.fail_on_regression
    if threshold is None:
        raise StudyError("a suite is compared by a gate", cure="name --fail-on-regression")
    measuring = Measuring(
        suite=suite,
        folders={BASE: folders[0], f"{BASE}_again": folders[0], HEAD: folders[1]},
        note=note,
        metrics=question.metrics,
    )
    blocks = first_looks(measuring, question, threshold)
    seen = measuring.blocks[:blocks]
    keys = measuring.rows()
    if not keys:
        raise SuiteFailedError(
            "the suite has no rows", cure="run its command by hand; see --metric"
        )
    rows = judged([measuring.row(key, seen) for key in keys], same_within=question.same_within)
    needed = fewest_blocks(len(rows))
    if blocks < needed:
        raise StudyError(
            f"{blocks} blocks can never show a regression", cure=f"name --runs {needed} or more"
        )
    gate = gate_of(
        rows,
        threshold=threshold,
        looks=len(looks_of(suite.name, question)),
        again=measure_again(measuring, question),
        named=bool(question.metrics),
    )
    arms = [
        Arm(name=name, label=label, about=dict(one), done=len(measuring.blocks))
        for name, label, one in zip((BASE, HEAD), labels, about, strict=True)
    ]
    return ComparisonResult(
        kind="revisions",
        title=f"{labels[1]} against {labels[0]}",
        arms=arms,
        rows=rows,
        same_within=question.same_within,
        stopped="planned",
        blocks=blocks,
        seed=measuring.seed,
        noise=[measuring.noise(key, seen) for key in keys],
        gate=gate,
        left_out=[f"{name}, which only the head has" for name in measuring.new_names()],
        cautions=[_cost(measuring)],
        generated=datetime.now(UTC).isoformat(timespec="seconds"),
        headroom_version=version(),
    )


def _cost(measuring: Measuring) -> str:
    runs = measuring.spent_s / measuring.run_s
    return (
        f"Measuring took {measuring.spent_s:.0f} s, as long as {runs:.0f} runs of the whole suite "
        f"of {measuring.run_s:.2g} s."
    )
