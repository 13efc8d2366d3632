/* Recorders of threads: the long path of an access, events, the region, begin and end.

   A buffer goes out when it is full, when its thread is about to block, and when the other threads
   have written PATIENCE chunks each meanwhile: so a reader that waits for a stamp of a thread at
   rest gets it soon.

   Invariant: a thread that took a stamp writes it; the only exceptions are signal handlers that
   interrupt the runtime, whose events and accesses are dropped. */
#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "emulation.h"
#include "output.h"

#define BUFFER_BYTES (MOST_WORDS * sizeof(uint64_t))
/* Words kept free at the end, for a signal handler that records between two words. */
#define SPARE_WORDS 16
#define PATIENCE 4
/* No word has this value: it stays at its place in the buffer until a word is written there. */
#define MARK UINT64_MAX
#define MARKED_WORD (MOST_WORDS / 2)

enum phase { NOT_OPEN, OPEN, CLOSED };
enum scope { IN_REGION, EVERYWHERE };

__thread struct recorder headroom_self;

static int phase;
static int is_region;
static bool is_emulated; /* accesses are delayed, and nothing is recorded */
static uint32_t thread_count;
static uint32_t live_count;
static uint64_t lost_words;
static struct recorder *recorders;
static pthread_key_t key;
/* Alone in its lines: all threads write it. */
static struct {
    uint64_t count;
} __attribute__((aligned(128))) stamps;

/* Of `headroom.h`, in programs that include it. */
extern __attribute__((weak)) char headroom_marks_region;
void headroom_begin_region(void);
void headroom_end_region(void);

static const struct {
    uint8_t operands;
    bool has_stamp;
    enum scope scope;
} kinds[] = {
    [EVENT_ALLOCATED] = {3, false, EVERYWHERE},    [EVENT_FREED] = {1, true, EVERYWHERE},
    [EVENT_ORDER_RELEASE] = {1, true, IN_REGION},  [EVENT_ORDER_ACQUIRE] = {1, false, IN_REGION},
    [EVENT_POSTED] = {2, true, IN_REGION},         [EVENT_PASSED] = {2, false, IN_REGION},
    [EVENT_STARTED] = {1, true, EVERYWHERE},       [EVENT_BEGUN] = {0, false, EVERYWHERE},
    [EVENT_ENDED] = {0, true, EVERYWHERE},         [EVENT_JOINED] = {1, false, EVERYWHERE},
    [EVENT_ENTERED] = {1, true, IN_REGION},        [EVENT_LEFT] = {1, false, IN_REGION},
    [EVENT_ACQUIRED] = {1, false, IN_REGION},      [EVENT_RELEASED] = {1, true, IN_REGION},
    [EVENT_REGION_BEGUN] = {0, true, EVERYWHERE},  [EVENT_REGION_ENDED] = {0, true, EVERYWHERE},
};

bool headroom_is_open(void) {
    return __atomic_load_n(&phase, __ATOMIC_RELAXED) == OPEN;
}

uint32_t headroom_new_thread(void) {
    return __atomic_fetch_add(&thread_count, 1, __ATOMIC_RELAXED);
}

static void disarm(struct recorder *which) {
    __atomic_store_n(&which->limit, NULL, __ATOMIC_SEQ_CST);
}

/* True if a handler interrupted the short path, then sent the buffer: the cursor was put back to
   where it was before, behind words that have been sent. */
static bool is_stale(const struct recorder *which, const uint64_t *end) {
    const uint64_t *mark = which->buffer + MARKED_WORD;
    return which->sent <= mark && mark < end && *mark == MARK;
}

/* Write the words of a thread, which may go on recording. */
static void send(struct recorder *which) {
    uint64_t *end = __atomic_load_n(&which->cursor, __ATOMIC_ACQUIRE);
    if (end == which->sent || !headroom_is_open())
        return;
    if (is_stale(which, end) || !headroom_owns_output()) {
        lost_words += (uint64_t)(end - which->sent);
        which->sent = end;
        return;
    }
    struct chunk_head head = {
        .kind = CHUNK_WORDS,
        .thread = which->id,
        .words = (uint32_t)(end - which->sent),
        .sequence = which->chunks,
        .entries = __atomic_load_n(&which->entries, __ATOMIC_RELAXED),
    };
    if (!headroom_write_chunk(head, which->sent)) {
        __atomic_store_n(&phase, CLOSED, __ATOMIC_RELAXED);
        return;
    }
    which->chunks++;
    which->sent = end;
    which->last_seen = headroom_chunk_count();
}

