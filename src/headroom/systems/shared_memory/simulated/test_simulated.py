"""Programs on simulated machines: times add up, and the read times of the paper come back."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.section import (
    Matrix,
    SectionPoint,
    StackedBars,
    Timeline,
    problem_of,
)
from headroom.experiment.protocol.system import Value
from headroom.simulation import Model, simulate
from headroom.systems.shared_memory.simulated.machine_file import MACHINES
from headroom.systems.shared_memory.simulated.system import (
    STATIONS,
    SharedMachine,
    SharedMachineSetup,
)

MACHINE_NAMES = sorted(path.stem for path in MACHINES.glob("*.toml"))
KINDS = ("compute_s", "private_s", "local_s", "hit_s", "remote_s", "waiting_s")
SMALL: Mapping[str, Mapping[str, Value]] = {
    "lu": {"lu_size": 64, "lu_contiguous": False},
    "fft": {"fft_points": 256},
    "ocean": {"ocean_size": 18, "ocean_steps": 1},
    "barnes": {"barnes_bodies": 128, "barnes_steps": 1},
    "reads": {"reads_words": 200},
}


def system(machine: str) -> SharedMachine:
    return SharedMachine.load(SharedMachineSetup(machine=machine), base=Path())


def defaults(known: SharedMachine) -> dict[str, Value]:
    return {one.name: one.default for one in known.parameters() if one.default is not None}


def section_points(machine: str, changes: Sequence[Mapping[str, Value]]) -> list[SectionPoint]:
    """Return points, each with the levels that it changes."""
    known = system(machine)
    points = []
    for levels in changes:
        config = {**defaults(known), **SMALL[str(levels["program"])], **levels}
        run = known.run(config, seed=1)
        artefacts = {one.name: one for one in run.artefacts}
        points.append(
            SectionPoint(
                label="", levels=levels, config=config, estimates=run.values, artefacts=artefacts
            )
        )
    return points


def values(machine: str, **changes: Value) -> Mapping[str, float]:
    known = system(machine)
    config = defaults(known) | changes
    known.check_point(config)
    return known.run(config, seed=3).values


@pytest.mark.parametrize("keeps", ["nothing", "until_barrier", "coherent"])
@pytest.mark.parametrize("machine", MACHINE_NAMES)
@pytest.mark.parametrize("program", SMALL)
def test_all_time_of_processors_is_accounted_for(program: str, machine: str, keeps: str) -> None:
    found = values(machine, program=program, nodes=2, keeps=keeps, **SMALL[program])
    assert sum(found[kind] for kind in KINDS) == pytest.approx(found["run_s"], rel=1e-9)
    assert 0.0 <= found["remote_share"] <= 1.0
    for station in STATIONS:
        assert 0.0 <= found[f"{station}_utilization"] <= 1.0 + 1e-9


@pytest.mark.parametrize("program", ["lu", "fft", "ocean", "barnes"])
def test_one_node_is_the_same_machine_with_and_without_a_network_cache(program: str) -> None:
    with_cache, without = (
        values(machine, program=program, nodes=1, **SMALL[program]) for machine in ("ncc", "numa")
    )
    assert with_cache["run_s"] == without["run_s"]
    assert with_cache["messages"] == with_cache["misses"] == 0.0


@pytest.mark.parametrize(
    ("machine", "of", "stated_s"),
    [("ncc", "local", 0.9e-6), ("ncc", "remote", 5.38e-6), ("numa", "remote", 4.02e-6)],
)
def test_a_read_takes_the_time_of_table_1(machine: str, of: str, stated_s: float) -> None:
    found = values(
        machine, program="reads", reads_of=of, placement="owner", work=0.001, barrier_s=0.0
    )
    assert found["run_s"] / 4096 == pytest.approx(stated_s, rel=0.01)


def test_a_second_read_of_a_remote_line_is_a_hit_of_the_network_cache() -> None:
    common: Mapping[str, Value] = {
        "program": "reads", "reads_of": "remote", "placement": "owner", "keeps": "nothing",
        "reads_words": 1000,
    }  # fmt: skip
    once = values("ncc", reads_stride=64, **common)
    eight_times = values("ncc", reads_stride=8, **common)
    assert once["misses"] == 1000.0
    assert eight_times["misses"] == 125.0
    assert eight_times["hit_s"] > 0.0


def test_words_that_a_program_reads_again_and_again_stay_in_the_processor() -> None:
    keeps = {
        keep: values("numa", program="fft", keeps=keep)["misses"]
        for keep in ("nothing", "until_barrier", "coherent")
    }
    assert keeps["nothing"] > 2 * keeps["until_barrier"] >= 2 * keeps["coherent"] > 0.0


def test_private_parts_leave_less_to_the_shared_memory() -> None:
    shares = [
        values("ncc", program="ocean", placement="owner", moves_private=moves, **SMALL["ocean"])
        for moves in ("nothing", "parts")
    ]
    assert shares[1]["local_s"] < shares[0]["local_s"]
    assert shares[1]["accesses"] == shares[0]["accesses"]


def test_the_best_placement_keeps_more_accesses_at_home_than_an_equal_cut() -> None:
    ratio = {
        rule: values("numa", program="lu", placement=rule, nodes=4, lu_contiguous=False)[
            "remote_per_local"
        ]
        for rule in ("equal_cut", "most")
    }
    assert ratio["most"] < ratio["equal_cut"] / 1.5


def test_lists_purge_one_copy_after_the_other_and_a_directory_all_at_once() -> None:
    """With few readers the protocols are alike; with many the directory is faster."""
    share = {
        (nodes, protocol): values(
            "ncc", program="barnes", nodes=nodes, protocol=protocol, barnes_bodies=512
        )["run_s"]
        for nodes in (2, 32)
        for protocol in ("sci", "directory")
    }
    many = share[32, "directory"] / share[32, "sci"]
    assert many < share[2, "directory"] / share[2, "sci"]


def test_reads_take_the_time_of_the_same_stations_in_the_kernel() -> None:
    """The machine's loop and the simulation kernel agree on a small case, read by read."""
    config: dict[str, Value] = {
        "program": "reads", "reads_of": "remote", "reads_words": 500, "placement": "owner",
        "work": 0.001, "barrier_s": 0.0,
    }  # fmt: skip
    known = system("numa")
    times = {one.name: one.default for one in known.machine if isinstance(one.default, float)}
    found = values("numa", **config)
    ns = {name: 1e9 * value for name, value in times.items()}
    packet = 24.0
    link = 1e9 * packet / times["link_bytes_per_s"]
    bus = 1e9 * packet / times["bus_bytes_per_s"]
    model = Model("reads", time_unit="ns")
    stations = {
        (name, node): model.station(f"{name} {node}")
        for name in ("controller", "bus", "link")
        for node in (0, 1)
    }
    io_bus = model.station("io bus")
    read = model.program("read")
    read.use(io_bus, ns["request_s"])
    for here, there in ((0, 1), (1, 0)):
        read.use(stations["controller", here], ns["controller_s"])
        read.use(stations["bus", here], bus)
        read.use(stations["link", here], link)
        read.delay(ns["hop_s"])
        read.use(stations["bus", there], bus)
        read.use(stations["controller", there], ns["controller_s"])
    read.use(io_bus, ns["reply_s"])
    model.closed_class("reader", read, population=1, start="ready")
    run = simulate(model, seed=1, completions=500)
    per_read = float(run.snapshot_times_s[-1]) / 500
    assert found["remote_s"] * 2 / 500 == pytest.approx(per_read, rel=1e-3)


