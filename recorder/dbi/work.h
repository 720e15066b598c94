/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One fragment on its way to host code: what all that emit a part of it share. */
#ifndef RECORDER_DBI_WORK_H
#define RECORDER_DBI_WORK_H

#include "recorder/agent/agent.h"
#include "recorder/dbi/emit.h"
#include "recorder/dbi/translate.h"

#define HOME(reg) ((uint32_t)(AGT_CTX_GPR + 8 * (reg)))
#define R11       11
#define R15       15

struct work {
    struct emit *e;
    struct emit *cold;
    struct dbi_code *code;
    struct dbi_output *out;
    uint8_t *start;
    enum dbi_mode mode;
    uint32_t id;
    uint16_t spilled; /* in their homes */
    uint16_t busy;    /* of those: in use right now */
    int r15;          /* register that holds the program's r15, or -1 */
    unsigned slot;    /* next one of the execution's */
    unsigned word;    /* next one of the ring record, from 0 behind its first */
    bool exact, ticks, values, x87_is_lost;
    const struct dbi_shared *shared;
    const struct dbi_pad *pad;     /* to be used; NULL: none yet */
    const struct agt_site *site;   /* of an indirect jump or call; NULL: not by a table */
    bool flags_free;               /* no flag is live at the start of the fragment */
    uint8_t covered[DBI_INSN_MAX]; /* bit m: operand m's lines are already marked */
    unsigned differ_count;         /* of out->differs */
    const struct dbi_wall *wall;   /* NULL: there is none */
    uint16_t seen;                 /* registers that are near an address that was looked at: */
    int64_t distance[16];          /* so far from it */
};

/* Where a word of the record (from 0, behind the first one) is from r15d, which is behind the
 * record. */
static inline int32_t dbi_word_off(const struct work *w, unsigned word)
{
    return 8 * ((int32_t)word - (int32_t)w->out->word_count);
}

/* Emits mov gs:[r15d + ...], reg: a word of the record. */
static inline void dbi_ring_store(struct work *w, unsigned word, unsigned reg)
{
    assert(word < w->out->word_count);
    emit_store_gs_narrow(w->e, R15, dbi_word_off(w, word), reg);
}

#endif
