"""The load on modelled devices: the requests, times and classes of a measured target."""

import json
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Value
from headroom.simulation import SimulationError, SimulationResult, simulate
from headroom.simulation.language.streams import stream_key
from headroom.systems.storage import native
from headroom.systems.storage.blocks.metrics import class_names
from headroom.systems.storage.devices.models import DISK, DRAM_DEVICE
from headroom.systems.storage.devices.models.load import load_parameters
from headroom.systems.storage.workloads.workload_parameters import workload_parameters
from headroom.systems.storage.workloads.workload_table import workload_table

Config: TypeAlias = dict[str, Value]
SEED = 7
COUNT = 400
BEGIN = 0
"""Kind of an event: a job enters the system."""
OPEN: dict[str, Config] = {
    "micro": {"load": "open", "rate": 200.0, "read_share": 0.6},
    "micro, constant": {"load": "open", "law": "constant", "rate": 90.0, "read_share": 0.6},
    "micro, streams": {"load": "open", "rate": 200.0, "read_share": 0.3, "streams": 3},
    "spc1": {"workload": "spc1_like", "bsus": 2},
    "spc1, half": {"workload": "spc1_like", "bsus": 2, "load_share": 0.5},
}
CLOSED: dict[str, Config] = {
    "micro": {"read_share": 0.6, "depth": 3, "streams": 2},
    "reads": {"read_share": 1.0},
    "writes": {"read_share": 0.0, "depth": 5},
    "files": {"workload": "spc2_like", "spc2_phase": "read_write", "streams": 2},
    "query": {"workload": "spc2_like", "spc2_part": "ldq", "depth": 4},
    "video": {"workload": "spc2_like", "spc2_part": "vod", "streams": 3},
}


def complete(config: Config) -> Config:
    """Return the value of every parameter, as a study of the measured column has them."""
    defaults = {parameter.name: parameter.default for parameter in workload_parameters()}
    return {**defaults, "workload": "micro", **config}  # type: ignore[dict-item]  # all have one


def run(config: Config, *, trace: int = 0, requests: int = COUNT) -> SimulationResult:
    return simulate(DRAM_DEVICE(**config, requests=requests), seed=SEED, trace=trace)


def counts(result: SimulationResult) -> dict[str, int]:
    done = result.classes.columns["completion_count"][-1]
    return {name: int(count) for name, count in zip(result.classes.names, done, strict=True)}


def source(table: dict[str, Any], count: int = COUNT) -> dict[str, npt.NDArray[np.float64]]:
    """Return the first requests that a measured target of the same size and seed gets."""
    seed = native.source_seed(seed=SEED, key=stream_key("mechanism requests"))
    return native.requests(
        workload=json.dumps(table).encode(),
        seed=seed,
        target_bytes=DRAM_DEVICE.numbers().target_bytes,
        count=count,
    )


def table_of(config: Config) -> dict[str, Any]:
    return workload_table(complete(config), target_bytes=DRAM_DEVICE.numbers().target_bytes)


@pytest.mark.parametrize("classes", ["kind", "stream"])
@pytest.mark.parametrize("name", OPEN)
def test_open_requests_come_when_they_are_due_in_a_measured_run(name: str, classes: str) -> None:
    events = run({**OPEN[name], "classes": classes}, trace=100_000).trace
    assert events is not None
    begun = events.time_s[events.kind == BEGIN][:COUNT]
    assert begun == pytest.approx(source(table_of(OPEN[name]))["due_s"][: begun.size], abs=2e-9)
    assert begun.size >= COUNT


@pytest.mark.parametrize("name", OPEN)
def test_reads_and_writes_of_open_streams_are_those_of_a_measured_run(name: str) -> None:
    events = run({**OPEN[name], "classes": "kind"}, trace=100_000).trace
    assert events is not None
    begun = events.kind == BEGIN
    is_write = events.klass[begun][:COUNT]
    assert is_write.tolist() == source(table_of(OPEN[name]))["kind"][: is_write.size].tolist()


@pytest.mark.parametrize("read_share", [0.2, 0.7])
def test_one_closed_job_carries_out_the_requests_of_a_measured_run(read_share: float) -> None:
    config: Config = {"read_share": read_share}
    kinds = source(table_of(config))["kind"]
    assert counts(run(config)) == {
        "read": int((kinds == 0).sum()),
        "write": int((kinds == 1).sum()),
    }


