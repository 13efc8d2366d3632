/* Far memory emulated by delay: the program runs, and each access takes the time that it would take
   on a machine of several nodes.

   The runtime emulates instead of recording if HEADROOM_FAR has the numbers of the machine, one for
   each `setting`, and HEADROOM_FAR_REPORT the path of a new file for the totals. */
#ifndef HEADROOM_EMULATION_H
#define HEADROOM_EMULATION_H

#include "recorder.h"

/* `../../far_memory/emulation.py` has the same names in the same order; a test compares them. */
enum setting {
    NODES,
    CPUS,
    IS_INTERLEAVED, /* 1: pages in turn; 0: first touch */
    LINE_BYTES,
    L1_SETS,
    L1_WAYS,
    L2_SETS, /* 0: no second level */
    L2_WAYS,
    L3_SETS, /* what leaves the second level; 0: nothing */
    L3_WAYS,
    CACHE_SETS, /* of the cache of far lines of a node; 0: none */
    CACHE_WAYS,
    POSTED_WRITES,
    COMPUTE_NS, /* of an access, with its instructions */
    NEAR_NS,
    LAST_NS,
    LOCAL_READ_NS,
    LOCAL_WRITE_NS,
    HIT_READ_NS,
    HIT_WRITE_NS,
    FAR_NS, /* to another node and back */
    POSTED_NS,
    BARRIER_NS,
    LOCK_NS,
    DILATION,   /* delays are this much longer; 0: none, the work of the emulation alone */
    IS_VIRTUAL, /* 1: the clocks of threads advance without waits */
    SETTINGS
};

#define HEADROOM_MOST_NODES 16
#define HEADROOM_MOST_PROCESSORS 32

/* Kinds of time that threads are delayed by. */
enum spent { COMPUTE, LOCAL, HIT, REMOTE, WAITING, SPENT_KINDS };

/* A level of tags; in each set the line that was used last comes first. */
struct level {
    uint64_t *tags;
    uint64_t sets;
    uint64_t ways;
};

/* A thread, the only one of its processor. */
struct emulated {
    struct near *near; /* the thread's, in its recorder */
    struct near_piece near_pieces[NEAR_PIECES];
    uint64_t *fronts; /* first piece of the line at the front of each set that is near */
    uint64_t accesses; /* without those on the short path since the last payment */
    uint64_t accesses_paid;
    uint32_t id;
    unsigned processor;
    unsigned node;
    struct level first;
    struct level second;
    struct level third; /* lines that have left the second */
    uint64_t page_number; /* of `page`, the last one used */
    struct page *page;
    double owed_ns[SPENT_KINDS]; /* not yet waited for */
    double all_owed_ns;
    double spent_ns[SPENT_KINDS];
    double debt_ticks; /* left by the last wait; negative if it was too long */
    double waited_ticks;
    double clock_ticks; /* all waits up to here, on the longest way through the synchronisation */
    double preempted_ticks;
    uint64_t misses;
    uint64_t evictions;
};

extern INTERNAL double headroom_setting[SETTINGS];

/* Start to emulate if the environment says so. */
INTERNAL bool headroom_open_emulation(void);
INTERNAL void headroom_begin_emulated(uint32_t id);
INTERNAL void headroom_end_emulated(void);
INTERNAL void headroom_emulated_region(bool begins);
/* `object` is a lock, a barrier, the number of a thread, or a semaphore with its value. */
INTERNAL void headroom_emulated_event(unsigned kind, uint64_t object, uint64_t value);
/* Before another thread may continue: all that this one wrote has arrived. */
INTERNAL void headroom_drain(struct emulated *own);
/* Write the totals. */
INTERNAL void headroom_close_emulation(void);

/* Access some bytes; what it costs is owed. In `far_lines.c`. */
INTERNAL void headroom_emulated_access(struct emulated *own, uint64_t address, uint64_t bytes,
                                       bool is_write);
INTERNAL void headroom_open_lines(void);
/* Memory that is all zero; ends the program if there is none. */
INTERNAL void *headroom_new_memory(size_t bytes);
INTERNAL struct level headroom_new_level(uint64_t sets, uint64_t ways);
INTERNAL void headroom_free_level(struct level *level);

/* Wait for what the thread owes. */
INTERNAL void headroom_pay(struct emulated *own);

/* Accesses that the processor's caches answer are paid together: a look at the clock takes longer. */
#define LEAST_WAIT_NS 100

/* Delay this thread, at once or with the next accesses. */
static inline void headroom_owe(struct emulated *own, enum spent kind, double ns) {
    own->owed_ns[kind] += ns;
    own->all_owed_ns += ns;
    if (own->all_owed_ns >= LEAST_WAIT_NS)
        headroom_pay(own);
}

/* Begin a write that takes `ns` in the network; the thread continues unless there are too many. */
INTERNAL void headroom_post_write(struct emulated *own, double ns);
/* The thread that runs, NULL if it is not emulated. */
extern INTERNAL __thread struct emulated *headroom_own;

#endif
