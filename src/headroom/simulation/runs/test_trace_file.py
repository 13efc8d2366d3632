"""The trace file is valid, balanced, in order, and matches the run."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.simulation import Model, exponential, simulate, uniform
from headroom.simulation.runs.event_trace import EventTrace
from headroom.simulation.runs.trace_file import trace_events, write_trace

MODEL = {
    "name": "shop",
    "stations": [{"name": "web"}, {"name": "database"}],
    "pools": [{"name": "connections"}],
    "classes": [{"name": "users"}, {"name": "batch"}],
}
SCHEMA = {
    "type": "object",
    "required": ["traceEvents", "displayTimeUnit"],
    "properties": {
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "traceEvents": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["ph", "pid"],
                "properties": {
                    "ph": {"enum": ["M", "b", "e", "n", "B", "E", "C"]},
                    "ts": {"type": "number", "minimum": 0},
                    "pid": {"type": "integer"},
                    "tid": {"type": "integer"},
                    "name": {"type": "string"},
                    "args": {"type": "object"},
                    "id2": {
                        "type": "object",
                        "required": ["local"],
                        "properties": {"local": {"type": "string", "pattern": "^[1-9][0-9]*$"}},
                    },
                },
                "allOf": [
                    {
                        "if": {"properties": {"ph": {"enum": ["b", "e", "n"]}}},
                        "then": {"required": ["ts", "tid", "id2", "cat", "name"]},
                    },
                    {
                        "if": {"properties": {"ph": {"enum": ["B", "C"]}}},
                        "then": {"required": ["ts", "name", "args"]},
                    },
                    {
                        "if": {"properties": {"ph": {"enum": ["B", "E"]}}},
                        "then": {"required": ["ts", "tid"]},
                    },
                    {
                        "if": {"properties": {"ph": {"const": "M"}}},
                        "then": {"required": ["name", "args"]},
                    },
                ],
            },
        },
    },
}
Line = tuple[float, int, int, int, int]


def trace_of(lines: list[Line], *, is_truncated: bool = False) -> EventTrace:
    """Return a trace of (time, kind, job, class, resource)."""
    columns: list[list[Any]] = [list(column) for column in zip(*lines, strict=True)] or [[]] * 5
    return EventTrace(
        time_s=np.array(columns[0], dtype=np.float64),
        kind=np.array(columns[1], dtype=np.uint8),
        job=np.array(columns[2], dtype=np.uint32),
        klass=np.array(columns[3], dtype=np.uint32),
        resource=np.array(columns[4], dtype=np.uint32),
        is_truncated=is_truncated,
    )


def happened(lines: list[Line]) -> list[dict[str, Any]]:
    return [event for event in trace_events(trace_of(lines), MODEL) if event["ph"] != "M"]


def number_of(event: dict[str, Any]) -> str:
    return str(event["id2"]["local"])


traces = st.lists(
    st.tuples(
        st.floats(0, 10, allow_nan=False),
        st.integers(0, 12),
        st.integers(0, 4),
        st.integers(0, 1),
        st.integers(0, 0),
    ),
    max_size=80,
).map(lambda lines: sorted(lines, key=lambda line: line[0]))


@given(traces)
def test_every_slice_that_begins_ends_in_its_own_order(lines: list[Line]) -> None:
    """Also for traces that no kernel would write."""
    open_jobs: dict[str, list[str]] = defaultdict(list)
    open_lanes: dict[tuple[int, int], int] = Counter()
    for event in happened(lines):
        lane = (event["pid"], event.get("tid", 0))
        if event["ph"] == "b":
            open_jobs[number_of(event)].append(event["name"])
        elif event["ph"] == "e":
            assert open_jobs[number_of(event)].pop() == event["name"]
        elif event["ph"] == "B":
            open_lanes[lane] += 1
            assert open_lanes[lane] == 1
        elif event["ph"] == "E":
            open_lanes[lane] -= 1
            assert open_lanes[lane] == 0
    assert not any(open_jobs.values())
    assert not any(open_lanes.values())


@given(traces)
def test_times_never_fall_and_counters_are_never_negative(lines: list[Line]) -> None:
    events = happened(lines)
    times = [event["ts"] for event in events]
    assert times == sorted(times)
    last = {}
    for event in events:
        if event["ph"] == "C":
            assert min(event["args"].values()) >= 0
            last[event["pid"]] = event["args"]
    assert all(set(counts.values()) == {0} for counts in last.values())


def test_the_file_is_what_the_format_asks_for(tmp_path: Path) -> None:
    lines = [(0.0, 0, 0, 0, 0), (0.0, 2, 0, 0, 1), (0.5, 3, 0, 0, 1), (1.5, 4, 0, 0, 1),
             (1.5, 8, 0, 0, 0), (2.0, 9, 0, 0, 0), (2.0, 10, 0, 0, 0), (2.0, 12, 0, 0, 0),
             (2.0, 1, 0, 0, 0)]  # fmt: skip
    path = tmp_path / "trace.json"
    write_trace(path, trace_of(lines, is_truncated=True), MODEL)
    document = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.validate(document, SCHEMA)
    assert document["otherData"] == {"model": "shop", "is_truncated": True}
    names = {event["args"]["name"] for event in document["traceEvents"]
             if event.get("name") == "process_name"}  # fmt: skip
    assert names == {"jobs", "station web", "station database", "pool connections"}


def test_a_job_is_told_by_what_it_waits_for_and_who_serves_it() -> None:
    lines = [(0.0, 0, 7, 1, 0), (1.0, 2, 7, 1, 0), (2.0, 3, 7, 1, 0), (4.0, 5, 7, 1, 0),
             (5.0, 3, 7, 1, 0), (6.0, 4, 7, 1, 0), (6.0, 6, 7, 1, 1), (8.0, 7, 7, 1, 1),
             (9.0, 1, 7, 1, 0)]  # fmt: skip
    told = [(e["ph"], e["ts"] / 1e6, e["name"]) for e in happened(lines) if e["ph"] in "be"]
    assert told == [
        ("b", 0.0, "batch"),
        ("b", 1.0, "waits for web"), ("e", 2.0, "waits for web"),
        ("b", 2.0, "at web"), ("e", 4.0, "at web"),
        ("b", 4.0, "waits for web"), ("e", 5.0, "waits for web"),
        ("b", 5.0, "at web"), ("e", 6.0, "at web"),
        ("b", 6.0, "blocked by database"), ("e", 8.0, "blocked by database"),
        ("e", 9.0, "batch"),
    ]  # fmt: skip


def test_jobs_served_at_once_lie_in_lanes_of_their_own_and_lanes_are_used_again() -> None:
    lines = [(0.0, 3, 1, 0, 0), (1.0, 3, 2, 0, 0), (2.0, 4, 1, 0, 0), (3.0, 3, 3, 0, 0),
             (4.0, 4, 2, 0, 0), (4.0, 4, 3, 0, 0)]  # fmt: skip
    lanes = [(e["args"]["job"], e["tid"]) for e in happened(lines) if e["ph"] == "B"]
    assert lanes == [(1, 1), (2, 2), (3, 1)]


def test_the_number_of_a_job_that_left_means_another_job() -> None:
    lines = [(0.0, 0, 5, 0, 0), (1.0, 1, 5, 0, 0), (2.0, 0, 5, 0, 0), (3.0, 1, 5, 0, 0)]
    begun = [number_of(event) for event in happened(lines) if event["ph"] == "b"]
    assert begun == ["1", "2"]


def test_the_queue_is_counted_once_for_each_moment() -> None:
    lines = [(0.0, 2, 1, 0, 0), (1.0, 2, 2, 0, 0), (1.0, 2, 3, 0, 0), (2.0, 3, 1, 0, 0),
             (3.0, 4, 1, 0, 0)]  # fmt: skip
    waiting = [(e["ts"] / 1e6, e["args"]["waits"]) for e in happened(lines) if e["ph"] == "C"]
    assert waiting == [(0.0, 1), (1.0, 3), (2.0, 2), (3.0, 0)]


def shop() -> Model:
    """Return a model in which each kind of event happens."""
    model = Model("shop", time_unit="ms")
    cpu = model.station("cpu", servers=2, discipline="priority_preempt")
    log, narrow = model.station("log", batch=(1, 3)), model.station("narrow", buffer=0)
    door = model.station("door", buffer=0, when_full="reject")
    model.breakdowns(cpu, time_to_failure=exponential(50), repair=exponential(5))
    write, page = model.program("write"), model.program("page")
    write.use(log, exponential(1))
    write.reply()
    write.use(log, exponential(1))
    page.prioritize(uniform(0, 9))
    page.use(cpu, exponential(1))
    page.use(narrow, exponential(1))
    with page.holding(model.pool("locks", tokens=2), 2):
        page.delay(exponential(1))
    with page.fork(quorum=1, cancel=True) as fork:
        for _ in range(2):
            with fork.arm():
                page.use(log, exponential(1))
    page.call(write)
    with page.attempt(timeout=2, tries=2) as attempt, attempt.work():
        page.use(door, exponential(1))
    page.use(door, exponential(1))
    model.open_class("visitors", page, interarrival=exponential(4), initial=2)
    return model


def served_s(events: list[dict[str, Any]]) -> dict[str, float]:
    """Return the time (s) served at each process; refuse lanes that are not as the format asks."""
    named = {(e["pid"], e["tid"], e["name"]): e["args"] for e in events if e["ph"] == "M"}
    last: dict[tuple[int, int], float] = defaultdict(float)
    begun: dict[tuple[int, int], list[float]] = defaultdict(list)
    served: dict[str, float] = defaultdict(float)
    for event in events:
        if event["ph"] == "M":
            continue
        lane = (event["pid"], event.get("tid", 0))
        process = named[event["pid"], 0, "process_name"]["name"]
        assert event["ts"] >= last[lane]
        last[lane] = event["ts"]
        if event["ph"] == "B":
            assert named[*lane, "thread_name"]["name"] == f"server {lane[1]}"
            begun[lane].append(event["ts"])
        elif event["ph"] == "E":
            served[process] += (event["ts"] - begun[lane].pop()) / 1e6
        elif event["ph"] == "C":
            assert all(isinstance(value, int) for value in event["args"].values())
    assert not any(begun.values())
    return served


@pytest.mark.deep
def test_the_trace_of_a_run_is_valid_and_tells_the_times_of_its_tables(tmp_path: Path) -> None:
    """Strictly: all names are declared, all slices end, no time falls, all numbers are numbers."""
    model = shop()
    result = simulate(model, seed=1, completions=300, trace=100_000)
    trace = result.trace
    assert trace is not None
    assert not trace.is_truncated
    assert set(trace.kind.tolist()) == set(range(13))
    write_trace(tmp_path / "trace.json", trace, model.to_data())
    text = (tmp_path / "trace.json").read_text(encoding="utf-8")
    document = json.loads(
        text, parse_constant=lambda word: pytest.fail(f"{word} is not valid JSON")
    )
    jsonschema.validate(document, SCHEMA)
    served = served_s(document["traceEvents"])
    busy = dict(zip(result.stations.names, result.stations.columns["busy_s"][-1], strict=True))
    for name in ("cpu", "narrow", "door"):
        assert served[f"station {name}"] == pytest.approx(busy[name], abs=1e-9)
