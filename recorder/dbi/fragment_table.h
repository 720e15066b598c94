/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fragments by address, by page, and the forgotten ones by their code: chains through the
 * fragments.
 */
#ifndef RECORDER_DBI_FRAGMENT_TABLE_H
#define RECORDER_DBI_FRAGMENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/dbi/decode.h"
#include "recorder/dbi/fragment.h"

/* What chains by address need of a fragment, close together. */
struct link {
    uint64_t pc;
    uint32_t next; /* in by_pc, gone_by_pc or cut_by_pc, 1 + id */
};

struct dbi_tables {
    struct link *links; /* by id */
    size_t link_capacity;
    uint32_t *by_pc;      /* heads of chains of full fragments that are in the cache, 1 + id */
    uint32_t *cut_by_pc;  /* of exact and head fragments */
    uint32_t *gone_by_pc; /* of those that were forgotten and may be revived, latest first */
    uint32_t *gone_by_code;
    uint32_t *by_page; /* of all but the gone ones, by the page of their first byte */
    size_t gone_count;
};

#define BY_PC_BITS  18
#define BY_PC_SLOTS (1u << BY_PC_BITS)

/* Code that lies close together is dealt with together, so its slots do, too. */
static inline uint32_t slot_of(uint64_t pc)
{
    uint64_t block = ((pc >> 10) * 0x9e3779b97f4a7c15ull) >> (64 - BY_PC_BITS);
    return (uint32_t)(block + (pc >> 2 & 255)) & (BY_PC_SLOTS - 1);
}

/* A table of heads; NULL: no memory. */
uint32_t *dbi_heads_new(void);
void dbi_heads_empty(uint32_t *heads);

/* 0 or -ENOMEM; dbi_tables_fini() is due either way. */
int dbi_tables_init(struct dbi *dbi);
void dbi_tables_fini(struct dbi *dbi);
void dbi_tables_empty(struct dbi *dbi);

/* Makes room for fragments with numbers below `count`. 0 or -ENOMEM. */
int dbi_tables_grow(struct dbi *dbi, size_t count);

/* The full fragment at `pc` that is in the tables, or NULL. */
struct fragment *dbi_fragment_find(const struct dbi *dbi, uint64_t pc);

/* Enter and take away full fragments, by address. */
void dbi_full_enter(struct dbi *dbi, struct fragment *fragment);
void dbi_full_leave(struct dbi *dbi, struct fragment *fragment);

/* Enter and take away cut fragments, by address. */
void dbi_cut_enter(struct dbi *dbi, struct fragment *fragment);
void dbi_cut_leave(struct dbi *dbi, struct fragment *fragment);

/* A cut fragment is reused if it has code just when wanted (`exact`) and is `count` long; one that
 * ends by the rule serves every larger count too. NULL: none. */
struct fragment *dbi_cut_find(struct dbi *dbi, uint64_t pc, unsigned count, bool exact);

/* Makes a fragment known under its page. */
void dbi_page_enter(struct dbi *dbi, struct fragment *fragment);

/* Forgotten fragments: those that may be revived. */
void dbi_gone_enter(struct dbi *dbi, struct fragment *fragment);
void dbi_gone_leave(struct dbi *dbi, struct fragment *fragment);

/* A forgotten fragment made from just this code, or NULL. */
struct fragment *dbi_gone_find(struct dbi *dbi, const struct dbi_code *code);

#endif
