/* The recorder of a thread, and the short path of an access: one comparison of the site, one of the
   place, one store.

   Invariant: the words from `sent` to `cursor` are whole events that no chunk has yet. Only the
   thread itself moves `cursor`; it moves `cursor` back only under the lock of the output. */
#ifndef HEADROOM_RECORDER_H
#define HEADROOM_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "format.h"
#include "near.h"

#define INTERNAL __attribute__((visibility("hidden")))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define SITE ((uintptr_t)__builtin_return_address(0))

#define CODE(kind, log2_bytes) ((uint64_t)(SIZES * (kind) + (log2_bytes)))
#define EVENT(kind, payload)                                                                       \
    ((uint64_t)EVENT_CODE << CODE_SHIFT | (uint64_t)(kind) << ADDRESS_BITS | plain(payload))

enum thread_state { NOT_ATTACHED, LIVE, GONE };

/* The last operation that changed nothing: a loop that waits repeats it. */
struct loop {
    uint64_t object;
    uint64_t site;
    uint64_t value;
    uint64_t *from; /* behind its words; NULL if there is none */
    uint64_t *before; /* the same of the turn before, NULL for the first */
    size_t words; /* of that turn */
    uint64_t site_before; /* of the access before `from` */
    bool is_new; /* its words are to be written */
};

/* An atomic operation that was carried out. */
struct operation {
    uint64_t code;
    uintptr_t site;
    uint64_t value; /* that it saw */
    bool sees; /* waits for whoever left the value */
    bool changes;
};

/* Processor time of a thread since the last look; see `share.c`. */
struct share {
    clockid_t clock;
    uint64_t since_ns; /* 0 outside the region */
    uint64_t turns_ns; /* when a loop that waits began to turn, 0 if none does */
    uint64_t *counted; /* first word since the look */
    uint64_t copied_bytes;
};

struct recorder {
    uint64_t *cursor;
    uint64_t *limit; /* NULL while accesses are not recorded; other threads may set it to NULL */
    struct near near;
    uint64_t site;
    uint64_t entries; /* of functions, since the thread began */
    uint64_t *buffer;
    uint64_t *sent;
    uint64_t chunks;    /* written so far, so the number of the next one */
    uint64_t last_seen; /* chunks of all threads when this one wrote its last */
    uint32_t id;
    uint8_t state;
    volatile uint8_t is_busy; /* within the runtime: a signal handler records nothing then */
    uint8_t key_rounds;
    uint8_t resolving; /* depth of dlsym, which may allocate */
    uintptr_t new_site; /* of operator new, for the malloc that it calls */
    struct loop loop;
    struct share share;
    struct recorder *next;
};

extern INTERNAL __thread struct recorder headroom_self;

/* Drop the upper bits of an address, which other processors than those of x86 may ignore. */
static inline uint64_t plain(uint64_t address) {
    return address & (((uint64_t)1 << ADDRESS_BITS) - 1);
}

/* The same without work where the upper bits are zero anyway. */
static inline uint64_t place_of(uint64_t address) {
#ifdef __x86_64__
    return address;
#else
    return plain(address);
#endif
}

static inline uint64_t access_word(uint64_t address, uint64_t code, uint64_t step) {
    return step << ADDRESS_BITS | code << CODE_SHIFT | place_of(address);
}

static inline void move_cursor(uint64_t *to) {
    __atomic_store_n(&headroom_self.cursor, to, __ATOMIC_RELEASE);
}

static inline bool is_writing(uint64_t code) {
    return code / SIZES != READ && code / SIZES != ATOMIC_READ;
}

INTERNAL void headroom_slow_access(uintptr_t address, uint64_t code, uintptr_t site);

