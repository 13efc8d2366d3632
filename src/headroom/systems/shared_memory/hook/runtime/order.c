/* The order of atomic operations, and loops that wait.

   An object has one of a few locks, under which an operation is done and takes its number. So the
   numbers of the operations on an object are in the order in which they happened, and one that sees
   a value follows the operations up to the one that left it, and none after it.

   A loop that waits repeats an operation that changes nothing, such as a load of the same value,
   with the same accesses in between: it is recorded twice, and what follows is left out, because how
   often a loop turns depends on this machine.

   Invariant: a lock is held for one operation, in which nothing is written and nobody waits. */
#include "recorder.h"

#include <sched.h>
#include <string.h>

#include "emulation.h"

#define LOCKS 64
/* Looks at a lock before its holder, which may have no processor, is given one. */
#define LOOKS 100
/* Words of an operation: two events with their object, a site, an access. */
#define OPERATION_WORDS 6
/* Words that a loop may have besides the operation by which it is known. */
#define LOOP_WORDS 16

static struct {
    int is_held;
} __attribute__((aligned(64))) locks[LOCKS];

static int *lock_of(uint64_t object) {
    return &locks[(object >> 3) * 0x9e3779b97f4a7c15u >> 58].is_held;
}

static void lock(uint64_t object) {
    int *is_held = lock_of(object);
    for (unsigned look = 1; __atomic_exchange_n(is_held, 1, __ATOMIC_SEQ_CST); look++)
        if (look % LOOKS == 0)
            sched_yield();
}

static void unlock(uint64_t object) {
    __atomic_store_n(lock_of(object), 0, __ATOMIC_SEQ_CST);
}

/* Where the thread is among its accesses: a word of its buffer, or a number if it is emulated. */
static uint64_t *position(void) {
    if (headroom_own == NULL)
        return headroom_self.cursor;
    return (uint64_t *)(uintptr_t)(headroom_own->accesses - (uint64_t)headroom_own->near->left);
}

static bool is_same(const struct loop *loop, uint64_t object, uintptr_t site, uint64_t value) {
    return loop->from != NULL && loop->object == object && loop->site == site &&
           loop->value == value;
}

bool headroom_repeats(const volatile void *object, uintptr_t site, uint64_t value) {
    const struct loop *loop = &headroom_self.loop;
    if (!is_same(loop, plain((uintptr_t)object), site, value) || loop->from != position())
        return false;
    headroom_begin_turns(&headroom_self);
    return true;
}

static bool has_writes(const uint64_t *from, const uint64_t *end) {
    for (; from < end; from++) {
        uint64_t code = *from >> CODE_SHIFT;
        if (code == EVENT_CODE ? *from >> ADDRESS_BITS != EVENT(EVENT_SITE, 0) >> ADDRESS_BITS
                               : is_writing(code))
            return true;
    }
    return false;
}

/* Note an operation that changed nothing, whose words come next; true if it repeats the last turn
   of a loop, which is forgotten with it. */
static bool is_turn(struct loop *loop, uint64_t object, uintptr_t site, uint64_t value,
                    bool may_write) {
    struct recorder *own = &headroom_self;
    size_t words = loop->from == NULL ? 0 : (size_t)(own->cursor - loop->from);
    if (!is_same(loop, object, site, value)) {
        /* A loop may look at several objects: the first one stays its mark. */
        if (loop->from == NULL || words >= LOOP_WORDS)
            *loop = (struct loop){.object = object, .site = site, .value = value, .is_new = true};
        return false;
    }
    bool is_equal = words == 0 || (loop->before != NULL && words == loop->words &&
                                   memcmp(loop->before, loop->from, words * sizeof *loop->from) == 0);
    if (is_equal && (may_write || !has_writes(loop->from, own->cursor)) &&
        headroom_forget(loop->from)) {
        own->site = loop->site_before;
        headroom_begin_turns(own);
        return true;
    }
    loop->before = loop->from;
    loop->words = words;
    loop->is_new = true;
    return false;
}

/* The words of the operation that is the mark of a loop are written. */
static void begin_turn(struct loop *loop) {
    if (!loop->is_new)
        return;
    loop->is_new = false;
    loop->from = position();
    loop->site_before = headroom_self.site;
}

bool headroom_begin_operation(const volatile void *object, uint64_t code, uintptr_t site) {
    if (!headroom_begin_order(object, code, site, OPERATION_WORDS))
        return false;
    lock(plain((uintptr_t)object));
    return true;
}

static void emulate(uint64_t object, const struct operation *done) {
    if (done->sees)
        headroom_emulated_event(EVENT_ORDER_ACQUIRE, object, 0);
    if (done->changes)
        headroom_emulated_event(EVENT_ORDER_RELEASE, object, 0);
    unlock(object);
    headroom_self.loop = (struct loop){
        .object = object, .site = done->site, .value = done->value, .is_new = !done->changes};
}

static void write_words(uint64_t object, const struct operation *done, uint64_t number) {
    headroom_end_turns(&headroom_self);
    uint64_t *words = headroom_self.cursor;
    if (done->sees) {
        *words++ = EVENT(EVENT_ORDER_ACQUIRE, number);
        *words++ = object;
    }
    words = headroom_put_access(words, object, done->code, done->site);
    if (done->changes) {
        *words++ = EVENT(EVENT_ORDER_RELEASE, number);
        *words++ = object;
    }
    move_cursor(words);
}

void headroom_end_operation(const volatile void *place, struct operation done) {
    struct loop *loop = &headroom_self.loop;
    uint64_t object = plain((uintptr_t)place);
    if (headroom_own != NULL) {
        emulate(object, &done);
    } else {
        uint64_t number = headroom_number(done.changes);
        unlock(object);
        if (done.changes)
            *loop = (struct loop){0};
        bool may_write = done.code / SIZES == ATOMIC_MODIFY;
        if (done.changes || !is_turn(loop, object, done.site, done.value, may_write))
            write_words(object, &done, number);
    }
    begin_turn(loop);
    headroom_end_order();
}

void headroom_tried(const volatile void *place, uintptr_t site) {
    uint64_t object = plain((uintptr_t)place);
    if (headroom_own != NULL || !headroom_begin_order(place, 0, site, 0))
        return;
    is_turn(&headroom_self.loop, object, site, 0, true);
    begin_turn(&headroom_self.loop);
    headroom_end_order();
}
