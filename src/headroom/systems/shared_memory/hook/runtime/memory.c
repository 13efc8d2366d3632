/* Allocations: malloc and its relatives, and operator new, whose own malloc gets its site.

   Invariant: a free is recorded before it happens, an allocation after, so that in an order that
   agrees with the stamps a place is free when it is allocated. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "next.h"

/* dlsym may allocate before the real functions are known. */
#define EARLY_BYTES 8192
#define ALIGNMENT 16

static char early[EARLY_BYTES] __attribute__((aligned(ALIGNMENT)));
static size_t early_used;

static bool is_early(const void *place) {
    return (const char *)place >= early && (const char *)place < early + EARLY_BYTES;
}

/* Memory that is never given back; all zero. */
static void *early_memory(size_t bytes) {
    size_t taken = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t before = __atomic_fetch_add(&early_used, taken, __ATOMIC_RELAXED);
    if (before + taken > EARLY_BYTES)
        headroom_fail("malloc", "the search for the functions of the libraries needs more memory");
    return early + before;
}

static void *allocated(void *place, size_t bytes, uintptr_t site) {
    uintptr_t outer = headroom_self.new_site;
    headroom_self.new_site = 0;
    if (place != NULL)
        headroom_event(EVENT_ALLOCATED, (uintptr_t)place, bytes, plain(outer ? outer : site));
    return place;
}

static void freed(const void *place) {
    headroom_event(EVENT_FREED, (uintptr_t)place, 0, 0);
}

NEXT(free);

HOOKED(void *, malloc, size_t bytes) {
    if (headroom_self.resolving)
        return early_memory(bytes);
    return allocated(REAL(malloc)(bytes), bytes, SITE);
}

HOOKED(void *, calloc, size_t count, size_t bytes) {
    if (headroom_self.resolving)
        return early_memory(count * bytes);
    return allocated(REAL(calloc)(count, bytes), count * bytes, SITE);
}

static void *reallocated(void *place, size_t bytes, uintptr_t site);

HOOKED(void *, realloc, void *place, size_t bytes) {
    return reallocated(place, bytes, SITE);
}

static void *reallocated(void *place, size_t bytes, uintptr_t site) {
    if (place == NULL)
        return allocated(REAL(malloc)(bytes), bytes, site);
    if (is_early(place)) {
        size_t most = (size_t)(early + EARLY_BYTES - (char *)place);
        void *copy = allocated(REAL(malloc)(bytes), bytes, site);
        return copy == NULL ? NULL : memcpy(copy, place, bytes < most ? bytes : most);
    }
    size_t before = malloc_usable_size(place);
    freed(place);
    void *moved = REAL(realloc)(place, bytes);
    if (moved == NULL && bytes > 0)
        headroom_event(EVENT_ALLOCATED, (uintptr_t)place, before, plain(site));
    return allocated(moved, bytes, site);
}

HOOKED(void, free, void *place) {
    if (place == NULL || is_early(place))
        return;
    freed(place);
    REAL(free)(place);
}

#define ALIGNED(name)                                                                              \
    HOOKED(void *, name, size_t alignment, size_t bytes) {                                         \
        return allocated(REAL(name)(alignment, bytes), bytes, SITE);                               \
    }

#define BY_PAGE(name)                                                                              \
    HOOKED(void *, name, size_t bytes) {                                                           \
        return allocated(REAL(name)(bytes), bytes, SITE);                                          \
    }

ALIGNED(aligned_alloc)
ALIGNED(memalign)
BY_PAGE(valloc)
#ifdef __GLIBC__
BY_PAGE(pvalloc)
#endif

HOOKED(int, posix_memalign, void **place, size_t alignment, size_t bytes) {
    int failure = REAL(posix_memalign)(place, alignment, bytes);
    if (failure == 0)
        allocated(*place, bytes, SITE);
    return failure;
}

DEFINITION(void *, reallocarray, void *place, size_t count, size_t bytes) {
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total))
        total = SIZE_MAX;
    return reallocated(place, total, SITE);
}

void *headroom_plain_malloc(size_t bytes) {
    return REAL(malloc)(bytes);
}

void headroom_plain_free(void *place) {
    REAL(free)(place);
}

#ifndef HEADROOM_STATIC
/* The operators of C++: new, new[], both without exceptions, and both for larger alignments. One
   may call another before malloc: the outermost has the site. */
#define OPERATOR_NEW(name, arguments, ...)                                                         \
    void *name(__VA_ARGS__);                                                                       \
    HOOKED(void *, name, __VA_ARGS__) {                                                            \
        if (headroom_self.new_site == 0)                                                           \
            headroom_self.new_site = SITE;                                                         \
        void *place = REAL(name) arguments;                                                        \
        headroom_self.new_site = 0;                                                                \
        return place;                                                                              \
    }

OPERATOR_NEW(_Znwm, (bytes), size_t bytes)
OPERATOR_NEW(_Znam, (bytes), size_t bytes)
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, (bytes, tag), size_t bytes, const void *tag)
OPERATOR_NEW(_ZnamRKSt9nothrow_t, (bytes, tag), size_t bytes, const void *tag)
OPERATOR_NEW(_ZnwmSt11align_val_t, (bytes, alignment), size_t bytes, size_t alignment)
OPERATOR_NEW(_ZnamSt11align_val_t, (bytes, alignment), size_t bytes, size_t alignment)
#endif
