/* The entry points that gcc and clang call before each access, but for atomic operations.

   Sources: compiler-rt/lib/tsan/rtl/tsan_interface.h, gcc/sanitizer.def and include/sanitizer/
   tsan_interface.h, whose annotations are here too. */
#include "recorder.h"

#define ACCESS(name, kind, log2_bytes, is_aligned)                                                 \
    void __tsan_##name(void *address) {                                                            \
        record_access(address, CODE(kind, log2_bytes), SITE, is_aligned);                          \
    }

#define ACCESS_WITH_SITE(name, kind, log2_bytes)                                                   \
    void __tsan_##name##_pc(void *address, void *site) {                                           \
        record_access(address, CODE(kind, log2_bytes), (uintptr_t)site, true);                     \
    }

#define READ_THEN_WRITE(name, log2_bytes, is_aligned)                                              \
    void __tsan_##name(void *address) {                                                            \
        record_access(address, CODE(READ, log2_bytes), SITE, is_aligned);                          \
        record_access(address, CODE(WRITE, log2_bytes), SITE, is_aligned);                         \
    }

#define ALIGNED(bytes, log2_bytes)                                                                 \
    ACCESS(read##bytes, READ, log2_bytes, true)                                                    \
    ACCESS(write##bytes, WRITE, log2_bytes, true)                                                  \
    ACCESS_WITH_SITE(read##bytes, READ, log2_bytes)                                                \
    ACCESS_WITH_SITE(write##bytes, WRITE, log2_bytes)                                              \
    ACCESS(volatile_read##bytes, READ, log2_bytes, true)                                           \
    ACCESS(volatile_write##bytes, WRITE, log2_bytes, true)                                         \
    READ_THEN_WRITE(read_write##bytes, log2_bytes, true)

#define UNALIGNED(bytes, log2_bytes)                                                               \
    ACCESS(unaligned_read##bytes, READ, log2_bytes, false)                                         \
    ACCESS(unaligned_write##bytes, WRITE, log2_bytes, false)                                       \
    ACCESS(unaligned_volatile_read##bytes, READ, log2_bytes, false)                                \
    ACCESS(unaligned_volatile_write##bytes, WRITE, log2_bytes, false)                              \
    READ_THEN_WRITE(unaligned_read_write##bytes, log2_bytes, false)

ALIGNED(1, 0)
ALIGNED(2, 1)
ALIGNED(4, 2)
ALIGNED(8, 3)
ALIGNED(16, 4)
UNALIGNED(1, 0)
UNALIGNED(2, 1)
UNALIGNED(4, 2)
UNALIGNED(8, 3)
UNALIGNED(16, 4)

/* The table of virtual functions of an object, when it is made and when it is used. */
ACCESS(vptr_read, READ, 3, true)

void __tsan_vptr_update(void **address, void *value) {
    (void)value;
    record_access(address, CODE(WRITE, 3), SITE, true);
}

void __tsan_read_range(void *address, size_t bytes) {
    headroom_range(EVENT_READ_RANGE, address, bytes, SITE);
}

void __tsan_write_range(void *address, size_t bytes) {
    headroom_range(EVENT_WRITE_RANGE, address, bytes, SITE);
}

void __tsan_read_range_pc(void *address, size_t bytes, void *site) {
    headroom_range(EVENT_READ_RANGE, address, bytes, (uintptr_t)site);
}

void __tsan_write_range_pc(void *address, size_t bytes, void *site) {
    headroom_range(EVENT_WRITE_RANGE, address, bytes, (uintptr_t)site);
}

/* With --wrap=memcpy etc. `memcpy` is the hooked function and `__real_memcpy` that of the library.
   A dynamic program may be linked without it, and has no `__real_memcpy` then. */
void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);

#ifdef HEADROOM_STATIC
extern __typeof__(memcpy) __real_memcpy, __real_memmove;
extern __typeof__(memset) __real_memset;
#define PLAIN(name) __real_##name
#else
extern __attribute__((weak)) __typeof__(memcpy) __real_memcpy, __real_memmove;
extern __attribute__((weak)) __typeof__(memset) __real_memset;
#define PLAIN(name) (&__real_##name != NULL ? __real_##name : name)
#endif

/* In a static program these run before there are thread-local variables. */
static void copied(const void *to, const void *from, size_t bytes, uintptr_t site) {
    if (!headroom_is_open())
        return;
    if (from != NULL)
        headroom_range(EVENT_READ_RANGE, from, bytes, site);
    headroom_range(EVENT_WRITE_RANGE, to, bytes, site);
}

#define COPY(hook, name)                                                                           \
    void *hook(void *to, const void *from, size_t bytes) {                                         \
        copied(to, from, bytes, SITE);                                                             \
        return PLAIN(name)(to, from, bytes);                                                       \
    }

#define FILL(hook)                                                                                 \
    void *hook(void *to, int byte, size_t bytes) {                                                 \
        copied(to, NULL, bytes, SITE);                                                             \
        return PLAIN(memset)(to, byte, bytes);                                                     \
    }

COPY(__tsan_memcpy, memcpy)
COPY(__tsan_memmove, memmove)
FILL(__tsan_memset)
COPY(__wrap_memcpy, memcpy)
COPY(__wrap_memmove, memmove)
FILL(__wrap_memset)

void __tsan_init(void) {
    headroom_open();
}

void __tsan_func_entry(void *caller) {
    (void)caller;
    uint64_t entries = __atomic_load_n(&headroom_self.entries, __ATOMIC_RELAXED);
    __atomic_store_n(&headroom_self.entries, entries + 1, __ATOMIC_RELAXED);
}

void __tsan_func_exit(void) {
}

void __tsan_ignore_thread_begin(void) {
}

void __tsan_ignore_thread_end(void) {
}

void __tsan_acquire(void *address) {
    headroom_event(EVENT_ORDER_ACQUIRE, plain((uintptr_t)address), 0, 0);
}

void __tsan_release(void *address) {
    headroom_event(EVENT_ORDER_RELEASE, plain((uintptr_t)address), 0, 0);
}

/* Locks that a program makes itself and annotates. */
#define TRY_LOCK_FAILED (1u << 5)

void __tsan_mutex_create(void *lock, unsigned flags) {
    (void)lock, (void)flags;
}

void __tsan_mutex_destroy(void *lock, unsigned flags) {
    (void)lock, (void)flags;
}

void __tsan_mutex_pre_lock(void *lock, unsigned flags) {
    (void)lock, (void)flags;
    headroom_flush();
}

void __tsan_mutex_post_lock(void *lock, unsigned flags, int recursion) {
    (void)recursion;
    if (!(flags & TRY_LOCK_FAILED))
        headroom_event(EVENT_ACQUIRED, (uintptr_t)lock, 0, 0);
}

int __tsan_mutex_pre_unlock(void *lock, unsigned flags) {
    (void)flags;
    headroom_event(EVENT_RELEASED, (uintptr_t)lock, 0, 0);
    return 0;
}

void __tsan_mutex_post_unlock(void *lock, unsigned flags) {
    (void)lock, (void)flags;
}

void __tsan_mutex_pre_signal(void *lock, unsigned flags) {
    (void)lock, (void)flags;
}

void __tsan_mutex_post_signal(void *lock, unsigned flags) {
    (void)lock, (void)flags;
}

void __tsan_mutex_pre_divert(void *lock, unsigned flags) {
    (void)lock, (void)flags;
}

void __tsan_mutex_post_divert(void *lock, unsigned flags) {
    (void)lock, (void)flags;
}
