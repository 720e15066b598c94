/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The places whose definition a backward scan is looking for: bytes of memory, register pieces.
 *
 * Each wanted place carries the instance that wants it. Of several users the nearest to the
 * criterion is kept: all users are later in time than the definition, so that when a scan meets the
 * definition it knows all of them.
 */
#ifndef SLICER_SCAN_WANT_H
#define SLICER_SCAN_WANT_H

#include <assert.h>

#include "common/hash.h"
#include "recorder/insn/insn.h"
#include "slicer/pieces.h"
#include "slicer/slicer.h"

/* User of a want that is a criterion's instruction that did not complete. */
#define SLC_USER_FAULT UINT64_MAX
#define SLC_NOT_WANTED UINT32_MAX

/* How far a control edge is followed in slices that do not follow them. */
enum slc_force {
    SLC_FORCE_NOT,
    SLC_FORCE_GUARD, /* up to the next branch */
    SLC_FORCE_CHAIN, /* to the start */
};

struct slc_want {
    uint64_t user;     /* time */
    uint32_t distance; /* of the definition; SLC_NOT_WANTED */
    uint8_t edge;      /* enum wetdbg_edge */
    uint8_t force;     /* enum slc_force, of control edges */
    uint16_t location; /* set by whoever takes a want out, see struct wetdbg_slice_instance */
};

static inline struct slc_want slc_no_want(void)
{
    return (struct slc_want){.distance = SLC_NOT_WANTED, .edge = WETDBG_EDGE_NONE};
}

/* Keeps the nearer of two; a force lasts. Returns whether `want` replaced *best. */
static inline bool slc_want_merge(struct slc_want *best, const struct slc_want *want)
{
    uint8_t force = best->force > want->force ? best->force : want->force;
    bool nearer = want->distance < best->distance;

    if (nearer)
        *best = *want;
    best->force = force;
    return nearer;
}

/* The want of every place where only sets are kept: some want. */
extern struct slc_want slc_some_want;

/* ---- registers of one task ---- */

struct slc_reg_wants {
    struct slc_want value[INS_LOC_COUNT];
    struct slc_want address[INS_LOC_COUNT];
};

struct slc_regs {
    /* Apart, because a register that holds rsp plus a constant is not followed as an address. */
    struct ins_regset value;
    struct ins_regset address;
    /* Pieces in `value` of which not all bytes are wanted as values, and which are: bit i is a
     * piece's i-th byte. Never none, never all. */
    struct ins_regset narrow;
    /* ... of these, the ones of which `masks` says which bytes are; of others it is SLC_HALF_MASK,
     * as instructions with 32-bit operands leave it. Means nothing outside of `narrow`. */
    struct ins_regset odd;
    uint32_t masks[INS_LOC_K];
    struct slc_reg_wants *wants; /* of what is in the sets; NULL if only the sets are kept */
};

int slc_regs_init(struct slc_regs *regs, bool has_wants); /* 0 or -ENOMEM */
void slc_regs_fini(struct slc_regs *regs);

static inline bool slc_regs_intersect(const struct slc_regs *regs, const struct ins_regset *set)
{
    return ins_regset_intersects(&regs->value, set) || ins_regset_intersects(&regs->address, set);
}

static inline bool slc_regs_has(const struct slc_regs *regs, unsigned loc)
{
    return ins_regset_has(&regs->value, loc) || ins_regset_has(&regs->address, loc);
}

static inline bool slc_regs_is_empty(const struct slc_regs *regs)
{
    return ins_regset_is_empty(&regs->value) && ins_regset_is_empty(&regs->address);
}

/* The wants of a location that is in the set. */
static inline const struct slc_want *slc_regs_value(const struct slc_regs *regs, unsigned loc)
{
    return regs->wants ? &regs->wants->value[loc] : &slc_some_want;
}

static inline const struct slc_want *slc_regs_address(const struct slc_regs *regs, unsigned loc)
{
    return regs->wants ? &regs->wants->address[loc] : &slc_some_want;
}

/* The nearer of both; for a location that slc_regs_has(). */
struct slc_want slc_regs_nearest(const struct slc_regs *regs, unsigned loc);

