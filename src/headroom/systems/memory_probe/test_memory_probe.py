"""The probe, the model and the fit; the command on this machine."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headroom.cli.app import app
from headroom.errors import EnvironmentUnfitError
from headroom.experiment.protocol.fit_method import FitError, Found, Observed, SourcePoint, Target
from headroom.experiment.protocol.system import Column, Value
from headroom.memory import native
from headroom.memory.here import allowed_cpus
from headroom.systems.memory_probe import survey as survey_module
from headroom.systems.memory_probe.fit import MachineFit, MachineOptions
from headroom.systems.memory_probe.model import MemoryModel, ModelSetup, latency_s
from headroom.systems.memory_probe.shown import format_size
from headroom.systems.memory_probe.stated import StatedCache, stated_caches
from headroom.systems.memory_probe.survey import Value as Passes
from headroom.systems.memory_probe.survey import sizes_for
from headroom.systems.memory_probe.system import MemoryProbe, ProbeSetup

SIZES = [2**k * odd // 2 for k in range(12, 28) for odd in (2, 3)]
TRUTH: dict[str, Value] = {
    "first_s": 1.2e-9, "cache1_bytes": 32768.0, "cache1_step_s": 2.5e-9, "cache2_bytes": 1048576.0,
    "cache2_step_s": 80e-9, "tlb1_bytes": 6 * 2**20, "tlb1_step_s": 20e-9, "parallel": 8.0,
}  # fmt: skip


def headroom(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def config_of(system: MemoryProbe | MemoryModel, **more: Value) -> dict[str, Value]:
    return {one.name: one.default for one in system.parameters() if one.default is not None} | more


def probe(**more: Value) -> tuple[MemoryProbe, dict[str, Value]]:
    system = MemoryProbe.load(ProbeSetup(rounds=3, round_s=1e-4), base=Path())
    return system, config_of(system, **more)


def model() -> MemoryModel:
    return MemoryModel.load(ModelSetup(), base=Path())


def points(kinds: dict[str, float], *, has_pages: bool = True) -> list[SourcePoint]:
    """Return a curve for each kind of pages, which a share of the memory gets, and chains."""
    found = []
    places = [(pages, size, 1, 64) for pages in kinds for size in SIZES]
    places += [(list(kinds)[-1], SIZES[-1], chains, 64) for chains in (2, 4, 8, 16)]
    if has_pages:
        places += [("small", 4160 * size // 1024, 1, 4160) for size in SIZES]
    for pages, size, chains, stride in places:
        config = config_of(model(), pages=pages, bytes=size, chains=chains, stride_bytes=stride)
        run = model().run({**config, **TRUTH}, seed=1)
        values = {**run.values, "huge_share": kinds[pages]}
        found.append(
            SourcePoint(
                experiment="probe", column=Column.MEASURE, levels={"bytes": size}, config=config,
                observed={name: Observed(value=value) for name, value in values.items()},
            )
        )  # fmt: skip
    return found


def fit(
    kinds: dict[str, float], *, replicate_of: Found | None = None, has_pages: bool = True
) -> Found:
    config = config_of(model())
    if replicate_of is not None:
        config |= {one.name: one.value for one in replicate_of.parameters}
    target = Target(system=model(), config=config, is_replicate=replicate_of is not None)
    return MachineFit().fit(points(kinds, has_pages=has_pages), target, MachineOptions())


def test_a_known_machine_is_found_and_predicts_other_sizes() -> None:
    found = fit({"small": 0.0, "transparent": 1.0})
    values = {one.name: one.value for one in found.parameters}
    for name, value in TRUTH.items():
        assert float(values[name]) == pytest.approx(float(value), rel=0.1), name
    assert values["cache3_bytes"] == values["tlb2_bytes"] == 0.0
    for size in (10_000, 300_000, 5_000_000, 90_000_000):
        for pages in ("small", "huge"):
            asked: dict[str, Value] = {"bytes": size, "stride_bytes": 64, "pages": pages}
            assert latency_s({**asked, **values}) == pytest.approx(
                latency_s({**asked, **TRUTH}), rel=0.05
            )


def test_without_chases_over_pages_tlbs_stay_undetermined() -> None:
    found = fit({"small": 0.0}, has_pages=False)
    tlbs = [one for one in found.parameters if one.name.startswith("tlb")]
    assert tlbs
    assert not any(one.is_determined for one in tlbs)
    assert "one line in each page" in found.notes[0]
    assert "unknown" in tlbs[0].note


def test_replicates_keep_the_capacities() -> None:
    kinds = {"small": 0.0, "transparent": 1.0}
    whole = fit(kinds)
    again = {one.name: one.value for one in fit(kinds, replicate_of=whole).parameters}
    assert set(again) == {one.name for one in whole.parameters}
    for one in whole.parameters:
        assert float(again[one.name]) == pytest.approx(float(one.value), rel=0.05, abs=1e-12)


def test_too_few_sizes_are_refused() -> None:
    target = Target(system=model(), config=config_of(model()))
    with pytest.raises(FitError, match="sizes of a chase"):
        MachineFit().fit(points({"small": 0.0})[:5], target, MachineOptions())


@pytest.mark.parametrize(
    ("config", "metric"),
    [
        ({"kind": "chase", "chains": 4, "pages": "transparent"}, "access_s"),
        ({"kind": "bandwidth", "operation": "stream", "bytes": 1 << 16}, "bytes_per_s"),
        ({"kind": "chase", "stride_bytes": 256}, "load_s"),
    ],
)
def test_every_kind_measures(config: dict[str, Value], metric: str) -> None:
    system, whole = probe(**config)
    system.check_point(whole)
    values = system.run(whole, seed=3).values
    declared = {one.name for one in system.metrics(whole)}
    assert set(values) <= declared
    assert values[metric] > 0.0


@pytest.mark.skipif(len(allowed_cpus()) < 2, reason="a hand-over needs two processors")
def test_two_processors_hand_a_line_over() -> None:
    system, config = probe(kind="hand_over")
    assert system.run(config, seed=1).values["hand_over_s"] > 0.0


def test_more_memory_than_there_is_is_refused() -> None:
    system, config = probe(bytes=1 << 40)
    with pytest.raises(EnvironmentUnfitError, match="of memory"):
        system.run(config, seed=1)


def test_a_chase_has_a_process_on_one_processor() -> None:
    system, config = probe()
    own = system.own_process(config)
    assert own is not None
    assert own.cpus == (allowed_cpus()[0],)
    assert system.own_process({**config, "kind": "bandwidth"}) is None


def test_counters_are_counts_or_reasons() -> None:
    facts = probe()[0].prepare()
    assert set(facts) == {f"counter {name}" for name in native_counters()}
    assert all(isinstance(fact, str) and fact for fact in facts.values())


def native_counters() -> list[str]:
    asked = {"bytes": 4096, "stride_bytes": 64, "pages": "small", "chains": 1}
    return list(native.chase(**asked, rounds=1, round_s=1e-5, seed=1)["counters"])  # type: ignore[arg-type]


def test_caches_that_the_system_states(tmp_path: Path) -> None:
    for index, (kind, size) in enumerate(
        [("Data", "48K"), ("Instruction", "32K"), ("Unified", "2M"), ("Unified", "odd")]
    ):
        folder = tmp_path / "cpu3" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, text in (("type", kind), ("level", str(index // 2 + 1)), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    (tmp_path / "cpu3" / "cache" / "index2" / "shared_cpu_list").write_text("0-3,8\n")
    first, second = stated_caches(3, tmp_path)
    assert first == StatedCache(level=1, bytes=48 * 2**10, shared_by=1)
    assert (second.bytes, second.shared_by) == (2 * 2**20, 5)
    assert stated_caches(4, tmp_path) == []


def test_sizes_end_where_memory_or_time_ends() -> None:
    caches = [StatedCache(level=3, bytes=32 * 2**20, shared_by=8)]
    assert sizes_for(caches, 2**29, 2**40)[-1] == 128 * 2**20
    assert sizes_for(caches, 2**26, 2**40)[-1] == 64 * 2**20
    assert sizes_for(caches, 2**29, 2**20)[-1] == 256 * 2**10
    assert sizes_for([], 2**29, 0) == [4096]


def test_a_busy_machine_is_marked() -> None:
    assert Passes([1.0, 1.4, 1.5]).is_disturbed
    assert not Passes([1.0, 1.1, 9.0]).is_disturbed
    assert Passes([1.0, 1.0, 1.6], is_rate=True).is_disturbed


@pytest.mark.deep
def test_the_map_of_this_machine() -> None:
    """The command itself, in 80 columns; nothing but the map on standard output."""
    done = headroom("memory", "probe", "--quick", "--color", "never")
    assert (done.exit_code, done.stderr) == (0, "")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    for wanted in ("Memory map of processor", "Level", "TLBs", "1 thread", "4 KiB"):
        assert wanted in done.stdout


@pytest.mark.deep
def test_the_map_as_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """With little memory few sizes fit: levels are undetermined, without an error."""
    monkeypatch.setattr(survey_module, "memory_bytes", lambda: 2**16)
    done = headroom("memory", "probe", "--quick", "--json")
    assert done.exit_code == 0
    content = json.loads(done.stdout)["content"]
    assert content["levels"] == []
    sizes = [one["bytes"] for one in content["latency_s"]["small"]]
    assert sizes == [4096, 6144, 8192, 12288, 16384]
    assert content["cpu"] in os.sched_getaffinity(0)


def test_an_unknown_processor_and_cache_are_refused(tmp_path: Path) -> None:
    assert "processor 4000" in headroom("memory", "probe", "--cpu", "4000").stderr
    trace = tmp_path / "trace"
    trace.write_text(" L 10,8\n S 50,8\nI  1000,4\n")
    refused = headroom("memory", "trace", str(trace), "--cache", "32KiB:x")
    assert refused.exit_code != 0
    assert "SIZE:WAYS:LINE" in refused.stderr
    done = headroom("memory", "trace", str(trace), "--instructions", "1KiB:2:64")
    assert "2 accesses of data, 1 fetches; 2 lines of 64 B" in done.stdout
    done = headroom("memory", "trace", str(trace), "--json")
    assert json.loads(done.stdout)["content"]["lines"] == 2


@pytest.mark.parametrize(("size", "text"), [(512, "512 B"), (2**21, "2 MiB"), (3 * 2**30, "3 GiB")])
def test_sizes_in_words(size: int, text: str) -> None:
    assert format_size(size) == text
