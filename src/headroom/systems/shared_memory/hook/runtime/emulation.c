/* Far memory emulated by delay: settings, waits, posted writes, and totals.

   A thread owes the time of its accesses, and waits for it in a loop that reads the time stamp
   counter. What a wait is too long by is taken off the next one, so that all waits together have
   the right length; except for time in which the system ran something else, which is counted apart.

   Each thread has a clock of its waits alone, without the program, the hooks and the emulation. Where
   it waits for another thread, it takes over that clock if it is ahead. The last clock is the time of
   the run. With DILATION 0 threads do all the same work and wait for nothing: the difference
   between two such runs on a clock of the system is the same time, if nothing disturbs them.

   Invariant: a thread owes nothing, and its node has no write in progress, when it lets another
   thread continue. */
#define _GNU_SOURCE
#include "emulation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SETTINGS_VARIABLE "HEADROOM_FAR"
#define REPORT_VARIABLE "HEADROOM_FAR_REPORT"
/* A wait that is longer by this was interrupted by the system. */
#define PREEMPTED_NS 5000
#define CALIBRATION_NS 5000000
#define MOST_POSTED 1024
#define MOST_SYNCS (1 << 20)
/* Posts of a semaphore whose times are known. */
#define KEPT_POSTS 4096
/* No object of a program has such an address. */
#define START_OF(thread) ((thread) << 1 | (uint64_t)1 << 62)
#define END_OF(thread) (START_OF(thread) | 1)

double headroom_setting[SETTINGS];
__thread struct emulated *headroom_own;

static int report = -1;
static double ticks_per_ns; /* of the clock that waits read */
static double ticks_per_delay_ns;
static bool is_virtual;
static int64_t accesses_between; /* those that are paid together */
static struct emulated *all[HEADROOM_MOST_PROCESSORS];
static struct emulated totals;
static uint64_t threads;
static uint64_t region_began, region_ticks;
static uint64_t run_delay_ns;
/* What a thread lets others continue by: a lock, an atomic object, a barrier, its start or its end. */
struct sync {
    uint64_t object;
    double clock[2]; /* of a barrier those of two rounds: a thread may be one ahead of the others */
    uint8_t rounds[HEADROOM_MOST_PROCESSORS];
    struct posts *posts; /* of a semaphore */
};
static struct sync *syncs;
struct posts {
    int64_t first; /* value of the semaphore before the first event */
    int64_t posted, passed;
    double clocks[KEPT_POSTS];
};
static double last_clock;
static struct {
    double ends[MOST_POSTED]; /* of the last writes, by the clocks of the node's threads */
    unsigned next;
    double last_end;
    int lock;
} posted[HEADROOM_MOST_NODES];

static uint64_t clock_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

#ifdef __x86_64__
static uint64_t ticks(void) {
    return __builtin_ia32_rdtsc();
}

static void relax(void) {
    __builtin_ia32_pause();
}
#else
static uint64_t ticks(void) {
    return clock_ns();
}

static void relax(void) {
}
#endif

static void calibrate(void) {
    uint64_t start = clock_ns(), first = ticks(), end;
    while ((end = clock_ns()) - start < CALIBRATION_NS)
        ;
    ticks_per_ns = (double)(ticks() - first) / (double)(end - start);
    ticks_per_delay_ns = ticks_per_ns * headroom_setting[DILATION];
    is_virtual = headroom_setting[IS_VIRTUAL] != 0;
    double between = LEAST_WAIT_NS / headroom_setting[COMPUTE_NS];
    accesses_between = is_virtual || !(between < 1e9) ? INT64_MAX / 2 : (int64_t)between + 1;
}

static void parse(const char *text) {
    for (unsigned at = 0; at < SETTINGS; at++) {
        char *end;
        headroom_setting[at] = strtod(text, &end);
        if (end == text)
            headroom_fail(SETTINGS_VARIABLE, "numbers of the machine are missing");
        text = end;
    }
    double count = headroom_setting[NODES] * headroom_setting[CPUS];
    if (headroom_setting[NODES] > HEADROOM_MOST_NODES || count > HEADROOM_MOST_PROCESSORS ||
        headroom_setting[POSTED_WRITES] > MOST_POSTED)
        headroom_fail(SETTINGS_VARIABLE, "more nodes, processors or posted writes than possible");
}

