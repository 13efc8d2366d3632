"""An answer that the rows contradict is found, whatever its kind; a true one is left alone."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from headroom.analysis.answer.answer import with_answer
from headroom.analysis.answer_evidence import TradeOff
from headroom.analysis.results import StudyResult
from headroom.experiment.study.asks import (
    Ask,
    BestAsk,
    CapacityAsk,
    EffectAsk,
    EnoughAsk,
    LimitAsk,
    ReproduceAsk,
    SafeAsk,
    ScaleAsk,
    ValueAsk,
)
from headroom.report.check.agreement import disagreements
from headroom.report.check.rows import faults_of
from headroom.report.first_screen.sentences.answer import words_of
from headroom.report.first_screen.sentences.sentence import NO_BREAK
from tests.support.example_answers import (
    WALL,
    crossing,
    losing,
    measured,
    now,
    of_paper,
    plain,
    point,
    programs,
    purchases,
    saturated,
    sweep,
)

replace = msgspec.structs.replace


def asked(study: StudyResult, ask: Ask) -> StudyResult:
    return with_answer(replace(study, asks=[ask]))


def ramp() -> StudyResult:
    *first, last = sweep().points
    return plain(replace(sweep(), points=[*first, saturated(last.levels)]))


def limited() -> StudyResult:
    found = crossing("breaks")
    kept = replace(found.evidence, kept_at=[100.0, 200.0, 250.0], broken_at=[300.0, 400.0])
    return plain(replace(sweep(), limits=[replace(found, evidence=kept)]))


CHOICE = plain(programs([1.0, 2.0, 3.0], [2.0, 3.0, 2.5]))
ANSWERS: dict[str, StudyResult] = {
    "target": asked(limited(), CapacityAsk()),
    "saturated": with_answer(ramp()),
    "limit": asked(plain(sweep()), LimitAsk()),
    "enough": asked(plain(sweep()), EnoughAsk(metric="throughput", share=0.99)),
    "effects": asked(CHOICE, EffectAsk(of={"program": "gzip"}, to={"program": "xz"})),
    "best": asked(CHOICE, BestAsk(metric="wall_s")),
    "trade-off": with_answer(CHOICE),
    "scale": asked(plain(sweep()), ScaleAsk(metric="response_s_mean")),
    "safe": asked(plain(sweep()), SafeAsk(metric="response_s_mean")),
    "value": asked(plain(sweep()), ValueAsk(metric="throughput", extreme="highest")),
    "losses": with_answer(plain(losing(sweep(limits_from=None, knee=False)))),
    "claims": asked(of_paper(holds=9, differs=1), ReproduceAsk()),
    "changes": with_answer(plain(replace(sweep(), parameters=now()), purchases())),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_true_answer_is_left_alone(kind: str) -> None:
    assert faults_of(ANSWERS[kind]) == []
    assert disagreements(ANSWERS[kind]) == []


def stated(result: StudyResult) -> Any:
    """Return the statement of the headline."""
    return result.answers[0].statement


def first(result: StudyResult, **fields: object) -> StudyResult:
    """Return a result with other fields in its first record."""
    assert result.answer is not None
    record, *rest = result.answer.records
    changed = replace(record.statement, **fields)
    records = [replace(record, statement=changed), *rest]
    return replace(result, answer=replace(result.answer, statement=changed, records=records))


def _level(name: str, value: float) -> Callable[[StudyResult], StudyResult]:
    def changed(result: StudyResult) -> StudyResult:
        level = getattr(result.answers[0].statement, name)
        return first(result, **{name: replace(level, value=value)})

    return changed


def _other_least(result: StudyResult) -> StudyResult:
    least = stated(result).least
    return first(result, least=replace(least, level=replace(least.level, value=100)))


def _turned(result: StudyResult) -> StudyResult:
    return first(result, first=stated(result).second, second=stated(result).first)


def _other_effect(result: StudyResult) -> StudyResult:
    (effect,) = stated(result).effects
    ratio = replace(effect.ratio, value=0.9, low=0.88, high=0.92)
    return first(result, effects=[replace(effect, ratio=ratio)])


def _other_goal(result: StudyResult) -> StudyResult:
    goal, *rest = stated(result).goals
    return first(result, goals=[replace(goal, settings=[{"program": "bzip2"}]), *rest])


def _other_power(result: StudyResult) -> StudyResult:
    power = stated(result).power
    return first(result, power=replace(power, value=power.value + 0.01))


def _no_count(result: StudyResult) -> StudyResult:
    (count,) = stated(result).counts
    return first(result, counts=[replace(count, value=0.0)])


def _other_value(result: StudyResult) -> StudyResult:
    (value,) = stated(result).values
    return first(result, values=[replace(value, value=value.value * 1.01)])


def _other_gain(result: StudyResult) -> StudyResult:
    assert result.answer is not None
    found: Any = result.answer.follows[0]
    best, rest = found.best, result.answer.follows[1:]
    gain = replace(best.gain, value=3.0 * best.gain.value)
    follows = [replace(found, best=replace(best, gain=gain)), *rest]
    return replace(result, answer=replace(result.answer, follows=follows))


def _other_goodput(result: StudyResult) -> StudyResult:
    return first(result, outcome=replace(stated(result).outcome, goodput=400.0, offered=320.0))


WRONG: list[tuple[str, Callable[[StudyResult], StudyResult], str]] = [
    ("target", _level("level", 390.0), "outside of the levels"),
    ("losses", _other_goodput, "that of no row"),
    ("losses", _other_goodput, "more is done than offered"),
    ("losses", lambda result: first(result, points=2), "2 points are said to lose work, not 1"),
    ("target", lambda one: first(one, kept_at=[100.0, 400.0]), "called kept"),
    ("target", lambda one: first(one, beyond=[200.0]), "said to break"),
    ("saturated", _level("level", 300), "called saturated"),
    ("enough", _other_least, "called enough"),
    ("effects", _other_effect, "not that of its values"),
    ("best", _turned, "not by its values"),
    ("trade-off", _other_goal, "a row is better"),
    ("scale", _other_power, "the power"),
    ("safe", _no_count, "a run has"),
    ("value", _other_value, "of no row"),
    ("claims", lambda one: first(one, holds=10), "said to hold"),
    ("changes", _other_gain, "the values give"),
]


@pytest.mark.parametrize(("kind", "change", "words"), WRONG)
def test_a_false_answer_is_found(
    kind: str, change: Callable[[StudyResult], StudyResult], words: str
) -> None:
    found = faults_of(change(ANSWERS[kind]))
    assert any(words in fault for fault in found), found


def test_a_part_that_is_less_busy_than_another_does_not_limit() -> None:
    points = [
        replace(
            point,
            estimates={
                **point.estimates,
                "station.web.utilization": replace(
                    point.estimates["station.database.utilization"],
                    metric="station.web.utilization", value=1.2,
                ),
            },
        )
        for point in sweep().points
    ]  # fmt: skip
    study = replace(ANSWERS["limit"], experiments=[replace(sweep(), points=points)])
    assert any("is said to limit" in fault for fault in faults_of(study))


def test_the_best_of_a_part_is_held_against_the_rows_of_that_part() -> None:
    points = [point({"p": p, "n": n}, {WALL: wall}) for p, n, wall in
              (("gzip", 1, 3.0), ("xz", 1, 3.01), ("xz", 2, 1.0), ("gzip", 2, 1.5))]  # fmt: skip
    study = asked(plain(measured(points)), BestAsk(metric="wall_s", where={"n": 1}))
    assert isinstance(stated(study), TradeOff)
    assert faults_of(study) == []
    assert words_of(study).answer.text.replace(NO_BREAK, " ").startswith("With n 1, gzip or xz for")


def test_two_statements_that_differ_are_found() -> None:
    result = ANSWERS["limit"]
    assert result.answer is not None
    other = replace(stated(result), part=replace(stated(result).part, name="web"))
    said = replace(result, answer=replace(result.answer, follows=[other]))
    assert disagreements(said) == ["limits : database and web"]
    assert disagreements(result, "another page") == [
        "the page does not say: The database limits from 228 users (224 to 232)."
    ]


def test_rows_that_are_not_there_are_found() -> None:
    record, *_ = ANSWERS["limit"].answers
    assert ANSWERS["limit"].answer is not None
    answer = replace(ANSWERS["limit"].answer, records=[replace(record, rows=["users=7"])])
    found = faults_of(replace(ANSWERS["limit"], answer=answer))
    assert found == ["the answer stands on points that are not there: users=7"]
