/* Threads, locks, barriers and the ends of a program.

   Invariant: the event of a release is recorded before it takes effect, that of an acquisition
   after it, and a thread that may block has written its words before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "next.h"

/* The version of the functions of condition variables on x86; RTLD_NEXT of an old glibc finds the
   one before it. */
#define CONDITION_VERSION "GLIBC_2.3.2"

#ifndef HEADROOM_STATIC
void *headroom_next(void **slot, const char *name) {
    void *known = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (LIKELY(known != NULL))
        return known;
    headroom_self.resolving++;
    void *next = NULL;
#ifdef __GLIBC__
    if (strncmp(name, "pthread_cond_", strlen("pthread_cond_")) == 0)
        next = dlvsym(RTLD_NEXT, name, CONDITION_VERSION);
#endif
    if (next == NULL)
        next = dlsym(RTLD_NEXT, name);
    headroom_self.resolving--;
    if (next == NULL)
        headroom_fail(name, "no library of the program has this function");
    __atomic_store_n(slot, next, __ATOMIC_RELEASE);
    return next;
}
#endif

/* A thread that was made and not joined yet. */
struct made {
    void *(*body)(void *);
    void *argument;
    uint32_t id;
    bool is_detached;
    pthread_t handle;
    struct made *next;
};

static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t made_lock = PTHREAD_MUTEX_INITIALIZER;
static struct made *all_made;

NEXT(pthread_mutex_lock);
NEXT(pthread_mutex_unlock);

void headroom_lock(void) {
    REAL(pthread_mutex_lock)(&output_lock);
}

void headroom_unlock(void) {
    REAL(pthread_mutex_unlock)(&output_lock);
}

static uint64_t name_of(const volatile void *object) {
    return (uintptr_t)object;
}

/* Record an acquisition unless it failed; return the result. */
static int acquired(const volatile void *lock, int result) {
    if (result == 0 || result == EOWNERDEAD)
        headroom_event(EVENT_ACQUIRED, name_of(lock), 0, 0);
    return result;
}

static void released(const volatile void *lock) {
    headroom_event(EVENT_RELEASED, name_of(lock), 0, 0);
}

/* Take the oldest record with a handle, NULL if there is none. */
static struct made *take(pthread_t handle) {
    struct made **oldest = NULL;
    REAL(pthread_mutex_lock)(&made_lock);
    for (struct made **link = &all_made; *link != NULL; link = &(*link)->next)
        if (pthread_equal((*link)->handle, handle))
            oldest = link;
    struct made *found = oldest == NULL ? NULL : *oldest;
    if (found != NULL)
        *oldest = found->next;
    REAL(pthread_mutex_unlock)(&made_lock);
    return found;
}

static void keep(struct made *made) {
    REAL(pthread_mutex_lock)(&made_lock);
    made->next = all_made;
    all_made = made;
    REAL(pthread_mutex_unlock)(&made_lock);
}

static void *run_thread(void *value) {
    struct made *made = value;
    void *(*body)(void *) = made->body;
    void *argument = made->argument;
    if (headroom_self.state == NOT_ATTACHED && headroom_is_open())
        headroom_attach(made->id);
    made->handle = pthread_self();
    if (made->is_detached)
        headroom_plain_free(made);
    else
        keep(made);
    return body(argument);
}

static bool makes_detached(const pthread_attr_t *attributes) {
    int state = PTHREAD_CREATE_JOINABLE;
    return attributes != NULL && pthread_attr_getdetachstate(attributes, &state) == 0 &&
           state == PTHREAD_CREATE_DETACHED;
}

HOOKED(int, pthread_create, pthread_t *handle, const pthread_attr_t *attributes,
       void *(*body)(void *), void *argument) {
    struct made *made = headroom_is_open() ? headroom_plain_malloc(sizeof *made) : NULL;
    if (made == NULL)
        return REAL(pthread_create)(handle, attributes, body, argument);
    made->body = body;
    made->argument = argument;
    made->is_detached = makes_detached(attributes);
    made->id = headroom_new_thread();
    headroom_event(EVENT_STARTED, made->id, 0, 0);
    headroom_flush();
    int failure = REAL(pthread_create)(handle, attributes, run_thread, made);
    headroom_end_turns(&headroom_self);
    if (failure != 0)
        headroom_plain_free(made);
    return failure;
}

HOOKED(int, pthread_detach, pthread_t handle) {
    headroom_plain_free(take(handle));
    return REAL(pthread_detach)(handle);
}

HOOKED(int, pthread_join, pthread_t handle, void **result) {
    /* Taken before, because another thread may have the handle afterwards; a thread that has not
       begun yet has no record until then. */
    struct made *made = take(handle);
    headroom_flush();
    int failure = REAL(pthread_join)(handle, result);
    if (failure != 0) {
        if (made != NULL)
            keep(made);
        return failure;
    }
    if (made == NULL)
        made = take(handle);
    headroom_event(EVENT_JOINED, made == NULL ? NO_THREAD : made->id, 0, 0);
    headroom_plain_free(made);
    return 0;
}

/* A lock and its trial: the words go out only if the lock is held by another thread. */
#define LOCK(type, lock, try_lock)                                                                 \
    HOOKED(int, try_lock, type *object) {                                                          \
        int result = REAL(try_lock)(object);                                                       \
        if (result == EBUSY)                                                                       \
            headroom_tried(object, SITE);                                                          \
        return acquired(object, result);                                                           \
    }                                                                                              \
    HOOKED(int, lock, type *object) {                                                              \
        if (!headroom_is_open())                                                                   \
            return REAL(lock)(object);                                                             \
        int result = REAL(try_lock)(object);                                                       \
        if (result == EBUSY) {                                                                     \
            headroom_flush();                                                                      \
            result = REAL(lock)(object);                                                           \
        }                                                                                          \
        return acquired(object, result);                                                           \
    }