/* The want of a location, before it is added to one of the sets. */
static inline void slc_regs_merge(struct slc_regs *regs, const struct ins_regset *set, unsigned loc,
                                  const struct slc_want *want, bool is_address)
{
    assert(loc < INS_LOC_COUNT);
    if (!regs->wants)
        return;
    struct slc_want *own = is_address ? &regs->wants->address[loc] : &regs->wants->value[loc];
    if (ins_regset_has(set, loc))
        slc_want_merge(own, want);
    else
        *own = *want;
}

static inline void slc_regs_add(struct slc_regs *regs, unsigned loc, const struct slc_want *want,
                                bool is_address)
{
    struct ins_regset *set = is_address ? &regs->address : &regs->value;

    slc_regs_merge(regs, set, loc, want, is_address);
    ins_regset_add(set, loc);
    if (!is_address)
        regs->narrow.bits[loc / 64] &= ~(UINT64_C(1) << (loc % 64));
}

/* Wants bytes of a piece as values. */
void slc_regs_add_mask(struct slc_regs *regs, unsigned loc, uint32_t mask,
                       const struct slc_want *want);
/* Wants bytes of the register whose first location is `base`: bit i is byte i. */
void slc_regs_add_bytes(struct slc_regs *regs, unsigned base, uint64_t bytes,
                        const struct slc_want *want);

/* Wanted bytes of a narrow piece. */
static inline uint32_t slc_regs_narrow_mask(const struct slc_regs *regs, unsigned loc)
{
    return ins_regset_has(&regs->odd, loc) ? regs->masks[loc] : SLC_HALF_MASK;
}

/* Bytes of a piece that are wanted as values. */
static inline uint32_t slc_regs_value_mask(const struct slc_regs *regs, unsigned loc)
{
    if (!ins_regset_has(&regs->value, loc))
        return 0;
    return ins_regset_has(&regs->narrow, loc) ? slc_regs_narrow_mask(regs, loc)
                                              : slc_piece_mask(loc);
}

/* Bytes of a piece that are wanted at all: an address is wanted whole. */
static inline uint32_t slc_regs_mask(const struct slc_regs *regs, unsigned loc)
{
    return ins_regset_has(&regs->address, loc) ? slc_piece_mask(loc)
                                               : slc_regs_value_mask(regs, loc);
}

static inline void slc_regs_drop(struct slc_regs *regs, unsigned loc)
{
    regs->value.bits[loc / 64] &= ~(UINT64_C(1) << (loc % 64));
    regs->address.bits[loc / 64] &= ~(UINT64_C(1) << (loc % 64));
    regs->narrow.bits[loc / 64] &= ~(UINT64_C(1) << (loc % 64));
}

/* Drops all that is in a set. */
static inline void slc_regs_remove(struct slc_regs *regs, const struct ins_regset *set)
{
    ins_regset_remove(&regs->value, set);
    ins_regset_remove(&regs->address, set);
    ins_regset_remove(&regs->narrow, set);
}

/* Drops all that is not. */
void slc_regs_keep(struct slc_regs *regs, const struct ins_regset *set);

/* Adds all of `from`; neither keeps wants. */
void slc_regs_join(struct slc_regs *to, const struct slc_regs *from);

/* Makes `to` want of a set what `from` wants of it. */
void slc_regs_copy(struct slc_regs *to, const struct slc_regs *from, const struct ins_regset *set);

/* Whether both want the same among a set. */
bool slc_regs_is_same(const struct slc_regs *a, const struct slc_regs *b,
                      const struct ins_regset *among);

/* Adds all wants of `from` to `to` where `mask` says, and drops them from `from`. */
void slc_regs_move(struct slc_regs *to, struct slc_regs *from, const struct ins_regset *mask);

/* Narrow pieces are wanted as values, in parts that are neither none nor all. 0, or what is wrong;
 * for wd_checked() and tests, as all *_validate(). */
int slc_regs_validate(const struct slc_regs *regs);

/* ---- memory ---- */

#define SLC_PAGE_BITS  12
#define SLC_PAGE_BYTES (1u << SLC_PAGE_BITS)

struct slc_log;

