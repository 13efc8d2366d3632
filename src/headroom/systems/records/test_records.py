"""Tables on this machine, and the same tables on machines whose truth is known."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.fit_method import FitError, Observed, SourcePoint, Target
from headroom.experiment.protocol.system import Column, Value
from headroom.systems.records import native
from headroom.systems.records import system as system_module
from headroom.systems.records.fit import MachineOptions, RecordsMachine
from headroom.systems.records.free_memory import Free, limits
from headroom.systems.records.machine_file import (
    MACHINES,
    OVERLAPS,
    WORK,
    machine_spec,
    read_machine,
)
from headroom.systems.records.model import (
    WORK_COUNTS,
    ModelSetup,
    RecordsModel,
    completed,
    memory_lines,
    time_of,
    tlb_misses,
)
from headroom.systems.records.parameters import (
    CHANGES,
    SCANS,
    UPKEEP,
    Query,
    cell_json,
    table_key,
    table_spec,
    used,
)
from headroom.systems.records.system import RecordsSetup, RecordsSystem, check_table

QUICK = RecordsSetup(rounds=2, round_s=1e-5, updates=50)


def records(**more: Value) -> tuple[RecordsSystem, dict[str, Value]]:
    system = RecordsSystem.load(QUICK, base=Path())
    return system, config_of(system, **{"records": 2000, **more})


def model(machine: str = "ultrasparc", /, **more: Value) -> tuple[RecordsModel, dict[str, Value]]:
    system = RecordsModel.load(ModelSetup(machine=machine), base=Path())
    return system, config_of(system, **{"records": 2000, **more})


def config_of(system: RecordsSystem | RecordsModel, **more: Value) -> dict[str, Value]:
    return {one.name: one.default for one in system.parameters() if one.default is not None} | more


def counts(seed: int = 1, **more: Value) -> Mapping[str, Any]:
    system, config = model(**more)
    return system.counts(config, seed)


# The measured column.


@pytest.mark.parametrize("mode", [*SCANS, *CHANGES, *UPKEEP])
@pytest.mark.parametrize("layout", ["array", "slotted", "sorted"])
def test_every_mode_of_every_layout_has_a_time(mode: str, layout: str) -> None:
    system, config = records(mode=mode, layout=layout, index="grown", batch=8, ahead=2)
    system.check_point(config)
    values = system.run(config, seed=3).values
    assert set(values) <= {one.name for one in system.metrics(config)}
    assert values["record_s"] > 0.0
    assert values["run_s"] >= values["record_s"]


@pytest.mark.parametrize(("index", "is_grown"), [("grown", True), ("full", False)])
def test_an_index_is_grown_by_insertions_or_built_full(index: str, *, is_grown: bool) -> None:
    """Nodes that split are half full, so they take more memory, in more levels.

    Cause: no test would have noticed had every measurement exchanged the two.
    """
    system, config = records(layout="array", index=index)
    spec = table_spec(config, 1)
    assert spec["index_is_grown"] is is_grown
    height = system.run(config, seed=1).values["index_height"]
    other = native.Table(msgspec.json.encode({**spec, "index_is_grown": not is_grown})).facts()
    assert (height > other["index_height"]) is is_grown


def test_a_query_is_what_its_parameters_say() -> None:
    config = {**records()[1], "scan": 0.3, "destination": "all", "start": "first", "mode": SCANS[0]}
    cell = msgspec.json.decode(cell_json(config))
    assert (cell["share"], cell["keeps_all"], cell["from_first"]) == (0.3, True, True)
    at_random = {**config, "mode": "idx_ran", "destination": "one", "start": "random"}
    cell = msgspec.json.decode(cell_json(at_random))
    assert (cell["share"], cell["keeps_all"], cell["from_first"]) == (1.0, False, False)
    table = table_spec(
        {**config, "records": 7, "placement": "scattered", "occupancy": 3}, 2**64 + 5
    )
    table = table["table"]
    assert (table["capacity"], table["seed"]) == (7, 5)
    assert table["placement"] == {"scattered": {"k": 3}}
    assert table_spec({**config, "placement": "arena"}, 1)["table"]["placement"] == "arena"


def test_tables_stay_sound_while_they_are_measured() -> None:
    for layout in ("array", "slotted", "sorted"):
        _, config = records(layout=layout, node_bytes=512)
        table = native.Table(msgspec.json.encode(table_spec(config, 1)))
        for mode in (*SCANS, *CHANGES):
            table.measure(
                cell=cell_json({**config, "mode": mode}), rounds=2, round_s=1e-6, most_s=1.0,
                warm_up=1, is_cold=False, seed=5,
            )  # fmt: skip
            table.check()
        assert table.facts()["records"] == 2000


def test_pages_are_verified() -> None:
    """`transparent` is what was asked for; `huge_share` says what the system did."""
    system, config = records(records=200_000, pages="small", placement="arena", mode="phy_seq")
    assert system.run(config, seed=1).values["huge_share"] == 0.0
    asked = {**config, "pages": "transparent"}
    assert 0.0 <= system.run(asked, seed=1).values["huge_share"] <= 1.0


def test_points_of_a_table_share_a_process_and_no_others() -> None:
    system, config = records()
    group = system.own_process(config).group
    assert system.own_process({**config, "mode": "phy_seq"}).group == group
    assert system.own_process({**config, "node_bytes": 64}).group != group
    system.run(config, seed=1)
    made = system_module._MADE.table
    system.run({**config, "mode": "phy_seq"}, seed=2)
    assert system_module._MADE.table is made
    system.run({**config, "records": 1000}, seed=2)
    assert system_module._MADE.key == table_key({**config, "records": 1000})


def test_nodes_side_by_side_have_no_heap() -> None:
    _, config = records(mode="idx_ran")
    assert "occupancy" not in used({**config, "placement": "arena"})


def test_the_tightest_limit_of_memory_counts(tmp_path: Path) -> None:
    group = tmp_path / "sys/fs/cgroup/one"
    group.mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   8000 kB\n")
    (tmp_path / "proc/self/cgroup").write_text("0::/one\n")
    (group.parent / "cgroup.controllers").write_text("memory\n")
    assert [one.size for one in limits(tmp_path)] == [8_192_000]
    (group / "memory.max").write_text("5000000\n")
    (group / "memory.current").write_text("3000000\n")
    (group / "memory.stat").write_text("active_file 7\ninactive_file 1000000\n")
    assert min(limits(tmp_path)) == (3_000_000, "the control group of this process")
    (group / "memory.max").write_text("max\n")
    assert len(list(limits(tmp_path))) == 1


def test_a_table_larger_than_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_module, "free_memory", lambda: Free(1 << 20, "this machine"))
    system, config = records(records=100_000)
    with pytest.raises(EnvironmentUnfitError, match=r"takes .* MiB, but this machine has 1 MiB"):
        system.check_point(config)


@pytest.mark.parametrize(("pages", "page"), [("small", 4096), ("transparent", 2 << 20)])
def test_a_table_needs_its_pages_its_index_and_12_bytes_a_record(
    pages: str, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of scattered nodes each touches pages of its own, at most those of the whole area."""
    _, config = records(records=10_000, node_bytes=256, occupancy=4000, pages=pages)
    taken = native.footprint(msgspec.json.encode(table_spec(config, 0)))
    nodes = taken["node_bytes"] // 256
    needed = min(taken["area_bytes"], nodes * max(page, 256 + page))
    needed += taken["index_bytes"] + 12 * 10_000
    for spare, fits in ((20, True), (-20, False)):
        free = Free(int(needed / 0.9) + spare, "it")
        monkeypatch.setattr(system_module, "free_memory", lambda free=free: free)
        with nullcontext() if fits else pytest.raises(EnvironmentUnfitError, match="10,000 rec"):
            assert check_table(config) == taken


