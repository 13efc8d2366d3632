/* The output of a trace. All functions but the first two need the lock of the output. */
#ifndef HEADROOM_OUTPUT_H
#define HEADROOM_OUTPUT_H

#include "recorder.h"

/* Open what HEADROOM_TRACE names and write the head; false if it names nothing. */
INTERNAL bool headroom_open_output(void);

/* True unless this process is a child of the one that opened the output. */
INTERNAL bool headroom_owns_output(void);

/* Close the output, in a child of the process that writes it, too. */
INTERNAL void headroom_close_output(void);

/* Write a chunk; false if that failed, after which nothing can be written any more. */
INTERNAL bool headroom_write_chunk(struct chunk_head head, const uint64_t *words);

/* Write the chunk that tells where the code of the program is. */
INTERNAL bool headroom_write_maps(void);

/* Chunks written so far. */
INTERNAL uint64_t headroom_chunk_count(void);

#endif
