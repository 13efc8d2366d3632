"""Threads wait on the simulated machine for what they waited for: turns are never taken at once."""

import os
import shutil
from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.run import Run
from headroom.systems.shared_memory.far_memory.emulated import FarMemoryEmulatedSetup
from headroom.systems.shared_memory.far_memory.online import FarMemoryOnline
from headroom.systems.shared_memory.far_memory.recording import recorded
from headroom.systems.shared_memory.far_memory.system import FarMemory, FarMemorySetup
from headroom.systems.shared_memory.hook import compile_hooked

Kind = type[FarMemory | FarMemoryOnline]
ALONE, INDEPENDENT, MUTEX = 0, 1, 2
WAYS = {
    "semaphore": 3, "semaphore_spin": 4, "semaphore_timed": 5, "atomic": 6, "relaxed": 7, "flag": 8,
    "compare": 9, "atomic_wait": 10, "latch": 11, "barrier": 12,
}  # fmt: skip
ATTEMPTS = {"flag", "compare"}
TURNS = """
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdlib>
#include <latch>
#include <mutex>
#include <sched.h>
#include <semaphore.h>
#include <thread>
enum { WORDS = 1000, TURNS = 20 };
static double work[2][WORDS];
static int way, turn;
static std::mutex mutex;
static std::condition_variable changed;
static sem_t tokens[2];
static std::atomic<int> at{0};
static std::atomic_flag taken[2];
static std::barrier<> both(2);
static std::latch *latches[2 * TURNS + 1];

static void take(int me, int round) {
    timespec later = {2000000000, 0};
    auto spin = [&](auto order) { while (at.load(order) != me) sched_yield(); };
    switch (way) {
    case 2: { std::unique_lock held(mutex); changed.wait(held, [&] { return turn == me; }); break; }
    case 3: sem_wait(&tokens[me]); break;
    case 4: while (sem_trywait(&tokens[me])) sched_yield(); break;
    case 5: while (sem_timedwait(&tokens[me], &later)); break;
    case 6: spin(std::memory_order_seq_cst); break;
    case 7: spin(std::memory_order_relaxed); break;
    case 8: while (taken[me].test_and_set()) sched_yield(); break;
    case 9: for (int free = me; !at.compare_exchange_weak(free, 2); free = me) sched_yield(); break;
    case 10: at.wait(!me); break;
    case 11: if (me || round) latches[2 * round + me]->wait(); break;
    case 12: if (me) both.arrive_and_wait(); break;
    }
}

static void give(int me, int round) {
    switch (way) {
    case 2: { std::lock_guard held(mutex); turn = !me; changed.notify_all(); break; }
    case 3: case 4: case 5: sem_post(&tokens[!me]); break;
    case 6: case 9: at.store(!me); break;
    case 7: at.store(!me, std::memory_order_relaxed); break;
    case 8: taken[!me].clear(); break;
    case 10: at.store(!me); at.notify_all(); break;
    case 11: latches[2 * round + me + 1]->count_down(); break;
    case 12: both.arrive_and_wait(); if (!me) both.arrive_and_wait(); break;
    }
}

static void body(int me) {
    for (int round = 0; round < TURNS; round++) {
        take(me, round);
        for (double &word : work[me]) word++;
        give(me, round);
    }
}

int main(int, char **given) {
    way = atoi(given[1]);
    sem_init(&tokens[0], 0, 1);
    sem_init(&tokens[1], 0, 0);
    taken[1].test_and_set();
    for (auto &latch : latches) latch = new std::latch(1);
    if (way == 0) { body(0); body(1); return 0; }
    std::thread other(body, 1);
    body(0);
    other.join();
}
"""
FORKS = """
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    volatile long *words = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 200; i++) words[i]++;
    if (fork() == 0) {
        for (int i = 0; i < 20000000; i++) words[i % 512]++;
        _exit(0);
    }
    return wait(0) < 0;
}
"""
WITHOUT_HOOKS = """
__attribute__((no_sanitize("thread"), noinline)) static void library(volatile long *words) {
    for (int i = 0; i < 20000000; i++) words[i % 512]++;
}
int main(void) {
    static long words[512];
    library(words);
    return words[1] == 1;
}
"""
OPENMP = """
int main(void) {
    static long words[512];
    #pragma omp parallel for
    for (int i = 0; i < 512; i++) words[i]++;
}
"""


