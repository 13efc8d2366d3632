"""The system `far_memory`: programs that are compiled, recorded and simulated here."""

import csv
import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Value
from headroom.systems.shared_memory import native
from headroom.systems.shared_memory.far_memory.system import FarMemory, FarMemorySetup
from headroom.systems.shared_memory.hook import compile_hooked, record
from headroom.systems.shared_memory.hook.build import NotHookedError
from headroom.systems.shared_memory.simulated.machine_file import setup_json

WORDS = 8192
"""Words of each array of the program below."""
LINE_WORDS = 8
ACCESSES = 2 * 2 * WORDS
"""Each thread writes its own array, and reads that of the other."""
WALK = f"""
#include <pthread.h>
#include <stdlib.h>
enum {{ WORDS = {WORDS} }};
static long *arrays[2];
static pthread_barrier_t barrier;
static void *work(void *argument) {{
    long id = (long)argument;
    long *own = arrays[id];
    for (long word = 0; word < WORDS; word++)
        own[word] = word;
    pthread_barrier_wait(&barrier);
    long *other = arrays[1 - id], sum = 0;
    for (long word = 0; word < WORDS; word++)
        sum += other[word]; /* far */
    return (void *)sum;
}}
int main(int count, char **words) {{
    pthread_t made;
    for (int id = 0; id < 2; id++)
        arrays[id] = aligned_alloc(4096, sizeof(long) * WORDS);
    pthread_barrier_init(&barrier, 0, 2);
    if (pthread_create(&made, 0, work, (void *)1) != 0)
        return 1;
    work(0);
    pthread_join(made, 0);
    return count > 1 ? atoi(words[1]) : 0;
}}
"""
HOT = """
#include <pthread.h>
static long counters[8];
static void *work(void *argument) {
    for (int turn = 0; turn < 1000; turn++)
        ((volatile long *)counters)[(long)argument]++;
    return 0;
}
int main(void) {
    pthread_t made;
    if (pthread_create(&made, 0, work, (void *)1) != 0)
        return 1;
    work(0);
    return pthread_join(made, 0);
}
"""
SET_UP = """
#include <pthread.h>
enum { LINES = 65536, LINES_PER_PAGE = 64 };
static struct { long words[8]; } lines[LINES];
static void *work(void *argument) {
    long sum = 0;
    for (int turn = 0; turn < 2; turn++)
        for (int line = 0; line < LINES; line++)
            sum += lines[line].words[turn];
    return argument = (void *)sum;
}
int main(void) {
    pthread_t made;
    for (int line = 0; line < LINES; line += LINES_PER_PAGE)
        lines[line].words[0] = line;
    if (pthread_create(&made, 0, work, 0) != 0)
        return 1;
    return pthread_join(made, 0);
}
"""
RunWalk = Callable[..., Run]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the program; the test is skipped without a compiler."""
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed; get it, in Debian: sudo apt-get install gcc")
    (tmp_path / "walk.c").write_text(WALK, encoding="utf-8")
    return tmp_path


@pytest.fixture
def walk(folder: Path) -> RunWalk:
    """Return a function that runs the program on a machine."""

    def run(machine: str = "ncc", argv: tuple[str, ...] = (), **config: Value) -> Run:
        setup = FarMemorySetup(sources=("walk.c",), argv=argv, machine=machine)
        return run_of(FarMemory.load(setup, base=folder), **config)

    return run


def run_of(system: FarMemory, **config: Value) -> Run:
    defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
    point = {**defaults, **config}
    system.check_point(point)
    return system.run(point, seed=1)


def rows(run: Run, name: str) -> list[dict[str, str]]:
    (found,) = (one for one in run.artefacts if one.name == name)
    return list(csv.DictReader(io.StringIO(found.text())))


def test_counts_of_a_program_are_those_of_its_code(walk: RunWalk) -> None:
    """Without caches each read of the other's array leaves the node, and each write stays."""
    found = walk(keeps="nothing", cache=False, protocol="sci")
    extra = found.values["accesses"] - ACCESSES
    assert 0 < extra < 100, "pointers and the barrier"
    assert found.values["threads"] == 2.0
    assert 2 * WORDS <= found.values["misses"] <= 2 * WORDS + extra
    spent = sum(found.values[f"{kind}_s"] for kind in native.TIME_KINDS)
    assert spent == pytest.approx(found.values["run_s"])


def test_misses_come_from_the_line_that_reads_far_memory(walk: RunWalk) -> None:
    found = walk("cxl_pool", cache=False)
    lines = rows(found, "lines.csv")
    source = next(n for n, text in enumerate(WALK.splitlines(), 1) if "/* far */" in text)
    assert lines[0]["line"] == f"walk.c:{source}"
    assert lines[0]["function"] == "work"
    assert int(lines[0]["accesses to other nodes"]) == 2 * WORDS / LINE_WORDS
    assert "main" in lines[0]["memory"]
    total = sum(int(row["accesses to other nodes"]) for row in lines)
    assert total == found.values["misses"]
    allocations = rows(found, "allocations.csv")
    assert sum(int(row["accesses to other nodes"]) for row in allocations) == total
    assert allocations[0]["allocation"].startswith("walk.c:")
    assert (allocations[0]["allocations"], int(allocations[0]["bytes"])) == ("2", 16 * WORDS)
    sharing = rows(found, "sharing.csv")
    assert int(sharing[0]["memory of node 1"]) >= WORDS


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("machine", ["ncc", "two_socket", "cxl_pool"])
def test_the_best_placement_is_faster_than_the_first_touch_of_another_thread(
    machine: str, folder: Path, *, cache: bool
) -> None:
    """One thread begins each page of what the other one reads."""
    (folder / "set_up.c").write_text(SET_UP, encoding="utf-8")
    system = FarMemory.load(FarMemorySetup(sources=("set_up.c",), machine=machine), base=folder)
    times = {
        placement: run_of(system, cache=cache, placement=placement).values["run_s"]
        for placement in ("first_touch", "interleave", "most")
    }
    assert times["most"] < 0.95 * times["interleave"]
    assert times["interleave"] < times["first_touch"]