def test_upkeep_is_told_per_update() -> None:
    system, config = records(mode="protect")
    run = system.run(config, seed=1)
    assert run.values["run_s"] == pytest.approx(run.values["record_s"] * QUICK.updates)
    assert run.counters["records"] == QUICK.updates
    assert run.values["update_bytes"] % 4096 == 0.0
    assert "update_bytes" in {one.name for one in system.metrics(config)}


def test_huge_pages_are_a_share_of_the_nodes() -> None:
    share = system_module._huge_share
    facts = {"nodes": 4, "huge_bytes": 512}
    assert share(Query(node_bytes=256), facts) == 0.5
    assert share(Query(node_bytes=64), facts) == 1.0
    assert share(Query(node_bytes=64), {**facts, "huge_bytes": None}) == 0.0


def test_pages_that_are_not_set_aside_are_refused_with_the_way_to_get_them() -> None:
    nothing = int(Path("/proc/sys/vm/nr_hugepages").read_text(encoding="ascii")) == 0
    if not nothing:
        pytest.skip("this machine has huge pages set aside")
    system, config = records(pages="huge")
    with pytest.raises(EnvironmentUnfitError, match="not set aside") as caught:
        system.run(config, seed=1)
    assert "nr_hugepages" in caught.value.cure


# The modelled column.


