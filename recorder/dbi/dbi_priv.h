/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code cache's insides.
 *
 *   dbi.c    life, code bytes, regions, translation, faults
 *   links.c  who jumps to whom; tables; what is forgotten and revived
 *   sites.c  indirect jumps and calls, their tables and targets
 *   code_room.c   memory of fragments
 *   expect.c what is going to run
 *
 * A region has two parts, so that code that runs lies close together: bodies in the first, stubs and
 * prefixes in the second. Where a body would end in a jump to a fragment that does not exist yet, and
 * that one is translated next, it takes the jump's place (dbi.fall).
 */
#ifndef RECORDER_DBI_DBI_PRIV_H
#define RECORDER_DBI_DBI_PRIV_H

#include "recorder/agent/agent.h"
#include "recorder/dbi/dbi.h"
#include "recorder/dbi/forms.h"
#include "recorder/dbi/translate.h"

#define PAGE 4096ull

struct region {
    uint64_t address;
    uint8_t *writable;
    size_t hot_bytes;  /* used of the first part */
    size_t cold_bytes; /* end of what is used of the second */
    size_t hot_huge;   /* up to here the first part has been given huge pages, if it could be */
    size_t cold_huge;  /* the second */
    size_t stubless;   /* fragments in it that may need a stub (DBI_LEAVE_BYTES) yet */
    uint32_t *ids;     /* of the fragments in it, by address */
    size_t id_count, id_capacity;
    struct dbi_shared shared;
};

#define REGION_HOT_BYTES (DBI_REGION_BYTES / 2)

struct page {
    uint64_t address;
    unsigned flags;
    uint32_t round; /* in which it was fetched; counts if it is unwatched */
    bool stale;     /* to be fetched again before it is used */
    uint8_t bytes[PAGE];
};

#define GONE_PATCH_BYTES EMIT_JMP_BYTES

struct fragment {
    struct dbi_fragment is;
    struct dbi_place *places;
    unsigned place_count;
    uint64_t host_start;
    uint32_t next_by_page;           /* chain, 1 + id */
    uint32_t next_by_code;           /* chain in gone_by_code, 1 + id */
    bool ends_by_rule;               /* a cut fragment that would not be longer without the cut */
    bool at_stop;                    /* begins there: entered by the agent only */
    bool gone;                       /* forgotten: its body jumps elsewhere */
    bool checks;                     /* compares its code with what it was made from */
    uint8_t *body;                   /* where its body can be written */
    uint8_t saved[GONE_PATCH_BYTES]; /* of a body that is gone */
    uint64_t stub;      /* leaves for the agent at the fragment's address; 0: none yet */
    uint32_t site;      /* where it ends in an indirect jump or call, 1 + index */
    uint32_t next_user; /* chain of the site's, 1 + id */
    uint8_t *lookup;    /* its code for the table (DBI_LOOKUP_BYTES); NULL: another's, or none */
};

/* An instruction that jumps or calls indirectly. */
struct site {
    uint64_t key; /* a jump's address, a call's return address */
    struct agt_site is;
    bool is_jump;
    uint32_t users; /* fragments in the cache that end in it, 1 + id */
    uint32_t pairs; /* 1 + index */
    uint32_t pair_count;
    uint32_t next; /* chain in sites_by_key, 1 + index */
};

struct pair {
    uint64_t target;
    uint32_t site;         /* 1 + index */
    uint32_t next;         /* chain in pairs_by_both, 1 + index */
    uint32_t next_of_site; /* 1 + index */
};

struct waiting {
    uint64_t target;
    struct dbi_exit_site site;
    uint32_t region;
    uint32_t next; /* 1 + index */
};

struct pad {
    struct dbi_pad is;
    const struct region *region;
    uint32_t next; /* chain in pads_by_next, 1 + index */
};

/* The jump at the end of the fragment emitted last, if it leads nowhere yet. */
struct fall {
    struct region *region; /* NULL: none */
    struct fragment *from;
    struct dbi_exit_site site;
};

/* What chains by address need of a fragment, close together. */
struct link {
    uint64_t pc;
    uint32_t next; /* in by_pc, gone_by_pc or cut_by_pc, 1 + id */
};

struct dbi {
    struct dbi_config config;
    struct region regions[DBI_REGIONS_MAX];
    unsigned region_count;
    struct page **pages; /* open hash by address */
    size_t page_slots, page_count;
    const struct page *recent;   /* of these the one asked for last; NULL: none */
    uint32_t round;              /* of translation */
    struct fragment **fragments; /* by id */
    struct link *links;          /* by id */
    uint32_t fragment_count;
    size_t fragment_capacity;
    uint32_t *by_pc; /* heads of chains of full fragments that are in the cache, 1 + id */
    struct waiting *waiting;
    size_t waiting_count, waiting_capacity;
    uint32_t *waiting_by_pc;
    struct pad *pads;
    size_t pad_count, pad_capacity;
    uint32_t *pads_by_next;
    struct site *sites; /* kept for good */
    uint32_t site_count;
    size_t site_capacity;
    uint32_t *sites_by_key;
    struct pair *pairs; /* kept for good */
    uint32_t pair_count;
    size_t pair_capacity;
    uint32_t *pairs_by_both;
    size_t tables_bytes;  /* used of the room for sites' tables */
    uint32_t *cut_by_pc;  /* heads of chains of exact and head fragments */
    uint32_t *gone_by_pc; /* of those that were forgotten and may be revived, latest first */
    uint32_t *gone_by_code;
    size_t gone_count;
    uint32_t *by_page;    /* of all but the gone ones, by the page of their first byte */
    uint64_t stop;        /* dbi_stop_at; 0: none */
    uint32_t lookup_size; /* entries of the hash of fragments: a power of two; 0: none yet */
    uint32_t lookup_used; /* of those: not free, or were not */
    uint32_t lookup_live; /* not free */
    struct fragment *stop_fragment; /* that begins there */
    bool has_filter;                /* for it: dbi_stop_filter */
    struct dbi_filter filter;
    struct fall fall;
    struct dbi_forms *forms;
    struct dbi_code code;
    struct dbi_output output;
    struct chunk *chunks; /* fragments, with their places and code */
    uint8_t *expected;    /* expect.c; NULL: never needed */
    bool expects;
};