def run_of(kind: Kind, folder: Path, *argv: str, **program: object) -> Run:
    setup_type = FarMemorySetup if kind is FarMemory else FarMemoryEmulatedSetup
    system = kind.load(setup_type(machine="cxl_pool", argv=argv, **program), base=folder)  # type: ignore[arg-type]
    defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
    point = {**defaults, "cache": False}
    system.check_point(point)
    return system.run(point, seed=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the program."""
    if shutil.which("c++") is None:
        pytest.skip("c++ is not installed; get it, in Debian: sudo apt-get install g++")
    folder = tmp_path_factory.mktemp("turns")
    (folder / "turns.cpp").write_text(TURNS, encoding="utf-8")
    flags = ["-O1", "-std=c++20"]
    compile_hooked([folder / "turns.cpp"], output=folder / "turns", flags=flags)
    return folder


def turns(kind: Kind, folder: Path, way: int) -> Run:
    return run_of(kind, folder, str(way), program="turns")


@pytest.mark.deep
@pytest.mark.parametrize("kind", [FarMemory, FarMemoryOnline])
def test_two_threads_that_take_turns_are_no_faster_than_one(kind: Kind, folder: Path) -> None:
    """Bounds: the work of one thread alone, and twice the time with a mutex and a condition.

    How often a loop of attempts is interrupted in between, and so counted, is up to this machine.
    """
    alone, mutex = (turns(kind, folder, way).values["run_s"] for way in (ALONE, MUTEX))
    found = {name: turns(kind, folder, way).values["run_s"] for name, way in WAYS.items()}
    assert {name for name, run_s in found.items() if run_s < 0.98 * alone} == set()
    assert {name for name in found.keys() - ATTEMPTS if found[name] > 2 * mutex} == set()
    independent = turns(kind, folder, INDEPENDENT).values["run_s"]
    assert independent < 0.75 * alone, "they still work at the same time"


def test_the_result_says_that_atomics_follow_the_recorded_order(folder: Path) -> None:
    notes = [turns(FarMemory, folder, way).notes for way in (WAYS["atomic"], INDEPENDENT)]
    assert ["in the order of the recording" in " ".join(each) for each in notes] == [True, False]


@pytest.mark.parametrize("kind", [FarMemory, FarMemoryOnline])
@pytest.mark.parametrize(("text", "word"), [(FORKS, "forked 1 time"), (WITHOUT_HOOKS, "saw no")])
def test_work_that_no_hook_sees_is_remarked_with_its_share(
    kind: Kind, tmp_path: Path, text: str, word: str
) -> None:
    (tmp_path / "unseen.c").write_text(text, encoding="utf-8")
    remarks = " ".join(run_of(kind, tmp_path, sources=("unseen.c",)).remarks)
    assert word in remarks
    share = int(remarks.partition(" in ")[2].partition("%")[0])
    assert share > 70


@pytest.mark.parametrize("kind", [FarMemory, FarMemoryOnline])
def test_openmp_is_refused(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "parallel.c").write_text(OPENMP, encoding="utf-8")
    with pytest.raises(StudyError, match="OpenMP"):
        run_of(kind, tmp_path, sources=("parallel.c",), flags=("-fopenmp",))


def test_workers_take_the_recordings_of_their_parent(folder: Path) -> None:
    """A worker is another process: it has the environment, and not what this one remembers."""
    system = FarMemory.load(
        FarMemorySetup(program="turns", argv=("1",), machine="cxl_pool", recordings=2), base=folder
    )
    point = {one.name: one.default for one in system.parameters() if one.default is not None}
    system.check_point(point)
    assert system.recorded(point) == 2
    here = [recorded(system.program, system.digest(), number) for number in (0, 1)]
    there = [recorded.__wrapped__(system.program, system.digest(), number) for number in (0, 1)]
    assert [os.fstat(one.trace).st_ino for one in there] == [
        os.fstat(one.trace).st_ino for one in here
    ]
    assert there[0].places == here[0].places
