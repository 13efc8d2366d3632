"""Arms that are measured side by side: known times in; known ratios, blocks and gates out."""

import io
import math
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from rich.console import Console

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.machine.repository import git
from headroom.experiment.protocol.run import Run
from headroom.experiment.runner.interrupt import Interrupt
from headroom.experiment.runner.progress import Progress
from headroom.experiment.runner.runner import Outcome
from headroom.experiment.study.plan import Plan, Point
from headroom.gate import measuring
from headroom.gate.arms import Arms, Command, arms_of_commands, programs_of
from headroom.gate.compare import RunsFailedError, compare_arms, compare_commands, silent
from headroom.gate.git import checkouts, commit_of, known_commit, prefix_of
from headroom.gate.question import Question
from headroom.gate.result import ComparisonResult
from headroom.gate.revisions import Revision, arms_of_studies, built
from tests.support.study_text import Head

NOISE = (1.0, 1.02, 0.99, 1.01, 0.98, 1.03, 1.0, 0.97, 1.01)
"""Slowdown of all runs of a block by the machine: it cancels in their ratio."""
OWN = (-0.5, -0.25, 0.0, 0.25, 0.5)
NOTHING = Outcome(done=0, reused=0, failed=0, interrupted=False, remaining=0)
STUDY = Head("cost", "Cost", "count", seed=3).then("""\
factors = { n = LEVELS }
replications = { count = 2 }
responses = ["steps"]
system = { name = "command", argv = ["true", "{n}"], metric = [
    { name = "steps", unit = "1", better = "low", regex = '(\\\\d+)' },
    { name = "rest", unit = "1", regex = '(\\\\d+)' },
] }
""")


class Bench:
    """Stands for the runner: each run takes a known time.

    Parameters
    ----------
    times
        Those of the arms A, B and C (s).
    own
        Width of the noise that the runs of a block do not share.
    again
        Times that the base takes longer where it runs again.
    fails
        Arm and block of the runs that fail.
    same
        The level of `n` at which all arms are alike, without any noise of their own.
    stops_at
        Number of the round at which the user presses Ctrl-C.
    """

    def __init__(self, *times: float, **more: Any) -> None:
        self.times, self.waits = times, 0
        self.own, self.again = more.get("own", 0.0), more.get("again", 1.0)
        self.fails, self.same = more.get("fails", ()), more.get("same", 0)
        self.stops_at = more.get("stops_at", 99)
        self.rounds: list[tuple[set[str], int]] = []

    def __call__(self, plan: Plan, journal: Journal, *, interrupt: Interrupt, **_: Any) -> Outcome:
        """Add the rows that are lacking, as `run_plan` does."""
        session = journal.add_environment({})
        count = plan.experiments[0].spec.replications.count or 0
        points = [point for one in plan.experiments for point in one.points]
        self.rounds.append(({f"{p.experiment}{p.levels.get('n', '')}" for p in points}, count))
        while self.waits and len(self.rounds) >= self.waits and not interrupt.is_requested:
            pass
        if interrupt.is_requested or len(self.rounds) == self.stops_at:
            return replace(NOTHING, interrupted=True)
        for point in points:
            known = {row.replication for row in journal.rows(point.experiment, point.key)}
            for block in set(range(count)) - known:
                journal.append(self.row(point, point.seed(plan.seed, block), block, session))
        return replace(NOTHING, notes=(f"round {len(self.rounds)}",))

    def row(self, point: Point, seed: int, block: int, session: int) -> ReplicationRow:
        """Return the row of one run."""
        place = "ABC".index(point.experiment[0])
        is_same = point.levels.get("n") == self.same
        seconds = self.times[0 if is_same else place] * NOISE[block % len(NOISE)]
        if point.experiment not in {"A", "A-count"} and not is_same:
            seconds *= 1.0 + self.own * OWN[block % 5]
        if "_again" in point.experiment:
            seconds *= self.again
        failed = (point.experiment[0], block) in self.fails
        values = dict.fromkeys(("wall_s", "user_s", "system_s", "steps", "rest"), seconds)
        return ReplicationRow(
            experiment=point.experiment, point_key=point.key, levels=point.levels,
            fingerprint=point.fingerprint, replication=block, seed=seed, environment=session,
            state="failed" if failed else "done", wall_s=1.0,
            started_at=f"2026-01-01T00:00:{block:02}Z", error="it broke\n  hint: mend it",
            run=None if failed else Run(values={**values, "peak_memory_bytes": 5.0}),
        )  # fmt: skip


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Bench]:
    def put(*times: float, **more: Any) -> Bench:
        made = Bench(*times, **more)
        monkeypatch.setattr(measuring, "run_plan", made)
        return made

    return put


