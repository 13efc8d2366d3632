"""Programs on the threads of this machine."""

import json
import math
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from headroom.cli.app import app
from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.system import Value
from headroom.memory import here
from headroom.memory import native as memory
from headroom.systems.shared_memory import native
from headroom.systems.shared_memory.program_parameters import (
    PROGRAMS,
    program_json,
    program_parameters,
)
from headroom.systems.shared_memory.threads import system as system_module
from headroom.systems.shared_memory.threads.system import (
    MOST_THREADS,
    SharedThreads,
    ThreadsSetup,
)

QUICK = ThreadsSetup(rounds=2, round_s=1e-4)
SMALL: dict[str, dict[str, Value]] = {
    "lu": {"lu_size": 32, "lu_block": 8},
    "fft": {"fft_points": 256},
    "ocean": {"ocean_size": 18, "ocean_steps": 1},
    "barnes": {"barnes_bodies": 128, "barnes_steps": 1},
    "reads": {"reads_words": 256},
}
LARGER: dict[str, dict[str, Value]] = {
    "lu": {"lu_size": 64},
    "ocean": {"ocean_steps": 2},
    "barnes": {"barnes_steps": 2},
}
DEFAULTS = {one.name: one.default for one in program_parameters() if one.default is not None}
OTHER: dict[str, Value] = {
    "lu_size": 128,
    "lu_block": 8,
    "lu_contiguous": False,
    "fft_points": 256,
    "ocean_size": 34,
    "ocean_steps": 5,
    "ocean_tolerance": 1e-6,
    "ocean_spacing_m": 30_000.0,
    "ocean_time_step_s": 20_000.0,
    "barnes_bodies": 1024,
    "barnes_steps": 3,
    "barnes_time_step": 0.02,
    "barnes_softening": 0.04,
    "barnes_tolerance": 0.9,
    "reads_of": "remote",
    "reads_words": 8192,
    "reads_stride": 512,
}
"""Another level of each size."""
OF_A_MIXTURE = ("reads_remote_share", "reads_repeats")
"""Sizes that change only which words are read: tests of the simulated machine see them."""


def threads(
    program: str = "lu", setup: ThreadsSetup = QUICK, /, **more: Value
) -> tuple[SharedThreads, dict[str, Value]]:
    system = SharedThreads.load(setup, base=Path())
    defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
    asked = {"program": program, "oversubscribe": True, **SMALL[program], **more}
    return system, {**defaults, **asked}


def values(program: str, **more: Value) -> dict[str, float]:
    system, config = threads(program, **more)
    system.check_point(config)
    found = system.run(config, seed=3)
    assert found.is_sound, found.faults
    return dict(found.values)


def traits(program: bytes) -> tuple[int, int, list[tuple[str, float, float]]]:
    """Return numbers that differ between programs: memory, phases and the bits of the check."""
    # Parts of unequal size show how the matrix is stored; remote memory is of another thread.
    count = 3 if b'"lu"' in program else 2 if b'"reads"' in program else 1
    found = native.run_program(program, threads=count, seed=5, warm_runs=0, rounds=1, round_s=1e-9)
    memory = native.program_memory(program, threads=count)
    return memory, found["phases"], found["deviations"]


def lacking_counters() -> set[str]:
    """Return the hardware counters that this machine has not."""
    probed = memory.chase(
        bytes=4096, stride_bytes=64, pages="small", chains=1, rounds=1, round_s=1e-5, seed=1
    )
    return {name for name, count in probed["counters"].items() if isinstance(count, str)}


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_has_all_metrics(program: str, count: int) -> None:
    system, config = threads(program, threads=count)
    found = values(program, threads=count)
    assert set(found) == {one.name for one in system.metrics(config)} - lacking_counters()
    assert all(math.isfinite(value) and value > 0.0 for value in found.values()), found


