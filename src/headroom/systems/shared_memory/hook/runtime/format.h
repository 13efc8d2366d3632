/* The format of a trace, version 2. `../format.rs` has the same numbers; a test compares them.

   A trace is a head of 16 bytes, then chunks. A chunk is a head of 32 bytes, then words of 8 bytes.
   All numbers have the byte order of the machine, which has to be little-endian. Each chunk was
   written by one call, so a program that is killed leaves whole chunks, and no chunk of kind END.

     chunk   content
     WORDS   whole events of one thread, in the order of its program; `sequence` counts its chunks
             from 0, `entries` the entries of functions until then
     MAPS    text of /proc/self/maps, filled up with newlines: first chunk, and last but one
     END     last chunk: threads, stamps, chunks of all kinds before this one, losses; nanoseconds of
             processor time in the region, of those without accesses, of other processes that have
             ended; forks

   A word whose upper five bits are below EVENT_CODE is an access:

     bits 63-59   5 * kind (READ ... ATOMIC_MODIFY) + log2 of the bytes (0 to 4)
     bits 58-48   SITE_BIAS + this site - site of the access before, in bytes of code
     bits 47-0    address

   The site is the return address of the hook, so it lies behind the instruction. It starts at 0;
   a further step than the 11 bits hold is an event SITE before the access. An atomic operation
   that reads and writes is ATOMIC_MODIFY, also if a comparison fails, because processors then
   take the line for writing as well.

   Any other word starts an event: EVENT_CODE in bits 63-59, its kind in bits 58-48, and a payload
   in bits 47-0; operands follow, a word each.

     event           payload   operands               meaning
     SITE            site                             of the next access
     READ_RANGE      bytes     address, site          of any length; the site stays
     WRITE_RANGE     bytes     address, site
     ALLOCATED       after     address, bytes, site   malloc and its relatives, operator new
     FREED           stamp     address
     ORDER_RELEASE   stamp     object                 after an atomic access that changed the object;
                                                      object 0: a fence
     ORDER_ACQUIRE   after     object                 before one that sees its value
     STARTED         stamp     thread                 before a thread is made
     BEGUN           after                            first event of a thread
     ENDED           stamp                            last event of a thread
     JOINED          after     thread
     ENTERED         stamp     barrier
     LEFT            after     barrier
     ACQUIRED        after     lock                   mutex, spin lock, read-write lock
     RELEASED        stamp     lock
     REGION_BEGUN    stamp
     REGION_ENDED    stamp
     POSTED          stamp     semaphore, value       before a post, with the value until then
     PASSED          after     semaphore, value       after a wait, with the value that it left

   One counter orders what threads do to each other. An event that lets others go on takes the next
   number of it, its stamp, before it takes effect; an event that may have waited reads the counter
   afterwards: all smaller stamps come before it. So every order in which stamps ascend, and in
   which each event with `after` follows all smaller stamps, agrees with the synchronisation.

   What atomic operations do to an object and the numbers that they take are in the same order, so
   the release whose value one sees is the last one of that object before it. A thread that repeats
   an operation and what it reads, and changes nothing, is in a loop that waits: two turns of it are
   recorded, and one more in each further chunk.

   Outside the region there are only ALLOCATED, FREED, STARTED, BEGUN, ENDED and JOINED. Neither
   instructions nor time are recorded: the hooks see accesses and entries of functions alone. */
#ifndef HEADROOM_FORMAT_H
#define HEADROOM_FORMAT_H

#include <stdint.h>

#define TRACE_MAGIC "HRHOOK1\n"
#define TRACE_VERSION 2
#define TRACE_BYTE_ORDER 0x01020304
#define CHUNK_MAGIC 0x4b4e4843
#define CHUNK_WORDS 1
#define CHUNK_MAPS 2
#define CHUNK_END 3

#define MOST_WORDS 8192
#define MOST_MAPS_WORDS 524288
#define END_WORDS 8

#define ADDRESS_BITS 48
#define CODE_SHIFT 59
#define SITE_BIAS 1024
#define EVENT_CODE 31

#define READ 0
#define WRITE 1
#define ATOMIC_READ 2
#define ATOMIC_WRITE 3
#define ATOMIC_MODIFY 4
#define SIZES 5

/* Operand of JOINED if the runtime did not see how the thread was made. */
#define NO_THREAD 0xffffffff

#define EVENT_SITE 0
#define EVENT_READ_RANGE 1
#define EVENT_WRITE_RANGE 2
#define EVENT_ALLOCATED 3
#define EVENT_FREED 4
#define EVENT_ORDER_RELEASE 5
#define EVENT_ORDER_ACQUIRE 6
#define EVENT_STARTED 7
#define EVENT_BEGUN 8
#define EVENT_ENDED 9
#define EVENT_JOINED 10
#define EVENT_ENTERED 11
#define EVENT_LEFT 12
#define EVENT_ACQUIRED 13
#define EVENT_RELEASED 14
#define EVENT_REGION_BEGUN 15
#define EVENT_REGION_ENDED 16
#define EVENT_POSTED 17
#define EVENT_PASSED 18

struct trace_head {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
};

struct chunk_head {
    uint32_t magic;
    uint32_t kind;
    uint32_t thread;
    uint32_t words;
    uint64_t sequence;
    uint64_t entries;
};

#endif
