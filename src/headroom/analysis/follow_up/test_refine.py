"""Levels added for limits: where the limit breaks, reproducible, and never more than allowed."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.analysis.analyse import analyse
from headroom.analysis.follow_up.refine import next_level, refinements, with_refined
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.verdicts.headroom_left import limit_crossing
from headroom.analysis.verdicts.test_saturation import QUEUE
from headroom.errors import StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.plan import Plan
from headroom.experiment.study.study import Limit, Refine
from tests.support.example_session import run_study
from tests.support.study_text import Head

STUDY = Head("queue", "Up to which load?", "load", seed=3).then("""\
system = {{ name = "model", file = "queue.py", completions = 2000 }}
{factors}
replications = {{ count = 2 }}
responses = ["throughput"]
quick.refine = 1

[[experiment.limit]]
metric = "station.server.utilization"
at_most = 0.6
refine = {refine}
""")


def planned(folder: Path, *, refine: str, factors: str = "", quick: bool = False) -> Plan:
    text = STUDY.format(refine=refine, factors=factors or "factors = { load = [0.2, 0.9] }")
    (folder / "study.toml").write_text(text)
    (folder / "queue.py").write_text(QUEUE)
    return make_plan(load_study(folder), quick=quick)


def levels_of(plan: Plan) -> list[object]:
    return [point.levels["load"] for point in plan.experiments[0].points]


def test_levels_are_added_until_the_allowance_is_used_and_stay_the_same(tmp_path: Path) -> None:
    """Resumed after each round, and asked again at the end, the study adds the same levels."""
    plan = planned(tmp_path, refine="{ points = 2, to = 0.01 }")
    with Journal.open(tmp_path / "journal.sqlite", create=True) as journal:
        assert levels_of(with_refined(plan, journal)) == [0.2, 0.9]
        seen = []
        for _ in range(3):
            run_study(with_refined(plan, journal), journal)
            seen.append(levels_of(with_refined(plan, journal)))
        assert [len(levels) for levels in seen] == [3, 4, 4]
        assert set(seen[0]) < set(seen[1])
        assert seen[1] == seen[2] == sorted(seen[1], key=str)
        result = analyse(plan, journal, environments=journal.environments(), command="")
    points = result.experiments[0].points
    assert [point.is_added for point in points].count(True) == 2
    assert not points[0].is_added
    assert not points[-1].is_added
    assert result.is_complete
    assert result.experiments[0].limits[0].added == 2


def test_a_level_that_the_study_names_later_reuses_its_rows(tmp_path: Path) -> None:
    plan = planned(tmp_path, refine="1")
    with Journal.open(tmp_path / "journal.sqlite", create=True) as journal:
        run_study(plan, journal)
        (added,) = set(levels_of(with_refined(plan, journal))) - {0.2, 0.9}
        keys = {point.key for point in with_refined(plan, journal).experiments[0].points}
        named = planned(tmp_path, refine="0", factors=f"factors = {{ load = [0.2, {added}, 0.9] }}")
        assert {point.key for point in named.experiments[0].points} == keys
        assert with_refined(named, journal) is named


def test_nothing_is_added_before_all_points_have_run(tmp_path: Path) -> None:
    plan = planned(tmp_path, refine="3")
    with Journal.open(tmp_path / "journal.sqlite", create=True) as journal:
        assert levels_of(with_refined(plan, journal)) == [0.2, 0.9]


def test_the_plan_says_how_many_levels_may_be_added(tmp_path: Path) -> None:
    (found,) = refinements(planned(tmp_path, refine="4"))
    assert (found.levels, found.factor) == (4, "load")
    (quick,) = refinements(planned(tmp_path, refine="4", quick=True))
    assert quick.levels == 1
    assert list(refinements(planned(tmp_path, refine="0"))) == []


def test_a_load_that_moves_with_another_factor_is_refused(tmp_path: Path) -> None:
    factors = "zipped = [{ load = [0.2, 0.9], scale = [1, 2] }]"
    text = STUDY.format(refine="4", factors=factors)
    (tmp_path / "study.toml").write_text(text)
    source = QUEUE.replace(
        "] = 0.5)", '] = 0.5, scale: Annotated[int, parameter(unit="1", source="assumed")] = 1)'
    )
    (tmp_path / "queue.py").write_text(source)
    with pytest.raises(StudyError, match="moves together with scale"):
        make_plan(load_study(tmp_path), quick=False)


def test_no_level_is_added_once_the_interval_of_the_break_is_narrow() -> None:
    """M/M/1 passes 1 / 0.35 at 0.65: its shape tells that within 5%, though its levels are not."""

    def queue(*loads: float) -> dict[float, Sample | None]:
        return {load: Sample(values=np.full(3, 1.0 / (1.0 - load))) for load in loads}

    limit = Limit(metric="m", at_most=1.0 / 0.35)
    assert next_level(queue(0.5, 0.6, 0.7, 0.8), limit, Refine()) is None
    assert next_level(queue(0.5, 0.6, 0.7, 0.8), limit, Refine(to=0.001)) == 0.65
    assert next_level(queue(0.2, 0.9), limit, Refine()) == 0.42


@pytest.mark.deep
@settings(max_examples=12, deadline=None)
@given(
    truth=st.floats(1.5, 990.0),
    to=st.sampled_from([0.02, 0.05, 0.2]),
    is_whole=st.booleans(),
)
def test_the_break_is_closed_in_on_and_each_level_is_new(
    truth: float,
    to: float,
    is_whole: bool,  # noqa: FBT001
) -> None:
    """Without noise a break between 1 and 1,000 is found to 2% within 12 levels."""
    limit, rule = Limit(metric="m", at_most=truth), Refine(points=99, to=to)
    curve: dict[float, Sample | None] = {
        float(level): Sample(values=np.array([level, level], dtype=float)) for level in (1, 1000)
    }
    for _ in range(14):
        level = next_level(curve, limit, rule, is_whole=is_whole)
        if level is None:
            break
        assert level not in curve
        assert not is_whole or isinstance(level, int)
        curve[float(level)] = Sample(values=np.array([level, level], dtype=float))
    crossing = limit_crossing(curve, at_most=truth)
    assert level is None
    assert crossing.holds_at is not None
    assert crossing.breaks_at is not None
    assert crossing.holds_at <= truth <= crossing.breaks_at
    gap = crossing.breaks_at - crossing.holds_at
    if crossing.low is not None and crossing.high is not None:
        assert crossing.low <= truth <= crossing.high
        gap = min(gap, crossing.high - crossing.low)
    assert gap <= max(to * crossing.breaks_at, 1.0 if is_whole else 0.0) * (1.0 + 1e-9)
