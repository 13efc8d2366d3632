"""Requests of storage workloads from Python: shares, bounds, order, rejections."""

import json
import math
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.simulation.language.streams import stream_key
from headroom.systems.storage import native
from headroom.systems.storage.workloads.workload_parameters import workload_parameters
from headroom.systems.storage.workloads.workload_table import workload_table

KIB = 1024
GIB = 1024**3


def requests(
    workload: dict[str, Any], *, seed: int = 1, target_bytes: int = GIB, count: int = 1000
) -> dict[str, Any]:
    return native.requests(
        workload=json.dumps(workload).encode(), seed=seed, target_bytes=target_bytes, count=count
    )


def assert_share(part: int, total: int, share: float) -> None:
    """Five standard deviations of a binomial share: by chance once in 1.7 million."""
    deviation = math.sqrt(share * (1 - share) / total)
    assert abs(part / total - share) <= 5 * deviation + 1e-12


blocks = st.lists(
    st.fixed_dictionaries(
        {
            "bytes": st.integers(1, 256).map(lambda sectors: 512 * sectors),
            "weight": st.floats(0.1, 9, allow_nan=False),
        }
    ),
    min_size=1,
    max_size=4,
)
streams = st.fixed_dictionaries(
    {
        "block_bytes": blocks,
        "read_share": st.floats(0, 1),
        "pattern": st.sampled_from(["random", "sequential", "zipf"]),
        "start": st.sampled_from(["spread", "first", "random"]),
        "align_bytes": st.just(512),
    },
    optional={
        "rate_per_s": st.floats(1, 1e6),
        "depth": st.integers(1, 128),
        "offset_bytes": st.integers(0, 1000).map(lambda sectors: 512 * sectors),
    },
)
workloads = st.lists(streams, min_size=1, max_size=4).map(
    lambda listed: {"kind": "micro", "streams": listed}
)


@given(workload=workloads, seed=st.integers(0, 2**64 - 1), target=st.integers(2**20, 2**50))
def test_requests_lie_inside_and_come_in_order(
    workload: dict[str, Any], seed: int, target: int
) -> None:
    drawn = requests(workload, seed=seed, target_bytes=target, count=200)
    assert len(drawn["kind"]) == 200
    assert np.all(drawn["offset"] % 512 == 0)
    assert np.all(drawn["offset"] + drawn["length"] <= target)
    assert np.all(np.diff(drawn["due_s"][~np.isnan(drawn["due_s"])]) >= 0)
    for index, written in enumerate(workload["streams"]):
        own = drawn["stream"] == index
        assert np.all(np.isnan(drawn["due_s"][own]) == ("rate_per_s" not in written))
        assert np.all(drawn["offset"][own] >= written.get("offset_bytes", 0))
        sizes = {block["bytes"] for block in written["block_bytes"]}
        assert set(drawn["length"][own].tolist()) <= sizes


@given(workload=workloads, seed=st.integers(0, 2**64 - 1), extra=streams)
def test_a_stream_is_the_same_whatever_runs_beside_it(
    workload: dict[str, Any], seed: int, extra: dict[str, Any]
) -> None:
    """Streams with a start that is not spread over all of them are independent of each other."""
    alone = [dict(stream, start="random") for stream in workload["streams"]]
    # Phases of constant rates are spread too; these are Poisson.
    both = [*alone, extra]
    first = requests({"kind": "micro", "streams": alone}, seed=seed, count=100)
    second = requests({"kind": "micro", "streams": both}, seed=seed, count=100)
    for index in range(len(alone)):
        of_first, of_second = first["stream"] == index, second["stream"] == index
        common = min(of_first.sum(), of_second.sum())
        for column in ("kind", "offset", "length", "due_s"):
            assert np.array_equal(
                first[column][of_first][:common],
                second[column][of_second][:common],
                equal_nan=True,
            )