def test_scans_of_an_arena_miss_the_tlb_once_a_page() -> None:
    """Formula: record_bytes / page for every node size, of a table beyond the TLB's reach."""
    for node_bytes in (64, 1024, 8192, 65536):
        found = counts(records=50_000, record_bytes=64, placement="arena", mode="phy_seq",
                       operation="sum", scan=1.0, node_bytes=node_bytes)  # fmt: skip
        # The list of nodes has pages too: 4 B a node.
        expected = 50_000 * 64 / 8192 + 50_000 * 64 / node_bytes * 4 / 8192
        assert found["walks"] == pytest.approx(expected, rel=0.02, abs=3)


def test_scans_of_scattered_nodes_miss_the_tlb_once_a_node() -> None:
    """Formula: record_bytes / min(node, page) misses a record, far beyond the TLB's reach."""
    for node_bytes in (256, 2048, 8192):
        found = counts(records=100_000, record_bytes=64, occupancy=8, mode="phy_seq",
                       operation="sum", scan=1.0, node_bytes=node_bytes)  # fmt: skip
        assert found["walks"] / 100_000 == pytest.approx(64 / node_bytes, rel=0.05)


def test_random_look_ups_miss_the_tlb_by_the_formula() -> None:
    """Formula: max(0, 1 - E / F) for the record, of F pages and E entries that the index leaves."""
    found = counts(records=5000, record_bytes=1024, placement="arena", index_bytes=16384,
                   lookups=20_000, operation="sum")  # fmt: skip
    pages, index_pages = 5000 * 1024 / 8192, 7
    expected = 1 - (48 - index_pages) / pages
    assert found["walks"] / found["visits"] == pytest.approx(expected, abs=0.03)


def test_the_same_accesses_serve_both_columns() -> None:
    """A scan visits the records that it says, and copies them: conservation."""
    found = counts(records=10_000, record_bytes=128, mode="idx_seq", scan=0.5)
    assert found["visits"] == found["records"] == 5000
    assert found["copied_bytes"] == 5000 * 128
    assert sum(found["served"]) > 5000 * 128 / 32
    for level in range(1, len(found["served"])):
        kinds = [found[kind][level] for kind in ("lone", "second", "streamed")]
        assert sum(kinds) == found["served"][level]


def test_lines_of_a_scan_count_by_their_place_in_a_row() -> None:
    """By hand: a page of 64 lines has one lone line, one second, and 62 that follow these."""
    system, config = model("fitted", node_bytes=65536, records=1024, record_bytes=64, scan=1.0,
                           placement="arena", mode="phy_seq", operation="sum", start="first",
                           caches="cold")  # fmt: skip
    found = system.counts(config, 1)
    pages, list_of_nodes = 16, 1
    assert found["lone"][-1] == pages + list_of_nodes
    assert found["second"][-1] == pages
    assert found["streamed"][-1] == 62 * pages


def test_a_model_is_a_function_of_its_seed() -> None:
    system, config = model(node_bytes=256)
    assert system.run(config, seed=7).values == system.run(config, seed=7).values
    assert system.run(config, seed=7).values != system.run(config, seed=8).values


def test_causes_add_up_to_the_time() -> None:
    system, config = model(records=20_000)
    values = system.run(config, seed=1).values
    shares = [value for name, value in values.items() if name.endswith("_share")]
    assert sum(shares) == pytest.approx(1.0)
    assert values["dtlb_misses_per_record"] > 0.0