def test_the_seed_makes_the_data_and_nothing_else() -> None:
    known = system("ncc")
    config = defaults(known) | {"program": "barnes", **SMALL["barnes"]}
    first, again, other = (known.run(config, seed=seed).values for seed in (1, 1, 2))
    assert first == again
    assert first["run_s"] != other["run_s"]


def test_a_run_has_tables_of_its_misses_its_sharing_and_its_phases() -> None:
    known = system("numa")
    config = defaults(known) | {"nodes": 4}
    run = known.run(config, seed=1)
    tables = {one.name: one.text().splitlines() for one in run.artefacts}
    assert set(tables) == {"allocations.csv", "sharing.csv", "nodes.csv", "phases.csv"}
    _, name, *_ = tables["allocations.csv"][0], *tables["allocations.csv"][1].split(",")
    assert name == "matrix"
    assert len(tables["sharing.csv"]) == 1 + 4
    for name in ("phases.csv", "nodes.csv"):
        place = tables[name][0].split(",").index("remote")
        remote = sum(float(row.split(",")[place]) for row in tables[name][1:])
        assert remote == pytest.approx(4 * run.values["remote_s"], rel=1e-3)


def test_bars_of_several_programs_are_relative_to_their_fewest_nodes() -> None:
    """Figure 6 of the paper. The placement is zipped with the program, so no label names it."""
    zipped = (("lu", "equal_cut"), ("fft", "owner"))
    points = section_points("ncc", [
        {"nodes": nodes, "program": program, "placement": placement}
        for nodes in (1, 2, 4)
        for program, placement in zipped
    ])  # fmt: skip
    (bars,) = system("ncc").sections(points)
    assert isinstance(bars, StackedBars)
    assert problem_of(bars) == ""
    assert bars.bars == [
        f"{program}, {nodes}"
        for program in ("lu", "fft")
        for nodes in ("1 node", "2 nodes", "4 nodes")
    ]
    totals = [sum(row) for row in bars.values]
    assert [totals[0], totals[3]] == pytest.approx([1.0, 1.0])
    run_s = [point.estimates["run_s"] for point in points]
    assert totals[5] == pytest.approx(run_s[5] / run_s[1])
    computing = bars.parts.index("computing")
    assert bars.values[2][computing] * run_s[0] == pytest.approx(points[4].estimates["compute_s"])


