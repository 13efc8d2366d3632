/* Emulated memory: homes of pages, caches of processors and nodes, and who has copies of a line.

   Each line has two words: which processors have copies, and which nodes. A write of one takes the
   bits of the others away, so their copies are gone at their next look, whatever their tags say.
   Threads change the words as they run, by compare and swap; there are no messages.

   Invariant: a processor or node has a copy if it has both the tag and the bit. */
#define _GNU_SOURCE
#include "emulation.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BITS 12
#define MOST_PAGES ((uint64_t)1 << 20)
#define SLOTS (2 * MOST_PAGES)
/* Numbers of pages from one home to the next; odd, so that their lines share no sets of a cache. */
#define HOME_STRIDE (MOST_PAGES + 4099)

struct line {
    uint64_t processors;
    uint64_t nodes;
};

struct page {
    uint64_t number;
    uint64_t frame;   /* of all pages, as they are first touched */
    uint64_t at_home; /* of those of its home, from HOME_STRIDE * home on */
    unsigned home;
    struct line lines[];
};

static struct page **slots;
static struct page **at_homes; /* pages by their number there */
static uint64_t page_count;
static uint64_t lines_per_page;
static unsigned line_bits;
static struct {
    struct level cache;
    uint64_t page_count;
    int lock;
} nodes[HEADROOM_MOST_NODES];

void *headroom_new_memory(size_t bytes) {
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        headroom_fail("no memory for the emulation", strerror(errno));
    return memory;
}

struct level headroom_new_level(uint64_t sets, uint64_t ways) {
    uint64_t *tags = sets == 0 ? NULL : headroom_new_memory(sets * ways * sizeof *tags);
    return (struct level){tags, sets, ways};
}

void headroom_free_level(struct level *level) {
    if (level->tags != NULL)
        munmap(level->tags, level->sets * level->ways * sizeof *level->tags);
    level->tags = NULL;
}

void headroom_open_lines(void) {
    slots = headroom_new_memory(SLOTS * sizeof *slots);
    at_homes = headroom_new_memory(HEADROOM_MOST_NODES * HOME_STRIDE * sizeof *at_homes);
    line_bits = (unsigned)__builtin_ctzll((uint64_t)headroom_setting[LINE_BYTES]);
    lines_per_page = (uint64_t)1 << (PAGE_BITS - line_bits);
    for (unsigned node = 0; node < (unsigned)headroom_setting[NODES]; node++)
        nodes[node].cache = headroom_new_level((uint64_t)headroom_setting[CACHE_SETS],
                                               (uint64_t)headroom_setting[CACHE_WAYS]);
}

/* Tags are numbers of lines, from 1 on: 0 is an empty way. */
static uint64_t set_of(const struct level *level, uint64_t tag) {
    uint64_t line = tag - 1, mask = level->sets - 1;
    return LIKELY((level->sets & mask) == 0) ? line & mask : line % level->sets;
}

/* Move the line to the front of its set, the last one out for it if it is new: return that one, the
   line itself if it was there. */
static uint64_t use_in(const struct level *level, uint64_t set, uint64_t tag) {
    uint64_t *tags = level->tags + set * level->ways, moved = tag;
    for (uint64_t way = 0; way < level->ways; way++) {
        uint64_t old = tags[way];
        tags[way] = moved;
        moved = old;
        if (moved == tag)
            break;
    }
    return moved;
}

static uint64_t use(const struct level *level, uint64_t tag) {
    return use_in(level, set_of(level, tag), tag);
}

/* Take the line out of its set; false if it is not there. */
static bool take_out(const struct level *level, uint64_t tag) {
    uint64_t *tags = level->tags + set_of(level, tag) * level->ways, way = 0;
    while (way < level->ways && tags[way] != tag)
        way++;
    if (way == level->ways)
        return false;
    memmove(tags + way, tags + way + 1, (level->ways - way - 1) * sizeof *tags);
    tags[level->ways - 1] = 0;
    return true;
}

/* Return the slot of a page, an empty one if it has none yet. */
static struct page **slot_of(uint64_t number) {
    uint64_t at = number * 0x9e3779b97f4a7c15u >> 32;
    for (;; at++) {
        struct page **slot = &slots[at % SLOTS];
        struct page *page = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        if (page == NULL || page->number == number)
            return slot;
    }
}