def costs(**more: Value) -> dict[str, Value]:
    """Return a machine whose costs are powers of ten, so that each shows in a sum."""
    work = {name: 10.0**place for place, name in enumerate(WORK)}
    steps = {f"cache{number}_step_s": 10.0**number for number in (1, 2, 3)}
    tlbs = {f"tlb{number}_step_s": float(number) for number in (1, 2)}
    overlaps = dict(zip(OVERLAPS, (2.0, 4.0, 5.0, 8.0, 10.0, 20.0), strict=True))
    return {**work, **steps, **tlbs, **overlaps, "batch": 3, "parallel": 2.0, **more}


@pytest.mark.parametrize(
    ("mode", "near", "far"), [("phy_seq", 2, 5), ("idx_seq", 4, 5), ("idx_ran", 16, 16)]
)
def test_waits_are_divided_by_how_many_overlap_and_work_is_summed(
    mode: str, near: float, far: float
) -> None:
    """By hand: behind cache n lie the steps of all caches up to it; a batch of two look-ups."""
    misses = [{"read_misses": 3, "write_misses": 1}, {"read_misses": 1, "write_misses": 0}]
    found = {"levels": [1, 2], "lone": [9, 1, 2], "second": [9, 3, 0], "streamed": [9, 0, 4],
             "tlbs": misses, **dict.fromkeys(WORK_COUNTS, 1), "walks": 7}  # fmt: skip
    parts = time_of(costs(mode=mode), found)
    assert (parts.work, parts.copies) == (11_111.0, 1_100_000.0)
    assert parts.caches == pytest.approx(1 * 10 / near + 3 * 10 / 10)
    assert parts.memory == pytest.approx(2 * 110 / far + 4 * 110 / 20)
    assert parts.tlbs == pytest.approx(4 * 1.0 / near + 1 * 2.0 / far)
    assert parts.total == pytest.approx(
        parts.work + parts.copies + parts.caches + parts.memory + parts.tlbs
    )
    assert (memory_lines(found), tlb_misses(found), tlb_misses({})) == (6, 7.0, 0.0)
    assert completed({"copied_bytes": 128}, {"record_bytes": 64})["copies"] == 2.0


def test_a_machine_has_whole_sets_and_only_the_caches_that_it_says() -> None:
    given = model()[1]
    odd = {"cache1_bytes": 1000.0, "cache1_ways": 2, "cache1_line_bytes": 32, "cache2_bytes": 0,
           "cache3_bytes": 10.0, "cache3_ways": 0, "cache3_line_bytes": 64, "page_bytes": 4096,
           "tlb1_bytes": 4096.0 * 10, "tlb1_ways": 4, "tlb2_bytes": 0.0}  # fmt: skip
    spec = machine_spec({**given, **odd})
    assert [(one["name"], one["bytes"], one["ways"]) for one in spec["levels"]] == [
        ("L1", 16 * 64, 2),
        ("L3", 64, 0),
    ]
    paging = spec["paging"]
    assert paging["tlbs"] == [{"name": "TLB 1", "entries": 8, "ways": 4}]
    assert (paging["page_bytes"], paging["walk_levels"]) == (4096, 1)
    assert machine_spec({**given, **odd, "tlb1_bytes": 0.0})["paging"] is None


def test_every_machine_file_is_complete_and_says_its_sources() -> None:
    for path in MACHINES.glob("*.toml"):
        assert all(one.source for one in read_machine(path))
        system, config = model(path.stem, mode="idx_seq")
        assert system.run(config, seed=1).values["run_s"] > 0.0


def test_places_of_an_allocator_have_no_model() -> None:
    system, config = model(placement="malloc")
    with pytest.raises(StudyError, match="allocator"):
        system.check_point(config)


# The fit.

TRUTH: dict[str, Value] = {
    "record_s": 1.5e-9, "record_node_s": 3e-9, "index_node_s": 6e-9, "comparison_s": 0.4e-9,
    "copy_s": 2e-9, "byte_s": 0.05e-9, "near_overlap": 20.0, "index_overlap": 5.0,
    "scan_overlap": 6.0, "lookup_overlap": 1.5, "second_overlap": 2.5, "stream_overlap": 12.0,
}  # fmt: skip
MEMORY: dict[str, float] = {
    "first_s": 1e-9, "cache1_bytes": 32768, "cache1_step_s": 3e-9, "cache2_bytes": 2**20,
    "cache2_step_s": 10e-9, "cache3_bytes": 2**23, "cache3_step_s": 80e-9, "tlb1_bytes": 2**18,
    "tlb1_step_s": 3e-9, "tlb2_bytes": 2**22, "tlb2_step_s": 20e-9,
}  # fmt: skip


