/* The share of the processor time in which the hooks saw no access: code without hooks, computing,
   and other processes.

   Whenever a thread's words are written, its processor time since the last look is compared with
   the longest that hooked code takes for so many words. Waits are left out, in loops and in the
   system, and so is the writing. */
#include "recorder.h"

#include <sys/resource.h>
#include <time.h>

/* An access takes a few nanoseconds with its hook, and more if it misses. */
#define WORD_NS 25
#define BYTE_NS 3

static uint64_t spent_ns, unseen_ns, forks;

static uint64_t processor_ns(const struct recorder *which) {
    struct timespec time = {0};
    clock_gettime(which->share.clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void headroom_begin_share(struct recorder *which) {
    which->share.since_ns = processor_ns(which);
    which->share.turns_ns = 0;
    which->share.counted = which->cursor;
    which->share.copied_bytes = 0;
}

void headroom_end_turns(struct recorder *own) {
    if (own->share.turns_ns == 0)
        return;
    if (own->share.since_ns != 0)
        own->share.since_ns += processor_ns(own) - own->share.turns_ns;
    own->share.turns_ns = 0;
}

void headroom_begin_turns(struct recorder *own) {
    if (own->share.turns_ns == 0)
        own->share.turns_ns = processor_ns(own);
}

void headroom_count_share(struct recorder *which) {
    if (which->share.since_ns == 0)
        return;
    headroom_end_turns(which);
    uint64_t words = (uint64_t)(which->cursor - which->share.counted);
    uint64_t seen = words * WORD_NS + which->share.copied_bytes * BYTE_NS;
    uint64_t spent = processor_ns(which) - which->share.since_ns;
    spent_ns += spent;
    unseen_ns += spent > seen ? spent - seen : 0;
    which->share.since_ns = 0;
}

void headroom_count_fork(void) {
    forks++;
}

void headroom_shares(uint64_t shares[4]) {
    struct rusage children = {0};
    getrusage(RUSAGE_CHILDREN, &children);
    shares[0] = spent_ns;
    shares[1] = unseen_ns;
    shares[2] = (uint64_t)(children.ru_utime.tv_sec + children.ru_stime.tv_sec) * 1000000000u +
                (uint64_t)(children.ru_utime.tv_usec + children.ru_stime.tv_usec) * 1000u;
    shares[3] = forks;
}