/* `is_aligned`: the bytes are of one line. The check of the limit comes first, for emulations. */
static inline __attribute__((always_inline)) void record_access(const volatile void *address,
                                                                uint64_t code, uintptr_t site,
                                                                bool is_aligned) {
    uint64_t *cursor = headroom_self.cursor;
    if (LIKELY(cursor < __atomic_load_n(&headroom_self.limit, __ATOMIC_RELAXED))) {
        uint64_t step = site - headroom_self.site + SITE_BIAS;
        if (LIKELY(step < 2 * SITE_BIAS)) {
            headroom_self.site = site;
            *cursor = access_word((uintptr_t)address, code, step);
            move_cursor(cursor + 1);
            return;
        }
    } else if (is_aligned &&
               near_access(&headroom_self.near, place_of((uintptr_t)address), is_writing(code))) {
        return;
    }
    headroom_slow_access((uintptr_t)address, code, site);
}

/* An access of any length; `kind` is EVENT_READ_RANGE or EVENT_WRITE_RANGE. */
INTERNAL void headroom_range(unsigned kind, const volatile void *address, size_t bytes,
                             uintptr_t site);

/* Record an event with the stamp or the counter that its kind needs, and up to 3 operands. */
INTERNAL void headroom_event(unsigned kind, uint64_t first, uint64_t second, uint64_t third);

/* Begin an atomic operation, after which `headroom_end_operation` is called, at once and with what
   it did; false if nothing of it is recorded. */
INTERNAL bool headroom_begin_operation(const volatile void *object, uint64_t code, uintptr_t site);
INTERNAL void headroom_end_operation(const volatile void *object, struct operation done);

/* True for a load that repeats the last one and changes nothing: a loop that waits. */
INTERNAL bool headroom_repeats(const volatile void *object, uintptr_t site, uint64_t value);

/* A thread did not get a lock or through a semaphore, and may try again. */
INTERNAL void headroom_tried(const volatile void *object, uintptr_t site);

/* For `order.c`: keep signal handlers away, with room for some words; false if nothing is recorded.
   An emulated access is done here, before the operation. */
INTERNAL bool headroom_begin_order(const volatile void *object, uint64_t code, uintptr_t site,
                                   size_t words);
INTERNAL void headroom_end_order(void);
/* The next stamp, or the number of those that were taken. */
INTERNAL uint64_t headroom_number(bool is_stamp);
/* Write an access behind other words; return the next place. */
INTERNAL uint64_t *headroom_put_access(uint64_t *words, uint64_t address, uint64_t code,
                                       uintptr_t site);
/* Drop the words from a place on, unless they have been sent. */
INTERNAL bool headroom_forget(uint64_t *from);

/* True between the start of the runtime and its end. */
INTERNAL bool headroom_is_open(void);

/* Open the trace that the environment names; does nothing the second time. */
INTERNAL void headroom_open(void);

/* Begin the region unless the program marks its own. */
INTERNAL void headroom_main_begins(void);

/* Write all that is recorded, and the end of the trace. */
INTERNAL void headroom_close(void);

/* Number of a thread that is about to be made. */
INTERNAL uint32_t headroom_new_thread(void);

/* Give this thread a recorder and an event BEGUN. */
INTERNAL bool headroom_attach(uint32_t id);

/* Write the words of this thread: before it blocks, so that readers need not wait for them. */
INTERNAL void headroom_flush(void);

/* Address of a function of the libraries behind the program, kept in `slot`; ends the program if
   there is none. */
INTERNAL void *headroom_next(void **slot, const char *name);

/* Begin to count the time of a thread; add up what it was, which ends the count. */
INTERNAL void headroom_begin_share(struct recorder *which);
INTERNAL void headroom_count_share(struct recorder *which);
/* The thread waits from here on, in a loop or in the system, or does so no more. */
INTERNAL void headroom_begin_turns(struct recorder *own);
INTERNAL void headroom_end_turns(struct recorder *own);
INTERNAL void headroom_count_fork(void);
/* Times and forks, as the last chunk has them. */
INTERNAL void headroom_shares(uint64_t shares[4]);

/* Print a reason and end the program. */
INTERNAL _Noreturn void headroom_fail(const char *what, const char *why);

/* The lock of the output; not hooked. */
INTERNAL void headroom_lock(void);
INTERNAL void headroom_unlock(void);

/* malloc and free of the libraries; not hooked. */
INTERNAL void *headroom_plain_malloc(size_t bytes);
INTERNAL void headroom_plain_free(void *place);

#endif
