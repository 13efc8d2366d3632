"""Each part of a system with known capacities is slowed: what limits it is named, or nothing is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headroom.errors import StudyError
from headroom.experiment.study.file.study_file import load_study
from headroom.gate import measuring
from headroom.gate.causes import CauseResult
from headroom.gate.compare import silent
from headroom.gate.slowed_arms import WhatLimits, causes_of
from tests.support.slowed_machine import FAST, STUDY, Machine


def key_of(plan: Any, wanted: str) -> str:
    """Return the key of the point with this level."""
    points = [point for one in plan.experiments for point in one.points]
    found = [one.key for one in points if f"users={one.levels['users']}" == wanted]
    if not found:
        raise StudyError(f"no point is {wanted!r}", cure="name another")
    return str(found[0])


@pytest.fixture
def answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[CauseResult, Machine]]:
    def ask(machine: Machine, **asked: Any) -> tuple[CauseResult, Machine]:
        monkeypatch.setattr(measuring, "run_plan", machine)
        (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
        place = tmp_path / "journals"
        place.mkdir()
        found = causes_of(
            load_study(tmp_path), place, WhatLimits(**{"runs": 20, **asked}),
            point_key=key_of, new_progress=silent,
        )  # fmt: skip
        return found, machine

    return ask


@pytest.mark.parametrize("part", list(FAST))
def test_the_part_with_the_least_capacity_is_named(
    answer: Callable[..., tuple[CauseResult, Machine]], part: str
) -> None:
    found, machine = answer(Machine(FAST | {part: 400.0}))
    assert (found.verdict, found.named, found.by_waiting) == ("part", [part], False)
    assert found.levels == {"users": 40}, "the last point"
    shares = {one.part: one.share for one in found.shares}
    assert shares == {name: pytest.approx(float(name == part), abs=0.05) for name in FAST}
    assert machine.slices == [0.001]


def test_a_part_that_waits_is_found_by_longer_stops(
    answer: Callable[..., tuple[CauseResult, Machine]],
) -> None:
    found, machine = answer(Machine(FAST | {"db": 400.0}, waits="db"))
    assert (found.verdict, found.named, found.by_waiting) == ("part", ["db"], True)
    assert machine.slices == [0.001, 0.02]
    assert all(abs(one.share or 1.0) < 0.05 for one in found.earlier)


def test_stops_that_starve_every_part_are_followed_by_shorter_ones(
    answer: Callable[..., tuple[CauseResult, Machine]],
) -> None:
    """Cause: what was undecided after stops of 20 ms ended the search."""
    found, machine = answer(Machine(FAST | {"db": 400.0}, waits="db", bridges_s=0.01))
    assert machine.slices == [0.001, 0.02, 0.005]
    assert (found.verdict, found.named, found.by_waiting) == ("part", ["db"], True)


def test_a_pool_that_the_study_sets_is_found_by_lowering_it(
    answer: Callable[..., tuple[CauseResult, Machine]],
) -> None:
    found, _ = answer(Machine(FAST), less=["connections"])
    assert (found.verdict, found.named) == ("part", ["connections"])
    lowered = next(one for one in found.shares if one.part == "connections")
    assert lowered.by == pytest.approx(0.2), "from 10 to 8"
    assert lowered.share == pytest.approx(1.0, abs=0.05)
    others = [one.share for one in found.shares if one.part != "connections"]
    assert others == [pytest.approx(0.0, abs=0.05)] * 4


def test_what_nobody_slows_is_not_blamed_on_anybody(
    answer: Callable[..., tuple[CauseResult, Machine]],
) -> None:
    found, machine = answer(Machine(FAST))
    assert (found.verdict, found.named) == ("nothing", [])
    assert machine.slices == [0.001, 0.02, 0.005]


def test_full_processors_are_the_answer_where_no_part_is(
    answer: Callable[..., tuple[CauseResult, Machine]],
) -> None:
    found, _ = answer(Machine(FAST, cpu=0.99))
    assert (found.verdict, found.named) == ("shared", [])


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"parts": ["cache"]}, "no such part: 'cache'"),
        ({"less": ["colour"]}, "'colour' is no number above 0"),
        ({"point": "users=7"}, "no point is 'users=7'"),
    ],
)
def test_what_cannot_be_slowed_is_refused(
    answer: Callable[..., tuple[CauseResult, Machine]], asked: dict[str, Any], reason: str
) -> None:
    with pytest.raises(StudyError, match=reason):
        answer(Machine(FAST), **asked)