def commands(folder: Path, count: int = 2) -> list[Command]:
    return [Command(argv=["true", "{x}"], label=f"{n}th", folder=folder) for n in range(count)]


def compared(folder: Path, count: int = 2, **asked: Any) -> ComparisonResult:
    question = Question(**{"runs": 8, **asked})
    found = compare_commands(commands(folder, count), folder, question=question)
    assert {row.count for row in found.rows} == {row.pairs for row in found.rows}
    return found


def test_each_command_is_compared_with_the_first_within_its_blocks(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    made = bench(1.0, 1.2, 0.9)
    found = compared(tmp_path, 3)
    ratios = {(row.arm, row.metric): row.ratio for row in found.rows}
    assert ratios == {
        (arm, metric): pytest.approx(1.0 if metric == "peak_memory_bytes" else ratio)
        for arm, ratio in (("B", 1.2), ("C", 0.9))
        for metric in ("wall_s", "processor_time_s", "peak_memory_bytes")
    }
    row = next(row for row in found.rows if (row.arm, row.metric) == ("B", "processor_time_s"))
    middle = statistics.median(NOISE[:8])
    assert (row.base_value, row.value) == pytest.approx((2.0 * middle, 2.4 * middle))
    assert (row.base, row.verdict, row.pairs) == ("A", "worse", 8)
    assert [(arm.done, arm.failed, arm.about) for arm in found.arms] == [
        (8, 0, {"command": "true '{x}'"})
    ] * 3
    assert found.arms[2].times_s == pytest.approx([0.9 * one for one in NOISE[:8]])
    assert (found.title, found.stopped, found.blocks) == (
        "2th against 1th against 0th",
        "planned",
        8,
    )
    assert (found.until, found.gate, found.noise, found.cautions) == (None, None, [], ["round 1"])
    assert made.rounds == [({"A", "B", "C"}, 8)]


@pytest.mark.parametrize(
    ("own", "effort", "expected"),
    [
        (0.0, {}, ([8], "sure")),
        (0.1, {"until": 0.2}, ([8], "sure")),
        (0.1, {"max_runs": 14}, ([8, 12, 14], "max_runs")),
        (0.1, {"max_runs": 5}, ([5], "max_runs")),
        (0.1, {"patience_s": -1.0}, ([8], "max_time")),
        (0.1, {"patience_s": -1.0, "max_time_s": 1e6, "max_runs": 9}, ([8, 9], "max_runs")),
    ],
)
def test_it_measures_until_every_ratio_is_sure_or_the_limit_is_reached(
    bench: Callable[..., Bench], tmp_path: Path, own: float, effort: Any, expected: Any
) -> None:
    made = bench(1.0, 1.0, own=own)
    found = compared(tmp_path, runs=None, **effort)
    assert ([count for _, count in made.rounds], found.stopped) == expected
    assert (found.blocks, found.until) == (expected[0][-1], effort.get("until", 0.01))
    assert found.cautions == ["round 1"]


def test_more_blocks_are_not_run_for_a_metric_that_may_be_zero(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    bench(0.0, 1.0, own=0.2)
    found = compared(tmp_path, runs=None)
    assert (found.stopped, found.blocks) == ("sure", 8)
    assert found.rows[0].doubt in {"", "not_positive"}


def test_a_large_difference_is_sure_with_a_wider_interval(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    bench(1.0, 3.0, own=0.1)
    assert compared(tmp_path, runs=None).stopped == "sure"


def test_time_that_runs_out_and_ctrl_c_are_told_apart(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    bench(1.0, 1.0).waits = 1
    assert compared(tmp_path, max_time_s=0.0).stopped == "max_time"
    bench(1.0, 1.0, stops_at=1)
    (tmp_path / "other").mkdir()
    assert compared(tmp_path / "other", max_time_s=1e6).stopped == "interrupted"


@pytest.mark.parametrize(
    ("times", "verdict", "seconds"),
    [
        ((1.1, 1.0), "regression", ["regression"]),
        ((1.05, 1.06), "blind", ["noise"]),
        ((0.9, 1.0), "passed", []),
        ((1.0, 1.0), "passed", []),
    ],
)
def test_a_gate_runs_suspicions_and_the_base_against_itself_in_new_blocks(
    bench: Callable[..., Bench], tmp_path: Path, times: Any, verdict: str, seconds: list[str]
) -> None:
    """The second time is how much longer the base takes where it runs again."""
    made = bench(1.0, times[0], own=0.01, again=times[1])
    question = Question(metrics=["wall_s"], runs=8, fail_on_regression=0.03)
    arms = arms_of_commands(commands(tmp_path), tmp_path, question)
    found = compare_arms(arms, tmp_path, question=question, new_progress=silent, kind="commands")
    gate = found.gate
    assert gate is not None
    assert [one.verdict for one in gate.suspicions] == seconds
    assert (gate.verdict, gate.rows, gate.missing) == (verdict, 1, [])
    names = {"A", "A_again", "B"}
    assert made.rounds == [(names, 8), *([(names, 32)] if seconds else [])]
    assert [one.again and one.again.pairs for one in gate.suspicions] == [24] * len(seconds)
    assert (found.blocks, found.noise[0].metric) == (8, "wall_s")
    # The difference of two runs scatters by a root of two more than one run does.
    scatter = statistics.stdev(math.log1p(0.01 * OWN[block % 5]) for block in range(8)) / 2**0.5
    assert found.noise[0].scatter == pytest.approx(scatter)


class Told(Progress):
    """Keeps what is said."""

    said: ClassVar[list[str]] = []

    def note(self, words: str) -> None:
        """Keep it."""
        self.said.append(words)


def test_a_gate_says_before_its_first_look_what_it_will_see_and_is_blind_where_it_sees_less(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    made = bench(1.0, 1.0, own=0.4)
    question = Question(metrics=["wall_s"], runs=25, fail_on_regression=0.03)
    arms = arms_of_commands(commands(tmp_path), tmp_path, question)
    Told.said.clear()
    found = compare_arms(
        arms, tmp_path, question=question, kind="commands",
        new_progress=lambda: Told(Console(file=io.StringIO()), is_quiet=True),
    )  # fmt: skip
    gate = found.gate
    assert gate is not None
    assert [count for _, count in made.rounds] == [8, 25]
    assert (gate.verdict, [one.metric for one in gate.blind]) == ("blind", ["wall_s"])
    assert gate.expected[0].detectable > 0.03
    assert gate.elsewhere == [], "processor time scatters as much"
    (said,) = Told.said
    assert said.startswith("the gate will see slowdowns from: wall_s ")


def test_a_gate_without_all_its_runs_does_not_pass(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    bench(1.0, 1.0, fails={("B", 3)})
    found = compared(tmp_path, fail_on_regression=0.03, runs=9)
    assert found.gate is not None
    assert (found.gate.verdict, found.gate.missing) == ("missing", ['1 failed runs of "1th"'])
    assert [(arm.done, arm.failed) for arm in found.arms] == [(9, 0), (8, 1)]
    bench(1.0, 1.0).waits = 1
    (tmp_path / "late").mkdir()
    late = compared(tmp_path / "late", fail_on_regression=0.03, max_time_s=0.0)
    assert late.gate is not None
    assert (late.stopped, late.gate.verdict) == ("max_time", "missing")
    assert late.gate.missing[0] == "blocks that --max-time cut off"
    assert late.gate.suspicions == []
    bench(1.0, 1.1, stops_at=2)
    (tmp_path / "end").mkdir()
    stopped = compared(tmp_path / "end", fail_on_regression=0.03)
    assert (stopped.stopped, stopped.gate, stopped.blocks) == ("interrupted", None, 8)


def test_each_suspicion_has_its_own_new_runs_or_none_if_time_ran_out(
    bench: Callable[..., Bench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench(1.0, 1.1, 1.3)
    gate = compared(tmp_path, 3, fail_on_regression=0.03).gate
    assert gate is not None
    ratios = {(one.first.arm, one.first.metric): one.again and one.again.ratio
              for one in gate.suspicions}  # fmt: skip
    assert ratios == pytest.approx({
        (arm, metric): ratio
        for arm, ratio in (("B", 1.1), ("C", 1.3))
        for metric in ("wall_s", "processor_time_s")
    })  # fmt: skip
    late = bench(1.0, 1.1)
    late.waits = 2
    monkeypatch.setattr(measuring, "monotonic", lambda: 1e9 if late.rounds else 0.0)
    (tmp_path / "late").mkdir()
    gate = compared(tmp_path / "late", fail_on_regression=0.03, max_time_s=1e6).gate
    assert gate is not None
    again = gate.suspicions[0].again
    assert again is not None
    assert (again.base, again.arm, again.experiment, again.doubt) == ("A", "B", "", "missing")
    assert {one.verdict for one in gate.suspicions} == {"unconfirmed"}
    assert gate.verdict == "unconfirmed"


def test_what_cannot_be_measured_is_refused(bench: Callable[..., Bench], tmp_path: Path) -> None:
    made = bench(1.0, 1.0, fails={("B", block) for block in range(8)})
    with pytest.raises(RunsFailedError, match=r"^it broke \(8 times\)\n  hint: run"):
        compared(tmp_path)
    with pytest.raises(StudyError, match="5 blocks can never show"):
        compared(tmp_path, runs=5, fail_on_regression=0.03)
    with pytest.raises(StudyError, match="a regression of 0 is none"):
        Question(fail_on_regression=0.0)
    with pytest.raises(StudyError, match="at most 26"):
        arms_of_commands(commands(tmp_path, 27), tmp_path, Question())
    with pytest.raises(StudyError, match="no such metric: `speed`"):
        arms_of_commands(commands(tmp_path), tmp_path, Question(metrics=["speed"]))
    assert len(made.rounds) == 1


def test_a_command_is_run_as_it_was_written(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("#!/bin/sh\n", encoding="utf-8")
    own.chmod(0o755)
    command = Command(argv=["./own"], label="", folder=tmp_path, prepare=[["true", "{"], ["nope"]])
    assert [Path(name).name for name in programs_of(command)] == ["own", "true"]
    question = Question(warm_up=2, time_limit_s=3, ignore_failure=True)
    arms = arms_of_commands([command] * 26, tmp_path, question)
    setup: Any = arms.plan.experiments[25].setup
    assert (setup.warm_up_runs, setup.time_limit_s, setup.set_up) == (
        2,
        3.0,
        [["true", "{{"], ["nope"]],
    )
    assert sorted(setup.ok_exit_codes) == list(range(256))
    assert arms_of_commands([command], tmp_path, question).plan.seed != arms.plan.seed


def study(root: Path, levels: str = "[2, 3]", more: str = "") -> Path:
    (root / "cost").mkdir(parents=True, exist_ok=True)
    text = STUDY.replace("LEVELS", levels) + more
    (root / "cost/study.toml").write_text(text, encoding="utf-8")
    return root


def revisions(*roots: Path, **more: Any) -> Arms:
    path = Path("cost")
    named = [Revision(label=root.name, commit=root.name, path=path) for root in roots]
    return arms_of_studies(roots, named, **more)


def test_revisions_are_compared_where_all_have_a_point_and_the_rest_is_named(
    tmp_path: Path,
) -> None:
    old, new = study(tmp_path / "old"), study(tmp_path / "new", "[3, 4]")
    arms = revisions(old, new, is_twice=True)
    (place,) = arms.places
    assert (dict(place.levels), place.experiment) == ({"n": 3}, "")
    assert [metric.name for metric in place.metrics] == ["steps"]
    assert list(place.points) == ["A", "A_again", "B"]
    assert (arms.missing, arms.left_out) == (("count n=2",), ("count n=4", "count n=2"))
    assert {len(one.points) for one in arms.plan.experiments} == {1}
    seeds = {place.points[arm][1].seed(arms.plan.seed, 5) for arm in place.points}
    assert len(seeds) == 1
    assert [(arm.name, arm.label, arm.about["commit"]) for arm in arms.arms] == [
        ("A", "old", "old"),
        ("B", "new", "new"),
    ]
    assert arms.plan.seed != revisions(old, new).plan.seed
    with pytest.raises(StudyError, match="no point in common"):
        revisions(old, study(tmp_path / "far", "[9]"))
    with pytest.raises(StudyError, match=r"no cost/study.toml at gone"):
        revisions(old, tmp_path / "gone")


def test_simulations_keep_their_seed_have_no_noise_and_fitted_ones_are_left_out(
    tmp_path: Path,
) -> None:
    more = '\n[[experiment]]\nname = "queue"\nsystem = { name = "model", model = "mm1" }\n'
    one, two = study(tmp_path / "one", "[2]", more), study(tmp_path / "two", "[2]", more)
    arms = revisions(one, two, is_twice=True)
    assert [place.experiment for place in arms.places] == ["count", "queue"]
    assert [len(place.points) for place in arms.places] == [3, 2]
    assert len(arms.places[1].metrics) == 3
    assert arms.plan.seed == revisions(two, one).plan.seed
    (wanted,) = revisions(study(one, "[2]"), study(two, "[2]"), metrics=["rest"]).places
    assert [metric.name for metric in wanted.metrics] == ["rest"]


def test_a_gate_looks_again_only_where_noise_may_hide_a_regression(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    made = bench(1.0, 1.03, own=0.4, same=2)
    arms = revisions(study(tmp_path / "old"), study(tmp_path / "new"), is_twice=True)
    question = Question(max_runs=60, fail_on_regression=0.04)
    found = compare_arms(arms, tmp_path, question=question, new_progress=silent, kind="revisions")
    both = {f"{arm}-count{n}" for arm in ("A", "A_again", "B") for n in (2, 3)}
    noisy = {name for name in both if name.endswith("3")}
    assert made.rounds[:4] == [(both, 8), (both, 25), (noisy, 50), (noisy, 60)]
    assert [(row.levels, row.pairs) for row in found.rows] == [({"n": 2}, 25), ({"n": 3}, 60)]
    assert [one.levels for one in found.noise] == [{"n": 2}, {"n": 3}]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = study(tmp_path / "repository")
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    git(root, "init", "--quiet")
    for number in (1, 2):
        (root / "number").write_text(str(number), encoding="utf-8")
        git(root, "add", "--all")
        assert git(root, *who, "commit", "--quiet", "--message", "next") is not None
    return root


def test_checkouts_are_built_side_by_side_and_leave_nothing(repository: Path) -> None:
    old, new = (known_commit(repository, name) for name in ("HEAD~1", "HEAD"))
    pair = [Revision(label="old", commit=old), Revision(label="new", commit=new)]
    with built(repository / "cost", pair, ["cp number made"]) as roots:
        assert [(root / "made").read_text(encoding="utf-8") for root in roots] == ["1", "2"]
        arms = arms_of_studies(roots, [Revision(label="x", commit=new, path=Path("cost"))] * 2)
        assert arms.arms[0].about["date"] == git(repository, "show", "-s", "--format=%cI", new)
    assert not any(root.exists() for root in roots)
    assert len((git(repository, "worktree", "list") or "").splitlines()) == 1
    assert prefix_of(repository / "cost") == "cost/"
    assert not (repository / "made").exists()
    with (
        pytest.raises(EnvironmentUnfitError, match="--build false` failed at old with exit code 1"),
        built(repository, pair, ["true", "false"]),
    ):
        pass
    with (
        pytest.raises(EnvironmentUnfitError, match=r"`--build \./nope` cannot start"),
        built(repository, pair, ["./nope"]),
    ):
        pass
    with (
        pytest.raises(EnvironmentUnfitError, match="cannot check out"),
        checkouts(repository, ["nope"]),
    ):
        pass


def test_what_is_no_revision_is_refused(repository: Path, tmp_path: Path) -> None:
    assert commit_of(repository, "--all") is None
    assert commit_of(repository, "HEAD") == git(repository, "rev-parse", "HEAD")
    with pytest.raises(StudyError, match=f"`nope` is not a revision of {repository}"):
        known_commit(repository, "nope")
    with pytest.raises(StudyError, match="no git repository"):
        known_commit(tmp_path, "HEAD")