#define BY_PC_BITS  18
#define BY_PC_SLOTS (1u << BY_PC_BITS)

/* Code that lies close together is dealt with together, so its slots do, too. */
static inline uint32_t slot_of(uint64_t pc)
{
    uint64_t block = ((pc >> 10) * 0x9e3779b97f4a7c15ull) >> (64 - BY_PC_BITS);
    return (uint32_t)(block + (pc >> 2 & 255)) & (BY_PC_SLOTS - 1);
}

static inline uint64_t *return_table(struct dbi *dbi)
{
    return (uint64_t *)(dbi->config.shm + AGT_RETURN_OFF);
}

static inline struct agt_lookup *lookup_table(struct dbi *dbi)
{
    return (struct agt_lookup *)(dbi->config.shm + AGT_LOOKUP_OFF);
}

/* ---- code_room.c ---- */

/* Zeroed memory that stays until dbi_free(); NULL if there is none. For 8-byte alignment. */
void *dbi_room_get(struct dbi *dbi, size_t bytes);
void dbi_room_free(struct dbi *dbi);

/*
 * Puts a part of a region that begins at `part` and of which `used` bytes are used on huge pages, from
 * its second one on. *upto is what was done so far. Where it cannot be done nothing is different.
 */
void dbi_room_settle(uint8_t *part, size_t used, size_t *upto);

/* ---- expect.c ---- */

/* Whether code at `pc` may run, as far as dbi_expect() said so. */
bool dbi_is_expected(const struct dbi *dbi, uint64_t pc);

/* ---- dbi.c ---- */

/* A region with room, near `pc` if one can be had. */
int dbi_region_get(struct dbi *dbi, uint64_t pc, struct region **out);

/* Forgets the bytes of the pages in [start, end); pages of which it touches a part are fetched
 * again before they are used. */
void dbi_pages_forget(struct dbi *dbi, uint64_t start, uint64_t end);

/* ---- sites.c ---- */

/* The site (1 + index) in which some code ends, 0: none. 0 or -ENOMEM. */
int dbi_site_get(struct dbi *dbi, const struct dbi_code *code, uint32_t *out);

/* A site's table, which may have no room (table_off 0). NULL for no site. Borrowed until the next call. */
const struct agt_site *dbi_site_table(struct dbi *dbi, uint32_t index);

/* A fragment that goes by its site's table is in the cache. */
void dbi_site_use(struct dbi *dbi, struct fragment *fragment);

/* The cache is empty. */
void dbi_sites_flush(struct dbi *dbi);

/* ---- links.c ---- */

/* The hash of fragments has no entries. */
void dbi_lookup_empty(struct dbi *dbi);

/* The full fragment at `pc` that is in the tables, or NULL. */
struct fragment *dbi_fragment_find(struct dbi *dbi, uint64_t pc);

/* Links the exits of a fragment just emitted, now or when their targets come; a last one may be left
 * open in dbi->fall. */
int dbi_exits_link(struct dbi *dbi, struct region *region, struct fragment *fragment,
                   const struct dbi_output *output);

/* The exits of a fragment that always leaves for the agent. */
int dbi_exits_leave(struct region *region, const struct dbi_output *output);

/* Links what dbi->fall has. */
int dbi_fall_close(struct dbi *dbi);

/* A pad in the region for a call that pushes `next` and goes to `target`, or NULL. Borrowed until the
 * next is kept. */
const struct dbi_pad *dbi_pad_find(const struct dbi *dbi, const struct region *region,
                                   uint64_t next, uint64_t target);

/* Makes a pad known: returns to its address come to its landing from now on. */
int dbi_pad_keep(struct dbi *dbi, const struct region *region, const struct dbi_pad *pad);

/* What writes to the region's second part. */
struct emit dbi_region_cold(const struct region *region);

/* The agent has asked for a fragment that is in the tables, and will again: it gets an entry in the
 * hash, and a prefix if there is room. 0 or an error. */
int dbi_fragment_offer(struct dbi *dbi, struct fragment *fragment);

/* Enters a fragment in all tables; whatever waited for its address, or was forgotten there, leads
 * to it from now on. */
int dbi_fragment_enter(struct dbi *dbi, struct fragment *fragment);

/* A forgotten fragment made from just this code, or NULL. */
struct fragment *dbi_gone_find(struct dbi *dbi, const struct dbi_code *code);

/* Undoes forgetting and enters. */
int dbi_fragment_revive(struct dbi *dbi, struct fragment *fragment);

/* Cut fragments: by address. */
void dbi_cut_enter(struct dbi *dbi, struct fragment *fragment);

/* Makes a fragment known under its page. */
void dbi_page_enter(struct dbi *dbi, struct fragment *fragment);

#endif