static void empty(struct recorder *own) {
    own->sent = own->buffer;
    own->buffer[MARKED_WORD] = MARK;
    own->site = 0;
    own->loop.from = NULL;
    move_cursor(own->buffer);
}

static void send_own(void) {
    struct recorder *own = &headroom_self;
    own->is_busy = true;
    headroom_lock();
    bool is_counted = own->share.since_ns != 0;
    headroom_count_share(own);
    send(own);
    empty(own);
    if (is_counted)
        headroom_begin_share(own);
    for (struct recorder *which = recorders; which != NULL; which = which->next)
        if (headroom_chunk_count() - which->last_seen >= (uint64_t)PATIENCE * live_count)
            send(which);
    headroom_unlock();
    own->is_busy = false;
}

void headroom_flush(void) {
    struct recorder *own = &headroom_self;
    if (is_emulated || own->state != LIVE || own->is_busy || !headroom_is_open())
        return;
    if (own->cursor != __atomic_load_n(&own->sent, __ATOMIC_RELAXED))
        send_own();
    headroom_begin_turns(own);
}

static bool is_attached(void) {
    struct recorder *own = &headroom_self;
    if (own->is_busy || !headroom_is_open())
        return false;
    return LIKELY(own->state == LIVE) ||
           (own->state == NOT_ATTACHED && headroom_attach(headroom_new_thread()));
}

/* True if accesses are recorded now; then the short path is open as well. */
static bool is_in_region(void) {
    struct recorder *own = &headroom_self;
    if (!__atomic_load_n(&is_region, __ATOMIC_SEQ_CST) || !is_attached())
        return false;
    if (own->limit == NULL) {
        __atomic_store_n(&own->limit, own->buffer + MOST_WORDS - SPARE_WORDS, __ATOMIC_SEQ_CST);
        /* Either this sees the end of the region, or the end of the region sees the limit. */
        if (!__atomic_load_n(&is_region, __ATOMIC_SEQ_CST)) {
            disarm(own);
            return false;
        }
    }
    return true;
}

static bool has_room(size_t words) {
    struct recorder *own = &headroom_self;
    if (own->cursor + words > own->buffer + MOST_WORDS - SPARE_WORDS)
        send_own();
    return headroom_is_open();
}

/* Let the thread take the short path for lines that are near, as long as the region lasts. */
static void open_short_path(struct recorder *own, struct emulated *emulated) {
    __atomic_store_n(&own->near.pieces, emulated->near_pieces, __ATOMIC_SEQ_CST);
    /* Either this sees the end of the region, or the end of the region sees the lines. */
    if (!__atomic_load_n(&is_region, __ATOMIC_SEQ_CST))
        __atomic_store_n(&own->near.pieces, NULL, __ATOMIC_RELAXED);
}

/* Emulate an access, unless a signal handler interrupts the runtime. No limit is set then, so that
   all accesses but the near ones take the long path. */
