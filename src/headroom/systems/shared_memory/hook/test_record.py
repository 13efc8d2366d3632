"""Counts of accesses of programs whose accesses are known."""

import platform
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.systems.shared_memory.hook import read_trace, record
from headroom.systems.shared_memory.hook.build import compile_runtime, link_flags
from headroom.systems.shared_memory.hook.conftest import Build
from headroom.systems.shared_memory.hook.record import TraceError

pytestmark = pytest.mark.deep

N = 60

PRODUCT = f"""
#include <stdlib.h>
#include "headroom.h"
enum {{ N = {N} }};
int main(void) {{
    double *a = malloc(N * N * sizeof *a), *b = malloc(N * N * sizeof *b);
    double *c = calloc(N * N, sizeof *c);
    for (int i = 0; i < N * N; i++)
        a[i] = b[i] = i;
    headroom_begin();
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {{
            double sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[i * N + k] * b[k * N + j]; /* products */
            c[i * N + j] = sum;
        }}
    headroom_end();
    double sum = 0;
    for (int i = 0; i < N * N; i++)
        sum += c[i];
    free(a);
    return sum < 0;
}}
"""


def line_of(text: str, words: str) -> int:
    """Return the number of the line with some words."""
    return 1 + [words in line for line in text.splitlines()].index(True)


@pytest.mark.parametrize("flags", [[], ["-static"], ["-no-pie"], ["-O2"]], ids="".join)
def test_a_product_of_matrices_has_two_reads_for_each_product(
    build: Build, flags: list[str]
) -> None:
    """Closed form: N^3 products of two reads, N^2 writes, all of 8 bytes."""
    run = record([build(PRODUCT, *flags)])
    found = run.accesses
    assert (run.exit_code, found.missing, found.threads, found.regions) == (0, "", 1, 1)
    assert (found.reads, found.writes) == (2 * N**3, N**2)
    assert (found.read_bytes, found.written_bytes) == (16 * N**3, 8 * N**2)
    assert (found.accesses, found.lost_words) == (2 * N**3 + N**2, 0)
    sizes = 3 * 8 * N**2
    assert (found.allocations, found.allocated_bytes, found.frees) == (3, sizes, 1)
    assert sum(site.reads for site in found.sites) == found.reads


@pytest.mark.skipif(shutil.which("addr2line") is None, reason="no addr2line; install binutils")
@pytest.mark.parametrize("flags", [[], ["-static"], ["-no-pie"]], ids="".join)
def test_sites_are_lines_of_the_source(build: Build, flags: list[str]) -> None:
    sites = record([build(PRODUCT, *flags)]).accesses.sites
    busiest = {site.place.line.rpartition("/")[2] for site in sites if site.reads}
    assert busiest == {f"program.c:{line_of(PRODUCT, 'products')}"}
    assert {site.place.function for site in sites} == {"main"}


