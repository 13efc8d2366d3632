"""Checks against theorems, at their edges; simulated and real results are in the other tests."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.audit.audit import CHECKS, audit
from headroom.audit.checks import distribution, laws, over_time, tools
from headroom.audit.readers.fields import UnreadableError
from headroom.audit.readers.recognise import formats, read_results
from headroom.audit.result import Level, Result, Stated, Unchecked
from headroom.errors import StudyError

SOUND = Result(
    tool="csv", source="a.csv", name="a", loop="closed", clients=10.0, think_s=0.0,
    duration_s=Stated(100.0), count=10_000, throughput=Stated(100.0), mean=Stated(0.1),
    stdev=Stated(0.05), low=Stated(0.01), high=Stated(0.4), cpus=4.0, busy=Stated(3.0),
    percentiles={0.5: Stated(0.09), 0.99: Stated(0.3)},
)  # fmt: skip


def levels(result: Result) -> dict[str, Level]:
    return {one.check: one.level for one in audit([result]).findings}


@pytest.mark.parametrize(
    ("changed", "is_found"),
    [
        ({"tool": "benchbase", "name": "tpcc", "settings": {"scalefactor": "10"}}, True),
        ({"tool": "benchbase", "name": "tpcc", "settings": {"scalefactor": "1000"}}, False),
        ({"tool": "benchbase", "name": "ycsb", "settings": {"scalefactor": "10"}}, False),
        ({"levels": {"warehouses": 209}}, True),
        ({"levels": {"warehouses": 211}}, False),
        ({"name": "new orders", "levels": {"warehouses": 466}}, True),
        ({"name": "new orders", "levels": {"warehouses": 467}}, False),
    ],
)
def test_more_than_the_terminals_of_the_warehouses_can_ask_for_is_a_doubt(
    changed: dict[str, Any], *, is_found: bool
) -> None:
    """100 a second are 6,000 a minute: 12.86 new orders, or 28.58 of all, a warehouse."""
    cycle_s = 0.45 * 30 + 0.43 * 15 + 0.04 * (12 + 7 + 7)
    assert pytest.approx(600 / cycle_s, abs=6e-3) == tools.ALL_A_MINUTE
    assert pytest.approx(0.45 * 600 / cycle_s, abs=5e-3) == tools.NEW_ORDERS_A_MINUTE
    found = levels(replace(SOUND, **changed))
    assert found.get("warehouses") == (Level.DOUBTFUL if is_found else None)


@given(st.lists(st.floats(1e-6, 1e3), min_size=2, max_size=60), st.integers(0, 6))
@settings(max_examples=150, deadline=None)
def test_statistics_of_the_same_values_never_contradict(values: list[float], digits: int) -> None:
    """Theorem: the bounds hold for all distributions, also after rounding to any digits."""
    runs = np.array(values)

    def stated(value: float) -> Stated:
        return Stated(round(float(value), digits), 0.5 * 10.0**-digits + 1e-9 * abs(value))

    result = Result(
        tool="csv", source="", name="", count=runs.size, mean=stated(runs.mean()),
        stdev=stated(runs.std(ddof=1)), low=stated(runs.min()), high=stated(runs.max()),
        percentiles={q: stated(np.quantile(runs, q)) for q in (0.1, 0.5, 0.9, 0.99)},
    )  # fmt: skip
    assert not audit([result]).contradictions


_NUMBERS = st.none() | st.sampled_from([0.0, 1e-9, 0.5, 1.0, 20.0, 1e12])
_STATED = _NUMBERS.map(lambda value: None if value is None else Stated(value, 0.01 * value))


@given(
    st.fixed_dictionaries(
        {
            **dict.fromkeys(("throughput", "duration_s", "mean", "stdev", "low", "high"), _STATED),
            **dict.fromkeys(("clients", "think_s", "offered", "cpus"), _NUMBERS),
            "busy": _STATED,
            "count": st.none() | st.integers(0, 3),
            "loop": st.sampled_from(["open", "closed", ""]),
            "percentiles": st.just({}) | st.just({0.5: Stated(0.0)}),
            "rates": st.sampled_from([np.zeros(30), np.ones(30), np.arange(30.0)]),
            "runs_s": st.sampled_from([np.empty(0), np.zeros(30), np.array([1.0])]),
        }
    )
)
@settings(max_examples=200, deadline=None)
def test_no_combination_of_numbers_breaks_a_check(numbers: dict[str, Any]) -> None:
    """Zeros, tiny and huge numbers, and any of them missing."""
    found = audit([Result(tool="csv", source="", name="", **numbers)])
    assert all(one.figure and one.law and one.cure for one in found.findings)


def test_a_sound_result_passes_all_checks_that_it_has_numbers_for() -> None:
    found = audit([SOUND])
    assert not found.findings
    assert {"Little's law", "completions", "utilization", "mean", "deviation"} <= set(found.done)


@pytest.mark.parametrize(
    ("check", "change"),
    [
        ("completions", {"count": 12_000}),
        ("Little's law", {"clients": 9.0}),
        ("utilization", {"busy": Stated(4.1)}),
        ("order of percentiles", {"percentiles": {0.5: Stated(0.31), 0.99: Stated(0.3)}}),
        ("order of percentiles", {"high": Stated(0.2)}),
        ("order of percentiles", {"mean": Stated(0.005)}),
        ("mean", {"percentiles": {0.5: Stated(0.25), 0.99: Stated(0.3)}}),
        ("deviation", {"stdev": Stated(0.3)}),
        ("deviation", {"stdev": Stated(0.001)}),
    ],
)
def test_each_law_is_broken_by_its_own_number(check: str, change: dict[str, object]) -> None:
    found = levels(replace(SOUND, **change))  # type: ignore[arg-type]
    assert found[check] is Level.CONTRADICTION


@pytest.mark.parametrize(
    ("check", "change"),
    [
        ("Little's law", {"clients": 30.0}),
        ("samples", {"samples": 300}),
        ("open loop", {"loop": "open"}),
        ("steady state", {"rates": np.linspace(100.0, 150.0, 40)}),
        ("repeated runs", {"runs_s": np.array([0.5, *[0.1, 0.101, 0.102] * 4])}),
    ],
)
def test_what_breaks_no_law_and_may_mislead_is_doubtful(
    check: str, change: dict[str, object]
) -> None:
    found = levels(replace(SOUND, **change))  # type: ignore[arg-type]
    assert found[check] is Level.DOUBTFUL


def test_what_the_numbers_prove_is_misleading_and_what_they_suggest_is_doubtful() -> None:
    rate = levels(replace(SOUND, loop="open", offered=120.0))
    assert rate["offered load"] is Level.MISLEADING
    assert levels(replace(SOUND, failed=100.0))["failures"] is Level.MISLEADING
    assert "failures" not in levels(replace(SOUND, failed=99.0))


def test_a_rate_alone_shows_what_was_left_out_where_time_and_count_are_unknown() -> None:
    open_loop = replace(SOUND, loop="open", duration_s=None, count=None)
    assert "offered load" not in levels(replace(open_loop, offered=100.5))
    assert levels(replace(open_loop, offered=130.0))["offered load"] is Level.MISLEADING


@pytest.mark.parametrize(("depth", "is_found"), [("1", False), ("2", True), ("x", False)])
def test_a_depth_of_two_or_more_needs_an_engine_that_keeps_them_in_flight(
    depth: str, *, is_found: bool
) -> None:
    job = {"iodepth": depth, "is_async": "False", "run_s": "9", "direct": "1"}
    found = audit([replace(SOUND, tool="fio", settings=job)]).findings
    assert [one.check for one in found] == (["fio"] if is_found else [])


def test_the_ends_of_a_short_run_widen_littles_law() -> None:
    """Requests under way at the start end in the run: N (T + R_max) is the exact bound."""
    short = replace(SOUND, duration_s=Stated(1.0), throughput=Stated(130.0), high=Stated(0.4))
    assert laws.population(short) == []
    assert laws.population(replace(short, throughput=Stated(145.0)))


def test_a_derived_or_filled_in_mean_is_not_held_against_the_clients() -> None:
    for field in ("mean_is_derived", "fills_in"):
        found = laws.population(replace(SOUND, clients=1.0, **{field: True}))  # type: ignore[arg-type]
        assert isinstance(found, Unchecked)


def test_a_percentile_needs_the_responses_that_order_statistics_ask() -> None:
    """Oracle: 0.999^n <= 0.025 from n = 3688 on."""
    tail = replace(SOUND, percentiles={0.999: Stated(0.35)}, samples=3687)
    found = distribution.samples(tail)
    assert isinstance(found, list)
    assert "3688" in found[0].law
    assert distribution.samples(replace(tail, samples=3688)) == []


def test_a_warm_up_is_found_and_noise_is_not() -> None:
    noise = np.random.default_rng(1).normal(100.0, 3.0, size=60)
    cold = noise - np.where(np.arange(60) < 12, 40.0, 0.0)
    assert over_time.steady(replace(SOUND, rates=noise)) == []
    found = over_time.steady(replace(SOUND, rates=cold))
    assert isinstance(found, list)
    assert re.search(r"the first 1[0-3] of 60", found[0].figure)


def test_equal_throughputs_below_saturation_are_no_ceiling() -> None:
    row = replace(SOUND, loop="open", offered=100.0)
    rows = [replace(row, levels={"system": name}) for name in "ABC"]
    assert "ceiling" not in {one.check for one in audit(rows).findings}
    closed = [replace(one, loop="closed", offered=None) for one in rows]
    assert "ceiling" in {one.check for one in audit(closed).findings}


def test_an_empty_result_makes_every_check_say_what_it_lacks() -> None:
    empty = Result(tool="csv", source="", name="")
    answers = [check(empty) for check in CHECKS.values()]
    lacking = [one.missing for one in answers if isinstance(one, Unchecked)]
    assert len(lacking) >= 8
    assert all(lacking)
    assert not [one for one in answers if isinstance(one, list)]


@pytest.mark.parametrize(
    ("text", "wanted", "message"),
    [
        ("", "", "no known format fits"),
        ('{"results": [', "", "not valid JSON"),
        ("hello\n", "fio", "expected JSON with `fio version`"),
        ('{"results": [{"command": "a", "mean": 1.0}]}', "", "has no list `times`"),
        (
            '{"fio version": "3", "jobs": [{"jobname": "a", "read": {"total_ios": 3}}]}',
            "",
            "runtime",
        ),
        ('{"fio version": "3", "jobs": []}', "", "no result in this file"),
        ("system,throughput,response_ms_mean\nA,fast,1\n", "", "result:2: could not convert"),
        ("system,throughput,response_sm_mean\nA,1,1\n", "", "'sm', which is not a unit of time"),
        ("system, throughput, response_ms_mean\nA, 1, fast\n", "", "could not convert"),
        ("system,clients,throughput\nA,nan,1\n", "", "'nan' is not a number of 0 or more"),
        ("a", "excel", "unknown format"),
        ("Running 10s test @ x\n  Thread Stats\n", "", "the text of wrk is incomplete"),
    ],
)
def test_an_unreadable_file_is_an_error_that_says_what_was_expected(
    text: str, wanted: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "result"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableError, match=message) as caught:
        read_results(path, wanted)
    assert caught.value.cure


def test_binary_results_and_missing_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "attack.bin"
    path.write_bytes(b"\xff\x81gob")
    with pytest.raises(UnreadableError, match="not a text file"):
        read_results(path)
    with pytest.raises(StudyError, match="no such file"):
        read_results(tmp_path / "absent.json")


def test_every_format_says_what_it_expects() -> None:
    found, broken = formats()
    assert all(one.expected for one in found.values())
    assert not broken
