/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From one decoded fragment to host code; pure: knows no cache, no agent. */
#ifndef RECORDER_DBI_TRANSLATE_H
#define RECORDER_DBI_TRANSLATE_H

#include "recorder/dbi/decode.h"
#include "recorder/dbi/emit.h"

/* Where a piece of the program lies in translated code. */
struct dbi_place {
    uint32_t host_off; /* from the fragment's first byte */
    uint16_t spilled;  /* registers whose values are in their homes */
    uint8_t insn;
    uint8_t flags_inexact;
};

/* A branch that wants to go to the fragment at `target`. */
struct dbi_exit_site {
    uint64_t target;
    uint8_t *rel32;
    uint8_t *stub; /* leaves for the agent; at least 14 bytes */
};

#define DBI_PLACES_MAX (DBI_INSN_MAX * 2 + 8)

struct dbi_output {
    struct dbi_place places[DBI_PLACES_MAX];
    unsigned place_count;
    struct dbi_exit_site exits[2];
    unsigned exit_count;
    unsigned slot_count;
    uint8_t *body;
    uint8_t *inner; /* behind the filter; the body if there is none */
};

/* How many ring slots the first `count` instructions of a fragment fill. */
unsigned dbi_code_slots(const struct dbi_code *code, unsigned count, bool values);

/* Slots of one instruction. */
unsigned dbi_insn_slots(const struct dbi_insn *insn, bool values);

struct dbi_emit_how {
    enum dbi_mode mode;
    bool ticks;  /* count conditional branches */
    bool values; /* as in struct dbi_config */
    bool exact; /* never stops for time, is never linked */
    uint32_t id;
    uint64_t miss;                   /* the region's code for a failed look-up */
    const struct dbi_filter *filter; /* leave for the agent only if that holds; NULL: none */
};

/* Emits prefix and body. 0; -ENOSPC if the region is full (nothing counts then);
 * -WD_ERR_UNSUPPORTED. */
int dbi_emit_fragment(struct emit *e, const struct dbi_emit_how *how, struct dbi_code *code,
                      struct dbi_output *out);

/* Emits code that leaves for the agent to go on at `pc`. */
void dbi_emit_leave(struct emit *e, uint64_t pc);

/* Emits the code for a failed look-up: rax holds the target, rax and rcx are in their homes. */
void dbi_emit_miss(struct emit *e);

#endif