def test_a_trace_in_a_file_has_the_same_accesses_as_one_in_a_pipe(
    build: Build, tmp_path: Path
) -> None:
    program = build(PRODUCT)
    online = record([program]).accesses
    stored = record([program], trace=tmp_path / "trace").accesses
    assert (stored.reads, stored.writes) == (online.reads, online.writes)
    assert read_trace(tmp_path / "trace").reads == online.reads
    text = (tmp_path / "trace").read_bytes()
    (tmp_path / "cut").write_bytes(text[: len(text) // 2])
    cut = read_trace(tmp_path / "cut")
    assert 0 < cut.reads < online.reads
    assert "the last events of thread 0 are missing" in cut.missing
    (tmp_path / "wrong").write_bytes(text[:16] + b"\xff" + text[17:])
    with pytest.raises(TraceError, match="byte 16 of the trace"):
        read_trace(tmp_path / "wrong")


COPIES = """
#include <string.h>
#include <stdlib.h>
int main(int count, char **words) {
    size_t bytes = 1000 * count;
    char *a = malloc(bytes), *b = malloc(bytes);
    memset(a, 1, bytes);
    /* Otherwise the copy of a fill may become a fill. */
    __asm__ volatile("" : : "r"(a), "r"(b) : "memory");
    memcpy(b, a, bytes);
    memmove(a + 1, a, bytes - 1);
    return a[7] + b[5] + words[0][0] == 0;
}
"""


def test_copies_and_fills_are_accesses_of_their_length(build: Build) -> None:
    found = record([build(COPIES)]).accesses
    assert found.written_bytes == 1000 + 1000 + 999
    # A byte each of a, of b and of the name of the program, and a pointer to it.
    assert found.read_bytes == 1000 + 999 + 1 + 1 + 8 + 1


ATOMICS = """
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
enum { THREADS = 4, TURNS = 5000 };
static _Atomic uint8_t eight;
static _Atomic uint16_t sixteen;
static _Atomic uint32_t thirty_two;
static _Atomic uint64_t sixty_four, swapped, bits;
static _Atomic int lock;
static uint64_t guarded;
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
static unsigned __int128 wide;
#endif
static void *work(void *argument) {
    for (int i = 0; i < TURNS; i++) {
        atomic_fetch_add(&eight, 1);
        atomic_fetch_sub_explicit(&sixteen, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&thirty_two, 3, memory_order_acq_rel);
        atomic_fetch_xor(&bits, (uintptr_t)argument);
        uint64_t old = atomic_load_explicit(&sixty_four, memory_order_relaxed);
        while (!atomic_compare_exchange_weak(&sixty_four, &old, old + 5))
            ;
        atomic_exchange(&swapped, i);
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
        __atomic_fetch_add(&wide, ((unsigned __int128)1 << 64) + 1, __ATOMIC_SEQ_CST);
#endif
        while (atomic_exchange_explicit(&lock, 1, memory_order_acquire))
            sched_yield();
        guarded += 2;
        atomic_store_explicit(&lock, 0, memory_order_release);
    }
    atomic_thread_fence(memory_order_seq_cst);
    return 0;
}
int main(void) {
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, work, (void *)(1 + i));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    uint64_t all = THREADS * TURNS;
    int is_right = atomic_load(&eight) == (uint8_t)all;
    is_right &= atomic_load(&sixteen) == (uint16_t)-all;
    is_right &= atomic_load(&thirty_two) == 3 * all && atomic_load(&sixty_four) == 5 * all;
    is_right &= atomic_load(&bits) == 0 && atomic_load(&swapped) == TURNS - 1;
    is_right &= guarded == 2 * all;
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
    is_right &= wide == ((unsigned __int128)all << 64) + all;
#endif
    return !is_right;
}
"""


@pytest.mark.parametrize("flags", [[], ["-static"]], ids="".join)
def test_atomic_operations_give_right_results_under_contention(
    build: Build, flags: list[str]
) -> None:
    wide = ["-mcx16"] if platform.machine() == "x86_64" else []
    run = record([build(ATOMICS, *flags, *wide)])
    assert run.exit_code == 0
    assert run.accesses.atomic_writes == 20_000
    assert run.accesses.atomic_modifies >= 7 * 20_000
    assert run.accesses.threads == 5


CRASH = """
#include <signal.h>
static volatile int places[64];
int main(void) {
    for (int i = 0; i < 30000; i++)
        places[i % 64] = i;
    raise(SIGSEGV);
}
"""


def test_a_program_that_crashes_leaves_its_whole_chunks(build: Build) -> None:
    run = record([build(CRASH)])
    assert run.exit_code == -signal.SIGSEGV
    assert 30_000 - 8192 <= run.accesses.writes < 30_000
    assert "without its last chunk" in run.accesses.missing
    assert "thread 0" in run.accesses.missing


FORK = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int places[64];
static void write_all(int count) {
    for (int i = 0; i < count; i++)
        places[i % 64] = i;
}
int main(int count, char **words) {
    if (count > 1) {
        write_all(50000);
        return getenv("HEADROOM_TRACE") != NULL;
    }
    write_all(1000);
    int status;
    pid_t child = fork();
    if (child == 0) {
        write_all(50000);
        execl(words[0], words[0], "again", NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    write_all(234);
    _exit(WEXITSTATUS(status));
}
"""


@pytest.mark.parametrize("flags", [[], ["-static"]], ids="".join)
def test_children_of_a_program_record_nothing(build: Build, flags: list[str]) -> None:
    run = record([build(FORK, *flags)])
    assert (run.exit_code, run.accesses.writes, run.accesses.missing) == (0, 1234, "")


CPP = """
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
static std::vector<int> early(1000, 7); // before main
struct Shape {
    virtual ~Shape() = default;
    virtual int area() const = 0;
};
struct Square : Shape {
    int side = 3;
    int area() const override { return side * side; }
};
static int deep(int levels) {
    std::string text(100, 'x');
    if (levels == 0)
        throw std::runtime_error("bottom");
    return deep(levels - 1) + static_cast<int>(text.size());
}
int main() {
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<int> queue;
    std::map<int, std::shared_ptr<Shape>> shapes;
    std::vector<std::thread> threads;
    long sum = 0;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&, i] {
            thread_local std::vector<int> own(10, i);
            for (int j = 0; j < 100; j++) {
                std::unique_lock<std::mutex> lock(mutex);
                filled.wait(lock, [&] { return !queue.empty(); });
                sum += queue.front() + own[0] - i;
                queue.pop_front();
                shapes[queue.size()] = std::make_shared<Square>();
            }
        });
    for (int i = 0; i < 400; i++) {
        std::lock_guard<std::mutex> lock(mutex);
        queue.push_back(early[i]);
        filled.notify_one();
    }
    for (auto &thread : threads)
        thread.join();
    try {
        deep(10);
        return 1;
    } catch (const std::runtime_error &) {
    }
    return !(sum == 2800 && shapes.begin()->second->area() == 9);
}
"""


@pytest.mark.parametrize("flags", [[], ["-static"], ["-O0"], ["-O3"]], ids="".join)
def test_a_cpp_program_with_threads_and_exceptions_is_recorded(
    build: Build, flags: list[str]
) -> None:
    run = record([build(CPP, *flags, suffix=".cpp")])
    found = run.accesses
    assert (run.exit_code, found.missing, found.threads) == (0, "", 5)
    assert found.acquisitions >= 800
    assert found.allocated_bytes > 4000 + 400 * 16
    assert found.reads > 1000
    assert found.writes > 1000


SIGNALS = """
#include <signal.h>
#include <sys/time.h>
static volatile int signals, places[64], others[64];
static void handle(int number) {
    for (int i = 0; i < 300; i++)
        others[i % 64] = number;
    signals++;
}
int main(void) {
    struct itimerval interval = {{0, 300}, {0, 300}};
    signal(SIGALRM, handle);
    setitimer(ITIMER_REAL, &interval, 0);
    while (signals < 300)
        for (int i = 0; i < 1000; i++)
            places[i % 64] = i;
}
"""


def test_a_signal_handler_neither_stops_nor_damages_a_recording(build: Build) -> None:
    run = record([build(SIGNALS)], time_limit_s=300)
    assert (run.exit_code, run.accesses.missing) == (0, "")
    assert run.accesses.writes > 10_000


def test_a_program_that_never_ends_is_killed_at_its_limit(build: Build) -> None:
    program = build("volatile int place; int main(void) { for (;;) place++; }")
    with pytest.raises(StudyError, match=r"time limit of 0\.2 s"):
        record([program], time_limit_s=0.2)


def test_a_program_whose_region_never_begins_is_refused(build: Build) -> None:
    program = build('#include "headroom.h"\nint a[9]; int main(void) { return a[3]; }')
    with pytest.raises(TraceError, match="its region never began"):
        record([program])


RUST = """
use std::sync::Mutex;
fn main() {
    let total = Mutex::new(0_u64);
    let numbers: Vec<u64> = (0..1000).collect();
    let shared = &total;
    std::thread::scope(|scope| {
        for part in numbers.chunks(500) {
            scope.spawn(move || *shared.lock().unwrap() += part.iter().sum::<u64>());
        }
    });
    assert_eq!(*total.lock().unwrap(), 499_500);
}
"""


def test_a_rust_program_is_recorded(tmp_path: Path) -> None:
    """Only a nightly compiler inserts the hooks: README.md."""
    rustc = ["rustc", "+nightly"]
    if (
        shutil.which("rustup") is None
        or subprocess.run([*rustc, "--version"], capture_output=True, check=False).returncode != 0
    ):
        pytest.skip("no nightly Rust; get it with: rustup toolchain install nightly")
    (tmp_path / "program.rs").write_text(RUST, encoding="utf-8")
    objects = map(str, compile_runtime(tmp_path))
    flags = ["-O", "-Zsanitizer=thread", "-Zexternal-clangrt"]
    flags.append("-Cunsafe-allow-abi-mismatch=sanitizer")
    linked = [f"-Clink-arg={word}" for word in (*objects, *link_flags())]
    argv = [*rustc, *flags, *linked, "-o", "program", "program.rs"]
    subprocess.run(argv, cwd=tmp_path, check=True)
    run = record([tmp_path / "program"])
    assert (run.exit_code, run.accesses.missing, run.accesses.threads) == (0, "", 3)
    assert run.accesses.reads > 1000
