"""The system `far_memory_online`: as with real delays, and as the simulator has it."""

import shutil
from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Value
from headroom.systems.shared_memory.far_memory.emulated import (
    FarMemoryEmulated,
    FarMemoryEmulatedSetup,
)
from headroom.systems.shared_memory.far_memory.online import FarMemoryOnline
from headroom.systems.shared_memory.far_memory.system import FarMemory, FarMemorySetup

MIXED = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
enum { WORDS = 1 << 17, ROUNDS = 40000, THREADS = 2 };
static long words[WORDS] __attribute__((aligned(4096)));
static long sums[THREADS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *argument) {
    long id = (long)argument, sum = 0;
    unsigned long next = 1 + id;
    for (int round = 0; round < ROUNDS; round++) {
        next = next * 6364136223846793005ul + 1442695040888963407ul;
        unsigned long at = next >> 47;
        if (next >> 33 & 1)
            words[at]++;
        else
            sum += words[at];
        if (round % 1000 == 0)
            memcpy(&words[id * (WORDS / 4)], &words[at & -32], 8 * 31 + 4);
    }
    pthread_mutex_lock(&mutex);
    sums[0] += sum;
    pthread_mutex_unlock(&mutex);
    return 0;
}
int main(int count, char **given) {
    pthread_t made;
    if (count > 2)
        return 3;
    long threads = count > 1 ? atoi(given[1]) : 1;
    for (long id = threads - 1; id > 0; id--) {
        if (pthread_create(&made, 0, work, (void *)id) != 0)
            return 1;
        pthread_join(made, 0);
    }
    work(0);
    return 0;
}
"""
"""Reads, writes, ranges and a lock; threads one after the other, so that runs are equal."""

REGION = """
#include <headroom.h>
#include <pthread.h>
static volatile long word, done;
static pthread_barrier_t barrier;
static void *work(void *argument) {
    word++;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < 1000; round++)
        word++;
    return argument;
}
int main(void) {
    pthread_t made;
    pthread_barrier_init(&barrier, 0, 2);
    headroom_begin();
    if (pthread_create(&made, 0, work, 0) != 0)
        return 1;
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < 500; round++)
        word++;
    headroom_end();
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < 1000; round++)
        word++;
    pthread_join(made, 0);
    return 0;
}
"""
"""Both threads have the word near when the region ends."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the program; the test is skipped without a compiler."""
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed; get it, in Debian: sudo apt-get install gcc")
    (tmp_path / "mixed.c").write_text(MIXED, encoding="utf-8")
    return tmp_path


def setup_of(machine: str, *argv: str) -> FarMemoryEmulatedSetup:
    return FarMemoryEmulatedSetup(sources=("mixed.c",), machine=machine, argv=argv)


def run_of(system: FarMemoryOnline | FarMemoryEmulated | FarMemory, **config: Value) -> Run:
    defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
    point = {**defaults, **config}
    system.check_point(point)
    return system.run(point, seed=1)


@pytest.mark.deep
@pytest.mark.parametrize("config", [{}, {"cache": False}, {"line_bytes": 256}, {"line_bytes": 32}])
def test_clocks_advance_by_what_threads_would_wait(folder: Path, config: dict[str, Value]) -> None:
    """The same program with real delays: the same counts, and the same time but for their noise."""
    lines = {"cpu_line_bytes": config["line_bytes"]} if "line_bytes" in config else {}
    setup = setup_of("cxl_pool", "2")
    online = run_of(FarMemoryOnline.load(setup, base=folder), **config, **lines).values
    delayed = run_of(
        FarMemoryEmulated.load(setup, base=folder), **config, **lines, dilation=1.0
    ).values
    for name in ("misses", "evictions", "accesses", "threads", "compute_s", "local_s", "hit_s"):
        assert online[name] == pytest.approx(delayed[name], rel=1e-9), name
    assert online["run_s"] == pytest.approx(delayed["run_s"], rel=0.02)


@pytest.mark.parametrize("l3_bytes", [0, 65_536])
@pytest.mark.parametrize("machine", ["two_socket", "cxl_pool"])
def test_the_simulator_has_the_same_answer(folder: Path, machine: str, l3_bytes: int) -> None:
    """Caches so small that each level, the other node and the own memory all have work."""
    argv = ("2",)
    small: dict[str, Value] = {
        "l1_bytes": 4096, "l1_ways": 8, "l2_bytes": 65_536, "l2_ways": 8, "l3_bytes": l3_bytes
    }  # fmt: skip
    online = run_of(FarMemoryOnline.load(setup_of(machine, *argv), base=folder), **small).values
    setup = FarMemorySetup(sources=("mixed.c",), machine=machine, argv=argv)
    expected = run_of(FarMemory.load(setup, base=folder), **small).values
    for name in ("misses", "accesses"):
        assert online[name] == pytest.approx(expected[name], rel=1e-3), name
    for name in ("run_s", "remote_s", "local_s", "compute_s"):
        assert online[name] == pytest.approx(expected[name], rel=0.02), name


def test_accesses_behind_the_region_do_not_count(folder: Path) -> None:
    (folder / "region.c").write_text(REGION, encoding="utf-8")
    setup = FarMemoryEmulatedSetup(sources=("region.c",), machine="cxl_pool")
    found = run_of(FarMemoryOnline.load(setup, base=folder)).values
    # A read and a write of each round, and what starting a thread and the barrier take.
    assert 2 * 501 <= found["accesses"] <= 2 * 501 + 20


def test_a_program_that_fails_or_has_too_many_threads_is_refused(folder: Path) -> None:
    with pytest.raises(StudyError, match="exit code 3"):
        run_of(FarMemoryOnline.load(setup_of("cxl_pool", "2", "more"), base=folder))
    three = FarMemoryOnline.load(setup_of("cxl_pool", "3"), base=folder)
    with pytest.raises(StudyError, match="has 3 threads, and the machine 2 processors"):
        run_of(three)
    assert run_of(three, nodes=3).values["threads"] == 3


def test_delays_change_no_metric_but_those_of_real_time(folder: Path) -> None:
    system = FarMemoryOnline.load(setup_of("cxl_pool"), base=folder)
    names = {one.name for one in system.metrics({})}
    assert "dilation" not in {one.name for one in system.parameters()}
    assert run_of(system).values.keys() == names