/* The wants of a page of memory; and marks of 8-byte slots, for slicer/scan/bypass.h. */
struct slc_page {
    uint64_t number;
    /* Bit g: what was wanted of bytes 64 g..64 g + 63 has been hidden. All ones if nobody hides. */
    uint64_t hidden;
    struct slc_log *log; /* NULL: nothing is hidden */
    uint64_t bytes[SLC_PAGE_BYTES / 64];
    uint64_t slots[SLC_PAGE_BYTES / 8 / 64];
    struct slc_want *wants[SLC_PAGE_BYTES / 64]; /* of 64 bytes; NULL until one is wanted */
};

/*
 * What is hidden of a page. A scan over some executions has the same effect whatever is wanted of
 * bytes that they do not touch; hidden from it, those that it adds can be told from them.
 */
struct slc_log {
    struct slc_page *page;
    struct slc_log *next;
    uint64_t bytes[SLC_PAGE_BYTES / 64]; /* of hidden words */
};

struct slc_page_ref {
    uint64_t number;
    struct slc_page *page; /* NULL: empty */
};

/* Embedded by its holder. */
struct slc_memory {
    struct slc_page_ref *table; /* open addressing; capacity is a power of two */
    size_t capacity;
    size_t page_count;
    bool has_wants;      /* false: only bitmaps are kept */
    uint64_t word_count; /* words of 64 bytes of which some are wanted now */
    uint64_t slot_count;
    struct slc_want *spare; /* freed groups of 64, linked through `user` */
    bool is_logged;         /* slc_memory_log() */
    bool is_hiding;         /* words that are added to are hidden first */
    bool is_blurred;        /* memory was short: something could not be hidden */
    struct slc_log *logs, *spare_logs;
};

/* To be called before something is hidden; only without wants. */
void slc_memory_log(struct slc_memory *memory);
/* Hides what is wanted of a word but the bytes of a mask; words that nobody hid are hidden whole
 * when bytes of them become wanted. */
void slc_memory_hide(struct slc_memory *memory, struct slc_page *page, unsigned group,
                     uint64_t mask);
/* Shows again all that was hidden. */
void slc_memory_unhide(struct slc_memory *memory);

/* To be called before bytes of a word that is not hidden become wanted. */
void slc_log_note(struct slc_memory *memory, struct slc_page *page, unsigned group);

/* The slots of a word: 8 bits. */
static inline unsigned slc_page_slots(const struct slc_page *page, unsigned group)
{
    return (unsigned)(page->slots[group / 8] >> (group % 8 * 8)) & 0xff;
}

/* ... of those, the ones that bytes [off, off + size) of the word touch; size is not 0. */
static inline unsigned slc_page_slots_among(const struct slc_page *page, unsigned group,
                                            unsigned off, unsigned size)
{
    unsigned first = off / 8, last = (off + size - 1) / 8;
    return slc_page_slots(page, group) & (0xffu >> (7 - last)) & (0xffu << first);
}

int slc_memory_init(struct slc_memory *memory, bool has_wants); /* 0 or -ENOMEM */
void slc_memory_fini(struct slc_memory *memory);

static inline size_t slc_page_hash(const struct slc_memory *memory, uint64_t number)
{
    return (size_t)(wd_hash_u64(number) >> 32) & (memory->capacity - 1);
}

/* NULL if nothing was ever wanted there. Written out, since with wd_hash_find() scans take 3 %
 * longer. */
static inline struct slc_page *slc_page_find(const struct slc_memory *memory, uint64_t number)
{
    for (size_t i = slc_page_hash(memory, number);; i = (i + 1) & (memory->capacity - 1)) {
        const struct slc_page_ref *ref = &memory->table[i];
        if (!ref->page || ref->number == number)
            return ref->page;
    }
}

/* Which of `size` bytes, up to 64, from an address on are wanted: bit i is byte i. */
static inline uint64_t slc_memory_mask(const struct slc_memory *memory, uint64_t address,
                                       unsigned size)
{
    const struct slc_page *page = slc_page_find(memory, address >> SLC_PAGE_BITS);
    unsigned off = address % SLC_PAGE_BYTES, bit = off % 64;
    uint64_t found = page ? page->bytes[off / 64] >> bit : 0;

    if (bit + size > 64) {
        if (off / 64 == SLC_PAGE_BYTES / 64 - 1) {
            page = slc_page_find(memory, (address >> SLC_PAGE_BITS) + 1);
            found |= page ? page->bytes[0] << (64 - bit) : 0;
        } else {
            found |= page ? page->bytes[off / 64 + 1] << (64 - bit) : 0;
        }
    }
    return found & UINT64_MAX >> (64 - size);
}