def test_equal_seeds_give_equal_requests_and_others_do_not() -> None:
    workload = {"kind": "micro", "pattern": "zipf", "rate_per_s": 10.0}
    first, same, other = (requests(workload, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first["offset"], same["offset"])
    assert np.array_equal(first["due_s"], same["due_s"])
    assert not np.array_equal(first["offset"], other["offset"])


def test_another_share_of_reads_leaves_addresses_and_times_as_they_are() -> None:
    workload = {"kind": "micro", "rate_per_s": 10.0}
    few, many = (requests({**workload, "read_share": share}) for share in (0.1, 0.9))
    assert np.array_equal(few["offset"], many["offset"])
    assert np.array_equal(few["due_s"], many["due_s"])
    assert np.sum(few["kind"] == 0) < np.sum(many["kind"] == 0)


def test_sequential_share_gives_runs_of_the_expected_length() -> None:
    """Oracle: a request continues the last one with the share (or, rarely, by chance)."""
    share, count = 0.75, 100_000
    drawn = requests({"kind": "micro", "sequential_share": share}, count=count)
    ends = drawn["offset"][:-1] + drawn["length"][:-1]
    assert_share(int(np.sum(drawn["offset"][1:] == ends)), count - 1, share)


def test_hot_blocks_follow_zipf_and_lie_apart() -> None:
    """Oracle: with an exponent of 1 the k-th hottest of n has 1 / (k H_n) of all requests."""
    blocks, count = 1000, 200_000
    drawn = requests(
        {"kind": "micro", "pattern": "zipf", "zipf_exponent": 1.0},
        target_bytes=blocks * 4 * KIB,
        count=count,
    )
    counts = np.bincount(drawn["offset"] // (4 * KIB), minlength=blocks)
    harmonic = math.fsum(1 / rank for rank in range(1, blocks + 1))
    hottest = np.argsort(-counts)[:4]
    for rank, place in enumerate(hottest, start=1):
        assert_share(int(counts[place]), count, 1 / (rank * harmonic))
    assert np.min(np.abs(np.diff(np.sort(hottest)))) > 1


@pytest.mark.parametrize("law", ["poisson", "constant"])
def test_open_streams_keep_their_rate(law: str) -> None:
    rate, count = 250.0, 50_000
    drawn = requests({"kind": "micro", "rate_per_s": rate, "arrivals": law}, count=count)
    gaps = np.diff(drawn["due_s"])
    # The mean of n exponential gaps has a deviation of 1 / sqrt(n) of itself.
    tolerance = 5 / math.sqrt(count) if law == "poisson" else 1e-6
    assert np.mean(gaps) * rate == pytest.approx(1, abs=tolerance)
    assert np.std(gaps) * rate == pytest.approx(1 if law == "poisson" else 0, abs=0.05)


def test_laws_of_a_study_reach_the_streams() -> None:
    """Gamma gaps keep rate and spread, and pulses are due at once."""

    def dues_s(count: int, **load: Any) -> npt.NDArray[np.float64]:
        defaults = {parameter.name: parameter.default for parameter in workload_parameters()}
        config: dict[str, Any] = {**defaults, "workload": "micro", "load": "open", **load}
        table = workload_table(config, target_bytes=GIB)
        drawn: npt.NDArray[np.float64] = requests(table, count=count)["due_s"]
        return drawn

    gaps_s = np.diff(dues_s(50_000, law="gamma", gap_c2=4.0))
    assert np.mean(gaps_s) == pytest.approx(0.01, rel=0.05)
    assert np.var(gaps_s) / np.mean(gaps_s) ** 2 == pytest.approx(4.0, rel=0.1)
    pulses_s = dues_s(12, law="pulses", pulse_requests=5)
    assert pulses_s == pytest.approx([0.0] * 5 + [0.05] * 5 + [0.1] * 2)
    assert dues_s(4000, law="ramp", ramp_s=20.0)[1000] == pytest.approx(20.0, rel=0.1)


def test_streams_of_a_constant_rate_are_spread_over_the_gap() -> None:
    workload = {"kind": "micro", "streams": 4, "rate_per_s": 100.0, "arrivals": "constant"}
    gaps = np.diff(requests(workload, count=400)["due_s"])
    assert gaps == pytest.approx(np.full(399, 0.0025), abs=2e-9)


@settings(max_examples=20)
@given(bsus=st.integers(1, 300), seed=st.integers(0, 2**32))
def test_the_transaction_like_mix_has_its_published_shares(bsus: int, seed: int) -> None:
    """Oracle: 39.4% reads, 8.0 KiB on average, 50 requests a second for each unit of load."""
    count = 20_000
    drawn = requests({"kind": "spc1_like", "bsus": bsus}, seed=seed, count=count)
    reads = int(np.sum(drawn["kind"] == 0))
    assert_share(reads, count, 0.035 * 0.5 + 0.281 * 0.5 + 0.07 + 0.21 * 0.5 + 0.088 * 0.3 + 0.035)
    # The deviation of one size is 10.2 KiB (from the table of sizes).
    assert np.mean(drawn["length"]) / KIB == pytest.approx(8.0, abs=5 * 10.2 / math.sqrt(count))
    rate = count / drawn["due_s"][-1]
    assert rate / (50 * bsus) == pytest.approx(1, abs=5 / math.sqrt(count))


def test_video_streams_tell_when_a_block_is_late() -> None:
    workload = {"kind": "spc2_like", "part": "vod", "streams": 3, "rate_bytes_per_s": 262_144.0}
    drawn = requests(workload, count=30)
    assert drawn["allowance_s"].tolist() == [1.0, 1.0, 1.0]
    assert drawn["depth"].tolist() == [8, 8, 8]
    own = drawn["due_s"][drawn["stream"] == 1]
    assert np.diff(own) == pytest.approx(np.ones(len(own) - 1), abs=2e-9)


@pytest.fixture
def trace_file() -> Iterator[int]:
    """Yield the descriptor of an open file with a trace in the format of MSR Cambridge."""
    with tempfile.TemporaryFile() as file:
        for turn in range(1000):
            word = "Read" if turn % 4 else "Write"
            file.write(f"{10_000_000 * turn},web,0,{word},{8192 * turn},4096,1\n".encode())
        file.flush()
        yield file.fileno()


def test_a_trace_is_replayed_from_an_open_file(trace_file: int) -> None:
    workload = {"kind": "trace", "format": "msr", "fd": trace_file, "time_scale": 0.1}
    drawn = requests(workload, target_bytes=GIB, count=5000)
    assert drawn["offset"].tolist() == [8192 * turn for turn in range(1000)]
    assert drawn["due_s"] == pytest.approx(np.arange(1000) * 0.1)
    assert int(np.sum(drawn["kind"] == 1)) == 250
    # The file stays where its owner left it.
    assert os.lseek(trace_file, 0, os.SEEK_CUR) > 0


def test_a_trace_is_described(trace_file: int) -> None:
    workload = {"kind": "trace", "format": "msr", "fd": trace_file}
    description = native.trace_description(
        workload=json.dumps(workload).encode(), target_bytes=4096 * KIB
    )
    assert (description["requests"], description["read_share"]) == (1000, 0.75)
    assert description["duration_s"] == pytest.approx(999.0)
    assert description["footprint_bytes"] == 4096 * 1000
    assert dict(zip(description["size_bytes"], description["size_count"], strict=True)) == {
        4096: 1000
    }
    assert description["devices"] == {"web.0": (1000, 8192 * 999 + 4096)}
    # Half of the addresses are beyond a target of 4 MiB.
    assert description["counters"]["trace_requests_folded"] == 1000 - 512


@pytest.mark.parametrize(
    ("workload", "key"),
    [
        ({"kind": "micro", "dephts": 3}, "workload.dephts"),
        ({"kind": "micro", "depth": 1.5}, "workload.depth"),
        ({"kind": "micro", "block_bytes": 2 * GIB}, "workload.block_bytes"),
        ({"kind": "micro", "streams": [{}, {"read_share": -1}]}, "workload.streams[1].read_share"),
        ({"kind": "tape"}, "workload.kind"),
        ({"kind": "spc1_like"}, "workload"),
        ({"kind": "trace", "format": "spc", "text": "0,1,2\n"}, "workload: line 1 of the trace"),
    ],
)
def test_wrong_workloads_are_refused_with_key_and_cure(workload: dict[str, Any], key: str) -> None:
    with pytest.raises(native.WorkloadError) as caught:
        requests(workload)
    message, cure = caught.value.args
    assert message.startswith(f"{key}: ")
    assert cure


def test_both_columns_can_have_the_same_seed_and_runs_differ() -> None:
    key = stream_key("mechanism requests")
    seeds = [native.source_seed(seed=seed, key=key) for seed in (1, 1, 2)]
    assert seeds[0] == seeds[1] != seeds[2]