bool headroom_open_emulation(void) {
    const char *text = getenv(SETTINGS_VARIABLE), *path = getenv(REPORT_VARIABLE);
    if (text == NULL || path == NULL)
        return false;
    parse(text);
    report = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (report < 0)
        headroom_fail(path, strerror(errno));
    /* Programs that this one starts are not emulated. */
    unsetenv(SETTINGS_VARIABLE);
    calibrate();
    syncs = headroom_new_memory(MOST_SYNCS * sizeof *syncs);
    headroom_open_lines();
    return true;
}

/* Wait; return how long, without what the system took away. The counter is read also if that is
   nothing, so that a run without delays does this work too. */
static double wait_for(struct emulated *own, double length) {
    if (is_virtual)
        return length;
    uint64_t start = ticks(), now = start;
    if (length <= 0)
        return 0;
    uint64_t end = start + (uint64_t)length;
    while ((int64_t)(end - now) > 0) {
        relax();
        now = ticks();
    }
    double late = (double)(int64_t)(now - end);
    if (now == start || late < PREEMPTED_NS * ticks_per_ns)
        return (double)(now - start);
    own->preempted_ticks += late;
    return (double)(end - start);
}

static void note_wait(struct emulated *own, double ticks) {
    own->waited_ticks += ticks;
    own->clock_ticks += ticks;
}

/* Owe the time of the accesses since the last payment: the short path only counts them. */
static void owe_accesses(struct emulated *own) {
    own->accesses += (uint64_t)(accesses_between - own->near->left);
    own->near->left = accesses_between;
    double ns = (double)(own->accesses - own->accesses_paid) * headroom_setting[COMPUTE_NS];
    own->accesses_paid = own->accesses;
    own->owed_ns[COMPUTE] += ns;
    own->all_owed_ns += ns;
}

void headroom_pay(struct emulated *own) {
    owe_accesses(own);
    own->debt_ticks += own->all_owed_ns * ticks_per_delay_ns;
    for (int kind = 0; kind < SPENT_KINDS; kind++) {
        own->spent_ns[kind] += own->owed_ns[kind];
        own->owed_ns[kind] = 0;
    }
    own->all_owed_ns = 0;
    double waited = wait_for(own, own->debt_ticks);
    note_wait(own, waited);
    own->debt_ticks -= waited;
}

/* Wait until a time of the thread's clock: the time of hooks and program is not the network's. */
static void wait_for_network(struct emulated *own, double end) {
    double left = end - own->clock_ticks;
    if (left <= 0)
        return;
    double waited = wait_for(own, left);
    note_wait(own, waited);
    own->spent_ns[REMOTE] += waited / ticks_per_delay_ns;
}

static void lock_node(const struct emulated *own) {
    while (__atomic_exchange_n(&posted[own->node].lock, 1, __ATOMIC_ACQUIRE))
        relax();
}

static void unlock_node(const struct emulated *own) {
    __atomic_store_n(&posted[own->node].lock, 0, __ATOMIC_RELEASE);
}

static double later(double one, double other) {
    return one > other ? one : other;
}

void headroom_post_write(struct emulated *own, double ns) {
    unsigned most = (unsigned)headroom_setting[POSTED_WRITES];
    if (most == 0) {
        headroom_owe(own, REMOTE, ns);
        return;
    }
    headroom_pay(own);
    lock_node(own);
    unsigned at = posted[own->node].next;
    double room = posted[own->node].ends[at];
    double end = later(room, own->clock_ticks) + ns * ticks_per_delay_ns;
    posted[own->node].ends[at] = end;
    posted[own->node].next = (at + 1) % most;
    posted[own->node].last_end = later(end, posted[own->node].last_end);
    unlock_node(own);
    wait_for_network(own, room);
    headroom_owe(own, REMOTE, headroom_setting[POSTED_NS]);
}

void headroom_drain(struct emulated *own) {
    headroom_pay(own);
    lock_node(own);
    double end = posted[own->node].last_end;
    unlock_node(own);
    wait_for_network(own, end);
}

