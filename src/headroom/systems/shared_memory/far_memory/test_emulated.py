"""The system `far_memory_emulated`: programs whose far accesses are known, run with delays."""

import re
import shutil
from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Value
from headroom.systems.shared_memory.far_memory.emulated import (
    FarMemoryEmulated,
    FarMemoryEmulatedSetup,
    _check_own_processors,
    check_threads,
)
from headroom.systems.shared_memory.far_memory.emulation import (
    SETTINGS,
    compiled,
    emulate,
    far_s,
    settings_of,
)
from headroom.systems.shared_memory.far_memory.system import FarMemory, FarMemorySetup
from headroom.systems.shared_memory.hook.build import (
    RUNTIME,
    BuildFailedError,
    NotHookedError,
    compile_hooked,
)

LINES, TURNS = 131_072, 2
"""Lines (64 B) of the first program, twice as many as the caches of a processor have."""
READS = f"""
#include <pthread.h>
enum {{ LINES = {LINES}, LINES_PER_PAGE = 64, TURNS = {TURNS} }};
static struct {{ long words[8]; }} lines[LINES] __attribute__((aligned(4096)));
static void *work(void *argument) {{
    long sum = (long)argument;
    for (int turn = 0; turn < TURNS; turn++)
        for (int line = 0; line < LINES; line++)
            sum += lines[line].words[turn];
    return (void *)sum;
}}
int main(int count, char **words) {{
    pthread_t made;
    for (int line = 0; line < LINES; line += LINES_PER_PAGE)
        lines[line].words[0] = line;
    if (pthread_create(&made, 0, work, 0) != 0)
        return 1;
    pthread_join(made, 0);
    return count > 1 ? 3 : 0;
}}
"""
ROUNDS = 100
SHARED = f"""
#include <pthread.h>
#include <stdlib.h>
enum {{ ROUNDS = {ROUNDS} }};
static volatile long counters[1024] __attribute__((aligned(4096)));
static long distance;
static pthread_barrier_t barrier;
static void *work(void *argument) {{
    long id = (long)argument, own = id * distance;
    for (int round = 0; round < 2 * ROUNDS; round++) {{
        if (round % 2 == id)
            counters[own]++;
        pthread_barrier_wait(&barrier);
    }}
    return 0;
}}
int main(int count, char **words) {{
    pthread_t made;
    distance = count > 1 ? atoi(words[1]) : 1;
    pthread_barrier_init(&barrier, 0, 2);
    if (pthread_create(&made, 0, work, (void *)1) != 0)
        return 1;
    work(0);
    return pthread_join(made, 0);
}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the programs; the test is skipped without a compiler."""
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed; get it, in Debian: sudo apt-get install gcc")
    (tmp_path / "reads.c").write_text(READS, encoding="utf-8")
    (tmp_path / "shared.c").write_text(SHARED, encoding="utf-8")
    return tmp_path


def system_of(
    folder: Path, source: str = "reads.c", machine: str = "cxl_pool", argv: tuple[str, ...] = ()
) -> FarMemoryEmulated:
    setup = FarMemoryEmulatedSetup(sources=(source,), machine=machine, argv=argv)
    return FarMemoryEmulated.load(setup, base=folder)


def point_of(system: FarMemoryEmulated, **config: Value) -> dict[str, Value]:
    defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
    return {**defaults, "dilation": 1.0, **config}


def run_of(system: FarMemoryEmulated, **config: Value) -> Run:
    point = point_of(system, **config)
    system.check_point(point)
    return system.run(point, seed=1)


@pytest.mark.deep
def test_a_third_level_answers_what_has_left_the_second(folder: Path) -> None:
    """It has room for all lines: each comes back from it in the second turn."""
    system = system_of(folder)
    without = run_of(system, l3_bytes=0).values
    found = run_of(system, l3_bytes=16 * 1024 * 1024).values
    assert (without["misses"], found["misses"]) == (LINES, LINES)
    assert (without["hit_s"] > 0, found["hit_s"]) == (True, 0)
    last_s = float(system.simulated.whole_machine(point_of(system))["last_s"])
    more_s = 2 * (found["compute_s"] - without["compute_s"])
    assert more_s == pytest.approx(LINES * last_s, rel=1e-6)


def test_the_runtime_takes_the_numbers_in_the_order_of_its_header() -> None:
    text = (RUNTIME / "emulation.h").read_text(encoding="ascii")
    enum = re.sub(r"/\*.*?\*/", "", text[text.index("enum setting {") :], flags=re.DOTALL)
    names = enum[enum.index("{") + 1 : enum.index("}")].replace(",", " ").split()
    assert names == [name.upper() for name in (*SETTINGS, "settings")]


@pytest.mark.parametrize("machine", ["two_socket", "cxl_pool"])
@pytest.mark.parametrize("cache", [True, False])
def test_far_lines_take_their_number_times_the_far_time(
    machine: str, folder: Path, *, cache: bool
) -> None:
    """Closed form: the cache answers the second turn, and memory of the other node all others."""
    system = system_of(folder, machine=machine)
    found = run_of(system, cache=cache).values
    far = LINES * (1 if cache else TURNS)
    whole = system.simulated.whole_machine(point_of(system, cache=cache))
    assert (found["misses"], found["evictions"], found["threads"]) == (far, 0, 2)
    assert 2 * found["remote_s"] == pytest.approx(far * far_s(whole), rel=1e-6)
    hits = LINES * TURNS - far
    assert 2 * found["hit_s"] == pytest.approx(hits * float(whole["hit_read_s"]), rel=1e-6)
    # One thread works at a time, so the run takes the sum of both.
    spent = sum(found[f"{kind}_s"] for kind in ("compute", "local", "hit", "remote"))
    assert found["run_s"] == pytest.approx(2 * spent, rel=0.01)
    assert found["waiting_s"] == pytest.approx(found["run_s"] / 2, rel=0.01)