bool slc_memory_wants_long(struct slc_memory *memory, uint64_t address, uint64_t size);

/* Whether a byte or a slot in [address, address + size) is wanted. The hot test of a scan. */
static inline bool slc_memory_wants(struct slc_memory *memory, uint64_t address, uint64_t size)
{
    uint64_t off = address % SLC_PAGE_BYTES;

    if (off % 64 + size > 64)
        return slc_memory_wants_long(memory, address, size);
    const struct slc_page *page = slc_page_find(memory, address >> SLC_PAGE_BITS);
    if (!page || size == 0)
        return false;
    uint64_t mask = (UINT64_MAX >> (64 - size)) << (off % 64);
    if (page->bytes[off / 64] & mask)
        return true;
    uint64_t first = off / 8, last = (off + size - 1) / 8;
    uint64_t slots = page->slots[first / 64] >> (first % 64);
    return (slots & (UINT64_MAX >> (63 - (last - first)))) != 0;
}

/* The page of that number, made if there is none; NULL if memory is short. */
struct slc_page *slc_memory_page(struct slc_memory *memory, uint64_t number);

/* Wants bytes without saying who does: bit i of `mask` is the byte at address + i. All must lie in
 * one aligned word of 64 bytes. 0 or -ENOMEM. */
int slc_memory_add_mask(struct slc_memory *memory, uint64_t address, uint64_t mask);

static inline int slc_memory_add_word(struct slc_memory *memory, uint64_t address, uint64_t mask)
{
    struct slc_page *page = slc_page_find(memory, address >> SLC_PAGE_BITS);

    if (!page)
        return slc_memory_add_mask(memory, address, mask);
    unsigned group = address % SLC_PAGE_BYTES / 64;
    uint64_t *word = &page->bytes[group];
    if (!(page->hidden >> group & 1))
        slc_log_note(memory, page, group);
    memory->word_count += *word == 0;
    *word |= mask << (address % 64);
    return 0;
}

/* slc_memory_add_mask() for any address. */
static inline int slc_memory_add_bytes(struct slc_memory *memory, uint64_t address, uint64_t mask)
{
    unsigned off = address % 64;

    if (mask == 0)
        return 0;
    if (off == 0 || mask >> (64 - off) == 0)
        return slc_memory_add_word(memory, address, mask);
    int err = 0;
    if (mask << off)
        err = slc_memory_add_word(memory, address, mask & (UINT64_MAX >> off));
    return err ? err : slc_memory_add_mask(memory, address - off + 64, mask >> (64 - off));
}

/* Wants bytes; 0 or -ENOMEM. */
int slc_memory_add(struct slc_memory *memory, uint64_t address, uint64_t size,
                   const struct slc_want *want);

/* Wants bytes: bit i of `mask` is the byte at address + i. 0 or -ENOMEM. */
int slc_memory_add_wants(struct slc_memory *memory, uint64_t address, uint64_t mask,
                         const struct slc_want *want);

/* The first wanted byte in [*address, end): *address becomes its address. NULL if there is none.
 * Time goes with wanted pages, not with the range. */
struct slc_want *slc_memory_next(struct slc_memory *memory, uint64_t *address, uint64_t end);

/* Marks or unmarks a slot (a multiple of 8). */
int slc_memory_mark_slot(struct slc_memory *memory, uint64_t address);
void slc_memory_unmark_slot(struct slc_memory *memory, uint64_t address);

/* The same as slc_memory_next() for slots. */
bool slc_memory_next_slot(struct slc_memory *memory, uint64_t *address, uint64_t end);

/* Takes bytes of a word, which are wanted, from the wanted ones: bit i of `mask` is its byte i. */
void slc_page_drop(struct slc_memory *memory, struct slc_page *page, unsigned group, uint64_t mask);

/* Takes bytes from the wanted ones. */
void slc_memory_drop(struct slc_memory *memory, uint64_t address, uint64_t size);

/* Each page is found by its number; words and slots are as many as were counted; whoever is wanted
 * has a want, where wants are kept; what is hidden has a log. 0, or what is wrong. */
int slc_memory_validate(const struct slc_memory *memory);

#endif