/* Return an object, new if no event named it yet; needs the lock. */
static struct sync *sync_of(uint64_t object) {
    for (unsigned at = 0; at < MOST_SYNCS; at++) {
        struct sync *sync = &syncs[(object * 0x9e3779b97f4a7c15u + at) % MOST_SYNCS];
        if (sync->object == object || sync->object == 0) {
            sync->object = object;
            return sync;
        }
    }
    headroom_fail("more than a million locks, atomic objects, barriers and threads", "mark a shorter region");
}

/* Let others continue. A clock never goes back, so that of a round two before needs no reset. */
static void post(struct emulated *own, uint64_t object, bool is_barrier) {
    headroom_drain(own);
    headroom_lock();
    struct sync *sync = sync_of(object);
    double *clock = &sync->clock[is_barrier ? ++sync->rounds[own->processor] % 2 : 0];
    *clock = later(*clock, own->clock_ticks);
    headroom_unlock();
}

/* Continue after another thread; `ns` is the work of that. */
static void follow(struct emulated *own, uint64_t object, bool is_barrier, double ns) {
    headroom_pay(own);
    headroom_lock();
    struct sync *sync = sync_of(object);
    double clock = sync->clock[is_barrier ? sync->rounds[own->processor] % 2 : 0];
    headroom_unlock();
    own->clock_ticks = later(clock, own->clock_ticks);
    headroom_owe(own, WAITING, ns);
}

/* Return the posts of a semaphore; needs the lock. */
static struct posts *posts_of(uint64_t object, int64_t value) {
    struct sync *sync = sync_of(object);
    if (sync->posts == NULL) {
        sync->posts = headroom_new_memory(sizeof *sync->posts);
        sync->posts->first = value;
    }
    return sync->posts;
}

static void post_semaphore(struct emulated *own, uint64_t object, int64_t value) {
    headroom_drain(own);
    headroom_lock();
    struct posts *posts = posts_of(object, value);
    posts->clocks[posts->posted++ % KEPT_POSTS] = own->clock_ticks;
    headroom_unlock();
}

/* A thread passes by one of the tokens that were there first, or by the oldest post that is left. */
static void pass_semaphore(struct emulated *own, uint64_t object, int64_t value, double ns) {
    headroom_pay(own);
    headroom_lock();
    struct posts *posts = posts_of(object, value + 1);
    int64_t post = posts->passed++ - posts->first;
    if (post >= posts->posted)
        post = posts->posted - 1;
    double clock = post < 0 ? 0 : posts->clocks[post % KEPT_POSTS];
    headroom_unlock();
    own->clock_ticks = later(clock, own->clock_ticks);
    headroom_owe(own, WAITING, ns);
}

void headroom_emulated_event(unsigned kind, uint64_t object, uint64_t value) {
    bool has_others = headroom_setting[NODES] * headroom_setting[CPUS] > 1;
    double lock_ns = headroom_setting[NODES] > 1 ? headroom_setting[LOCK_NS] : 0;
    switch (kind) {
    case EVENT_STARTED:
        post(headroom_own, START_OF(object), false);
        break;
    case EVENT_JOINED:
        follow(headroom_own, END_OF(object), false, 0);
        break;
    case EVENT_ENTERED:
        post(headroom_own, object, true);
        break;
    case EVENT_LEFT:
        follow(headroom_own, object, true, has_others ? headroom_setting[BARRIER_NS] : 0);
        break;
    case EVENT_RELEASED:
        post(headroom_own, object, false);
        break;
    case EVENT_ACQUIRED:
        follow(headroom_own, object, false, lock_ns);
        break;
    case EVENT_ORDER_RELEASE:
        if (object != 0)
            post(headroom_own, object, false);
        break;
    case EVENT_ORDER_ACQUIRE:
        if (object != 0)
            follow(headroom_own, object, false, 0);
        break;
    case EVENT_POSTED:
        post_semaphore(headroom_own, object, (int64_t)value);
        break;
    case EVENT_PASSED:
        pass_semaphore(headroom_own, object, (int64_t)value, lock_ns);
        break;
    default:
        break;
    }
}

static size_t fronts_bytes(void) {
    return (size_t)headroom_setting[L1_SETS] * sizeof(uint64_t);
}