def test_threads_really_wait_and_without_delays_access_the_same(folder: Path) -> None:
    system = system_of(folder)
    settings = settings_of(system.simulated.whole_machine(point_of(system)))
    made = compiled(system.program, system.simulated.digest())
    plain, delayed = (
        emulate(system.program, made, settings, dilation=dilation) for dilation in (0.0, 2.0)
    )
    assert (plain["run_s"], plain["waited_s"]) == (0.0, 0.0)
    for name in ("misses", "accesses", "threads", "remote_s", "hit_s", "local_s"):
        assert plain[name] == delayed[name]
    spent = sum(delayed[f"{kind}_s"] for kind in ("compute", "local", "hit", "remote"))
    assert delayed["waited_s"] == pytest.approx(2.0 * spent, rel=0.01)
    assert delayed["elapsed_s"] > delayed["run_s"]


def test_pages_in_turn_are_far_for_a_half(folder: Path) -> None:
    found = run_of(system_of(folder), placement="interleave", cache=False).values
    # The other half of the pages is far for the thread that sets them up, by a read and a write.
    assert found["misses"] == LINES * TURNS / 2 + 2 * LINES / 64 / 2


def test_posted_writes_cost_a_far_time_only_if_none_may_be_in_progress(folder: Path) -> None:
    """Closed form: interleaved, the first thread writes a line of each second page far away."""
    system = system_of(folder)
    point: dict[str, Value] = {"placement": "interleave", "cache": False}
    posted, awaited = (
        run_of(system, **{**point, "posted_writes": count}).values["remote_s"] for count in (56, 0)
    )
    whole = system.simulated.whole_machine(point_of(system, **point))
    far_writes = LINES / 64 / 2
    # Posted writes have to arrive before a thread starts or ends, and at the end of the run.
    most = far_writes * (far_s(whole) - float(whole["posted_write_s"]))
    assert most - 3 * far_s(whole) <= 2 * (awaited - posted) <= most * (1 + 1e-6)


def test_neighbouring_counters_take_their_line_from_each_other(folder: Path) -> None:
    """A round: a far read, then a read and a write of the home, which the other's copy needs."""
    near = run_of(system_of(folder, "shared.c", argv=("1",))).values["misses"]
    apart = run_of(system_of(folder, "shared.c", argv=("512",))).values["misses"]
    assert 3 * ROUNDS - 3 <= near <= 3 * ROUNDS + 10
    assert apart <= 10


def test_a_small_cache_gives_written_lines_up(folder: Path) -> None:
    """Interleaved, the thread that sets all up writes lines of the other node into its cache."""
    found = run_of(system_of(folder), placement="interleave", cache_bytes=64 * 16).values
    assert found["evictions"] >= LINES / 64 / 2 - 16


@pytest.mark.parametrize("cache", [True, False])
def test_the_simulator_has_the_same_answer(folder: Path, *, cache: bool) -> None:
    emulated = system_of(folder)
    setup = FarMemorySetup(sources=("reads.c",), machine="cxl_pool")
    simulated = FarMemory.load(setup, base=folder)
    defaults = {one.name: one.default for one in simulated.parameters() if one.default is not None}
    expected = simulated.run({**defaults, "cache": cache}, seed=1).values
    found = run_of(emulated, cache=cache).values
    assert found["misses"] == expected["misses"]
    for name in ("run_s", "remote_s", "hit_s", "local_s"):
        assert found[name] == pytest.approx(expected[name], rel=0.03)


def test_a_machine_whose_caches_are_not_coherent_is_refused_with_a_cure(folder: Path) -> None:
    with pytest.raises(StudyError, match="keeps coherent alone") as refused:
        run_of(system_of(folder, machine="ncc"))
    assert refused.value.cure


def test_each_thread_needs_a_processor_there_and_here() -> None:
    with pytest.raises(StudyError, match="has 3 threads, and the machine 2 processors"):
        check_threads(3, 2)
    with pytest.raises(StudyError, match="this process may use"):
        _check_own_processors(100_000)


def test_programs_that_fail_or_have_no_hooks_are_refused(folder: Path) -> None:
    with pytest.raises(StudyError, match="exit code 3"):
        run_of(system_of(folder, argv=("3",)))
    setup = FarMemoryEmulatedSetup(program="/bin/true")
    with pytest.raises(NotHookedError, match="was not delayed"):
        run_of(FarMemoryEmulated.load(setup, base=folder))


@pytest.mark.deep
def test_a_static_program_is_delayed_too(folder: Path) -> None:
    try:
        compile_hooked(
            [folder / "reads.c"], output=folder / "reads", flags=["-O2", "-static"]
        )  # fmt: skip
    except BuildFailedError:
        pytest.skip("no static C library here; get it, in Debian: libc6-dev")
    system = FarMemoryEmulated.load(FarMemoryEmulatedSetup(program="reads"), base=folder)
    assert run_of(system, cache=False).values["misses"] >= LINES * TURNS