@pytest.mark.parametrize("program", PROGRAMS)
def test_metrics_of_a_round_agree(program: str) -> None:
    system, config = threads(program, ThreadsSetup(rounds=1, round_s=1e-4), threads=2)
    found = system.run(config, seed=3).values
    assert found["run_s"] == pytest.approx(found["phase_s"] * found["phases"])
    assert found["busy_s"] == pytest.approx(found["run_s"] * (1.0 - found["waiting_share"]))
    # The busier one of two threads has between half and all of the time of both.
    assert 1.0 <= found["imbalance"] <= 2.0
    assert found["imbalance"] * found["busy_s"] <= found["run_s"] * (1.0 + 1e-9)


def test_a_single_thread_is_balanced() -> None:
    assert values("lu")["imbalance"] == 1.0


@pytest.mark.parametrize("program", sorted(LARGER))
def test_a_larger_program_has_more_phases(program: str) -> None:
    assert values(program, **LARGER[program])["phases"] > values(program)["phases"]


def test_phases_do_not_depend_on_threads() -> None:
    for program in PROGRAMS:
        assert values(program, threads=2)["phases"] == values(program)["phases"]


def test_copies_take_processors_and_leave_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    assert values("lu", copies=2)["phases"] == values("lu")["phases"]
    monkeypatch.setattr(system_module, "allowed_cpus", lambda: [0, 1])
    system, config = threads("lu", threads=2, copies=2, oversubscribe=False)
    with pytest.raises(StudyError, match=r"threads = 2 in copies = 2, but .* 2 processors"):
        system.check_point(config)


def test_short_runs_fill_a_round() -> None:
    system, config = threads("fft", ThreadsSetup(rounds=1, round_s=0.1), fft_points=16_384)
    found = system.run(config, seed=1)
    runs = found.counters["runs"]
    assert runs > 1.0
    assert runs * found.values["run_s"] >= 0.1 * (1.0 - 1e-9)


