"""The kernel and theory agree: known answers lie in a 99.9% interval over 30 replications.

The models and answers come from `benches/known`, run here for a quarter of the length of the
published table (docs/reference/known-answers.md). With about 160 answers, one suite in six would
raise a false alarm; the seeds are fixed, so this one does not.
"""

import math

import pytest

from benches.known.subject import Measured, Subject, measured
from benches.known.subjects import subjects
from benches.known_answers import load, main, rows_of, table
from headroom.simulation import Model, exponential, simulate

SHARE = 0.25
SUBJECTS = {subject.name: subject for subject in subjects()}
APPROXIMATE_WITHIN = 0.05
"""Error that Nelson and Tantawi state for their formula."""
SENSITIVE = (
    "M/M/1, load 0.8",
    "M/D/1, load 0.8",
    "M/M/1, preemption, 2 classes of load 0.4",
    "thread pool around CPU and disk, 2 thread(s), 10 clients",
    "3 stations that block, saturated, buffers of 1",
    "M/M/1, stay up to a constant time, arrivals 0.8, deadline 3",
    "two queues in turns, load 0.8",
    "closed classes, preemption, populations 3 and 2",
)


@pytest.mark.deep
@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
def test_every_interval_contains_its_answer(subject: Subject) -> None:
    for row in measured(subject, share=SHARE):
        told = (row.answer.quantity, row.answer.value, row.mean, row.half_width)
        if row.answer.is_exact:
            assert row.is_inside, told
        else:
            assert row.mean == pytest.approx(row.answer.value, rel=APPROXIMATE_WITHIN), told


def test_the_answers_are_those_of_the_reference() -> None:
    printed = [answer for subject in subjects() for answer in subject.answers if answer.printed]
    assert len(printed) >= 95
    for answer in printed:
        decimals = len(answer.printed.partition(".")[2])
        told = (answer.quantity, answer.source, answer.printed)
        assert math.isclose(
            answer.value, float(answer.printed), rel_tol=0, abs_tol=0.51 * 10**-decimals
        ), told


@pytest.mark.parametrize("name", SENSITIVE)
def test_a_service_that_is_3_percent_slower_is_noticed(name: str) -> None:
    missed = [row for row in slower(SUBJECTS[name]) if row.is_inside]
    assert [row.answer.quantity for row in missed if "p99" not in row.answer.quantity] == []


def slower(subject: Subject) -> list[Measured]:
    return measured(subject, share=SHARE, slower=0.03)


def test_names_of_subjects_are_their_own_and_so_are_their_seeds() -> None:
    assert len(SUBJECTS) == len(subjects())
    seeds = [seed for subject in subjects() for seed in subject.seeds]
    assert len(set(seeds)) == len(seeds)


def test_the_stored_table_is_that_of_today() -> None:
    """Each row exists, with the current answer; a cheap one is simulated again, to the last bit."""
    stored = {(row.model, row.parameters, row.quantity, row.source): row for row in load()}
    names = [
        (subject.model, subject.parameters, answer.quantity, answer.source)
        for subject in subjects()
        for answer in subject.answers
    ]
    assert list(stored) == names
    values = [answer.value for subject in subjects() for answer in subject.answers]
    assert [row.answer for row in stored.values()] == pytest.approx(values, rel=1e-9)
    for row in rows_of(SUBJECTS["quorum of parts, 1 of 3"]):
        again = stored[row.model, row.parameters, row.quantity, row.source]
        assert (row.mean, row.half_width) == pytest.approx((again.mean, again.half_width), rel=1e-9)


def test_the_table_tells_an_answer_that_is_outside(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--table"]) == 0
    assert capsys.readouterr().out == table(load()) + "\n"
    outside = [row for row in load() if not row.is_inside]
    assert {row.source for row in outside} == {"approximation, Nelson & Tantawi 1988"}
    assert table(outside).count("differs by +") == len(outside)


def test_a_call_is_a_station_visit_like_any_other() -> None:
    """Two M/M/1 stations in series at rho 0.5: W = 2 + 2; the second is reached by a call."""
    model = Model("tandem", time_unit="s")
    inner = model.program("inner")
    inner.use(model.station("second"), exponential(1))
    outer = model.program("outer")
    outer.use(model.station("first"), exponential(1))
    outer.call(inner)
    model.open_class("customers", outer, interarrival=exponential(2))
    assert mean_response_s(model, 2_000_000) == pytest.approx(4.0, rel=0.01)


def test_two_open_classes_share_a_station_as_one_stream() -> None:
    """Two Poisson classes of 0.4/s each with the same service are one M/M/1 at rho 0.8."""
    model = Model("mix", time_unit="s")
    server = model.station("server")
    for name in ("red", "blue"):
        program = model.program(name)
        program.use(server, exponential(1))
        model.open_class(name, program, interarrival=exponential(2.5))
    assert mean_response_s(model, 3_000_000) == pytest.approx(5.0, rel=0.025)


def mean_response_s(model: Model, completions: int) -> float:
    columns = simulate(model, seed=1, completions=completions).classes.columns
    return float(columns["response_s_sum"][-1].sum() / columns["completion_count"][-1].sum())
