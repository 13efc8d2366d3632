"""The merged order of real programs agrees with their synchronisation."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headroom.systems.shared_memory import native
from headroom.systems.shared_memory.hook import record
from headroom.systems.shared_memory.hook.conftest import Build
from headroom.systems.shared_memory.hook.sites import resolve

Row = tuple[int, str, int, int, int]

LOCKED = """
#include <pthread.h>
#include <stdlib.h>
enum { TURNS = 1000 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static long counter;
int *made;
static void *work(void *argument) {
    long id = (long)argument;
    for (int i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&mutex);
        counter++;
        pthread_mutex_unlock(&mutex);
    }
    if (id == 0)
        made = calloc(10, sizeof *made);
    pthread_barrier_wait(&barrier);
    return (void *)(long)made[id];
}
int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, 0, THREADS);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    return counter != TURNS * THREADS;
}
"""


def merged(program: Path, trace: Path, *, turn: int = 1) -> tuple[list[Row], dict[str, Any]]:
    """Record a program, and return its events in the merged order."""
    assert record([program], trace=trace).exit_code == 0
    rows, report = native.trace_events(str(trace), most=10**7, turn_accesses=turn)
    assert (report["missing"], report["lost_stamps"], report["lost_words"]) == ("", 0, 0)
    return rows, report


def of_locks(rows: list[Row]) -> set[tuple[int, int]]:
    """Return the accesses under a lock as address and bytes; check that no two threads hold it."""
    holders: dict[int, int] = {}
    guarded: Counter[tuple[int, int]] = Counter()
    for thread, name, first, size, _ in rows:
        if name == "acquired":
            assert first not in holders, "a lock is acquired that another thread holds"
            holders[first] = thread
        elif name == "released":
            assert holders.pop(first) == thread
        elif thread in holders.values():
            guarded[first, size] += 1
    assert holders == {}
    return set(guarded)


@pytest.mark.deep
@pytest.mark.parametrize("threads", [2, 4])
def test_locks_and_barriers_keep_their_order(build: Build, tmp_path: Path, threads: int) -> None:
    """Only the holder of the lock uses the counter; all enter the barrier before one leaves."""
    rows, _ = merged(build(LOCKED, f"-DTHREADS={threads}"), tmp_path / "trace")
    (counter,) = of_locks(rows)
    holder = None
    for thread, name, first, size, _ in rows:
        if name == "acquired":
            holder = thread
        elif name == "released":
            holder = None
        elif (first, size) == counter and name in {"read", "write"}:
            assert thread == holder or (name == "read" and holder is None)
    of_counter = Counter(name for _, name, first, size, _ in rows if (first, size) == counter)
    # The main thread reads the sum.
    assert of_counter == {"read": 1000 * threads + 1, "write": 1000 * threads}
    inside = 0
    for _, name, *_ in rows:
        inside += name == "entered"
        assert name != "left" or inside == threads
    assert inside == threads


def test_threads_begin_after_they_are_made_and_are_joined_after_they_end(
    build: Build, tmp_path: Path
) -> None:
    rows, report = merged(build(LOCKED, "-DTHREADS=64"), tmp_path / "trace")
    assert report["threads"] == 65
    state: dict[int, str] = {0: "started"}
    steps = {"started": "", "begun": "started", "ended": "begun", "joined": "ended"}
    for thread, name, first, _, _ in rows:
        if name in steps:
            which = first if name in {"started", "joined"} else thread
            assert state.get(which, "") == steps[name], f"thread {which} {name}"
            state[which] = name
    assert state == {0: "begun", **dict.fromkeys(range(1, 65), "joined")}
    assert Counter(name for _, name, *_ in rows)["acquired"] == 64_000


def test_what_one_thread_allocates_before_a_barrier_comes_before_its_use(
    build: Build, tmp_path: Path
) -> None:
    rows, _ = merged(build(LOCKED, "-DTHREADS=4"), tmp_path / "trace")
    (made,) = (row for row in rows if row[1] == "allocated" and row[3] == 40)
    uses = [at for at, row in enumerate(rows) if made[2] <= row[2] < made[2] + 40]
    uses = [at for at in uses if rows[at][1] == "read"]
    assert len(uses) == 4
    assert min(uses) > rows.index(made)


SPINNING = """
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
static atomic_flag flag = ATOMIC_FLAG_INIT;
static _Atomic int ready;
static long shared[1];
static void *work(void *argument) {
    if (argument) {
        shared[0] = 40;
        atomic_store_explicit(&ready, 1, memory_order_release);
    }
    while (!atomic_load_explicit(&ready, memory_order_acquire))
        sched_yield();
    for (int i = 0; i < 3000; i++) {
        while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire))
            sched_yield();
        shared[0]++;
        atomic_flag_clear_explicit(&flag, memory_order_release);
    }
    return 0;
}
int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    return 0;
}
"""


def test_a_lock_that_a_program_builds_of_atomics_keeps_its_order(
    build: Build, tmp_path: Path
) -> None:
    """Under the lock, the read of a thread is followed by its own write."""
    text = SPINNING.replace("if (argument)", "if (argument == (void *)1)")
    rows, _ = merged(build(text), tmp_path / "trace")
    places = Counter((row[2], row[3]) for row in rows if row[1] == "write")
    ((address, size), count) = places.most_common(1)[0]
    assert count == 9001
    under = [row for row in rows if row[1] in {"read", "write"} and row[2:4] == (address, size)]
    assert (under[0][1], len(under)) == ("write", 1 + 18_000)
    for first, second in zip(under[1::2], under[2::2], strict=True):
        assert (first[0], first[1], second[1]) == (second[0], "read", "write")


HEAP = """
#include <pthread.h>
#include <stdlib.h>
static void *passed;
static void *work(void *argument) {
    void *kept[16] = {0};
    for (int i = 0; i < 3000; i++) {
        int at = (i * 7) % 16;
        if (i % 3 == 0) {
            kept[at] = realloc(kept[at], 16 + i % 200);
        } else {
            free(kept[at]);
            kept[at] = i % 2 ? malloc(24) : calloc(3, 8);
        }
        kept[at] = __atomic_exchange_n(&passed, kept[at], __ATOMIC_ACQ_REL);
    }
    for (int i = 0; i < 16; i++)
        free(kept[i]);
    return argument;
}
int main(void) {
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], 0);
    free(passed);
    void *aligned = aligned_alloc(64, 640);
    if (posix_memalign(&passed, 4096, 100))
        return 1;
    free(aligned);
    return 0;
}
"""


def test_a_place_is_free_when_it_is_allocated_whichever_thread_freed_it(
    build: Build, tmp_path: Path
) -> None:
    rows, _ = merged(build(HEAP), tmp_path / "trace")
    live: dict[int, int] = {}
    for _, name, address, size, _ in rows:
        if name == "allocated":
            assert address not in live, f"{address:#x} is allocated twice"
            live[address] = size
        elif name == "freed":
            del live[address]
    assert [size for address, size in live.items() if address % 4096 == 0 and size == 100] == [100]
    assert len([row for row in rows if row[1] == "allocated"]) >= 24_000


EARLY = """
#include <vector>
static std::vector<int> early(1000, 7); // the early one
int main() {
    std::vector<double> later(600, early[3]); // the later one
    return later[2] == 1;
}
"""


def test_allocations_before_main_are_known_with_their_lines(build: Build, tmp_path: Path) -> None:
    rows, report = merged(build(EARLY, "-O0", suffix=".cpp"), tmp_path / "trace")
    names = [row[1] for row in rows]
    sizes = {row[3]: at for at, row in enumerate(rows) if row[1] == "allocated"}
    begin = names.index("region begun")
    assert sizes[4000] < begin < sizes[600 * 8]
    assert {"read", "write"}.isdisjoint(names[:begin]), "accesses count from main on"
    (place,) = resolve([rows[sizes[4000]][4]], report["maps"])
    # The code of operator new is in a library; the vector calls it.
    assert "allocator" in place.function or shutil.which("addr2line") is None
