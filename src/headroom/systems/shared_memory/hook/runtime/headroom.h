/* Marks the part of a program whose accesses are recorded; without a mark it is all from main on.

   A program that includes this file records nothing before it calls headroom_begin(). Both
   functions may be called by any thread and several times, and do nothing in a program that was
   not linked with the runtime. */
#ifndef HEADROOM_H
#define HEADROOM_H

#ifdef __cplusplus
extern "C" {
#endif

/* The runtime looks whether a program has it. */
__attribute__((weak)) char headroom_marks_region = 1;

void headroom_begin_region(void) __attribute__((weak));
void headroom_end_region(void) __attribute__((weak));

static inline void headroom_begin(void) {
    if (headroom_begin_region)
        headroom_begin_region();
}

static inline void headroom_end(void) {
    if (headroom_end_region)
        headroom_end_region();
}

#ifdef __cplusplus
}
#endif

#endif
