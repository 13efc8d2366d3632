/* The short path of an emulated access: to a line that is at the front of its set in the first
   level of the thread's processor, and that no other thread has taken away. Most accesses are of
   this kind; they change nothing but a count.

   Lines are kept in pieces of a fixed size, which the address gives by a shift that the compiler
   knows.

   Invariant: pieces of a line that has left the front of its set have the number 0. */
#ifndef HEADROOM_NEAR_H
#define HEADROOM_NEAR_H

#include <stdbool.h>
#include <stdint.h>

/* The word of a line: a bit for each holder, the one that owns it, and whether that has written. */
#define HOLDER(number) ((uint64_t)1 << (number))
#define HOLDERS (HOLDER(32) - 1)
#define OWNER_SHIFT 32
#define OWNED_BY(number) ((uint64_t)((number) + 1) << OWNER_SHIFT)
#define OWNER(word) ((word) & (uint64_t)0xff << OWNER_SHIFT)
#define WRITTEN ((uint64_t)1 << 63)

/* No cache line is smaller, or it has no short path. */
#define PIECE_BITS 6
#define NEAR_PIECES 1024

/* Of a thread. */
struct near {
    struct near_piece *pieces; /* NULL unless accesses are emulated, or while one is worked on */
    int64_t left;              /* accesses until those before are paid */
    uint64_t holder;           /* bit and mark of the thread in words */
    uint64_t owner;
};

struct near_piece {
    uint64_t number; /* in the program's memory; 0: none */
    const uint64_t *word;
};

/* Access a piece; false if it is not near, or the accesses before have to be paid: then nothing has
   happened. The bytes must be of one piece. */
static inline __attribute__((always_inline)) bool near_access(struct near *near, uint64_t address,
                                                              bool is_write) {
    if (near->pieces == NULL)
        return false;
    uint64_t number = address >> PIECE_BITS;
    const struct near_piece *piece = &near->pieces[number % NEAR_PIECES];
    if (piece->number != number)
        return false;
    uint64_t word = __atomic_load_n(piece->word, __ATOMIC_ACQUIRE);
    if (!(word & near->holder) || (is_write && OWNER(word) != near->owner))
        return false;
    if (--near->left >= 0)
        return true;
    near->left = 0;
    return false;
}

#endif