def probe_points() -> list[SourcePoint]:
    """Return chases over a memory of known steps, line by line and page by page."""
    sizes = [2**k * odd // 2 for k in range(12, 27) for odd in (2, 3)]
    found = []
    for stride, each in ((64, 64), (4160, 64)):
        for size in sizes:
            total = size if stride == 64 else 65 * size
            lines, pages = total / stride * each, total * 4096 / max(stride, 4096)
            latency = MEMORY["first_s"]
            for kind, count, extent in (("cache", 3, lines), ("tlb", 2, pages)):
                for number in range(1, count + 1):
                    end = MEMORY[f"{kind}{number}_bytes"]
                    step = MEMORY[f"{kind}{number}_step_s"]
                    latency += step * max(0.0, 1.0 - end / extent)
            config: dict[str, Value] = {
                "kind": "chase", "bytes": total, "stride_bytes": stride, "pages": "small",
                "chains": 1,
            }  # fmt: skip
            found.append(_point("probe", config, {"load_s": latency, "access_s": latency}))
    return found


def _point(experiment: str, config: dict[str, Value], values: dict[str, float]) -> SourcePoint:
    observed = {name: Observed(value=value) for name, value in values.items()}
    return SourcePoint(experiment=experiment, column=Column.MEASURE, levels={}, config=config,
                       observed=observed)  # fmt: skip


def timed_cells() -> list[SourcePoint]:
    """Return cells whose times follow from the truth."""
    system, base = model("fitted", **TRUTH, **{name: value for name, value in MEMORY.items()
                                               if name != "first_s"})  # fmt: skip
    found = []
    for node_bytes in (256, 4096):
        for count in (500, 20_000, 100_000):
            for mode in SCANS:
                for operation in ("retrieve", "sum"):
                    config = {**base, "node_bytes": node_bytes, "records": count, "mode": mode,
                              "operation": operation, "scan": 0.5}  # fmt: skip
                    counted = system.counts(config, 1)
                    time_s = time_of(config, counted).total / counted["visits"]
                    measured = {name: config[name] for name in config_of(records()[0])
                                if name in config}  # fmt: skip
                    found.append(_point("cells", measured, {"record_s": time_s}))
    return found


@pytest.mark.deep
def test_a_known_machine_is_found_and_predicts_other_cells() -> None:
    system, config = model("fitted")
    target = Target(system=system, config=config)
    found = RecordsMachine().fit([*probe_points(), *timed_cells()], target, MachineOptions())
    values = {one.name: one.value for one in found.parameters}
    errors = [abs(one.relative or 0.0) for one in found.residuals]
    assert np.median(errors) < 0.02
    for name in ("cache2_bytes", "cache3_bytes", "tlb2_bytes"):
        assert float(values[name]) == pytest.approx(MEMORY[name], rel=0.15), name
    for mode in SCANS:
        asked: dict[str, Value] = {"node_bytes": 1024, "records": 50_000, "mode": mode}
        fitted = system.run({**config, **values, **asked}, seed=2).values["record_s"]
        true = system.run({**config, **MEMORY, **TRUTH, **asked}, seed=2).values["record_s"]
        assert fitted == pytest.approx(true, rel=0.1), mode
    again = RecordsMachine().fit(
        [*probe_points(), *timed_cells()],
        replace(target, config={**config, **values}, is_replicate=True),
        MachineOptions(),
    )
    for one in again.parameters:
        within = 1e-6 if one.name.endswith("_bytes") else 0.25
        assert float(one.value) == pytest.approx(float(values[one.name]), rel=within, abs=1e-10)


def test_too_few_cells_are_refused() -> None:
    system, config = model("fitted")
    with pytest.raises(FitError, match="3 timed cells do not show"):
        RecordsMachine().fit(
            [*probe_points(), *timed_cells()[:3]], Target(system=system, config=config),
            MachineOptions(),
        )  # fmt: skip
