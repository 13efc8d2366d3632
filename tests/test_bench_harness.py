"""The benchmark harness: measurements and output; no wall-clock threshold anywhere."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from benches.harness import Case, Work, measure_case, read_rows, table, write_rows
from benches.run import cases_of, main, part_names, run_part


def sum_to(count: int) -> Work:
    def work() -> float:
        return float(sum(range(count)) > 0) * count

    return work


def case_with(headroom: Work, peer: Work, *, measure: str = "cpu_rate") -> Case:
    return Case(
        name="c",
        metric="m",
        unit="1/s",
        headroom=headroom,
        peers={"peer": peer},
        measure=measure,  # type: ignore[arg-type]  # parametrised
        repeats=3,
    )


@pytest.mark.deep
def test_a_row_has_exactly_the_promised_keys_and_the_file_is_a_list(tmp_path: Path) -> None:
    rows = measure_case(case_with(sum_to(20_000), sum_to(20_000)))
    write_rows(rows, tmp_path / "results" / "part.json")
    (row,) = json.loads((tmp_path / "results" / "part.json").read_text())
    promised = {"case", "metric", "unit", "headroom", "peer", "peer_value", "ratio"}
    assert promised <= set(row)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("measure", "ours", "theirs", "ratio"),
    [("returned", 6.0, 3.0, 2.0), ("returned", 3.0, 6.0, 0.5)],
)
def test_a_ratio_above_one_means_that_headroom_is_better(
    measure: str, ours: float, theirs: float, ratio: float
) -> None:
    case = case_with(lambda: ours, lambda: theirs, measure=measure)
    assert measure_case(case)[0].ratio == ratio


@pytest.mark.deep
def test_a_hundred_times_the_work_costs_more_processor_time() -> None:
    light = case_with(sum_to(30_000), sum_to(3_000_000), measure="cpu_s")
    (row,) = measure_case(light)
    assert row.peer_value is not None
    assert row.headroom < row.peer_value
    assert row.ratio is not None
    assert row.ratio > 1


@pytest.mark.deep
def test_the_ratio_is_the_median_of_the_rounds_and_not_of_the_machines_moods() -> None:
    """A machine that slows down by half in the middle slows both alike."""
    ours, theirs = iter([9.0, 8.0, 4.0, 4.0]), iter([9.0, 4.0, 2.0, 1.0])
    row = measure_case(case_with(lambda: next(ours), lambda: next(theirs), measure="returned"))[0]
    assert row.ratio == 2.0
    assert row.ratio_range == (2.0, 4.0)


@pytest.mark.deep
def test_a_round_whose_cost_was_too_small_to_be_counted_has_no_ratio() -> None:
    """Cause: processor time is counted in ticks; a program that met none ended a benchmark."""
    theirs = iter([1.0, 2.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0])
    case = case_with(lambda: 1.0, lambda: next(theirs), measure="returned")
    (row,) = measure_case(case)
    assert row.ratio_range == (0.25, 0.5)
    (row,) = measure_case(case)
    assert (row.ratio, row.ratio_range, row.peer_value) == (None, None, 0.0)
    assert row.reason in table([row])
    assert "cannot" not in table([row])


@pytest.mark.deep
def test_what_was_measured_before_a_failure_is_shown_and_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> float:
        raise RuntimeError("the peer is gone")

    part = ModuleType("benches.sample")
    good = replace(case_with(lambda: 2.0, lambda: 1.0, measure="returned"), name="good")
    vars(part).update(cases=lambda: [good, replace(good, name="bad", headroom=fail)])
    monkeypatch.setitem(sys.modules, "benches.sample", part)
    with pytest.raises(RuntimeError, match="the peer is gone"):
        run_part("sample", tmp_path)
    assert "good" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.deep
def test_a_peer_that_cannot_do_the_work_has_a_row_with_the_reason() -> None:
    able = case_with(lambda: 1.0, lambda: 1.0, measure="returned")
    rows = measure_case(replace(able, cannot={"other": "it knows no queues"}))
    assert [row.peer for row in rows] == ["peer", "other"]
    assert (rows[1].peer_value, rows[1].ratio, rows[1].reason) == (None, None, "it knows no queues")
    assert "cannot: it knows no queues" in table(rows)


@pytest.mark.deep
def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    able = case_with(lambda: 2.0, lambda: 1.0, measure="returned")
    rows = measure_case(replace(able, cannot={"other": "why"}))
    write_rows(rows, tmp_path / "part.json")
    assert table(read_rows(tmp_path / "part.json")) == table(rows)


def test_long_cases_run_only_where_they_are_asked_for() -> None:
    quick = case_with(lambda: 1.0, lambda: 1.0)
    slow = replace(quick, name="slow")
    part, plain = ModuleType("part"), ModuleType("plain")
    vars(part).update(cases=lambda: [quick], long_cases=lambda: [slow])
    vars(plain).update(cases=lambda: [quick])
    assert cases_of(part, with_long=False) == [quick]
    assert cases_of(part, with_long=True) == [quick, slow]
    assert cases_of(plain, with_long=True) == [quick]


@pytest.mark.deep
def test_contenders_take_turns_after_one_unmeasured_round() -> None:
    order: list[str] = []

    def noted(name: str) -> Work:
        def work() -> float:
            order.append(name)
            return 1.0

        return work

    measure_case(case_with(noted("ours"), noted("theirs"), measure="returned"))
    assert order == ["ours", "theirs"] * 4


def test_a_rate_without_an_amount_is_refused() -> None:
    with pytest.raises(TypeError, match="must return a number"):
        measure_case(case_with(lambda: None, lambda: None))


def test_an_unknown_part_is_named_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-part"]) == 2
    said = capsys.readouterr().out
    assert "no-such-part" in said
    assert all(name in said for name in part_names())


def test_only_modules_with_cases_are_parts() -> None:
    assert "simulation" in part_names()
    assert not {"harness", "run", "coverage", "comparisons"} & set(part_names())


@pytest.mark.deep
def test_a_part_that_shows_its_rows_itself_is_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    part = ModuleType("benches.sample")
    case = case_with(lambda: 2.0, lambda: 1.0, measure="returned")
    vars(part).update(cases=lambda: [case], shown=lambda rows: f"{len(rows)} row of {rows[0].peer}")
    monkeypatch.setitem(sys.modules, "benches.sample", part)
    run_part("sample", tmp_path)
    assert "1 row of peer" in capsys.readouterr().out
    assert [row.ratio for row in read_rows(tmp_path / "sample.json")] == [2.0]