def test_one_program_has_details_with_and_without_the_cache() -> None:
    points = section_points("ncc", [
        {"program": "lu", "nodes": nodes, "protocol": protocol}
        for nodes in (2, 4)
        for protocol in ("sci", "uncached")
    ])  # fmt: skip
    _, arrays, timeline, nodes, sharing = system("ncc").sections(points)
    assert isinstance(arrays, StackedBars)
    assert arrays.bars == ["matrix, no cache", "matrix, cache"]
    (row,) = points[2].artefacts["allocations.csv"].rows()
    assert arrays.values[1] == [float(row["time s"])]
    assert isinstance(timeline, Timeline)
    assert isinstance(nodes, StackedBars)
    assert len(nodes.bars) == 2 * 4
    assert isinstance(sharing, Matrix)
    assert "4 nodes" in sharing.caption
    assert sharing.rows == ["0", "1", "2", "3"]


def test_reads_alone_have_no_sections() -> None:
    points = section_points("numa", [{"program": "reads", "reads_of": "remote"}])
    assert system("numa").sections(points) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": 64, "shared_bytes": 1 << 30}, "64 nodes .* do not fit in 32-bit addresses"),
        ({"cache_ways": 5}, "not whole sets of 5 ways"),
        ({"l1_ways": 3}, "a first level of 16384 B in 3 ways"),
        ({"line_bytes": 48}, "power of two"),
        ({"shared_bytes": 4096, "lu_size": 512}, "which has 4096 B"),
        ({"program": "reads", "reads_of": "remote", "nodes": 1}, "remote memory on one thread"),
        ({"program": "lu", "lu_block": 17}, "a multiple of the block's"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(
    changes: Mapping[str, Value], message: str
) -> None:
    with pytest.raises(StudyError, match=message):
        values("ncc", **changes)


def test_an_unknown_machine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(StudyError, match="no machine file 'pdp11'") as raised:
        system("pdp11")
    assert "ncc" in (raised.value.cure or "")


def test_a_study_can_have_its_own_machine_beside_it(tmp_path: Path) -> None:
    text = 'like = "ncc"\n[memory]\nlocal_read_s = { value = 1e-6, source = "assumed: slower" }\n'
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    known = SharedMachine.load(SharedMachineSetup(machine="mine.toml"), base=tmp_path)
    assert defaults(known)["local_read_s"] == 1e-6
    assert defaults(known)["hit_read_s"] == 9e-7


MIXED: Mapping[str, Value] = {
    "program": "reads", "reads_of": "mixed", "reads_words": 20_000, "placement": "owner",
    "keeps": "nothing", "work": 0.001, "barrier_s": 0.0,
}  # fmt: skip
NEAR: Mapping[str, Value] = {"local_read_s": 1e-8}
"""The 10 ns of table 1 for shared memory without the card: what the processor's caches answer."""


def gain(share: float, repeats: float) -> float:
    """Return the time without a network cache over the time with it."""
    words: Mapping[str, Value] = {"reads_remote_share": share, "reads_repeats": repeats}
    without = values("numa", **MIXED, **words, **NEAR)["run_s"]
    return without / values("ncc", **MIXED, **words)["run_s"]


def stated_gain(share: float, repeats: float) -> float:
    """Return the same of the read times of table 1, in us, without waiting."""
    far_cached = 0.9 + (5.38 - 0.9) / repeats
    return (4.02 * share + 0.01 * (1 - share)) / (far_cached * share + 0.9 * (1 - share))


@pytest.mark.parametrize("repeats", [1.0, 2.0, 8.0, 1e6])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.222, 0.5, 1.0])
def test_mixed_reads_gain_as_the_read_times_of_table_1_say(share: float, repeats: float) -> None:
    """Oracle: the closed formula; two nodes that do the same take turns and do not wait."""
    assert gain(share, repeats) == pytest.approx(stated_gain(share, repeats), rel=0.01)


def test_the_break_even_without_misses_is_at_0_285_remote_reads_for_each_local_one() -> None:
    """Oracle: 4.02 R + 0.01 L = 0.9 (R + L)."""
    ratio = (0.9 - 0.01) / (4.02 - 0.9)
    assert ratio == pytest.approx(0.285, abs=5e-4)
    assert gain(0.9 * ratio / (1 + ratio), 1e6) < 1.0 < gain(1.1 * ratio / (1 + ratio), 1e6)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.8])
def test_a_mixture_has_the_share_of_remote_reads_that_it_is_given(share: float) -> None:
    found = values("numa", **MIXED, reads_remote_share=share)
    assert found["missed_per_local"] == pytest.approx(share / (1 - share), rel=1e-3)
    repeated = values("ncc", **MIXED, reads_remote_share=share, reads_repeats=2.5)
    assert repeated["misses"] == pytest.approx(2 * 20_000 * share / 2.5, rel=1e-3)


def test_queues_of_one_packet_slow_many_nodes_down_and_retries_are_counted() -> None:
    common: Mapping[str, Value] = {
        "program": "fft", "nodes": 8, "placement": "interleave", "keeps": "nothing",
        **SMALL["fft"],
    }  # fmt: skip
    wide, narrow = (
        values("numa", **common, incoming_queue=places, outgoing_queue=places) for places in (0, 1)
    )
    assert wide["retries"] == 0.0 < narrow["retries"]
    assert narrow["run_s"] > wide["run_s"]
    assert narrow["accesses"] == wide["accesses"]