void headroom_begin_emulated(uint32_t id) {
    __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
    unsigned processor =
        id % (unsigned)(headroom_setting[NODES] * headroom_setting[CPUS]);
    struct emulated *own = headroom_plain_malloc(sizeof *own);
    if (own == NULL)
        headroom_fail("no memory for the emulation", strerror(ENOMEM));
    *own = (struct emulated){
        .id = id,
        .fronts = headroom_new_memory(fronts_bytes()),
        .processor = processor,
        .node = processor / (unsigned)headroom_setting[CPUS],
        .first = headroom_new_level((uint64_t)headroom_setting[L1_SETS],
                                    (uint64_t)headroom_setting[L1_WAYS]),
        .second = headroom_new_level((uint64_t)headroom_setting[L2_SETS],
                                     (uint64_t)headroom_setting[L2_WAYS]),
        .third = headroom_new_level((uint64_t)headroom_setting[L3_SETS],
                                    (uint64_t)headroom_setting[L3_WAYS]),
    };
    own->near = &headroom_self.near;
    *own->near = (struct near){
        .left = accesses_between, .holder = HOLDER(processor), .owner = OWNED_BY(processor)};
    all[processor] = own;
    headroom_own = own;
    follow(own, START_OF((uint64_t)id), false, 0);
}

/* Nanoseconds in which this thread was ready and had no processor; 0 if the system does not say. */
static uint64_t waited_for_processor(void) {
    char text[96];
    int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    unsigned long long delay = 0;
    return sscanf(text, "%*u %llu", &delay) == 1 ? delay : 0;
}

static void add(struct emulated *one) {
    owe_accesses(one);
    for (int kind = 0; kind < SPENT_KINDS; kind++)
        totals.spent_ns[kind] += one->spent_ns[kind] + one->owed_ns[kind];
    totals.waited_ticks += one->waited_ticks;
    last_clock = later(last_clock, one->clock_ticks);
    totals.preempted_ticks += one->preempted_ticks;
    totals.accesses += one->accesses;
    totals.misses += one->misses;
    totals.evictions += one->evictions;
}

void headroom_end_emulated(void) {
    struct emulated *own = headroom_own;
    uint64_t delay = waited_for_processor();
    post(own, END_OF((uint64_t)own->id), false);
    headroom_lock();
    add(own);
    run_delay_ns += delay;
    own->near->pieces = NULL;
    if (all[own->processor] == own)
        all[own->processor] = NULL;
    headroom_unlock();
    headroom_own = NULL;
    headroom_free_level(&own->first);
    headroom_free_level(&own->second);
    headroom_free_level(&own->third);
    munmap(own->fronts, fronts_bytes());
    headroom_plain_free(own);
}

void headroom_emulated_region(bool begins) {
    if (begins) {
        region_began = ticks();
        return;
    }
    headroom_lock();
    for (int processor = 0; processor < HEADROOM_MOST_PROCESSORS; processor++)
        if (all[processor] != NULL)
            __atomic_store_n(&all[processor]->near->pieces, NULL, __ATOMIC_SEQ_CST);
    headroom_unlock();
    if (headroom_own != NULL)
        headroom_drain(headroom_own);
    region_ticks += ticks() - region_began;
}

void headroom_close_emulation(void) {
    static const char *const names[] = {"compute_s", "local_s", "hit_s", "remote_s",
                                        "synchronising_s"};
    run_delay_ns += waited_for_processor();
    for (int processor = 0; processor < HEADROOM_MOST_PROCESSORS; processor++)
        if (all[processor] != NULL)
            add(all[processor]);
    double per_s = ticks_per_ns * 1e9;
    dprintf(report, "{\"elapsed_s\": %.9f, \"run_s\": %.9f, \"threads\": %llu, ",
            (double)region_ticks / per_s, last_clock / per_s, (unsigned long long)threads);
    for (int kind = 0; kind < SPENT_KINDS; kind++)
        dprintf(report, "\"%s\": %.9f, ", names[kind], totals.spent_ns[kind] / 1e9);
    dprintf(report, "\"waited_s\": %.9f, \"preempted_s\": %.9f, \"run_delay_s\": %.9f, ",
            totals.waited_ticks / per_s, totals.preempted_ticks / per_s,
            (double)run_delay_ns / 1e9);
    dprintf(report, "\"accesses\": %llu, \"misses\": %llu, \"evictions\": %llu}\n",
            (unsigned long long)totals.accesses, (unsigned long long)totals.misses,
            (unsigned long long)totals.evictions);
    close(report);
}
