/* Atomic operations: they are carried out here, with the order of memory that was asked for or a
   stronger one, and recorded.

   Each change takes a stamp, whatever order was asked for: a value cannot be seen before it is there.
   All loads, and what acquires, wait for the change that they see (`order.c`); relaxed modifications,
   such as those of counters, wait for nothing. */
#include "recorder.h"

/* The C++ order, without the hints for elision that gcc may add above. */
#define ORDER(order) ((order)&7)

static inline bool releases(int order) {
    return ORDER(order) >= __ATOMIC_RELEASE;
}

static inline bool acquires(int order) {
    return ORDER(order) != __ATOMIC_RELAXED && ORDER(order) != __ATOMIC_RELEASE;
}

#define BEGIN(place, kind, log2_bytes)                                                             \
    uint64_t code = CODE(kind, log2_bytes);                                                        \
    uintptr_t site = SITE;                                                                         \
    bool is_recorded = headroom_begin_operation(place, code, site)

#define END(place, seen, sees_it, changes_it)                                                      \
    if (is_recorded)                                                                               \
    headroom_end_operation(place, (struct operation){code, site, (uint64_t)(seen), sees_it, changes_it})

/* `with` is the start of the names of the operations that do it: __atomic_ or wide_. */
#define LOAD(bits, log2_bytes, type, with)                                                         \
    type __tsan_atomic##bits##_load(const volatile type *place, int order) {                       \
        (void)order;                                                                               \
        type value = with##load_n(place, __ATOMIC_SEQ_CST);                                        \
        if (headroom_repeats(place, SITE, (uint64_t)value))                                        \
            return value;                                                                          \
        BEGIN(place, ATOMIC_READ, log2_bytes);                                                     \
        value = with##load_n(place, __ATOMIC_SEQ_CST);                                             \
        END(place, value, true, false);                                                            \
        return value;                                                                              \
    }

#define STORE(bits, log2_bytes, type, with)                                                        \
    void __tsan_atomic##bits##_store(volatile type *place, type value, int order) {                \
        BEGIN(place, ATOMIC_WRITE, log2_bytes);                                                    \
        if (ORDER(order) <= __ATOMIC_RELEASE)                                                      \
            with##store_n(place, value, __ATOMIC_RELEASE);                                         \
        else                                                                                       \
            with##store_n(place, value, __ATOMIC_SEQ_CST);                                         \
        END(place, 0, false, true);                                                                \
    }

#define MODIFY(bits, log2_bytes, type, with, name, operation)                                            \
    type __tsan_atomic##bits##_##name(volatile type *place, type value, int order) {               \
        BEGIN(place, ATOMIC_MODIFY, log2_bytes);                                                   \
        type old = operation(place, value, __ATOMIC_SEQ_CST);                                      \
        END(place, old, acquires(order), with##load_n(place, __ATOMIC_SEQ_CST) != old);            \
        return old;                                                                                \
    }

#define COMPARE(bits, log2_bytes, type)                                                            \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *place, type expected,           \
                                                    type value, int order, int failed) {           \
        BEGIN(place, ATOMIC_MODIFY, log2_bytes);                                                   \
        type old = __sync_val_compare_and_swap(place, expected, value);                            \
        END(place, old, acquires(order) || acquires(failed), old == expected);                     \
        return old;                                                                                \
    }

#define COMPARE_INTO(bits, log2_bytes, type, strength)                                             \
    int __tsan_atomic##bits##_compare_exchange_##strength(volatile type *place, type *expected,    \
                                                          type value, int order, int failed) {     \
        BEGIN(place, ATOMIC_MODIFY, log2_bytes);                                                   \
        type before = *expected;                                                                   \
        type old = __sync_val_compare_and_swap(place, before, value);                              \
        END(place, old, acquires(order) || acquires(failed), old == before);                       \
        *expected = old;                                                                           \
        return old == before;                                                                      \
    }

#define OPERATIONS(bits, log2_bytes, type, with)                                                   \
    LOAD(bits, log2_bytes, type, with)                                                             \
    STORE(bits, log2_bytes, type, with)                                                            \
    MODIFY(bits, log2_bytes, type, with, exchange, with##exchange_n)                                     \
    MODIFY(bits, log2_bytes, type, with, fetch_add, with##fetch_add)                                     \
    MODIFY(bits, log2_bytes, type, with, fetch_sub, with##fetch_sub)                                     \
    MODIFY(bits, log2_bytes, type, with, fetch_and, with##fetch_and)                                     \
    MODIFY(bits, log2_bytes, type, with, fetch_or, with##fetch_or)                                       \
    MODIFY(bits, log2_bytes, type, with, fetch_xor, with##fetch_xor)                                     \
    MODIFY(bits, log2_bytes, type, with, fetch_nand, with##fetch_nand)                                   \
    COMPARE(bits, log2_bytes, type)                                                                \
    COMPARE_INTO(bits, log2_bytes, type, strong)                                                   \
    COMPARE_INTO(bits, log2_bytes, type, weak)

OPERATIONS(8, 0, uint8_t, __atomic_)
OPERATIONS(16, 1, uint16_t, __atomic_)
OPERATIONS(32, 2, uint32_t, __atomic_)
OPERATIONS(64, 3, uint64_t, __atomic_)

#if defined(__x86_64__) || defined(__aarch64__)
/* Two words at once: there is only compare-and-swap, and __atomic_ would need another library. */
__extension__ typedef unsigned __int128 uint128_t;

#define WIDE(name, result)                                                                         \
    static inline uint128_t wide_##name(volatile uint128_t *place, uint128_t value, int order) {   \
        (void)order;                                                                               \
        uint128_t old = *place, seen;                                                              \
        while ((seen = __sync_val_compare_and_swap(place, old, (result))) != old)                  \
            old = seen;                                                                            \
        return old;                                                                                \
    }

WIDE(exchange_n, value)
WIDE(fetch_add, old + value)
WIDE(fetch_sub, old - value)
WIDE(fetch_and, (old & value))
WIDE(fetch_or, old | value)
WIDE(fetch_xor, old ^ value)
WIDE(fetch_nand, ~(old & value))

static inline uint128_t wide_load_n(const volatile uint128_t *place, int order) {
    (void)order;
    return __sync_val_compare_and_swap((volatile uint128_t *)place, 0, 0);
}

static inline void wide_store_n(volatile uint128_t *place, uint128_t value, int order) {
    wide_exchange_n(place, value, order);
}

OPERATIONS(128, 4, uint128_t, wide_)
#endif

void __tsan_atomic_thread_fence(int order) {
    if (releases(order))
        headroom_event(EVENT_ORDER_RELEASE, 0, 0, 0);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (acquires(order))
        headroom_event(EVENT_ORDER_ACQUIRE, 0, 0, 0);
}

void __tsan_atomic_signal_fence(int order) {
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
