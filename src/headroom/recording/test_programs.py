"""Programs that generate a load together, played by scripts."""

import json
import sys
from typing import Any

import numpy as np
import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.recording.programs import LoadPrograms, arrays_of

_PROGRAM = """
import json, sys
job = json.loads(sys.stdin.readline())
if "refuses" in job:
    sys.exit("error: " + job["refuses"])
print("ready", flush=True)
assert sys.stdin.readline() == "go\\n"
if "breaks" in job:
    sys.exit(1)
print(json.dumps(job["result"]), flush=True)
"""
ARGV = [sys.executable, "-c", _PROGRAM]


def result_of(count: int) -> dict[str, Any]:
    """Return the result of a program with `count` queries of 1 ms."""
    table = {
        "names": ["query"],
        "capacity": [None],
        "columns": {"completion_count": [float(count)]},
        "maxima": {},
    }
    histogram = {
        "bin_low": [0.001],
        "bin_high": [0.002],
        "counts": [count, 0],
        "segment_end_times_s": [1.0, 2.0],
        "totals": {
            "sums": [count * 0.001, 0.0],
            "square_sums": [count * 1e-6, 0.0],
            "minima": [0.001, None],
            "maxima": [0.001, None],
        },
    }
    return {
        "end_s": 2.0,
        "load_s": 2.0,
        "outstanding_count": 0,
        "waiting_count": 0,
        "continued_count": 0,
        "problem": None,
        "failures": [],
        "facts": {"threads": "1"},
        "counters": {"cpu_s": 0.5},
        "workload_counters": {"message_pair_count": 3 * count},
        "classes": {"query": {"completion_count": count, "submit_error_s_max": None}},
        "histograms": {"response_s": {"query": histogram}},
        "series": {"query": {"batch_size": 1, "end_times_s": [1.0], "values": [0.001]}},
        "snapshots": {"times_s": [2.0], "stations": table, "classes": table},
        "samples": None,
    }


def test_results_of_all_programs_add_up() -> None:
    jobs = [{"result": result_of(count)} for count in (3, 4)]
    with LoadPrograms(ARGV, jobs) as programs:
        assert len(set(programs.processes())) == len(jobs)
        found = programs.run()
    assert found["classes"]["query"]["completion_count"] == 7
    assert found["workload_counters"]["message_pair_count"] == 21
    assert found["histograms"]["response_s"]["query"]["counts"].tolist() == [[7], [0]]
    assert found["facts"]["processes"] == "2"
    assert found["snapshots"]["classes"]["columns"]["completion_count"].tolist() == [[7.0]]


def test_a_null_is_infinity_or_a_missing_number() -> None:
    arrays = arrays_of(json.loads(json.dumps(result_of(1))))
    totals = arrays["histograms"]["response_s"]["query"]["totals"]
    assert totals["minima"].tolist() == [0.001, np.inf]
    assert totals["maxima"].tolist() == [0.001, -np.inf]
    assert arrays["snapshots"]["stations"]["capacity"].tolist() == [np.inf]
    assert np.isnan(arrays["classes"]["query"]["submit_error_s_max"])


def test_a_program_that_is_not_ready_is_named_with_its_reason() -> None:
    jobs: list[dict[str, Any]] = [{"result": result_of(1)}, {"refuses": "no connection"}]
    match = "load program 2 ended without a result: no connection"
    with pytest.raises(EnvironmentUnfitError, match=match), LoadPrograms(ARGV, jobs):
        pytest.fail("the block began")


def test_a_program_without_a_result_is_an_error() -> None:
    with (
        LoadPrograms(ARGV, [{"breaks": True}]) as programs,
        pytest.raises(EnvironmentUnfitError, match="load program 1 ended without a result"),
    ):
        programs.run()


def test_a_program_that_is_missing_is_named() -> None:
    with (
        pytest.raises(EnvironmentUnfitError, match="nowhere does not start"),
        LoadPrograms(["/nowhere"], [{}]),
    ):
        pytest.fail("the block began")