@pytest.mark.parametrize("classes", ["auto", "kind", "stream"])
@pytest.mark.parametrize("config", [*OPEN.values(), *CLOSED.values()], ids=[*OPEN, *CLOSED])
def test_classes_are_those_of_the_measured_column(config: Config, classes: str) -> None:
    asked = {**config, "classes": classes}
    counted = counts(run(asked))
    assert set(counted) <= set(class_names(complete(asked)))
    assert sum(counted.values()) == COUNT
    assert min(counted.values()) > 0


def test_reads_and_writes_have_times_of_their_own() -> None:
    """A disk settles longer before it writes."""
    result = simulate(DISK(read_share=0.5, requests=4_000), seed=SEED)
    columns = result.classes.columns
    means_s = columns["response_s_sum"][-1] / columns["completion_count"][-1]
    read_s, write_s = (means_s[result.classes.names.index(kind)] for kind in ("read", "write"))
    settle_s = 1e-3 * DISK.numbers().write_settle_ms
    # A read loses as much as a write if the sector must come round again.
    assert write_s - read_s == pytest.approx(settle_s, abs=0.5 * settle_s)


def test_streams_of_a_closed_load_have_their_depth_outstanding() -> None:
    result = run({"depth": 3, "streams": 4}, requests=2_000)
    assert int(result.classes.maxima["jobs"][0]) == 3 * 4


def test_a_video_stream_has_eight_blocks_outstanding_at_most() -> None:
    # 100 MB/s in each of 3 streams are more than the disk gives.
    video: Config = {"workload": "spc2_like", "spc2_part": "vod", "streams": 3}
    result = simulate(DISK(**video, spc2_stream_rate=1e8, requests=1_000), seed=SEED)
    at = result.stations.names.index("disk")
    most = int(result.stations.maxima["queue_len"][at])
    assert 3 * 8 - 1 <= most <= 3 * 8


# ---- traces


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Return a trace of 300 requests, 5 ms apart, 100 of them writes, with syncs between."""
    lines = [
        f"/dev/a {'read' if turn % 3 else 'write'} {4096 * (turn * 7919 % 100_000)} 4096\n"
        "/dev/a sync 0 0\n/dev/a wait 5000\n"
        for turn in range(300)
    ]
    path = tmp_path / "small.log"
    path.write_text("fio version 2 iolog\n/dev/a add\n/dev/a open\n" + "".join(lines))
    return path


def test_a_trace_is_replayed_at_its_times_and_ends(trace: Path) -> None:
    result = run({"workload": "trace", "trace_file": str(trace)}, trace=10_000)
    assert counts(result) == {"read": 200, "write": 100}
    assert result.trace is not None
    begun = result.trace.time_s[result.trace.kind == BEGIN]
    assert begun == pytest.approx(0.005 * np.arange(300), abs=1e-8)


def test_half_the_time_scale_is_half_the_time(trace: Path) -> None:
    config: Config = {"workload": "trace", "trace_file": str(trace)}
    whole, half = (run({**config, "trace_time_scale": scale}) for scale in (1.0, 0.5))
    assert half.snapshot_times_s[-1] == pytest.approx(0.5 * whole.snapshot_times_s[-1], rel=1e-3)


@pytest.mark.parametrize("classes", ["kind", "stream"])
def test_a_trace_as_fast_as_it_goes_does_not_wait_for_its_times(trace: Path, classes: str) -> None:
    config: Config = {"workload": "trace", "trace_file": str(trace), "trace_timing": "as_fast"}
    result = run({**config, "depth": 4, "classes": classes})
    assert sum(counts(result).values()) == 300
    assert result.snapshot_times_s[-1] < 0.1 * 300 * 0.005


def test_of_a_trace_that_is_cut_what_is_left_is_replayed(trace: Path) -> None:
    config: Config = {"workload": "trace", "trace_file": str(trace), "trace_start_s": 1.0}
    assert sum(counts(run(config)).values()) == 100
    assert sum(counts(run({**config, "trace_timing": "as_fast"})).values()) == 100


# ---- refusals


def test_a_parameter_of_another_workload_is_refused_as_in_the_measured_column() -> None:
    with pytest.raises(StudyError, match="does not have it"):
        DISK(workload="spc1_like", read_share=0.5)
    with pytest.raises(StudyError, match="no trace to replay"):
        DISK(workload="trace")


def test_more_streams_than_the_device_has_room_for_are_refused() -> None:
    with pytest.raises(SimulationError, match="too many"):
        DRAM_DEVICE(workload="spc2_like", streams=1_000, capacity_gb=0.1)


def test_every_parameter_has_a_default_and_a_source() -> None:
    for load_parameter in load_parameters():
        assert load_parameter.default is not None
        assert load_parameter.source
