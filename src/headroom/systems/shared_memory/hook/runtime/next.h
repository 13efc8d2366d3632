/* Functions of the libraries that the runtime stands in for.

   In a dynamic program the runtime defines them, the linker prefers that definition, also for what
   libraries call, and the function itself is the next one of that name. They are weak: a program
   that brings its own malloc keeps it. In a static program (HEADROOM_STATIC) there is no next one;
   the linker renames them with --wrap. */
#ifndef HEADROOM_NEXT_H
#define HEADROOM_NEXT_H

#include "recorder.h"

#ifdef HEADROOM_STATIC
#define NEXT(name) extern __typeof__(name) __real_##name
#define REAL(name) __real_##name
#define DEFINITION(type, name, ...)                                                                \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)
#else
#define NEXT(name) static void *next_##name
#define REAL(name) ((__typeof__(&name))headroom_next(&next_##name, #name))
#define DEFINITION(type, name, ...) __attribute__((weak)) type name(__VA_ARGS__)
#endif

#define HOOKED(type, name, ...)                                                                    \
    NEXT(name);                                                                                    \
    DEFINITION(type, name, __VA_ARGS__)

#endif