def test_a_count_is_the_sum_of_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with one counter, of which one round lost another."""
    system, config = threads("lu")
    times = {"runs": 1, "wall_s": 1.0, "busy_s": [1.0], "cpu_s": [1.0]}
    rounds = [{**times, "counters": {"cycles": 2.0, "l1d_misses": 5.0}}]
    rounds += [{**times, "counters": {"l1d_misses": 7.0}}]
    found = {"phases": 1, "rounds": rounds, "fault": None}
    monkeypatch.setattr(native, "run_program", lambda *_, **__: found)
    run = system.run(config, seed=1)
    assert run.values["l1d_misses"] == 6.0
    assert "cycles" not in run.values


def test_a_wrong_result_is_a_fault_of_the_run() -> None:
    """Such long steps do not keep the energy of the bodies."""
    system, config = threads("barnes", barnes_time_step=1.0, barnes_steps=4)
    found = system.run(config, seed=1)
    assert not found.is_sound
    assert "barnes is wrong: the change of the energy" in found.faults[0]


@pytest.mark.parametrize(
    ("program", "more", "why"),
    [
        ("lu", {"lu_size": 100, "lu_block": 16}, "a multiple of the block's"),
        (
            "lu",
            {"lu_size": 16, "lu_block": 16, "threads": 4},
            "use fewer threads or smaller blocks",
        ),
        ("fft", {"fft_points": 1000}, "a power of four"),
        ("fft", {"fft_points": 512}, "a power of four"),
        ("fft", {"threads": 3}, "use a power of two, at most 16"),
        ("ocean", {"ocean_size": 67}, "use a power of two"),
        ("ocean", {"ocean_time_step_s": 1e6}, "is unstable .* use at most"),
        ("barnes", {"barnes_bodies": 64, "threads": 128}, "at least one for each thread"),
    ],
)
def test_sizes_that_a_program_cannot_have_are_refused_with_those_it_can(
    program: str, more: dict[str, Value], why: str
) -> None:
    system, config = threads(program, **more)
    with pytest.raises(StudyError, match=why):
        system.check_point(config)
    with pytest.raises(StudyError, match=why):
        system.run(config, seed=1)


def test_threads_without_a_processor_need_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_module, "allowed_cpus", lambda: [0, 5])
    system, config = threads(threads=3, oversubscribe=False)
    with pytest.raises(StudyError, match="may use 2 processors") as refused:
        system.check_point(config)
    assert "give 2 or fewer, or set oversubscribe = true" in str(refused.value.cure)
    system.check_point({**config, "threads": 2})
    system.check_point({**config, "oversubscribe": True})


def test_other_systems_than_linux_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    system, config = threads()
    with pytest.raises(EnvironmentUnfitError, match="on Linux alone"):
        system.check_point(config)


def test_the_compiled_programs_have_as_many_threads() -> None:
    program = b'{"program":"fft","points":65536}'
    assert native.program_memory(program, threads=MOST_THREADS) > 0
    with pytest.raises(ValueError, match=f"1 to {MOST_THREADS} threads"):
        native.program_memory(program, threads=MOST_THREADS + 1)


@pytest.mark.parametrize("program", PROGRAMS)
def test_defaults_are_those_of_the_compiled_programs(program: str) -> None:
    bare = msgspec.json.encode({"program": program})
    assert traits(bare) == traits(program_json(DEFAULTS | {"program": program}))


@pytest.mark.parametrize("name", OTHER)
def test_every_size_reaches_the_compiled_program(name: str) -> None:
    program = name.partition("_")[0]
    config = DEFAULTS | {"program": program}
    assert traits(program_json(config)) != traits(program_json(config | {name: OTHER[name]}))


def test_every_size_is_tried() -> None:
    assert {"program", *OTHER, *OF_A_MIXTURE} == DEFAULTS.keys()


def test_more_rounds_are_another_measurement() -> None:
    system, config = threads("fft")
    longer = SharedThreads.load(ThreadsSetup(rounds=9), base=Path())
    assert longer.fingerprint(config) != system.fingerprint(config)


def test_results_with_other_processors_are_not_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    system, config = threads()
    found = system.found_at(config)
    monkeypatch.setattr(here, "allowed_cpus", lambda: list(range(1000)))
    assert system.found_at(config) != found


STUDY = """
schema = 1
name = "speed-up"
title = "Speed-up of two programs"
question = "How much faster are two threads?"
seed = 7

[[experiment]]
name = "threads"
system = { name = "shared_threads", rounds = 2, round_s = 1e-4 }
responses = ["run_s", "waiting_share", "phases"]
factors = { program = ["lu", "barnes"], threads = [1, 2, 4] }
fixed = { lu_size = 32, lu_block = 8, barnes_bodies = 128, barnes_steps = 1, oversubscribe = true }
replications = { count = 8 }

[[experiment.derived]]
name = "speed_up"
of = "run_s"
ratio_to = { threads = 1 }
inverse = true

[experiment.quick]
factors = { program = ["lu"], threads = [1, 2] }
replications = { count = 6 }

[[claim]]
name = "as-many"
text = "Two threads go through the phases of one"
kind = "ratio"
experiment = "threads"
metric = "phases"
where = { program = "lu", threads = 2 }
to = { program = "lu", threads = 1 }
at_least = 1.0
at_most = 1.0
"""


def test_a_study_has_speed_ups(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    done = CliRunner().invoke(app, ["run", str(tmp_path), "--quick", "--quiet", "--json"])
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)["content"]
    assert [claim["verdict"] for claim in content["claims"]] == ["holds"]
    (experiment,) = content["experiments"]
    assert experiment["column"] == "measure"
    assert [point["faults"] for point in experiment["points"]] == [[], []]
    (derived,) = experiment["derived"]
    speed_ups = {tuple(one["levels"].values()): one["value"] for one in derived["values"]}
    assert speed_ups.keys() == {("lu", 1), ("lu", 2)}
    assert speed_ups["lu", 1] == 1.0
    assert 0.0 < speed_ups["lu", 2] < math.inf