def test_all_memory_of_one_node_is_private(walk: RunWalk) -> None:
    found = walk(nodes=1, cpus=2)
    assert found.values["misses"] == found.values["program_bytes"] == 0.0


def test_the_machine_without_a_cache_may_be_another_one(folder: Path) -> None:
    setup = FarMemorySetup(sources=("walk.c",), machine="ncc", machine_without_cache="numa")
    system = FarMemory.load(setup, base=folder)
    names = {one.name for one in system.parameters()}
    assert "local_read_s" not in names, "the cache decides about it"
    assert "near_s" in names
    with_cache, without = run_of(system), run_of(system, cache=False)
    own = {"local_read_s": 1.3e-7, "protocol": "uncached"}
    assert {name: system.whole_machine({"cache": False})[name] for name in own} == own
    assert with_cache.values["run_s"] != without.values["run_s"]


def test_a_finished_program_with_hooks_is_taken_and_one_without_refused(folder: Path) -> None:
    compile_hooked([folder / "walk.c"], output=folder / "walk", flags=["-O2"])
    system = FarMemory.load(FarMemorySetup(program="walk"), base=folder)
    assert run_of(system).values["accesses"] > ACCESSES
    with pytest.raises(NotHookedError):
        run_of(FarMemory.load(FarMemorySetup(program="/bin/true"), base=folder))
    with pytest.raises(StudyError, match="no file"):
        run_of(FarMemory.load(FarMemorySetup(program="missing"), base=folder))
    (folder / "text").write_text("no program", encoding="utf-8")
    with pytest.raises(StudyError, match="cannot be run") as refused:
        run_of(FarMemory.load(FarMemorySetup(program="text"), base=folder))
    assert "chmod" in str(refused.value.cure)


def test_what_cannot_run_is_refused_with_a_cure(folder: Path, walk: RunWalk) -> None:
    for setup in (FarMemorySetup(), FarMemorySetup(sources=("walk.c",), program="walk")):
        with pytest.raises(StudyError, match="either sources or a program"):
            FarMemory.load(setup, base=folder)
    with pytest.raises(StudyError, match="do not fit in 32-bit addresses"):
        walk(nodes=64, shared_bytes=1 << 30)
    with pytest.raises(StudyError, match=r"needs .* of shared memory"):
        walk(shared_bytes=4096)
    with pytest.raises(StudyError, match="power of two"):
        walk(line_bytes=48)
    with pytest.raises(StudyError, match="cache = true"):
        walk("numa")
    with pytest.raises(StudyError, match="exit code 3"):
        walk(argv=("3",))


def test_a_program_without_accesses_and_one_that_dies_are_refused(folder: Path) -> None:
    idle = '#include "headroom.h"\nint main(int n, char **w) { return w[0][0] == 0; }'
    (folder / "idle.c").write_text(idle + "\nvoid never(void) { headroom_begin(); }", "utf-8")
    dies = "#include <unistd.h>\n#include <signal.h>\nstatic volatile int a[9000];\n"
    dies += "int main(void) { for (int i = 0; i < 9000; i++) a[i] = i; return raise(SIGKILL); }"
    (folder / "dies.c").write_text(dies, encoding="utf-8")
    for name, error in (("idle.c", "recorded no access"), ("dies.c", "exit code -9")):
        system = FarMemory.load(FarMemorySetup(sources=(name,)), base=folder)
        with pytest.raises(StudyError, match=error):
            run_of(system)


def test_a_cut_trace_is_refused_by_the_simulator(folder: Path) -> None:
    compile_hooked([folder / "walk.c"], output=folder / "walk", flags=["-O2"])
    whole = folder / "trace"
    record([folder / "walk"], trace=whole)
    cut = folder / "cut"
    content = whole.read_bytes()
    system = FarMemory.load(FarMemorySetup(program="walk"), base=folder)
    defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
    setup = setup_json({**system.whole_machine({"cache": True}), **defaults})
    for length, error in ((0, EOFError), (len(content) // 2, (EOFError, RuntimeError))):
        cut.write_bytes(content[:length])
        with pytest.raises(error):
            native.simulate_recording(str(cut), setup, instructions_per_access=3)
    middle = len(content) // 2
    cut.write_bytes(content[:middle] + bytes([255]) * 64 + content[middle + 64 :])
    with pytest.raises(RuntimeError, match="byte"):
        native.simulate_recording(str(cut), setup, instructions_per_access=3)


def test_hot_lines_have_the_names_of_variables(folder: Path) -> None:
    """Two threads count in neighbouring words, each a thousand times."""
    (folder / "hot.c").write_text(HOT, encoding="utf-8")
    setup = FarMemorySetup(sources=("hot.c",), machine="two_socket")
    found = rows(run_of(FarMemory.load(setup, base=folder)), "hot_lines.csv")
    assert found[0]["memory"] == "counters"
    assert int(found[0]["from processors"]) > 30


def test_a_changed_program_is_another_point(folder: Path) -> None:
    system = FarMemory.load(FarMemorySetup(sources=("walk.c",)), base=folder)
    config: dict[str, Value] = {"cache": True, "nodes": 2}
    before = system.fingerprint(config)
    assert before == system.fingerprint(dict(reversed(config.items())))
    assert before != system.fingerprint({**config, "cache": False})
    (folder / "walk.c").write_text(WALK + "\n", encoding="utf-8")
    assert before != system.fingerprint(config)
