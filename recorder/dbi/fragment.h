/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fragments: what is kept of each, for good. */
#ifndef RECORDER_DBI_FRAGMENT_H
#define RECORDER_DBI_FRAGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/dbi/dbi.h"
#include "recorder/dbi/emit.h"
#include "recorder/dbi/translate.h"

#define FRAGMENT_BYTES_MAX (DBI_INSN_MAX * 15u) /* of the program's code */
#define GONE_PATCH_BYTES   EMIT_JMP_BYTES

struct fragment {
    struct dbi_fragment is;
    struct dbi_place *places;
    unsigned place_count;
    uint64_t host_start;
    uint32_t next_by_page;           /* chain, 1 + id */
    uint32_t next_by_code;           /* chain in gone_by_code, 1 + id */
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

/* Adds a fragment without code; it gets the next number. 0 or an error. */
int dbi_fragment_add(struct dbi *dbi, uint64_t pc, unsigned insn_count, unsigned code_bytes,
                     struct fragment **out);

/* Keep what the translator found out about a fragment. 0 or -ENOMEM. */
int dbi_places_keep(struct dbi *dbi, struct fragment *fragment, const struct dbi_output *output);
int dbi_slots_keep(struct dbi *dbi, struct fragment *fragment, const struct dbi_slot *slots,
                   unsigned slot_count, unsigned word_count);

/* Keeps the slots of a head. Slots only go by words that come before them: those of a fragment's
 * first instructions are the same. 0 or an error. */
int dbi_head_slots_keep(struct dbi *dbi, struct fragment *head, const struct dbi_fragment *whole,
                        unsigned slot_count);

#endif