static void emulate(uintptr_t address, size_t bytes, bool is_write) {
    struct recorder *own = &headroom_self;
    if (!is_attached())
        return;
    own->is_busy = true;
    __atomic_store_n(&own->near.pieces, NULL, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    headroom_emulated_access(headroom_own, plain(address), bytes, is_write);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    open_short_path(own, headroom_own);
    own->is_busy = false;
}

static void emulate_event(unsigned kind, uint64_t object, uint64_t value) {
    bool is_wanted =
        kinds[kind].scope == EVERYWHERE || __atomic_load_n(&is_region, __ATOMIC_RELAXED);
    if (!is_wanted || !is_attached())
        return;
    headroom_self.is_busy = true;
    __atomic_store_n(&headroom_self.near.pieces, NULL, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    headroom_emulated_event(kind, object, value);
    headroom_self.is_busy = false;
}

uint64_t *headroom_put_access(uint64_t *words, uint64_t address, uint64_t code, uintptr_t site) {
    uint64_t step = site - headroom_self.site + SITE_BIAS;
    if (step >= 2 * SITE_BIAS) {
        *words++ = EVENT(EVENT_SITE, site);
        step = SITE_BIAS;
    }
    headroom_self.site = site;
    *words++ = access_word(address, code, step);
    return words;
}

/* Most calls come from outside the region, or need no more than another site. */
void headroom_slow_access(uintptr_t address, uint64_t code, uintptr_t site) {
    struct recorder *own = &headroom_self;
    if (!__atomic_load_n(&is_region, __ATOMIC_RELAXED))
        return;
    if (is_emulated) {
        emulate(address, (size_t)1 << code % SIZES, is_writing(code));
        return;
    }
    if (own->cursor + 1 >= __atomic_load_n(&own->limit, __ATOMIC_RELAXED) &&
        (!is_in_region() || !has_room(2)))
        return;
    move_cursor(headroom_put_access(own->cursor, address, code, site));
}

/* Keep signal handlers from recording until `end_words`. */
static uint64_t *begin_words(void) {
    headroom_self.is_busy = true;
    disarm(&headroom_self);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return headroom_self.cursor;
}

static void end_words(uint64_t *behind) {
    move_cursor(behind);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    headroom_self.is_busy = false;
}

uint64_t headroom_number(bool is_stamp) {
    return is_stamp ? __atomic_fetch_add(&stamps.count, 1, __ATOMIC_SEQ_CST)
                    : __atomic_load_n(&stamps.count, __ATOMIC_SEQ_CST);
}

bool headroom_begin_order(const volatile void *object, uint64_t code, uintptr_t site,
                          size_t words) {
    if (is_emulated) {
        record_access(object, code, site, true);
        if (!__atomic_load_n(&is_region, __ATOMIC_RELAXED) || !is_attached())
            return false;
        headroom_self.is_busy = true;
        __atomic_store_n(&headroom_self.near.pieces, NULL, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (is_writing(code))
            headroom_drain(headroom_own);
        return true;
    }
    if (!is_in_region() || !has_room(words))
        return false;
    begin_words();
    return true;
}

void headroom_end_order(void) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    headroom_self.is_busy = false;
}

bool headroom_forget(uint64_t *from) {
    struct recorder *own = &headroom_self;
    if (from == own->cursor)
        return true;
    headroom_lock();
    bool is_here = own->sent <= from;
    if (is_here) {
        move_cursor(from);
        if (own->share.counted > from)
            own->share.counted = from;
        if (from <= own->buffer + MARKED_WORD)
            own->buffer[MARKED_WORD] = MARK;
    }
    headroom_unlock();
    return is_here;
}

void headroom_event(unsigned kind, uint64_t first, uint64_t second, uint64_t third) {
    if (is_emulated) {
        emulate_event(kind, first, second);
        return;
    }
    unsigned operands = kinds[kind].operands;
    bool is_wanted = kinds[kind].scope == EVERYWHERE ? is_attached() : is_in_region();
    if (!is_wanted || !has_room(1 + operands))
        return;
    headroom_end_turns(&headroom_self);
    uint64_t *words = begin_words();
    *words++ = EVENT(kind, headroom_number(kinds[kind].has_stamp));
    if (operands > 0)
        *words++ = first;
    if (operands > 1)
        *words++ = second;
    if (operands > 2)
        *words++ = third;
    end_words(words);
}

void headroom_range(unsigned kind, const volatile void *address, size_t bytes, uintptr_t site) {
    if (is_emulated) {
        if (bytes > 0 && __atomic_load_n(&is_region, __ATOMIC_RELAXED))
            emulate((uintptr_t)address, bytes, kind == EVENT_WRITE_RANGE);
        return;
    }
    if (bytes == 0 || !is_in_region() || !has_room(3))
        return;
    headroom_self.share.copied_bytes += bytes;
    uint64_t *words = begin_words();
    *words++ = EVENT(kind, bytes);
    *words++ = plain((uintptr_t)address);
    *words++ = plain(site);
    end_words(words);
}

static bool attach_emulated(struct recorder *own, uint32_t id) {
    own->is_busy = true;
    headroom_begin_emulated(id);
    own->state = LIVE;
    own->is_busy = false;
    pthread_setspecific(key, own);
    return true;
}

bool headroom_attach(uint32_t id) {
    struct recorder *own = &headroom_self;
    if (is_emulated)
        return attach_emulated(own, id);
    own->is_busy = true;
    uint64_t *buffer =
        mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED)
        headroom_fail("no memory for the buffer of a thread", strerror(errno));
    own->buffer = buffer;
    own->id = id;
    headroom_lock();
    empty(own);
    own->state = headroom_is_open() ? LIVE : GONE;
    if (own->state == LIVE) {
        own->last_seen = headroom_chunk_count();
        own->next = recorders;
        recorders = own;
        live_count++;
        if (pthread_getcpuclockid(pthread_self(), &own->share.clock) == 0 &&
            __atomic_load_n(&is_region, __ATOMIC_SEQ_CST))
            headroom_begin_share(own);
    }
    headroom_unlock();
    own->is_busy = false;
    if (own->state != LIVE)
        return false;
    headroom_event(EVENT_BEGUN, 0, 0, 0);
    pthread_setspecific(key, own);
    return true;
}

/* Called when the thread ends, for the last time after the destructors of the program. */
static void end_thread(void *value) {
    struct recorder *own = value;
    if (++own->key_rounds < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(key, own) == 0)
        return;
    headroom_event(EVENT_ENDED, 0, 0, 0);
    own->is_busy = true;
    if (is_emulated) {
        if (headroom_is_open())
            headroom_end_emulated();
        own->state = GONE;
        own->is_busy = false;
        return;
    }
    disarm(own);
    headroom_lock();
    headroom_count_share(own);
    send(own);
    struct recorder **link = &recorders;
    while (*link != own)
        link = &(*link)->next;
    *link = own->next;
    live_count--;
    own->state = GONE;
    headroom_unlock();
    munmap(own->buffer, BUFFER_BYTES);
    own->buffer = own->sent = own->cursor = NULL;
    own->is_busy = false;
}

void headroom_begin_region(void) {
    if (!headroom_is_open() || __atomic_exchange_n(&is_region, 1, __ATOMIC_SEQ_CST))
        return;
    if (is_emulated)
        headroom_emulated_region(true);
    headroom_event(EVENT_REGION_BEGUN, 0, 0, 0);
    headroom_lock();
    for (struct recorder *which = recorders; which != NULL; which = which->next)
        headroom_begin_share(which);
    headroom_unlock();
}

void headroom_end_region(void) {
    struct recorder *own = &headroom_self;
    if (!headroom_is_open() || own->is_busy ||
        !__atomic_exchange_n(&is_region, 0, __ATOMIC_SEQ_CST))
        return;
    if (is_emulated)
        headroom_emulated_region(false);
    own->is_busy = true;
    headroom_lock();
    for (struct recorder *which = recorders; which != NULL; which = which->next) {
        disarm(which);
        headroom_count_share(which);
    }
    headroom_unlock();
    own->is_busy = false;
    headroom_event(EVENT_REGION_ENDED, 0, 0, 0);
}

void headroom_main_begins(void) {
    if (&headroom_marks_region == NULL)
        headroom_begin_region();
}

static void before_fork(void) {
    headroom_lock();
}

static void after_fork(void) {
    headroom_count_fork();
    headroom_unlock();
}

/* The child records nothing, and the other threads are not in it. */
static void in_child(void) {
    struct recorder *own = &headroom_self;
    phase = CLOSED;
    is_region = 0;
    disarm(own);
    own->near.pieces = NULL;
    own->next = NULL;
    recorders = own->state == LIVE ? own : NULL;
    headroom_close_output();
    headroom_unlock();
}

void headroom_open(void) {
    if (phase != NOT_OPEN)
        return;
    is_emulated = headroom_open_emulation();
    if (!is_emulated && !headroom_open_output()) {
        phase = CLOSED;
        return;
    }
    int failure = pthread_key_create(&key, end_thread);
    if (failure == 0)
        failure = pthread_atfork(before_fork, after_fork, in_child);
    if (failure != 0)
        headroom_fail("the runtime cannot start", strerror(failure));
    phase = OPEN;
    headroom_attach(headroom_new_thread());
}

static void write_end(void) {
    uint64_t totals[END_WORDS] = {thread_count, stamps.count, headroom_chunk_count(), lost_words};
    headroom_shares(totals + 4);
    struct chunk_head head = {.kind = CHUNK_END, .words = END_WORDS};
    headroom_write_chunk(head, totals);
}

void headroom_close(void) {
    struct recorder *own = &headroom_self;
    if (!headroom_is_open() || own->is_busy)
        return;
    if (is_emulated) {
        headroom_end_region();
        phase = CLOSED;
        headroom_close_emulation();
        return;
    }
    if (!headroom_owns_output())
        return;
    own->is_busy = true;
    headroom_lock();
    __atomic_store_n(&is_region, 0, __ATOMIC_SEQ_CST);
    for (struct recorder *which = recorders; which != NULL; which = which->next) {
        disarm(which);
        headroom_count_share(which);
        send(which);
    }
    if (headroom_is_open() && headroom_write_maps())
        write_end();
    if (headroom_is_open())
        headroom_close_output();
    phase = CLOSED;
    headroom_unlock();
    own->is_busy = false;
}

__attribute__((destructor(101))) static void end_program(void) {
    headroom_close();
}