#define UNLOCK(type, unlock)                                                                       \
    HOOKED(int, unlock, type *object) {                                                            \
        released(object);                                                                          \
        return REAL(unlock)(object);                                                               \
    }

LOCK(pthread_mutex_t, pthread_mutex_lock, pthread_mutex_trylock)
UNLOCK(pthread_mutex_t, pthread_mutex_unlock)
LOCK(pthread_spinlock_t, pthread_spin_lock, pthread_spin_trylock)
UNLOCK(pthread_spinlock_t, pthread_spin_unlock)
LOCK(pthread_rwlock_t, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock)
LOCK(pthread_rwlock_t, pthread_rwlock_wrlock, pthread_rwlock_trywrlock)
UNLOCK(pthread_rwlock_t, pthread_rwlock_unlock)

HOOKED(int, pthread_mutex_timedlock, pthread_mutex_t *mutex, const struct timespec *until) {
    headroom_flush();
    return acquired(mutex, REAL(pthread_mutex_timedlock)(mutex, until));
}

HOOKED(int, pthread_cond_wait, pthread_cond_t *condition, pthread_mutex_t *mutex) {
    released(mutex);
    headroom_flush();
    int result = REAL(pthread_cond_wait)(condition, mutex);
    acquired(mutex, 0);
    return result;
}

HOOKED(int, pthread_cond_timedwait, pthread_cond_t *condition, pthread_mutex_t *mutex,
       const struct timespec *until) {
    released(mutex);
    headroom_flush();
    int result = REAL(pthread_cond_timedwait)(condition, mutex, until);
    acquired(mutex, 0);
    return result;
}

/* Functions of glibc that C++ uses for its clocks. */
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 30)
HOOKED(int, pthread_mutex_clocklock, pthread_mutex_t *mutex, clockid_t clock,
       const struct timespec *until) {
    headroom_flush();
    return acquired(mutex, REAL(pthread_mutex_clocklock)(mutex, clock, until));
}

HOOKED(int, pthread_cond_clockwait, pthread_cond_t *condition, pthread_mutex_t *mutex,
       clockid_t clock, const struct timespec *until) {
    released(mutex);
    headroom_flush();
    int result = REAL(pthread_cond_clockwait)(condition, mutex, clock, until);
    acquired(mutex, 0);
    return result;
}
#endif

HOOKED(int, pthread_barrier_wait, pthread_barrier_t *barrier) {
    headroom_event(EVENT_ENTERED, name_of(barrier), 0, 0);
    headroom_flush();
    int result = REAL(pthread_barrier_wait)(barrier);
    headroom_event(EVENT_LEFT, name_of(barrier), 0, 0);
    return result;
}

static uint64_t value_of(sem_t *semaphore) {
    int value = 0;
    return sem_getvalue(semaphore, &value) == 0 && value > 0 ? (uint64_t)value : 0;
}

HOOKED(int, sem_post, sem_t *semaphore) {
    headroom_event(EVENT_POSTED, name_of(semaphore), value_of(semaphore), 0);
    return REAL(sem_post)(semaphore);
}

/* Record that a semaphore let the thread through unless it did not; return the result. */
static int passed(sem_t *semaphore, int result) {
    if (result == 0)
        headroom_event(EVENT_PASSED, name_of(semaphore), value_of(semaphore), 0);
    return result;
}

HOOKED(int, sem_trywait, sem_t *semaphore) {
    int result = REAL(sem_trywait)(semaphore);
    if (result != 0)
        headroom_tried(semaphore, SITE);
    return passed(semaphore, result);
}

HOOKED(int, sem_wait, sem_t *semaphore) {
    headroom_flush();
    return passed(semaphore, REAL(sem_wait)(semaphore));
}

HOOKED(int, sem_timedwait, sem_t *semaphore, const struct timespec *until) {
    headroom_flush();
    return passed(semaphore, REAL(sem_timedwait)(semaphore, until));
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 30)
HOOKED(int, sem_clockwait, sem_t *semaphore, clockid_t clock, const struct timespec *until) {
    headroom_flush();
    return passed(semaphore, REAL(sem_clockwait)(semaphore, clock, until));
}
#endif

#ifndef HEADROOM_STATIC
/* The end of the first call that needs a static variable of a C++ function. */
void __cxa_guard_release(uint64_t *guard);

HOOKED(void, __cxa_guard_release, uint64_t *guard) {
    headroom_event(EVENT_ORDER_RELEASE, name_of(guard), 0, 0);
    REAL(__cxa_guard_release)(guard);
}
#endif

static _Noreturn void end_at_once(int status) {
    headroom_close();
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}

DEFINITION(_Noreturn void, _exit, int status) {
    end_at_once(status);
}

DEFINITION(_Noreturn void, _Exit, int status) {
    end_at_once(status);
}

/* The region begins with main, which this function of the C library calls. In a static program it
   runs before there are thread-local variables. */
typedef int program_main(int count, char **arguments, char **environment);

int __libc_start_main(program_main *program, int count, char **arguments, void (*before)(void),
                      void (*after)(void), void (*at_end)(void), void *stack);

static program_main *hooked_main;

static int run_main(int count, char **arguments, char **environment) {
    headroom_main_begins();
    return hooked_main(count, arguments, environment);
}

HOOKED(int, __libc_start_main, program_main *program, int count, char **arguments,
       void (*before)(void), void (*after)(void), void (*at_end)(void), void *stack) {
    hooked_main = program;
    return REAL(__libc_start_main)(run_main, count, arguments, before, after, at_end, stack);
}