static struct page *new_page(uint64_t number, unsigned node) {
    static char *block, *end;
    size_t bytes = sizeof(struct page) + lines_per_page * sizeof(struct line);
    if (block == end || (size_t)(end - block) < bytes) {
        size_t more = 1024 * bytes;
        block = headroom_new_memory(more);
        end = block + more;
    }
    if (page_count == MOST_PAGES)
        headroom_fail("the program uses more than 4 GiB", "mark a shorter region");
    struct page *page = (struct page *)block;
    block += bytes;
    page->number = number;
    page->frame = page_count++;
    page->home = headroom_setting[IS_INTERLEAVED] != 0
                     ? (unsigned)(page->frame % (uint64_t)headroom_setting[NODES])
                     : node;
    page->at_home = page->home * HOME_STRIDE + nodes[page->home].page_count++;
    at_homes[page->at_home] = page;
    return page;
}

static struct page *page_of(struct emulated *own, uint64_t number) {
    if (LIKELY(own->page != NULL && own->page_number == number))
        return own->page;
    struct page *page = *slot_of(number);
    if (page == NULL) {
        headroom_lock();
        struct page **slot = slot_of(number);
        if (*slot == NULL)
            __atomic_store_n(slot, new_page(number, own->node), __ATOMIC_RELEASE);
        page = *slot;
        headroom_unlock();
    }
    own->page_number = number;
    own->page = page;
    return page;
}

static uint64_t word(const uint64_t *place) {
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

/* Replace a word unless another thread was first; `old` is what it has now then. */
static bool replace(uint64_t *place, uint64_t *old, uint64_t new) {
    return __atomic_compare_exchange_n(place, old, new, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static void leave_node(struct emulated *own, double ns) {
    own->misses++;
    headroom_owe(own, REMOTE, ns);
}

static void write_far(struct emulated *own, double ns) {
    own->misses++;
    headroom_post_write(own, ns);
}

/* The home reads its memory: another node may have a newer copy, or have the only one unwritten. */
static void read_at_home(struct emulated *own, struct line *line) {
    uint64_t old = word(&line->nodes), new;
    do {
        if (LIKELY(OWNER(old) == 0)) {
            headroom_owe(own, LOCAL, headroom_setting[LOCAL_READ_NS]);
            return;
        }
        new = HOLDER((OWNER(old) >> OWNER_SHIFT) - 1);
    } while (!replace(&line->nodes, &old, new));
    leave_node(own, headroom_setting[FAR_NS]);
}

static void write_at_home(struct emulated *own, struct line *line) {
    if (LIKELY(word(&line->nodes) == 0) ||
        __atomic_exchange_n(&line->nodes, 0, __ATOMIC_ACQ_REL) == 0)
        headroom_owe(own, LOCAL, headroom_setting[LOCAL_WRITE_NS]);
    else
        write_far(own, headroom_setting[FAR_NS]);
}

/* The cache gives a line up; return the time (ns) of that: only a written line has to go home. */
static double evict(struct emulated *own, uint64_t tag) {
    uint64_t number = tag - 1;
    struct line *line = &at_homes[number / lines_per_page]->lines[number % lines_per_page];
    uint64_t old = word(&line->nodes);
    if (OWNER(old) == OWNED_BY(own->node) || (old & HOLDER(own->node)))
        own->evictions++;
    while (OWNER(old) == OWNED_BY(own->node) && (old & WRITTEN))
        if (replace(&line->nodes, &old, 0))
            return headroom_setting[FAR_NS];
    return 0;
}

/* Make room for a line in the cache of the node; return the time (ns) of that. */
static double take(struct emulated *own, uint64_t tag, bool *is_here) {
    int *lock = &nodes[own->node].lock;
    const struct level *cache = &nodes[own->node].cache;
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
        ;
    uint64_t out = use(cache, tag);
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
    *is_here = out == tag;
    return *is_here || out == 0 ? 0 : evict(own, out);
}

static void read_cached(struct emulated *own, struct line *line, uint64_t tag) {
    uint64_t me = OWNED_BY(own->node), bit = HOLDER(own->node);
    bool is_here;
    double ns = headroom_setting[FAR_NS] + take(own, tag, &is_here), fetch_ns;
    uint64_t old = word(&line->nodes), new;
    do {
        if (is_here && (OWNER(old) == me || (old & bit))) {
            headroom_owe(own, HIT, headroom_setting[HIT_READ_NS]);
            return;
        }
        fetch_ns = 0;
        uint64_t others = old & HOLDERS & ~bit;
        if (OWNER(old) != 0 && OWNER(old) != me) {
            /* The home gets the line from its owner first. */
            fetch_ns = headroom_setting[FAR_NS];
            new = HOLDER((OWNER(old) >> OWNER_SHIFT) - 1) | bit;
        } else {
            new = others == 0 ? me : others | bit;
        }
    } while (!replace(&line->nodes, &old, new));
    leave_node(own, ns + fetch_ns);
}

/* What a write needs is posted with it: room in the cache, and the copies of others. */
static void write_cached(struct emulated *own, struct line *line, uint64_t tag) {
    uint64_t me = OWNED_BY(own->node), bit = HOLDER(own->node);
    bool is_here;
    double ns = headroom_setting[FAR_NS] + take(own, tag, &is_here);
    uint64_t old = __atomic_exchange_n(&line->nodes, me | WRITTEN, __ATOMIC_ACQ_REL);
    if (is_here && OWNER(old) == me) {
        headroom_owe(own, HIT, headroom_setting[HIT_WRITE_NS]);
        return;
    }
    bool has_others = (old & HOLDERS & ~bit) != 0 || (OWNER(old) != 0 && OWNER(old) != me);
    write_far(own, ns + (has_others ? headroom_setting[FAR_NS] : 0));
}

/* What the caches of the processor do not answer. */
static void leave_processor(struct emulated *own, struct page *page, struct line *line,
                            bool is_write) {
    uint64_t tag = page->at_home * lines_per_page + (uint64_t)(line - page->lines) + 1;
    if (page->home == own->node)
        (is_write ? write_at_home : read_at_home)(own, line);
    else if (headroom_setting[CACHE_SETS] != 0)
        (is_write ? write_cached : read_cached)(own, line, tag);
    else if (is_write)
        write_far(own, headroom_setting[FAR_NS]);
    else
        leave_node(own, headroom_setting[FAR_NS]);
}

/* A processor takes a clean copy; an owner has to announce its next write. */
static void share(struct line *line, uint64_t bit) {
    uint64_t old = word(&line->processors);
    while (!replace(&line->processors, &old, (old & HOLDERS) | bit))
        ;
}

/* Bring a line to the front of its set in the first level. */
static void bring(struct emulated *own, struct page *page, struct line *line, uint64_t tag,
                  uint64_t set) {
    bool is_held = word(&line->processors) & own->near->holder;
    bool was_first = use_in(&own->first, set, tag) == tag;
    if (is_held && was_first)
        return;
    uint64_t left = own->second.sets != 0 ? use(&own->second, tag) : 0;
    if (is_held && left == tag) {
        headroom_owe(own, COMPUTE, headroom_setting[NEAR_NS]);
        return;
    }
    /* The second level gave a line up for this one: the third takes it. */
    bool was_third = own->third.sets != 0 && left != tag && take_out(&own->third, tag);
    if (own->third.sets != 0 && left != tag && left != 0)
        use(&own->third, left);
    if (is_held && was_third) {
        headroom_owe(own, COMPUTE, headroom_setting[LAST_NS]);
        return;
    }
    share(line, own->near->holder);
    leave_processor(own, page, line, false);
}

/* The line is at the front of its set now, and the one that was there no longer. */
static void note_near(struct emulated *own, uint64_t address, uint64_t set,
                      const struct line *line) {
    if (line_bits < PIECE_BITS)
        return;
    uint64_t pieces = (uint64_t)1 << (line_bits - PIECE_BITS);
    uint64_t *front = &own->fronts[set], number = address >> PIECE_BITS;
    if (*front != (number & -pieces)) {
        for (uint64_t old = *front; old < *front + pieces; old++)
            if (own->near_pieces[old % NEAR_PIECES].number == old)
                own->near_pieces[old % NEAR_PIECES].number = 0;
        *front = number & -pieces;
    }
    own->near_pieces[number % NEAR_PIECES] = (struct near_piece){number, &line->processors};
}

static void touch(struct emulated *own, uint64_t address, bool is_write) {
    struct page *page = page_of(own, address >> PAGE_BITS);
    uint64_t index = address >> line_bits & (lines_per_page - 1);
    struct line *line = &page->lines[index];
    uint64_t tag = page->frame * lines_per_page + index + 1;
    uint64_t set = set_of(&own->first, tag);
    bool is_front = own->first.tags[set * own->first.ways] == tag;
    if (!is_front || !(word(&line->processors) & own->near->holder))
        bring(own, page, line, tag, set);
    if (is_write && OWNER(word(&line->processors)) != own->near->owner) {
        uint64_t mine = own->near->owner | own->near->holder;
        __atomic_store_n(&line->processors, mine, __ATOMIC_RELEASE);
        leave_processor(own, page, line, true);
    }
    note_near(own, address, set, line);
}

void headroom_emulated_access(struct emulated *own, uint64_t address, uint64_t bytes,
                              bool is_write) {
    own->accesses++;
    if (own->near->left == 0)
        headroom_pay(own);
    uint64_t line_bytes = (uint64_t)1 << line_bits;
    for (uint64_t at = address; at < address + bytes; at = (at | (line_bytes - 1)) + 1)
        touch(own, at, is_write);
}
